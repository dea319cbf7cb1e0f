# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was asked for, and the places on the machine that it concerns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils._command import run
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._probe import SONAME, Runner


@dataclass(frozen=True)
class Wanted:
    """The options of the module, by their names."""

    prefix: Path
    state: str = "present"
    source: str = "wheel"
    version: str = "2.30.7"
    minimum_version: str | None = None
    wheel: Path | None = None
    sha256: str | None = None
    path: Path | None = None
    loader: bool = True
    wait: float = 0

    @property
    def present(self) -> bool:
        """Whether NCCL is to be there."""
        return self.state != "absent"

    @property
    def staged(self) -> bool:
        """Whether it is only to lie ready, and no program is to get it."""
        return self.state == "staged"

    @property
    def unpacked(self) -> bool:
        """Whether it is to be unpacked from a wheel into a folder of its own."""
        return self.present and self.source in ("wheel", "file")

    @property
    def packaged(self) -> bool:
        """Whether it is to come from apt, into the system's own folders."""
        return self.present and self.source == "apt"

    @property
    def root(self) -> Path:
        """The folder with ``lib`` and ``include``; means nothing for packages."""
        return self.path if self.source == "path" and self.path else self.prefix / self.version

    @property
    def current(self) -> Path:
        """The link that always leads to the version in use."""
        return self.prefix / "current"

    @property
    def remembered(self) -> Path:
        """Our note on the packages: ``{added: names that were not there, held: names that we hold}``."""
        return self.prefix / "apt.json"

    @property
    def loader_text(self) -> str:
        """Our file below ``/etc/ld.so.conf.d``."""
        return f"# written by gb10.cluster\n{self.current}/lib\n"


@dataclass(frozen=True)
class Machine:
    """The places outside the prefix, and how commands are run. A name that begins with digits puts our file before the
    architecture's own (``aarch64-linux-gnu.conf``): of equal sonames the loader takes the first."""

    loader: Path = Path("/etc/ld.so.conf.d/60-gb10-nccl.conf")
    header: Path = Path("/usr/include/nccl.h")
    runner: Runner = field(default=run)


def library(root: Path) -> Path:
    """Where a build has its library."""
    return root / "lib" / SONAME

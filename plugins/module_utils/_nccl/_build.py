# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which NCCL a file is: what can be told from its bytes, without loading it."""

from __future__ import annotations

import hashlib
import mmap
import re
from dataclasses import dataclass
from pathlib import Path

# Every release carries both texts between zero bytes; 2.32 also has "NCCL version information", hence the digits.
_VERSION = re.compile(rb"\x00NCCL version (\d+\.\d+\.\d+)\+cuda(\d+\.\d+)\x00")
_GIT = re.compile(rb"\x00NCCL git version (?:\S+ )?([0-9a-f]{7,40})\x00")
_HEADER_CODE = re.compile(r"^#define NCCL_VERSION_CODE (\d+)\s*$", re.MULTILINE)
_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class Build:
    """What a library file says about itself. ``git`` is None for builds made outside a git checkout (and before 2.29)."""

    version: str
    cuda: str
    git: str | None
    sha256: str

    @property
    def text(self) -> str:
        """One line that is equal for equal builds: ``2.30.7+cuda13.3 git a5187fa2e sha256 618968ee27704175``."""
        return f"{self.version}+cuda{self.cuda} git {self.git or 'unknown'} sha256 {self.sha256[:16]}"


def version_code(version: str) -> int | None:
    """``2.30.7`` as NCCL counts it (23007 = major*10000 + minor*100 + patch), or None for what is no ``X.Y.Z``."""
    match = _RELEASE.fullmatch(version)
    return int(match[1]) * 10000 + int(match[2]) * 100 + int(match[3]) if match else None


def header_code(header: Path) -> int | None:
    """``NCCL_VERSION_CODE`` of an ``nccl.h``, or None where there is no such file or line."""
    try:
        match = _HEADER_CODE.search(header.read_text("utf-8", "replace"))
    except OSError:
        return None
    return int(match[1]) if match else None


_DIGESTS: dict[tuple[int, int, int, int], str] = {}


def digest(file: Path) -> str:
    """SHA-256 of a file in hex; read once as long as the file stays the same, even where it is renamed. Raises OSError."""
    stat = file.stat()
    identity = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if identity not in _DIGESTS:
        total = hashlib.sha256()
        with open(file, "rb") as stream:
            while chunk := stream.read(1 << 20):
                total.update(chunk)
        _DIGESTS[identity] = total.hexdigest()
    return _DIGESTS[identity]


def read_build(library: Path) -> Build | None:
    """The build of a library file, or None for a file that is none (missing, empty, cut off, something else)."""
    try:
        with open(library, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            version, git = _VERSION.search(content), _GIT.search(content)
            found = (version[1].decode(), version[2].decode(), git[1].decode() if git else None) if version else None
        return Build(*found, sha256=digest(library)) if found else None
    except (OSError, ValueError):
        return None

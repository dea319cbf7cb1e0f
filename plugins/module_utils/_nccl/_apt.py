# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL as packages: which are there, which could be, and the commands that install and hold exactly one version."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ansible_collections.gb10.cluster.plugins.module_utils._command import run
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._probe import Runner

PACKAGES = ("libnccl2", "libnccl-dev")
_QUERY = ["dpkg-query", "-W", "-f", "${Package}\\t${Version}\\t${db:Status-Abbrev}\\n", *PACKAGES]
_INSTALL = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-o", "DPkg::Lock::Timeout=120"]
_SECONDS = 1800.0


@dataclass(frozen=True)
class Package:
    """One installed package: its full version (``2.30.7-1+cuda13.3``) and whether apt holds it there."""

    version: str
    held: bool


def parse_installed(text: str) -> dict[str, Package]:
    """Read ``dpkg-query``: status ``ii `` is installed, ``hi `` installed and held; ``rc `` (only configuration left) or half a
    package (``iU ``) is not there."""
    rows = (line.split("\t") for line in text.splitlines() if line.count("\t") == 2)
    return {name: Package(version, status[0] == "h") for name, version, status in rows if status[1:].strip() == "i"}


def parse_available(text: str) -> dict[str, list[str]]:
    """Read ``apt-cache madison``: versions per package, one row ``name | version | source`` each."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 3 and fields[1] not in found.setdefault(fields[0], []):
            found[fields[0]].append(fields[1])
    return found


def upstream(version: str) -> str:
    """``2.30.7`` of ``2.30.7-1+cuda13.3``."""
    return version.partition("-")[0]


def choose(version: str, available: dict[str, list[str]]) -> str | None:
    """The full version to install: both packages have it, and of several builds of NCCL ``version`` the newest revision and CUDA."""
    common = set.intersection(*(set(available.get(name, ())) for name in PACKAGES))
    fitting = [full for full in common if upstream(full) == version]
    return max(fitting, key=lambda full: [int(number) for number in re.findall(r"\d+", full)], default=None)


def installed(runner: Runner = run) -> dict[str, Package]:
    """The NCCL packages of this machine; empty where there is no dpkg."""
    return parse_installed(runner(_QUERY, 30.0).stdout)


def resolve(version: str, present: dict[str, Package], runner: Runner = run) -> str:
    """The full version that NCCL ``version`` means here: what is installed if it fits, else what apt offers. Raises NcclError."""
    here = {present[name].version if name in present else "" for name in PACKAGES}
    if len(here) == 1 and upstream(next(iter(here))) == version:
        return here.pop()
    result = runner(["apt-cache", "madison", *PACKAGES], 60.0)
    available = parse_available(result.stdout)
    full = choose(version, available)
    if full is None:
        offered = ", ".join(sorted({row for rows in available.values() for row in rows})) or (result.complaint if not result.ok else "none")
        fix = "Add NVIDIA's CUDA repository and run apt-get update, or use another version or source."
        raise NcclError(message(f"apt packages {' and '.join(PACKAGES)}", f"NCCL {version}", offered, fix))
    return full


def install(full: str, runner: Runner = run) -> None:
    """Install both packages in exactly this version, also if that is a step back or they are held. Raises NcclError."""
    options = ["--no-install-recommends", "--allow-downgrades", "--allow-change-held-packages"]
    _do([*_INSTALL, *options, "install", *(f"{name}={full}" for name in PACKAGES)], runner)


def hold(yes: bool, names: Iterable[str], runner: Runner = run) -> None:
    """Keep unattended upgrades away from the packages, or no longer. Raises NcclError."""
    _do(["apt-mark", "hold" if yes else "unhold", *names], runner)


def remove(names: Iterable[str], runner: Runner = run) -> None:
    """Remove packages, but nothing that others need: dpkg refuses then. Raises NcclError."""
    _do(["dpkg", "--remove", *names], runner)


def _do(command: list[str], runner: Runner) -> None:
    result = runner(command, _SECONDS)
    if not result.ok:
        shown = command[command.index("-y") - 1 :] if "-y" in command else command
        raise NcclError(message(" ".join(shown), "success", result.complaint, "Repair the package system and run again."))

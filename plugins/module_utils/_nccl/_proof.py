# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a library is the NCCL that was asked for: by loading it and by comparing it with its header."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import Build, header_code, read_build, version_code
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._probe import SONAME, load
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._wanted import Machine, Wanted, library


@dataclass(frozen=True)
class Proof:
    """A library that was loaded: its real path, the code it answered, and its build."""

    library: str
    code: int
    build: Build


def prove(wanted: Wanted, machine: Machine) -> Proof:
    """Prove what programs on this machine get: through the dynamic loader where it is configured. Raises NcclError.

    Of a staged version, prove that they could.
    """
    if wanted.staged:
        return prove_tree(wanted.root, wanted, machine)
    if wanted.packaged:
        return _prove(SONAME, None, machine.header, wanted, machine)
    return _prove(SONAME if wanted.loader else str(library(wanted.root)), library(wanted.root), wanted.root / "include" / "nccl.h", wanted, machine)


def prove_tree(root: Path, wanted: Wanted, machine: Machine) -> Proof:
    """Prove a build that nobody uses yet. Raises NcclError."""
    return _prove(str(library(root)), library(root), root / "include" / "nccl.h", wanted, machine)


def _prove(subject: str, expected: Path | None, header: Path, wanted: Wanted, machine: Machine) -> Proof:
    """Load ``subject``, which must turn out to be the file ``expected`` if that is known, and collect all that is wrong."""
    loaded, code = load(subject, machine.runner), version_code(wanted.version)
    if loaded.path is None or loaded.code is None:
        fix = f"Use a build of NCCL for {platform.machine()}."
        raise NcclError(message(f"loading {subject}", "a library that this machine can load", loaded.error, fix))
    problems = []
    if expected and loaded.path != str(expected.resolve()):
        fix = "Remove the other one from the loader's configuration (ldconfig -p shows them), or use loader: false."
        problems.append(message(f"{SONAME} that programs get", expected.resolve(), loaded.path, fix))
    elif loaded.code != code:
        problems.append(message(f"version of {loaded.path}", code, loaded.code, "Correct the version, or name another build."))
    if header_code(header) != code:
        fix = "Header and library must come from one build."
        problems.append(message(f"NCCL_VERSION_CODE in {header}", code, header_code(header) or "none", fix))
    build = read_build(Path(loaded.path))
    if build is None:
        problems.append(message(f"build of {loaded.path}", "a version text in the library", "none", "Use an official build of NCCL."))
    if problems or build is None:
        raise NcclError(*problems)
    return Proof(loaded.path, loaded.code, build)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what Python compiles when it imports from a zip file.

Ansible sends every module as one, with sources alone, and compiling them is some two fifths of what a node does for a module. A file is known by
its content, so nothing that runs is older than its source; a traceback may name the folder of an earlier run.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import zipimport
from types import CodeType

FOLDER = os.environ.get("LAB_COMPILED") or f"/var/tmp/lab-compiled-{os.geteuid()}"

compile_source = zipimport._compile_source  # type: ignore[attr-defined]


def remembered(path: str, source: bytes) -> CodeType:
    """The code of a source file, from an earlier run where there was one."""
    kept = f"{FOLDER}/{hashlib.sha256(sys.version.encode() + source).hexdigest()}"
    with contextlib.suppress(OSError, EOFError, ValueError, TypeError), open(kept, "rb") as file:
        if isinstance(code := marshal.load(file), CodeType):
            return code
    code = compile_source(path, source)
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    with open(f"{kept}.{os.getpid()}", "wb") as made:
        marshal.dump(code, made)
    os.replace(made.name, kept)
    return code


zipimport._compile_source = remembered  # type: ignore[attr-defined]

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a library itself: loads it in a process of its own, which needs neither a GPU nor a driver."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result, run

Runner = Callable[[Sequence[str], float], Result]
SONAME = "libnccl.so.2"
_SECONDS = 60.0

_LOAD = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
code = ctypes.c_int()
status = library.ncclGetVersion(ctypes.byref(code))
maps = [line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if "libnccl.so" in line]
sys.stdout.write(json.dumps({"status": status, "code": code.value, "path": maps[0] if maps else None}))
"""

# NCCL writes its own lines first; the room is sizeof(ncclUniqueId).
_BOOTSTRAP = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
status = library.ncclGetUniqueId(ctypes.create_string_buffer(128))
sys.stdout.write("\\nstatus %d\\n" % status)
sys.stdout.flush()
"""

_TAKEN = re.compile(r"NCCL INFO Bootstrap: Using ([^:\s]+):(\S+?)<\d+>")
_WARNING = re.compile(r"NCCL WARN (.+)")


@dataclass(frozen=True)
class Loaded:
    """What came of loading a library: ``code`` (23007) and the real ``path`` of the file, or ``error``."""

    code: int | None = None
    path: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Bootstrap:
    """Where NCCL would meet its peers: ``interface`` and its ``address``, or ``error`` in NCCL's own words."""

    interface: str | None = None
    address: str | None = None
    error: str | None = None


def _python(script: str, library: str, environment: Sequence[str] = ()) -> list[str]:
    """The command that runs ``script`` in an environment of nothing but ``environment``: no LD_LIBRARY_PATH, no NCCL_* of ours."""
    return ["env", "-i", "PATH=/usr/bin:/bin", *environment, sys.executable, "-I", "-c", script, library]


def load(library: str, runner: Runner = run) -> Loaded:
    """Load ``library`` (a path, or the soname for what the dynamic loader takes) and ask ``ncclGetVersion``."""
    result = runner(_python(_LOAD, library), _SECONDS)
    if not result.ok:
        return Loaded(error=result.complaint)
    try:
        answer = json.loads(result.stdout)
    except ValueError:
        return Loaded(error=f"no answer but {result.stdout[:80]!r}")
    if answer["status"]:
        return Loaded(error=f"ncclGetVersion returned {answer['status']}")
    return Loaded(answer["code"], answer["path"])


def parse_bootstrap(output: str) -> Bootstrap:
    """Read what ``ncclGetUniqueId`` printed under ``NCCL_DEBUG=INFO``, and the status line after it."""
    taken = _TAKEN.search(output)
    if taken and re.search(r"^status 0$", output, re.MULTILINE):
        return Bootstrap(taken[1], taken[2])
    warning = _WARNING.search(output)
    return Bootstrap(error=warning[1].strip() if warning else "no bootstrap line")


def bootstrap(library: str, conf: Path, runner: Runner = run) -> Bootstrap:
    """Let ``library`` choose its bootstrap interface under the settings of the file ``conf`` alone.

    ``NCCL_CONF_FILE`` takes the place of the user's ``~/.nccl.conf``, so that nothing but the file speaks; the debug
    settings come from here, because the process environment wins over every file.
    """
    environment = [f"NCCL_CONF_FILE={conf}", "NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV", "NCCL_DEBUG_FILE=/dev/stdout"]
    result = runner(_python(_BOOTSTRAP, library, environment), _SECONDS)
    return parse_bootstrap(result.stdout) if result.ok else Bootstrap(error=result.complaint)

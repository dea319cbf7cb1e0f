# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running other programs, on the host, in a namespace or in a node."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any


class LabError(Exception):
    """Something the user of the lab can mend; its text is shown without a traceback."""


def run(*argv: str | Path, stdin: str | None = None, timeout: float = 120, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program and capture its text; with ``check`` a status other than 0 is a ``LabError`` that carries its words."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    except FileNotFoundError as error:
        raise LabError(f"{words[0]} is not installed. Run tests/lab/setup.sh as root.") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"`{' '.join(words)}` did not end within {timeout:.0f} s.") from error
    if check and done.returncode:
        raise LabError(f"`{' '.join(words)}` ended with {done.returncode}:\n{(done.stderr or done.stdout).strip()}")
    return done


def ip(namespace: str, *commands: str, check: bool = True) -> None:
    """Run ``ip`` commands, one per line of the batch, in a named network namespace. Without ``check`` go on after an error."""
    force = () if check else ("-force",)
    run("ip", *force, "-netns", namespace, "-batch", "-", stdin="\n".join(commands) + "\n", check=check)


class Process:
    """A process that outlives the command that starts it. ``memory`` is what ``end_process`` needs to know of it.

    :param program: its words; :param before: words that become the program, such as ``ip netns exec NAME``.
    """

    def __init__(self, program: list[str], before: tuple[str, ...] = ()) -> None:
        nowhere = subprocess.DEVNULL
        self._child = subprocess.Popen([*before, *program], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
        self.memory: dict[str, Any] = {"pid": self._child.pid, "command": "\0".join(program)}

    def ended(self) -> bool:
        """Whether it has ended."""
        return self._child.poll() is not None

    def wait(self) -> int:
        """Return its exit status when it has ended."""
        return self._child.wait()


def end_process(memory: dict[str, Any]) -> None:
    """End a process, if it is still that one."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{memory['pid']}/cmdline").read_text(encoding="utf-8").rstrip("\0") == memory["command"]:
            os.kill(memory["pid"], signal.SIGKILL)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a command on the node: whatever goes wrong with it is data, never an exception."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

_SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True)
class Result:
    """What a command left behind. ``rc`` is None when it did not start (``missing``) or did not end in time (``timed_out``)."""

    argv: tuple[str, ...]
    rc: int | None
    stdout: str = ""
    stderr: str = ""
    missing: bool = False
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """The command ran and ended with 0."""
        return self.rc == 0

    @property
    def complaint(self) -> str:
        """Why the command did not succeed, in one line."""
        if self.missing:
            return f"no command {self.argv[0]}"
        if self.timed_out:
            return "no answer in time"
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        return lines[-1].rstrip(".") if lines else f"exit status {self.rc}"


def environment() -> dict[str, str]:
    """The caller's environment in the C locale, with the system's own directories at the end of ``PATH``:
    a login without root, or a cron job, has no ``sbin`` in it."""
    path = os.environ.get("PATH", "").split(os.pathsep)
    path = [entry for entry in path if entry] + [entry for entry in _SYSTEM_PATH if entry not in path]
    return {**os.environ, "LC_ALL": "C", "LANGUAGE": "C", "PATH": os.pathsep.join(path)}


def which(tool: str) -> str | None:
    """Path of ``tool`` as :func:`run` would find it, or None."""
    return shutil.which(tool, path=environment()["PATH"])


def run(argv: Sequence[str], timeout: float = 10.0, stdin: str | None = None) -> Result:
    """Run ``argv`` without a shell, ``timeout`` in seconds; ``stdin`` is what it reads, nothing by default."""
    words = tuple(argv)
    try:
        # not run_command: threads call this side by side, and most callers have no AnsibleModule
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            words,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=timeout,
            env=environment(),
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        return Result(words, None, _text(expired.stdout), _text(expired.stderr), timed_out=True)
    except OSError as error:
        return Result(words, None, "", str(error), missing=True)
    return Result(words, done.returncode, done.stdout, done.stderr)


def _text(partial: bytes | str | None) -> str:
    """What a command had printed when its time was up: bytes even where text was asked for."""
    return partial.decode("utf-8", "replace") if isinstance(partial, bytes) else partial or ""

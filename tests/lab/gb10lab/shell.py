# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running other programs, on the host, in a namespace or in a node."""

from __future__ import annotations

import subprocess
from pathlib import Path


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

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a command: every way in which it can go wrong is data."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result, run, which


def python(code: str) -> list[str]:
    """A command that runs ``code``."""
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print('out')", (0, "out\n", "", True)),
        ("import sys; print('half'); sys.exit('why not')", (1, "half\n", "why not\n", False)),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\n')", (0, "\ufffd\n", "", True)),
        ("import sys; print(repr(sys.stdin.read()))", (0, "''\n", "", True)),
    ],
)
def test_what_a_command_leaves_behind(code: str, expected: tuple[int, str, str, bool]) -> None:
    result = run(python(code))
    assert (result.rc, result.stdout, result.stderr, result.ok) == expected


def test_a_missing_command_is_data() -> None:
    result = run(["gb10-no-such-command", "-x"])
    assert (result.missing, result.rc, result.complaint) == (True, None, "no command gb10-no-such-command")


def test_a_late_command_is_stopped_and_keeps_what_it_said() -> None:
    began = time.monotonic()
    result = run(["sh", "-c", "echo early; exec sleep 600"], timeout=1)
    assert (result.timed_out, result.rc, result.stdout, result.complaint) == (True, None, "early\n", "no answer in time")
    assert time.monotonic() - began < 600


def test_the_input_reaches_the_command() -> None:
    assert run(python("import sys; print(sys.stdin.read().upper())"), stdin="abc").stdout == "ABC\n"


def test_the_locale_is_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert run(python("import os; print(os.environ['LC_ALL'])")).stdout == "C\n"


def test_system_folders_are_searched_after_those_of_the_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "sh"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert which("sh") == str(own)
    assert which("chroot") == "/usr/sbin/chroot"


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        (Result(("x",), 1, "said this\n", ""), "said this"),
        (Result(("x",), 1, "said this", "first\nError: no such thing.\n\n"), "Error: no such thing"),
        (Result(("x",), 3), "exit status 3"),
    ],
)
def test_a_complaint_is_one_line(result: Result, complaint: str) -> None:
    assert result.complaint == complaint

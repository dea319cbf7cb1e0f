# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python of molecule's nodes compiles a module's files once, and runs what it was given."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[2] / "lab/node/compiled"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where the code is kept."""
    return tmp_path / "kept"


def says(kept: Path, archive: Path, source: str) -> str:
    """What a program says that imports ``source`` from a zip file."""
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("payload.py", source)
    program = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(archive)!r}); import payload"]
    return subprocess.run(program, env={**os.environ, "PYTHONPATH": str(SITE), "LAB_COMPILED": str(kept)}, check=True, capture_output=True, text=True).stdout


def test_the_same_source_is_compiled_once_wherever_it_lies(kept: Path, tmp_path: Path) -> None:
    assert says(kept, tmp_path / "a.zip", "print('one')") == "one\n"
    (only,) = kept.iterdir()
    only.write_bytes(only.read_bytes().replace(b"one", b"its"))
    assert says(kept, tmp_path / "b.zip", "print('one')") == "its\n"
    assert list(kept.iterdir()) == [only]


def test_another_source_of_the_same_name_runs_itself(kept: Path, tmp_path: Path) -> None:
    assert [says(kept, tmp_path / "a.zip", f"print('{word}')") for word in ("one", "two")] == ["one\n", "two\n"]


@pytest.mark.parametrize("damage", [b"", b"\0", b"no code", b"N"], ids=["empty", "nothing", "a text", "None"])
def test_a_damaged_file_is_compiled_again(kept: Path, tmp_path: Path, damage: bytes) -> None:
    says(kept, tmp_path / "a.zip", "print('one')")
    (only,) = kept.iterdir()
    sound = only.read_bytes()
    only.write_bytes(damage)
    assert says(kept, tmp_path / "a.zip", "print('one')") == "one\n"
    assert only.read_bytes() == sound

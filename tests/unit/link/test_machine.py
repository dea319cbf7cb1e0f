# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real machine of the link code, on a folder: what it does where a file can not be written or is no file."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine, Meta


def test_a_file_that_can_not_be_written_leaves_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "60-gb10-fabric.conf"
    (target / "of somebody").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        Machine().write(str(target), b"ours", Meta(0o644, 0, 0, 0, None))
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: Machine().write(str(path), b"ours", Meta(0o644, 0, 0, 0, None)),
        lambda path: _files.write(path, "ours", ExitStack()),
    ],
    ids=["under a rollback", "on an undo stack"],
)
def test_a_full_disk_is_told_with_the_file_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]) -> None:
    def full(_number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(os, "fchown", lambda *_args: None)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/60-gb10-fabric.conf'"):
        write(tmp_path / "60-gb10-fabric.conf")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_is_removed_from_a_read_only_place_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "unlink", read_only)
    Machine().remove(f"{tmp_path}/60-gb10-fabric.yaml")
    (tmp_path / "here").touch()
    with pytest.raises(OSError, match="Read-only"):
        Machine().remove(f"{tmp_path}/here")


def test_a_folder_in_the_place_of_a_file_is_an_error_and_not_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        Machine().read(str(tmp_path))


@pytest.mark.parametrize(
    ("place", "make", "found"),
    [
        ("a", lambda part: part.symlink_to("/nowhere"), "a link to /nowhere, which is no folder"),
        ("a/b", lambda part: part.symlink_to(__file__), f"a link to {__file__}, which is no folder"),
        ("a/b/c", lambda part: part.write_text(""), "something else"),
    ],
)
def test_the_part_of_a_path_that_is_no_folder_is_found(tmp_path: Path, place: str, make: Callable[[Path], None], found: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path / place)
    assert Machine().wall(f"{tmp_path}/a/b/c") == (f"{tmp_path}/{place}", found)


def test_a_folder_a_link_to_one_and_nothing_are_no_wall(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path)
    assert Machine().wall(f"{tmp_path}/a/b") is None

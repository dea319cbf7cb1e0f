# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that two runs write at the same time, or that a run which was killed left half written."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils import _files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("before", [None, "before"])
def test_two_writers_leave_the_whole_text_of_the_later_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    file, seen = tmp_path / "hosts", []
    if before:
        file.write_text(before)

    def meanwhile(_number: int) -> None:
        monkeypatch.setattr(os, "fsync", lambda _number: None)
        _files.write(file, "the other's", ExitStack())
        seen.append(file.read_text())

    monkeypatch.setattr(os, "fsync", meanwhile)
    _files.write(file, "ours", ExitStack())
    assert (seen, file.read_text(), names(tmp_path)) == (["the other's"], "ours", ["hosts"])


@pytest.mark.parametrize("text", ["new", "old", None], ids=["written", "right already", "removed"])
def test_what_a_killed_writer_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path, text: str | None) -> None:
    file, strange = tmp_path / "hosts", tmp_path / ".hosts.swp"
    dead, living = (tmp_path / f".hosts.gb10-{name}" for name in ("dead", "living"))
    for path in (file, strange, dead, living):
        path.write_text("old")
    with living.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        _files.write(file, text, ExitStack())
        assert names(tmp_path) == sorted({living.name, strange.name} | ({file.name} if text else set()))
    _files.write(file, text, ExitStack())
    assert living.name not in names(tmp_path)


def test_a_new_file_that_is_swept_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, real = tmp_path / "hosts", fcntl.flock
    swept: list[str] = []

    def late(handle: int, operation: int) -> None:
        if not swept:
            swept.extend(names(tmp_path))
            (tmp_path / swept[0]).unlink()
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    _files.write(file, "ours", ExitStack())
    assert len(swept) == 1
    assert (file.read_text(), names(tmp_path)) == ("ours", ["hosts"])


def test_the_error_is_told_and_not_that_there_is_nothing_to_clean_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_number: int) -> None:
        for path in tmp_path.iterdir():
            path.unlink()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", gone)
    with pytest.raises(OSError, match=rf"^\[Errno 28\] No space left on device: '{tmp_path}/hosts'$"):
        _files.write(tmp_path / "hosts", "ours", ExitStack())


def link_to(path: Path, target: Path) -> str:
    path.symlink_to(target)
    return f"a link to {target}, "


def device(path: Path, beside: Path) -> str:
    if os.geteuid():
        pytest.skip("only root can make a device")
    os.mknod(beside, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return f"{link_to(path, beside)}a device"


def pipe(path: Path, _beside: Path) -> str:
    os.mkfifo(path)
    return "a pipe"


def listener(path: Path, _beside: Path) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    return "a socket"


def nowhere(path: Path, beside: Path) -> str:
    return f"{link_to(path, beside / 'folder' / 'file')}whose folder is not there"


@pytest.mark.parametrize("odd", [device, pipe, listener, nowhere])
def test_what_is_no_regular_file_is_refused_untouched_and_holds_nothing_of_ours(
    tmp_path: Path, odd: Callable[[Path, Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("nccl.conf").absolute()
    found = odd(file, tmp_path / "beside")
    before = {name: os.lstat(name) for name in names(tmp_path)}
    for use in (_files.read, lambda path: _files.write(path, "ours", ExitStack())):
        with pytest.raises(_files.NotRegular) as refused:
            use(file)
        assert (refused.value.strerror, refused.value.filename) == (found, str(file))
        assert _files.advice(refused.value, "Else.") == "Remove it (systemctl unmask for a masked unit), or move it away."
    assert _files.remains(file) is None
    _files.write(file, None, ExitStack())
    assert {name: os.lstat(name) for name in names(tmp_path)} == before


def test_a_link_to_a_file_is_followed_and_one_whose_file_is_missing_makes_it(tmp_path: Path) -> None:
    for name in ("there", "missing"):
        (tmp_path / f"to-{name}").symlink_to(tmp_path / name)
    (tmp_path / "there").write_text("before")
    for name in ("there", "missing"):
        _files.write(tmp_path / f"to-{name}", "ours", ExitStack())
        assert ((tmp_path / f"to-{name}").is_symlink(), (tmp_path / name).read_text()) == (True, "ours")


def test_another_error_keeps_its_advice() -> None:
    assert _files.advice(OSError(errno.ENOSPC, "full"), "Else.") == "Else."

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes to files that are made at once and can be taken back: each registers how on the ``undo`` stack it is given."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path


def read(file: Path) -> str | None:
    """The text of a file byte for byte, or None where there is none. Raises OSError for everything else."""
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def write(file: Path, text: str | None, mode: int, undo: ExitStack) -> None:
    """Make ``text`` the content of ``file``, or remove it for None. Owner and mode of an existing file stay, a new one gets
    ``mode``; a link is followed."""
    file = Path(os.path.realpath(file))
    before = read(file)
    if text == before:
        return
    owner = None
    if before is None:
        undo.callback(file.unlink, missing_ok=True)
    else:
        status = file.stat()
        mode, owner = status.st_mode & 0o7777, (status.st_uid, status.st_gid)
        undo.callback(_put, file, before, mode, owner)
    if text is None:
        file.unlink()
    else:
        _put(file, text, mode, owner)


def _put(file: Path, text: str, mode: int, owner: tuple[int, int] | None) -> None:
    """Replace ``file`` by a new one with this text in one step."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))
            os.fchmod(stream.fileno(), mode)
            if owner and os.geteuid() == 0:
                os.fchown(stream.fileno(), *owner)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise


def rename(file: Path, other: Path, undo: ExitStack) -> None:
    """Give ``file`` the name of ``other``, which is replaced for good if it is there."""
    os.replace(file, other)
    undo.callback(os.replace, other, file)


def make_folder(folder: Path, undo: ExitStack) -> bool:
    """Make a folder that is its owner's alone, unless it is there; tells whether it was made."""
    if folder.is_dir():
        return False
    folder.mkdir()
    undo.callback(remove_if_empty, folder)
    folder.chmod(0o700)
    return True


def remove_if_empty(folder: Path) -> None:
    """Remove a folder in which nothing is left; one that is not there or not empty is left as it is."""
    try:
        folder.rmdir()
    except OSError:
        pass

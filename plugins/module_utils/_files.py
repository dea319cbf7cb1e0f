# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes to files that are made at once and can be taken back: each registers how on the ``undo`` stack it is given."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine


_KINDS = {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


class NotRegular(OSError):
    """Something is there that a file can not take the place of: to replace /dev/null, to which a link leads, breaks the machine."""


def _refuse_odd(file: Path) -> None:
    """Raise NotRegular for what can not be read or replaced as a file; a folder is left to the system, which says so itself."""
    real = Path(os.path.realpath(file))
    way = f"a link to {real}, " if file.is_symlink() else ""
    try:
        kind = _KINDS.get(stat.S_IFMT(real.stat().st_mode))
    except (FileNotFoundError, NotADirectoryError):
        kind = "whose folder is not there" if way and not real.parent.is_dir() else None
    if kind:
        raise NotRegular(errno.EINVAL, f"{way}{kind}", str(file))


def read(file: Path) -> str | None:
    """The text of a file byte for byte, or None where there is none. Raises OSError for everything else, NotRegular before it is opened."""
    _refuse_odd(file)
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None


def remains(file: Path) -> str | None:
    """The same for who only takes away: there is nothing of ours in what is no regular file."""
    with suppress(NotRegular):
        return read(file)
    return None


def advice(error: OSError, otherwise: str) -> str:
    """What to do about an error."""
    return "Remove it (systemctl unmask for a masked unit), or move it away." if isinstance(error, NotRegular) else otherwise


def write(file: Path, text: str | None, undo: ExitStack, mode: int = 0o644) -> None:
    """Make ``text`` the content of ``file``, or remove it for None. Owner and mode of an existing file stay, a new one gets
    ``mode`` and its folder is made; a link is followed. Raises OSError, NotRegular before anything is touched."""
    before = remains(file) if text is None else read(file)
    file = Path(os.path.realpath(file))
    _sweep(file)
    if text == before:
        return
    owner = None
    if before is None:
        make_folder(file.parent, undo)
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
    name = ""
    try:
        handle, name = _begin(file)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))
            os.fchmod(stream.fileno(), mode)
            if owner and os.geteuid() == 0:
                os.fchown(stream.fileno(), *owner)
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(name, file)
    except BaseException as error:
        if name:
            Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            # a full disk does not say which file, and the new one's name says nothing to anybody
            raise OSError(error.errno, error.strerror, str(file)) from error
        raise


def _prefix(file: Path) -> str:
    return f".{file.name}.gb10-"


def _begin(file: Path) -> tuple[int, str]:
    """Open a new file beside ``file``, whose lock tells :func:`_sweep` that its writer lives."""
    while True:
        handle, name = tempfile.mkstemp(prefix=_prefix(file), dir=file.parent)
        # where files can not be locked nobody sweeps either
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)


def _sweep(file: Path) -> None:
    """Remove the new files that writers of ``file`` left beside it when they were killed."""
    names = os.listdir(file.parent) if os.access(file.parent, os.R_OK) else []
    for name in names:
        if name.startswith(_prefix(file)):
            with suppress(OSError), open(file.with_name(name), "r+b") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(file.with_name(name))


def rename(file: Path, other: Path, undo: ExitStack) -> None:
    """Give ``file`` the name of ``other``, which is replaced for good if it is there."""
    os.replace(file, other)
    undo.callback(os.replace, other, file)


def keep(file: Path, other: Path, undo: ExitStack) -> None:
    """Give ``file`` the second name ``other``, under which it stays when it is replaced."""
    os.link(file, other)
    undo.callback(_take_back, other, file)


def _take_back(other: Path, file: Path) -> None:
    """Make ``file`` what ``other`` is; of two names of one file a rename leaves both."""
    os.replace(other, file)
    other.unlink(missing_ok=True)


def point(link: Path, target: str | None, undo: ExitStack) -> None:
    """Make the symbolic link ``link`` lead to ``target`` in one step, or remove it for None."""
    before = os.readlink(link) if link.is_symlink() else None
    if target == before:
        return
    undo.callback(_point, link, before)
    _point(link, target)


def _point(link: Path, target: str | None) -> None:
    if target is None:
        link.unlink(missing_ok=True)
        return
    new = link.with_name(f".{link.name}.new")
    new.unlink(missing_ok=True)
    try:
        new.symlink_to(target)
        os.replace(new, link)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def wall(folder: Path) -> tuple[str, str] | None:
    """What keeps ``folder`` from being made or used as a folder: the first part of its path that is something else, and what; or None."""
    return Machine().wall(str(folder))


def make_folder(folder: Path, undo: ExitStack, mode: int = 0o755) -> bool:
    """Make ``folder`` and those above it, with ``mode`` whatever the umask; tells whether it was not there."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir()
        undo.callback(remove_if_empty, part)
        part.chmod(mode)
    return bool(missing)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder in which nothing is left; one that is not there or not empty is left as it is."""
    try:
        folder.rmdir()
    except OSError:
        pass


def remove_folder(folder: Path, undo: ExitStack) -> None:
    """The same, as a change that can be taken back."""
    mode = folder.stat().st_mode & 0o7777 if folder.is_dir() else 0
    remove_if_empty(folder)
    if mode and not folder.exists():
        undo.callback(make_folder, folder, ExitStack(), mode)

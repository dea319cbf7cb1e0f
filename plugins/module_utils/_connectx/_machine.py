# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine as the readers of this package see it: files, folders, links and commands, none of which can raise."""

from __future__ import annotations

import errno
import grp
import os
import pwd
from collections.abc import Callable, Sequence

from ansible_collections.gb10.cluster.plugins.module_utils import _command


class Machine:
    """Everything is read below ``root``; commands go through ``runner``. What only root may read is noted in ``denied``."""

    def __init__(self, root: str = "/", runner: Callable[..., _command.Result] = _command.run) -> None:
        """``root``: folder that stands for ``/``. ``runner``: called like :func:`_command.run`."""
        self._root = root.rstrip("/")
        self._runner = runner
        self.denied: set[str] = set()

    def _path(self, path: str) -> str:
        return self._root + path

    def _note(self, path: str, error: OSError) -> None:
        if error.errno in (errno.EACCES, errno.EPERM):
            self.denied.add(path)

    def text(self, path: str) -> str | None:
        """Content of a file without white space at its end; None when there is none or the kernel refuses to tell
        (an unused GID answers EINVAL, a netdev without port name EOPNOTSUPP, a link that is down EINVAL)."""
        try:
            with open(self._path(path), "rb") as file:
                return file.read().decode("utf-8", "replace").rstrip()
        except OSError as error:
            self._note(path, error)
            return None

    def number(self, path: str) -> int | None:
        """Content of a file that holds one decimal number; None otherwise."""
        content = self.text(path)
        try:
            return int(content) if content is not None else None
        except ValueError:
            return None

    def names(self, path: str) -> list[str]:
        """Sorted names in a folder; empty when there is no such folder."""
        try:
            return sorted(os.listdir(self._path(path)))
        except OSError as error:
            self._note(path, error)
            return []

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return os.path.exists(self._path(path))

    def target(self, path: str) -> str | None:
        """Last component of what a link finally points to (``/sys/class/net/IF/device`` gives the PCI address); None without such a link."""
        real = os.path.realpath(self._path(path))
        return os.path.basename(real) if os.path.lexists(self._path(path)) else None

    def opened(self, pid: str) -> list[str]:
        """Paths of the files that process ``pid`` has open."""
        folder = f"/proc/{pid}/fd"
        paths = []
        for name in self.names(folder):
            try:
                paths.append(os.readlink(self._path(f"{folder}/{name}")))
            except OSError:
                continue
        return paths

    def user(self, uid: int) -> tuple[str, list[str]]:
        """Name and group names of a user; the number itself for one without an entry."""
        try:
            entry = pwd.getpwuid(uid)
            return entry.pw_name, [grp.getgrgid(gid).gr_name for gid in os.getgrouplist(entry.pw_name, entry.pw_gid)]
        except KeyError:
            return str(uid), []

    def which(self, tool: str) -> str | None:
        """Path of a command; None when it is not there."""
        return _command.which(tool)

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> _command.Result:
        """Run a command, ``timeout`` in seconds."""
        return self._runner(argv, timeout=timeout)

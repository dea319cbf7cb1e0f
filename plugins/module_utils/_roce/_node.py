# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node as ``_host.py`` changes it: files, commands, units and the kernel's files, below a root."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._roce import _worker


class Node:
    """Everything is below ``root``; commands go through ``run``."""

    def __init__(self, root: str = "", run: Callable[[list[str]], _worker.Done] = _worker.run) -> None:
        """``root``: folder that stands for ``/``, without a slash at its end."""
        self.root, self.run = root, run

    def text(self, path: str, wanted: bool = True) -> str | None:
        """Content of a file, bytes that are no UTF-8 escaped; None when there is none. Raises OSError for everything else; where the file is
        not ``wanted``, what is no regular file counts as none."""
        return (_files.read if wanted else _files.remains)(Path(self.root + path))

    def exists(self, path: str) -> bool:
        """Whether there is such a file, folder or link."""
        return os.path.lexists(self.root + path)

    def replace(self, path: str, content: str | None, undo: ExitStack) -> None:
        """Make a file have this content in one step, or remove it, and its folder if that is ours and nothing else is in it."""
        file = Path(self.root + path)
        _files.write(file, content, undo)
        folder = file.parent
        if content is None and folder.name == "gb10" and not os.listdir(folder):
            folder.rmdir()
            undo.callback(folder.mkdir, mode=0o755)

    def write_tos(self, device: str, value: int) -> None:
        """Set RDMA-CM's default type of service of a device."""
        _worker.write_tos(device, value, self.root)

    def systemctl(self, verb: str, interface: str, strict: bool = True) -> None:
        """Enable or disable the unit of an interface. Raises OSError when that fails and ``strict`` is set."""
        done = self.run(["systemctl", verb, f"gb10-qos@{escape(interface)}.service"])
        if strict and done.rc != 0:
            raise OSError(f"systemctl {verb} gb10-qos@{escape(interface)}.service: {done.err.strip() or done.rc}")

    def reload(self) -> None:
        """Let systemd read its unit files anew."""
        self.run(["systemctl", "daemon-reload"])

    def is_enabled(self, interface: str) -> bool:
        """Whether the unit of an interface starts with its device."""
        name = escape(interface)
        return self.exists(f"/etc/systemd/system/sys-subsystem-net-devices-{name}.device.wants/gb10-qos@{name}.service")


def escape(interface: str) -> str:
    """An interface's name as systemd writes it into a unit's name (systemd.unit, string escaping)."""
    return re.sub(r"[^A-Za-z0-9:_.]", lambda found: f"\\x{ord(found[0]):02x}", interface)

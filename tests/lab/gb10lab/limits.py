# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this machine can take more nodes: systemd in a node starts half its services, without a word, where root has no inotify instance left."""

from __future__ import annotations

import os
from pathlib import Path

from .shell import LabError

#: Inotify instances of one running node, counted.
PER_NODE = 9
LIMIT = "fs.inotify.max_user_instances"


def refuse(nodes: int, limit: int, used: int) -> None:
    """Raise :class:`LabError` when ``nodes`` more do not fit between what is used and the limit."""
    needed = nodes * PER_NODE
    if used + needed > limit:
        raise LabError(
            f"{LIMIT} - expected at least {used + needed} ({used} in use, {needed} for {nodes} nodes), found {limit}. "
            f"Take another lab down, or raise it: sysctl -w {LIMIT}=512"
        )


def check(nodes: int) -> None:
    """Look at this machine; raises :class:`LabError`."""
    limit = int(Path("/proc/sys", LIMIT.replace(".", "/")).read_text(encoding="ascii"))
    refuse(nodes, limit, sum(map(_instances, Path("/proc").glob("[0-9]*"))))


def _instances(process: Path) -> int:
    """Inotify instances of a process of root."""
    try:
        if process.stat().st_uid:
            return 0
        return sum(os.readlink(each) == "anon_inode:inotify" for each in (process / "fd").iterdir())
    except OSError:  # it has ended meanwhile
        return 0

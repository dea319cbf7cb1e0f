# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where on a machine NCCL's variables may be set, and the reading of those files."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils._nccl._settings import Source

_MOST_BYTES = 1 << 20
# (pattern below the root or below a home, how it is read, whether it comes before /etc/nccl.conf)
_SYSTEM = (
    ("etc/nccl.conf", "conf", False),
    ("etc/environment", "shell", True),
    ("etc/environment.d/*.conf", "shell", True),
    ("etc/profile", "shell", True),
    ("etc/profile.d/*.sh", "shell", True),
    ("etc/bash.bashrc", "shell", True),
)
_HOME = (
    (".nccl.conf", "conf", True),
    (".config/environment.d/*.conf", "shell", True),
    (".profile", "shell", True),
    (".bash_profile", "shell", True),
    (".bash_login", "shell", True),
    (".bashrc", "shell", True),
    (".zshenv", "shell", True),
    (".zshrc", "shell", True),
)


def homes() -> list[Path]:
    """The homes of root and of people (user ids 1000 to 59999, as Debian and Ubuntu hand them out), each once."""
    return sorted({Path(user.pw_dir) for user in pwd.getpwall() if user.pw_uid == 0 or 1000 <= user.pw_uid < 60000})


def sources(root: Path, people: Iterable[Path]) -> list[Source]:
    """Every file there is that may set something; what can not be read is left out."""
    found = []
    for base, table in [(root, _SYSTEM), *((home, _HOME) for home in people)]:
        for pattern, syntax, wins in table:
            for file in _matching(base, pattern):
                text = _read(file)
                if text is not None:
                    found.append(Source(str(file), text, syntax, wins))
    return found


def _matching(base: Path, pattern: str) -> list[Path]:
    """The files of a folder; none of one that can not be looked into, as a home on a server that is away."""
    try:
        return sorted(base.glob(pattern))
    except OSError:
        return []


def _read(file: Path) -> str | None:
    """The text of a plain file of sane size. Homes are not ours: a link there may lead to what root would wait for for ever, as /proc/kmsg."""
    try:
        if not file.is_file():
            return None
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as stream:
            content = stream.read(_MOST_BYTES + 1) if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
    except OSError:
        return None
    return None if content is None or len(content) > _MOST_BYTES else content.decode("utf-8", "replace")

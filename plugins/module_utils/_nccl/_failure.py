# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one exception of this package, and what else becomes it."""

from __future__ import annotations

import signal

from ansible_collections.gb10.cluster.plugins.module_utils._files import advice
from ansible_collections.gb10.cluster.plugins.module_utils._message import message


class NcclError(Exception):
    """Something could not be done and was undone; each argument is one text in the collection's grammar."""

    def __str__(self) -> str:
        """All texts, one a line."""
        return "\n".join(str(text) for text in self.args)


def of_system(error: OSError, place: str) -> NcclError:
    """The same for what the system refused while files below or beside ``place`` were read or written."""
    fix = advice(error, "Run as root (become: true), and look at the space and the mount options of that place.")
    return NcclError(message(f"files of NCCL ({error.filename or place})", "to be readable and writable", error.strerror or str(error), fix))


def undo_when_told_to_end() -> None:
    """Make a signal to end a failure like any other, so that everything is undone before the process goes."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _told_to_end)


def _told_to_end(number: int, _frame: object) -> None:
    raise NcclError(message("installation of NCCL", "time to finish", signal.Signals(number).name, "Run again."))

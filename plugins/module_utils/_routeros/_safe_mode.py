# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RouterOS' safe mode: take, release, unroll, and who holds it.

Measured: the commands exist since 7.18; one holder system-wide; over a PTY only; ``/safe-mode get current`` is the honest check after
take (RouterOS 7.21 to 7.24.4). The argument ``on-error=unroll`` never takes it from a holder: that answers "Action aborted.".
"""

from __future__ import annotations

import time
from typing import NamedTuple

from .._message import message
from ._rows import Row, flag
from ._session import Session, SwitchError


MENU = "/safe-mode"


class Taken(SwitchError):
    """Somebody else has taken safe mode between a look and our take; nothing was changed."""


class SafeMode(NamedTuple):
    """``enabled``: somebody holds it; ``current``: this very session does; ``holder``: the user and where from, or ``nobody``."""

    enabled: bool
    current: bool
    holder: str


def state(session: Session) -> SafeMode:
    """Who holds safe mode. Raises :class:`SwitchError` when the switch does not tell, which is not the same as nobody."""
    rows = session.rows(MENU, singleton=True)
    if not any({"enabled", "current"} <= row.keys() for row in rows):
        raise SwitchError(message(
            f"{session.name}: safe mode", "told by /safe-mode/print", "nothing", "Check the RouterOS version and the rights of the user."))
    return of(rows[0])


def of(row: Row) -> SafeMode:
    """What the record of the menu says; an empty one says nobody."""
    holder = " from ".join(str(row[key]) for key in ("user", "owner") if row.get(key)) or "nobody"
    return SafeMode(bool(flag(row.get("enabled"))), bool(flag(row.get("current"))), holder)


def take(session: Session) -> None:
    """Take safe mode, and see that it is ours. Raises :class:`Taken` when somebody else was faster."""
    reply = session.run("/safe-mode/take on-error=unroll")
    now = state(session)
    if now.enabled and not now.current:
        raise Taken(message(
            f"{session.name}: safe mode", "free", f"held by {now.holder}", "Let that session release or unroll it, or raise safe_mode_wait."))
    if not now.current:
        raise SwitchError(message(f"{session.name}: safe mode", "taken", reply.text or "not taken", "Look at /safe-mode/print on the switch."))


def release(session: Session) -> None:
    """Keep the changes. Safe mode must still be ours, or nothing protected them and nobody knows who ended it."""
    if not state(session).current:
        raise SwitchError(message(
            f"{session.name}: safe mode", "still held by this session", "ended by somebody else", "Find out who works on the switch."))
    session.run("/safe-mode/release")
    if state(session).current:
        raise SwitchError(message(f"{session.name}: safe mode", "released", "still held", "Look at /safe-mode/print on the switch."))


def unroll(session: Session) -> bool:
    """Undo everything since take. Returns whether this session holds nothing any more."""
    if state(session).current:
        session.run("/safe-mode/unroll")
    return not state(session).current


def wait_until_free(session: Session, patience: float, poll: float, deadline: float | None = None) -> bool:
    """Wait until nobody holds safe mode; never take it from its holder. Times in seconds.

    :param deadline: when the patience ends, if it began before, as ``time.monotonic`` tells.
    :returns: whether there was anything to wait for, so that what was read before may be stale.
    :raises SwitchError: with the holder's name, when it stays held.
    """
    deadline = time.monotonic() + patience if deadline is None else deadline
    waited = False
    while True:
        now = state(session)
        if not now.enabled:
            return waited
        if time.monotonic() > deadline:
            raise SwitchError(message(
                f"{session.name}: safe mode", f"free within {patience:g} s", f"held by {now.holder}",
                "Let that session release or unroll it, or raise safe_mode_wait."))
        waited = True
        time.sleep(poll)

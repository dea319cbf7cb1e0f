# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change of a switch as a transaction: read, compute, and either all of it or nothing.

Safe mode does the work: RouterOS undoes everything that happened in it when its session ends without a release, at the latest when
TCP gives up (up to 9 minutes), and holds at most 100 entries of undo history; beyond that it silently protects nothing (MikroTik manual,
"Configuration management"). Larger work is therefore split between groups, each of which leaves a state that is valid alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .._message import message
from ._argspec import Care
from ._command import Command, Group
from ._exports import save
from ._safe_mode import Taken, release, take, unroll, wait_until_free
from ._session import MAX_LINE, ConnectionLost, Session, SwitchError

MAX_ACTIONS = 80
"""Entries of the undo history per transaction, below the 100 at which safe mode stops protecting."""

_BY_ITSELF = "The switch undoes everything by itself within 10 minutes."

State = dict[str, Any]


class Task(NamedTuple):
    """What a module wants. ``read`` takes a session and gives everything the decision needs; ``compute`` turns that into the groups of
    commands that are still missing (none: converged); ``problems`` says what is wrong although nothing is missing. ``first`` is ``read`` before
    a change, and raises :class:`SwitchError` when it must not be."""

    read: Callable[[Session], State]
    compute: Callable[[State], list[Group]]
    problems: Callable[[State], list[str]] = lambda state: []
    first: Callable[[Session], State] | None = None


class Outcome(NamedTuple):
    """What happened. ``commands`` were, or in check mode would be, sent; ``export`` is the name of the file taken before, or None."""

    before: State
    after: State
    commands: list[str]
    export: str | None


class Switch:
    """A switch that can be logged in again; ``connect`` makes a new session."""

    def __init__(self, connect: Callable[[], Session]) -> None:
        self.connect = connect
        self.session = connect()

    @property
    def name(self) -> str:
        """How messages call the switch."""
        return self.session.name

    def reconnect(self, care: Care) -> None:
        """Replace the session by a new one, trying for as long as an undo may take. Raises the last :class:`SwitchError`."""
        self.session.drop()
        deadline = time.monotonic() + care.unroll_wait
        while True:
            try:
                self.session = self.connect()
                return
            except SwitchError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(care.poll)


def batches(groups: list[Group]) -> list[list[Group]]:
    """Fill transactions with whole groups, in order; of one that is too large :func:`unsendable` tells."""
    filled: list[list[Group]] = []
    for group in groups:
        if not filled or sum(other.actions for other in filled[-1]) + group.actions > MAX_ACTIONS:
            filled.append([])
        filled[-1].append(group)
    return filled


def unsendable(name: str, groups: list[Group]) -> list[str]:
    """Why commands can not be sent: a line that no terminal echoes, a group that safe mode can not undo. ``name``: what messages call the switch."""
    texts = [command.text for group in groups for command in group.commands]
    return [
        message(f"{name}: {text[:60]}…", f"at most {MAX_LINE} characters", len(text), "Shorten what these rows have as comments and names.")
        for text in texts if len(text) > MAX_LINE
    ] + [
        message(f"{name}: {group.title}", f"at most {MAX_ACTIONS} changes, which safe mode can undo together", group.actions,
                "Give this switch fewer legs at a time.")
        for group in groups if group.actions > MAX_ACTIONS
    ]


class _Overtaken(SwitchError):
    """Somebody has changed the switch between our look and our take, so that what was computed is not what it takes; nothing was changed."""


def converge(switch: Switch, task: Task, check_mode: bool, care: Care = Care(), tries: int = 3, deadline: float | None = None) -> Outcome:
    """Make a switch what ``task`` wants, or tell what that takes.

    A switch that already is, costs one login and no write. After somebody else's safe mode or change everything is looked at again,
    ``tries`` times at most; ``deadline`` is when patience with safe modes of others ends, if it began before.

    :raises SwitchError: when it can not be; what the text says was committed stays, everything else is as before.
    """
    before = (task.first or task.read)(switch.session)
    groups = task.compute(before)
    refused = unsendable(switch.name, groups)
    if refused:
        raise SwitchError("\n".join(refused))
    commands = [command.text for group in groups for command in group.commands]
    if check_mode or not groups:
        return Outcome(before, before, commands, None)
    deadline = time.monotonic() + care.safe_mode_wait if deadline is None else deadline
    if wait_until_free(switch.session, care.safe_mode_wait, care.poll, deadline):
        return converge(switch, task, check_mode, care, tries, deadline)
    export = save(switch.session, care.keep_exports)
    after = before
    committed: list[str] = []
    for batch in batches(groups):
        try:
            after = _transact(switch, task, batch, care, looked_long_ago=not committed)
        except SwitchError as error:
            if isinstance(error, Taken) and not committed and time.monotonic() < deadline:
                return converge(switch, task, check_mode, care, tries, deadline)
            if isinstance(error, _Overtaken) and tries > 1:
                return converge(switch, task, check_mode, care, tries - 1)
            done = f" Kept from before: {', '.join(committed)}." if committed else ""
            raise SwitchError(f"{error}{done} The configuration from before the change is in {export} on the switch.") from error
        committed += [group.title for group in batch]
    return Outcome(before, after, commands, export)


def _transact(switch: Switch, task: Task, batch: list[Group], care: Care, looked_long_ago: bool) -> State:
    """One safe mode from take to release. Returns the state that was read back.

    :param looked_long_ago: there was an export since the switch was looked at, which takes seconds.
    """
    commands = [command for group in batch for command in group.commands]
    position = "taking safe mode"
    try:
        take(switch.session)
        position = "looking again"
        if looked_long_ago:
            _still_needed(switch.session, task, batch)
        for index, command in enumerate(commands, 1):
            position = f"command {index} of {len(commands)}, {command.text}"
            _send(switch.session, command)
        position = "reading back"
        state = _read_back(switch.session, task, batch, care)
        position = "the second login"
        _prove_reachable(switch)
        position = "releasing safe mode"
        release(switch.session)
        return state
    except ConnectionLost as error:
        return _after_a_drop(switch, task, batch, care, SwitchError(f"{error} It ended at: {position}."))
    except (Taken, _Overtaken):
        raise
    except SwitchError as error:
        raise SwitchError(f"{error} {_undo(switch, task, batch, care)}") from error


def _still_needed(session: Session, task: Task, batch: list[Group]) -> None:
    """Only under safe mode nobody else can change what our commands were computed from: comments that we write back, for one."""
    needed = [command.text for group in batch for command in group.commands]
    if _missing(task, task.read(session), batch) != needed:
        told = message(
            f"{session.name}: configuration", "the same as when this run looked", "changed by somebody else", "Run again when nobody else is at work there.")
        raise _Overtaken(told) if unroll(session) else SwitchError(told)


def _send(session: Session, command: Command) -> None:
    objection = session.write(command)
    if objection:
        fix = "Give the user a group with the policies write, test and ftp." if "permission" in objection else "See what the switch says."
        raise SwitchError(message(f"{session.name}: {command.text}", "no objection", objection, fix))


def _missing(task: Task, state: State, batch: list[Group]) -> list[str]:
    """The commands that the groups of a batch would still need in a state."""
    titles = {group.title for group in batch}
    return [command.text for group in task.compute(state) if group.title in titles for command in group.commands]


def _read_back(session: Session, task: Task, batch: list[Group], care: Care) -> State:
    """Read until nothing of the batch is missing any more; the chip takes seconds to restart a cage or to offload a bridge."""
    deadline = time.monotonic() + care.settle
    while True:
        state = task.read(session)
        missing = _missing(task, state, batch)
        wrong = task.problems(state)
        if not missing and not wrong:
            return state
        if time.monotonic() > deadline:
            found = f"still missing: {'; '.join(missing)}"
            lacking = [message(f"{session.name}: read-back", "everything as asked", found, "Look at the switch's log.")] if missing else []
            raise SwitchError(" ".join(lacking + wrong))
        time.sleep(care.poll)


def _prove_reachable(switch: Switch) -> None:
    """Log in once more and read: who can not come in now, could not come in after the release either."""
    probe = switch.connect()
    try:
        probe.rows("/system/identity", singleton=True)
    finally:
        probe.close()


def _undo(switch: Switch, task: Task, batch: list[Group], care: Care) -> str:
    """Undo a failed transaction and say what is left of it; a switch that does not answer gets its connection cut, which does the same."""
    try:
        try:
            undone = unroll(switch.session)
        except ConnectionLost:
            undone = False
        if not undone:
            switch.reconnect(care)
            wait_until_free(switch.session, care.unroll_wait, care.poll)
        return _verdict(task.read(switch.session), task, batch)
    except SwitchError as error:
        return f"{error} {_BY_ITSELF}"


def _after_a_drop(switch: Switch, task: Task, batch: list[Group], care: Care, error: SwitchError) -> State:
    """The session is gone: wait for the switch to undo it, then look. A release whose answer was lost has kept everything, and that is fine."""
    try:
        switch.reconnect(care)
        wait_until_free(switch.session, care.unroll_wait, care.poll)
        state = task.read(switch.session)
    except SwitchError as again:
        raise SwitchError(f"{error} {again} {_BY_ITSELF}") from again
    if not _missing(task, state, batch):
        return state
    raise SwitchError(f"{error} {_verdict(state, task, batch)}") from error


def _verdict(state: State, task: Task, batch: list[Group]) -> str:
    missing = _missing(task, state, batch)
    if missing == [command.text for group in batch for command in group.commands]:
        return "Everything was undone."
    return f"Not everything was undone, still missing would be: {'; '.join(missing) or 'nothing'}."

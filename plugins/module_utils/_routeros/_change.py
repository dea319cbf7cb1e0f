# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a module wants of a switch, and the one way in which every module gets it: read, refuse, compute, change, report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _device
from ._command import Command, Group
from ._management import MENUS as MANAGEMENT_MENUS
from ._rows import Row
from ._session import ConnectionLost, Session, SwitchError
from ._state import Reader
from ._transaction import Care, Outcome, Switch, Task, converge, unsendable

Menus = dict[str, list[Row]]
"""Path -> rows that were read; the one row of a menu with a single record."""

Texts = Callable[[Menus], list[str]]

DEVICE_MENUS = {"/system/resource": True, "/system/routerboard": True, "/interface/ethernet/switch": False, "/system/package": False}
COMMON_MENUS = {**DEVICE_MENUS, **MANAGEMENT_MENUS}

OPTIONAL = ("/system/routerboard",)
"""Menus that may be missing. Any other that can not be read is an error: taken for empty, it would lead to wrong commands."""


class Wish(NamedTuple):
    """What a module wants. All functions but one are pure and get what was read.

    ``menus``: path -> whether it holds a single record; ``groups``: the commands that are missing; ``view``: what the user sees as before and
    after; ``refusals`` and ``warnings``, also given the address that the session goes to; ``problems``: what is wrong although nothing is
    missing; ``more`` reads what only the menus can tell that it is needed, and is the one function that talks to the switch; ``optional``: menus
    that a switch may lack.
    """

    menus: dict[str, bool]
    groups: Callable[[Menus], list[Group]]
    view: Callable[[Menus], dict[str, Any]]
    refusals: Callable[[Menus, str], list[str]] = lambda menus, address: []
    warnings: Callable[[Menus, str], list[str]] = lambda menus, address: []
    problems: Texts = lambda menus: []
    more: Callable[[Reader, Menus], Menus] = lambda reader, menus: {}
    optional: tuple[str, ...] = ()


class Result(NamedTuple):
    """What a module returns, and what it warns of. ``session`` is still open; ``menus`` as they are now, in check mode as they would be."""

    returned: dict[str, Any]
    warnings: list[str]
    session: Session
    menus: Menus


def fulfil(connect: Callable[[], Session], wish: Wish, check_mode: bool, care: Care) -> Result:
    """Make a switch what is wished for, or in check mode tell what that takes.

    :raises SwitchError: with every refusal, or with what went wrong; then nothing was changed.
    """
    switch = Switch(connect)
    seen: Menus = {}

    def first(session: Session) -> Menus:
        seen.update(read(Reader(session), {**COMMON_MENUS, **wish.menus}, wish))
        refused = _device.refusals(session.name, device_of(seen)) or wish.refusals(seen, session.address)
        if refused:
            raise SwitchError("\n".join(refused))
        return dict(seen)

    task = Task(lambda session: {**seen, **read(Reader(session), wish.menus, wish)}, wish.groups, wish.problems, first)
    try:
        outcome = converge(switch, task, check_mode, care)
    except SwitchError:
        switch.session.drop()
        raise
    before = outcome.before
    after = predict(before, wish.groups(before)) if check_mode else outcome.after
    warnings = _device.warnings(switch.name, device_of(before)) + wish.warnings(before, switch.session.address)
    if not outcome.commands:
        warnings += wish.problems(before)
    return Result(_returned(outcome, wish.view(before), wish.view(after)), warnings, switch.session, after)


def read(reader: Reader, menus: dict[str, bool], wish: Wish) -> Menus:
    """Read menus (path -> whether it holds a single record) for a wish, and what these tell that it needs. Raises :class:`SwitchError`."""
    found = {path: reader.rows(path, singleton) for path, singleton in menus.items()}
    found |= wish.more(reader, found)
    unread = [text for path, text in reader.missing.items() if path in found and path not in (*OPTIONAL, *wish.optional)]
    if unread:
        raise SwitchError("\n".join(unread))
    return found


def due(reader: Reader, wishes: dict[str, Wish]) -> dict[str, Any]:
    """What wishes take, looked at with one login: the commands that are missing by the wish's name, and every refusal, as ``refusals``.

    ``warnings`` and ``problems`` are of those wishes that nothing is missing for; who fulfils one is told them then.
    """
    session = reader.session
    told: dict[str, Any] = {"refusals": [], "warnings": [], "problems": [], **{name: [] for name in wishes}}
    for name, wish in wishes.items():
        try:
            menus = read(reader, {**COMMON_MENUS, **wish.menus}, wish)
            refused = _device.refusals(session.name, device_of(menus)) or wish.refusals(menus, session.address)
        except ConnectionLost:
            raise
        except SwitchError as error:
            refused = str(error).split("\n")
        told["refusals"] += [text for text in refused if text not in told["refusals"]]
        if not refused:
            groups = wish.groups(menus)
            told[name] = [command.text for group in groups for command in group.commands]
            told["refusals"] += unsendable(session.name, groups)
            told["warnings"] += [] if told[name] else wish.warnings(menus, session.address)
            told["problems"] += [] if told[name] else wish.problems(menus)
    return told


def device_of(menus: Menus) -> _device.Device:
    """What the switch is."""
    return _device.device(record(menus, "/system/resource"), record(menus, "/system/routerboard"), menus["/interface/ethernet/switch"],
                          menus["/system/package"])


def record(menus: Menus, path: str) -> Row:
    """The one record of a menu, or an empty one."""
    return next(iter(menus[path]), {})


def _returned(outcome: Outcome, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {
        "changed": bool(outcome.commands),
        "commands": outcome.commands,
        "before": before,
        "after": after,
        "export": outcome.export,
        "diff": {"before": before, "after": after},
    }


def predict(menus: Menus, groups: list[Group]) -> Menus:
    """What the menus would hold after the commands; rows that the switch makes by itself are not among them."""
    predicted = {path: [dict(row) for row in rows] for path, rows in menus.items()}
    for group in groups:
        for command in group.commands:
            _apply(predicted.setdefault(command.menu, []), command)
    return predicted


def _apply(rows: list[Row], command: Command) -> None:
    targets = [row for row in rows if not command.targets or row.get(".id") in command.targets or row.get("name") in command.targets]
    if command.verb == "add":
        rows.append({".id": "*new", **command.arguments})
    elif command.verb == "remove":
        rows[:] = [row for row in rows if row not in targets]
    else:
        for row in targets:
            row.update(command.arguments)

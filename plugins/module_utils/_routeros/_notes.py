# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a port was before we changed it, noted in its comment: so the switch itself knows what to go back to, without any plan. Pure.

``to spark-1 (gb10.cluster: was disabled=no l2mtu=1584 speed=unset)``: behind whatever its owner wrote stands what it was when we first came, all
fields of ours, so that what somebody else changes later is not taken for it; what the owner writes around the note stays there. A speed that was
unset keeps our value in the end: RouterOS can not unset it. Blanks, brackets and the like in a value are written as in a URL.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote

from ._command import Command, Value, address, word
from ._rows import Row, flag

ETHERNET = "/interface/ethernet"
UNSET = "unset"
CAN_BE_UNSET = ("path-cost",)
_NOTE = re.compile(r" ?\(gb10\.cluster: was ([^()]*)\)")


def noted(row: Row) -> dict[str, str]:
    """Field -> value before us. Of two notes the first is the older."""
    notes = _NOTE.findall(str(row.get("comment") or ""))
    pairs = [pair.split("=", 1) for note in reversed(notes) for pair in note.split() if "=" in pair]
    return {name: unquote(value, errors="surrogateescape") for name, value in pairs}


def _comment(row: Row, values: dict[str, str]) -> str:
    text = str(row.get("comment") or "")
    found = _NOTE.search(text)
    before, after = (text[:found.start()], _NOTE.sub("", text[found.end():])) if found else (text, "")
    if not values:
        return before + after if before else after.removeprefix(" ")
    note = " ".join(f"{name}={quote(value, safe='/:,', errors='surrogateescape')}" for name, value in sorted(values.items()))
    return f"{before}{' ' if before else ''}(gb10.cluster: was {note}){after}"


def remember(row: Row, before: dict[str, Any]) -> str:
    """The comment of a row with these fields and values noted. What is noted already is older and stays."""
    return _comment(row, {**{name: _spelled(value) for name, value in before.items()}, **noted(row)})


def _spelled(value: Any) -> str:
    return UNSET if value is None else str(value) if flag(value) is None else word(flag(value))


def forget(row: Row, fields: tuple[str, ...]) -> str:
    """The comment of a row once these fields are what they were."""
    return _comment(row, {name: value for name, value in noted(row).items() if name not in fields})


def former(row: Row, fields: tuple[str, ...]) -> dict[str, Value]:
    """Those of these fields that are noted, with what they were; None for one that was unset and can be again."""
    wanted = {name: value for name, value in noted(row).items() if name in fields and (value != UNSET or name in CAN_BE_UNSET)}
    return {name: None if value == UNSET else value if flag(value) is None else flag(value) for name, value in wanted.items()}


def back(row: Row, fields: tuple[str, ...]) -> dict[str, Value]:
    """What brings these fields of a row back where they differ, its comment too; nothing where nothing is noted."""
    wrong = {name: value for name, value in former(row, fields).items() if _spelled(row.get(name)) != _spelled(value)}
    return {**wrong, "comment": forget(row, fields)} if noted(row).keys() & set(fields) else {}


def set_rows(menu: str, changes: list[tuple[Row, dict[str, Value]]], most: int = 32) -> list[Command]:
    """Set rows; equal changes share a command, of ``most`` rows. One row by its name, several by their ids, which keeps the line short."""
    together: list[tuple[dict[str, Value], list[Row]]] = []
    for row, values in changes:
        known = next((rows for other, rows in together if other == values and len(rows) < most), None)
        if known is not None:
            known.append(row)
        elif values:
            together.append((values, [row]))
    return [
        Command(menu, "set", (address(rows[0]),) if len(rows) == 1 else tuple(str(row[".id"]) for row in rows), values)
        for values, rows in together
    ]

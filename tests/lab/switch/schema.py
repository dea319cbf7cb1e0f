# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which commands and arguments a RouterOS version has on a generation of switch chips.

From command dumps and, for menus that need hardware, from a table made by hand: ``tests/unit/fixtures/routeros/README.md``.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

FILES = Path(__file__).resolve().parents[2] / "unit" / "fixtures" / "routeros" / "schema"

_PRINT = "append as-value brief count-only detail file follow follow-only from interval proplist show-ids terse value-list where without-paging"
_HARDWARE_VERBS = {
    "print": _PRINT + " stats pfc usage rates comments group-by",
    "get": "as-string as-string-value number value-name",
    "find": "where",
    "remove": "numbers",
    "enable": "numbers",
    "disable": "numbers",
    "comment": "comment numbers",
    "reset-counters": "numbers",
    "export": "compact file hide-sensitive show-sensitive terse verbose where",
    "once": "",
    "monitor": "once as-value numbers",
}


def line_of(version: str) -> str:
    """``7.23`` of ``7.23.7``."""
    return ".".join(version.split(".")[:2])


@cache
def hardware() -> dict:
    """The hand-made table, as stored."""
    return json.loads((FILES / "hardware.json").read_text())


@cache
def _commands() -> dict:
    return json.loads((FILES / "commands.json").read_text())


def lines() -> list[str]:
    """The RouterOS lines that the dumps cover, oldest first."""
    return _commands()["lines"]


@cache
def schema(version: str, group: str) -> Schema:
    """The schema of ``7.23.7`` on ``cpss``, ``bc2`` or ``ac3``."""
    return Schema(version, group)


class Schema:
    """Commands of one version on one chip generation, as path -> names of arguments."""

    def __init__(self, version: str, group: str) -> None:
        self.version, self.group, self.line = version, group, line_of(version)
        if self.line not in lines():
            raise ValueError(f"no command dump of RouterOS {version}")
        self.commands = {path: self._arguments(entry) for path, entry in _commands()["commands"].items() if self._in(entry)}
        for menu, entry in hardware()["menus"].items():
            self._add_hardware(menu, entry)
        self.commands["/interface/ethernet/switch/qos/export"] = frozenset(_HARDWARE_VERBS["export"].split())
        self.menus = {parent for path in self.commands for parent in _parents(path)}

    def _in(self, entry: dict) -> bool:
        return self.line in entry.get("in", self.line).split()

    def _arguments(self, entry: dict) -> frozenset[str]:
        names = set(entry["arguments"].split())
        for when, more in entry.get("only", {}).items():
            if self.line in when.split():
                names |= set(more.split())
        return frozenset(names)

    def _add_hardware(self, menu: str, entry: dict) -> None:
        if not self._on_chip(entry):
            return
        menu, _separator, partial = menu.partition(" (")
        fields = frozenset(self.fields(menu))
        for verb in ["set"] if partial else entry["commands"]:
            if verb in ("set", "add"):
                more = fields | ({"numbers"} if verb == "set" and not entry.get("singleton") else {"copy-from"} if verb == "add" else set())
            else:
                more = frozenset(_HARDWARE_VERBS[verb].split())
            self.commands[f"{menu}/{verb}"] = self.commands.get(f"{menu}/{verb}", frozenset()) | more

    def fields(self, menu: str) -> dict[str, dict]:
        """Writable fields of a hardware menu that this version has on this chip: name -> its entry in the table."""
        found = {}
        for key in (menu, f"{menu} (hardware-only args)"):
            for names, entry in hardware()["menus"].get(key, {}).get("fields", {}).items():
                if self._on_chip(entry) and self._in_line(entry):
                    found.update({name: entry for name in _expand(names)})
        return found

    def _in_line(self, entry: dict) -> bool:
        since, until = (re.match(r"\d+\.\d+", entry.get(key, "")) for key in ("since", "until"))
        return not (since and _number(self.line) < _number(since[0])) and not (until and _number(self.line) > _number(until[0]))

    def _on_chip(self, entry: dict) -> bool:
        chips = entry.get("chips", "")
        if chips.startswith("not "):
            return f"prestera-{self.group}" not in chips
        return not chips.startswith("mv88") and (not chips.startswith("prestera-") or chips == f"prestera-{self.group}")

    def arguments(self, menu: str, verb: str) -> frozenset[str] | None:
        """Names of a command's arguments; None when there is no such command."""
        return self.commands.get(f"{menu}/{verb}")


def _number(line: str) -> tuple[int, ...]:
    return tuple(int(part) for part in line.split("."))


def _expand(names: str) -> list[str]:
    """``shared-pool0..shared-pool7`` is eight fields."""
    bounds = re.fullmatch(r"(.*?)(\d+)\.\.\1(\d+)", names)
    return [f"{bounds[1]}{index}" for index in range(int(bounds[2]), int(bounds[3]) + 1)] if bounds else [names]


def _parents(path: str) -> list[str]:
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[:length]) for length in range(1, len(parts) + 1)]

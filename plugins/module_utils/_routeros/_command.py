# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One configuration command for RouterOS as data, and how it is written down.

Quoting: outside quotes only ``[A-Za-z0-9._-]`` are always safe; inside them ``\\``, ``"`` and ``$`` are escaped, in this order
(measured on RouterOS 7.23.2 and 7.24, tik4net findings). Everything that is no printable ASCII is written as its bytes, ``\\C3\\BC``, as RouterOS'
own exports do: a control character is a key of the console, Ctrl-X ends safe mode, and what else a terminal echoes nobody knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Union

Value = Union[str, int, bool, None, "list[str]"]
"""What an argument can be set to; ``None`` takes the value away (``!name``)."""

_PLAIN = re.compile(r"[A-Za-z0-9._-]+\Z")
_ID = re.compile(r"\*[0-9A-Fa-f]+\Z")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]*\Z")
_NAMED = {"\r": "\\r", "\n": "\\n", "\t": "\\t"}


def quote(text: str) -> str:
    """Write a string so that RouterOS reads exactly that string; the empty string becomes ``""``."""
    if _PLAIN.match(text):
        return text
    for character in ("\\", '"', "$"):
        text = text.replace(character, "\\" + character)
    return '"' + re.sub(r"[^ -~]", lambda found: _NAMED.get(found[0]) or _bytes(found[0]), text) + '"'


def _bytes(text: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def word(value: Value) -> str:
    """Write a value: booleans as ``yes`` and ``no``, lists with commas between the elements."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(value) if all(_PLAIN.match(item) for item in value) else quote(",".join(value))
    return quote(str(value))


def address(row: dict[str, object]) -> str:
    """How to point at a row that was read: by its name where that can not be taken for anything else, else by its ``.id``.

    Never through ``find``: an empty result makes ``remove`` a silent no-op, and RouterOS 7.24.0 looked up the wrong rows.
    """
    name = row.get("name")
    return name if isinstance(name, str) and _NAME.match(name) else str(row[".id"])


@dataclass(frozen=True)
class Command:
    """One ``set``, ``add``, ``remove``, ``enable`` or ``disable``.

    ``menu`` is a full path (``/interface/ethernet``); ``targets`` are names or ids of rows, empty for ``add`` and for
    menus that hold a single record; ``arguments`` in the order in which they are written.
    """

    menu: str
    verb: str
    targets: tuple[str, ...] = ()
    arguments: dict[str, Value] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The command as it is typed."""
        words = [self.menu, self.verb]
        if self.targets:
            words.append(",".join(target if _ID.match(target) else quote(target) for target in self.targets))
        words += [f"!{name}" if value is None else f"{name}={word(value)}" for name, value in self.arguments.items()]
        return " ".join(words)

    @property
    def actions(self) -> int:
        """How many entries of RouterOS' undo history the command may take: one per row, counted high on purpose."""
        return max(1, len(self.targets))


@dataclass(frozen=True)
class Group:
    """Commands that belong together: the switch is valid before the first and after the last, not in between."""

    title: str
    commands: tuple[Command, ...]

    @property
    def actions(self) -> int:
        """Entries of the undo history that the whole group may take."""
        return sum(command.actions for command in self.commands)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of a menu's fields: which text they accept, what they store, and what they answer to the rest.

Errors as collected from RouterOS 7.20 to 7.24: a word that an enumeration does not have is a syntax error at its column, a number outside its limits
a "value of … out of range", a reference to nothing an "input does not match any value of …".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .values import NOTHING, Bits, Nothing, RouterError, put

Names = Callable[[str], list[str]]
"""What a reference may name: ``bridge`` -> names of bridges."""

_RATE = re.compile(r"(\d+(?:\.\d+)?)([kMGT]?)(?:bps)?\Z")
_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


class EnumError(Exception):
    """A word that is not in an enumeration: a syntax error whose column only the caller knows."""


@dataclass(frozen=True)
class Field:
    """A field of a menu.

    ``kind``: flag, number, word (one of ``words``), words (a list of them), text, rate, reference, references (of ``target``), numbers
    (a set with ranges). ``words`` of a number or a text are further values it accepts, like ``auto``.
    """

    name: str
    kind: str = "text"
    default: Any = NOTHING
    words: tuple[str, ...] = ()
    low: int = 0
    high: int = 2**32 - 1
    target: str = ""
    required: bool = False

    def parse(self, value: Any, names: Names) -> Any:
        """Make a given value a stored one. Raises :class:`RouterError` or :class:`EnumError`."""
        if isinstance(value, Nothing):
            return value
        if self.kind == "flag" and isinstance(value, bool):
            return value
        text = put(value) if not isinstance(value, list) else ",".join(put(item) for item in value)
        return getattr(self, f"_{self.kind}")(text, names)

    def _flag(self, text: str, names: Names) -> bool:
        if text not in _WORDS:
            raise EnumError
        return _WORDS[text]

    def _text(self, text: str, names: Names) -> Any:
        return text or self.default

    def _number(self, text: str, names: Names) -> Any:
        if text in self.words:
            return text
        if re.match(r"0x[0-9A-Fa-f]+\Z", text):
            number = int(text, 16)
        elif re.match(r"-?\d+\Z", text):
            number = int(text)
        else:
            raise RouterError(f"invalid value for argument {self.name}")
        if not self.low <= number <= self.high:
            raise RouterError(f"value of {self.name} out of range ({self.low}..{self.high})")
        return f"0x{number:X}" if text.startswith("0x") else number

    def _word(self, text: str, names: Names) -> str:
        found = text if text in self.words else [word for word in self.words if word.startswith(text)]
        if isinstance(found, list):
            if len(found) != 1:
                raise EnumError
            return found[0]
        return found

    def _words(self, text: str, names: Names) -> list[str]:
        return [self._word(word, names) for word in text.split(",") if word]

    def _rate(self, text: str, names: Names) -> Any:
        found = _RATE.match(text)
        if not found:
            raise RouterError(f"invalid value for argument {self.name}")
        bits = round(float(found[1]) * _FACTORS[found[2]])
        return Bits(bits) if bits else NOTHING

    def _reference(self, text: str, names: Names) -> str:
        if text not in self.words and text not in names(self.target):
            raise RouterError(f"input does not match any value of {self.name}")
        return text

    def _references(self, text: str, names: Names) -> list[str]:
        return [self._reference(word, names) for word in text.split(",") if word]

    def _numbers(self, text: str, names: Names) -> str:
        if text in self.words:
            return text
        for part in text.split(","):
            bounds = re.match(r"(\d+)(?:-(\d+))?\Z", part)
            if not bounds:
                raise RouterError(f"invalid value for argument {self.name}")
            if any(not self.low <= int(bound) <= self.high for bound in bounds.groups() if bound):
                raise RouterError(f"value of {self.name} out of range ({self.low}..{self.high})")
        return text


_REFERENCES = {"profile name": "profile", "map name": "map", "tx-manager name": "tx-manager", "pfc profile name": "pfc"}


def from_hardware(name: str, entry: dict) -> Field:
    """A field of the hand-made hardware table, whose ``type`` and ``default`` are short phrases."""
    kind, required = entry["type"], bool(entry.get("required"))
    default = entry.get("default", "").split(" ")[0].rstrip(",;")
    if kind in _REFERENCES:
        return Field(name, "reference", default or NOTHING, target=_REFERENCES[kind], required=required)
    if kind == "yes|no":
        return Field(name, "flag", default == "yes")
    bounds = re.search(r"(\d+)\.\.(\d+)", kind)
    low, high = (int(bounds[1]), int(bounds[2])) if bounds else (0, 2**32 - 1)
    if kind.startswith("int"):
        return Field(name, "number", int(default) if default.isdigit() else NOTHING, low=low, high=high, required=required)
    if kind.startswith("list"):
        words = ("auto",) if "auto" in kind else ()
        return Field(name, "numbers", default or NOTHING, words, low, high, required=required)
    if kind.startswith("bits/s"):
        return Field(name, "rate")
    if kind.startswith("percent"):
        return Field(name, "text", default or NOTHING)
    if "|" in kind and not kind.startswith(("iface", "rx")):
        return Field(name, "word", default or NOTHING, tuple(kind.split("|")))
    return Field(name, "text", default if default and default not in ("unset",) else NOTHING, required=required)

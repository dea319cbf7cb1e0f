# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of RouterOS' script language, and how each of its printers writes them."""

from __future__ import annotations

import json
import re
from typing import Any


class RouterError(Exception):
    """Something RouterOS says instead of doing what was asked; the text is complete."""


class Id(str):
    """An internal number of a row, ``*1A``."""

    __slots__ = ()


class Bits(int):
    """A rate in bit/s; ``print`` and ``export`` write it with a unit, scripts see digits."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """``200.0Gbps``."""
        for factor, unit in ((10**9, "Gbps"), (10**6, "Mbps"), (10**3, "kbps")):
            if self >= factor:
                return f"{self / factor:.1f}{unit}"
        return f"{int(self)}bps"


class Nothing:
    """The empty value of a script, and of an argument that is unset."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing"


NOTHING = Nothing()


def put(value: Any) -> str:
    """As ``:put`` writes it: lists with ``;`` between elements, keyed arrays as ``key=value``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Nothing):
        return ""
    if isinstance(value, dict):
        return ";".join(f"{key}={put(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ";".join(put(item) for item in value)
    return str(int(value)) if isinstance(value, Bits) else str(value)


def written(value: Any) -> str:
    """As ``print`` and ``export`` write it: yes and no, rates with a unit, lists with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Nothing):
        return ""
    if isinstance(value, Bits):
        return value.text
    if isinstance(value, list):
        return ",".join(written(item) for item in value)
    return str(value)


def quoted(value: Any) -> str:
    """As ``export`` writes it: quoted where it must be."""
    text = written(value)
    if re.match(r"[A-Za-z0-9._/:*%,-]+\Z", text):
        return text
    for character in ("\\", '"', "$"):
        text = text.replace(character, "\\" + character)
    return '"' + text.replace("\n", "\\n").replace("\t", "\\t") + '"'


def to_json(value: Any, converts: bool = True) -> str:
    """As ``:serialize to=json`` writes it. ``converts``: strings that look like numbers become numbers, unless ``options`` says no."""

    def plain(item: Any) -> Any:
        if isinstance(item, str):
            return int(item) if converts and item.isdecimal() else str(item)
        if isinstance(item, dict):
            return {key: plain(part) for key, part in item.items()}
        if isinstance(item, list):
            return [plain(part) for part in item]
        return "" if isinstance(item, Nothing) else item

    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False)


def kind_of(value: Any) -> str:
    """As ``:typeof`` names it."""
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "bool"), (int, "num"), (Id, "id"), (str, "str"), (list, "array"), (dict, "array"), (Nothing, "nothing"))
    return next(name for kind, name in kinds if isinstance(value, kind))


def truth(value: Any) -> bool:
    """What a condition makes of a value."""
    if isinstance(value, str):
        return value in ("true", "yes") or (value not in ("", "false", "no"))
    return not isinstance(value, Nothing) and bool(value)


def same(left: Any, right: Any) -> bool:
    """Equality of scripts: a boolean equals its words, a number its digits."""
    if isinstance(left, bool) or isinstance(right, bool):
        words = {"yes": True, "true": True, "no": False, "false": False}
        return words.get(put(left), put(left)) == words.get(put(right), put(right))
    return put(left) == put(right)

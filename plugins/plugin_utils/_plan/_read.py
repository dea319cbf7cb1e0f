# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads single values of a request, whatever type they come in: each reader returns a value that is usable, and notes what was wrong."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Any

from ._notes import Notes, closest, one_of, shown

_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def mapping(notes: Notes, what: str, value: Any, keys: Collection[str], fix: str) -> dict[str, Any] | None:
    """A mapping with no other keys than ``keys``; None if it is no mapping. Unknown keys are noted and left out."""
    if not isinstance(value, dict):
        notes.refuse(what, "a mapping", shown(value), fix)
        return None
    for key in value:
        if key not in keys:
            notes.refuse(what, f"only the keys {one_of(keys)}", shown(key), closest(key, keys, "Remove it."))
    return {key: item for key, item in value.items() if key in keys}


def sequence(notes: Notes, what: str, value: Any, fix: str) -> list[Any]:
    """A list; empty if there is none."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    notes.refuse(what, "a list", shown(value), fix)
    return []


def text(notes: Notes, what: str, value: Any, expected: str, fix: str) -> str | None:
    """A text that is not empty, or a number as text; None if there is none."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
        return str(value).strip()
    if value is not None:
        notes.refuse(what, expected, shown(value), fix)
    return None


def choice(notes: Notes, what: str, value: Any, options: Collection[str], default: str, fix: str) -> str:
    """One of ``options``; the default if there is none."""
    if value is None:
        return default
    if isinstance(value, str) and value.strip() in options:
        return value.strip()
    notes.refuse(what, one_of(options), shown(value), closest(value, options, fix) if isinstance(value, str) else fix)
    return default


def whole(value: Any) -> int | None:
    """A whole number, also from its decimal text; None for everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
    return value if isinstance(value, int) else None


def integer(notes: Notes, what: str, value: Any, low: int, high: int, fix: str) -> int | None:
    """A whole number from ``low`` to ``high``; None if there is none."""
    if value is None:
        return None
    number = whole(value)
    if number is not None and low <= number <= high:
        return number
    notes.refuse(what, f"a whole number from {low} to {high}", shown(value), fix)
    return None


def boolean(notes: Notes, what: str, value: Any, default: bool, fix: str) -> bool:
    """True or false, in any spelling that YAML and Ansible know; the default if there is none."""
    if value is None:
        return default
    truth = _BOOLEANS.get(str(value).strip().lower()) if isinstance(value, (bool, int, str)) else None
    if truth is None:
        notes.refuse(what, "true or false", shown(value), fix)
        return default
    return truth


def network(notes: Notes, what: str, value: Any, example: str, fix: str) -> ipaddress.IPv4Network | None:
    """An IPv4 network without host bits; None if there is none."""
    if value is None:
        return None
    if not isinstance(value, str) or "/" not in value:
        notes.refuse(what, f"an IPv4 network such as {example}", shown(value), fix)
        return None
    try:
        found = ipaddress.IPv4Interface(value.strip())
    except ValueError:
        notes.refuse(what, f"an IPv4 network such as {example}", shown(value), fix)
        return None
    if found.ip != found.network.network_address:
        notes.refuse(what, found.network, found, "Write the network without host bits.")
        return None
    return found.network


def interface(notes: Notes, what: str, value: Any, example: str, fix: str) -> ipaddress.IPv4Interface | None:
    """An IPv4 address with its prefix length; None if there is none."""
    if value is None:
        return None
    if isinstance(value, str) and "/" in value:
        try:
            return ipaddress.IPv4Interface(value.strip())
        except ValueError:
            pass
    notes.refuse(what, f"an IPv4 address with prefix length such as {example}", shown(value), fix)
    return None

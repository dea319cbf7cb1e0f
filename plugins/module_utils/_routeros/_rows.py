# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of a RouterOS menu: how to ask for them, how to read the answer, and what their values mean.

Rows come as JSON (``:serialize``, RouterOS 7.13 and newer); where the answer does not parse, once more in the older ``as-value`` form.
Both answers end in the number of rows, so that a cut answer is an error and not a shorter table. Strings stay strings: without being told so,
RouterOS makes a comment ``0012`` the number 12.
Shapes: tik4net findings on 7.23.2 and 7.24; field names from read-backs published by the terraform-routeros provider.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ._console import unwrap

Row = dict[str, Any]

_COUNT = re.compile(r"#n=(\d+)\Z")
_PAIR = re.compile(r"(\.?[a-z][a-z0-9.-]*)=(.*)\Z", re.DOTALL)
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(?:bps)?\Z")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def read_command(source: str, as_json: bool = True) -> str:
    """The line that prints the rows of ``source``, a command such as ``/interface/ethernet print detail as-value``, and then their number."""
    value = "[:serialize to=json options=json.no-string-conversion $d]" if as_json else "$d"
    return f':local d [{source}];:put {value};:put ("#n=" . [:len $d])'


def print_source(menu: str, singleton: bool = False) -> str:
    """The command that reads a menu. A menu with a single record refuses ``detail``."""
    return f"{menu} print as-value" if singleton else f"{menu} print detail as-value"


def parse_rows(text: str, as_json: bool = True, singleton: bool = False) -> list[Row] | None:
    """Rows of an answer to :func:`read_command`; None when it is not all there.

    A menu with a single record gives one row; RouterOS counts its fields, unset ones perhaps among them, but JSON that parses is whole anyway.
    Values keep the types of the answer; the functions below say what they mean.
    """
    count = _COUNT.search(text.rstrip())
    if not count:
        return None
    body, expected = unwrap(text[:count.start()]), int(count[1])
    if expected == 0:
        return []
    rows = _from_json(body) if as_json else _from_as_value(body)
    if rows is None:
        return None
    if singleton and as_json:
        return rows if len(rows) == 1 else None
    found = len(rows[0]) if singleton and len(rows) == 1 else len(rows)
    return rows if found == expected else None


def _from_json(body: str) -> list[Row] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    rows = value if isinstance(value, list) else [value]
    return rows if all(isinstance(row, dict) for row in rows) else None


def _from_as_value(body: str) -> list[Row]:
    """``.id=*1;name=a;list=x;y;.id=*2;…``: a new ``.id`` begins a row, an element without ``=`` belongs to the key before it."""
    rows: list[Row] = []
    row: Row = {}
    key = ""
    for element in body.split(";"):
        pair = _PAIR.match(element)
        if pair is None:
            if key:
                row[key] = [*(row[key] if isinstance(row[key], list) else [row[key]]), element]
            continue
        key = pair[1]
        if key == ".id" or not rows:
            row = {}
            rows.append(row)
        row[key] = pair[2]
    return rows


def flag(value: Any) -> bool | None:
    """A yes/no value in any of its spellings; None when there is none."""
    if isinstance(value, bool) or value is None:
        return value
    return {"yes": True, "true": True, "no": False, "false": False}.get(str(value).strip().lower())


def number(value: Any) -> int | None:
    """A whole number; None when there is none."""
    if isinstance(value, bool):
        return None
    text = str(value).strip() if value is not None else ""
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def rate(value: Any) -> int | None:
    """A rate in bit/s with decimal units: ``200G``, ``200Gbps``, ``200.0Gbps``, bare bits; None when unset or 0."""
    found = _RATE.match(str(value).strip()) if value is not None and not isinstance(value, bool) else None
    bits = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    return bits or None


def words(value: Any) -> list[str]:
    """A list of words, however it was spelled."""
    if value is None:
        return []
    elements = value if isinstance(value, list) else re.split(r"[,;]", str(value))
    return [str(element).strip() for element in elements if str(element).strip()]


def numbers(value: Any) -> set[int]:
    """A set of numbers written as a list with ranges: ``1,4-6``. Elements that are no numbers are left out."""
    found: set[int] = set()
    for element in words(value):
        bounds = re.fullmatch(r"(\d+)(?:-(\d+))?", element)
        if bounds:
            found.update(range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1))
    return found

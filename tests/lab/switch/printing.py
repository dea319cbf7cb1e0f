# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How ``print`` lays rows out: brief table, detail, terse, and the machine-readable ``as-value``."""

from __future__ import annotations

import textwrap
from typing import Any

from .machine import Row
from .menus import Menu
from .values import written
from .views import flags_of

WIDTH = 80


def as_value(rows: list[Row], menu: Menu, detail: bool, only: list[str] | None) -> Any:
    """Rows for a script, fields in alphabetical order after ``.id``; one keyed array for a menu with a single record."""
    shown = [_fields(row, menu, detail, only) for row in rows]
    return (shown[0] if shown else {}) if menu.singleton else shown


def _fields(row: Row, menu: Menu, detail: bool, only: list[str] | None) -> Row:
    names = sorted(name for name in row if name != ".id" and not name.startswith("_"))
    if only is not None:
        names = [name for name in names if name in only]
    elif not detail and menu.summary:
        names = [name for name in names if name in menu.summary]
    return {**({".id": row[".id"]} if ".id" in row else {}), **{name: row[name] for name in names}}


def letters(path: str, row: Row) -> str:
    """Flags that a row has, ``RS``."""
    return "".join(letter for letter, key, _word in flags_of(path) if row.get(key))


def human(rows: list[Row], menu: Menu, flags: set[str]) -> str:
    """What a person gets: a single record as ``key: value`` lines, rows as a table, as ``detail`` paragraphs or ``terse`` lines."""
    if menu.singleton:
        record = {name: value for name, value in (rows[0] if rows else {}).items() if not name.startswith("_")}
        width = max((len(name) for name in record), default=0)
        return "\n".join(f"  {name:>{width}}: {written(value)}" for name, value in sorted(record.items()))
    if "terse" in flags:
        return "\n".join(f"{index:2}  {letters(menu.path, row):2} {_pairs(row, menu, quote=False)}" for index, row in enumerate(rows))
    legend = "Flags: " + "; ".join(f"{letter} - {word}" for letter, _key, word in flags_of(menu.path))
    if "detail" in flags:
        return "\n".join([legend, *(_paragraph(index, row, menu) for index, row in enumerate(rows))])
    return _table(rows, menu, legend)


def _pairs(row: Row, menu: Menu, quote: bool) -> str:
    hidden = {key for _letter, key, _word in flags_of(menu.path)} | {".id", "contents"}
    names = sorted((name for name in row if name not in hidden and not name.startswith("_")), key=lambda name: (name != "name", name))
    return " ".join(f'{name}="{written(row[name])}"' if quote and isinstance(row[name], str) and name in ("name", "default-name", "comment")
                    else f"{name}={written(row[name])}" for name in names)


def _paragraph(index: int, row: Row, menu: Menu) -> str:
    comment = f" ;;; {row['comment']}" if row.get("comment") else ""
    text = _pairs({name: value for name, value in row.items() if name != "comment"}, menu, quote=True)
    lines = textwrap.wrap(text, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    head = f"{index:2}  {letters(menu.path, row):3}"
    return "\n".join([head + comment, *("      " + line for line in lines)] if comment else
                     [head + " " + (lines[0] if lines else ""), *("      " + line for line in lines[1:])])


def _table(rows: list[Row], menu: Menu, legend: str) -> str:
    columns = [name for name in (menu.summary or ("name", "interface", "bridge", "dscp", "profile", "traffic-class", "schedule", "address"))
               if any(name in row for row in rows)]
    cells = [[name.upper() for name in columns]] + [[written(row.get(name, "")) for name in columns] for row in rows]
    widths = [max(len(line[position]) for line in cells) for position in range(len(columns))]
    lines = [legend, "Columns: " + ", ".join(name.upper() for name in columns)]
    heads = ["#     "] + [f"{index:<3}{letters(menu.path, row):3}" for index, row in enumerate(rows)]
    for head, line in zip(heads, cells, strict=True):
        lines.append((head + "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True))).rstrip())
    return "\n".join(lines)


def monitor(values: Row) -> str:
    """Right-aligned keys; the elements of a list below each other."""
    width = max(len(name) for name in values) + 2
    lines = []
    for name, value in values.items():
        first, *more = [written(item) for item in value] or [""] if isinstance(value, list) else [written(value)]
        lines += [f"{name:>{width}}: {first}", *(" " * (width + 2) + item for item in more)]
    return "\n".join(lines)


def columns(values: list[Row]) -> str:
    """Several monitors side by side."""
    names = list(dict.fromkeys(name for value in values for name in value))
    width = max(len(name) for name in names) + 2
    cells = {name: [written(value.get(name, "")) for value in values] for name in names}
    breadth = [max(len(cells[name][index]) for name in names) for index in range(len(values))]
    return "\n".join((f"{name:>{width}}: " + " ".join(f"{cell:{size}}" for cell, size in zip(cells[name], breadth, strict=True))).rstrip() for name in names)

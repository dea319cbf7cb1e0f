# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL's settings as text: our block in ``/etc/nccl.conf``, the environment file, and who else sets the same variables.

One line is ``NAME=value`` without quotes, blanks and ``export``: NCCL, systemd and docker read it alike, and a quote would
become part of the value. Of several setters NCCL takes the first: process environment, then the user's ``~/.nccl.conf``,
then ``/etc/nccl.conf`` from top to bottom. Hence our block comes first in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ansible_collections.gb10.cluster.plugins.module_utils._message import message

BEGIN, END = "# BEGIN gb10.cluster", "# END gb10.cluster"
WAS_EMPTY = "# the file was here before, and empty"
"""A line of our block that tells absent not to remove what is empty again."""
HEADER = "# written by gb10.cluster"
"""First line of the environment file."""
_LEGAL_NAME = re.compile(r"NCCL_[A-Z0-9_]+")
_LEGAL_VALUE = re.compile(r"[A-Za-z0-9=^,.:_/+-]{1,1023}")
_CONF_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_SHELL = re.compile(r"""(?:^|[\s;&(])(NCCL_[A-Z0-9_]+)=("[^"]*"|'[^']*'|[^\s;&#)]*)""")


@dataclass(frozen=True)
class Assignment:
    """One setting found in a file."""

    file: str
    line: int
    name: str
    value: str


@dataclass(frozen=True)
class Source:
    """A file that may set NCCL's variables: read as ``conf`` or as ``shell``; ``wins`` says whether it comes before ours."""

    file: str
    text: str
    syntax: str
    wins: bool


def refuse(settings: dict[str, str]) -> list[str]:
    """Names and values that NCCL, systemd and docker would not read alike."""
    fix = "Leave out quotes, blanks and everything else that a shell would treat."
    return [
        message(f"setting {name}", "NCCL_NAME and a value of plain characters", repr(value), fix)
        for name, value in settings.items()
        if not (_LEGAL_NAME.fullmatch(name) and _LEGAL_VALUE.fullmatch(value))
    ]


def lines(settings: dict[str, str]) -> str:
    """The settings, one a line, in their order."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def conf(text: str | None, settings: dict[str, str]) -> str | None:
    """The new text of ``nccl.conf``: our block first, all other lines as they were. None where nothing is left of a file that we made.

    Raises ValueError for a block that has no end, because what belongs to it can not be told.
    """
    kept, inside, was_empty = [], False, text == ""
    for line in (text or "").splitlines(keepends=True):
        mark = line.strip()
        inside = inside or mark == BEGIN
        was_empty = was_empty or (inside and mark == WAS_EMPTY)
        if not inside:
            kept.append(line)
        inside = inside and mark != END
    if inside:
        raise ValueError(BEGIN)
    note = f"{WAS_EMPTY}\n" if was_empty else ""
    block = f"{BEGIN}\n{note}{lines(settings)}{END}\n" if settings else ""
    return block + "".join(kept) if block or kept or was_empty else None


def environment(settings: dict[str, str]) -> str | None:
    """The text of the environment file, or None for no settings."""
    return f"{HEADER}\n{lines(settings)}" if settings else None


def assignments(source: Source) -> Iterator[Assignment]:
    """What a file sets. As ``conf`` a line counts as NCCL reads it (nothing before the name); as ``shell`` also exported,
    quoted, or in front of a command."""
    inside = False
    for number, line in enumerate(source.text.splitlines(), 1):
        if source.syntax == "conf":
            inside = (inside or line.strip() == BEGIN) and line.strip() != END
            match = _CONF_LINE.fullmatch(line.rstrip("\r"))
            found = [(match[1], match[2])] if match and not inside else []
        else:
            found = [] if line.lstrip().startswith("#") else [(name, value.strip("\"'")) for name, value in _SHELL.findall(line)]
        for name, value in found:
            yield Assignment(source.file, number, name, value)


def shadows(settings: dict[str, str], sources: Iterable[Source]) -> list[dict[str, object]]:
    """Every place that sets one of ours to something else: ``{file, line, name, value, ours, wins}``."""
    return [
        {"file": found.file, "line": found.line, "name": found.name, "value": found.value, "ours": settings[found.name], "wins": source.wins}
        for source in sources
        for found in assignments(source)
        if settings.get(found.name, found.value) != found.value
    ]


def warnings(found: Iterable[dict[str, object]]) -> list[str]:
    """What to tell about :func:`shadows`."""
    fixes = {
        True: "It wins over ours for whoever it applies to: remove that line.",
        False: "It is without effect, because ours comes first: remove that line.",
    }
    return [message(f"{row['file']} line {row['line']}: {row['name']}", row["ours"], row["value"], fixes[bool(row["wins"])]) for row in found]

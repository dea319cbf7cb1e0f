# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our marked lines at the top of a file that others write too: one entry for each node, everything else byte for byte as it was.

At the top, because the last line of the file may have no end, because ssh takes the first value it finds, and because an ``Include``
below a ``Host`` line would belong to that host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

BEGIN, END = "# BEGIN gb10.cluster", "# END gb10.cluster"

Entries = dict[str, list[str]]
"""The lines of each node, by the name under which they stand: ``# NAME``."""


def split(text: str) -> tuple[Entries, str]:
    """Our entries, and all that is not ours. Raises ValueError for a block that does not end."""
    entries: Entries = {}
    rest: list[str] = []
    current: list[str] | None = None
    for line in re.split(r"(?<=\n)", text):
        bare = line.rstrip("\r\n")
        if bare == BEGIN and current is None:
            current = []
        elif bare == BEGIN:
            raise ValueError(BEGIN)
        elif current is None:
            rest.append(line)
        elif bare == END:
            current = None
        elif bare.startswith("# "):
            current = entries[bare[2:]] = []
        else:
            current.append(bare)
    if current is not None:
        raise ValueError(BEGIN)
    return entries, "".join(rest)


def join(entries: Entries, rest: str) -> str:
    """The reverse of :func:`split`; without entries there is no block."""
    if not entries:
        return rest
    lines = [BEGIN]
    for name, own in entries.items():
        lines += [f"# {name}", *own]
    return "\n".join([*lines, END, ""]) + rest


def merge(names: Iterable[str], given: Mapping[str, list[str]], found: Mapping[str, list[str]]) -> Entries:
    """The entries of ``names`` in that order: what is given, else what was found. Names with no line have no entry."""
    lines = {name: given[name] if name in given else found.get(name, []) for name in names}
    return {name: own for name, own in lines.items() if own}


def shown(text: str) -> str:
    """What a diff shows of a file: our block alone, and whether it has to move."""
    entries, _rest = split(text)
    return join(entries, "") + ("" if not entries or text.startswith(BEGIN) else "# (below other lines)\n")

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to write into the inventory for cables between nodes that are others than planned, and whether they are worth it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ._cabling_words import Answer
from ._plan._build import make_plan
from ._wiring import Cable, Port, cable

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")

_HOW = "put the fabric_cables below into the inventory, or pass them with -e @FILE in this and every later run"
_RENUMBER = "; run once with -e fabric_renumber=true, because addresses move to other ports"


def offer(wiring: Iterable[Cable], planned: Sequence[Cable], answer: Answer) -> str:
    """Write ``fabric_cables`` for a wiring that is another than planned; returns what to do with them, or nothing if all planned cables are there."""
    wiring = list(wiring)
    if {cable(*ends) for ends in planned} <= set(wiring):
        return ""
    cables = ordered(wiring, planned)
    before = {port: number for number, ends in enumerate(planned) for port in ends}
    after = {port: number for number, ends in enumerate(cables) for port in ends}
    lines = [f"  - [{_yaml(one)}, {_yaml(other)}]" for one, other in cables]
    answer.fabric_cables = "\n".join(["fabric_cables:", *lines, ""])
    return _HOW + (_RENUMBER if any(after.get(port, number) != number for port, number in before.items()) else "")


def ordered(wiring: Iterable[Cable], planned: Sequence[Cable]) -> list[Cable]:
    """The cables in the order of the plan's between the same nodes, so that every two nodes keep their subnets; others last."""
    rest = sorted(wiring)
    found: list[Cable] = []
    for one, other in planned:
        same = next((ends for ends in rest if {ends[0][0], ends[1][0]} == {one[0], other[0]}), None)
        if same:
            rest.remove(same)
            found.append(same if same[0][0] == one[0] else same[::-1])
    return found + rest


def caution(plan: dict[str, Any], wiring: Iterable[Cable], planned: Sequence[Cable]) -> str:
    """What the plan of a whole wiring would warn of at its cables that are not planned, in sentences; nothing where they are as good."""
    cables = [[".".join(port) for port in ends] for ends in ordered(wiring, planned)]
    wanted = [[".".join(port) for port in ends] for ends in planned]
    made = make_plan({"topology": plan["topology"], "nodes": [{"name": name} for name in plan["nodes"]], "cables": cables})
    said = [
        text.partition(f", found {ends[0]} to {ends[1]}. ")[2]
        for number, ends in enumerate(cables)
        if ends not in wanted and ends[::-1] not in wanted
        for text in made["warnings"]
        if text.startswith(f"fabric_cables[{number}] - ")
    ]
    return " ".join(filter(None, dict.fromkeys(said)))


def _yaml(port: Port) -> str:
    end = ".".join(port)
    return end if _PLAIN.fullmatch(end) else json.dumps(end)

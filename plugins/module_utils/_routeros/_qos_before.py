# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE on a MikroTik switch: what ports, queues and DCBX were before us, noted in the comments of ports, and how to go back to it. Pure.

``trust-l3`` is noted of every port that we change, and so says which are ours; the rest only where it was not as on a new switch.
"""

from __future__ import annotations

from ._command import Value
from ._notes import forget, former, noted, remember
from ._qos_rows import DCBX, PFC, PFC_NAME, PFC_OFF, PROFILES, QUEUES, SHAPER, TRUST, Have, Want, differing, has
from ._rows import Row, flag, number, rate

NEW_PORT: dict[str, Value] = {TRUST: "ignore", PFC: PFC_OFF, SHAPER: None}
NOTED_OF_SWITCH = (DCBX, *(f"queue{number}-{key}" for number, (_ours, new) in QUEUES.items() for key in new))
"""What is not of one port is noted on every leg: one label over a note does not lose it."""

NOTED = (*NEW_PORT, *NOTED_OF_SWITCH)


def is_noted(have: Have) -> bool:
    """Whether any port carries our note."""
    return any(TRUST in noted(row) for row in have.ethernet.values())


def strays(have: Have, want: Want) -> list[str]:
    """Ports that are ours and belong to the fabric no more: noted, or with our PFC profile, which on a dead lane can storm."""
    return [str(row["name"]) for row in have.ports if row["name"] not in [*want.legs, *want.lanes]
            and (TRUST in noted(have.ethernet.get(row["name"], {})) or row.get("pfc") == PFC_NAME)]


def before_of_port(have: Have, port: str) -> dict[str, Value]:
    """A port of ours as it was; without PFC where its profile is gone."""
    values = {**NEW_PORT, **former(have.ethernet.get(port, {}), tuple(NEW_PORT))}
    return {**values, PFC: values[PFC] if has(have.pfc, values[PFC]) else PFC_OFF}


def before_of_switch(have: Have) -> dict[str, Value]:
    """What was noted of the queues and DCBX; before we first come, queues that are not as on a new switch."""
    told = {name: value for row in have.ethernet.values() for name, value in former(row, NOTED_OF_SWITCH).items()}
    if is_noted(have) or has(have.pfc, PFC_NAME) or any(has(have.profiles, profile.name) for profile in PROFILES):
        return told
    for row in have.queues:
        if row.get("tx-manager") == "default":
            _ours, new = QUEUES.get(number(row.get("traffic-class")) or 0, ({}, {}))
            told |= {f"queue{row['traffic-class']}-{key}": row[key] for key in differing(row, new) if key in row}
    return told


def notes(have: Have, want: Want) -> list[tuple[Row, dict[str, Value]]]:
    """Ports whose comments change: what they were, and on the legs what the switch was; nothing of it once that is what it is again."""
    ports = {str(row["name"]): row for row in have.ports}
    of_switch = before_of_switch(have)
    if want.level == "lossless" and flag(have.discovery.get(DCBX)) is False:
        of_switch[DCBX] = False
    stay = [name for name in [*want.legs, *want.lanes] if name in ports and name in have.ethernet]
    holders = [name for name in stay if name in want.legs] or stay[:1]
    changes: list[tuple[Row, dict[str, Value]]] = []
    for name, row in have.ethernet.items():
        note = dict(row)
        if name not in stay:
            note["comment"] = forget(note, NOTED)
        elif TRUST not in noted(row) and (name in want.legs or ports[name].get(PFC, PFC_OFF) not in (PFC_OFF, PFC_NAME)):
            note["comment"] = remember(note, _of_port(ports[name]))
        if name in holders:
            note["comment"] = remember(note, of_switch)
        if want.level != "lossless":
            note["comment"] = forget(note, (DCBX,))
        if note.get("comment", "") != row.get("comment", ""):
            changes.append((row, {"comment": note["comment"]}))
    return changes


def _of_port(qos: Row) -> dict[str, Value]:
    """What is noted of a port. With our PFC profile it is ours already, and its note was lost."""
    if qos.get(PFC) == PFC_NAME:
        return {TRUST: NEW_PORT[TRUST]}
    other = differing({SHAPER: None, **qos}, {key: value for key, value in NEW_PORT.items() if key != TRUST and key in qos})
    return {TRUST: qos.get(TRUST), **{key: f"{rate(qos[key])}" if key == SHAPER else qos[key] for key in other}}

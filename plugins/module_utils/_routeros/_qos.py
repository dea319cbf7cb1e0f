# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE on a MikroTik switch: from the rows that are there to the commands that are missing. Pure.

Three levels. ``none``: nothing of ours. ``ecn``: RoCEv2 (DSCP 26) in traffic class 3, which marks ECN; its congestion notifications (DSCP 48)
in class 6 before everything else. ``lossless``: that, plus priority flow control on class 3, a shaper at line rate on queue 3, which received
PFC needs, and DCBX. Recipe and defaults: MikroTik manual, "Quality of Service"; field differences per version in the rows below.
Objects of ours are known by their names, which begin with ``gb10-``; nothing else is ever removed. What ports, queues and DCBX were before us is
noted in the comments of ports where it was not as on a new switch, and comes back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._command import Command, Group, Value, address
from ._device import Device
from ._notes import ETHERNET, forget, former, noted, remember, set_rows
from ._rows import Row, flag, number, numbers, rate

LEVELS = ("none", "ecn", "lossless")
QOS = "/interface/ethernet/switch/qos"
PFC_CLASS, PFC_NAME, PFC_OFF = 3, "gb10-pfc", "disabled"
_TITLE = "RoCE"


class Profile(NamedTuple):
    """A traffic profile of ours. ``pcp`` is said explicitly: left at 0, 7.23's automap would send untagged-priority traffic there too (field)."""

    name: str
    dscp: int
    traffic_class: int
    pcp: int


PROFILES = (Profile("gb10-roce", 26, 3, 3), Profile("gb10-cnp", 48, 6, 6))

QUEUES: dict[int, tuple[dict[str, Value], dict[str, Value]]] = {
    1: ({"schedule": "high-priority-group", "weight": 1}, {"schedule": "low-priority-group", "weight": 2}),
    3: ({"schedule": "high-priority-group", "weight": 1, "ecn": True, "shared-pool-index": 1},
        {"schedule": "high-priority-group", "weight": 3, "ecn": False, "shared-pool-index": 0}),
    6: ({"schedule": "strict-priority"}, {"schedule": "strict-priority"}),
}
"""Traffic class -> (values for RoCE, values of a new switch), of the tx-manager ``default``.
``shared-pool-index`` exists before 7.23 on the CRS5xx only; a field that the row does not show is not written."""

SHAPER_LIMITS: tuple[tuple[str, str, int], ...] = (
    ("cpss", "7.23.7", 100),
    ("cpss", "", 200),
    ("bc2", "", 100),
)
"""(chip group, versions before this one, highest ``egress-rate-queueN`` in Gb/s): measured refusals on 7.21.4 and 7.22.1, accepted on 7.23.7;
between these nobody looked, so the lower limit is assumed. A leg above the limit runs without a shaper."""


TRUST, PFC, SHAPER, DCBX = "trust-l3", "pfc", f"egress-rate-queue{PFC_CLASS}", "lldp-dcbx"
"""``trust-l3`` is noted of every port that we change, and so says which are ours; the rest only where it was not as on a new switch."""

NEW_PORT: dict[str, Value] = {TRUST: "ignore", PFC: PFC_OFF, SHAPER: None}
NOTED_OF_SWITCH = (DCBX, *(f"queue{number}-{key}" for number, (_ours, new) in QUEUES.items() for key in new))
"""What is not of one port is noted on one leg."""

NOTED = (*NEW_PORT, *NOTED_OF_SWITCH)


class Have(NamedTuple):
    """Rows of the QoS menus, and of the ports by their names. ``discovery`` is the one row of ``/ip/neighbor/discovery-settings``; empty lists
    where a menu is missing."""

    profiles: list[Row]
    map_ip: list[Row]
    pfc: list[Row]
    queues: list[Row]
    ports: list[Row]
    chips: list[Row]
    discovery: Row
    ethernet: dict[str, Row]


class Want(NamedTuple):
    """``legs``: leading port -> speed in Gb/s; ``lanes``: the other ports of the fabric's cages; ``adopt``: use what others made if it fits."""

    level: str
    legs: dict[str, int]
    lanes: list[str]
    adopt: bool = False


def shaper(found: Device, gbps: int) -> int | None:
    """Egress rate of queue 3 for a leg in Gb/s; None where the switch takes no shaper that fast."""
    limit = next((limit for group, before, limit in SHAPER_LIMITS if group == found.group and (not before or found.version.before(before))), 0)
    return gbps if gbps <= limit else None


def groups(found: Device, have: Have, want: Want) -> list[Group]:
    """The commands that make the switch what is wanted; nothing when it is. One group: half a RoCE configuration is worse than none."""
    commands = _remove(have, want) if want.level == "none" else _make(found, have, want)
    return [Group(_TITLE, tuple(commands))] if commands else []


def _make(found: Device, have: Have, want: Want) -> list[Command]:
    """Profiles, map, PFC, queues first; then the ports; the switch last (order of the manual)."""
    lossless = want.level == "lossless"
    commands: list[Command] = []
    for profile in PROFILES:
        if profile_name(have, want, profile) == profile.name:
            values: dict[str, Value] = {"dscp": profile.dscp, "pcp": profile.pcp, "traffic-class": profile.traffic_class}
            commands += _object(f"{QOS}/profile", have.profiles, profile.name, values)
        if not _mapped(have, want, profile):
            target = profile_name(have, want, profile)
            commands.append(Command(f"{QOS}/map/ip", "add", (), {"map": "default", "dscp": profile.dscp, "profile": target}))
    if lossless and pfc_name(have, want) == PFC_NAME:
        commands += _object(f"{QOS}/priority-flow-control", have.pfc, PFC_NAME, {"traffic-class": PFC_CLASS, "rx": True, "tx": True})
    commands += _queues(have, made=True)
    for port, values in _ports(found, have, want).items():
        commands += _port(have, port, values)
    if not lossless:
        commands += [Command(f"{QOS}/priority-flow-control", "remove", (PFC_NAME,)) for row in have.pfc if row["name"] == PFC_NAME]
    last = [
        Command("/interface/ethernet/switch", "set", (address(row),), {"qos-hw-offloading": True})
        for row in have.chips if flag(row.get("qos-hw-offloading")) is False
    ] + _dcbx(have, lossless)
    notes = _notes(have, want) if commands or last or _noted(have) else []
    return commands + set_rows(ETHERNET, notes) + last


def _remove(have: Have, want: Want) -> list[Command]:
    """The reverse, and only where something of ours is there: everything as noted, the rest as on a new switch."""
    profiles = [profile.name for profile in PROFILES if any(row["name"] == profile.name for row in have.profiles)]
    if not profiles and not _has(have.pfc, PFC_NAME) and not _noted(have):
        return []
    nothing = want._replace(legs={}, lanes=[])
    users: dict[str, dict[str, Value]] = {str(row["name"]): {"profile": "default"} for row in have.ports if row.get("profile") in profiles}
    for port in dict.fromkeys([*_strays(have, nothing), *users]):
        values = _before(have, port) if port in _strays(have, nothing) else {}
        users[port] = {**values, **users.get(port, {})}
    commands: list[Command] = []
    for port, values in users.items():
        commands += _port(have, port, values)
    commands += set_rows(ETHERNET, _notes(have, nothing))
    commands += _queues(have, made=False)
    commands += [Command(f"{QOS}/priority-flow-control", "remove", (PFC_NAME,)) for row in have.pfc if row["name"] == PFC_NAME]
    commands += [
        Command(f"{QOS}/map/ip", "remove", (str(row[".id"]),))
        for row in have.map_ip if row.get("profile") in profiles and not flag(row.get("dynamic"))
    ]
    commands += [Command(f"{QOS}/profile", "remove", (name,)) for name in profiles]
    return commands + _dcbx(have, False)


def _ports(found: Device, have: Have, want: Want) -> dict[str, dict[str, Value]]:
    """Port -> what it is to be: legs, lanes that do not lead, and ports that are of the fabric no more."""
    lossless = want.level == "lossless"
    ports: dict[str, dict[str, Value]] = {}
    for port, gbps in want.legs.items():
        limit = shaper(found, gbps) if lossless else None
        ports[port] = {TRUST: "keep", PFC: pfc_name(have, want) if lossless else PFC_OFF, SHAPER: f"{limit}G" if limit else None}
    for port in want.lanes:
        ports[port] = {**(_before(have, port) if TRUST in noted(have.ethernet.get(port, {})) else {}), PFC: PFC_OFF}
    return ports | {port: _before(have, port) for port in _strays(have, want)}


def _noted(have: Have) -> bool:
    """Whether any port carries our note."""
    return any(TRUST in noted(row) for row in have.ethernet.values())


def _strays(have: Have, want: Want) -> list[str]:
    """Ports that are ours and belong to the fabric no more: noted, or with our PFC profile, which on a dead lane can storm."""
    return [str(row["name"]) for row in have.ports if row["name"] not in [*want.legs, *want.lanes]
            and (TRUST in noted(have.ethernet.get(row["name"], {})) or row.get("pfc") == PFC_NAME)]


def _before(have: Have, port: str) -> dict[str, Value]:
    """A port of ours as it was; without PFC where its profile is gone."""
    values = {**NEW_PORT, **former(have.ethernet.get(port, {}), tuple(NEW_PORT))}
    return {**values, PFC: values[PFC] if _has(have.pfc, values[PFC]) else PFC_OFF}


def _before_of_switch(have: Have) -> dict[str, Value]:
    """What was noted of the queues and DCBX; before we first come, queues that are not as on a new switch."""
    told = {name: value for row in have.ethernet.values() for name, value in former(row, NOTED_OF_SWITCH).items()}
    if _noted(have) or _has(have.pfc, PFC_NAME) or any(_has(have.profiles, profile.name) for profile in PROFILES):
        return told
    for row in have.queues:
        if row.get("tx-manager") == "default":
            _ours, new = QUEUES.get(number(row.get("traffic-class")) or 0, ({}, {}))
            told |= {f"queue{row['traffic-class']}-{key}": row[key] for key in differing(row, new) if key in row}
    return told


def _notes(have: Have, want: Want) -> list[tuple[Row, dict[str, Value]]]:
    """Ports whose comments change: what they were, and on the first leg what the switch was; nothing of it once that is what it is again."""
    ports = {str(row["name"]): row for row in have.ports}
    of_switch = _before_of_switch(have)
    if want.level == "lossless" and flag(have.discovery.get(DCBX)) is False:
        of_switch[DCBX] = False
    stay = [name for name in [*want.legs, *want.lanes] if name in ports and name in have.ethernet]
    holder = next((name for name in stay if noted(have.ethernet[name]).keys() & set(NOTED_OF_SWITCH)), next(iter(stay), None))
    changes: list[tuple[Row, dict[str, Value]]] = []
    for name, row in have.ethernet.items():
        note = dict(row)
        if name not in stay:
            note["comment"] = forget(note, NOTED)
        elif TRUST not in noted(row) and (name in want.legs or ports[name].get(PFC, PFC_OFF) not in (PFC_OFF, PFC_NAME)):
            note["comment"] = remember(note, _of_port(ports[name]))
        if name == holder:
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


def _has(rows: list[Row], name: Any) -> bool:
    return any(row["name"] == name for row in rows)


def profile_name(have: Have, want: Want, profile: Profile) -> str:
    """Ours, or the one to adopt: another profile with the same DSCP and traffic class."""
    fits = [row for row in have.profiles if number(row.get("dscp")) == profile.dscp and number(row.get("traffic-class")) == profile.traffic_class]
    names = [str(row["name"]) for row in fits]
    return names[0] if want.adopt and names and profile.name not in names else profile.name


def pfc_name(have: Have, want: Want) -> str:
    """Ours, or the one to adopt: another PFC profile for exactly class 3 in both directions."""
    fits = [row for row in have.pfc if numbers(row.get("traffic-class")) == {PFC_CLASS} and flag(row.get("rx")) and flag(row.get("tx"))]
    names = [str(row["name"]) for row in fits]
    return names[0] if want.adopt and names and PFC_NAME not in names else PFC_NAME


def _mapped(have: Have, want: Want, profile: Profile) -> bool:
    """Whether the profile's DSCP leads to it already, or will once it is there: from 7.23 a profile with ``automap`` makes that row itself."""
    if any(profile.dscp in numbers(row.get("dscp")) for row in have.map_ip):
        return True
    known = [row for row in have.profiles if row["name"] == profile_name(have, want, profile)]
    return any(flag(row["automap"]) for row in known or have.profiles if "automap" in row)


def _object(menu: str, rows: list[Row], name: str, values: dict[str, Value]) -> list[Command]:
    """Add an object of ours, or set what differs."""
    for row in rows:
        if row["name"] == name:
            wrong = differing(row, values)
            return [Command(menu, "set", (name,), wrong)] if wrong else []
    return [Command(menu, "add", (), {"name": name, **values})]


def _queues(have: Have, made: bool) -> list[Command]:
    """Queues as RoCE needs them, or as they were."""
    commands, before = [], _before_of_switch(have)
    for row in have.queues:
        rows_of = QUEUES.get(number(row.get("traffic-class")) or 0)
        if rows_of and row.get("tx-manager") == "default":
            values = rows_of[0] if made else {key: before.get(f"queue{row['traffic-class']}-{key}", value) for key, value in rows_of[1].items()}
            wanted = {key: value for key, value in values.items() if key in row or key in ("schedule", "weight")}
            wrong = differing(row, wanted)
            if wrong:
                commands.append(Command(f"{QOS}/tx-manager/queue", "set", (str(row[".id"]),), wrong))
    return commands


def _port(have: Have, port: str, values: dict[str, Value]) -> list[Command]:
    for row in have.ports:
        if row["name"] == port:
            wrong = differing(row, {key: value for key, value in values.items() if key != "pfc" or "pfc" in row})
            return [Command(f"{QOS}/port", "set", (address(row),), wrong)] if wrong else []
    return []


def _dcbx(have: Have, on: bool) -> list[Command]:
    """DCBX tells the hosts about PFC; RouterOS 7.17 and newer on these chips, and only where the row shows it. Off only where we switched it on:
    noted, or without any note lossless of ours."""
    is_ours = DCBX in _before_of_switch(have) or (_has(have.pfc, PFC_NAME) and not _noted(have))
    if flag(have.discovery.get(DCBX)) in (None, on) or not (on or is_ours):
        return []
    return [Command("/ip/neighbor/discovery-settings", "set", (), {DCBX: on})]


def differing(row: Row, values: dict[str, Value]) -> dict[str, Value]:
    """The values that a row does not have yet."""
    return {key: value for key, value in values.items() if not _same(key, row.get(key), value)}


def _same(key: str, found: Any, wanted: Value) -> bool:
    if key.startswith("egress-rate-"):
        return rate(found) == rate(wanted)
    if isinstance(wanted, bool):
        return flag(found) is wanted
    if key == "traffic-class":
        return numbers(found) == numbers(wanted)
    return str(found) == str(wanted)

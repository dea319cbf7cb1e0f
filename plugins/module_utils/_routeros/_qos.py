# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE on a MikroTik switch: from the rows that are there to the commands that are missing. Pure.

Three levels. ``none``: nothing of ours. ``ecn``: RoCEv2 (DSCP 26) in traffic class 3, which marks ECN; its congestion notifications (DSCP 48)
in class 6 before everything else. ``lossless``: that, plus priority flow control on class 3, a shaper at line rate on queue 3, which received
PFC needs, and DCBX. Recipe and defaults: MikroTik manual, "Quality of Service"; field differences per version in the rows below.
Objects of ours are known by their names, which begin with ``gb10-``; nothing else is ever removed.
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

_PORT_DEFAULTS: dict[str, Value] = {"profile": "default", "map": "default", "trust-l3": "ignore", "pfc": PFC_OFF}

SHAPER_LIMITS: tuple[tuple[str, str, int], ...] = (
    ("cpss", "7.23.7", 100),
    ("cpss", "", 200),
    ("bc2", "", 100),
)
"""(chip group, versions before this one, highest ``egress-rate-queueN`` in Gb/s): measured refusals on 7.21.4 and 7.22.1, accepted on 7.23.7;
between these nobody looked, so the lower limit is assumed. A leg above the limit runs without a shaper."""


TRUST = "trust-l3"
"""Of a port's QoS only this is noted in its comment: it says which legs are ours, and everything else of them was as on a new switch."""


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
    for port, gbps in want.legs.items():
        limit = shaper(found, gbps) if lossless else None
        values = {"trust-l3": "keep", "pfc": pfc_name(have, want) if lossless else PFC_OFF,
                  f"egress-rate-queue{PFC_CLASS}": f"{limit}G" if limit else None}
        commands += _port(have, port, values)
    commands += set_rows(ETHERNET, [(row, {"comment": remember(row, {TRUST: qos.get(TRUST)})}) for row, qos in _to_note(have, want)])
    for port in [*want.lanes, *_strays(have, want)]:
        commands += _port(have, port, {"pfc": PFC_OFF})
    if not lossless:
        commands += [Command(f"{QOS}/priority-flow-control", "remove", (PFC_NAME,)) for row in have.pfc if row["name"] == PFC_NAME]
    commands += [
        Command("/interface/ethernet/switch", "set", (address(row),), {"qos-hw-offloading": True})
        for row in have.chips if flag(row.get("qos-hw-offloading")) is False
    ]
    return commands + _dcbx(have, lossless)


def _remove(have: Have, want: Want) -> list[Command]:
    """The reverse, and only where something of ours is there. Queues go back to the values of a new switch."""
    profiles = [profile.name for profile in PROFILES if any(row["name"] == profile.name for row in have.profiles)]
    if not profiles and not any(row["name"] == PFC_NAME for row in have.pfc):
        return []
    commands: list[Command] = []
    ours = [name for name, row in have.ethernet.items() if TRUST in noted(row)]
    for port in dict.fromkeys([*want.legs, *ours, *_strays(have, want)]):
        trust = former(have.ethernet.get(port, {}), (TRUST,))
        commands += _port(have, port, {**_PORT_DEFAULTS, **trust, f"egress-rate-queue{PFC_CLASS}": None})
    commands += set_rows(ETHERNET, [(have.ethernet[port], {"comment": forget(have.ethernet[port], (TRUST,))}) for port in ours])
    for port in want.lanes:
        commands += _port(have, port, {"pfc": PFC_OFF})
    commands += _queues(have, made=False)
    commands += [Command(f"{QOS}/priority-flow-control", "remove", (PFC_NAME,)) for row in have.pfc if row["name"] == PFC_NAME]
    commands += [
        Command(f"{QOS}/map/ip", "remove", (str(row[".id"]),))
        for row in have.map_ip if row.get("profile") in profiles and not flag(row.get("dynamic"))
    ]
    commands += [Command(f"{QOS}/profile", "remove", (name,)) for name in profiles]
    return commands + _dcbx(have, False)


def _to_note(have: Have, want: Want) -> list[tuple[Row, Row]]:
    """Legs whose trust changes and is not noted yet: the port, and its QoS."""
    found = [(have.ethernet[row["name"]], row) for row in have.ports if row["name"] in want.legs and row["name"] in have.ethernet]
    return [(row, qos) for row, qos in found if qos.get(TRUST) != "keep" and TRUST not in noted(row)]


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


def _strays(have: Have, want: Want) -> list[str]:
    """Ports that still use our PFC profile and belong to the fabric no more; PFC on a dead lane can storm, and it keeps the profile in use."""
    return [str(row["name"]) for row in have.ports if row.get("pfc") == PFC_NAME and row["name"] not in [*want.legs, *want.lanes]]


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
    commands = []
    for row in have.queues:
        rows_of = QUEUES.get(number(row.get("traffic-class")) or 0)
        if rows_of and row.get("tx-manager") == "default":
            wanted = {key: value for key, value in rows_of[0 if made else 1].items() if key in row or key in ("schedule", "weight")}
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
    """DCBX tells the hosts about PFC; RouterOS 7.17 and newer on these chips, and only where the row shows it."""
    if flag(have.discovery.get("lldp-dcbx")) in (None, on):
        return []
    return [Command("/ip/neighbor/discovery-settings", "set", (), {"lldp-dcbx": on})]


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

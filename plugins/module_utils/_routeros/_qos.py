# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE on a MikroTik switch: from the rows that are there to the commands that are missing. Pure.

Three levels. ``none``: nothing of ours. ``ecn``: RoCEv2 (DSCP 26) in traffic class 3, which marks ECN; its congestion notifications (DSCP 48)
in class 6 before everything else. ``lossless``: that, plus priority flow control on class 3, a shaper at line rate on queue 3, which received
PFC needs, and DCBX.
Objects of ours are known by their names, which begin with ``gb10-``; nothing else is ever removed. What ports, queues and DCBX were before us is
noted in the comments of ports where it was not as on a new switch, and comes back.
"""

from __future__ import annotations

from ._command import Command, Group, Value, address
from ._device import Device
from ._notes import ETHERNET, noted, set_rows
from ._qos_before import before_of_port, before_of_switch, is_noted, notes, strays
from ._qos_rows import DCBX, PFC, PFC_CLASS, PFC_NAME, PFC_OFF, PROFILES, QOS, QUEUES, SHAPER, TRUST, Have, Profile, Want, differing, has
from ._rows import Row, flag, number, numbers

SHAPER_LIMITS: tuple[tuple[str, str, int], ...] = (
    ("cpss", "7.23.7", 100),
    ("cpss", "", 200),
    ("bc2", "", 100),
)
"""(chip group, versions before this one, highest ``egress-rate-queueN`` in Gb/s): measured refusals on 7.21.4 and 7.22.1, accepted on 7.23.7;
between these nobody looked, so the lower limit is assumed. A leg above the limit runs without a shaper."""


def shaper(found: Device, gbps: int) -> int | None:
    """Egress rate of queue 3 for a leg in Gb/s; None where the switch takes no shaper that fast."""
    limit = next((limit for group, before, limit in SHAPER_LIMITS if group == found.group and (not before or found.version.before(before))), 0)
    return gbps if gbps <= limit else None


def groups(found: Device, have: Have, want: Want) -> list[Group]:
    """The commands that make the switch what is wanted; nothing when it is. One group: half a RoCE configuration is worse than none."""
    commands = _remove(have, want) if want.level == "none" else _make(found, have, want)
    return [Group("RoCE", tuple(commands))] if commands else []


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
    noting = notes(have, want) if commands or last or is_noted(have) else []
    return commands + set_rows(ETHERNET, noting) + last


def _remove(have: Have, want: Want) -> list[Command]:
    """The reverse, and only where something of ours is there: everything as noted, the rest as on a new switch."""
    profiles = [profile.name for profile in PROFILES if any(row["name"] == profile.name for row in have.profiles)]
    if not profiles and not has(have.pfc, PFC_NAME) and not is_noted(have):
        return []
    nothing = want._replace(legs={}, lanes=[])
    users: dict[str, dict[str, Value]] = {str(row["name"]): {"profile": "default"} for row in have.ports if row.get("profile") in profiles}
    for port in dict.fromkeys([*strays(have, nothing), *users]):
        values = before_of_port(have, port) if port in strays(have, nothing) else {}
        users[port] = {**values, **users.get(port, {})}
    commands: list[Command] = []
    for port, values in users.items():
        commands += _port(have, port, values)
    commands += set_rows(ETHERNET, notes(have, nothing))
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
        ports[port] = {**(before_of_port(have, port) if TRUST in noted(have.ethernet.get(port, {})) else {}), PFC: PFC_OFF}
    return ports | {port: before_of_port(have, port) for port in strays(have, want)}


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
    commands, before = [], before_of_switch(have)
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
    is_ours = DCBX in before_of_switch(have) or (has(have.pfc, PFC_NAME) and not is_noted(have))
    if flag(have.discovery.get(DCBX)) in (None, on) or not (on or is_ours):
        return []
    return [Command("/ip/neighbor/discovery-settings", "set", (), {DCBX: on})]

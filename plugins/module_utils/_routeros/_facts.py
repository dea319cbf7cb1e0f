# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a switch, from rows that were read. Pure; the keys are documented in ``mikrotik_info``."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._cages import Lane, claims, lanes_of, parse_port
from ._device import Device
from ._qos_rows import Have
from ._rows import Row, flag, number, rate, words

MODULE_FIELDS = {
    "type": "sfp-type", "connector": "sfp-connector-type", "vendor": "sfp-vendor-name", "part_number": "sfp-vendor-part-number",
    "serial": "sfp-vendor-serial", "encoding": "sfp-encoding", "length": "sfp-link-length-cable-assembly", "temperature": "sfp-temperature",
    "state": "sfp-cmis-module-state", "eeprom_checksum": "eeprom-checksum",
}
"""Key of ``module`` -> field of ``/interface/ethernet/monitor``."""


class Ports(NamedTuple):
    """Rows of the menus that describe ports. ``monitors`` and ``roles`` by default name: one look at the link, one at the spanning tree."""

    ethernet: list[Row]
    interfaces: list[Row]
    bridges: list[Row]
    bridge_ports: list[Row]
    hosts: list[Row]
    monitors: dict[str, Row]
    roles: dict[str, Row]


def leaders(ethernet: list[Row]) -> dict[str, list[str]]:
    """Default name of each leading lane -> default names of the lanes that its leg gets, as the cages are set now."""
    by_name = {str(row.get("default-name")): row for row in ethernet}
    found: dict[str, list[str]] = {}
    for cage in dict.fromkeys(port.cage for name in by_name if (port := parse_port(name)) and port.lane):
        names = [name for name in lanes_of(cage) if name in by_name]
        settings = [Lane(not flag(by_name[name].get("disabled")), bool(flag(by_name[name].get("auto-negotiation"))), by_name[name].get("speed"))
                    for name in names]
        parsed = parse_port(cage)
        for leader, lanes in claims(parsed.family, settings).items() if parsed else ():
            found[names[leader - 1]] = [names[lane - 1] for lane in lanes]
    return found


def ports(read: Ports) -> dict[str, dict[str, Any]]:
    """Everything about each port, by default name."""
    legs = leaders(read.ethernet)
    leader_of = {lane: leader for leader, lanes in legs.items() for lane in lanes}
    interfaces = {row.get("name"): row for row in read.interfaces}
    members = {row.get("interface"): row for row in read.bridge_ports}
    found = {}
    for row in read.ethernet:
        default_name, name = str(row.get("default-name")), row.get("name")
        parsed = parse_port(default_name)
        member, role = members.get(name, {}), read.roles.get(default_name, {})
        found[default_name] = {
            "name": name,
            "cage": parsed.cage if parsed else None,
            "lane": parsed.lane if parsed else None,
            "leader": leader_of.get(default_name),
            "lanes": legs.get(default_name, []),
            "enabled": not flag(row.get("disabled")),
            "running": bool(flag(row.get("running"))),
            "auto_negotiation": flag(row.get("auto-negotiation")),
            "speed": row.get("speed"),
            "advertise": words(row.get("advertise")),
            "fec_mode": row.get("fec-mode"),
            "mtu": number(row.get("mtu")),
            "l2mtu": number(row.get("l2mtu")),
            "max_l2mtu": number(interfaces.get(name, {}).get("max-l2mtu")),
            "bridge": member.get("bridge"),
            "pvid": number(member.get("pvid")),
            "hw_offload": flag(member.get("hw-offload")),
            "role": role.get("role"),
            "forwarding": flag(role.get("forwarding")),
            "link": link(read.monitors[default_name]) if default_name in read.monitors else None,
        }
    return found


def link(monitor: Row) -> dict[str, Any]:
    """One look at a link. ``rate_gbps`` is None without link; ``module`` None when none is plugged in."""
    bits = rate(monitor.get("rate"))
    present = flag(monitor.get("sfp-module-present"))
    module = {key: monitor.get(field) for key, field in MODULE_FIELDS.items()}
    return {
        "status": monitor.get("status"),
        "auto_negotiation": monitor.get("auto-negotiation"),
        "rate_gbps": bits / 10**9 if bits else None,
        "fec": monitor.get("fec"),
        "advertising": words(monitor.get("advertising")),
        "module": module if present or (present is None and monitor.get("sfp-type")) else None,
    }


def bridges(read: Ports) -> list[dict[str, Any]]:
    """The bridges with their ports, by current name."""
    return [
        {
            "name": row.get("name"),
            "protocol_mode": row.get("protocol-mode"),
            "priority": row.get("priority"),
            "vlan_filtering": flag(row.get("vlan-filtering")),
            "mtu": row.get("mtu"),
            "l2mtu": number(row.get("l2mtu")),
            "ports": [member.get("interface") for member in read.bridge_ports if member.get("bridge") == row.get("name")],
        }
        for row in read.bridges
    ]


def hosts(read: Ports) -> dict[str, dict[str, Any]]:
    """MAC address in lower case -> where the bridge saw it: ``port`` (default name), ``bridge``, ``vlan``."""
    default_names = {row.get("name"): row.get("default-name") for row in read.ethernet}
    return {
        str(row["mac-address"]).lower(): {
            "port": default_names.get(row.get("on-interface") or row.get("interface"), row.get("interface")),
            "bridge": row.get("bridge"),
            "vlan": number(row.get("vid")),
        }
        for row in read.hosts if row.get("mac-address") and not flag(row.get("local"))
    }


def identity(found: Device) -> dict[str, Any]:
    """What the switch is."""
    return {
        "version": found.version.text,
        "channel": found.channel,
        "model": found.model,
        "chip": found.chip,
        "chip_group": found.group,
        "firmware": found.firmware,
        "firmware_upgrade": found.firmware_upgrade,
        "packages": found.packages,
    }


def qos(have: Have) -> dict[str, Any]:
    """The QoS rows as they were read, without their internal ids."""

    def bare(rows: list[Row]) -> list[Row]:
        return [{key: value for key, value in row.items() if key != ".id"} for row in rows]

    return {"profiles": bare(have.profiles), "map_ip": bare(have.map_ip), "pfc": bare(have.pfc), "queues": bare(have.queues),
            "ports": bare(have.ports), "lldp_dcbx": flag(have.discovery.get("lldp-dcbx"))}

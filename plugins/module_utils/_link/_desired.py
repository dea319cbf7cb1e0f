# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rails of a node should be: from the slice of the plan and the identity of the devices, never from the state of a link."""

from __future__ import annotations

from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _netplan
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Connectx, PlannedPort
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import RAIL_SYSCTL

MODULES = ("ib_uverbs", "rdma_ucm")
RAILS = (0, 1)
KEYFILES = "/etc/NetworkManager/system-connections"


def planned_rails(ports: dict[str, PlannedPort], mtu: int, link_local: bool, connectx: Connectx) -> tuple[list[Rail], list[str]]:
    """Put the planned rails on the devices that are there: ``(rails, refusals)``, one refusal for each that can not be."""
    rails: list[Rail] = []
    refusals: list[str] = []
    if not ports:
        refusals.append(message("ports", "at least one planned port", "none", "Give the ports of fabric_plan.nodes[inventory_hostname]."))
    for port in sorted(ports):
        planned = ports[port]["rails"]
        if sorted(rail["rail"] for rail in planned) != list(RAILS):
            fix = "Give the ports of fabric_plan.nodes[inventory_hostname] as they are."
            refusals.append(message(f"{port}: rails", "rail 0 and rail 1", [rail["rail"] for rail in planned], fix))
            continue
        devices = {rail["rail"]: rail["interface"] for rail in connectx["ports"].get(port, {"rails": []})["rails"]}
        absent = [rail for rail in RAILS if rail not in devices]
        if absent:
            found = f"{len(devices)} ({', '.join(devices[rail] for rail in sorted(devices))})" if devices else "0"
            refusals.append(message(f"{port}: rails on this machine", len(RAILS), found, _why_absent(connectx, devices)))
        for rail in sorted(planned, key=lambda row: row["rail"]):
            device = devices.get(rail["rail"])
            if device is not None:
                owner = _owner(connectx, device)
                rails.append(Rail(port, rail["rail"], device, rail["address"], int(rail["prefix"]), mtu, link_local, owner))
    return rails, refusals


def _why_absent(connectx: Connectx, devices: dict[int, str]) -> str:
    """What explains rails that are not there: hot-plug power saving takes all of a card, a broken PCIe link one domain."""
    if devices:
        return "One PCIe function is missing: power the machine off for a minute with the cable in, then look for its PCI domain in lspci."
    if connectx["hotplug"].get("marker") or connectx["hotplug"].get("enabled"):
        return "Hot-plug power saving takes a card without cable off the bus: plug in the cable and reboot."
    return "The card is not on the PCI bus or has no driver: check the cable, lspci -d 15b3: and mlx5_core, and reboot with the cable in."


def _owner(connectx: Connectx, interface: str) -> str:
    """Who shall have ``interface`` under this machine's backend."""
    profiles = {"netplan-networkmanager": f"netplan-{interface}", "networkmanager": _names.connection_name(interface)}
    profile = profiles.get(connectx["backend"] or "")
    return f"NetworkManager: {profile}" if profile else "networkd"


def files(rails: list[Rail], backend: str) -> dict[str, tuple[str, int]]:
    """Our files for these rails: ``{path: (text, mode)}``, the same text on every run."""
    interfaces = sorted(rail.interface for rail in rails)
    sysctl = [f"net/ipv4/conf/{name}/{key} = {value}" for name in interfaces for key, value in RAIL_SYSCTL.items()]
    limits = [f"{who} {kind} memlock unlimited" for who in ("*", "root") for kind in ("soft", "hard")]
    wanted = {
        _names.SYSCTL_FILE: (_lines(sysctl), 0o644),
        _names.LIMITS_FILE: (_lines(limits), 0o644),
        _names.MODULES_FILE: (_lines(MODULES), 0o644),
    }
    if backend == "networkmanager":
        return {**wanted, **{keyfile_path(rail.interface): (_keyfile(rail), 0o600) for rail in rails}}
    return {**wanted, _names.NETPLAN_FILE: (_netplan.document(rails, backend), 0o600)}


def keyfile_path(interface: str) -> str:
    """Where our NetworkManager profile of an interface lies where there is no netplan."""
    return f"{KEYFILES}/{_names.connection_name(interface)}.nmconnection"


def _lines(lines: Any) -> str:
    return "\n".join([_names.MARKER, *lines, ""])


def _keyfile(rail: Rail) -> str:
    """A NetworkManager profile that means what our netplan definition means."""
    ipv6 = ["method=link-local", "addr-gen-mode=eui64"] if rail.link_local else ["method=disabled"]
    identity = [f"id={_names.connection_name(rail.interface)}", f"uuid={_names.connection_uuid(rail.interface)}", "type=ethernet"]
    return _lines(
        [
            "[connection]",
            *identity,
            f"interface-name={rail.interface}",
            "autoconnect-priority=100",
            "[ethernet]",
            f"mtu={rail.mtu}",
            "[ipv4]",
            "method=manual",
            f"address1={rail.cidr}",
            "never-default=true",
            "[ipv6]",
            *ipv6,
        ]
    )

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel tells about the ConnectX-7 in sysfs: which netdev is which rail, PCIe, GIDs, counters."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Gid, Pci
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

NET = "/sys/class/net"
PCI = "/sys/bus/pci/devices"
RDMA = "/sys/class/infiniband"

PORTS = ("p0", "p1")
DOMAIN_RAIL = {"0000": 0, "0002": 1}
"""PCI domain of a function to its rail, on every GB10 machine."""

_CONNECTX_7 = ("0x15b3", "0x1021")
_NOT_A_COUNTER = {"lifespan"}


class Found(NamedTuple):
    """A netdev of the card: its port (None while unknown), its rail, its name."""

    port: str | None
    rail: int
    interface: str


def discover(machine: Machine, interfaces: dict[str, list[str]]) -> tuple[dict[str, dict[int, str]], list[str]]:
    """Find the netdev of every rail: ``({port: {rail: interface}}, problems)``.

    :param interfaces: ports whose owner named their devices, rail 0 first; they are taken as they are, the others are
        found by ``phys_port_name`` and PCI domain, whatever the devices are called.
    """
    ports: dict[str, dict[int, str]] = {}
    problems: list[str] = []
    for port, names in interfaces.items():
        for rail, name in enumerate(names):
            if machine.exists(f"{NET}/{name}"):
                ports.setdefault(port, {})[rail] = name
            else:
                fix = "Correct fabric_interfaces, or reboot with the cable in."
                problems.append(message(f"{port} rail {rail}: interface", name, "no such device", fix))
    named = {name for names in interfaces.values() for name in names}
    found = [item for item in _functions(machine) if item.interface not in named]
    for item in found:
        if item.port is None:
            fix = "Name the devices of this port in fabric_interfaces."
            problems.append(message(f"{item.interface}: phys_port_name", "p0 or p1", "none", fix))
        elif item.port not in interfaces:
            taken = ports.setdefault(item.port, {}).setdefault(item.rail, item.interface)
            if taken != item.interface:
                fix = "Name the devices of this port in fabric_interfaces."
                problems.append(message(f"{item.port} rail {item.rail}: interface", "one device", f"{taken} and {item.interface}", fix))
    problems += _missing(machine, ports, found)
    return {port: dict(sorted(ports[port].items())) for port in sorted(ports)}, problems


def _functions(machine: Machine) -> list[Found]:
    """Every netdev of a physical function of a ConnectX-7, in the order of rails."""
    found = []
    for interface in machine.names(NET):
        address = pci_address(machine, interface)
        rail = DOMAIN_RAIL.get((address or "").partition(":")[0])
        if address is None or rail is None or not _is_connectx(machine, address) or machine.exists(f"{NET}/{interface}/device/physfn"):
            continue
        port = machine.text(f"{NET}/{interface}/phys_port_name")
        found.append(Found(port if port in PORTS else None, rail, interface))
    return sorted(found, key=lambda item: (item.rail, item.interface))


def _is_connectx(machine: Machine, address: str) -> bool:
    return (machine.text(f"{PCI}/{address}/vendor"), machine.text(f"{PCI}/{address}/device")) == _CONNECTX_7


def _missing(machine: Machine, ports: dict[str, dict[int, str]], found: list[Found]) -> list[str]:
    """Say which parts of the card are not there."""
    cards = [address for address in machine.names(PCI) if _is_connectx(machine, address)]
    if not cards and not ports:
        fix = "Plug in the cable and reboot: hot-plug power saving takes a card without cable off the bus."
        return [message("ConnectX-7", "PCI functions in the domains 0000 and 0002", "none", fix)]
    if not found and not ports:
        return [message("ConnectX-7", "a network device for each PCI function", f"none for {', '.join(cards)}", "Load the driver mlx5_core.")]
    domains = {rail: domain for domain, rail in DOMAIN_RAIL.items()}
    return [
        message(f"{port} rail {rail}", f"a network device in PCI domain {domains[rail]}", "none", "Power the machine off and on with the cable in.")
        for port in sorted(ports)
        for rail in sorted(domains)
        if rail not in ports[port]
    ]


def pci_address(machine: Machine, interface: str) -> str | None:
    """PCI address (``0000:01:00.0``) of a netdev; None for one without PCI device."""
    name = machine.target(f"{NET}/{interface}/device") or ""
    return name if re.fullmatch(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", name) else None


def pci(machine: Machine, interface: str) -> Pci:
    """The PCIe link of the function behind ``interface``; speeds in GT/s, None for ``Unknown``."""
    folder = f"{NET}/{interface}/device"
    return {
        "address": pci_address(machine, interface) or "",
        "speed_gts": _gts(machine.text(f"{folder}/current_link_speed")),
        "width": machine.number(f"{folder}/current_link_width"),
        "max_speed_gts": _gts(machine.text(f"{folder}/max_link_speed")),
        "max_width": machine.number(f"{folder}/max_link_width"),
    }


def _gts(text: str | None) -> float | None:
    """``32.0 GT/s PCIe`` to 32.0."""
    match = re.match(r"([\d.]+) GT/s", text or "")
    return float(match.group(1)) if match else None


def rdma_device(machine: Machine, interface: str) -> str | None:
    """RDMA device of a netdev: a child of the same PCI function, or a software device that names the netdev as its parent."""
    for name in machine.names(f"{NET}/{interface}/device/infiniband"):
        return name
    return next((name for name in machine.names(RDMA) if machine.text(f"{RDMA}/{name}/parent") == interface), None)


def gids(machine: Machine, device: str) -> list[Gid]:
    """The used rows of the GID table of a device's only port."""
    folder = f"{RDMA}/{device}/ports/1"
    table: list[Gid] = []
    for index in sorted(int(name) for name in machine.names(f"{folder}/gids") if name.isdigit()):
        gid = machine.text(f"{folder}/gids/{index}")
        kind = machine.text(f"{folder}/gid_attrs/types/{index}") if gid and gid.strip("0:") else None
        if gid and kind:
            table.append({"index": index, "type": kind, "gid": gid, "ipv4": _mapped_ipv4(gid)})
    return table


def _mapped_ipv4(gid: str) -> str | None:
    try:
        mapped = ipaddress.IPv6Address(gid).ipv4_mapped
    except ValueError:
        return None
    return str(mapped) if mapped else None


def gid_index(table: Iterable[Gid], addresses: Iterable[str]) -> int | None:
    """Index of the RoCE v2 GID of the first of ``addresses`` (IPv4, in the order of preference) that has one."""
    rows = [row for row in table if row["type"] == "RoCE v2"]
    return next((row["index"] for address in addresses for row in rows if row["ipv4"] == address), None)


def rdma_counters(machine: Machine, device: str) -> dict[str, int]:
    """Counters of the RDMA device: ``port_*_data`` in words of 4 bytes, everything else in events or packets."""
    counters = {}
    for kind in ("counters", "hw_counters"):
        folder = f"{RDMA}/{device}/ports/1/{kind}"
        for name in machine.names(folder):
            value = machine.number(f"{folder}/{name}")
            if value is not None and name not in _NOT_A_COUNTER:
                counters[name] = value
    return counters

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network namespaces and devices.

Every device of a node is one end of a veth pair. The management ends meet on a bridge in ``ctl``; the far end of each fabric
device, its leg, lies in ``fab``, where a cable is a bridge with four legs: both rails of both ends share one layer-2 segment, as on
the real cable. A leg that is down takes the carrier of its device.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from .card import FUNCTIONS, Function, functions
from .inventory import Cluster, Node
from .rack import FOREIGN
from .shell import ip, run
from .state import Lab

MANAGEMENT = "enP7s7"
#: The largest MTU of a ConnectX-7 in these machines; a cable passes it.
MAX_MTU = 9978


def mac(lab: str, node: int, unit: int) -> str:
    """A locally administered address that is stable per lab, node (0: the lab itself) and unit. udev's own would be equal on all nodes."""
    digest = hashlib.sha256(lab.encode()).digest()
    return f"02:{digest[0]:02x}:{digest[1]:02x}:{node:02x}:01:{unit:02x}"


def rail_mac(lab: Lab, node: Node, function: Function) -> str:
    """The address of a fabric device."""
    return mac(lab.name, node.number, 16 + function.unit)


def leg(node: int, function: Function) -> str:
    """The far end of a fabric device, in ``fab``."""
    return f"n{node}{function.port}r{function.rail}"


def port_name(cluster: Cluster, end: str) -> str:
    """A port in the names of the lab's devices: ``n1p0``."""
    name, _dot, port = end.rpartition(".")
    return f"n{cluster.node(name).number}{port}"


def legs(cluster: Cluster, end: str) -> list[str]:
    """The two legs of a cable's end, by rail."""
    stranger = FOREIGN.fullmatch(end)
    return [f"f{stranger.group(1)}p0r{rail}" if stranger else f"{port_name(cluster, end)}r{rail}" for rail in (0, 1)]


def names(lab: Lab) -> list[str]:
    """All namespaces of the lab, of whatever inventory it was started with."""
    listed = [line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines() if line]
    return [name for name in listed if re.fullmatch(re.escape(lab.namespace("")) + r"(ctl|fab|park|[fn]\d+)", name)]


def create(lab: Lab) -> None:
    """Make the namespaces and every device of every node; no cable is plugged in yet."""
    cluster = lab.up
    parts = ["ctl", "fab", "park", *(f"n{node.number}" for node in cluster.nodes)]
    for part in parts:
        run("ip", "netns", "add", lab.namespace(part))
    for part in ("ctl", "fab"):
        settings = [f"net.ipv6.conf.{name}.disable_ipv6=1" for name in ("all", "default")]
        run("nsenter", f"--net=/run/netns/{lab.namespace(part)}", "sysctl", "-qw", *settings)
    length = cluster.network.partition("/")[2]
    ip(
        lab.namespace("ctl"),
        "link set lo up",
        "link add mgmt type bridge stp_state 0 forward_delay 0",
        f"link set mgmt address {mac(lab.name, 0, 0)} up",
        f"address add {cluster.gateway}/{length} dev mgmt",
    )
    for node in cluster.nodes:
        _devices(lab, node)


def _devices(lab: Lab, node: Node) -> None:
    own, fabric = lab.namespace(f"n{node.number}"), lab.namespace("fab")
    rails = [
        f"link add {function.interface} address {rail_mac(lab, node, function)} type veth "
        f"peer name {leg(node.number, function)} netns {fabric} address {mac(lab.name, node.number, 32 + function.unit)}"
        for function in functions(node)
    ]
    far = f"m{node.number}"
    ip(
        own,
        "link set lo up",
        *rails,
        f"link add {MANAGEMENT} address {mac(lab.name, node.number, 0)} type veth "
        f"peer name {far} netns {lab.namespace('ctl')} address {mac(lab.name, node.number, 1)}",
    )
    ip(lab.namespace("ctl"), f"link set {far} master mgmt up")
    ip(fabric, *(f"link set {leg(node.number, function)} mtu {MAX_MTU}" for function in FUNCTIONS))


def segments(lab: Lab, forwards: dict[str, str]) -> None:
    """Have a bridge for each segment, with the mask of reserved addresses that it forwards."""
    fabric = lab.namespace("fab")
    shown = {row["ifname"] for row in json.loads(run("ip", "-n", fabric, "-j", "link", "show", "type", "bridge").stdout) if row}
    fresh = [f"link add {name} up type bridge stp_state 0 forward_delay 0 mcast_snooping 0" for name in forwards if name not in shown]
    ip(fabric, *fresh, *(f"link set {name} type bridge group_fwd_mask {mask}" for name, mask in forwards.items()))


def add_machine(lab: Lab, number: int) -> list[str]:
    """Make a machine that is nothing but a network namespace with one port; returns its two devices, by rail."""
    name, fabric = lab.namespace(f"f{number}"), lab.namespace("fab")
    run("ip", "netns", "add", name)
    devices = []
    for function, far in zip((each for each in FUNCTIONS if each.port == "p0"), legs(lab.up, f"foreign-{number}.p0"), strict=True):
        own, other = (mac(lab.name, 0, 16 * number + offset + function.rail) for offset in (0, 8))
        ip(
            name,
            f"link add {function.interface} address {own} type veth peer name {far} netns {fabric} address {other}",
            f"link set {function.interface} mtu {MAX_MTU} up",
        )
        ip(fabric, f"link set {far} mtu {MAX_MTU}")
        devices.append(function.interface)
    return devices


def remove_machine(lab: Lab, number: int) -> None:
    """Remove such a machine and its devices."""
    run("ip", "netns", "delete", lab.namespace(f"f{number}"))


def live(lab: Lab, node: Node) -> dict[str, dict[str, Any]]:
    """The fabric netdevs that a node has now, as ``ip -j address`` shows them."""
    rails = {each.interface for each in functions(node)}
    shown = json.loads(run("ip", "-n", lab.namespace(f"n{node.number}"), "-j", "address", "show").stdout)
    return {row["ifname"]: row for row in shown if row.get("ifname") in rails}


def remove(lab: Lab, node: Node, functions: list[Function]) -> None:
    """Take functions off the bus: netdev, PCI directory and RDMA device vanish from the node."""
    hardware, aside = lab.node_folder(node) / "hw", lab.node_folder(node) / "aside"
    for function in functions:
        ip(lab.namespace(f"n{node.number}"), f"link set {function.interface} netns {lab.namespace('park')} name {leg(node.number, function)}")
        for path in _shown(function):
            (aside / path).parent.mkdir(parents=True, exist_ok=True)
            (hardware / path).rename(aside / path)


def bring_back(lab: Lab, node: Node, functions: list[Function]) -> None:
    """Undo ``remove``; the device comes back as a fresh one: down, without addresses, MTU 1500."""
    hardware, aside = lab.node_folder(node) / "hw", lab.node_folder(node) / "aside"
    for function in functions:
        for path in (path for path in reversed(_shown(function)) if os.path.lexists(aside / path)):
            (aside / path).rename(hardware / path)
        parked, own = leg(node.number, function), lab.namespace(f"n{node.number}")
        # named before it moves: udev applies sysctls to the name with which a device appears
        ip(
            lab.namespace("park"),
            f"link set {parked} down",
            f"address flush dev {parked}",
            f"link set {parked} mtu 1500",
            f"link set {parked} name {function.interface}",
            f"link set {function.interface} netns {own}",
        )
        run("podman", "exec", lab.container(node.name), "/lab/share/dress", function.interface)


def _shown(function: Function) -> list[str]:
    """What of ``hw/`` goes when a function does: the links first, its directory last."""
    return [f"infiniband/{function.rdma}", f"infiniband_verbs/{function.verbs}", f"pci_devices/{function.bdf}", f"devices/{function.folder}"]


def management(lab: Lab, node: Node, state: str) -> None:
    """Cut (``down``) or heal (``up``) a node's management cable."""
    ip(lab.namespace("ctl"), f"link set m{node.number} {state}")


def destroy(lab: Lab) -> None:
    """Remove the namespaces; their devices go with them."""
    for name in names(lab):
        run("ip", "netns", "delete", name)

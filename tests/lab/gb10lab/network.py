# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network namespaces, devices and cables.

Every device of a node is one end of a veth pair. The management ends meet on a bridge in ``ctl``; the far end of each fabric
device lies in ``fab``, where a cable is a bridge with four legs: both rails of both ends share one layer-2 segment, as on the
real cable. A leg that is down takes the carrier of its device.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from .card import FUNCTIONS, Function
from .inventory import Cable, Node
from .shell import ip, run
from .state import Lab

MANAGEMENT = "enP7s7"
#: The largest MTU of a ConnectX-7 in these machines; a cable passes it.
MAX_MTU = 9978


def mac(lab: str, node: int, unit: int) -> str:
    """A locally administered address that is stable per lab, node (0: the lab itself) and unit. udev's own would be equal on all nodes."""
    digest = hashlib.sha256(lab.encode()).digest()
    return f"02:{digest[0]:02x}:{digest[1]:02x}:{node:02x}:01:{unit:02x}"


def leg(node: int, function: Function) -> str:
    """The far end of a fabric device, in ``fab``."""
    return f"n{node}{function.port}r{function.rail}"


def legs(lab: Lab, end: str) -> list[str]:
    """The two legs of a cable end ``NODE.PORT``."""
    name, _dot, port = end.rpartition(".")
    return [leg(lab.up.node(name).number, function) for function in FUNCTIONS if function.port == port]


def names(lab: Lab) -> list[str]:
    """All namespaces of the lab, of whatever topology it was started with."""
    listed = [line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines() if line]
    return [name for name in listed if re.fullmatch(re.escape(lab.namespace("")) + r"(ctl|fab|park|n\d+)", name)]


def create(lab: Lab) -> None:
    """Make the namespaces, every device of every node, and plug the cables."""
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
    for number, cable in enumerate(cluster.cables):
        # 0xfff8: also frames for the nearest bridge pass, since a cable is none
        ip(
            lab.namespace("fab"),
            f"link add cable{number} type bridge stp_state 0 forward_delay 0 mcast_snooping 0 group_fwd_mask 0xfff8",
            f"link set cable{number} up",
        )
        plug(lab, cable)


def _devices(lab: Lab, node: Node) -> None:
    own, fabric = lab.namespace(f"n{node.number}"), lab.namespace("fab")
    rails = [
        f"link add {function.interface} address {mac(lab.name, node.number, 16 + function.unit)} type veth "
        f"peer name {leg(node.number, function)} netns {fabric} address {mac(lab.name, node.number, 32 + function.unit)}"
        for function in FUNCTIONS
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


def plug(lab: Lab, cable: Cable) -> None:
    """Put the ends of a cable into its segment; both nodes get carrier."""
    segment = f"cable{lab.up.cables.index(cable)}"
    ip(lab.namespace("fab"), *(f"link set {each} master {segment} up" for end in cable.ends for each in legs(lab, end)))


def unplug(lab: Lab, cable: Cable) -> None:
    """Pull a cable: both nodes lose carrier, their own settings stay."""
    ip(lab.namespace("fab"), *(f"link set {each} nomaster down" for end in cable.ends for each in legs(lab, end)))


def live(lab: Lab, node: Node) -> dict[str, dict[str, Any]]:
    """The fabric netdevs that a node has now, as ``ip -j address`` shows them."""
    rails = {each.interface for each in FUNCTIONS}
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

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
    prefix = lab.namespace("")
    listed = run("ip", "netns", "list").stdout.splitlines()
    return [line.split()[0] for line in listed if line.startswith(prefix)]


def create(lab: Lab) -> None:
    """Make the namespaces, every device of every node, and plug the cables."""
    cluster = lab.up
    parts = ["ctl", "fab", "park", *(f"n{node.number}" for node in cluster.nodes)]
    for part in parts:
        run("ip", "netns", "add", lab.namespace(part))
    for part in ("ctl", "fab"):
        run("nsenter", f"--net=/run/netns/{lab.namespace(part)}", "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
    length = cluster.network.partition("/")[2]
    ip(lab.namespace("ctl"), "link set lo up", "link add mgmt type bridge stp_state 0 forward_delay 0",
       f"link set mgmt address {mac(lab.name, 0, 0)} up", f"address add {cluster.gateway}/{length} dev mgmt")
    for node in cluster.nodes:
        _devices(lab, node)
    for number, cable in enumerate(cluster.cables):
        # 0xfff8: also frames for the nearest bridge pass, since a cable is none
        ip(lab.namespace("fab"), f"link add cable{number} type bridge stp_state 0 forward_delay 0 mcast_snooping 0 group_fwd_mask 0xfff8", f"link set cable{number} up")
        plug(lab, cable)


def _devices(lab: Lab, node: Node) -> None:
    own, fabric = lab.namespace(f"n{node.number}"), lab.namespace("fab")
    rails = [
        f"link add {function.interface} address {mac(lab.name, node.number, 16 + function.unit)} type veth "
        f"peer name {leg(node.number, function)} netns {fabric} address {mac(lab.name, node.number, 32 + function.unit)}"
        for function in FUNCTIONS
    ]
    far = f"m{node.number}"
    ip(own, "link set lo up", *rails, f"link add {MANAGEMENT} address {mac(lab.name, node.number, 0)} type veth "
       f"peer name {far} netns {lab.namespace('ctl')} address {mac(lab.name, node.number, 1)}")
    ip(lab.namespace("ctl"), f"link set {far} master mgmt up")
    ip(fabric, *(f"link set {leg(node.number, function)} mtu {MAX_MTU}" for function in FUNCTIONS))


def plug(lab: Lab, cable: Cable) -> None:
    """Put the ends of a cable into its segment; both nodes get carrier."""
    segment = f"cable{lab.up.cables.index(cable)}"
    ip(lab.namespace("fab"), *(f"link set {each} master {segment} up" for end in cable.ends for each in legs(lab, end)))


def unplug(lab: Lab, cable: Cable) -> None:
    """Pull a cable: both nodes lose carrier, their own settings stay."""
    ip(lab.namespace("fab"), *(f"link set {each} nomaster down" for end in cable.ends for each in legs(lab, end)))


def management(lab: Lab, node: Node, state: str) -> None:
    """Cut (``down``) or heal (``up``) a node's management cable."""
    ip(lab.namespace("ctl"), f"link set m{node.number} {state}")


def destroy(lab: Lab) -> None:
    """Remove the namespaces; their devices go with them."""
    for name in names(lab):
        run("ip", "netns", "delete", name)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that are refused, and requests that are warned of. What is said about each: ``refusals.txt``, ``warnings.txt``."""

from __future__ import annotations

import re
from typing import Any

from plan_requests import direct, hosts, ring, star, switched, two_switches

GRAMMAR = re.compile(r".+ - expected .+, found .+\. .+[.?]")
"""How every text must read."""


def trunk(a: str = "a.qsfp56-dd-4", b: str = "b.qsfp56-dd-4", **more: Any) -> dict[str, Any]:
    """A cable between the switches a and b."""
    return {"between": [a, b], **more}


def joined(*trunks: Any, **changes: Any) -> dict[str, Any]:
    """Two nodes on two switches, with these further cables."""
    request = two_switches(**changes)
    return {**request, "cables": [*request["cables"], *trunks]}


def node(**first: Any) -> list[dict[str, Any]]:
    """Two nodes, the first one with these keys."""
    return [{"name": "spark-1", **first}, {"name": "spark-2"}]


def switch(**keys: Any) -> list[dict[str, Any]]:
    """The switch sw with these keys."""
    return [{"name": "sw", **keys}]


STORED = {
    "topology": "two_node_direct",
    "nodes": {
        "spark-1": {"id": 1, "ports": {"p0": {"rails": [{"rail": 0, "address": "10.77.0.1", "prefix": 24}]}}},
        "spark-2": {
            "id": 2,
            "ports": {"p0": {"rails": [{"rail": 0, "address": "10.77.0.2", "prefix": 24}, {"rail": 1, "address": "10.77.1.2", "prefix": 24}]}},
        },
    },
}

REFUSED: dict[str, Any] = {
    "no request": None,
    "a request that is no mapping": ["x"],
    "unknown key of the request": direct(mtus=9000),
    "passed-on refusals": direct(refusals=["a - expected b, found c. D."]),
    "refusals no list": direct(refusals="x"),
    "nodes no list": direct(nodes={"spark-1": {}, "spark-2": {}}),
    "node no mapping": direct(nodes=["spark-1", {"name": "spark-2"}, {"name": "spark-3"}]),
    "node without name": direct(nodes=[{"id": 1}, *hosts(2)]),
    "node name a list": direct(nodes=[{"name": ["x"]}, *hosts(2)]),
    "node name twice": direct(nodes=[*hosts(2), {"name": "spark-1"}]),
    "unknown key of node": direct(nodes=node(ids=3)),
    "a host in both groups": switched(switches=[{"name": "sw", "model": "CRS804"}, {"name": "spark-1"}]),
    "no topology": direct(topology=None),
    "misspelt topology": direct(topology="two_node_dirrect"),
    "topology of wrong type": direct(topology=["ring"]),
    "supernet no network": direct(supernet="10.77"),
    "supernet number": direct(supernet=10),
    "supernet garbage": direct(supernet="10.77.0.0/33"),
    "supernet IPv6": direct(supernet="fd00::/48"),
    "supernet with host bits": direct(supernet="10.77.0.1/16"),
    "supernet not unicast": direct(supernet="224.0.0.0/8"),
    "mtu text": direct(mtu="abc"),
    "mtu too large": direct(mtu=9979),
    "mtu too small": direct(mtu=1280),
    "mtu true": direct(mtu=True),
    "mtu list": direct(mtu=[9000]),
    "roce unknown": switched(roce="pfc"),
    "roce misspelt": switched(roce="loseless"),
    "roce without switch": direct(roce="ecn"),
    "rail prefix": direct(rail_prefix=31),
    "link local": direct(ipv6_link_local="maybe"),
    "reserved no list": direct(reserved="172.17.0.0/16"),
    "reserved garbage": direct(reserved=["172.17.0.0/16", None, "x/y"]),
    "reserved overlap": direct(reserved=["10.0.0.0/8"]),
    "management garbage": direct(nodes=node(management="192.168.10.11")),
    "management overlap": direct(nodes=node(management="10.77.5.11/24")),
    "ssh address in supernet": direct(nodes=node(address="10.77.5.11")),
    "switch address in supernet": switched(switches=switch(model="CRS804", address="10.77.9.9")),
    "previous no mapping": direct(previous=[]),
    "cables no list": direct(cables={"a": 1}),
    "id garbage": direct(nodes=[{"name": "spark-1", "id": "one"}, {"name": "spark-2", "id": 2}]),
    "id mix": direct(nodes=node(id=1)),
    "id twice": direct(nodes=[{"name": "spark-1", "id": 7}, {"name": "spark-2", "id": 7}]),
    "id beyond": direct(nodes=[{"name": "spark-1", "id": 7}, {"name": "spark-2", "id": 255}]),
    "more nodes than ids": switched(
        12, rail_prefix=29, switches=switch(managed=False), cables=[{"switch": "sw", "to": [f"spark-{n}.p0" for n in range(1, 13)]}]
    ),
    "interfaces no mapping": direct(nodes=node(interfaces=["a"])),
    "interfaces unknown port": direct(nodes=node(interfaces={"p2": ["a", "b"]})),
    "interfaces one name": direct(nodes=node(interfaces={"p0": ["a"]})),
    "interfaces text": direct(nodes=node(interfaces={"p0": "a"})),
    "interfaces twice": direct(nodes=node(interfaces={"p0": ["a", "b"], "p1": ["c", "a"]})),
    "switch managed": switched(switches=switch(model="CRS804", managed="perhaps")),
    "switch vlan": switched(switches=switch(model="CRS804", vlan=4095)),
    "switch bridge": switched(switches=switch(model="CRS804", bridge=["b"])),
    "switch model type": switched(switches=switch(model={"a": 1})),
    "one node": direct(nodes=hosts(1)),
    "three nodes direct": direct(nodes=hosts(3)),
    "four nodes direct": direct(nodes=hosts(4)),
    "three nodes direct, and a switch": direct(nodes=hosts(3), switches=switch(model="CRS804")),
    "two in a ring": ring(nodes=hosts(2)),
    "four in a ring": ring(nodes=hosts(4)),
    "one switched": switched(1),
    "cable a text": direct(cables=["spark-1.p0"]),
    "cable null": direct(cables=[None]),
    "cable of unknown keys": direct(cables=[{"from": "spark-1.p0"}]),
    "cable one end": direct(cables=[["spark-1.p0"]]),
    "cable between nothing": direct(cables=[{"between": None}]),
    "cable between empty": direct(cables=[[]]),
    "cable end a number": direct(cables=[["spark-1.p0", 5]]),
    "cable end unknown node": direct(cables=[["spark-1.p0", "spark-22.p0"]]),
    "cable end unknown port": direct(cables=[["spark-1.p0", "spark-2.p2"]]),
    "cable end no port": direct(cables=[["spark-1.p0", "spark-2"]]),
    "cable end used twice": direct(cables=[["spark-1.p0", "spark-2.p0"], ["spark-1.p0", "spark-2.p1"]]),
    "cable end twice in one breakout": switched(cables=[star("qsfp56-dd-1", "spark-1.p0"), star("qsfp56-dd-2", "spark-2.p0", "spark-2.p0")]),
    "cable end on two cages": switched(
        3, cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0"), star("qsfp56-dd-2", None, "spark-2.p0"), star("qsfp56-dd-3", "spark-3.p0")]
    ),
    "cable end on two unmanaged switches": switched(
        switches=[{"name": "tor", "managed": False}, {"name": "sw", "managed": False}],
        cables=[{"switch": "tor", "to": ["spark-1.p0", "spark-2.p0"]}, {"switch": "sw", "to": ["spark-2.p0"]}],
    ),
    "trunk in a cage that is taken": joined(trunk(a="a.qsfp56-dd-1")),
    "cable to itself": direct(cables=[["spark-1.p0", "spark-2.p0"], ["spark-1.p1", "spark-1.p1"]]),
    "cable to itself, two ports": ring(cables=[["spark-1.p0", "spark-1.p1"]]),
    "pair with media": direct(cables=[{"between": ["spark-1.p0", "spark-2.p0"], "media": "optical"}]),
    "direct with a switch cable": direct(switches=switch(model="CRS804"), cables=[["spark-1.p0", "spark-2.p0"], star("qsfp56-dd-1", "spark-1.p1")]),
    "switched with a pair": switched(cables=[["spark-1.p0", "spark-2.p0"]]),
    "switched without cables": switched(cables=[]),
    "ring with a missing pair": ring(cables=[["spark-1.p0", "spark-2.p1"], ["spark-2.p0", "spark-3.p1"]]),
    "unknown switch": switched(cables=[{"switch": "swx", "cage": "qsfp56-dd-1", "to": ["spark-1.p0", "spark-2.p0"]}]),
    "switch a list": switched(cables=[{"switch": ["sw"], "cage": "qsfp56-dd-1", "to": ["spark-1.p0", "spark-2.p0"]}]),
    "no cage on managed": switched(cables=[{"switch": "sw", "to": ["spark-1.p0", "spark-2.p0"]}]),
    "unknown cage": switched(cables=[star("qsfp56-dd-5", "spark-1.p0", "spark-2.p0")]),
    "lane as cage": switched(cables=[star("qsfp56-dd-1-1", "spark-1.p0", "spark-2.p0")]),
    "cage of another family": switched(switches=switch(model="CRS812"), cables=[star("qsfp28-1", "spark-1.p0", "spark-2.p0")]),
    "no model": switched(switches=switch()),
    "unknown model": switched(switches=switch(model="CRS310-1G-5S-4S+")),
    "cage used twice": switched(cables=[star("qsfp56-dd-1", "spark-1.p0"), star("qsfp56-dd-1", "spark-2.p0")]),
    "unknown breakout": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", breakout="3x200G")]),
    "breakout of another family": switched(
        switches=switch(model="CRS504"), cables=[star("qsfp28-1", "spark-1.p0", breakout="2x200G"), star("qsfp28-2", "spark-2.p0")]
    ),
    "breakout too slow": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", breakout="8x50G")]),
    "breakout a number": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", breakout=2)]),
    "more ends than legs": switched(3, cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", "spark-3.p0")]),
    "to missing": switched(cables=[{"switch": "sw", "cage": "qsfp56-dd-1"}]),
    "to empty": switched(cables=[star("qsfp56-dd-1")]),
    "to only null": switched(cables=[star("qsfp56-dd-1", None, None)]),
    "to with a mapping": switched(cables=[star("qsfp56-dd-1", {"a": 1}, "spark-2.p0")]),
    "to a switch": switched(cables=[star("qsfp56-dd-1", "sw.qsfp56-dd-2", "spark-2.p0")]),
    "unknown key of a switch cable": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", brekout="2x200G")]),
    "unknown media": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", media="fibre")]),
    "fec off on PAM4": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", fec=False)]),
    "unknown fec": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0", fec="rs")]),
    "speed of an unmanaged switch": switched(
        switches=switch(managed=False), cables=[{"switch": "sw", "to": ["spark-1.p0", "spark-2.p0"], "speed": "400G"}]
    ),
    "cage of unmanaged without model": switched(switches=switch(managed=False)),
    "node and switch between": joined(["a.qsfp56-dd-4", "spark-1.p1"]),
    "trunk on one switch": joined(trunk(b="a.qsfp56-dd-3")),
    "trunk without cage": joined(trunk(b="b")),
    "trunk with unknown cage": joined(trunk(b="b.qsfp56-dd-9")),
    "trunk of unknown key": joined(trunk(modes="1x400G")),
    "trunk of unknown mode": joined(trunk(mode="2x200G")),
    "trunk of unlike cages": joined(
        trunk(b="b.qsfp28-1"),
        switches=[{"name": "a", "model": "CRS804"}, {"name": "b", "model": "CRS504"}],
        cables=[{"switch": "a", "cage": "qsfp56-dd-1", "to": ["spark-1.p0"]}, {"switch": "b", "cage": "qsfp28-2", "to": ["spark-2.p0"]}],
    ),
    "trunk of unknown bond": joined(trunk(bond="lacp")),
    "bond on switches of ours": joined(trunk(bond="802.3ad")),
    "parallel trunks": joined(trunk(), trunk("a.qsfp56-dd-3", "b.qsfp56-dd-3")),
    "parallel trunks, turned": joined(trunk(), trunk("b.qsfp56-dd-3", "a.qsfp56-dd-3")),
    "loop of three": joined(
        trunk(),
        trunk("b.qsfp56-dd-3", "c.qsfp56-dd-3"),
        trunk("c.qsfp56-dd-4", "a.qsfp56-dd-3"),
        switches=[{"name": n, "model": "CRS804"} for n in "abc"],
    ),
    "unjoined switches": two_switches(),
    "node without cable": switched(cables=[star("qsfp56-dd-1", "spark-1.p0")]),
    "mtu above switch": switched(mtu=9571),
    "mtu above switch with vlan": switched(mtu=9567, switches=switch(model="CRS804", vlan=5)),
    "supernet too small": ring(supernet="10.77.0.0/22"),
    "supernet smaller than a rail": direct(supernet="10.77.0.0/25"),
    "address would move by id": direct(previous=STORED, nodes=[{"name": "spark-2"}, {"name": "spark-1"}]),
    "address would move by cables": direct(
        previous={**STORED, "subnets": [{"cidr": "10.77.0.0/24"}]}, cables=[["spark-1.p1", "spark-2.p1"], ["spark-1.p0", "spark-2.p0"]]
    ),
    "address would move by supernet": direct(previous=STORED, supernet="10.78.0.0/16"),
    "address would move by topology": ring(previous=STORED),
    "address would move by prefix": direct(previous=STORED, rail_prefix=25),
}

WARNED: dict[str, Any] = {
    "crossed pair": direct(cables=[["spark-1.p0", "spark-2.p1"]]),
    "second direct cable": direct(cables=[["spark-1.p0", "spark-2.p0"], ["spark-1.p1", "spark-2.p1"]]),
    "ring p0 to p0": ring(cables=[["spark-1.p0", "spark-2.p0"], ["spark-2.p1", "spark-3.p0"], ["spark-3.p1", "spark-1.p1"]]),
    "second switched cable": switched(cables=[star("qsfp56-dd-1", "spark-1.p0", "spark-2.p0"), star("qsfp56-dd-2", "spark-1.p1", "spark-2.p1")]),
    "mixed": switched(cables=[star("qsfp56-dd-1", "spark-1.p0"), star("qsfp56-dd-2", "spark-2.p0", breakout="4x100G")]),
    "oversubscribed": joined(
        trunk(),
        nodes=hosts(6),
        cables=[
            {"switch": "a", "cage": "qsfp56-dd-1", "to": ["spark-1.p0", "spark-2.p0"]},
            {"switch": "a", "cage": "qsfp56-dd-2", "to": ["spark-3.p0"]},
            {"switch": "b", "cage": "qsfp56-dd-1", "to": ["spark-4.p0", "spark-5.p0"]},
            {"switch": "b", "cage": "qsfp56-dd-2", "to": ["spark-6.p0"]},
        ],
    ),
    "idle switch": direct(switches=[{"name": "sw"}, {"name": "other"}]),
    "unmanaged with roce": switched(roce="lossless", switches=switch(managed=False), cables=[{"switch": "sw", "to": ["spark-1.p0", "spark-2.p0"]}]),
}

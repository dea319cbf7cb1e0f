# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines and cables the lab makes of an inventory."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from gb10lab.inventory import Cluster, Switch, cluster
from gb10lab.shell import LabError


def listing(names: list[str], **variables: Any) -> dict[str, Any]:
    """What ``ansible-inventory --list`` says of hosts that share variables."""
    hostvars = {name: {"ansible_host": f"192.168.10.{number}", "ansible_user": "nvidia", **variables} for number, name in enumerate(names, 11)}
    return {"_meta": {"hostvars": hostvars}, "gb10_nodes": {"hosts": names}}


PAIR = listing(["spark-1", "spark-2"], fabric_topology="two_node_direct")
TRIO = listing(["a", "b", "c"], fabric_topology="three_node_ring")


@pytest.mark.parametrize(
    ("given", "topology", "expected"),
    [
        pytest.param(PAIR, None, [("spark-1.p0", "spark-2.p0")], id="direct by default p0 to p0"),
        pytest.param(TRIO, None, [("a.p0", "b.p1"), ("b.p0", "c.p1"), ("c.p0", "a.p1")], id="ring by default p0 to the next p1"),
        pytest.param(
            listing(["a", "b"], fabric_topology="two_node_direct", fabric_cables=[["a.p0", "b.p1"]]), None, [("a.p0", "b.p1")], id="as written"
        ),
        pytest.param(
            listing(
                ["a.example.org", "b"], fabric_topology="two_node_direct", fabric_cables=[["a.example.org.p0", "b.p0"], ["a.example.org.p1", "b.p1"]]
            ),
            None,
            [("a.example.org.p0", "b.p0"), ("a.example.org.p1", "b.p1")],
            id="two cables, a name with dots",
        ),
        pytest.param(
            listing(["a", "b"], fabric_topology="switched_fabric", fabric_cables=[{"switch": "s", "cage": "qsfp56-dd-1", "to": ["a.p0", "b.p0"]}]),
            None,
            [],
            id="cables from a switch that is no host of the inventory are left out",
        ),
        pytest.param(TRIO, "two_node_direct", [("a.p0", "b.p0")], id="another topology wins over the inventory's"),
    ],
)
def test_cables(given: dict[str, Any], topology: str | None, expected: list[tuple[str, str]]) -> None:
    """The cables of the cluster."""
    assert [cable.ends for cable in cluster(given, topology).cables] == expected


def switched(cables: list[Any], **switches: dict[str, Any]) -> dict[str, Any]:
    """What ``ansible-inventory --list`` says of four nodes and some switches."""
    given = listing(["a", "b", "c", "d"], fabric_topology="switched_fabric", fabric_cables=cables)
    given["gb10_switches"] = {"hosts": list(switches)}
    given["_meta"]["hostvars"] |= switches
    return given


CRS812 = {"ansible_host": "192.168.10.2", "ansible_user": "admin", "fabric_switch_model": "CRS812"}
PLAIN = {"fabric_switch_managed": False}


@pytest.mark.parametrize(
    ("cables", "expected"),
    [
        pytest.param(
            [{"switch": "s", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["a.p0", "b.p0"]}],
            [("s.qsfp56-dd-1-1", "a.p0", 200000), ("s.qsfp56-dd-1-5", "b.p0", 200000)],
            id="the tails of a breakout, by the lane that leads",
        ),
        pytest.param(
            [{"switch": "s", "cage": "qsfp56-dd-2", "breakout": "4x100G", "to": ["a.p0", None, "c.p0"]}],
            [("s.qsfp56-dd-2-1", "a.p0", 100000), ("s.qsfp56-dd-2-3", None, 100000), ("s.qsfp56-dd-2-5", "c.p0", 100000),
             ("s.qsfp56-dd-2-7", None, 100000)],
            id="empty tails hang loose",
        ),
        pytest.param([{"switch": "s", "cage": "qsfp56-1", "to": ["a.p0"]}], [("s.qsfp56-1-1", "a.p0", 200000)], id="a whole cage"),
        pytest.param(
            [{"switch": "s", "cage": "qsfp56-dd-1", "to": ["a.p0"]}],
            [("s.qsfp56-dd-1-1", "a.p0", 200000), ("s.qsfp56-dd-1-5", None, 200000)],
            id="the fastest breakout for nodes where none is named",
        ),
        pytest.param(
            [{"between": ["s.qsfp56-dd-2", "t.qsfp56-dd-2"], "mode": "1x400G"}],
            [("s.qsfp56-dd-2-1", "t.qsfp56-dd-2-1", 400000)],
            id="two switches",
        ),
        pytest.param(
            [{"switch": "plain", "to": ["a.p0", "b.p0"], "speed": "100G"}],
            [("plain.0-1", "a.p0", 100000), ("plain.0-2", "b.p0", 100000)],
            id="a switch without cages",
        ),
        pytest.param([{"switch": "s", "cage": "qsfp56-dd-1", "to": ["e.p0", "b.p2"]}], [], id="ends that are no ports of nodes"),
    ],
)
def test_cables_of_switches(cables: list[Any], expected: list[tuple[str, str | None, int]]) -> None:
    """A cable for each tail: switch end, node end, Mb/s."""
    found = cluster(switched(cables, s=CRS812, t=CRS812, plain=PLAIN)).cables
    assert [(*cable.ends, cable.speed) for cable in found] == expected


def test_switches_are_those_of_their_group() -> None:
    """Managed ones with a model, an address and a user; the lab's own address is none of theirs."""
    made = cluster(switched([], s={**CRS812, "ansible_host": "192.168.10.1"}, plain=PLAIN))
    assert made.switches == (Switch("s", 1, True, "CRS812", "192.168.10.1", "admin", "7.23.7"), Switch("plain", 2, False))
    assert (made.managed, made.gateway) == (made.switches[:1], "192.168.10.2")


def test_a_model_that_is_not_simulated_is_refused() -> None:
    """In one line, with those that are."""
    expected = "fabric_switch_model of s - expected CRS804, CRS812, CRS504, found CRS999. The lab simulates no other."
    with pytest.raises(LabError, match=re.escape(expected)):
        cluster(switched([], s={**CRS812, "fabric_switch_model": "CRS999"}))


def test_nodes_alternate_between_the_two_network_managers() -> None:
    """networkd first, then NetworkManager, and again."""
    assert [node.backend for node in cluster(TRIO).nodes] == ["netplan-networkd", "netplan-networkmanager", "netplan-networkd"]


def test_backends_can_be_chosen() -> None:
    """One per node, repeated."""
    assert [node.backend for node in cluster(PAIR, None, ("networkmanager",)).nodes] == ["networkmanager", "networkmanager"]


def test_hosts_of_child_groups_count_once_in_order() -> None:
    """Groups of groups are legal in an inventory."""
    given = listing(["a", "b"], fabric_topology="two_node_direct")
    given["gb10_nodes"] = {"children": ["rack", "desk"]}
    given |= {"rack": {"hosts": ["a"]}, "desk": {"hosts": ["b", "a"]}}
    assert [node.name for node in cluster(given).nodes] == ["a", "b"]


def test_the_gateway_is_the_first_free_address() -> None:
    """The lab's own address never is a node's."""
    given = listing(["a", "b"], fabric_topology="two_node_direct")
    given["_meta"]["hostvars"]["a"]["ansible_host"] = "192.168.10.1"
    made = cluster(given)
    assert (made.network, made.gateway) == ("192.168.10.0/24", "192.168.10.2")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"gb10_nodes": {}}, "group gb10_nodes - expected at least one host", id="no nodes"),
        pytest.param({"_meta": {"hostvars": {"a": {}}}, "gb10_nodes": {"hosts": ["a"]}}, "ansible_host of a - expected an address", id="no address"),
        pytest.param(
            listing(["a"], fabric_topology="two_node_direct"), "topology two_node_direct - expected more nodes, found 1", id="too few nodes"
        ),
    ],
)
def test_refusals(given: dict[str, Any], words: str) -> None:
    """What can not be built is refused in one line."""
    with pytest.raises(LabError, match=words):
        cluster(given)


NAMES = {"p0": ["aerial00", "aerial02"], "p1": ["aerial01", "aerial03"]}


def test_renamed_devices_are_those_of_the_inventory() -> None:
    """One node's owner has renamed them, the others' have not."""
    given = listing(["a", "b"], fabric_topology="two_node_direct")
    given["_meta"]["hostvars"]["b"]["fabric_interfaces"] = NAMES
    assert [node.interfaces for node in cluster(given).nodes] == [{}, NAMES]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(["aerial00"], id="no map"),
        pytest.param({"p2": ["a0", "a1"]}, id="no such port"),
        pytest.param({"p0": ["a0"]}, id="one name"),
        pytest.param({"p0": ["a0"], "p1": ["a1", "a2", "a3"]}, id="one and three names"),
        pytest.param({"p0": ["a0", "a0"]}, id="the same name twice"),
        pytest.param({"p0": ["a0", "a name of too many letters"]}, id="no name of a device"),
        pytest.param({"p0": "a0"}, id="a text"),
    ],
)
def test_names_that_can_not_be(written: Any) -> None:
    """The lab makes devices of these names, so it looks at them first."""
    given = listing(["a", "b"], fabric_topology="two_node_direct", fabric_interfaces=written)
    with pytest.raises(LabError, match="fabric_interfaces of a - expected two names for a port"):
        cluster(given)


def test_a_cluster_survives_its_state_file() -> None:
    """Saved and loaded, it is the same."""
    given = cluster(switched([{"switch": "s", "cage": "qsfp56-dd-1", "to": ["a.p0", None]}], s=CRS812, plain=PLAIN))
    assert given.switches and given.cables
    assert Cluster.from_json(json.loads(json.dumps(given.to_json()))) == given

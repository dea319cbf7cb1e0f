# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker on real interfaces: three nodes in network namespaces, whose cables are moved."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors_worker as worker

from rack import RAILS, SWITCH, Rack, Run, elapsed, heard, ip, why_not

NODES = ("spark-1", "spark-2", "spark-3")
RING = [(("spark-1", "p0"), ("spark-2", "p1")), (("spark-2", "p0"), ("spark-3", "p1")), (("spark-3", "p0"), ("spark-1", "p1"))]
PEERS = {end: list(other) for ends in RING for end, other in (ends, ends[::-1])}
PLANNED = {node: {port: PEERS[node, port] for port in ("p0", "p1")} for node in NODES}
GIVES_UP = 120.0
"""Seconds; far more than a test takes on a machine that is busy with other things."""
REASON = why_not()

pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Three nodes."""
    made = Rack(NODES, tmp_path_factory.mktemp("rack"))
    yield made
    made.remove()


class Runs:
    """The workers of one test."""

    def __init__(self, rack: Rack, name: str) -> None:
        self.rack, self.name, self.runs = rack, name, dict[str, Run]()

    def start(self, *nodes: str, **settings: Any) -> None:
        """Begin on nodes, with the plan of the ring."""
        for node in nodes:
            self.runs[node] = self.rack.start(node, PLANNED[node], run=self.name, **settings)

    def collect(self, *nodes: str) -> dict[str, dict[str, dict[str, Any]]]:
        """Collect on nodes, one after the other; ``{node: {port: …}}``."""
        found = {}
        for node in nodes:
            self.runs[node].collect()
            found[node] = self.runs[node].result()
        return found

    def map(self, *nodes: str) -> dict[str, dict[str, list[int]]]:
        """Collect on all nodes at once; ``{"node port": {neighbour: rails}}`` of the ports that heard somebody."""
        for node in nodes:
            self.runs[node].collect()
        found = {f"{node} {port}": heard(data) for node in nodes for port, data in self.runs[node].result().items()}
        return {port: names for port, names in found.items() if names}


@pytest.fixture
def runs(rack: Rack, request: pytest.FixtureRequest) -> Iterator[Runs]:
    """No cable and no worker yet."""
    rack.plug()
    made = Runs(rack, request.node.name.replace("_", "-")[:40])
    yield made
    for run in made.runs.values():
        run.end()


AS_PLANNED = {f"{node} {port}": {f"{other} {name}": [0, 1]} for a, b in RING for (node, port), (other, name) in ((a, b), (b, a))}


def test_three_nodes_collected_one_after_the_other_know_the_ring_before_they_would_give_up(runs: Runs) -> None:
    runs.rack.plug(*RING)
    runs.rack.settle()
    runs.start(*NODES, carrier_wait=GIVES_UP)
    time.sleep(0.5)
    began = time.monotonic()
    found = runs.collect(*NODES)
    assert elapsed(began) < GIVES_UP
    assert {f"{node} {port}": heard(data) for node, ports in found.items() for port, data in ports.items()} == AS_PLANNED
    assert all(name["near"] for ports in found.values() for data in ports.values() for name in data["heard"])
    macs = [rail.pop("mac") for rail in found["spark-1"]["p0"]["rails"]]
    assert len(set(macs)) == 2 and all(re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", mac) for mac in macs)
    assert found["spark-1"]["p0"]["rails"] == [
        {"rail": rail, "interface": RAILS["p0", rail], "up": True, "carrier": True, "raised": False} for rail in (0, 1)
    ]


def test_a_worker_waits_for_a_node_that_begins_late(runs: Runs) -> None:
    runs.rack.plug(*RING)
    runs.start("spark-1", "spark-2")
    time.sleep(2.0)
    runs.start("spark-3")
    assert runs.map(*NODES) == AS_PLANNED


def test_a_carrier_that_is_coming_is_waited_for(runs: Runs) -> None:
    runs.rack.plug(*RING[:1])
    runs.start(*NODES, carrier_wait=GIVES_UP)
    for node in NODES:
        runs.runs[node].collect()
    time.sleep(1.5)
    runs.rack.plug(*RING)
    began = time.monotonic()
    assert runs.map(*NODES) == AS_PLANNED
    assert elapsed(began) < GIVES_UP


def test_where_nobody_is_the_worker_says_so_after_its_time(runs: Runs) -> None:
    runs.rack.plug([("spark-1", "p0")])
    runs.start("spark-1", carrier_wait=1.0, listen=0.5)
    found = runs.collect("spark-1")["spark-1"]
    assert [(port, heard(data), [rail["carrier"] for rail in data["rails"]]) for port, data in found.items()] == [
        ("p0", {}, [True, True]),
        ("p1", {}, [False, False]),
    ]


def test_behind_a_switch_everybody_is_heard_and_nobody_is_near(runs: Runs) -> None:
    runs.rack.plug([(node, "p0") for node in NODES], bridge=SWITCH)
    runs.start(*NODES)
    found = runs.collect(*NODES)
    assert {node: heard(ports["p0"]) for node, ports in found.items()} == {
        node: {f"{other} p0": [0, 1] for other in NODES if other != node} for node in NODES
    }
    assert not any(name["near"] for ports in found.values() for name in ports["p0"]["heard"])


def test_a_cable_from_a_node_to_itself_is_heard_as_such(runs: Runs) -> None:
    runs.rack.plug([("spark-1", "p0"), ("spark-1", "p1")])
    runs.start("spark-1")
    assert runs.map("spark-1") == {"spark-1 p0": {"spark-1 p1": [0, 1]}, "spark-1 p1": {"spark-1 p0": [0, 1]}}


def test_a_dead_rail_hears_nobody_while_its_twin_does(runs: Runs) -> None:
    runs.rack.plug(*RING, dead=[("spark-2", "p0", 1)])
    runs.start(*NODES)
    assert runs.map(*NODES) == {**AS_PLANNED, "spark-2 p0": {"spark-3 p1": [0]}}


def test_garbage_and_strangers_are_counted_and_harm_nothing(runs: Runs) -> None:
    runs.rack.plug(*RING[:1])
    runs.rack.settle()
    runs.start("spark-1", listen=1.5)
    stranger = {"run": "other", "machine": "f" * 32, "node": "gx10-7", "port": "p1", "rail": 0, "heard": [], "collecting": True}
    good = worker.encode(b"\2" * 6, worker.FAR, stranger)
    time.sleep(0.5)
    runs.rack.send("spark-2", RAILS["p1", 0], good, good[:30], good[:14] + b"\xff" * 1000, good[:16] + b"TOPO_DISCOVER_2NODE_V2".ljust(60))
    port = runs.collect("spark-1")["spark-1"]["p0"]
    # both rails hear what the other end sends
    assert (port["heard"], port["garbage"]) == ([], 6)
    assert port["strangers"] == [{"node": "gx10-7", "port": "p1", "machine_id": "f" * 32}]


def test_an_interface_that_goes_away_is_shown_as_gone(runs: Runs) -> None:
    runs.rack.plug(*RING)
    runs.start(*NODES, listen=2.0)
    time.sleep(0.5)
    ip(runs.rack.namespace("spark-1"), f"link set {RAILS['p0', 1]} down", f"link set {RAILS['p0', 0]} name gone down")
    try:
        found = runs.collect("spark-1")["spark-1"]
    finally:
        ip(runs.rack.namespace("spark-1"), f"link set gone name {RAILS['p0', 0]}", *(f"link set {name} up" for name in RAILS.values()))
    assert [rail["up"] for rail in found["p0"]["rails"]] == [False, False]

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What iputils ping and the neighbour table say, and what follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _ping
from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._ping import Answer

PORTS = {"p0": {"peer": {"node": "spark-2", "port": "p0"}, "speed": "200G", "rails": [
    {"rail": 0, "address": "10.77.0.1", "prefix": 24, "subnet": 0},
    {"rail": 1, "address": "10.77.1.1", "prefix": 24, "subnet": 1},
]}}  # fmt: skip
INTERFACES = {"p0": {0: "enp1s0f0np0", 1: "enP2p1s0f0np0"}}
PEERS = [
    {"peer": "spark-2", "subnet": 0, "address": "10.77.0.2"},
    {"peer": "spark-2", "subnet": 1, "address": "10.77.1.2"},
]
NEIGHBOUR = {("10.77.0.2", "enp1s0f0np0"): "4e:35:35:92:b8:95"}


def recorded(folder: Path, name: str) -> Result:
    """A ping command as it ended: the fixture holds stdout, stderr and the exit status."""
    stdout, rest = (folder / "ping" / f"{name}.txt").read_text(encoding="utf-8").split("--- stderr\n")
    stderr, rc = rest.split("--- rc ")
    return Result(("ping",), int(rc), stdout, stderr)


@pytest.mark.parametrize("version", ["20221126", "20240905"])
@pytest.mark.parametrize(
    ("case", "sent", "received", "complaint"),
    [
        ("answered-full", 3, 3, None),
        ("too-long-here", 3, 0, "larger than the MTU of the rail itself"),
        ("too-long-on-the-way", 3, 0, "larger than the MTU on the way"),
        ("lost-at-peer", 3, 0, None),
        ("nobody-there", 3, 0, None),
        ("no-such-address", 0, 0, "the rail does not have its own address"),
        ("no-such-interface", 0, 0, "the rail's interface is gone"),
        ("no-route", 0, 0, "no route to it"),
    ],
)
def test_ping_output_is_read(fixtures: Path, version: str, case: str, sent: int, received: int, complaint: str | None) -> None:
    answer = _ping.parse(recorded(fixtures, f"{case}-{version}"))
    assert (answer.sent, answer.received, answer.complaint) == (sent, received, complaint)
    assert (answer.rtt_ms is not None and 0 < answer.rtt_ms < 1) == bool(received)


def test_missing_ping_is_said() -> None:
    assert _ping.parse(Result(("ping",), None, missing=True)).complaint == "the command ping is not installed (package iputils-ping)"


def test_neighbours_without_answer_have_no_mac(fixtures: Path) -> None:
    assert _ping.neighbours((fixtures / "ping" / "ip-neigh.json").read_text(encoding="utf-8")) == NEIGHBOUR


@pytest.mark.parametrize("text", ["", "not json", "[]", '[{"dst": "10.77.0.2", "lladdr": "4e:35:35:92:b8:95"}]',
                                  "null", "[1, null]", '[{"lladdr": "4e:35", "dev": "a"}]', '[{"dst": "1", "lladdr": null, "dev": "a"}]'])  # fmt: skip
def test_neighbour_tables_that_say_nothing(text: str) -> None:
    assert _ping.neighbours(text) == {}


def test_paths_join_own_rails_and_peers_by_subnet() -> None:
    others = [{"peer": "spark-3", "subnet": 7, "address": "10.77.7.3"}]
    found = _ping.paths(PORTS, 9000, PEERS + others, INTERFACES)
    assert [(path["peer"], path["rail"], path["interface"], path["source"], path["target"]) for path in found] == [
        ("spark-2", 0, "enp1s0f0np0", "10.77.0.1", "10.77.0.2"),
        ("spark-2", 1, "enP2p1s0f0np0", "10.77.1.1", "10.77.1.2"),
    ]


def test_command_forbids_fragments_and_counts_the_headers() -> None:
    path = _ping.paths(PORTS, 9000, PEERS, INTERFACES)[0]
    assert " ".join(_ping.command(path, 9000, 3, 1.0)) == "ping -n -c 3 -i 0.02 -W 1.0 -M do -s 8972 -I 10.77.0.1 -I enp1s0f0np0 10.77.0.2"


YES, NO = Answer(3, 3, 0.05, None), Answer(3, 0, None, None)
MAC = "4e:35:35:92:b8:95"


@pytest.mark.parametrize(
    ("small", "full", "mac", "expected"),
    [
        (YES, YES, MAC, {"small_ok": True, "full_ok": True, "largest_mtu": 9000, "neighbour_mac": MAC, "loss_percent": 0.0, "rtt_ms": 0.05, "reason": None}),
        (YES, Answer(3, 2, 0.06, None), MAC, {"full_ok": True, "sent": 3, "received": 2, "loss_percent": 33.3, "rtt_ms": 0.06}),
        (YES, NO, MAC, {"small_ok": True, "full_ok": False, "largest_mtu": None, "received": 3, "reason": "lost on the way or at the peer"}),
        (YES, Answer(3, 0, None, "larger than the MTU of the rail itself"), MAC, {"reason": "larger than the MTU of the rail itself"}),
        (NO, NO, None, {"small_ok": False, "neighbour_mac": None, "loss_percent": 100.0, "reason": "nobody answers ARP for its address"}),
        (NO, NO, MAC, {"small_ok": False, "reason": "no answer, although ARP was answered"}),
        (Answer(0, 0, None, "no route to it"), NO, None, {"sent": 0, "loss_percent": 100.0, "reason": "no route to it"}),
    ],
)
def test_a_path_is_judged(small: Answer, full: Answer, mac: str | None, expected: dict[str, Any]) -> None:
    path = _ping.judged(_ping.paths(PORTS, 9000, PEERS, INTERFACES)[0], small, full, mac)
    assert {key: path[key] for key in expected} == expected  # type: ignore[literal-required]


@pytest.mark.parametrize("limit", [84, 85, 1500, 1584, 8999])
def test_the_largest_packet_is_found(limit: int) -> None:
    tried: list[int] = []
    assert _ping.largest(lambda size: tried.append(size) or size <= limit, 84, 9000) == limit
    assert len(tried) <= 14


class Network:
    """Stands for the commands of a node: a peer that answers packets up to ``mtu``, and its neighbour table."""

    def __init__(self, folder: Path, mtu: int) -> None:
        self.folder, self.mtu, self.commands = folder, mtu, 0

    def __call__(self, argv: list[str], timeout: float) -> Result:
        self.commands += 1
        if argv[0] == "ip":
            return Result(tuple(argv), 0, (self.folder / "ping" / "ip-neigh.json").read_text(encoding="utf-8"))
        size = int(argv[argv.index("-s") + 1]) + _ping.HEADERS
        return recorded(self.folder, "answered-full-20240905" if size <= self.mtu else "lost-at-peer-20240905")


def test_healthy_paths_take_two_pings_each_and_one_look_at_the_neighbours(fixtures: Path) -> None:
    network = Network(fixtures, 9000)
    found = _ping.measure(_ping.paths(PORTS, 9000, PEERS, INTERFACES), network)
    assert [(path["full_ok"], path["neighbour_mac"]) for path in found] == [(True, MAC), (True, None)]
    assert network.commands == 5


def test_where_only_small_packets_pass_the_largest_is_searched(fixtures: Path) -> None:
    found = _ping.measure(_ping.paths(PORTS, 9000, PEERS, INTERFACES), Network(fixtures, 1500))
    assert [(path["full_ok"], path["largest_mtu"]) for path in found] == [(False, 1500), (False, 1500)]


def test_a_missing_rail_is_a_path_with_its_reason_in_its_place(fixtures: Path) -> None:
    found = _ping.measure(_ping.paths(PORTS, 9000, PEERS, {"p0": {1: "enP2p1s0f0np0"}}), Network(fixtures, 9000))
    assert [(path["rail"], path["full_ok"], path["reason"]) for path in found] == [(0, False, "this rail is missing on the machine"), (1, True, None)]

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting and collecting a worker: what it is told, how it is run, and that nothing stays behind."""

from __future__ import annotations

import dataclasses
import json
import socket
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors
from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine

MACHINE_ID = "1" * 32
PORTS = {"p0": {"peer": {"node": "spark-2", "port": "p1"}, "speed": "200G"}, "p1": {"peer": {"switch": "crs812", "leg": "qsfp56-dd-1-1"}}}
REQUEST = _neighbors.Request("run-1", "spark-1", PORTS, {}, True, 20, 3, 300)
FUNCTIONS = {"enp1s0f0np0": ("0000:01:00.0", "p0"), "enP2p1s0f0np0": ("0002:01:00.0", "p0"), "enp1s0f1np1": ("0000:01:00.1", "p1")}
FOUND = {"p0": {0: "enp1s0f0np0", 1: "enP2p1s0f0np0"}, "p1": {0: "enp1s0f1np1"}}
UP, DOWN = "0x1003", "0x1002"
RAILS = [{"rail": 0, "interface": "enp1s0f0np0"}, {"rail": 1, "interface": "enP2p1s0f0np0"}]
HEARD = [{"port": "p0", "rails": RAILS, "heard": [], "strangers": [], "garbage": 0}]


class Node:
    """A machine in a folder: three functions of a card, and what commands were run and answered."""

    def __init__(self, folder: Path, flags: dict[str, str] | None = None) -> None:
        self.commands: list[list[str]] = []
        self.answers: dict[str, Result] = {}
        self.run_folder = folder / "run"
        for interface, (address, port) in FUNCTIONS.items():
            device = folder / "sys/devices" / address
            net = folder / "sys/class/net" / interface
            net.mkdir(parents=True)
            device.mkdir(parents=True)
            (device / "vendor").write_text("0x15b3\n")
            (device / "device").write_text("0x1021\n")
            (net / "device").symlink_to(device)
            (net / "phys_port_name").write_text(port)
            (net / "flags").write_text((flags or {}).get(interface, UP))
        (folder / "sys/bus/pci").mkdir(parents=True)
        (folder / "sys/bus/pci/devices").symlink_to(folder / "sys/devices")
        (folder / "etc").mkdir()
        (folder / "etc/machine-id").write_text(f"{MACHINE_ID}\n")
        self.folder = folder
        self.machine = Machine(str(folder), self._run)

    def _run(self, argv: Sequence[str], timeout: float) -> Result:
        self.commands.append(list(argv))
        return self.answers.get(" ".join(argv[:2]), self.answers.get(argv[0], Result(tuple(argv), 0, "active\n")))

    @property
    def root(self) -> str:
        return str(self.run_folder)

    def ran(self, tool: str) -> list[list[str]]:
        """The commands of one tool."""
        return [command for command in self.commands if command[0] == tool]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node with all interfaces up."""
    return Node(tmp_path)


@pytest.mark.parametrize(
    ("run_id", "name", "expected"),
    [
        ("20260101T120000-1", "spark-1.example.org", []),
        ("", "spark-1", ["run_id - expected letters, digits and dashes, at most 64, found ''. Take a number that is new for each run."]),
        ("../x", "spark-1", ["run_id - expected letters, digits and dashes, at most 64, found '../x'. Take a number that is new for each run."]),
        (
            "1",
            "spark 1",
            ["node - expected letters, digits, dots, dashes and underscores, at most 253, found 'spark 1'. Rename the host in the inventory."],
        ),
    ],
)
def test_names_that_can_not_travel_are_refused(run_id: str, name: str, expected: list[str]) -> None:
    assert _neighbors.errors(run_id, name) == expected


@pytest.mark.parametrize(
    ("flags", "members", "expected"),
    [
        ({}, [], []),
        ({"enP2p1s0f0np0": DOWN}, [], ["enP2p1s0f0np0"]),
        ({"enp1s0f0np0": DOWN, "enP2p1s0f0np0": DOWN, "enp1s0f1np1": DOWN}, ["enP2p1s0f0np0"], ["enp1s0f0np0"]),
    ],
)
def test_only_what_is_down_planned_and_nobody_elses_is_raised(tmp_path: Path, flags: dict[str, str], members: list[str], expected: list[str]) -> None:
    node = Node(tmp_path, flags)
    for name in members:
        (tmp_path / "sys/class/net" / name / "master").mkdir()
    assert _neighbors.to_raise(node.machine, FOUND, {"p0": PORTS["p0"]}) == expected


def test_the_worker_is_told_every_interface_and_whom_each_port_is_to_hear(node: Node) -> None:
    assert _neighbors.start(REQUEST, node.machine, node.root) == ""
    folder = node.run_folder / "run-1"
    assert json.loads((folder / "job.json").read_text()) == {
        "run": "run-1",
        "machine": MACHINE_ID,
        "node": "spark-1",
        "interfaces": [
            {"interface": "enp1s0f0np0", "port": "p0", "rail": 0},
            {"interface": "enP2p1s0f0np0", "port": "p0", "rail": 1},
            {"interface": "enp1s0f1np1", "port": "p1", "rail": 0},
        ],
        "planned": {"p0": ["spark-2", "p1"], "p1": None},
        "raised": [],
        "carrier_wait": 20,
        "listen": 3,
    }
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (node.run_folder, folder, folder / "job.json", folder / "worker.py")]
    assert modes == [0o700, 0o700, 0o600, 0o600]
    compile((folder / "worker.py").read_text(), "worker.py", "exec")


@pytest.mark.parametrize("bring_up", [True, False])
def test_systemd_raises_interfaces_and_puts_them_back(tmp_path: Path, bring_up: bool) -> None:
    node = Node(tmp_path, {"enP2p1s0f0np0": DOWN})
    _neighbors.start(dataclasses.replace(REQUEST, bring_up=bring_up), node.machine, node.root)
    ip = node.machine.which("ip") or "/usr/sbin/ip"
    raising = [
        f"--property=ExecStartPre=-{ip} link set dev enP2p1s0f0np0 up",
        f'--property=ExecStopPost=-/bin/sh -c "{ip} -4 -o address show dev enP2p1s0f0np0 | grep -q . || {ip} link set dev enP2p1s0f0np0 down"',
    ]
    assert node.ran("systemd-run") == [
        [
            "systemd-run", "--quiet", "--collect", "--unit=gb10-neighbors-run-1", "--property=Type=exec", "--property=RuntimeMaxSec=300",
            *(raising if bring_up else []), sys.executable, "-I", f"{node.root}/run-1/worker.py",
        ]
    ]  # fmt: skip
    assert json.loads((node.run_folder / "run-1/job.json").read_text())["raised"] == (["enP2p1s0f0np0"] if bring_up else [])


def test_a_second_start_of_a_run_does_nothing(node: Node) -> None:
    _neighbors.start(REQUEST, node.machine, node.root)
    before = (node.run_folder / "run-1/job.json").stat().st_mtime_ns
    assert _neighbors.start(REQUEST, node.machine, node.root) == ""
    assert len(node.ran("systemd-run")) == 1
    assert (node.run_folder / "run-1/job.json").stat().st_mtime_ns == before


def test_a_second_start_of_a_run_whose_worker_has_finished_keeps_its_result(node: Node) -> None:
    _neighbors.start(REQUEST, node.machine, node.root)
    (node.run_folder / "run-1/result.json").write_text("[]")
    node.answers["systemctl is-active"] = Result((), 3, "inactive\n")
    assert _neighbors.start(REQUEST, node.machine, node.root) == ""
    assert len(node.ran("systemd-run")) == 1


def test_a_run_whose_worker_died_is_started_anew(node: Node) -> None:
    _neighbors.start(REQUEST, node.machine, node.root)
    node.answers["systemctl is-active"] = Result((), 3, "inactive\n")
    assert _neighbors.start(REQUEST, node.machine, node.root) == ""
    assert len(node.ran("systemd-run")) == 2


def test_other_runs_are_ended_before_and_leave_nothing(node: Node) -> None:
    for run_id in ("old-1", "old-2"):
        (node.run_folder / run_id).mkdir(parents=True)
    _neighbors.start(REQUEST, node.machine, node.root)
    assert node.commands[0] == ["systemctl", "stop", "gb10-neighbors-old-1", "gb10-neighbors-old-2"]
    assert [path.name for path in node.run_folder.iterdir()] == ["run-1"]


def test_a_machine_without_systemd_is_told_and_keeps_nothing(node: Node) -> None:
    node.answers["systemd-run"] = Result((), 1, "", "System has not been booted with systemd as init system (PID 1). Can't operate.\n")
    assert _neighbors.start(REQUEST, node.machine, node.root) == (
        "neighbour discovery - expected a transient systemd unit, found System has not been booted with systemd as init system (PID 1). Can't "
        "operate. "
        "Look at systemctl status; this needs a running systemd."
    )
    assert list(node.run_folder.iterdir()) == []


def test_a_machine_without_an_identity_is_told(node: Node) -> None:
    (node.folder / "etc/machine-id").write_text("uninitialized\n")
    assert _neighbors.start(REQUEST, node.machine, node.root) == (
        "/etc/machine-id - expected 32 hexadecimal digits, found 'uninitialized'. Run systemd-machine-id-setup."
    )
    assert node.commands == []


def test_what_was_heard_is_collected_with_lldp_and_everything_is_removed(node: Node) -> None:
    _neighbors.start(REQUEST, node.machine, node.root)
    (node.run_folder / "run-1/result.json").write_text(json.dumps(HEARD))
    crs812 = "48\\:a9:qsfp56-dd-1-1:crs812:20 (mac-bridge,router)\n"
    node.answers["nmcli"] = Result((), 0, f"enp1s0f0np0:{crs812}enP2p1s0f0np0:{crs812}enP7s7:{crs812}")
    found, complaint = _neighbors.collect("run-1", node.machine, node.root)
    assert complaint == ""
    assert found == {
        "hostname": socket.gethostname(),
        "machine_id": MACHINE_ID,
        "neighbors": [{**HEARD[0], "lldp": [{"system": "crs812", "port": "qsfp56-dd-1-1", "forwards": True}]}],
    }
    assert node.commands[-1] == ["systemctl", "stop", "gb10-neighbors-run-1"]
    assert not node.run_folder.exists()


def test_a_node_that_was_not_started_is_told(node: Node) -> None:
    assert _neighbors.collect("run-1", node.machine, node.root) == (
        {},
        "run run-1 - expected a worker on this node, found none, or that another run took its place. "
        "Wait until any other run against this node has ended, then run again; by hand, run phase start with this run_id first.",
    )


@pytest.mark.parametrize("alive", [True, False])
def test_a_worker_without_an_answer_is_not_waited_for_for_ever(node: Node, alive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_neighbors, "GRACE", 0.2 if alive else 30.0)
    node.answers["systemctl is-active"] = Result((), 0, "active\n" if alive else "failed\n")
    _neighbors.start(dataclasses.replace(REQUEST, carrier_wait=0, listen=0), node.machine, node.root)
    patience = "0.2" if alive else "30"
    assert _neighbors.collect("run-1", node.machine, node.root) == (
        {},
        f"run run-1 - expected what the worker heard, within {patience} s, found nothing. Look at journalctl -u gb10-neighbors-run-1.",
    )
    assert not node.run_folder.exists()
    assert any(command[:2] == ["systemctl", "stop"] for command in node.commands)


def test_a_run_that_another_one_ended_is_told_so(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    _neighbors.start(REQUEST, node.machine, node.root)

    def ended(*_arguments: object) -> None:
        _neighbors.start(dataclasses.replace(REQUEST, run_id="run-2"), node.machine, node.root)

    monkeypatch.setattr(_neighbors, "_wait", ended)
    assert _neighbors.collect("run-1", node.machine, node.root) == (
        {},
        "run run-1 - expected to be the only one on this node, found run run-2, which ended it. Run one playbook at a time.",
    )


def test_collecting_says_that_all_nodes_have_begun(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def look(machine: Any, run_id: str, folder: str, patience: float) -> list[Any]:
        seen.append((Path(folder) / "collecting").exists())
        return []

    monkeypatch.setattr(_neighbors, "_wait", look)
    _neighbors.start(REQUEST, node.machine, node.root)
    _neighbors.collect("run-1", node.machine, node.root)
    assert seen == [True]

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as network namespaces, with both rails of both ports, and cables between them that can be moved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors_worker as worker

RAILS = {("p0", 0): "enp1s0f0np0", ("p0", 1): "enP2p1s0f0np0", ("p1", 0): "enp1s0f1np1", ("p1", 1): "enP2p1s0f1np1"}
CABLE, SWITCH = 0xFFF8, 0
"""What a bridge lets through of the addresses that end at the nearest bridge: everything it may, as a cable does, or nothing."""

Port = tuple[str, str]

_SEND = """
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((sys.argv[1], 0))
for frame in sys.argv[2:]:
    raw.send(bytes.fromhex(frame))
"""


def ip(namespace: str, *lines: str) -> None:
    """Run ``ip`` commands in a namespace."""
    subprocess.run(["ip", "-n", namespace, "-batch", "-"], input="\n".join(lines), text=True, check=True, capture_output=True)


def why_not() -> str:
    """Why this machine can not have a rack; empty when it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    name = f"rack-try-{os.getpid()}"
    try:
        done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            done = subprocess.run(["ip", "-n", name, "link", "add", "name", "b0", "type", "bridge"], capture_output=True, text=True, check=False)
            subprocess.run(["ip", "netns", "delete", name], check=False)
    except FileNotFoundError:
        return "there is no command ip"
    return f"no bridge in a network namespace here: {done.stderr.strip()}" if done.returncode else ""


class Rack:
    """``nodes`` with all rails up, and no cable yet."""

    def __init__(self, nodes: Sequence[str], folder: Path) -> None:
        self.nodes, self.folder = nodes, folder
        self._prefix = f"rack-{os.getpid()}"
        self._wires = f"{self._prefix}-wires"
        self._bridges: list[str] = []
        self._legs = {(node, *rail): f"l{number}r{index}" for number, node in enumerate(nodes) for index, rail in enumerate(RAILS)}
        for name in [self._wires, *map(self.namespace, nodes)]:
            subprocess.run(["ip", "netns", "add", name], check=True)
        ends = [(leg, RAILS[port, rail], self.namespace(node)) for (node, port, rail), leg in self._legs.items()]
        ip(self._wires, *(f"link add {leg} type veth peer name {interface} netns {namespace}" for leg, interface, namespace in ends))
        for node in nodes:
            ip(self.namespace(node), *(f"link set {interface} up" for interface in RAILS.values()))

    def namespace(self, node: str) -> str:
        """The namespace of a node."""
        return f"{self._prefix}-{node}"

    def remove(self) -> None:
        """Take everything away."""
        for name in [self._wires, *map(self.namespace, self.nodes)]:
            subprocess.run(["ip", "netns", "delete", name], check=False)

    def plug(self, *segments: Iterable[Port], bridge: int = CABLE, dead: Iterable[tuple[str, str, int]] = ()) -> None:
        """Have these cables, or with ``SWITCH`` switches, and no other; ``dead`` rails of their ports have no carrier."""
        lines = [f"link set {leg} nomaster down" for leg in self._legs.values()] + [f"link delete {name}" for name in self._bridges]
        self._bridges = [f"b{number}" for number in range(len(segments))]
        for name, ports in zip(self._bridges, segments, strict=True):
            lines.append(f"link add {name} up type bridge group_fwd_mask {bridge}")
            for rail in ((*port, number) for port in ports for number in (0, 1)):
                lines.append(f"link set {self._legs[rail]} master {name} {'down' if rail in set(dead) else 'up'}")
        ip(self._wires, *lines)

    def settle(self) -> None:
        """Wait until everything that is plugged in passes frames: the kernel looks at carriers once a second only."""
        for _attempt in range(100):
            shown = subprocess.run(["ip", "-n", self._wires, "-j", "link"], check=True, capture_output=True, text=True).stdout
            if all(link["operstate"] == "UP" for link in json.loads(shown) if "LOWER_UP" in link["flags"]):
                return
            time.sleep(0.05)
        raise TimeoutError("a link stays down")

    def start(self, node: str, planned: dict[str, Any], carrier_wait: float = 1.0, listen: float = 3.0, run: str = "run-1") -> Run:
        """Begin to call and to listen on a node."""
        folder = self.folder / f"{node}-{run}"
        folder.mkdir()
        job = {
            "run": run,
            "machine": f"{self.nodes.index(node):032x}",
            "node": node,
            "interfaces": [{"interface": interface, "port": port, "rail": rail} for (port, rail), interface in RAILS.items()],
            "planned": planned,
            "raised": [],
            "carrier_wait": carrier_wait,
            "listen": listen,
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        (folder / "worker.py").write_text(Path(worker.__file__).read_text(encoding="utf-8"), encoding="utf-8")
        command = ["ip", "netns", "exec", self.namespace(node), sys.executable, "-I", str(folder / "worker.py")]
        return Run(folder, subprocess.Popen(command, stderr=subprocess.PIPE, text=True))

    def send(self, node: str, interface: str, *frames: bytes) -> None:
        """Have a node send frames of any kind."""
        command = ["ip", "netns", "exec", self.namespace(node), sys.executable, "-I", "-c", _SEND, interface]
        subprocess.run([*command, *(frame.hex() for frame in frames)], check=True, timeout=60)


class Run:
    """A worker at work."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.folder, self._process = folder, process

    def collect(self) -> None:
        """Say that all nodes have begun."""
        (self.folder / "collecting").touch()

    def end(self) -> None:
        """Stop it, whatever it does."""
        self._process.kill()
        self._process.wait()

    def result(self) -> dict[str, dict[str, Any]]:
        """What it has heard, by port, when it is finished."""
        _out, errors = self._process.communicate(timeout=120)
        assert errors == ""
        found: list[dict[str, Any]] = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        return {port["port"]: port for port in found}


def heard(port: dict[str, Any]) -> dict[str, list[int]]:
    """Who was heard on a port, and on which rails."""
    return {f"{name['node']} {name['port']}": name["rails"] for name in port["heard"]}


def elapsed(began: float) -> float:
    """Seconds since then."""
    return time.monotonic() - began

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting the worker of ``_neighbors_worker.py`` on this node, and collecting what it heard.

Two phases, because with few forks nodes begin one after the other: all are started, then all are collected. In between
a transient systemd unit works, which ends by itself, and which puts interfaces that were raised back even when it is killed.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import shutil
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors_lldp, _neighbors_worker
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._sysfs import NET, discover
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

ROOT = "/run/gb10-neighbors"
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
GRACE = 5.0
"""Seconds that a worker gets beyond its own waiting times before it is given up."""

_PLAIN = re.compile(r"[A-Za-z0-9._:-]+")
_ALIVE = ("active", "activating", "deactivating")


@dataclass(frozen=True)
class Request:
    """What the first phase needs. ``ports`` and ``interfaces`` as in the plan's slice, times in seconds."""

    run_id: str
    node: str
    ports: dict[str, Any]
    interfaces: dict[str, list[str]]
    bring_up: bool
    carrier_wait: float
    listen: float
    deadline: int


def errors(run_id: str, node: str) -> list[str]:
    """What is wrong with names that travel in frames and become names of units."""
    found = []
    if not RUN_ID.fullmatch(run_id):
        found.append(message("run_id", "letters, digits and dashes, at most 64", repr(run_id), "Take a number that is new for each run."))
    if not _neighbors_worker.NAME.fullmatch(node):
        found.append(message("node", "letters, digits, dots, dashes and underscores, at most 253", repr(node), "Rename the host in the inventory."))
    return found


def unit(run_id: str) -> str:
    """The name of a run's systemd unit."""
    return f"gb10-neighbors-{run_id}"


def planned(ports: dict[str, Any]) -> dict[str, list[str] | None]:
    """The cabled ports of the slice and the neighbour each is to hear; None behind a switch."""
    peers = {port: data["peer"] for port, data in ports.items()}
    return {port: [peer["node"], peer["port"]] if "node" in peer else None for port, peer in peers.items()}


def to_raise(machine: Machine, found: dict[str, dict[int, str]], ports: dict[str, Any]) -> list[str]:
    """The interfaces of planned ports that are down and nobody else's: not a member of a bond or bridge."""
    names = [name for port in sorted(ports) for name in found.get(port, {}).values()]
    down = [name for name in names if not int(machine.text(f"{NET}/{name}/flags") or "1", 16) & 1]
    return [name for name in down if _PLAIN.fullmatch(name) and not machine.exists(f"{NET}/{name}/master")]


def job(request: Request, machine_id: str, found: dict[str, dict[int, str]], raised: list[str]) -> dict[str, Any]:
    """What the worker is told."""
    return {
        "run": request.run_id,
        "machine": machine_id,
        "node": request.node,
        "interfaces": [{"interface": name, "port": port, "rail": rail} for port, rails in found.items() for rail, name in rails.items()],
        "planned": planned(request.ports),
        "raised": raised,
        "carrier_wait": request.carrier_wait,
        "listen": request.listen,
    }


def command(request: Request, raised: list[str], folder: str, ip: str) -> list[str]:
    """The command that runs the worker: systemd raises interfaces before, and puts them back however the worker ends.

    One that has an IPv4 address by then was configured meanwhile, by a run that did not collect this worker, and stays up.
    """
    properties = ["Type=exec", f"RuntimeMaxSec={request.deadline}"]
    properties += [f"ExecStartPre=-{ip} link set dev {name} up" for name in raised]
    properties += [f'ExecStopPost=-/bin/sh -c "{ip} -4 -o address show dev {name} | grep -q . || {ip} link set dev {name} down"' for name in raised]
    run = ["systemd-run", "--quiet", "--collect", f"--unit={unit(request.run_id)}", *(f"--property={item}" for item in properties)]
    return [*run, sys.executable or "/usr/bin/python3", "-I", f"{folder}/worker.py"]


def allowed() -> bool:
    """Whether this process may open raw sockets."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return False
    return True


def _alive(machine: Machine, run_id: str) -> bool:
    return machine.run(["systemctl", "is-active", unit(run_id)]).stdout.strip() in _ALIVE


def _write(path: str, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _end(machine: Machine, root: str, run_ids: list[str]) -> None:
    """Stop workers, wait until they have put everything back, and remove what they wrote."""
    if run_ids:
        machine.run(["systemctl", "stop", *map(unit, run_ids)], timeout=15.0)
    for run_id in run_ids:
        shutil.rmtree(f"{root}/{run_id}", ignore_errors=True)


def start(request: Request, machine: Machine, root: str = ROOT) -> str:
    """Begin to call and to listen; returns a complaint, empty when the worker runs.

    A run that was started already goes on. Other runs on this node are ended, dead or alive: a late one would put interfaces
    down under this one.
    """
    machine_id = machine.text("/etc/machine-id") or ""
    if not re.fullmatch(r"[0-9a-f]{32}", machine_id):
        return message("/etc/machine-id", "32 hexadecimal digits", repr(machine_id), "Run systemd-machine-id-setup.")
    os.makedirs(root, 0o700, exist_ok=True)
    folder = f"{root}/{request.run_id}"
    _end(machine, root, [name for name in sorted(os.listdir(root)) if name != request.run_id])
    if os.path.exists(folder):
        if os.path.exists(f"{folder}/result.json") or _alive(machine, request.run_id):
            return ""
        _end(machine, root, [request.run_id])
    found, _problems = discover(machine, request.interfaces)
    raised = to_raise(machine, found, request.ports) if request.bring_up else []
    os.mkdir(folder, 0o700)
    _write(f"{folder}/job.json", json.dumps(job(request, machine_id, found, raised)))
    _write(f"{folder}/worker.py", inspect.getsource(_neighbors_worker))
    done = machine.run(command(request, raised, folder, machine.which("ip") or "/usr/sbin/ip"), timeout=30.0)
    if done.ok:
        return ""
    _end(machine, root, [request.run_id])
    return message("neighbour discovery", "a transient systemd unit", done.complaint, "Look at systemctl status; this needs a running systemd.")


def collect(run_id: str, machine: Machine, root: str = ROOT) -> tuple[dict[str, Any], str]:
    """Say that all nodes have begun, wait for the worker, and take everything of the run away.

    Returns ``({hostname, machine_id, neighbors}, complaint)``: ``neighbors`` as ``_neighbors_worker.summary`` makes it, with ``lldp`` added
    to each port: ``[{system, port, forwards}]``.
    """
    folder = f"{root}/{run_id}"
    try:
        with open(f"{folder}/job.json", encoding="utf-8") as file:
            told = json.load(file)
        _touch(f"{folder}/collecting")
    except OSError:
        fix = "Wait until any other run against this node has ended, then run again; by hand, run phase start with this run_id first."
        return {}, message(f"run {run_id}", "a worker on this node", "none, or that another run took its place", fix)
    known = _neighbors_lldp.read(machine)
    patience = told["carrier_wait"] + told["listen"] + GRACE
    result = _wait(machine, run_id, folder, patience)
    others = [name for name in sorted(os.listdir(root)) if name != run_id] if os.path.isdir(root) else []
    _end(machine, root, [run_id])
    with contextlib.suppress(OSError):
        os.rmdir(root)
    if result is None and others:
        return {}, message(f"run {run_id}", "to be the only one on this node", f"run {others[0]}, which ended it", "Run one playbook at a time.")
    if result is None:
        return {}, message(f"run {run_id}", f"what the worker heard, within {patience:g} s", "nothing", f"Look at journalctl -u {unit(run_id)}.")
    for port in result:
        names = [rail["interface"] for rail in port["rails"]]
        every = [neighbor for name in names for neighbor in known.get(name, [])]
        port["lldp"] = [neighbor for index, neighbor in enumerate(every) if neighbor not in every[:index]]
    return {"hostname": socket.gethostname(), "machine_id": told["machine"], "neighbors": result}, ""


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _wait(machine: Machine, run_id: str, folder: str, patience: float) -> list[dict[str, Any]] | None:
    """The worker's result; None when it died, or gave none in time."""
    until = time.monotonic() + patience
    look = time.monotonic() + 1.0
    while True:
        with contextlib.suppress(FileNotFoundError), open(f"{folder}/result.json", encoding="utf-8") as file:
            result: list[dict[str, Any]] = json.load(file)
            return result
        now = time.monotonic()
        if now >= until:
            return None
        if now >= look:
            look = now + 1.0
            if not _alive(machine, run_id) and not os.path.exists(f"{folder}/result.json"):
                return None
        time.sleep(0.05)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a switch costs: logins, lines typed and seconds, without Ansible around them, on a simulated switch behind a real SSH server.

First the sample ``switched_fabric`` is put on a switch as it comes from the factory, then the finished switch is looked at again. Beside both
stands the same work done task by task with a login for each: every menu that is read, every command that is sent, and nothing else; no export,
no safe mode, no second look, so that it could also leave a switch half done.
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import paramiko
import sample
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _change, _wishes
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import Access, Care
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._state import Reader
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from switch.hardware import build
from switch.server import Server

MODEL, VERSION, PASSWORD = "CRS812", "7.23.7", "simulated"


class Cost(NamedTuple):
    """One piece of work: seconds by the clock, logins, and lines typed; of several rounds, the medians."""

    seconds: float
    logins: float
    lines: float


def wanted() -> dict[str, Any]:
    """The plan's part for the switch of the sample."""
    inventory = sample.read(sample.find("switched_fabric"))
    settings = {name.removeprefix("fabric_"): value for name, value in inventory["vars"].items()}
    switches = [{"name": name, "model": MODEL} for name in inventory["children"]["gb10_switches"]["hosts"]]
    plan = make_plan({"supernet": "10.77.0.0/16", **settings, "nodes": [{"name": name} for name in sample.nodes(inventory)], "switches": switches})
    if plan["refusals"]:
        raise ValueError(plan["refusals"])
    return dict(next(iter(plan["switches"].values())))


def look(access: Access, plan: dict[str, Any]) -> dict[str, Any]:
    """What is missing, by one login."""
    session = connect(access)
    try:
        return _change.due(Reader(session), _wishes.of_plan(access.name, plan, True, False))
    finally:
        session.close()


def configure(access: Access, plan: dict[str, Any]) -> list[str]:
    """Look, and let each module do what is missing; returns the commands."""
    due, commands = look(access, plan), []
    for name, wish in _wishes.of_plan(access.name, plan, True, False).items():
        if due[name]:
            result = _change.fulfil(lambda: connect(access), wish, False, Care())
            result.session.close()
            commands += result.returned["commands"]
    return commands


def task_by_task(access: Access, plan: dict[str, Any], commands: list[str]) -> None:
    """A login for each menu, then a login for each command."""
    menus = dict(_change.COMMON_MENUS)
    for wish in _wishes.of_plan(access.name, plan, True, False).values():
        menus |= wish.menus
    for path, singleton in menus.items():
        session = connect(access)
        Reader(session).rows(path, singleton)
        session.close()
    for command in commands:
        session = connect(access)
        session.run(command)
        session.close()


def one_round(folder: Path, plan: dict[str, Any]) -> dict[str, Cost]:
    """The costs by the piece of work, on two switches as they come from the factory."""
    costs: dict[str, Cost] = {}
    typed = Counter[str]()
    servers: list[Server] = []

    def factory_new(name: str) -> tuple[Server, Access]:
        machine = build(MODEL, VERSION, identity=name)
        machine.passwords = {"admin": PASSWORD}
        server = Server(machine, host_key=paramiko.RSAKey.generate(2048), after_line=lambda: typed.update([name]))
        servers.append(server)
        known_hosts = folder / name
        known_hosts.write_text(server.known_hosts_line(), encoding="utf-8")
        return server, Access(server.host, server.port, "admin", PASSWORD, None, 30, True, str(known_hosts))

    def timed(name: str, server: Server, work: Callable[[], Any]) -> Any:
        machine, began = server.machine, time.monotonic()
        logins, lines = machine.counts["logins"], typed[machine.identity]
        answer = work()
        costs[name] = Cost(time.monotonic() - began, machine.counts["logins"] - logins, typed[machine.identity] - lines)
        return answer

    try:
        (ours, access), (plain, plain_access) = factory_new("ours"), factory_new("plain")
        commands = timed("first", ours, lambda: configure(access, plan))
        timed("first, task by task", plain, lambda: task_by_task(plain_access, plan, commands))
        due = timed("converged", ours, lambda: look(access, plan))
        timed("converged, task by task", ours, lambda: task_by_task(access, plan, []))
        if not commands or any(due[name] for name in _wishes.MODULES):
            raise ValueError(f"switch - expected converged after {len(commands)} commands, found missing {due}. Run it again with a debugger.")
    finally:
        for each in servers:
            each.close()
    return costs


def measure(rounds: int) -> dict[str, Cost]:
    """The median costs by the piece of work. Raises ValueError when a switch is not what it should be afterwards."""
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # it tells of every session that we end
    plan = wanted()
    with tempfile.TemporaryDirectory() as folder:
        found = [one_round(Path(folder), plan) for _number in range(rounds)]
    return {name: Cost(*(statistics.median(column) for column in zip(*(costs[name] for costs in found), strict=True))) for name in found[0]}


def render(costs: dict[str, Cost]) -> str:
    """The costs as a table for the terminal."""
    rows = [f"{name:<24} {cost.seconds:>8.2f} {cost.logins:>7.0f} {cost.lines:>6.0f}" for name, cost in costs.items()]
    return "\n".join([f"a {MODEL} with RouterOS {VERSION} (simulated), over SSH", "", f"{'work':<24} {'seconds':>8} {'logins':>7} {'lines':>6}", *rows])

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that has the simulated switches of a lab: SSH servers on the loopback, tables behind them, and the lab's real bridges below.

After everything that is typed on a switch, and when a cage or a lost safe mode has come to the end of its time, the legs of all nodes get the
carrier, bridge and MTU that the switches give them.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping
from typing import Any

from switch import exporting, forwarding, hardware
from switch.commands import Commands, Context, Question
from switch.console import Scenario
from switch.interpreter import Interpreter
from switch.machine import Machine
from switch.server import Server, host_key

from . import cabling, card, lldp, outlets, rack, switch_faults
from .inventory import Switch
from .shell import LabError, run
from .state import Lab

HOST = "127.0.0.1"
#: Seconds: how long a cage is dark after a change, and until a switch notices that a session which held safe mode is gone.
RESTART, UNROLL = 1.0, 1.0


class Learned(Mapping[str, list[str]]):
    """The addresses that a switch has learned: port -> addresses, looked up in the lab's bridges whenever somebody asks."""

    def __init__(self, look: Callable[[], dict[str, list[str]]]) -> None:
        self._look = look

    def __getitem__(self, port: str) -> list[str]:
        return self._look()[port]

    def __iter__(self) -> Iterator[str]:
        return iter(self._look())

    def __len__(self) -> int:
        return len(self._look())

    def items(self) -> ItemsView[str, list[str]]:
        """(port, addresses) of every port that has heard somebody, with one look."""
        return self._look().items()


class Room:
    """All switches of a lab."""

    def __init__(self, lab: Lab, accounts: dict[str, dict[str, str]]) -> None:
        self.lab, self.held = lab, rack.planned(lab.up)
        self._lock, self._wake = threading.RLock(), threading.Event()
        self._raw = lldp.open_socket(f"/run/netns/{lab.namespace('fab')}")
        self._applied: dict[str, cabling.Leg] = {}
        self._new_until = 0.0
        self._described: dict[str, Any] = {}
        self.machines: dict[str, Machine] = {}
        self.servers: dict[str, Server] = {}
        for switch in lab.up.managed:
            account = accounts[switch.name]
            self.machines[switch.name] = self._machine(switch, account)
        self._trunks: list[forwarding.Trunk] = []
        forwarding.join(self.machines, self._trunks)
        self._scenarios = {name: Scenario() for name in self.machines}
        for name in self.machines:
            self._listen(name, 0, f"{name}.key")

    def _machine(self, switch: Switch, account: dict[str, str]) -> Machine:
        """A switch as its owner has set it up: a name, a password, an address in the management network; everything else as it left the factory."""
        machine = hardware.build(switch.model, switch.version, identity=switch.name, restart_seconds=RESTART, unroll_seconds=UNROLL)
        machine.passwords = {account["user"]: account["password"]}
        if account["user"] != "admin":
            machine.rows("/user")[0]["name"] = account["user"]
        bridge = machine.rows("/interface/bridge")[0]["name"]
        length = self.lab.up.network.partition("/")[2]
        machine.tables["/ip/address"].rows.clear()
        # the second is where it is reached from outside: a switch knows the address of the session that configures it
        for address in (f"{switch.address}/{length}", f"{HOST}/8"):
            machine.append("/ip/address", {"address": address, "interface": bridge, "network": "", "comment": ""})
        machine.learned = Learned(lambda: self._hosts(switch.name))
        return machine

    def _listen(self, name: str, port: int, key: str) -> None:
        """Have an SSH server for a switch; port 0 takes a free one."""
        file = self.lab.folder / "switches" / key
        self.servers[name] = Server(self.machines[name], HOST, port, host_key(file), self._scenarios[name], self.refresh)

    # From the switches to the legs.
    def refresh(self) -> None:
        """Do to the legs what the switches say now."""
        with self._lock:
            self._trunks[:] = outlets.trunks(self.held, self.machines)
            for name, machine in self.machines.items():
                machine.tick()
                machine.plugs = outlets.plugs(self.held, self.machines, name)
            given = outlets.outlets(self.lab.up, self.held, self.machines)
            wanted = cabling.legs(self.lab.up, self.held, given)
            for node in self.lab.up.nodes:
                described = cabling.describe(self.held, node, given)
                if self._described.get(node.name) != described:
                    card.write_description(self.lab.node_folder(node) / "hw", described, card.functions(node))
                    self._described[node.name] = described
            fresh = [name for name, leg in wanted.items() if leg.up and not (name in self._applied and self._applied[name].up)]
            if wanted != self._applied:
                cabling.apply(self.lab, self._applied, wanted, self.held)
                self._applied = wanted
            if fresh:
                self._new_until = time.monotonic() + lldp.EAGER
                self.announce(fresh)
        self._wake.set()

    def announce(self, legs: Collection[str]) -> None:
        """Let the switches tell who they are on those of these legs in ``fab`` that are up."""
        awake = {leg for leg in legs if self._applied[leg].up}
        for name, machine in self.machines.items():
            if "lldp" not in machine.tables["/ip/neighbor/discovery-settings"].record["protocol"]:
                continue
            about = f"MikroTik RouterOS {machine.version} {machine.model.product}"
            for leader, _cable, _other in outlets.ends_of(self.held, name):
                row = machine.row("/interface/ethernet", leader, "default-name")
                if row is not None:
                    said = lldp.frame(row["mac-address"], row["name"], machine.identity, about)
                    for leg in set(self._legs_behind(f"{name}.{leader}")) & awake:
                        lldp.send(self._raw, leg, said)

    def _pending(self) -> float | None:
        """Seconds until something changes by itself; None when nothing will."""
        found = []
        for machine in self.machines.values():
            now = machine.clock()
            ends = [began + machine.restart_seconds - now for began in machine.restarted.values()]
            found += [left for left in ends if left > -1]
            found += [machine.safe_mode.unroll_at - now] if machine.safe_mode.unroll_at is not None else []
        return max(0.02, min(found) + 0.02) if found else None

    def watch(self) -> None:
        """Refresh whenever something changes by itself; end when the lab's folder is gone."""
        spoken = time.monotonic()
        while self.lab.folder.exists():
            pending, pause = self._pending(), 1.0 if time.monotonic() < self._new_until else lldp.INTERVAL
            was_told = self._wake.wait(pause if pending is None else min(pending, pause))
            self._wake.clear()
            if not was_told:
                self.refresh()
                self._wake.clear()
            if time.monotonic() - spoken >= pause:
                spoken = time.monotonic()
                self.announce(self._applied)
        os._exit(0)

    def _hosts(self, switch: str) -> dict[str, list[str]]:
        """Port name -> addresses, as the lab's bridges have learned them from the nodes."""
        legs_of = {leg: end for end in (each for cable in self.held.cables for each in cable.ends if each) for leg in self._legs_behind(end)}
        states = {name: forwarding.legs(machine) for name, machine in self.machines.items()}
        ways = outlets.toward(self.held, self.machines, states, switch)
        names = {row["default-name"]: row["name"] for row in self.machines[switch].rows("/interface/ethernet")}
        found: dict[str, list[str]] = {}
        for leg, address in learned(self.lab):
            end = legs_of.get(leg)
            owner = rack.machine(end) if end else ""
            leader = outlets.port(end) if end and owner == switch else ways.get(owner)
            if leader in names and address.upper() not in found.get(names[leader], []):
                found.setdefault(names[leader], []).append(address.upper())
        return found

    def _legs_behind(self, end: str) -> list[str]:
        """The legs in ``fab`` that hang on a switch's leg."""
        if rack.machine(end) not in self.machines:
            return []
        others = [other for _leader, cable, other in outlets.ends_of(self.held, rack.machine(end)) if end in cable.ends]
        nodes = [other for other in others if other is not None and rack.machine(other) not in self.machines]
        return [leg for other in nodes for leg in cabling.network.legs(self.lab.up, other)]

    # What is asked over the socket.
    def answer(self, request: dict[str, Any]) -> Any:
        """Carry out a request."""
        handler = getattr(self, f"do_{request['do']}", None)
        if handler is None:
            raise LabError(f"switches - expected a known request, found {request['do']}.")
        given = {key: value for key, value in request.items() if key != "do"}
        if "switch" in given and given["switch"] not in self.machines:
            raise LabError(f"switch - expected one of {', '.join(self.machines)}, found {given['switch']}. Correct the name.")
        result = handler(**given)
        self.refresh()
        return result

    def do_reach(self) -> dict[str, Any]:
        """Where every switch is reached."""
        return {
            name: {"host": server.host, "port": server.port, "known_hosts_line": server.known_hosts_line()} for name, server in self.servers.items()
        }

    def do_rack(self, rack: dict[str, Any]) -> None:
        """Plug the cables as this rack has them."""
        with self._lock:
            self.held = cabling.Rack.from_json(rack)

    def do_run(self, switch: str, line: str) -> str:
        """Type a line on the console port, past SSH; returns what it prints."""
        machine = self.machines[switch]
        interpreter = Interpreter(machine.binder, Commands(Context(machine, "console", object(), may_all=True)))
        try:
            return interpreter.execute(line)
        except Question as question:
            return question.text

    def do_fault(self, switch: str, name: str, options: dict[str, str]) -> dict[str, Any]:
        """Put a fault in; returns what ``mend`` needs."""
        if name == "host-key-changed":
            self._another_key(switch, f"{switch}.other.key")
            return {}
        return switch_faults.put(self._target(switch), name, options)

    def do_mend(self, switch: str, name: str, memory: dict[str, Any]) -> None:
        """Mend a fault."""
        if name == "host-key-changed":
            self._another_key(switch, f"{switch}.key")
        else:
            switch_faults.mend(self._target(switch), name, memory)

    def _another_key(self, switch: str, key: str) -> None:
        port = self.servers[switch].port
        self.servers[switch].close()
        self._listen(switch, port, key)

    def _target(self, switch: str) -> switch_faults.Target:
        rows = outlets.ends_of(self.held, switch)
        trunks = [leader for leader, _cable, other in rows if other is not None and rack.machine(other) in self.machines]
        leaders = [leader for leader, _cable, _other in rows if leader not in trunks]
        return switch_faults.Target(self.machines[switch], self._scenarios[switch], leaders, trunks)

    def do_typed(self, switch: str) -> list[str]:
        """Every line that was typed over SSH."""
        return self._scenarios[switch].log

    def do_snapshot(self, switch: str) -> dict[str, Any]:
        """What the collection may change on a switch, and what happened to it."""
        machine = self.machines[switch]
        text = exporting.export(machine)
        return {
            "export": [line for line in text.splitlines() if not line.startswith("# 20")],
            "files": sorted(machine.files),
            "legs": {leader: vars(leg) for leader, leg in forwarding.legs(machine).items() if leg.up},
            "counts": dict(machine.counts),
            "safe_mode": machine.safe_mode.user,
        }


def learned(lab: Lab) -> list[tuple[str, str]]:
    """(leg, address) of everybody whom the lab's bridges have heard."""
    shown = json.loads(run("bridge", "-n", lab.namespace("fab"), "-j", "fdb", "show").stdout or "[]")
    return [(row["ifname"], row["mac"]) for row in shown if row.get("master") and row.get("state") != "permanent"]


def serve(lab: Lab) -> None:
    """Be the process: answer until somebody ends it."""
    folder = lab.folder / "switches"
    log = (folder / "log").open("a", encoding="utf-8", buffering=1)
    os.dup2(log.fileno(), 2)
    room = Room(lab, json.loads((folder / "accounts.json").read_text(encoding="utf-8")))
    room.refresh()
    threading.Thread(target=room.watch, daemon=True).start()
    path = lab.folder / "switches.sock"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(16)
        while True:
            connection, _address = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(60)
                connection.sendall(json.dumps(_reply(room, connection.makefile("rb").readline())).encode() + b"\n")


def _reply(room: Room, line: bytes) -> dict[str, Any]:
    try:
        return {"result": room.answer(json.loads(line))}
    except LabError as error:
        return {"error": str(error)}
    except Exception as error:  # whatever it is, the others still want their switches
        traceback.print_exc()
        return {"error": f"switches - expected an answer, found {type(error).__name__}: {error}. See their log in the lab's folder."}

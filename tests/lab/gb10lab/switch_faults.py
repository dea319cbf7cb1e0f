# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong on a switch, as the process of the switches does it: configuration of others, the system, the console.

A fault returns what its mending needs to know, plain data. Mending takes back what the fault did and leaves what has changed since.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from switch.console import SCREENS, Scenario
from switch.links import cage_of, legs
from switch.machine import Machine, Row
from switch.menus import QOS
from switch.models import SWITCH_MARVELL
from switch.values import Nothing, RouterError

from .shell import LabError

Options = dict[str, str]
Memory = dict[str, Any]
ETHERNET, MEMBERS, BRIDGE = "/interface/ethernet", "/interface/bridge/port", "/interface/bridge"
#: The highest path cost that a port can have.
DEAREST = 200000000
PROFILE, MAP = f"{QOS}/profile", f"{QOS}/map/ip"


@dataclass
class Target:
    """One switch as a fault sees it. ``leaders``: the legs of the rack that go to nodes, ``trunks``: those to other switches, by default name."""

    machine: Machine
    scenario: Scenario
    leaders: list[str]
    trunks: list[str]

    def leg(self, options: Options) -> str:
        """The leg that the options name, by default the first."""
        named = options.get("leg") or (self.leaders[0] if self.leaders else "")
        if named not in [*self.leaders, *self.trunks]:
            known = ", ".join([*self.leaders, *self.trunks])
            raise LabError(f"--option leg - expected one of {known}, found {named or 'none'}. Correct it.")
        return named

    def lanes(self, leader: str) -> list[Row]:
        """The ports of the cage that a leg is in."""
        return [row for row in self.machine.rows(ETHERNET) if cage_of(row["default-name"]) == cage_of(leader)]

    def port(self, default_name: str) -> Row:
        """A port by default name."""
        return next(row for row in self.machine.rows(ETHERNET) if row["default-name"] == default_name)

    def member(self, default_name: str) -> Row | None:
        """The row of a port in a bridge."""
        return self.machine.row(MEMBERS, self.port(default_name)["name"], "interface")


@dataclass(frozen=True)
class Fault:
    """How a fault is put in and mended."""

    put: Callable[[Target, Options], Memory]
    mend: Callable[[Target, Memory], None]


def _set(target: Target, names: list[str], values: Row) -> Memory:
    """Set values of ports; returns what they were."""
    rows = [target.port(name) for name in names]
    before = {row["default-name"]: {key: row[key] for key in values} for row in rows}
    target.machine.set(ETHERNET, rows, dict(values))
    return {"before": before, "set": values}


def _set_back(target: Target, memory: Memory) -> None:
    """Give every value that is still what the fault made it the one from before."""
    made = _written(target, memory["set"])
    for name, before in memory["before"].items():
        row = target.port(name)
        target.machine.set(ETHERNET, [row], {key: value for key, value in before.items() if row[key] == made[key]})


def _written(target: Target, values: Row) -> Row:
    fields = target.machine.menus[ETHERNET].fields
    return {key: fields[key].parse(value, target.machine.names) for key, value in values.items()}


def _small(target: Target, options: Options) -> Memory:
    return _set(target, [row["default-name"] for row in target.lanes(target.leg(options))], {"l2mtu": "1584"})


def _disabled(target: Target, options: Options) -> Memory:
    leader = target.leg(options)
    rows = target.lanes(leader)
    names = [row["default-name"] for row in rows]
    lanes = next((leg.lanes for leg in legs(rows) if leg.leader == leader), 4)
    at = names.index(leader)
    return _set(target, names[at + 1 : at + max(lanes, 2)], {"disabled": "yes"})


def _slow(target: Target, options: Options) -> Memory:
    return _set(target, [target.leg(options)], {"auto-negotiation": "no", "speed": "100G-baseCR2", "fec-mode": "auto"})


def _negotiating(target: Target, options: Options) -> Memory:
    return _set(target, [target.leg(options)], {"auto-negotiation": "yes"})


def _elsewhere(target: Target, options: Options) -> Memory:
    leader, name = target.leg(options), options["bridge"]
    member = target.member(leader)
    if member is None:
        raise LabError(f"second-bridge - expected {leader} in a bridge, found it in none. Configure the switch first.")
    before = member["bridge"]
    target.machine.add(BRIDGE, {"name": name})
    target.machine.set(MEMBERS, [member], {"bridge": name})
    return {"leg": leader, "before": before, "bridge": name}


def _home(target: Target, memory: Memory) -> None:
    member = target.member(memory["leg"])
    if member is not None and member["bridge"] == memory["bridge"]:
        target.machine.set(MEMBERS, [member], {"bridge": memory["before"]})
    row = target.machine.row(BRIDGE, memory["bridge"])
    if row is not None:
        target.machine.remove(BRIDGE, [row])


def _dear(target: Target, _options: Options) -> Memory:
    if not target.trunks:
        raise LabError("interswitch-blocked - expected a cable to another switch, found none. Use inventories/switched_two_switches.")
    rows = [row for row in (target.member(leader) for leader in target.trunks) if row is not None]
    before = {row["interface"]: None if isinstance(row["path-cost"], Nothing) else row["path-cost"] for row in rows}
    target.machine.set(MEMBERS, rows, {"path-cost": str(DEAREST)})
    return {"before": before}


def _cheap(target: Target, memory: Memory) -> None:
    for row in target.machine.rows(MEMBERS):
        before = memory["before"].get(row["interface"])
        if row["interface"] in memory["before"] and row["path-cost"] == DEAREST:
            target.machine.set(MEMBERS, [row], {} if before is None else {"path-cost": str(before)}, {"path-cost"} if before is None else frozenset())


def _foreign(target: Target, options: Options) -> Memory:
    target.machine.add(PROFILE, {"name": options["profile"], "dscp": options["dscp"], "traffic-class": options["class"]})
    target.machine.add(MAP, {"map": "default", "dscp": options["dscp"], "profile": options["profile"]})
    return {"profile": options["profile"]}


def _ours_alone(target: Target, memory: Memory) -> None:
    for path, key in ((MAP, "profile"), (PROFILE, "name")):
        rows = [row for row in target.machine.rows(path) if row.get(key) == memory["profile"] and not row.get("dynamic")]
        target.machine.remove(path, rows)


def _older(target: Target, options: Options) -> Memory:
    before, target.machine.version = target.machine.version, options["version"]
    rows = target.machine.rows("/system/package")
    for row in rows:
        row["version"] = options["version"]
    return {"version": before}


def _upgraded(target: Target, memory: Memory) -> None:
    _older(target, memory)


def _no_package(target: Target, _options: Options) -> Memory:
    table = target.machine.tables["/system/package"]
    gone = [dict(row) for row in table.rows if row["name"] == SWITCH_MARVELL]
    table.rows = [row for row in table.rows if row["name"] != SWITCH_MARVELL]
    return {"rows": gone}


def _package(target: Target, memory: Memory) -> None:
    target.machine.tables["/system/package"].rows += memory["rows"]


def _reader(target: Target, _options: Options) -> Memory:
    rows = target.machine.rows("/user")
    before = {row["name"]: row["group"] for row in rows}
    for row in rows:
        row["group"] = "read"
    return {"groups": before}


def _writer(target: Target, memory: Memory) -> None:
    for row in target.machine.rows("/user"):
        row["group"] = memory["groups"].get(row["name"], row["group"])


def _held(target: Target, options: Options) -> Memory:
    if target.machine.safe_mode.session is not None:
        raise LabError(f"safe-mode-held - expected it free, found {target.machine.safe_mode.user} in it. Try again.")
    target.machine.take_safe_mode("lab", options["user"], "winbox")
    if float(options["seconds"]):
        timer = threading.Timer(float(options["seconds"]), _let_go, (target, {}))
        timer.daemon = True
        timer.start()
    return {}


def _let_go(target: Target, _memory: Memory) -> None:
    if target.machine.safe_mode.session == "lab":
        target.machine.end_safe_mode()


def _screen(target: Target, options: Options) -> Memory:
    if options["screen"] not in SCREENS:
        raise LabError(f"--option screen - expected {', '.join(SCREENS)}, found {options['screen']}. Correct it.")
    return _console(target, {"screens": [options["screen"]]})


def _drop(target: Target, options: Options) -> Memory:
    line = options["line"]
    if not line.isdecimal() or not int(line):
        raise LabError(f"--option line - expected a number from 1, found {line}. Correct it.")
    return _console(target, {"drop_at": target.scenario.lines + int(line), "drop_after": options["after"] == "yes"})


def _noise(target: Target, options: Options) -> Memory:
    return _console(target, {"noise": True, "late": True, "early_prompt": True, "echo": options["echo"]})


def _slowly(target: Target, options: Options) -> Memory:
    return _console(target, {"pieces": int(options["pieces"]), "delay": float(options["seconds"])})


def _console(target: Target, values: Row) -> Memory:
    for name, value in values.items():
        setattr(target.scenario, name, value)
    return {"fields": list(values)}


def _plain(target: Target, memory: Memory) -> None:
    fresh = Scenario()
    for name in memory["fields"]:
        setattr(target.scenario, name, getattr(fresh, name))


FAULTS: dict[str, Fault] = {
    "l2mtu-1584": Fault(_small, _set_back),
    "lanes-disabled": Fault(_disabled, _set_back),
    "leg-100g": Fault(_slow, _set_back),
    "autoneg-on-split": Fault(_negotiating, _set_back),
    "second-bridge": Fault(_elsewhere, _home),
    "interswitch-blocked": Fault(_dear, _cheap),
    "foreign-qos": Fault(_foreign, _ours_alone),
    "routeros-old": Fault(_older, _upgraded),
    "package-missing": Fault(_no_package, _package),
    "no-write-permission": Fault(_reader, _writer),
    "safe-mode-held": Fault(_held, _let_go),
    "new-password-screen": Fault(_screen, _plain),
    "drop-at": Fault(_drop, _plain),
    "prompt-noise": Fault(_noise, _plain),
    "slow-switch": Fault(_slowly, _plain),
}


def put(target: Target, name: str, options: Options) -> Memory:
    """Put a fault in; what the switch refuses is a ``LabError``."""
    try:
        with target.machine.lock:
            return FAULTS[name].put(target, options)
    except (RouterError, KeyError) as error:
        raise LabError(f"{name} - expected that the switch takes it, found: {error}. Look at its configuration.") from error


def mend(target: Target, name: str, memory: Memory) -> None:
    """Mend a fault."""
    with target.machine.lock:
        FAULTS[name].mend(target, memory)

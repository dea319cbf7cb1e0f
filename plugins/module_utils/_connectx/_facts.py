# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one collector: reads everything about a node's fabric ports, decides nothing, changes nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _claims, _ethtool, _ip, _sources, _sysfs, _system
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Connectx, Port, Rail
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._roce._worker import CONFIG as QOS

_WORKERS = 8
_SYSCTLS = ("arp_ignore", "arp_announce", "rp_filter")

_COMMANDS: dict[str, tuple[str, ...]] = {
    "addresses": ("ip", "-j", "-d", "addr", "show"),
    "routes": ("ip", "-j", "-4", "route", "show", "table", "main"),
    "default6": ("ip", "-j", "-6", "route", "show", "default"),
    "networkctl": _sources.NETWORKCTL,
    "nmcli": _sources.NMCLI,
    "journal": _system.JOURNAL,
}
"""Asked once per machine."""

_ETHTOOL: dict[str, tuple[str, ...]] = {"link": (), "driver": ("-i",), "counters": ("-S",), "fec": ("--show-fec",)}
"""Asked once per rail; the EEPROM of the module, which both rails share and which is slow to read, once per port."""

_PACKAGES = {"ip": "iproute2", "ethtool": "ethtool"}
_FORBIDDEN = re.compile(r"not permitted|permission denied", re.IGNORECASE)


def collect(interfaces: dict[str, list[str]], machine: Machine | None = None) -> Connectx:
    """Everything about this node that the collection wants to know.

    :param interfaces: ports whose owner renamed their devices, as in the plan's slice: ``{port: [rail 0, rail 1]}``.
    :param machine: what to read from, this machine by default.
    """
    machine = machine or Machine()
    found, problems = _sysfs.discover(machine, interfaces)
    session = _system.session(machine, os.getpid())
    answers = _ask(machine, _questions(found, _ip.session_client(session.connection)))
    present = _ip.links(answers["addresses"].stdout)
    ways_out = [name for key in ("way", "routes", "default6") for name in _ways_out(key, answers)]
    management = _ip.management(present, _ip.session_address(session.connection), ways_out)
    sources, renderer, more = _sources.read(machine, answers["networkctl"], answers["nmcli"])
    problems += more
    drivers = {name: machine.target(f"{_sysfs.NET}/{name}/device/driver") for name in present}
    devices = [_claims.Device(name, str(row.get("address", "")).lower() or None, drivers[name]) for name, row in present.items()]
    ports: dict[str, Port] = {}
    for port, rails in found.items():
        module = _ethtool.module(answers[f"module {port}"].stdout)
        ports[port] = {"module": module, "rails": [_rail(machine, rail, name, present.get(name, {}), answers) for rail, name in rails.items()]}
        for item in ports[port]["rails"]:
            item["claims"] = _claims.claims(item["interface"], sources, devices)
    host = _system.host(machine)
    hotplug, more = _system.hotplug(machine, answers["journal"], host["boot_time"])
    problems += more
    rollback, more = _system.rollback(machine)
    problems += more
    holders = _holders(management["interface"], sources)
    backend = _sources.backend(machine.which("netplan") is not None, answers["networkctl"], answers["nmcli"], renderer, holders)
    hanging = _sources.hanging(answers["networkctl"], answers["nmcli"])
    problems += hanging
    if backend is None and not hanging:
        problems.append(message("network backend", "netplan or a running NetworkManager", "neither", "Install netplan.io, or start NetworkManager."))
    facts: Connectx = {
        "host": host,
        "platform": _system.platform(machine, session),
        "hotplug": hotplug,
        "management": management,
        "routes": _ip.routes(answers["routes"].stdout),
        "ports": ports,
        "backend": backend,
        "rollback": rollback,
        "qos": machine.exists(QOS),
        "jobs": _system.jobs(machine),
        "problems": [],
    }
    facts["problems"] = problems + _complaints(answers) + _denials(machine, answers)
    return facts


def _questions(found: Mapping[str, Mapping[int, str]], client: str | None) -> dict[str, tuple[str, ...]]:
    """Every command to run, by the key under which its answer is looked up."""
    questions = dict(_COMMANDS)
    if client:
        questions["way"] = ("ip", "-j", "route", "get", client)
    for port, rails in found.items():
        questions[f"module {port}"] = ("ethtool", "-m", next(iter(rails.values())))
        for name in rails.values():
            questions.update({f"{key} {name}": ("ethtool", *options, name) for key, options in _ETHTOOL.items()})
    return questions


def _ask(machine: Machine, questions: Mapping[str, Sequence[str]]) -> dict[str, Result]:
    """Run all commands side by side."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        answers = pool.map(machine.run, questions.values())
        return dict(zip(questions, answers))


def _ways_out(key: str, answers: Mapping[str, Result]) -> list[str]:
    """Interfaces of the way back to the client (``way``) or of default routes."""
    if key == "routes":
        return [route["interface"] for route in _ip.routes(answers[key].stdout) if route["destination"] == "0.0.0.0/0"]
    return _ip.devices(answers[key].stdout) if key in answers else []


def _holders(interface: str | None, sources: _claims.Sources) -> set[str]:
    """The daemons that configure ``interface`` now."""
    held = {"networkd"} if interface in sources.network_files else set()
    return held | {"NetworkManager" for item in sources.profiles if interface in item.active_on and not item.external}


def _rail(machine: Machine, number: int, name: str, link: dict[str, Any], answers: Mapping[str, Result]) -> Rail:
    """One rail, still without claims; ``link`` is its row of ``ip``."""
    folder = f"{_sysfs.NET}/{name}"
    device = _sysfs.rdma_device(machine, name)
    table = _sysfs.gids(machine, device) if device else []
    addresses = _ip.addresses(link)
    carrier = machine.number(f"{folder}/carrier")
    driver = _ethtool.driver(answers[f"driver {name}"].stdout)
    state = _ethtool.link(answers[f"link {name}"].stdout)
    sysctls = {key: machine.number(f"/proc/sys/net/ipv4/conf/{name}/{key}") for key in _SYSCTLS}
    return {
        "rail": number,
        "interface": name,
        "rdma": device,
        "pci": _sysfs.pci(machine, name),
        "mac": link.get("address"),
        "up": "UP" in link.get("flags", []),
        "carrier": None if carrier is None else carrier == 1,
        "mtu": link.get("mtu"),
        "max_mtu": link.get("max_mtu"),
        "master": link.get("master"),
        "addresses": addresses,
        "driver": driver["driver"],
        "driver_version": driver["driver_version"],
        "firmware": driver["firmware"],
        "psid": driver["psid"],
        "speed_mbps": state["speed_mbps"],
        "lanes": state["lanes"],
        "link_detected": state["link_detected"],
        "link_reason": state["link_reason"],
        "fec": _ethtool.fec(answers[f"fec {name}"].stdout),
        "gids": table,
        "gid_index": _sysfs.gid_index(table, _ip.fabric_ipv4(addresses)),
        "carrier_changes": machine.number(f"{folder}/carrier_changes"),
        "carrier_down_count": machine.number(f"{folder}/carrier_down_count"),
        "counters": {**(_sysfs.rdma_counters(machine, device) if device else {}), **_ethtool.counters(answers[f"counters {name}"].stdout)},
        "claims": [],
        "sysctl": {key: value for key, value in sysctls.items() if value is not None},
    }


def _complaints(answers: Mapping[str, Result]) -> list[str]:
    """One line for each tool that is missing, and for each question that every machine can answer and this one did not."""
    missing = sorted({answer.argv[0] for answer in answers.values() if answer.missing} & set(_PACKAGES))
    lines = [message(tool, "the command on this node", "none", f"Install the package {_PACKAGES[tool]}.") for tool in missing]
    required = ("addresses", "routes", "link", "driver")
    for key, answer in answers.items():
        if key.split(" ")[0] in required and not answer.ok and not answer.stdout and not answer.missing:
            lines.append(message(" ".join(answer.argv), "an answer", answer.complaint, "Run it by hand on this node."))
    return lines


def _denials(machine: Machine, answers: Mapping[str, Result]) -> list[str]:
    """One line about everything that only root may read."""
    denied = {re.sub(r"^/proc/\d+", "/proc/*", path) for path in machine.denied}
    denied |= {" ".join(answer.argv) for answer in answers.values() if not answer.ok and _FORBIDDEN.search(answer.stderr)}
    if not denied:
        return []
    shown = sorted(denied)
    found = ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
    return [message("permission", "to read everything", f"refused for {found}", "Run with become.")]

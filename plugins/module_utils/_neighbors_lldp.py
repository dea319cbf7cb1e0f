# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLDP neighbours that systemd-networkd or NetworkManager already know of; nobody is told to listen."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _text
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine

NETWORKCTL = ("networkctl", "--json=short", "--full", "lldp")
"""systemd 255 and older answer with a table all the same."""
NMCLI = ("nmcli", "-t", "-m", "tabular", "-f", "DEVICE,CHASSIS-ID,PORT-ID,SYSTEM-NAME,SYSTEM-CAPABILITIES", "device", "lldp")

_FORWARDS = 1 << 2 | 1 << 4
"""Bridge and router among the capabilities (IEEE 802.1AB, table 8-4)."""
_LONGEST = 64

Neighbor = dict[str, Any]
"""``{system, port, forwards}``: its name (else its chassis id), its port, whether it says that it is a bridge or router."""


def _neighbor(system: Any, chassis: Any, port: Any, forwards: bool) -> Neighbor:
    """What others say of themselves, fit to be shown: a dash stands for nothing said."""
    said = [text if isinstance(text, str) and text != "-" else "" for text in (system, chassis, port)]
    name, chassis, port = ("".join(sign if sign.isprintable() else "?" for sign in text)[:_LONGEST] for text in said)
    return {"system": name or chassis, "port": port, "forwards": forwards}


def networkctl(output: str) -> dict[str, list[Neighbor]]:
    """``networkctl --json=short lldp``, or its table, by interface; empty for anything else."""
    try:
        listing = json.loads(output)
    except ValueError:
        return _table(output)
    found: dict[str, list[Neighbor]] = {}
    for link in listing.get("Neighbors", []) if isinstance(listing, dict) else []:
        for item in link.get("Neighbors", []):
            forwards = bool(item.get("EnabledCapabilities", 0) & _FORWARDS)
            neighbor = _neighbor(item.get("SystemName"), item.get("ChassisID"), item.get("PortID"), forwards)
            found.setdefault(link.get("InterfaceName", ""), []).append(neighbor)
    return found


def _table(output: str) -> dict[str, list[Neighbor]]:
    """The table of ``networkctl lldp``: the head says where each column begins, an empty line ends it."""
    head, *lines = output.splitlines() or [""]
    starts = sorted((head.index(name), name) for name in head.split())
    ends = [start for start, _name in starts[1:]] + [None]
    found: dict[str, list[Neighbor]] = {}
    for line in lines:
        row = {name: line[start:end].strip() for (start, name), end in zip(starts, ends)}
        if not row.get("LINK") or not row.get("CAPS"):
            break
        forwards = bool({"b", "r"} & set(row["CAPS"]))
        found.setdefault(row["LINK"], []).append(_neighbor(row.get("SYSTEM-NAME"), row.get("CHASSIS-ID"), row.get("PORT-ID"), forwards))
    return found


def nmcli(output: str) -> dict[str, list[Neighbor]]:
    """``nmcli device lldp`` with the fields of ``NMCLI``, by interface."""
    found: dict[str, list[Neighbor]] = {}
    for row in _text.terse(output):
        if len(row) == 5:
            interface, chassis, port, system, capabilities = row
            bits = capabilities.partition(" ")[0]
            forwards = bool(bits.isdigit() and int(bits) & _FORWARDS)
            found.setdefault(interface, []).append(_neighbor(system, chassis, port, forwards))
    return found


def read(machine: Machine) -> dict[str, list[Neighbor]]:
    """What both know, by interface; nothing where neither runs."""
    with ThreadPoolExecutor(2) as pool:
        by_networkd, by_networkmanager = pool.map(lambda argv: machine.run(argv, timeout=5.0).stdout, (NETWORKCTL, NMCLI))
    known = networkctl(by_networkd)
    for interface, neighbors in nmcli(by_networkmanager).items():
        known[interface] = known.get(interface, []) + [item for item in neighbors if item not in known.get(interface, [])]
    return known

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who configures an interface: pure decisions over the configuration of netplan, networkd and NetworkManager.

The rules are theirs. netplan merges the definitions of one id over all its files; a definition without ``match`` is for the
device of that name, one with ``match`` for whatever fits all of its fields. netplan renders a definition to
``10-netplan-ID.network`` or ``netplan-ID.nmconnection``, by which the daemons' own answers lead back to it.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Claim

KINDS = (
    "ethernets", "wifis", "modems", "bonds", "bridges", "vlans", "vrfs", "tunnels", "dummy-devices", "virtual-ethernets", "nm-devices",
)  # fmt: skip
"""Sections of a netplan file that hold definitions."""

_RENDERED = re.compile(r"^(?:10-netplan-(?P<networkd>.+)\.network|netplan-(?P<nm>.+)\.nmconnection)$")
_WILDCARD = re.compile(r"[*?\[]")


class Device(NamedTuple):
    """What ``match`` looks at: name, MAC in lower case, driver."""

    name: str
    mac: str | None
    driver: str | None


@dataclass
class Definition:
    """One id of netplan, merged over the files that mention it, in the order in which netplan reads them. ``uuids``: by file, where it names one."""

    name: str
    kind: str
    files: list[str] = field(default_factory=list)
    match: dict[str, Any] | None = None
    renderer: str | None = None
    uuids: dict[str, str] = field(default_factory=dict)

    @property
    def uuid(self) -> str | None:
        """UUID of the connection that netplan renders: the one of the last file wins."""
        return next(reversed(self.uuids.values()), None)


class Unit(NamedTuple):
    """A ``.network`` file of networkd that is not netplan's: path and the values of its ``[Match]`` keys."""

    path: str
    match: dict[str, list[str]]


@dataclass(frozen=True)
class Profile:
    """A stored connection of NetworkManager. ``interface`` is the device it is bound to, ``patterns`` the names it
    otherwise accepts, ``active_on`` the devices that run it now; ``external`` ones only mirror what others configured."""

    name: str
    uuid: str
    file: str | None
    interface: str | None = None
    patterns: tuple[str, ...] = ()
    mac: str | None = None
    active_on: tuple[str, ...] = ()
    autoconnect: bool = True
    external: bool = False


@dataclass
class Sources:
    """All configuration of a machine that could reach an interface. ``network_files``: what networkd applies now, by interface."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    network_files: dict[str, str] = field(default_factory=dict)
    profiles: list[Profile] = field(default_factory=list)


def merge(documents: Iterable[tuple[str, Any]]) -> tuple[dict[str, Definition], str | None]:
    """netplan's files, parsed, in reading order, to ``({id: definition}, global renderer)``. What is no netplan document is left out."""
    definitions: dict[str, Definition] = {}
    renderer = None
    for path, document in documents:
        network = document.get("network") if isinstance(document, dict) else None
        if not isinstance(network, dict):
            continue
        renderer = network.get("renderer", renderer)
        for kind in KINDS:
            section = network.get(kind)
            if not isinstance(section, dict):
                continue
            for name, body in section.items():
                if name == "renderer":
                    continue
                item = definitions.setdefault(str(name), Definition(str(name), kind))
                item.files.append(path)
                _amend(item, path, body if isinstance(body, dict) else {}, section.get("renderer"))
    return definitions, renderer


def _amend(item: Definition, path: str, body: dict[str, Any], renderer: str | None) -> None:
    match, manager = body.get("match"), body.get("networkmanager")
    if isinstance(match, dict):
        item.match = {**(item.match or {}), **match}
    item.renderer = body.get("renderer") or renderer or item.renderer
    if isinstance(manager, dict):
        item.uuids.update({path: manager["uuid"]} if manager.get("uuid") else {})


def matches(item: Definition, device: Device) -> bool:
    """Whether netplan would apply the definition to the device."""
    if item.match is None or item.kind not in ("ethernets", "wifis", "modems", "nm-devices"):
        return item.name == device.name
    driver = item.match.get("driver", [])
    drivers = [driver] if isinstance(driver, str) else driver
    tests = {
        "name": lambda value: fnmatch.fnmatchcase(device.name, str(value)),
        "macaddress": lambda value: str(value).lower() == device.mac,
        "driver": lambda _value: any(fnmatch.fnmatchcase(device.driver or "", str(one)) for one in drivers),
    }
    return all(test(item.match[key]) for key, test in tests.items() if key in item.match)


def pattern(item: Definition) -> str | None:
    """The wildcard by which a definition reaches devices it does not name; None for one that names its device or its MAC."""
    if item.match is None or "macaddress" in item.match:
        return None
    name = str(item.match.get("name", "*"))
    if not _WILDCARD.search(name):
        return None
    return f"driver {item.match['driver']}" if name == "*" and "driver" in item.match else name


def claims(interface: str, sources: Sources, devices: list[Device]) -> list[Claim]:
    """Every configuration that reaches ``interface``, what runs it now first.

    :param devices: all devices of the machine; a file that also reaches another of them, or defines something that is
        not there, says so in ``shared_with``.
    """
    device = next((item for item in devices if item.name == interface), Device(interface, None, None))
    running = _running(interface, sources)
    found = [
        *_netplan_claims(device, sources, devices, running),
        *_networkd_claims(device, sources),
        *_profile_claims(device, sources),
    ]
    return sorted(found, key=lambda claim: not claim["effective"])


def _running(interface: str, sources: Sources) -> set[str]:
    """Netplan ids whose rendered file a daemon applies to ``interface`` now."""
    files = [sources.network_files.get(interface), *(item.file for item in sources.profiles if interface in item.active_on)]
    uuids = {item.uuid for item in sources.profiles if interface in item.active_on}
    return {name for file in files if (name := rendered_id(file))} | {name for name, item in sources.definitions.items() if item.uuid in uuids}


def rendered_id(file: str | None) -> str | None:
    """The netplan id that a rendered file stands for; None for a file of another origin."""
    found = _RENDERED.match(os.path.basename(file or ""))
    return (found.group("networkd") or found.group("nm")) if found else None


def _netplan_claims(device: Device, sources: Sources, devices: list[Device], running: set[str]) -> list[Claim]:
    return [
        {
            "source": "netplan",
            "name": item.name,
            "file": file,
            "ours": file == _names.NETPLAN_FILE or item.uuids.get(file) == _names.connection_uuid(device.name),
            "shared_with": _shared_with(file, device.name, sources.definitions, devices),
            "pattern": pattern(item),
            "effective": item.name in running,
        }
        for item in sources.definitions.values()
        if matches(item, device)
        for file in item.files
    ]


def _shared_with(file: str, interface: str, definitions: dict[str, Definition], devices: list[Device]) -> list[str]:
    """What else a netplan file configures: the devices it reaches, or the id of a definition that reaches none."""
    others: set[str] = set()
    for item in definitions.values():
        if file in item.files:
            others |= {device.name for device in devices if matches(item, device)} or {item.name}
    return sorted(others - {interface})


def _networkd_claims(device: Device, sources: Sources) -> list[Claim]:
    """Unit files of networkd that netplan did not render, and a rendered one whose definition is gone (an edit never applied)."""
    now = sources.network_files.get(device.name)
    orphan = now is not None and rendered_id(now) is not None and rendered_id(now) not in sources.definitions
    units = [item for item in sources.units if item.path == now or _unit_names(item, device)]
    paths = [item.path for item in units] + ([now] if now and orphan else [])
    wildcard = {item.path: next((name for name in item.match.get("Name", []) if _WILDCARD.search(name)), None) for item in units}
    return [_claim("networkd", os.path.basename(path), path, wildcard.get(path), path == now) for path in paths]


def _unit_names(item: Unit, device: Device) -> bool:
    """Whether a unit selects the device by name or MAC alone; one with further conditions counts only while networkd applies it."""
    if not item.match or set(item.match) - {"Name", "MACAddress", "PermanentMACAddress"}:
        return False
    names = " ".join(item.match.get("Name", [])).split()
    macs = " ".join(item.match.get("MACAddress", []) + item.match.get("PermanentMACAddress", [])).lower().split()
    return (not names or any(fnmatch.fnmatchcase(device.name, name) for name in names)) and (not macs or device.mac in macs)


def _profile_claims(device: Device, sources: Sources) -> list[Claim]:
    """Connections of NetworkManager that netplan did not render: active here, bound to the device, or free to take it."""
    known = {item.uuid for item in sources.definitions.values()}
    found = []
    for item in sources.profiles:
        if item.external or item.uuid in known or rendered_id(item.file) in sources.definitions:
            continue
        free = item.autoconnect and not item.active_on and item.interface is None and (item.mac or device.mac) == device.mac
        wanted = next((name for name in item.patterns or ("*",) if fnmatch.fnmatchcase(device.name, name)), None) if free else None
        if device.name in item.active_on or item.interface == device.name or wanted:
            shown = wanted if wanted and not item.mac and _WILDCARD.search(wanted) else None
            ours = item.uuid == _names.connection_uuid(device.name)
            found.append(_claim("NetworkManager", item.name, item.file, shown, device.name in item.active_on, ours))
    return found


def _claim(source: str, name: str, file: str | None, wildcard: str | None, effective: bool, ours: bool = False) -> Claim:
    return {"source": source, "name": name, "file": file, "ours": ours, "shared_with": [], "pattern": wildcard, "effective": effective}

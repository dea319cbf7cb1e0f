# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the network configuration of a machine for :mod:`_claims`, and says which backend rails belong to.

netplan's YAML is read with PyYAML, which ``netplan.io`` itself depends on: where the system's Python runs this and there is
netplan, there is PyYAML. Elsewhere the rendered files still tell the ids, and a problem says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _text
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._claims import Definition, Profile, Sources, Unit, merge, rendered_id
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]

NETPLAN_FOLDERS = ("/lib/netplan", "/etc/netplan", "/run/netplan")
"""A file hides one of the same name in an earlier folder; all of them are read in the order of their names."""

NETWORKD_FOLDERS = ("/usr/lib/systemd/network", "/run/systemd/network", "/etc/systemd/network")

NETWORKCTL = ("networkctl", "list", "--json=short")
NMCLI = ("nmcli", "-t", "-f", "NAME,UUID,TYPE,DEVICE,AUTOCONNECT,FILENAME", "connection", "show")


def paths(machine: Machine, folders: Iterable[str], suffix: str) -> list[str]:
    """The files of a hierarchy of folders in reading order, hidden ones left out."""
    last = {name: f"{folder}/{name}" for folder in folders for name in machine.names(folder) if name.endswith(suffix)}
    return [last[name] for name in sorted(last)]


def read(machine: Machine, networkctl: Result, nmcli: Result) -> tuple[Sources, str | None, list[str]]:
    """Everything that could configure an interface: ``(sources, netplan's global renderer, problems)``."""
    documents, problems = _documents(machine)
    definitions, renderer = merge(documents)
    profiles = _profiles(machine, nmcli) if nmcli.ok else []
    files = _text.network_files(networkctl.stdout) if networkctl.ok else {}
    units = paths(machine, NETWORKD_FOLDERS, ".network")
    if problems:
        for file in [*units, *(item.file for item in profiles)]:
            name = rendered_id(file)
            if name and name not in definitions:
                definitions[name] = _rendered_definition(machine, name, file or "")
    own = [Unit(path, _text.unit(machine.text(path)).get("Match", {})) for path in units if not rendered_id(path)]
    return Sources(definitions, own, files, profiles), renderer, problems


def _documents(machine: Machine) -> tuple[list[tuple[str, Any]], list[str]]:
    """netplan's files, parsed."""
    files = paths(machine, NETPLAN_FOLDERS, ".yaml")
    if files and yaml is None:
        fix = "Let Ansible use /usr/bin/python3 on this node, or install PyYAML for its Python."
        return [], [message("netplan configuration", "PyYAML to read it with", "no module yaml", fix)]
    documents, problems = [], []
    for path in files:
        try:
            documents.append((path, yaml.safe_load(machine.text(path) or "")))
        except yaml.YAMLError as error:
            problems.append(message(path, "a YAML document", _fault(error), "Correct the file; netplan can not read it either."))
    return documents, problems


def _fault(error: Any) -> str:
    """Where the YAML ends to be YAML. PyYAML's own text quotes the file around it, which may hold a password."""
    mark = getattr(error, "problem_mark", None)
    return f"none in line {mark.line + 1}" if mark else "none"


def _rendered_definition(machine: Machine, name: str, path: str) -> Definition:
    """A definition as its rendered file shows it: the matched names, but not the YAML file it comes from."""
    match = _text.unit(machine.text(path)).get("Match") or _text.unit(machine.text(path)).get("match", {})
    found = " ".join(match.get("Name", match.get("interface-name", []))).replace(";", " ").split()
    return Definition(name, "ethernets", files=[path], match={"name": found[0]} if found and found != [name] else None)


def _profiles(machine: Machine, nmcli: Result) -> list[Profile]:
    """NetworkManager's Ethernet connections, one each, with the devices that run it."""
    profiles: dict[str, Profile] = {}
    for row in _text.terse(nmcli.stdout):
        if len(row) != 6 or row[2] != "802-3-ethernet":
            continue
        name, uuid, _kind, device, autoconnect, file = row
        active = (*(profiles[uuid].active_on if uuid in profiles else ()), *([device] if device else []))
        content = machine.text(file) if file else None
        keyfile = _text.unit(content)
        wired = keyfile.get("ethernet") or keyfile.get("802-3-ethernet") or {}
        profiles[uuid] = Profile(
            name=name,
            uuid=uuid,
            file=file or None,
            interface=_last(keyfile, "connection", "interface-name"),
            patterns=tuple(item for item in (_last(keyfile, "match", "interface-name") or "").split(";") if item),
            mac=(wired.get("mac-address") or [""])[-1].lower() or None,
            active_on=active,
            autoconnect=autoconnect == "yes" and content is not None,  # unread, it must not pass for one that takes any device
            external=_last(keyfile, ".nmmeta", "volatile") == "true",
        )
    return list(profiles.values())


def _last(keyfile: dict[str, dict[str, list[str]]], section: str, key: str) -> str | None:
    values = keyfile.get(section, {}).get(key, [])
    return values[-1] if values else None


def hanging(networkctl: Result, nmcli: Result) -> list[str]:
    """One line for each daemon that is there and does not answer."""
    asked = {"systemd-networkd": networkctl, "NetworkManager": nmcli}
    return [message(name, "an answer", result.complaint, f"Restart it: systemctl restart {name}.") for name, result in asked.items() if result.timed_out]


def backend(netplan: bool, networkctl: Result, nmcli: Result, renderer: str | None, holders: set[str]) -> str | None:
    """The backend that a new rail belongs to: ``netplan-networkd``, ``netplan-networkmanager``, ``networkmanager`` or None, also when
    it can not be told because a daemon hangs.

    :param netplan: whether the command ``netplan`` is there.
    :param renderer: netplan's global renderer.
    :param holders: ``networkd`` and ``NetworkManager``, as far as they hold the management interface.
    """
    running = {name for name, result in (("networkd", networkctl), ("NetworkManager", nmcli)) if result.ok}
    if (networkctl.timed_out or nmcli.timed_out) and renderer not in running:
        # who does not answer now may hold the rails all the same, and comes back
        return None
    if not netplan:
        return "networkmanager" if "NetworkManager" in running else None
    wishes = [renderer, *(sorted(holders) if len(holders) == 1 else []), "networkd", "NetworkManager"]
    chosen = next((wish for wish in wishes if wish in running), None)
    return f"netplan-{chosen.lower()}" if chosen else None

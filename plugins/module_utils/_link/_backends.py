# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands by which each backend takes new files in, for our interfaces alone: never ``netplan apply``, which under
NetworkManager takes the management address away for a second although nothing changed (lab trial, netplan 1.1.2)."""

from __future__ import annotations

from collections.abc import Set

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link._arming import Command
from ansible_collections.gb10.cluster.plugins.module_utils._link._live import State

Step = list[list[str]]
"""Commands of which the first that succeeds is enough."""


def profile(backend: str, interface: str) -> str:
    """Name of our NetworkManager profile for an interface."""
    return f"netplan-{interface}" if backend == "netplan-networkmanager" else _names.connection_name(interface)


def activate(backend: str, generator: str | None, act: list[str], states: dict[str, State | None], held: Set[str]) -> list[Step]:
    """Take our files in for the interfaces ``act``; what is right already does not flap.

    :param generator: the program that renews netplan's rendering, None when that is not to be done.
    :param states: live state of these interfaces and of those that are released, before the change. :param held: what networkd configures.
    """
    there = [name for name in sorted(states) if states[name] is not None]
    steps: list[Step] = _regenerate(generator, there) if generator else []
    if backend == "netplan-networkd":
        # udev's rule makes it last; for a device that NetworkManager has in its hands now only this works
        steps += [[["nmcli", "device", "set", name, "managed", "no"]] for name in act if _owner(states, name) == "NetworkManager"]
        steps += [[["networkctl", "reload"]]]
        return steps + ([[["networkctl", "reconfigure", *act]]] if act else [])
    # networkd keeps what it has read, also from a file that is gone, for an interface that is only released, and beside NetworkManager
    if held & states.keys():
        steps += [[["networkctl", "reload"]]]
    steps += [[["nmcli", "connection", "reload"]]]
    for name in act:
        state = states[name]
        if state and state["owner"] != "NetworkManager":
            steps += [[["nmcli", "device", "set", name, "managed", "yes"]]]
        up = ["nmcli", "--wait", "20", "connection", "up", "id", profile(backend, name), "ifname", name]
        # a profile that is active already is renewed without losing its address; what reapply can not change needs a new start
        steps += [[["nmcli", "device", "reapply", name], up] if state and state["profile"] == profile(backend, name) else [up]]
    return steps


def _owner(states: dict[str, State | None], name: str) -> str | None:
    state = states[name]
    return state["owner"] if state else None


def _regenerate(generator: str, interfaces: list[str]) -> list[Step]:
    trigger = ["udevadm", "trigger", "--settle", "--action=change", *(f"/sys/class/net/{name}" for name in interfaces)]
    return [[[generator]], [["udevadm", "control", "--reload"]], *([[trigger]] if interfaces else [])]


def restore(backend: str, generator: str, states: dict[str, State | None]) -> list[Command]:
    """What takes the old files in again, before each interface gets its owner back: ``{argv, boot}``, ``boot`` for those that make
    sense before networkd and NetworkManager have started."""
    there = [name for name in sorted(states) if states[name] is not None]
    commands: list[Command] = []
    if backend.startswith("netplan"):
        commands += [{"argv": step[0], "boot": step[0][:2] != ["udevadm", "trigger"]} for step in _regenerate(generator, there)]
    if any(_owner(states, name) == "networkd" for name in there) or backend == "netplan-networkd":
        commands.append({"argv": ["networkctl", "reload"], "boot": False})
    if any(state["networkmanager"] for state in states.values() if state):
        commands.append({"argv": ["nmcli", "connection", "reload"], "boot": False})
    return commands

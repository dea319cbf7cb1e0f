# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs on interfaces right now, in the shape that can be put back, and how it differs from what a rail should be."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _sources, _text
from ansible_collections.gb10.cluster.plugins.module_utils._link import _routes
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import RAIL_SYSCTL, Machine, addresses

_KEPT_SYSCTL = (*(f"net/ipv4/conf/{{}}/{name}" for name in RAIL_SYSCTL), "net/ipv6/conf/{}/addr_gen_mode", "net/ipv6/conf/{}/disable_ipv6")


_NO_ROUTES = _routes.Routes([], [])


class State(TypedDict):
    """One interface: ``owner`` is ``networkd`` | ``NetworkManager`` | None, ``connection`` the UUID of its active NetworkManager profile,
    ``profile`` that profile's name, ``networkmanager`` whether that service runs at all. Addresses are CIDRs; ``dynamic`` ones have a lease.
    ``routes`` are the commands that add the interface's routes again, ``lost_routes`` those for which there is none; ``sysctl`` maps a path
    below ``/proc/sys`` to its value."""

    up: bool
    carrier: bool
    mtu: int
    addresses: list[str]
    dynamic: list[str]
    routes: list[list[str]]
    lost_routes: list[str]
    sysctl: dict[str, str]
    owner: str | None
    connection: str | None
    profile: str | None
    networkmanager: bool


def capture(machine: Machine, interfaces: Iterable[str]) -> dict[str, State | None]:
    """Read the live state of ``interfaces``; None for one that is not there."""
    links, devices, networkd = addresses(machine), _networkmanager(machine), held_by_networkd(machine)
    routes = [_routes.by_interface(machine.run(["ip", "-j", family, "route", "show", "table", "all"]).out, family) for family in ("-4", "-6")]
    states: dict[str, State | None] = {}
    for name in interfaces:
        link = links.get(name)
        if link is None:
            states[name] = None
            continue
        status, connection, profile = (devices or {}).get(name, ("unmanaged", None, None))
        managed = devices is not None and status not in ("unmanaged", "connected (externally)", "connecting (externally)")
        states[name] = {
            "up": link["up"],
            "carrier": (machine.peek(f"/sys/class/net/{name}/carrier") or b"").strip() == b"1",
            "mtu": link["mtu"],
            "addresses": link["addresses"],
            "dynamic": link["dynamic"],
            "routes": [command for found in routes for command in found.get(name, _NO_ROUTES).commands],
            "lost_routes": [text for found in routes for text in found.get(name, _NO_ROUTES).lost],
            "sysctl": _sysctl(machine, name),
            "owner": "NetworkManager" if managed else "networkd" if name in networkd else None,
            "connection": connection if managed else None,
            "profile": profile if managed else None,
            "networkmanager": devices is not None,
        }
    return states


def _sysctl(machine: Machine, name: str) -> dict[str, str]:
    found = {path: machine.peek(f"/proc/sys/{path}") for path in (template.format(name) for template in _KEPT_SYSCTL)}
    return {path: value.decode().strip() for path, value in found.items() if value is not None}


def held_by_networkd(machine: Machine) -> set[str]:
    """Interfaces that networkd configures, though NetworkManager may have them too; empty where it does not run."""
    done = machine.run(_sources.NETWORKCTL)
    return _text.managed_by_networkd(done.out) if done.rc == 0 else set()


def _networkmanager(machine: Machine) -> dict[str, tuple[str, str | None, str | None]] | None:
    """``{interface: (state, connection UUID, connection name)}``; None where NetworkManager does not run."""
    done = machine.run(["nmcli", "-t", "-f", "DEVICE,STATE,CON-UUID,CONNECTION", "device", "status"])
    return parse_devices(done.out) if done.rc == 0 else None


def parse_devices(text: str) -> dict[str, tuple[str, str | None, str | None]]:
    """Read ``nmcli -t -f DEVICE,STATE,CON-UUID,CONNECTION device status``."""
    return {row[0]: (row[1], row[2] or None, row[3] or None) for row in _text.terse(text) if len(row) == 4}


def differences(rail: Rail, state: State) -> dict[str, tuple[Any, Any]]:
    """What is not right on a rail: ``{what: (found, expected)}``, empty when nothing is to be done.

    A rail without carrier may still lack its address or its link-local one: both come with the carrier.
    """
    ipv4 = [cidr for cidr in state["addresses"] + state["dynamic"] if ipaddress.ip_interface(cidr).version == 4]
    ipv6 = [cidr for cidr in state["addresses"] + state["dynamic"] if ipaddress.ip_interface(cidr).version == 6]
    lacking = not ipv4 and not state["carrier"]
    local = [cidr for cidr in ipv6 if ipaddress.ip_interface(cidr).is_link_local]
    right_ipv6 = bool(local) or not state["carrier"] if rail.link_local else not ipv6
    checks: dict[str, tuple[Any, Any, bool]] = {
        "owner": (owner(state), rail.owner, owner(state) == rail.owner),
        "up": (state["up"], True, state["up"]),
        "mtu": (state["mtu"], rail.mtu, state["mtu"] == rail.mtu),
        "ipv4": (ipv4, [rail.cidr], ipv4 == [rail.cidr] or lacking),
        "ipv6": (ipv6, ["link-local"] if rail.link_local else [], right_ipv6 and len(local) == len(ipv6)),
        **{name: (value, wanted, value == wanted) for name, value, wanted in _arp(rail, state)},
    }
    return {what: (found, expected) for what, (found, expected, right) in checks.items() if not right}


def _arp(rail: Rail, state: State) -> list[tuple[str, str | None, str]]:
    return [(name, state["sysctl"].get(f"net/ipv4/conf/{rail.interface}/{name}"), wanted) for name, wanted in RAIL_SYSCTL.items()]


def owner(state: State) -> str:
    """Who has the interface, with the NetworkManager profile that is active on it: ``networkd``, ``NetworkManager: PROFILE``, ``nobody``."""
    return f"NetworkManager: {state['profile'] or 'no profile'}" if state["owner"] == "NetworkManager" else state["owner"] or "nobody"


def goal(rail: Rail) -> dict[str, Any]:
    """A right rail in the shape of :func:`describe`."""
    ipv6 = ["link-local"] if rail.link_local else []
    return {"owner": rail.owner, "up": True, "mtu": rail.mtu, "ipv4": [rail.cidr], "ipv6": ipv6, **RAIL_SYSCTL}


def describe(state: State | None) -> dict[str, Any]:
    """The state as it is shown in a diff; what a lease gave is left out, it differs from one moment to the next."""
    if state is None:
        return {}
    ipv6 = [cidr for cidr in state["addresses"] if ipaddress.ip_interface(cidr).version == 6]
    return {
        "owner": owner(state),
        "up": state["up"],
        "mtu": state["mtu"],
        "ipv4": [cidr for cidr in state["addresses"] if cidr not in ipv6],
        "ipv6": ["link-local" if ipaddress.ip_interface(cidr).is_link_local else cidr for cidr in ipv6],
        **{name: value for name in RAIL_SYSCTL for path, value in state["sysctl"].items() if path.endswith(f"/{name}")},
    }

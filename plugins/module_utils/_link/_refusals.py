# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What connectx_link refuses to do, all of it decided before anything is touched."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _types as types
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

TIMEOUTS = range(15, 3601)


def backend(connectx: types.Connectx) -> list[str]:
    """Nobody who could keep the configuration."""
    if connectx["backend"] is not None:
        return []
    fix = "Install, start or restart one of them; Ubuntu comes with netplan."
    return [message("network configuration", "netplan with systemd-networkd or NetworkManager, or NetworkManager alone", "none of them that answers", fix)]


def timeout(seconds: int) -> list[str]:
    """A rollback that would fire before a login, or never."""
    if seconds in TIMEOUTS:
        return []
    return [message("confirm_timeout", f"{TIMEOUTS[0]} to {TIMEOUTS[-1]} seconds", seconds, "60 is enough for a login over a slow network.")]


def branch_we_sit_on(connectx: types.Connectx, interfaces: Iterable[str]) -> list[str]:
    """Interfaces that carry management: the SSH session or a default route."""
    texts = []
    management = connectx["management"]
    for name in interfaces:
        defaults = [route for route in connectx["routes"] if route["interface"] == name and route["destination"] == "0.0.0.0/0"]
        if defaults:
            fix = "Move the default route to the management interface."
            texts.append(message(f"{name}: default route", "none on a rail", f"one via {defaults[0]['gateway'] or 'the link itself'}", fix))
        elif name in management.get("interfaces", []) or name == management.get("interface"):
            fix = "Reach the machine over another interface, or correct fabric_interfaces."
            texts.append(message(name, "an interface that carries no management", "the one that carries this SSH session", fix))
    return texts


def devices(connectx: types.Connectx, rails: Iterable[Rail]) -> list[str]:
    """Devices that can not be a rail of the plan: members of a bond or bridge, or too small a largest MTU."""
    texts = []
    for rail in rails:
        device = _device(connectx, rail.interface)
        if device["master"]:
            fix = f"Take {rail.interface} out of {device['master']}: RDMA gains nothing from bonds and bridges."
            texts.append(message(f"{rail.label}: bond or bridge", "none", device["master"], fix))
        if device["max_mtu"] is not None and rail.mtu > device["max_mtu"]:
            texts.append(message(f"{rail.label}: MTU", f"at most {device['max_mtu']}", rail.mtu, "Lower fabric_mtu for all nodes."))
    return texts


def _device(connectx: types.Connectx, interface: str) -> types.Rail:
    return next(rail for port in connectx["ports"].values() for rail in port["rails"] if rail["interface"] == interface)


def jobs(connectx: types.Connectx, interfaces: Iterable[str]) -> list[str]:
    """Processes that hold an RDMA context of the rail's own device: their connections live on its address and MTU, and break with them,
    whether the GPU is behind them or not. A process that has the GPU alone, or another rail, loses nothing."""
    names = {rail["rdma"]: rail["interface"] for port in connectx["ports"].values() for rail in port["rails"] if rail["rdma"]}
    texts = []
    for job in connectx["jobs"]:
        used = sorted(names[device] for device in job["rdma"] if names.get(device) in set(interfaces))
        if used:
            fix = "Wait for it to end, or allow the interruption with interrupt_jobs: true."
            who = f"{job['command']} (pid {job['pid']}{', which also has the GPU' if job['gpu'] else ''})"
            texts.append(message(f"{', '.join(used)}: jobs", "none while the address or MTU changes", who, fix))
    return texts


def foreign(connectx: types.Connectx, rails: Iterable[Rail]) -> list[tuple[Rail, types.Claim]]:
    """Configuration of others that would configure a rail beside or instead of ours.

    What NetworkManager made up by itself (``Wired connection 1``, no file that lasts) gives way to a real profile, as does a profile
    for any device: ours has a higher priority. networkd takes the first unit in the order of names, so one that sorts behind ours only
    counts while it is the one that runs.
    """
    found = []
    for rail in rails:
        for claim in _device(connectx, rail.interface)["claims"]:
            lasting = claim["file"] is not None and not claim["file"].startswith("/run/")
            first = os.path.basename(claim["file"] or "") < f"10-netplan-{rail.interface}.network"
            counts = {
                "netplan": True,
                "networkd": claim["effective"] or first,
                "NetworkManager": lasting and (claim["effective"] or claim["pattern"] is None),
            }
            if not claim["ours"] and counts[claim["source"]]:
                found.append((rail, claim))
    return found


def movable(claim: types.Claim, interfaces: Iterable[str]) -> bool:
    """Whether the file of a claim serves our rails alone, so that it may be moved as a whole."""
    return (claim["file"] or "").startswith("/etc/") and claim["pattern"] is None and not set(claim["shared_with"]) - set(interfaces)


def claims(
    found: Iterable[tuple[Rail, types.Claim]], interfaces: list[str], takeover: bool, edits: dict[str, str], meant: dict[str, list[str]]
) -> list[str]:
    """Say what claims each rail and the way out; what ``takeover`` moves is no refusal.

    :param edits: ``{"FILE NAME": patch}`` for definitions in files that also hold something else.
    :param meant: wildcard to the machine's interfaces it fits that are no rails.
    """
    texts = []
    for rail, claim in found:
        if takeover and movable(claim, interfaces):
            continue
        kinds = {"netplan": "definition", "networkd": "unit", "NetworkManager": "connection"}
        what = f"{claim['source']} {kinds[claim['source']]} {claim['name']} in {claim['file'] or 'memory'}"
        if movable(claim, interfaces):
            fix = f"Remove {claim['file']}, or let takeover: true move it to the backup; state: absent puts it back."
        elif claim["pattern"] is not None:
            names = ", ".join(meant.get(claim["pattern"], [])) or "none here"
            fix = f"Replace the pattern {claim['pattern']} in {claim['file']} by the names it is meant for ({names})."
        elif claim["shared_with"]:
            patch = edits.get(f"{claim['file']} {claim['name']}", "")
            fix = f"{claim['file']} also configures {', '.join(claim['shared_with'])} and is never moved. Make this edit and run again:\n{patch}"
        else:
            fix = "Remove it and run again; it is not in a file of its own below /etc."
        texts.append(message(f"{rail.label}: other configuration", "none", what, fix))
    return texts


def netplan(complaint: str, unapplied: Iterable[str], collateral: Iterable[str]) -> list[str]:
    """Netplan's files are broken, differ from what runs, or would change other interfaces. Names only: the files may hold secrets."""
    if complaint:
        return [message("netplan generate", "files that netplan accepts", complaint, "Correct them, then run again.")]
    texts = []
    if unapplied:
        fix = "Activate or undo that edit first; the next activation, ours or a reboot, would bring it in unseen."
        texts.append(message(f"netplan: {_names(unapplied)}", "the files say what runs", "an edit that was never activated", fix))
    if collateral:
        fix = "Something in the files that change here applies to it too, a renderer for all say: state that in a file of its own first."
        texts.append(message(f"netplan: {_names(collateral)}", "no change outside our rails", "a change", fix))
    return texts


def _names(ids: Iterable[str]) -> str:
    return ", ".join("settings for all interfaces" if name == "*" else name for name in sorted(ids))

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lays plan and facts side by side, so that a check is one small question about one thing.

A node: ``{name, label, unknown, python, facts, plan, nccl, ports, rails, routes, paths}``; one that is no part of the run, or
no more, has only ``{name, absent}``, the reason; one that told nothing only ``{name, silent}``, what to say of it.

* ``facts`` is what ``connectx_info`` returns, ``python`` its version, ``plan`` the slice, ``nccl`` the library and ``found``, its version
or what there is instead; each may be null. ``label`` names a thing after its node's name in messages.

* a port: ``{label, port, planned, cable, rails_found, module}``, one for each planned port;
* a rail: ``{label, port, rail, planned: {address, cidr, mtu, speed_mbps, configuration}, present, configured}`` and all facts of that rail;
  it is configured when it has our configuration or its planned address;
* a route: ``{label, destination, interface, clash, wider}``, texts that say how it lies to the rail subnets, or null;
* a path: what ``connectx_ping`` returns, with a label, ``link`` (whether the node's own rail is configured and has one) and ``expected_mac``
  (of the peer's rail).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_peers import macs
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_silence import silence

SPEED_MBPS = {"100G": 100_000, "200G": 200_000}
Network = ipaddress.IPv4Network
Macs = dict[tuple[str, str], str | None]


def document(request: dict[str, Any]) -> dict[str, Any]:
    """Build ``{nodes: […], lost: [names], playbook: name}``, in the order of the plan.

    :param request: ``plan`` (the fabric plan), ``hosts`` (that the run still has), ``hosts_all`` (that it began with),
        and by host: ``connectx``, ``ping``, ``nccl`` (what these modules returned).
    """
    plan = request["plan"]
    subnets = [Network(subnet["cidr"]) for subnet in plan["subnets"]]
    known = macs(plan, request.get("connectx") or {})
    return {
        "nodes": [_node(name, slice_, subnets, request, known) for name, slice_ in plan["nodes"].items()],
        "lost": [name for name in request["hosts_all"] if name not in request["hosts"]],
        "playbook": f"gb10.cluster.{plan['topology']}",
    }


def _returned(request: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    value: dict[str, Any] = (request.get(kind) or {}).get(name) or {}
    return value


def _node(name: str, slice_: dict[str, Any], subnets: list[Network], request: dict[str, Any], known: Macs) -> dict[str, Any]:
    if name not in request["hosts"]:
        return {"name": name, "absent": "it did not answer, or failed earlier" if name in request["hosts_all"] else "not part of this run"}
    told = _returned(request, "connectx", name)
    silent = silence(name, told)
    if silent:
        return {"name": name, "silent": silent}
    facts = told.get("connectx")
    rails = list(_rails(slice_, facts, f"that of gb10.cluster.{request['plan']['topology']}"))
    ping = _returned(request, "ping", name)
    return {
        "name": name,
        "label": "",
        "unknown": None if facts else "connectx_info did not run",
        "python": facts["host"]["python"] if facts else told.get("python"),
        "facts": facts,
        "plan": slice_,
        "nccl": _nccl(_returned(request, "nccl", name)),
        "ports": list(_ports(slice_, facts)),
        "rails": rails,
        "routes": list(_routes(rails, subnets, facts)),
        "paths": list(_paths(ping.get("paths") or [], rails, known)),
    }


def _nccl(told: dict[str, Any]) -> dict[str, Any] | None:
    """What ``nccl_info`` or ``nccl_library`` told, and in words which NCCL that is."""
    reason = (told.get("error") or "").removeprefix("OSError: ")  # the class that ctypes puts before the loader's words
    absent = reason.startswith("libnccl.so.2: cannot open shared object file")
    return {**told, "found": told.get("version") or ("none" if absent else reason or None)} if told else None


def _planned_and_found(slice_: dict[str, Any], facts: dict[str, Any] | None) -> Iterable[tuple[str, dict[str, Any], dict[str, Any]]]:
    """``(port, as planned, as found)``; nothing for a node without any part of its card, whose ports nobody need ask about."""
    if facts and facts["ports"]:
        for port, planned in slice_["ports"].items():
            yield port, planned, facts["ports"].get(port) or {"rails": [], "module": {}}


def _ports(slice_: dict[str, Any], facts: dict[str, Any] | None) -> Iterable[dict[str, Any]]:
    for port, planned, found in _planned_and_found(slice_, facts):
        yield {
            "label": port,
            "port": port,
            "planned": planned,
            "cable": cable(found, "switch" in planned["peer"]),
            "rails_found": [f"rail {rail['rail']}" for rail in found["rails"]],
            "module": found["module"],
        }


def cable(port: dict[str, Any], behind_switch: bool = False) -> bool | None:
    """Tell whether a cable is in a cage; None when nobody knows.

    A link or a readable module is a cable. No cable is what ethtool says in so many words, or a port whose rails are up
    without link while its module can not be read. A rail that is down says nothing: it reports no link for that reason. Behind a switch
    no link says nothing either, for its leg may not have been made yet.
    """
    rails = port["rails"]
    if port["module"] or any(rail["carrier"] for rail in rails):
        return True
    if any("cable" in (rail["link_reason"] or "").lower() for rail in rails):
        return False
    return False if rails and not behind_switch and all(rail["up"] and rail["carrier"] is False for rail in rails) else None


def _rails(slice_: dict[str, Any], facts: dict[str, Any] | None, configuration: str) -> Iterable[dict[str, Any]]:
    for port, planned, found in _planned_and_found(slice_, facts):
        by_number = {rail["rail"]: rail for rail in found["rails"]}
        for rail in planned["rails"]:
            seen = by_number.get(rail["rail"], {})
            interface = f" ({seen['interface']})" if seen else ""
            yield {
                **seen,
                "label": f"{port} rail {rail['rail']}{interface}",
                "port": port,
                "rail": rail["rail"],
                "present": bool(seen),
                "configured": bool(seen) and _is_configured(seen, rail["address"]),
                "unknown": None if seen else "this rail is missing",
                "planned": {
                    "address": rail["address"],
                    "cidr": f"{rail['address']}/{rail['prefix']}",
                    "mtu": slice_["mtu"],
                    "speed_mbps": SPEED_MBPS.get(planned["speed"]),
                    "configuration": configuration,
                },
            }


def _is_configured(rail: dict[str, Any], address: str) -> bool:
    return any(claim["ours"] for claim in rail["claims"]) or address in [each["address"] for each in rail["addresses"]]


def _routes(rails: list[dict[str, Any]], subnets: list[Network], facts: dict[str, Any] | None) -> Iterable[dict[str, Any]]:
    """The IPv4 routes of a node that are not the fabric's own.

    A route over a planned rail is left to ``connectx_link``, which says who claims that rail; one over another port of the
    card that we configured earlier goes away with this run.
    """
    if not facts:
        return
    own = {rail["interface"] for rail in rails if rail["present"]}
    own |= {rail["interface"] for port in facts["ports"].values() for rail in port["rails"] if any(claim["ours"] for claim in rail["claims"])}
    for route in facts["routes"]:
        if route["interface"] in own:
            continue
        clash, wider = relation(Network(route["destination"], strict=False), route["gateway"] is None, subnets)
        yield {**route, "label": f"route {route['destination']} ({route['interface']})", "clash": clash, "wider": wider}


def _paths(paths: list[dict[str, Any]], rails: list[dict[str, Any]], known: Macs) -> Iterable[dict[str, Any]]:
    links = {(rail["port"], rail["rail"]): rail["configured"] and rail.get("carrier") for rail in rails}
    for path in paths:
        label = f"to {path['peer']} on {path['port']} rail {path['rail']}"
        expected = known.get((path["peer"], path["target"]))
        yield {**path, "label": label, "link": links.get((path["port"], path["rail"])), "expected_mac": expected}


def relation(route: Network, connected: bool, subnets: list[Network]) -> tuple[str | None, str | None]:
    """Say how a route lies to the rail subnets: ``(clash, wider)``.

    A clash can not work: the route is connected and meets a subnet in any way, or it is equal to one or more specific.
    A wider one, through a gateway, loses against the subnet; the default route is wider than everything and not worth a word.
    """
    met = [subnet for subnet in subnets if route.overlaps(subnet)]
    if not met:
        return None, None
    names = ", ".join(map(str, met))
    if route in met:
        return f"equal to {route}", None
    if route.prefixlen > met[0].prefixlen:
        return f"inside {names}", None
    if connected:
        return f"around {names}", None
    return None, f"around {names}" if route.prefixlen else None

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON that ``ip -j`` prints, as data, and who carries the session by which somebody is here."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Address, Route

_STACKED = frozenset(("vlan", "macvlan", "ipvlan"))
"""Kinds of devices that live on another one, which ``ip`` names in ``link``."""


def rows(text: str) -> list[dict[str, Any]]:
    """The objects of an ``ip -j`` listing; anything else is an empty list. iproute2 6.1 mixes in empty objects."""
    try:
        listing = json.loads(text or "[]")
    except ValueError:
        return []
    return [row for row in listing if isinstance(row, dict) and row] if isinstance(listing, list) else []


def links(text: str) -> dict[str, dict[str, Any]]:
    """``ip -j -d addr show`` by interface name."""
    return {row["ifname"]: row for row in rows(text) if "ifname" in row}


def addresses(link: dict[str, Any]) -> list[Address]:
    """The addresses of one row of :func:`links`, in the kernel's order (the primary one first)."""
    return [
        {"address": item["local"], "prefix": int(item["prefixlen"]), "family": item["family"], "scope": item.get("scope", "")}
        for item in link.get("addr_info", [])
        if item.get("local")
    ]


def fabric_ipv4(found: Iterable[Address]) -> list[str]:
    """IPv4 addresses in the order in which they stand for an interface: global ones before link-local ones."""
    return [item["address"] for item in sorted(found, key=lambda item: item["scope"] != "global") if item["family"] == "inet"]


def routes(text: str) -> list[Route]:
    """``ip -j -4 route show table main``, one row per next hop."""
    table: list[Route] = []
    for row in rows(text):
        destination = str(row.get("dst", ""))
        cidr = "0.0.0.0/0" if destination == "default" else destination if "/" in destination else f"{destination}/32"
        for hop in row.get("nexthops") or [row]:
            if hop.get("dev"):
                gateway, protocol, metric = hop.get("gateway"), row.get("protocol"), row.get("metric")
                table.append({"destination": cidr, "interface": hop["dev"], "gateway": gateway, "protocol": protocol, "metric": metric})
    return table


def devices(text: str) -> list[str]:
    """The interfaces that an ``ip -j route`` listing names."""
    return [hop["dev"] for row in rows(text) for hop in row.get("nexthops") or [row] if hop.get("dev")]


def session_address(connection: str | None) -> str | None:
    """``SSH_CONNECTION`` (client, its port, server, its port) to the server's address, a mapped IPv4 one as IPv4."""
    return _plain((connection or "").split(" ")[2:3])


def session_client(connection: str | None) -> str | None:
    """``SSH_CONNECTION`` to the client's address."""
    return _plain((connection or "").split(" ")[:1])


def _plain(words: list[str]) -> str | None:
    try:
        address = ipaddress.ip_address(words[0].partition("%")[0])
    except (IndexError, ValueError):
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def management(present: dict[str, dict[str, Any]], server: str | None, ways_out: list[str]) -> dict[str, Any]:
    """Who carries the session or a default route: ``{interface, address, interfaces}``.

    :param present: :func:`links`.
    :param server: the address at which this machine was reached, None without SSH.
    :param ways_out: the interfaces of the way back to the client, then of the default routes.
    :returns: ``interface`` with its ``address`` (CIDR) is where the session came in, else the first way out;
        ``interfaces`` adds the members of a bond or bridge and the device under a VLAN.
    """
    reached = [name for name, link in present.items() if any(item["address"] == server for item in addresses(link))]
    carriers = list(dict.fromkeys(name for name in reached + ways_out if name != "lo"))
    below: list[str | None] = []
    for name in carriers:
        members = [other for other, link in present.items() if link.get("master") == name]
        own = present.get(name, {})
        lower = own.get("link") if own.get("linkinfo", {}).get("info_kind") in _STACKED else None
        below += [item for item in [*members, lower] if item in present and item not in carriers + below]
    interface = carriers[0] if carriers else None
    found = addresses(present.get(interface or "", {}))
    chosen = next((item for item in found if item["address"] == server), next((item for item in found if item["scope"] == "global"), None))
    return {
        "interface": interface,
        "address": f"{chosen['address']}/{chosen['prefix']}" if chosen else None,
        "interfaces": sorted(name for name in [*carriers, *below] if name),
    }

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that carry a node's slice of the plan; documented in the fragment ``_connectx``."""

from __future__ import annotations

import ipaddress
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._message import message


def slice_argument_spec() -> dict[str, dict[str, Any]]:
    """Argument spec of the slice of the plan that every node module takes, verbatim."""
    return {
        "ports": {"type": "dict", "default": {}},
        "mtu": {"type": "int", "default": 9000},
        "interfaces": {"type": "dict", "default": {}},
        "ipv6_link_local": {"type": "bool", "default": False},
    }


def slice_errors(ports: dict[str, Any], interfaces: dict[str, Any]) -> list[str]:
    """What is wrong with the options ``ports`` and ``interfaces``: something else than the plan has there."""
    fix = "Give the ports of fabric_plan.nodes[inventory_hostname] as they are."
    expected = "a list of rails with rail, address, prefix and subnet each"
    found = {port: planned.get("rails") if isinstance(planned, dict) else planned for port, planned in ports.items()}
    wrong = [port for port, rails in found.items() if not isinstance(rails, list) or not all(_is_rail(rail) for rail in rails)]
    return [message(f"{port}: rails", expected, repr(found[port]), fix) for port in wrong] + interface_errors(interfaces)


def _is_rail(rail: Any) -> bool:
    """Whether this is a rail of the plan with an IPv4 address."""
    try:
        address = ipaddress.ip_interface(f"{rail['address']}/{rail['prefix']}")
        return rail["rail"] in (0, 1) and isinstance(rail["subnet"], int) and address.version == 4
    except (LookupError, TypeError, ValueError):
        return False


def peer_errors(ports: dict[str, Any]) -> list[str]:
    """What is wrong with the option ``ports`` where only the peers in it are read."""
    fix = "Give the ports of fabric_plan.nodes[inventory_hostname] as they are."
    found = {port: planned.get("peer") if isinstance(planned, dict) else planned for port, planned in ports.items()}
    wrong = [port for port, peer in found.items() if not isinstance(peer, dict) or not ({"node", "port"} <= peer.keys() or "switch" in peer)]
    return [message(f"{port}: peer", "node and port, or switch and leg", repr(found[port]), fix) for port in wrong]


def interface_errors(interfaces: dict[str, Any]) -> list[str]:
    """What is wrong with the option ``interfaces``: it maps ``p0`` and ``p1`` to two device names each."""
    fix = "Write them as in the plan, p0: [aerial00, aerial02]."
    wrong_ports = sorted(set(interfaces) - {"p0", "p1"})
    errors = [message("interfaces", "the ports p0 and p1", ", ".join(wrong_ports), fix)] if wrong_ports else []
    for port, names in interfaces.items():
        if not (isinstance(names, list) and len(names) == 2 and all(isinstance(name, str) and name for name in names) and names[0] != names[1]):
            errors.append(message(f"interfaces.{port}", "two device names, rail 0 first", repr(names), fix))
    return errors

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that carry a node's slice of the plan."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of C(module_utils/_connectx/_argspec.py)."""

    DOCUMENTATION = r"""
options:
  ports:
    description:
      - The cabled ports of this node as the plan has them, C(fabric_plan.nodes[inventory_hostname].ports).
      - Maps C(p0) and C(p1) to C({peer, speed, rails}), and each of the two C(rails) to C({rail, address, prefix, subnet}).
    type: dict
    default: {}
  mtu:
    description: MTU of every rail in bytes, C(fabric_plan.nodes[inventory_hostname].mtu).
    type: int
    default: 9000
  interfaces:
    description:
      - Network devices of ports whose owner renamed them, C(fabric_plan.nodes[inventory_hostname].interfaces).
      - Maps a port to its two devices, rail 0 first. Ports that are not named here are found through sysfs.
    type: dict
    default: {}
  ipv6_link_local:
    description: Whether rails carry an IPv6 link-local address. Must be the same on all nodes.
    type: bool
    default: false
"""

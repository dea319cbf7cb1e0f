#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pings every peer on every rail."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connectx_ping
short_description: Ping every peer on every rail at full MTU
version_added: 0.1.0
description:
  - Pings all peers on all planned rails at once, from the rail's own address and interface, with small packets and with packets of
    the full MTU that must not be fragmented.
  - Then looks up which MAC address answered for the peer. Both rails of a port share one cable, so the peer's other rail could;
    the filter P(gb10.cluster.fabric_checks#filter) holds it against the facts of the peer.
  - Where only small packets pass, the largest one that does is searched.
  - A path that does not work is a result, not a failure of this module.
author:
  - gb10.cluster maintainers (@gb10)
extends_documentation_fragment:
  - gb10.cluster._attributes.info
  - gb10.cluster._connectx
attributes:
  check_mode:
    support: partial
    details: Sends nothing and returns no paths, because the links of the plan may not exist yet.
options:
  peers:
    description: The other ends, as the filter P(gb10.cluster.fabric_peers#filter) lists them.
    type: list
    elements: dict
    required: true
    suboptions:
      peer:
        description: Name of the node.
        type: str
        required: true
      subnet:
        description: Number of the rail subnet in the plan; rails of this node with the same number are pinged from.
        type: int
        required: true
      address:
        description: IPv4 address of the peer in that subnet.
        type: str
        required: true
  facts:
    description: Read what M(gb10.cluster.connectx_info) returns as well, after the pings; one execution on the node instead of two.
    type: bool
    default: false
requirements:
  - ping of iputils
"""

EXAMPLES = r"""
# Every peer of this node is pinged on every rail; nothing is changed.
- name: Ping all peers
  gb10.cluster.connectx_ping:
    ports: "{{ fabric_plan.nodes[inventory_hostname].ports }}"
    mtu: "{{ fabric_plan.nodes[inventory_hostname].mtu }}"
    interfaces: "{{ fabric_plan.nodes[inventory_hostname].interfaces }}"
    peers:
      - {peer: spark-2, subnet: 0, address: 10.77.0.2}
      - {peer: spark-2, subnet: 1, address: 10.77.1.2}
  register: ping
"""

RETURN = r"""
paths:
  description: One for each peer and rail.
  returned: always
  type: list
  elements: dict
  contains:
    peer: {description: Name of the peer., type: str, returned: always, sample: spark-2}
    port: {description: Own port., type: str, returned: always, sample: p0}
    rail: {description: Own rail., type: int, returned: always, sample: 0}
    interface: {description: Own network device; null when the rail is missing., type: str, returned: always, sample: enp1s0f0np0}
    source: {description: Own address., type: str, returned: always, sample: 10.77.0.1}
    target: {description: Address of the peer., type: str, returned: always, sample: 10.77.0.2}
    mtu: {description: Planned MTU in bytes., type: int, returned: always, sample: 9000}
    largest_mtu: {description: Size in bytes of the largest packet that passed whole; null when none did., type: int, returned: always, sample: 9000}
    sent: {description: Packets sent; of full size where these pass., type: int, returned: always, sample: 3}
    received: {description: Packets that were answered., type: int, returned: always, sample: 3}
    loss_percent: {description: Share of packets without an answer., type: float, returned: always, sample: 0.0}
    rtt_ms: {description: Mean round trip in milliseconds., type: float, returned: always, sample: 0.068}
    small_ok: {description: Small packets pass., type: bool, returned: always, sample: true}
    full_ok: {description: Packets of the full MTU pass., type: bool, returned: always, sample: true}
    neighbour_mac: {description: MAC address that answered; null when none did., type: str, returned: always, sample: "3c:6d:66:01:02:03"}
    reason: {description: Why packets do not pass., type: str, returned: always, sample: nobody answers ARP for its address}
seconds:
  description:
    - How long all of it took; less than a second when all paths work.
    - Silent peers are waited for about four seconds, and the search takes as long again at most, however many paths there are.
  returned: outside check mode
  type: float
  sample: 0.09
connectx:
  description: The facts, RV(gb10.cluster.connectx_info#module:connectx).
  returned: with O(facts)
  type: dict
  sample: {}
reason:
  description: Why nothing was sent.
  returned: in check mode
  type: str
  sample: check mode, the links of the plan may not exist yet
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils import _ping
from ansible_collections.gb10.cluster.plugins.module_utils._command import run
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._argspec import slice_argument_spec, slice_errors
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._facts import collect
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._sysfs import discover

PEER = {
    "peer": {"type": "str", "required": True},
    "subnet": {"type": "int", "required": True},
    "address": {"type": "str", "required": True},
}
SPEC = {"peers": {"type": "list", "elements": "dict", "required": True, "options": PEER}, "facts": {"type": "bool", "default": False}}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={**slice_argument_spec(), **SPEC}, supports_check_mode=True)
    given = module.params
    wrong = slice_errors(given["ports"], given["interfaces"]) + _ping.peer_errors(given["peers"])
    if wrong:
        module.fail_json(msg="\n".join(wrong))
    if module.check_mode:
        found: dict[str, Any] = {"paths": [], "reason": "check mode, the links of the plan may not exist yet"}
    else:
        interfaces, _problems = discover(Machine(), given["interfaces"])
        began = time.monotonic()
        measured = _ping.measure(_ping.paths(given["ports"], given["mtu"], given["peers"], interfaces), run)
        found = {"paths": measured, "seconds": round(time.monotonic() - began, 2)}
    if given["facts"]:
        found["connectx"] = collect(given["interfaces"])
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()

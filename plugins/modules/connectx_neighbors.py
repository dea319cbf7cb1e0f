#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``connectx_neighbors``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connectx_neighbors
short_description: Tell which node and port is at the other end of each port
version_added: 0.1.0
description:
  - Every node calls on every rail with Ethernet frames of its own (EtherType 0x88B5) and listens who calls there. No address is needed.
  - Works in two phases, so that it does not depend on C(forks). Run O(phase=start) on all nodes, then O(phase=collect) on all nodes,
    in plays with the strategy P(ansible.builtin.linear#strategy). In between, a transient systemd unit works on each node and ends by itself.
  - A port is done as soon as its planned neighbour was heard, and knows that it was; else O(listen) seconds after its carrier came.
  - Also tells what systemd-networkd or NetworkManager already know by LLDP.
author:
  - gb10.cluster maintainers (@gb10)
extends_documentation_fragment:
  - gb10.cluster._attributes.info
  - gb10.cluster._connectx
attributes:
  check_mode:
    support: partial
    details: Starts nothing and collects an empty list with the reason.
options:
  phase:
    description:
      - V(start) begins to call and to listen. Once more with the same O(run_id), it does nothing; with another one, it ends the earlier run.
      - V(collect) waits until enough was heard, tells it, and takes everything of the run away.
    type: str
    required: true
    choices: [start, collect]
  run_id:
    description: Names the run, letters, digits and dashes. The same on all nodes and in both phases, and another one for each run.
    type: str
    required: true
  node:
    description: The name of this node in the plan, C(inventory_hostname).
    type: str
    required: true
  bring_up:
    description:
      - Whether to raise interfaces of the planned ports that are down, as those of a new machine under systemd-networkd are.
      - They are put back when the run ends, however it ends. Nobody can be heard on one that is down.
    type: bool
    default: false
  carrier_wait:
    description: Seconds after the start in which a planned port without carrier may still get one.
    type: int
    default: 20
  listen:
    description: Seconds to listen on a port that has a carrier and misses somebody, once all nodes have started.
    type: int
    default: 3
  deadline:
    description: Seconds after the start in which the worker ends even if nobody collects.
    type: int
    default: 300
requirements:
  - root, because raw sockets need it
  - systemd
"""

EXAMPLES = r"""
# All nodes begin to call and to listen; nothing is changed.
- name: Begin
  gb10.cluster.connectx_neighbors:
    phase: start
    run_id: "{{ run_id }}"
    node: "{{ inventory_hostname }}"
    ports: "{{ fabric_plan.nodes[inventory_hostname].ports }}"
    interfaces: "{{ fabric_plan.nodes[inventory_hostname].interfaces }}"
    bring_up: true

# Every node tells whom it heard, and is as it was before.
- name: Collect
  gb10.cluster.connectx_neighbors:
    phase: collect
    run_id: "{{ run_id }}"
    node: "{{ inventory_hostname }}"
  register: heard
"""

RETURN = r"""
neighbors:
  description: What was heard, one for each port that is planned or there. Empty in O(phase=start) and in check mode.
  returned: always
  type: list
  elements: dict
  contains:
    port: {description: The port., type: str, returned: always, sample: p0}
    rails:
      description: Its network devices; fewer than two when the machine lacks some.
      type: list
      elements: dict
      returned: always
      sample: [{rail: 0, interface: enp1s0f0np0, mac: "4c:bb:47:00:01:00", up: true, carrier: true, raised: false}]
    heard:
      description: Who was heard, on which own rails, and whether frames came that switches keep to themselves. A port of this node is a loop.
      type: list
      elements: dict
      returned: always
      sample: [{node: spark-2, port: p1, rails: [0, 1], near: true}]
    strangers:
      description: Who was heard calling in another run.
      type: list
      elements: dict
      returned: always
      sample: [{node: gx10-7, port: p0, machine_id: 0f3c5d0b8a6e4f6f9d1c2b3a4e5f6071}]
    lldp:
      description: Neighbours by LLDP, and whether they say that they are bridges or routers.
      type: list
      elements: dict
      returned: always
      sample: [{system: crs812, port: qsfp56-dd-1-1, forwards: true}]
    garbage: {description: Frames of this EtherType that are not ours., type: int, returned: always, sample: 0}
hostname:
  description: The node's own name.
  returned: in phase collect
  type: str
  sample: spark-1
machine_id:
  description: The node's machine-id, by which strangers are told from nodes of the inventory.
  returned: in phase collect
  type: str
  sample: 5c1f6ad5e8a94b54a3f7f2c0d7f6b0aa
reason:
  description: Why nobody was heard.
  returned: in check mode
  type: str
  sample: check mode, no frames are sent and no interface is raised
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._argspec import interface_errors, peer_errors, slice_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

SPEC = {
    "phase": {"type": "str", "required": True, "choices": ["start", "collect"]},
    "run_id": {"type": "str", "required": True},
    "node": {"type": "str", "required": True},
    "bring_up": {"type": "bool", "default": False},
    "carrier_wait": {"type": "int", "default": 20},
    "listen": {"type": "int", "default": 3},
    "deadline": {"type": "int", "default": 300},
}
REQUEST = ("run_id", "node", "ports", "interfaces", "bring_up", "carrier_wait", "listen", "deadline")


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={**slice_argument_spec(), **SPEC}, supports_check_mode=True)
    given = module.params
    wrong = _neighbors.errors(given["run_id"], given["node"]) + peer_errors(given["ports"]) + interface_errors(given["interfaces"])
    if not module.check_mode and not _neighbors.allowed():
        wrong.append(message("connectx_neighbors", "root, because raw sockets need it", "another user", "Set become: true."))
    if wrong:
        module.fail_json(msg="\n".join(wrong))
    if module.check_mode:
        module.exit_json(changed=False, neighbors=[], reason="check mode, no frames are sent and no interface is raised")
    if given["phase"] == "start":
        found: dict = {}
        complaint = _neighbors.start(_neighbors.Request(**{key: given[key] for key in REQUEST}), Machine())
    else:
        found, complaint = _neighbors.collect(given["run_id"], Machine())
    if complaint:
        module.fail_json(msg=complaint)
    module.exit_json(changed=False, **{"neighbors": [], **found})


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``connectx_qos``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connectx_qos
short_description: Give RoCEv2 its place on the rails of a GB10 machine
version_added: 0.1.0
description:
  - V(ecn) lets the rails trust DSCP and maps 26 (RoCEv2) to priority 3 and 48 (its congestion notifications) to priority 6.
  - V(lossless) adds priority flow control on priority 3 alone, and clears global pause first, because the card knows only one of the two.
  - V(none) brings back what was there before the first run.
  - Sets the type of service of RDMA-CM, so that programs which use it are marked too.
  - Keeps all of it by a systemd unit bound to each network device, which compares before it writes. A change of PFC takes the link down for a moment.
  - Uses C(dcb) of iproute2 and touches no interface that is no rail of the plan.
  - The switch must map the same way, and is the one that marks; without a switch none of this is needed.
author:
  - gb10.cluster maintainers (@gb10)
extends_documentation_fragment:
  - gb10.cluster._attributes
  - gb10.cluster._connectx
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  level:
    description: How much, as the switches of the plan have it, C(fabric_plan.switches[NAME].roce).
    type: str
    choices: [none, ecn, lossless]
    required: true
  traffic_class:
    description:
      - Type of service of RDMA-CM, and the value for C(NCCL_IB_TC). V(106) is DSCP 26 with the bit that allows ECN.
    type: int
    default: 106
seealso:
  - module: gb10.cluster.connectx_info
  - module: gb10.cluster.mikrotik_roce
"""

EXAMPLES = r"""
- name: The rails mark and map as the switches do
  gb10.cluster.connectx_qos:
    ports: "{{ fabric_plan.nodes[inventory_hostname].ports }}"
    interfaces: "{{ fabric_plan.nodes[inventory_hostname].interfaces }}"
    level: ecn
  become: true

- name: The rails are what they were before
  gb10.cluster.connectx_qos:
    level: none
  become: true
"""

RETURN = r"""
before:
  description: QoS of the rails before. A value is V(null) where the driver does not have it.
  returned: success
  type: dict
  sample: {persistent: false, interfaces: {enp1s0f0np0: {dscp: {}, pfc: [], pause: {rx: true, tx: true}, rdma_cm_tos: 0}}}
after:
  description: QoS of the rails after, or as it would be in check mode.
  returned: success
  type: dict
  sample: {persistent: true, interfaces: {enp1s0f0np0: {dscp: {"26": 3, "48": 6}, pfc: [3], pause: {rx: false, tx: false}, rdma_cm_tos: 106}}}
dcb:
  description: Per interface, whether its driver has DCB and why not, and whether RDMA-CM is loaded.
  returned: success
  type: dict
  sample: {enp1s0f0np0: {dcb: true, reason: null, rdma_cm: true}}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._argspec import interface_errors, slice_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._sysfs import discover, rdma_device
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._roce._host import QosError, qos
from ansible_collections.gb10.cluster.plugins.module_utils._roce._node import Node


def rails(machine: Machine, params: dict) -> tuple[dict, list[str]]:
    """Interface -> RDMA device of both rails of every planned port, and what is missing."""
    found, _problems = discover(machine, params["interfaces"])
    missing = [message(f"{port} rail {rail}: interface", "one", "none", "Plug the cable in and reboot.")
               for port in params["ports"] for rail in (0, 1) if rail not in found.get(port, {})]
    return {name: rdma_device(machine, name) for port in params["ports"] for _rail, name in sorted(found.get(port, {}).items())}, missing


def main() -> None:
    """Find the rails, change them, return."""
    spec = {
        **slice_argument_spec(),
        "level": {"type": "str", "choices": ["none", "ecn", "lossless"], "required": True},
        "traffic_class": {"type": "int", "default": 106},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    errors = interface_errors(module.params["interfaces"])
    known, missing = rails(Machine(), module.params) if not errors else ({}, [])
    errors += missing if module.params["level"] != "none" else []
    if errors:
        module.fail_json(msg="\n".join(errors))
    try:
        result = qos(Node(), known, module.params["level"], module.params["traffic_class"], module.check_mode)
    except QosError as error:
        module.fail_json(msg=str(error))
    for warning in result.warnings:
        module.warn(warning)
    module.exit_json(changed=result.changed, before=result.before, after=result.after, dcb=result.facts,
                     diff={"before": result.before, "after": result.after})


if __name__ == "__main__":
    main()

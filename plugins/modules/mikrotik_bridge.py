#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``mikrotik_bridge``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mikrotik_bridge
short_description: Put the legs of a fabric into the one bridge that a MikroTik switch forwards in hardware
version_added: 0.1.0
description:
  - Uses the bridge that is there and never makes a second one beside it, which the CPU would forward.
  - Raises C(l2mtu) on every lane of the fabric's cages, in one command, and touches neither other ports nor the bridge's own MTU.
  - With O(vlan) it keeps the fabric apart by VLAN filtering inside the bridge, in the order that never locks anybody out.
  - With inter-switch links it makes them cheap and C(ether) ports dear for the spanning tree, and reads back that the links forward.
  - Checks that the chip forwards every running leg.
author:
  - gb10.cluster maintainers (@gb10)
extends_documentation_fragment:
  - gb10.cluster._attributes
  - gb10.cluster._mikrotik
  - gb10.cluster._mikrotik.change
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  cages:
    description:
      - Cages of the fabric, as the plan has them, C(fabric_plan.switches[NAME].cages). Only their names have an effect.
      - With O(state=absent), without any, all ports that this module has changed.
    type: dict
    default: {}
  legs:
    description:
      - Legs by the name of their leading lane, as the plan has them, C(fabric_plan.switches[NAME].legs).
      - A leg with a C(switch) leads to another switch.
      - These are all legs of the fabric. A port that was one and is it no more is put back.
    type: dict
    default: {}
  l2mtu:
    description: L2 MTU of the lanes in bytes, C(fabric_plan.switches[NAME].l2mtu). Lanes that are larger stay so.
    type: int
    default: 9216
  bridge:
    description: Name of the bridge, C(fabric_plan.switches[NAME].bridge). By default the one that the chip forwards already.
    type: str
  vlan:
    description:
      - VLAN that keeps the fabric apart from everything else on the switch, 2 to 4094, C(fabric_plan.switches[NAME].vlan).
      - Without it, a VLAN that this module has made goes. Rows of others in the VLAN table are used if they fit, and never changed.
    type: int
  state:
    description:
      - V(absent) brings back what notes in the comments of ports and bridge ports say was there before, and removes what this module has added,
        which its comment tells.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: gb10.cluster.mikrotik_info
  - module: gb10.cluster.mikrotik_breakout
"""

EXAMPLES = r"""
- name: Let every leg of the plan pass jumbo frames through the chip
  gb10.cluster.mikrotik_bridge:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    cages: "{{ fabric_plan.switches.crs812.cages }}"
    legs: "{{ fabric_plan.switches.crs812.legs }}"
    l2mtu: "{{ fabric_plan.switches.crs812.l2mtu }}"

- name: Keep two legs apart from the rest of the switch
  gb10.cluster.mikrotik_bridge:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    cages: {qsfp56-dd-1: {}}
    legs: {qsfp56-dd-1-1: {}, qsfp56-dd-1-5: {}}
    vlan: 100
"""

RETURN = r"""
commands:
  description: What was sent to change the switch, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ['/interface/ethernet set *B,*C,*D,*E,*F,*10,*11,*12 l2mtu=9216 comment="(gb10.cluster: was l2mtu=1584)"']
before:
  description: Bridge, legs in it, sizes and VLANs before. C(detours) are the path costs of C(ether) ports where there are inter-switch links.
  returned: success
  type: dict
  sample: {bridge: bridge, vlan_filtering: false, detours: {}, l2mtu: {qsfp56-dd-1-1: 1584}, vlans: {},
           ports: {qsfp56-dd-1-1: {bridge: bridge, hw: true, pvid: 1, frame_types: admit-all, path_cost: null}}}
after:
  description: The same as it was read back, or would be.
  returned: success
  type: dict
  sample: {bridge: bridge, vlan_filtering: false, detours: {}, l2mtu: {qsfp56-dd-1-1: 9216}, vlans: {},
           ports: {qsfp56-dd-1-1: {bridge: bridge, hw: true, pvid: 1, frame_types: admit-all, path_cost: null}}}
export:
  description: File on the switch with the configuration from before the change; V(null) without a change.
  returned: success
  type: str
  sample: gb10-20261130T101512345678Z.rsc
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _wishes
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import access_of, care_of, change_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._bridge import USUAL_L2MTU
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._change import fulfil
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import SwitchError


def bridge(params: dict, check_mode: bool) -> tuple[dict, list[str]]:
    """Do it. Returns the result and the warnings."""
    access = access_of(params)
    wish = _wishes.bridge(
        access.name, params["cages"], params["legs"], params["bridge"], params["vlan"], params["l2mtu"], params["state"] == "present")
    result = fulfil(lambda: connect(access), wish, check_mode, care_of(params))
    result.session.close()
    return result.returned, result.warnings


def main() -> None:
    """Read, decide, change, report."""
    spec = {
        **change_argument_spec(),
        "cages": {"type": "dict", "default": {}},
        "legs": {"type": "dict", "default": {}},
        "l2mtu": {"type": "int", "default": USUAL_L2MTU},
        "bridge": {"type": "str"},
        "vlan": {"type": "int"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        result, warnings = bridge(module.params, module.check_mode)
    except SwitchError as error:
        module.fail_json(msg=str(error))
    for warning in warnings:
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

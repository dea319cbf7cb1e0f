#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``mikrotik_roce``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mikrotik_roce
short_description: Give RoCEv2 its place on a MikroTik switch
version_added: 0.1.0
description:
  - V(ecn) puts RoCEv2 (DSCP 26) into traffic class 3, which marks ECN, and its congestion notifications (DSCP 48) into class 6.
  - V(lossless) adds priority flow control on class 3, a shaper at line rate, which received PFC needs, and DCBX.
  - V(none) takes all of it away again. What ports, queues and DCBX were before is noted in the comments of ports, and comes back.
    On the CRS5xx C(qos-hw-offloading) stays on, as switching it off needs a reboot.
  - Objects of this module have names that begin with C(gb10-). Nothing else is ever removed.
  - Refuses what a version accepts and ignores, RoCE on the CRS8xx before RouterOS 7.23, and chips that know neither PFC nor ECN.
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
  level:
    description: How much, C(fabric_plan.switches[NAME].roce).
    type: str
    choices: [none, ecn, lossless]
    required: true
  cages:
    description: Cages of the fabric, C(fabric_plan.switches[NAME].cages). As long as there is RoCE, their lanes that do not lead have no PFC.
    type: dict
    default: {}
  legs:
    description:
      - Legs by the name of their leading lane with their C(speed), C(fabric_plan.switches[NAME].legs).
      - With O(level=none), without any, all that a note in their comments says are ours.
    type: dict
    default: {}
  foreign:
    description:
      - What to do with objects of others that decide about RoCE, such as a profile for DSCP 26.
      - V(refuse) them, or V(adopt) them if they do what ours would do; they are used as they are then, and left alone by V(none).
    type: str
    choices: [refuse, adopt]
    default: refuse
notes:
  - Changing a queue stops transmission of the whole switch for a moment. A queue that is right is not written.
  - The hosts must mark and map the same way, see M(gb10.cluster.connectx_qos). Otherwise queue 3 stays empty.
seealso:
  - module: gb10.cluster.mikrotik_info
  - module: gb10.cluster.mikrotik_bridge
"""

EXAMPLES = r"""
- name: Give RoCE the place that the plan wants
  gb10.cluster.mikrotik_roce:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    level: "{{ fabric_plan.switches.crs812.roce }}"
    cages: "{{ fabric_plan.switches.crs812.cages }}"
    legs: "{{ fabric_plan.switches.crs812.legs }}"

- name: Mark congestion on two legs, without PFC
  gb10.cluster.mikrotik_roce:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    level: ecn
    cages: {qsfp56-dd-1: {}}
    legs: {qsfp56-dd-1-1: {speed: 200G}, qsfp56-dd-1-5: {speed: 200G}}
"""

RETURN = r"""
commands:
  description: What was sent to change the switch, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["/interface/ethernet/switch/qos/port set qsfp56-dd-1-1 trust-l3=keep pfc=gb10-pfc egress-rate-queue3=200G"]
before:
  description: Profiles, PFC profiles, queues, ports of the fabric and DCBX before. Rates in bit/s, V(null) without a shaper.
  returned: success
  type: dict
  sample: {profiles: {}, map_ip: {}, pfc: {}, lldp_dcbx: false, qos_hw_offloading: [true],
           queues: {"3": {schedule: high-priority-group, weight: "3", ecn: false}},
           ports: {qsfp56-dd-1-1: {trust_l3: ignore, pfc: disabled, egress_rate_queue3: null}}}
after:
  description: The same as it was read back, or would be.
  returned: success
  type: dict
  sample: {profiles: {gb10-roce: {dscp: 26, pcp: 3, traffic_class: 3}}, map_ip: {}, pfc: {gb10-pfc: {traffic_class: [3], rx: true, tx: true}},
           lldp_dcbx: true, qos_hw_offloading: [true], queues: {"3": {schedule: high-priority-group, weight: "1", ecn: true}},
           ports: {qsfp56-dd-1-1: {trust_l3: keep, pfc: gb10-pfc, egress_rate_queue3: 200000000000}}}
export:
  description: File on the switch with the configuration from before the change; V(null) without a change.
  returned: success
  type: str
  sample: gb10-20261130T101512345678Z.rsc
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _qos_checks, _qos_rows, _qos_view, _wishes
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import access_of, care_of, change_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._change import device_of, fulfil
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import SwitchError


def roce(params: dict, check_mode: bool) -> tuple[dict, list[str]]:
    """Do it. Returns the result and the warnings."""
    access = access_of(params)
    wish = _wishes.roce(access.name, params["level"], params["cages"], params["legs"], params["foreign"] == "adopt")
    result = fulfil(lambda: connect(access), wish, check_mode, care_of(params))
    result.session.close()
    if params["level"] == "none" and result.returned["changed"]:
        return result.returned, result.warnings + _qos_checks.kept(access.name, device_of(result.menus), _qos_view.have(result.menus))
    return result.returned, result.warnings


def main() -> None:
    """Read, decide, change, report."""
    spec = {
        **change_argument_spec(),
        "level": {"type": "str", "choices": list(_qos_rows.LEVELS), "required": True},
        "cages": {"type": "dict", "default": {}},
        "legs": {"type": "dict", "default": {}},
        "foreign": {"type": "str", "choices": ["refuse", "adopt"], "default": "refuse"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        result, warnings = roce(module.params, module.check_mode)
    except SwitchError as error:
        module.fail_json(msg=str(error))
    for warning in warnings:
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

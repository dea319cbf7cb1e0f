#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``mikrotik_breakout``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mikrotik_breakout
short_description: Split the cages of a MikroTik switch into legs
version_added: 0.1.0
description:
  - Gives cages their mode, 2x200G or 4x100G and the like, forces the speed of the leading lanes and enables all lanes.
  - What a port was before is noted in its comment, behind what its owner wrote there, so that O(state=absent) needs no plan.
  - Writes only what differs, because RouterOS restarts a whole cage when one of its lanes is touched.
  - Refuses a mode that a cage does not have, a leg that does not lead, and to change a cage through which the session itself comes.
  - Then waits for the links and tells what the switch says of each leg. The node has the last word.
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
      - Cages with their C(mode), C(media) (V(copper) or V(optical)) and C(fec), as the plan has them, C(fabric_plan.switches[NAME].cages).
      - Without C(fec), or with V(auto), the value that brings the mode up.
      - With O(state=absent), names of cages; without any, all that this module has changed.
    type: dict
    default: {}
  legs:
    description:
      - Legs by the name of their leading lane, C(fabric_plan.switches[NAME].legs). They must lead in the mode of their cage.
      - Only these legs are waited for and reported; without any, all legs of the cages.
    type: dict
    default: {}
  state:
    description:
      - V(absent) brings back what a note in the comments of the ports says was there before. A speed that was not set before stays stored,
        and has no effect while the port negotiates.
    type: str
    choices: [present, absent]
    default: present
  link_wait:
    description:
      - Seconds to wait for the links after a change. A leg that is not as planned then is warned of.
      - With V(0) nothing is said of links, because a cage that restarts, or a node whose port is down, has none yet.
    type: int
    default: 30
seealso:
  - module: gb10.cluster.mikrotik_info
  - module: gb10.cluster.mikrotik_bridge
"""

EXAMPLES = r"""
- name: Let every cage have the mode of the plan
  gb10.cluster.mikrotik_breakout:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    cages: "{{ fabric_plan.switches.crs812.cages }}"
    legs: "{{ fabric_plan.switches.crs812.legs }}"

- name: Split one cage for two nodes, and one for four
  gb10.cluster.mikrotik_breakout:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    cages:
      qsfp56-dd-1: {mode: 2x200G}
      qsfp56-dd-2: {mode: 4x100G, media: optical}
"""

RETURN = r"""
commands:
  description: What was sent to change the switch, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ['/interface/ethernet set *B,*F auto-negotiation=no speed=200G-baseCR4 comment="(gb10.cluster: was auto-negotiation=yes)"']
before:
  description: The lanes of the cages before.
  returned: success
  type: dict
  sample: {qsfp56-dd-1: {qsfp56-dd-1-1: {enabled: true, auto_negotiation: true, speed: null, fec_mode: auto}, qsfp56-dd-1-2: {enabled: true}}}
after:
  description: The lanes of the cages as they were read back, or would be.
  returned: success
  type: dict
  sample: {qsfp56-dd-1: {qsfp56-dd-1-1: {enabled: true, auto_negotiation: false, speed: 200G-baseCR4, fec_mode: auto},
                         qsfp56-dd-1-2: {enabled: true}}}
export:
  description: File on the switch with the configuration from before the change; V(null) without a change.
  returned: success
  type: str
  sample: gb10-20261130T101512345678Z.rsc
legs:
  description: What the switch says of each leg. C(as_planned) is whether it has a link at the planned speed.
  returned: success
  type: dict
  sample: {qsfp56-dd-1-1: {status: link-ok, auto_negotiation: disabled, rate_gbps: 200.0, fec: fec91, advertising: [], module: null,
                           as_planned: true}}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _breakout, _wishes
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import access_of, care_of, change_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._change import fulfil
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import SwitchError
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._state import wait_for_links


def split(params: dict, check_mode: bool) -> tuple[dict, list[str]]:
    """Do it. Returns the result and the warnings."""
    access = access_of(params)
    name = access.name
    want = _wishes.breakout_want(name, params["cages"], params["legs"], params["state"] == "present")
    result = fulfil(lambda: connect(access), _wishes.breakout(name, want), check_mode, care_of(params))
    expected = params["state"] == "present" and not check_mode
    patience = params["link_wait"] if result.returned["changed"] and expected else 0
    try:
        ports = _breakout.addresses(result.menus, want)
        legs = _breakout.report(wait_for_links(result.session, ports, lambda found: _breakout.all_as_planned(found, want), patience), want)
        told = _breakout.link_warnings(name, legs, want) if expected and params["link_wait"] else []
        result.session.close()
    except SwitchError as error:
        legs, told = {}, [f"{error} The change is made; the links were not seen."]
    return {**result.returned, "legs": legs}, result.warnings + told


def main() -> None:
    """Read, decide, change, wait, report."""
    spec = {
        **change_argument_spec(),
        "cages": {"type": "dict", "default": {}},
        "legs": {"type": "dict", "default": {}},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "link_wait": {"type": "int", "default": 30},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        result, warnings = split(module.params, module.check_mode)
    except SwitchError as error:
        module.fail_json(msg=str(error))
    for warning in warnings:
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

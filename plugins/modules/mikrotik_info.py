#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``mikrotik_info``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mikrotik_info
short_description: Tell everything about a MikroTik switch that a GB10 fabric runs through
version_added: 0.1.0
description:
  - Reads version, model and chip, ports with their cages and lanes, links and modules, bridges with hardware offload and spanning tree,
    addresses that were learned, QoS objects and who holds safe mode.
  - Only reads, with one login. A menu that the switch does not have, or that the user may not read, gives empty values and a warning.
author:
  - gb10.cluster maintainers (@gb10)
extends_documentation_fragment:
  - gb10.cluster._attributes.info
  - gb10.cluster._mikrotik
options:
  gather:
    description:
      - What to read. The identity of the switch and its ports are always there.
      - V(link) looks at every leg, V(rstp) at every running bridge port, each of which takes a moment.
    type: list
    elements: str
    choices: [link, rstp, hosts, qos, safe_mode]
    default: [link, rstp, hosts, qos, safe_mode]
  wanted:
    description:
      - What the switch should be, C(fabric_plan.switches[NAME]); C(due) then tells what M(gb10.cluster.mikrotik_breakout),
        M(gb10.cluster.mikrotik_bridge) and M(gb10.cluster.mikrotik_roce) have to do, without a login for each of them.
    type: dict
  state:
    description: Whether O(wanted) is to be made, or what was made is to be taken back.
    type: str
    choices: [present, absent]
    default: present
  foreign:
    description: As O(gb10.cluster.mikrotik_roce#module:foreign).
    type: str
    choices: [refuse, adopt]
    default: refuse
seealso:
  - module: gb10.cluster.mikrotik_breakout
  - module: gb10.cluster.mikrotik_bridge
  - module: gb10.cluster.mikrotik_roce
"""

EXAMPLES = r"""
- name: Read a switch
  gb10.cluster.mikrotik_info:
    host: 192.168.10.2
    username: admin
    private_key_file: ~/.ssh/id_switch
  register: switch

- name: Show where every address was learned, quickly
  gb10.cluster.mikrotik_info:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    gather: [hosts]
  register: switch

- name: Tell what is missing on a switch for the plan
  gb10.cluster.mikrotik_info:
    host: 192.168.10.2
    private_key_file: ~/.ssh/id_switch
    gather: []
    wanted: "{{ fabric_plan.switches.crs812 }}"
  register: switch
"""

RETURN = r"""
mikrotik:
  description: The facts. A value is V(null), an empty list or an empty dictionary where the switch does not have it or does not tell.
  returned: always
  type: dict
  contains:
    identity: {description: Name of the switch, type: str, returned: always, sample: crs812}
    device:
      description:
        - Version, update channel, model, switch chip and its generation (V(cpss) the CRS8xx, V(bc2) the CRS5xx, V(ac3) the small ones),
          RouterBOOT firmware now and available, enabled packages with their versions.
      type: dict
      returned: always
      sample: {version: 7.23.7, channel: long-term, model: CRS812-8DS-2DQ-2DDQ, chip: Marvell-98DX7335, chip_group: cpss,
               firmware: 7.23.7, firmware_upgrade: 7.23.7, packages: {routeros: 7.23.7, switch-marvell: 7.23.7}}
    ports:
      description:
        - Every Ethernet port by its default name. C(name) is its name now; C(leader) the leading lane whose leg has this one,
          C(lanes) the lanes of the leg that this one leads. L2 MTU and MTU in bytes; C(link) of legs only.
        - C(link.module) is V(null) when nothing is plugged in.
      type: dict
      returned: always
      sample:
        qsfp56-dd-1-1: {name: qsfp56-dd-1-1, cage: qsfp56-dd-1, lane: 1, leader: qsfp56-dd-1-1,
                        lanes: [qsfp56-dd-1-1, qsfp56-dd-1-2, qsfp56-dd-1-3, qsfp56-dd-1-4], enabled: true, running: true,
                        auto_negotiation: false, speed: 200G-baseCR4, advertise: [], fec_mode: auto, mtu: 1500, l2mtu: 9216, max_l2mtu: 9570,
                        bridge: bridge, pvid: 1, hw_offload: true, role: designated-port, forwarding: true,
                        link: {status: link-ok, auto_negotiation: disabled, rate_gbps: 200.0, fec: fec91, advertising: [],
                               module: {type: QSFPDD, connector: no-separable-connector, vendor: NADDOD, part_number: Q2Q56-400G-CU1,
                                        serial: "1", encoding: pam4, length: 1m, temperature: null, state: ready, eeprom_checksum: good}}}
    bridges:
      description: The bridges, with their ports.
      type: list
      elements: dict
      returned: always
      sample: [{name: bridge, protocol_mode: rstp, priority: "0x8000", vlan_filtering: false, mtu: auto, l2mtu: 1584, ports: [ether1]}]
    hosts:
      description: Where the bridge saw each MAC address; ports by default name.
      type: dict
      returned: always
      sample: {"4c:bb:47:00:00:01": {port: qsfp56-dd-1-1, bridge: bridge, vlan: 1}}
    qos:
      description: Rows of the QoS menus of the switch chip.
      type: dict
      returned: always
      sample: {profiles: [], map_ip: [], pfc: [], queues: [], ports: [], lldp_dcbx: false}
    safe_mode:
      description: Whether somebody holds safe mode, and who.
      type: dict
      returned: always
      sample: {enabled: false, holder: nobody}
    due:
      description:
        - With O(wanted), why that can not be, else the commands that each module would send. Of those that have none to send, C(warnings) are
          what the owner should know, C(problems) what is configured and does not work.
      type: dict
      returned: always
      sample: {refusals: [], warnings: [], problems: [], breakout: [], bridge: ["/interface/ethernet set *B,*C,*D,*E l2mtu=9216"], roce: []}
    missing:
      description: Menus that could not be read, and what the switch said.
      type: dict
      returned: always
      sample: {}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _device, _facts, _safe_mode, _wishes
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import access_of, connection_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import Session, SwitchError
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._state import Reader

GATHER = ["link", "rstp", "hosts", "qos", "safe_mode"]


def collect(session: Session, params: dict) -> tuple[dict, list[str]]:
    """The facts of a switch, and what its owner should know."""
    reader, gather, wanted = Reader(session), params["gather"], params["wanted"]
    device = reader.device()
    ports = reader.ports(links="link" in gather, roles="rstp" in gather, hosts="hosts" in gather)
    holder = _safe_mode.of(reader.record(_safe_mode.MENU) if "safe_mode" in gather else {})
    facts = {
        "identity": reader.record("/system/identity").get("name"),
        "device": _facts.identity(device),
        "ports": _facts.ports(ports),
        "bridges": _facts.bridges(ports),
        "hosts": _facts.hosts(ports),
        "qos": _facts.qos(reader.qos()) if "qos" in gather else {},
        "safe_mode": {"enabled": holder.enabled, "holder": holder.holder},
        "due": {} if wanted is None else _wishes.due_of_plan(reader, device, wanted, params["state"] == "present", params["foreign"] == "adopt"),
        "missing": reader.missing,
    }
    return facts, [*_device.warnings(session.name, device), *reader.missing.values()]


def main() -> None:
    """Log in, read, return."""
    spec = {
        **connection_argument_spec(),
        "gather": {"type": "list", "elements": "str", "choices": GATHER, "default": GATHER},
        "wanted": {"type": "dict"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "foreign": {"type": "str", "choices": ["refuse", "adopt"], "default": "refuse"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        session = connect(access_of(module.params))
        facts, warnings = collect(session, module.params)
        session.close()
    except SwitchError as error:
        module.fail_json(msg=str(error))
    for warning in warnings:
        module.warn(warning)
    module.exit_json(changed=False, mikrotik=facts)


if __name__ == "__main__":
    main()

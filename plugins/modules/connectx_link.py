#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the rails of a node what the plan says; documentation and wiring."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connectx_link
short_description: Make the rails of a node what the plan says
version_added: 0.1.0
author:
  - gb10.cluster maintainers (@gb10)
description:
  - Gives both rails of each planned port its address and MTU, persistently and now, through netplan on systemd-networkd, netplan on
    NetworkManager, or NetworkManager where there is no netplan; which one is found out on the machine.
  - Also writes the ARP rules of the rails, the memlock limits and the kernel modules that RDMA programs need. A module that the running kernel
    does not have is a warning.
  - Touches no interface that is no rail of the plan, and nothing at all when something forbids the change; all refusals are shown at once.
  - Every change is made under a rollback that fires by itself. The action plugin of the same name drops the connection, logs in anew and
    confirms, all in one task. When that fails, or the machine reboots before, the old files and the old live state come back and the task fails.
  - A rail without carrier is configured and reported as C(configured, waiting for carrier).
options:
  state:
    description:
      - V(present) makes the rails right. An interface that was ours and is no rail any more goes back to what it was before.
      - V(absent) removes exactly what this module made and brings back what was there before its first run. It needs no O(ports).
        Kernel modules stay loaded.
      - V(confirmed) confirms the rollback that O(run_id) armed. The action plugin does this; a task has no use for it. Done once more it says
        the same from a note, C(/run/gb10-confirmed.json), which the next confirmed run replaces and the next restart of the machine removes.
    type: str
    choices: [present, absent, confirmed]
    default: present
  takeover:
    description:
      - Move other configuration that claims a rail to the backup, if its file holds nothing else; O(state=absent) puts it back.
      - A file that also configures something else is never moved; the refusal prints the edit.
    type: bool
    default: false
  interrupt_jobs:
    description:
      - Change addresses and MTU also while processes hold the RDMA device of the rail open, with the GPU or without; their connections will break.
      - Processes that use the GPU alone, or the RDMA device of a rail that stays as it is, forbid nothing.
    type: bool
    default: false
  confirm_timeout:
    description: Seconds after which the rollback fires unless a new login has confirmed the change, 15 to 3600.
    type: int
    default: 60
  run_id:
    description: Name of this run, by which it recognises its own rollback. The action plugin makes one up.
    type: str
extends_documentation_fragment:
  - gb10.cluster._connectx
  - gb10.cluster._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Contents of other people's files are not shown; they may hold secrets.
  idempotent:
    support: full
    details: A run that finds an unconfirmed change of an earlier one confirms or undoes it, and reports a change.
seealso:
  - module: gb10.cluster.connectx_info
"""

EXAMPLES = r"""
- name: Both rails of every cabled port have their address and MTU, proven over a new login
  gb10.cluster.connectx_link:
    ports: "{{ fabric_plan.nodes[inventory_hostname].ports }}"
    mtu: "{{ fabric_plan.nodes[inventory_hostname].mtu }}"
    interfaces: "{{ fabric_plan.nodes[inventory_hostname].interfaces }}"
    ipv6_link_local: "{{ fabric_plan.nodes[inventory_hostname].ipv6_link_local }}"
  become: true

- name: The same, and a left-over netplan file that defines nothing but rails lies in the backup
  gb10.cluster.connectx_link:
    ports: "{{ fabric_plan.nodes[inventory_hostname].ports }}"
    mtu: "{{ fabric_plan.nodes[inventory_hostname].mtu }}"
    takeover: true
  become: true

- name: The machine is what it was before the first run, the left-over file included
  gb10.cluster.connectx_link:
    state: absent
  become: true
"""

RETURN = r"""
ports:
  description: The rails as they are now, or in check mode as they would be.
  returned: O(state=present)
  type: dict
  sample:
    p0:
      rails:
        - {rail: 0, interface: enp1s0f0np0, address: 10.77.0.1, prefix: 24, mtu: 9000, state: configured}
        - {rail: 1, interface: enP2p1s0f0np0, address: 10.77.1.1, prefix: 24, mtu: 9000, state: "configured, waiting for carrier"}
backend:
  description: What keeps the configuration, V(netplan-networkd), V(netplan-networkmanager) or V(networkmanager).
  returned: success
  type: str
  sample: netplan-networkd
backup:
  description: Folder that holds the record of what was there before the first run, and the files that this run moved there.
  returned: success
  type: dict
  sample: {directory: /var/lib/gb10/link, moved: [/etc/netplan/40-cx7.yaml]}
rollback:
  description:
    - RV(rollback.state) is V(none) when nothing was changed, V(armed) until a new login has confirmed, then V(confirmed). When the task fails it
      is V(restored), or V(incomplete) with the RV(rollback.problems) that were met on the way back, or V(firing) while it is on the way.
  returned: always
  type: dict
  contains:
    id:
      description: The run that armed it.
      type: str
    state:
      description: What became of it.
      type: str
    deadline:
      description: When it fires, in seconds since the epoch.
      type: float
    seconds_left:
      description: Seconds until then.
      type: float
    adopted:
      description: Whether an earlier run armed it and this one only had to prove and confirm it.
      type: bool
    problems:
      description: What did not come back.
      type: list
      elements: str
  sample: {id: 3f0c9a52f0e84d0b8f6d, state: confirmed}
refusals:
  description: Everything that forbids the change, if anything does.
  returned: refusal
  type: list
  elements: str
diff:
  description: Our files and the live state of the rails before and after, the same in check mode.
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._argspec import slice_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._facts import collect
from ansible_collections.gb10.cluster.plugins.module_utils._link import _run
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine


def main() -> None:
    """Run the module."""
    spec = {
        **slice_argument_spec(),
        "state": {"type": "str", "choices": ["present", "absent", "confirmed"], "default": "present"},
        "takeover": {"type": "bool", "default": False},
        "interrupt_jobs": {"type": "bool", "default": False},
        "confirm_timeout": {"type": "int", "default": 60},
        "run_id": {"type": "str"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True, required_if=[("state", "confirmed", ["run_id"])])
    try:
        result = _run.run(Machine(), module.params, module.check_mode, collect)
    except _run.Refused as refused:
        module.fail_json(msg=str(refused), refusals=refused.texts, rollback={"id": None, "state": "none"})
    except _run.Failed as failed:
        module.fail_json(msg=str(failed), rollback=failed.rollback)
    for text in result.pop("warnings"):
        module.warn(text)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

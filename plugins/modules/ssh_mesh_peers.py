#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``ssh_mesh_peers``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_mesh_peers
short_description: Let the nodes of a cluster into a user's SSH files, or take them out
version_added: 0.1.0
description:
  - Writes the public keys of all nodes into C(~/.ssh/authorized_keys), their host keys into C(~/.ssh/gb10/known_hosts), how they are reached into
    C(~/.ssh/config.d/gb10.conf), and a line at the top of C(~/.ssh/config) that includes it; their names also into C(/etc/hosts).
  - In each file our lines stand in a marked block at the top. Everything else stays byte for byte as it is, with owner, mode and links.
  - A run that fails leaves all files as they were.
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Shows our blocks alone. Keys made in the same run are not shown, because check mode can not know them.
  idempotent:
    support: full
extends_documentation_fragment:
  - gb10.cluster._attributes
options:
  state:
    description:
      - With V(absent) our lines, the key pair, and files and folders that were made for them are removed.
      - Other users of the node who still have a mesh are named, and then the names stay in C(/etc/hosts).
        Homes that another machine serves are not looked at, unless the user's own home is on the same file system.
    type: str
    choices: [present, absent]
    default: present
  user:
    description: The user. By default the one who logged in, also when this runs as root. Root is only taken when named.
    type: str
  nodes:
    description: The names of all nodes of the mesh. Those without an element in O(peers) keep the lines they have; others lose them.
    type: list
    elements: str
  peers:
    description: What the nodes tell, RV(gb10.cluster.ssh_mesh_node#module:peer), this node's own among them.
    type: list
    elements: dict
    suboptions:
      name:
        description: The name in the inventory.
        type: str
        required: true
      user:
        description: Who to log in as.
        type: str
        required: true
      port:
        description: The port of sshd.
        type: int
        required: true
      address:
        description: Where a name leads to.
        type: str
        required: true
      aliases:
        description: More names of the machine.
        type: list
        elements: str
        required: true
      addresses:
        description: Other forms under which it is reached.
        type: list
        elements: str
        required: true
      public_key:
        description: Type and key; none in check mode if it would be made.
        type: str
      fresh:
        description: Whether the key pair was made in this run.
        type: bool
        required: true
      host_keys:
        description: Type and key of each host key.
        type: list
        elements: str
        required: true
  hosts_file:
    description: Whether the names are written into C(/etc/hosts), which needs root. With V(false) they are taken out there.
    type: bool
    default: true
author:
  - gb10.cluster maintainers (@gb10)
"""

EXAMPLES = r"""
- name: Every node knows the two nodes
  gb10.cluster.ssh_mesh_peers:
    nodes: [spark-1, spark-2]
    peers: "{{ ['spark-1', 'spark-2'] | map('extract', hostvars, ['node', 'peer']) | list }}"

- name: Nothing of it is left
  gb10.cluster.ssh_mesh_peers:
    state: absent
"""

RETURN = r""" # """

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._system import session
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError, find, of_system
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._exchange import exchange, withdraw
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._peers import refuse, settle

_PEER = {
    "name": {"type": "str", "required": True},
    "user": {"type": "str", "required": True},
    "port": {"type": "int", "required": True},
    "address": {"type": "str", "required": True},
    "aliases": {"type": "list", "elements": "str", "required": True},
    "addresses": {"type": "list", "elements": "str", "required": True},
    "public_key": {"type": "str", "no_log": False},
    "fresh": {"type": "bool", "required": True},
    "host_keys": {"type": "list", "elements": "str", "required": True, "no_log": False},
}


def main() -> None:
    """Read the options, run, answer."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "user": {"type": "str"},
            "nodes": {"type": "list", "elements": "str"},
            "peers": {"type": "list", "elements": "dict", "options": _PEER},
            "hosts_file": {"type": "bool", "default": True},
        },
        required_if=[("state", "present", ("nodes", "peers"))],
        supports_check_mode=True,
    )
    options = module.params
    try:
        home = Home(find(options["user"], os.environ, session(Machine(), os.getpid()).uid))
        if options["state"] == "absent":
            for name, place in (others := _home.others(home)).items():
                fix = f"Take it back as well, with ssh_mesh_user={name}; names in /etc/hosts stay until then."
                module.warn(message("SSH mesh of other users", "none", f"that of {name} in {place}", fix))
            result = withdraw(home, module.check_mode, names_stay=bool(others))
        else:
            if refusals := refuse(options["peers"]):
                raise MeshError(*refusals)
            peers, warnings = settle(options["peers"])
            for warning in warnings:
                module.warn(warning)
            result = exchange(home, options["nodes"], peers, options["hosts_file"], module.check_mode)
    except MeshError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=str(of_system(error)))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

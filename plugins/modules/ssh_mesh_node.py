#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``ssh_mesh_node``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_mesh_node
short_description: Make the key pair of a node and tell what the others must know of it
version_added: 0.1.0
description:
  - Makes an ed25519 key pair for one user of the node, in C(~/.ssh/gb10). The private key never leaves the node, nor is it read by this module.
  - Returns what M(gb10.cluster.ssh_mesh_peers) on the other nodes needs - names, addresses, public key, and the host keys of sshd, which are
    read on the node. They come over the connection that Ansible trusts already, so that nothing has to be trusted on first use.
  - Refuses what sshd or ssh would ignore (owner and mode of the home and what is in C(~/.ssh)), before anything is made.
attributes:
  check_mode:
    support: full
    details: A key that would be made is not known; the diff of a real run does not show it either.
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: With O(rotate=true) each run makes a new key pair.
extends_documentation_fragment:
  - gb10.cluster._attributes
options:
  name:
    description: The name of the node in the inventory, by which the others call it.
    type: str
    required: true
  user:
    description: The user. By default the one who logged in, also when this runs as root. Root is only taken when named.
    type: str
  reached_as:
    description: The name or address that Ansible connects to. It is one more form under which the node is known.
    type: str
  address:
    description:
      - The address to which the others connect when they call the node by a name.
      - By default that of the SSH session, else one of the interface with the default route.
    type: str
  rails:
    description: The addresses of the node on the fabric, more forms under which it is known.
    type: list
    elements: str
    default: []
  rotate:
    description:
      - Replace the key pair. The key before it is used beside the new one until M(gb10.cluster.ssh_mesh_proof) has proven the
        new one on all nodes, so that nobody is locked out meanwhile.
      - If such a key is still there, the last rotation is not finished, and there is a warning instead of a new key.
    type: bool
    default: false
author:
  - gb10.cluster maintainers (@gb10)
"""

EXAMPLES = r"""
- name: The node has a key pair, and what the others need is registered
  gb10.cluster.ssh_mesh_node:
    name: "{{ inventory_hostname }}"
    reached_as: "{{ ansible_host | default(inventory_hostname) }}"
  register: node
"""

RETURN = r"""
user:
  description: The user of the mesh on this node.
  returned: success
  type: str
  sample: nvidia
peer:
  description: What the others must know, an element of O(gb10.cluster.ssh_mesh_peers#module:peers).
  returned: success
  type: dict
  contains:
    name: {description: The name in the inventory., type: str}
    user: {description: Who to log in as., type: str}
    port: {description: "sshd's port, that of the session.", type: int}
    address: {description: Where a name leads to., type: str}
    aliases: {description: More names of the machine., type: list, elements: str}
    addresses: {description: Other forms under which it is reached., type: list, elements: str}
    public_key: {description: Type and key; None if check mode did not make it., type: str}
    fresh: {description: Whether the key pair was made in this run., type: bool}
    host_keys: {description: Type and key of each host key., type: list, elements: str}
  sample:
    {name: spark-1, user: nvidia, port: 22, address: 192.168.10.11, aliases: [], addresses: [10.77.0.1, 10.77.1.1],
     public_key: "ssh-ed25519 AAAA...", fresh: false, host_keys: ["ssh-ed25519 AAAA..."]}
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._system import session
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError, find, of_system
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home, refuse
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._keys import ensure
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._node import describe


def main() -> None:
    """Read the options, run, answer."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "user": {"type": "str"},
            "reached_as": {"type": "str"},
            "address": {"type": "str"},
            "rails": {"type": "list", "elements": "str", "default": []},
            "rotate": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    options = module.params
    name = options["name"]
    came = session(Machine(), os.getpid())
    try:
        home = Home(find(options["user"], os.environ, came.uid))
        refuse(home)
        parts = describe(name, os.uname().nodename, options["reached_as"] or name, options["address"], options["rails"], came.connection)
        pair = ensure(home, name, options["rotate"], module.check_mode)
    except MeshError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=str(of_system(error)))
    if pair["unfinished"]:
        fix = "This run goes on with it; rotate again when all nodes are proven."
        module.warn(message(f"rotation of the key of {name}", "the last one to be finished", "the key before it", fix))
    peer = {**parts, "user": home.account.name, "public_key": pair["public_key"], "fresh": pair["fresh"]}
    module.exit_json(changed=pair["changed"], diff=pair["diff"], user=home.account.name, peer=peer)


if __name__ == "__main__":
    main()

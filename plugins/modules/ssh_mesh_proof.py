#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``ssh_mesh_proof``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_mesh_proof
short_description: Prove that a node reaches every other by SSH without a question
version_added: 0.1.0
description:
  - Logs in to every node by its name, as the user would and with that user's settings, and runs C(true) there. Four at a time; what fails is tried once more.
  - Fails with all logins that do not work, each with what ssh said and what to do.
  - After a rotation the new key alone is proven; when it works everywhere, the key before it is removed.
  - In check mode nothing is tried, because the changes that it would prove are not there.
attributes:
  check_mode:
    support: full
  diff_mode:
    support: N/A
  idempotent:
    support: full
extends_documentation_fragment:
  - gb10.cluster._attributes
options:
  name:
    description: The name of this node in the inventory.
    type: str
    required: true
  user:
    description: The user. By default the one who logged in, also when this runs as root. Root is only taken when named.
    type: str
  peers:
    description: The names to log in to.
    type: list
    elements: str
    required: true
  complete:
    description: Whether O(peers) are all nodes of the mesh. Only then the key before a rotation is removed; a node that is missing may know no other.
    type: bool
    default: false
  timeout:
    description: Seconds until a connection must stand, 1 to 600. A login may take 10 more.
    type: int
    default: 10
author:
  - gb10.cluster maintainers (@gb10)
"""

EXAMPLES = r"""
- name: Every node can log in to every other
  gb10.cluster.ssh_mesh_proof:
    name: "{{ inventory_hostname }}"
    peers: "{{ ansible_play_hosts }}"
"""

RETURN = r"""
logins:
  description: One for each peer; none in check mode.
  returned: always
  type: list
  elements: dict
  contains:
    peer: {description: The name., type: str}
    works: {description: Whether the login worked., type: bool}
    message: {description: What is wrong and what to do; None if nothing is., type: str}
  sample: [{peer: spark-2, works: true, message: null}]
"""

import os
from contextlib import nullcontext

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._system import session
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError, acting_as, find, of_system
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._keys import forget
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._proof import prove, without_previous_key


def main() -> None:
    """Read the options, run, answer."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "user": {"type": "str"},
            "peers": {"type": "list", "elements": "str", "required": True},
            "complete": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    options = module.params
    if module.check_mode:
        module.exit_json(changed=False, logins=[])
    try:
        if not 1 <= options["timeout"] <= 600:
            raise MeshError(message("ssh_mesh_timeout", "1 to 600 seconds", options["timeout"], "10 is enough for most networks."))
        home = Home(find(options["user"], os.environ, session(Machine(), os.getpid()).uid))
        with acting_as(home.account):
            rotated = options["complete"] and home.previous.exists()
        with without_previous_key(home) if rotated else nullcontext():
            logins = prove(home, options["name"], options["peers"], options["timeout"])
        refused = [login["message"] for login in logins if not login["works"]]
        if rotated and not refused:
            with acting_as(home.account):
                forget(home)
    except MeshError as error:
        module.fail_json(msg=str(error), logins=[])
    except OSError as error:
        module.fail_json(msg=str(of_system(error)), logins=[])
    if refused:
        module.fail_json(msg="\n".join(map(str, refused)), logins=logins)
    module.exit_json(changed=rotated, logins=logins)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``nccl_settings``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_settings
short_description: Write NCCL's settings of a node and prove that NCCL takes them
version_added: 0.1.0
description:
  - Writes a marked block at the top of O(conf), where NCCL finds it for every program, and leaves all other lines as they are.
  - Writes the same settings to O(environment_file), which systemd (C(EnvironmentFile)) and docker (C(--env-file)) can read.
  - Tells who else on the node sets the same variables to something else, and whether that wins.
  - With O(library), NCCL itself proves the settings by choosing its bootstrap interface under them. This needs no GPU.
  - A run that fails leaves both files as they were.
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - gb10.cluster._attributes
options:
  state:
    description: With V(absent) our block and our file are removed.
    type: str
    choices: [present, absent]
    default: present
  settings:
    description: >-
      Names and values, as the filter P(gb10.cluster.nccl_settings#filter) makes them. Values are strings of plain characters.
      Needed for V(present).
    type: dict
  conf:
    description: NCCL's configuration file. One that was empty before is empty again after V(absent), one that was not there is gone.
    type: path
    default: /etc/nccl.conf
  environment_file:
    description: The environment file. It holds nothing else; a file that somebody else wrote is refused, and left alone with V(absent).
    type: path
    default: /etc/gb10/nccl.env
  library:
    description:
      - The library to prove the settings with, RV(gb10.cluster.nccl_library#module:library).
      - Nothing is proven if this is not given, or in check mode when something would change.
    type: path
author:
  - gb10.cluster maintainers (@gb10)
"""

EXAMPLES = r"""
- name: Every program on the node gets the settings of the plan
  gb10.cluster.nccl_settings:
    settings: "{{ (fabric_plan.nodes[inventory_hostname] | gb10.cluster.nccl_settings(inventory_hostname, node.connectx)).settings }}"
    library: "{{ nccl.library }}"

- name: The settings are gone, other lines of /etc/nccl.conf are still there
  gb10.cluster.nccl_settings:
    state: absent
"""

RETURN = r"""
bootstrap:
  description: The C(interface) that NCCL chose for its bootstrap and the C(address) on it; None if nothing was proven.
  returned: success
  type: dict
  sample: {interface: enP7s7, address: 192.168.10.11}
shadowed:
  description:
    - Lines elsewhere that set one of the settings to something else.
    - RV(shadowed[].wins) tells whether that line comes before ours; each is also a warning.
  returned: success
  type: list
  elements: dict
  contains:
    file: {description: The file., type: str}
    line: {description: Number of the line., type: int}
    name: {description: The variable., type: str}
    value: {description: The value there., type: str}
    ours: {description: The value here., type: str}
    wins: {description: Whether it comes before ours., type: bool}
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError, of_system
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._places import homes, sources
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._settings import refuse, shadows, warnings
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._telling import tell


def main() -> None:
    """Read the options, run, answer."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "settings": {"type": "dict"},
            "conf": {"type": "path", "default": "/etc/nccl.conf"},
            "environment_file": {"type": "path", "default": "/etc/gb10/nccl.env"},
            "library": {"type": "path"},
        },
        required_if=[("state", "present", ("settings",))],
        supports_check_mode=True,
    )
    options = module.params
    settings = {name: str(value) for name, value in (options["settings"] or {}).items() if options["state"] == "present"}
    if refusals := refuse(settings):
        module.fail_json(msg="\n".join(refusals))
    library = Path(options["library"]) if options["library"] else None
    try:
        result = tell(settings, Path(options["conf"]), Path(options["environment_file"]), library, module.check_mode)
    except NcclError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=str(of_system(error, options["conf"])))
    shadowed = shadows(settings, sources(Path("/"), homes()))
    for warning in warnings(shadowed):
        module.warn(warning)
    module.exit_json(**result, shadowed=shadowed)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action ``fabric_files``, which needs no module on any node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_files
short_description: Write text files on the machine that runs Ansible
version_added: 0.1.0
description:
  - Writes what the roles keep of a fabric, such as its plan and its cabling page, all of it or nothing. Each file is replaced in one step.
  - Nothing is executed on the host of the task, whatever its connection, and nothing becomes another user.
  - Existing files keep their mode, and their owner where root writes them; new ones can be read by everybody.
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
  folder:
    description: Where the files lie. Made when it is missing.
    type: path
    required: true
  files:
    description: Name of each file in the folder, and its text.
    type: dict
    required: true
author:
  - gb10.cluster maintainers (@gb10)
"""

EXAMPLES = r"""
- name: Keep the plan beside the inventory
  gb10.cluster.fabric_files:
    folder: "{{ inventory_dir }}/.gb10"
    files:
      plan.json: "{{ fabric_plan | ansible.builtin.to_nice_json }}"
  run_once: true
"""

RETURN = r"""# """

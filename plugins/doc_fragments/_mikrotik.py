# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How to reach a MikroTik switch, and how carefully to change it."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of C(module_utils/_routeros/_argspec.py)."""

    DOCUMENTATION = r"""
options:
  host:
    description: Name or address of the switch.
    type: str
    required: true
  port:
    description: TCP port of its SSH service.
    type: int
    default: 22
  username:
    description:
      - User on the switch. It needs the policies C(ssh), C(read), C(test), and for changes C(write) and C(ftp).
      - Console options after a C(+) are cut off; the modules add their own.
    type: str
    default: admin
  password:
    description: Password of the user. RouterOS refuses it once the user has an SSH key, unless told otherwise.
    type: str
  private_key_file:
    description: File with the private key of the user. Without it and without O(password) the SSH agent is asked.
    type: path
  timeout:
    description: Seconds within which the switch must accept the connection, and after which its silence counts as a lost connection.
    type: int
    default: 30
  host_key_checking:
    description: Whether the switch must present a host key that is known already.
    type: bool
    default: true
  known_hosts_file:
    description: File with known host keys in OpenSSH's format. By default the one of the user who runs Ansible.
    type: path
  called:
    description: What messages call the switch. By default O(host), with O(port) if that is not 22.
    type: str
requirements:
  - netmiko >= 4.8 in the Python that runs the module, which is the control node's
notes:
  - Runs on the control node and talks to the switch over SSH, with one login.
"""

    CHANGE = r"""
options:
  safe_mode_wait:
    description: Seconds to wait for a safe mode that somebody else holds. It is never taken away from them.
    type: int
    default: 60
  keep_exports:
    description:
      - Before the first change the configuration is exported to a file on the switch. So many of these files are kept, the newest.
      - V(0) keeps all of them.
    type: int
    default: 5
notes:
  - Every change is a transaction in RouterOS' safe mode. It is read back, proven by a second login and then released;
    when anything goes wrong before that, the switch undoes it.
"""

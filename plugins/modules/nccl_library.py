#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``nccl_library``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_library
short_description: Put one exact build of NCCL on a node
version_added: 0.1.0
description:
  - Installs NCCL from NVIDIA's wheel, from a wheel file, from apt, or takes an existing build, and proves it by loading the
    library and asking it for its version. Header and library must agree. This needs neither a GPU nor a driver.
  - A wheel is unpacked into O(prefix)C(/VERSION), where it appears by one rename when it is complete and checked. The link
    O(prefix)C(/current) leads to the version in use, and the dynamic loader finds it. Other versions stay where they are.
  - A run that fails leaves the node as it was.
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
    description:
      - With V(staged), a wheel is unpacked, checked and proven in the folder of its version, and nothing else is touched, so that V(present)
        takes no time later. Not for V(apt) and V(path) as O(source).
      - With V(absent), whatever this module put there by any source is removed; packages that were there before it are only released.
    type: str
    choices: [present, staged, absent]
    default: present
  source:
    description:
      - V(wheel) fetches C(nvidia-nccl-cu13) with pip, under the node's own pip configuration.
      - V(file) unpacks such a wheel that lies on the node already.
      - V(apt) installs C(libnccl2) and C(libnccl-dev) in exactly this version and holds them there.
      - V(path) takes a build that somebody else put at O(path), which is never changed.
    type: str
    choices: [wheel, file, apt, path]
    default: wheel
  version:
    description: The release of NCCL, C(X.Y.Z). For V(apt) the newest package of that release is taken.
    type: str
    default: 2.30.7
  minimum_version:
    description: Refuse a O(version) below this one, C(fabric_plan.nodes[inventory_hostname].nccl.minimum_version).
    type: str
  wheel:
    description: The wheel for O(source=file). Only needed when it has to be unpacked.
    type: path
  sha256:
    description:
      - What the wheel must hash to, in hex. A version that was unpacked from another wheel is replaced.
      - Without it a wheel of the default O(version) must be the one that pypi.org has. For another version nothing is known, which is a warning.
    type: str
  path:
    description: A folder with C(lib/libnccl.so.2) and C(include/nccl.h), for O(source=path).
    type: path
  prefix:
    description: Where versions lie.
    type: path
    default: /opt/gb10/nccl
  loader:
    description: Whether every program on the node gets this NCCL, by a file in C(/etc/ld.so.conf.d). Without effect for V(apt).
    type: bool
    default: true
  wait:
    description: Seconds to wait for another run that installs here before the state is read. It ends with that run.
    type: int
    default: 0
author:
  - gb10.cluster maintainers (@gb10)
"""

EXAMPLES = r"""
- name: NCCL 2.30.7 is in use, older versions stay beside it
  gb10.cluster.nccl_library:
    version: 2.30.7
    minimum_version: "{{ fabric_plan.nodes[inventory_hostname].nccl.minimum_version }}"

- name: The same from a file, on a node without internet
  gb10.cluster.nccl_library:
    source: file
    wheel: /var/tmp/nvidia_nccl_cu13-2.30.7-py3-none-manylinux_2_18_aarch64.whl
    sha256: "{{ nccl_wheel_sha256 }}"

- name: Nothing of it is left
  gb10.cluster.nccl_library:
    state: absent
"""

RETURN = r"""
installed:
  description: Whether the node was as asked for before this run.
  returned: success
  type: bool
source:
  description: Where the library comes from.
  returned: when present
  type: str
version:
  description: The release of NCCL.
  returned: when present
  type: str
  sample: 2.30.7
version_code:
  description: The same as NCCL counts it.
  returned: when present
  type: int
  sample: 23007
library:
  description: Real path of the library that programs get, or with O(state=staged) could get. None in check mode as long as it is not installed.
  returned: when present
  type: str
  sample: /opt/gb10/nccl/2.30.7/lib/libnccl.so.2
cuda:
  description: The CUDA release it was built with. None in check mode as long as it is not installed.
  returned: when present
  type: str
  sample: "13.3"
build:
  description: A text that is equal for equal builds. None in check mode as long as it is not installed.
  returned: when present
  type: str
  sample: 2.30.7+cuda13.3 git a5187fa2e sha256 618968ee27704175
installing:
  description:
    - How far another run is that installs here at this moment, as C(step) (V(start), V(download) or V(unpack)) and C(megabytes) (10^6 bytes).
    - None if there is none.
  returned: success
  type: dict
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._nccl._change import ensure
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError, of_system, undo_when_told_to_end
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._wanted import Machine, Wanted
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged


def main() -> None:
    """Read the options, run, answer."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "staged", "absent"], "default": "present"},
            "source": {"type": "str", "choices": ["wheel", "file", "apt", "path"], "default": "wheel"},
            "version": {"type": "str", "default": "2.30.7"},
            "minimum_version": {"type": "str"},
            "wheel": {"type": "path"},
            "sha256": {"type": "str"},
            "path": {"type": "path"},
            "prefix": {"type": "path", "default": "/opt/gb10/nccl"},
            "loader": {"type": "bool", "default": True},
            "wait": {"type": "int", "default": 0},
        },
        required_if=[("source", "path", ("path",))],
        supports_check_mode=True,
    )
    undo_when_told_to_end()
    paths = {name: Path(module.params[name]) if module.params[name] else None for name in ("prefix", "wheel", "path")}
    try:
        result = ensure(Wanted(**{**module.params, **paths}), Machine(), module.check_mode)
    except (NcclError, Damaged) as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=str(of_system(error, module.params["prefix"])))
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

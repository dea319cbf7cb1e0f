#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``nccl_info``."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_info
short_description: Tell which NCCL programs on a node get
version_added: 0.1.0
description:
  - Loads C(libnccl.so.2) as a program would and reads its build from the file, wherever it came from.
  - Where the dynamic loader knows none, the one that M(gb10.cluster.nccl_library) made current is read.
  - A node without NCCL is a result, not a failure. Needs neither a GPU nor a driver, and changes nothing.
author:
  - gb10.cluster maintainers (@gb10)
extends_documentation_fragment:
  - gb10.cluster._attributes.info
options:
  prefix:
    description: Where M(gb10.cluster.nccl_library) puts versions.
    type: path
    default: /opt/gb10/nccl
seealso:
  - module: gb10.cluster.nccl_library
"""

EXAMPLES = r"""
- name: Read which NCCL programs on this node get
  gb10.cluster.nccl_info:
  register: nccl

- name: Show it
  ansible.builtin.debug:
    msg: "{{ nccl.build or nccl.error }}"
"""

RETURN = r"""
version:
  description: The release of NCCL; null when none can be loaded.
  returned: always
  type: str
  sample: 2.30.7
version_code:
  description: What C(ncclGetVersion) answers; null when none can be loaded.
  returned: always
  type: int
  sample: 23007
library:
  description: Real path of the library.
  returned: always
  type: str
  sample: /opt/gb10/nccl/2.30.7/lib/libnccl.so.2
cuda:
  description: The CUDA release it was built with.
  returned: always
  type: str
  sample: "13.3"
build:
  description: A text that is equal for equal builds; null for a library that does not tell.
  returned: always
  type: str
  sample: 2.30.7+cuda13.3 git a5187fa2e sha256 618968ee27704175
error:
  description: Why none can be loaded.
  returned: always
  type: str
  sample: "libnccl.so.2: cannot open shared object file: No such file or directory"
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import read_build
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._probe import SONAME, load
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._wanted import library


def found(prefix: Path) -> dict[str, Any]:
    """What the loader takes, else what is current below ``prefix``; the error is the loader's when there is neither."""
    own = library(prefix / "current")
    loaded = load(SONAME)
    if loaded.error and own.exists():
        loaded = load(str(own))
    build = read_build(Path(loaded.path)) if loaded.path else None
    return {
        "version": build.version if build else None,
        "version_code": loaded.code,
        "library": loaded.path,
        "cuda": build.cuda if build else None,
        "build": build.text if build else None,
        "error": loaded.error or (None if build else f"{loaded.path} does not tell its version"),
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={"prefix": {"type": "path", "default": "/opt/gb10/nccl"}}, supports_check_mode=True)
    module.exit_json(changed=False, **found(Path(module.params["prefix"])))


if __name__ == "__main__":
    main()

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fail unless the recap of a playbook's output says that nothing changed on any host: ``recap.py FILE``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROW = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=\d+\s+failed=\d+", re.MULTILINE)


def changes(output: str) -> dict[str, int]:
    """How many tasks changed something, for each host of the recap of ``ansible-playbook`` (its default callback)."""
    return {host: int(changed) for host, changed in ROW.findall(output.rpartition("PLAY RECAP")[2])}


def main() -> int:
    """Read the output in a file and say which hosts changed."""
    found = changes(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(", ".join(f"{host} changed={changed}" for host, changed in found.items()) or "no recap")
    return not found or any(found.values())


if __name__ == "__main__":
    sys.exit(main())

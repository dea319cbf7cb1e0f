# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that are not in the inventory, at the far end of a cable.

A stranger is a network namespace with the two devices of one port and a process that speaks on both: ordinary traffic, or the
collection's own discovery of neighbours in another run. It falls silent after ``PATIENCE``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from . import cabling, chatter, network
from .chatter import PATIENCE
from .inventory import Node
from .shell import LabError, Process, end_process
from .state import Lab

WORKER = Path(__file__).resolve().parents[3] / "plugins/module_utils/_neighbors_worker.py"
SAYS = ("other-run", "traffic")


def job(name: str, devices: list[str]) -> dict[str, Any]:
    """What the collection's discovery is told in another run; see its own documentation."""
    interfaces = [{"interface": device, "port": "p0", "rail": rail} for rail, device in enumerate(devices)]
    machine = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
    waits = {"carrier_wait": PATIENCE, "listen": PATIENCE}
    return {"run": "another-run", "machine": machine, "node": name, "interfaces": interfaces, "planned": {"p0": None}, "raised": [], **waits}


def arrive(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Plug a stranger into the far end of a cable."""
    if options["says"] not in SAYS or options["name"] in [each.name for each in lab.up.nodes]:
        found = f"{options['says']} and {options['name']}"
        raise LabError(f"--option says, name - expected {' or '.join(SAYS)}, and no node of the inventory, found {found}. Correct them.")
    number = 1 + max([0, *(int(row["memory"]["options"]["number"]) for row in lab.faults if row["name"] == "foreign-node" and row["memory"])])
    devices = network.add_machine(lab, number)
    try:
        memory = cabling.put(lab, "foreign-node", node, options | {"number": str(number)})
    except LabError:
        network.remove_machine(lab, number)
        raise
    words = [sys.executable, str(Path(chatter.__file__).resolve()), *devices]
    if options["says"] == "other-run":
        folder = lab.folder / "strangers" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.json").write_text(json.dumps(job(options["name"], devices)), encoding="utf-8")
        (folder / "collecting").touch()
        words = [sys.executable, "-I", str(shutil.copy(WORKER, folder / "worker.py"))]
    return memory | Process(words, ("ip", "netns", "exec", lab.namespace(f"f{number}"))).memory


def leave(lab: Lab, node: Node, memory: dict[str, Any]) -> None:
    """Take the stranger away and plug the cable in where it was."""
    cabling.mend(lab, node, memory)
    end_process(memory)
    network.remove_machine(lab, int(memory["options"]["number"]))

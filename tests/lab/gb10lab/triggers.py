# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that strike in the middle of a change: a process on the host waits for the moment and acts.

Moments: ``now``; ``armed``: the collection's rollback is armed; ``file``: its netplan file or NetworkManager profile is there;
``applied``: armed and a rail has its new address.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import network, power
from .inventory import Node
from .shell import LabError, Process, end_process, run
from .state import Lab

ARMED = "var/lib/gb10/rollback/armed.json"
LOCK = "/run/gb10-link.lock"
FILES = ("etc/netplan/60-gb10-fabric.yaml", "etc/NetworkManager/system-connections/gb10-*.nmconnection")
MOMENTS = ("now", "armed", "file", "applied")
#: Seconds after which a waiting process gives up by itself.
PATIENCE = 1800.0
PROGRAM = Path(__file__).resolve().parents[1] / "lab.py"


def come(lab: Lab, node: Node, pid: int, moment: str) -> bool:
    """Whether a moment has come on a node whose first process is ``pid``."""
    root = Path(f"/proc/{pid}/root")
    if moment == "file":
        return any(next(root.glob(pattern), None) for pattern in FILES)
    if moment in ("armed", "applied") and not (root / ARMED).exists():
        return False
    return moment != "applied" or any(each["family"] == "inet" for row in network.live(lab, node).values() for each in row["addr_info"])


def _strike_cut(lab: Lab, node: Node, _pid: int, heal: float) -> None:
    network.management(lab, node, "down")
    if heal:
        time.sleep(heal)
        network.management(lab, node, "up")


def _strike_kill(_lab: Lab, _node: Node, pid: int, _heal: float) -> None:
    # A pipelined module has no name in its command line: it is who holds the lock. Looked for from here: a process in the node comes too late.
    space = os.readlink(f"/proc/{pid}/ns/pid")
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(process / "ns/pid") == space and any(os.readlink(file) == LOCK for file in (process / "fd").iterdir()):
                os.kill(int(process.name), signal.SIGKILL)


def _strike_reboot(lab: Lab, node: Node, _pid: int, _heal: float) -> None:
    run(*lab.inside(node), "systemctl", "reboot", "--force", check=False)


def _strike_power(lab: Lab, node: Node, _pid: int, _heal: float) -> None:
    power.off(lab, node)


STRIKES: dict[str, Callable[[Lab, Node, int, float], None]] = {
    "cut": _strike_cut,
    "kill": _strike_kill,
    "reboot": _strike_reboot,
    "power": _strike_power,
}


def watch(lab: Lab, node: Node, strike: str, moment: str, heal: float) -> None:
    """Wait for the moment, then strike. Runs in a process of its own, which must not wait for a processor: the moment passes."""
    with contextlib.suppress(PermissionError):
        os.nice(-15)
    end = time.monotonic() + PATIENCE
    pid = lab.pid(node)
    while not come(lab, node, pid, moment):
        if time.monotonic() > end or not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.03)
    STRIKES[strike](lab, node, pid, heal)


def _arm(strike: str, lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    if options["when"] not in MOMENTS:
        raise LabError(f"--option when - expected {', '.join(MOMENTS)}, found {options['when']}. Correct it.")
    words = [sys.executable, str(PROGRAM), "strike", "--name", lab.name, node.name, strike, options["when"], options.get("heal", "0")]
    process = Process(words)
    if options["when"] == "now" and options.get("heal", "0") == "0":
        if process.wait():
            raise LabError(f"{strike} of {node.name} - expected it at once, found that `{' '.join(words)}` failed. Run that by hand.")
    return process.memory


def cut(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Cut the management link at the moment, for ``heal`` seconds or until it is cleared."""
    return _arm("cut", lab, node, options)


def kill(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Kill the module at the moment."""
    return _arm("kill", lab, node, options)


def reboot(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Reboot the node at the moment."""
    return _arm("reboot", lab, node, options)


def switch_off(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Cut the power at the moment."""
    return {"options": {}} | _arm("power", lab, node, options)


def switch_on(lab: Lab, node: Node, memory: dict[str, Any]) -> None:
    """End the waiting process and switch the node on."""
    end_process(memory)
    power.on(lab, node, memory)


def end(_lab: Lab, _node: Node, memory: dict[str, Any]) -> None:
    """End the waiting process."""
    end_process(memory)


def heal(lab: Lab, node: Node, memory: dict[str, Any]) -> None:
    """End the waiting process and mend the management link."""
    end_process(memory)
    network.management(lab, node, "up")

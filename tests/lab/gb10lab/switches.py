# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated switches of a lab, seen from outside: one process has them all; it is asked over a socket in the lab's folder.

A request is a line of JSON with what to ``do``, the answer is another one. See ``switchroom`` for what it understands.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Any

from .inventory import Switch
from .shell import LabError, Process, end_process
from .state import Lab

PROGRAM = Path(__file__).resolve().parents[1] / "lab.py"
PLUGIN = Path(__file__).with_name("switch_vars.py")
START_TIMEOUT = 60.0


def ask(lab: Lab, request: dict[str, Any]) -> Any:
    """Ask the process of the switches; ``LabError`` with its words when it can not do that."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.settimeout(60)
            connection.connect(str(lab.folder / "switches.sock"))
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
        except (OSError, ValueError) as error:
            raise LabError(f"switches of {lab.name} - expected an answer, found {error or 'none'}. Run `lab.py up --name {lab.name}`.") from error
    if "error" in answer:
        raise LabError(answer["error"])
    return answer["result"]


def start(lab: Lab) -> None:
    """Start the process and wait until it answers; note how to reach every switch."""
    if not lab.up.managed:
        return
    (lab.folder / "switches").mkdir(exist_ok=True)
    accounts = {switch.name: {"user": switch.user, "password": secrets.token_urlsafe(9)} for switch in lab.up.managed}
    private = lab.folder / "switches/accounts.json"
    private.touch(0o600)
    private.write_text(json.dumps(accounts), encoding="utf-8")
    process = Process([sys.executable, str(PROGRAM), "switchroom", "--name", lab.name])
    lab.switchroom = process.memory
    lab.save()
    end = time.monotonic() + START_TIMEOUT
    while True:
        try:
            reached = ask(lab, {"do": "reach"})
            break
        except LabError:
            if process.ended() or time.monotonic() > end:
                raise LabError(f"switches - expected them to answer, found that they do not. See {lab.folder}/switches/log.") from None
            time.sleep(0.05)
    introduce(lab, {name: accounts[name] | where for name, where in reached.items()})


def introduce(lab: Lab, known: dict[str, dict[str, Any]]) -> None:
    """Add what ansible needs to know: host keys to ``known_hosts``, and variables for the switches by a plugin beside ``ansible.cfg``."""
    hosts = lab.folder / "known_hosts"
    with hosts.open("a", encoding="ascii") as file:
        file.writelines(row["known_hosts_line"] for row in known.values())
    folder = lab.folder / "vars"
    folder.mkdir(exist_ok=True)
    shutil.copy(PLUGIN, folder / "gb10_lab_switches.py")
    write_variables(lab, {name: variables(lab, row) for name, row in known.items()})


def variables(lab: Lab, row: dict[str, Any]) -> dict[str, Any]:
    """The variables of one switch."""
    return {
        "ansible_host": row["host"],
        "ansible_port": row["port"],
        "ansible_user": row["user"],
        "ansible_password": row["password"],
        "fabric_switch_known_hosts_file": str(lab.folder / "known_hosts"),
    }


def write_variables(lab: Lab, rows: dict[str, dict[str, Any]]) -> None:
    """Write the variables of all switches; they hold passwords."""
    path = lab.folder / "vars/switches.json"
    path.touch(0o600)
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def read_variables(lab: Lab) -> dict[str, dict[str, Any]]:
    """The variables of all switches."""
    rows: dict[str, dict[str, Any]] = json.loads((lab.folder / "vars/switches.json").read_text(encoding="utf-8"))
    return rows


def stop(lab: Lab) -> None:
    """End the process."""
    if lab.switchroom:
        end_process(lab.switchroom)


def answers(lab: Lab, switch: Switch) -> bool:
    """Whether a switch is there; one that nobody may log in to always is."""
    if not switch.managed:
        return True
    try:
        return switch.name in ask(lab, {"do": "reach"})
    except LabError:
        return False

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arming, reading and confirming the rollback; what it does when it fires is in ``_rollback.py``.

A transient timer does not survive a reboot, the changed file does: so a boot-time unit fires it too (lab trial, systemd 257).
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import sys
from typing import Any, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils import _records, _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._names import ROLLBACK_ARMED, ROLLBACK_DIR
from ansible_collections.gb10.cluster.plugins.module_utils._link._live import State
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine, Meta

UNIT = "gb10-rollback"
BOOT_UNIT = f"/etc/systemd/system/{UNIT}-boot.service"
BOOT_LINK = f"/etc/systemd/system/multi-user.target.wants/{UNIT}-boot.service"
LOCK = "/run/gb10-link.lock"
LAST = "/var/lib/gb10/last-rollback.json"
NOTE = "/run/gb10-confirmed.json"
"""The result of the run that was confirmed last, for one that did not hear the answer. The machine's next start takes it away."""
RESULT = f"{ROLLBACK_DIR}/result.json"
SCRIPT = f"{ROLLBACK_DIR}/restore.py"

_NEW = f"{ROLLBACK_DIR}.new"
_DEBRIS = f"rm -rf {ROLLBACK_DIR} {_NEW}; rmdir --ignore-fail-on-non-empty {os.path.dirname(ROLLBACK_DIR)}; rm -f {BOOT_LINK} {BOOT_UNIT}"
"""What tidies up at boot where the power went before there was something to put back, or after it was put back or confirmed."""


class Kept(TypedDict):
    """A file as ``_rollback.keep`` describes it: ``meta`` is None when there was none."""

    path: str
    meta: tuple[int, int, int, int, str | None] | None


class Command(TypedDict):
    """A command of the rollback; ``boot`` ones are also run by the boot-time unit."""

    argv: list[str]
    boot: bool


class Armed(TypedDict):
    """What is put back when nobody confirms, and ``deadline`` (epoch seconds), when; ``boot_files``, ``unit``: what vanishes with it,
    ``last``: where the outcome is left, ``lock``: the file whose lock a run holds."""

    id: str
    deadline: float
    interfaces: list[str]
    files: list[Kept]
    commands: list[Command]
    live: dict[str, State | None]
    unit: str
    boot_files: list[str]
    last: str
    lock: str


class Stored(TypedDict):
    """The module's result so far."""

    changed: bool
    ports: dict[str, Any]
    backend: str | None
    backup: dict[str, Any]
    rollback: dict[str, Any]
    diff: list[dict[str, str]]
    warnings: list[str]


class Found(Armed):
    """A rollback, and whether it began to fire and did not end."""

    firing: bool


class Outcome(TypedDict):
    """How a rollback ended that fired: ``at`` is ``boot`` or ``run``, ``when`` in epoch seconds."""

    id: str
    when: float
    at: str
    problems: list[str]


def load(machine: Machine, path: str, kind: type[_records.Kind]) -> _records.Kind | None:
    """Data that this module keeps in a file, None when there is no such file; raises ``_records.Damaged``."""
    content = machine.read(path)
    return None if content is None else _records.parse(path, content, kind, "Put the links right by hand, then remove that file.")


def plain(mode: int = 0o600) -> Meta:
    """Attributes of a new file of ours: root's, written now."""
    return Meta(mode, 0, 0, 0, None)


def unit_text(python: str) -> str:
    """The boot-time unit."""
    return f"""\
[Unit]
Description=Put back what connectx_link changed and nobody confirmed
DefaultDependencies=no
RequiresMountsFor={ROLLBACK_DIR}
After=local-fs.target systemd-udevd.service
Before=systemd-sysctl.service network-pre.target systemd-networkd.service NetworkManager.service
Wants=network-pre.target

[Service]
Type=oneshot
ExecStart=/bin/sh -c "test ! -e {SCRIPT} || exec {python} -I {SCRIPT} boot; {_DEBRIS}"
TimeoutStartSec=120

[Install]
WantedBy=multi-user.target
"""


def arm(machine: Machine, run_id: str, timeout: int, paths: list[str], commands: list[Command], live: dict[str, State | None]) -> str:
    """Make everything ready to go back, then start the timer; returns a refusal, empty when it is armed. Until then nothing has been changed.
    The caller holds the lock and knows that nothing is armed.

    :param timeout: seconds until it fires.
    :param paths: files that will be written or removed.
    :param commands: what activates the old files. :param live: what is put back, as ``_live.capture`` gives it.
    """
    python = sys.executable or "/usr/bin/python3"
    # a name of its own: the service of an earlier run may still be at work when this one arms
    unit = f"{UNIT}-run-{re.sub('[^0-9A-Za-z]', '', run_id)[:8]}"
    data: Armed = {
        "id": run_id,
        "deadline": machine.now() + timeout,
        "interfaces": sorted(live),
        "files": [],
        "commands": commands,
        "live": live,
        "unit": unit,
        "boot_files": [BOOT_LINK, BOOT_UNIT],
        "last": LAST,
        "lock": LOCK,
    }
    timer = ["systemd-run", "--quiet", "--collect", f"--unit={unit}", f"--on-active={timeout}", "--timer-property=AccuracySec=100ms"]
    try:
        # debris: a run that was killed while arming, or that stored its result while the rollback vanished
        machine.remove(_NEW)
        machine.remove(ROLLBACK_DIR)
        entries: list[Any] = [_rollback.keep(machine, path, _NEW) for path in paths]
        data["files"] = entries
        machine.write(f"{_NEW}/restore.py", inspect.getsource(_rollback).encode(), plain())
        machine.write(f"{_NEW}/{_rollback.ARMED}", json.dumps(data).encode(), plain())
        # the unit first: from the rename on, whatever happens, the next boot fires
        machine.write(BOOT_UNIT, unit_text(python).encode(), plain(0o644))
        machine.write(BOOT_LINK, b"", Meta(0o777, 0, 0, 0, BOOT_UNIT))
        if not machine.rename(_NEW, ROLLBACK_DIR):
            raise FileExistsError(f"{ROLLBACK_DIR} is in the way")
        machine.run(["systemctl", "stop", f"{UNIT}-run-*.timer"])
        done = machine.run([*timer, python, "-I", SCRIPT, "fire", run_id])
        if done.rc == 0:
            return ""
        complaint = (done.err or done.out).strip() or f"systemd-run ended with {done.rc}"
        refusal = message("rollback", "a timer that puts the old state back", complaint, "Nothing was changed; repair systemd first.")
    except OSError as error:
        fix = "Nothing was changed; look at the space, the mode and the mount options of that place."
        refusal = message(error.filename or ROLLBACK_DIR, "files that the rollback can keep and write", error.strerror or str(error), fix)
    _rollback.vanish(machine, ROLLBACK_DIR, data)
    return refusal


def armed(machine: Machine) -> Found | None:
    """The rollback that is armed, or that began to fire and did not end; None when there is none."""
    for path, firing in ((ROLLBACK_ARMED, False), (f"{ROLLBACK_DIR}/{_rollback.FIRING}", True)):
        data = load(machine, path, Armed)
        if data is not None:
            return {**data, "firing": firing}
    return None


def mine(machine: Machine, run_id: str) -> bool:
    """Whether the rollback is still armed and that of this run."""
    data = armed(machine)
    return data is not None and not data["firing"] and data["id"] == run_id


def store(machine: Machine, result: dict[str, Any]) -> None:
    """Keep the result so far, for a caller whose connection was lost."""
    machine.write(RESULT, json.dumps(result).encode(), plain())


def stored(machine: Machine) -> Stored | None:
    """The result so far; None when the module did not get that far."""
    return load(machine, RESULT, Stored)


def confirm(machine: Machine, run_id: str) -> bool:
    """Disarm; False when it was not armed by this run or has begun to fire."""
    data = armed(machine)
    if data is None or data["id"] != run_id:
        return False
    content = machine.read(RESULT)
    # first: whatever happens in between, it must not speak for an earlier run whose state this one replaced
    machine.remove(NOTE)
    if not machine.rename(ROLLBACK_ARMED, f"{ROLLBACK_DIR}/{_rollback.CONFIRMED}"):
        return False
    if content is not None:
        # without it a lost answer is a failure, and no more
        with contextlib.suppress(OSError):
            machine.write(NOTE, content, plain())
    machine.remove(LAST)
    _rollback.vanish(machine, ROLLBACK_DIR, data)
    return True


def confirmed(machine: Machine, run_id: str) -> Stored | None:
    """The result of this run if it was the last one that was confirmed; None when nobody knows of that. The caller knows that nothing is armed."""
    result = load(machine, NOTE, Stored)
    if result is None and machine.meta(f"{ROLLBACK_DIR}/{_rollback.CONFIRMED}") is not None:
        # whoever confirmed it was killed before it could say so
        result = stored(machine)
    return result if result is not None and result["rollback"].get("id") == run_id else None


def last(machine: Machine, run_id: str) -> Outcome | None:
    """How the rollback of this run ended when it fired."""
    outcome = load(machine, LAST, Outcome)
    return outcome if outcome is not None and outcome["id"] == run_id else None

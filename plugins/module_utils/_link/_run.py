# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of connectx_link: look, decide, arm, change, read back. Whatever goes wrong after arming ends in the old state."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils import _netplan, _records
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._argspec import slice_errors
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._names import ROLLBACK_DIR
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Connectx
from ansible_collections.gb10.cluster.plugins.module_utils._link import _apply, _arming, _backends, _change, _desired, _endings, _record, _refusals
from ansible_collections.gb10.cluster.plugins.module_utils._link._change import Change
from ansible_collections.gb10.cluster.plugins.module_utils._link._endings import Failed
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine

PROOF = 10.0
"""An armed rollback is adopted only while this many seconds are left to log in anew and confirm."""
BUSY = 60.0


class Options(TypedDict):
    """Parameters of the module."""

    state: str
    ports: dict[str, Any]
    mtu: int
    interfaces: dict[str, list[str]]
    ipv6_link_local: bool
    takeover: bool
    interrupt_jobs: bool
    confirm_timeout: int
    run_id: str | None


class Refused(Exception):
    """Nothing has been touched; ``texts`` say why."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__("\n".join(texts))
        self.texts = texts


def run(machine: Machine, options: Options, check_mode: bool, collect: Callable[[dict[str, list[str]]], Connectx]) -> dict[str, Any]:
    """Do what the options say; returns the module's result or raises :class:`Refused` or :class:`Failed`.

    :param collect: reads the facts of this machine, given the names of renamed devices.
    """
    wrong = slice_errors(options["ports"], options["interfaces"])
    if wrong:
        raise Refused(wrong)
    try:
        with machine.locked(_arming.LOCK, BUSY, create=not check_mode) as alone:
            if not alone:
                raise Refused([message("connectx_link", "one run at a time", "another one at work on this machine", "Wait for it to end.")])
            if options["state"] == "confirmed":
                return _confirm(machine, options["run_id"] or "", check_mode)
            return (_preview if check_mode else _change_it)(machine, options, collect)
    except _records.Damaged as damaged:
        if options["state"] == "confirmed":
            raise _endings.unknown(options["run_id"] or "", damaged) from damaged
        raise Refused([str(damaged)]) from damaged
    except PermissionError as error:
        raise Refused([message("connectx_link", "the rights of root", f"no right to use {error.filename}", "Run it with become: true.")]) from error
    except OSError as error:
        found, fix = error.strerror or str(error), "Repair that, then run again."
        raise Refused([message(error.filename or "connectx_link", "a file that can be read and written", found, fix)]) from error


def _change_of(machine: Machine, options: Options, connectx: Connectx) -> Change:
    """Compute the change; raises :class:`Refused` with everything that forbids it."""
    if options["state"] == "absent":
        change = _change.absent(machine, connectx, options["interrupt_jobs"])
        # without one nobody takes away what was rendered, and it would be back with the next start of its daemon
        refusals = [*(_refusals.backend(connectx) if change.needed else []), *_refusals.timeout(options["confirm_timeout"]), *change.refusals]
    else:
        rails, refusals = _desired.planned_rails(options["ports"], options["mtu"], options["ipv6_link_local"], connectx)
        refusals = [*_refusals.backend(connectx), *_refusals.timeout(options["confirm_timeout"]), *refusals]
        change = _change.present(machine, connectx, rails, options["takeover"], options["interrupt_jobs"])
        refusals += change.refusals
    refusals += _walls(machine, change)
    if refusals:
        raise Refused(refusals)
    return change


def _walls(machine: Machine, change: Change) -> list[str]:
    """Folders that can not be made for the files of the change or of its rollback: known beforehand, so that check mode says so too."""
    files = [path for path, content in change.files.items() if content] + [ROLLBACK_DIR, _arming.BOOT_LINK] if change.needed else []
    walls = {wall for path in files if (wall := machine.wall(os.path.dirname(path)))}
    return [message(part, "a folder, or nothing", found, "Move it away, then run again.") for part, found in sorted(walls)]


def _preview(machine: Machine, options: Options, collect: Callable[[dict[str, list[str]]], Connectx]) -> dict[str, Any]:
    """What a real run would do."""
    data = _arming.armed(machine)
    if data is not None:
        adopted = _adopt(machine, options, collect, data, "would be confirmed")
        if adopted is not None:
            return {**adopted, "rollback": {"id": None, "state": "none"}}
    change = _change_of(machine, options, collect(options["interfaces"]))
    result = _result(change, changed=change.needed or data is not None, planned=True)
    if data is not None:
        result["warnings"].append(_unconfirmed(data, "would be rolled back first; the difference shown is the one to what lies there until then"))
    return result


def _change_it(machine: Machine, options: Options, collect: Callable[[dict[str, list[str]]], Connectx]) -> dict[str, Any]:
    """Make the change under an armed rollback."""
    data = _arming.armed(machine)
    warnings = []
    if data is not None:
        adopted = _adopt(machine, options, collect, data, "is confirmed by this run")
        if adopted is not None:
            return adopted
        _endings.fire(machine, data["id"])
        warnings.append(_unconfirmed(data, "was rolled back first"))
    change = _change_of(machine, options, collect(options["interfaces"]))
    change.warnings += warnings
    if not change.needed:
        return _result(change, changed=data is not None)
    run_id = options["run_id"] or uuid.uuid4().hex
    commands = _backends.restore(change.backend, _netplan.generator(machine), change.states)
    refusal = _arming.arm(machine, run_id, options["confirm_timeout"], list(change.files), commands, dict(change.states))
    if refusal:
        raise Refused([refusal])
    try:
        _apply.make(machine, change, run_id)
        _apply.read_back(machine, change, run_id)
        result = _result(change, changed=True)
        result["rollback"] = _armed_result(machine, run_id)
        _arming.store(machine, result)
    except Exception as error:  # whatever it is, the node must not stay half changed
        raise _gone_back(machine, run_id, str(error)) from error
    if not _arming.mine(machine, run_id):
        raise _gone_back(machine, run_id, "the rollback fired before this run had ended")
    return result


def _adopt(
    machine: Machine, options: Options, collect: Callable[[dict[str, list[str]]], Connectx], data: _arming.Found, what: str
) -> dict[str, Any] | None:
    """Take over a rollback that an earlier run left armed, if what it left is what is asked for: it still has to be proven and confirmed."""
    stored = _arming.stored(machine)
    if data["firing"] or stored is None or data["deadline"] - machine.now() < PROOF:
        return None
    try:
        change = _change_of(machine, options, collect(options["interfaces"]))
    except Refused:
        return None
    if change.needed:
        return None
    result = _result(change, changed=True)
    result["diff"] = stored["diff"]
    result["rollback"] = {**_armed_result(machine, data["id"]), "adopted": True}
    result["warnings"].append(_unconfirmed(data, what))
    return result


def _gone_back(machine: Machine, run_id: str, why: str) -> Failed:
    """Go back now, or learn that the timer was faster."""
    try:
        if _arming.mine(machine, run_id):
            _endings.fire(machine, run_id)
        return _endings.fired(_arming.last(machine, run_id), run_id, why)
    except Failed as failed:
        return failed
    except _records.Damaged as damaged:
        return _endings.unknown(run_id, damaged)


def _confirm(machine: Machine, run_id: str, check_mode: bool) -> dict[str, Any]:
    """Second execution, over a new login: confirm this run's rollback and return what its first execution found. Check mode leaves it armed.
    Once more it answers the same, because the first answer may have been lost, until another run has changed something."""
    data = _arming.armed(machine)
    if data is None or data["id"] != run_id:
        outcome = _arming.last(machine, run_id)
        if outcome is not None:
            reasons = {"boot": "the machine was restarted before a new login had confirmed it", "run": "no new login confirmed it in time"}
            raise _endings.fired(outcome, run_id, reasons[outcome["at"]])
        again = _arming.confirmed(machine, run_id) if data is None else None
        if again is not None:
            return {**again, "rollback": {"id": run_id, "state": "confirmed"}}
        return {"changed": False, "rollback": {"id": run_id, "state": "none"}, "warnings": []}
    if check_mode:
        return {"changed": True, "rollback": _armed_result(machine, run_id), "warnings": []}
    try:
        result = _arming.stored(machine)
    except _records.Damaged as damaged:
        raise _gone_back(machine, run_id, str(damaged).rstrip(".")) from damaged
    if result is None or data["firing"]:
        raise _gone_back(machine, run_id, "the run ended before it had read back what it changed")
    if not _arming.confirm(machine, run_id):
        raise _gone_back(machine, run_id, "the rollback fired before the login")
    return {**result, "rollback": {"id": run_id, "state": "confirmed"}}


def _armed_result(machine: Machine, run_id: str) -> dict[str, Any]:
    data = _arming.armed(machine)
    deadline = data["deadline"] if data else machine.now()
    return {"id": run_id, "state": "armed", "deadline": deadline, "seconds_left": round(deadline - machine.now(), 1), "adopted": False}


def _unconfirmed(data: _arming.Found, what: str) -> str:
    return f"An earlier run ({data['id']}) left a change of {', '.join(data['interfaces']) or 'files'} that nobody confirmed: it {what}."


def _result(change: Change, changed: bool, planned: bool = False) -> dict[str, Any]:
    """The module's result, without an armed rollback."""
    ports: dict[str, Any] = {}
    for rail in change.rails:
        state = change.states[rail.interface]
        reached = "configured" if state and state["carrier"] else "configured, waiting for carrier"
        shown = {"rail": rail.rail, "interface": rail.interface, "address": rail.address, "prefix": rail.prefix, "mtu": rail.mtu}
        entry = {**shown, "state": "planned" if planned and rail.interface in {*change.act, *change.settings} else reached}
        ports.setdefault(rail.port, {"rails": []})["rails"].append(entry)
    return {
        "changed": changed,
        "ports": ports,
        "backend": change.backend or None,
        "backup": {"directory": _record.FOLDER, "moved": change.moved},
        "rollback": {"id": None, "state": "none"},
        "diff": change.diff,
        "warnings": change.warnings,
    }

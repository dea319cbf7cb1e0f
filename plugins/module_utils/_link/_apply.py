# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carrying a change out and reading it back, under an armed rollback; whatever is wrong is raised, undoing is the caller's."""

from __future__ import annotations

from ansible_collections.gb10.cluster.plugins.module_utils import _netplan, _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming, _backends, _live
from ansible_collections.gb10.cluster.plugins.module_utils._link._change import Change
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine

READ_BACK = 15.0
"""Seconds until the asked-for state must show: NetworkManager answers before it has finished."""


def make(machine: Machine, change: Change, run_id: str) -> None:
    """Carry the change out, step by step, as long as the rollback is armed and ours."""
    for path, content in sorted(change.files.items(), key=lambda item: item[1] is None):
        _still_ours(machine, run_id)
        if content is None:
            machine.remove(path)
        else:
            machine.write(path, content[0], content[1])
    commands: list[_backends.Step] = [[["modprobe", name]] for name in change.modules]
    if change.act or change.released or change.generate:
        generator, held = _netplan.generator(machine) if change.generate else None, _live.held_by_networkd(machine)
        commands += _backends.activate(change.backend, generator, change.act, change.states, held)
    waiting = {name for name, state in change.states.items() if state and not state["carrier"]}
    for alternatives in commands:
        _still_ours(machine, run_id)
        _first_success(machine, alternatives, waiting)
    if change.released:
        _still_ours(machine, run_id)
        problems = _rollback.put_back(machine, dict(change.released))
        if problems:
            raise RuntimeError("; ".join(problems))
        for text in _rollback.put_back_routes(machine, dict(change.released)):
            change.warnings.append(message("route of before", "to be there again", text, "Add it by hand if it is still wanted."))
    for rail in change.rails:
        if rail.interface in change.act and not rail.link_local:
            # an address that NetworkManager's automatic profile made outlives the profile
            machine.run(["ip", "-6", "address", "flush", "dev", rail.interface])
        for name, value in _rollback.RAIL_SYSCTL.items():
            machine.poke(f"/proc/sys/net/ipv4/conf/{rail.interface}/{name}", value)


def _first_success(machine: Machine, alternatives: _backends.Step, waiting: set[str]) -> None:
    """Run commands until one succeeds; NetworkManager's complaint about an interface without carrier is left to the read-back."""
    for argv in alternatives:
        done = machine.run(argv)
        if done.rc == 0:
            return
    if not (argv[0] == "nmcli" and waiting & set(argv)):
        raise RuntimeError(f"{' '.join(argv)}: {(done.err or done.out).strip() or f'exit status {done.rc}'}")


def _still_ours(machine: Machine, run_id: str) -> None:
    if not _arming.mine(machine, run_id):
        raise RuntimeError("the rollback fired in the middle of the change")


def read_back(machine: Machine, change: Change, run_id: str) -> None:
    """Wait until every rail shows what was asked for; raises with what does not."""
    until = machine.ticks() + READ_BACK
    while True:
        _still_ours(machine, run_id)
        states = _live.capture(machine, [rail.interface for rail in change.rails])
        wrong = _wrong(change, states)
        if not wrong:
            change.states.update(states)
            return
        if machine.ticks() >= until:
            raise RuntimeError("; ".join(wrong))
        machine.sleep(0.2)


def _wrong(change: Change, states: dict[str, _live.State | None]) -> list[str]:
    texts = []
    for rail in change.rails:
        state = states[rail.interface]
        found = _live.differences(rail, state) if state else {"device": ("none", rail.interface)}
        texts += [f"{rail.label}: {what} is {has} instead of {wanted}" for what, (has, wanted) in found.items()]
    return texts

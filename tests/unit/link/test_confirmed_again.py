# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirming once more, because the first answer was lost: it says confirmed when this run was, and only then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming, _run
from link_cases import confirm, gone
from link_facts import connectx, options
from link_machine import FakeMachine, Killed


def change(machine: FakeMachine, run_id: str, mtu: int) -> None:
    _run.run(machine, options(run_id=run_id, mtu=mtu), False, lambda _interfaces: connectx())


def nothing(_machine: FakeMachine) -> None:
    pass


def ours(machine: FakeMachine) -> None:
    confirm(machine)


def theirs_armed(machine: FakeMachine) -> None:
    change(machine, "other", 1500)


def theirs(machine: FakeMachine) -> None:
    theirs_armed(machine)
    confirm(machine, "other")


def theirs_undone(machine: FakeMachine) -> None:
    theirs_armed(machine)
    machine.fire()


def theirs_without_a_note(machine: FakeMachine) -> None:
    theirs_armed(machine)
    machine.steps = []
    confirm(twin := machine.copy(), "other")
    machine.fail_at = twin.steps.index(f"write {_arming.NOTE}") + 1
    machine.steps = []
    confirm(machine, "other")


def restart(machine: FakeMachine) -> None:
    machine.reboot()


@pytest.mark.parametrize(
    ("happened", "state"),
    [
        ([ours], "confirmed"), ([ours, ours], "confirmed"), ([ours, theirs_undone], "confirmed"), ([ours, theirs_armed], "none"),
        ([ours, theirs], "none"), ([ours, theirs_without_a_note], "none"), ([theirs], "none"), ([theirs, ours], "none"), ([ours, restart], "none"),
    ],
    ids=[
        "once", "twice", "another run's change was undone since", "another run's change is armed", "another run's change is in force",
        "another run's change is in force and left no note", "another run undid ours and is in force", "the same, asked twice", "restarted since",
    ],
)  # fmt: skip
def test_it_is_confirmed_again_only_while_it_is_in_force(happened: list[Callable[[FakeMachine], None]], state: str) -> None:
    machine = FakeMachine()
    change(machine, "run-1", 9000)
    for step in happened:
        step(machine)
    machine.steps = []
    assert confirm(machine)["rollback"] == {"id": "run-1", "state": state}
    assert machine.steps == []


def test_it_tells_the_same_again() -> None:
    machine = FakeMachine()
    change(machine, "run-1", 9000)
    assert confirm(machine) == confirm(machine)
    told = _run.run(machine, options("confirmed"), True, lambda _interfaces: connectx())
    assert told == confirm(machine)


def test_a_confirmation_that_is_killed_at_any_step_is_confirmed_by_the_next_attempt() -> None:
    for step in range(1, 50):
        machine = FakeMachine()
        change(machine, "earlier", 1500)
        confirm(machine, "earlier")
        change(machine, "run-1", 9000)
        machine.steps, machine.fail_at, machine.mode = [], step, "kill"
        try:
            confirm(machine)
            break
        except Killed:
            machine.fail_at = 0
        assert confirm(machine)["rollback"]["state"] == "confirmed"
        assert confirm(machine, "earlier")["rollback"]["state"] == "none"
        change(machine, "next", 1500)
        confirm(machine, "next")
        assert gone(machine)
    assert step > 5

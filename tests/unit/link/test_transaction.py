# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever happens at whatever step, a node ends in the old state or in the new one, and says which."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming, _run
from link_cases import BACKENDS, CASES, Case, claimed, comparable, confirm, done, gone, left_over
from link_facts import claim, connectx, options, slice_of
from link_machine import FakeMachine


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> Case:
    """Every change on every backend."""
    found: Case = request.param
    return found


def test_change_is_armed_until_it_is_confirmed_and_nothing_is_left_of_it(case: Case) -> None:
    machine = case.machine()
    result = case.run(machine)
    assert (result["changed"], result["rollback"]["state"], machine.timer) == (True, "armed", True)
    confirmed = confirm(machine)
    assert (confirmed["rollback"], confirmed["changed"], confirmed["diff"]) == ({"id": "run-1", "state": "confirmed"}, True, result["diff"])
    assert gone(machine)


def test_second_run_changes_nothing(case: Case) -> None:
    machine = case.machine()
    case.run(machine)
    confirm(machine)
    before, machine.steps = machine.state(), []
    result = case.run(machine)
    assert (result["changed"], result["diff"], machine.steps) == (False, [], [])
    assert machine.state() == before


def test_check_run_tells_the_same_and_touches_nothing(case: Case) -> None:
    machine = case.machine()
    before = machine.state()
    planned = _run.run(machine, case.options, True, case.collect(machine))
    assert (machine.state(), machine.steps) == (before, [])
    real = case.run(machine)
    assert (planned["changed"], planned["diff"]) == (True, real["diff"])


def test_timer_brings_the_old_state_back_when_nobody_confirms(case: Case) -> None:
    machine = case.machine()
    before = machine.state()
    case.run(machine)
    machine.fire()
    assert machine.state() == before
    with pytest.raises(_run.Failed, match="found the old state, put back by the rollback. Reason: no new login confirmed it in time."):
        confirm(machine)


def test_reboot_while_armed_boots_into_the_old_state(case: Case) -> None:
    untouched, machine = case.machine(), case.machine()
    untouched.reboot()
    case.run(machine)
    machine.reboot()
    assert comparable(machine) == comparable(untouched)
    with pytest.raises(_run.Failed, match="Reason: the machine was restarted before a new login had confirmed it."):
        confirm(machine)


def test_failure_of_any_step_ends_in_the_old_state_or_the_new_one(case: Case) -> None:
    new = case.machine()
    case.run(new)
    reached, wanted = set(), live(new)
    before = case.machine().state()
    for number in range(1, len(new.steps) + 1):
        machine = case.machine()
        machine.fail_at = number
        try:
            case.run(machine)
        except (_run.Failed, _run.Refused) as error:
            assert machine.state() == before, f"step {number}, {machine.steps[number - 1]}: {error}"
            assert gone(machine)
            reached.add("old")
        else:
            assert live(machine) == wanted, f"step {number}, {machine.steps[number - 1]}"
            reached.add("new")
    assert "old" in reached


def live(machine: FakeMachine) -> Any:
    """What runs, and what the files say."""
    state = machine.state()
    files = {path: content for path, (content, _meta) in state["files"].items() if path.startswith("/etc/netplan")}
    return state["links"], state["sysctl"], state["devices"], files


KILLED = [
    *(f"{name} on netplan-networkd" for name in ("first run", "other port", "absent", "takeover", "absent after takeover")),
    *(f"{name} on {backend}" for name in ("other port", "absent") for backend in BACKENDS[1:]),
]
"""Cases that differ in their kinds of steps: three outcomes for each of their steps add up."""


@pytest.mark.parametrize("after", ["timer", "boot", "run again"])
@pytest.mark.parametrize("name", KILLED)
def test_kill_at_any_step_ends_in_the_old_state_or_is_made_good_by_the_next_run(name: str, after: str) -> None:
    case = CASES[name]
    untouched, whole = case.machine(), case.machine()
    before = whole.state()
    untouched.reboot()
    whole.kept = []
    case.run(whole)
    assert whole.kept
    for number, machine in enumerate(whole.kept, 1):
        told = f"step {number}, {machine.steps[-1]}"
        if after == "timer":
            armed = machine.timer
            machine.fire()
            dropped = {path for path in machine.files if path.startswith(_names.ROLLBACK_DIR) or "gb10-rollback" in path}
            assert armed or not changed(before, machine.state()), told
            assert not armed or (machine.state() == before and not dropped), told
        elif after == "boot":
            known_to_systemd = _arming.BOOT_LINK in machine.files
            machine.reboot()
            assert not changed(comparable(untouched), comparable(machine)), told
            # copies for a rollback that was not armed yet lie there until the next run
            assert gone(machine) if known_to_systemd else _arming.armed(machine) is None, told
        else:
            result = case.run(machine, run_id="run-2")
            assert result["changed"], told
            confirm(machine, result["rollback"]["id"])
            assert gone(machine), told
            assert not case.run(machine)["changed"], told


@pytest.mark.parametrize("ending", ["confirmed", "rolled back"])
def test_power_that_goes_at_any_step_of_an_ending_leaves_one_state_and_nothing_of_the_rollback(ending: str) -> None:
    case = CASES["other port on netplan-networkd"]
    old, new = case.machine(), case.machine()
    case.run(new)
    confirm(new)
    machine = case.machine()
    case.run(machine)
    machine.kept = []
    if ending == "confirmed":
        confirm(machine)
    else:
        machine.fire()
    for each in (old, new, *machine.kept):
        each.reboot()
    for each in machine.kept:
        # two files can not vanish at once: a unit without its link is one that nobody starts
        each.files.pop(_arming.BOOT_UNIT if each.steps[-1] == f"remove {_arming.BOOT_UNIT}" else "", None)
        assert gone(each) and comparable(each) in (comparable(old), comparable(new)), each.steps[-1]
    assert comparable(machine.kept[-1]) == comparable(new if ending == "confirmed" else old)


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Parts of the state that differ, the rollback's own files left out: a run may be killed before it has armed."""
    own = (_names.ROLLBACK_DIR, "/etc/systemd/system/")

    def others(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "files": {path: one for path, one in state["files"].items() if not path.startswith(own)}, "timer": None}

    one, two = others(before), others(after)
    return {key for key in one if one[key] != two[key]}


@pytest.mark.parametrize("backend", BACKENDS[:2])
def test_absent_brings_back_the_exact_files_and_live_state_of_before_the_first_run(backend: str) -> None:
    machine = FakeMachine(backend)
    left_over(machine)
    machine.links["enp1s0f0np0"]["mtu"] = 4000
    before = machine.state()
    for run, facts in (
        (options(takeover=True), connectx(backend, claimed)),
        (options(ports=slice_of("p0", "p1")), connectx(backend)),
        (options("absent", {}), connectx(backend)),
    ):
        assert (machine.state() == before) == (run["takeover"])
        _run.run(machine, run, False, lambda _interfaces, found=facts: found)  # type: ignore[misc]
        confirm(machine)
    assert machine.state() == before


def test_what_was_right_is_not_touched_when_the_other_rail_drifted() -> None:
    machine = FakeMachine()
    done("p0")(machine)
    machine.links["enp1s0f0np0"]["mtu"] = 1500
    before, machine.steps = copy.deepcopy(machine.files), []
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert [step for step in machine.steps if step.startswith("networkctl")] == ["networkctl reload", "networkctl reconfigure enp1s0f0np0"]
    assert {path for path in before if machine.files[path] != before[path]} == set()


def test_copy_of_our_profile_that_networkmanager_stored_is_removed_and_comes_back_with_the_rollback() -> None:
    machine = FakeMachine("netplan-networkmanager")
    done("p0")(machine)
    stray = "/etc/netplan/90-NM-068af5dd-349f-545c-ba31-d6288a6ed1b3.yaml"
    machine.put(stray, "network:\n  ethernets:\n    enp1s0f0np0: {addresses: [10.9.9.9/24]}\n")
    machine.start()
    before = machine.state()

    def doubled(facts: Any) -> None:
        facts["ports"]["p0"]["rails"][0]["claims"] = [claim(file=stray, ours=True), claim(file=_names.NETPLAN_FILE, ours=True)]

    _run.run(machine, options(), False, lambda _interfaces: connectx("netplan-networkmanager", doubled))
    assert stray not in machine.files
    assert _names.NETPLAN_FILE in machine.files
    machine.fire()
    assert machine.state() == before


def test_what_others_wrote_into_a_file_of_ours_is_not_shown() -> None:
    machine = FakeMachine()
    machine.put(_names.NETPLAN_FILE, "network: {wifis: {wlan0: {access-points: {home: {password: hunter2}}}}}\n")
    machine.start()
    result = _run.run(machine, options(), True, lambda _interfaces: connectx())
    shown = {part["before_header"]: part["before"] for part in result["diff"]}
    assert shown[_names.NETPLAN_FILE] == "(written by somebody else)\n" and "hunter2" not in str(result)


def test_rail_without_carrier_is_configured_and_waits() -> None:
    machine = FakeMachine()
    for name in ("enp1s0f0np0", "enP2p1s0f0np0"):
        machine.links[name]["carrier"] = False
    result = _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert [rail["state"] for rail in result["ports"]["p0"]["rails"]] == ["configured, waiting for carrier"] * 2
    assert result["rollback"]["state"] == "armed"


def test_state_that_does_not_show_ends_in_the_old_one_and_says_what_was_missing() -> None:
    machine = FakeMachine()
    before = machine.state()
    machine._apply = lambda _name, _settings: None  # type: ignore[method-assign]
    with pytest.raises(_run.Failed) as failed:
        _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert machine.state() == before
    assert "p0 rail 0 (enp1s0f0np0): mtu is 1500 instead of 9000" in str(failed.value)
    assert failed.value.rollback == {"id": "run-1", "state": "restored", "problems": []}

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever happens at whatever step, a node ends in the old state or in the new one, and says which."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils import _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming, _run
from link_facts import claim, connectx, options, slice_of
from link_machine import FakeMachine, Killed

BACKENDS = ("netplan-networkd", "netplan-networkmanager", "networkmanager")
CX7 = """\
network:
  version: 2
  ethernets:
    enp1s0f0np0: {addresses: [192.168.100.1/24]}
    enP2p1s0f0np0: {addresses: [192.168.101.1/24]}
"""


def claimed(facts: Any) -> None:
    """Both rails of p0 are claimed by a left-over file that holds nothing else."""
    for rail, other in ((0, "enP2p1s0f0np0"), (1, "enp1s0f0np0")):
        device = facts["ports"]["p0"]["rails"][rail]
        device["claims"].append(claim(name=device["interface"], shared_with=[other]))


class Case:
    """One change: how the machine is before it, and the run that makes it."""

    def __init__(self, backend: str, prepare: Callable[[FakeMachine], None], run: _run.Options, change: Callable[[Any], None]) -> None:
        self.backend, self.prepare, self.options, self.change = backend, prepare, run, change
        self._prepared: FakeMachine | None = None

    def machine(self) -> FakeMachine:
        """A machine on which this change is due."""
        if self._prepared is None:
            self._prepared = FakeMachine(self.backend)
            self.prepare(self._prepared)
            self._prepared.steps = []
        return self._prepared.copy()

    def collect(self, machine: FakeMachine) -> Any:
        """The facts, with the claims only as long as the file that makes them is there."""
        return lambda _interfaces: connectx(self.backend, self.change if "/etc/netplan/40-cx7.yaml" in machine.files else lambda _facts: None)

    def run(self, machine: FakeMachine, **more: Any) -> dict[str, Any]:
        """First execution."""
        return _run.run(machine, {**self.options, **more}, False, self.collect(machine))


def confirm(machine: FakeMachine, run_id: str = "run-1") -> dict[str, Any]:
    """Second execution."""
    return _run.run(machine, options("confirmed", run_id=run_id), False, lambda _interfaces: connectx())


def fresh(_machine: FakeMachine) -> None:
    """Nothing was ever done."""


def by_hand(machine: FakeMachine) -> None:
    """Somebody gave a rail an address without a file."""
    machine.links["enp1s0f0np0"].update(up=True, mtu=4000, addresses=["10.1.1.1/24"])


def left_over(machine: FakeMachine) -> None:
    """Another tool's file configures both rails."""
    machine.put("/etc/netplan/40-cx7.yaml", CX7)
    machine.start()


def done(*ports: str) -> Callable[[FakeMachine], None]:
    """Our own earlier run made these ports."""

    def prepare(machine: FakeMachine) -> None:
        _run.run(machine, options(ports=slice_of(*ports)), False, lambda _interfaces: connectx(machine.backend))
        confirm(machine)

    return prepare


def done_over(machine: FakeMachine) -> None:
    """Our own earlier run took the left-over file to the backup."""
    left_over(machine)
    _run.run(machine, options(takeover=True), False, lambda _interfaces: connectx(machine.backend, claimed))
    confirm(machine)


def drifted(machine: FakeMachine) -> None:
    """Our own earlier run, then a hand."""
    done("p0")(machine)
    machine.links["enp1s0f0np0"].update(mtu=1500, addresses=["10.9.9.9/24"])
    machine.sysctl["net/ipv4/conf/enP2p1s0f0np0/arp_ignore"] = "0"


CASES = {
    f"{name} on {backend}": Case(backend, prepare, run, change)
    for backend in BACKENDS
    for name, prepare, run, change in (
        ("first run", fresh, options(), lambda _facts: None),
        ("first run over a hand-made address", by_hand, options(), lambda _facts: None),
        ("other port", done("p0"), options(ports=slice_of("p1")), lambda _facts: None),
        ("second port", done("p0"), options(ports=slice_of("p0", "p1")), lambda _facts: None),
        ("other MTU", done("p0"), options(mtu=1500), lambda _facts: None),
        ("drift", drifted, options(), lambda _facts: None),
        ("absent", done("p0"), options("absent", {}), lambda _facts: None),
        ("takeover", left_over, options(takeover=True), claimed),
        ("absent after takeover", done_over, options("absent", {}), lambda _facts: None),
    )
    if backend.startswith("netplan") or "takeover" not in name
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> Case:
    """Every change on every backend."""
    found: Case = request.param
    return found


def gone(machine: FakeMachine) -> bool:
    """No rollback, no timer, no unit is left."""
    leftovers = [path for path in machine.files if path.startswith((_names.ROLLBACK_DIR, "/etc/systemd/system"))]
    return not machine.timer and not leftovers


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


def comparable(machine: FakeMachine) -> dict[str, Any]:
    """The state without the times of files: two machines that were set up alike."""
    state = machine.state()
    state["files"] = {path: (content, meta[:3]) for path, (content, meta) in state["files"].items()}
    state["sysctl"] = {path: value for path, value in state["sysctl"].items() if not path.startswith("net/ipv6")}
    return state


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
            machine.reboot()
            assert not changed(comparable(untouched), comparable(machine)), told
        else:
            result = case.run(machine, run_id="run-2")
            assert result["changed"], told
            confirm(machine, result["rollback"]["id"])
            assert gone(machine), told
            assert not case.run(machine)["changed"], told


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


def test_rollback_that_fired_during_the_run_is_noticed_before_it_reports() -> None:
    machine = FakeMachine()
    before = machine.state()
    sleepy = machine.run

    def slow(argv: Any, timeout: float = 30.0) -> Any:
        done_ = sleepy(argv, timeout)
        if list(argv)[:2] == ["networkctl", "reload"] and machine.timer:
            machine.fire()
        return done_

    machine.run = slow  # type: ignore[method-assign]
    with pytest.raises(_run.Failed, match="Reason: the rollback fired in the middle of the change."):
        _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert machine.state() == before


def test_unconfirmed_change_of_an_earlier_run_is_adopted_when_it_is_what_is_asked_for() -> None:
    machine = FakeMachine()
    first = _run.run(machine, options(run_id="killed"), False, lambda _interfaces: connectx())
    machine.steps = []
    check = _run.run(machine, options(run_id="next"), True, lambda _interfaces: connectx())
    assert (check["changed"], check["diff"], machine.steps) == (True, first["diff"], [])
    second = _run.run(machine, options(run_id="next"), False, lambda _interfaces: connectx())
    assert (second["changed"], second["diff"], second["rollback"]["id"], second["rollback"]["adopted"]) == (True, first["diff"], "killed", True)
    assert machine.steps == []
    confirm(machine, "killed")
    assert gone(machine)


@pytest.mark.parametrize(
    ("run", "late"),
    [(options(run_id="next", mtu=1500), 0), (options("absent", {}, run_id="next"), 0), (options(run_id="next"), 55)],
    ids=["another MTU", "absent", "too little time is left to prove it"],
)
def test_unconfirmed_change_is_undone_first_when_it_is_not_what_is_asked_for(run: Any, late: int) -> None:
    machine = FakeMachine()
    done("p0")(machine)
    _run.run(machine, options(ports=slice_of("p0", "p1"), run_id="killed"), False, lambda _interfaces: connectx())
    machine.clock += late
    planned = _run.run(machine, run, True, lambda _interfaces: connectx())
    result = _run.run(machine, run, False, lambda _interfaces: connectx())
    assert (planned["changed"], result["changed"]) == (True, True)
    assert any("would be rolled back first" in text for text in planned["warnings"])
    assert any("was rolled back first" in text for text in result["warnings"])


def test_confirm_is_refused_to_a_stranger_and_tells_when_there_is_nothing() -> None:
    machine = FakeMachine()
    assert confirm(machine) == {"changed": False, "rollback": {"id": "run-1", "state": "none"}, "warnings": []}
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert confirm(machine, "somebody-else")["rollback"]["state"] == "none"
    assert machine.timer


def test_result_that_can_not_be_read_is_no_proof() -> None:
    machine = FakeMachine()
    before = machine.state()
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    machine.put(_arming.RESULT, "{}")
    with pytest.raises(_run.Failed) as failed:
        _run.run(machine, options("confirmed"), False, lambda _interfaces: connectx())
    assert failed.value.rollback == {"id": "run-1", "state": "restored", "problems": []}
    reason = f"{_arming.RESULT} - expected changed, found nothing. Put the links right by hand, then remove that file."
    assert str(failed.value).endswith(f"Reason: {reason}")
    assert machine.state() == before


@pytest.mark.parametrize("path", [_names.ROLLBACK_ARMED, _arming.LAST])
def test_confirm_never_says_that_nothing_was_changed_when_nobody_can_tell(path: str) -> None:
    machine = FakeMachine()
    machine.put(path, "{}")
    with pytest.raises(_run.Failed) as failed:
        _run.run(machine, options("confirmed"), False, lambda _interfaces: connectx())
    assert str(failed.value) == f"{path} - expected id, found nothing. Put the links right by hand, then remove that file."
    assert failed.value.rollback == {"id": "run-1", "state": "incomplete", "problems": [str(failed.value)]}


def test_data_that_is_damaged_in_the_middle_of_a_run_is_a_failure() -> None:
    machine = FakeMachine()
    step = machine.run

    def spoil(argv: Any, timeout: float = 30.0) -> Any:
        if list(argv[:2]) == ["networkctl", "reload"]:
            machine.put(_names.ROLLBACK_ARMED, "{}")
        return step(argv, timeout)

    machine.run = spoil  # type: ignore[method-assign]
    with pytest.raises(_run.Failed) as failed:
        _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert failed.value.rollback["state"] == "incomplete" and str(failed.value).startswith(f"{_names.ROLLBACK_ARMED} - expected id, found nothing.")


def test_confirm_in_check_mode_leaves_the_rollback_armed() -> None:
    machine = FakeMachine()
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    machine.steps = []
    told = _run.run(machine, options("confirmed", run_id="run-1"), True, lambda _interfaces: connectx())
    assert (told["changed"], told["rollback"]["state"], machine.steps, machine.timer) == (True, "armed", [], True)
    assert confirm(machine)["rollback"]["state"] == "confirmed"


def test_run_arms_while_the_service_of_an_earlier_one_is_still_at_work() -> None:
    machine = FakeMachine()
    _run.run(machine, options(run_id="first"), False, lambda _interfaces: connectx())
    machine.serving.add(machine.unit)
    second = _run.run(machine, options(run_id="second", mtu=1500), False, lambda _interfaces: connectx())
    assert (second["rollback"]["state"], machine.unit) == ("armed", "gb10-rollback-run-second")


def test_systemd_forgets_the_boot_time_unit_with_its_files() -> None:
    machine = FakeMachine()
    done("p0")(machine)
    assert machine.steps.count("systemctl daemon-reload") == 1
    _run.run(machine, options(mtu=1500), False, lambda _interfaces: connectx())
    machine.fire()
    assert machine.steps.count("systemctl daemon-reload") == 2


NO_TIMER = "rollback - expected a timer that puts the old state back, found injected failure. Nothing was changed; repair systemd first."
NO_SPACE = (
    f"{_names.ROLLBACK_DIR} - expected files that the rollback can keep and write, found No space left on device. "
    "Nothing was changed; look at the space, the mode and the mount options of that place."
)


@pytest.mark.parametrize(
    ("step", "text"),
    [("systemd-run", NO_TIMER), (f"write {_names.ROLLBACK_DIR}.new/armed.json", NO_SPACE), (f"write {_arming.BOOT_UNIT}", NO_SPACE)],
)
def test_rollback_that_can_not_be_armed_forbids_the_change_and_says_why(step: str, text: str) -> None:
    machine = FakeMachine()
    before = machine.state()
    machine.fail_at = next(number for number, one in enumerate(run_steps(), 1) if one.startswith(step))
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert refused.value.texts == [text]
    assert machine.state() == before


def test_file_that_the_rollback_can_not_keep_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_machine: FakeMachine, _path: str, _folder: str) -> None:
        raise PermissionError(1, "Operation not permitted", _names.LIMITS_FILE)

    machine = FakeMachine()
    monkeypatch.setattr(_rollback, "keep", refuse)
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(), False, lambda _interfaces: connectx())
    text = NO_SPACE.replace(_names.ROLLBACK_DIR, _names.LIMITS_FILE)
    assert refused.value.texts == [text.replace("No space left on device", "Operation not permitted")]


def run_steps() -> list[str]:
    """The steps of a first run."""
    machine = FakeMachine()
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    return machine.steps


def test_nothing_is_changed_before_the_timer_runs_and_netplan_apply_is_never_called() -> None:
    steps = run_steps()
    armed = next(number for number, step in enumerate(steps) if step.startswith("systemd-run"))
    assert all(_names.ROLLBACK_DIR in step or "gb10-rollback" in step for step in steps[:armed])
    assert not any("netplan apply" in step for step in steps)


def test_interrupted_rollback_is_finished_by_the_next_run() -> None:
    machine = FakeMachine()
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    machine.steps, machine.fail_at, machine.mode = [], 4, "kill"
    with pytest.raises(Killed):
        _rollback.fire(machine, _names.ROLLBACK_DIR)
    machine.fail_at = 0
    planned = _run.run(machine, options("absent", {}), True, lambda _interfaces: connectx())
    assert "would be rolled back first" in planned["warnings"][0]
    result = _run.run(machine, options(run_id="run-2"), False, lambda _interfaces: connectx())
    assert "was rolled back first" in result["warnings"][0]
    confirm(machine, "run-2")
    assert gone(machine)


def test_debris_of_a_run_that_met_its_rollback_is_no_obstacle() -> None:
    machine = FakeMachine()
    machine.put(_arming.RESULT, "{}")
    machine.put(f"{_names.ROLLBACK_DIR}.new/armed.json", "{}")
    assert _run.run(machine, options(), False, lambda _interfaces: connectx())["rollback"]["state"] == "armed"
    confirm(machine)
    assert gone(machine)


def test_rollback_that_is_at_work_is_told_as_such() -> None:
    machine = FakeMachine()
    watch = machine.run

    def begin(argv: Any, timeout: float = 30.0) -> Any:
        if list(argv)[:2] == ["networkctl", "reload"]:
            machine.rename(f"{_names.ROLLBACK_DIR}/armed.json", f"{_names.ROLLBACK_DIR}/firing.json")
        return watch(argv, timeout)

    machine.run = begin  # type: ignore[method-assign]
    with pytest.raises(_run.Failed, match="found the rollback at work, which puts the old state back. Reason: the rollback fired") as failed:
        _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert failed.value.rollback["state"] == "firing"


def test_interrupted_rollback_is_finished_at_boot() -> None:
    machine = FakeMachine()
    untouched = FakeMachine()
    untouched.reboot()
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    machine.steps, machine.fail_at, machine.mode = [], 4, "kill"
    with pytest.raises(Killed):
        _rollback.fire(machine, _names.ROLLBACK_DIR)
    assert _arming.armed(machine) is not None
    machine.reboot()
    assert comparable(machine) == comparable(untouched)
    assert gone(machine)

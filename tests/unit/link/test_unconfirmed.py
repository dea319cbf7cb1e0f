# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollback of a change that nobody has confirmed: who may confirm it, what stands in its way, and what the next run makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils import _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming, _live, _run
from link_cases import comparable, confirm, done, gone, run_steps
from link_facts import connectx, options, slice_of
from link_machine import RAILS, FakeMachine, Killed


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


class SetBack(FakeMachine):
    """Its clock goes back by an hour whenever somebody waits, and its networkd does nothing."""

    def sleep(self, seconds: float) -> None:
        self.behind += 3600
        super().sleep(seconds)
        if self.clock > 1_000_600:
            raise Killed

    def run(self, argv: Sequence[str], timeout: float = 30.0) -> _rollback.Result:
        return _rollback.Result(0, "", "") if argv[0] == "networkctl" and argv[1] != "list" else super().run(argv, timeout)


def test_a_clock_that_is_set_back_makes_nobody_wait_for_what_does_not_come() -> None:
    machine = SetBack()
    before = machine.state()["links"]
    with pytest.raises(_run.Failed, match="the old state, put back by the rollback"):
        _run.run(machine, options(), False, lambda _interfaces: connectx())
    assert machine.state()["links"] == before


def test_a_clock_that_is_set_back_makes_no_rollback_wait_for_an_owner() -> None:
    machine = FakeMachine()
    done("p0")(machine)
    live = _live.capture(machine, [RAILS[0]])
    late = SetBack()
    assert _rollback.put_back(late, live) == []
    assert late.links[RAILS[0]]["addresses"] == machine.links[RAILS[0]]["addresses"] != []


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

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin: what it does after each kind of answer to its two executions, and how long it waits."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleAuthenticationFailure, AnsibleConnectionFailure
from ansible_collections.gb10.cluster.plugins.action import connectx_link as action

ARMED = {"changed": True, "ports": {}, "rollback": {"id": "run", "state": "armed", "seconds_left": 58.0}}
CONFIRMED = {"changed": True, "ports": {}, "diff": [], "rollback": {"id": "run", "state": "confirmed"}}
RESTORED = {"failed": True, "msg": "the old state", "rollback": {"id": "run", "state": "restored", "problems": []}}
NONE = {"changed": False, "rollback": {"id": "run", "state": "none"}}
KILLED = {"failed": True, "msg": "Module result deserialization failed.", "rc": 137}
LOST = AnsibleConnectionFailure("Connection to spark-1 closed by remote host.")
TAKEN = (
    "rollback - expected armed until this run confirms it, found one that another run took away. "
    "What that run left is in force: wait for it to end, then run again."
)
UNTOUCHED = (
    "connection - expected one that lasts until the change has begun, found it lost (Connection to spark-1 closed by remote host.). "
    "Nothing was changed; run it again."
)
SILENCE = action._Silence("no answer within 180 s")
REFUSED = AnsibleConnectionFailure("ssh: connect to host spark-1 port 22: Connection refused")


def _left(seconds: float, **more: Any) -> dict[str, Any]:
    return {**ARMED, "rollback": {"id": "run", "state": "armed", "seconds_left": seconds, **more}}


class Answers(action.ActionModule):
    """The plugin over a connection that answers from a list; the last answer is repeated."""

    def __init__(self, answers: list[Any], check: bool = False, retries: int = 0, **arguments: Any) -> None:
        self.answers, self.calls = [*answers], []
        self._task = SimpleNamespace(args=arguments, check_mode=check, async_val=0)
        self._connection = SimpleNamespace(
            transport="ssh", reset=lambda: self.calls.append("reset"), get_option=lambda _name: retries, _shell=SimpleNamespace(tmpdir="x")
        )

    def _execute_module(self, **given: Any) -> Any:
        self.calls.append(given["module_args"])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return dict(answer)


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The plugin's clock."""
    found = Clock()
    monkeypatch.setattr(action, "time", SimpleNamespace(monotonic=lambda: found.now, sleep=found.sleep))
    return found


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([ARMED, CONFIRMED], {**ARMED, "rollback": CONFIRMED["rollback"]}),
        ([ARMED, LOST, LOST, CONFIRMED], {**ARMED, "rollback": CONFIRMED["rollback"]}),
        ([ARMED, LOST, RESTORED], RESTORED),
        ([LOST, CONFIRMED], CONFIRMED),
        ([LOST, LOST, RESTORED], RESTORED),
        ([KILLED, RESTORED], RESTORED),
        ([KILLED, NONE], {**KILLED, "rollback": NONE["rollback"]}),
        ([ARMED, NONE], {"failed": True, "msg": TAKEN}),
        ([ARMED, SILENCE, CONFIRMED], {**ARMED, "rollback": CONFIRMED["rollback"]}),
        ([ARMED, KILLED, CONFIRMED], {**ARMED, "rollback": CONFIRMED["rollback"]}),
        ([ARMED, LOST, NONE], {"failed": True, "msg": TAKEN}),
        ([ARMED, REFUSED, NONE], {"failed": True, "msg": TAKEN}),
        ([LOST, NONE], {"failed": True, "msg": UNTOUCHED, "rollback": NONE["rollback"]}),
        ([LOST, REFUSED, NONE], {"failed": True, "msg": UNTOUCHED, "rollback": NONE["rollback"]}),
        ([LOST, LOST, CONFIRMED], CONFIRMED),
        ([SILENCE, NONE], {"failed": True, "msg": UNTOUCHED.replace(str(LOST), str(SILENCE)), "rollback": NONE["rollback"]}),
        ([SILENCE, RESTORED], RESTORED),
    ],
    ids=[
        "new login confirms", "network comes back in time", "network comes back too late", "connection lost in the middle, change was made",
        "connection lost in the middle, change was undone", "module killed", "module failed before it armed", "another run confirmed or undid it",
        "confirmed, and the answer came too late", "confirmed, and killed then", "answer lost, and another run undid it",
        "not reached, and another run undid it",
        "lost before it armed", "lost before it armed, not reached then", "change lost and made, confirmation lost and made", "no answer, and nothing armed",
        "no answer, rollback fired",
    ],
)  # fmt: skip
def test_change_is_confirmed_over_a_new_connection_or_told_as_undone(clock: Clock, answers: list[Any], expected: dict[str, Any]) -> None:
    armed = answers[0] is ARMED
    plugin = Answers(answers, mtu=9000)
    assert plugin.run() == expected
    first, *others = [call for call in plugin.calls if call != "reset"]
    assert first["mtu"] == 9000
    assert all(call == {"state": "confirmed", "run_id": "run" if armed else first["run_id"]} for call in others)
    assert plugin.calls.count("reset") == len(others)


@pytest.mark.parametrize(
    ("answer", "check"),
    [(NONE, False), ({**NONE, "changed": True}, True), ({**NONE, "failed": True, "msg": "no", "refusals": ["no"]}, False), (RESTORED, False),
     (ARMED, True), (KILLED, True)],
    ids=["nothing to change", "check mode", "refused", "undone by the module itself", "armed by another run, check mode", "killed in check mode"],
)
def test_one_execution_is_enough_when_nothing_is_armed(clock: Clock, answer: dict[str, Any], check: bool) -> None:
    plugin = Answers([answer], check)
    assert plugin.run() == answer
    assert len(plugin.calls) == 1
    assert clock.now == 0


@pytest.mark.parametrize(
    ("answers", "check", "waits"),
    [
        ([REFUSED], False, 0.0),
        ([AnsibleAuthenticationFailure("Invalid/incorrect password")], False, 0.0),
        ([LOST], True, 0.0),
        ([SILENCE], True, 0.0),
        ([LOST], False, 60.0 + action.COMING_BACK),
        ([SILENCE], False, 60.0 + action.COMING_BACK),
        ([ARMED, LOST], False, 58.0 + action.COMING_BACK),
        ([_left(7200.0), LOST], False, 60.0 + action.COMING_BACK),
        ([_left(-7200.0), LOST], False, action.COMING_BACK),
        ([_left(300.0, adopted=True), LOST], False, 300.0 + action.COMING_BACK),
        ([_left(7200.0, adopted=True), LOST], False, action.LONGEST + action.COMING_BACK),
    ],
    ids=[
        "never there", "not let in", "lost in check mode", "no answer in check mode", "lost for good", "no answer for good",
        "lost for good after arming", "clock set back", "clock set forward", "armed by an earlier run", "armed by an earlier run, clock set back",
    ],
)
def test_node_that_does_not_answer_is_unreachable_after_a_bounded_wait(clock: Clock, answers: list[Any], check: bool, waits: float) -> None:
    with pytest.raises(AnsibleConnectionFailure):
        Answers(answers, check, confirm_timeout=60).run()
    assert waits <= clock.now <= waits + action.PAUSE


def test_no_answer_in_check_mode_is_told_as_such() -> None:
    with pytest.raises(AnsibleConnectionFailure) as told:
        Answers([SILENCE], check=True).run()
    text = "connection - expected an answer, found no answer within 180 s. Nothing was changed; look at the machine, then run again."
    assert told.value.message == text


def test_login_refused_in_a_retry_may_follow_a_try_that_began(clock: Clock) -> None:
    assert Answers([REFUSED, RESTORED], retries=3).run() == RESTORED


def test_strange_answers_end_the_questions(clock: Clock) -> None:
    plugin = Answers([KILLED])
    assert plugin.run() == KILLED
    assert plugin.calls.count("reset") == action.STRANGE


def test_silence_ends_an_execution_in_time_and_leaves_the_task_its_own_limit() -> None:
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rang.append(number))
    try:
        with pytest.raises(action._Silence, match=r"^no answer within 0\.05 s$"), action._at_most(0.05):
            time.sleep(5)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with action._at_most(60):
            time.sleep(0.4)
        assert rang == [signal.SIGALRM]
        signal.setitimer(signal.ITIMER_REAL, 600)
        with pytest.raises(action._Silence), action._at_most(0.05):
            time.sleep(5)
        assert 300 < signal.getitimer(signal.ITIMER_REAL)[0] < 600
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("given", "seconds"), [(None, 60), ("90", 90), (15, 15), ("soon", 60), (-600, 15), (10**30, 3600), (float("inf"), 60), ([], 60)])
def test_time_limit_is_read_as_the_module_reads_it(given: Any, seconds: int) -> None:
    read: Callable[[Any], int] = action._seconds
    assert read(given) == seconds

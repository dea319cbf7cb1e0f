# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All of a change or nothing of it, against the simulated switch."""

from __future__ import annotations

import threading

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _transaction
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._command import Command, Group
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._rows import number
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import SwitchError
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._transaction import Care, Switch, Task, batches, converge
from simulated import Bench
from switch.exporting import export

CARE = Care(safe_mode_wait=0.1, settle=0.05, unroll_wait=30, poll=0.01, keep_exports=2)
ETHERNET = "/interface/ethernet"


def wants_mtu(mtu: int, *groups: tuple[str, ...], problems=lambda state: []) -> Task:
    """A task that gives every port of every group an MTU, one command per port."""

    def compute(state):
        found = {row["name"]: row for row in state["ports"]}
        for ports in groups:
            commands = tuple(Command(ETHERNET, "set", (port,), {"mtu": mtu}) for port in ports if number(found[port]["mtu"]) != mtu)
            if commands:
                yield Group(f"{ports[0]} to {ports[-1]}", commands)

    return Task(lambda session: {"ports": session.rows(ETHERNET)}, lambda state: list(compute(state)), problems)


PORTS = ("ether2", "sfp56-1", "sfp56-2")
TASK = wants_mtu(1400, PORTS)


def mtus(bench: Bench) -> set[int]:
    return {bench.machine.row(ETHERNET, port)["mtu"] for port in PORTS}


def test_a_converged_switch_costs_one_login_and_no_write():
    bench = Bench()
    outcome = converge(Switch(bench.connect), wants_mtu(1500, PORTS), check_mode=False, care=CARE)
    assert (outcome.commands, outcome.export) == ([], None)
    assert (bench.machine.counts["logins"], bench.machine.counts["writes"], bench.machine.files) == (1, 0, {})


def test_check_mode_tells_the_commands_of_the_real_run_and_writes_nothing():
    checked, real = Bench(), Bench()
    told = converge(Switch(checked.connect), TASK, check_mode=True, care=CARE)
    done = converge(Switch(real.connect), TASK, check_mode=False, care=CARE)
    assert told.commands == done.commands == [f"/interface/ethernet set {port} mtu=1400" for port in PORTS]
    assert (checked.machine.counts["logins"], checked.machine.counts["writes"], checked.machine.files) == (1, 0, {})


def test_a_change_is_exported_before_made_in_safe_mode_read_back_and_released():
    bench = Bench()
    before = export(bench.machine)
    outcome = converge(Switch(bench.connect), TASK, check_mode=False, care=CARE)
    assert bench.machine.files[outcome.export] == before
    assert mtus(bench) == {1400}
    assert {row["mtu"] for row in outcome.after["ports"] if row["name"] in PORTS} == {1400}
    assert bench.machine.safe_mode.session is None
    assert bench.machine.counts["logins"] == 2
    log = [line.split(";:put")[0] for line in bench.scenario.log]
    assert log.index("/safe-mode/take on-error=unroll") < log.index("/interface/ethernet set ether2 mtu=1400") < log.index("/safe-mode/release")


def test_a_second_run_changes_nothing():
    bench = Bench()
    converge(Switch(bench.connect), TASK, check_mode=False, care=CARE)
    assert converge(Switch(bench.connect), TASK, check_mode=False, care=CARE).commands == []


def test_only_the_newest_exports_of_ours_stay():
    bench = Bench()
    bench.machine.files.update({"mine.rsc": "x", "gb10-20200101T000000000000Z.rsc": "old"})
    for mtu in (1400, 1401, 1402):
        converge(Switch(bench.connect), wants_mtu(mtu, PORTS), check_mode=False, care=CARE)
    ours = [name for name in bench.machine.files if name.startswith("gb10-")]
    assert len(ours) == 2 and "gb10-20200101T000000000000Z.rsc" not in ours and "mine.rsc" in bench.machine.files


def test_the_export_of_this_change_stays_though_others_are_from_a_time_to_come():
    bench = Bench()
    bench.machine.files.update({f"gb10-2999010{day}T000000000000Z.rsc": "from a clock that was ahead" for day in (1, 2)})
    outcome = converge(Switch(bench.connect), TASK, check_mode=False, care=CARE)
    assert set(bench.machine.files) == {outcome.export, "gb10-29990102T000000000000Z.rsc"}


def fails(bench: Bench, task: Task, care: Care = CARE) -> str:
    """Run a task that must fail; gives what it says."""
    with pytest.raises(SwitchError) as error:
        converge(Switch(bench.connect), task, check_mode=False, care=care)
    return str(error.value)


def test_a_refused_command_undoes_those_before_it():
    bench = Bench()
    group = Group("mixed", (Command(ETHERNET, "set", ("ether2",), {"mtu": 1400}), Command(ETHERNET, "set", ("sfp56-1",), {"l2mtu": 9999})))
    task = Task(lambda session: {"rows": session.rows(ETHERNET)}, lambda state: [group])
    said = fails(bench, task)
    export_name = next(iter(bench.machine.files))
    assert said == (
        "sw: /interface/ethernet set sfp56-1 l2mtu=9999 - expected no objection, found value of l2mtu out of range (0..65536). "
        f"See what the switch says. Everything was undone. The configuration from before the change is in {export_name} on the switch.")
    assert mtus(bench) == {1500} and bench.machine.safe_mode.session is None


def test_a_switch_that_does_not_show_what_was_asked_is_a_failure():
    bench = Bench()
    command = Command("/interface/ethernet/switch", "set", ("switch1",), {"qos-hw-offloading": False})
    menu = "/interface/ethernet/switch"
    task = Task(lambda session: {"rows": session.rows(menu)},
                lambda state: [Group("off", (command,))] if state["rows"][0]["qos-hw-offloading"] else [])
    assert fails(bench, task).startswith(
        "sw: read-back - expected everything as asked, found still missing: /interface/ethernet/switch set switch1 qos-hw-offloading=no. ")


def test_a_problem_that_only_shows_afterwards_undoes_the_change():
    bench = Bench()
    said = fails(bench, wants_mtu(1400, PORTS, problems=lambda state: ["sw: link - expected up, found down. Look at it."]))
    assert said.startswith("sw: link - expected up, found down. Look at it. Everything was undone.")
    assert mtus(bench) == {1500}


def test_a_problem_that_goes_away_while_the_chip_settles_is_none():
    bench, looks = Bench(), []
    task = wants_mtu(1400, PORTS, problems=lambda state: looks.append(1) or (["not yet"] if len(looks) < 3 else []))
    assert converge(Switch(bench.connect), task, check_mode=False, care=CARE._replace(settle=2)).export


def test_who_can_not_log_in_again_keeps_nothing():
    bench = Bench()
    switch = Switch(bench.connect)
    bench.refuse_login = True
    with pytest.raises(SwitchError, match="lets nobody in Everything was undone"):
        converge(switch, TASK, check_mode=False, care=CARE)
    assert mtus(bench) == {1500}


def test_somebody_elses_safe_mode_is_waited_for_named_and_never_taken():
    bench = Bench()
    holder = object()
    bench.machine.take_safe_mode(holder, "maria", "ssh")
    assert fails(bench, TASK) == (
        "sw: safe mode - expected free within 0.1 s, found held by maria from ssh. Let that session release or unroll it, or raise safe_mode_wait.")
    assert bench.machine.safe_mode.session is holder
    assert mtus(bench) == {1500} and bench.machine.files == {}


def test_a_safe_mode_that_ends_in_time_is_no_obstacle_and_what_it_changed_is_read_again():
    bench = Bench()
    bench.machine.take_safe_mode(object(), "maria", "ssh")

    def maria_is_done() -> None:
        bench.machine.row(ETHERNET, "ether2")["mtu"] = 1400
        bench.machine.end_safe_mode()

    timer = threading.Timer(0.1, maria_is_done)
    timer.start()
    outcome = converge(Switch(bench.connect), TASK, check_mode=False, care=CARE._replace(safe_mode_wait=60))
    timer.join()
    assert outcome.commands == [f"/interface/ethernet set {port} mtu=1400" for port in PORTS[1:]]


def held_after_the_look(bench: Bench, monkeypatch, seconds: float) -> None:
    """Somebody takes safe mode when we have seen it free and are about to take it, and lets go of it after so long."""
    export_first = _transaction.save

    def too_late(session, keep):
        name = export_first(session, keep)
        if len(bench.machine.files) == 1:
            bench.machine.take_safe_mode(object(), "maria", "ssh")
            threading.Timer(seconds, bench.machine.end_safe_mode).start()
        return name

    monkeypatch.setattr(_transaction, "save", too_late)


def test_somebody_who_takes_safe_mode_just_before_us_is_waited_for_as_well(monkeypatch):
    bench = Bench()
    held_after_the_look(bench, monkeypatch, seconds=0.1)
    assert converge(Switch(bench.connect), TASK, check_mode=False, care=CARE._replace(safe_mode_wait=60)).export
    assert mtus(bench) == {1400}


def test_somebody_who_takes_safe_mode_just_before_us_is_named_when_there_is_no_time_to_wait(monkeypatch):
    bench = Bench()
    held_after_the_look(bench, monkeypatch, seconds=0.3)
    assert fails(bench, TASK, CARE._replace(safe_mode_wait=0)).startswith(
        "sw: safe mode - expected free, found held by maria from ssh. Let that session release or unroll it, or raise safe_mode_wait. The configuration")
    assert mtus(bench) == {1500}


def test_a_safe_mode_that_somebody_ends_under_us_is_noticed():
    bench = Bench()
    task = wants_mtu(1400, PORTS, problems=lambda state: bench.machine.unroll() or [])
    assert "safe mode - expected still held by this session, found ended by somebody else" in fails(bench, task)


def test_a_user_without_the_policy_for_files_changes_nothing():
    bench = Bench(username="guest")
    bench.machine.add("/user", {"name": "guest", "group": "write"})
    said = fails(bench, TASK)
    assert said.startswith("sw: export before the change - expected a complete file gb10-")
    assert "found not enough permissions (9). Check free space and that the user's group has the policy ftp" in said
    assert mtus(bench) == {1500}


@pytest.mark.parametrize("after", [False, True], ids=["before it runs", "after it ran"])
@pytest.mark.parametrize("unroll_seconds", [0, 0.1], ids=["at once", "later"])
def test_a_connection_that_drops_at_any_line_leaves_all_or_nothing(after, unroll_seconds):
    ends = []
    for line in range(1, 60):
        bench = Bench(unroll_seconds=unroll_seconds)
        before = export(bench.machine)
        bench.scenario.drop_at, bench.scenario.drop_after = line, after
        try:
            converge(Switch(bench.connect), TASK, check_mode=False, care=CARE)
            ends.append("kept")
        except SwitchError:
            ends.append("undone")
        bench.machine.clock = lambda: 1e12
        bench.machine.tick()
        assert bench.machine.safe_mode.session is None
        assert (mtus(bench), export(bench.machine) == before) == (({1400}, False) if ends[-1] == "kept" else ({1500}, True)), line
        if bench.scenario.lines < line:
            break
    else:
        pytest.fail("the run never came to an end without a drop")
    assert "undone" in ends and ends[-1] == "kept"


def test_work_beyond_the_limit_of_safe_mode_is_split_between_groups():
    groups = [Group(f"cage {index}", tuple(Command(ETHERNET, "set", (f"p{port}",)) for port in range(30))) for index in range(5)]
    assert [[group.title for group in batch] for batch in batches(groups)] == [["cage 0", "cage 1"], ["cage 2", "cage 3"], ["cage 4"]]


def test_a_failure_in_a_later_part_says_what_was_kept():
    bench = Bench("CRS804")
    first = tuple(f"qsfp56-dd-{cage}-{lane}" for cage in (1, 2, 3) for lane in range(1, 9))
    names = {row["name"]: row for row in bench.machine.rows(ETHERNET)}
    groups = [Group("cages 1 to 3", tuple(Command(ETHERNET, "set", (port,) * 3, {"mtu": 1400}) for port in first)),
              Group("cage 4", tuple(Command(ETHERNET, "set", ("qsfp56-dd-4-1",), {"l2mtu": 9999}) for _index in range(20)))]

    def compute(state):
        found = {row["name"]: row for row in state["rows"]}
        return groups if found[first[0]]["mtu"] != 1400 else groups[1:]

    task = Task(lambda session: {"rows": session.rows(ETHERNET)}, compute)
    said = fails(bench, task)
    assert "Everything was undone. Kept from before: cages 1 to 3." in said
    assert {names[port]["mtu"] for port in first} == {1400}


def changed_after_the_look(bench: Bench, monkeypatch, times: int) -> None:
    """Somebody changes what our commands were computed from, after our look and before our take, so many times."""
    save, left = _transaction.save, iter(range(times))

    def meanwhile(session, keep):
        number = next(left, None)
        if number is not None:
            bench.run(f"/interface/ethernet set {PORTS[-1]} mtu={1300 + number}" if number % 2 else f"/interface/ethernet set {PORTS[-1]} mtu=1400")
        return save(session, keep)

    monkeypatch.setattr(_transaction, "save", meanwhile)


def test_what_somebody_changed_meanwhile_is_looked_at_again(monkeypatch):
    bench = Bench()
    changed_after_the_look(bench, monkeypatch, 1)
    outcome = converge(Switch(bench.connect), TASK, check_mode=False, care=CARE)
    assert outcome.commands == [f"/interface/ethernet set {port} mtu=1400" for port in PORTS[:-1]]
    assert bench.machine.safe_mode.session is None


def test_somebody_who_changes_it_all_the_time_is_told_and_nothing_is_changed(monkeypatch):
    bench = Bench()
    changed_after_the_look(bench, monkeypatch, 9)
    with pytest.raises(SwitchError, match=r"^sw: configuration - expected the same as when this run looked, found changed by somebody else\. "):
        converge(Switch(bench.connect), TASK, check_mode=False, care=CARE)
    assert [row["mtu"] for row in bench.machine.rows("/interface/ethernet") if row["name"] in PORTS[:-1]] == [1500] * (len(PORTS) - 1)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches whose owner writes odd things: names and comments come through every module as they are."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _transaction
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import care_of
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._command import Command, Group
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._device import device, refusals
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import ConnectionLost, Session, SwitchError
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._transaction import unsendable
from ansible_collections.gb10.cluster.plugins.modules import mikrotik_breakout, mikrotik_bridge, mikrotik_info, mikrotik_roce
from simulated import Bench

FABRIC = {"cages": {"qsfp56-dd-1": {"mode": "2x200G"}}, "legs": {"qsfp56-dd-1-1": {"speed": "200G"}, "qsfp56-dd-1-5": {"speed": "200G"}}}
MODULES = {
    "breakout": (mikrotik_breakout, {"link_wait": 0}, {"state": "absent"}),
    "bridge": (mikrotik_bridge, {"vlan": 100}, {"state": "absent"}),
    "roce": (mikrotik_roce, {"level": "lossless"}, {"level": "none"}),
}
ODD = [
    "1234", "0012", "1e5", "true", "no", "-1", "0x10", " lead", "trail ", "a;b=c;.id=*1", 'say "hi"', "$(x) [/system reboot]", "back\\slash",
    "Schrank 3 \u2013 M\u00fcller \u2713",
    "{'a': [1, 2]}", "#1", "[admin@sw] > ", "Reboot, yes? [y/N]: ", ";;; x", "(gb10.cluster: was speed=x", "?", "tab\there",
    "bell\x07 \x18 \x03 \x1b[A", "x" * 190,
]


def pairs(odd):
    """Two at a time: a leg is the first lane of its half of the cage, and there are two of them."""
    return list(zip(odd[::2], odd[1::2], strict=True))


def comments(bench):
    return {(path, row[".id"]): row.get("comment") or "" for path in ("/interface/ethernet", "/interface/bridge/port") for row in bench.machine.rows(path)}


@pytest.mark.parametrize(("one", "other"), pairs(ODD))
@pytest.mark.parametrize("module", MODULES)
def test_comments_of_the_owner_come_back_whatever_they_say(run, module, one, other):
    made, present, absent = MODULES[module]
    bench = Bench()
    for port, comment in {"qsfp56-dd-1-1": one, "qsfp56-dd-1-2": other, "qsfp56-dd-1-5": other, "qsfp56-dd-1-6": one, "sfp56-1": one, "ether2": other}.items():
        bench.machine.row("/interface/ethernet", port)["comment"] = comment
        bench.machine.row("/interface/bridge/port", port, "interface")["comment"] = comment
    before = comments(bench)
    told = run(made, bench, **FABRIC, **present, _ansible_check_mode=True)
    done = run(made, bench, **FABRIC, **present)
    assert (told["commands"], told["diff"]) == (done["commands"], done["diff"])
    assert not run(made, bench, **FABRIC, **present)["changed"]
    assert run(made, bench, **FABRIC, **absent)["changed"]
    assert comments(bench) == before
    assert not run(made, bench, **FABRIC, **absent)["changed"]


NAMES = ["1", "007", "1e5", "true", "my port", 'a"b', "$x", "[x]", "a;b=c", "comment", "disabled", "all", "M\u00fcller", "a/b", "*1", "0"]


@pytest.mark.parametrize(("one", "other"), pairs(NAMES))
@pytest.mark.parametrize("module", MODULES)
def test_a_port_may_have_any_name(run, module, one, other):
    made, present, absent = MODULES[module]
    bench = Bench()
    names = {"qsfp56-dd-1-1": one, "qsfp56-dd-1-5": other}
    for path, key in (("/interface/ethernet", "name"), ("/interface/bridge/port", "interface"), ("/interface/ethernet/switch/qos/port", "name")):
        for row in bench.machine.rows(path):
            row[key] = names.get(row[key], row[key])
    told = run(made, bench, **FABRIC, **present, _ansible_check_mode=True)
    done = run(made, bench, **FABRIC, **present)
    assert (told["commands"], told["diff"]) == (done["commands"], done["diff"])
    assert not run(made, bench, **FABRIC, **present)["changed"]
    assert run(made, bench, **FABRIC, **absent)["changed"]
    assert not run(made, bench, **FABRIC, **absent)["changed"]


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize("module", MODULES)
def test_a_command_that_no_terminal_echoes_is_refused_before_anything_is_touched(run, module, check_mode):
    made, present, _absent = MODULES[module]
    bench = Bench()
    for path, key in (("/interface/ethernet", "name"), ("/interface/bridge/port", "interface")):
        bench.machine.row(path, "qsfp56-dd-1-1", key)["comment"] = "x" * 380
    told = run(made, bench, **FABRIC, **present, _ansible_check_mode=check_mode)
    assert "… - expected at most 400 characters, found " in told["msg"]
    assert told["msg"].endswith(". Shorten what these rows have as comments and names.")
    assert bench.machine.counts["writes"] == 0 and bench.machine.files == {}
    due = run(mikrotik_info, bench, gather=[], wanted={**FABRIC, "roce": "lossless", "vlan": 100})["mikrotik"]["due"]
    assert any("expected at most 400 characters" in refusal for refusal in due["refusals"])


@pytest.mark.parametrize("profile", ["my pfc", "pfc (old)", "a=b", "50%", "M\u00fcller", "007"])
def test_a_pfc_profile_of_the_owner_comes_back_whatever_its_name(run, profile):
    bench = Bench()
    pfc = "/interface/ethernet/switch/qos/priority-flow-control"
    bench.machine.append(pfc, {**bench.machine.rows(pfc)[0], "name": profile, "default": False, "traffic-class": [5]})
    lane = bench.machine.row("/interface/ethernet/switch/qos/port", "qsfp56-dd-1-2")
    lane["pfc"] = profile
    before = comments(bench)
    assert run(mikrotik_roce, bench, level="lossless", **FABRIC)["changed"] and lane["pfc"] == "disabled"
    assert not run(mikrotik_roce, bench, level="lossless", **FABRIC)["changed"]
    run(mikrotik_roce, bench, level="none", **FABRIC)
    assert lane["pfc"] == profile and comments(bench) == before


def test_files_of_the_owner_that_are_called_like_ours_stay(run):
    bench = Bench()
    owners = ["gb10-1.rsc", "gb10-before-upgrade.rsc", "gb10-20260101.rsc", "gb10-.rsc"]
    bench.machine.files.update(dict.fromkeys(owners, "theirs"))
    bench.machine.files["gb10-20200101T000000000000Z.rsc"] = "ours"
    run(mikrotik_bridge, bench, **FABRIC)
    for l2mtu in range(9217, 9222):
        run(mikrotik_bridge, bench, **FABRIC, l2mtu=l2mtu)
    assert set(owners) <= set(bench.machine.files) and "gb10-20200101T000000000000Z.rsc" not in bench.machine.files
    assert len(bench.machine.files) == len(owners) + 5


SHAPES = [
    ({"cages": {"qsfp56-dd-1": "2x200G"}}, ["sw: qsfp56-dd-1 in cages - expected a mapping, found '2x200G'. Write cages as the plan has them."]),
    ({"legs": {"qsfp56-dd-1-1": ["200G"]}}, ["sw: qsfp56-dd-1-1 in legs - expected a mapping, found ['200G']. Write legs as the plan has them."]),
    ({"cages": {"x": 1}, "legs": {"y": True}}, ["sw: x in cages - expected a mapping, found 1. Write cages as the plan has them.",
                                                "sw: y in legs - expected a mapping, found True. Write legs as the plan has them."]),
]


@pytest.mark.parametrize(("options", "said"), SHAPES)
@pytest.mark.parametrize("module", MODULES)
def test_what_is_no_mapping_is_refused_before_the_login(run, module, options, said):
    made, present, _absent = MODULES[module]
    assert run(made, None, **options, **present)["msg"] == "\n".join(said)


def test_a_plan_that_is_no_mapping_is_a_refusal(run):
    due = run(mikrotik_info, Bench(), gather=[], wanted={"cages": ["qsfp56-dd-1"]})["mikrotik"]["due"]
    assert due["refusals"] == ["sw: cages - expected a mapping of names to mappings, found ['qsfp56-dd-1']. Write cages as the plan has them."]


def test_a_cage_that_says_nothing_has_no_mode(run):
    assert run(mikrotik_breakout, None, cages={"qsfp56-dd-1": None})["msg"].startswith("sw: mode of qsfp56-dd-1 - expected 1x400G or 2x200G or ")
    assert not run(mikrotik_breakout, Bench(), cages={"qsfp56-dd-1": None}, state="absent")["changed"]


@pytest.mark.parametrize("option", [{"timeout": 0}, {"timeout": -1}, {"port": 0}, {"safe_mode_wait": -1}, {"keep_exports": -5}])
def test_a_number_that_makes_no_sense_is_refused(option):
    params = {"host": "sw", "port": 22, "username": "admin", "password": None, "private_key_file": None, "timeout": 30, "host_key_checking": True,
              "known_hosts_file": None, "called": None, "safe_mode_wait": 60, "keep_exports": 0, **option}
    name, value = next(iter(option.items()))
    with pytest.raises(SwitchError, match=rf"^sw.*: {name} - expected [01] or more, found {value}\. Correct the option\.$"):
        care_of(params)


@pytest.mark.parametrize("vlan", [-1, 0, 1, 4095])
def test_a_vlan_that_keeps_nothing_apart_is_refused(run, vlan):
    bench = Bench()
    assert run(mikrotik_bridge, bench, **FABRIC, vlan=vlan)["msg"] == (
        f"sw: VLAN of the fabric - expected 2 to 4094, found {vlan}. Choose a free VLAN for fabric_switch_vlan; 1 has everything else.")
    assert bench.machine.counts["writes"] == 0


def test_lossless_needs_to_know_how_fast_a_leg_is(run):
    told = run(mikrotik_roce, Bench(), level="lossless", cages=FABRIC["cages"], legs={"qsfp56-dd-1-1": {"speed": "fast"}, "qsfp56-dd-1-5": None})
    assert told["msg"] == "\n".join(
        f"sw: speed of leg {leg} - expected one that a shaper can have, such as 200G, found none. Say it in legs."
        for leg in ("qsfp56-dd-1-1", "qsfp56-dd-1-5"))


def test_more_than_safe_mode_can_undo_is_refused_and_no_traceback(run):
    legs = {f"qsfp28-{cage}-{lane}": {"speed": "25G"} for cage in range(1, 5) for lane in range(1, 5)}
    many = {f"sfp{number}": {} for number in range(90)}
    group = Group("RoCE", tuple(Command("/x", "set", (name,), {"a": 1}) for name in many))
    assert unsendable("sw", [group]) == [
        "sw: RoCE - expected at most 80 changes, which safe mode can undo together, found 90. Give this switch fewer legs at a time."]
    assert run(mikrotik_roce, Bench("CRS504", "7.23.7"), level="lossless", cages={f"qsfp28-{cage}": {} for cage in range(1, 5)}, legs=legs)["changed"]


def test_a_switch_that_talks_for_ever_is_dropped(monkeypatch):
    bench = Bench()
    session = bench.connect()
    terminal = session._terminal
    monkeypatch.setattr(terminal, "write", lambda text: None)
    monkeypatch.setattr(terminal, "read", lambda: "12:00:01 echo: system,info,critical link flaps\n")
    session._timeout = 0.05
    with pytest.raises(ConnectionLost, match=r"answer to ':put 1' - expected within 0.5 s, found no end of it\. "):
        session.run(":put 1")


def test_safe_modes_of_others_one_after_the_other_are_waited_for_once(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    left = []

    def somebody_held_it(session, patience, poll, deadline):
        left.append(deadline - clock[0])
        clock[0] += 25
        if len(left) > 3:
            raise SwitchError("held")
        return True

    monkeypatch.setattr(_transaction, "wait_until_free", somebody_held_it)
    switch = SimpleNamespace(session=SimpleNamespace(), name="sw")
    task = _transaction.Task(lambda session: {}, lambda state: [Group("x", (Command("/x", "add"),))])
    with pytest.raises(SwitchError, match="held"):
        _transaction.converge(switch, task, check_mode=False)
    assert left == [60, 35, 10, -15]


def test_a_package_that_could_be_installed_is_none_that_is():
    rows = [{"name": "routeros", "version": "7.23.7"}, {"name": "switch-marvell", "version": "7.23.7", "available": True}]
    found = device({"version": "7.23.7 (long-term)"}, {}, [{"type": "Marvell-98DX7335"}], rows)
    assert found.packages == {"routeros": "7.23.7"} and "package switch-marvell" in refusals("sw", found)[0]


def test_a_switch_without_safe_mode_is_described_all_the_same_and_never_changed(run, monkeypatch):
    bench = Bench()
    seen = Session.rows

    def rows(self, menu, singleton=False):
        if menu == "/safe-mode":
            raise SwitchError("sw: /safe-mode print as-value - expected readable rows, found 'syntax error'. Check the RouterOS version.")
        return seen(self, menu, singleton)

    monkeypatch.setattr(Session, "rows", rows)
    told = run(mikrotik_info, bench)
    assert told["mikrotik"]["safe_mode"] == {"enabled": False, "holder": "nobody"} and "/safe-mode" in told["mikrotik"]["missing"]
    assert "/safe-mode print" in run(mikrotik_bridge, bench, **FABRIC)["msg"] and bench.machine.counts["writes"] == 0


def test_a_switch_that_does_not_tell_who_holds_safe_mode_is_not_taken_for_free(run, monkeypatch):
    bench = Bench()
    seen = Session.rows
    monkeypatch.setattr(Session, "rows", lambda self, menu, singleton=False: [] if menu == "/safe-mode" else seen(self, menu, singleton))
    assert run(mikrotik_bridge, bench, **FABRIC)["msg"] == (
        "sw: safe mode - expected told by /safe-mode/print, found nothing. Check the RouterOS version and the rights of the user.")
    assert bench.machine.counts["writes"] == 0

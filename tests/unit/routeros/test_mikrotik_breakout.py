# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module mikrotik_breakout against the simulated switch."""

from __future__ import annotations

import re

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _breakout
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._breakout import ETHERNET
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._cages import MODES
from ansible_collections.gb10.cluster.plugins.modules import mikrotik_breakout, mikrotik_bridge
from simulated import Bench, check_schema
from switch.exporting import export
from switch.hardware import links
from switch.machine import Plug
from switch.models import VERSIONS

TWO = {"qsfp56-dd-1": {"mode": "2x200G", "media": "copper", "fec": "auto"}}
BOTH = {**TWO, "qsfp56-dd-2": {"mode": "4x100G", "media": "copper", "fec": "auto"}}
NOTE = 'comment="(gb10.cluster: was auto-negotiation=yes disabled=no fec-mode=auto speed=unset)"'
NO_WAIT = {"link_wait": 0}


def a_bench(**options) -> Bench:
    bench = Bench(**options)
    bench.machine.plugs = {"qsfp56-dd-1": Plug(speeds=(200,), tails=(1, 5)), "qsfp56-dd-2": Plug(speeds=(100,), tails=(1, 3, 5, 7))}
    return bench


def test_two_cages_are_split_and_their_legs_come_up(run):
    bench = a_bench()
    result = run(mikrotik_breakout, bench, cages=BOTH)
    assert result["commands"] == [
        f"/interface/ethernet set *C,*D,*E,*10,*11,*12 {NOTE}",
        f"/interface/ethernet set *B,*F auto-negotiation=no speed=200G-baseCR4 {NOTE}",
        f"/interface/ethernet set *14,*16,*18,*1A {NOTE}",
        f"/interface/ethernet set *13,*15,*17,*19 auto-negotiation=no speed=100G-baseCR2 {NOTE}"]
    assert {leg: (shown["rate_gbps"], shown["fec"], shown["as_planned"]) for leg, shown in result["legs"].items()} == {
        **{f"qsfp56-dd-1-{lane}": (200, "fec91", True) for lane in (1, 5)}, **{f"qsfp56-dd-2-{lane}": (100, "fec91", True) for lane in (1, 3, 5, 7)}}
    assert result["export"] in bench.machine.files
    assert result["warnings"] == []


def test_a_second_run_changes_nothing_with_one_login(run):
    bench = a_bench()
    run(mikrotik_breakout, bench, cages=BOTH)
    logins, writes = bench.machine.counts["logins"], bench.machine.counts["writes"]
    result = run(mikrotik_breakout, bench, cages=BOTH)
    assert (result["changed"], result["commands"], result["export"], result["before"]) == (False, [], None, result["after"])
    assert (bench.machine.counts["logins"], bench.machine.counts["writes"]) == (logins + 1, writes)


def test_check_mode_tells_what_the_real_run_does_and_touches_nothing(run):
    bench = a_bench()
    before = export(bench.machine)
    told = run(mikrotik_breakout, bench, cages=BOTH, _ansible_check_mode=True)
    assert export(bench.machine) == before and bench.machine.files == {}
    done = run(mikrotik_breakout, bench, cages=BOTH)
    assert (told["commands"], told["before"], told["after"], told["diff"]) == (done["commands"], done["before"], done["after"], done["diff"])
    assert told["changed"] is True and told["export"] is None


def test_a_cage_that_is_right_is_not_restarted(run):
    bench = a_bench()
    run(mikrotik_breakout, bench, cages=TWO)
    bench.machine.restarted.clear()
    run(mikrotik_breakout, bench, cages=BOTH)
    assert list(bench.machine.restarted) == ["qsfp56-dd-2"]


def test_disabled_lanes_are_enabled(run):
    bench = a_bench()
    bench.run("/interface/ethernet set qsfp56-dd-1-2,qsfp56-dd-1-6 disabled=yes")
    result = run(mikrotik_breakout, bench, cages=TWO)
    assert result["commands"][0] == f"/interface/ethernet set *C,*10 disabled=no {NOTE.replace('disabled=no', 'disabled=yes')}"
    assert result["legs"]["qsfp56-dd-1-1"]["rate_gbps"] == 200


def test_a_renamed_port_is_the_same_port(run):
    bench = a_bench()
    bench.run("/interface/ethernet set qsfp56-dd-1-1 name=spark-1 auto-negotiation=no speed=200G-baseCR4 comment=rack")
    bench.run('/interface/ethernet set qsfp56-dd-1-5 name="spark 2"')
    assert run(mikrotik_breakout, bench, cages=TWO)["commands"][1:] == [
        '/interface/ethernet set spark-1 comment="rack (gb10.cluster: was auto-negotiation=no disabled=no fec-mode=auto speed=200G-baseCR4)"',
        f"/interface/ethernet set *F auto-negotiation=no speed=200G-baseCR4 {NOTE}"]


@pytest.mark.parametrize(
    ("cage", "model", "given", "command"),
    [
        ("qsfp56-1", "CRS812", {"mode": "1x100G"}, "qsfp56-1-1 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91"),
        ("qsfp28-1", "CRS504", {"mode": "1x100G"}, "qsfp28-1-1 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91"),
        ("qsfp28-1", "CRS504", {"mode": "1x100G", "fec": "off"}, "qsfp28-1-1 auto-negotiation=no speed=100G-baseCR4 fec-mode=off"),
        ("qsfp28-1", "CRS504", {"mode": "1x100G", "fec": False}, "qsfp28-1-1 auto-negotiation=no speed=100G-baseCR4 fec-mode=off"),
        ("qsfp56-1", "CRS812", {"mode": "1x200G", "media": "optical"}, "qsfp56-1-1 auto-negotiation=no speed=200G-baseSR4-LR4"),
        ("qsfp56-1", "CRS812", {"mode": "1x200G", "fec": "fec91"}, "qsfp56-1-1 auto-negotiation=no speed=200G-baseCR4 fec-mode=fec91"),
        ("qsfp56-dd-1", "CRS804", {"mode": "1x400G"}, "qsfp56-dd-1-1 auto-negotiation=no speed=400G-baseCR8"),
    ],
)
def test_a_mode_brings_the_fec_that_it_needs(run, cage, model, given, command):
    commands = run(mikrotik_breakout, Bench(model), cages={cage: given}, **NO_WAIT)["commands"]
    assert [written.partition(" comment=")[0] for written in commands[1:]] == [f"/interface/ethernet set {command}"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.family} {mode.name}")
def test_every_mode_is_written_in_the_words_of_every_version_and_settles(mode, version):
    bench = Bench({"qsfp56-dd": "CRS804", "qsfp56": "CRS812", "qsfp28": "CRS504"}[mode.family], version)
    cages, _refused = _breakout.understand("sw", {f"{mode.family}-1": {"mode": mode.name, "media": "optical"}}, present=True)
    want = _breakout.Want(cages, [])
    for group in _breakout.groups({ETHERNET: bench.rows(ETHERNET)}, want):
        for command in group.commands:
            check_schema(bench.machine, [command.text])
            assert bench.run(command.text) == ""
    assert _breakout.groups({ETHERNET: bench.rows(ETHERNET)}, want) == []
    assert links(bench.machine)[f"{mode.family}-1-1"].leg.lanes == mode.lanes


def refused(run, bench: Bench, **options) -> list[str]:
    before = export(bench.machine)
    result = run(mikrotik_breakout, bench, **options)
    assert result["failed"] is True and export(bench.machine) == before
    return result["msg"].split("\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cages": {"qsfp56-dd-5": {"mode": "2x200G"}}},
         ["sw: cage qsfp56-dd-5 - expected a cage of this switch (qsfp56-1, qsfp56-2, qsfp56-dd-1, qsfp56-dd-2), found none of that name. "
          "Correct fabric_cables."]),
        ({"cages": {"qsfp56-1": {"mode": "2x200G"}, "qsfp56-dd-1-1": {"mode": "2x200G"}}},
         ["sw: mode of qsfp56-1 - expected 1x200G or 1x100G or 2x100G or 1x40G or 2x50G or 4x50G or 4x25G or 4x10G or 4x1G, found 2x200G. "
          "A qsfp56 cage has no other.",
          "sw: cage qsfp56-dd-1-1 - expected the name of a cage such as qsfp56-dd-1, found qsfp56-dd-1-1. Write it without a lane."]),
        ({"cages": {"qsfp56-dd-1": {"mode": "2x200G", "fec": "off"}}},
         ["sw: fec of qsfp56-dd-1 - expected auto or fec91, found off. 2x200G comes up with no other."]),
        ({"cages": {"qsfp56-dd-1": {"mode": "2x200G", "media": "glass"}}},
         ["sw: media of qsfp56-dd-1 - expected copper or optical, found glass. A DAC is copper; an AOC or a transceiver is optical."]),
        ({"cages": TWO, "legs": {"qsfp56-dd-1-3": {}}},
         ["sw: leg qsfp56-dd-1-3 - expected a leading lane of qsfp56-dd-1: qsfp56-dd-1-1, qsfp56-dd-1-5, found qsfp56-dd-1-3. "
          "A leg is named by its first lane."]),
    ],
    ids=["no such cage", "no such mode, and a lane", "no FEC", "no such media", "no leader"],
)
def test_what_can_not_be_is_refused_all_at_once(run, options, said):
    assert refused(run, a_bench(), **options) == said


def test_a_cage_that_carries_the_session_is_refused(run):
    bench = Bench("CRS504", "7.22.1")
    bench.machine.plugs["qsfp28-1"] = Plug(speeds=(100,), tails=(1,))
    bench.run("/interface/bridge/port remove [find interface=ether1]")
    cages = {"qsfp28-1": {"mode": "1x100G"}, "qsfp28-2": {"mode": "1x100G"}}
    assert refused(run, bench, cages=cages) == [
        "sw: cage qsfp28-1 - expected no management in a fabric cage, found the session to 192.168.88.1 comes through qsfp28-1-1. "
        "Give management an ether port of its own first; changing the cage would cut it off."]
    del cages["qsfp28-1"]
    assert run(mikrotik_breakout, bench, cages=cages, **NO_WAIT)["changed"]


def test_a_switch_that_nobody_may_change_is_refused(run):
    bench = a_bench()
    bench.machine.tables["/system/package"].rows.pop()
    assert refused(run, bench, cages=TWO) == [
        "sw: package switch-marvell - expected enabled, version 7.23.7, found missing. "
        "Install the package of the same version as RouterOS and reboot the switch."]


@pytest.mark.parametrize(
    ("plug", "said"),
    [
        (None, "sw: leg qsfp56-dd-1-1 - expected a cable, found none. Push the plug in until it clicks, at both ends."),
        (Plug(speeds=(100,), tails=(1, 5)), "sw: leg qsfp56-dd-1-1 - expected link at 200G, found no-link, no Gb/s, EEPROM good. "
         "Look at the cable, and at the port of the node: it has the last word."),
        (Plug(media="optical", speeds=(200,), tails=(1, 5)), "sw: media of leg qsfp56-dd-1-1 - expected copper, found connector MPO. "
         "Correct media of that cable in fabric_cables."),
    ],
    ids=["no cable", "another speed", "another medium"],
)
def test_a_leg_that_is_not_as_planned_is_a_warning(run, plug, said):
    bench = Bench()
    if plug:
        bench.machine.plugs["qsfp56-dd-1"] = plug
    result = run(mikrotik_breakout, bench, cages=TWO, legs={"qsfp56-dd-1-1": {}}, link_wait=1)
    assert result["changed"] and result["warnings"] == [said]


def test_nothing_is_said_of_links_that_nobody_waited_for(run):
    assert run(mikrotik_breakout, Bench(), cages=TWO, **NO_WAIT)["warnings"] == []


def test_a_cage_that_restarts_is_waited_for(run):
    bench = a_bench(restart_seconds=0.3)
    assert run(mikrotik_breakout, bench, cages=TWO, link_wait=60)["legs"]["qsfp56-dd-1-5"]["as_planned"]


LABELS = ['set qsfp56-dd-1-1 comment="spark-1"', 'set qsfp56-dd-1-5 comment=""', 'set [find default-name=qsfp56-dd-1-6] name=six comment="odd (x)"']


@pytest.mark.parametrize("again", [True, False], ids=["after another run", "at once"])
def test_a_note_that_its_owner_wrote_over_is_known_from_the_other_lanes(run, again):
    labelled, bench = a_bench(), a_bench()
    for label in LABELS:
        labelled.run(f"/interface/ethernet {label}")
    run(mikrotik_breakout, bench, cages=TWO)
    run(mikrotik_bridge, bench, cages=TWO, legs={"qsfp56-dd-1-1": {}, "qsfp56-dd-1-5": {}})
    for label in LABELS:
        bench.run(f"/interface/ethernet {label}")
    if again:
        result = run(mikrotik_breakout, bench, cages=TWO, **NO_WAIT)
        before = "(gb10.cluster: was auto-negotiation=yes disabled=no fec-mode=auto l2mtu=1584 speed=unset)"
        assert result["commands"] == [
            f'/interface/ethernet set six comment="odd (x) {before}"',
            f'/interface/ethernet set qsfp56-dd-1-1 comment="spark-1 {before}"',
            f'/interface/ethernet set qsfp56-dd-1-5 comment="{before}"']
        assert not run(mikrotik_breakout, bench, cages=TWO, **NO_WAIT)["changed"]
        assert not run(mikrotik_bridge, bench, cages=TWO, legs={"qsfp56-dd-1-1": {}, "qsfp56-dd-1-5": {}})["changed"]
    for module in (mikrotik_bridge, mikrotik_breakout):
        run(module, bench, state="absent")
        assert not run(module, bench, state="absent")["changed"]
    assert without_speeds(export(bench.machine)) == without_speeds(export(labelled.machine))


def without_speeds(text: str) -> list[str]:
    """An export without the speeds of lanes, which RouterOS can not unset, and what it remarks on them."""
    lines = [re.sub(r" speed=\S+", "", line) for line in text.replace("\\\n    ", "").splitlines() if line != "# unsupported speed"]
    return [line for line in lines if not re.fullmatch(r"set \[ find default-name=\S+ \]", line)]


@pytest.mark.parametrize("options", [{"cages": BOTH, "legs": {"qsfp56-dd-1-1": {}}}, {}], ids=["of the plan", "without a plan"])
def test_absent_brings_back_what_was_before_and_nothing_else(run, options):
    bench = a_bench()
    bench.run('/interface/ethernet set qsfp56-dd-1-1 comment="to spark-1 (left)" fec-mode=fec74')
    bench.run("/interface/ethernet set qsfp56-dd-1-5 auto-negotiation=no speed=100G-baseCR4 disabled=yes")
    bench.run("/interface/ethernet set qsfp56-dd-1-6 disabled=yes")
    bench.run("/interface/ethernet set qsfp56-1-1 auto-negotiation=no speed=100G-baseCR4")
    before = export(bench.machine)
    run(mikrotik_breakout, bench, cages=BOTH, **NO_WAIT)
    run(mikrotik_breakout, bench, cages={"qsfp56-dd-1": {"mode": "4x100G"}}, **NO_WAIT)
    bench.run("/interface/ethernet set qsfp56-dd-1-3 disabled=yes")
    run(mikrotik_breakout, bench, cages={"qsfp56-dd-1": {"mode": "4x100G"}}, **NO_WAIT)
    told = run(mikrotik_breakout, bench, state="absent", **options, _ansible_check_mode=True)
    done = run(mikrotik_breakout, bench, state="absent", **options)
    assert (told["commands"], told["diff"], done["warnings"]) == (done["commands"], done["diff"], [])
    assert without_speeds(export(bench.machine)) == without_speeds(before)
    assert bench.machine.row("/interface/ethernet", "qsfp56-dd-1-5")["speed"] == "100G-baseCR4"
    assert not run(mikrotik_breakout, bench, state="absent", **options)["changed"]


@pytest.mark.parametrize("after", [False, True], ids=["before it runs", "after it ran"])
@pytest.mark.parametrize("steps", [[{"cages": BOTH}], [{"cages": BOTH}, {"state": "absent"}]], ids=["made", "taken back"])
def test_a_connection_that_drops_at_any_line_leaves_all_or_nothing(run, ends_in_between, steps, after):
    bench = a_bench()
    for options in steps[:-1]:
        run(mikrotik_breakout, bench, **options)
    assert ends_in_between(mikrotik_breakout, bench, after, **steps[-1]) == []

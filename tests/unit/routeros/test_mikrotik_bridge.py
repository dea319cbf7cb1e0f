# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module mikrotik_bridge against the simulated switch."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _wishes
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import Care
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._change import fulfil
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import SwitchError
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _bridge
from ansible_collections.gb10.cluster.plugins.modules import mikrotik_bridge
from simulated import Bench, check_schema
from switch.binding import Binder
from switch.exporting import export
from switch.forwarding import Trunk, join, legs
from switch.machine import Plug
from switch.models import VERSIONS

FABRIC = {"cages": {"qsfp56-dd-1": {}}, "legs": {"qsfp56-dd-1-1": {"node": "spark-1"}, "qsfp56-dd-1-5": {"node": "spark-2"}}}
TRUNK = {"cages": {"qsfp56-dd-1": {}, "qsfp56-dd-2": {}}, "legs": {**FABRIC["legs"], "qsfp56-dd-2-1": {"switch": "other", "leg": "qsfp56-dd-2-1"}}}
PORTS = "/interface/bridge/port"
NOTE = 'comment="defconf (gb10.cluster: was disabled=no frame-types=admit-all hw=yes ingress-filtering=yes path-cost=unset pvid=1)"'


def a_bench(**options) -> Bench:
    """A CRS812 whose first cage is split and has two nodes, whose second leads to another switch."""
    bench = Bench(**options)
    bench.machine.plugs = {"qsfp56-dd-1": Plug(speeds=(200,), tails=(1, 5)), "qsfp56-dd-2": Plug(speeds=(400,), tails=(1,))}
    for lane in (1, 5):
        bench.run(f"/interface/ethernet set qsfp56-dd-1-{lane} auto-negotiation=no speed=200G-baseCR4")
    bench.run("/interface/ethernet set qsfp56-dd-2-1 auto-negotiation=no speed=400G-baseCR8")
    return bench


def test_on_a_new_switch_only_the_size_is_missing_and_other_ports_keep_theirs(run):
    bench = a_bench()
    result = run(mikrotik_bridge, bench, **FABRIC)
    assert result["commands"] == ['/interface/ethernet set *B,*C,*D,*E,*F,*10,*11,*12 l2mtu=9216 comment="(gb10.cluster: was l2mtu=1584)"']
    sizes = {row["name"]: row["l2mtu"] for row in bench.machine.rows("/interface/ethernet")}
    assert {name for name, size in sizes.items() if size == 9216} == {f"qsfp56-dd-1-{lane}" for lane in range(1, 9)}
    assert bench.machine.row("/interface/bridge", "bridge")["mtu"] == "auto"
    assert {(state.mtu, state.gbps) for leg, state in legs(bench.machine).items() if leg.startswith("qsfp56-dd-1")} == {(9216, 200)}


def test_lanes_that_are_larger_stay_so(run):
    bench = a_bench()
    bench.run('/interface/ethernet set [find where name~"^qsfp56-dd-1"] l2mtu=9500')
    assert not run(mikrotik_bridge, bench, **FABRIC)["changed"]


def test_a_second_run_changes_nothing_with_one_login(run):
    bench = a_bench()
    run(mikrotik_bridge, bench, **TRUNK, vlan=100)
    logins, writes = bench.machine.counts["logins"], bench.machine.counts["writes"]
    result = run(mikrotik_bridge, bench, **TRUNK, vlan=100)
    assert (result["changed"], result["commands"], result["before"]) == (False, [], result["after"])
    assert (bench.machine.counts["logins"], bench.machine.counts["writes"]) == (logins + 1, writes)


def without_bridge(**options) -> Bench:
    bench = a_bench(**options)
    bench.run("/interface/bridge remove bridge")
    bench.run("/interface/bridge/port remove [find]")
    return bench


def without_legs() -> Bench:
    bench = a_bench()
    bench.run('/interface/bridge/port remove [find where interface~"^qsfp56-dd-1"]')
    return bench


@pytest.mark.parametrize("make", [a_bench, without_bridge, without_legs], ids=["new", "without bridge", "legs in no bridge"])
@pytest.mark.parametrize("options", [FABRIC, TRUNK, {**TRUNK, "vlan": 100}], ids=["legs", "with a trunk", "with a trunk and a VLAN"])
def test_check_mode_tells_what_the_real_run_does_and_touches_nothing(run, make, options):
    bench = make()
    before = export(bench.machine)
    told = run(mikrotik_bridge, bench, **options, _ansible_check_mode=True)
    assert export(bench.machine) == before and bench.machine.files == {}
    done = run(mikrotik_bridge, bench, **options)
    assert (told["commands"], told["before"], told["after"], told["diff"]) == (done["commands"], done["before"], done["after"], done["diff"])
    check_schema(bench.machine, done["commands"])
    assert not run(mikrotik_bridge, bench, **options)["changed"]


def with_settings_of_its_owner(**options) -> Bench:
    """Sizes, costs, VLANs and comments that are not those of the factory."""
    bench = a_bench(**options)
    bench.run('/interface/ethernet set qsfp56-dd-1-2,qsfp56-dd-1-3 l2mtu=2000 comment="left"')
    bench.run("/interface/ethernet set qsfp56-dd-1-4 l2mtu=9500")
    bench.run(f"{PORTS} set [find interface=qsfp56-dd-2-1] path-cost=77")
    bench.run(f"{PORTS} set [find interface=ether2] path-cost=10 comment=uplink")
    bench.run(f"{PORTS} set [find interface=qsfp56-dd-1-5] pvid=7 ingress-filtering=no hw=no frame-types=admit-only-vlan-tagged")
    bench.run('/interface/ethernet set qsfp56-dd-1-5 comment="x (gb10.cluster: was speed=unset) y"')
    return bench


@pytest.mark.parametrize(
    ("make", "version"),
    [*((with_settings_of_its_owner, version) for version in VERSIONS), (without_bridge, max(VERSIONS)), (a_bench, max(VERSIONS))],
)
@pytest.mark.parametrize("plan", [True, False], ids=["of the plan", "without a plan"])
def test_absent_leaves_the_export_from_before(run, make, version, plan):
    bench = make(version=version)
    before = export(bench.machine)
    for options in (TRUNK, {**TRUNK, "vlan": 100}):
        run(mikrotik_bridge, bench, **options)
        assert export(bench.machine) != before
        absent = {**(options if plan else {}), "state": "absent"}
        told = run(mikrotik_bridge, bench, **absent, _ansible_check_mode=True)
        done = run(mikrotik_bridge, bench, **absent)
        assert told["diff"] == done["diff"] and told["commands"] == done["commands"]
        assert export(bench.machine) == before
        assert not run(mikrotik_bridge, bench, **absent)["changed"]


def test_all_lanes_change_their_size_in_one_command_whatever_is_noted_on_them(run):
    bench = with_settings_of_its_owner()
    done = run(mikrotik_bridge, bench, **FABRIC)
    undone = run(mikrotik_bridge, bench, state="absent")
    assert [command for command in done["commands"] if "l2mtu=9216" in command] == ["/interface/ethernet set *B,*C,*D,*F,*10,*11,*12 l2mtu=9216"]
    assert sum(" l2mtu=1584" in command.partition(" comment=")[0] for command in undone["commands"]) == 1


def test_a_leg_that_is_in_no_bridge_is_added_to_the_one_that_is_there(run):
    bench = without_legs()
    assert run(mikrotik_bridge, bench, **FABRIC)["commands"][1:] == [
        f"{PORTS} add bridge=bridge interface=qsfp56-dd-1-{lane} comment=gb10.cluster" for lane in (1, 5)]
    assert len(bench.machine.rows("/interface/bridge")) == 1


def test_a_leg_that_is_disabled_or_not_offloaded_is_repaired(run):
    bench = a_bench()
    bench.run(f"{PORTS} set [find interface=qsfp56-dd-1-1] disabled=yes")
    bench.run(f"{PORTS} set [find interface=qsfp56-dd-1-5] hw=no")
    assert run(mikrotik_bridge, bench, **FABRIC)["commands"][1:] == [
        f"{PORTS} set *A disabled=no {NOTE.replace('disabled=no', 'disabled=yes')}", f"{PORTS} set *E hw=yes {NOTE.replace('hw=yes', 'hw=no')}"]


def test_a_leg_that_kept_a_stale_group_is_taken_out_of_it(run):
    bench = a_bench()
    bench.machine.stale_offload.add("qsfp56-dd-1-5")
    assert run(mikrotik_bridge, bench, **FABRIC)["commands"][1:] == [f"{PORTS} set *E hw=no", f"{PORTS} set *E hw=yes"]
    assert not run(mikrotik_bridge, bench, **FABRIC)["changed"]


def test_a_renamed_leg_is_the_same_leg(run):
    bench = a_bench()
    bench.run("/interface/ethernet set qsfp56-dd-1-1 name=spark-1")
    result = run(mikrotik_bridge, bench, **FABRIC)
    assert result["after"]["ports"]["qsfp56-dd-1-1"]["bridge"] == "bridge"


def test_isolation_is_made_in_the_order_that_never_locks_out(run):
    bench = a_bench()
    result = run(mikrotik_bridge, bench, **FABRIC, vlan=100)
    isolated = "pvid=100 frame-types=admit-only-untagged-and-priority-tagged"
    isolated += f" {NOTE}"
    assert result["commands"][1:] == [
        f"{PORTS} set *A {isolated}",
        f"{PORTS} set *E {isolated}",
        '/interface/bridge/vlan add bridge=bridge vlan-ids=1 untagged=bridge,ether1,ether2 comment="gb10.cluster: filtering was off"',
        '/interface/bridge/vlan add bridge=bridge vlan-ids=100 untagged=qsfp56-dd-1-1,qsfp56-dd-1-5 comment="gb10.cluster: filtering was off"',
        "/interface/bridge set *1 vlan-filtering=yes"]
    assert legs(bench.machine)["qsfp56-dd-1-1"].segment == "bridge/100"
    assert not any("management" in warning for warning in result["warnings"])


@pytest.mark.parametrize("lines", [
    ["/interface/vlan add name=management vlan-id=10 interface=bridge", "/interface/bridge/vlan add bridge=bridge vlan-ids=9-11 tagged=bridge,ether1"],
    ["/interface/vlan add name=management vlan-id=10 interface=bridge disabled=yes"],
    ["/interface/bridge/port set [find interface=ether1] pvid=10", "/interface/bridge set bridge vlan-filtering=yes"],
], ids=["with its row", "disabled", "filtered already"])
def test_what_would_not_be_cut_off_is_no_obstacle_to_the_vlan_and_stays(run, lines):
    bench = a_bench()
    for line in lines:
        bench.run(line)
    before = export(bench.machine)
    assert run(mikrotik_bridge, bench, **FABRIC, vlan=100)["changed"]
    assert not run(mikrotik_bridge, bench, **FABRIC, vlan=100)["changed"]
    run(mikrotik_bridge, bench, state="absent")
    assert export(bench.machine) == before


def test_a_bridge_that_filters_already_keeps_its_rows_and_goes_on_filtering(run):
    bench = a_bench()
    bench.run("/interface/bridge/vlan add bridge=bridge vlan-ids=200 untagged=sfp56-1")
    bench.run("/interface/bridge set bridge vlan-filtering=yes")
    before = export(bench.machine)
    result = run(mikrotik_bridge, bench, **FABRIC, vlan=100)
    assert result["commands"][-1] == (
        "/interface/bridge/vlan add bridge=bridge vlan-ids=100 untagged=qsfp56-dd-1-1,qsfp56-dd-1-5 comment=gb10.cluster")
    assert result["after"]["vlans"] == {"100": ["qsfp56-dd-1-1", "qsfp56-dd-1-5"], "200": ["sfp56-1"]}
    assert not run(mikrotik_bridge, bench, **FABRIC, vlan=100)["changed"]
    run(mikrotik_bridge, bench, state="absent")
    assert export(bench.machine) == before


VLANS = "/interface/bridge/vlan"


@pytest.mark.parametrize("is_gone", [True, False], ids=["taken back", "without a VLAN in the plan, then taken back"])
@pytest.mark.parametrize("is_on", [True, False], ids=["filtering", "not filtering"])
def test_rows_of_others_that_have_all_ports_are_used_and_left_alone(run, is_on, is_gone):
    bench = a_bench()
    bench.run(f"{VLANS} add bridge=bridge vlan-ids=1 untagged=bridge,ether1,ether2,sfp56-1")
    bench.run(f"{VLANS} add bridge=bridge vlan-ids=99-101 untagged=qsfp56-dd-1-1,qsfp56-dd-1-5")
    bench.run(f"/interface/bridge set bridge vlan-filtering={'yes' if is_on else 'no'}")
    before = export(bench.machine)
    assert not any(VLANS in command for command in run(mikrotik_bridge, bench, **FABRIC, vlan=100)["commands"])
    assert not run(mikrotik_bridge, bench, **FABRIC, vlan=100)["changed"]
    assert legs(bench.machine)["qsfp56-dd-1-1"].segment == "bridge/100"
    run(mikrotik_bridge, bench, **({"state": "absent"} if is_gone else FABRIC))
    assert "pvid=100" not in export(bench.machine)
    run(mikrotik_bridge, bench, state="absent")
    assert export(bench.machine) == before


def test_filtering_that_a_row_of_ours_turned_on_is_remembered_when_only_rows_of_others_are_left(run):
    bench = a_bench()
    bench.run(f"{VLANS} add bridge=bridge vlan-ids=1 untagged=bridge,ether1,ether2,sfp56-1")
    bench.run(f"{VLANS} add bridge=bridge vlan-ids=99-101 untagged=qsfp56-dd-1-1,qsfp56-dd-1-5")
    before = export(bench.machine)
    run(mikrotik_bridge, bench, **FABRIC, vlan=200)
    assert "vlan-filtering=yes" in export(bench.machine)
    run(mikrotik_bridge, bench, **FABRIC, vlan=100)
    assert not run(mikrotik_bridge, bench, **FABRIC, vlan=100)["changed"]
    run(mikrotik_bridge, bench, state="absent")
    assert export(bench.machine) == before


def test_a_bridge_of_ours_goes_although_its_rows_are_of_somebody_else(run):
    bench = a_bench()
    bench.run("/interface/bridge/port remove [find bridge=bridge]")
    bench.run("/interface/bridge remove bridge")
    before = export(bench.machine)
    run(mikrotik_bridge, bench, **FABRIC, bridge="fabric")
    rows = [f"{VLANS} add bridge=fabric vlan-ids=1 untagged=fabric", f"{VLANS} add bridge=fabric vlan-ids=100 untagged=qsfp56-dd-1-1,qsfp56-dd-1-5"]
    for row in rows:
        bench.run(row)
    run(mikrotik_bridge, bench, **FABRIC, bridge="fabric", vlan=100)
    bench.run(f"{VLANS} remove [find bridge=fabric dynamic=no]")
    run(mikrotik_bridge, bench, state="absent")
    assert export(bench.machine) == before


def fabric_of(*legs: str) -> dict:
    return {"cages": FABRIC["cages"], "legs": {leg: {} for leg in legs}}


OTHER_PLANS = {
    "no VLAN": ({**FABRIC, "vlan": 100}, FABRIC),
    "another VLAN": ({**FABRIC, "vlan": 100}, {**FABRIC, "vlan": 200}),
    "a leg less": ({**FABRIC, "vlan": 100}, {**fabric_of("qsfp56-dd-1-1"), "vlan": 100}),
    "another leg": ({**fabric_of("qsfp56-dd-1-1"), "vlan": 100}, {**fabric_of("qsfp56-dd-1-5"), "vlan": 100}),
    "no trunk": ({**TRUNK, "vlan": 100}, {**FABRIC, "cages": TRUNK["cages"]}),
    "a trunk and no VLAN": ({**FABRIC, "cages": TRUNK["cages"], "vlan": 100}, TRUNK),
}


def forwarding(bench: Bench) -> dict:
    """What the bridge does: its rows without their ids and comments."""
    hidden = (".id", "comment")
    return {menu: sorted(sorted((key, str(value)) for key, value in row.items() if key not in hidden) for row in bench.rows(menu))
            for menu in ("/interface/bridge", PORTS, VLANS)}


@pytest.mark.parametrize("make", [a_bench, without_legs], ids=["new", "legs in no bridge"])
@pytest.mark.parametrize(("first", "then"), OTHER_PLANS.values(), ids=OTHER_PLANS)
def test_what_the_plan_says_no_more_is_as_if_it_had_never_said_it(run, make, first, then):
    around, straight = make(), make()
    before = export(around.machine)
    for bench, options in ((around, first), (around, then), (straight, then)):
        told = run(mikrotik_bridge, bench, **options, _ansible_check_mode=True)
        done = run(mikrotik_bridge, bench, **options)
        assert told["commands"] == done["commands"] != [] and told["diff"] == done["diff"]
        assert not run(mikrotik_bridge, bench, **options)["changed"]
    assert forwarding(around) == forwarding(straight)
    run(mikrotik_bridge, around, state="absent")
    assert export(around.machine) == before


def test_what_the_owner_sets_after_the_vlan_has_gone_stays(run):
    bench = a_bench()
    for options in ({**FABRIC, "vlan": 100}, FABRIC):
        run(mikrotik_bridge, bench, **options)
    bench.run(f"{PORTS} set [find interface=qsfp56-dd-1-1] pvid=7 path-cost=99")
    assert not run(mikrotik_bridge, bench, **FABRIC)["changed"]


@pytest.mark.parametrize("size", ["unset", "big", ""])
def test_a_note_that_is_no_size_brings_nothing_back_and_is_removed(run, size):
    bench = a_bench()
    run(mikrotik_bridge, bench, **FABRIC)
    bench.run(f'/interface/ethernet set qsfp56-dd-1-1 comment="(gb10.cluster: was l2mtu={size})"')
    run(mikrotik_bridge, bench, state="absent")
    ports = {row["name"]: row for row in bench.rows("/interface/ethernet")}
    assert (ports["qsfp56-dd-1-1"]["l2mtu"], ports["qsfp56-dd-1-1"].get("comment", "")) == (9216, "")
    assert ports["qsfp56-dd-1-2"]["l2mtu"] == 1584
    assert not run(mikrotik_bridge, bench, state="absent")["changed"]


def test_a_port_that_shows_no_size_is_left_alone():
    menus = {"/interface/ethernet": [{".id": "*1", "name": "qsfp56-dd-1-1", "default-name": "qsfp56-dd-1-1"}], "/interface/bridge": [],
             PORTS: [], VLANS: []}
    want = _bridge.Want(["qsfp56-dd-1"], [], [], None, None, 9216)
    assert [group.title for group in _bridge.groups(menus, want)] == ["bridge"]


def test_a_menu_that_can_not_be_read_is_no_empty_menu(run, monkeypatch):
    bench = a_bench()
    before = export(bench.machine)
    commands = {path: verbs for path, verbs in bench.machine.schema.commands.items() if path != "/interface/bridge/print"}
    schema = SimpleNamespace(commands=commands, menus=bench.machine.schema.menus, line="7.23")
    monkeypatch.setattr(bench.machine, "binder", Binder(schema, bench.machine.menus))
    result = run(mikrotik_bridge, bench, **FABRIC)
    assert result["failed"] and result["msg"].startswith("sw: /interface/bridge print detail as-value - expected readable rows")
    assert export(bench.machine) == before


def two_switches() -> tuple[Bench, Bench]:
    """Two CRS812 joined by 1x400G and by the management LAN; the second is not the root, and its link is dearer than the detour."""
    first, second = a_bench(), a_bench()
    second.run("/interface/bridge set bridge admin-mac=02:00:5E:20:00:00")
    second.run(f"{PORTS} set [find interface=qsfp56-dd-2-1] path-cost=5000")
    join({"first": first.machine, "second": second.machine},
         [Trunk(("first", "qsfp56-dd-2-1"), ("second", "qsfp56-dd-2-1")), Trunk(("first", "ether1"), ("second", "ether1"))])
    return first, second


def test_an_inter_switch_link_is_made_cheap_and_forwards(run):
    _first, second = two_switches()
    assert legs(second.machine)["qsfp56-dd-2-1"].segment is None
    result = run(mikrotik_bridge, second, **TRUNK)
    assert f"{PORTS} set *12 path-cost=10 {NOTE.replace('path-cost=unset', 'path-cost=5000')}" in result["commands"]
    assert f"{PORTS} set *0 path-cost=10000000 {NOTE}" in result["commands"]
    assert legs(second.machine)["qsfp56-dd-2-1"].segment == "bridge"


def test_an_inter_switch_link_that_stays_blocked_undoes_the_change(run):
    first, second = two_switches()
    join({"first": first.machine, "second": second.machine},
         [Trunk(("first", "qsfp56-dd-2-1"), ("second", "qsfp56-dd-2-1")), Trunk(("first", "qsfp56-dd-1-1"), ("second", "qsfp56-dd-1-1"))])
    second.run(f"{PORTS} set [find interface=qsfp56-dd-1-1] path-cost=1")
    before = export(second.machine)
    result = run(mikrotik_bridge, second, **TRUNK)
    assert result["failed"] and export(second.machine) == before
    assert result["msg"].startswith(
        "sw: inter-switch link qsfp56-dd-2-1 - expected forwarding, found alternate-port. "
        "Look for a loop that the spanning tree prefers, such as a second cable between the switches. Everything was undone.")


def test_an_inter_switch_link_without_its_other_end_is_a_warning(run):
    bench = a_bench()
    bench.machine.plugs.pop("qsfp56-dd-2")
    assert "sw: inter-switch link qsfp56-dd-2-1 - expected up, found no link. Configure the other switch, then look again." in run(
        mikrotik_bridge, bench, **TRUNK)["warnings"]


def test_management_on_the_same_bridge_is_a_warning_with_the_cure(run):
    assert run(mikrotik_bridge, a_bench(), **FABRIC)["warnings"] == [
        "sw: management - expected apart from the fabric, found both in bridge bridge. "
        "Set fabric_switch_vlan to a free VLAN, so that a storm or a loop in one does not take the other down."]


def test_a_crs5xx_may_need_a_reboot_for_its_new_size(run):
    warnings = run(mikrotik_bridge, Bench("CRS504", "7.22.1"), cages={"qsfp28-1": {}}, legs={"qsfp28-1-1": {}})["warnings"]
    assert any(warning.startswith("sw: l2mtu - expected at work at once, found a CRS5xx") for warning in warnings)


def test_a_leg_that_the_cpu_forwards_undoes_the_change_and_is_warned_of_without_one(run):
    bench = a_bench()
    bench.run(f"{PORTS} set [find interface=qsfp56-dd-1-1] horizon=1")
    bench.run("/interface/bridge/settings set use-ip-firewall=yes")
    said = ("sw: leg qsfp56-dd-1-1 - expected forwarded by the chip (flag H in /interface/bridge/port), found forwarded by the CPU. "
            "Look for a second bridge, a horizon, or use-ip-firewall.")
    result = run(mikrotik_bridge, bench, **FABRIC)
    assert result["failed"] and said in result["msg"] and "Everything was undone." in result["msg"]
    bench.run('/interface/ethernet set [find where name~"^qsfp56-dd-1"] l2mtu=9216')
    assert said in run(mikrotik_bridge, bench, **FABRIC)["warnings"]


def test_a_leg_with_a_horizon_is_no_stale_one_and_its_warning_is_all_that_a_run_makes_of_it(run):
    bench = a_bench()
    run(mikrotik_bridge, bench, **FABRIC)
    bench.run(f"{PORTS} set [find interface=qsfp56-dd-1-1] horizon=1")
    result = run(mikrotik_bridge, bench, **FABRIC)
    assert (result["changed"], [text for text in result["warnings"] if "management" not in text]) == (False, [
        "sw: leg qsfp56-dd-1-1 - expected forwarded by the chip (flag H in /interface/bridge/port), found forwarded by the CPU. "
        "Look for a second bridge, a horizon, or use-ip-firewall."])


@pytest.mark.parametrize(
    ("lines", "options", "said"),
    [
        (["/interface/bridge add name=second", f"{PORTS} set [find interface=qsfp56-dd-1-5] bridge=second"], {},
         "sw: leg qsfp56-dd-1-5 - expected in bridge bridge, found in bridge second. "
         "Take it out with /interface/bridge/port remove [find interface=qsfp56-dd-1-5]: only one bridge is forwarded by the chip."),
        ([], {"bridge": "fabric"}, "sw: bridge fabric - expected a bridge of this switch (bridge), found none of that name. "
         "Correct fabric_switch_bridge, or leave it out."),
        ([], {"l2mtu": 9600}, "sw: l2mtu of qsfp56-dd-1 - expected at most 9570, found 9600. Lower fabric_mtu."),
        ([], {"legs": {"qsfp56-dd-9-1": {}}},
         "sw: port qsfp56-dd-9-1 - expected a port of this switch, found none of that name. Correct fabric_cables."),
        ([f"{VLANS} add bridge=bridge vlan-ids=100 untagged=sfp56-1,qsfp56-dd-1-5"], {"vlan": 100},
         "sw: VLAN 100 of bridge bridge - expected qsfp56-dd-1-1, qsfp56-dd-1-5 untagged, found sfp56-1, qsfp56-dd-1-5 in a row of others. "
         "Add them there, or remove the row, or choose a free VLAN for fabric_switch_vlan."),
        ([f"{VLANS} add bridge=bridge vlan-ids=1 tagged=bridge"], {"vlan": 100},
         "sw: VLAN 1 of bridge bridge - expected bridge, ether1, ether2 untagged, found nothing in a row of others. "
         "Add them there, or remove the row."),
        ([f"{PORTS} set [find interface=ether1] pvid=10 frame-types=admit-only-vlan-tagged", "/interface/bridge set bridge pvid=7"], {"vlan": 100},
         "sw: bridge bridge - expected pvid=1 frame-types=admit-all as long as bridge does not filter VLANs, found pvid=7. "
         "Set them so, or turn vlan-filtering on as you mean it: fabric_switch_vlan turns it on, and from then on they count.\n"
         "sw: port ether1 - expected pvid=1 frame-types=admit-all as long as bridge does not filter VLANs, "
         "found pvid=10 frame-types=admit-only-vlan-tagged. "
         "Set them so, or turn vlan-filtering on as you mean it: fabric_switch_vlan turns it on, and from then on they count."),
        (["/interface/vlan add name=management vlan-id=10 interface=bridge", f"{VLANS} add bridge=bridge vlan-ids=10 tagged=ether1"], {"vlan": 100},
         "sw: interface management - expected a row of /interface/bridge/vlan with bridge tagged in VLAN 10, found none. "
         "Add it, with bridge and the ports that need it tagged: once bridge filters VLANs nothing reaches that interface without."),
        ([f"{PORTS} remove [find interface!=qsfp56-dd-1-1 and interface!=qsfp56-dd-1-5]"], {"vlan": 100},
         "sw: leg qsfp56-dd-1-1, qsfp56-dd-1-5 - expected no management through legs alone, found the session to 192.168.88.1 comes through nothing else. "
         "Give management an ether port of its own first; the VLAN of the fabric would cut it off."),
    ],
    ids=["a second bridge", "no such bridge", "too large", "no such leg", "the VLAN of others", "VLAN 1 of others", "settings that would begin to count",
         "an interface that would lose its VLAN", "no way in but the legs"],
)
def test_what_can_not_be_is_refused_and_nothing_touched(run, lines, options, said):
    bench = a_bench()
    for line in lines:
        bench.run(line)
    before = export(bench.machine)
    result = run(mikrotik_bridge, bench, **{**FABRIC, **options})
    assert (result["failed"], result["msg"]) == (True, said)
    assert export(bench.machine) == before


def after_maria(*lines: str):
    """Let the legs be configured while somebody else holds safe mode, and does something in it before she releases it."""
    bench = a_bench()
    bench.machine.take_safe_mode(object(), "maria", "ssh")

    def works_until_asked_for() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any("/safe-mode" in line for line in list(bench.scenario.log)):
            time.sleep(0.01)
        for line in lines:
            bench.run(line)
        bench.machine.end_safe_mode()

    maria = threading.Thread(target=works_until_asked_for)
    maria.start()
    try:
        wish = _wishes.bridge("sw", FABRIC["cages"], FABRIC["legs"], None, None, 9216, True)
        return fulfil(bench.connect, wish, False, Care(safe_mode_wait=60, settle=0.2, unroll_wait=30, poll=0.01))
    finally:
        maria.join()


def test_what_somebody_else_did_meanwhile_is_refused_too():
    with pytest.raises(SwitchError, match="sw: leg qsfp56-dd-1-5 - expected in bridge bridge, found in bridge second. "):
        after_maria("/interface/bridge add name=second", f"{PORTS} set [find interface=qsfp56-dd-1-5] bridge=second")


def test_what_somebody_else_did_meanwhile_is_no_change_of_ours():
    result = after_maria("/interface/ethernet set qsfp56-dd-1-1 l2mtu=9500").returned
    assert result["commands"] == ['/interface/ethernet set *C,*D,*E,*F,*10,*11,*12 l2mtu=9216 comment="(gb10.cluster: was l2mtu=1584)"']
    assert result["before"]["l2mtu"]["qsfp56-dd-1-1"] == 9500


def test_of_two_bridges_the_offloaded_one_is_used(run):
    bench = Bench("CRS504", "7.23.7")
    bench.run("/interface/bridge add name=roce")
    bench.run(f'{PORTS} set [find where interface~"^qsfp28"] bridge=roce')
    result = run(mikrotik_bridge, bench, cages={"qsfp28-1": {}}, legs={"qsfp28-1-1": {}})
    assert result["after"]["bridge"] == "roce"


@pytest.mark.parametrize("after", [False, True], ids=["before it runs", "after it ran"])
@pytest.mark.parametrize("steps", [[{**TRUNK, "vlan": 100}], [{**FABRIC, "vlan": 100}, {"state": "absent"}]], ids=["made", "taken back"])
def test_a_connection_that_drops_at_any_line_leaves_all_or_nothing(run, ends_in_between, steps, after):
    bench = a_bench()
    for options in steps[:-1]:
        run(mikrotik_bridge, bench, **options)
    assert ends_in_between(mikrotik_bridge, bench, after, **steps[-1]) == []

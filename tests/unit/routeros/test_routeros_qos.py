# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE levels: decisions, and what simulated switches of every version make of them."""

from __future__ import annotations

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _change, _qos, _qos_checks, _qos_view
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._qos_rows import Want
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._rows import flag, rate
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._state import Reader
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._transaction import Care, Switch, Task, converge
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import Bench, check_schema
from switch.exporting import export

CARE = Care(safe_mode_wait=0.1, settle=0.05, unroll_wait=30, poll=0.01)
QOS = "/interface/ethernet/switch/qos"
LEGS = {
    "CRS812": ({"qsfp56-dd-1-1": 200, "qsfp56-dd-1-5": 200, "qsfp56-1-1": 200},
               [f"qsfp56-dd-1-{lane}" for lane in (2, 3, 4, 6, 7, 8)] + [f"qsfp56-1-{lane}" for lane in (2, 3, 4)]),
    "CRS804": ({f"qsfp56-dd-1-{lane}": 100 for lane in (1, 3, 5, 7)}, [f"qsfp56-dd-1-{lane}" for lane in (2, 4, 6, 8)]),
    "CRS504": ({"qsfp28-1-1": 100, "qsfp28-2-1": 100}, [f"qsfp28-{cage}-{lane}" for cage in (1, 2) for lane in (2, 3, 4)]),
    "CRS310": ({"sfp-sfpplus1": 10}, []),
}
ABLE = [("CRS812", "7.23.7"), ("CRS812", "7.24"), ("CRS804", "7.23.7"), ("CRS504", "7.20.8"), ("CRS504", "7.22.1"), ("CRS504", "7.23.7")]


def a_want(model: str, level: str, adopt: bool = False) -> Want:
    return Want(level, *LEGS[model], adopt)


def read(bench: Bench) -> tuple:
    session = bench.connect()
    reader = Reader(session)
    found = reader.device(), reader.qos()
    session.close()
    return found


def commands(bench: Bench, want: Want) -> list:
    found, have = read(bench)
    return [command for group in _qos.groups(found, have, want) for command in group.commands]


def apply(bench: Bench, want: Want) -> list[str]:
    """Make a bench what is wanted, in a transaction; gives the commands. Every one of them must be in the schema of its version."""
    found = _change.device_of({path: bench.rows(path) for path in _change.DEVICE_MENUS})
    task = Task(lambda session: {"have": Reader(session).qos()}, lambda state: _qos.groups(found, state["have"], want),
                lambda state: _qos_checks.problems("sw", state["have"], want))
    told = converge(Switch(bench.connect), task, check_mode=False, care=CARE).commands
    check_schema(bench.machine, told)
    return told


def bench_of(model: str, version: str) -> Bench:
    """A switch whose QoS offloading is on already, so that only what we change changes."""
    bench = Bench(model, version)
    bench.run("/interface/ethernet/switch set switch1 qos-hw-offloading=yes")
    return bench


@pytest.mark.parametrize(("model", "version"), ABLE)
@pytest.mark.parametrize("levels", [("ecn", "none"), ("lossless", "none"), ("ecn", "lossless", "ecn", "lossless", "none")], ids="-".join)
def test_levels_follow_each_other_settle_and_leave_nothing_behind(model, version, levels):
    bench = bench_of(model, version)
    before = export(bench.machine)
    for level in levels:
        assert apply(bench, a_want(model, level)) != []
        assert apply(bench, a_want(model, level)) == []
    assert export(bench.machine) == before


@pytest.mark.parametrize(("model", "version"), ABLE)
def test_what_came_from_ecn_by_way_of_lossless_is_ecn(model, version):
    straight, around = bench_of(model, version), bench_of(model, version)
    apply(straight, a_want(model, "ecn"))
    for level in ("lossless", "ecn"):
        apply(around, a_want(model, level))
    assert export(around.machine) == export(straight.machine)


def test_the_commands_of_lossless_on_a_crs812_are_the_published_recipe():
    bench = Bench("CRS812", "7.23.7")
    assert apply(bench, Want("lossless", {"qsfp56-dd-1-1": 200, "qsfp56-1-1": 400}, [])) == [
        f"{QOS}/profile add name=gb10-roce dscp=26 pcp=3 traffic-class=3",
        f"{QOS}/profile add name=gb10-cnp dscp=48 pcp=6 traffic-class=6",
        f"{QOS}/priority-flow-control add name=gb10-pfc traffic-class=3 rx=yes tx=yes",
        f"{QOS}/tx-manager/queue set *2 schedule=high-priority-group weight=1",
        f"{QOS}/tx-manager/queue set *4 weight=1 ecn=yes",
        f"{QOS}/port set qsfp56-dd-1-1 trust-l3=keep pfc=gb10-pfc egress-rate-queue3=200G",
        f"{QOS}/port set qsfp56-1-1 trust-l3=keep pfc=gb10-pfc",
        '/interface/ethernet set *3,*B comment="(gb10.cluster: was lldp-dcbx=no trust-l3=ignore)"',
        "/ip/neighbor/discovery-settings set lldp-dcbx=yes",
    ]


def test_before_7_23_the_map_is_said_and_the_crs5xx_has_a_shared_pool():
    bench = Bench("CRS504", "7.22.1")
    assert apply(bench, Want("lossless", {"qsfp28-1-1": 100}, [])) == [
        f"{QOS}/profile add name=gb10-roce dscp=26 pcp=3 traffic-class=3",
        f"{QOS}/map/ip add map=default dscp=26 profile=gb10-roce",
        f"{QOS}/profile add name=gb10-cnp dscp=48 pcp=6 traffic-class=6",
        f"{QOS}/map/ip add map=default dscp=48 profile=gb10-cnp",
        f"{QOS}/priority-flow-control add name=gb10-pfc traffic-class=3 rx=yes tx=yes",
        f"{QOS}/tx-manager/queue set *2 schedule=high-priority-group weight=1",
        f"{QOS}/tx-manager/queue set *4 weight=1 ecn=yes shared-pool-index=1",
        f"{QOS}/port set qsfp28-1-1 trust-l3=keep pfc=gb10-pfc egress-rate-queue3=100G",
        '/interface/ethernet set qsfp28-1-1 comment="(gb10.cluster: was lldp-dcbx=no trust-l3=ignore)"',
        "/interface/ethernet/switch set switch1 qos-hw-offloading=yes",
        "/ip/neighbor/discovery-settings set lldp-dcbx=yes",
    ]


OWNERS: dict[str, list[str]] = {
    "all objects of its own": [
        f"{QOS}/profile add name=roce dscp=26 pcp=3 traffic-class=3", f"{QOS}/profile add name=cnp dscp=48 pcp=6 traffic-class=6",
        f"{QOS}/priority-flow-control add name=pfc-tc3 traffic-class=3 rx=yes tx=yes"],
    "all objects of its own, in use": [
        f"{QOS}/profile add name=roce dscp=26 pcp=3 traffic-class=3", f"{QOS}/profile add name=cnp dscp=48 pcp=6 traffic-class=6",
        f"{QOS}/priority-flow-control add name=pfc-tc3 traffic-class=3 rx=yes tx=yes", f"{QOS}/tx-manager/queue set 3 weight=1 ecn=yes",
        f"{QOS}/port set qsfp56-dd-1-1,qsfp56-dd-1-2 pfc=pfc-tc3 trust-l3=keep", "/ip/neighbor/discovery-settings set lldp-dcbx=yes"],
    "DCBX": ["/ip/neighbor/discovery-settings set lldp-dcbx=yes"],
    "a shaper": [f"{QOS}/port set qsfp56-dd-1-1 egress-rate-queue3=50G"],
    "a profile of ports": [f"{QOS}/profile add name=video traffic-class=5", f"{QOS}/port set qsfp56-dd-1-1,sfp56-1 profile=video"],
    "trust": [f"{QOS}/port set qsfp56-dd-1-1,sfp56-1 trust-l3=keep"],
    "other queues": [f"{QOS}/tx-manager/queue set 1 weight=7", f"{QOS}/tx-manager/queue set 6 schedule=high-priority-group"],
    "comments": ['/interface/ethernet set qsfp56-dd-1-1,qsfp56-dd-1-2 comment="rack 3 (left)"'],
}


@pytest.mark.parametrize("lines", OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize("levels", [("ecn", "none"), ("lossless", "ecn", "lossless", "none")], ids="-".join)
def test_what_the_owner_had_set_is_there_again_after_none(lines, levels):
    bench = bench_of("CRS812", "7.23.7")
    for line in lines:
        assert bench.run(line) == ""
    before = export(bench.machine)
    for level in levels:
        want = a_want("CRS812", level, adopt=True) if level != "none" else Want("none", {}, [])
        apply(bench, want)
        assert apply(bench, want) == []
    assert export(bench.machine) == before


LEG, LANE, OTHER = "qsfp28-1-1", "qsfp28-1-2", "qsfp28-2-1"
OWNER_PORT = st.fixed_dictionaries({}, optional={
    "trust-l3": st.sampled_from(["ignore", "keep", "trust"]), "pfc": st.sampled_from(["disabled", "pfc-tc3", "mine"]),
    "profile": st.sampled_from(["default", "video"]), "egress-rate-queue3": st.sampled_from(["50.0Gbps", "1500Mbps"])})
OWNER_QUEUE = st.fixed_dictionaries({}, optional={
    "schedule": st.sampled_from(["low-priority-group", "high-priority-group", "strict-priority"]), "weight": st.integers(1, 9), "ecn": st.booleans()})
OWNER_COMMENT = st.sampled_from([None, "rack 3", "a (b)", "x (gb10.cluster: was l2mtu=1584) y"])
STEPS = st.lists(st.tuples(st.sampled_from(["ecn", "lossless"]), st.sets(st.sampled_from([LEG, LANE, OTHER]), min_size=1)), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def read_menus() -> dict:
    """Rows of a CRS504 with objects of its owner, as a session reads them; before 7.23 the switch makes no rows by itself."""
    bench = bench_of("CRS504", "7.22.1")
    for line in (f"{QOS}/profile add name=roce dscp=26 pcp=3 traffic-class=3", f"{QOS}/profile add name=video traffic-class=5",
                 f"{QOS}/priority-flow-control add name=pfc-tc3 traffic-class=3 rx=yes tx=yes",
                 f"{QOS}/priority-flow-control add name=mine traffic-class=5 rx=yes tx=yes"):
        assert bench.run(line) == ""
    return {path: bench.rows(path) for path in _qos_view.MENUS} | {path: bench.rows(path) for path in _change.DEVICE_MENUS}


def spelled(menus: dict) -> dict:
    """Rows whatever way their values are spelled."""
    def value(found: object) -> object:
        return rate(found) if rate(found) and str(found)[-1] in "Gs" else flag(found) if flag(found) is not None else str(found)

    def row(found: dict) -> dict:
        shown = {key: value(text) for key, text in found.items() if text not in (None, "")}
        return {**shown, **({"egress-rate-queue3": rate(found["egress-rate-queue3"])} if found.get("egress-rate-queue3") else {})}

    return {path: [row(found) for found in rows] for path, rows in menus.items()}


@given(ports=st.fixed_dictionaries({port: OWNER_PORT for port in (LEG, LANE, OTHER)}), queues=st.fixed_dictionaries({
    number: OWNER_QUEUE for number in (1, 3, 6)}), dcbx=st.booleans(), comment=OWNER_COMMENT, steps=STEPS)
@settings(max_examples=150, deadline=None)
def test_whatever_the_owner_had_and_whatever_the_plan_was_none_gives_the_rows_from_before(read_menus, ports, queues, dcbx, comment, steps):
    menus = {path: [dict(row) for row in rows] for path, rows in read_menus.items()}
    for row in menus[f"{QOS}/port"]:
        row.update(ports.get(row["name"], {}))
    for row in menus[f"{QOS}/tx-manager/queue"]:
        row.update(queues.get(int(row["traffic-class"]), {}))
    for row in menus["/interface/ethernet"]:
        row.update({"comment": comment} if comment and row["name"] in ports else {})
    menus["/ip/neighbor/discovery-settings"][0]["lldp-dcbx"] = dcbx
    before = spelled(menus)
    for level, legs in [*steps, ("none", set())]:
        want = Want(level, dict.fromkeys(sorted(legs), 100), sorted({LEG, LANE} - legs) if legs else [], adopt=True)
        for left in (True, False):
            groups = _qos.groups(_change.device_of(menus), _qos_view.have(menus), want)
            assert left or groups == []
            menus = _change.predict(menus, groups)
    assert [path for path, rows in spelled(menus).items() if rows != before[path]] == []


def test_ecn_leaves_dcbx_of_the_owner_on():
    bench = Bench()
    bench.run("/ip/neighbor/discovery-settings set lldp-dcbx=yes")
    for level in ("ecn", "lossless", "ecn"):
        assert not any("lldp-dcbx" in line for line in apply(bench, a_want("CRS812", level)))


def test_none_touches_nothing_of_others():
    bench = Bench()
    for line in (f"{QOS}/profile add name=roce dscp=26 traffic-class=3", f"{QOS}/tx-manager/queue set 3 ecn=yes",
                 f"{QOS}/port set qsfp56-dd-1-1 trust-l3=keep"):
        bench.run(line)
    assert commands(bench, a_want("CRS812", "none")) == []


def test_a_port_that_left_the_fabric_is_as_before_and_a_lane_keeps_no_pfc():
    bench = bench_of("CRS812", "7.23.7")
    before = export(bench.machine)
    apply(bench, Want("lossless", {"qsfp56-dd-1-1": 200, "qsfp56-dd-1-5": 200}, []))
    told = apply(bench, Want("lossless", {"qsfp56-dd-2-1": 200}, ["qsfp56-dd-1-5"]))
    assert f"{QOS}/port set qsfp56-dd-1-1 trust-l3=ignore pfc=disabled !egress-rate-queue3" in told
    assert f"{QOS}/port set qsfp56-dd-1-5 trust-l3=ignore pfc=disabled !egress-rate-queue3" in told
    apply(bench, Want("none", {}, []))
    assert export(bench.machine) == before


def test_our_pfc_whose_note_was_lost_is_taken_from_every_port():
    bench = bench_of("CRS812", "7.23.7")
    before = export(bench.machine)
    apply(bench, a_want("CRS812", "lossless"))
    bench.run('/interface/ethernet set [find] comment=""')
    apply(bench, a_want("CRS812", "none"))
    assert export(bench.machine) == before


@pytest.mark.parametrize("again", [True, False], ids=["after another run", "at once"])
@pytest.mark.parametrize("leg", ["qsfp56-dd-1-1", "qsfp56-dd-1-5", "qsfp56-1-1"])
def test_what_the_switch_was_is_known_although_its_owner_wrote_over_a_note(leg, again):
    labelled, bench = bench_of("CRS812", "7.23.7"), bench_of("CRS812", "7.23.7")
    for switch in (labelled, bench):
        switch.run(f"{QOS}/tx-manager/queue set [find tx-manager=default traffic-class=3] weight=5")
    apply(bench, a_want("CRS812", "lossless"))
    for switch in (labelled, bench):
        switch.run(f'/interface/ethernet set {leg} comment="spark-1"')
    for _run in range(2 if again else 0):
        apply(bench, a_want("CRS812", "lossless"))
    assert not again or apply(bench, a_want("CRS812", "lossless")) == []
    apply(bench, a_want("CRS812", "none"))
    assert export(bench.machine) == export(labelled.machine)


def test_a_profile_of_others_is_refused_or_adopted_and_then_left_alone():
    bench = Bench()
    bench.run(f"{QOS}/profile add name=roce dscp=26 pcp=3 traffic-class=3")
    bench.run(f"{QOS}/priority-flow-control add name=pfc-tc3 traffic-class=3 rx=yes tx=yes")
    before = export(bench.machine)
    found, have = read(bench)
    assert _qos_checks.refusals("sw", found, have, a_want("CRS812", "lossless")) == [
        "sw: QoS profile roce - expected no other profile for DSCP 26, found traffic class 3. "
        "Remove it, or set foreign to adopt if it is meant to serve RoCE."]
    want = a_want("CRS812", "lossless", adopt=True)
    assert _qos_checks.refusals("sw", found, have, want) == []
    told = apply(bench, want)
    assert f"{QOS}/port set qsfp56-dd-1-1 trust-l3=keep pfc=pfc-tc3 egress-rate-queue3=200G" in told
    assert not any("gb10-roce" in line or "gb10-pfc" in line for line in told)
    apply(bench, a_want("CRS812", "none", adopt=True))
    assert export(bench.machine) == before


ONE_LEG = Want("lossless", {"qsfp56-dd-1-1": 200}, [])


@pytest.mark.parametrize(
    ("model", "version", "want", "said"),
    [
        ("CRS812", "7.22.1", ONE_LEG, "sw: RoCE lossless - expected RouterOS 7.23 or newer on Marvell-98DX7335, found 7.22.1. "
         "Upgrade RouterOS, or set fabric_roce to none: this version accepts the configuration and does nothing."),
        ("CRS812", "7.22.1", ONE_LEG._replace(level="ecn"), "sw: RoCE ecn - expected RouterOS 7.23 or newer on Marvell-98DX7335, found 7.22.1. "
         "Upgrade RouterOS, or set fabric_roce to none: this version accepts the configuration and does nothing."),
        ("CRS310", "7.20.8", Want("ecn", {"ether1": 10}, []),
         "sw: RoCE ecn - expected a switch chip with PFC and ECN, found Marvell-98DX226S. Set fabric_roce to none."),
        ("CRS812", "7.23.7", Want("none", {"qsfp56-dd-9-1": 200}, []),
         "sw: port qsfp56-dd-9-1 - expected a port of this switch, found none of that name. Correct fabric_cables."),
    ],
)
def test_a_level_that_can_not_be_is_refused(model, version, want, said):
    assert _qos_checks.refusals("sw", *read(Bench(model, version)), want) == [said]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([f"{QOS}/profile add name=gold dscp=26 pcp=5 traffic-class=5"],
         "sw: QoS profile gold - expected no other profile for DSCP 26, found traffic class 5. Remove it: it puts RoCE into another class."),
        ([f"{QOS}/map/ip add dscp=20-30 profile=default"],
         "sw: QoS map for DSCP 26 - expected gb10-roce, found default. Remove the row from qos/map/ip."),
        ([f"{QOS}/tx-manager/queue set 3 weight=9"],
         "sw: queue 3 of tx-manager default - expected as on a new switch, found high-priority-group 9. "
         "Set it back, or set foreign to adopt to have it overwritten."),
        ([f"{QOS}/priority-flow-control add name=mine traffic-class=5 rx=yes tx=yes", f"{QOS}/port set qsfp56-dd-1-1 pfc=mine"],
         "sw: pfc of port qsfp56-dd-1-1 - expected the default, found mine. Set it back to the default."),
    ],
    ids=["another class", "another map", "another weight", "another PFC profile"],
)
def test_what_others_have_decided_about_our_traffic_is_refused(lines, said):
    bench = Bench()
    for line in lines:
        assert bench.run(line) == ""
    assert _qos_checks.refusals("sw", *read(bench), ONE_LEG) == [said]


def test_warnings_tell_of_the_buffer_fault_and_of_a_missing_shaper():
    found, _have = read(Bench("CRS812", "7.23.7"))
    assert _qos_checks.warnings("sw", found, ONE_LEG._replace(legs={"qsfp56-dd-1-1": 400})) == [
        "sw: shaper of qsfp56-dd-1-1 - expected 400G, found a lower limit in this RouterOS. Nothing to do: the port runs without a shaper.",
        "sw: RoCE lossless - expected RouterOS 7.25 or newer, found 7.23.7. "
        "Watch for stalls: before 7.25 PFC and lossless buffers of the CRS8xx have a known fault; ecn avoids it."]
    assert _qos_checks.warnings("sw", found, ONE_LEG._replace(level="ecn")) == []


def test_what_the_chip_did_not_take_is_a_problem():
    bench = Bench("CRS504", "7.22.1")
    bench.run(f"{QOS}/tx-manager/queue set 3 ecn=yes")
    _found, have = read(bench)
    assert _qos_checks.problems("sw", have, Want("ecn", {}, [])) == [
        "sw: queue 1 - expected active in the chip, found inactive. Look at the switch's log.",
        "sw: queue 3 - expected active in the chip, found inactive. Look at the switch's log.",
        "sw: queue 6 - expected active in the chip, found inactive. Look at the switch's log.",
        "sw: queue 3 - expected ECN at work (ecn-actual), found off. Upgrade RouterOS: this version does not mark on this chip."]
    assert _qos_checks.problems("sw", have, Want("none", {}, [])) == []


def test_a_switch_without_the_menus_reads_as_empty_and_says_so():
    reader = Reader(Bench("CRS310", "7.20.8").connect())
    assert reader.qos().pfc == []
    assert list(reader.missing) == [f"{QOS}/priority-flow-control"]

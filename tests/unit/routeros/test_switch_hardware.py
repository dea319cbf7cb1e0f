# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated switch chip: lanes, links, sizes, offloading, QoS."""

from __future__ import annotations

import csv
import json
import re

import pytest
from simulated import Bench
from switch.hardware import links
from switch.machine import Plug
from switch.models import MODELS

QOS = "/interface/ethernet/switch/qos"
TWO_200G = Plug(speeds=(200, 100), tails=(1, 5))
FOUR_100G = Plug(speeds=(100,), tails=(1, 3, 5, 7))
ONE_400G = Plug(speeds=(400,), tails=(1,))
ONE_200G = Plug(speeds=(200, 100), tails=(1,))


def force(bench: Bench, speed: str, *ports: str, fec: str = "auto") -> None:
    for port in ports:
        assert bench.run(f"/interface/ethernet set {port} auto-negotiation=no speed={speed} fec-mode={fec}") == ""


def monitor(bench: Bench, port: str) -> dict:
    return json.loads(bench.run(f":put [:serialize to=json [/interface/ethernet/monitor {port} once as-value]]"))


def expand(lanes: str) -> list[str]:
    """``dd-1-1..dd-1-8`` and ``dd-1-1 dd-1-5`` of the published table as port names."""
    whole = re.fullmatch(r"dd-(\d)-1\.\.dd-\1-8", lanes)
    return [f"qsfp56-dd-{whole[1]}-{lane}" for lane in range(1, 9)] if whole else [f"qsfp56-{lane}" for lane in lanes.split()]


def test_lanes_group_as_the_published_truth_table_says(fixtures):
    rows = list(csv.DictReader((fixtures / "routeros" / "lane-grouping.csv").open()))
    assert len(rows) == 8
    for row in rows:
        bench = Bench()
        enabled = expand(row["enabled_lanes_in_cage"])
        cage = enabled[0].rsplit("-", 1)[0]
        for lane in range(1, 9):
            disabled = "no" if f"{cage}-{lane}" in enabled else "yes"
            bench.run(f"/interface/ethernet set {cage}-{lane} auto-negotiation=no speed=200G-baseCR4 disabled={disabled}")
        leg = links(bench.machine)[f"qsfp56-{row['master']}"].leg
        assert (str(leg.lanes), leg.word.replace("-base", "-")) == (row["lanes_claimed"], row["rate"]), row


@pytest.mark.parametrize(
    ("cage", "plug", "speed", "leaders", "rate"),
    [
        ("qsfp56-dd-1", TWO_200G, "200G-baseCR4", (1, 5), "200Gbps"),
        ("qsfp56-dd-1", FOUR_100G, "100G-baseCR2", (1, 3, 5, 7), "100Gbps"),
        ("qsfp56-dd-2", ONE_400G, "400G-baseCR8", (1,), "400Gbps"),
        ("qsfp56-1", ONE_200G, "200G-baseCR4", (1,), "200Gbps"),
    ],
)
def test_a_forced_mode_brings_up_its_legs(cage, plug, speed, leaders, rate):
    bench = Bench()
    bench.machine.plugs[cage] = plug
    force(bench, speed, *(f"{cage}-{lane}" for lane in leaders))
    for lane in leaders:
        shown = monitor(bench, f"{cage}-{lane}")
        assert (shown["status"], shown["rate"], shown["fec"], shown["auto-negotiation"]) == ("link-ok", rate, "fec91", "disabled")


def test_a_split_does_not_negotiate():
    bench = Bench()
    bench.machine.plugs["qsfp56-dd-1"] = TWO_200G
    shown = monitor(bench, "qsfp56-dd-1-1")
    assert (shown["status"], shown["auto-negotiation"], "rate" in shown) == ("no-link", "failed", False)


def test_a_qsfp56_cage_negotiates_no_more_than_100g():
    bench = Bench()
    bench.machine.plugs["qsfp56-1"] = ONE_200G
    assert monitor(bench, "qsfp56-1-1")["rate"] == "100Gbps"


def test_speed_means_nothing_while_a_port_negotiates():
    bench = Bench()
    bench.machine.plugs["qsfp56-dd-1"] = TWO_200G
    bench.run("/interface/ethernet set qsfp56-dd-1-1 speed=200G-baseCR4")
    assert monitor(bench, "qsfp56-dd-1-1")["status"] == "no-link"


@pytest.mark.parametrize(("fec", "status"), [("auto", "no-link"), ("off", "no-link"), ("fec91", "link-ok")])
def test_100g_over_four_lanes_needs_fec91_said(fec, status):
    bench = Bench()
    bench.machine.plugs["qsfp56-1"] = Plug(speeds=(100,), tails=(1,))
    force(bench, "100G-baseCR4", "qsfp56-1-1", fec=fec)
    assert monitor(bench, "qsfp56-1-1")["status"] == status


def test_a_leg_can_be_up_here_and_not_at_the_host():
    bench = Bench()
    bench.machine.plugs["qsfp56-dd-1"] = Plug(speeds=(100,), tails=(1, 3, 5, 7), host_trains=False)
    force(bench, "100G-baseCR2", "qsfp56-dd-1-1")
    assert monitor(bench, "qsfp56-dd-1-1")["status"] == "link-ok"
    assert not links(bench.machine)["qsfp56-dd-1-1"].up


def test_a_bad_eeprom_fails_to_initialise_at_100g_over_two_lanes():
    bench = Bench()
    bench.machine.plugs["qsfp56-dd-1"] = Plug(speeds=(100,), tails=(1, 3, 5, 7), eeprom="bad")
    force(bench, "100G-baseCR2", "qsfp56-dd-1-1")
    shown = monitor(bench, "qsfp56-dd-1-1")
    assert (shown["status"], shown["eeprom-checksum"]) == ("auto-init-failed", "bad")


def test_touching_one_lane_restarts_the_whole_cage_for_a_while():
    now = [100.0]
    bench = Bench(clock=lambda: now[0], restart_seconds=3)
    bench.machine.plugs["qsfp56-dd-1"] = TWO_200G
    force(bench, "200G-baseCR4", "qsfp56-dd-1-1", "qsfp56-dd-1-5")
    assert monitor(bench, "qsfp56-dd-1-5")["status"] == "initializing"
    now[0] += 4
    assert monitor(bench, "qsfp56-dd-1-5")["status"] == "link-ok"
    restarts = bench.machine.counts["cage restarts"]
    bench.run("/interface/ethernet set qsfp56-dd-1-3 disabled=yes")
    assert monitor(bench, "qsfp56-dd-1-5")["status"] == "initializing"
    assert bench.machine.counts["cage restarts"] == restarts + 1
    now[0] += 4
    assert monitor(bench, "qsfp56-dd-1-5")["status"] == "link-ok"


def test_largest_l2mtu_as_the_manual_says(fixtures):
    for row in csv.DictReader((fixtures / "routeros" / "max-l2mtu.csv").open()):
        model = MODELS.get(row["model"].split("-")[0])
        if model:
            limit = model.ether_max_l2mtu if row["ports"].startswith("ether") else model.max_l2mtu
            assert limit == int(row["max_l2mtu"]), row


def test_a_bridge_is_as_big_as_its_smallest_member():
    bench = Bench("CRS504", "7.24")
    bench.run("/interface/ethernet set [find where name~\"^qsfp28\"] l2mtu=9216")
    assert bench.run(":put [/interface/bridge get bridge l2mtu]") == "1584"
    assert bench.run("/interface/bridge set bridge mtu=9000") == "failure: could not set mtu"
    assert bench.run("/interface/ethernet set ether1 l2mtu=9216") == "value of l2mtu out of range (0..65536)"


def test_a_change_of_l2mtu_flaps_links():
    bench = Bench()
    bench.run("/interface/ethernet set qsfp56-dd-1-1,qsfp56-dd-1-2 l2mtu=9216")
    assert bench.machine.counts["l2mtu flaps"] == 2
    bench.run("/interface/ethernet set qsfp56-dd-1-1,qsfp56-dd-1-2 l2mtu=9216")
    assert bench.machine.counts["l2mtu flaps"] == 2


def hardware_flag(bench: Bench, interface: str) -> str:
    return bench.run(f':put [/interface/bridge/port get [find where interface="{interface}"] hw-offload]')


def test_only_the_first_bridge_is_offloaded():
    bench = Bench()
    bench.run("/interface/bridge add name=second")
    bench.run("/interface/bridge/port set [find where interface=qsfp56-dd-1-1] bridge=second")
    assert hardware_flag(bench, "qsfp56-dd-1-1") == "false"
    assert hardware_flag(bench, "qsfp56-dd-1-5") == "true"


def test_horizon_and_a_stale_group_lose_the_offload():
    bench = Bench()
    bench.run("/interface/bridge/port set [find where interface=qsfp56-dd-1-1] horizon=1")
    bench.machine.stale_offload.add("qsfp56-dd-1-5")
    assert (hardware_flag(bench, "qsfp56-dd-1-1"), hardware_flag(bench, "qsfp56-dd-1-5")) == ("false", "false")
    for hw in ("no", "yes"):
        bench.run(f"/interface/bridge/port set [find where interface=qsfp56-dd-1-5] hw={hw}")
    assert hardware_flag(bench, "qsfp56-dd-1-5") == "true"


def test_references_follow_a_renamed_port():
    bench = Bench()
    bench.run("/interface/ethernet set qsfp56-dd-1-1 name=spark-1")
    assert bench.run(":put [/interface/bridge/port find where interface=spark-1]") == "*A"
    assert bench.run(f"{QOS}/port set spark-1 trust-l3=keep") == ""
    assert bench.run(":put [/interface/ethernet get spark-1 default-name]") == "qsfp56-dd-1-1"


def test_the_shaper_limit_of_old_versions_as_reported(fixtures):
    bench = Bench("CRS812", "7.22.1")
    text = (fixtures / "routeros" / "egress-rate-limit-error.txt").read_text()
    shown = []
    for line in text.splitlines():
        if line.startswith("/"):
            shown += [line, *filter(None, [bench.run(line)])]
    assert "\n".join(shown) + "\n" == text


@pytest.mark.parametrize(("model", "version", "answer"), [("CRS812", "7.23.7", ""), ("CRS804", "7.22.1", "failure: max bit rate is 100G")])
def test_200g_shapers_came_with_7_23_7(model, version, answer):
    assert Bench(model, version).run(f"{QOS}/port set qsfp56-dd-1-1 egress-rate-queue3=200Gbps") == answer


@pytest.mark.parametrize(
    ("model", "version", "acts"),
    [("CRS804", "7.20.8", "false"), ("CRS812", "7.22.1", "false"), ("CRS812", "7.23.7", "true"), ("CRS812", "7.24", "true")],
)
def test_ecn_is_accepted_everywhere_and_acts_on_the_crs8xx_from_7_23(model, version, acts):
    bench = Bench(model, version)
    assert bench.run(f"{QOS}/tx-manager/queue set 3 ecn=yes") == ""
    assert bench.run(f":put [{QOS}/tx-manager/queue get 3 ecn-actual]") == acts


def test_the_crs5xx_needs_its_offloading_switched_on_and_the_crs8xx_can_not_have_it_off():
    old, new = Bench("CRS504", "7.22.1"), Bench("CRS812", "7.23.7")
    old.run(f"{QOS}/tx-manager/queue set 3 ecn=yes")
    assert old.run(f":put [{QOS}/tx-manager/queue get 3 ecn-actual]") == "false"
    old.run("/interface/ethernet/switch set switch1 qos-hw-offloading=yes")
    assert old.run(f":put [{QOS}/tx-manager/queue get 3 ecn-actual]") == "true"
    assert new.run("/interface/ethernet/switch set switch1 qos-hw-offloading=no") == ""
    assert new.run(":put [/interface/ethernet/switch get switch1 qos-hw-offloading]") == "true"


def mapped(bench: Bench, menu: str, key: str) -> list[tuple]:
    rows = json.loads(bench.run(f":put [:serialize to=json [{QOS}/map/{menu} print detail as-value]]"))
    return [(row[key], row["profile"], row["dynamic"]) for row in rows]


def test_from_7_23_a_profile_maps_itself_pcp_0_included():
    bench = Bench()
    bench.run(f"{QOS}/profile add name=roce dscp=26 traffic-class=3")
    assert mapped(bench, "ip", "dscp") == [(26, "roce", True)]
    assert mapped(bench, "vlan", "pcp") == [(0, "roce", True)]
    bench.run(f"{QOS}/profile set roce pcp=3")
    assert mapped(bench, "vlan", "pcp") == [(3, "roce", True)]
    assert bench.run(f"{QOS}/map/ip remove 0") == "failure: can not remove default or dynamic item"
    bench.run(f"{QOS}/profile set roce automap=no")
    assert mapped(bench, "ip", "dscp") == []


def test_before_7_23_nothing_maps_itself():
    bench = Bench("CRS812", "7.22.1")
    bench.run(f"{QOS}/profile add name=roce dscp=26 traffic-class=3")
    assert mapped(bench, "ip", "dscp") == []
    assert bench.run(f"{QOS}/map/ip add dscp=26 profile=roce") == ""
    assert bench.run(f"{QOS}/map/ip add dscp=20-30 profile=roce") == "failure: already have such entry"
    assert bench.run(f"{QOS}/profile remove roce") == "failure: item is in use"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (f"{QOS}/priority-flow-control set disabled rx=yes", "failure: can not change default item"),
        (f"{QOS}/priority-flow-control remove disabled", "failure: can not remove default or dynamic item"),
        (f"{QOS}/profile remove default", "failure: can not remove default or dynamic item"),
        (f"{QOS}/profile set default name=other", "failure: can not change default item"),
        (f"{QOS}/profile add name=default", "failure: already have such entry"),
        (f"{QOS}/priority-flow-control add name=x traffic-class=3 pause-threshold=120%", "invalid value for argument pause-threshold"),
        (f"{QOS}/priority-flow-control add name=x traffic-class=3 pause-threshold=60% resume-threshold=70%",
         "invalid value for argument resume-threshold"),
    ],
)
def test_built_in_objects_and_limits_hold(line, answer):
    assert Bench().run(line) == answer


def test_changing_a_queue_pauses_transmission():
    bench = Bench()
    bench.run(f"{QOS}/tx-manager/queue set 3 ecn=yes")
    bench.run(f"{QOS}/tx-manager/queue set 3 ecn=yes")
    assert bench.machine.counts["tx pauses"] == 1

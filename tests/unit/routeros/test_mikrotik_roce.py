# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module mikrotik_roce against the simulated switch; the decisions themselves are in test_routeros_qos."""

from __future__ import annotations

import pytest
from ansible_collections.gb10.cluster.plugins.modules import mikrotik_roce
from simulated import Bench, check_schema
from switch.exporting import export

QOS = "/interface/ethernet/switch/qos"
CRS812 = {"cages": {"qsfp56-dd-1": {}}, "legs": {"qsfp56-dd-1-1": {"speed": "200G"}, "qsfp56-dd-1-5": {"speed": "200G"}}}
CRS504 = {"cages": {"qsfp28-1": {}}, "legs": {"qsfp28-1-1": {"speed": "100G"}}}
ABLE = [("CRS812", "7.23.7", CRS812), ("CRS812", "7.24", CRS812), *(("CRS504", version, CRS504) for version in ("7.20.8", "7.22.1", "7.23.7"))]


@pytest.mark.parametrize(("model", "version", "fabric"), ABLE)
@pytest.mark.parametrize("level", ["ecn", "lossless"])
def test_check_mode_tells_what_the_real_run_does_and_a_second_run_changes_nothing(run, model, version, fabric, level):
    bench = Bench(model, version)
    before = export(bench.machine)
    told = run(mikrotik_roce, bench, level=level, **fabric, _ansible_check_mode=True)
    assert export(bench.machine) == before and bench.machine.files == {}
    done = run(mikrotik_roce, bench, level=level, **fabric)
    assert (told["commands"], told["diff"], told["changed"]) == (done["commands"], done["diff"], True)
    check_schema(bench.machine, done["commands"])
    logins, writes = bench.machine.counts["logins"], bench.machine.counts["writes"]
    assert not run(mikrotik_roce, bench, level=level, **fabric)["changed"]
    assert (bench.machine.counts["logins"], bench.machine.counts["writes"]) == (logins + 1, writes)


@pytest.mark.parametrize(("model", "version", "fabric"), [row for row in ABLE if row[0] == "CRS812"])
@pytest.mark.parametrize("level", ["ecn", "lossless"])
@pytest.mark.parametrize("plan", [True, False], ids=["of the plan", "without a plan"])
def test_none_leaves_the_export_from_before_on_the_crs8xx(run, model, version, fabric, level, plan):
    bench = Bench(model, version)
    bench.run('/interface/ethernet set qsfp56-dd-1-5 comment="to spark-2"')
    bench.run(f"{QOS}/port set sfp56-1 trust-l3=keep")
    before = export(bench.machine)
    run(mikrotik_roce, bench, level=level, **fabric)
    told = run(mikrotik_roce, bench, level="none", **(fabric if plan else {}), _ansible_check_mode=True)
    done = run(mikrotik_roce, bench, level="none", **(fabric if plan else {}))
    assert told["diff"] == done["diff"] and export(bench.machine) == before
    assert not run(mikrotik_roce, bench, level="none")["changed"]
    assert not any("offloading" in warning for warning in done["warnings"])


def test_none_says_what_the_crs5xx_keeps(run):
    bench = Bench("CRS504", "7.22.1")
    before = export(bench.machine)
    run(mikrotik_roce, bench, level="lossless", **CRS504)
    done = run(mikrotik_roce, bench, level="none", **CRS504)
    assert done["warnings"] == [
        "sw: qos-hw-offloading - expected no, as on a new switch, found yes. "
        "Nothing to do: it is harmless; switching it off takes /interface/ethernet/switch set qos-hw-offloading=no and a reboot."]
    assert [line for line in export(bench.machine).splitlines() if line not in before.splitlines()] == [
        "/interface ethernet switch", "set switch1 qos-hw-offloading=yes"]


def test_none_on_a_new_switch_does_nothing_on_any_chip(run):
    for model in ("CRS812", "CRS310"):
        bench = Bench(model, "7.20.8")
        assert not run(mikrotik_roce, bench, level="none", cages={}, legs={})["changed"]


def test_a_renamed_leg_is_the_same_leg(run):
    bench = Bench()
    bench.run('/interface/ethernet set qsfp56-dd-1-1 name="spark 1"')
    result = run(mikrotik_roce, bench, level="lossless", **CRS812)
    assert result["after"]["ports"]["spark 1"] == {"trust_l3": "keep", "pfc": "gb10-pfc", "egress_rate_queue3": 200_000_000_000}


def test_pfc_is_cleared_from_lanes_that_do_not_lead(run):
    bench = Bench()
    bench.run(f"{QOS}/priority-flow-control add name=old traffic-class=3 rx=yes tx=yes")
    bench.run(f"{QOS}/port set qsfp56-dd-1-3 pfc=old")
    assert f"{QOS}/port set qsfp56-dd-1-3 pfc=disabled" in run(mikrotik_roce, bench, level="lossless", **CRS812)["commands"]


def test_an_old_version_is_refused_before_anything_is_touched(run):
    bench = Bench("CRS812", "7.22.1")
    before = export(bench.machine)
    result = run(mikrotik_roce, bench, level="lossless", **CRS812)
    assert result["failed"] and result["msg"].startswith("sw: RoCE lossless - expected RouterOS 7.23 or newer on Marvell-98DX7335, found 7.22.1.")
    assert export(bench.machine) == before and bench.machine.files == {}


def test_a_queue_that_is_right_is_not_written_again(run):
    bench = Bench()
    run(mikrotik_roce, bench, level="ecn", **CRS812)
    pauses = bench.machine.counts["tx pauses"]
    run(mikrotik_roce, bench, level="lossless", **CRS812)
    assert bench.machine.counts["tx pauses"] == pauses


def test_objects_of_others_are_adopted_on_demand(run):
    bench = Bench()
    bench.run(f"{QOS}/profile add name=roce dscp=26 pcp=3 traffic-class=3")
    assert "no other profile for DSCP 26" in run(mikrotik_roce, bench, level="ecn", **CRS812)["msg"]
    assert run(mikrotik_roce, bench, level="ecn", **CRS812, foreign="adopt")["after"]["profiles"].keys() == {"roce", "gb10-cnp"}


@pytest.mark.parametrize("after", [False, True], ids=["before it runs", "after it ran"])
def test_a_connection_that_drops_at_any_line_leaves_all_or_nothing(ends_in_between, after):
    assert ends_in_between(mikrotik_roce, Bench(), after, level="lossless", **CRS812) == []

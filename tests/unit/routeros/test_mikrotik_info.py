# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module mikrotik_info against the simulated switch."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import Access
from ansible_collections.gb10.cluster.plugins.modules import mikrotik_breakout, mikrotik_bridge, mikrotik_info, mikrotik_roce
from simulated import Bench
from switch.machine import Plug
from switch.models import MODELS, VERSIONS


def split_bench() -> Bench:
    """A CRS812 with one cage split into 2x200G, its second leg renamed, and something learned."""
    bench = Bench()
    bench.machine.plugs["qsfp56-dd-1"] = Plug(speeds=(200,), tails=(1, 5))
    for lane in (1, 5):
        bench.run(f"/interface/ethernet set qsfp56-dd-1-{lane} auto-negotiation=no speed=200G-baseCR4")
    bench.run("/interface/ethernet set qsfp56-dd-1-5 name=spark-2")
    bench.machine.learned = {"spark-2": ["4C:BB:47:00:00:02"]}
    return bench


def test_a_split_cage_is_told_by_its_legs(run):
    ports = run(mikrotik_info, split_bench())["mikrotik"]["ports"]
    leg = ports["qsfp56-dd-1-5"]
    assert (leg["name"], leg["cage"], leg["lane"], leg["leader"]) == ("spark-2", "qsfp56-dd-1", 5, "qsfp56-dd-1-5")
    assert leg["lanes"] == [f"qsfp56-dd-1-{lane}" for lane in (5, 6, 7, 8)]
    assert (leg["speed"], leg["auto_negotiation"], leg["l2mtu"], leg["max_l2mtu"]) == ("200G-baseCR4", False, 1584, 9570)
    assert (leg["bridge"], leg["hw_offload"], leg["role"], leg["forwarding"]) == ("bridge", True, "designated-port", True)
    assert (leg["link"]["status"], leg["link"]["rate_gbps"], leg["link"]["fec"]) == ("link-ok", 200, "fec91")
    assert leg["link"]["module"]["type"] == "QSFPDD"
    assert ports["qsfp56-dd-1-6"]["leader"] == "qsfp56-dd-1-5" and ports["qsfp56-dd-1-6"]["link"] is None


def test_a_cage_that_negotiates_is_one_leg_and_an_empty_one_has_no_module(run):
    ports = run(mikrotik_info, Bench())["mikrotik"]["ports"]
    assert ports["qsfp56-dd-2-8"]["leader"] == "qsfp56-dd-2-1"
    assert ports["qsfp56-dd-2-1"]["link"]["module"] is None
    assert ports["ether1"]["cage"] is None and ports["ether1"]["link"]["rate_gbps"] == 10


def test_an_address_is_told_with_the_default_name_of_its_port(run):
    assert run(mikrotik_info, split_bench())["mikrotik"]["hosts"] == {
        "4c:bb:47:00:00:02": {"port": "qsfp56-dd-1-5", "bridge": "bridge", "vlan": None}}


def test_the_device_is_told(run):
    facts = run(mikrotik_info, Bench())["mikrotik"]
    assert facts["identity"] == "sw"
    assert facts["device"] == {
        "version": "7.23.7", "channel": "long-term", "model": "CRS812-8DS-2DQ-2DDQ", "chip": "Marvell-98DX7335", "chip_group": "cpss",
        "firmware": "7.23.7", "firmware_upgrade": "7.23.7", "packages": {"routeros": "7.23.7", "switch-marvell": "7.23.7"}}
    assert [(bridge["name"], bridge["protocol_mode"], len(bridge["ports"])) for bridge in facts["bridges"]] == [("bridge", "rstp", 34)]


def test_who_holds_safe_mode_is_told(run):
    bench = Bench()
    bench.machine.take_safe_mode(object(), "maria", "ssh")
    assert run(mikrotik_info, bench)["mikrotik"]["safe_mode"] == {"enabled": True, "holder": "maria from ssh"}


def test_a_missing_menu_is_empty_and_a_warning(run):
    result = run(mikrotik_info, Bench("CRS310", "7.20.8"))
    assert result["mikrotik"]["qos"]["pfc"] == []
    assert list(result["mikrotik"]["missing"]) == ["/interface/ethernet/switch/qos/priority-flow-control"]
    assert any("expected readable rows" in warning for warning in result["warnings"])


def test_firmware_behind_and_7_24_0_are_warned_of(run):
    bench = Bench("CRS812", "7.24")
    bench.machine.firmware = ("7.19.5", "7.24")
    warnings = run(mikrotik_info, bench)["warnings"]
    assert [warning.split(" - ")[0] for warning in warnings] == ["sw: RouterOS", "sw: RouterBOOT firmware"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_and_version_is_read_with_one_login_and_no_write(run, model, version):
    bench = Bench(model, version)
    result = run(mikrotik_info, bench, _ansible_check_mode=True)
    assert result["changed"] is False and len(result["mikrotik"]["ports"]) == len(MODELS[model].ports)
    assert (bench.machine.counts["logins"], bench.machine.counts["writes"]) == (1, 0)


def test_less_can_be_read(run):
    bench = split_bench()
    facts = run(mikrotik_info, bench, gather=["hosts"])["mikrotik"]
    assert facts["hosts"] and facts["qos"] == {} and facts["ports"]["qsfp56-dd-1-1"]["link"] is None
    assert not any("monitor" in line or "qos" in line for line in bench.scenario.log)


def test_a_switch_that_lets_nobody_in_is_a_failure_without_a_traceback(run):
    bench = Bench()
    bench.refuse_login = True
    result = run(mikrotik_info, bench)
    assert (result["failed"], result["msg"]) == (True, "the simulated switch lets nobody in")


def test_every_documented_key_is_returned_and_every_returned_one_documented(run):
    documented = yaml.safe_load(mikrotik_info.RETURN)["mikrotik"]["contains"]
    facts = run(mikrotik_info, split_bench())["mikrotik"]
    assert set(documented) == set(facts)
    assert set(documented["ports"]["sample"]["qsfp56-dd-1-1"]) == set(facts["ports"]["qsfp56-dd-1-1"])
    assert set(documented["ports"]["sample"]["qsfp56-dd-1-1"]["link"]["module"]) == set(facts["ports"]["qsfp56-dd-1-1"]["link"]["module"])
    assert set(documented["bridges"]["sample"][0]) == set(facts["bridges"][0])


CAGES = {"qsfp56-dd-1": {"mode": "2x200G", "media": "copper", "fec": "auto"}}
LEGS = {f"qsfp56-dd-1-{lane}": {"node": f"spark-{lane}", "port": "p0", "speed": "200G"} for lane in (1, 5)}
WANTED = {"model": "CRS812", "managed": True, "bridge": None, "vlan": None, "l2mtu": 9216, "roce": "ecn", "cages": CAGES, "legs": LEGS}
NOTHING: dict = {"refusals": [], "warnings": [], "problems": [], "breakout": [], "bridge": [], "roce": []}


def due(run, bench, **options) -> dict:
    """What is due on a switch, which takes one login and no write to know."""
    logins, writes = bench.machine.counts["logins"], bench.machine.counts["writes"]
    result = run(mikrotik_info, bench, gather=[], **options)
    assert (bench.machine.counts["logins"], bench.machine.counts["writes"]) == (logins + 1, writes)
    return result["mikrotik"]["due"]


def do_all(run, bench, state="present") -> list:
    """Let the three modules do it, in the order of that state. Gives what they sent."""
    fabric = {"cages": CAGES, "legs": LEGS} if state == "present" else {}
    steps = [
        run(mikrotik_breakout, bench, **fabric, state=state, link_wait=0),
        run(mikrotik_bridge, bench, **fabric, state=state, **({"l2mtu": 9216} if fabric else {})),
        run(mikrotik_roce, bench, **fabric, level="ecn" if fabric else "none"),
    ]
    return [step["commands"] for step in steps]


def test_nothing_is_due_where_nothing_is_wanted(run):
    assert run(mikrotik_info, Bench(), gather=[])["mikrotik"]["due"] == {}


def test_what_is_due_is_what_the_modules_then_do_and_nothing_after_that(run):
    bench = Bench()
    bench.run("/interface/bridge/port set [find interface=qsfp56-dd-1-5] hw=no")
    told = due(run, bench, wanted=WANTED)
    done = [step["commands"] for step in (
        run(mikrotik_breakout, bench, cages=CAGES, legs=LEGS, link_wait=0, _ansible_check_mode=True),
        run(mikrotik_bridge, bench, cages=CAGES, legs=LEGS, l2mtu=9216, _ansible_check_mode=True),
        run(mikrotik_roce, bench, cages=CAGES, legs=LEGS, level="ecn", _ansible_check_mode=True))]
    assert [told["breakout"], told["bridge"], told["roce"]] == done and all(done)
    do_all(run, bench)
    after = due(run, bench, wanted=WANTED)
    assert {**after, "warnings": []} == NOTHING
    assert [warning.split(" - ")[0] for warning in after["warnings"]] == ["sw: management"]


def test_what_is_configured_and_does_not_work_is_a_problem_once_nothing_is_missing(run):
    bench = Bench()
    bench.machine.plugs["qsfp56-dd-1"] = Plug(speeds=(200,), tails=(1, 5))
    do_all(run, bench)
    bench.run("/interface/bridge/settings set use-ip-firewall=yes")
    told = due(run, bench, wanted=WANTED)
    assert told["problems"] == [
        f"sw: leg qsfp56-dd-1-{lane} - expected forwarded by the chip (flag H in /interface/bridge/port), found forwarded by the CPU. "
        "Look for a second bridge, a horizon, or use-ip-firewall." for lane in (1, 5)]
    assert [warning.split(" - ")[0] for warning in told["warnings"]] == ["sw: management"]
    bench.run('/interface/ethernet set [find where name~"^qsfp56-dd-1"] l2mtu=1584')
    assert due(run, bench, wanted=WANTED)["problems"] == []


def test_what_is_left_of_us_is_due_without_a_plan(run):
    bench = Bench()
    assert due(run, bench, wanted={}, state="absent") == NOTHING
    do_all(run, bench)
    told = due(run, bench, wanted={}, state="absent")
    assert told["refusals"] == [] and told["breakout"] and told["bridge"] and told["roce"]
    do_all(run, bench, state="absent")
    assert due(run, bench, wanted={}, state="absent") == NOTHING


def test_everything_that_can_not_be_is_refused_at_once(run):
    bench = Bench()
    bench.run("/interface/bridge add name=second")
    bench.run("/interface/bridge/port set [find interface=qsfp56-dd-1-5] bridge=second")
    bench.run("/interface/ethernet/switch/qos/profile add name=roce dscp=26 pcp=3 traffic-class=5")
    told = due(run, bench, wanted={**WANTED, "model": "CRS804", "cages": {**CAGES, "qsfp56-dd-3": {"mode": "2x200G"}}})
    assert [refusal.split(" - ")[0] for refusal in told["refusals"]] == [
        "sw: model", "sw: cage qsfp56-dd-3", *(f"sw: port qsfp56-dd-3-{lane}" for lane in range(1, 9)), "sw: leg qsfp56-dd-1-5", "sw: QoS profile roce"]
    assert told["refusals"][0] == (
        "sw: model - expected CRS804, found CRS812-8DS-2DQ-2DDQ. Correct fabric_switch_model, or ansible_host: this may be another switch.")


@pytest.mark.parametrize("mode", ["2x400G", None])
def test_a_plan_that_can_not_be_understood_is_refused_before_anything_else(run, mode):
    told = due(run, Bench(), wanted={**WANTED, "cages": {"qsfp56-dd-1": {"mode": mode}}})
    assert told["refusals"] == [
        "sw: mode of qsfp56-dd-1 - expected 1x400G or 2x200G or 4x100G or 8x50G or 2x40G or 8x25G or 8x10G or 8x1G, "
        f"found {mode}. A qsfp56-dd cage has no other."]
    assert {**told, "refusals": []} == NOTHING


def test_a_switch_that_nobody_may_change_is_refused_once(run):
    bench = Bench()
    bench.machine.tables["/system/package"].rows.pop()
    assert [refusal.split(" - ")[0] for refusal in due(run, bench, wanted=WANTED)["refusals"]] == ["sw: package switch-marvell"]


def test_messages_call_the_switch_by_its_name():
    assert Access("192.168.10.2", 22, "admin", None, None, 30, True, None).name == "192.168.10.2"
    assert Access("192.168.10.2", 2222, "admin", None, None, 30, True, None).name == "192.168.10.2:2222"
    assert Access("192.168.10.2", 2222, "admin", None, None, 30, True, None, "crs812").name == "crs812"

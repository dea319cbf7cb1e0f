# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the state of simulated switches means for the legs of a lab."""

from __future__ import annotations

import pytest
from simulated import Bench
from switch.forwarding import LegState, Trunk, join, legs
from switch.machine import Plug
from switch.rstp import Bridge, Span, default_cost, roles

TWO_200G = Plug(speeds=(200,), tails=(1, 5))
ONE_400G = Plug(speeds=(400,), tails=(1,))


def split(bench: Bench, cage: str = "qsfp56-dd-1") -> None:
    bench.machine.plugs[cage] = TWO_200G
    for lane in (1, 5):
        bench.run(f"/interface/ethernet set {cage}-{lane} auto-negotiation=no speed=200G-baseCR4")


def test_a_new_switch_passes_nothing_through_a_split_cage():
    bench = Bench()
    bench.machine.plugs["qsfp56-dd-1"] = TWO_200G
    assert legs(bench.machine)["qsfp56-dd-1-1"] == LegState(up=False, segment="bridge", mtu=1584, gbps=0, offloaded=True)


def test_a_split_cage_passes_traffic_at_the_size_of_its_l2mtu():
    bench = Bench()
    split(bench)
    bench.run('/interface/ethernet set [find where name~"^qsfp56-dd-1"] l2mtu=9216')
    wanted = LegState(up=True, segment="bridge", mtu=9216, gbps=200, offloaded=True)
    assert {leg: state for leg, state in legs(bench.machine).items() if leg.startswith("qsfp56-dd-1")} == {
        "qsfp56-dd-1-1": wanted, "qsfp56-dd-1-5": wanted}


@pytest.mark.parametrize(
    ("lines", "changed"),
    [
        (["/interface/bridge/port remove [find interface=qsfp56-dd-1-1]"], {"segment": None, "offloaded": False, "gbps": 5}),
        (["/interface/bridge add name=second", "/interface/bridge/port set [find interface=qsfp56-dd-1-1] bridge=second"],
         {"segment": "second", "offloaded": False, "gbps": 5}),
        (["/interface/bridge/port set [find interface=qsfp56-dd-1-1] hw=no"], {"offloaded": False, "gbps": 5}),
        (["/interface/bridge/port set [find interface=qsfp56-dd-1-1] pvid=100", "/interface/bridge set bridge vlan-filtering=yes"],
         {"segment": "bridge/100"}),
        (["/interface/bridge/port set [find interface=qsfp56-dd-1-1] disabled=yes"], {"segment": None, "offloaded": False, "gbps": 5}),
        (["/interface/ethernet set qsfp56-dd-1-1 l2mtu=9216"], {"mtu": 9216}),
        (["/interface/ethernet set qsfp56-dd-1-2 disabled=yes"], {"up": False, "gbps": 0}),
    ],
    ids=["no member", "second bridge", "no hardware", "its own VLAN", "member disabled", "larger", "a lane disabled"],
)
def test_configuration_decides_what_a_leg_does(lines, changed):
    bench = Bench()
    split(bench)
    for line in lines:
        assert bench.run(line) == ""
    good = LegState(up=True, segment="bridge", mtu=1584, gbps=200, offloaded=True)
    assert legs(bench.machine)["qsfp56-dd-1-1"] == LegState(**{**good.__dict__, **changed})


A, B, C = Bridge(0x8000, "02:00:00:00:00:0A", "a"), Bridge(0x8000, "02:00:00:00:00:0B", "b"), Bridge(0x8000, "02:00:00:00:00:0C", "c")


def test_the_smallest_identifier_is_the_root_and_a_loop_is_cut_once():
    spans = [Span(("a", "1"), 100, ("b", "1"), 100), Span(("b", "2"), 100, ("c", "2"), 100), Span(("a", "3"), 100, ("c", "3"), 100)]
    assert roles([C, B, A], spans) == {
        ("a", "1"): "designated-port", ("b", "1"): "root-port", ("a", "3"): "designated-port", ("c", "3"): "root-port",
        ("b", "2"): "designated-port", ("c", "2"): "alternate-port"}


def test_the_cheaper_of_two_links_forwards():
    spans = [Span(("a", "isl"), 50, ("b", "isl"), 50), Span(("a", "ether1"), 2000, ("b", "ether1"), 2000)]
    assert roles([A, B], spans)[("b", "isl")] == "root-port"
    assert roles([A, B], spans)[("b", "ether1")] == "alternate-port"
    assert roles([A, B], [Span(("a", "isl"), 5000, ("b", "isl"), 5000), spans[1]])[("b", "isl")] == "alternate-port"


def test_switches_that_are_not_joined_have_a_root_each():
    assert roles([A, B], []) == {}
    assert roles([A, B, C], [Span(("b", "1"), 1, ("c", "1"), 1)]) == {("b", "1"): "designated-port", ("c", "1"): "root-port"}


def test_costs_are_those_of_port_cost_mode_long():
    assert [default_cost(gbps) for gbps in (1, 10, 100, 200, 400)] == [20000, 2000, 200, 100, 50]


def two_switches() -> tuple[Bench, Bench]:
    """Two CRS812 that are joined by 1x400G and by their management ports on one LAN, factory bridge and all."""
    first, second = Bench(), Bench()
    second.run("/interface/bridge set bridge admin-mac=02:00:5E:20:00:00")
    for bench in (first, second):
        bench.machine.plugs["qsfp56-dd-2"] = ONE_400G
        bench.run("/interface/ethernet set qsfp56-dd-2-1 auto-negotiation=no speed=400G-baseCR8")
    join({"first": first.machine, "second": second.machine},
         [Trunk(("first", "qsfp56-dd-2-1"), ("second", "qsfp56-dd-2-1")), Trunk(("first", "ether1"), ("second", "ether1"))])
    return first, second


def port_role(bench: Bench, interface: str) -> str:
    shown = bench.run(f"/interface/bridge/port/monitor [find interface={interface}] once")
    return next(line.split(": ")[1] for line in shown.splitlines() if line.strip().startswith("role:"))


def test_two_switches_on_one_management_lan_block_one_of_their_two_ways():
    _first, second = two_switches()
    assert (port_role(second, "qsfp56-dd-2-1"), port_role(second, "ether1")) == ("root-port", "alternate-port")


def test_a_dear_inter_switch_link_is_the_one_that_is_blocked_and_says_so():
    _first, second = two_switches()
    second.run("/interface/bridge/port set [find interface=qsfp56-dd-2-1] path-cost=5000")
    assert (port_role(second, "qsfp56-dd-2-1"), port_role(second, "ether1")) == ("alternate-port", "root-port")
    shown = second.run("/interface/bridge/port/monitor [find interface=qsfp56-dd-2-1] once")
    assert "forwarding: no" in shown
    assert legs(second.machine)["qsfp56-dd-2-1"].segment is None


def test_learned_addresses_show_in_the_host_table_of_running_members():
    bench = Bench()
    split(bench)
    bench.machine.learned = {"qsfp56-dd-1-1": ["02:00:00:00:00:11"], "qsfp56-dd-2-1": ["02:00:00:00:00:22"]}
    assert bench.run(':foreach h in=[/interface/bridge/host find] do={:put [/interface/bridge/host get $h mac-address]}') == "02:00:00:00:00:11"

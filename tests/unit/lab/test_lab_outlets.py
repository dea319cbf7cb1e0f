# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What switches give to the nodes behind their legs, by configuration and cables."""

from __future__ import annotations

import pytest
from gb10lab import cabling, outlets, rack
from gb10lab.cabling import Leg
from gb10lab.rack import CHANGES, Rack
from switch import forwarding
from switch.machine import Machine
from switched import CLUSTER, NODES, configured, fresh, type_on


def held(*faults: tuple[str, str, dict[str, str]]) -> Rack:
    """The rack of the small fabric after some faults."""
    made = rack.planned(CLUSTER)
    for name, node, options in faults:
        made = CHANGES[name](made, node, options)
    return made


def legs(machines: dict[str, Machine], made: Rack) -> dict[str, Leg]:
    """The legs of the nodes once every switch has looked into its cages."""
    trunks: list[forwarding.Trunk] = []
    forwarding.join(machines, trunks)
    trunks[:] = outlets.trunks(made, machines)
    for name, machine in machines.items():
        machine.plugs = outlets.plugs(made, machines, name)
    return cabling.legs(CLUSTER, made, outlets.outlets(CLUSTER, made, machines))


def up(machines: dict[str, Machine], made: Rack) -> dict[str, str | None]:
    """Bridge of every rail 0 that has carrier."""
    return {name: leg.segment for name, leg in legs(machines, made).items() if leg.up and name.endswith("r0")}


ALL = {"n1p0r0": "s2-bridge", "n2p0r0": "s2-bridge", "n3p0r0": "s2-bridge", "n1p1r0": "s3-plain"}
#: Without the cable between the switches.
APART = ALL | {"n1p0r0": "s1-bridge", "n2p0r0": "s1-bridge"}
LONG = "a-very-long-name"
MEMBER, TRUNK = (f"/interface/bridge/port set [find interface=qsfp56-dd-{lane}]" for lane in ("1-5", "2-1"))
SWAP = ("swapped-tails", "a", {"ends": "b.p0,c.p0"})


@pytest.mark.parametrize(
    ("typed", "faults", "expected"),
    [
        pytest.param({}, [], ALL, id="all nodes behind both switches in one bridge"),
        pytest.param({"west": ["/interface/ethernet set qsfp56-dd-1-2 disabled=yes"]}, [], {k: v for k, v in ALL.items() if k != "n1p0r0"},
                     id="a lane is missing"),
        pytest.param({"west": [f"{MEMBER} disabled=yes"]}, [], ALL | {"n2p0r0": None},
                     id="carrier and nobody to talk to"),
        pytest.param({"west": [f"/interface/bridge add name={LONG}", f"{MEMBER} bridge={LONG}"]}, [], ALL | {"n2p0r0": outlets.bridge_name(1, LONG)},
                     id="a second bridge"),
        pytest.param({"west": ["/interface/ethernet set qsfp56-dd-2-1 speed=200G-baseCR4"]}, [], APART, id="the two switches at different speeds"),
        pytest.param({"east": [f"{TRUNK} disabled=yes"]}, [], APART, id="trunk in no bridge"),
        pytest.param({name: [f"{TRUNK} path-cost=200000000"] for name in ("west", "east")}, [], APART,
                     id="the way over management is cheaper"),
        pytest.param({}, [("powered-off", "b", {})], {k: v for k, v in ALL.items() if k != "n2p0r0"}, id="a node without power"),
        pytest.param({}, [("cable-unplugged", "a", {"cable": "4"})], APART, id="the cable between them pulled"),
        pytest.param({"west": [f"{TRUNK} disabled=yes"]}, [SWAP],
                     APART | {"n2p0r0": "s2-bridge", "n3p0r0": "s1-bridge"}, id="tails exchanged between switches"),
        pytest.param({}, [("moved-tail", "a", {"end": "a.p0", "leg": "east.qsfp56-dd-1-5", "speed": "200G"})], ALL, id="a node on the loose tail"),
        pytest.param({}, [("moved-tail", "a", {"end": "a.p0", "leg": "east.qsfp56-2-3", "speed": "100G"})],
                     {k: v for k, v in ALL.items() if k != "n1p0r0"}, id="a node on a leg that is not there"),
        pytest.param({}, [("moved-tail", "a", {"end": "a.p0", "leg": "west.qsfp56-dd-1-5", "speed": "200G"})],
                     {k: v for k, v in ALL.items() if k != "n2p0r0"}, id="a node on the tail of another one, which has none now"),
        pytest.param({}, [("moved-tail", "a", {"end": "a.p0", "leg": "west.qsfp56-dd-1-1", "speed": "200G"})], ALL, id="a node on its own tail"),
        pytest.param({}, [("dead-rail", "a", {"port": "p0", "rail": "0"})], ALL | {"n1p0r0": None}, id="a dead rail"),
    ],
)
def test_who_hears_whom(typed: dict[str, list[str]], faults: list[tuple[str, str, dict[str, str]]], expected: dict[str, str | None]) -> None:
    """Carrier and bridge of every node's leg; what is joined has the name of the first in the alphabet."""
    machines = configured()
    for name, lines in typed.items():
        type_on(machines[name], *lines)
    assert up(machines, held(*faults)) == expected


def test_new_switches_leave_split_cages_dark() -> None:
    """The switch that nobody configures has its leg up."""
    assert up(fresh(), held()) == {"n1p1r0": "s3-plain"}


def test_both_rails_get_what_the_leg_gives() -> None:
    """L2 MTU and speed of the leg; where the cable is slower, the cable's."""
    made = legs(configured(), held(("link-100g", "a", {"cable": "1"})))
    assert (made["n1p0r0"].mtu, made["n1p0r1"].mtu, made["n1p0r1"].link[1]) == (9216, 9216, 200000)
    assert (made["n2p0r0"].up, made["n2p0r0"].link[1]) == (True, 100000)


def test_a_cage_that_restarts_takes_the_carrier_of_all_its_legs() -> None:
    """And gives it back after its time."""
    machines = configured()
    now = [0.0]
    west = machines["west"]
    west.restarted.clear()
    west.clock, west.restart_seconds = lambda: now[0], 1.0
    type_on(west, "/interface/ethernet set qsfp56-dd-1-5 fec-mode=fec91")
    assert not set(up(machines, held())) & {"n1p0r0", "n2p0r0"}
    now[0] = 1.5
    assert up(machines, held()) == ALL


def test_an_l2mtu_that_changes_does_not_touch_the_carrier() -> None:
    """It is one command on the leg."""
    machines = configured()
    before = legs(machines, held())
    type_on(machines["west"], "/interface/ethernet set qsfp56-dd-1-1 l2mtu=1584")
    words = cabling.commands(before, legs(machines, held()))
    assert [line for line in words if "n1p0r0" in line] == ["link set n1p0r0 mtu 1584", "link set n1p0r0 master s2-bridge up"]


def test_frames_to_the_nearest_bridge_end_at_a_switch() -> None:
    """Other than on a cable between two nodes."""
    made = held(("cable-added", "a", {"cable": "b.p1:c.p1"}))
    assert cabling.masks(CLUSTER, made, legs(configured(), made)) == {
        "s2-bridge": cabling.SWITCH_FORWARDS, "s3-plain": cabling.SWITCH_FORWARDS, "c-n2p1": cabling.CABLE_FORWARDS}


def test_a_node_reads_the_speed_of_its_leg() -> None:
    """And both tails of a breakout have one serial number, as on the real cable."""
    machines = configured()
    type_on(machines["west"], "/interface/ethernet set qsfp56-dd-1-5 speed=100G-baseCR2")
    legs(machines, held())
    given = outlets.outlets(CLUSTER, held(), machines)
    described = [cabling.describe(held(), node, given) for node in NODES]
    assert described == [
        {"p0": {"serial": "LABCABLE00", "speed": 200000}, "p1": {"serial": "LABCABLE03", "speed": 100000}},
        {"p0": {"serial": "LABCABLE00", "speed": 100000}},
        {"p0": {"serial": "LABCABLE01", "speed": 200000}},
    ]


def test_a_switch_knows_which_port_leads_to_another() -> None:
    """As long as that port forwards."""
    machines = configured()
    legs(machines, held())
    states = {name: forwarding.legs(machine) for name, machine in machines.items()}
    assert outlets.toward(held(), machines, states, "west") == {"east": "qsfp56-dd-2-1"}
    type_on(machines["east"], "/interface/ethernet set qsfp56-dd-2-1 disabled=yes")
    states = {name: forwarding.legs(machine) for name, machine in machines.items()}
    assert outlets.toward(held(), machines, states, "west") == {}


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        pytest.param("moved-tail", {"end": "", "leg": "spark.qsfp56-1-1", "speed": "200G"}, "expected a leg of a switch", id="no switch"),
        pytest.param("moved-tail", {"end": "", "leg": "a.p1", "speed": "200G"}, "expected a leg of a switch", id="a port of a node"),
        pytest.param("swapped-tails", {"ends": "a.p0"}, "expected two ports", id="one end"),
        pytest.param("swapped-tails", {"ends": "a.p0,b.p1"}, "expected a port with a cable", id="an empty port"),
    ],
)
def test_what_two_hands_can_not_do(name: str, options: dict[str, str], words: str) -> None:
    """Nothing has changed then."""
    with pytest.raises(rack.LabError, match=words):
        held((name, "a", options))


def test_tails_go_where_the_collection_says_one_sentence_after_the_other() -> None:
    """Exchanged ends come right again."""
    exchanged = held(SWAP)
    text = (
        "Unplug the cable at b p0 and plug in the end that comes from west qsfp56-dd-1-5, which is in c p0 now.; "
        "Unplug the cable at c p0 and plug in the end that comes from east qsfp56-dd-1-1, which is in b p0 now."
    )
    for name, options in rack.understand(text):
        exchanged = CHANGES[name](exchanged, "a", {"speed": "200G", **options})
    assert exchanged == held()


def test_by_default_the_first_two_tails_of_equal_speed_are_exchanged() -> None:
    """Whatever else there is."""
    assert [cable.ends[1] for cable in held(("swapped-tails", "a", {"ends": ""})).cables[:3]] == ["b.p0", "a.p0", "c.p0"]


def test_a_rack_survives_its_way_to_the_switches() -> None:
    """It is sent as plain data."""
    made = held(("powered-off", "b", {}), ("dead-rail", "a", {"port": "p0", "rail": "1"}), ("unplug", "c", {"end": "c.p0", "hold": "yes"}))
    assert Rack.from_json(made.to_json()) == made

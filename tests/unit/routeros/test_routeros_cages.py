# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cages, lanes, legs and modes of MikroTik's QSFP families."""

from __future__ import annotations

import csv

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._cages import (
    LANES,
    MODES,
    Lane,
    Port,
    cages_of,
    claims,
    lanes_of,
    legs_of,
    model_of,
    modes_of,
    parse_port,
    speed_word,
)


@pytest.mark.parametrize(
    ("name", "port"),
    [
        ("qsfp56-dd-1", Port("qsfp56-dd", 1, None)),
        ("qsfp56-dd-2-8", Port("qsfp56-dd", 2, 8)),
        ("qsfp56-1-4", Port("qsfp56", 1, 4)),
        ("qsfp28-16-1", Port("qsfp28", 16, 1)),
        ("qsfp56-dd-1-9", None),
        ("qsfp56-1-5", None),
        ("qsfp28-1-0", None),
        ("qsfp56-0-1", None),
        ("qsfp56-dd-1-1-1", None),
        ("sfp56-1", None),
        ("ether1", None),
        ("", None),
    ],
)
def test_a_port_name_is_taken_apart(name, port):
    assert parse_port(name) == port


@pytest.mark.parametrize(
    ("cage", "mode", "leaders"),
    [
        ("qsfp56-dd-1", "1x400G", ["qsfp56-dd-1-1"]),
        ("qsfp56-dd-1", "2x200G", ["qsfp56-dd-1-1", "qsfp56-dd-1-5"]),
        ("qsfp56-dd-3", "4x100G", ["qsfp56-dd-3-1", "qsfp56-dd-3-3", "qsfp56-dd-3-5", "qsfp56-dd-3-7"]),
        ("qsfp56-2", "1x200G", ["qsfp56-2-1"]),
        ("qsfp56-2", "2x100G", ["qsfp56-2-1", "qsfp56-2-3"]),
        ("qsfp28-4", "4x25G", ["qsfp28-4-1", "qsfp28-4-2", "qsfp28-4-3", "qsfp28-4-4"]),
    ],
)
def test_a_mode_names_its_legs_by_their_leading_lanes(cage, mode, leaders):
    assert list(legs_of(cage, modes_of(parse_port(cage).family)[mode])) == leaders


def test_a_leg_holds_its_lanes_leader_first():
    assert legs_of("qsfp56-dd-1", modes_of("qsfp56-dd")["2x200G"])["qsfp56-dd-1-5"] == [f"qsfp56-dd-1-{lane}" for lane in (5, 6, 7, 8)]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.family} {mode.name}")
def test_every_mode_uses_its_whole_cage_exactly_once(mode):
    used = [lane for lanes in legs_of(f"{mode.family}-1", mode).values() for lane in lanes]
    assert used == lanes_of(f"{mode.family}-1")
    assert mode.name == f"{mode.legs}x{mode.gbps}G"
    assert mode.lanes * mode.legs == LANES[mode.family]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.family} {mode.name}")
def test_the_words_of_a_mode_say_its_speed(mode):
    for media in ("copper", "optical"):
        assert speed_word(mode, media).startswith(f"{mode.gbps}G-base")


def test_pam4_modes_never_run_without_rs_fec():
    pam4 = [mode for mode in MODES if mode.copper in ("50G-baseCR", "100G-baseCR2", "200G-baseCR4", "400G-baseCR8")]
    assert len(pam4) == 7
    assert {mode.fec for mode in pam4} == {("auto", "fec91")}


@pytest.mark.parametrize(
    ("product", "cages", "max_l2mtu"),
    [
        ("CRS804-4DDQ-hRM", ["qsfp56-dd-1", "qsfp56-dd-2", "qsfp56-dd-3", "qsfp56-dd-4"], 9570),
        ("CRS812-8DS-2DQ-2DDQ-RM", ["qsfp56-1", "qsfp56-2", "qsfp56-dd-1", "qsfp56-dd-2"], 9570),
        ("crs504", ["qsfp28-1", "qsfp28-2", "qsfp28-3", "qsfp28-4"], 10218),
    ],
)
def test_a_model_is_known_by_the_first_part_of_its_product_code(product, cages, max_l2mtu):
    model = model_of(product)
    assert cages_of(model) == cages
    assert model.max_l2mtu == max_l2mtu


def test_an_unknown_product_has_no_model():
    assert model_of("CRS326-24G-2S+") is None


def test_a_lane_is_no_cage():
    with pytest.raises(ValueError, match="qsfp56-dd-1-1 is not the name of a cage"):
        lanes_of("qsfp56-dd-1-1")


def test_lanes_are_claimed_as_the_published_truth_table_says(fixtures):
    rows = list(csv.DictReader((fixtures / "routeros" / "lane-grouping.csv").open()))
    for row in rows:
        enabled = {int(lane.rsplit("-", 1)[1]) for lane in row["enabled_lanes_in_cage"].split() if ".." not in lane} or set(range(1, 9))
        lanes = [Lane(lane in enabled, False, "200G-baseCR4") for lane in range(1, 9)]
        assert len(claims("qsfp56-dd", lanes)[int(row["master"].rsplit("-", 1)[1])]) == int(row["lanes_claimed"]), row


@pytest.mark.parametrize(
    ("family", "lanes", "claimed"),
    [
        ("qsfp56-dd", [Lane(True, True, None)] * 8, {1: [1, 2, 3, 4, 5, 6, 7, 8]}),
        ("qsfp56-dd", [Lane(True, False, "100G-baseCR2")] * 8, {1: [1, 2], 3: [3, 4], 5: [5, 6], 7: [7, 8]}),
        ("qsfp56", [Lane(True, False, "100G-baseSR2-LR2")] * 4, {1: [1, 2], 3: [3, 4]}),
        ("qsfp28", [Lane(True, False, "100G-baseCR4"), Lane(True, True, None), Lane(False, True, None), Lane(True, True, None)], {1: [1, 2], 4: [4]}),
        ("qsfp28", [Lane(False, False, None)] * 4, {}),
    ],
)
def test_a_mode_claims_the_enabled_lanes_after_its_leader(family, lanes, claimed):
    assert claims(family, lanes) == claimed

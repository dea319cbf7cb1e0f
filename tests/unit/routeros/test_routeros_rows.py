# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows out of RouterOS' machine-readable answers."""

from __future__ import annotations

import json

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._rows import (
    flag,
    number,
    numbers,
    parse_rows,
    print_source,
    rate,
    read_command,
    words,
)

QUEUE = ('{".id":"*4","default":false,"ecn":true,"ecn-actual":true,"hw-offloaded":true,"inactive":false,'
         '"schedule":"high-priority-group","traffic-class":3,"tx-manager":"default","weight":1,"wred":false,"wred-actual":false}')


def test_json_rows_are_read_with_their_types():
    rows = parse_rows(f"[{QUEUE}]\n#n=1")
    assert rows == [json.loads(QUEUE)]


def test_a_line_that_the_terminal_broke_inside_a_value_is_put_together_again():
    text = f"[{QUEUE}]"
    wrapped = "\n".join(text[start:start + 40] for start in range(0, len(text), 40))
    assert parse_rows(f"{wrapped}\n#n=1") == [json.loads(QUEUE)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"[{QUEUE}]", "the number of rows is missing"),
        (f"[{QUEUE}]\n#n=2", "a row is missing"),
        (f"[{QUEUE[:60]}\n#n=1", "the row is cut"),
        ('"text"\n#n=1', "it is no row"),
    ],
)
def test_an_answer_that_is_not_all_there_is_no_answer(text, why):
    assert parse_rows(text) is None, why


@pytest.mark.parametrize("text", ["[]\n#n=0", "\n#n=0", "#n=0"])
def test_an_empty_menu_has_no_rows(text):
    assert parse_rows(text) == []


@pytest.mark.parametrize("counted", [2, 4], ids=["fields that are set", "fields that are not set, too"])
def test_a_menu_with_a_single_record_is_one_row_however_its_fields_are_counted(counted):
    text = f'{{"lldp-dcbx":true,"mode":"tx-and-rx"}}\n#n={counted}'
    assert parse_rows(text, singleton=True) == [{"lldp-dcbx": True, "mode": "tx-and-rx"}]
    assert parse_rows(text[:20] + f"\n#n={counted}", singleton=True) is None


def test_an_as_value_record_must_have_all_its_fields():
    assert parse_rows("mode=tx-and-rx\n#n=2", as_json=False, singleton=True) is None


def test_as_value_rows_begin_at_their_id_and_lists_continue_without_a_key():
    text = ".id=*3;actual-mtu=1500;disabled=false;name=ether2;.id=*4;advertise=1G-baseT-full;10G-baseT;comment=a=b;name=x\n#n=2"
    assert parse_rows(text, as_json=False) == [
        {".id": "*3", "actual-mtu": "1500", "disabled": "false", "name": "ether2"},
        {".id": "*4", "advertise": ["1G-baseT-full", "10G-baseT"], "comment": "a=b", "name": "x"},
    ]


def test_as_value_of_a_single_record_has_no_id(fixtures):
    text = (fixtures / "routeros" / "monitor-200g-ok.as-value.txt").read_text().strip()
    assert parse_rows(f"{text}\n#n=4", as_json=False, singleton=True) == [
        {"fec": "fec91", "rate": "200Gbps", "sfp-module-present": "true", "status": "link-ok"}]


def test_a_menu_with_a_single_record_is_asked_without_detail():
    assert print_source("/ip/ssh", singleton=True) == "/ip/ssh print as-value"
    assert print_source("/interface/ethernet") == "/interface/ethernet print detail as-value"


def test_the_question_asks_for_the_number_of_rows_too():
    assert read_command("/ip/ssh print as-value") == (
        ':local d [/ip/ssh print as-value];:put [:serialize to=json options=json.no-string-conversion $d];:put ("#n=" . [:len $d])')


@pytest.mark.parametrize(
    ("value", "meaning"),
    [(True, True), ("yes", True), ("true", True), ("no", False), ("false", False), (None, None), ("maybe", None)],
)
def test_a_flag_has_many_spellings(value, meaning):
    assert flag(value) is meaning


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        ("200G", 200_000_000_000),
        ("200Gbps", 200_000_000_000),
        ("200.0Gbps", 200_000_000_000),
        ("100000000000", 100_000_000_000),
        (100_000_000_000, 100_000_000_000),
        ("2.5Gbps", 2_500_000_000),
        ("64k", 64_000),
        ("0", None),
        (0, None),
        ("", None),
        (None, None),
        ("unlimited", None),
    ],
)
def test_a_rate_is_bits_per_second_in_decimal_units(value, bits):
    assert rate(value) == bits


@pytest.mark.parametrize(("value", "meaning"), [(9570, 9570), ("9570", 9570), ("auto", None), (None, None), (True, None)])
def test_a_number_is_whole_or_none(value, meaning):
    assert number(value) == meaning


@pytest.mark.parametrize(("value", "meaning"), [("1,4-6", {1, 4, 5, 6}), ([26, "48"], {26, 48}), (3, {3}), ("auto", set()), (None, set())])
def test_a_set_of_numbers_may_have_ranges(value, meaning):
    assert numbers(value) == meaning


@pytest.mark.parametrize(("value", "meaning"), [("a,b", ["a", "b"]), (["a", "b"], ["a", "b"]), ("a;b", ["a", "b"]), (None, []), ("", [])])
def test_a_list_of_words_has_many_spellings(value, meaning):
    assert words(value) == meaning

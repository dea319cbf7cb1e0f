# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table and the page of what was seen: compared with the files in ``golden``.

Write them anew with ``REGENERATE=1 .venv/bin/pytest tests/unit/cabling``, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ears import PAIR, PAIR_NODES, RING, plan, table, verdict
from test_cabling_switched import APART, CROSSED, FOUR, HOSTS, JOINED, TOR, UNMANAGED

GOLDEN = Path(__file__).parent / "golden"

SEEN: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[str, Any]]] = {
    "ring-as-planned": (RING, ("1.0=2.1", "2.0=3.1", "3.0=1.1"), {}),
    "ring-loop-and-two-cables": (RING, ("2.0=2.1", "1.0=3.1", "3.0=1.1"), {}),
    "ring-other-order": (RING, ("1.0=2.0", "2.1=3.1", "3.0=1.1"), {}),
    "ring-switch-and-stranger": (RING, ("1.0=2.1=3.0",), {"states": {"1.1": "link", "2.0": "down"}, "strangers": {"1.1": ("gx10-7", "f" * 32)}}),
    "ring-without-one": (RING, ("1.0=2.1",), {"nodes": ("spark-1", "spark-2")}),
    "pair-second-cable": (PAIR, ("1.0=2.0", "1.1=2.1"), {}),
    "switched-as-planned": (FOUR, ("1.0=2.0=3.0=4.0",), {"near": False, "lldp": {"1.0": [("crs812", "qsfp56-dd-1-1", True)]}}),
    "switched-known-legs": (FOUR, ("1.0=2.0=3.0=4.0",), {"near": False, "tables": {"crs812": table(**HOSTS)}}),
    "switched-other-legs": (
        FOUR,
        ("1.0=2.0=3.0",),
        {"near": False, "tables": {"crs812": CROSSED}, "states": {"4.0": "link"}},
    ),
    "switched-wrong-switch": (
        APART,
        ("1.0=2.0", "1.1=2.1"),
        {"near": False, "lldp": {"1.0": [("east", "qsfp28-1-1", True)], "1.1": [("west", "qsfp28-1-1", True)], "2.0": [("MikroTik", "ether1", True)]}},
    ),
    "switched-two-switches": (
        JOINED,
        ("1.0=2.0",),
        {"near": False, "tables": {"west": table(qsfp56_dd_1_1="1.0", qsfp56_dd_2_1="2.0"), "east": table(qsfp56_dd_1_1="2.0", qsfp56_dd_2_1="1.0")}},
    ),
    "switched-unmanaged": (TOR, ("1.0=2.0=3.0",), {"near": False, "strangers": {"1.0": ("gx10-7", "f" * 32)}}),
    "switched-unmanaged-pair": (UNMANAGED, ("1.0=2.0",), {"near": True}),
    "switched-past-the-switch": (FOUR, ("1.0=2.0", "3.0=4.0"), {"near": ["1.0=2.0"]}),
    "switched-two-networks": (
        FOUR,
        ("1.0=2.0", "3.0=4.0"),
        {"near": True, "lldp": {"1.0": [("crs812", "bridge", True)], "3.0": [("crs812", "bridge", True)]}},
    ),
    "switched-joined": (APART, ("1.0=2.0=1.1=2.1",), {"near": False}),
}


@pytest.mark.parametrize(("made", "cables", "state"), SEEN.values(), ids=SEEN)
def test_the_page_shows_what_was_seen_beside_what_was_planned(made: Any, cables: Any, state: Any, request: pytest.FixtureRequest) -> None:
    found = verdict(made, *cables, **state)
    text = f"{found['page']}\n---- in the terminal\n" + "".join(f"{line}\n" for line in found["table"])
    file = GOLDEN / f"{request.node.callspec.id}.md"
    if os.environ.get("REGENERATE"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_every_expected_page_belongs_to_a_case() -> None:
    assert {file.name for file in GOLDEN.glob("*.md")} == {f"{name}.md" for name in SEEN}


def test_odd_names_break_neither_the_table_nor_the_picture() -> None:
    odd = plan("two_node_direct", ("a|b", 'c"d'))
    page = verdict(odd, nodes=())["page"]
    assert '["a|b"]' in page and '["c#34;d"]' in page and "| a&#124;b p0 |" in page
    assert PAIR_NODES[0] not in page


BOTH = [("crs812", leg, True) for leg in ("qsfp56-dd-1-1", "qsfp56-dd-1-5")]
"""LLDP of the leg that a cable was in, and of the one that it is in now: either may be the older one."""
TOLD = {
    "swapped, as the switch has learned": (CROSSED, ["DIFFERS", "DIFFERS", "as planned", "as planned"], "crs812 qsfp56-dd-1-5 (hears 3 of 3)"),
    "in place again, as the switch has learned": (table(**HOSTS), ["as planned"] * 4, "crs812 qsfp56-dd-1-1 (hears 3 of 3)"),
    "one or the other": (
        None, ["DIFFERS", "DIFFERS", "as planned", "as planned"], "crs812 qsfp56-dd-1-1 and crs812 qsfp56-dd-1-5 (hears 3 of 3)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("hosts", "remarks", "there"), TOLD.values(), ids=TOLD)
def test_table_and_warnings_agree_on_the_leg_when_lldp_remembers_two(hosts: Any, remarks: list[str], there: str) -> None:
    found = verdict(FOUR, "1.0=2.0=3.0=4.0", near=False, tables={"crs812": hosts} if hosts else None, lldp={"1.0": BOTH, "2.0": BOTH})
    rows = {line[:10]: line for line in found["table"][1:] if "crs812" in line}
    assert [next(remark for remark in ("DIFFERS", "as planned") if line.endswith(remark)) for line in rows.values()] == remarks
    assert [text[:10] for text in found["warnings"]] == [port for port, remark in zip(rows, remarks, strict=True) if remark == "DIFFERS"]
    assert there in rows["spark-1 p0"]


BLANK = plan(
    "switched_fabric",
    PAIR_NODES,
    [
        {"switch": "west", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-1.p0", None]},
        {"switch": "east 1", "cage": "qsfp56-dd-1", "breakout": "2x200G", "to": ["spark-2.p0", None]},
        {"between": ["west.qsfp56-dd-2", "east 1.qsfp56-dd-2"], "mode": "1x400G"},
    ],
    [{"name": name, "model": "CRS812"} for name in ("west", "east 1")],
)
TOLD_BY = {
    "the host table": {"tables": {"east 1": table(qsfp56_dd_1_1="2.0")}},
    "LLDP": {"lldp": {"2.0": [("east 1", "qsfp56-dd-1-1", True)]}},
}


@pytest.mark.parametrize("state", TOLD_BY.values(), ids=TOLD_BY)
def test_a_switch_may_have_a_blank_in_its_name(state: Any) -> None:
    found = verdict(BLANK, "1.0=2.0", near=False, **state)
    assert found["verdict"] == "as planned"
    assert [line for line in found["table"] if "hears" in line] == [
        "spark-2 p0  east 1 qsfp56-dd-1-1  east 1 qsfp56-dd-1-1 (hears 1 of 1)  0 1    as planned"
    ]
    assert '---|"east 1 qsfp56-dd-1-1 to p0"|' in found["page"].partition("## As seen")[2]

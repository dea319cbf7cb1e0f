# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused and what is warned of, each with its exact text.

Write the texts anew with ``REGENERATE=1 .venv/bin/pytest tests/unit/plan/test_plan_refusals.py``, and read the difference.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from call_sites import recorded, sites
from plan_cases import GRAMMAR, REFUSED, WARNED

HERE = Path(__file__).parent


@functools.cache
def expected(kind: str) -> dict[str, list[str]]:
    """Title -> texts, from a file of titles (``# title``) with the texts below, one a line."""
    blocks = (HERE / f"{kind}.txt").read_text().strip().split("\n\n")
    return {block.splitlines()[0].removeprefix("# "): block.splitlines()[1:] for block in blocks}


def rewrite(kind: str, cases: dict[str, Any]) -> None:
    """Write what is said now."""
    blocks = ["\n".join([f"# {title}", *make_plan(request)[kind]]) for title, request in cases.items()]
    (HERE / f"{kind}.txt").write_text("\n\n".join(blocks) + "\n")
    expected.cache_clear()


@pytest.mark.parametrize("title", REFUSED)
def test_a_wrong_request_is_refused_in_these_words(title: str, regenerate: bool) -> None:
    if regenerate:
        rewrite("refusals", REFUSED)
    plan = make_plan(REFUSED[title])
    assert plan["refusals"] == expected("refusals")[title]
    assert plan["refusals"]
    assert (plan["nodes"], plan["subnets"], plan["switches"], plan["paths"], plan["marks"]) == ({}, [], {}, [], {})


@pytest.mark.parametrize("title", WARNED)
def test_a_doubtful_request_is_warned_of_in_these_words(title: str, regenerate: bool) -> None:
    if regenerate:
        rewrite("warnings", WARNED)
    plan = make_plan(WARNED[title])
    assert plan["warnings"] == expected("warnings")[title]
    assert plan["warnings"]
    assert plan["refusals"] == []
    assert plan["nodes"]


@pytest.mark.parametrize("kind", ["refusals", "warnings"])
def test_every_text_keeps_to_the_grammar(kind: str) -> None:
    texts = [text for texts in expected(kind).values() for text in texts]
    assert [text for text in texts if not GRAMMAR.fullmatch(text)] == []


def test_everything_that_the_plan_can_say_is_in_these_tables() -> None:
    with recorded() as seen:
        for request in [*REFUSED.values(), *WARNED.values()]:
            make_plan(request)
    assert sites("-_inventory.py", "-_options.py", "-_difference.py") - seen == set()


def test_all_that_is_wrong_is_said_at_once() -> None:
    wrong = {
        "topology": "two_node_direct",
        "mtu": "abc",
        "nodes": [{"name": "spark-1", "id": 1}, {"name": "spark-2"}],
        "cables": [["x.p0", "spark-2.p3"]],
    }
    assert [text.split(" - ")[0] for text in make_plan(wrong)["refusals"]] == [
        "fabric_mtu",
        "fabric_node_id",
        "fabric_cables[0]: x.p0",
        "fabric_cables[0]: spark-2.p3",
    ]

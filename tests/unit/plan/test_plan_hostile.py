# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests with something odd in any place: a plan or refusals, on one line and short enough to read, never a traceback."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.filter.fabric_plan import fabric_plan

from plan_cases import GRAMMAR
from plan_requests import direct, ring, switched

ODD: list[Any] = [
    None, "", [], {}, [None], [[]], [{}], {"": None}, True, 0, -1, 10**30, 1.5, float("nan"), float("inf"), "ä中", "\ud800", "a\nb", "x" * 5000, "9" * 4000,
    "1e9", " p0 ", ".", "spark-1", "spark-1.", "spark-1.p0", "spark-1.p0.", "0.0.0.0/0", "10.0.0.1/33", "10.0.0.0/-1", "fe80::/10",
    ["spark-1.p0", None], ["spark-1.p0"] * 3, {"p0": ["a", "a"]}, {"p0": {"a": 1}}, {"switch": ["sw"]}, {"switch": "sw", "to": {}}, {"between": ["sw", "sw."]},
]  # fmt: skip
FULL = {"mtu": 9000, "roce": "none", "rail_prefix": 24, "supernet": "10.77.0.0/16", "ipv6_link_local": False, "reserved": ["172.17.0.0/16"]}
REQUESTS = [direct(**FULL, previous=fabric_plan(direct(**FULL))), ring(**FULL), switched(4, **FULL)]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested data."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def put(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """The same data with something else in one place."""
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], odd)
    return changed


@pytest.mark.parametrize("request_number", range(len(REQUESTS)))
def test_whatever_is_odd_is_told_in_one_line(request_number: int) -> None:
    chance, request = random.Random(request_number), REQUESTS[request_number]
    refused = 0
    for path in places(request):
        for odd in chance.sample(ODD, 6):
            plan = fabric_plan(put(request, path, odd))
            texts = plan["refusals"] + plan["warnings"]
            refused += bool(plan["refusals"])
            json.dumps(plan)
            assert [text for text in texts if not GRAMMAR.fullmatch(text) or "\n" in text or len(text) > 1000] == []
            assert not (plan["refusals"] and plan["nodes"])
    assert refused > 20

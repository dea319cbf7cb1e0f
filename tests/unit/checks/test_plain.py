# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a filter gets from Ansible is plain JSON data after ``plain``."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain

TABLE: list[tuple[Any, Any]] = [
    ({"a": [1, 2.5, True, None, "x"]}, {"a": [1, 2.5, True, None, "x"]}),
    ({1: "number as key"}, {"1": "number as key"}),
    ((1, 2), [1, 2]),
    ({"s"}, ["s"]),
    (datetime.date(2026, 11, 30), "2026-11-30"),
]


@pytest.mark.parametrize(("given", "expected"), TABLE)
def test_plain_keeps_json_and_maps_the_rest(given: Any, expected: Any) -> None:
    assert plain(given) == expected


def _types(value: Any) -> set[type]:
    """Every type in ``value``, nested ones and keys too."""
    if isinstance(value, dict):
        return {type(value)}.union(*(_types(key) | _types(item) for key, item in value.items()))
    if isinstance(value, list):
        return {type(value)}.union(*map(_types, value))
    return {type(value)}


def test_plain_resolves_the_lazy_and_tagged_data_of_the_templating() -> None:
    seen: list[Any] = []
    templar = Templar(loader=DataLoader(), variables={
        "who": "spark-1", "tree": trust_as_template("{{ {'list': [who, nested], 'n': 1} }}"), "nested": {"x": [trust_as_template("{{ who }}")]},
    })
    templar.environment.filters["see"] = lambda value: seen.append((value, plain(value))) or ""
    templar.template(trust_as_template("{{ tree | see }}{{ nested | see }}"))
    (_lazy_tree, tree), (lazy_nested, nested) = seen
    assert lazy_nested.__class__ is not dict
    assert tree == {"list": ["spark-1", {"x": ["spark-1"]}], "n": 1}
    assert nested == {"x": ["spark-1"]}
    assert _types(tree) <= {dict, list, str, int}

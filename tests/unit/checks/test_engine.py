# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine on rows of its own: operators, conditions, skips, and what it says about a user's faulty row."""

from __future__ import annotations

from typing import Any

import healthy_fabric
import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gb10.cluster.plugins.filter.fabric_checks import FilterModule
from ansible_collections.gb10.cluster.plugins.plugin_utils import _checks_rows
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks import evaluate
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_rows import CheckError, prepared

ROW = {"id": "own", "title": "answer", "applies_to": "node", "query": "value", "expect": {"is": 1}, "severity": "fail", "fix": "Mend it."}
ROWS_FIX = "Correct the row; the documentation of the filter gb10.cluster.fabric_checks names the keys."


def node(**content: Any) -> dict[str, Any]:
    """A node that holds nothing but ``content``."""
    return {"name": "a", "label": "", **content}


def ask(*nodes: dict[str, Any], **row: Any) -> list[tuple[str, str]]:
    """``(status, message)`` of one row over some nodes."""
    document = {"nodes": list(nodes), "lost": [], "playbook": "gb10.cluster.two_node_direct"}
    return [(result["status"], result["message"]) for result in evaluate(prepared([], [{**ROW, **row}], "validate"), document)]


@pytest.mark.parametrize(
    ("found", "expect", "status", "message"),
    [
        (1, {"is": 1}, "pass", "a: answer - 1"),
        (2, {"is": 1}, "fail", "a: answer - expected 1, found 2. Mend it."),
        (True, {"is": False}, "fail", "a: answer - expected no, found yes. Mend it."),
        ([], {"is": ["x", "y"]}, "fail", "a: answer - expected x, y, found none. Mend it."),
        ("b", {"one_of": ["a", "b"]}, "pass", "a: answer - b"),
        ("c", {"one_of": ["a", "b"]}, "fail", "a: answer - expected one of a, b, found c. Mend it."),
        (4, {"at_least": 4}, "pass", "a: answer - 4"),
        (2, {"at_least": 4}, "fail", "a: answer - expected at least 4, found 2. Mend it."),
        ("3.10.1", {"version_at_least": "3.10"}, "pass", "a: answer - 3.10.1"),
        ("3.9.18", {"version_at_least": "3.10"}, "fail", "a: answer - expected at least 3.10, found 3.9.18. Mend it."),
        ("no 7.0", {"version_at_least": "3.10"}, "fail", "a: answer - expected at least 3.10, found no 7.0. Mend it."),
        (7, {"is": {"query": "other"}}, "pass", "a: answer - 7"),
        (8, {"is": {"query": "other"}}, "fail", "a: answer - expected 7, found 8. Mend it."),
        (None, {"is": 1}, "skip", "a: answer - not checked: the node does not tell it (value)."),
        (1, {"is": {"query": "absent"}}, "skip", "a: answer - not checked: nobody tells what to expect (absent)."),
    ],
)
def test_an_operator_holds_an_answer_against_its_operand(found: Any, expect: dict[str, Any], status: str, message: str) -> None:
    assert ask(node(value=found, other=7), expect=expect) == [(status, message)]


BY_HOST = {"applies_to": "cluster", "query": "nodes[].{host: name, value: v}"}


@pytest.mark.parametrize(
    ("values", "operator", "status", "message"),
    [
        (["x", "x", "x"], "one_value", "pass", "cluster: answer - x on a and b and c"),
        (["x", "y", "x"], "one_value", "fail", "cluster: answer - expected the same on all nodes, found x on a and c, y on b. Mend it."),
        (["x", None, "x"], "one_value", "pass", "cluster: answer - x on a and c"),
        (["x", "y", "z"], "no_repeats", "pass", "cluster: answer - x on a, y on b, z on c"),
        (["x", "y", "x"], "no_repeats", "fail", "cluster: answer - expected a different one on every node, found x on a and c. Mend it."),
        ([None, None, "x"], "no_repeats", "pass", "cluster: answer - x on c"),
        ([None, None, None], "one_value", "skip", "cluster: answer - not checked: no node tells it (nodes[].{host: name, value: v})."),
        ([None, None, None], "no_repeats", "skip", "cluster: answer - not checked: no node tells it (nodes[].{host: name, value: v})."),
    ],
)
def test_nodes_are_compared_with_each_other(values: list[Any], operator: str, status: str, message: str) -> None:
    nodes = [{"name": name, "label": "", "v": value} for name, value in zip("abc"[: len(values)], values, strict=True)]
    assert ask(*nodes, **BY_HOST, expect={operator: True}) == [(status, message)]


def test_things_that_are_right_or_wrong_in_the_same_way_share_one_result() -> None:
    rails = [{"label": f"rail {number}", "value": value} for number, value in enumerate([1, 1, 2, None, 3, 2])]
    assert ask(node(rails=rails[:2]), applies_to="rail") == [("pass", "a: answer - 1")]
    assert ask(node(rails=rails), applies_to="rail") == [
        ("fail", "a rail 2, rail 5: answer - expected 1, found 2. Mend it."),
        ("skip", "a rail 3: answer - not checked: the node does not tell it (value)."),
        ("fail", "a rail 4: answer - expected 1, found 3. Mend it."),
    ]


def test_a_thing_that_knows_why_it_is_silent_says_so() -> None:
    rails = [{"label": f"rail {number}", "unknown": "this rail is missing"} for number in (0, 1)]
    assert ask(node(rails=rails), applies_to="rail") == [("skip", "a rail 0, rail 1: answer - not checked: this rail is missing.")]


def test_a_function_over_an_absent_value_is_no_answer() -> None:
    assert ask(node(), query="length(keys(absent))") == [("skip", "a: answer - not checked: the node does not tell it (length(keys(absent))).")]
    assert ask(node(), query="join(' ', [absent, absent])")[0][0] == "skip"


@pytest.mark.parametrize(("when", "count"), [("flag", 1), ("!flag", 0), ("starts_with(absent, '7.0')", 0)])
def test_a_row_whose_condition_does_not_hold_says_nothing(when: str, count: int) -> None:
    assert len(ask(node(value=1, flag=True), when=when)) == count


def test_a_node_that_takes_no_part_is_named_once_and_asked_nothing() -> None:
    absent = {"name": "b", "absent": "not part of this run"}
    assert ask(node(value=1), absent) == [("skip", "b: not checked: not part of this run."), ("pass", "a: answer - 1")]


@pytest.mark.parametrize(
    ("severity", "stage", "status"),
    [
        ("warn", "preflight", ["warn"]),
        ("fail", "validate", ["fail"]),
        ({"validate": "warn"}, "validate", ["warn"]),
        ({"validate": "warn"}, "preflight", []),
    ],
)
def test_severity_may_differ_by_stage(severity: Any, stage: str, status: list[str]) -> None:
    checks = prepared([], [{**ROW, "severity": severity}], stage)
    assert [result["status"] for result in evaluate(checks, {"nodes": [node(value=2)], "lost": [], "playbook": "gb10.cluster.two_node_direct"})] == status


def test_a_row_of_ours_that_gets_no_answer_does_not_show_its_query() -> None:
    rows: list[Any] = [ROW, {**ROW, "expect": {"is": {"query": "absent"}}, "query": "name"}, {**ROW, **BY_HOST, "expect": {"one_value": True}}]
    results = [result for row in rows for result in evaluate(prepared([row], [], "validate"), {"nodes": [node()], "lost": [], "playbook": "x"})]
    assert [result["message"] for result in results] == [
        "a: answer - not checked: the node does not tell it.",
        "a: answer - not checked: nobody tells what to expect.",
        "cluster: answer - not checked: no node tells it.",
    ]


def test_a_fix_can_name_the_playbook_of_the_topology() -> None:
    assert ask(node(value=2), fix="Run {playbook}.") == [("fail", "a: answer - expected 1, found 2. Run gb10.cluster.two_node_direct.")]


def test_a_users_row_takes_the_place_of_ours_with_its_id() -> None:
    ours = {**ROW, "expect": {"is": 2}}
    assert [row["expect"] for row in prepared([ours], [ROW], "validate")] == [{"is": 1}]  # type: ignore[list-item]


KEYS = "applies_to, expect, fix, id, query, severity, title"
OPERATORS = "is, one_of, at_least, version_at_least, one_value, no_repeats"


NOT_JMESPATH = "expected a JMESPath expression, found"
INCOMPLETE = "Invalid jmespath expression: Incomplete expression:"
NUMBER = 'invalid token: Parse error at column 0, token "7" (NUMBER), for expression: "7" ^'


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("text", f"check - expected a dictionary, found 'text'. {ROWS_FIX}"),
        ({"id": "own"}, f"check own - expected the keys {KEYS}, and perhaps when, found id. {ROWS_FIX}"),
        ({**ROW, "a": 1}, f"check own - expected the keys {KEYS}, and perhaps when, found a, {KEYS}. {ROWS_FIX}"),
        ({**ROW, "applies_to": "x"}, f"check own: applies_to - expected one of cluster, node, port, rail, route, path, found x. {ROWS_FIX}"),
        ({**ROW, "severity": "error"}, f"check own: severity - expected one of warn, fail, found error. {ROWS_FIX}"),
        ({**ROW, "severity": {"validate": "bad"}}, f"check own: severity - expected one of warn, fail, found bad. {ROWS_FIX}"),
        ({**ROW, "severity": {"validat": "fail"}}, f"check own: severity - expected stages of preflight, validate, found validat. {ROWS_FIX}"),
        ({**ROW, "fix": None}, f"check own: fix - expected a text, found None. {ROWS_FIX}"),
        ({**ROW, "title": 7}, f"check own: title - expected a text, found 7. {ROWS_FIX}"),
        ({**ROW, "applies_to": ["node"]}, f"check own: applies_to - expected a text, found ['node']. {ROWS_FIX}"),
        ({**ROW, "id": ["own"]}, f"check ['own']: id - expected a text, found ['own']. {ROWS_FIX}"),
        ({**ROW, "expect": 9000}, f"check own: expect - expected exactly one of {OPERATORS} and its operand, found 9000. {ROWS_FIX}"),
        ({**ROW, "expect": {"eq": 1}}, f"check own: expect - expected exactly one of {OPERATORS} and its operand, found {{'eq': 1}}. {ROWS_FIX}"),
        ({**ROW, "query": "mtu =="}, f"check own: query - {NOT_JMESPATH} 'mtu ==' ({INCOMPLETE} \"mtu ==\" ^). Correct the expression."),
        ({**ROW, "when": "a["}, f"check own: when - {NOT_JMESPATH} 'a[' ({INCOMPLETE} \"a[\" ^). Correct the expression."),
        ({**ROW, "expect": {"is": {"query": "("}}}, f"check own: expect - {NOT_JMESPATH} '(' ({INCOMPLETE} \"(\" ^). Correct the expression."),
        ({**ROW, "query": 7}, f"check own: query - {NOT_JMESPATH} 7 ({NUMBER}). Correct the expression."),
    ],
)
def test_a_faulty_row_of_a_user_is_refused(row: Any, message: str) -> None:
    with pytest.raises(CheckError) as error:
        prepared([], [row], "validate")
    assert str(error.value) == message


def test_all_faults_of_all_rows_are_told_at_once() -> None:
    with pytest.raises(CheckError) as error:
        prepared([], [{**ROW, "severity": "a", "applies_to": "b"}, {**ROW, "severity": "c"}], "validate")
    assert len(str(error.value).splitlines()) == 3


CAN_NOT = "expected an expression that can be evaluated, found"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": "length(value)"}, "check own: query - expected string, array, object for length(), found number. Correct the expression."),
        ({"query": "sort_by(@)"}, f"check own: query - {CAN_NOT} Expected 2 arguments for function sort_by(), received 1. Correct the expression."),
        ({"query": "nosuch(@)"}, f"check own: query - {CAN_NOT} Unknown function: nosuch(). Correct the expression."),
        ({"query": "name", "expect": {"at_least": 4}}, "check own: query - expected a value that at_least can judge, found 'a'. Correct the query."),
        ({"applies_to": "cluster", "query": "nodes[].name", "expect": {"one_value": True}},
         "check own: query - expected a list of {host, value} that one_value can judge, found ['a']. Correct the query."),
    ],
)  # fmt: skip
def test_an_expression_that_misuses_what_it_finds_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckError) as error:
        ask(node(value=7), **row)
    assert str(error.value) == message


def test_without_jmespath_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_checks_rows, "jmespath", None)
    with pytest.raises(CheckError) as error:
        prepared([], [], "validate")
    assert str(error.value) == (
        "control node: Python package jmespath - expected installed beside ansible-core, found none. "
        "Run 'pip install jmespath' in the environment of ansible-core."
    )


def test_the_filter_adds_a_users_row_to_ours() -> None:
    row = {**ROW, "applies_to": "rail", "query": "firmware", "expect": {"is": "28.47.1088"}, "severity": "warn", "title": "firmware"}
    results = FilterModule().filters()["fabric_checks"](healthy_fabric.request(), "validate", [row])
    assert [result["message"] for result in results if result["status"] != "pass"] == [
        f"{name} p0 rail 0 (enp1s0f0np0), p0 rail 1 (enP2p1s0f0np0): firmware - expected 28.47.1088, found 28.45.4028. Mend it."
        for name in healthy_fabric.NAMES
    ]


def test_the_filter_fails_without_a_traceback() -> None:
    with pytest.raises(AnsibleFilterError, match=r"^check own: severity - expected one of warn, fail, found x\."):
        FilterModule().filters()["fabric_checks"](healthy_fabric.request(), "validate", [{**ROW, "severity": "x"}])

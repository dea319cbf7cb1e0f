# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a catalogue: what they may say, where they come from, and the operators that hold an answer against an operand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import yaml

from ansible_collections.gb10.cluster.plugins.module_utils._message import message

try:
    import jmespath
except ImportError:
    jmespath = None

CLUSTER = "cluster"
SCOPES = {CLUSTER: None, "node": None, "port": "ports", "rail": "rails", "route": "routes", "path": "paths"}
"""What a row can apply to, and the list of a node that holds these things."""
SEVERITIES = ("warn", "fail")
STAGES = ("preflight", "validate")
"""When rows are held against a fabric: before anything is changed, and afterwards."""
TEXTS = ("id", "title", "applies_to", "fix")
REQUIRED = {"id", "title", "query", "expect", "severity", "applies_to", "fix"}
OPTIONAL = {"when"}


class CheckError(ValueError):
    """A row of a catalogue that can not be evaluated; the text says which and why."""


class Check(TypedDict, total=False):
    """One row. ``severity`` is ``warn`` or ``fail``, or maps the stages in which the row counts to one of these.

    ``expect`` holds exactly one operator and its operand, which ``{query: …}`` takes from the same thing. ``when``, a
    JMESPath expression, must be true for the row to say anything. Without an answer (null) to a query the row is skipped.
    ``{playbook}`` in ``fix`` is the playbook of the topology. ``of_user``: not one of ours.
    """

    id: str
    title: str
    query: str
    expect: dict[str, Any]
    severity: str | dict[str, str]
    applies_to: str
    fix: str
    when: str
    of_user: bool


class Operator(TypedDict):
    """How an answer is held against an operand, and how the operand and the answer read in a message."""

    holds: Callable[[Any, Any], bool]
    expected: str
    found: Callable[[Any], str]


def text(value: Any) -> str:
    """Say a JSON value in words: ``yes``, ``none``, ``a, b``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(text, value)) or "none"
    return "nothing" if value is None else str(value)


def _version(value: Any) -> list[int]:
    """The numbers a version begins with; none in a text that is no version, which is below every version."""
    match = re.match(r"\d+(\.\d+)*", str(value))
    return [int(number) for number in match.group().split(".")] if match else []


def _hosts_by_value(answers: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Group ``[{host, value}]`` by value; hosts that have no value do not count."""
    groups: dict[str, list[str]] = {}
    for answer in answers:
        if answer["value"] is not None:
            groups.setdefault(text(answer["value"]), []).append(answer["host"])
    return groups


def _by_value(answers: list[dict[str, Any]]) -> str:
    return ", ".join(f"{value} on {' and '.join(hosts)}" for value, hosts in _hosts_by_value(answers).items())


def _repeated(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups = _hosts_by_value(answers)
    return [answer for answer in answers if len(groups.get(text(answer["value"]), [])) > 1]


def _repeated_by_value(answers: list[dict[str, Any]]) -> str:
    return _by_value(_repeated(answers) or answers)


OPERATORS: dict[str, Operator] = {
    "is": {"holds": lambda found, operand: bool(found == operand), "expected": "{}", "found": text},
    "one_of": {"holds": lambda found, operand: found in operand, "expected": "one of {}", "found": text},
    "at_least": {"holds": lambda found, operand: bool(found >= operand), "expected": "at least {}", "found": text},
    "version_at_least": {"holds": lambda found, operand: _version(found) >= _version(operand), "expected": "at least {}", "found": text},
    "one_value": {"holds": lambda found, _: len(_hosts_by_value(found)) <= 1, "expected": "the same on all nodes", "found": _by_value},
    "no_repeats": {"holds": lambda found, _: not _repeated(found), "expected": "a different one on every node", "found": _repeated_by_value},
}
"""``one_value`` and ``no_repeats`` take ``true`` and a query that yields ``[{host, value}]``."""


def catalogue() -> list[Check]:
    """The rows that come with the collection."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where PyYAML has libyaml
    rows: list[Check] = yaml.load(Path(__file__).with_name("_checks_catalogue.yml").read_text(encoding="utf-8"), Loader=loader)
    return rows


def compiled(name: str, expression: str) -> Any:
    """Compile a JMESPath expression; ``name`` says in the error whose it is."""
    try:
        return jmespath.compile(str(expression))
    except jmespath.exceptions.JMESPathError as error:
        reason = " ".join(str(error).split())
        raise CheckError(message(name, "a JMESPath expression", f"{expression!r} ({reason})", "Correct the expression.")) from error


def _problems(check: dict[str, Any]) -> Iterable[str]:
    """Everything that is wrong with one row before it meets any data."""
    fix = "Correct the row; the documentation of the filter gb10.cluster.fabric_checks names the keys."
    if not isinstance(check, dict):
        yield message("check", "a dictionary", repr(check), fix)
        return
    name = f"check {check.get('id', '(without id)')}"
    if not REQUIRED <= set(check) <= REQUIRED | OPTIONAL:
        yield message(name, f"the keys {text(sorted(REQUIRED))}, and perhaps {text(sorted(OPTIONAL))}", text(sorted(check)), fix)
        return
    wrong = [key for key in TEXTS if not isinstance(check[key], str) or not check[key].strip()]
    yield from (message(f"{name}: {key}", "a text", repr(check[key]), fix) for key in wrong)
    if wrong:
        return
    if check["applies_to"] not in SCOPES:
        yield message(f"{name}: applies_to", f"one of {text(list(SCOPES))}", check["applies_to"], fix)
    severity = check["severity"]
    for word in severity.values() if isinstance(severity, dict) else [severity]:
        if word not in SEVERITIES:
            yield message(f"{name}: severity", f"one of {text(list(SEVERITIES))}", word, fix)
    for stage in severity if isinstance(severity, dict) else ():
        if stage not in STAGES:
            yield message(f"{name}: severity", f"stages of {text(list(STAGES))}", stage, fix)
    expect = check["expect"]
    if not isinstance(expect, dict) or len(expect) != 1 or not set(expect) <= set(OPERATORS):
        yield message(f"{name}: expect", f"exactly one of {text(list(OPERATORS))} and its operand", expect, fix)
        return
    expressions = {"query": check["query"], "when": check.get("when", "@"), "expect": operand_query(check) or "@"}
    for key, expression in expressions.items():
        try:
            compiled(f"{name}: {key}", expression)
        except CheckError as error:
            yield str(error)


def operand_query(check: Mapping[str, Any]) -> str | None:
    """The expression that yields the operand; None for a literal one."""
    operand, = check["expect"].values()
    return operand["query"] if isinstance(operand, dict) and set(operand) == {"query"} else None


def prepared(own: list[Check], users: list[dict[str, Any]], stage: str) -> list[Check]:
    """Return the rows that count in ``stage``, their severity resolved; a user's row takes the place of ours with its id.

    :raises CheckError: with every fault of every row of the user, one a line.
    """
    if jmespath is None:
        fix = "Run 'pip install jmespath' in the environment of ansible-core."
        raise CheckError(message("control node: Python package jmespath", "installed beside ansible-core", "none", fix))
    faults = [fault for row in users for fault in _problems(row)]
    if faults:
        raise CheckError("\n".join(faults))
    rows: dict[str, Any] = {row["id"]: row for row in [*own, *({**row, "of_user": True} for row in users)]}
    chosen: list[Check] = []
    for row in rows.values():
        severity = row["severity"].get(stage) if isinstance(row["severity"], dict) else row["severity"]
        if severity:
            chosen.append({**row, "severity": severity})
    return chosen

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check engine: rows of a catalogue in, results out. What there is to check is data in ``_checks_catalogue.yml``.

A row asks ``query``, a JMESPath expression, of one thing at a time and holds the answer against ``expect``.
``applies_to`` says what that thing is: every ``node``, or every ``port``, ``rail``, ``route`` or ``path`` of every node,
or the ``cluster``, which is asked once. The shapes of these things are in ``_checks_document.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_rows import (
    CLUSTER,
    OPERATORS,
    SCOPES,
    SEVERITIES,
    Check,
    CheckError,
    compiled,
    operand_query,
    text,
)

try:
    import jmespath
except ImportError:
    jmespath = None


class Result(TypedDict):
    """One result; ``status`` is ``pass``, ``warn``, ``fail`` or ``skip``, ``host`` a node or ``cluster``."""

    id: str
    title: str
    host: str
    status: str
    message: str
    fix: str


def _ask(check: Check, key: str, expression: str, thing: dict[str, Any]) -> Any:
    """Evaluate an expression; what it can not do with an absent (null) value is no answer, any other misuse an error."""
    name, fix = f"check {check['id']}: {key}", "Correct the expression."
    try:
        return compiled(name, expression).search(thing)
    except jmespath.exceptions.JMESPathTypeError as error:
        if error.actual_type in ("null", "NoneType"):
            return None
        raise CheckError(message(name, f"{text(list(error.expected_types))} for {error.function_name}()", error.actual_type, fix)) from error
    except jmespath.exceptions.JMESPathError as error:
        raise CheckError(message(name, "an expression that can be evaluated", " ".join(str(error).split()), fix)) from error


def _verdict(check: Check, thing: dict[str, Any]) -> tuple[str, str, str]:
    """Judge one thing: ``(status, expected, found)``; what was found of a skip is the reason."""
    (operator, operand), = check["expect"].items()
    found = _ask(check, "query", check["query"], thing)
    wanted = operand_query(check)
    operand = _ask(check, "expect", wanted, thing) if wanted else operand
    for answer, query, untold in ((found, check["query"], _untold(check)), (operand, wanted, "nobody tells what to expect")):
        if answer is None:
            return "skip", "", thing.get("unknown") or _with_query(check, untold, query)
    rule = OPERATORS[operator]
    try:
        holds, seen = rule["holds"](found, operand), rule["found"](found)
    except (TypeError, KeyError) as error:
        shape = "a list of {host, value}" if check["applies_to"] == CLUSTER else "a value"
        raise CheckError(message(f"check {check['id']}: query", f"{shape} that {operator} can judge", repr(found), "Correct the query.")) from error
    if not seen:
        return "skip", "", _with_query(check, _untold(check), check["query"])
    return "pass" if holds else str(check["severity"]), rule["expected"].format(text(operand)), seen


def _untold(check: Check) -> str:
    return "no node tells it" if check["applies_to"] == CLUSTER else "the node does not tell it"


def _with_query(check: Check, reason: str, query: str | None) -> str:
    """The reason of a skip; who wrote the row may have misspelt its query, and is shown it."""
    return f"{reason} ({query})" if check.get("of_user") else reason


def _judged(check: Check, host: str, things: list[dict[str, Any]], playbook: str) -> Iterable[Result]:
    """Judge the things of one host: one result for all that are right, one for all that are wrong or silent in the same way."""
    fix = check["fix"].replace("{playbook}", playbook)
    verdicts: dict[tuple[str, str, str], list[str]] = {}
    for thing in things:
        if "when" not in check or _ask(check, "when", check["when"], thing):
            verdicts.setdefault(_verdict(check, thing), []).append(thing["label"])
    for (status, expected, seen), labels in verdicts.items():
        what = f"{' '.join([host, ', '.join(labels)]).rstrip()}: {check['title']}"
        if status in SEVERITIES:
            yield Result(id=check["id"], title=check["title"], host=host, status=status, message=message(what, expected, seen, fix), fix=fix)
        if status == "skip":
            yield Result(id=check["id"], title=check["title"], host=host, status=status, message=f"{what} - not checked: {seen}.", fix="")
    if verdicts and all(status == "pass" for status, _expected, _seen in verdicts):
        right = "; ".join(dict.fromkeys(seen for _status, _expected, seen in verdicts))
        yield Result(id=check["id"], title=check["title"], host=host, status="pass", message=f"{host}: {check['title']} - {right}", fix="")


def evaluate(checks: list[Check], document: dict[str, Any]) -> list[Result]:
    """Hold every row of ``prepared`` against the document; the order is that of the catalogue, then that of the nodes.

    A node that is no part of the run (its ``absent`` says why), or that told nothing (``silent``), gives one result of its own and is
    asked nothing; nor is anybody asked about a path to a node that told nothing, which would send people to healthy cables.
    :raises CheckError: for an expression that misuses what it found.
    """
    silent = {node["name"] for node in document["nodes"] if node.get("silent")}
    present = [node for node in document["nodes"] if not node.get("absent") and node["name"] not in silent]
    results = [
        Result(id="node", title="node", host=node["name"], status="skip", message=f"{node['name']}: not checked: {node['absent']}.", fix="")
        for node in document["nodes"]
        if node.get("absent")
    ]
    results += [
        Result(id="connection", title="connection", host=node["name"], status="fail", message=node["silent"]["message"], fix=node["silent"]["fix"])
        for node in document["nodes"]
        if node.get("silent")
    ]
    for check in checks:
        scope = check["applies_to"]
        if scope == CLUSTER:
            results += _judged(check, CLUSTER, [{"label": "", "nodes": present, "lost": document["lost"]}], document["playbook"])
            continue
        for node in present:
            things = [node] if scope == "node" else node[SCOPES[scope]]
            asked = [thing for thing in things if scope != "path" or thing["peer"] not in silent]
            results += _judged(check, node["name"], asked, document["playbook"])
    return results

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of an inventory against the options of the collection's roles.

A role judges its own options when its turn comes, and by then others may have changed something. So all of them are judged before the first.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from jinja2.exceptions import UndefinedError

from .._plain import plain
from ._notes import Notes, closest, listed, shown

LIKENESS = 0.85
"""From which ratio on difflib's verdict counts as a misspelling: one letter more, less or changed in a name of ours."""

CONNECTION, CONNECTION_LIKENESS = ("ansible_host", "ansible_user", "ansible_port", "ansible_password"), 0.9
"""Names of Ansible that a cluster stands and falls with; facts and other names of Ansible are less like them than this."""

WORDS = {
    "bool": "true or false",
    "dict": "a mapping",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "path": "a path",
    "str": "a text",
}
"""Type of an option -> what a message calls it."""


def _options(specs: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Name -> specification of every option of every entry point."""
    entries = [entry for spec in specs for entry in (spec or {}).get("argument_specs", {}).values()]
    return {name: option for entry in entries for name, option in entry.get("options", {}).items()}


def refuse_misspelt(notes: Notes, hosts: Mapping[str, Any], specs: Iterable[Any], others: Collection[str]) -> None:
    """Refuse variables whose name is close to one of ours, or to one of :data:`CONNECTION`, but is none.

    :param hosts: host -> variables.
    :param specs: ``argument_specs`` of all roles of the collection; every option of every entry point is a name of ours.
    :param others: names of ours that are no option.
    """
    ours = {*others, *_options(specs)}
    users: dict[str, list[str]] = {}
    for host, variables in hosts.items():
        for name in variables:
            if name not in ours and name not in CONNECTION and not name.startswith("_"):
                users.setdefault(str(name), []).append(host)
    for name in sorted(users):
        whose, known, cutoff = ("Ansible", CONNECTION, CONNECTION_LIKENESS) if name.startswith("ansible_") else ("this collection", ours, LIKENESS)
        if difflib.get_close_matches(name, known, n=1, cutoff=cutoff):
            found = f"one that is close to it on {listed(users[name], most=3)}"
            notes.refuse(f"variable {name}", f"a name of {whose}", found, closest(name, known, ""))


def refuse_values(notes: Notes, hosts: Mapping[str, Any], specs: Iterable[Any], judged: Collection[str]) -> None:
    """Refuse values that a role would refuse by its argument specification.

    What can not be computed yet, for want of a fact or result, is left to the role.

    :param judged: names that somebody else judges, more closely.
    """
    users: dict[tuple[str, str], list[str]] = {}
    options = {name: option for name, option in _options(specs).items() if name not in judged}
    for host, variables in hosts.items():
        for name in options:
            if name in variables:
                try:
                    users.setdefault((name, json.dumps(plain(variables[name]))), []).append(host)
                except (AnsibleError, UndefinedError, TypeError, ValueError, RecursionError):
                    continue
    for (name, text), sharing in sorted(users.items()):
        option, value = options[name], json.loads(text)
        if ArgumentSpecValidator({name: option}).validate({name: value}).error_messages:
            where = "" if len(sharing) == len(hosts) else f" on {listed(sharing, most=3)}"
            notes.refuse(name, _expected(option), f"{shown(value)}{where}", "Correct it, or leave it out.")


def _expected(option: Mapping[str, Any]) -> str:
    """What an option takes, in words."""
    if choices := option.get("choices"):
        return listed([shown(choice) for choice in choices], last="or")
    kind = WORDS.get(option.get("type", "str"), "what its documentation says")
    elements = WORDS.get(option.get("elements", ""), "")
    return f"{kind}, each {elements}" if elements else kind

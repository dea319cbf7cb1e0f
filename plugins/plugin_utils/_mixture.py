# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names the mixture of states in which a run leaves the nodes when one of them did not come through, and what mends it.

Each node is a transaction of its own, so every node holds one state entirely; it is the cluster that holds two.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ansible_collections.gb10.cluster.plugins.module_utils._message import message


class Outcome(NamedTuple):
    """How the links of one node ended: ``state`` is new, old, armed or unknown; ``todo`` what a person does first, empty for nothing."""

    state: str
    why: str
    todo: str


REACH = "make {nodes} answer over SSH again"
MEND = "mend what is said of {nodes} above"
RESTORING = "a change that was under way takes itself back, at its next boot at the latest"

# The states of a rollback are those that connectx_link returns.
OUTCOMES = {
    "done": Outcome("new", "", ""),
    "planned": Outcome("old", "check mode: it would be new", ""),
    "left": Outcome("new", "left the run later: see its message above", MEND),
    "not begun": Outcome("old", "left the run before: see its message above", MEND),
    "unreachable": Outcome("unknown", f"no answer: {RESTORING}", REACH),
    "none": Outcome("old", "nothing was changed: see its message above", MEND),
    "restored": Outcome("old", "its rollback put the old state back: see its message above", ""),
    "firing": Outcome("armed", "its rollback is at work and puts the old state back", ""),
    "armed": Outcome("armed", "changed and not confirmed: its rollback puts the old state back in time", ""),
    "strange": Outcome("unknown", "failed, and could not be asked: see its message above", MEND),
    "incomplete": Outcome("unknown", "its rollback put back a part: see its message above", MEND),
}

WANTED = {"present": "what the plan says", "absent": "what was there before the first run"}

_SHORT = re.compile(r"(-[hvKkbCDJ]*e)(.*)", re.DOTALL)
"""``-e`` alone, behind other options in one word (``-vKe``), or with its value behind it."""

OURS = ("fabric_", "nccl_", "ssh_mesh_")
"""How the names of our variables begin; none of them holds a secret."""


def outcome(result: dict[str, Any] | None, in_play: bool, check_mode: bool) -> Outcome:
    """How one node ended.

    :param result: what connectx_link returned for it, None or a skipped task when it never got there.
    :param in_play: whether the node is still in the run.
    """
    if result is None or result.get("skipped"):
        return OUTCOMES["not begun"]
    if result.get("unreachable"):
        return OUTCOMES["unreachable"]
    if result.get("failed"):
        state = (result.get("rollback") or {"state": "none" if check_mode else "strange"})["state"]
        return OUTCOMES.get(state, OUTCOMES["strange"])
    if not in_play:
        return OUTCOMES["left"]
    return OUTCOMES["planned" if check_mode and result.get("changed") else "done"]


def mixture(results: dict[str, dict[str, Any] | None], hosts: Sequence[str], links: str, check_mode: bool, command: str) -> str | None:
    """The message, the table and the command that mends; None when every node came through, or the links were no part of the run.

    :param results: result of connectx_link by node, of all nodes with which the play began.
    :param hosts: nodes that are still in the play.
    :param links: ``present`` or ``absent``, what the run was to make.
    :param command: the command to run again.
    """
    ends = {node: outcome(result, node in hosts, check_mode) for node, result in results.items()}
    if all(result is None or result.get("skipped") for result in results.values()):
        return None
    if all(end in (OUTCOMES["done"], OUTCOMES["planned"]) for end in ends.values()):
        return None
    width = max(map(len, ends))
    return "\n".join(
        [
            message("links", "new on every node", _found(ends), _fix(ends)),
            *(f"  {node:<{width}}  {end.state:<7}  {end.why}".rstrip() for node, end in ends.items()),
            f"new is {WANTED[links]}, old what was there before this run. The next run leaves alone what is new.",
            f"  {command}",
        ]
    )


def _found(ends: dict[str, Outcome]) -> str:
    """How many nodes hold which state."""
    counts = Counter(end.state for end in ends.values())
    states = ", ".join(f"{state} on {counts[state]}" for state in ("new", "old", "armed", "unknown") if counts[state])
    lost = ", ".join(node for node, end in ends.items() if end is OUTCOMES["left"])
    return f"{states} of {len(ends)}{', and lost after that ' if lost else ''}{lost}"


def _fix(ends: dict[str, Outcome]) -> str:
    """What a person does before the next run."""
    steps = []
    for todo in (REACH, MEND):
        nodes = ", ".join(node for node, end in ends.items() if end.todo == todo)
        steps += [todo.format(nodes=nodes)] if nodes else []
    fix = f"{', '.join(steps)}, then run the last line." if steps else "run the last line."
    return fix[0].upper() + fix[1:]


def again(argv: Sequence[str]) -> str:
    """The command line with which this run was begun, ready to paste. Of extra variables that are not ours the value is left out: it may be a secret.

    :param argv: ``sys.argv`` of ansible-playbook.
    """
    words, told = list(argv[1:]), ["ansible-playbook"]
    while words:
        word = words.pop(0)
        option, equals, value = word.partition("=")
        short = _SHORT.fullmatch(word)
        if (short and not short[2]) or (not equals and _is_extra(word)):
            told += [word, *(_told(each) for each in words[:1])]
            del words[:1]
        elif _is_extra(option):
            told.append(f"{option}={_told(value)}")
        elif short:
            told.append(f"{short[1]}{_told(short[2])}")
        else:
            told.append(word)
    return shlex.join(told)


def _is_extra(option: str) -> bool:
    """Whether it is ``--extra-vars``; argparse takes every beginning of it that is no other option."""
    return len(option) > 2 and "--extra-vars".startswith(option)


def _told(extra: str) -> str:
    """Extra variables as they may be shown: ``NAME=VALUE`` pairs, a file, or something that is not looked into."""
    if extra.startswith("@"):
        return extra
    if "=" not in extra or extra.lstrip().startswith(("{", "[")):
        return "..."
    try:
        pairs = shlex.split(extra)
    except ValueError:
        return "..."
    named = (pair.partition("=") for pair in pairs if "=" in pair)
    return " ".join(f"{name}={shlex.quote(value) if name.startswith(OURS) else '...'}" for name, _equals, value in named)

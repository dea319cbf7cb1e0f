# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which respects two plans differ, told to somebody who knows neither by heart."""

from __future__ import annotations

import json
from typing import Any

from . import _addresses
from ._notes import Notes, listed

_NAMED = ("nodes", "switches")
_WHOLE = ("topology", "subnets", "paths", "marks")
_KEPT = ("topology", "subnets", "nodes", "switches")
"""What has to stay as it was in a plan that only grew. The rest follows from it and from the number of nodes: paths, marks, and per node ``nccl``."""

_FOLLOWS = "nccl"

_REVIEW = "Run gb10.cluster.plan, with the same -e as here, to review and store the new one."
_CABLES = "fabric_cables differ from those of the stored plan: use the same ones, in the inventory or with -e @FILE. Or, if they are right now, run"
_GROWN = "It only grew, and no address moves: the new one is stored, or with fabric_plan_strict left to gb10.cluster.plan."


def differences(plan: dict[str, Any], stored: Any) -> dict[str, list[str]]:
    """What the stored plan has otherwise: ``{additions, changes, moves}``.

    Of ``additions`` and ``changes`` one has one text, or none when both mean the same; warnings and refusals do not count. ``additions`` are told of
    a plan that only grew: no address in use moves when it is stored. ``moves`` is one text wherever a plan is stored, for a run with ``fabric_renumber``.

    :param stored: the stored plan or its text. What is no plan differs in nothing: the request refuses it.
    """
    old = _parsed(stored)
    if old is None:
        return {"additions": [], "changes": [], "moves": []}
    found = []
    for key in _NAMED:
        before, after = _mapping(old.get(key)), _mapping(plan.get(key))
        for word, names in (
            ("added", [name for name in after if name not in before]),
            ("removed", [name for name in before if name not in after]),
            ("changed", [name for name in after if name in before and before[name] != after[name]]),
        ):
            if names:
                found.append(f"{key} {word}: {listed(names)}")
    found += [f"{key} changed" for key in _WHOLE if old.get(key) != plan.get(key)]
    grown = _mapping(old.get("nodes")) != plan["nodes"] and all(_holds(plan.get(key), old.get(key)) for key in _KEPT)
    notes = Notes()
    if found:
        notes.warn("stored plan", "the plan of this inventory", "; ".join(found), _GROWN if grown else _recabled(plan, old) or _REVIEW)
    return {"additions": notes.warnings if grown else [], "changes": [] if grown else notes.warnings, "moves": _moves(plan, old)}


def _recabled(plan: dict[str, Any], old: dict[str, Any]) -> str | None:
    """What to do about other cables between the same nodes in the same topology, as of a run without the file that told them."""
    before, after = _mapping(old.get("nodes")), plan["nodes"]
    same = before.keys() == after.keys() and old.get("topology") == plan["topology"]
    recabled = same and any(_peers(before[name]) != _peers(after[name]) for name in after)
    return f"{_CABLES}{_REVIEW.removeprefix('Run')}" if recabled else None


def _peers(node: Any) -> dict[str, Any]:
    return {port: _mapping(data).get("peer") for port, data in _mapping(_mapping(node).get("ports")).items()}


def _moves(plan: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """What ``fabric_renumber`` allows: addresses that move, or none, where it only takes the protection away."""
    notes = Notes()
    moved = [f"{move.node} {move.port} rail {move.rail} from {move.old} to {move.new}" for move in _addresses.moves(old, plan["nodes"])]
    fix = "It is for one run: give it with -e. In the inventory it switches off the protection of all addresses."
    if not moved:
        fix = "Take it out: all it does is to switch off the protection of the addresses."
    notes.warn("fabric_renumber", "the addresses of the stored plan", listed(moved, most=24) or "none that moves", fix)
    return notes.warnings


def _holds(new: Any, old: Any) -> bool:
    """Whether everything of ``old`` is in its place in ``new``, which may have more keys, and more items at the end of a list."""
    if isinstance(new, dict) and isinstance(old, dict):
        return all(key == _FOLLOWS or key in new and _holds(new[key], value) for key, value in old.items())
    if isinstance(new, list) and isinstance(old, list):
        return len(old) <= len(new) and all(map(_holds, new, old))
    return bool(new == old)


def _parsed(stored: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(stored) if isinstance(stored, str) else stored
    except ValueError:
        return None
    return value if isinstance(value, dict) and value else None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

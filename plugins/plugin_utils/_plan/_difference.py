# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which respects two plans differ, told to somebody who knows neither by heart."""

from __future__ import annotations

import json
from typing import Any

from ._notes import Notes, listed

_NAMED = ("nodes", "switches")
_WHOLE = ("topology", "subnets", "paths", "marks")


def differences(plan: dict[str, Any], stored: Any) -> list[str]:
    """What the stored plan has otherwise, in one text; empty when both mean the same. Warnings and refusals do not count.

    :param stored: the stored plan or its text. What is no plan differs in nothing: the request refuses it.
    """
    old = _parsed(stored)
    if old is None:
        return []
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
    notes = Notes()
    if found:
        notes.warn("stored plan", "the plan of this inventory", "; ".join(found), "Run gb10.cluster.plan to review and store the new one.")
    return notes.warnings


def _parsed(stored: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(stored) if isinstance(stored, str) else stored
    except ValueError:
        return None
    return value if isinstance(value, dict) and value else None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

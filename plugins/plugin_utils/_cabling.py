# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is it cabled as planned, and if not, what is to be done at the rack? Pure: the plan and what all nodes heard, nothing else."""

from __future__ import annotations

from typing import Any

from . import _cabling_direct, _cabling_page, _cabling_seen, _cabling_switched
from ._cabling_words import Answer


def verdict(plan: dict[str, Any], results: dict[str, dict[str, Any]], switches: dict[str, Any] | None = None) -> dict[str, Any]:
    """Compare the plan with the results of ``connectx_neighbors``, ``{node: {hostname, machine_id, neighbors}}``.

    :param switches: switch -> facts of ``mikrotik_info`` with its host table, of those that were asked.
    :returns: ``{verdict, refusals: [text], warnings: [text], moves: [{from, to}], steps: [text], additions: [[port, port]],
        fabric_cables: YAML | None, table: [text], page: Markdown}``. ``moves`` happen together, ``steps`` are their order for one hand;
        ``fabric_cables`` is what to write into the inventory for the cables as they are, or are after the moves and additions; of switches
        the lines of those cages alone whose ends are others than planned.
    """
    answer, seen = Answer(), _cabling_seen.read(plan, results, switches or {})
    judge = _cabling_switched.judge if plan["topology"] == "switched_fabric" else _cabling_direct.judge
    judge(plan, seen, answer)
    return {
        "verdict": answer.verdict,
        "refusals": answer.refusals,
        "warnings": answer.warnings,
        "moves": answer.moves,
        "steps": answer.steps,
        "additions": answer.additions,
        "fabric_cables": answer.fabric_cables,
        "table": _cabling_page.lines(plan, seen),
        "page": _cabling_page.page(plan, seen, answer),
    }

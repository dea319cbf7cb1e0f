# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check results as lines that a person reads in a terminal."""

from __future__ import annotations

from typing import Any

STATUSES = ("pass", "warn", "fail", "skip")


def machines(connectx: dict[str, Any]) -> list[str]:
    """One line per node that says what machine it is, so that nobody takes a simulated one for a real one.

    :param connectx: ``{node: result of connectx_info}``.
    """
    lines = []
    for node, answer in connectx.items():
        platform = (answer.get("connectx") or {}).get("platform")
        known = f"{platform.get('vendor') or 'unknown vendor'} {platform.get('product') or ''}".rstrip() if platform else "told nothing"
        lines.append(f"{node}: {known}")
    return lines


def table(results: list[dict[str, Any]], told: list[str]) -> list[str]:
    """One line per check with the number of results of each status, then the messages of the results whose status is in ``told``.

    Nodes that are no part of the run have no line, only a message.
    """
    counts: dict[str, dict[str, int]] = {}
    for result in results:
        if result["id"] != "node":
            counts.setdefault(result["title"], dict.fromkeys(STATUSES, 0))[result["status"]] += 1
    width = max(map(len, counts), default=0)
    lines = []
    for title, row in counts.items():
        cells = [f"{number:4} {status}" if number else " " * 9 for status, number in row.items()]
        lines.append(" ".join([f"{title:{width}}", *cells]).rstrip())
    for status in told:
        lines += [f"{status}: {result['message']}" for result in results if result["status"] == status]
    return lines

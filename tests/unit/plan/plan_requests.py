# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests for tests, short to write."""

from __future__ import annotations

from typing import Any


def hosts(count: int, prefix: str = "spark") -> list[dict[str, Any]]:
    """``spark-1`` to ``spark-N``."""
    return [{"name": f"{prefix}-{number}"} for number in range(1, count + 1)]


def direct(**changes: Any) -> dict[str, Any]:
    """Two nodes on one cable."""
    return {"topology": "two_node_direct", "nodes": hosts(2), **changes}


def ring(**changes: Any) -> dict[str, Any]:
    """Three nodes in a ring."""
    return {"topology": "three_node_ring", "nodes": hosts(3), **changes}


def star(cage: str, *ends: str | None, **changes: Any) -> dict[str, Any]:
    """A cable from the switch ``sw`` to nodes."""
    return {"switch": "sw", "cage": cage, "to": list(ends), **changes}


def switched(count: int = 2, **changes: Any) -> dict[str, Any]:
    """Nodes on the 2x200G breakouts of one CRS804, p0 each."""
    ends: list[str | None] = [f"spark-{number}.p0" for number in range(1, count + 1)] + [None] * (count % 2)
    cables = [star(f"qsfp56-dd-{place // 2 + 1}", *ends[place : place + 2]) for place in range(0, count, 2)]
    return {"topology": "switched_fabric", "nodes": hosts(count), "switches": [{"name": "sw", "model": "CRS804"}], "cables": cables, **changes}


def two_switches(**changes: Any) -> dict[str, Any]:
    """Two nodes, each on its own CRS804, which are not joined."""
    return {
        "topology": "switched_fabric",
        "nodes": hosts(2),
        "switches": [{"name": "a", "model": "CRS804"}, {"name": "b", "model": "CRS804"}],
        "cables": [{"switch": "a", "cage": "qsfp56-dd-1", "to": ["spark-1.p0"]}, {"switch": "b", "cage": "qsfp56-dd-1", "to": ["spark-2.p0"]}],
        **changes,
    }

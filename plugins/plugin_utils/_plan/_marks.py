# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks: the numbers a measurement must reach, and the physical limits they come from.

Limits are arithmetic. A 200G cable carries 4096 bytes of payload in every 4096 + 82 on the wire (Ethernet 14, FCS 4, preamble 8, gap 12,
IPv4 20, UDP 8, BTH 12, ICRC 4): 196.07 Gb/s. Each rail is one PCIe Gen5 x4 function, of which ``ib_write_bw`` was seen to get 111.86 Gb/s.
Both rails of a port share its cable, so one rail alone and both together have different limits.

Thresholds are shares of a limit, taken from the rows below; what a healthy fabric was seen to reach lies above every ``warn``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

RAIL_PCIE_GBPS = 111.86
"""One PCIe Gen5 x4 function, 4 queue pairs, RoCE MTU 4096 (capetron/gb10-cluster-guide, gb10-cluster-bandwidth-2026.csv)."""
NODE_PCIE_GBS = 27.96
"""Both functions, GB/s: more than one 200G cable needs, less than two carry."""
WIRE_OVERHEAD = 82

ROCE_MTUS = ((4200, 4096), (2200, 2048), (0, 1024))
"""The netdev's MTU in bytes from which on RoCE uses a path MTU (kernel, drivers/infiniband/core/cma.c and mlx5)."""


class Mark(NamedTuple):
    """One row: ``fail`` and ``warn`` were stated for a limit of ``of``, in one unit. ``jumbo``: RoCE MTU 4096; None for both."""

    measure: str
    jumbo: bool | None
    fail: float
    warn: float
    of: float
    source: str


MARKS = (
    Mark("rail alone", True, 50, 100, 111.86, "throttled nodes stay below 25 Gb/s; 109 to 111.86 healthy (capetron/gb10-cluster-guide)"),
    Mark("rail alone", False, 50, 88, 111.86, "92.57 healthy at MTU 1500 (NVIDIA/dgx-spark-playbooks, connect-two-sparks benchmark)"),
    Mark("port sum", None, 150, 176, 196.07, "196.1 healthy, direct and through a CRS812 (capetron/gb10-cluster-guide); NVIDIA Sync passes 184"),
    Mark("two_node_direct", True, 18, 21.875, 24.51, "NVIDIA's pass mark of 175 Gb/s for all_gather; 22.7 to 24.2 healthy; 13.9 is one rail"),
    Mark("two_node_direct", False, 16, 18, 23.15, "18.9 to 22 healthy at MTU 1500 (NVIDIA/dgx-spark-playbooks, pull request 103)"),
    Mark(
        "three_node_ring",
        True,
        18,
        20,
        24.51,
        "20.8 to 23.9 healthy, 13.86 with one rail doing the work of two; NVIDIA's mark of 10 would let that pass",
    ),
    Mark("three_node_ring", False, 16, 18, 23.15, "as two_node_direct"),
    Mark("switched_fabric", True, 18, 20, 24.51, "21.4 to 24.3 healthy with 2 to 8 nodes"),
    Mark("switched_fabric", False, 16, 18, 23.15, "as two_node_direct"),
    Mark("100G leg", True, 9, 10.9, 12.25, "as two_node_direct: 89 % of what the link carries"),
    Mark("100G leg", False, 8, 9, 11.57, "as two_node_direct"),
    Mark("shared", None, 60, 80, 100, "81.9 Gb/s each where two 100G flows share one 200G inter-switch cable (capetron/gb10-cluster-guide)"),
)
"""Busbw in GB/s, the rest in Gb/s; ``100G leg`` replaces the topology's row where one such leg is all a node has, ``shared`` replaces
every row where nodes compete for an inter-switch cable."""


def roce_mtu(mtu: int) -> int:
    """RoCE's path MTU in bytes for a netdev's MTU in bytes."""
    return next(roce for least, roce in ROCE_MTUS if mtu >= least)


def payload_gbps(wire_gbps: float, mtu: int) -> float:
    """What a link of ``wire_gbps`` carries for RDMA, in Gb/s, at a netdev's MTU in bytes."""
    return wire_gbps * roce_mtu(mtu) / (roce_mtu(mtu) + WIRE_OVERHEAD)


def path_marks(wire_gbps: float, mtu: int, shared: bool) -> dict[str, dict[str, float]]:
    """Marks of one path in Gb/s: one rail alone, one rail while the other is at work, both together.

    :param wire_gbps: the slower end, or the path's share of an inter-switch cable where that is less (``shared``).
    """
    wire = round(payload_gbps(wire_gbps, mtu), 2)
    both = _scaled(_row("shared" if shared else "port sum", mtu), min(wire, 2 * RAIL_PCIE_GBPS))
    return {
        "rail_alone_gbps": _scaled(_row("shared" if shared else "rail alone", mtu), min(wire, RAIL_PCIE_GBPS)),
        "rail_together_gbps": {name: round(value / 2, 3) for name, value in both.items()},
        "port_sum_gbps": both,
    }


def busbw_marks(topology: str, wire_gbps: float, mtu: int, shared: bool) -> dict[str, Any]:
    """Marks of a collective's bus bandwidth in GB/s (10^9 byte/s), ``all_gather`` or ``all_reduce`` of 1 GiB.

    :param wire_gbps: what the slowest pair of neighbouring ranks has between them, all its cables summed up.
    """
    limit = round(min(payload_gbps(wire_gbps, mtu) / 8, NODE_PCIE_GBS), 2)
    row = _row("shared" if shared else "100G leg" if wire_gbps <= 100 else topology, mtu)
    # a second 200G cable raises the limit, but not what was ever measured
    scaled = _scaled(row, limit if row.measure == "shared" else min(limit, row.of))
    return {"busbw_gbs": {**scaled, "limit": limit}, "source": row.source}


def _row(measure: str, mtu: int) -> Mark:
    jumbo = roce_mtu(mtu) == 4096
    return next(row for row in MARKS if row.measure == measure and row.jumbo in (None, jumbo))


def _scaled(row: Mark, limit: float) -> dict[str, float]:
    return {"fail": round(row.fail * limit / row.of, 3), "warn": round(row.warn * limit / row.of, 3), "limit": limit}

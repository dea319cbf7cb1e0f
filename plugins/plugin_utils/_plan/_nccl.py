# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL needs to know about a topology: the ``nccl`` part of a node's slice, the same on every node.

Source of the versions and variables: NVIDIA/nccl v2.30.7-1 (src/transport/net_ib: ``NCCL_IB_SUBNET_AWARE_ROUTING`` appears there for the
first time; ``NCCL_IB_SUBNET_PREFIX_LEN`` defaults to 24) and NVIDIA/dgx-spark-playbooks.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from ._addresses import Attachment
from ._request import Request

NCCL_PREFIX = 24
"""What NCCL compares when nobody tells it a prefix length."""

TRAFFIC_CLASS = 106
"""``NCCL_IB_TC`` for RoCE with ECN or PFC: DSCP 26 in the upper six bits, ECN-capable in the lower two (MikroTik's RoCE recipe maps DSCP 26)."""


class Rule(NamedTuple):
    """NCCL's needs. ``merge_nics`` None leaves NCCL's own default."""

    minimum_version: str
    merge_nics: int | None
    source: str


RULES = {
    "two ports": Rule(
        "2.30.7",
        0,
        "only subnet-aware routing finds the right one of two cables; NVIDIA sets NCCL_IB_MERGE_NICS=0 for its ring, connect-three-sparks",
    ),
    "four or more": Rule("2.30.4", None, "four-node jobs were reported to hang on 2.28.9 and to run from 2.30.4 on, NVIDIA developer forum"),
    "two or three": Rule("2.28.9", None, "first build NVIDIA shipped for this machine, connect-two-sparks"),
}


def nccl(request: Request, attachments: list[Attachment]) -> dict[str, Any]:
    """The settings for all nodes. They must not differ between nodes, so one node with two cabled ports decides for all."""
    ports = Counter(attachment.node for attachment in attachments)
    if max(ports.values(), default=0) > 1:
        rule = RULES["two ports"]
    elif len(request.nodes) >= 4:
        rule = RULES["four or more"]
    else:
        rule = RULES["two or three"]
    return {
        "minimum_version": rule.minimum_version,
        "subnet_aware_routing": 1,
        "subnet_prefix_len": None if request.rail_prefix == NCCL_PREFIX else request.rail_prefix,
        "merge_nics": rule.merge_nics,
        "net_plugin": "none",
        "ib_tc": None if request.roce == "none" else TRAFFIC_CLASS,
    }

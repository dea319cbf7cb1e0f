# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that carry a node's slice of the plan; documented in the fragment ``_connectx``."""

from __future__ import annotations

from typing import Any


def slice_argument_spec() -> dict[str, dict[str, Any]]:
    """Argument spec of the slice of the plan that every node module takes, verbatim."""
    return {
        "ports": {"type": "dict", "default": {}},
        "mtu": {"type": "int", "default": 9000},
        "interfaces": {"type": "dict", "default": {}},
        "ipv6_link_local": {"type": "bool", "default": False},
    }

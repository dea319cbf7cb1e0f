# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says whether every node is on the leg of a switch that the plan has for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_legs(switches: Any, plan: Any, nodes: Any) -> dict[str, Any]:
    """See C(fabric_legs.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._legs import verdict

    read = {name: (result or {}).get("mikrotik") for name, result in plain(switches).items()}
    cards = {name: (result or {}).get("connectx") for name, result in plain(nodes).items()}
    return verdict(plain(plan), {name: facts for name, facts in read.items() if facts}, cards)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_legs": fabric_legs}

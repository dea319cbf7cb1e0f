# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks whether an inventory has the groups that playbooks work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def fabric_guard(groups: Any, hosts: Any = None, needed: Any = ("gb10_nodes", "gb10_switches")) -> list[str]:
    """See C(fabric_guard.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._inventory import refuse_groups

    return refuse_groups(groups, hosts, needed)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_guard": fabric_guard}

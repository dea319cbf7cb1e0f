# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells in which respects two plans differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_plan_difference(plan: Any, stored: Any) -> dict[str, list[str]]:
    """See C(fabric_plan_difference.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._difference import differences

    return differences(plain(plan), plain(stored))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_plan_difference": fabric_plan_difference}

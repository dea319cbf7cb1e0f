# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the fabric plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_plan(request: Any) -> dict[str, Any]:
    """See C(fabric_plan.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan

    try:
        data = plain(request)
    except (TypeError, ValueError, RecursionError):
        data = "what JSON can not say"
    return make_plan(data)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_plan": fabric_plan}

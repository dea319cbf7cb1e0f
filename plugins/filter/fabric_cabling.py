# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws a plan for the person at the rack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_cabling(plan: Any) -> str:
    """See C(fabric_cabling.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._cabling import cabling

    return cabling(plain(plan))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_cabling": fabric_cabling}

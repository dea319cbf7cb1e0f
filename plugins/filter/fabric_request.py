# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the request for a plan from an inventory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def fabric_request(hostvars: Any, groups: Any, settings: Any, run: Any) -> dict[str, Any]:
    """See C(fabric_request.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._inventory import build_request

    return build_request(hostvars, groups, settings, run)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_request": fabric_request}

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows check results as lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_checks_table(results: Any, told: Any = ("fail", "warn", "skip"), connectx: Any = None) -> list[str]:
    """See C(fabric_checks_table.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_text import machines, table

    return machines(plain(connectx or {})) + table(plain(results), plain(told))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_checks_table": fabric_checks_table}

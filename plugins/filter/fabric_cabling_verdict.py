# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says whether a fabric is cabled as planned, and which cables to move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_cabling_verdict(heard: Any, plan: Any, switches: Any = None) -> dict[str, Any]:
    """See C(fabric_cabling_verdict.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._cabling import verdict

    tables = {name: (result or {}).get("mikrotik") for name, result in plain(switches or {}).items()}
    return verdict(plain(plan), plain(heard), {name: facts for name, facts in tables.items() if facts})


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_cabling_verdict": fabric_cabling_verdict}

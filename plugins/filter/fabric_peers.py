# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists whom a node must reach on its rails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_peers(plan: Any, host: str, hosts: Any) -> list[Any]:
    """See C(fabric_peers.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_peers import peers

    return peers(plain(plan), str(host), plain(hosts))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_peers": fabric_peers}

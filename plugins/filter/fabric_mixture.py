# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names the mixture of states in which a run leaves the nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_mixture(results: Any, hosts: Any, links: str = "present", check_mode: bool = False) -> str | None:
    """See C(fabric_mixture.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._mixture import again, mixture

    return mixture(plain(results), plain(hosts), str(links), bool(check_mode), again(sys.argv))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_mixture": fabric_mixture}

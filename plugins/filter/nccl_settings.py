# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells what NCCL must be told on a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def nccl_settings(planned: Any, node: str, connectx: Any) -> dict[str, Any]:
    """See C(nccl_settings.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._nccl_settings import settings

    return settings(str(node), plain(planned), plain(connectx))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"nccl_settings": nccl_settings}

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells whether all nodes have the same build of NCCL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def nccl_build_conflict(builds: Any) -> str | None:
    """See C(nccl_build_conflict.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._nccl_settings import build_conflict

    return build_conflict(plain(builds))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"nccl_build_conflict": nccl_build_conflict}

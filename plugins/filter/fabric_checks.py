# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds plan and facts against the catalogue of checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gb10.cluster.plugins.plugin_utils._plain import plain


def fabric_checks(request: Any, stage: str, checks: Any = ()) -> list[Any]:
    """See C(fabric_checks.yml)."""
    from ansible_collections.gb10.cluster.plugins.plugin_utils._checks import evaluate
    from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_document import document
    from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_rows import CheckError, catalogue, prepared

    try:
        return list(evaluate(prepared(catalogue(), plain(checks), stage), document(plain(request))))
    except CheckError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"fabric_checks": fabric_checks}

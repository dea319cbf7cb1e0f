# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns what Ansible hands to a filter into plain JSON data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any


def _containers(value: Any) -> Any:
    """Copy ``value`` into built-in dicts and lists by their own iteration, which is what resolves lazy templates."""
    if isinstance(value, Mapping):
        return {key: _containers(item) for key, item in value.items()}
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes)):
        return [_containers(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """Return a copy of ``value`` that consists of dict, list, str, int, float, bool and None alone.

    From core 2.19 on a filter receives lazy, tagged subclasses of these; jmespath compares and sorts them wrongly
    without a word, and the C encoder of json skips the laziness of lists, hence the walk before the round trip.
    Keys become strings, as in JSON. What JSON does not know (a date) becomes its text.
    """
    return json.loads(json.dumps(_containers(value), default=str))

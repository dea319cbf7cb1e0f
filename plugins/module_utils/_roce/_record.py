# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``/etc/gb10/qos.json``: what the rails are to be, which ``_worker.py`` makes so after a boot, and what they were before the first run."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged, parse
from ansible_collections.gb10.cluster.plugins.module_utils._roce._node import Node
from ansible_collections.gb10.cluster.plugins.module_utils._roce._worker import CONFIG

_RESTORE = "Restore it: it says what the rails were before the first run. Once it is removed, what they are now is taken for that."


class StoredLive(TypedDict):
    """A ``Live`` of ``_worker.py`` in JSON, whose keys are texts."""

    dscp: dict[str, int]
    pfc: list[int]
    pause: tuple[bool, bool] | None


class Entry(TypedDict):
    """One interface."""

    wanted: StoredLive | None
    before: StoredLive | None
    rdma: str | None
    tos_before: int | None


class Record(TypedDict):
    """The whole file."""

    level: str
    traffic_class: int
    interfaces: dict[str, Entry]


def load(node: Node) -> Record:
    """The record of an earlier run, or an empty one. Raises ``Damaged``, whose text is complete."""
    try:
        content = node.text(CONFIG)
    except OSError as error:
        raise Damaged(message(CONFIG, "a file that can be read", error.strerror, _RESTORE)) from None
    if content is None:
        return {"level": "none", "traffic_class": 0, "interfaces": {}}
    record = parse(CONFIG, content.encode("utf-8", "surrogateescape"), Record, _RESTORE)
    lives = [live for entry in record["interfaces"].values() for live in (entry["wanted"], entry["before"]) if live]
    if odd := [dscp for live in lives for dscp in live["dscp"] if not (dscp.isascii() and dscp.isdigit())]:
        raise Damaged(message(CONFIG, "numbers as DSCP", repr(odd[0]), _RESTORE))
    return record


def text(level: str, traffic_class: int, interfaces: dict[str, Any]) -> str:
    """The file."""
    return json.dumps({"level": level, "traffic_class": traffic_class, "interfaces": interfaces}, indent=1, sort_keys=True) + "\n"

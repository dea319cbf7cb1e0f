# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every JSON file that this collection keeps on a node: read when it is whole, a refusal that names it when it is not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _records
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _system
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming, _record
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _library, _tree

STATE = {
    "up": True, "carrier": False, "mtu": 1500, "addresses": ["10.1.1.1/24"], "dynamic": [], "routes": [["ip", "route"]], "lost_routes": ["x"],
    "sysctl": {"net/ipv4/conf/a/arp_ignore": "0"}, "owner": "networkd", "connection": None, "profile": None, "networkmanager": True,
}  # fmt: skip
META = [0o600, 0, 0, 1, None]
ARMED = {
    "id": "run-1", "deadline": 1.5, "interfaces": ["a"], "files": [{"path": "/etc/a", "meta": META}, {"path": "/etc/b", "meta": None}],
    "commands": [{"argv": ["networkctl", "reload"], "boot": False}], "live": {"a": STATE, "b": None}, "unit": "u", "boot_files": ["/x"],
    "last": "/var/lib/gb10/last-rollback.json", "lock": "/run/l",
}  # fmt: skip
RESULT = {
    "changed": True, "ports": {"p0": {"rails": []}}, "backend": "netplan-networkd", "backup": {"directory": "/x", "moved": []},
    "rollback": {"id": "run-1", "state": "armed"}, "diff": [{"before": "", "after": "x"}], "warnings": ["w"],
}  # fmt: skip

# what each file is of, and one that is whole
RECORDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "armed.json of connectx_link": (_arming.Armed, ARMED),
    "armed.json as connectx_info looks at it": (_system.Armed, ARMED),
    "result.json": (_arming.Stored, RESULT),
    "last-rollback.json": (_arming.Outcome, {"id": "run-1", "when": 1.5, "at": "boot", "problems": ["p"]}),
    "record.json": (_record.Record, {"interfaces": {"a": STATE, "b": None}, "moved": [{"path": "/etc/c", "meta": META, "definitions": ["a"]}]}),
    "gb10.json": (_tree.Record, {"version": "2.30.7", "wheel_sha256": "ab", "files": {"lib/libnccl.so.2": "cd"}}),
    "apt.json": (_library.Remembered, {"added": ["libnccl2"], "held": []}),
}


@pytest.mark.parametrize("name", RECORDS)
def test_whole_record_is_read_as_it_is(name: str) -> None:
    kind, whole = RECORDS[name]
    assert _records.parse("/x", json.dumps(whole), kind, "Fix.") == whole
    assert _records.parse("/x", json.dumps({**whole, "later": 1}), kind, "Fix.") == {**whole, "later": 1}


def damages(value: Any, place: str = "") -> list[tuple[Any, str]]:
    """Every value that has one thing wrong: a key that is missing, or something that is of another type; with the place where."""
    other: Any = [5, {}] if isinstance(value, (dict, str)) or value is None else "another"
    found = [(other, place)]
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        for damaged, where in damages(value[key], f"{place}.{key}"):
            changed = copy.deepcopy(value)
            changed[key] = damaged
            found.append((changed, where))
    return found


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name != key}


@pytest.mark.parametrize("name", RECORDS)
def test_damaged_record_is_refused_by_its_name(name: str) -> None:
    kind, whole = RECORDS[name]
    keys = list(kind.__annotations__)
    known = {key: whole[key] for key in keys}
    # the details of a result are not looked into: they go back to the caller as they are
    details = (".ports.", ".backup.", ".rollback.")
    contents = [json.dumps(damaged) for damaged, place in damages(known) if not (kind is _arming.Stored and place.startswith(details))]
    contents += [json.dumps(without(whole, key)) for key in keys]
    contents += ["", "{", "null", "3", "[]", json.dumps(known)[:-1], "\0", "[" * 100_000]
    accepted = []
    for content in contents:
        try:
            _records.parse("/var/lib/x", content, kind, "Do this.")
            accepted.append(content)
        except _records.Damaged as damaged:
            assert str(damaged).startswith("/var/lib/x - expected ") and str(damaged).endswith(". Do this."), content
    assert accepted == []


@pytest.mark.parametrize(
    "content, expected",
    [
        ("{", "JSON that this collection wrote, found something else"),
        ("[]", "an object, found a list"),
        ('{"added": []}', "held, found nothing"),
        ('{"added": {}, "held": []}', "a list for added, found an object"),
        ('{"added": [], "held": ["a", true]}', "a text for held.1, found true or false"),
    ],
)
def test_refusal_says_where_the_damage_is(content: str, expected: str) -> None:
    with pytest.raises(_records.Damaged) as damaged:
        _records.parse("/apt.json", content, _library.Remembered, "Do this.")
    assert str(damaged.value) == f"/apt.json - expected {expected}. Do this."

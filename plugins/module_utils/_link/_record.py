# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of what a node was before our first run: what ``state: absent`` brings back, and what is ours until then."""

from __future__ import annotations

import ipaddress
import json
import os
from typing import TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils import _netplan
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link._arming import load
from ansible_collections.gb10.cluster.plugins.module_utils._link._desired import KEYFILES
from ansible_collections.gb10.cluster.plugins.module_utils._link._live import State
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import DEFAULT_MTU, Machine

FOLDER = "/var/lib/gb10/link"
FILE = f"{FOLDER}/record.json"


class Moved(TypedDict):
    """A file of others in the backup: where it lay, its attributes, the netplan definitions in it."""

    path: str
    meta: tuple[int, int, int, int, str | None]
    definitions: list[str]


class Record(TypedDict):
    """What our interfaces were, None for one that was not there, and what was moved away for them."""

    interfaces: dict[str, State | None]
    moved: list[Moved]


def read(machine: Machine) -> Record:
    """The record, empty before the first run; raises ``_records.Damaged``."""
    record = load(machine, FILE, Record) or {"interfaces": {}, "moved": []}
    for name, state in record["interfaces"].items():
        for cidr in [*state["addresses"], *state["dynamic"]] if state else []:
            try:
                ipaddress.ip_interface(cidr)
            except ValueError:
                raise Damaged(message(FILE, f"addresses of {name}", repr(cidr), "Put the links right by hand, then remove that file.")) from None
    return record


def text(record: Record) -> bytes:
    """The record as a file."""
    return (json.dumps(record, indent=1, sort_keys=True) + "\n").encode()


def copy_of(path: str) -> str:
    """Where the backup of a moved file lies."""
    return f"{FOLDER}/files{path}"


def our_files(machine: Machine) -> list[str]:
    """The files of ours that are there now, the record and its backups excepted."""
    fixed = (_names.NETPLAN_FILE, _names.SYSCTL_FILE, _names.LIMITS_FILE, _names.MODULES_FILE)
    keyfiles = [f"{KEYFILES}/{name}" for name in machine.names(KEYFILES) if _keyfile_interface(name)]
    return [path for path in (*fixed, *keyfiles) if machine.meta(path) is not None]


def _keyfile_interface(name: str) -> str | None:
    prefix, suffix = _names.CONNECTION_PREFIX, ".nmconnection"
    return name[len(prefix) : -len(suffix)] if name.startswith(prefix) and name.endswith(suffix) else None


def our_interfaces(machine: Machine, record: Record) -> list[str]:
    """Interfaces that the record or our files say are ours."""
    netplan = _netplan.interfaces((machine.read(_names.NETPLAN_FILE) or b"").decode("utf-8", "replace"))
    keyfiles = [interface for path in our_files(machine) if (interface := _keyfile_interface(os.path.basename(path)))]
    return sorted({*record["interfaces"], *netplan, *keyfiles})


def before(record: Record, interface: str, now: State | None, ours: list[str]) -> State | None:
    """What an interface goes back to one day: as recorded; as it is now if it was never ours; unconfigured if the record was lost."""
    if interface in record["interfaces"]:
        return record["interfaces"][interface]
    if now is None or interface not in ours:
        return now
    sysctl = {path: "0" for path in now["sysctl"] if not path.endswith("addr_gen_mode")}
    empty: State = {**now, "addresses": [], "dynamic": [], "routes": [], "lost_routes": [], "connection": None, "profile": None}
    return {**empty, "mtu": DEFAULT_MTU, "sysctl": sysctl}

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of one switch: its tables, files, safe mode and history. Everything that changes goes through here.

What the hardware makes of it is its rules (``hardware.py``, ``qos.py``), which are asked before a write and told after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NamedTuple

from .binding import Binder
from .fields import EnumError
from .menus import QOS, Menu, factory_rows, menus_of
from .models import MODELS, version_tuple
from .schema import schema
from .values import NOTHING, Id, Nothing, RouterError

Row = dict[str, Any]

MAX_ACTIONS = 100
"""Entries of the undo history that safe mode can undo; beyond them it ends by itself and undoes nothing (manual)."""

_FIRST_ID_0 = ("/interface/bridge/port", f"{QOS}/profile", f"{QOS}/map", f"{QOS}/priority-flow-control", f"{QOS}/port", f"{QOS}/tx-manager")


@dataclass
class Table:
    """Rows of a menu, or its single ``record``. Ids are never used twice."""

    menu: Menu
    rows: list[Row] = field(default_factory=list)
    record: Row = field(default_factory=dict)
    next_id: int = 1


@dataclass(frozen=True)
class Plug:
    """What is plugged into a cage: ``media`` copper or optical, ``speeds`` (Gb/s) that its tails and their hosts can do, ``tails`` the leading lanes
    with something at the other end. ``host_trains``: whether that end comes up too; ``eeprom`` good or bad; ``split``: a breakout, even where only
    one of its tails leads anywhere."""

    media: str = "copper"
    speeds: tuple[int, ...] = (200,)
    tails: tuple[int, ...] = (1, 5)
    host_trains: bool = True
    eeprom: str = "good"
    split: bool = False


@dataclass
class SafeMode:
    """Who holds safe mode, since which state. ``session`` None: nobody. ``unroll_at``: when a lost session will be undone."""

    session: object | None = None
    user: str = ""
    owner: str = ""
    snapshot: Any = None
    actions: int = 0
    unroll_at: float | None = None


class Rules(NamedTuple):
    """What the hardware says to a write: ``check`` and ``check_removal`` raise its refusal, ``changed`` is told afterwards."""

    check: Callable[[Any, str, Row | None, Row], None]
    check_removal: Callable[[Any, str, Row], None]
    changed: Callable[[Any, str, Row, Row], None]


class Machine:
    """One switch; ``hardware.build`` makes one. ``clock`` in seconds; ``restart_seconds``: how long a cage stays dark after a change;
    ``unroll_seconds``: how long until a lost session is noticed."""

    def __init__(self, model: str, version: str, rules: Rules, identity: str = "MikroTik", clock: Callable[[], float] = time.monotonic,
                 restart_seconds: float = 0, unroll_seconds: float = 0) -> None:
        self.model, self.version, self.rules, self.clock = MODELS[model], version, rules, clock
        self.restart_seconds, self.unroll_seconds = restart_seconds, unroll_seconds
        self.schema = schema(version, self.model.group)
        self.menus = menus_of(self.schema)
        self.binder = Binder(self.schema, self.menus)
        self.lock = RLock()
        self.plugs: dict[str, Plug] = {}
        self.passwords: dict[str, str] = {"admin": ""}
        self.keys: dict[str, set[str]] = {}
        self.learned: Mapping[str, list[str]] = {}
        self.stale_offload: set[str] = set()
        self.neighbours: Callable[[], dict[str, Any]] = dict
        self.restarted: dict[str, float] = {}
        self.counts = {"cage restarts": 0, "l2mtu flaps": 0, "tx pauses": 0, "writes": 0, "logins": 0, "reboots": 0}
        self.safe_mode = SafeMode()
        self.history: list[str] = []
        self.firmware = (version, version)
        self.on_commit: list[Callable[[], None]] = []
        self.listeners: list[Callable[[str], None]] = []
        self.tables: dict[str, Table] = {}
        self.factory: dict[str, dict[Id | None, Row]] = {}
        self.files: dict[str, str] = {}
        self.reset(identity)

    def reset(self, identity: str = "MikroTik") -> None:
        """Make it a new switch."""
        self.tables = {path: Table(menu, next_id=0 if path in _FIRST_ID_0 else 1) for path, menu in self.menus.items()}
        for path, rows in factory_rows(self.model, self.version).items():
            for row in rows if path in self.tables else ():
                self.append(path, row)
        for table in self.tables.values():
            if table.menu.singleton:
                table.record = dict(table.menu.defaults)
        if version_tuple(self.version) < (7, 23):
            self.tables[f"{QOS}/settings"].record.update({"multicast-buffers": "10", "shared-buffers": "40"})
        self.factory = {path: {row.get(".id"): dict(row) for row in table.rows or [table.record]} for path, table in self.tables.items()}
        self.tables["/system/identity"].record["name"] = identity

    @property
    def identity(self) -> str:
        """The name in its prompt."""
        return str(self.tables["/system/identity"].record["name"])

    # Reading.
    def rows(self, path: str) -> list[Row]:
        """Stored rows of a menu; empty where it does not exist."""
        return self.tables[path].rows if path in self.tables else []

    def row(self, path: str, name: str, key: str = "name") -> Row | None:
        """The first row whose ``key`` is ``name``."""
        return next((row for row in self.rows(path) if row.get(key) == name), None)

    def names(self, target: str) -> list[str]:
        """What a reference may name."""
        paths = {"bridge": ["/interface/bridge"], "list": ["/interface/list"], "profile": [f"{QOS}/profile"], "map": [f"{QOS}/map"],
                 "tx-manager": [f"{QOS}/tx-manager"], "pfc": [f"{QOS}/priority-flow-control"],
                 "interface": ["/interface/ethernet", "/interface/bridge", "/interface/vlan"]}[target]
        return [str(row["name"]) for path in paths for row in self.rows(path)]

    # Writing.
    def add(self, path: str, values: Row) -> Id:
        """Add a row."""
        menu = self.menus[path]
        for name, spec in menu.fields.items():
            if spec.required and name not in values:
                raise RouterError(f"missing value(s) of argument(s) {name}")
        parsed = self._parse(menu, values)
        with self.lock:
            self.rules.check(self, path, None, parsed)
            row = self.append(path, parsed)
            self.rules.changed(self, path, {}, row)
            self._record(f"{path} item added", 1)
            return row[".id"]

    def set(self, path: str, rows: list[Row], values: Row, unset: Set[str] = frozenset()) -> None:
        """Change rows, or with no rows the single record. All of them or none."""
        menu = self.menus[path]
        parsed = self._parse(menu, values)
        parsed.update(dict.fromkeys(unset, NOTHING))
        with self.lock:
            targets = rows or [self.tables[path].record]
            for row in targets:
                self.rules.check(self, path, row, parsed)
            for row in targets:
                before = dict(row)
                row.update(parsed)
                self.rules.changed(self, path, before, row)
            self._record(f"{path} changed", len(targets))

    def remove(self, path: str, rows: list[Row]) -> None:
        """Remove rows."""
        with self.lock:
            for row in rows:
                self.rules.check_removal(self, path, row)
            for row in rows:
                self.tables[path].rows.remove(row)
                self.rules.changed(self, path, row, {})
            if rows:
                self._record(f"{path} item removed", len(rows))

    def append(self, path: str, values: Row) -> Row:
        """Add a row that the switch makes by itself, without asking anybody."""
        table = self.tables[path]
        row: Row = {".id": Id(f"*{table.next_id:X}"), **table.menu.defaults, **values}
        if "name" in table.menu.fields and isinstance(row.get("name"), Nothing):
            row["name"] = f"{path.rsplit('/', 1)[1]}{table.next_id}"
        table.next_id += 1
        table.rows.append(row)
        return row

    def _parse(self, menu: Menu, values: Row) -> Row:
        parsed = {}
        for name, value in values.items():
            spec = menu.fields.get(name)
            try:
                parsed[name] = spec.parse(value, self.names) if spec else value
            except EnumError:
                raise RouterError(f"input does not match any value of {name}") from None
        return parsed

    def write_file(self, name: str, contents: str) -> None:
        """Store a file."""
        with self.lock:
            self.files[name] = contents

    def _record(self, action: str, count: int) -> None:
        self.counts["writes"] += 1
        self.history += [action] * count
        if self.safe_mode.session is not None:
            self.safe_mode.actions += count
            if self.safe_mode.actions > MAX_ACTIONS:
                self.end_safe_mode("Safe mode released by another user")
        else:
            self.committed()

    def committed(self) -> None:
        """Tell who waits for changes that stay."""
        for tell in self.on_commit:
            tell()

    # Safe mode.
    def snapshot(self) -> Any:
        """Everything that safe mode can undo."""
        tables = {path: (_copies(table.rows), dict(table.record), table.next_id) for path, table in self.tables.items()}
        return tables, dict(self.files)

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot; cages whose configuration differs restart. Ids that were given out meanwhile are not given out again."""
        tables, files = snapshot
        before = _copies(self.rows("/interface/ethernet"))
        for path, (rows, record, next_id) in tables.items():
            table = self.tables[path]
            table.rows, table.record, table.next_id = _copies(rows), dict(record), max(next_id, table.next_id)
        self.files = dict(files)
        for old, new in zip(before, self.rows("/interface/ethernet"), strict=True):
            self.rules.changed(self, "/interface/ethernet", old, new)
        self.committed()

    def take_safe_mode(self, session: object, user: str, owner: str) -> None:
        """Begin; nobody may hold it."""
        self.safe_mode = SafeMode(session, user, owner, self.snapshot())

    def end_safe_mode(self, told: str = "") -> None:
        """Keep the changes."""
        self.safe_mode = SafeMode()
        self.committed()
        if told:
            for listener in self.listeners:
                listener(f"[{told}]")

    def unroll(self) -> None:
        """Undo everything since safe mode was taken."""
        snapshot = self.safe_mode.snapshot
        self.safe_mode = SafeMode()
        if snapshot is not None:
            self.restore(snapshot)

    def lose(self, session: object) -> None:
        """The holder's connection is gone: undo now or when TCP would notice."""
        with self.lock:
            if self.safe_mode.session is session:
                self.safe_mode.unroll_at = self.clock() + self.unroll_seconds
                self.tick()

    def tick(self) -> None:
        """Let time do what it does. Called before anything is read or written."""
        with self.lock:
            if self.safe_mode.unroll_at is not None and self.clock() >= self.safe_mode.unroll_at:
                self.unroll()


def _copies(rows: list[Row]) -> list[Row]:
    """Copies of rows; their values are replaced, never changed."""
    return [dict(row) for row in rows]

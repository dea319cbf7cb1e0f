# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What there is to do, and what forbids it: computed in full before anything is touched, the same in check mode and in a real run."""

from __future__ import annotations

import fnmatch
import ipaddress
import json
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _netplan
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Connectx
from ansible_collections.gb10.cluster.plugins.module_utils._link import _desired, _live, _record, _refusals
from ansible_collections.gb10.cluster.plugins.module_utils._link._arming import plain
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from ansible_collections.gb10.cluster.plugins.module_utils._link._live import State
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine, Meta, addresses

Content = tuple[bytes, Meta] | None
"""New content of a file with its attributes (mtime 0 is now); None removes it."""


@dataclass
class Change:
    """``files``: what to write and remove, ``act``: interfaces to renew, ``settings``: those whose kernel settings are wrong, ``released``:
    what interfaces go back to, ``states``: what runs on all of them now, ``modules``: kernel modules to load, ``moved``: others' files that
    go to the backup, ``generate``: whether netplan's rendering is renewed."""

    backend: str
    rails: list[Rail]
    states: dict[str, State | None]
    files: dict[str, Content] = field(default_factory=dict)
    act: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    released: dict[str, State | None] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    generate: bool = False
    refusals: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    diff: list[dict[str, str]] = field(default_factory=list)

    @property
    def needed(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.files or self.act or self.settings or self.released or self.modules)


def present(machine: Machine, connectx: Connectx, rails: list[Rail], takeover: bool, interrupt: bool) -> Change:
    """What makes ``rails`` right, and releases whatever was ours and is no rail any more."""
    backend = connectx["backend"] or ""
    record = _record.read(machine)
    ours, names = _record.our_interfaces(machine, record), [rail.interface for rail in rails]
    change = Change(backend, rails, _live.capture(machine, sorted({*names, *ours})))
    foreign = _refusals.foreign(connectx, rails)
    taken = [claim for _rail, claim in foreign if takeover and _refusals.movable(claim, names)]

    moved = {claim["file"] or "": sorted({one["name"] for one in taken if one["file"] == claim["file"]}) for claim in taken}
    for path, definitions in moved.items():
        meta = machine.meta(path) or plain()
        change.files[path] = None
        change.files[_record.copy_of(path)] = (machine.read(path) or b"" if meta.target is None else b"", meta)
        record["moved"].append({"path": path, "meta": list(meta), "definitions": definitions})
    change.moved = sorted(moved)

    wanted = {path: (text.encode(), plain(mode)) for path, (text, mode) in _desired.files(rails, backend).items()}
    strays = {claim["file"] for rail in rails for claim in _claims(connectx, rail) if claim["ours"] and claim["source"] == "netplan"} - set(wanted)
    for path in {*_record.our_files(machine), *(stray for stray in strays if stray)} - set(wanted):
        change.files[path] = None
    change.files.update({path: content for path, content in wanted.items() if not _same(machine, path, content)})
    change.released = {name: _record.before(record, name, change.states[name], ours) for name in ours if name not in names}

    record["interfaces"] = {name: _record.before(record, name, change.states[name], ours) for name in names}
    if _record.text(record) != machine.read(_record.FILE):
        change.files[_record.FILE] = (_record.text(record), plain())

    differing = {rail.interface: _live.differences(rail, state) for rail in rails if (state := change.states[rail.interface])}
    keyfiles = {f"{_desired.KEYFILES}/{_names.connection_name(name)}.nmconnection": name for name in names}
    renewed = {name for name, found in differing.items() if found.keys() - _live.RAIL_SYSCTL.keys()}
    change.act = sorted(renewed | {name for path, name in keyfiles.items() if path in change.files})
    change.settings = sorted(name for name, found in differing.items() if found.keys() & _live.RAIL_SYSCTL.keys())
    _netplan_part(machine, change, {*names, *ours, *(name for claim in taken for name in (claim["name"],))})
    _modules(machine, connectx, change)

    others = sorted(name for name in addresses(machine) if name != "lo" and name not in names)
    edits = {f"{claim['file']} {claim['name']}": _netplan.edit(claim["file"], _text(machine, claim["file"]), claim["name"]) for _r, claim in foreign if claim["file"]}
    fitting = {claim["pattern"]: [name for name in others if fnmatch.fnmatch(name, claim["pattern"])] for _r, claim in foreign if claim["pattern"]}
    change.refusals = [
        *_refusals.branch_we_sit_on(connectx, [*names, *change.released]),
        *_refusals.devices(connectx, rails),
        *_refusals.claims(foreign, names, takeover, edits, fitting),
        *change.refusals,
        *([] if interrupt else _refusals.jobs(connectx, [*change.act, *change.released])),
    ]
    change.diff = _diff(machine, change)
    return change


def absent(machine: Machine, connectx: Connectx, interrupt: bool) -> Change:
    """What removes exactly ours and brings back what was there before our first run."""
    record = _record.read(machine)
    ours = _record.our_interfaces(machine, record)
    change = Change(connectx["backend"] or "", [], _live.capture(machine, ours))
    change.released = {name: _record.before(record, name, change.states[name], ours) for name in ours}
    change.files = {path: None for path in _record.our_files(machine)}
    for entry in record["moved"]:
        path, meta = entry["path"], Meta(*entry["meta"])
        if machine.meta(path) is not None:
            change.refusals.append(message(path, "no file, so that the one of before can be put back", "a newer one", "Remove or rename it, then run again."))
        change.files[path] = (machine.read(_record.copy_of(path)) or b"", meta)
        change.files[_record.copy_of(path)] = None
    if machine.meta(_record.FILE) is not None:
        change.files[_record.FILE] = None
    _netplan_part(machine, change, {*ours, *(name for entry in record["moved"] for name in entry["definitions"])})
    change.refusals += _refusals.branch_we_sit_on(connectx, ours) + ([] if interrupt else _refusals.jobs(connectx, ours))
    change.diff = _diff(machine, change)
    return change


def _claims(connectx: Connectx, rail: Rail) -> list[Any]:
    return [claim for port in connectx["ports"].values() for device in port["rails"] if device["interface"] == rail.interface for claim in device["claims"]]


def _text(machine: Machine, path: str | None) -> str:
    return (machine.read(path or "") or b"").decode("utf-8", "replace")


def _same(machine: Machine, path: str, wanted: tuple[bytes, Meta]) -> bool:
    """Whether a file is there with this content, mode and owner, whenever it was written."""
    meta = machine.meta(path)
    return meta is not None and meta[:3] == wanted[1][:3] and meta.target is None and machine.read(path) == wanted[0]


def _netplan_part(machine: Machine, change: Change, mine: set[str]) -> None:
    """Render before and after beside the machine: nothing but ``mine`` may differ between the two, nor between before and what runs."""
    sources = {path: content[0] if content else None for path, content in change.files.items() if path.startswith("/etc/netplan/")}
    if not change.backend.startswith("netplan") or not (sources or change.act or change.released):
        return
    before, complaint = _netplan.render(machine, {})
    after, broken = _netplan.render(machine, sources) if sources else (before, complaint)
    running = _netplan.running(machine)
    pending = _netplan.changed(running, after)
    change.generate = bool(pending)
    change.act = sorted({*change.act, *(rail.interface for rail in change.rails if rail.interface in pending)})
    unapplied = {*_netplan.changed(running, before), *_not_live(machine, before)} - mine
    change.refusals += _refusals.netplan(complaint or broken, unapplied, set(_netplan.changed(before, after)) - mine)


def _not_live(machine: Machine, rendered: dict[str, str]) -> list[str]:
    """Interfaces with a carrier that lack a static address netplan gives them: rendered, but never activated."""
    live = addresses(machine)
    lacking = []
    for name, cidrs in _netplan.static_addresses(rendered).items():
        has = {ipaddress.ip_interface(cidr) for key in ("addresses", "dynamic") for cidr in live.get(name, {}).get(key, [])}
        if (machine.read(f"/sys/class/net/{name}/carrier") or b"").strip() == b"1" and {ipaddress.ip_interface(cidr) for cidr in cidrs} - has:
            lacking.append(name)
    return lacking


def _modules(machine: Machine, connectx: Connectx, change: Change) -> None:
    """Modules to load; one that this kernel does not have can not be loaded by anybody and is a warning."""
    loaded = connectx["platform"].get("modules", {})
    for name in _desired.MODULES:
        if loaded.get(name):
            continue
        if machine.run(["modprobe", "--dry-run", "--quiet", name]).rc == 0:
            change.modules.append(name)
        else:
            fix = "RDMA programs can not open the card; install the modules of this kernel."
            change.warnings.append(message(f"kernel module {name}", "loaded", "none for this kernel", fix))


def _diff(machine: Machine, change: Change) -> list[dict[str, str]]:
    """The change as before and after: our files as text, others' files (which may hold secrets) by name, live state normalised."""
    shown = []
    for path, content in sorted(change.files.items()):
        if path.startswith(_record.FOLDER):
            continue
        meta = machine.meta(path)
        old, new = _text(machine, path), content[0].decode("utf-8", "replace") if content else ""
        if path in change.moved or (content and content[1].mtime_ns):
            old, new = ("(kept in the backup)\n", "") if content is None else ("", "(from the backup)\n")
        elif meta and content and meta[:3] != content[1][:3]:
            old, new = (f"# mode {one.mode:04o}, owner {one.uid}:{one.gid}\n{text}" for one, text in ((meta, old), (content[1], new)))
        shown.append({"before_header": path, "after_header": path, "before": old, "after": new})
    before, after = _shown_states(change)
    if before != after:
        shown.append({"before_header": "live state", "after_header": "live state", "before": before, "after": after})
    if change.modules:
        shown.append({"before_header": "kernel modules", "after_header": "kernel modules", "before": "", "after": "".join(f"{name}\n" for name in change.modules)})
    return shown


def _shown_states(change: Change) -> tuple[str, str]:
    """Live state of what is acted on, before and after."""
    goals: dict[str, dict[str, Any]] = {name: _live.describe(state) for name, state in change.released.items()}
    goals.update({rail.interface: _live.goal(rail) for rail in change.rails if rail.interface in {*change.act, *change.settings}})
    found = {name: _live.describe(change.states[name]) for name in goals}
    return tuple("".join(f"{name} {key}: {json.dumps(value)}\n" for name in sorted(goals) for key, value in part[name].items()) for part in (found, goals))  # type: ignore[return-value]

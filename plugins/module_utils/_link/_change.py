# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What there is to do, and what forbids it: computed in full before anything is touched, the same in check mode and in a real run."""

from __future__ import annotations

import fnmatch
import ipaddress
import json
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.gb10.cluster.plugins.module_utils import _netplan
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Claim, Connectx
from ansible_collections.gb10.cluster.plugins.module_utils._link import _desired, _live, _record, _refusals
from ansible_collections.gb10.cluster.plugins.module_utils._link._arming import LAST, plain
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from ansible_collections.gb10.cluster.plugins.module_utils._link._live import State
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import RAIL_SYSCTL, Machine, Meta, addresses

Content = Optional[tuple[bytes, Meta]]
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
    record = _record.read(machine)
    ours, names = _record.our_interfaces(machine, record), [rail.interface for rail in rails]
    change = Change(connectx["backend"] or "", rails, _live.capture(machine, sorted({*names, *ours})))
    foreign = _refusals.foreign(connectx, rails)
    taken = [claim for _rail, claim in foreign if takeover and _refusals.movable(claim, names)]
    _move(machine, change, record, taken)
    wanted = {path: (text.encode(), plain(mode)) for path, (text, mode) in _desired.files(rails, change.backend).items()}
    change.files.update({path: None for path in {*_record.our_files(machine), *_strays(connectx, rails)} - set(wanted)})
    change.files.update({path: content for path, content in wanted.items() if not _same(machine, path, content)})
    before = {name: _record.before(record, name, state, ours) for name, state in change.states.items()}
    change.released = {name: state for name, state in before.items() if name not in names}
    record["interfaces"] = {name: state for name, state in before.items() if name in names}
    if _record.text(record) != machine.read(_record.FILE):
        change.files[_record.FILE] = (_record.text(record), plain())
    _rails_part(change)
    _netplan_part(machine, change, {*names, *ours, *(claim["name"] for claim in taken)})
    _modules(machine, connectx, change)
    change.refusals = [
        *_refusals.branch_we_sit_on(connectx, [*names, *change.released]),
        *_refusals.devices(connectx, rails),
        *_claims(machine, foreign, names, takeover),
        *change.refusals,
        *([] if interrupt else _refusals.jobs(connectx, [*change.act, *change.released])),
    ]
    change.diff = _diff(machine, change)
    change.warnings += _lost_routes({name: state for name, state in change.states.items() if name in change.act} | change.released)
    return change


def _lost_routes(states: dict[str, State | None]) -> list[str]:
    """One warning for each interface with routes that are gone for good when its address goes."""
    fix = "Add it by hand when the state of before comes back."
    lost = [(name, text) for name, state in states.items() if state for text in state["lost_routes"]]
    return [message(f"{name}: route", "one that can be put back", text, fix) for name, text in lost]


def _move(machine: Machine, change: Change, record: _record.Record, taken: list[Claim]) -> None:
    """Move the files of these claims to the backup, and note in the record where they belong."""
    for path in sorted({claim["file"] or "" for claim in taken}):
        if any(entry["path"] == path for entry in record["moved"]):
            fix = "Remove or rename the newer one, then run again; state: absent puts the original back."
            change.refusals.append(message(path, "a file taken over once", f"the original in {_record.copy_of(path)}, and a newer one", fix))
            continue
        meta = machine.meta(path)
        content = machine.read(path) if meta and meta.target is None else b""
        if meta is None or content is None:
            change.refusals.append(message(path, "a file to take over", "none any more", "Run again."))
            continue
        change.files[path] = None
        change.files[_record.copy_of(path)] = (content, meta)
        definitions = sorted({claim["name"] for claim in taken if claim["file"] == path})
        record["moved"].append({"path": path, "meta": meta, "definitions": definitions})
        change.moved.append(path)


def _strays(connectx: Connectx, rails: list[Rail]) -> set[str]:
    """Files in which NetworkManager stored a profile of ours once more (``90-NM-UUID.yaml``): it is known by our UUID."""
    names = {rail.interface for rail in rails}
    devices = [device for port in connectx["ports"].values() for device in port["rails"] if device["interface"] in names]
    claims = [claim for device in devices for claim in device["claims"] if claim["ours"] and claim["source"] == "netplan"]
    return {claim["file"] for claim in claims if claim["file"] and not set(claim["shared_with"]) - names}


def _rails_part(change: Change) -> None:
    """Which rails have to be renewed, and on which only kernel settings are wrong."""
    differing = {rail.interface: _live.differences(rail, state) for rail in change.rails if (state := change.states[rail.interface])}
    renewed = {name for name, found in differing.items() if found.keys() - RAIL_SYSCTL.keys()}
    renewed |= {name for name in differing if _desired.keyfile_path(name) in change.files}
    change.act = sorted(renewed)
    change.settings = sorted(name for name, found in differing.items() if found.keys() & RAIL_SYSCTL.keys())


def _claims(machine: Machine, foreign: list[tuple[Rail, Claim]], names: list[str], takeover: bool) -> list[str]:
    """The refusals of other configuration, with the edit for each definition and the devices that each wildcard may be meant for."""
    others = sorted(name for name in addresses(machine) if name != "lo" and name not in names)
    edits, meant = {}, {}
    for _rail, claim in foreign:
        if claim["file"]:
            edits[f"{claim['file']} {claim['name']}"] = _netplan.edit(claim["file"], _text(machine, claim["file"]), claim["name"])
        if claim["pattern"]:
            meant[claim["pattern"]] = [name for name in others if fnmatch.fnmatch(name, claim["pattern"])]
    return _refusals.claims(foreign, names, takeover, edits, meant)


def absent(machine: Machine, connectx: Connectx, interrupt: bool) -> Change:
    """What removes exactly ours and brings back what was there before our first run."""
    record = _record.read(machine)
    ours = _record.our_interfaces(machine, record)
    change = Change(connectx["backend"] or "", [], _live.capture(machine, ours))
    change.released = {name: _record.before(record, name, change.states[name], ours) for name in ours}
    change.files = {path: None for path in _record.our_files(machine)}
    for entry in record["moved"]:
        path, meta, copy = entry["path"], Meta(*entry["meta"]), _record.copy_of(entry["path"])
        if machine.meta(path) is not None:
            fix = "Remove or rename it, then run again."
            change.refusals.append(message(path, "no file, so that the one of before can be put back", "a newer one", fix))
        content = machine.read(copy) if meta.target is None else b""
        if content is None:
            fix = f"Bring the copy back, or remove the entry of {path} from {_record.FILE}, then run again."
            change.refusals.append(message(copy, f"the copy of {path} from before the first run", "none", fix))
            continue
        change.files[path] = (content, meta)
        change.files[copy] = None
    change.files.update({path: None for path in (_record.FILE, LAST) if machine.meta(path) is not None})
    _netplan_part(machine, change, {*ours, *(name for entry in record["moved"] for name in entry["definitions"])})
    change.refusals += _refusals.branch_we_sit_on(connectx, ours) + ([] if interrupt else _refusals.jobs(connectx, ours))
    change.diff = _diff(machine, change)
    change.warnings += _lost_routes(change.released)
    return change


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
        if (machine.peek(f"/sys/class/net/{name}/carrier") or b"").strip() == b"1" and {ipaddress.ip_interface(cidr) for cidr in cidrs} - has:
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
        if old and not old.startswith(_names.MARKER):
            old = "(written by somebody else)\n"
        if path in change.moved or (content and content[1].mtime_ns):
            old, new = ("(kept in the backup)\n", "") if content is None else ("", "(from the backup)\n")
        elif meta and content and meta[:3] != content[1][:3]:
            old, new = (f"# mode {one.mode:04o}, owner {one.uid}:{one.gid}\n{text}" for one, text in ((meta, old), (content[1], new)))
        shown.append(_shown(path, old, new))
    shown.append(_shown("live state", *_live_states(change)))
    shown.append(_shown("kernel modules", "", "".join(f"{name}\n" for name in change.modules)))
    return [one for one in shown if one["before"] != one["after"]]


def _shown(header: str, before: str, after: str) -> dict[str, str]:
    return {"before_header": header, "after_header": header, "before": before, "after": after}


def _live_states(change: Change) -> tuple[str, str]:
    """Live state of what is acted on, before and after."""
    goals: dict[str, dict[str, Any]] = {name: _live.describe(state) for name, state in change.released.items()}
    goals.update({rail.interface: _live.goal(rail) for rail in change.rails if rail.interface in {*change.act, *change.settings}})
    return _lines({name: _live.describe(change.states[name]) for name in goals}), _lines(goals)


def _lines(states: dict[str, dict[str, Any]]) -> str:
    return "".join(f"{name} {key}: {json.dumps(value)}\n" for name in sorted(states) for key, value in states[name].items())

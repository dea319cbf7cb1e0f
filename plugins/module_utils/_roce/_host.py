# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's side of RoCE: what each rail is to be, now and after every boot. All of it or nothing.

Live values go through ``_worker.py``, which also runs by itself on the node, from a unit bound to the network device.
"""

from __future__ import annotations

import inspect
import json
from contextlib import ExitStack
from typing import Any, NamedTuple

from ansible_collections.gb10.cluster.plugins.module_utils._files import advice
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged
from ansible_collections.gb10.cluster.plugins.module_utils._roce import _record, _worker
from ansible_collections.gb10.cluster.plugins.module_utils._roce._node import Node
from ansible_collections.gb10.cluster.plugins.module_utils._roce._record import Entry, Record
from ansible_collections.gb10.cluster.plugins.module_utils._roce._worker import Live, Unsupported, live_of

DSCP = {26: 3, 48: 6}
"""DSCP -> priority: RoCEv2 data (26) and its congestion notifications (48), as on the switch (MikroTik manual, "Quality of Service")."""

PFC_PRIORITY = 3
HIGHEST_TOS = 255
SCRIPT, UNIT = "/usr/local/lib/gb10/qos.py", "/etc/systemd/system/gb10-qos@.service"
UNIT_TEXT = f"""# gb10.cluster: written by connectx_qos, changes made here are lost
[Unit]
Description=RoCE QoS of %I
BindsTo=sys-subsystem-net-devices-%i.device
After=sys-subsystem-net-devices-%i.device

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/python3 -I {SCRIPT} %I

[Install]
WantedBy=sys-subsystem-net-devices-%i.device
"""
"""Compares before it writes, because a change of PFC takes the link down for a moment."""


class QosError(Exception):
    """Why the host can not be what is wanted; nothing is changed. The text is complete."""


class Result(NamedTuple):
    """``before`` and ``after`` as the user sees them; ``facts`` per interface; ``warnings`` texts."""

    changed: bool
    before: dict[str, Any]
    after: dict[str, Any]
    facts: dict[str, Any]
    warnings: list[str]


class _Rail(NamedTuple):
    """One rail. ``live`` and ``wanted`` are None without DCB, ``lacking`` says why; types of service None without RDMA-CM."""

    interface: str
    rdma: str | None
    live: Live | None
    wanted: Live | None
    origin: Live | None
    lacking: str | None
    tos: int | None
    wanted_tos: int | None
    origin_tos: int | None


def wanted_of(level: str, origin: Live) -> Live:
    """What a device is to be at a level, given what it was before us."""
    if level == "none":
        return origin
    if level == "ecn":
        return Live({**origin.dscp, **DSCP}, origin.pfc, origin.pause)
    return Live({**origin.dscp, **DSCP}, [PFC_PRIORITY], None if origin.pause is None else [False, False])


def qos(node: Node, rails: dict[str, str | None], level: str, traffic_class: int, check_mode: bool) -> Result:
    """Make the rails what the level wants, persistently; ``rails``: interface -> RDMA device.

    Interfaces that an earlier run configured and that are no rails any more go back to what they were. Raises :class:`QosError`.
    """
    try:
        stored = _record.load(node)
    except Damaged as damaged:
        raise QosError(str(damaged)) from None
    if level != "none" and not 0 <= traffic_class <= HIGHEST_TOS:
        raise QosError(message("traffic_class", f"0 to {HIGHEST_TOS}", traffic_class, "Give it the ib_tc of the plan, usually 106."))
    known = [_rail(node, name, device, level, traffic_class, stored) for name, device in rails.items()]
    left = [name for name in stored["interfaces"] if name not in rails and node.exists(f"/sys/class/net/{name}")]
    known += [_rail(node, name, stored["interfaces"][name]["rdma"], "none", 0, stored) for name in left]
    lacking = [rail for rail in known if rail.lacking and rail.interface in rails]
    if level == "lossless" and lacking:
        expected, fix = "a driver that knows priority flow control", "Set fabric_roce to ecn or none."
        raise QosError("\n".join(message(f"{rail.interface}: DCB", expected, rail.lacking, fix) for rail in lacking))
    try:
        files = _files(node, known if level != "none" else [], rails, level, traffic_class, stored)
    except OSError as error:
        fix = advice(error, "Repair that, then run again.")
        raise QosError(message(str(error.filename), "a file that can be read and written", error.strerror, fix)) from error
    needed = [rail for rail in known if rail.live != rail.wanted or rail.tos != rail.wanted_tos]
    missing = [name for name in rails if level != "none" and not node.is_enabled(name)]
    changed = bool(needed or files or missing)
    before = _view(known, {rail.interface: (rail.live, rail.tos) for rail in known}, bool(stored["interfaces"]))
    after = _view(known, {rail.interface: (rail.wanted, rail.wanted_tos) for rail in known}, level != "none")
    if changed and not check_mode:
        try:
            _change(node, needed, files, [name for name in rails if level != "none"], stored["interfaces"])
        except (OSError, Unsupported) as error:
            raise QosError(message("QoS of the rails", "changed", str(error), "Nothing was changed.")) from error
    facts = {rail.interface: {"dcb": rail.lacking is None, "reason": rail.lacking, "rdma_cm": rail.tos is not None} for rail in known}
    warnings = [message(f"{rail.interface}: DCB", "a driver that maps DSCP to priorities", rail.lacking, "RoCE runs there without its own priority.")
                for rail in lacking if level == "ecn"]
    return Result(changed, before, after, facts, warnings)


def _rail(node: Node, interface: str, rdma: str | None, level: str, traffic_class: int, stored: Record) -> _Rail:
    entry = stored["interfaces"].get(interface)
    tos = _worker.read_tos(rdma, node.root) if rdma else None
    origin_tos = entry["tos_before"] if entry else tos
    wanted_tos = None if tos is None else origin_tos if level == "none" else traffic_class
    try:
        live = _worker.read(interface, sorted(DSCP), node.run)
    except Unsupported as error:
        return _Rail(interface, rdma, None, None, None, str(error), tos, wanted_tos, origin_tos)
    before = entry and entry["before"]
    origin = live_of(before) if before else live
    return _Rail(interface, rdma, live, wanted_of(level, origin), origin, None, tos, wanted_tos, origin_tos)


def _files(
    node: Node, known: list[_Rail], rails: dict[str, str | None], level: str, traffic_class: int, stored: Record
) -> dict[str, str | None]:
    """Path -> new content, or None for a file to remove; only files that differ. The record comes last: without it nobody knows of the others."""
    if level == "none":
        wanted: dict[str, str | None] = dict.fromkeys((SCRIPT, UNIT, _worker.CONFIG)) if stored["interfaces"] else {}
    else:
        entries = {
            rail.interface: {"wanted": rail.wanted and rail.wanted._asdict(), "before": rail.origin and rail.origin._asdict(), "rdma": rail.rdma,
                             "tos_before": rail.origin_tos}
            for rail in known if rail.interface in rails
        }
        wanted = {SCRIPT: inspect.getsource(_worker), UNIT: UNIT_TEXT, _worker.CONFIG: _record.text(level, traffic_class, entries)}
    return {path: content for path, content in wanted.items() if node.text(path, content is not None) != content}


def _change(node: Node, needed: list[_Rail], files: dict[str, str | None], enabled: list[str], known: dict[str, Entry]) -> None:
    """Live values first, files and units then; whatever fails takes everything before it back. What the rails were is written down before any of
    them changes, and stays there until they are that again: a run that is killed in between can be finished, and taken back, by the next one."""
    config = files.get(_worker.CONFIG)
    with ExitStack() as undo:
        if config:
            new = json.loads(config)
            node.replace(_worker.CONFIG, _record.text(new["level"], new["traffic_class"], {**known, **new["interfaces"]}), undo)
        for rail in needed:
            if rail.live is not None and rail.wanted is not None:
                undo.callback(_apply, node, rail.interface, rail.live, strict=False)
                _apply(node, rail.interface, rail.wanted)
            if rail.rdma and rail.tos is not None and rail.wanted_tos is not None and rail.tos != rail.wanted_tos:
                undo.callback(node.write_tos, rail.rdma, rail.tos)
                node.write_tos(rail.rdma, rail.wanted_tos)
        for name in known:
            if name not in enabled and node.is_enabled(name):
                undo.callback(node.systemctl, "enable", name, strict=False)
                node.systemctl("disable", name)
        for path, content in files.items():
            node.replace(path, content, undo)
        # also when only the record is left: a run that was killed may have removed the unit and got no further
        if UNIT in files or not enabled:
            node.reload()
        for name in enabled:
            if not node.is_enabled(name):
                undo.callback(node.systemctl, "disable", name, strict=False)
                node.systemctl("enable", name)
        undo.pop_all()


def _apply(node: Node, interface: str, wanted: Live, strict: bool = True) -> None:
    """Bring a device to a state and read it back."""
    for command in _worker.commands(interface, _worker.read(interface, sorted(DSCP), node.run), wanted):
        done = node.run(command)
        if strict and done.rc != 0:
            raise QosError(message(" ".join(command), "success", (done.err or done.out).strip() or f"exit status {done.rc}", "Nothing was changed."))
    found = _worker.read(interface, sorted(DSCP), node.run)
    if strict and found != wanted:
        raise QosError(message(
            f"{interface}: QoS after the change", _text(wanted), _text(found),
            "Nothing was changed. The card's firmware or an LLDP agent may overwrite it: see dcb dcbx show."))


def _text(live: Live) -> str:
    return f"DSCP {live.dscp}, PFC {live.pfc}, pause {live.pause}"


def _view(known: list[_Rail], values: dict[str, tuple[Live | None, int | None]], persistent: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"persistent": persistent, "interfaces": {}}
    for rail in known:
        live, tos = values[rail.interface]
        shown["interfaces"][rail.interface] = {
            "dscp": {str(dscp): priority for dscp, priority in sorted(live.dscp.items())} if live else None,
            "pfc": live.pfc if live else None,
            "pause": dict(zip(("rx", "tx"), live.pause)) if live and live.pause is not None else None,
            "rdma_cm_tos": tos,
        }
    return shown

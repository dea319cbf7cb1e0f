# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows as RouterOS shows them: what is stored, with everything that is only read. Field names as in published read-backs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import hardware, qos
from .links import Link
from .machine import Machine, Row
from .menus import QOS, channel_of
from .values import Nothing

FLAGS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "/interface": (("X", "disabled", "disabled"), ("R", "running", "running"), ("S", "slave", "slave"), ("D", "dynamic", "dynamic")),
    "/interface/ethernet": (("X", "disabled", "disabled"), ("R", "running", "running"), ("S", "slave", "slave")),
    "/interface/bridge": (("D", "dynamic", "dynamic"), ("X", "disabled", "disabled"), ("R", "running", "running")),
    "/interface/bridge/port": (("X", "disabled", "disabled"), ("I", "inactive", "inactive"), ("D", "dynamic", "dynamic"),
                               ("H", "hw-offload", "hw-offload")),
    "/interface/bridge/host": (("D", "dynamic", "dynamic"), ("L", "local", "local"), ("E", "external", "external")),
    f"{QOS}/port": (("I", "invalid", "invalid"), ("R", "running", "running")),
}
_QOS_FLAGS = (("*", "default", "default"), ("D", "dynamic", "dynamic"), ("X", "disabled", "disabled"), ("I", "inactive", "inactive"),
              ("H", "hw-offloaded", "hw-offloaded"))
_PLAIN_FLAGS = (("X", "disabled", "disabled"), ("D", "dynamic", "dynamic"))


def flags_of(path: str) -> tuple[tuple[str, str, str], ...]:
    """(letter, field, word) of a menu's flags in the order of its ``Flags:`` line."""
    if path.startswith(QOS) and path not in FLAGS:
        return _QOS_FLAGS
    return FLAGS.get(path, _PLAIN_FLAGS)


def rows(machine: Machine, path: str) -> list[Row]:
    """All rows of a menu as shown; the one record of a menu that has no rows. Unset fields are absent."""
    machine.tick()
    with machine.lock:
        stored = [machine.tables[path].record] if machine.tables[path].menu.singleton else machine.rows(path)
        shown = [{**_common(path, row), **row} for row in stored]
        if path in _VIEWS:
            shown = _VIEWS[path](machine, shown)
    return [{name: value for name, value in row.items() if not isinstance(value, Nothing)} for row in shown]


def _common(path: str, row: Row) -> Row:
    if ".id" not in row:
        return {}
    return {"disabled": False, "dynamic": False, **({"default": False} if path.startswith(QOS) else {})}


def _ethernet(machine: Machine, shown: list[Row]) -> list[Row]:
    running, slaves = hardware.running(machine), {row["interface"] for row in machine.rows("/interface/bridge/port")}
    switched = [{} if row["default-name"] in machine.model.apart else {"switch": "switch1"} for row in shown]
    return [{**row, "running": row["name"] in running, "slave": row["name"] in slaves, **of} for row, of in zip(shown, switched, strict=True)]


def _bridges(machine: Machine, shown: list[Row]) -> list[Row]:
    found = []
    for row in shown:
        l2mtu = hardware.bridge_l2mtu(machine, row["name"])
        found.append({**row, "running": not row["disabled"], "l2mtu": l2mtu,
                      "actual-mtu": min(l2mtu, 1500) if row["mtu"] == "auto" else row["mtu"], "mac-address": row.get("admin-mac", "")})
    return found


def _bridge_ports(machine: Machine, shown: list[Row]) -> list[Row]:
    running, offloaded = hardware.running(machine), hardware.offloaded(machine)
    found: list[Row] = []
    for row in shown:
        is_offloaded = row["interface"] in offloaded
        found.append(row | {"inactive": row["interface"] not in running, "hw-offload": is_offloaded})
        if is_offloaded:
            found[-1]["hw-offload-group"] = "switch1"
    return found


def _hosts(machine: Machine, shown: list[Row]) -> list[Row]:
    bridge_of = {row["interface"]: row["bridge"] for row in machine.rows("/interface/bridge/port")}
    running = hardware.running(machine)
    learned = [(port, mac) for port, macs in machine.learned.items() for mac in macs if port in bridge_of and port in running]
    return [{".id": f"*{index:X}", "mac-address": mac, "interface": port, "on-interface": port, "bridge": bridge_of[port],
             "dynamic": True, "local": False, "external": True, "disabled": False} for index, (port, mac) in enumerate(learned)]


def _interfaces(machine: Machine, shown: list[Row]) -> list[Row]:
    found: list[Row] = []
    for path, kind in (("/interface/ethernet", "ether"), ("/interface/bridge", "bridge"), ("/interface/vlan", "vlan")):
        for row in rows(machine, path):
            keep = {name: row[name] for name in ("name", "default-name", "mtu", "l2mtu", "mac-address", "running", "slave", "comment") if name in row}
            found.append(keep | {"disabled": row["disabled"], "dynamic": False, "type": kind, "actual-mtu": row.get("actual-mtu", row["mtu"])})
            if kind == "ether":
                found[-1]["max-l2mtu"] = hardware.max_l2mtu(machine, row["default-name"])
    return [{".id": f"*{index:X}", **row} for index, row in enumerate(found, 1)]


def _qos_rows(machine: Machine, shown: list[Row]) -> list[Row]:
    is_active = qos.is_active(machine)
    return [{**row, "hw-offloaded": is_active and not row["disabled"], "inactive": False} for row in shown]


def _numbered(machine: Machine, shown: list[Row]) -> list[Row]:
    return [{**row, "hw-id": index} for index, row in enumerate(_qos_rows(machine, shown))]


def _queues(machine: Machine, shown: list[Row]) -> list[Row]:
    if "ecn" not in machine.menus[qos.QUEUE].fields:
        return _qos_rows(machine, shown)
    acts = qos.works(machine) and qos.is_active(machine)
    return [{**row, "ecn-actual": acts and row["ecn"], "wred-actual": acts and row["wred"]} for row in _qos_rows(machine, shown)]


def _qos_ports(machine: Machine, shown: list[Row]) -> list[Row]:
    running = hardware.running(machine)
    kept = [{name: value for name, value in row.items() if name not in ("default", "dynamic", "disabled")} for row in shown]
    return [{**row, "running": row["name"] in running or row["name"].endswith("-cpu"), "invalid": False} for row in kept]


def _resource(machine: Machine, shown: list[Row]) -> list[Row]:
    return [{"uptime": "1d00:00:00", "version": f"{machine.version} ({channel_of(machine.version)})", "board-name": machine.model.product,
             "architecture-name": machine.model.architecture, "platform": "MikroTik", "cpu-count": 4, "cpu-load": 1}]


def _routerboard(machine: Machine, shown: list[Row]) -> list[Row]:
    current, upgrade = machine.firmware
    return [{"routerboard": True, "model": machine.model.product, "serial-number": "SIMULATED", "current-firmware": current,
             "upgrade-firmware": upgrade, "factory-firmware": "7.19"}]


def _files(machine: Machine, shown: list[Row]) -> list[Row]:
    return [{".id": f"*{index:X}", "name": name, "type": "script" if name.endswith(".rsc") else "backup" if name.endswith(".backup") else "file",
             "size": len(contents), "last-modified": "2026-11-30 12:00:00", "contents": contents}
            for index, (name, contents) in enumerate(sorted(machine.files.items()), 1)]


def _history(machine: Machine, shown: list[Row]) -> list[Row]:
    return [{".id": f"*{index:X}", "action": action, "by": "admin", "policy": "write", "undoable": True}
            for index, action in enumerate(reversed(machine.history), 1)]


_VIEWS: dict[str, Callable[[Machine, list[Row]], list[Row]]] = {
    "/interface/ethernet": _ethernet,
    "/interface/bridge": _bridges,
    "/interface/bridge/port": _bridge_ports,
    "/interface/bridge/host": _hosts,
    "/interface": _interfaces,
    f"{QOS}/profile": _numbered,
    f"{QOS}/map": _numbered,
    f"{QOS}/map/ip": _qos_rows,
    f"{QOS}/map/vlan": _qos_rows,
    f"{QOS}/priority-flow-control": _numbered,
    f"{QOS}/tx-manager": _numbered,
    f"{QOS}/tx-manager/queue": _queues,
    f"{QOS}/port": _qos_ports,
    "/system/resource": _resource,
    "/system/routerboard": _routerboard,
    "/file": _files,
    "/system/history": _history,
}


def ethernet_monitor(machine: Machine, row: Row) -> dict[str, Any]:
    """What ``/interface/ethernet/monitor … once`` shows of one port. A port without link has no rate."""
    name = row["default-name"]
    cage = name.rsplit("-", 1)[0]
    state: Link | None = hardware.links(machine).get(name)
    plug = machine.plugs.get(cage)
    negotiation = "disabled" if not row["auto-negotiation"] else "done" if state and state.gbps else "failed" if plug else "incomplete"
    shown: dict[str, Any] = {"name": row["name"], "status": state.status if state else "no-link", "auto-negotiation": negotiation}
    if name in hardware.UP_WITHOUT_LANES and not row["disabled"]:
        return {**shown, "status": "link-ok", "auto-negotiation": "done", "rate": "10Gbps", "full-duplex": True, "tx-flow-control": False,
                "rx-flow-control": False}
    if state and state.gbps:
        shown.update({"rate": f"{state.gbps}Gbps", "full-duplex": True, "fec": state.fec, "tx-flow-control": False, "rx-flow-control": False})
    if not name.startswith("ether"):
        advertise = row["advertise"] if not isinstance(row["advertise"], Nothing) and row["auto-negotiation"] else []
        shown.update({"advertising": advertise, "link-partner-advertising": [], "sfp-module-present": plug is not None})
    if plug is not None and state is not None:
        kind = "QSFPDD" if name.startswith("qsfp56-dd") else "QSFP28/QSFP56"
        copper = plug.media == "copper"
        shown.update({"sfp-rx-loss": not state.gbps, "sfp-tx-fault": False, "sfp-type": kind, "sfp-encoding": "pam4",
                      "sfp-connector-type": "no-separable-connector" if copper else "MPO", "sfp-vendor-name": "SIMULATED",
                      "sfp-vendor-part-number": "LAB-" + ("DAC" if copper else "SR"), "sfp-vendor-serial": f"LAB{cage.upper()}",
                      "eeprom-checksum": plug.eeprom})
    return shown


def bridge_port_monitor(machine: Machine, row: Row) -> dict[str, Any]:
    """What ``/interface/bridge/port/monitor … once`` shows of one port."""
    interface = row["interface"]
    role: Row = {"role": "disabled-port", "forwarding": False}
    if interface in hardware.running(machine):
        role = machine.neighbours().get(interface, {"role": "designated-port", "forwarding": True})
    shown = {"interface": interface, "status": "in-bridge", "port-number": machine.rows("/interface/bridge/port").index(row) + 1, **role,
             "learning": role["forwarding"], "edge-port": role["role"] == "designated-port", "point-to-point-port": True, "sending-rstp": True,
             "actual-path-cost": row["path-cost"] if isinstance(row["path-cost"], int) else 2000}
    return shown | ({"hw-offload-group": "switch1"} if interface in hardware.offloaded(machine) else {})


def safe_mode(machine: Machine, session: object) -> Row:
    """The record of ``/safe-mode`` as one session sees it."""
    machine.tick()
    held = machine.safe_mode.session
    if held is None:
        return {"current": False, "enabled": False}
    return {"current": held is session, "enabled": True, "owner": machine.safe_mode.owner, "user": machine.safe_mode.user}

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus: their fields with types and defaults, and what a new switch holds.

Which arguments a version takes comes from its schema; here is what they mean. An argument that the schema has and this table lacks is kept as text.
Defaults of the base menus: verbose export of a CRS310 (RouterOS 7.18.2) and MikroTik's manual.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, cache
from typing import Any

from .fields import Field, from_hardware
from .models import VERSIONS, Model
from .schema import Schema, hardware
from .values import NOTHING

QOS = "/interface/ethernet/switch/qos"


@dataclass(frozen=True)
class Menu:
    """``fields`` by name; ``singleton``: one record, no ``.id``; ``fixed``: rows come with the hardware; ``summary``: columns without ``detail``."""

    path: str
    fields: dict[str, Field]
    singleton: bool = False
    fixed: bool = False
    summary: tuple[str, ...] = ()

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """What a field holds that nobody has set."""
        return {name: field.default for name, field in self.fields.items()}


def _menu(path: str, *fields: Field, **more: Any) -> Menu:
    return Menu(path, {field.name: field for field in fields}, **more)


def _flag(name: str, default: bool = False) -> Field:
    return Field(name, "flag", default)


_COMMENT = Field("comment")
_DISABLED = _flag("disabled")
_FRAMES = ("admit-all", "admit-only-untagged-and-priority-tagged", "admit-only-vlan-tagged")
_FLOW = Field("", "word", "off", ("on", "off", "auto"))
_SPEEDS = tuple(hardware()["value_lists"]["speed"])


def base_menus() -> list[Menu]:
    """Menus that every RouterOS has."""
    return [
        _menu("/interface/ethernet",
              Field("name", required=True), Field("mtu", "number", 1500, low=68, high=65535), Field("l2mtu", "number", 1584, high=65536),
              Field("mac-address"), Field("orig-mac-address"), _flag("auto-negotiation", True), Field("advertise", "words", NOTHING, _SPEEDS),
              Field("speed", "word", NOTHING, _SPEEDS), Field("fec-mode", "word", "auto", tuple(hardware()["value_lists"]["fec-mode"])),
              Field("arp", "word", "enabled", ("disabled", "enabled", "local-proxy-arp", "proxy-arp", "reply-only")),
              Field("arp-timeout", default="auto"),
              Field("rx-flow-control", "word", "off", _FLOW.words), Field("tx-flow-control", "word", "off", _FLOW.words),
              Field("loop-protect", "word", "default", ("default", "off", "on")), Field("bandwidth", default="unlimited/unlimited"),
              _COMMENT, _DISABLED,
              fixed=True, summary=("name", "mtu", "mac-address", "arp", "switch")),
        _menu("/interface/bridge",
              Field("name"), Field("mtu", "number", "auto", ("auto",), 68, 65535), Field("admin-mac"), _flag("auto-mac", True),
              Field("protocol-mode", "word", "rstp", ("none", "rstp", "stp", "mstp")), Field("priority", "number", "0x8000", high=65535),
              _flag("vlan-filtering"), Field("pvid", "number", 1, low=1, high=4094), Field("frame-types", "word", "admit-all", _FRAMES),
              _flag("ingress-filtering", True), _flag("igmp-snooping"), _flag("dhcp-snooping"), _flag("fast-forward", True), _flag("mvrp"),
              Field("port-cost-mode", "word", "long", ("long", "short")), Field("forward-delay", default="15s"),
              Field("max-message-age", default="20s"), Field("ageing-time", default="5m"),
              Field("transmit-hold-count", "number", 6), Field("arp", default="enabled"), Field("arp-timeout", default="auto"),
              Field("max-learned-entries", default="auto"), Field("ether-type", default="0x8100"),
              _COMMENT, _DISABLED, summary=("name", "mtu", "protocol-mode")),
        _menu("/interface/bridge/port",
              Field("bridge", "reference", target="bridge", required=True), Field("interface", "reference", target="interface", required=True),
              _flag("hw", True), Field("pvid", "number", 1, low=1, high=4094), Field("frame-types", "word", "admit-all", _FRAMES),
              _flag("ingress-filtering", True), Field("path-cost", "number", NOTHING, low=1, high=200000000),
              Field("internal-path-cost", "number", NOTHING, low=1, high=200000000), Field("priority", "number", "0x80", high=240),
              Field("edge", "word", "auto", ("auto", "no", "no-discover", "yes", "yes-discover")), Field("horizon", default="none"),
              Field("learn", "word", "auto", ("auto", "no", "yes")), _flag("trusted"), _flag("bpdu-guard"), _flag("auto-isolate"),
              _flag("restricted-role"), _flag("restricted-tcn"), _flag("broadcast-flood", True), _flag("unknown-unicast-flood", True),
              _flag("unknown-multicast-flood", True), _flag("tag-stacking"), Field("point-to-point", "word", "auto", ("auto", "no", "yes")),
              Field("multicast-router", default="temporary-query"), _COMMENT, _DISABLED, summary=("interface", "bridge", "hw", "pvid", "priority")),
        _menu("/interface/bridge/vlan",
              Field("bridge", "reference", target="bridge", required=True), Field("vlan-ids", "numbers", low=1, high=4094, required=True),
              Field("tagged", "references", target="interface"), Field("untagged", "references", target="interface"), _COMMENT, _DISABLED),
        _menu("/interface/bridge/host"),
        _menu("/interface/bridge/settings", _flag("use-ip-firewall"), _flag("allow-fast-path", True), singleton=True),
        _menu("/interface/vlan",
              Field("name"), Field("interface", "reference", target="interface", required=True), Field("vlan-id", "number", 1, low=1, high=4094),
              Field("mtu", "number", 1500, low=68, high=65535), _COMMENT, _DISABLED),
        _menu("/interface/list", Field("name", required=True), _COMMENT),
        _menu("/interface/list/member",
              Field("list", "reference", target="list", required=True), Field("interface", "reference", target="interface", required=True),
              _COMMENT, _DISABLED),
        _menu("/interface", Field("name"), Field("mtu", "number"), Field("l2mtu", "number", high=65536), _COMMENT, _DISABLED, fixed=True),
        _menu("/interface/ethernet/switch/port-isolation", fixed=True),
        _menu("/ip/address", Field("address", required=True), Field("interface", "reference", target="interface", required=True), Field("network"),
              _COMMENT, _DISABLED),
        _menu("/ip/neighbor/discovery-settings",
              Field("discover-interface-list", default="static"), Field("discover-interval", default="30s"), Field("mode", default="tx-and-rx"),
              Field("protocol", "words", ["cdp", "lldp", "mndp"], ("cdp", "lldp", "mndp")), _flag("lldp-mac-phy-config"),
              _flag("lldp-max-frame-size"),
              Field("lldp-med-net-policy-vlan", default="disabled"), _flag("lldp-vlan-info"), singleton=True),
        _menu("/ip/neighbor"),
        _menu("/ip/ssh", Field("strong-crypto", "flag", False), Field("host-key-size", "number", 2048), Field("host-key-type", default="rsa"),
              singleton=True),
        _menu("/ip/service", Field("name"), Field("port", "number"), Field("address"), _DISABLED, fixed=True),
        _menu("/system/identity", Field("name", default="MikroTik"), singleton=True),
        _menu("/system/resource", singleton=True),
        _menu("/system/routerboard", singleton=True),
        _menu("/system/clock", Field("time-zone-name", default="UTC"), singleton=True),
        _menu("/system/note", Field("note"), _flag("show-at-login", True), singleton=True),
        _menu("/system/package", fixed=True),
        _menu("/system/history"),
        _menu("/user", Field("name", required=True), Field("group", required=True), Field("address"), Field("password"), _COMMENT, _DISABLED),
        _menu("/user/ssh-keys", Field("user"), Field("key")),
        _menu("/file", Field("name", required=True), Field("contents"), summary=("name", "type", "size", "last-modified")),
        _menu("/log"),
        _menu("/safe-mode", singleton=True),
    ]


def hardware_menus(schema: Schema) -> Iterator[Menu]:
    """Menus of the switch chip, with the fields that this version has on this chip."""
    for path, entry in hardware()["menus"].items():
        if "(" in path or not any(schema.arguments(path, verb) is not None for verb in ("print", "once")):
            continue
        fields = {name: from_hardware(name, field) for name, field in schema.fields(path).items()}
        yield Menu(path, fields, bool(entry.get("singleton")), fixed="add" not in entry["commands"])


@cache
def menus_of(schema: Schema) -> dict[str, Menu]:
    """All menus of one switch by path. Hardware-only arguments are added to the base menus they belong to."""
    menus = {menu.path: menu for menu in base_menus() if f"{menu.path}/print" in schema.commands}
    for menu in hardware_menus(schema):
        menus[menu.path] = menu
    for path, menu in menus.items():
        more = {name: from_hardware(name, field) for name, field in schema.fields(path).items() if name not in menu.fields}
        menu.fields.update(more)
    return menus


def factory_rows(model: Model, version: str) -> dict[str, list[dict[str, Any]]]:
    """Rows of a new switch: one bridge with every port, MikroTik's address, the objects that the chip brings along."""
    macs = {port: f"02:00:5E:10:00:{index:02X}" for index, port in enumerate(model.ports)}
    switched = [port for port in model.ports if port not in model.apart]
    queues = next(menu for path, menu in hardware()["menus"].items() if path.endswith("/tx-manager/queue"))["builtin_rows"]
    return {
        "/interface/ethernet": [
            {"name": port, "default-name": port, "l2mtu": model.factory_l2mtu, "mac-address": mac, "orig-mac-address": mac,
             "advertise": NOTHING, "speed": NOTHING} for port, mac in macs.items()],
        "/interface/bridge": [{"name": "bridge", "admin-mac": macs[model.ports[0]], "auto-mac": False, "comment": "defconf"}],
        "/interface/bridge/port": [{"bridge": "bridge", "interface": port, "comment": "defconf"} for port in model.ports],
        "/interface/ethernet/switch": [{"name": "switch1", "type": model.chip, "qos-hw-offloading": model.group == "cpss"}],
        "/interface/ethernet/switch/port": [{"name": port, "switch": "switch1"} for port in (*switched, "switch1-cpu")],
        f"{QOS}/profile": [{"name": "default", "traffic-class": 1, "default": True, "dynamic": True}],
        f"{QOS}/map": [{"name": "default", "default": True}],
        f"{QOS}/tx-manager": [{"name": "default", "default": True}],
        f"{QOS}/tx-manager/queue": [
            {"tx-manager": "default", "traffic-class": row["traffic-class"], "schedule": row["schedule"],
             "weight": NOTHING if row["weight"] is None else row["weight"], "default": True} for row in queues],
        f"{QOS}/priority-flow-control": [{"name": "disabled", "traffic-class": NOTHING, "default": True}],
        f"{QOS}/port": [{"name": port, "switch": "switch1"} for port in switched]
        + [{"name": "switch1-cpu", "switch": "switch1", "trust-l2": "keep", "trust-l3": "keep"}],
        "/ip/address": [{"address": "192.168.88.1/24", "interface": "bridge", "network": "192.168.88.0", "comment": "defconf"}],
        "/ip/service": [{"name": name, "port": port} for name, port in (("ssh", 22), ("www", 80), ("winbox", 8291))],
        "/system/package": [{"name": name, "version": version} for name in model.packages],
        "/user": [{"name": "admin", "group": "full"}],
    }


def channel_of(version: str) -> str:
    """``stable`` or ``long-term``; a version that only claims to be one is ``stable``."""
    return VERSIONS.get(version, "stable")

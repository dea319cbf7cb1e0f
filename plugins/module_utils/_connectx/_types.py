# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of the two things that node modules pass on: the slice of the plan, and the facts of a node.

Whatever a node does not have is ``None`` (or an empty list or dict) in the facts, and ``problems`` says why.
Units are part of the key (``_mbps`` is 10^6 bit/s, ``_bytes``, ``_gts``); MTU is in bytes.
"""

from __future__ import annotations

from typing import Any, TypedDict


class PlannedRail(TypedDict):
    """One rail of the slice: where it lives in the plan's address space."""

    rail: int
    address: str
    prefix: int
    subnet: int


class PlannedPort(TypedDict):
    """One cabled port of the slice. ``peer`` is ``{node, port}`` or ``{switch, leg}``; ``speed`` is ``200G`` or ``100G``."""

    peer: dict[str, str]
    speed: str
    rails: list[PlannedRail]


class Pci(TypedDict):
    """The PCIe link of one function, as trained and as it could be. Healthy: 32.0 GT/s, width 4."""

    address: str
    speed_gts: float | None
    width: int | None
    max_speed_gts: float | None
    max_width: int | None


class Gid(TypedDict):
    """One row of an RDMA device's GID table. ``type`` is ``RoCE v2`` or ``IB/RoCE v1``; ``ipv4`` is set for mapped addresses."""

    index: int
    type: str
    gid: str
    ipv4: str | None


class Address(TypedDict):
    """One address of an interface. ``family`` is ``inet`` or ``inet6``; ``scope`` as ``ip`` prints it."""

    address: str
    prefix: int
    family: str
    scope: str


class Claim(TypedDict):
    """Configuration that reaches an interface.

    ``source``: ``netplan`` | ``networkd`` | ``NetworkManager``; ``name``: netplan id, unit file or connection name;
    ``file``: path or None (below ``/run`` it was generated and is gone after a reboot); ``ours``: written by this
    collection; ``shared_with``: other interfaces that the same file configures, and ids in it that are no interface here;
    ``pattern``: the wildcard that matched, or None; ``effective``: a daemon runs the interface by it now.
    """

    source: str
    name: str
    file: str | None
    ours: bool
    shared_with: list[str]
    pattern: str | None
    effective: bool


class Rail(TypedDict):
    """One PCIe function of a port: its netdev, its RDMA device and what they report."""

    rail: int
    interface: str
    rdma: str | None
    pci: Pci
    mac: str | None
    up: bool
    carrier: bool | None
    mtu: int | None
    max_mtu: int | None
    master: str | None
    addresses: list[Address]
    driver: str | None
    driver_version: str | None
    firmware: str | None
    psid: str | None
    speed_mbps: int | None
    lanes: int | None
    link_detected: bool | None
    link_reason: str | None
    fec: dict[str, Any]
    gids: list[Gid]
    gid_index: int | None
    carrier_changes: int | None
    carrier_down_count: int | None
    counters: dict[str, int]
    claims: list[Claim]
    sysctl: dict[str, int]


class Port(TypedDict):
    """One QSFP cage. ``module`` is the EEPROM of what is plugged in; empty when nothing is or it can not be read."""

    module: dict[str, str]
    rails: list[Rail]


class Route(TypedDict):
    """One IPv4 route of the main table. ``destination`` is a CIDR (``0.0.0.0/0`` for the default)."""

    destination: str
    interface: str
    gateway: str | None
    protocol: str | None
    metric: int | None


class Rollback(TypedDict):
    """An armed rollback of ``interfaces``: ``deadline`` (epoch seconds) and ``seconds_left`` tell when it fires."""

    id: str
    deadline: float
    seconds_left: float
    interfaces: list[str]


class Connectx(TypedDict):
    """Everything ``connectx_info`` tells about one node; returned under the key ``connectx``."""

    host: dict[str, Any]
    platform: dict[str, Any]
    hotplug: dict[str, Any]
    management: dict[str, Any]
    routes: list[Route]
    ports: dict[str, Port]
    backend: str | None
    rollback: Rollback | None
    qos: bool
    jobs: list[dict[str, Any]]
    problems: list[str]

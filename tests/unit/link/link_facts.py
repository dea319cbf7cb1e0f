# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts and slices of the plan for tests: a healthy node, from which each test changes what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Claim, Connectx
from ansible_collections.gb10.cluster.plugins.module_utils._link._run import Options

INTERFACES = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}
RDMA = {"enp1s0f0np0": "rocep1s0f0", "enP2p1s0f0np0": "roceP2p1s0f0", "enp1s0f1np1": "rocep1s0f1", "enP2p1s0f1np1": "roceP2p1s0f1"}


def slice_of(*ports: str, host: int = 1) -> dict[str, Any]:
    """The ``ports`` of a slice of the plan: two rails per port, subnets counted through."""
    return {
        port: {
            "peer": {"node": "spark-2", "port": port},
            "speed": "200G",
            "rails": [{"rail": rail, "address": f"10.77.{2 * number + rail}.{host}", "prefix": 24, "subnet": 2 * number + rail} for rail in (0, 1)],
        }
        for number, port in enumerate(ports)
    }


def options(state: str = "present", ports: dict[str, Any] | None = None, **changes: Any) -> Options:
    """The module's parameters, with its defaults."""
    defaults: dict[str, Any] = {
        "state": state, "ports": slice_of("p0") if ports is None else ports, "mtu": 9000, "interfaces": {}, "ipv6_link_local": False,
        "takeover": False, "interrupt_jobs": False, "confirm_timeout": 60, "run_id": "run-1",
    }  # fmt: skip
    merged: Options = {**defaults, **changes}  # type: ignore[typeddict-item]
    return merged


def claim(source: str = "netplan", name: str = "enp1s0f0np0", file: str | None = "/etc/netplan/40-cx7.yaml", **changes: Any) -> Claim:
    """Configuration of somebody else on a rail."""
    merged: Claim = {  # type: ignore[typeddict-item]
        "source": source, "name": name, "file": file, "ours": False, "shared_with": [], "pattern": None, "effective": True, **changes,
    }  # fmt: skip
    return merged


def connectx(backend: str | None = "netplan-networkd", change: Callable[[Any], None] = lambda _facts: None) -> Connectx:
    """Facts of a healthy node with both ports; ``change`` edits them in place."""
    facts: Any = {
        "host": {},
        "platform": {"modules": {"mlx5_core": True, "mlx5_ib": True, "ib_uverbs": True, "rdma_ucm": True}},
        "hotplug": {"marker": False, "enabled": None, "events": [], "plugged_after_boot": False},
        "management": {"interface": "enP7s7", "address": "192.168.10.11/24", "interfaces": ["enP7s7"]},
        "routes": [{"destination": "0.0.0.0/0", "interface": "enP7s7", "gateway": "192.168.10.1", "protocol": "static", "metric": None}],
        "ports": {
            port: {
                "module": {},
                "rails": [
                    {"rail": rail, "interface": name, "rdma": RDMA[name], "max_mtu": 9978, "master": None, "claims": []}
                    for rail, name in enumerate(names)
                ],
            }
            for port, names in INTERFACES.items()
        },
        "backend": backend,
        "rollback": None,
        "qos": False,
        "jobs": [],
        "problems": [],
    }  # fmt: skip
    change(facts)
    result: Connectx = facts
    return result

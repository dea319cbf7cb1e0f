# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two healthy nodes on one cable, as plan, facts and pings have them; tests break one thing at a time."""

from __future__ import annotations

from typing import Any

from ansible_collections.gb10.cluster.plugins.filter.fabric_plan import FilterModule

NAMES = ("spark-1", "spark-2")
DEVICES = {0: ("enp1s0f0np0", "rocep1s0f0", "0000:01:00.0"), 1: ("enP2p1s0f0np0", "roceP2p1s0f0", "0002:01:00.0")}


def mac(node: int, rail: int) -> str:
    """MAC address of a rail of p0."""
    return f"3c:6d:66:00:0{node}:0{rail}"


def plan() -> dict[str, Any]:
    """The plan of two nodes on one cable."""
    return FilterModule().filters()["fabric_plan"]({"topology": "two_node_direct", "nodes": [{"name": name} for name in NAMES]})


def rail(node: int, number: int) -> dict[str, Any]:
    """One healthy rail of p0 as connectx_info tells it."""
    interface, rdma, address = DEVICES[number]
    ipv4 = f"10.77.{number}.{node}"
    return {
        "rail": number, "interface": interface, "rdma": rdma, "mac": mac(node, number), "up": True, "carrier": True, "mtu": 9000,
        "max_mtu": 9978, "pci": {"address": address, "speed_gts": 32.0, "width": 4, "max_speed_gts": 32.0, "max_width": 4},
        "master": None, "addresses": [{"address": ipv4, "prefix": 24, "family": "inet", "scope": "global"}], "driver": "mlx5_core",
        "driver_version": "6.17.0-1014-nvidia", "firmware": "28.45.4028",
        "psid": "NVD0000000087", "speed_mbps": 200000, "lanes": 4, "link_detected": True, "link_reason": None,
        "fec": {"configured": ["RS"], "active": ["RS"]}, "gids": [{"index": 3, "type": "RoCE v2", "gid": "", "ipv4": ipv4}], "gid_index": 3,
        "carrier_changes": 2, "carrier_down_count": 1, "counters": {}, "sysctl": {"arp_ignore": 1, "arp_announce": 2, "rp_filter": 2},
        "claims": [
            {"source": "netplan", "name": interface, "file": "/etc/netplan/60-gb10-fabric.yaml", "ours": True, "shared_with": [], "pattern": None}
        ],
    }  # fmt: skip


def connectx(node: int) -> dict[str, Any]:
    """Healthy facts of a node."""
    route = {"gateway": None, "protocol": "kernel", "metric": None}
    return {
        "host": {
            "hostname": NAMES[node - 1], "machine_id": f"{node}" * 32, "boot_time": 1790000000, "kernel": "6.17.0-1014-nvidia",
            "python": "3.12.3", "init": "systemd", "os": {"id": "ubuntu", "name": "Ubuntu", "version_id": "24.04", "family": "debian"},
        },
        "platform": {
            "vendor": "NVIDIA", "dgx": {"DGX_NAME": "DGX Spark", "DGX_OTA_VERSION": "7.5.0"}, "cmdline": ["quiet"],
            "memlock": {"soft": "unlimited", "hard": "unlimited"},
            "modules": {"mlx5_core": True, "mlx5_ib": True, "ib_uverbs": True, "rdma_ucm": True},
        },
        "hotplug": {"marker": True, "enabled": True, "events": [], "plugged_after_boot": False},
        "management": {"interface": "enP7s7", "address": f"192.168.10.1{node}/24", "interfaces": ["enP7s7"]},
        "routes": [
            {**route, "destination": "0.0.0.0/0", "interface": "enP7s7", "gateway": "192.168.10.1", "protocol": "static"},
            {**route, "destination": "192.168.10.0/24", "interface": "enP7s7"},
            {**route, "destination": "10.77.0.0/24", "interface": "enp1s0f0np0"},
            {**route, "destination": "10.77.1.0/24", "interface": "enP2p1s0f0np0"},
        ],
        "ports": {"p0": {"module": {"vendor": "Amphenol"}, "rails": [rail(node, 0), rail(node, 1)]}, "p1": {"module": {}, "rails": []}},
        "backend": "netplan-networkd", "rollback": None, "qos": False, "jobs": [], "problems": [],
    }  # fmt: skip


def path(node: int, number: int) -> dict[str, Any]:
    """A healthy path as connectx_ping tells it."""
    other = mac(3 - node, number)
    return {
        "peer": NAMES[2 - node], "port": "p0", "rail": number, "interface": DEVICES[number][0], "mtu": 9000, "largest_mtu": 9000,
        "source": f"10.77.{number}.{node}", "target": f"10.77.{number}.{3 - node}", "sent": 3, "received": 3, "loss_percent": 0.0, "rtt_ms": 0.07,
        "small_ok": True, "full_ok": True, "neighbour_mac": other, "reason": None,
    }  # fmt: skip


def request() -> dict[str, Any]:
    """Everything the filter fabric_checks takes, of a healthy fabric."""
    numbered = list(enumerate(NAMES, 1))
    return {
        "plan": plan(), "hosts": list(NAMES), "hosts_all": list(NAMES),
        "connectx": {name: {"changed": False, "connectx": connectx(node)} for node, name in numbered},
        "ping": {name: {"changed": False, "paths": [path(node, 0), path(node, 1)]} for node, name in numbered},
        "nccl": {name: {"version": "2.30.7", "build": "2.30.7+cuda13.3", "error": None} for name in NAMES},
    }  # fmt: skip

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GB10 machine in a folder: its ``/sys``, ``/proc`` and ``/etc`` as files, its commands as a table of answers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _system
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine

NAMES = {
    "0000:01:00.0": ("p0", "enp1s0f0np0", "rocep1s0f0"),
    "0000:01:00.1": ("p1", "enp1s0f1np1", "rocep1s0f1"),
    "0002:01:00.0": ("p0", "enP2p1s0f0np0", "roceP2p1s0f0"),
    "0002:01:00.1": ("p1", "enP2p1s0f1np1", "roceP2p1s0f1"),
}
EMPTY_GID = ":".join(["0000"] * 8)


class Node(Machine):
    """A machine whose files lie in ``folder``; ``forbidden`` paths answer like those of root, ``tools`` are the commands it has."""

    def __init__(self, folder: Path, fixtures: Path) -> None:
        super().__init__(str(folder), self._answer)
        self.folder, self.fixtures = folder, fixtures
        self.answers: dict[str, Result] = {}
        self.tools = {"ip", "ethtool", "journalctl", "networkctl", "nmcli", "netplan"}
        self.forbidden: set[str] = set()
        self.asked: list[str] = []
        self.links: dict[str, dict[str, Any]] = {}
        self.routes: list[dict[str, Any]] = []
        self.networkd: dict[str, str] = {}

    # ---- the Machine that is under test sees these

    def _path(self, path: str) -> str:
        if path in self.forbidden:
            raise PermissionError(13, "Permission denied", path)
        return super()._path(path)

    def which(self, tool: str) -> str | None:
        return f"/usr/bin/{tool}" if tool in self.tools else None

    def user(self, uid: int) -> tuple[str, list[str]]:
        return ("root", ["root"]) if uid == 0 else ("nvidia", ["nvidia", "sudo"])

    def _answer(self, argv: Sequence[str], timeout: float) -> Result:
        words, text = tuple(argv), " ".join(argv)
        self.asked.append(text)
        if words[0] not in self.tools:
            return Result(words, None, "", "", missing=True)
        applied = [{"Name": name, "NetworkFile": file} for name, file in self.networkd.items()]
        live = {
            "ip -j -d addr show": json.dumps(list(self.links.values())),
            "ip -j -4 route show table main": json.dumps(self.routes),
            "networkctl list --json=short": json.dumps({"Interfaces": applied}),
        }
        if text in live:
            return Result(words, 0, live[text])
        return self.answers.get(text, Result(words, 1, "", "Error: NetworkManager is not running." if words[0] == "nmcli" else ""))

    # ---- and these build it

    def file(self, path: str, content: str) -> None:
        """Lay a file down, with its folders."""
        target = self.folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content if content.endswith("\n") else content + "\n", encoding="utf-8")

    def link(self, path: str, target: str) -> None:
        """Lay a link down whose ``target`` lies in this machine too."""
        source = self.folder / path.lstrip("/")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.symlink_to(self.folder / target.lstrip("/"))

    def sample(self, name: str) -> str:
        """A file of the fixtures."""
        return (self.fixtures / name).read_text(encoding="utf-8")

    def says(self, command: str, stdout: str, rc: int = 0, stderr: str = "") -> None:
        """Answer ``command``."""
        self.answers[command] = Result(tuple(command.split(" ")), rc, stdout, stderr)

    def interface(self, name: str, mac: str, **more: Any) -> dict[str, Any]:
        """A netdev as the kernel and ``ip`` show it."""
        (self.folder / f"sys/class/net/{name}").mkdir(parents=True, exist_ok=True)
        flags = ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"]
        row = {"ifname": name, "flags": flags, "mtu": 1500, "max_mtu": 9978, "address": mac, "addr_info": [], **more}
        self.links[name] = row
        return row

    def function(self, bdf: str, interface: str | None = None, port: str | None = "", **more: Any) -> str:
        """One PCI function of the card with its netdev and its RDMA device. ``port`` "" is the usual one, None none at all."""
        usual, default, rdma = NAMES[bdf]
        name = interface or default
        number = sorted(NAMES).index(bdf) + 1
        folder = f"/sys/devices/pci{bdf[:4]}:00/{bdf[:4]}:00:00.0/{bdf}"
        for file, content in {
            "vendor": "0x15b3", "device": "0x1021", "current_link_speed": "32.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe",
            "current_link_width": "4", "max_link_width": "4", f"net/{name}/carrier": "1", f"net/{name}/carrier_changes": "2",
            f"net/{name}/carrier_down_count": "1",
        }.items():  # fmt: skip
            self.file(f"{folder}/{file}", content)
        if port is not None:
            self.file(f"{folder}/net/{name}/phys_port_name", port or usual)
        self.link(f"{folder}/net/{name}/device", folder)
        self.link(f"{folder}/driver", "/sys/bus/pci/drivers/mlx5_core")
        self.link(f"/sys/class/net/{name}", f"{folder}/net/{name}")
        self.link(f"/sys/bus/pci/devices/{bdf}", folder)
        for kind, counters in {"counters": {"port_rcv_data": 4000 + number}, "hw_counters": {"packet_seq_err": 0, "lifespan": 10}}.items():
            for counter, value in counters.items():
                self.file(f"{folder}/infiniband/{rdma}/ports/1/{kind}/{counter}", str(value))
        self.link(f"/sys/class/infiniband/{rdma}", f"{folder}/infiniband/{rdma}")
        for key, value in {"arp_ignore": 1, "arp_announce": 2, "rp_filter": 2}.items():
            self.file(f"/proc/sys/net/ipv4/conf/{name}/{key}", str(value))
        self.interface(name, f"02:00:00:00:01:0{number}", **more)
        self.says(f"ethtool {name}", self.sample("ethtool-200g-up.txt"))
        self.says(f"ethtool -i {name}", self.sample("ethtool-i-mlx5.txt").replace("BDF", bdf))
        self.says(f"ethtool -S {name}", self.sample("ethtool-S-lane-errors-excerpt.txt") + "rx_discards_phy: 7\n")
        self.says(f"ethtool --show-fec {name}", self.sample("ethtool-show-fec-rs.txt"))
        self.says(f"ethtool -m {name}", self.sample("ethtool-m-sff8636-5m-generic-synthetic.txt"))
        return name

    def gids(self, rdma: str, table: dict[int, tuple[str, str]], size: int = 8) -> None:
        """Fill a GID table; an unused row is zero and its type EINVAL, as the speed of the loopback is."""
        folder = f"/sys/class/infiniband/{rdma}/ports/1"
        for index in range(size):
            gid, kind = table.get(index, (EMPTY_GID, ""))
            self.file(f"{folder}/gids/{index}", gid)
            if kind:
                self.file(f"{folder}/gid_attrs/types/{index}", kind)
            else:
                types = self.folder / f"{folder.lstrip('/')}/gid_attrs/types"
                types.mkdir(parents=True, exist_ok=True)
                (types / str(index)).symlink_to("/sys/class/net/lo/speed")

    def address(self, interface: str, cidr: str, scope: str = "global") -> None:
        """Give an interface an address."""
        address, prefix = cidr.split("/")
        family = "inet6" if ":" in address else "inet"
        self.links[interface]["addr_info"].append({"family": family, "local": address, "prefixlen": int(prefix), "scope": scope})

    def process(self, pid: int, parent: int, uid: int, environ: str = "", memlock: str = "8388608 8388608", opened: Sequence[str] = ()) -> None:
        """A process with its open files."""
        self.file(f"/proc/{pid}/environ", environ)
        self.file(f"/proc/{pid}/status", f"Name:\tx\nPPid:\t{parent}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}")
        self.file(f"/proc/{pid}/limits", f"Limit             Soft Limit Hard Limit Units\nMax locked memory {memlock} bytes")
        self.file(f"/proc/{pid}/comm", "python3")
        (self.folder / f"proc/{pid}/fd").mkdir()
        for number, path in enumerate(opened):
            (self.folder / f"proc/{pid}/fd/{number}").symlink_to(path)

    def unplug(self, bdf: str) -> None:
        """Take a function off the bus, as hot-plug does."""
        _port, name, rdma = NAMES[bdf]
        for path in (f"sys/class/net/{name}", f"sys/bus/pci/devices/{bdf}", f"sys/class/infiniband/{rdma}"):
            (self.folder / path).unlink()
        shutil.rmtree(self.folder / f"sys/devices/pci{bdf[:4]}:00/{bdf[:4]}:00:00.0/{bdf}")
        del self.links[name]


@pytest.fixture
def node(tmp_path: Path, fixtures: Path) -> Node:
    """A healthy machine as its owner left it: card with four functions, cable in p0, management by wire, nothing configured on the rails."""
    machine = Node(tmp_path, fixtures / "connectx")
    for bdf in NAMES:
        machine.function(bdf)
    for bdf in ("0000:01:00.1", "0002:01:00.1"):
        uncable(machine, bdf)
    machine.interface("lo", "00:00:00:00:00:00")
    machine.interface("enP7s7", "02:00:00:00:01:00")
    machine.address("enP7s7", "192.168.10.11/24")
    machine.routes = [
        {"dst": "default", "gateway": "192.168.10.1", "dev": "enP7s7", "protocol": "dhcp", "metric": 100},
        {"dst": "192.168.10.0/24", "dev": "enP7s7", "protocol": "kernel", "scope": "link"},
    ]
    machine.file("/etc/os-release", machine.sample("os-release.txt"))
    machine.file("/etc/dgx-release", machine.sample("dgx-release-two-updates.txt"))
    machine.file("/proc/cmdline", machine.sample("proc-cmdline-example.txt"))
    for path, content in {
        "/proc/1/comm": "systemd", "/proc/sys/kernel/hostname": "spark-a", "/proc/sys/kernel/osrelease": "6.17.0-1014-nvidia",
        "/proc/sys/kernel/random/boot_id": "5c1f0b3a-0000-4000-8000-000000000001", "/etc/machine-id": "0123456789abcdef0123456789abcdef",
        "/proc/stat": "cpu 1 2 3\nbtime 1790000000", "/proc/meminfo": "MemTotal: 125000000 kB\nMemAvailable:   1000 kB\nCmaTotal:       0 kB",
        "/proc/modules": "mlx5_ib 1 0 - Live 0x0\nmlx5_core 1 1 mlx5_ib, Live 0x0", "/sys/class/dmi/id/sys_vendor": "NVIDIA",
        "/sys/class/dmi/id/product_name": "NVIDIA_DGX_Spark", "/sys/class/dmi/id/board_name": "P4242", "/etc/nvidia/cx7-hotplug-enabled": "",
        "/sys/devices/platform/MTKP0001:00/pcie_hotplug/hotplug_enabled": "1",
    }.items():  # fmt: skip
        machine.file(path, content)
    machine.says(JOURNALCTL, machine.sample("journal-boot-with-cable.txt"))
    machine.process(700, 1, 0)
    machine.process(710, 700, 1000, "LANG=C\0SSH_CONNECTION=192.168.10.2 50000 192.168.10.11 22\0HOME=/home/nvidia")
    machine.process(720, 710, 0, "SUDO_USER=nvidia")
    machine.process(os.getpid(), 720, 0)
    return machine


JOURNALCTL = " ".join(_system.JOURNAL)


def uncable(machine: Node, bdf: str) -> None:
    """Pull the cable of a function that stays on the bus."""
    name = NAMES[bdf][1]
    machine.file(f"/sys/class/net/{name}/carrier", "0")
    machine.links[name]["flags"] = ["NO-CARRIER", "BROADCAST", "MULTICAST", "UP"]
    machine.says(f"ethtool {name}", f"Settings for {name}:\n\tSpeed: Unknown!\n" + machine.sample("ethtool-linkline-no-cable.txt"))
    machine.says(f"ethtool -m {name}", "", 1, "netlink error: Invalid argument")


@pytest.fixture
def configure(node: Node) -> Callable[[dict[str, str]], None]:
    """Give rails of the machine an address and the GIDs that follow from it: link-local rows 0 and 1, IPv4 rows 2 and 3."""

    def apply(addresses: dict[str, str]) -> None:
        for _port, name, rdma in NAMES.values():
            if name in addresses:
                node.address(name, addresses[name])
                octets = bytes(int(part) for part in addresses[name].split("/")[0].split(".")).hex()
                mapped = f"0000:0000:0000:0000:0000:ffff:{octets[:4]}:{octets[4:]}"
                local = "fe80:0000:0000:0000:0200:00ff:fe00:0101"
                node.gids(rdma, {0: (local, "IB/RoCE v1"), 1: (local, "RoCE v2"), 2: (mapped, "IB/RoCE v1"), 3: (mapped, "RoCE v2")})

    return apply

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a node: GID tables, port states and speeds of the simulated card follow the live netdevs.

Blocks on ``ip monitor`` and rewrites what changed; a GID is there some 50 ms after its address.
"""

from __future__ import annotations

import io
import ipaddress
import json
import selectors
import subprocess
import time
from pathlib import Path
from typing import Any

HW = Path("/lab/hw")
#: Every change of a link or an address with its time, for tests that prove that nothing moved.
EVENTS = Path("/lab/events.log")
RDMA = Path("/sys/class/infiniband")
SLOTS = 16
TYPES = ("IB/RoCE v1", "RoCE v2")
EMPTY = "0000:0000:0000:0000:0000:0000:0000:0000"
#: What an empty slot's attributes point to: reading it is EINVAL, as on the real device.
INVALID = "/sys/class/net/lo/speed"
RATES = {200000: "200 Gb/sec (4X HDR)", 100000: "100 Gb/sec (4X EDR)"}
DOWN_RATE = "40 Gb/sec (4X QDR)"


def gid(address: str) -> str:
    """The GID of an address: eight groups of four digits, IPv4 mapped into ::ffff:0:0/96."""
    parsed = ipaddress.ip_address(address)
    packed = b"\0" * 10 + b"\xff\xff" + parsed.packed if parsed.version == 4 else parsed.packed
    return ":".join(packed[start : start + 2].hex() for start in range(0, 16, 2))


def default_gid(mac: str) -> str:
    """The GID that the kernel gives every port, up or not: the EUI-64 link-local address of its MAC."""
    raw = bytes.fromhex(mac.replace(":", ""))
    packed = b"\xfe\x80" + b"\0" * 6 + bytes([raw[0] ^ 2]) + raw[1:3] + b"\xff\xfe" + raw[3:]
    return gid(str(ipaddress.IPv6Address(packed)))


def table(before: list[str | None], mac: str, addresses: list[str]) -> list[str | None]:
    """The GIDs of a port by pair of slots (v1, v2): what stays keeps its slots, what is new takes the first free ones.

    So the index of the IPv4 RoCE v2 GID differs between machines, as it does in the field.
    """
    wanted = list(dict.fromkeys([default_gid(mac), *map(gid, addresses)]))
    pairs: list[str | None] = [kept if kept in wanted else None for kept in before]
    pairs += [None] * (SLOTS // 2 - len(pairs))
    for each in wanted:
        if each not in pairs and None in pairs:
            pairs[pairs.index(None)] = each
    return pairs


def put(path: Path, text: str | None) -> None:
    """Replace a file in one step; None makes it one that can not be read."""
    fresh = path.with_name(f".{path.name}")
    fresh.unlink(missing_ok=True)
    if text is None:
        fresh.symlink_to(INVALID)
    else:
        fresh.write_text(text + "\n", encoding="ascii")
    fresh.rename(path)


class Card:
    """What was last written, so that only changes are."""

    def __init__(self) -> None:
        self.tables: dict[str, list[str | None]] = {}
        self.written: dict[Path, str | None] = {}

    def put(self, path: Path, text: str | None) -> None:
        """Write where something is to change."""
        if path not in self.written or self.written[path] != text:
            put(path, text)
            self.written[path] = text

    def refresh(self) -> None:
        """Bring every function up to the state of its netdev; a function that is not on the bus is left alone."""
        described = json.loads((HW / "card.json").read_text(encoding="utf-8"))
        shown = subprocess.run(["ip", "-j", "address", "show"], capture_output=True, text=True, check=True).stdout
        devices = {device["ifname"]: device for device in json.loads(shown)}
        for function in described["functions"]:
            port = RDMA / function["rdma"] / "ports/1"
            device = devices.get(function["interface"])
            if device is None or not port.exists():
                self.tables.pop(function["rdma"], None)
                self.written = {path: text for path, text in self.written.items() if function["rdma"] not in path.parts}
                continue
            self._port(port, function, device, int(described["ports"][function["port"]]["speed"]))

    def _port(self, port: Path, function: dict[str, Any], device: dict[str, Any], speed: int) -> None:
        carrier = "LOWER_UP" in device["flags"]
        self.put(port / "state", "4: ACTIVE" if carrier else "1: DOWN")
        self.put(port / "phys_state", "5: LinkUp" if carrier else "3: Disabled")
        self.put(port / "rate", RATES[speed] if carrier else DOWN_RATE)
        # below an overlay only a write in place shows
        (HW / "netdev" / function["interface"] / "speed").write_text(f"{speed if carrier else -1}\n", encoding="ascii")
        addresses = [entry["local"] for entry in device["addr_info"] if "tentative" not in entry]
        pairs = table(self.tables.get(function["rdma"], []), device["address"], addresses)
        self.tables[function["rdma"]] = pairs
        for slot in range(SLOTS):
            value = pairs[slot // 2]
            self.put(port / f"gid_attrs/types/{slot}", TYPES[slot % 2] if value else None)
            self.put(port / f"gid_attrs/ndevs/{slot}", function["interface"] if value else None)
            self.put(port / f"gids/{slot}", value or EMPTY)


def main() -> None:
    """Follow the netdevs for ever; a look every half minute catches what no event told of."""
    card = Card()
    with subprocess.Popen(
        ["ip", "-ts", "-o", "monitor", "address", "link"], stdout=subprocess.PIPE
    ) as monitor, selectors.DefaultSelector() as waiting:
        if not isinstance(monitor.stdout, io.BufferedReader):
            return
        waiting.register(monitor.stdout, selectors.EVENT_READ)
        while monitor.poll() is None:
            card.refresh()
            if waiting.select(30):
                time.sleep(0.02)
                with EVENTS.open("ab") as log:
                    log.write(monitor.stdout.read1(65536))


if __name__ == "__main__":
    main()

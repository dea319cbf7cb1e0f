# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine that is not in the inventory says when it says nothing of ours: ``chatter.py DEVICE...``, run in its network namespace."""

from __future__ import annotations

import socket
import sys
import time

#: Seconds until it falls silent, and between two frames.
PATIENCE, INTERVAL = 1800.0, 0.5


def arp_request(mac: bytes, sender: bytes, target: bytes) -> bytes:
    """A frame that asks everybody who has an IPv4 address."""
    return b"\xff" * 6 + mac + b"\x08\x06" + bytes.fromhex("0001080006040001") + mac + sender + b"\0" * 6 + target


def talk(devices: list[str]) -> None:
    """Ask for an address that nobody has, as a machine does that looks for its server."""
    sockets = []
    for device in devices:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind((device, 0))
        sockets.append(raw)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for raw in sockets:
            raw.send(arp_request(raw.getsockname()[4], bytes((192, 168, 99, 1)), bytes((192, 168, 99, 2))))
        time.sleep(INTERVAL)


if __name__ == "__main__":
    talk(sys.argv[1:])

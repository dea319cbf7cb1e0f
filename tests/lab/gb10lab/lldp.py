# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a switch tells its neighbours who it is: LLDP frames (IEEE 802.1AB) from a process that is outside the lab's network."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
from threading import Thread

#: Seconds: between two frames (RouterOS' own interval), for how long they hold, and how long a new neighbour gets one every second.
INTERVAL, HOLD, EAGER = 30.0, 120, 4.0
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
#: Bridge and router, both enabled (table 8-4).
CAPABILITIES = struct.pack("!HH", 0x14, 0x14)
_NEW_NETWORK = 0x40000000


def frame(mac: str, port: str, system: str, description: str) -> bytes:
    """One frame. ``mac``: the sending port's, which is also the chassis'; ``port``: its name."""
    own = bytes.fromhex(mac.replace(":", ""))
    fields = [
        (1, b"\4" + own),
        (2, b"\5" + port.encode()),
        (3, struct.pack("!H", HOLD)),
        (5, system.encode()),
        (6, description.encode()),
        (7, CAPABILITIES),
        (0, b""),
    ]
    return NEAREST_BRIDGE + own + b"\x88\xcc" + b"".join(struct.pack("!H", kind << 9 | len(value)) + value for kind, value in fields)


def open_socket(namespace: str) -> socket.socket:
    """A socket that sends frames inside a network namespace, from a thread that goes there for that alone."""
    made: list[socket.socket] = []

    def enter() -> None:
        with open(namespace, encoding="ascii") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _NEW_NETWORK):
                raise OSError(ctypes.get_errno(), f"cannot enter {namespace}: {os.strerror(ctypes.get_errno())}")
        # no protocol: nothing is to come in
        made.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))

    thread = Thread(target=enter)
    thread.start()
    thread.join()
    if not made:
        raise OSError(f"cannot send frames in {namespace}")
    return made[0]


def send(raw: socket.socket, device: str, text: bytes) -> None:
    """Send a frame on a device; one that is down or gone hears nothing."""
    with contextlib.suppress(OSError):
        raw.sendto(text, (device, 0))

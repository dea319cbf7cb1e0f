# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls out on every port and listens who answers, with Ethernet frames of our own: no address is needed.

This file is a script as well: the first phase copies its text beside the job and runs it as a transient systemd unit that
ends by itself, so it imports the standard library alone. ``job.json``:
``{run, machine, node, interfaces: [{interface, port, rail}], planned: {port: [node, port] | null}, raised: [interface], carrier_wait, listen}``,
times in seconds; ``planned`` names the cabled ports, with null for one that leads to a switch. The file ``collecting`` beside it says
that every node has begun; ``result.json`` is what was heard.

EtherType 0x88B5 is IEEE 802's for local experiments. Each frame goes to two destinations: a group address that every bridge
forwards, and the nearest-bridge address that a switch keeps to itself (IEEE 802.1Q, table 8-1).
"""

# budget: one file, because it is what runs by itself on the node
from __future__ import annotations

import contextlib
import json
import os
import re
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

ETHERTYPE = 0x88B5
FAR, NEAR = bytes.fromhex("03000000b5b5"), bytes.fromhex("0180c200000e")
MAGIC = b"GB10\x01"
SMALLEST, LARGEST = 60, 1514

INTERVAL = 0.05
"""Seconds between two calls on an interface."""
QUIET = 3 * INTERVAL
"""Seconds to go on calling after the last news, so that the others learn that they were heard: what a busy node is late to read waits for it."""
SETTLE = 2.0
"""Seconds in which everybody behind a switch was heard: Linux lets frames out up to a second after a carrier came, then twenty calls of each."""
NAMED = 3
"""How many neighbours a frame says it heard; three of the longest names fit, and the calls take turns."""
MOST = 4096
"""How many different senders are remembered for a port."""
TURN = 256
"""How many frames are taken from a socket at a time, so that a flood does not keep it from the others."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_MACHINE = re.compile(r"[0-9a-f]{32}")
_MEMBERSHIP, _GROUP = 1, 0
_GONE_OUT = 4
_SOL_PACKET = 263

Name = tuple[str, str]
"""A node and one of its ports."""


def _text(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_name(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value)


_SHAPE: dict[str, Callable[[Any], bool]] = {
    "run": _text(NAME),
    "machine": _text(_MACHINE),
    "node": _text(NAME),
    "port": _text(re.compile(r"p[01]")),
    "rail": lambda value: isinstance(value, int) and not isinstance(value, bool) and value in (0, 1),
    "heard": lambda value: isinstance(value, list) and all(_is_name(name) for name in value),
    "collecting": lambda value: isinstance(value, bool),
}
"""What a frame says, and how to know that it is that."""


def encode(source: bytes, destination: bytes, said: dict[str, Any]) -> bytes:
    """An Ethernet frame that says ``{run, machine, node, port, rail, heard: [[node, port]], collecting}``: who was heard on this very port."""
    body = MAGIC + json.dumps(said, separators=(",", ":")).encode()
    return (destination + source + struct.pack("!HH", ETHERTYPE, len(body)) + body).ljust(SMALLEST, b"\0")


def decode(frame: bytes) -> dict[str, Any] | None:
    """What a frame says, with ``near`` added; None for anything that is not a whole, well-formed frame of ours."""
    if not SMALLEST <= len(frame) <= LARGEST or frame[12:14] != struct.pack("!H", ETHERTYPE):
        return None
    end = 16 + struct.unpack("!H", frame[14:16])[0]
    if end > len(frame) or not frame.startswith(MAGIC, 16):
        return None
    try:
        said = json.loads(frame[16 + len(MAGIC) : end].decode("ascii"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.keys() != _SHAPE.keys() or not all(fits(said[key]) for key, fits in _SHAPE.items()):
        return None
    return {**said, "near": frame[:6] == NEAR}


class Listener:
    """What has been heard so far on one port, and by whom this port has been heard. Times are monotonic, in seconds.

    :param rails: the rails that listen. :param awaited: whether a carrier is waited for. :param planned: the neighbour to hear, where it is known.
    """

    def __init__(self, rails: Iterable[int], awaited: bool, planned: Iterable[str] | None) -> None:
        self.rails, self.awaited, self.planned = set(rails), awaited, tuple(planned) if planned else None
        self.heard: dict[Name, dict[int, bool]] = {}
        """Who was heard on which of this port's rails, and whether nearest-bridge frames came through."""
        self.heard_by: set[Name] = set()
        self.strangers: set[tuple[str, str, str]] = set()
        self.garbage = 0
        self.carrier_since: float | None = None
        self.news_at = 0.0

    def done(self, now: float, began: float, collecting: float, carrier_wait: float, listen: float) -> bool:
        """Whether nothing more is to be expected on this port.

        A port with a planned neighbour is done when it was heard on every rail and has said that it heard this port, else
        ``listen`` after all have begun and its carrier came. One that hears others has heard all after ``SETTLE``. One without carrier
        is done ``carrier_wait`` after it began.
        """
        if not self.rails:
            return True
        if self.carrier_since is None:
            return not self.awaited or now >= began + carrier_wait
        listened = now - max(collecting, self.carrier_since)
        if self.planned:
            return listened >= listen or (self.planned in self.heard_by and self.heard.get(self.planned, {}).keys() >= self.rails)
        everywhere = {rail for rails in self.heard.values() for rail in rails} >= self.rails
        return listened >= (min(SETTLE, listen) if everywhere else listen)


def take(listener: Listener, job: dict[str, Any], port: str, rail: int, frame: bytes, now: float) -> bool:
    """Sort one frame that ``rail`` of ``port`` received into ``listener``; returns whether its sender knows that every node has begun."""
    said = decode(frame)
    if said is None:
        listener.garbage += 1
        return False
    name = (said["node"], said["port"])
    myself = (said["machine"], said["node"]) == (job["machine"], job["node"])
    if said["run"] != job["run"]:
        if not myself and len(listener.strangers) < MOST:
            listener.strangers.add((*name, said["machine"]))
        return False
    if (myself and said["port"] == port) or (name not in listener.heard and len(listener.heard) >= MOST):
        return False
    rails = listener.heard.setdefault(name, {})
    heard_me = [job["node"], port] in said["heard"] and name not in listener.heard_by
    if heard_me:
        listener.heard_by.add(name)
    if heard_me or rail not in rails or said["near"] > rails[rail]:
        listener.news_at = now
    rails[rail] = rails.get(rail, False) or said["near"]
    return bool(said["collecting"])


def finished(listeners: Iterable[Listener], now: float, began: float, collecting: float | None, carrier_wait: float, listen: float) -> bool:
    """Whether all nodes have begun (``collecting``: since when this one knows), every port is done, and the others had time to hear the last news."""
    if collecting is None:
        return False
    every = list(listeners)
    if now < max([collecting, *(listener.news_at for listener in every)]) + QUIET:
        return False
    return all(listener.done(now, began, collecting, carrier_wait, listen) for listener in every)


def turn(names: list[Name], call: int) -> list[Name]:
    """The names that the frames of this call have room for; with each call it is the next ones' turn."""
    start = call * NAMED % len(names) if len(names) > NAMED else 0
    return (names[start:] + names[:start])[:NAMED]


def summary(rails: dict[str, list[dict[str, Any]]], listeners: dict[str, Listener]) -> list[dict[str, Any]]:
    """The result: ``[{port, rails: [{rail, interface, mac, up, carrier, raised}], heard: [{node, port, rails, near}], strangers, garbage}]``.

    ``rails`` of a neighbour are this node's rails on which it was heard; ``strangers`` are ``{node, port, machine_id}``.
    """
    return [
        {
            "port": port,
            "rails": sorted(rails.get(port, []), key=lambda rail: rail["rail"]),
            "heard": [
                {"node": node, "port": name, "rails": sorted(found), "near": any(found.values())}
                for (node, name), found in sorted(listener.heard.items())
            ],
            "strangers": [{"node": node, "port": name, "machine_id": machine} for node, name, machine in sorted(listener.strangers)],
            "garbage": listener.garbage,
        }
        for port, listener in sorted(listeners.items())
    ]


def read(interface: str, attribute: str) -> str:
    """An attribute of an interface; empty when there is none (``carrier`` of one that is down answers EINVAL)."""
    try:
        with open(f"/sys/class/net/{interface}/{attribute}", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def is_up(interface: str) -> bool:
    """Whether the interface is administratively up (IFF_UP)."""
    return bool(int(read(interface, "flags") or "0", 16) & 1)


def _open(interface: str) -> socket.socket:
    """A raw socket that receives both destinations; raises OSError when the interface is gone."""
    # without a protocol it is deaf until it is bound; with one it would hear every interface in between, and take that for its own
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((interface, ETHERTYPE))
    for group in (FAR, NEAR):
        membership = struct.pack("iHH8s", socket.if_nametoindex(interface), _GROUP, len(group), group)
        raw.setsockopt(_SOL_PACKET, _MEMBERSHIP, membership)
    raw.setblocking(False)
    return raw


def _drain(raw: socket.socket) -> Iterator[bytes]:
    """Frames that have arrived, without the ones this host sent itself."""
    with contextlib.suppress(OSError):
        for _turn in range(TURN):
            frame, origin = raw.recvfrom(65536)
            if origin[2] != _GONE_OUT:
                yield frame


def work(job: dict[str, Any], folder: str) -> list[dict[str, Any]]:
    """Call and listen until :func:`finished`; returns the result."""
    sockets: dict[socket.socket, dict[str, Any]] = {}
    for item in job["interfaces"]:
        if is_up(item["interface"]):
            with contextlib.suppress(OSError):
                sockets[_open(item["interface"])] = item
    ports = {*job["planned"], *(item["port"] for item in job["interfaces"])}
    listeners = {
        port: Listener((item["rail"] for item in sockets.values() if item["port"] == port), port in job["planned"], job["planned"].get(port))
        for port in ports
    }
    began = next_call = time.monotonic()
    collecting: float | None = None
    calls = 0
    while not finished(listeners.values(), time.monotonic(), began, collecting, job["carrier_wait"], job["listen"]):
        now = time.monotonic()
        if now >= next_call:
            next_call = now + INTERVAL
            if collecting is None and os.path.exists(f"{folder}/collecting"):
                collecting = now
            for item in sockets.values():
                listener = listeners[item["port"]]
                if listener.carrier_since is None and read(item["interface"], "carrier") == "1":
                    listener.carrier_since = now
            _call(job, sockets, listeners, collecting is not None, calls)
            calls += 1
        ready, _w, _x = select.select(list(sockets), [], [], max(0.0, next_call - time.monotonic()))
        for raw in ready:
            item = sockets[raw]
            for frame in _drain(raw):
                if take(listeners[item["port"]], job, item["port"], item["rail"], frame, now):
                    collecting = collecting or now
    rails: dict[str, list[dict[str, Any]]] = {}
    for item in job["interfaces"]:
        name = item["interface"]
        state = {"mac": read(name, "address"), "up": is_up(name), "carrier": read(name, "carrier") == "1", "raised": name in job["raised"]}
        rails.setdefault(item["port"], []).append({"rail": item["rail"], "interface": name, **state})
    return summary(rails, listeners)


def _call(job: dict[str, Any], sockets: dict[socket.socket, dict[str, Any]], listeners: dict[str, Listener], collecting: bool, calls: int) -> None:
    """Send one frame to each destination on every interface."""
    for raw, item in sockets.items():
        said = {key: job[key] for key in ("run", "machine", "node")} | {key: item[key] for key in ("port", "rail")}
        said |= {"heard": turn(sorted(listeners[item["port"]].heard), calls), "collecting": collecting}
        source = bytes.fromhex(read(item["interface"], "address").replace(":", "") or "00" * 6)
        for destination in (FAR, NEAR):
            with contextlib.suppress(OSError):
                raw.send(encode(source, destination, said))


def main(folder: str) -> None:
    """Run as the script that lies beside the job."""
    with open(f"{folder}/job.json", encoding="utf-8") as file:
        job = json.load(file)
    result = work(job, folder)
    with open(f"{folder}/result.new", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(f"{folder}/result.new", f"{folder}/result.json")


if __name__ == "__main__":
    main(os.path.dirname(os.path.abspath(sys.argv[0])))

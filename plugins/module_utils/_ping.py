# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pings every peer on every rail: which paths there are, what iputils ping and the neighbour table said, what follows from it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._ip import rows
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

Runner = Callable[[list[str], float], Result]
"""Runs a command with a limit in seconds."""

HEADERS = 28
"""IPv4 and ICMP header in bytes: what a packet holds besides the payload that ``ping -s`` counts."""
SMALL = 84
"""Size of ping's default packet in bytes, headers included; passes whatever the MTU is."""
COUNT = 3
INTERVAL = 0.02
"""Seconds between two packets; ping demands root for less than 0.002."""
PATIENCE = 1.0
HASTE = 0.3
"""Seconds to wait for an answer: of the first pings, and of each step of the search for the largest packet (a fabric answers in less than 0.001)."""
AT_ONCE = 128

REASONS = (
    (r"Cannot assign requested address", "the rail does not have its own address"),
    (r"SO_BINDTODEVICE|unknown iface", "the rail's interface is gone"),
    (r"Network is unreachable", "no route to it"),
    (r"Frag needed", "larger than the MTU on the way"),
    (r"[Mm]essage too long", "larger than the MTU of the rail itself"),
    (r"Operation not permitted", "not permitted, root is needed or a firewall forbids it"),
    (r"no command", "the command ping is not installed (package iputils-ping)"),
)
"""What a complaint of ping (20221126 to 20240905) means; the first that matches counts."""


class Path(TypedDict):
    """One peer on one rail. MTUs in bytes; ``largest_mtu`` is the size of the largest packet that passed whole, None when none did.

    ``sent`` to ``rtt_ms`` are of the full-size packets where these pass, else of the small ones. ``neighbour_mac`` is the MAC that
    answered ARP for the target; ``reason`` says why ``small_ok`` or ``full_ok`` is false.
    """

    peer: str
    port: str
    rail: int
    interface: str | None
    source: str
    target: str
    mtu: int
    largest_mtu: int | None
    sent: int
    received: int
    loss_percent: float
    rtt_ms: float | None
    small_ok: bool
    full_ok: bool
    neighbour_mac: str | None
    reason: str | None


class Answer(NamedTuple):
    """What one ping command said; ``rtt_ms`` is the average, ``complaint`` None when it did not say why nothing came back."""

    sent: int
    received: int
    rtt_ms: float | None
    complaint: str | None


def peer_errors(peers: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the option ``peers``: ping would look a name up, and take what begins with a dash for one of its options."""
    fix = "Give what the filter gb10.cluster.fabric_peers lists."
    return [message(f"peer {peer['peer']}", "an IPv4 address", repr(peer["address"]), fix) for peer in peers if not _is_address(peer["address"])]


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def paths(ports: dict[str, Any], mtu: int, peers: list[dict[str, Any]], interfaces: dict[str, dict[int, str]]) -> list[Path]:
    """List what is to be pinged: every peer that shares a subnet with one of the planned rails.

    :param ports: the slice's ports. :param peers: ``[{peer, subnet, address}]``. :param interfaces: ``{port: {rail: interface}}``.
    """
    return [
        {
            "peer": peer["peer"], "port": port, "rail": rail["rail"], "interface": interfaces.get(port, {}).get(rail["rail"]),
            "source": rail["address"], "target": peer["address"], "mtu": mtu, "largest_mtu": None, "sent": 0, "received": 0, "loss_percent": 100.0,
            "rtt_ms": None, "small_ok": False, "full_ok": False, "neighbour_mac": None,
            "reason": None,
        }
        for port, planned in ports.items() for rail in planned["rails"] for peer in peers if peer["subnet"] == rail["subnet"]
    ]


def command(path: Path, size: int, count: int, patience: float) -> list[str]:
    """The ping of packets of ``size`` bytes that must not be fragmented, from the rail's own address and interface."""
    return ["ping", "-n", "-c", str(count), "-i", str(INTERVAL), "-W", str(patience), "-M", "do", "-s", str(size - HEADERS),
            "-I", path["source"], "-I", path["interface"] or "", path["target"]]  # fmt: skip


def parse(result: Result) -> Answer:
    """Read the summary of iputils ping; without one (it ends before it sends, rc 2) nothing was sent."""
    counts = re.search(r"(\d+) packets transmitted, (\d+) received", result.stdout)
    rtt = re.search(r"rtt min/avg/max/mdev = [\d.]+/([\d.]+)/", result.stdout)
    said = f"{result.stdout}\n{result.stderr}\n{result.complaint if result.missing else ''}"
    complaint = next((meaning for pattern, meaning in REASONS if re.search(pattern, said)), None)
    sent, received = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    return Answer(sent, received, float(rtt[1]) if rtt else None, None if received else complaint)


def neighbours(text: str) -> dict[tuple[str, str], str]:
    """Read ``ip -j neigh show``: ``{(address, interface): MAC}``; an entry without a MAC was never answered."""
    complete = [row for row in rows(text) if all(isinstance(row.get(key), str) for key in ("dst", "dev", "lladdr"))]
    return {(row["dst"], row["dev"]): row["lladdr"].lower() for row in complete}


def judged(path: Path, small: Answer, full: Answer, mac: str | None) -> Path:
    """Put together what the two pings and the neighbour table say."""
    small_ok, full_ok = small.received > 0, full.received > 0
    counted = full if full_ok else small
    reason = None
    if not small_ok:
        reason = small.complaint or ("no answer, although ARP was answered" if mac else "nobody answers ARP for its address")
    elif not full_ok:
        reason = full.complaint or "lost on the way or at the peer"
    return {
        **path,
        "sent": counted.sent,
        "received": counted.received,
        "loss_percent": round(100.0 * (counted.sent - counted.received) / counted.sent, 1) if counted.sent else 100.0,
        "rtt_ms": counted.rtt_ms,
        "small_ok": small_ok,
        "full_ok": full_ok,
        "largest_mtu": path["mtu"] if full_ok else None,
        "neighbour_mac": mac,
        "reason": reason,
    }


def largest(passes: Callable[[int], bool], good: int, bad: int) -> int:
    """Bisect for the largest size that passes, given one that does and one that does not."""
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if passes(middle) else (good, middle)
    return good


def _search(path: Path, run: Runner) -> Path:
    """Find the largest packet of a path that lets only small ones through: at most 14 steps of a third of a second."""
    if not path["small_ok"] or path["full_ok"]:
        return path

    def passes(size: int) -> bool:
        return parse(run(command(path, size, 1, HASTE), 5.0)).received > 0

    return {**path, "largest_mtu": largest(passes, SMALL, path["mtu"])}


def measure(planned: list[Path], run: Runner) -> list[Path]:
    """Ping all paths at once, small and full; then look up the MACs; then search where only small packets pass."""
    reachable = [path for path in planned if path["interface"]]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:

        def ping(size_of: Callable[[Path], int]) -> list[Any]:
            return [pool.submit(run, command(path, size_of(path), COUNT, PATIENCE), 10.0) for path in reachable]

        small, full = ping(lambda path: SMALL), ping(lambda path: path["mtu"])
        answers = [(parse(one.result()), parse(other.result())) for one, other in zip(small, full)]
        macs = neighbours(run(["ip", "-j", "neigh", "show"], 10.0).stdout) if reachable else {}
        found = [judged(path, *answer, macs.get((path["target"], path["interface"] or ""))) for path, answer in zip(reachable, answers)]
        measured = iter(list(pool.map(lambda path: _search(path, run), found)))
    return [next(measured) if path["interface"] else {**path, "reason": "this rail is missing on the machine"} for path in planned]

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine that is not in the inventory says."""

from __future__ import annotations

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors_worker as worker
from gb10lab import chatter, strangers


def test_another_run_is_heard_as_a_stranger() -> None:
    """The job is one that the collection's discovery takes, and its frames are well-formed and of another run."""
    job = strangers.job("spark-9", ["enp1s0f0np0", "enP2p1s0f0np0"])
    item = job["interfaces"][1]
    said = {
        "run": job["run"],
        "machine": job["machine"],
        "node": job["node"],
        "port": item["port"],
        "rail": item["rail"],
        "heard": [],
        "collecting": True,
    }
    listener = worker.Listener({1}, True, ("spark-2", "p0"))
    worker.take(listener, {"run": "ours", "machine": "0" * 32, "node": "spark-1"}, "p0", 1, worker.encode(b"\2" * 6, worker.FAR, said), 0.0)
    assert (listener.strangers, listener.heard, listener.garbage) == ({("spark-9", "p0", job["machine"])}, {}, 0)


def test_the_job_waits_long_and_ends_by_itself() -> None:
    """With the file that says that all have begun, the discovery ends when nobody answered for so long."""
    job = strangers.job("spark-9", ["enp1s0f0np0"])
    listener = worker.Listener({0}, "p0" in job["planned"], job["planned"]["p0"])
    listener.carrier_since = 0.0
    done = [worker.finished([listener], now, 0.0, 0.0, job["carrier_wait"], job["listen"]) for now in (10.0, strangers.PATIENCE + 1)]
    assert done == [False, True]


def test_ordinary_traffic_is_an_arp_request() -> None:
    """To everybody, from the device's own address (RFC 826)."""
    frame = chatter.arp_request(bytes.fromhex("020000000001"), bytes((192, 168, 99, 1)), bytes((192, 168, 99, 2)))
    assert frame.hex() == "ffffffffffff" "020000000001" "0806" "0001080006040001" "020000000001" "c0a86301" "000000000000" "c0a86302"

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a frame says, when enough was heard, and what the result is."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors_worker as worker

MAC = bytes.fromhex("3c6d66010203")
JOB = {"run": "run-1", "machine": "1" * 32, "node": "spark-1"}
SAID = {"run": "run-1", "machine": "2" * 32, "node": "spark-2", "port": "p1", "rail": 0, "heard": [["spark-1", "p0"]], "collecting": False}
WIDE = {**SAID, "node": "n" * 253, "run": "r" * 64, "heard": [["m" * 253, "p1"]] * worker.NAMED}
GOOD = worker.encode(MAC, worker.FAR, SAID)


def raw(body: bytes, length: int | None = None, ethertype: int = worker.ETHERTYPE) -> bytes:
    """A frame around any bytes, with any length field."""
    head = worker.FAR + MAC + struct.pack("!HH", ethertype, len(body) if length is None else length)
    return (head + body).ljust(worker.SMALLEST, b"\0")


def saying(**changes: Any) -> bytes:
    """A good frame but for some of what it says; a value of ``...`` leaves the key out."""
    return worker.encode(MAC, worker.FAR, {key: value for key, value in {**SAID, **changes}.items() if value is not ...})


@pytest.mark.parametrize("said", [SAID, WIDE, {**SAID, "heard": [], "rail": 1, "port": "p0", "node": "a.b-c_d.example", "collecting": True}])
@pytest.mark.parametrize(("destination", "near"), [(worker.FAR, False), (worker.NEAR, True)])
def test_a_frame_says_what_it_was_told_to_say(said: dict[str, Any], destination: bytes, near: bool) -> None:
    frame = worker.encode(MAC, destination, said)
    assert worker.decode(frame) == {**said, "near": near}
    assert worker.SMALLEST <= len(frame) <= worker.LARGEST


def test_the_padding_of_a_short_frame_is_not_read() -> None:
    assert worker.decode(GOOD + b"\0" * 40) == worker.decode(GOOD)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(GOOD[:14], id="a header alone"),
        pytest.param(GOOD[:-1], id="cut by one byte"),
        pytest.param(GOOD.ljust(worker.LARGEST + 1, b"\0"), id="longer than a frame"),
        pytest.param(raw(b"\0" * 40), id="zeros"),
        pytest.param(raw(b"\xff" * 400), id="ones"),
        pytest.param(raw(b"\x3c\x6d\x66\x01\x02\x03TOPO_DISCOVER_2NODE_V2"), id="NVIDIA's discovery, same EtherType"),
        pytest.param(raw(GOOD[16:], ethertype=0x0800), id="another EtherType"),
        pytest.param(raw(GOOD[16:], length=0), id="length 0"),
        pytest.param(raw(GOOD[16:], length=0xFFFF), id="a length beyond the frame"),
        pytest.param(raw(b"GB10\x02" + GOOD[21:]), id="another version"),
        pytest.param(raw(worker.MAGIC), id="nothing said"),
        pytest.param(raw(worker.MAGIC + b"{"), id="half of JSON"),
        pytest.param(raw(worker.MAGIC + b"[" * 1400), id="deep JSON"),
        pytest.param(raw(worker.MAGIC + b"9" * 1400), id="a long number"),
        pytest.param(raw(worker.MAGIC + b"NaN"), id="no number"),
        pytest.param(raw(worker.MAGIC + b"[]"), id="a list"),
        pytest.param(raw(worker.MAGIC + json.dumps(SAID).encode().replace(b"spark-2", b"spark-\xe9")), id="a byte that is not ASCII"),
        *(pytest.param(saying(**{key: ...}), id=f"without {key}") for key in SAID),
        pytest.param(saying(more=1), id="more than there is to say"),
        *(
            pytest.param(saying(**{key: value}), id=f"{key} is {value!r}"[:60])
            for key, values in {
                "run": ["", "a b", 1, None],
                "machine": ["", "2" * 31, "2" * 33, "g" * 32, "A" * 32, 2],
                "node": ["", " ", ".", "-x", "a\nb", "a\n", "a/b", "a;reboot", "{{ x }}", "<b>", "späk", "\x1b[31m", "x" * 254, ["a"], {}, None],
                "port": ["p2", "P0", "p0\n", "", 0, ["p0"], None],
                "rail": [2, -1, "0", True, False, 0.0, 1.0, None, [0]],
                "heard": [None, "", {}, ["spark-1"], [["spark-1"]], [["spark-1", "p0", "p1"]], [["spark-1", 0]], [{"a": 1}]],
                "collecting": [0, 1, "true", None],
            }.items()
            for value in values
        ),
    ],
)
def test_anything_else_is_garbage_that_is_counted(frame: bytes) -> None:
    listener = worker.Listener({0, 1}, True, None)
    assert worker.decode(frame) is None
    assert worker.take(listener, JOB, "p0", 0, frame, 1.0) is False
    assert (listener.garbage, listener.heard, listener.strangers) == (1, {}, set())


TAKEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a neighbour": ({}, {"heard": {("spark-2", "p1"): {0: False}}, "heard_by": {("spark-2", "p1")}}),
    "a neighbour that did not hear this port": ({"heard": []}, {"heard": {("spark-2", "p1"): {0: False}}}),
    "a neighbour that heard another port of this node": ({"heard": [["spark-1", "p1"]]}, {"heard": {("spark-2", "p1"): {0: False}}}),
    "this node's own twin rail": ({"machine": "1" * 32, "node": "spark-1", "port": "p0", "rail": 1}, {}),
    "this node's own other port": ({"machine": "1" * 32, "node": "spark-1", "port": "p1", "heard": []}, {"heard": {("spark-1", "p1"): {0: False}}}),
    "a machine with the name of this one": ({"node": "spark-1", "port": "p0", "heard": []}, {"heard": {("spark-1", "p0"): {0: False}}}),
    "somebody of another run": ({"run": "run-2"}, {"strangers": {("spark-2", "p1", "2" * 32)}}),
    "this node in another run": ({"run": "run-2", "machine": "1" * 32, "node": "spark-1"}, {}),
}


@pytest.mark.parametrize(("changes", "expected"), TAKEN.values(), ids=TAKEN)
def test_a_frame_is_sorted_by_who_sent_it(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    listener = worker.Listener({0, 1}, True, ["spark-2", "p1"])
    assert worker.take(listener, JOB, "p0", 0, saying(**changes), 1.0) is False
    found = {"heard": listener.heard, "heard_by": listener.heard_by, "strangers": listener.strangers}
    assert found == {"heard": {}, "heard_by": set(), "strangers": set(), **expected}


@pytest.mark.parametrize(("run", "knows"), [("run-1", True), ("run-2", False)])
def test_that_all_nodes_have_begun_is_learnt_from_a_frame_of_the_same_run(run: str, knows: bool) -> None:
    assert worker.take(worker.Listener({0}, True, None), JOB, "p0", 0, saying(run=run, collecting=True), 1.0) is knows


def test_only_what_is_new_is_news() -> None:
    listener = worker.Listener({0, 1}, True, None)
    near = worker.encode(MAC, worker.NEAR, SAID)
    seen = []
    deaf = saying(heard=[])
    for now, (rail, frame) in enumerate([(0, deaf), (0, deaf), (0, GOOD), (0, near), (0, GOOD), (1, GOOD), (0, raw(b"")), (1, GOOD)], start=1):
        worker.take(listener, JOB, "p0", rail, frame, float(now))
        seen.append(listener.news_at)
    assert seen == [1, 1, 3, 4, 4, 6, 6, 6]


def test_a_flood_of_names_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MOST", 3)
    listener = worker.Listener({0}, True, None)
    for number in range(9):
        worker.take(listener, JOB, "p0", 0, saying(node=f"n{number}"), 1.0)
        worker.take(listener, JOB, "p0", 0, saying(node=f"n{number}", run="run-2"), 1.0)
    assert (len(listener.heard), len(listener.strangers)) == (3, 3)


@pytest.mark.parametrize(("count", "calls"), [(0, 1), (1, 1), (3, 1), (4, 2), (7, 3)])
def test_everybody_who_was_heard_is_named_in_turn(count: int, calls: int) -> None:
    names = [(f"n{number}", "p0") for number in range(count)]
    named = [worker.turn(names, call) for call in range(calls)]
    assert {name for some in named for name in some} == set(names)
    assert all(len(some) <= worker.NAMED for some in named)


PLANNED = {"planned": ["spark-2", "p1"]}
SWITCH = {"planned": None}
UNPLANNED = {"planned": None, "awaited": False}
FULL = {"heard": {("spark-2", "p1"): {0: True, 1: True}}}
HALF = {"heard": {("spark-2", "p1"): {0: True}}}
OTHER = {"heard": {("spark-3", "p1"): {0: True, 1: True}}, "heard_by": {("spark-3", "p1")}}
KNOWN = {"heard_by": {("spark-2", "p1")}}
CARRIER = {"carrier_since": 0.0}

DONE: dict[str, tuple[dict[str, Any], float, bool]] = {
    "the planned neighbour was heard on both rails and has heard this port": ({**PLANNED, **CARRIER, **FULL, **KNOWN}, 10.4, True),
    "it was heard on both rails and has not heard this port": ({**PLANNED, **CARRIER, **FULL}, 10.4, False),
    "it was heard on one rail": ({**PLANNED, **CARRIER, **HALF, **KNOWN}, 12.9, False),
    "it was heard on one rail, three seconds after all began": ({**PLANNED, **CARRIER, **HALF, **KNOWN}, 13.0, True),
    "it was heard on the only rail that listens": ({**PLANNED, **CARRIER, **HALF, **KNOWN, "rails": {0}}, 10.4, True),
    "another one than planned was heard": ({**PLANNED, **CARRIER, **OTHER}, 12.9, False),
    "another one than planned was heard, after three seconds": ({**PLANNED, **CARRIER, **OTHER}, 13.0, True),
    "nobody was heard": ({**PLANNED, **CARRIER}, 12.9, False),
    "nobody was heard for three seconds": ({**PLANNED, **CARRIER}, 13.0, True),
    "nobody was heard and the carrier came late": ({**PLANNED, "carrier_since": 15.0}, 17.9, False),
    "nobody was heard for three seconds after the carrier came": ({**PLANNED, "carrier_since": 15.0}, 18.0, True),
    "a carrier may still come": ({**PLANNED}, 19.9, False),
    "no carrier came in 20 seconds": ({**PLANNED}, 20.0, True),
    "a carrier to a switch may still come": ({**SWITCH}, 19.9, False),
    "others behind a switch were heard": ({**SWITCH, **CARRIER, **FULL}, 11.9, False),
    "others behind a switch were heard for two seconds": ({**SWITCH, **CARRIER, **FULL}, 12.0, True),
    "others behind a switch were heard on one rail for two seconds": ({**SWITCH, **CARRIER, **HALF}, 12.0, False),
    "nobody behind a switch was heard": ({**SWITCH, **CARRIER}, 12.9, False),
    "nobody behind a switch was heard for three seconds": ({**SWITCH, **CARRIER}, 13.0, True),
    "an unplanned port has no carrier": ({**UNPLANNED}, 10.4, True),
    "an unplanned port has a carrier": ({**UNPLANNED, **CARRIER}, 12.9, False),
    "an unplanned port has had a carrier for three seconds": ({**UNPLANNED, **CARRIER}, 13.0, True),
    "an unplanned port has heard somebody for two seconds": ({**UNPLANNED, **CARRIER, **OTHER}, 12.0, True),
    "no rail listens": ({**PLANNED, "rails": set()}, 10.4, True),
}


def listening(rails: Any = (0, 1), awaited: bool = True, planned: Any = None, **state: Any) -> worker.Listener:
    """A listener in a given state."""
    listener = worker.Listener(rails, awaited, planned)
    vars(listener).update(state)
    return listener


@pytest.mark.parametrize(("state", "now", "done"), DONE.values(), ids=DONE)
def test_a_port_is_done_when_nothing_more_is_to_be_expected(state: dict[str, Any], now: float, done: bool) -> None:
    # this node began at 0, all have begun at 10
    assert listening(**state).done(now, began=0.0, collecting=10.0, carrier_wait=20.0, listen=3.0) is done
    assert worker.finished([listening(**state)], now, 0.0, 10.0, 20.0, 3.0) is done


def test_nobody_finishes_before_all_have_begun() -> None:
    assert worker.finished([], 1000.0, 0.0, None, 20.0, 3.0) is False


@pytest.mark.parametrize(("now", "finished"), [(10.14, False), (10.16, True)])
def test_a_node_that_has_heard_all_calls_on_until_they_know(now: float, finished: bool) -> None:
    complete = {**PLANNED, **CARRIER, **FULL, **KNOWN}
    assert worker.finished([listening(**complete, news_at=9.0)], now, 0.0, 10.0, 20.0, 3.0) is finished
    assert worker.finished([listening(**complete, news_at=10.0)], now, 0.0, 5.0, 20.0, 3.0) is finished


def test_one_port_that_is_not_done_keeps_the_node() -> None:
    complete = listening(**PLANNED, **CARRIER, **FULL, **KNOWN)
    assert worker.finished([complete, listening(**PLANNED, **CARRIER)], 11.0, 0.0, 10.0, 20.0, 3.0) is False


def test_the_result_tells_every_port_its_rails_and_who_was_heard() -> None:
    rails = {"p0": [{"rail": 1, "interface": "b", "up": True}, {"rail": 0, "interface": "a", "up": True}]}
    listeners = {
        "p1": listening(rails=()),
        "p0": listening(heard={("spark-3", "p0"): {1: False, 0: True}, ("spark-2", "p1"): {0: False}}, strangers={("x", "p0", "3" * 32)}, garbage=2),
    }
    assert worker.summary(rails, listeners) == [
        {
            "port": "p0",
            "rails": [{"rail": 0, "interface": "a", "up": True}, {"rail": 1, "interface": "b", "up": True}],
            "heard": [
                {"node": "spark-2", "port": "p1", "rails": [0], "near": False},
                {"node": "spark-3", "port": "p0", "rails": [0, 1], "near": True},
            ],
            "strangers": [{"node": "x", "port": "p0", "machine_id": "3" * 32}],
            "garbage": 2,
        },
        {"port": "p1", "rails": [], "heard": [], "strangers": [], "garbage": 0},
    ]


def test_a_socket_is_deaf_until_it_is_bound_to_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []

    class Socket:
        def __init__(self, *kind: int) -> None:
            told.append(kind)

        def __getattr__(self, name: str) -> Any:
            return lambda *arguments: told.append((name, *arguments))

    monkeypatch.setattr(socket, "socket", Socket)
    monkeypatch.setattr(socket, "if_nametoindex", lambda name: 7)
    worker._open("enp1s0f0np0")
    assert told[:2] == [(socket.AF_PACKET, socket.SOCK_RAW, 0), ("bind", ("enp1s0f0np0", worker.ETHERTYPE))]

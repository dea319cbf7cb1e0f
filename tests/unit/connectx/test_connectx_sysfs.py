# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports and rails from sysfs, whatever the devices are called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _sysfs

ALL = {"p0": {0: "enp1s0f0np0", 1: "enP2p1s0f0np0"}, "p1": {0: "enp1s0f1np1", 1: "enP2p1s0f1np1"}}
GONE = "expected a network device in PCI domain 0002, found none. Power the machine off and on with the cable in."


def test_ports_and_rails(node: Any) -> None:
    assert _sysfs.discover(node, {}) == (ALL, [])


def test_names_do_not_matter_and_neither_does_their_order(node: Any, tmp_path: Path) -> None:
    names = {"0000:01:00.0": "aerial03", "0002:01:00.0": "aerial00", "0000:01:00.1": "aerial02", "0002:01:00.1": "aerial01"}
    for bdf, name in names.items():
        node.unplug(bdf)
        node.function(bdf, name)
    assert _sysfs.discover(node, {}) == ({"p0": {0: "aerial03", 1: "aerial00"}, "p1": {0: "aerial02", 1: "aerial01"}}, [])


def test_a_card_off_the_bus(node: Any) -> None:
    for bdf in ("0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1"):
        node.unplug(bdf)
    assert _sysfs.discover(node, {}) == (
        {},
        ["ConnectX-7 - expected PCI functions in the domains 0000 and 0002, found none. "
         "Plug in the cable and reboot: hot-plug power saving takes a card without cable off the bus."],
    )  # fmt: skip


def test_a_card_without_driver(node: Any) -> None:
    for bdf in ("0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1"):
        node.unplug(bdf)
    for name, content in {"vendor": "0x15b3", "device": "0x1021"}.items():
        node.file(f"/sys/bus/pci/devices/0000:01:00.0/{name}", content)
    assert _sysfs.discover(node, {}) == (
        {}, ["ConnectX-7 - expected a network device for each PCI function, found none for 0000:01:00.0. Load the driver mlx5_core."],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("bdf", "expected", "problems"),
    [
        ("0002:01:00.1", {**ALL, "p1": {0: "enp1s0f1np1"}}, [f"p1 rail 1 - {GONE}"]),
        ("0002:01:00.0", {**ALL, "p0": {0: "enp1s0f0np0"}}, [f"p0 rail 1 - {GONE}"]),
    ],
)
def test_one_function_missing(node: Any, bdf: str, expected: dict[str, Any], problems: list[str]) -> None:
    node.unplug(bdf)
    assert _sysfs.discover(node, {}) == (expected, problems)


def test_a_device_that_does_not_tell_its_port(node: Any) -> None:
    node.unplug("0000:01:00.0")
    node.unplug("0000:01:00.1")
    node.function("0000:01:00.0", port=None)
    found, problems = _sysfs.discover(node, {})
    assert found == {"p0": {1: "enP2p1s0f0np0"}, "p1": {1: "enP2p1s0f1np1"}}
    assert problems[0] == "enp1s0f0np0: phys_port_name - expected p0 or p1, found none. Name the devices of this port in fabric_interfaces."


@pytest.mark.parametrize("odd", ["pf0vf0", "p7"])
def test_a_port_name_of_another_kind_is_none(node: Any, odd: str) -> None:
    node.file("/sys/class/net/enp1s0f0np0/phys_port_name", odd)
    assert _sysfs.discover(node, {})[0]["p0"] == {1: "enP2p1s0f0np0"}


def test_a_virtual_function_is_no_rail(node: Any) -> None:
    node.link("/sys/class/net/enp1s0f0np0/device/physfn", "/sys/bus/pci/devices/0000:01:00.1")
    assert _sysfs.discover(node, {})[0]["p0"] == {1: "enP2p1s0f0np0"}


def test_the_port_of_another_card_is_no_rail(node: Any) -> None:
    node.file("/sys/class/net/enp1s0f0np0/device/vendor", "0x8086")
    assert _sysfs.discover(node, {})[0]["p0"] == {1: "enP2p1s0f0np0"}


def test_two_devices_for_one_rail(node: Any) -> None:
    node.file("/sys/class/net/enp1s0f1np1/phys_port_name", "p0")
    found, problems = _sysfs.discover(node, {})
    assert found["p0"][0] == "enp1s0f0np0"
    assert problems[0] == (
        "p0 rail 0: interface - expected one device, found enp1s0f0np0 and enp1s0f1np1. Name the devices of this port in fabric_interfaces."
    )


def test_named_devices_are_taken_as_they_are(node: Any) -> None:
    node.interface("ens3", "02:00:00:00:09:01")
    node.interface("ens4", "02:00:00:00:09:02")
    assert _sysfs.discover(node, {"p1": ["ens4", "ens3"]}) == ({"p0": ALL["p0"], "p1": {0: "ens4", 1: "ens3"}}, [])


def test_a_named_device_that_is_not_there(node: Any) -> None:
    found, problems = _sysfs.discover(node, {"p0": ["enp1s0f0np0", "aerial02"]})
    assert found["p0"] == {0: "enp1s0f0np0"}
    assert problems == [
        "p0 rail 1: interface - expected aerial02, found no such device. Correct fabric_interfaces, or reboot with the cable in.",
        f"p0 rail 1 - {GONE}",
    ]


@pytest.mark.parametrize(
    ("speed", "width", "expected"),
    [("32.0 GT/s PCIe", "4", (32.0, 4)), ("2.5 GT/s PCIe", "2", (2.5, 2)), ("Unknown", "0", (None, 0)), ("Unknown speed", "x", (None, None))],
)
def test_pcie_link(node: Any, speed: str, width: str, expected: tuple[Any, ...]) -> None:
    node.file("/sys/class/net/enP2p1s0f0np0/device/current_link_speed", speed)
    node.file("/sys/class/net/enP2p1s0f0np0/device/current_link_width", width)
    link = _sysfs.pci(node, "enP2p1s0f0np0")
    assert (link["address"], link["speed_gts"], link["width"], link["max_speed_gts"], link["max_width"]) == ("0002:01:00.0", *expected, 32.0, 4)


def test_pcie_link_of_a_device_without_pci(node: Any) -> None:
    node.interface("ens3", "02:00:00:00:09:01")
    assert set(_sysfs.pci(node, "ens3").values()) == {"", None}


def test_rdma_devices(node: Any) -> None:
    node.interface("ens3", "02:00:00:00:09:01")
    node.file("/sys/class/infiniband/rxe0/parent", "ens3")
    assert [_sysfs.rdma_device(node, name) for name in ("enP2p1s0f1np1", "ens3", "enP7s7")] == ["roceP2p1s0f1", "rxe0", None]


def table(text: str) -> dict[int, tuple[str, str]]:
    """Rows ``INDEX GID v1|v2`` to what ``Node.gids`` takes."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return {int(index): (gid, {"v1": "IB/RoCE v1", "v2": "RoCE v2"}[kind]) for index, gid, kind in rows}


LOCAL = "fe80:0000:0000:0000:0200:00ff:fe00:0101"
ONE = "0000:0000:0000:0000:0000:ffff:0a4d:0001"
TWO = "0000:0000:0000:0000:0000:ffff:a9fe:0102"


@pytest.mark.parametrize(
    ("rows", "addresses", "expected"),
    [
        (f"0 {LOCAL} v1\n1 {LOCAL} v2\n2 {ONE} v1\n3 {ONE} v2", ["10.77.0.1"], 3),
        (f"0 {LOCAL} v1\n1 {LOCAL} v2\n4 {ONE} v1\n5 {ONE} v2", ["10.77.0.1"], 5),
        (f"0 {ONE} v1\n1 {ONE} v2", ["10.77.0.1"], 1),
        (f"0 {LOCAL} v1\n1 {LOCAL} v2", ["10.77.0.1"], None),
        (f"2 {ONE} v1", ["10.77.0.1"], None),
        (f"2 {TWO} v1\n3 {TWO} v2\n4 {ONE} v1\n5 {ONE} v2", ["10.77.0.1", "169.254.1.2"], 5),
        (f"2 {TWO} v1\n3 {TWO} v2", ["10.77.0.1", "169.254.1.2"], 3),
        (f"2 {ONE} v1\n3 {ONE} v2", [], None),
        ("", ["10.77.0.1"], None),
    ],
)
def test_index_of_the_gid_of_an_address(node: Any, rows: str, addresses: list[str], expected: int | None) -> None:
    node.gids("rocep1s0f0", table(rows))
    assert _sysfs.gid_index(_sysfs.gids(node, "rocep1s0f0"), addresses) == expected


def test_gid_table_as_show_gids_prints_it(node: Any, fixtures: Path) -> None:
    lines = (fixtures / "connectx" / "show_gids-two-twins-ipv4-same-subnet.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line.startswith("roceP2p1s0f0")]
    node.gids("roceP2p1s0f0", {int(row[2]): (row[3], {"v1": "IB/RoCE v1", "v2": "RoCE v2"}[row[-2]]) for row in rows})
    assert [(row["index"], row["type"], row["ipv4"]) for row in _sysfs.gids(node, "roceP2p1s0f0")] == [
        (0, "IB/RoCE v1", None), (1, "RoCE v2", None), (2, "IB/RoCE v1", "192.168.100.14"), (3, "RoCE v2", "192.168.100.14"),
    ]  # fmt: skip


def test_gids_of_a_device_that_is_gone(node: Any) -> None:
    assert (_sysfs.gids(node, "rocep9"), _sysfs.rdma_counters(node, "rocep9")) == ([], {})


def test_rdma_counters_leave_out_what_is_no_counter(node: Any, configure: Callable[[dict[str, str]], None]) -> None:
    assert _sysfs.rdma_counters(node, "rocep1s0f0") == {"port_rcv_data": 4001, "packet_seq_err": 0}

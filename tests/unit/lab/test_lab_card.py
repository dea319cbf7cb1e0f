# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /sys shows of the simulated card."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from gb10lab import card
from gb10lab.card import FUNCTIONS, Link
from gb10lab.inventory import Node

MAC = "02:00:00:00:01:01"
DEFAULT = "fe80:0000:0000:0000:0000:00ff:fe00:0101"
FIRST, SECOND = "0000:0000:0000:0000:0000:ffff:0a4d:0001", "0000:0000:0000:0000:0000:ffff:0a4d:0101"


def test_names_are_those_of_every_gb10_machine() -> None:
    """Port, rail, PCI address, netdev and RDMA device as NVIDIA's user guide pairs them."""
    assert [(each.port, each.rail, each.bdf, each.interface, each.rdma) for each in FUNCTIONS] == [
        ("p0", 0, "0000:01:00.0", "enp1s0f0np0", "rocep1s0f0"),
        ("p0", 1, "0002:01:00.0", "enP2p1s0f0np0", "roceP2p1s0f0"),
        ("p1", 0, "0000:01:00.1", "enp1s0f1np1", "rocep1s0f1"),
        ("p1", 1, "0002:01:00.1", "enP2p1s0f1np1", "roceP2p1s0f1"),
    ]


def test_the_owner_renames_netdevs_and_nothing_else() -> None:
    """RDMA devices are named after the bus; a port that is not named keeps its names."""
    node = Node("spark-3", 3, "192.168.10.13", "nvidia", "netplan-networkd", {"p0": ["aerial00", "aerial02"]})
    made = card.functions(node)
    assert [each.interface for each in made] == ["aerial00", "aerial02", "enp1s0f1np1", "enP2p1s0f1np1"]
    assert [replace(each, interface="") for each in made] == [replace(each, interface="") for each in FUNCTIONS]
    files = card.tree(3, made)
    assert files["netdev/aerial02/phys_port_name"] == "p0" and "netdev/enp1s0f0np0/phys_port_name" not in files
    assert card.tools(card.describe({}, made))["functions"].splitlines()[:3:2] == [
        "0000:01:00.0 aerial00 rocep1s0f0",
        "0002:01:00.0 aerial02 roceP2p1s0f0",
    ]


def lay(root: Path) -> Path:
    """The tree as a node mounts it: ``devices`` and the class folders below one ``sys``."""
    card.write(root / "hw", card.tree(1))
    for link, target in {
        "devices": "devices",
        "class/infiniband": "infiniband",
        "class/infiniband_verbs": "infiniband_verbs",
        "bus/pci/devices": "pci_devices",
    }.items():
        path = root / "sys" / link
        path.parent.mkdir(parents=True, exist_ok=True)
        os.rename(root / "hw" / target, path)
    (root / "sys/devices/virtual").mkdir()
    os.rename(root / "hw/netdev", root / "sys/devices/virtual/net")
    return root / "sys"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.interface)
def test_every_way_from_netdev_to_pci_and_rdma_leads_to_the_same_function(tmp_path: Path, function: card.Function) -> None:
    """The links resolve where the node mounts the tree."""
    sys = lay(tmp_path)
    device = (sys / "devices/virtual/net" / function.interface / "device").resolve(strict=True)
    assert device.name == function.bdf
    assert (sys / "bus/pci/devices" / function.bdf).resolve(strict=True) == device
    assert (sys / "class/infiniband" / function.rdma / "device").resolve(strict=True) == device
    assert (sys / "class/infiniband_verbs" / function.verbs / "ibdev").read_text(encoding="ascii").strip() == function.rdma
    assert os.readlink(device / "driver").endswith("/mlx5_core")
    assert (device / "net" / function.interface).resolve(strict=True) == sys / "devices/virtual/net" / function.interface


def test_a_healthy_card_is_gen5_x4_in_every_function() -> None:
    """Two files say what the link is, two what it could be."""
    files = card.tree(1)
    for function in FUNCTIONS:
        found = [
            files[f"devices/{function.folder}/{name}"] for name in ("current_link_speed", "max_link_speed", "current_link_width", "max_link_width")
        ]
        assert found == ["32.0 GT/s PCIe", "32.0 GT/s PCIe", "4", "4"]


def test_empty_gid_slots_can_not_be_read() -> None:
    """They point at a file whose reading is EINVAL."""
    assert card.tree(1)["devices/pci0000:00/0000:00:00.0/0000:01:00.0/infiniband/rocep1s0f0/ports/1/gid_attrs/types/0"] == Link(
        "/sys/class/net/lo/speed"
    )


def test_the_card_says_that_it_is_simulated() -> None:
    """Reports print the vendor."""
    assert card.tree(1)["dmi/id/sys_vendor"] == "gb10.cluster lab (simulated)"


def test_a_port_without_cable_has_no_module() -> None:
    """The description that the node's tools read."""
    ports = card.describe({"p0": {"serial": "LABCABLE00", "speed": 100000}})["ports"]
    assert (ports["p0"]["module"]["serial"], ports["p0"]["speed"], ports["p1"]["module"]) == ("LABCABLE00", 100000, None)


@pytest.mark.parametrize(
    ("before", "addresses", "expected"),
    [
        pytest.param([], [], [DEFAULT], id="every port has the GID of its MAC"),
        pytest.param([], ["10.77.0.1"], [DEFAULT, FIRST], id="an IPv4 address takes the next pair: index 3 is its RoCE v2"),
        pytest.param([], ["fe80::ff:fe00:101", "10.77.0.1"], [DEFAULT, FIRST], id="the link-local address of the MAC is the default"),
        pytest.param([DEFAULT, FIRST], ["10.77.1.1", "10.77.0.1"], [DEFAULT, FIRST, SECOND], id="what is there stays where it is"),
        pytest.param([DEFAULT, FIRST, SECOND], ["10.77.1.1"], [DEFAULT, None, SECOND], id="what goes leaves a hole"),
        pytest.param([DEFAULT, None, SECOND], ["10.77.1.1", "10.77.0.1"], [DEFAULT, FIRST, SECOND], id="what comes fills it"),
    ],
)
def test_gid_table(node_card: ModuleType, before: list[str | None], addresses: list[str], expected: list[str | None]) -> None:
    """Pairs of slots, v1 and v2, in the order in which addresses came."""
    assert node_card.table(before, MAC, addresses) == expected + [None] * (8 - len(expected))


def test_both_sides_agree_on_the_number_of_slots(node_card: ModuleType) -> None:
    """The tree is made on the host, filled in the node."""
    assert node_card.SLOTS == card.SLOTS


@pytest.mark.parametrize("text", [pytest.param("RoCE v2", id="a type"), pytest.param(None, id="an empty slot")])
def test_a_slot_changes_in_one_step(node_card: ModuleType, tmp_path: Path, text: str | None) -> None:
    """From a link to a file and back."""
    slot = tmp_path / "3"
    slot.symlink_to("/nowhere")
    node_card.put(slot, "before")
    node_card.put(slot, text)
    assert os.listdir(tmp_path) == ["3"]
    assert slot.read_text(encoding="ascii") == f"{text}\n" if text else os.readlink(slot) == node_card.INVALID

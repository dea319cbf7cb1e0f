# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a fresh machine, and how SSH gets there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from gb10lab import card, hardware, network, nodes, ssh, wheels
from gb10lab.inventory import Cable, Cluster, Node
from gb10lab.state import Lab


def cluster(backend: str) -> Cluster:
    """Two nodes of one kind on one cable."""
    made = tuple(Node(f"spark-{number}", number, f"192.168.10.1{number}", "nvidia", backend) for number in (1, 2))
    return Cluster("two_node_direct", made, (Cable(("spark-1.p0", "spark-2.p0")),), "192.168.10.0/24", "192.168.10.1")


@pytest.mark.parametrize("backend", ["netplan-networkd", "netplan-networkmanager"])
def test_netplan_gives_management_its_address_and_the_way_out(backend: str) -> None:
    """The same file for both renderers."""
    made = cluster(backend)
    text, mode = nodes.fresh_files(made, made.nodes[0])["etc/netplan/50-cloud-init.yaml"]
    assert mode == 0o600
    assert yaml.safe_load(text) == {
        "network": {"version": 2, "ethernets": {"enP7s7": {"addresses": ["192.168.10.11/24"], "routes": [{"to": "default", "via": "192.168.10.1"}]}}}
    }


def test_the_renderer_is_said_once_as_on_a_desktop() -> None:
    """Ubuntu's desktop has a file of its own for it, its server none."""
    desktop, server = cluster("netplan-networkmanager"), cluster("netplan-networkd")
    text, _mode = nodes.fresh_files(desktop, desktop.nodes[0])["etc/netplan/01-network-manager-all.yaml"]
    assert yaml.safe_load(text) == {"network": {"version": 2, "renderer": "NetworkManager"}}
    assert "etc/netplan/01-network-manager-all.yaml" not in nodes.fresh_files(server, server.nodes[0])


def test_without_netplan_management_is_a_profile() -> None:
    """And no netplan file is seeded."""
    made = cluster("networkmanager")
    files = nodes.fresh_files(made, made.nodes[1])
    assert "address1=192.168.10.12/24,192.168.10.1" in files["etc/NetworkManager/system-connections/management.nmconnection"][0]
    assert not [path for path in files if "netplan" in path]


def test_the_release_file_has_two_updates_and_the_last_is_newer() -> None:
    """Readers must take the last."""
    made = cluster("netplan-networkd")
    lines = nodes.fresh_files(made, made.nodes[0])["etc/dgx-release"][0].splitlines()
    assert [line for line in lines if line.startswith("DGX_OTA_VERSION")] == ['DGX_OTA_VERSION="7.3.1"', 'DGX_OTA_VERSION="7.5.0"']


def test_no_two_interfaces_share_a_mac() -> None:
    """Not even between labs; all locally administered unicast."""
    made = {network.mac(lab, node, unit) for lab in ("default", "other") for node in range(1, 10) for unit in (0, 1, *range(16, 20), *range(32, 36))}
    made |= {network.mac(lab, 0, 16 * stranger + unit) for lab in ("default", "other") for stranger in range(1, 16) for unit in (0, 1, 8, 9)}
    assert len(made) == 2 * (9 * 10 + 15 * 4)
    assert {int(mac[:2], 16) & 3 for mac in made} == {2}


RENAMED = {"p0": ["aerial00", "aerial02"]}


def test_an_owner_renames_by_link_files() -> None:
    """One for each device of the ports in the inventory, by its MAC; the rule of the lab names them all."""
    node = replace(cluster("netplan-networkd").nodes[0], interfaces=RENAMED)
    files = nodes.renamed_files(Lab("unit"), node)
    second = network.rail_mac(Lab("unit"), node, card.functions(node)[1])
    assert files["etc/systemd/network/10-aerial02.link"] == (f"[Match]\nMACAddress={second}\n\n[Link]\nName=aerial02\n", 0o644)
    assert 'KERNEL=="aerial00|aerial02"' in files["etc/udev/rules.d/86-lab-renamed.rules"][0]
    assert len(files) == 3
    assert nodes.renamed_files(Lab("unit"), cluster("netplan-networkd").nodes[0]) == {}


def test_host_keys_are_checked() -> None:
    """The lab pins them; nothing is accepted on sight."""
    made = cluster("netplan-networkd")
    text = ssh.ssh_config(Path("/state"), "gb10-default-ctl", made.nodes)
    assert "StrictHostKeyChecking yes" in text
    assert "Host spark-2\n  HostName 192.168.10.12\n  User nvidia\n" in text
    assert "host_key_checking = true" in ssh.ansible_cfg(Path("/state"))


def test_index_page_carries_digests(tmp_path: Path) -> None:
    """pip checks what it downloads against them."""
    wheel = tmp_path / "a-1-py3-none-any.whl"
    wheel.write_bytes(b"")
    assert wheels.page([wheel]) == (
        "<!DOCTYPE html>\n"
        '<a href="a-1-py3-none-any.whl#sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855">a-1-py3-none-any.whl</a><br>\n'
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"port": "p0", "rail": "1"}, ["enP2p1s0f0np0"]),
        ({"port": "p1", "rail": "all"}, ["enp1s0f1np1", "enP2p1s0f1np1"]),
        ({"port": "all", "rail": "0"}, ["enp1s0f0np0", "enp1s0f1np1"]),
    ],
)
def test_faults_choose_functions_by_port_and_rail(options: dict[str, str], expected: list[str]) -> None:
    """As the options of a fault name them."""
    assert [each.interface for each in hardware.chosen(cluster("netplan-networkd").nodes[0], options)] == expected

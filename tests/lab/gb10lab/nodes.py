# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes: the files of a fresh machine, and the containers that boot from them."""

from __future__ import annotations

import shutil
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import card, containers, network, rack, ssh, wheels
from .inventory import Cluster, Node
from .shell import LabError, run
from .state import Lab

SHARE = Path(__file__).resolve().parents[1] / "node"
#: Seconds until a node must let its user log in; a boot takes two to four, a busy machine more.
BOOT_TIMEOUT = 120.0

DGX_RELEASE = """\
    DGX_NAME="DGX Spark"
    DGX_PRETTY_NAME="NVIDIA DGX Spark"
    DGX_SWBUILD_DATE="2025-09-10-13-50-03"
    DGX_SWBUILD_VERSION="7.2.3"
    DGX_COMMIT_ID="0000000"
    DGX_PLATFORM="simulated"
    DGX_SERIAL_NUMBER="LAB{number:04d}"

    DGX_OTA_VERSION="7.3.1"
    DGX_OTA_DATE="2025-12-01"

    DGX_OTA_VERSION="7.5.0"
    DGX_OTA_DATE="2026-07-20"
    """
OS_RELEASE = """\
    PRETTY_NAME="Ubuntu 24.04 (simulated by the gb10.cluster lab)"
    NAME="Ubuntu"
    VERSION_ID="24.04"
    VERSION="24.04 LTS (Noble Numbat)"
    VERSION_CODENAME=noble
    ID=ubuntu
    ID_LIKE=debian
    """
NETPLAN = """\
    network:
      version: 2
      ethernets:
        {interface}:
          addresses: [{address}/{length}]
          routes:
            - to: default
              via: {gateway}
    """
# After three minutes without a lease NetworkManager would take a rail's link-local address away for five, whatever anybody else does.
NM_PATIENCE = """\
    [connection]
    ipv4.dhcp-timeout=2147483647
    """
NETPLAN_DESKTOP = """\
    # Let NetworkManager manage all devices on this system
    network:
      version: 2
      renderer: NetworkManager
    """
KEYFILE = """\
    [connection]
    id=management
    uuid=6d616e61-6765-4d65-8e74-00000000000{number}
    type=ethernet
    interface-name={interface}

    [ipv4]
    method=manual
    address1={address}/{length},{gateway}

    [ipv6]
    method=link-local
    """
#: The file of a fresh machine that configures management, by backend.
MANAGEMENT_FILES = {
    "netplan-networkd": "etc/netplan/50-cloud-init.yaml",
    "netplan-networkmanager": "etc/netplan/50-cloud-init.yaml",
    "networkmanager": "etc/NetworkManager/system-connections/management.nmconnection",
}


def fresh_files(cluster: Cluster, node: Node) -> dict[str, tuple[str, int]]:
    """What a machine that was just set up has beyond its packages: {path: (text, mode)}."""
    facts: dict[str, Any] = {
        "interface": network.MANAGEMENT,
        "address": node.address,
        "length": cluster.network.partition("/")[2],
        "gateway": cluster.gateway,
        "number": node.number,
    }
    management = KEYFILE if node.backend == "networkmanager" else NETPLAN
    texts = {
        MANAGEMENT_FILES[node.backend]: (management, 0o600),
        "etc/dgx-release": (DGX_RELEASE, 0o644),
        "etc/os-release": (OS_RELEASE, 0o644),
        "etc/nvidia/cx7-hotplug-enabled": ("", 0o644),
        "etc/resolv.conf": ("", 0o644),
        "etc/hosts": (f"127.0.0.1 localhost\n127.0.1.1 {node.name}\n::1 ip6-localhost ip6-loopback\n", 0o644),
    }
    if node.backend != "netplan-networkd":
        texts["etc/NetworkManager/conf.d/90-lab-patience.conf"] = (NM_PATIENCE, 0o644)
    if node.backend == "netplan-networkmanager":
        texts["etc/netplan/01-network-manager-all.yaml"] = (NETPLAN_DESKTOP, 0o600)
    if node.backend == "networkmanager":
        texts["etc/NetworkManager/conf.d/10-globally-managed-devices.conf"] = ("", 0o644)
    filled = {path: (textwrap.dedent(text).format_map(facts), mode) for path, (text, mode) in texts.items()}
    return filled | {"etc/pip.conf": (wheels.pip_conf(cluster.gateway), 0o644)}


def renamed_files(lab: Lab, node: Node) -> dict[str, tuple[str, int]]:
    """How the owner of a node gave other names to its fabric devices: a .link file for each.

    The udev rule is the lab's: its rule that a device is a ConnectX knows a ConnectX's own names alone.
    """
    renamed = [each for each in card.functions(node) if each.port in node.interfaces]
    texts = {
        f"etc/systemd/network/10-{each.interface}.link": f"[Match]\nMACAddress={network.rail_mac(lab, node, each)}\n\n[Link]\nName={each.interface}\n"
        for each in renamed
    }
    if renamed:
        names = "|".join(each.interface for each in renamed)
        rule = f'SUBSYSTEM=="net", KERNEL=="{names}", ENV{{ID_NET_DRIVER}}="mlx5_core", ENV{{ID_BUS}}="pci"\n'
        texts["etc/udev/rules.d/86-lab-renamed.rules"] = rule
    return {path: (text, 0o644) for path, text in texts.items()}


def lay_out(lab: Lab, node: Node, public_key: str) -> None:
    """Write the node's folder: the card, the files of a fresh machine, the account, the programs."""
    folder = lab.node_folder(node)
    made = card.functions(node)
    card.write(folder / "hw", card.tree(node.number, made))
    card.write_description(folder / "hw", rack.planned(lab.up).modules(node.name), made)
    (folder / "user").write_text(node.user + "\n", encoding="ascii")
    files = fresh_files(lab.up, node) | renamed_files(lab, node) | {"etc/lab-authorized-keys": (public_key + "\n", 0o600)}
    for name, (text, mode) in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
    if node.backend == "networkmanager":
        (folder / "no-netplan").touch()
    (folder / "share").mkdir()


def start(lab: Lab, node: Node, name: str) -> None:
    """Boot a node from image ``name``."""
    shared = ["--volume", f"{lab.node_folder(node)}:/lab", "--volume", f"{lab.folder / 'share'}:/lab/share:ro"]
    containers.start(lab, node.name, f"n{node.number}", ["--hostname", node.name, *containers.MACHINE, *shared], name)


def boot(lab: Lab, name: str, beside: Callable[[], None]) -> None:
    """Lay out and start all nodes at once and the package index, and do ``beside`` meanwhile; return when every node lets its user in."""
    shutil.copytree(SHARE, lab.folder / "share", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    public = ssh.write(lab)
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(wheels.serve, lab, name)]
        for node in lab.up.nodes:
            lay_out(lab, node, public)
            jobs.append(pool.submit(start, lab, node, name))
        jobs.append(pool.submit(beside))
        for job in jobs:
            job.result()
        list(pool.map(lambda node: wait(lab, node), lab.up.nodes))


def wait(lab: Lab, node: Node, timeout: float = BOOT_TIMEOUT) -> None:
    """Return when the node's user can log in."""
    end = time.monotonic() + timeout
    while not ssh.answers(lab, node):
        if time.monotonic() > end:
            log = run("podman", "logs", "--tail", "5", lab.container(node.name), check=False)
            raise LabError(f"node {node.name} - expected a login within {timeout:.0f} s, found none. It said:\n{log.stdout}{log.stderr}".rstrip())
        time.sleep(0.2)

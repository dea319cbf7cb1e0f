# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes in folders: a home and an /etc/hosts each, between which the tests do what the role does."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import Account
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._exchange import exchange, withdraw
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._keys import ensure
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._peers import Peer

HOSTS = "127.0.0.1 localhost\n127.0.1.1 spark\n"


def peer(number: int, **changes: Any) -> Peer:
    """The record of a node as it could come from it."""
    record: Peer = {
        "name": f"spark-{number}",
        "user": "nvidia",
        "port": 22,
        "address": f"192.168.10.1{number}",
        "aliases": [f"gx10-{number}"],
        "addresses": [f"10.77.0.{number}", f"10.77.1.{number}"],
        "public_key": f"ssh-ed25519 AAAAkey{number}",
        "fresh": False,
        "host_keys": [f"ssh-ed25519 AAAAhost{number}"],
    }
    return {**record, **changes}  # type: ignore[typeddict-item]


def snapshot(folder: Path, times: bool = False) -> dict[str, tuple[object, ...]]:
    """Everything below ``folder``: content or target, mode; with ``times`` also inode and change time."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = (content, oct(status.st_mode), *((status.st_ino, status.st_mtime_ns) if times else ()))
    return found


class Node:
    """One node below ``root``."""

    def __init__(self, root: Path, number: int) -> None:
        """Make a home without ``.ssh``, and an /etc/hosts."""
        self.number, self.name, self.root = number, f"spark-{number}", root
        entry = pwd.getpwuid(os.geteuid())
        (root / "home").mkdir(parents=True, mode=0o755)
        self.home = Home(Account(entry.pw_name, os.geteuid(), os.getegid(), root / "home"))
        self.hosts = root / "hosts"
        self.hosts.write_text(HOSTS)
        self.hosts.chmod(0o644)

    def key(self, rotate: bool = False, check_mode: bool = False) -> dict[str, Any]:
        """The first task of the role."""
        return ensure(self.home, self.name, rotate, check_mode)

    def know(self, names: Iterable[str], peers: list[Peer], check_mode: bool = False, hosts_file: bool = True) -> dict[str, Any]:
        """The second task of the role."""
        return exchange(self.home, list(names), peers, hosts_file, check_mode, self.hosts)

    def leave(self, check_mode: bool = False) -> dict[str, Any]:
        """State absent."""
        return withdraw(self.home, check_mode, self.hosts)

    def text(self, *parts: str) -> str:
        """The text of a file in ``.ssh``."""
        return self.home.ssh.joinpath(*parts).read_text()


class Cluster:
    """Nodes, and what the role does to them; ``run`` returns by node the results of both tasks."""

    def __init__(self, root: Path) -> None:
        """No node yet."""
        self.root, self.nodes = root, {}  # type: Path, dict[str, Node]

    def add(self, number: int) -> Node:
        """One more node, also in the plan."""
        node = Node(self.root / f"spark-{number}", number)
        self.nodes[node.name] = node
        return node

    def run(self, *here: str, planned: list[str] | None = None, rotate: bool = False, check_mode: bool = False) -> dict[str, list[dict[str, Any]]]:
        """A run on the nodes ``here``, on all by default."""
        nodes = [self.nodes[name] for name in here or self.nodes]
        pairs = {node.name: node.key(rotate, check_mode) for node in nodes}
        peers = [peer(node.number, public_key=pairs[node.name]["public_key"], fresh=pairs[node.name]["fresh"]) for node in nodes]
        return {node.name: [pairs[node.name], node.know(planned or list(self.nodes), peers, check_mode)] for node in nodes}


def changed(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The nodes on which something was changed."""
    return [name for name, both in results.items() if any(result["changed"] for result in both)]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes need not outlive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node."""
    return Node(tmp_path / "spark-1", 1)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Three nodes; needs ssh-keygen."""
    if not shutil.which("ssh-keygen"):
        pytest.skip("no ssh-keygen on this machine")
    made = Cluster(tmp_path)
    for number in (1, 2, 3):
        made.add(number)
    return made

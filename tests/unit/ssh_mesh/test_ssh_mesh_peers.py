# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files say about a node, and what OpenSSH itself makes of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _blocks, _peers
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._peers import Peer

from .conftest import peer

LINES = [
    (_peers.authorized, {}, ["ssh-ed25519 AAAAkey2 gb10.cluster:spark-2"]),
    (_peers.authorized, {"public_key": None, "fresh": True}, ["(new key of spark-2) gb10.cluster:spark-2"]),
    (_peers.authorized_shown, {}, ["ssh-ed25519 AAAAkey2 gb10.cluster:spark-2"]),
    (_peers.authorized_shown, {"fresh": True}, ["(new key of spark-2) gb10.cluster:spark-2"]),
    (_peers.known, {}, ["spark-2,gx10-2,192.168.10.12,10.77.0.2,10.77.1.2 ssh-ed25519 AAAAhost2"]),
    (_peers.known, {"host_keys": ["a 1", "b 2"], "aliases": [], "addresses": []}, ["spark-2,192.168.10.12 a 1", "spark-2,192.168.10.12 b 2"]),
    (_peers.known, {"port": 2222, "aliases": [], "addresses": ["fd00::2"]}, [
        "[spark-2]:2222,[192.168.10.12]:2222,[fd00::2]:2222 ssh-ed25519 AAAAhost2"]),
    (_peers.hosts, {}, ["192.168.10.12\tspark-2 gx10-2"]),
    (_peers.hosts, {"name": "192.168.10.12"}, ["192.168.10.12\tgx10-2"]),
    (_peers.hosts, {"name": "192.168.10.12", "aliases": []}, []),
    (_peers.hosts, {"address": "spark-2.example.net"}, []),
    (_peers.settings, {"user": "bob", "port": 2222}, [
        "Host spark-2 gx10-2",
        "  HostName 192.168.10.12",
        "Host spark-2 gx10-2 192.168.10.12 10.77.0.2 10.77.1.2",
        "  User bob",
        "  Port 2222",
        "  IdentityFile ~/.ssh/gb10/id_ed25519",
        "  Include gb10/previous.conf",
        "  IdentitiesOnly yes",
        "  UserKnownHostsFile ~/.ssh/gb10/known_hosts",
        "  StrictHostKeyChecking yes",
        "  UpdateHostKeys no",
        "Match all",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "changes", "expected"), LINES)
def test_the_lines_of_a_node(lines: Any, changes: dict[str, Any], expected: list[str]) -> None:
    assert lines(peer(2, **changes)) == expected


def asked(argv: list[str]) -> str:
    """What a command of OpenSSH says."""
    if not shutil.which(argv[0]):
        pytest.skip(f"no {argv[0]} on this machine")
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("called", "user", "hostname", "port"),
    [
        ("spark-1", "nvidia", "192.168.10.11", "22"),
        ("gx10-1", "nvidia", "192.168.10.11", "22"),
        ("10.77.0.1", "nvidia", "10.77.0.1", "22"),
        ("spark-2", "bob", "192.168.10.12", "2222"),
        ("10.77.1.2", "bob", "10.77.1.2", "2222"),
    ],
)
def test_ssh_reads_the_settings_as_they_are_meant(called: str, user: str, hostname: str, port: str, tmp_path: Path) -> None:
    peers = [peer(1), peer(2, user="bob", port=2222)]
    (tmp_path / "config").write_text(_blocks.join({item["name"]: _peers.settings(item) for item in peers}, "Host *\n  User other\n"))
    told = dict(line.split(" ", 1) for line in asked(["ssh", "-G", "-F", str(tmp_path / "config"), called]).splitlines())
    assert (told["user"], told["hostname"], told["port"]) == (user, hostname, port)
    assert told["identityfile"].endswith("/.ssh/gb10/id_ed25519")
    assert told["userknownhostsfile"].endswith("/.ssh/gb10/known_hosts")
    assert (told["identitiesonly"], told["stricthostkeychecking"], told["updatehostkeys"]) == ("yes", "true", "false")


@pytest.mark.parametrize("user", ["nvidia", "user@lab.example.net", "jo hn", "LAB\\jo hn", "LAB\\\\jo", "o'neill", 'a "b"', "#1", "jürgen"])
def test_ssh_reads_any_name_of_a_user_as_one(user: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("\n".join([*_peers.settings(peer(1, user=user)), ""]))
    told = dict(line.split(" ", 1) for line in asked(["ssh", "-G", "-F", str(tmp_path / "config"), "spark-1"]).splitlines())
    assert told["user"] == user


def test_ssh_adds_no_host_keys_to_our_file_whatever_the_user_set(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("\n".join([*_peers.settings(peer(1)), "Host *", "  UpdateHostKeys yes", ""]))
    assert "updatehostkeys false" in asked(["ssh", "-G", "-F", str(tmp_path / "config"), "spark-1"]).splitlines()


def test_settings_of_nodes_touch_no_other_host(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(_blocks.join({"spark-1": _peers.settings(peer(1))}, "User other\n"))
    (tmp_path / "none").write_text("User other\n")
    assert asked(["ssh", "-G", "-F", str(tmp_path / "config"), "elsewhere"]) == asked(["ssh", "-G", "-F", str(tmp_path / "none"), "elsewhere"])


@pytest.mark.parametrize("port", [22, 2222])
def test_ssh_knows_every_form_of_a_node(port: int, tmp_path: Path) -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6hGJ0lE0Qm0cuv5iy3oxMIFZvQX2cH0bYVHvRNkYdS"
    node = peer(1, name="Spark-1", port=port, host_keys=[key], addresses=["10.77.0.1", "fd00::1"])
    (tmp_path / "known_hosts").write_text(_blocks.join({"Spark-1": _peers.known(node)}, ""))
    for form in _peers.forms(node):
        called = form if port == 22 else f"[{form}]:{port}"
        assert key in asked(["ssh-keygen", "-F", called, "-f", str(tmp_path / "known_hosts")])


SETTLED = [
    ("all differ", [peer(1), peer(2)], {}, []),
    ("cloned machines", [peer(1, aliases=["gx10"]), peer(2, aliases=["gx10"])], {"spark-1": [], "spark-2": []}, [
        "gx10 - expected to stand for one node, found spark-1 and spark-2. "
        "Only a node of that inventory name is called so. Give the machines different host names and addresses."]),
    ("named as another one", [peer(1), peer(2, aliases=["spark-1", "gx10-2"])], {"spark-1": ["gx10-1"], "spark-2": ["gx10-2"]}, [
        "spark-1 - expected to stand for one node, found spark-1 and spark-2. "
        "Only a node of that inventory name is called so. Give the machines different host names and addresses."]),
]  # fmt: skip


@pytest.mark.parametrize(("title", "peers", "aliases", "warnings"), SETTLED, ids=[row[0] for row in SETTLED])
def test_a_form_stands_for_one_node(title: str, peers: list[Peer], aliases: dict[str, list[str]], warnings: list[str]) -> None:
    settled, told = _peers.settle(peers)
    assert told == warnings
    assert {item["name"]: item["aliases"] for item in settled if item["name"] in aliases} == aliases


def test_an_address_behind_which_are_two_nodes_is_not_used() -> None:
    settled, _told = _peers.settle([peer(1, addresses=["203.0.113.1", "10.77.0.1"]), peer(2, addresses=["203.0.113.1", "10.77.0.2"])])
    assert [item["addresses"] for item in settled] == [["10.77.0.1"], ["10.77.0.2"]]


@pytest.mark.parametrize(
    ("peers", "refusals"),
    [
        ([peer(1), peer(2)], []),
        ([peer(1, port=2201), peer(2, address="192.168.10.11", port=2202)], []),
        ([peer(1), peer(2, address="192.168.10.11")], [
            "address 192.168.10.11 port 22 - expected to be one node's, found spark-1 and spark-2. "
            "Set ssh_mesh_address of each to an address that leads to it alone."]),
    ],
)  # fmt: skip
def test_two_nodes_at_one_address_are_refused(peers: list[Peer], refusals: list[str]) -> None:
    assert _peers.refuse(peers) == refusals


ODD = [
    ({"aliases": ["gx10\n  ProxyCommand x"]}, "name or address told by 'spark-1' - expected letters, digits, dots, colons, dashes and underscores, found "
     "'gx10\\n  ProxyCommand x'."),
    ({"addresses": ["*"]}, "name or address told by 'spark-1' - expected letters, digits, dots, colons, dashes and underscores, found '*'."),
    ({"address": ""}, "name or address told by 'spark-1' - expected letters, digits, dots, colons, dashes and underscores, found ''."),
    ({"name": "a b"}, "name or address told by 'a b' - expected letters, digits, dots, colons, dashes and underscores, found 'a b'."),
    ({"host_keys": ["ssh-rsa AAAA\n* ssh-rsa BBBB"]}, "key told by 'spark-1' - expected a type and a key, found 'ssh-rsa AAAA\\n* ssh-rsa BBBB'."),
    ({"public_key": "ssh-rsa AAAA\nssh-rsa BBBB"}, "key told by 'spark-1' - expected a type and a key, found 'ssh-rsa AAAA\\nssh-rsa BBBB'."),
    ({"user": "a\n  ProxyCommand x"}, "user told by 'spark-1' - expected a name on one line, found 'a\\n  ProxyCommand x'."),
    ({"user": ""}, "user told by 'spark-1' - expected a name on one line, found ''."),
    ({"port": 0}, "port told by 'spark-1' - expected 1 to 65535, found 0."),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "text"), ODD)
def test_nothing_that_a_node_tells_can_become_another_line_on_the_others(changes: dict[str, Any], text: str) -> None:
    assert _peers.refuse([peer(1, **changes), peer(2)]) == [f"{text} Pass what ssh_mesh_node returned on that node, and look at that node if it is."]


def test_a_key_that_check_mode_did_not_make_is_nothing_odd() -> None:
    assert _peers.refuse([peer(1, public_key=None, fresh=True), peer(2)]) == []

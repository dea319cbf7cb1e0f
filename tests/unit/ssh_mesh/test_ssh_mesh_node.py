# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node tells about itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _node
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError


def link(*addresses: str) -> dict[str, Any]:
    """A row of `ip -j addr`."""
    return {
        "addr_info": [
            {"local": text, "prefixlen": 64, "family": "inet6" if ":" in text else "inet", "scope": "link" if text.startswith("fe80") else "global"}
            for text in addresses
        ]
    }


PRESENT = {
    "lo": {"addr_info": [{"local": "127.0.0.1", "prefixlen": 8, "family": "inet", "scope": "host"}]},
    "enP7s7": link("192.168.10.11", "192.168.10.99", "2001:db8::11", "2001:db8::abcd", "fe80::11"),
    "wlP9s9": link("192.168.20.11"),
    "six": link("2001:db8:6::1", "2001:db8:6::2", "fe80::6"),
    "enp1s0f0np0": link("10.77.0.1"),
}


@pytest.mark.parametrize(
    ("server", "ways_out", "expected"),
    [
        ("192.168.10.11", ["wlP9s9"], ["192.168.10.11", "192.168.10.99"]),
        ("192.168.10.99", [], ["192.168.10.99", "192.168.10.11"]),
        ("fe80::11", [], ["192.168.10.11", "192.168.10.99"]),
        ("2001:db8::abcd", [], ["192.168.10.11", "192.168.10.99"]),
        ("2001:db8:6::2", [], ["2001:db8:6::2"]),
        ("127.0.0.1", ["wlP9s9", "enP7s7"], ["192.168.20.11"]),
        (None, ["wlP9s9"], ["192.168.20.11"]),
        (None, [], []),
    ],
)
def test_the_address_is_one_of_the_interface_by_which_we_came(server: str | None, ways_out: list[str], expected: list[str]) -> None:
    assert _node.choose(PRESENT, server, ways_out) == expected


def ip(argv: list[str]) -> Result:
    """The command `ip` of a node with one interface."""
    if "addr" in argv:
        row = '{"ifname":"enP7s7","addr_info":[{"family":"inet","local":"192.168.10.11","prefixlen":24,"scope":"global"}]}'
        return Result(tuple(argv), 0, f"[{row}]")
    return Result(tuple(argv), 0, '[{"dst":"default","gateway":"192.168.10.1","dev":"enP7s7"}]' if "-4" in argv else "[]")


@pytest.mark.parametrize(
    ("connection", "port"),
    [("192.168.10.1 50000 192.168.10.11 2222", 2222), ("192.168.10.1 50000 127.0.0.1 22", 22), (None, 22), ("nonsense", 22)],
)
def test_the_port_is_that_of_the_session(connection: str | None, port: int) -> None:
    assert _node.reached(connection, ip) == (["192.168.10.11"], port)


NAMES = [
    # name, hostname, reached_as, address, found -> address, aliases, addresses
    (("spark-1", "spark-1", "192.168.10.11", "", ["192.168.10.11"]), ("192.168.10.11", [], ["10.77.0.1"])),
    (("spark-1", "gx10-ab12.lan", "spark-1.local", "", ["192.168.10.11", "192.168.10.99"]),
     ("192.168.10.11", ["gx10-ab12.lan", "gx10-ab12"], ["spark-1.local", "192.168.10.99", "10.77.0.1"])),
    (("spark-1.example.net", "spark-1", "spark-1.example.net", None, ["192.168.10.11"]), ("192.168.10.11", ["spark-1"], ["10.77.0.1"])),
    (("spark-1", "spark-1", "203.0.113.5", "192.168.30.1", ["192.168.10.11"]), ("192.168.30.1", [], ["203.0.113.5", "192.168.10.11", "10.77.0.1"])),
    (("192.168.10.11", "spark-1", "192.168.10.11", "", ["192.168.10.11"]), ("192.168.10.11", ["spark-1"], ["10.77.0.1"])),
    (("spark-1", "localhost", "127.0.0.1", "", ["192.168.10.11"]), ("192.168.10.11", [], ["10.77.0.1"])),
    (("Spark_1.Lab", "SPARK-1", "Spark_1.Lab", "", ["192.168.10.11"]),
     ("192.168.10.11", ["Spark_1", "SPARK-1", "spark_1.lab", "spark_1", "spark-1"], ["10.77.0.1"])),
    (("spark-1", "LOCALHOST", "Localhost.localdomain", "", ["192.168.10.11"]), ("192.168.10.11", [], ["10.77.0.1"])),
    (("spark-1", "localhost-2", "fe80::1%enP7s7", "", ["192.168.10.11"]), ("192.168.10.11", ["localhost-2"], ["10.77.0.1"])),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), NAMES)
def test_every_form_of_a_node_is_named_once(given: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert tuple(_node.names(*given, ["10.77.0.1"])) == expected


@pytest.mark.parametrize(
    ("name", "address", "refusals"),
    [
        ("*", "192.168.10.11", ["inventory name - expected letters, digits, dots, dashes and underscores, and not localhost, found '*'. Rename the host."]),
        ("localhost", "192.168.10.11", [
            "inventory name - expected letters, digits, dots, dashes and underscores, and not localhost, found 'localhost'. Rename the host."]),
        ("-o", "", [
            "inventory name - expected letters, digits, dots, dashes and underscores, and not localhost, found '-o'. Rename the host.",
            "address of -o - expected one for the other nodes to connect to, found none. "
            "Set ssh_mesh_address of -o to the address at which the other nodes reach it."]),
        ("spark-1", "127.0.0.1", [
            "address of spark-1 - expected one for the other nodes to connect to, found 127.0.0.1. "
            "Set ssh_mesh_address of spark-1 to the address at which the other nodes reach it."]),
    ],
)  # fmt: skip
def test_what_would_mean_something_else_is_refused(name: str, address: str, refusals: list[str]) -> None:
    with pytest.raises(MeshError) as failure:
        _node.names(name, "host", name, address, [], [])
    assert list(failure.value.args) == refusals


def test_host_keys_are_those_of_sshd_without_their_comments(tmp_path: Path) -> None:
    files = {
        "ssh_host_ed25519_key.pub": "ssh-ed25519 AAAAed root@spark\n",
        "ssh_host_ecdsa_key.pub": "ecdsa-sha2-nistp256 AAAAec=",
        "ssh_host_rsa_key.pub": "ssh-rsa  AAAArsa== root@spark\n",
        "ssh_host_dsa_key.pub": "ssh-dss AAAAdsa root@spark\n",
        "ssh_host_odd_key.pub": "ssh-ed25519 not;a;key\n",
        "ssh_host_ed25519_key": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        "ssh_host_ed25519_key-cert.pub": "ssh-ed25519-cert-v01@openssh.com AAAAcert\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert _node.host_keys(tmp_path) == ["ecdsa-sha2-nistp256 AAAAec=", "ssh-ed25519 AAAAed", "ssh-rsa AAAArsa=="]


def test_a_node_without_host_keys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeshError) as failure:
        _node.host_keys(tmp_path)
    assert str(failure.value) == (
        f"{tmp_path}/ssh_host_*_key.pub - expected the public keys of sshd, found none. Make them with ssh-keygen -A."
    )


def test_all_that_is_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_node, "reached", lambda _connection: ([], 22))
    monkeypatch.setattr(_node.host_keys, "__defaults__", (tmp_path,))
    with pytest.raises(MeshError) as failure:
        _node.describe("spark-1", "spark-1", "spark-1", None, [], None)
    assert [text.partition(" - ")[0] for text in failure.value.args] == ["address of spark-1", f"{tmp_path}/ssh_host_*_key.pub"]

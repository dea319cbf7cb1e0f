# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product's login against switches with odd names, over real SSH and netmiko."""

from __future__ import annotations

import paramiko
import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import Access
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._command import Command
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import SwitchError
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from switch.console import Scenario
from switch.hardware import build
from switch.server import Server


@pytest.fixture(scope="module")
def host_key():
    return paramiko.ECDSAKey.generate()


@pytest.fixture
def lab(host_key, tmp_path):
    """Starts a switch on a free port; gives the server and how to reach it."""
    servers = []

    def start(identity: str = "crs812", user: str = "admin", **scenario) -> tuple[Server, Access]:
        machine = build("CRS812", "7.23.7", identity=identity)
        machine.passwords = {user: "secret"}
        server = Server(machine, host_key=host_key, scenario=Scenario(**scenario))
        servers.append(server)
        known_hosts = tmp_path / "known_hosts"
        known_hosts.write_text(server.known_hosts_line())
        return server, Access(server.host, server.port, user, "secret", None, 5, True, str(known_hosts))

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize("identity", [
    "a b", "x] > y", "[admin@other] >", "<SAFE>", "n" * 64, "$(x)", "M\u00fcller \u2713", ">", "]", "1",
    "x/y>", "yes? [y/N]", "numbers:", "a\\b", "^.*$", "tail ", "#1"])
def test_a_switch_may_have_any_identity(lab, identity):
    _server, access = lab(identity)
    session = connect(access)
    assert len(session.rows("/interface/bridge/port")) == 34
    assert session.run("/safe-mode/take on-error=unroll").complete
    assert session.write(Command("/interface/ethernet", "set", ("ether2",), {"comment": "M\u00fcller \u2713"})) == ""
    assert session.write(Command("/interface/ethernet", "set", ("ether2",), {"l2mtu": 99999})) == "value of l2mtu out of range (0..65536)"
    session.run("/safe-mode/release")
    assert session.rows("/interface/ethernet")[1]["comment"] == "M\u00fcller \u2713"
    session.close()


@pytest.mark.parametrize("scenario", [{}, {"pieces": 1}, {"pieces": 7}, {"noise": True}, {"echo": "letters"}])
def test_a_character_in_two_pieces_is_one(lab, scenario):
    server, access = lab(**scenario)
    comment = "\u00fc\u2713" * 60
    for row in server.machine.rows("/interface/ethernet")[:4]:
        row["comment"] = comment
    session = connect(access)
    rows = session.rows("/interface/ethernet")
    assert [row["comment"] for row in rows[:4]] == [comment] * 4
    session.close()


@pytest.mark.parametrize(("kind", "found"), [
    ("locked", "one with a passphrase"), ("locked openssh", "one with a passphrase"), ("garbage", "something else"), ("bytes", "something else"),
    ("missing", "No such file or directory"), ("folder", "Is a directory")])
def test_a_private_key_that_can_not_be_used_is_named_and_not_the_user(lab, tmp_path, kind, found):
    _server, access = lab()
    key = tmp_path / "key"
    if kind == "locked":
        paramiko.RSAKey.generate(2048).write_private_key_file(str(key), "passphrase")
    elif kind == "locked openssh":
        encryption = serialization.BestAvailableEncryption(b"passphrase")
        key.write_bytes(ed25519.Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, encryption))
    elif kind == "garbage":
        key.write_text("no key\n")
    elif kind == "bytes":
        key.write_bytes(b"\x00\xe5\xff")
    elif kind == "folder":
        key.mkdir()
    with pytest.raises(SwitchError, match=rf"private key {key} - expected a key without a passphrase, found {found}\. Correct private_key_file\."):
        connect(access._replace(password=None, private_key_file=str(key)))


def test_a_good_key_that_the_switch_does_not_know_is_refused_by_the_switch(lab, tmp_path):
    _server, access = lab()
    paramiko.RSAKey.generate(2048).write_private_key_file(str(tmp_path / "key"))
    with pytest.raises(SwitchError, match="login as admin - expected accepted, found refused"):
        connect(access._replace(password=None, private_key_file=str(tmp_path / "key")))

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product's login against the simulated switch, over real SSH and netmiko."""

from __future__ import annotations

import paramiko
import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import Access
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._command import Command
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import ConnectionLost, SwitchError
from switch.console import Scenario
from switch.hardware import build
from switch.server import Server


@pytest.fixture(scope="module")
def host_key():
    return paramiko.RSAKey.generate(2048)


@pytest.fixture
def lab(host_key, tmp_path):
    """Starts switches on free ports; gives the server and how to reach it."""
    servers = []

    def start(**scenario) -> tuple[Server, Access]:
        machine = build("CRS812", "7.23.7", identity="crs812")
        machine.passwords = {"admin": "secret"}
        server = Server(machine, host_key=host_key, scenario=Scenario(**scenario))
        servers.append(server)
        known_hosts = tmp_path / "known_hosts"
        known_hosts.write_text(server.known_hosts_line())
        return server, Access(server.host, server.port, "admin", "secret", None, 5, True, str(known_hosts))

    yield start
    for server in servers:
        server.close()


def rows(access: Access) -> int:
    session = connect(access)
    try:
        return len(session.rows("/interface/ethernet"))
    finally:
        session.close()


def test_one_login_reads_a_whole_menu_over_a_terminal_of_511_columns(lab):
    server, access = lab()
    assert rows(access) == 34
    assert server.machine.counts["logins"] == 1


@pytest.mark.parametrize(
    "scenario",
    [{"echo": "double"}, {"echo": "letters"}, {"noise": True}, {"early_prompt": True}, {"pieces": 700}],
    ids=["echoed twice", "echoed letter by letter", "log lines", "prompts painted early", "in pieces"],
)
def test_a_restless_terminal_reads_the_same(lab, scenario):
    _server, access = lab(**scenario)
    session = connect(access)
    assert len(session.rows("/interface/bridge/port")) == 34
    assert session.run("/safe-mode/take on-error=unroll").complete
    assert session.write(Command("/interface/ethernet", "set", ("ether2",), {"mtu": 1400})) == ""
    assert session.write(Command("/interface/ethernet", "set", ("ether2",), {"l2mtu": 99999})) == "value of l2mtu out of range (0..65536)"
    session.run("/safe-mode/release")
    assert session.run(":put [/interface/ethernet get ether2 mtu]").text == "1400"
    session.close()


def test_a_key_logs_in_and_then_a_password_does_not(lab, tmp_path):
    server, access = lab()
    key = paramiko.RSAKey.generate(2048)
    key.write_private_key_file(str(tmp_path / "key"))
    server.machine.keys["admin"] = {key.get_base64()}
    assert rows(access._replace(password=None, private_key_file=str(tmp_path / "key"))) == 34
    with pytest.raises(SwitchError, match="login as admin - expected accepted, found refused"):
        rows(access)


def test_a_wrong_password_is_refused(lab):
    _server, access = lab()
    with pytest.raises(SwitchError, match="login as admin - expected accepted, found refused"):
        rows(access._replace(password="wrong"))


def test_an_unknown_host_key_is_refused(lab, tmp_path):
    _server, access = lab()
    (tmp_path / "empty").write_text("")
    with pytest.raises(SwitchError, match=rf"host key - expected known in {tmp_path}/empty, found unknown"):
        rows(access._replace(known_hosts_file=str(tmp_path / "empty")))


def test_a_changed_host_key_is_refused(lab, tmp_path):
    server, access = lab()
    other = paramiko.RSAKey.generate(2048)
    (tmp_path / "old").write_text(f"[{server.host}]:{server.port} {other.get_name()} {other.get_base64()}\n")
    with pytest.raises(SwitchError, match=rf"host key - expected the one in {tmp_path}/old, found another one"):
        rows(access._replace(known_hosts_file=str(tmp_path / "old")))


def test_an_unknown_host_key_is_accepted_only_when_told_so(lab, tmp_path):
    _server, access = lab()
    assert rows(access._replace(known_hosts_file=str(tmp_path / "none"), host_key_checking=False)) == 34


@pytest.mark.parametrize(
    ("screen", "found"),
    [("license", "the licence question of a first login"), ("unlicensed", "the notice of an unlicensed system"),
     ("default-config", "the default configuration screen of a first login"), ("new-password", "the question for a new password")],
)
def test_a_screen_of_a_first_login_is_an_error_and_no_hang(lab, screen, found):
    _server, access = lab(screens=[screen])
    with pytest.raises(SwitchError, match=f"login - expected a prompt, found {found}. Log in once by hand"):
        rows(access)


def test_a_switch_that_is_not_there_is_an_error(lab):
    server, access = lab()
    server.close()
    with pytest.raises(SwitchError, match="login - expected a prompt within 5 s, found TCP connection to device failed"):
        rows(access)


def test_a_connection_that_is_cut_is_noticed(lab):
    _server, access = lab(drop_at=3)
    session = connect(access)
    session.run(":put 1")
    session.run(":put 2")
    with pytest.raises(ConnectionLost, match="SSH session - expected open, found closed"):
        session.run(":put 3")


def test_a_session_that_is_lost_in_safe_mode_is_undone(lab):
    server, access = lab()
    session = connect(access)
    session.run("/safe-mode/take on-error=unroll")
    session.write(Command("/interface/ethernet", "set", ("ether2",), {"mtu": 1400}))
    session.drop()
    other = connect(access)
    assert other.run(":put [/interface/ethernet get ether2 mtu]").text == "1500"
    other.close()

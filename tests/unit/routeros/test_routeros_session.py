# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One login, and what can go wrong with it."""

from __future__ import annotations

import re
import sys

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _login
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import (
    Access,
    access_of,
    change_argument_spec,
    connection_argument_spec,
)
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._command import Command
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._login import connect, login_error
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import ConnectionLost, Session, SwitchError

ACCESS = Access("192.0.2.1", 22, "admin", "secret", None, 5, True, None)


class ScriptedTerminal:
    """Plays answers to typed lines; ``{line}`` and ``{marker}`` stand for what was typed and for its marker."""

    prompt = "[admin@crs812]"
    address = "192.0.2.1"

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.pending: list[str] = []
        self.written: list[str] = []
        self.dropped = False

    def write(self, text: str) -> None:
        self.written.append(text)
        if not text.endswith("\r\n"):
            return
        line = text.strip()
        marker = re.search(r'"(#\d+)"$', line)
        self.pending = [part.format(line=line, marker=marker[1]) for part in self.answers.pop(0)]

    def read(self) -> str:
        return self.pending.pop(0) if self.pending else ""

    def close(self) -> None:
        pass

    def drop(self) -> None:
        self.dropped = True


ECHO = "\r[admin@crs812] > {line}\r\n"
PROMPT = "\r\r\r\r[admin@crs812] > "
DONE = "{marker}\r\n" + PROMPT


def session(*answers: list[str], timeout: float = 5) -> tuple[Session, ScriptedTerminal]:
    terminal = ScriptedTerminal(*answers)
    return Session(terminal, "crs812", timeout), terminal


def test_a_command_that_prints_nothing_went_through():
    switch, _terminal = session([ECHO, DONE])
    assert switch.write(Command("/interface/ethernet", "set", ("*A",), {"l2mtu": 9216})) == ""


def test_a_command_that_prints_anything_failed_whatever_the_words():
    switch, _terminal = session([ECHO + "failure: max bit rate is 100G\r\n" + PROMPT])
    assert switch.write(Command("/x", "set", ("*A",))) == "failure: max bit rate is 100G"


def test_a_prompt_painted_early_does_not_hide_the_refusal_that_follows():
    switch, _terminal = session([ECHO, PROMPT, "\r\n", "failure: could ", "not set mtu\r\n" + PROMPT])
    assert switch.write(Command("/x", "set", ("*A",))) == "failure: could not set mtu"


def test_a_late_line_of_the_command_before_is_not_part_of_the_answer():
    switch, _terminal = session([ECHO, DONE], ["\rSafe Mode released\r\n", PROMPT, ECHO, "5\r\n" + DONE])
    switch.run("/safe-mode/release")
    assert switch.run(":put 5").text == "5"


def test_a_question_is_answered_with_control_c_and_counts_as_a_refusal():
    switch, terminal = session([ECHO + "numbers: "])
    assert switch.write(Command("/x", "set")) == "numbers:"
    assert terminal.written[-1] == "\x03"


def test_a_silent_switch_is_dropped():
    switch, terminal = session([ECHO], timeout=0.3)
    with pytest.raises(ConnectionLost) as error:
        switch.run(":put 5")
    assert str(error.value) == (
        "crs812: answer to ':put 5' - expected within 0.3 s, found silence. Look at the switch's log and load, or raise the option timeout.")
    assert terminal.dropped


def test_a_slow_switch_is_waited_for_as_long_as_it_says_something():
    switch, _terminal = session([ECHO, *["."] * 5, "\r\n" + DONE], timeout=0.3)
    assert switch.run(":put 5").complete


def test_a_line_too_long_to_echo_is_never_sent():
    switch, terminal = session()
    with pytest.raises(SwitchError, match="expected at most 400 characters, found 401"):
        switch.run("x" * 401)
    assert terminal.written == []


def test_rows_that_are_no_json_are_read_once_more_the_older_way():
    switch, terminal = session(
        [ECHO, '[{{".id":"*1","name":\r\n#n=1\r\n' + DONE],
        [ECHO, ".id=*1;name=bridge\r\n#n=1\r\n" + DONE],
    )
    assert switch.rows("/interface/bridge") == [{".id": "*1", "name": "bridge"}]
    assert ":serialize" in terminal.written[0] and ":serialize" not in terminal.written[1]


def test_a_menu_that_can_not_be_read_is_an_error_in_the_words_of_the_switch():
    refused = [ECHO + "syntax error (line 1 column 10)\r\n" + PROMPT]
    switch, _terminal = session(refused, refused)
    with pytest.raises(SwitchError, match=r"crs812: /no/menu print detail as-value - expected readable rows, found 'syntax error"):
        switch.rows("/no/menu")


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("NetmikoAuthenticationException", "Authentication to device failed.",
         "192.0.2.1: login as admin - expected accepted, found refused. "
         "Check username, password and key; a user that has an SSH key may not log in with a password any more."),
        ("NetmikoTimeoutException", "A paramiko SSHException occurred: Server '192.0.2.1' not found in known_hosts",
         "192.0.2.1: host key - expected known in ~/.ssh/known_hosts, found unknown. "
         "Compare the fingerprint of ssh-keyscan -p 22 192.0.2.1 with the switch's and add the line to that file."),
        ("NetmikoTimeoutException", "Host key for server '192.0.2.1' does not match: got 'AAAA', expected 'BBBB'",
         "192.0.2.1: host key - expected the one in ~/.ssh/known_hosts, found another one. "
         "Find out why it changed (reset, another device, an attack) before the old line is replaced."),
        ("NetmikoTimeoutException", "TCP connection to device failed.\n\nCommon causes of this problem are:\n1. Incorrect hostname or IP address.\n",
         "192.0.2.1: login - expected a prompt within 5 s, found TCP connection to device failed. Check address, port and path to the switch."),
        ("FileNotFoundError", "no such key", "192.0.2.1: login - expected a prompt, found FileNotFoundError: no such key. "
         "Check address, port and key file."),
    ],
    ids=["password", "unknown host key", "changed host key", "unreachable", "key file"],
)
def test_a_failed_login_says_why(kind, text, said):
    error = login_error(type(kind, (Exception,), {})(text), ACCESS, "192.0.2.1")
    assert str(error) == said


def test_a_refused_login_without_password_and_key_names_the_variables_to_set():
    error = type("NetmikoAuthenticationException", (Exception,), {})("Authentication to device failed.")
    assert str(login_error(error, ACCESS._replace(password=None, private_key_file=None), "crs812")) == (
        "crs812: login as admin - expected accepted, found refused, without password and key. "
        "Set ansible_password (in a vault) or ansible_ssh_private_key_file, or load the key into the SSH agent.")


def test_a_missing_netmiko_names_the_python_that_lacks_it(monkeypatch):
    monkeypatch.setattr(_login, "HAS_NETMIKO", False)
    with pytest.raises(SwitchError) as error:
        connect(ACCESS)
    assert str(error.value) == (
        f"Python library netmiko - expected importable by {sys.executable}, found not installed there. "
        "Install it with pip install 'netmiko>=4.8,<5', or point ansible_python_interpreter at a Python that has it.")


@pytest.mark.parametrize("username", ["admin", "admin+ct80w", "admin+"])
def test_console_options_in_the_user_name_are_cut_off(username):
    params = dict.fromkeys(connection_argument_spec()) | {"username": username}
    assert access_of(params).username == "admin"


def test_the_password_is_never_logged_and_host_keys_are_checked():
    spec = change_argument_spec()
    assert spec["password"]["no_log"] is True
    assert spec["host_key_checking"]["default"] is True

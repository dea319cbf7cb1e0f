# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that told nothing: what Ansible says of it, and what we say. The texts on the left are real ones, of ssh, sudo and ansible-core."""

from __future__ import annotations

from typing import Any

import healthy_fabric
import pytest

from ansible_collections.gb10.cluster.plugins.filter.fabric_checks import FilterModule as ChecksFilters
from ansible_collections.gb10.cluster.plugins.filter.fabric_checks_table import FilterModule as TableFilters
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_silence import KNOWN, LONGEST, silence

OF_SSH = 'Task failed: Data could not be sent to remote host "192.168.10.11". Make sure this host can be reached over ssh: '
NO_JSON = "Module result deserialization failed: No start of json char found"
LOG_IN = "og in on it once by hand with ssh, and compare the key that it shows"
OWN_PASSWORD = "where the nodes have different ones, set ansible_become_password of each in a vault."
CHANGED_KEY = (
    "@@@@@@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n@@@@@@@@@@@@@@@\r\n"
    "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\r\nHost key verification failed."
)


def unreachable(text: str, prefix: str = OF_SSH) -> dict[str, Any]:
    """What is registered, by ignore_unreachable, of a node to which ssh found no way."""
    return {"changed": False, "msg": f"{prefix}{text}", "unreachable": True}


def failed(text: str, **more: Any) -> dict[str, Any]:
    """What is registered of a task that could not begin, or of a module that returned nothing."""
    return {"changed": False, "failed": True, "msg": text, **more}


ADDRESS = "ssh: connect to host 192.168.10.11 port 22:"
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "another user": (
        unreachable("root@192.168.10.11: Permission denied (publickey,password)."),
        "an answer over SSH, found root@192.168.10.11: Permission denied (publickey,password). "
        "Set ansible_user to your user on it, and let your key in: 'ssh-copy-id USER@ADDRESS'.",
    ),
    "another user, as ssh without a file to send says it": (
        unreachable("x@a: Permission denied (publickey).", "Task failed: Failed to connect to the host via ssh: "),
        "an answer over SSH, found x@a: Permission denied (publickey). "
        "Set ansible_user to your user on it, and let your key in: 'ssh-copy-id USER@ADDRESS'.",
    ),
    "a wrong password of the login": (
        unreachable("Permission denied, please try again.\r\nReceived disconnect from 192.168.10.11 port 22:2"),
        "an answer over SSH, found Permission denied, please try again. "
        "Set ansible_user to your user on it, and let your key in: 'ssh-copy-id USER@ADDRESS'.",
    ),
    "a host nobody logged in on": (
        unreachable("No ED25519 host key is known for a and you have requested strict checking.\r\nHost key verification failed."),
        f"an answer over SSH, found No ED25519 host key is known for a and you have requested strict checking. L{LOG_IN}.",
    ),
    "a host with another key": (
        unreachable(CHANGED_KEY),
        "an answer over SSH, found WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED. "
        f"If it was installed anew, run 'ssh-keygen -R ADDRESS'. L{LOG_IN}; else correct ansible_host.",
    ),
    "a password for a host nobody logged in on": (
        failed(
            "Task failed: Using a SSH password instead of a key is not possible because Host Key checking is enabled. Please add this host's "
            "fingerprint to your known_hosts file to manage this host."
        ),
        "an answer over SSH, found Using a SSH password instead of a key is not possible because Host Key checking is enabled. Pleas.... "
        f"L{LOG_IN}.",
    ),
    "no power": (
        unreachable(f"Warning: Permanently added 'jump'.\r\n{ADDRESS} No route to host"),
        f"an answer over SSH, found {ADDRESS} No route to host. Power it on, or correct ansible_host.",
    ),
    "no answer": (
        unreachable("Connection timed out during banner exchange\r\nConnection to 192.168.10.12 port 22 timed out"),
        "an answer over SSH, found Connection timed out during banner exchange. Power it on, or correct ansible_host.",
    ),
    "no SSH server": (
        unreachable(f"{ADDRESS} Connection refused"),
        f"an answer over SSH, found {ADDRESS} Connection refused. "
        "Start or install its SSH server (openssh-server), or correct ansible_host and ansible_port.",
    ),
    "no such name": (
        unreachable("ssh: Could not resolve hostname spark-77: Name or service not known"),
        "an answer over SSH, found ssh: Could not resolve hostname spark-77: Name or service not known. "
        "Set ansible_host to its address on the management network.",
    ),
    "a key that others can read": (
        unreachable("@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @\r\nu@a: Permission denied (publickey)."),
        "an answer over SSH, found WARNING: UNPROTECTED PRIVATE KEY FILE. Run chmod 600 on your private key.",
    ),
    "no sshpass": (
        failed("Task failed: to use the password_mechanism=sshpass, you must install the sshpass program"),
        "an answer over SSH, found to use the password_mechanism=sshpass, you must install the sshpass program. "
        "Install sshpass on this machine; or let your key in, 'ssh-copy-id USER@ADDRESS', and leave -k out.",
    ),
    "something new about ssh": (
        unreachable("mux_client_request_session: read from master failed: Broken pipe\r\nproxy dialer did not pass back a connection"),
        "an answer over SSH, found proxy dialer did not pass back a connection. "
        "Power it on, or correct ansible_host; 'ssh USER@ADDRESS' must log in without a question.",
    ),
    "a sudo that asks": (
        failed("Task failed: Missing sudo password"),
        f"to become root, found Missing sudo password. Add -K, which asks once for the sudo password; {OWN_PASSWORD}",
    ),
    "a wrong password of sudo": (
        failed("Task failed: Incorrect sudo password"),
        f"to become root, found Incorrect sudo password. Give -K the sudo password of ansible_user; {OWN_PASSWORD}",
    ),
    "a user who may not": (
        failed(NO_JSON, module_stderr="sudo: unable to resolve host a: Name or service not known\nu is not in the sudoers file.\n", module_stdout=""),
        "to become root, found u is not in the sudoers file. Put this user into the group sudo on it, or set ansible_user.",
    ),
    "a user who may not, told on a terminal": (
        failed(NO_JSON, module_stderr="Shared connection to a closed.\r\n", module_stdout="u is not in the sudoers file.\r\n"),
        "to become root, found u is not in the sudoers file. Put this user into the group sudo on it, or set ansible_user.",
    ),
    "a slow sudo": (
        unreachable("Timeout (12s) waiting for privilege escalation prompt: ", "Task failed: "),
        "to become root, found Timeout (12s) waiting for privilege escalation prompt. "
        "See why 'sudo -v' takes so long on it; often it can not resolve its own host name.",
    ),
    "no sudo": (
        {"changed": False, "failed": False, "failed_when_result": False, "msg": NO_JSON, "module_stderr": "/bin/sh: 1: sudo: not found\n"},
        "to become root, found /bin/sh: 1: sudo: not found. Install sudo on it, or correct ansible_become_method and ansible_become_exe.",
    ),
    "no Python": (
        failed("The module interpreter '/usr/bin/python3.99' was not found.", module_stderr="/bin/sh: 1: /usr/bin/python3.99: not found\n"),
        "Python 3.10 or newer, found The module interpreter '/usr/bin/python3.99' was not found. "
        "Install python3 on it, or correct ansible_python_interpreter.",
    ),
    "a full disk": (
        failed("mkdir: cannot create directory '/home/u/.ansible': No space left on device"),
        "room for a file of Ansible, found mkdir: cannot create directory '/home/u/.ansible': No space left on device. Make room on its disk.",
    ),
    "a module that broke": (
        failed(NO_JSON, module_stderr="Traceback (most recent call last):\nKeyError: 'x'\n"),
        "facts of the machine, found KeyError: 'x'. Run this again with -vvv, which shows the whole of it.",
    ),
    "nothing at all": (
        failed(""),
        "facts of the machine, found nothing. Run this again with -vvv, which shows the whole of it.",
    ),
}


@pytest.mark.parametrize(("returned", "expected"), CASES.values(), ids=CASES)
def test_a_node_that_told_nothing_is_refused_with_what_there_is_to_do(returned: dict[str, Any], expected: str) -> None:
    said = silence("spark-1", returned)
    assert said is not None
    assert said["message"] == f"spark-1: connection - expected {expected}"
    assert said["message"].endswith(said["fix"])


def test_every_known_text_has_a_case() -> None:
    fixes = [said["fix"] for returned, _expected in CASES.values() if (said := silence("spark-1", returned))]
    assert [known.text for known in KNOWN if known.fix not in fixes] == []


@pytest.mark.parametrize("returned", [{}, {"skipped": True}, {"connectx": {}, "msg": ""}, {"failed": True, "python": "3.8.10", "msg": "Python - ..."}])
def test_a_node_that_told_something_or_was_not_asked_is_no_silent_one(returned: dict[str, Any]) -> None:
    assert silence("spark-1", returned) is None


def test_a_refusal_of_a_module_of_ours_is_passed_on_as_it_is() -> None:
    refusal = "peer spark-2 - expected an IPv4 address, found -f. Correct the plan."
    assert silence("spark-1", {"failed": True, "msg": refusal}) == {"message": f"spark-1: {refusal}", "fix": ""}


def test_a_long_text_is_cut() -> None:
    said = silence("spark-1", failed("x" * 500))
    assert said is not None
    assert f"found {'x' * (LONGEST - 3)}...." in said["message"]


@pytest.mark.parametrize("stage", ["preflight", "validate"])
def test_a_silent_node_is_named_and_asked_nothing_and_the_others_are_checked_all_the_same(stage: str) -> None:
    request = healthy_fabric.request()
    request["connectx"]["spark-2"] = unreachable(f"{ADDRESS} No route to host")
    request["connectx"]["spark-1"]["connectx"]["ports"]["p0"]["rails"].pop(1)
    request["connectx"]["spark-1"]["connectx"]["routes"].pop()
    for path in request["ping"]["spark-1"]["paths"]:
        path.update(received=0, loss_percent=100.0, small_ok=False, full_ok=False, neighbour_mac=None, reason="nobody answers ARP for its address")
    results = ChecksFilters().filters()["fabric_checks"](request, stage, [])
    assert [(result["host"], result["id"], result["fix"][:12]) for result in results if result["status"] == "fail"] == [
        ("spark-2", "connection", "Power it on,"),
        ("spark-1", "rails", "A half of th"),
    ]
    assert {result["id"] for result in results if result["host"] == "spark-2"} == {"connection"}
    assert not any("to spark-2" in result["message"] for result in results)
    lines = TableFilters().filters()["fabric_checks_table"](results, [], request["connectx"])
    assert lines[:2] == ["spark-1: NVIDIA", "spark-2: told nothing"]
    assert lines[2].split() == ["connection", "1", "fail"]


def test_a_users_row_can_not_silence_a_silent_node() -> None:
    request = healthy_fabric.request()
    request["connectx"]["spark-2"] = failed("Task failed: Missing sudo password")
    row = {"id": "connection", "title": "x", "applies_to": "node", "query": "name", "expect": {"is": "x"}, "severity": "warn", "when": "`false`", "fix": "X."}
    results = ChecksFilters().filters()["fabric_checks"](request, "preflight", [row])
    assert [result["status"] for result in results if result["id"] == "connection"] == ["fail"]

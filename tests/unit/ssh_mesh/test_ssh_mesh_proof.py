# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logins that prove the mesh."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _proof
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import Account
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home

from .conftest import Node


class Ssh:
    """Stands in for ssh: what each peer answers, the last answer again and again."""

    def __init__(self, **answers: Iterable[Result]) -> None:
        self.answers = {name.replace("_", "-"): list(rows) for name, rows in answers.items()}
        self.calls: list[list[str]] = []

    def __call__(self, argv: list[str], timeout: float) -> Result:
        """One login."""
        self.calls.append([*argv, f"within {timeout:g} s"])
        rows = self.answers[argv[-2]]
        return rows.pop(0) if len(rows) > 1 else rows[0]

    @property
    def called(self) -> list[str]:
        """The peers in the order of the calls."""
        return [call[-3] for call in self.calls]


GOOD = Result((), 0)


def bad(text: str) -> Result:
    """A login that ssh gave up."""
    return Result((), 255, "", f"Warning: something else.\n{text}\n")


def test_every_peer_is_called_as_the_user_would_without_a_question(node: Node) -> None:
    ssh = Ssh(spark_1=[GOOD], spark_2=[GOOD])
    logins = _proof.prove(node.home, "spark-1", ["spark-1", "spark-2"], 7, ssh)
    assert logins == [{"peer": "spark-1", "works": True, "message": None}, {"peer": "spark-2", "works": True, "message": None}]
    options = ["-o", "BatchMode=yes", "-o", "ControlPath=none", "-o", "ConnectTimeout=7", "--"]
    assert sorted(ssh.calls) == [["ssh", *options, name, "true", "within 17 s"] for name in ("spark-1", "spark-2")]


def test_root_becomes_the_user_first(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_proof.os, "geteuid", lambda: 0)
    ssh = Ssh(spark_2=[GOOD])
    _proof.prove(Home(Account("nvidia", 1000, 1001, node.home.account.home)), "spark-1", ["spark-2"], 10, ssh)
    home = node.home.account.home
    identity = ["setpriv", "--reuid=1000", "--regid=1001", "--init-groups", "--"]
    environment = ["env", "-u", "SSH_AUTH_SOCK", f"HOME={home}", "USER=nvidia", "LOGNAME=nvidia"]
    assert ssh.calls[0][:12] == [*identity, *environment, "ssh"]


@pytest.mark.parametrize(("name", "first"), [("spark-1", "spark-2"), ("spark-2", "spark-3"), ("spark-3", "spark-1"), ("elsewhere", "spark-1")])
def test_each_node_begins_with_the_one_behind_it(node: Node, monkeypatch: pytest.MonkeyPatch, name: str, first: str) -> None:
    monkeypatch.setattr(_proof, "_AT_ONCE", 1)
    ssh = Ssh(spark_1=[GOOD], spark_2=[GOOD], spark_3=[GOOD])
    logins = _proof.prove(node.home, name, ["spark-1", "spark-2", "spark-3"], 10, ssh)
    assert ssh.called[0] == first
    assert [login["peer"] for login in logins] == ["spark-1", "spark-2", "spark-3"]


def test_what_sshd_dropped_is_tried_once_more_and_nothing_else_is(node: Node) -> None:
    ssh = Ssh(spark_1=[GOOD], spark_2=[bad("kex_exchange_identification: read: Connection reset by peer"), GOOD])
    logins = _proof.prove(node.home, "spark-1", ["spark-1", "spark-2"], 10, ssh, pause=0)
    assert [login["works"] for login in logins] == [True, True]
    assert sorted(ssh.called) == ["spark-1", "spark-2", "spark-2"]


@pytest.mark.parametrize(
    ("answer", "found", "fix"),
    [
        (bad("nvidia@192.168.10.12: Permission denied (publickey,password)."), "nvidia@192.168.10.12: Permission denied (publickey,password)",
         "Look at what sshd says there, journalctl -u ssh: AuthorizedKeysFile, AllowUsers, mode and owner of the home."),
        (bad("Host key verification failed."), "Host key verification failed",
         "sshd there shows another key than its /etc/ssh/ssh_host_*_key.pub. Restart sshd, or set HostKey to those."),
        (bad("ssh: connect to host 192.168.10.12 port 22: No route to host"), "ssh: connect to host 192.168.10.12 port 22: No route to host",
         "Look at cables and firewalls, or set ssh_mesh_address to an address that works."),
        (Result((), None, timed_out=True), "no answer in time", "Look at cables and firewalls, or set ssh_mesh_address to an address that works."),
        (bad("ssh: Could not resolve hostname spark-2: Name or service not known"), "ssh: Could not resolve hostname spark-2: Name or service not known",
         "Set ssh_mesh_address of that node to an address."),
        (bad("Bad owner or permissions on /home/nvidia/.ssh/config"), "Bad owner or permissions on /home/nvidia/.ssh/config",
         "Repair ~/.ssh/config and what it includes."),
        (Result((), 1, "This account is currently not available.\n"), "This account is currently not available", "See more with: ssh -v NAME."),
    ],
)  # fmt: skip
def test_a_login_that_does_not_work_is_told_with_what_to_do(node: Node, answer: Result, found: str, fix: str) -> None:
    (login,) = _proof.prove(node.home, "spark-1", ["spark-2"], 10, Ssh(spark_2=[answer]), pause=0)
    text = f"ssh from spark-1 to spark-2 - expected a login without a question, found {found}. {fix}"
    assert login == {"peer": "spark-2", "works": False, "message": text}


def test_the_key_before_a_rotation_is_out_of_the_way_meanwhile(node: Node) -> None:
    node.home.ours.mkdir(parents=True)
    node.home.previous_settings.write_text("settings\n")
    here: list[Any] = []
    with pytest.raises(KeyError), _proof.without_previous_key(node.home):
        here.append(os.path.exists(node.home.previous_settings))
        raise KeyError
    assert here == [False]
    assert [path.name for path in node.home.ours.iterdir()] == ["previous.conf"]

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules as Ansible runs them: options in, JSON out, never a traceback."""

from __future__ import annotations

import json
import os
import pwd
import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _exchange, _node
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError
from ansible_collections.gb10.cluster.plugins.modules import ssh_mesh_node, ssh_mesh_peers, ssh_mesh_proof

from .conftest import HOSTS, Node, peer, snapshot

MODULES = (ssh_mesh_node, ssh_mesh_peers, ssh_mesh_proof)


@pytest.fixture
def here(node: Node, monkeypatch: pytest.MonkeyPatch) -> Node:
    """The node on which the modules run."""
    for module in MODULES:
        monkeypatch.setattr(module, "find", lambda *_arguments: node.home.account)
    monkeypatch.setattr(_node, "reached", lambda _connection: (["192.168.10.11"], 22))
    monkeypatch.setattr(_node.host_keys, "__defaults__", (node.root,))
    monkeypatch.setattr(_exchange.exchange, "__defaults__", (node.hosts,))
    monkeypatch.setattr(_exchange.withdraw, "__defaults__", (node.hosts,))
    (node.root / "ssh_host_ed25519_key.pub").write_text("ssh-ed25519 AAAAhost root@spark\n")
    return node


def answer(module: Any, capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """What the module answers to these options."""
    with patch_module_args(options), pytest.raises(SystemExit):
        module.main()
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The warnings of the modules."""
    told: list[str] = []
    monkeypatch.setattr(AnsibleModule, "warn", lambda _module, text: told.append(text))
    return told


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen on this machine")
def test_what_a_node_tells_is_what_the_others_take(here: Node, capsys: pytest.CaptureFixture[str]) -> None:
    told = answer(ssh_mesh_node, capsys, name="spark-1", reached_as="192.168.10.11", rails=["10.77.0.1"])
    assert (told["changed"], told["user"], told["peer"]["fresh"]) == (True, here.home.account.name, True)
    assert told["peer"]["host_keys"] == ["ssh-ed25519 AAAAhost"]
    assert answer(ssh_mesh_peers, capsys, nodes=["spark-1"], peers=[told["peer"]])["changed"] is True
    assert told["peer"]["public_key"] in here.text("authorized_keys")
    assert "10.77.0.1 ssh-ed25519 AAAAhost" in here.text("gb10", "known_hosts")


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen on this machine")
def test_a_rotation_that_is_not_finished_is_a_warning(here: Node, capsys: pytest.CaptureFixture[str], warned: list[str]) -> None:
    here.key()
    here.key(rotate=True)
    assert answer(ssh_mesh_node, capsys, name="spark-1", rotate=True)["changed"] is False
    assert warned == [
        "rotation of the key of spark-1 - expected the last one to be finished, found the key before it. "
        "This run goes on with it; rotate again when all nodes are proven."
    ]


def test_check_mode_writes_nothing(here: Node, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(here.root, times=True)
    for module, options in (
        (ssh_mesh_node, {"name": "spark-1"}),
        (ssh_mesh_peers, {"nodes": ["spark-1"], "peers": [peer(1, public_key=None, fresh=True)]}),
    ):
        assert answer(module, capsys, _ansible_check_mode=True, **options)["changed"] is True
    proof = answer(ssh_mesh_proof, capsys, _ansible_check_mode=True, name="spark-1", peers=["spark-2"])
    assert (proof["changed"], proof["logins"]) == (False, [])
    assert snapshot(here.root, times=True) == before


def test_two_nodes_at_one_address_are_refused_and_names_of_two_warned_about(
    here: Node, capsys: pytest.CaptureFixture[str], warned: list[str]
) -> None:
    before = snapshot(here.root)
    refused = answer(ssh_mesh_peers, capsys, nodes=["spark-1", "spark-2"], peers=[peer(1), peer(2, address="192.168.10.11")])
    assert (refused["failed"], refused["msg"].partition(" - ")[0]) == (True, "address 192.168.10.11 port 22")
    assert snapshot(here.root) == before
    answer(ssh_mesh_peers, capsys, nodes=["spark-1", "spark-2"], peers=[peer(1, aliases=["gx10"]), peer(2, aliases=["gx10"])])
    assert [text.partition(" - ")[0] for text in warned] == ["gx10"]


def test_absent_takes_everything_back(here: Node, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(here.root)
    answer(ssh_mesh_peers, capsys, nodes=["spark-1"], peers=[peer(1)])
    assert here.hosts.read_text() != HOSTS
    assert answer(ssh_mesh_peers, capsys, state="absent")["changed"] is True
    assert snapshot(here.root) == before
    assert answer(ssh_mesh_peers, capsys, state="absent")["changed"] is False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the homes of others")
def test_absent_names_the_other_users_and_leaves_them_the_names(
    here: Node, capsys: pytest.CaptureFixture[str], warned: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = pwd.getpwuid(os.geteuid()), tmp_path / "home of odd"
    homes = {here.home.account.name: here.home.account.home, "odd": other, "none": tmp_path / "nowhere"}
    monkeypatch.setattr(pwd, "getpwall", lambda: [pwd.struct_passwd((name, *mine[1:5], str(home), mine[6])) for name, home in homes.items()])
    here.know(["spark-1"], [peer(1)])
    named = here.hosts.read_text()
    (other / ".ssh" / "gb10").mkdir(parents=True)
    assert answer(ssh_mesh_peers, capsys, state="absent")["changed"] is True
    fix = "Take it back as well, with ssh_mesh_user=odd; names in /etc/hosts stay until then."
    assert warned == [f"SSH mesh of other users - expected none, found that of odd in {other}/.ssh/gb10. {fix}"]
    assert here.hosts.read_text() == named != HOSTS and not here.home.ssh.exists()
    (other / ".ssh" / "gb10").rmdir()
    assert answer(ssh_mesh_peers, capsys, state="absent")["changed"] is True
    assert here.hosts.read_text() == HOSTS and len(warned) == 1


def test_present_needs_nodes_and_peers(here: Node, capsys: pytest.CaptureFixture[str]) -> None:
    assert "all of the following are missing: nodes, peers" in answer(ssh_mesh_peers, capsys)["msg"]


@pytest.mark.parametrize(
    ("module", "options"),
    [(ssh_mesh_node, {"name": "a"}), (ssh_mesh_peers, {"state": "absent"}), (ssh_mesh_proof, {"name": "a", "peers": []})],
)
@pytest.mark.parametrize(
    ("error", "text"),
    [(MeshError("one", "two"), "one\ntwo"), (OSError(13, "Permission denied", "/x"), "/x - expected to be readable and writable, found Permission")],
)
def test_every_failure_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: Any, options: dict[str, Any], error: Exception, text: str
) -> None:
    def fail(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(module, "find", fail)
    result = answer(module, capsys, **options)
    assert result["failed"] is True
    assert result["msg"].startswith(text)


@pytest.mark.parametrize(
    ("complete", "works", "kept", "changed"),
    [(True, True, False, True), (True, False, True, None), (False, True, True, False)],
)
def test_the_key_before_a_rotation_goes_when_all_is_proven(
    here: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], complete: bool, works: bool, kept: bool, changed: bool | None
) -> None:
    here.home.ours.mkdir(parents=True)
    for file in (here.home.previous, here.home.previous_settings):
        file.write_text("kept\n")
    used: list[bool] = []

    def prove(*_arguments: object) -> list[dict[str, Any]]:
        used.append(here.home.previous_settings.exists())
        return [{"peer": "spark-2", "works": works, "message": None if works else "no login"}]

    monkeypatch.setattr(ssh_mesh_proof, "prove", prove)
    result = answer(ssh_mesh_proof, capsys, name="spark-1", peers=["spark-2"], complete=complete)
    assert used == [not complete]
    assert (here.home.previous.exists(), here.home.previous_settings.exists()) == (kept, kept)
    assert (result.get("changed"), result.get("msg")) == ((changed, None) if works else (None, "no login"))
    assert result["logins"][0]["works"] is works


@pytest.mark.parametrize("timeout", [-20, 0, 601])
def test_a_login_that_nobody_waits_for_or_everybody_for_ever_is_refused(here: Node, capsys: pytest.CaptureFixture[str], timeout: int) -> None:
    result = answer(ssh_mesh_proof, capsys, name="spark-1", peers=["spark-2"], timeout=timeout)
    assert result["msg"] == f"ssh_mesh_timeout - expected 1 to 600 seconds, found {timeout}. 10 is enough for most networks."


def test_what_would_become_other_lines_is_refused_and_nothing_written(here: Node, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(here.root)
    result = answer(ssh_mesh_peers, capsys, nodes=["spark-1"], peers=[peer(1, user="a\n  ProxyCommand x", aliases=["b c"])])
    assert [text.split(" - ")[0] for text in result["msg"].splitlines()] == ["name or address told by 'spark-1'", "user told by 'spark-1'"]
    assert snapshot(here.root) == before

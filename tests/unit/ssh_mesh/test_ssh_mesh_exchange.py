# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three nodes that get to know each other, and the files of their users."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import Account, MeshError
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._keys import forget

from .conftest import HOSTS, Cluster, Node, changed, peer, snapshot


def nodes_in(text: str) -> list[str]:
    """The nodes that have lines in our block."""
    return [line[2:] for line in text.splitlines() if line.startswith("# spark")]


def everything(node: Node) -> list[str]:
    """The texts in which every node has lines."""
    return [node.text("authorized_keys"), node.text("gb10", "known_hosts"), node.text("config.d", "gb10.conf"), node.hosts.read_text()]


def test_every_node_knows_every_node_and_a_second_run_changes_nothing(cluster: Cluster) -> None:
    assert changed(cluster.run()) == ["spark-1", "spark-2", "spark-3"]
    before = snapshot(cluster.root, times=True)
    assert changed(cluster.run()) == []
    assert snapshot(cluster.root, times=True) == before
    keys = [node.text("gb10", "id_ed25519.pub").strip() for node in cluster.nodes.values()]
    assert len(set(keys)) == 3
    for node in cluster.nodes.values():
        assert [nodes_in(text) for text in everything(node)] == [["spark-1", "spark-2", "spark-3"]] * 4
        assert [line for line in node.text("authorized_keys").splitlines() if not line.startswith("#")] == keys
        assert node.text("config") == "# BEGIN gb10.cluster\n# the nodes of the cluster\nInclude config.d/gb10.conf\n# END gb10.cluster\n"
        assert node.hosts.read_text().endswith(f"# END gb10.cluster\n{HOSTS}")


def test_no_private_key_is_in_a_result(cluster: Cluster) -> None:
    results = [cluster.run(), cluster.run(rotate=True), {name: [node.leave(True)] for name, node in cluster.nodes.items()}]
    text = json.dumps(results)
    assert "PRIVATE KEY" not in text
    for node in cluster.nodes.values():
        assert not any(line in text for line in node.text("gb10", "id_ed25519").splitlines()[1:-1])


def all_diffs(results: dict[str, list[dict[str, Any]]]) -> list[Any]:
    """What a run tells, without what check mode can not know."""
    return [(name, result["changed"], result["diff"]) for name, both in results.items() for result in both]


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize("runs", [0, 1])
def test_check_mode_has_the_diff_of_the_run(cluster: Cluster, runs: int, rotate: bool) -> None:
    for _run in range(runs):
        cluster.run()
    cluster.add(4)
    before = snapshot(cluster.root, times=True)
    told = cluster.run(rotate=rotate, check_mode=True)
    assert snapshot(cluster.root, times=True) == before
    assert changed(told) == list(cluster.nodes)
    assert all_diffs(told) == all_diffs(cluster.run(rotate=rotate))


def test_new_files_are_their_owners_alone(cluster: Cluster) -> None:
    cluster.run()
    modes = {name: mode for name, (_content, mode) in snapshot(cluster.nodes["spark-1"].home.ssh).items()}
    assert {mode for name, mode in modes.items() if name in ("gb10", "config.d")} == {"0o40700"}
    assert {mode for name, mode in modes.items() if name not in ("gb10", "config.d")} == {"0o100600"}


def test_a_node_is_added(cluster: Cluster) -> None:
    cluster.run()
    cluster.add(4)
    assert changed(cluster.run()) == ["spark-1", "spark-2", "spark-3", "spark-4"]
    assert [nodes_in(text) for text in everything(cluster.nodes["spark-1"])] == [["spark-1", "spark-2", "spark-3", "spark-4"]] * 4


def test_a_node_is_removed(cluster: Cluster) -> None:
    cluster.run()
    del cluster.nodes["spark-2"]
    assert changed(cluster.run()) == ["spark-1", "spark-3"]
    assert [nodes_in(text) for text in everything(cluster.nodes["spark-3"])] == [["spark-1", "spark-3"]] * 4


def test_who_is_not_in_the_run_keeps_its_lines_and_is_not_touched(cluster: Cluster) -> None:
    cluster.run()
    before = {name: snapshot(node.root, times=True) for name, node in cluster.nodes.items()}
    assert changed(cluster.run("spark-1", "spark-3")) == []
    assert {name: snapshot(node.root, times=True) for name, node in cluster.nodes.items()} == before


def test_a_run_that_began_with_some_is_completed_by_the_others(cluster: Cluster) -> None:
    cluster.run("spark-1")
    assert [nodes_in(text) for text in everything(cluster.nodes["spark-1"])] == [["spark-1"]] * 4
    cluster.run("spark-2", "spark-3")
    assert [nodes_in(text) for text in everything(cluster.nodes["spark-2"])] == [["spark-2", "spark-3"]] * 4
    cluster.run()
    assert [nodes_in(text) for text in everything(cluster.nodes["spark-1"])] == [["spark-1", "spark-2", "spark-3"]] * 4


def test_at_no_moment_of_a_rotation_a_node_is_locked_out(cluster: Cluster) -> None:
    """Whoever has not learned the new key knows the one before it, and the node has both."""
    cluster.run()
    old = cluster.nodes["spark-1"].text("gb10", "id_ed25519.pub")
    cluster.run("spark-1", rotate=True)
    new = cluster.nodes["spark-1"].text("gb10", "id_ed25519.pub")
    assert old in cluster.nodes["spark-2"].text("authorized_keys")
    assert cluster.nodes["spark-1"].home.previous.exists()
    assert changed(cluster.run()) == ["spark-2", "spark-3"]
    assert new in cluster.nodes["spark-2"].text("authorized_keys")
    assert old not in cluster.nodes["spark-2"].text("authorized_keys")
    forget(cluster.nodes["spark-1"].home)
    assert changed(cluster.run()) == []


def nothing(_home: Path) -> None:
    """No .ssh at all."""


def empty_folders(home: Path) -> None:
    """An empty .ssh with an empty config.d."""
    (home / ".ssh" / "config.d").mkdir(parents=True)
    (home / ".ssh").chmod(0o755)


def empty_files(home: Path) -> None:
    """Files without a line, as images have them."""
    empty_folders(home)
    for name in ("authorized_keys", "config"):
        (home / ".ssh" / name).touch(mode=0o640)


def odd_lines(home: Path) -> None:
    """Options, comments, no end of line, carriage returns, bytes that are no text."""
    empty_folders(home)
    (home / ".ssh" / "authorized_keys").write_bytes(b'\n#x\nno-pty,command="a b # c" ssh-rsa AAAA\xff\xfe me\r\n\x85ssh-rsa BBBB')
    (home / ".ssh" / "config").write_bytes(b"Host *\r\n  User me\n\tIdentityFile ~/.ssh/other")
    (home / ".ssh" / "config.d" / "mine.conf").write_text("Host mine\n")
    (home / ".ssh" / "known_hosts").write_text("mine ssh-ed25519 AAAA\n")


def links(home: Path) -> None:
    """Files kept elsewhere, as dotfiles are."""
    odd_lines(home)
    (home / "dotfiles").mkdir(mode=0o755)
    for name in ("authorized_keys", "config"):
        (home / ".ssh" / name).rename(home / "dotfiles" / name)
        (home / ".ssh" / name).symlink_to(f"../dotfiles/{name}")


def link_to_nothing(home: Path) -> None:
    """A link whose file is not there yet."""
    empty_folders(home)
    (home / ".ssh" / "config").symlink_to("../config-to-come")


def linked_folder(home: Path) -> None:
    """The whole folder is kept elsewhere."""
    (home / "dotfiles").mkdir(mode=0o755)
    (home / ".ssh").symlink_to("dotfiles")


def our_names(home: Path) -> None:
    """The user has a file of the name of ours."""
    empty_folders(home)
    (home / ".ssh" / "config.d" / "gb10.conf").write_text("Host mine\n  User me")


HOMES = [nothing, empty_folders, empty_files, odd_lines, links, link_to_nothing, linked_folder, our_names]


@pytest.mark.parametrize("home", HOMES, ids=[row.__name__ for row in HOMES])
def test_absent_leaves_everything_as_it_was(cluster: Cluster, home: Callable[[Path], None]) -> None:
    node = cluster.nodes["spark-1"]
    home(node.home.account.home)
    before = snapshot(node.root)
    cluster.run()
    assert {path: kind for path, (_content, kind) in snapshot(node.root).items() if path in before} == {
        path: kind for path, (_content, kind) in before.items()
    }
    cluster.run(rotate=True)
    unchanged = snapshot(node.root, times=True)
    told = node.leave(check_mode=True)
    assert snapshot(node.root, times=True) == unchanged
    assert node.leave() == told
    assert told["changed"] is True
    assert snapshot(node.root) == before
    assert node.leave() == {"changed": False, "diff": []}


@pytest.mark.parametrize("home", HOMES, ids=[row.__name__ for row in HOMES])
def test_what_others_wrote_follows_our_lines_byte_for_byte(cluster: Cluster, home: Callable[[Path], None]) -> None:
    node = cluster.nodes["spark-1"]
    home(node.home.account.home)
    places = [node.home.authorized, node.home.config, node.home.settings]
    before = [file.read_bytes() if file.exists() else b"" for file in places]
    cluster.run()
    for file, content in zip(places, before, strict=True):
        assert file.read_bytes().partition(b"# END gb10.cluster\n")[2] == content


def test_absent_leaves_what_was_added_to_new_files_meanwhile(cluster: Cluster) -> None:
    cluster.run()
    node = cluster.nodes["spark-1"]
    for file in (node.home.authorized, node.home.config, node.home.ours / "notes"):
        with file.open("a") as stream:
            stream.write("mine\n")
    node.leave()
    assert {name: content for name, (content, _mode) in snapshot(node.home.ssh).items()} == {
        "authorized_keys": b"mine\n",
        "config": b"mine\n",
        "gb10": "folder",
        "gb10/notes": b"mine\n",
    }


def test_the_names_leave_the_hosts_file_when_they_are_not_wanted(node: Node) -> None:
    node.know(["spark-1"], [peer(1)])
    assert node.hosts.read_text() == f"# BEGIN gb10.cluster\n# spark-1\n192.168.10.11\tspark-1 gx10-1\n# END gb10.cluster\n{HOSTS}"
    result = node.know(["spark-1"], [peer(1)], hosts_file=False)
    assert [item["before_header"] for item in result["diff"]] == [str(node.hosts)]
    assert node.hosts.read_text() == HOSTS


def test_the_include_moves_to_the_top_where_it_counts(node: Node) -> None:
    node.know(["spark-1"], [peer(1)])
    text = node.text("config")
    node.home.config.write_text(f"Host mine\n{text}")
    result = node.know(["spark-1"], [peer(1)])
    assert [(item["before"], item["after"]) for item in result["diff"]] == [(f"{text}# (below other lines)\n", text)]
    assert node.text("config") == f"{text}Host mine\n"


@pytest.mark.parametrize("home", [nothing, links])
@pytest.mark.parametrize("leaving", [False, True])
@pytest.mark.parametrize("step", range(5))
def test_a_failure_at_any_file_leaves_all_as_they_were(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, home: Callable[[Path], None], leaving: bool, step: int
) -> None:
    node = cluster.nodes["spark-1"]
    home(node.home.account.home)
    node.key()
    if leaving:
        cluster.run()
    before, calls, real = snapshot(node.root), [], _files.write

    def write(file: Path, *arguments: Any) -> None:
        calls.append(file)
        if len(calls) > step:
            raise OSError(28, "No space left on device", str(file))
        real(file, *arguments)

    monkeypatch.setattr(_files, "write", write)
    with pytest.raises(OSError, match="No space left"):
        if leaving:
            node.leave()
        else:
            node.know(["spark-1"], [peer(1)])
    assert snapshot(node.root) == before


def test_a_block_that_does_not_end_is_refused(node: Node) -> None:
    node.home.ssh.mkdir(mode=0o700)
    node.home.config.write_text("# BEGIN gb10.cluster\nHost mine\n")
    before = snapshot(node.root, times=True)
    for act in (lambda: node.know(["spark-1"], [peer(1)]), node.leave):
        with pytest.raises(MeshError) as failure:
            act()
        assert str(failure.value) == (
            f"{node.home.config}: # BEGIN gb10.cluster - expected # END gb10.cluster after it, found another beginning or the end of the file. "
            "Mend or remove that block."
        )
    assert snapshot(node.root, times=True) == before


def test_a_damaged_record_is_refused(cluster: Cluster) -> None:
    cluster.run()
    node = cluster.nodes["spark-1"]
    node.home.record.write_text(f"{node.home.ssh}\n\0garbage\n")
    before = snapshot(node.root)
    fix = "Remove it: absent then leaves the files and folders of the home that are empty without our lines."
    for do in (lambda check: node.leave(check_mode=check), lambda check: node.know(["spark-1"], [peer(1)], check_mode=check)):
        for check_mode in (True, False):
            with pytest.raises(MeshError) as failure:
                do(check_mode)
            assert str(failure.value) == f"{node.home.record} - expected one path a line, found '\\x00garbage'. {fix}"
            assert snapshot(node.root) == before


def test_without_root_the_hosts_file_is_refused_before_anything_is_written(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.geteuid() or 1000
    node.home = Home(Account("nvidia", user, user, node.home.account.home))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "access", lambda _file, _mode: False)
    before = snapshot(node.root, times=True)
    for check_mode in (True, False):
        with pytest.raises(MeshError) as failure:
            node.know(["spark-1"], [peer(1)], check_mode)
        assert str(failure.value) == (
            f"{node.hosts} - expected to be writable, found no permission. Run with become: true, or set ssh_mesh_hosts_file: false."
        )
    assert snapshot(node.root, times=True) == before

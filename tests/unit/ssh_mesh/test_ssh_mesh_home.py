# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account, and what sshd and ssh put up with in its home."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _account, _home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import Account, MeshError, acting_as, find, of_system
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home, others, refuse

from .conftest import Node, peer, snapshot

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


class Users:
    """The user database of a node: root, and nvidia with the number 1000, whose home is a folder here."""

    def __init__(self, home: Path) -> None:
        self.entries = {"root": pwd.getpwuid(0), "nvidia": entry("nvidia", 1000, home), "lost": entry("lost", 1001, home / "nowhere")}

    def getpwnam(self, name: str) -> pwd.struct_passwd:
        """By name; the real one does not take a zero byte."""
        if "\0" in name:
            raise ValueError("embedded null byte")
        return self.entries[name]

    def getpwuid(self, uid: int) -> pwd.struct_passwd:
        """By number."""
        return {item.pw_uid: item for item in self.entries.values()}[uid]


def entry(name: str, uid: int, home: Path) -> pwd.struct_passwd:
    """A row of the user database."""
    return pwd.struct_passwd((name, "x", uid, uid, "", str(home), "/bin/bash"))


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Users:
    """The node that runs the module as root."""
    made = Users(tmp_path)
    monkeypatch.setattr(_account, "pwd", made)
    monkeypatch.setattr(_account.os, "geteuid", lambda: 0)
    return made


@pytest.mark.parametrize(
    ("wanted", "environ", "login", "name"),
    [
        ("", {"SUDO_USER": "nvidia"}, 0, "nvidia"),
        (None, {}, 1000, "nvidia"),
        ("nvidia", {"SUDO_USER": "root"}, 0, "nvidia"),
        ("root", {"SUDO_USER": "nvidia"}, 1000, "root"),
    ],
)
def test_the_user_is_the_named_one_or_who_logged_in(users: Users, wanted: str | None, environ: dict[str, str], login: int, name: str) -> None:
    assert find(wanted, environ, login).name == name


@pytest.mark.parametrize(
    ("wanted", "login", "euid", "refusal"),
    [
        ("", 0, 0, "user of the SSH mesh - expected the user who logs in, not root, found root. Name the user in ssh_mesh_user, also if it is root."),
        ("nobodyhere", 1000, 0, "user nobodyhere - expected an account on this node, found none. Create it, or correct ssh_mesh_user."),
        ("no\0body", 1000, 0, "user no\0body - expected an account on this node, found none. Create it, or correct ssh_mesh_user."),
        ("", 4711, 0, "user 4711 - expected an account on this node, found none. Create it, or correct ssh_mesh_user."),
        ("lost", 1000, 0, "home of lost - expected a folder, found none at {home}/nowhere. Create it, or correct ssh_mesh_user."),
        ("nvidia", 1001, 1001, "user nvidia - expected root, or that user, to run this, found lost. Run with become: true."),
    ],
)
def test_who_can_not_have_a_mesh_is_refused(
    users: Users, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wanted: str, login: int, euid: int, refusal: str
) -> None:
    monkeypatch.setattr(_account.os, "geteuid", lambda: euid)
    with pytest.raises(MeshError) as failure:
        find(wanted, {}, login)
    assert str(failure.value) == refusal.format(home=tmp_path)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(30, "Read-only file system", "/home/x"), "/home/x - expected to be readable and writable, found Read-only file system."),
        (OSError("odd"), "files of the SSH mesh - expected to be readable and writable, found odd."),
    ],
)
def test_what_the_system_refuses_is_said_in_our_grammar(error: OSError, text: str) -> None:
    fix = "Look at owner, mode, space and mount options of that place; without root (become: true) only your own files can be changed."
    assert str(of_system(error)) == f"{text} {fix}"


@pytest.fixture
def nobody(node: Node) -> Node:
    """A node whose user is another one than who runs the test."""
    account = pwd.getpwnam("nobody")
    node.home = Home(Account("nobody", account.pw_uid, account.pw_gid, node.home.account.home))
    for folder in (node.root, *node.root.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    os.chown(node.home.account.home, account.pw_uid, account.pw_gid)
    return node


@pytest.mark.parametrize("place", [".ssh", ".ssh/gb10", ".ssh/config.d"])
@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda part: part.symlink_to("/nowhere"), "a link to /nowhere, which is no folder"),
        (lambda part: part.write_text(""), "something else"),
    ],
)
def test_a_folder_that_can_not_be_one_is_refused_in_check_mode_too(node: Node, place: str, make: Any, found: str) -> None:
    part = node.home.account.home / place
    part.parent.mkdir(exist_ok=True)
    make(part)
    before = snapshot(node.root)
    for check_mode in (True, False):
        with pytest.raises(MeshError) as failure:
            node.know(["spark-1"], [], check_mode=check_mode)
        assert str(failure.value) == f"{part} - expected a folder, or nothing, found {found}. Move it away, a folder is made."
        assert snapshot(node.root) == before
        assert node.leave(check_mode=check_mode)["changed"] is False


@AS_ROOT
def test_files_belong_to_the_user_and_root_stays_root(nobody: Node) -> None:
    identity = (os.geteuid(), os.getegid(), os.getgroups())
    nobody.key()
    nobody.know(["spark-1"], [])
    owners = {path.lstat().st_uid for path in nobody.home.ssh.rglob("*")} | {nobody.home.ssh.stat().st_uid}
    assert owners == {nobody.home.account.uid}
    assert nobody.hosts.stat().st_uid == 0
    assert (os.geteuid(), os.getegid(), os.getgroups()) == identity


@AS_ROOT
def test_no_link_in_a_home_leads_root_to_a_file_of_others(nobody: Node) -> None:
    secret = nobody.root / "shadow"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    with acting_as(nobody.home.account):
        nobody.home.ssh.mkdir(mode=0o700)
        nobody.home.authorized.symlink_to(secret)
    before = snapshot(nobody.root)
    with pytest.raises((OSError, MeshError)):
        nobody.know(["spark-1"], [])
    with pytest.raises(OSError, match="Permission denied"):
        nobody.leave()
    assert snapshot(nobody.root) == before
    assert os.geteuid() == 0


def odd(node: Node, path: str, mode: int | None = None, owner: int | None = None) -> None:
    """Give something in the home an odd mode or owner."""
    node.home.ssh.mkdir(mode=0o700)
    node.home.settings.parent.mkdir(mode=0o700)
    for file in (node.home.authorized, node.home.config):
        file.touch(mode=0o600)
    place = node.home.account.home / path
    if mode is not None:
        place.chmod(mode)
    if owner is not None:
        os.chown(place, owner, owner)


@pytest.mark.parametrize(
    ("path", "mode"), [(".", 0o770), (".ssh", 0o775), (".ssh/authorized_keys", 0o664), (".ssh/config", 0o644), (".ssh/config.d", 0o755)]
)
def test_what_only_the_users_own_group_may_write_is_fine(node: Node, path: str, mode: int) -> None:
    odd(node, path, mode)
    assert node.know(["spark-1"], [peer(1)])["changed"] is True


@pytest.mark.parametrize(
    ("path", "mode"), [(".", 0o777), (".ssh", 0o777), (".ssh/authorized_keys", 0o666), (".ssh/config", 0o602), (".ssh/config.d", 0o777)]
)
def test_what_everybody_may_write_is_refused(node: Node, path: str, mode: int) -> None:
    odd(node, path, mode)
    place = node.home.account.home / path
    with pytest.raises(MeshError) as failure:
        refuse(node.home)
    assert list(failure.value.args) == [
        f"{place} - expected to be writable by its owner alone, found mode {mode:04o}. sshd and ssh ignore it. Repair it: chmod go-w {place}."
    ]


@AS_ROOT
def test_what_a_group_of_others_may_write_is_refused(node: Node) -> None:
    odd(node, ".ssh/authorized_keys", 0o660)
    os.chown(node.home.authorized, 0, 12)
    with pytest.raises(MeshError, match="found mode 0660"):
        refuse(node.home)


@AS_ROOT
@pytest.mark.parametrize("path", [".ssh", ".ssh/authorized_keys", ".ssh/config"])
def test_what_belongs_to_another_one_is_refused(node: Node, path: str) -> None:
    odd(node, path, owner=4711)
    place = node.home.account.home / path
    with pytest.raises(MeshError) as failure:
        refuse(node.home)
    assert list(failure.value.args) == [
        f"{place} - expected to belong to {node.home.account.name}, found the user id 4711. Give it back: chown {node.home.account.name} {place}."
    ]


@AS_ROOT
def test_all_that_is_odd_is_said_at_once(node: Node) -> None:
    odd(node, ".ssh/config", 0o666, 4711)
    node.home.ssh.chmod(0o777)
    with pytest.raises(MeshError) as failure:
        refuse(node.home)
    assert len(failure.value.args) == 3


def test_a_home_without_anything_is_fine(node: Node) -> None:
    refuse(node.home)
    assert list(node.home.account.home.iterdir()) == []


MOUNTS = """\
/dev/nvme0n1p2 / ext4 rw,relatime 0 0
/dev/nvme0n1p3 {root}/local ext4 rw 0 0
auto.home {root}/auto autofs rw,indirect 0 0
server:/mounted {root}/auto/mounted nfs4 rw,hard 0 0
server:/all {root}/served nfs rw,hard 0 0
sshfs#x {root}/local/two\\040words fuse.sshfs rw 0 0
auto.late {root}/late autofs rw 0 0
/dev/nvme0n1p4 {root}/late ext4 rw 0 0
"""
LOCAL = {"local/a", "late/a", "localhost/a"}


@AS_ROOT
@pytest.mark.parametrize(
    ("own", "found"),
    [("local/me", LOCAL), ("served/me", {*LOCAL, "served/a"}), ("auto/me", LOCAL)],
    ids=["own home here", "all homes on one server", "own home mounted on demand"],
)
def test_homes_that_another_machine_serves_are_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, found: set[str]) -> None:
    homes = [*LOCAL, own, "served/a", "auto/a", "auto/mounted", "local/two words"]
    table = tmp_path / "mounts"
    table.write_text(MOUNTS.format(root=tmp_path) + (f"server:/me {tmp_path}/auto/me nfs4 rw 0 0\n" if own == "auto/me" else ""))
    touched: list[str] = []

    def look(path: str) -> bool:
        touched.append(path)
        return True

    monkeypatch.setattr(_home, "MOUNTS", table)
    monkeypatch.setattr(pwd, "getpwall", lambda: [entry(name, 1000, tmp_path / name) for name in homes])
    monkeypatch.setattr(os.path, "isdir", look)
    places = {name: f"{tmp_path}/{name}/.ssh/gb10" for name in found}
    assert others(Home(Account(own, 1000, 1000, tmp_path / own))) == places
    assert sorted(touched) == sorted(places.values())

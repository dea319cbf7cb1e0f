# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key pair of one node."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._keys import ensure, forget

from .conftest import Node, snapshot

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen on this machine")


def files(node: Node) -> list[str]:
    """The names in our folder."""
    return sorted(path.name for path in node.home.ours.iterdir())


def test_a_key_pair_is_made_once(node: Node) -> None:
    first = node.key()
    before = snapshot(node.root, times=True)
    second = node.key()
    assert (first["changed"], first["fresh"], second["changed"], second["fresh"]) == (True, True, False, False)
    assert first["public_key"] == second["public_key"]
    assert snapshot(node.root, times=True) == before
    assert node.text("gb10", "id_ed25519.pub") == f"{first['public_key']} gb10.cluster:spark-1\n"
    assert first["public_key"].startswith("ssh-ed25519 AAAA")


def test_only_the_user_may_read_it(node: Node) -> None:
    umask = os.umask(0)
    try:
        node.key()
    finally:
        os.umask(umask)
    modes = {name: mode for name, (_content, mode) in snapshot(node.home.account.home).items()}
    assert modes == {
        ".ssh": "0o40700",
        ".ssh/gb10": "0o40700",
        ".ssh/gb10/id_ed25519": "0o100600",
        ".ssh/gb10/id_ed25519.pub": "0o100600",
        ".ssh/gb10/made": "0o100600",
    }


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("rotate", [False, True])
def test_check_mode_tells_what_a_run_does_and_touches_nothing(node: Node, there: bool, rotate: bool) -> None:
    if there:
        node.key()
    before = snapshot(node.root, times=True)
    told = node.key(rotate, check_mode=True)
    assert snapshot(node.root, times=True) == before
    done = node.key(rotate)
    assert (told["changed"], told["fresh"], told["diff"]) == (done["changed"], done["fresh"], done["diff"])
    assert told["public_key"] == (None if done["fresh"] else done["public_key"])


def test_a_rotation_keeps_the_key_before_it_until_it_is_forgotten(node: Node) -> None:
    first = node.key()["public_key"]
    old = node.home.private.read_bytes()
    rotated = node.key(rotate=True)
    assert rotated["public_key"] != first
    assert node.home.previous.read_bytes() == old
    assert node.text("gb10", "previous.conf") == "IdentityFile ~/.ssh/gb10/previous\n"
    assert files(node) == ["id_ed25519", "id_ed25519.pub", "made", "previous", "previous.conf"]
    forget(node.home)
    assert files(node) == ["id_ed25519", "id_ed25519.pub", "made"]
    assert node.key()["changed"] is False


def test_a_rotation_that_is_not_finished_is_not_begun_anew(node: Node) -> None:
    node.key()
    second = node.key(rotate=True)
    third = node.key(rotate=True)
    assert (third["changed"], third["unfinished"], third["public_key"]) == (False, True, second["public_key"])
    assert (second["unfinished"], node.key()["unfinished"]) == (False, False)


def test_a_key_set_aside_by_a_run_that_died_is_used_again(node: Node) -> None:
    node.key()
    node.key(rotate=True)
    os.replace(node.home.previous_settings, node.home.set_aside)
    assert node.key()["changed"] is True
    assert node.home.previous_settings.exists()


def test_the_public_half_is_worked_out_from_the_private_one(node: Node) -> None:
    made = node.key()
    node.home.public.write_text("ssh-ed25519 AAAAother\n")
    mended = node.key()
    assert (mended["changed"], mended["fresh"], mended["public_key"]) == (True, False, made["public_key"])
    assert mended["diff"] == [
        {
            "before": "ssh-ed25519 AAAAother\n",
            "after": f"{made['public_key']} gb10.cluster:spark-1\n",
            "before_header": str(node.home.public),
            "after_header": str(node.home.public),
        }
    ]


def replace_by(node: Node, *options: str) -> None:
    """Another private key in the place of ours."""
    node.key()
    node.home.private.unlink()
    subprocess.run(["ssh-keygen", "-q", "-f", str(node.home.private), *options], check=True, stdin=subprocess.DEVNULL, capture_output=True)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["-t", "ecdsa", "-N", ""], "ecdsa-sha2-nistp256"),
        (["-t", "ed25519", "-N", "secret"], "incorrect passphrase supplied to decrypt private key"),
    ],
)
def test_a_key_that_is_not_ours_is_refused(node: Node, options: list[str], found: str) -> None:
    replace_by(node, *options)
    before = snapshot(node.root, times=True)
    for rotate in (False, True):
        with pytest.raises(MeshError) as failure:
            node.key(rotate)
        texts = str(failure.value).partition(" - ")
        assert texts[0] == str(node.home.private)
        assert texts[2].startswith("expected an ed25519 key without passphrase, found ")
        assert found in texts[2]
        assert texts[2].endswith(". Move it away and run again, a new one is made.")
    assert snapshot(node.root, times=True) == before


def test_a_key_that_others_may_read_is_refused(node: Node) -> None:
    node.key()
    node.home.private.chmod(0o640)
    with pytest.raises(MeshError) as failure:
        node.key()
    assert str(failure.value) == (
        f"{node.home.private} - expected mode 0600, found 0640. "
        f"Others may have read it: chmod 600 {node.home.private}, and run with ssh_mesh_rotate: true."
    )


def test_what_a_killed_run_left_is_cleared(node: Node) -> None:
    node.key()
    node.home.new.write_text("half")
    node.key(rotate=True)
    assert files(node) == ["id_ed25519", "id_ed25519.pub", "made", "previous", "previous.conf"]


@pytest.mark.parametrize("there", [False, True])
def test_without_ssh_keygen_nothing_is_left(node: Node, there: bool) -> None:
    if there:
        node.key()
    before = snapshot(node.root)

    def run(argv: list[str], **_options: Any) -> Result:
        return Result(tuple(argv), 0, "ssh-ed25519 AAAA") if "-y" in argv else Result(tuple(argv), None, missing=True)

    with pytest.raises(MeshError) as failure:
        ensure(node.home, "spark-1", there, False, run)
    assert str(failure.value) == (
        "new key of spark-1 - expected ssh-keygen to make it, found no command ssh-keygen. Install openssh-client, and look at the space in the home."
    )
    assert snapshot(node.root) == before


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("step", range(5))
def test_a_failure_at_any_step_leaves_the_pair_as_it_was(node: Node, monkeypatch: pytest.MonkeyPatch, there: bool, step: int) -> None:
    if there:
        node.key()
    before, made = snapshot(node.root), []

    def failing(name: str) -> None:
        real = getattr(_files, name)

        def wrapper(*arguments: Any) -> Any:
            made.append(name)
            if len(made) > step:
                raise OSError(28, "No space left on device", str(arguments[0]))
            return real(*arguments)

        monkeypatch.setattr(_files, name, wrapper)

    for name in ("write", "rename", "make_folder"):
        failing(name)
    with pytest.raises(OSError, match="No space left"):
        node.key(rotate=True)
    assert snapshot(node.root) == before

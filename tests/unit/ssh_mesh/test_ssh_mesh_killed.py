# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed before any of its steps: nobody is locked out, and the next runs finish what it began."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Cluster, Node, snapshot

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen on this machine")

KILLED = 9
STEPS = ("replace", "rename", "link", "unlink", "mkdir", "rmdir")
"""What changes a folder; everything between two of these is one state for whoever comes after."""


def killed(action: Callable[[], object], step: int) -> bool:
    """Do this in a process of its own, which dies before the step of that number; tells whether it got so far."""
    child = os.fork()
    if child == 0:
        left = iter(range(step))

        def mortal(real: Callable[..., object]) -> Callable[..., object]:
            def attempt(*arguments: object, **options: object) -> object:
                if next(left, None) is None:
                    os._exit(KILLED)
                return real(*arguments, **options)

            return attempt

        for name in STEPS:
            setattr(os, name, mortal(getattr(os, name)))
        try:
            action()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


def deaths(root: Path, prepare: Callable[[Cluster], object], action: Callable[[Cluster], object]) -> Iterator[tuple[Cluster, dict[str, tuple[object, ...]]]]:
    """A pair of nodes for each step at which ``action`` can die, with what was on the first of them before everything."""
    for step in range(200):
        cluster = Cluster(root / str(step))
        node = cluster.add(1)
        cluster.add(2)
        before = snapshot(node.root)
        prepare(cluster)
        again = killed(lambda here=cluster: action(here), step)  # type: ignore[misc]
        yield cluster, before
        shutil.rmtree(root / str(step))
        if not again:
            assert step > 5
            return
    pytest.fail("it never ends")


def accepted(node: Node, other: Node) -> list[str]:
    """The keys that ssh uses on ``node`` and that ``other`` lets in."""
    used = [node.home.private, *([node.home.previous] if node.home.previous_settings.exists() else [])]
    halves = {key.name: subprocess.run(["ssh-keygen", "-y", "-f", key], capture_output=True, text=True, check=False).stdout.split() for key in used}
    return [name for name, half in halves.items() if half and " ".join(half[:2]) in other.text("authorized_keys")]


def test_at_no_step_of_a_rotation_a_node_is_locked_out(tmp_path: Path) -> None:
    for cluster, _before in deaths(tmp_path, lambda both: both.run(), lambda both: both.nodes["spark-1"].key(rotate=True)):
        assert accepted(*cluster.nodes.values())


@pytest.mark.parametrize("rotate", [False, True])
def test_the_next_run_finishes_what_a_killed_one_began(tmp_path: Path, rotate: bool) -> None:
    """Both nodes come through, and absent leaves nothing but a folder that was made before it could be noted."""

    def prepare(cluster: Cluster) -> None:
        if rotate:
            cluster.run()

    for cluster, before in deaths(tmp_path, prepare, lambda both: both.run("spark-1", rotate=rotate)):
        cluster.run()
        assert [result["changed"] for results in cluster.run().values() for result in results] == [False] * 4
        node = cluster.nodes["spark-1"]
        node.leave()
        after = snapshot(node.root)
        assert set(after) - set(before) <= {"home/.ssh"}
        assert {path: after[path] for path in before} == before


def test_the_next_run_finishes_to_leave(tmp_path: Path) -> None:
    """Nothing but folders can be left, when the run died after the note of whose they are was gone."""
    for cluster, before in deaths(tmp_path, lambda both: both.run("spark-1"), lambda both: both.nodes["spark-1"].leave()):
        node = cluster.nodes["spark-1"]
        node.leave()
        after = snapshot(node.root)
        assert set(after) - set(before) <= {"home/.ssh", "home/.ssh/gb10"}
        assert {path: after[path] for path in before} == before
        assert node.leave()["changed"] is False

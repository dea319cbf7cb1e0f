# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab that this machine can not take is refused instead of started by half."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gb10lab import limits
from gb10lab.shell import LabError


def test_nodes_that_just_fit_and_one_instance_too_many():
    assert limits.refuse(nodes=8, limit=128, used=56) is None
    with pytest.raises(LabError) as error:
        limits.refuse(nodes=8, limit=128, used=57)
    assert str(error.value) == (
        "fs.inotify.max_user_instances - expected at least 129 (57 in use, 72 for 8 nodes), found 128. "
        "Take another lab down, or raise it: sysctl -w fs.inotify.max_user_instances=512"
    )


@pytest.mark.parametrize(("owner", "counted"), [(0, 2), (1000, 0)], ids=["root's", "another user's"])
def test_an_instance_counts_when_it_is_roots(tmp_path, monkeypatch, owner, counted):
    (tmp_path / "fd").mkdir()
    for number, target in enumerate(("anon_inode:inotify", "/dev/null", "anon_inode:inotify")):
        (tmp_path / "fd" / str(number)).symlink_to(target)
    real = os.stat_result((0o40755, 0, 0, 0, owner, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda self, **_options: real)
    assert limits._instances(tmp_path) == counted

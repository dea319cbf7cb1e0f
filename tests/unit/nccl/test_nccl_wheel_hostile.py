# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wheels that are damaged in any way: a refusal that names the file, never a traceback."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _wheel
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError

from .conftest import make_wheel

Damage = Callable[[random.Random, bytes], bytes]


def flipped(chance: random.Random, data: bytes) -> bytes:
    """A byte of the directory at the end is another one."""
    place = len(data) - 1 - chance.randrange(900)
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def cut(chance: random.Random, data: bytes) -> bytes:
    """The end is missing."""
    return data[: chance.randrange(len(data))]


def swollen(chance: random.Random, data: bytes) -> bytes:
    """Something was put in."""
    place = chance.randrange(len(data))
    return data[:place] + chance.randbytes(9) + data[place:]


@pytest.mark.parametrize("damage", [flipped, cut, swollen])
def test_whatever_is_damaged_is_refused(tmp_path: Path, damage: Damage) -> None:
    wheel, tree, chance = make_wheel(tmp_path), tmp_path / "tree", random.Random(7)
    whole = wheel.read_bytes()
    refused = 0
    for _round in range(150):
        wheel.write_bytes(damage(chance, whole))
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        try:
            _wheel.unpack(wheel, tree, "2.30.7")
        except (NcclError, OSError):
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("row", ["nvidia/nccl/lib/libnccl.so.2,sha256=AAAAA,1", f"{'x' * 200_000},sha256=AAAA,1"], ids=["no base64", "no end"])
def test_a_damaged_list_of_sums_is_refused(tmp_path: Path, row: str) -> None:
    wheel = make_wheel(tmp_path, change=lambda _files, rows: rows.append(row))
    (tmp_path / "tree").mkdir()
    with pytest.raises(NcclError, match=r"content of nvidia_nccl_cu13-2\.30\.7.* - expected a whole wheel, found .*\. Fetch the wheel again\."):
        _wheel.unpack(wheel, tmp_path / "tree", "2.30.7")

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which NCCL programs get: what the loader takes, else what is current below the prefix, else why none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import Build
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._probe import Loaded
from ansible_collections.gb10.cluster.plugins.modules import nccl_info

BUILD = Build("2.30.7", "13.3", "a5187fa2e", "618968ee27704175" + "0" * 48)
NONE = Loaded(error="libnccl.so.2: cannot open shared object file: No such file or directory")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The library that is current below the prefix ``tmp_path``."""
    library = tmp_path / "current" / "lib" / "libnccl.so.2"
    library.parent.mkdir(parents=True)
    library.touch()
    return library


def found(monkeypatch: pytest.MonkeyPatch, prefix: Path, loads: dict[str, Loaded], build: Build | None) -> tuple[object, ...]:
    """``(version, library, error)`` on a machine where ``loads`` says what can be loaded, and libraries tell ``build``."""
    monkeypatch.setattr(nccl_info, "load", lambda name: loads.get(name, NONE))
    monkeypatch.setattr(nccl_info, "read_build", lambda path: build)
    facts = nccl_info.found(prefix)
    return facts["version"], facts["library"], facts["error"]


def test_what_the_loader_takes_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: Path) -> None:
    loads = {"libnccl.so.2": Loaded(23007, "/usr/lib/libnccl.so.2.30.7"), str(own): Loaded(22809, str(own))}
    assert found(monkeypatch, tmp_path, loads, BUILD) == ("2.30.7", "/usr/lib/libnccl.so.2.30.7", None)


def test_without_it_the_current_one_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: Path) -> None:
    assert found(monkeypatch, tmp_path, {str(own): Loaded(23007, str(own))}, BUILD) == ("2.30.7", str(own), None)


def test_without_either_the_loaders_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert found(monkeypatch, tmp_path, {}, BUILD) == (None, None, NONE.error)


def test_a_library_that_does_not_tell_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert found(monkeypatch, tmp_path, {"libnccl.so.2": Loaded(23007, "/x/libnccl.so.2")}, None) == (
        None, "/x/libnccl.so.2", "/x/libnccl.so.2 does not tell its version",
    )  # fmt: skip

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that writes files where Ansible runs: once, all or nothing, the same in check mode, and every refusal."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.gb10.cluster.plugins.action import fabric_files as action

TWO = {"plan.json": "{}\n", "cabling.md": "# Cabling\n"}


def run(folder: Path | str, files: Any, check: bool = False) -> dict[str, Any]:
    """One run of the task."""
    plugin = action.ActionModule.__new__(action.ActionModule)
    plugin._task = SimpleNamespace(args={"folder": str(folder), "files": files}, check_mode=check, async_val=0)
    plugin._connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="x"))
    return plugin.run(task_vars={})


def held(folder: Path) -> dict[str, str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_files_are_written_once_and_can_be_read_by_all(tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        assert run(tmp_path / "a/b", TWO)["changed"] is True
    finally:
        os.umask(mask)
    assert held(tmp_path / "a/b") == TWO
    assert [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "a/b", tmp_path / "a/b/plan.json")] == ["0o755", "0o644"]
    before = (tmp_path / "a/b/plan.json").stat()
    assert run(tmp_path / "a/b", TWO)["changed"] is False
    assert (tmp_path / "a/b/plan.json").stat() == before


def test_check_mode_foretells_the_diff_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("old\n")
    foretold = run(tmp_path, TWO, check=True)
    assert held(tmp_path) == {"plan.json": "old\n"}
    assert foretold == run(tmp_path, TWO)
    plan, page = str(tmp_path / "plan.json"), str(tmp_path / "cabling.md")
    assert foretold["diff"] == [
        {"before": "old\n", "after": "{}\n", "before_header": plan, "after_header": plan},
        {"before": "", "after": "# Cabling\n", "before_header": page, "after_header": page},
    ]
    assert run(tmp_path, TWO)["diff"] == []


def test_a_tilde_is_the_home_of_who_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    run("~/x", {"a": "1"})
    assert held(tmp_path) == {"x/a": "1"}


def test_a_file_that_can_not_be_written_leaves_the_others_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.json").write_text("old\n")
    write = action._files.write

    def full(file: Path, *arguments: Any) -> None:
        if file.name == "cabling.md":
            raise OSError(28, "No space left on device", str(file))
        write(file, *arguments)

    monkeypatch.setattr(action._files, "write", full)
    text = f"{tmp_path}/cabling.md - expected a file that can be read and written, found No space left on device. Repair that, then run again."
    with pytest.raises(AnsibleActionFail, match=f"^{re.escape(text)}$"):
        run(tmp_path, TWO)
    assert held(tmp_path) == {"plan.json": "old\n"}


@pytest.mark.parametrize("check", [True, False])
def test_what_is_in_the_way_is_named(tmp_path: Path, check: bool) -> None:
    (tmp_path / ".gb10").write_text("")
    text = f"{tmp_path}/.gb10 - expected a folder, or nothing, found something else. Move it away, or choose another folder."
    with pytest.raises(AnsibleActionFail, match=f"^{re.escape(text)}$"):
        run(tmp_path / ".gb10", TWO, check)
    (tmp_path / "plan.json").mkdir()
    text = f"{tmp_path}/plan.json - expected a file that can be read and written, found Is a directory. Repair that, then run again."
    with pytest.raises(AnsibleActionFail, match=f"^{re.escape(text)}$"):
        run(tmp_path, TWO, check)


ODD = [({"../x": "1"}, "'../x'"), ({"a/b": "1"}, "'a/b'"), ({"x": 1}, "'x'"), ({"": "1"}, "''"), ({"..": "1"}, "'..'"), ({1: "1"}, "1")]


@pytest.mark.parametrize(("files", "odd"), ODD, ids=str)
def test_files_are_names_with_a_text(tmp_path: Path, files: dict[str, Any], odd: str) -> None:
    text = f"files - expected names in the folder, each with a text, found {odd}. Correct the task."
    with pytest.raises(AnsibleActionFail, match=f"^{re.escape(text)}$"):
        run(tmp_path, files)
    assert held(tmp_path) == {}

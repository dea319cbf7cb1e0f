# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mirror holds exactly the working tree, and is written only where it differs."""

from __future__ import annotations

import os
import subprocess

import export
import pytest


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with two files, a link and an ignored file; and the folder to mirror it to."""
    repository = tmp_path / "checkout"
    (repository / "plugins").mkdir(parents=True)
    (repository / ".gitignore").write_text("/.build/\n*.pyc\n")
    (repository / "plugins" / "a.py").write_text("a = 1\n")
    (repository / "plugins" / "a.pyc").write_text("compiled\n")
    (repository / "link").symlink_to("plugins")
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    monkeypatch.setattr(export, "REPOSITORY", repository)
    return repository, repository / ".build" / "ansible_collections" / "gb10" / "cluster"


def holdings(folder):
    """Relative paths below a mirror, without its own git folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".git" not in path.parts and not path.is_dir() or path.is_symlink()}


def test_the_mirror_holds_what_git_does_not_ignore(tree):
    _repository, target = tree
    export.mirror(export.tracked(), target)
    assert holdings(target) == {".gitignore", "plugins/a.py", "link"}
    assert os.readlink(target / "link") == "plugins"


def test_ansible_test_finds_the_files_through_the_mirrors_own_git(tree):
    _repository, target = tree
    export.mirror(export.tracked(), target)
    listing = subprocess.run(["git", "ls-files", "--others"], cwd=target, check=True, capture_output=True, text=True).stdout
    assert "plugins/a.py" in listing.splitlines()


def test_a_second_mirror_writes_nothing_and_a_change_writes_one_file(tree):
    repository, target = tree
    export.mirror(export.tracked(), target)
    before = {name: os.lstat(target / name).st_ino for name in holdings(target)}
    export.mirror(export.tracked(), target)
    assert {name: os.lstat(target / name).st_ino for name in holdings(target)} == before
    (repository / "plugins" / "a.py").write_text("a = 22\n")
    export.mirror(export.tracked(), target)
    assert [name for name, inode in before.items() if os.lstat(target / name).st_ino != inode] == ["plugins/a.py"]
    assert (target / "plugins" / "a.py").read_text() == "a = 22\n"


def test_what_is_shipped_has_no_tests():
    names = {"plugins/modules/x.py", "tests/config.yml", "tests/unit/test_x.py", "extensions/molecule/a/b.yml", "extensions/eda.yml"}
    assert export.without_tests(names) == {"plugins/modules/x.py", "tests/config.yml", "extensions/eda.yml"}


def test_what_is_gone_goes_and_what_tools_keep_stays(tree):
    repository, target = tree
    export.mirror(export.tracked(), target)
    (target / "tests" / "output").mkdir(parents=True)
    (target / "tests" / "output" / "result").write_text("kept")
    (repository / "plugins" / "a.py").unlink()
    export.mirror(export.tracked(), target)
    assert holdings(target) == {".gitignore", "link", "tests/output/result"}
    assert not (target / "plugins").exists()

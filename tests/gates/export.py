# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirror the working tree to a folder whose path ends in ``ansible_collections/gb10/cluster``: ``export.py WHOLE SHIPPED...``.

ansible-test, molecule and the documentation tools accept a collection under that path alone. Mirrored is what git knows or
would add; only files that differ are written, each in one step, so that a gate that reads the mirror is not disturbed. Folders
``SHIPPED`` get no tests, and with them no file by which ansible-test could be told to ignore something.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# what tools keep inside the mirror: not ours to delete
KEPT = (".git", ".ansible", "tests/output")
TESTS = ("tests/", "extensions/molecule/")
TEST_SETTINGS = "tests/config.yml"
"""What ansible-test has to know about the collection."""


def tracked() -> set[str]:
    """Relative paths of the working tree's files that git knows or does not ignore, without the deleted ones."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout
    return {name for name in listing.split("\0") if name and os.path.lexists(REPOSITORY / name)}


def same(source: Path, target: Path) -> bool:
    """Whether ``target`` already is ``source``, by kind, size, mode and time."""
    if source.is_symlink() or target.is_symlink():
        return source.is_symlink() and target.is_symlink() and os.readlink(source) == os.readlink(target)
    if not target.is_file():
        return False
    ours, theirs = source.stat(), target.stat()
    return (ours.st_size, ours.st_mode, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mode, theirs.st_mtime_ns)


def mirror(names: set[str], target: Path) -> None:
    """Make ``target`` hold exactly the files ``names``, and be a git work tree of its own.

    Without its own ``.git``, ansible-test asks the repository around the mirror, which ignores ``.build``, and tests nothing.
    """
    target.mkdir(parents=True, exist_ok=True)
    for folder, folders, files in os.walk(target, topdown=False):
        inside = Path(folder).relative_to(target)
        if any(inside.is_relative_to(kept) for kept in KEPT):
            continue
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in files + links:
            if str(inside / name) not in names:
                Path(folder, name).unlink()
        if inside.parts and not os.listdir(folder):
            os.rmdir(folder)
    for name in sorted(names):
        source, copy = REPOSITORY / name, target / name
        if not same(source, copy):
            copy.parent.mkdir(parents=True, exist_ok=True)
            partial = copy.with_name(f".{copy.name}.partial")
            shutil.copy2(source, partial, follow_symlinks=False)
            os.replace(partial, copy)
    if not (target / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(target)], check=True)


def without_tests(names: set[str]) -> set[str]:
    """Those of the files ``names`` that are shipped, or that ansible-test needs to check them."""
    return {name for name in names if not name.startswith(TESTS) or name == TEST_SETTINGS}


def main() -> None:
    """Mirror the working tree to the folders of the command line."""
    whole, *shipped = (Path(folder).absolute() for folder in sys.argv[1:])
    names = tracked()
    mirror(names, whole)
    for folder in shipped:
        mirror(without_tests(names), folder)


if __name__ == "__main__":
    main()

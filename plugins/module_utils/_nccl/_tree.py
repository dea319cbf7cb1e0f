# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One folder per unpacked version, each with a record of its files; a version appears and is replaced by renaming.

``PREFIX/2.30.7/{lib,include,licenses,gb10.json}``. Whatever is not finished lies in ``PREFIX/.incoming-XXXX``; whoever
changes something holds a lock on PREFIX, so such a folder without a lock was left by a run that was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._files import remove_if_empty
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged, parse
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import digest, version_code
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError

RECORD = "gb10.json"
_INCOMING = ".incoming-"


class Record(TypedDict):
    """What a version's folder was unpacked from, and its files: path to SHA-256."""

    version: str
    wheel_sha256: str
    files: dict[str, str]


def record(folder: Path) -> Record | None:
    """The record of a version's folder, or None for a folder that is not ours. Raises Damaged: what is ours there can not be told."""
    file = folder / RECORD
    try:
        content = file.read_bytes()
    except OSError:
        return None
    fix = f"Move {folder} away, then run again."
    known = parse(str(file), content, Record, fix)
    for name in known["files"]:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise Damaged(message(str(file), "files below its folder", name, fix))
    return known


def versions(prefix: Path) -> list[str]:
    """The versions that lie here and are ours, oldest first."""
    entries = prefix.iterdir() if prefix.is_dir() else ()
    found = [entry.name for entry in entries if version_code(entry.name) and not entry.is_symlink() and record(entry)]
    return sorted(found, key=lambda name: version_code(name) or 0)


def unfinished(prefix: Path) -> list[str]:
    """The scratch folders in ``prefix``: of the run that has the lock, else of runs that were killed."""
    return sorted(folder.name for folder in prefix.glob(f"{_INCOMING}*"))


def whole(folder: Path, sha256: str | None = None) -> bool:
    """Whether every file of a version is as it was recorded, and came from the wheel with this SHA-256 if one is asked for."""
    known = record(folder)
    if known is None or (sha256 and sha256.lower() != known["wheel_sha256"]):
        return False
    try:
        link = os.readlink(folder / "lib" / "libnccl.so")
        return link == "libnccl.so.2" and all(digest(folder / name) == value for name, value in known["files"].items())
    except OSError:
        return False


def seal(folder: Path, version: str, wheel_sha256: str) -> None:
    """Write the record of a freshly unpacked version."""
    names = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    content = {"version": version, "wheel_sha256": wheel_sha256, "files": {name: digest(folder / name) for name in names}}
    (folder / RECORD).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    (folder / RECORD).chmod(0o644)


def place(tree: Path, final: Path, undo: ExitStack) -> None:
    """Let the finished ``tree`` become ``final`` by one rename. A damaged ``final`` is put beside the tree until the run has succeeded."""
    if final.exists():
        aside = tree.with_name("replaced")
        final.rename(aside)
        undo.callback(aside.rename, final)
    tree.rename(final)
    undo.callback(final.rename, tree)


def remove(folder: Path) -> None:
    """Remove the recorded files of a version and the folders that become empty; what somebody else put there stays."""
    known = record(folder)
    for name in [*(known["files"] if known else ()), "lib/libnccl.so", RECORD]:
        (folder / name).unlink(missing_ok=True)
    for inner in sorted((entry for entry in folder.rglob("*") if entry.is_dir() and not entry.is_symlink()), reverse=True):
        remove_if_empty(inner)
    remove_if_empty(folder)


@contextmanager
def exclusive(prefix: Path) -> Iterator[None]:
    """Hold the lock on ``prefix``, which exists, and clear away what killed runs left there. Raises NcclError if another run has it."""
    handle = os.open(prefix, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _locked(handle):
            fix = "Wait until it has ended and run again."
            raise NcclError(message(f"installation of NCCL in {prefix}", "one at a time", "another run that has not ended", fix))
        for name in unfinished(prefix):
            shutil.rmtree(prefix / name, ignore_errors=True)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Take the lock; a second of patience, because who asks for the progress holds it for a moment."""
    for _attempt in range(20):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.05)
    return False


@contextmanager
def incoming(prefix: Path) -> Iterator[Path]:
    """A scratch folder on the same file system as ``prefix``, gone afterwards whatever happened."""
    scratch = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=prefix))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def progress(prefix: Path) -> dict[str, Any] | None:
    """``{step: start | download | unpack, megabytes}`` of the run that installs here right now (10^6 bytes), or None."""
    try:
        handle = os.open(prefix, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        scratch = prefix / next(iter(unfinished(prefix)), _INCOMING)
        step = "unpack" if (scratch / "tree").is_dir() else "download" if (scratch / "download").is_dir() else "start"
        size = _bytes(scratch / "tree") or max(_bytes(scratch / "tmp"), _bytes(scratch / "download"))
        return {"step": step, "megabytes": round(size / 1e6)}
    finally:
        os.close(handle)


def wait(prefix: Path, seconds: float) -> dict[str, Any] | None:
    """:func:`progress` when nobody installs here any more, at most ``seconds`` later."""
    end = time.monotonic() + seconds
    while (now := progress(prefix)) and time.monotonic() < end:
        time.sleep(0.1)
    return now


def _bytes(folder: Path) -> int:
    """How much lies in a folder that somebody else is filling or clearing, in bytes."""
    total = 0
    for where, _folders, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                continue
    return total

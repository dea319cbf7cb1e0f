# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node in a folder: wheels of a tiny NCCL, and a stand-in for pip, apt, ldconfig and the dynamic loader."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _wheel
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import version_code
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._wanted import Machine, Wanted

LIBRARY, HEADER = "nvidia/nccl/lib/libnccl.so.2", "nvidia/nccl/include/nccl.h"


def library_bytes(version: str) -> bytes:
    """What a library of this version has between zero bytes, as the official builds do."""
    return f"\x7fELF\0NCCL version information\0NCCL version {version}+cuda13.3\0NCCL git version HEAD a5187fa2e\0".encode()


def header_text(version: str) -> str:
    """The lines of nccl.h that matter, and one around them."""
    return f"#ifndef NCCL_H_\n#define NCCL_VERSION_CODE {version_code(version)}\n#define NCCL_VERSION(X,Y,Z) 0\n#endif\n"


def wheel_files(version: str) -> dict[str, bytes]:
    """Name and content of everything in the wheel but RECORD."""
    info = f"nvidia_nccl_cu13-{version}.dist-info"
    return {
        "nvidia/nccl/__init__.py": b"",
        LIBRARY: library_bytes(version),
        "nvidia/nccl/lib/libnccl_device.bc": b"BC",
        HEADER: header_text(version).encode(),
        "nvidia/nccl/include/nccl_device/core.h": b"// core\n",
        f"{info}/licenses/License.txt": b"licence\n",
        f"{info}/METADATA": f"Metadata-Version: 2.4\nName: nvidia-nccl-cu13\nVersion: {version}\n".encode(),
    }


def make_wheel(folder: Path, version: str = "2.30.7", change: Callable[[dict[str, bytes], list[str]], None] | None = None) -> Path:
    """Write a wheel. ``change`` gets its files and the rows of its RECORD, and may spoil either."""
    files = wheel_files(version)
    sums = {name: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode() for name, content in files.items()}
    rows = [f"{name},sha256={sums[name]},{len(content)}" for name, content in files.items()]
    if change:
        change(files, rows)
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"nvidia_nccl_cu13-{version}-py3-none-manylinux_2_18_aarch64.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
        info = f"nvidia_nccl_cu13-{version}.dist-info"
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return wheel


def snapshot(folder: Path, times: bool = False) -> dict[str, tuple[object, ...]]:
    """Everything below ``folder``: kind, content or target, mode; with ``times`` also inode and change time."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = (content, oct(status.st_mode), *((status.st_ino, status.st_mtime_ns) if times else ()))
    return found


class Node:
    """A node below ``root``; its ``runner`` answers as the commands of a real one would, and keeps what was run in ``commands``."""

    def __init__(self, root: Path) -> None:
        """Make an empty node whose package index has 2.28.9, 2.30.4 and 2.30.7."""
        self.root, self.index = root / "node", root / "index"
        self.prefix, self.system = self.root / "opt" / "gb10" / "nccl", self.root / "usr" / "lib"
        (self.root / "opt").mkdir(parents=True)
        (self.root / "etc" / "ld.so.conf.d").mkdir(parents=True)
        (self.root / "usr" / "include").mkdir(parents=True)
        self.system.mkdir()
        if not self.index.exists():
            for version in ("2.28.9", "2.30.4", "2.30.7"):
                make_wheel(self.index, version)
        self.machine = Machine(self.root / "etc" / "ld.so.conf.d" / "60-gb10-nccl.conf", self.root / "usr" / "include" / "nccl.h", self.run)
        self.commands: list[str] = []
        self.packages: dict[str, tuple[str, bool]] = {}
        self.repository = ["2.30.7-1+cuda13.3", "2.30.7-1+cuda13.2", "2.30.4-1+cuda13.2", "2.28.9-1+cuda13.0", "2.22.3-1-1"]
        self.has_pip = self.has_ensurepip = True
        self.cache: Path | None = None
        self.answers: list[tuple[str, Result]] = []

    def wanted(self, **options: object) -> Wanted:
        """The options of the module for this node."""
        return Wanted(prefix=self.prefix, **options)  # type: ignore[arg-type]

    def run(self, argv: Sequence[str], _timeout: float) -> Result:
        """One command; ``answers`` are given first, by the text they begin with or contain."""
        words = list(argv)
        while words[0] == "env" or "=" in words[0] or words[0] == "-i":
            words.pop(0)
        text = " ".join(word for word in words if "\n" not in word)
        self.commands.append(text)
        for part, answer in self.answers:
            if part in text:
                return answer
        for part, action in self._actions.items():
            if part in text:
                return action(self, words, text)
        raise AssertionError(f"unexpected command: {text}")

    def _pip(self, _words: list[str], _text: str) -> Result:
        return Result((), 0 if self.has_pip else 1)

    def _ensurepip(self, _words: list[str], _text: str) -> Result:
        return Result((), 0 if self.has_ensurepip else 1)

    def _venv(self, words: list[str], _text: str) -> Result:
        Path(words[-1]).mkdir()
        return Result((), 0)

    def _download(self, words: list[str], text: str) -> Result:
        version = words[-1].partition("==")[2]
        found = list(self.index.glob(f"*-{version}-*.whl"))
        if not found:
            return Result((), 1, "", f"ERROR: Could not find a version\nERROR: No matching distribution found for {words[-1]}\n")
        shutil.copy(found[0], words[words.index("--dest") + 1])
        return Result((), 0, f"Saved {found[0].name}\n")

    def _load(self, words: list[str], _text: str) -> Result:
        name = words[-1]
        if "/" not in name and self.cache is None and not (self.system / name).exists():
            return Result((), 1, "", f"OSError: {name}: cannot open shared object file: No such file or directory\n")
        file = Path(name) if "/" in name else self.cache or self.system / name
        match = re.search(rb"\0NCCL version ([0-9.]+)\+", file.read_bytes())
        if not match:
            return Result((), 1, "", f"Traceback\nOSError: {file}: invalid ELF header\n")
        return Result((), 0, json.dumps({"status": 0, "code": version_code(match[1].decode()), "path": str(file.resolve())}))

    def _ldconfig(self, _words: list[str], _text: str) -> Result:
        configured = self.machine.loader.read_text().splitlines()[-1] if self.machine.loader.exists() else None
        self.cache = Path(configured) / "libnccl.so.2" if configured else None
        return Result((), 0)

    def _query(self, _words: list[str], _text: str) -> Result:
        rows = [f"{name}\t{version}\t{'hi' if held else 'ii'} \n" for name, (version, held) in self.packages.items()]
        return Result((), 0 if rows else 1, "".join(rows), "" if rows else "dpkg-query: no packages found matching libnccl2\n")

    def _madison(self, _words: list[str], _text: str) -> Result:
        return Result((), 0, "".join(f"{name:>11} | {full} | https://repo  Packages\n" for name in ("libnccl2", "libnccl-dev") for full in self.repository))

    def _install(self, words: list[str], _text: str) -> Result:
        for name, full in (word.split("=") for word in words if re.match(r"libnccl.*=", word)):
            self.packages[name] = (full, self.packages.get(name, ("", False))[1])
            (self.system / "libnccl.so.2").write_bytes(library_bytes(full.partition("-")[0]))
            self.machine.header.write_text(header_text(full.partition("-")[0]))
        return Result((), 0)

    def _mark(self, words: list[str], _text: str) -> Result:
        for name in words[2:]:
            self.packages[name] = (self.packages[name][0], words[1] == "hold")
        return Result((), 0)

    def _remove(self, words: list[str], _text: str) -> Result:
        for name in words[2:]:
            del self.packages[name]
        (self.system / "libnccl.so.2").unlink(missing_ok=True)
        self.machine.header.unlink(missing_ok=True)
        return Result((), 0)

    _actions = {
        "import pip.__main__": _pip,
        "import ensurepip": _ensurepip,
        "-m venv": _venv,
        "-m pip download": _download,
        "-I -c": _load,
        "ldconfig": _ldconfig,
        "dpkg-query": _query,
        "apt-cache madison": _madison,
        "apt-get": _install,
        "apt-mark": _mark,
        "dpkg --remove": _remove,
    }


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes need not outlive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture(autouse=True)
def no_sum_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny wheels are not the real ones."""
    monkeypatch.setattr(_wheel, "SUMS", {})


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node without NCCL."""
    return Node(tmp_path)

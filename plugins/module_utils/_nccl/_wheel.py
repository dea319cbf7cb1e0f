# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wheel of NCCL: fetched by pip, checked against itself, unpacked as ``lib/``, ``include/`` and ``licenses/``."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import lzma
import platform
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ansible_collections.gb10.cluster.plugins.module_utils._command import run
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import digest
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._probe import Runner

PACKAGE = "nvidia-nccl-cu13"
SUMS: dict[tuple[str, str], str] = {
    ("2.30.7", "aarch64"): "ca786ffa5a647c75d4d1f5cc72a6c4f537947e2ba8823d7c8aaf768e7a7b9f77",
    ("2.30.7", "x86_64"): "cefa7fdb9710efd0f39c5f1be1d61ff6fc9a996c451265bd7fbdcf9455ed4b50",
}
"""SHA-256 of the wheels of the default version, as pypi.org has them, by version and architecture: an index between may say what it likes."""

_LIBRARY = "lib/libnccl.so.2"
_DOWNLOAD_SECONDS = 3600.0
_AGAIN = "Fetch the wheel again."
# Where the parts of the wheel go; what matches nothing (RECORD, __init__.py) stays behind.
_PARTS = (
    (re.compile(r"nvidia/nccl/(lib/.+)"), r"\1"),
    (re.compile(r"nvidia/nccl/(include/.+)"), r"\1"),
    (re.compile(r"[^/]+\.dist-info/licenses/(.+)"), r"licenses/\1"),
)


def installer(runner: Runner = run) -> str | None:
    """How this machine can fetch a wheel: ``pip``, ``venv`` (pip from a throw-away environment) or None.

    Ubuntu 24.04 may come without both; ``pip download`` installs nothing, so PEP 668 does not forbid it. What ``-m pip`` would run is
    only imported: asking pip for its version takes ten times as long.
    """
    if runner([sys.executable, "-c", "import pip.__main__"], 60.0).ok:
        return "pip"
    return "venv" if runner([sys.executable, "-c", "import ensurepip, venv; ensurepip.version()"], 60.0).ok else None


def no_installer(version: str) -> str:
    """The refusal for a machine on which :func:`installer` finds nothing."""
    return message(
        f"download of {PACKAGE} {version}",
        f"pip or ensurepip for {sys.executable}",
        "neither",
        "Install python3-pip (or python3-venv) with apt, or fetch the wheel elsewhere and use source 'file'.",
    )


def expected_sum(version: str, told: str | None) -> str | None:
    """What the wheel of ``version`` for this machine must hash to: what the user says, else what we know; None if nobody does."""
    return told.lower() if told else SUMS.get((version, platform.machine()))


def without_sum(version: str) -> str:
    """The warning about a wheel that can not be compared with anything."""
    fix = "Give its sum as sha256 (nccl_wheel_sha256 of the role); until then the index, or whoever handed it over, is trusted."
    return message(f"wheel of NCCL {version}", "a SHA-256 to compare it with", f"none for {platform.machine()}", fix)


def download(version: str, scratch: Path, runner: Runner = run) -> Path:
    """Fetch the wheel of ``version`` for this machine into ``scratch/download`` and return its path. Nothing is written
    outside ``scratch``: no cache, and pip's own temporary files lie there too. Raises NcclError."""
    target, temporary = scratch / "download", scratch / "tmp"
    target.mkdir()
    temporary.mkdir()
    python = sys.executable
    if installer(runner) == "venv":
        made = runner(["env", f"TMPDIR={temporary}", python, "-m", "venv", str(scratch / "venv")], 300.0)
        if not made.ok:
            raise NcclError(message("pip for the download", "python3 -m venv to work", made.complaint, "Install python3-pip with apt."))
        python = str(scratch / "venv" / "bin" / "python")
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    command = ["env", f"TMPDIR={temporary}", python, "-m", "pip", "download", *options, "--dest", str(target), f"{PACKAGE}=={version}"]
    result = runner(command, _DOWNLOAD_SECONDS)
    wheels = sorted(target.glob("*.whl"))
    if not result.ok or len(wheels) != 1:
        raise NcclError(
            message(
                f"download of {PACKAGE} {version}",
                "one wheel from the package index",
                result.complaint if not result.ok else f"{len(wheels)} wheels",
                "Look at the node's network and pip configuration, or fetch the wheel elsewhere and use source 'file'.",
            )
        )
    return wheels[0]


def unpack(wheel: Path, tree: Path, version: str, sha256: str | None = None) -> None:
    """Unpack the parts of ``wheel`` into the new folder ``tree``, each checked against the wheel's RECORD.

    ``sha256``: what the whole file must hash to, as :func:`expected_sum` says. Raises NcclError.
    """
    try:
        found = digest(wheel)
        if sha256 and found != sha256:
            raise NcclError(message(f"SHA-256 of {wheel.name}", sha256, found, f"{_AGAIN[:-1]}, or say with sha256 that this one is meant."))
        with zipfile.ZipFile(wheel) as archive:
            info = next((name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)), "")
            packed = _package(archive.read(info).decode()) if info else "no wheel"
            if packed != f"{PACKAGE} {version}":
                raise NcclError(message(f"content of {wheel.name}", f"{PACKAGE} {version}", packed, "Name the wheel of the version asked for."))
            sums = _sums(archive.read(info.replace("METADATA", "RECORD")).decode())
            for member, target in _members(archive):
                _extract(archive, member, tree / target, sums.get(member.filename))
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, csv.Error, EOFError, KeyError, ValueError, RuntimeError) as error:
        raise NcclError(message(f"content of {wheel.name}", "a whole wheel", str(error), _AGAIN)) from error
    if not (tree / _LIBRARY).is_file():
        raise NcclError(message(f"content of {wheel.name}", f"nvidia/nccl/{_LIBRARY}", "no such file", _AGAIN))
    (tree / "lib" / "libnccl.so").symlink_to("libnccl.so.2")


def _package(metadata: str) -> str:
    """Name and version out of a METADATA file: ``nvidia-nccl-cu13 2.30.7``."""
    fields = dict(re.findall(r"^(Name|Version): *(\S+)$", metadata, re.MULTILINE))
    return f"{fields.get('Name', '?').replace('_', '-')} {fields.get('Version', '?')}"


def _sums(record: str) -> dict[str, bytes]:
    """SHA-256 per file out of a RECORD file (urlsafe base64 without padding, as the wheel format has it)."""
    rows = (row for row in csv.reader(io.StringIO(record)) if len(row) == 3 and row[1].startswith("sha256="))
    return {name: base64.urlsafe_b64decode(value[7:] + "==") for name, value, _size in rows}


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    """The files to unpack, each with its place in the tree; refuses names that lead out of it, and links."""
    for member in archive.infolist():
        name = member.filename
        if member.is_dir():
            continue
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or stat.S_ISLNK(member.external_attr >> 16):
            raise NcclError(message("content of the wheel", "plain files inside its own folder", name, "Do not use this wheel."))
        for pattern, target in _PARTS:
            match = pattern.fullmatch(name)
            if match:
                yield member, match.expand(target)


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, expected: bytes | None) -> None:
    """Write one file, readable by all, and compare it with its sum."""
    for folder in reversed([target.parent, *target.parent.parents]):
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o755)
    total = hashlib.sha256()
    with archive.open(member) as source, open(target, "xb") as sink:
        while chunk := source.read(1 << 20):
            total.update(chunk)
            sink.write(chunk)
    target.chmod(0o644)
    if total.digest() != expected:
        raise NcclError(message(f"{member.filename} in the wheel", "the SHA-256 of the wheel's RECORD", "another", _AGAIN))

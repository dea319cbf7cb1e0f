# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nccl_library on a node in a folder: what it leaves behind, what it refuses, and that a failure leaves nothing."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _tree, _wheel
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import version_code
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._change import ensure
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError, of_system
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged
from ansible_collections.gb10.cluster.plugins.modules import nccl_library

from .conftest import HEADER, LIBRARY, Node, header_text, library_bytes, make_wheel, snapshot

SUMS = dict(_wheel.SUMS)
SUM = hashlib.sha256(library_bytes("2.30.7")).hexdigest()[:16]
NO_SUM = (
    f"wheel of NCCL 2.30.7 - expected a SHA-256 to compare it with, found none for {platform.machine()}. "
    "Give its sum as sha256 (nccl_wheel_sha256 of the role); until then the index, or whoever handed it over, is trusted."
)


def go(node: Node, check_mode: bool = False, **options: object) -> dict[str, Any]:
    """One run of the module."""
    return ensure(node.wanted(**options), node.machine, check_mode)


def refused(node: Node, **options: object) -> str:
    """One run that must fail and change nothing; returns its text."""
    before = snapshot(node.root, times=True)
    with pytest.raises((NcclError, Damaged)) as failure:
        go(node, **options)
    assert {name: value[:2] for name, value in snapshot(node.root, times=True).items()} == {name: value[:2] for name, value in before.items()}
    return str(failure.value)


def forbidden(node: Node, **options: object) -> str:
    """The same where nothing is even tried: check mode says the same as a real run."""
    told = refused(node, check_mode=True, **options)
    assert refused(node, **options) == told
    return told


def downloads(node: Node) -> int:
    """How often pip fetched something."""
    return sum("pip download" in command for command in node.commands)


def test_the_first_run_puts_everything_in_place_and_says_what_it_is(node: Node) -> None:
    result = go(node)
    version = node.prefix / "2.30.7"
    assert result == {
        "changed": True,
        "installed": False,
        "installing": None,
        "diff": result["diff"],
        "warnings": [NO_SUM],
        "source": "wheel",
        "version": "2.30.7",
        "version_code": 23007,
        "library": str(version / "lib" / "libnccl.so.2"),
        "cuda": "13.3",
        "build": f"2.30.7+cuda13.3 git a5187fa2e sha256 {SUM}",
    }
    assert sorted(str(path.relative_to(version)) for path in version.rglob("*") if not path.is_dir()) == [
        "gb10.json",
        "include/nccl.h",
        "include/nccl_device/core.h",
        "lib/libnccl.so",
        "lib/libnccl.so.2",
        "lib/libnccl_device.bc",
        "licenses/License.txt",
    ]
    assert os.readlink(version / "lib" / "libnccl.so") == "libnccl.so.2"
    assert os.readlink(node.prefix / "current") == "2.30.7"
    assert node.machine.loader.read_text() == f"# written by gb10.cluster\n{node.prefix}/current/lib\n"
    assert sorted(path.name for path in node.prefix.iterdir()) == ["2.30.7", "current"]


def test_pip_is_asked_for_one_wheel_of_this_machine_and_leaves_no_cache(node: Node) -> None:
    go(node)
    command = next(command for command in node.commands if "pip download" in command)
    options = "--no-deps --only-binary=:all: --no-cache-dir --disable-pip-version-check --no-input --progress-bar=off"
    start, _dest, rest = command.partition(f" {node.prefix}/.incoming-")
    assert start == f"{sys.executable} -m pip download {options} --dest"
    assert rest.endswith("/download nvidia-nccl-cu13==2.30.7")


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_everybody_may_read_it_whatever_the_umask(node: Node, umask: int) -> None:
    old = os.umask(umask)
    try:
        go(node)
    finally:
        os.umask(old)
    modes = {oct(path.stat().st_mode & 0o777) for path in node.prefix.rglob("*") if path.is_file()}
    assert modes == {"0o644"}
    assert {oct(path.stat().st_mode & 0o777) for path in [node.prefix, *node.prefix.rglob("*")] if path.is_dir()} == {"0o755"}
    assert oct(node.machine.loader.stat().st_mode & 0o777) == "0o644"


def test_a_second_run_downloads_nothing_and_touches_nothing(node: Node) -> None:
    first = go(node)
    before = snapshot(node.root, times=True)
    second = go(node)
    assert (second["changed"], second["installed"], second["build"]) == (False, True, first["build"])
    assert snapshot(node.root, times=True) == before
    assert downloads(node) == 1


@pytest.mark.parametrize("options", [{}, {"loader": False}, {"source": "apt"}, {"version": "2.28.9"}])
def test_check_mode_touches_nothing_and_shows_the_diff_of_the_real_run(node: Node, options: dict[str, object]) -> None:
    go(node, version="2.30.4")
    before = snapshot(node.root, times=True)
    check = go(node, check_mode=True, **options)
    assert snapshot(node.root, times=True) == before
    assert (check["changed"], check["build"], check["library"]) == (True, None, None)
    real = go(node, **options)
    assert real["diff"] == check["diff"]
    again = go(node, **options)
    assert again["diff"]["before"] == real["diff"]["after"]


@pytest.mark.parametrize("used", [None, "2.28.9"], ids=["where there was nothing", "beside the version in use"])
def test_a_staged_version_lies_ready_and_nothing_gets_it(node: Node, used: str | None) -> None:
    if used:
        go(node, version=used)
    before = snapshot(node.root)
    check = go(node, check_mode=True, state="staged")
    assert snapshot(node.root) == before
    staged = go(node, state="staged")
    assert (staged["diff"], staged["changed"], staged["library"]) == (check["diff"], True, str(node.prefix / "2.30.7" / "lib" / "libnccl.so.2"))
    after = snapshot(node.root, times=True)
    new = {name for name in after if name not in before}
    assert {name: value for name, value in snapshot(node.root).items() if name not in new} == before
    assert {name for name in new if "/2.30.7" not in name} <= {"opt/gb10", "opt/gb10/nccl"}
    assert go(node, state="staged")["installed"] is True
    assert snapshot(node.root, times=True) == after

    result = go(node)
    assert (result["changed"], result["build"], downloads(node)) == (True, staged["build"], 2 if used else 1)
    assert os.readlink(node.prefix / "current") == "2.30.7"
    assert go(node, state="staged")["installed"] is True


def test_absent_takes_a_staged_version_away(node: Node) -> None:
    before = snapshot(node.root)
    go(node, state="staged")
    go(node, state="absent")
    assert snapshot(node.root) == before


def test_another_version_is_switched_to_and_back_without_a_second_download(node: Node) -> None:
    go(node, version="2.28.9")
    old = snapshot(node.prefix / "2.28.9", times=True)
    go(node)
    assert os.readlink(node.prefix / "current") == "2.30.7"
    assert snapshot(node.prefix / "2.28.9", times=True) == old
    back = go(node, version="2.28.9")
    assert (back["changed"], back["version_code"], downloads(node)) == (True, 22809, 2)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda version: (version / "lib" / "libnccl.so.2").write_bytes(b""), id="library emptied"),
        pytest.param(lambda version: (version / "include" / "nccl.h").unlink(), id="header gone"),
        pytest.param(lambda version: (version / "lib" / "libnccl.so").unlink(), id="link gone"),
        pytest.param(lambda version: (version / "lib" / "libnccl_device.bc").write_bytes(b"XX"), id="other file changed"),
    ],
)
def test_a_damaged_version_is_replaced(node: Node, spoil: Any) -> None:
    first = go(node)
    whole = snapshot(node.root)
    spoil(node.prefix / "2.30.7")
    result = go(node)
    assert (result["changed"], result["build"]) == (True, first["build"])
    assert snapshot(node.root) == whole


def test_a_link_or_loader_file_that_was_changed_is_repaired_without_a_download(node: Node) -> None:
    go(node)
    whole = snapshot(node.root)
    node.machine.loader.write_text("/elsewhere\n")
    (node.prefix / "current").unlink()
    assert go(node)["changed"] is True
    assert snapshot(node.root) == whole
    assert downloads(node) == 1


def test_what_a_killed_run_left_is_cleared_away(node: Node) -> None:
    go(node)
    whole = snapshot(node.root)
    (node.prefix / ".incoming-dead" / "tree").mkdir(parents=True)
    result = go(node)
    assert result["diff"]["before"]["unfinished"] == [".incoming-dead"]
    assert snapshot(node.root) == whole
    (node.prefix / ".incoming-dead" / "tree").mkdir(parents=True)
    go(node, state="absent")
    assert snapshot(node.root / "opt") == {}


def test_progress_is_told_while_another_run_installs_and_that_run_is_not_disturbed(node: Node) -> None:
    (node.prefix / ".incoming-a").mkdir(parents=True)
    handle = os.open(node.prefix, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        assert go(node, check_mode=True)["installing"] == {"step": "start", "megabytes": 0}
        (node.prefix / ".incoming-a" / "download").mkdir()
        (node.prefix / ".incoming-a" / "tmp").mkdir()
        (node.prefix / ".incoming-a" / "tmp" / "half.whl").write_bytes(b"x" * 3_400_000)
        assert go(node, check_mode=True)["installing"] == {"step": "download", "megabytes": 3}
        (node.prefix / ".incoming-a" / "tree").mkdir()
        (node.prefix / ".incoming-a" / "tree" / "libnccl.so.2").write_bytes(b"x" * 1_000_000)
        assert go(node, check_mode=True)["installing"] == {"step": "unpack", "megabytes": 1}
        assert refused(node) == (
            f"installation of NCCL in {node.prefix} - expected one at a time, found another run that has not ended. Wait until it has ended and run again."
        )
    finally:
        os.close(handle)
    assert go(node, check_mode=True)["installing"] is None
    assert go(node)["changed"] is True


def test_another_run_is_waited_for_until_it_ends_and_not_longer_than_asked(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [{"step": "unpack", "megabytes": number} for number in range(5)]
    clock = [0.0]
    monkeypatch.setattr(_tree.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(_tree.time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    monkeypatch.setattr(_tree, "progress", lambda prefix: looks[round(clock[0] * 10)] if clock[0] < 0.45 else None)
    assert go(node, check_mode=True)["installing"] == looks[0]
    assert go(node, check_mode=True, wait=0.2)["installing"] == looks[2]
    assert go(node, check_mode=True, wait=5)["installing"] is None
    assert clock[0] == pytest.approx(0.5)


# -- a wheel file ------------------------------------------------------------------------------------------------------


def test_a_local_wheel_is_unpacked_when_its_sum_is_right_and_is_not_needed_again(node: Node, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "stick")
    total = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert go(node, source="file", wheel=wheel, sha256=total.upper())["changed"] is True
    wheel.unlink()
    assert go(node, source="file", wheel=wheel, sha256=total)["changed"] is False
    assert go(node)["changed"] is False
    assert downloads(node) == 0


def test_another_sum_means_another_wheel(node: Node, tmp_path: Path) -> None:
    go(node)
    other = make_wheel(tmp_path / "stick", change=lambda files, rows: rows.append("extra,,"))
    result = go(node, source="file", wheel=other, sha256=hashlib.sha256(other.read_bytes()).hexdigest())
    assert result["changed"] is True


def _lose_library(files: dict[str, bytes], _rows: list[str]) -> None:
    del files[LIBRARY]


def _corrupt_library(files: dict[str, bytes], _rows: list[str]) -> None:
    files[LIBRARY] += b"x"


def _unlisted_header(_files: dict[str, bytes], rows: list[str]) -> None:
    rows[:] = [row for row in rows if not row.startswith(HEADER)]


def _climb(files: dict[str, bytes], _rows: list[str]) -> None:
    files["nvidia/nccl/lib/../../../../etc/passwd"] = b"x"


def _absolute(files: dict[str, bytes], _rows: list[str]) -> None:
    files["/etc/passwd"] = b"x"


def _older_header(files: dict[str, bytes], rows: list[str]) -> None:
    import base64

    files[HEADER] = header_text("2.28.9").encode()
    total = base64.urlsafe_b64encode(hashlib.sha256(files[HEADER]).digest()).rstrip(b"=").decode()
    rows[:] = [f"{HEADER},sha256={total},1" if row.startswith(HEADER) else row for row in rows]


def _other_machine(files: dict[str, bytes], rows: list[str]) -> None:
    import base64

    files[LIBRARY] = b"\x7fELF another machine"
    total = base64.urlsafe_b64encode(hashlib.sha256(files[LIBRARY]).digest()).rstrip(b"=").decode()
    rows[:] = [f"{LIBRARY},sha256={total},1" if row.startswith(LIBRARY) else row for row in rows]


NAME = "nvidia_nccl_cu13-2.30.7-py3-none-manylinux_2_18_aarch64.whl"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_corrupt_library, f"{LIBRARY} in the wheel - expected the SHA-256 of the wheel's RECORD, found another. Fetch the wheel again."),
        (_unlisted_header, f"{HEADER} in the wheel - expected the SHA-256 of the wheel's RECORD, found another. Fetch the wheel again."),
        (_lose_library, f"content of {NAME} - expected {LIBRARY}, found no such file. Fetch the wheel again."),
        (
            _climb,
            "content of the wheel - expected plain files inside its own folder, found nvidia/nccl/lib/../../../../etc/passwd. Do not use this wheel.",
        ),
        (_absolute, "content of the wheel - expected plain files inside its own folder, found /etc/passwd. Do not use this wheel."),
    ],
)
@pytest.mark.parametrize("source", ["wheel", "file"])
def test_a_bad_wheel_is_refused_and_leaves_nothing(node: Node, change: Any, text: str, source: str) -> None:
    wheel = make_wheel(node.index, change=change)
    assert refused(node, source=source, wheel=wheel) == text
    assert snapshot(node.root / "opt") == {}


def test_header_and_library_must_agree(node: Node) -> None:
    make_wheel(node.index, change=_older_header)
    text = refused(node)
    assert text.startswith("NCCL_VERSION_CODE in ")
    assert text.endswith("/tree/include/nccl.h - expected 23007, found 22809. Header and library must come from one build.")


def test_a_library_for_another_machine_is_refused_before_it_is_put_in_place(node: Node) -> None:
    go(node, version="2.28.9")
    make_wheel(node.index, change=_other_machine)
    text = refused(node)
    assert "loading " in text
    assert f"invalid ELF header. Use a build of NCCL for {os.uname().machine}." in text


@pytest.mark.parametrize("length", [0, 10, 400, -30])
def test_a_wheel_that_was_cut_off_is_refused(node: Node, tmp_path: Path, length: int) -> None:
    wheel = make_wheel(tmp_path / "stick")
    wheel.write_bytes(wheel.read_bytes()[:length])
    text = refused(node, source="file", wheel=wheel)
    assert text.startswith(f"content of {NAME} - expected a whole wheel, found ")
    assert text.endswith(". Fetch the wheel again.")


def test_a_wheel_of_another_version_or_package_is_refused(node: Node, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "stick", "2.28.9")
    name = wheel.name
    text = refused(node, source="file", wheel=wheel)
    assert text == f"content of {name} - expected nvidia-nccl-cu13 2.30.7, found nvidia-nccl-cu13 2.28.9. Name the wheel of the version asked for."


def test_a_wrong_sum_is_refused(node: Node, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "stick")
    total = hashlib.sha256(wheel.read_bytes()).hexdigest()
    text = refused(node, source="file", wheel=wheel, sha256="AB" * 32)
    assert text == f"SHA-256 of {NAME} - expected {'ab' * 32}, found {total}. Fetch the wheel again, or say with sha256 that this one is meant."


@pytest.mark.parametrize("source", ["wheel", "file"])
def test_the_wheel_of_a_known_version_must_be_the_known_one(node: Node, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    wheel = node.index / NAME
    total = hashlib.sha256(wheel.read_bytes()).hexdigest()
    options: dict[str, Any] = {"source": source, "wheel": wheel if source == "file" else None}
    monkeypatch.setattr(_wheel, "SUMS", {("2.30.7", platform.machine()): "ab" * 32})
    text = refused(node, **options)
    assert text == f"SHA-256 of {NAME} - expected {'ab' * 32}, found {total}. Fetch the wheel again, or say with sha256 that this one is meant."
    assert go(node, sha256=total, **options)["warnings"] == []
    go(node, state="absent")
    monkeypatch.setattr(_wheel, "SUMS", {("2.30.7", platform.machine()): total})
    assert go(node, **options)["warnings"] == []


def test_a_wheel_that_can_not_be_compared_is_told_when_it_is_fetched(node: Node) -> None:
    told = [go(node, check_mode=True)["warnings"], go(node)["warnings"], go(node)["warnings"], go(node, state="absent")["warnings"]]
    assert told == [[NO_SUM], [NO_SUM], [], []]
    assert go(node, source="apt")["warnings"] == []


def test_the_default_version_is_known_for_both_architectures() -> None:
    default = yaml.safe_load(nccl_library.DOCUMENTATION)["options"]["version"]["default"]
    assert {architecture for version, architecture in SUMS if version == default} == {"aarch64", "x86_64"}
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in SUMS.values())


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("{", "JSON that this collection wrote, found something else"),
        ("[]", "an object, found a list"),
        ("{}", "version, found nothing"),
        ('{"version": "2.30.7", "wheel_sha256": "ab", "files": ["lib"]}', "an object for files, found a list"),
        ('{"version": "2.30.7", "wheel_sha256": "ab", "files": {"../../x": "cd"}}', "files below its folder, found ../../x"),
        ('{"version": "2.30.7", "wheel_sha256": "ab", "files": {"/etc/passwd": "cd"}}', "files below its folder, found /etc/passwd"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"version": "2.28.9"}, {"state": "absent"}, {"source": "apt"}])
def test_a_damaged_record_of_a_version_is_refused(node: Node, options: dict[str, Any], content: str, wrong: str) -> None:
    go(node)
    record = node.prefix / "2.30.7" / "gb10.json"
    record.write_text(content)
    assert forbidden(node, **options) == f"{record} - expected {wrong}. Move {record.parent} away, then run again."


@pytest.mark.parametrize("content", ["", "[]", '{"added": []}', '{"added": "libnccl2", "held": []}'])
@pytest.mark.parametrize("options", [{"state": "absent"}, {"source": "apt", "version": "2.28.9"}])
def test_a_damaged_note_on_packages_is_refused(node: Node, options: dict[str, Any], content: str) -> None:
    go(node, source="apt")
    note = node.prefix / "apt.json"
    note.write_text(content)
    packages = dict(node.packages)
    fix = "Remove it, and see to libnccl2 and libnccl-dev by hand: which of them were there before can not be told any more."
    text = forbidden(node, **options)
    assert text.startswith(f"{note} - expected ") and text.endswith(f". {fix}")
    assert node.packages == packages


@pytest.mark.parametrize("place", ["opt/gb10", "opt/gb10/nccl"])
@pytest.mark.parametrize("source", ["wheel", "apt"])
@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda part: part.symlink_to("/nowhere"), "a link to /nowhere, which is no folder"),
        (lambda part: part.symlink_to(__file__), f"a link to {__file__}, which is no folder"),
        (lambda part: part.write_text(""), "something else"),
    ],
)
def test_a_part_of_the_prefix_that_is_no_folder_is_refused(node: Node, place: str, source: str, make: Any, found: str) -> None:
    part = node.root / place
    part.parent.mkdir(exist_ok=True)
    make(part)
    assert forbidden(node, source=source) == f"{part} - expected a folder, or nothing, found {found}. Move it away, or use another prefix."
    assert go(node, state="absent")["changed"] is False
    node.machine.loader.write_text(node.wanted().loader_text)
    assert forbidden(node, state="absent").startswith(f"{part} - expected a folder, or nothing, found {found}. ")


def test_a_link_in_the_place_of_a_version_is_refused(node: Node) -> None:
    node.prefix.mkdir(parents=True)
    (node.prefix / "2.30.7").symlink_to("/nowhere")
    assert forbidden(node) == f"{node.prefix}/2.30.7 - expected nothing, or what we unpacked, found somebody's files. Move them away, or use another prefix."


def test_all_refusals_are_shown_at_once(node: Node) -> None:
    node.has_pip = node.has_ensurepip = False
    node.prefix.mkdir(parents=True)
    (node.prefix / "current").mkdir()
    (node.prefix / "2.28.9").mkdir()
    assert refused(node, version="2.28.9", minimum_version="2.30.7").splitlines() == [
        "version of NCCL - expected 2.30.7 or newer for this topology, found 2.28.9. Use that release or a newer one.",
        f"{node.prefix}/current - expected a link of ours, or nothing, found something else. Move it away, or use another prefix.",
        f"{node.prefix}/2.28.9 - expected nothing, or what we unpacked, found somebody's files. Move them away, or use another prefix.",
        f"download of nvidia-nccl-cu13 2.28.9 - expected pip or ensurepip for {sys.executable}, found neither. "
        "Install python3-pip (or python3-venv) with apt, or fetch the wheel elsewhere and use source 'file'.",
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"version": "latest"}, "version - expected X.Y.Z as in 2.30.7, found latest. Name one exact release of NCCL."),
        ({"version": "2.30"}, "version - expected X.Y.Z as in 2.30.7, found 2.30. Name one exact release of NCCL."),
        ({"minimum_version": "new"}, "minimum_version - expected X.Y.Z as in 2.30.7, found new. Name one exact release of NCCL."),
        ({"source": "file"}, "wheel - expected the path of a wheel for source 'file', found none. Set the option wheel."),
        (
            {"source": "file", "wheel": Path("/nowhere.whl")},
            "wheel - expected a file on this node, found /nowhere.whl. Copy the wheel there, or correct the path.",
        ),
        (
            {"version": "9.9.9"},
            "download of nvidia-nccl-cu13 9.9.9 - expected one wheel from the package index, found ERROR: No matching distribution found for "
            "nvidia-nccl-cu13==9.9.9. Look at the node's network and pip configuration, or fetch the wheel elsewhere and use source 'file'.",
        ),
        (
            {"source": "apt", "version": "9.9.9"},
            "apt packages libnccl2 and libnccl-dev - expected NCCL 9.9.9, found 2.22.3-1-1, 2.28.9-1+cuda13.0, 2.30.4-1+cuda13.2, 2.30.7-1+cuda13.2, "
            "2.30.7-1+cuda13.3. Add NVIDIA's CUDA repository and run apt-get update, or use another version or source.",
        ),
        (
            {"state": "staged", "source": "apt"},
            "source of a staged NCCL - expected wheel or file, found apt. Use state present; there is nothing to unpack.",
        ),
    ],
)
def test_each_refusal_has_its_text(node: Node, options: dict[str, object], text: str) -> None:
    assert refused(node, **options) == text


def test_the_minimum_itself_is_enough(node: Node) -> None:
    assert go(node, minimum_version="2.30.7")["changed"] is True
    assert version_code("2.30.10") > version_code("2.30.9") > version_code("2.28.30")  # type: ignore[operator]


def test_without_pip_a_throw_away_environment_fetches_the_wheel(node: Node) -> None:
    node.has_pip = False
    assert go(node)["changed"] is True
    assert any(command.startswith(f"{node.prefix}/.incoming-") and "/venv/bin/python -m pip download" in command for command in node.commands)
    assert sorted(path.name for path in node.prefix.iterdir()) == ["2.30.7", "current"]


def test_a_loader_that_takes_another_library_is_a_failure_and_everything_is_as_before(node: Node) -> None:
    other = node.system / "libnccl.so.2"
    other.write_bytes(library_bytes("2.22.3"))
    node.answers = [("-I -c libnccl.so.2", Result((), 0, f'{{"status": 0, "code": 22203, "path": "{other}"}}'))]
    assert refused(node) == (
        f"libnccl.so.2 that programs get - expected {node.prefix}/2.30.7/lib/libnccl.so.2, found {other}. "
        "Remove the other one from the loader's configuration (ldconfig -p shows them), or use loader: false."
    )
    node.answers = []
    assert go(node, loader=False)["changed"] is True
    assert not node.machine.loader.exists()


# -- an existing build -------------------------------------------------------------------------------------------------


def make_build(root: Path, version: str = "2.30.7", header: str | None = None) -> Path:
    """A build of somebody else."""
    (root / "lib").mkdir(parents=True)
    (root / "include").mkdir()
    (root / "lib" / "libnccl.so.2").write_bytes(library_bytes(version))
    (root / "include" / "nccl.h").write_text(header_text(header or version))
    return root


def test_an_existing_build_is_used_and_never_changed(node: Node) -> None:
    build = make_build(node.root / "home" / "build")
    before = snapshot(build, times=True)
    result = go(node, source="path", path=build)
    assert (result["library"], result["source"]) == (str(build / "lib" / "libnccl.so.2"), "path")
    assert os.readlink(node.prefix / "current") == str(build)
    assert go(node, source="path", path=build)["changed"] is False
    go(node, state="absent")
    assert snapshot(build, times=True) == before
    assert snapshot(node.root / "opt") == {}


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_build_of_another_version_or_with_another_header_is_refused_before_anything_is_touched(node: Node, check_mode: bool) -> None:
    build = make_build(node.root / "home" / "build", "2.28.9", "2.30.4")
    before = snapshot(node.root, times=True)
    with pytest.raises(NcclError) as failure:
        go(node, check_mode, source="path", path=build)
    assert str(failure.value).splitlines() == [
        f"version of {build}/lib/libnccl.so.2 - expected 23007, found 22809. Correct the version, or name another build.",
        f"NCCL_VERSION_CODE in {build}/include/nccl.h - expected 23007, found 23004. Header and library must come from one build.",
    ]
    assert snapshot(node.root, times=True) == before


# -- apt ---------------------------------------------------------------------------------------------------------------


def test_apt_installs_both_packages_in_exactly_one_version_and_holds_them(node: Node) -> None:
    result = go(node, source="apt")
    assert node.packages == {"libnccl2": ("2.30.7-1+cuda13.3", True), "libnccl-dev": ("2.30.7-1+cuda13.3", True)}
    assert (result["library"], result["version_code"]) == (str(node.system / "libnccl.so.2"), 23007)
    assert [command for command in node.commands if command.startswith("apt-")] == [
        "apt-cache madison libnccl2 libnccl-dev",
        "apt-cache madison libnccl2 libnccl-dev",
        "apt-get -y -o DPkg::Lock::Timeout=120 --no-install-recommends --allow-downgrades --allow-change-held-packages install "
        "libnccl2=2.30.7-1+cuda13.3 libnccl-dev=2.30.7-1+cuda13.3",
        "apt-mark hold libnccl2 libnccl-dev",
    ]


def test_a_second_run_of_apt_asks_dpkg_and_the_library_alone(node: Node) -> None:
    go(node, source="apt")
    node.commands.clear()
    assert go(node, source="apt")["changed"] is False
    assert {command.split()[0] for command in node.commands} == {"dpkg-query", sys.executable}


def test_apt_goes_back_to_an_older_version_and_takes_the_hold_again(node: Node) -> None:
    node.packages = {"libnccl2": ("2.32.3-1+cuda13.4", True), "libnccl-dev": ("2.32.3-1+cuda13.4", False)}
    result = go(node, source="apt", version="2.28.9")
    assert result["diff"]["before"]["packages"] == {"libnccl-dev": "2.32.3-1+cuda13.4", "libnccl2": "2.32.3-1+cuda13.4 held"}
    assert node.packages == {"libnccl2": ("2.28.9-1+cuda13.0", True), "libnccl-dev": ("2.28.9-1+cuda13.0", True)}


def test_packages_in_the_right_version_are_only_held(node: Node) -> None:
    node._install(["libnccl2=2.30.7-1+cuda13.2", "libnccl-dev=2.30.7-1+cuda13.2"], "")
    go(node, source="apt")
    assert not [command for command in node.commands if command.startswith(("apt-get", "apt-cache"))]
    assert node.packages["libnccl2"] == ("2.30.7-1+cuda13.2", True)


def test_after_apt_the_loader_takes_the_packaged_library_and_unpacked_versions_stay(node: Node) -> None:
    go(node)
    result = go(node, source="apt")
    assert result["library"] == str(node.system / "libnccl.so.2")
    assert not node.machine.loader.exists()
    assert sorted(path.name for path in node.prefix.iterdir()) == ["2.30.7", "apt.json"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),
        ({"libnccl2": ("2.28.9-1+cuda13.0", False)}, {"libnccl2": ("2.30.7-1+cuda13.3", False)}),
        (
            {"libnccl2": ("2.30.7-1+cuda13.3", True), "libnccl-dev": ("2.28.9-1+cuda13.0", False)},
            {"libnccl2": ("2.30.7-1+cuda13.3", True), "libnccl-dev": ("2.30.7-1+cuda13.3", False)},
        ),
    ],
)
def test_absent_removes_packages_that_were_not_there_and_releases_what_we_held(node: Node, before: Any, after: Any) -> None:
    node.packages = dict(before)
    go(node, source="apt")
    check = go(node, check_mode=True, state="absent")
    assert go(node, state="absent")["diff"] == check["diff"]
    assert node.packages == after
    assert snapshot(node.root / "opt") == {}
    assert go(node, state="absent")["changed"] is False


def test_a_failing_apt_is_told_and_forgotten(node: Node) -> None:
    node.answers = [("apt-get", Result((), 100, "", "E: Unmet dependencies.\n"))]
    text = refused(node, source="apt")
    assert text.startswith("apt-get -y ")
    assert text.endswith("- expected success, found E: Unmet dependencies. Repair the package system and run again.")
    assert snapshot(node.root / "opt") == {}


def test_packages_that_turn_out_wrong_go_back_to_what_was_there(node: Node) -> None:
    node._install(["libnccl2=2.28.9-1+cuda13.0", "libnccl-dev=2.28.9-1+cuda13.0"], "")
    before = dict(node.packages)
    node.answers = [("-I -c libnccl.so.2", Result((), 0, '{"status": 0, "code": 22809, "path": "/usr/lib/libnccl.so.2"}'))]
    assert "version of /usr/lib/libnccl.so.2 - expected 23007, found 22809." in refused(node, source="apt")
    assert node.packages == before


# -- absent ------------------------------------------------------------------------------------------------------------


def test_absent_removes_what_we_put_there_and_nothing_else(node: Node) -> None:
    (node.root / "opt" / "other").mkdir()
    before = snapshot(node.root)
    go(node, version="2.28.9")
    go(node)
    check = go(node, check_mode=True, state="absent")
    real = go(node, state="absent")
    assert (real["changed"], real["diff"]) == (True, check["diff"])
    assert snapshot(node.root) == before
    assert (go(node, state="absent")["changed"], node.cache) == (False, None)


def test_absent_leaves_the_files_that_somebody_else_put_into_our_folders(node: Node) -> None:
    go(node)
    (node.prefix / "2.30.7" / "lib" / "mine.so").write_text("mine")
    (node.prefix / "notes").write_text("mine")
    go(node, state="absent")
    assert sorted(str(path.relative_to(node.prefix)) for path in node.prefix.rglob("*")) == ["2.30.7", "2.30.7/lib", "2.30.7/lib/mine.so", "notes"]
    assert go(node, state="absent")["changed"] is False


def test_absent_for_one_prefix_leaves_the_loader_of_another(node: Node) -> None:
    node.machine.loader.write_text("# written by gb10.cluster\n/srv/nccl/current/lib\n")
    assert go(node, state="absent")["changed"] is False
    assert node.machine.loader.exists()


# -- interruption ------------------------------------------------------------------------------------------------------

STEPS = ("mkdir", "chmod", "rename", "replace", "symlink", "unlink", "fchmod", "fsync")


class Interrupt:
    """Ends the run at the n-th change to the file system or the n-th command."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, node: Node, at: int, error: BaseException) -> None:
        """Wrap the calls of the operating system that change files, and the node's commands."""
        self.left, self.error = at, error
        for name in STEPS:
            monkeypatch.setattr(os, name, self._wrap(getattr(os, name)))
        monkeypatch.setattr(_tree, "digest", self._wrap(_tree.digest))
        monkeypatch.setattr(node, "run", self._wrap(node.run))
        object.__setattr__(node.machine, "runner", node.run)

    def _wrap(self, call: Any) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise self.error
            return call(*args, **kwargs)

        return step


def settled(node: Node) -> dict[str, tuple[object, ...]]:
    """The node without the scratch folders of unfinished runs."""
    return {name: value for name, value in snapshot(node.root).items() if "/.incoming-" not in name}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")], ids=["interrupted", "disk full"])
@pytest.mark.parametrize(
    ("start", "state"),
    [("nothing", "present"), ("an older version", "present"), ("a damaged version", "present"), ("an older version", "staged")],
)
def test_a_run_that_ends_at_any_step_leaves_the_node_as_it_was(tmp_path: Path, start: str, state: str, error: BaseException) -> None:
    def fresh() -> Node:
        shutil.rmtree(tmp_path / "node", ignore_errors=True)
        node = Node(tmp_path)
        if start != "nothing":
            go(node, version="2.28.9" if start == "an older version" else "2.30.7")
        if start == "a damaged version":
            (node.prefix / "2.30.7" / "lib" / "libnccl.so.2").write_bytes(b"damaged")
        return node

    node = fresh()
    before, cache = snapshot(node.root), node.cache
    go(node, state=state)
    after, node, step, undone = snapshot(node.root), fresh(), 0, 0
    while True:
        step += 1
        with pytest.MonkeyPatch.context() as monkeypatch:
            interrupt = Interrupt(monkeypatch, node, step, error)
            try:
                go(node, state=state)
                failed = False
            except (KeyboardInterrupt, OSError):
                failed = True
        object.__setattr__(node.machine, "runner", node.run)
        if interrupt.left > 0:
            break
        if failed and settled(node) != after:  # else it had all been done, and only the scratch folder was left to clear away
            assert (snapshot(node.root), node.cache) == (before, cache), f"step {step}"
            undone += 1
        else:
            go(node, state=state)
            assert snapshot(node.root) == after, f"step {step}"
            node = fresh()
    # the last run was let through, on a node that had seen others end
    assert snapshot(node.root) == after
    assert undone > 20


def test_what_the_system_refuses_is_told_without_a_traceback() -> None:
    error = PermissionError(13, "Permission denied", "/opt/gb10")
    assert str(of_system(error, "/opt/gb10/nccl")) == (
        "files of NCCL (/opt/gb10) - expected to be readable and writable, found Permission denied. "
        "Run as root (become: true), and look at the space and the mount options of that place."
    )

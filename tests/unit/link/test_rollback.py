# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollback as a script on its own, on real files, and the machine it works on."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils import _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine, Meta

NOW = Meta(0o600, os.getuid(), os.getgid(), 0, None)
ROUTE = ["ip", "-4", "route", "replace", "10.9.0.0/16", "via", "10.1.1.2", "dev", "enp1s0f0np0"]
ADDRESSES = [{"ifname": "enp1s0f0np0", "flags": ["UP"], "mtu": 1500, "addr_info": [{"local": "10.1.1.1", "prefixlen": 24}]}]


def attributes(path: Path) -> tuple[int, int, bytes]:
    """Mode, time, content."""
    found = path.stat()
    return found.st_mode, found.st_mtime_ns, path.read_bytes()


def test_file_is_written_with_its_attributes_and_no_trace(tmp_path: Path) -> None:
    target = tmp_path / "deep/er/file"
    Machine().write(str(target), b"one\n", NOW._replace(mode=0o640, mtime_ns=10**18))
    assert attributes(target) == (0o100640, 10**18, b"one\n")
    assert os.listdir(target.parent) == ["file"]


def test_what_was_written_or_renamed_reaches_the_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, list[str]]] = []

    def sync(handle: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}")
        synced.append((path, sorted(os.listdir(path)) if os.path.isdir(path) else []))

    monkeypatch.setattr(os, "fsync", sync)
    machine, file = Machine(), str(tmp_path / "armed.json")
    machine.write(file, b"{}", NOW)
    assert machine.rename(file, str(tmp_path / "confirmed.json"))
    assert synced[1:] == [(str(tmp_path), ["armed.json"]), (str(tmp_path), ["confirmed.json"])]


def test_file_and_link_come_back_as_they_were(tmp_path: Path) -> None:
    machine, folder = Machine(), str(tmp_path / "backup")
    file, link, new = tmp_path / "file", tmp_path / "link", tmp_path / "new"
    file.write_text("old\n")
    file.chmod(0o604)
    os.utime(file, ns=(5, 10**18))
    link.symlink_to("file")
    before = attributes(file)
    entries = [_rollback.keep(machine, str(path), folder) for path in (file, link, new)]
    file.write_text("new\n")
    link.unlink()
    new.write_text("x")
    for entry in json.loads(json.dumps(entries)):
        _rollback.give_back(machine, entry, folder)
    assert (attributes(file), os.readlink(link), new.exists()) == (before, "file", False)


def test_file_that_is_still_the_same_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("same")
    entry = _rollback.keep(Machine(), str(file), str(tmp_path / "backup"))
    inode = file.stat().st_ino
    _rollback.give_back(Machine(), entry, str(tmp_path / "backup"))
    assert file.stat().st_ino == inode


def test_file_that_can_not_be_read_is_never_kept_as_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        _rollback.keep(Machine(), str(tmp_path / "folder"), str(tmp_path / "backup"))
    assert not (tmp_path / "backup").exists()


def test_reading_tells_a_file_that_is_missing_from_one_that_can_not_be_read(tmp_path: Path) -> None:
    assert (Machine().read(str(tmp_path / "none")), Machine().peek(str(tmp_path))) == (None, None)
    with pytest.raises(IsADirectoryError):
        Machine().read(str(tmp_path))


@pytest.mark.parametrize(
    ("argv", "timeout", "rc"),
    [(["true"], 60, 0), (["false"], 60, 1), (["no-such-command"], 60, 127), (["sleep", "600"], 0.2, 124)], ids=["right", "wrong", "missing", "too slow"]
)
def test_command_never_raises(argv: list[str], timeout: float, rc: int) -> None:
    assert Machine().run(argv, timeout).rc == rc


class Scene:
    """A folder with an armed rollback, and commands in PATH that write down how they were called."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "gb10/rollback"
        self.bin, self.log = root / "bin", root / "log"
        self.bin.mkdir()
        self.tool("ip", f"case $* in *show*) echo '{json.dumps(ADDRESSES)}';; esac")
        for name in ("netplan-generate", "networkctl", "nmcli", "systemctl"):
            self.tool(name)
        self.changed, self.added, self.unit = root / "etc/changed", root / "etc/added", root / "etc/boot.service"
        self.changed.parent.mkdir()
        self.changed.write_text("old")
        self.before = attributes(self.changed)
        machine = Machine()
        entries = [_rollback.keep(machine, str(path), str(self.folder)) for path in (self.changed, self.added)]
        self.changed.write_text("new")
        self.added.write_text("new")
        self.unit.write_text("[Unit]")
        state = {
            "up": True, "mtu": 9000, "addresses": ["10.1.1.1/24"], "routes": [ROUTE], "sysctl": {},
            "owner": "networkd", "connection": None, "networkmanager": True,
        }  # fmt: skip
        data: dict[str, Any] = {
            "id": "x", "files": entries, "live": {"enp1s0f0np0": state, "gone0": None}, "unit": "gb10-test", "boot_files": [str(self.unit)],
            "commands": [{"argv": ["netplan-generate"], "boot": True}, {"argv": ["networkctl", "reload"], "boot": False}],
            "last": str(root / "gb10/last.json"), "lock": str(root / "lock"),
        }  # fmt: skip
        (self.folder / _rollback.ARMED).write_text(json.dumps(data))
        shutil.copy(_rollback.__file__, self.folder / "restore.py")

    def tool(self, name: str, script: str = "") -> None:
        """Put a command into PATH."""
        (self.bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {self.log}\n{script}\n')
        (self.bin / name).chmod(0o755)

    def run(self, *arguments: str) -> int:
        """Run the copy beside the data, isolated from everything installed."""
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin"}
        argv = [sys.executable, "-I", str(self.folder / "restore.py"), *arguments]
        return subprocess.run(argv, env=environment, check=False, timeout=60).returncode

    def outcome(self) -> Any:
        """What it left behind."""
        return json.loads((self.root / "gb10/last.json").read_text())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """An armed rollback."""
    return Scene(tmp_path)


def test_script_puts_files_and_live_state_back_and_vanishes(scene: Scene) -> None:
    scene.run("fire")
    assert attributes(scene.changed) == scene.before
    assert (scene.added.exists(), scene.unit.exists(), scene.folder.exists()) == (False, False, False)
    assert [line for line in scene.log.read_text().splitlines() if "show" not in line][:5] == [
        "netplan-generate ",
        "networkctl reload",
        "nmcli device set enp1s0f0np0 managed no",
        "networkctl reconfigure enp1s0f0np0",
        "ip link set dev enp1s0f0np0 mtu 9000",
    ]
    assert " ".join(ROUTE) in scene.log.read_text()
    assert scene.log.read_text().splitlines()[-2:] == ["systemctl stop gb10-test.timer", "systemctl daemon-reload"]


def test_script_tells_what_did_not_come_back(scene: Scene) -> None:
    scene.tool("networkctl", "echo 'bus is gone' >&2; exit 1")
    assert scene.run("fire") == 1
    assert (scene.outcome()["id"], scene.outcome()["at"]) == ("x", "run")
    assert scene.outcome()["problems"] == [
        "networkctl reload: bus is gone",
        "networkctl reconfigure enp1s0f0np0: bus is gone",
        "enp1s0f0np0 mtu is 1500 instead of 9000",
    ]


def test_script_at_boot_restores_the_files_and_leaves_the_daemons_alone(scene: Scene) -> None:
    assert scene.run("boot") == 0
    assert attributes(scene.changed) == scene.before
    assert [line for line in scene.log.read_text().splitlines() if "show" not in line] == ["netplan-generate ", "systemctl stop gb10-test.timer"]
    assert (scene.outcome()["at"], scene.outcome()["problems"]) == ("boot", [])


def test_script_that_was_interrupted_goes_on(scene: Scene) -> None:
    os.rename(scene.folder / _rollback.ARMED, scene.folder / _rollback.FIRING)
    scene.run("boot")
    assert attributes(scene.changed) == scene.before


def test_script_only_tidies_up_after_a_confirmation(scene: Scene) -> None:
    os.rename(scene.folder / _rollback.ARMED, scene.folder / _rollback.CONFIRMED)
    scene.run("fire")
    assert (scene.changed.read_text(), scene.added.read_text()) == ("new", "new")
    assert (scene.folder.exists(), scene.unit.exists(), (scene.root / "gb10").exists()) == (False, False, False)


def at_boot(root: Path) -> int:
    """Run what the boot-time unit runs, with every path under ``root``."""
    command = re.search('^ExecStart=/bin/sh -c "(.*)"$', _arming.unit_text(sys.executable), re.MULTILINE)
    assert command
    script = command[1].replace("/var/lib/gb10", f"{root}/gb10").replace("/etc/systemd", f"{root}/etc/systemd")
    return subprocess.run(["/bin/sh", "-c", script], env={"PATH": f"{root}/bin:/usr/bin:/bin"}, check=False, timeout=60).returncode


def test_boot_time_unit_fires_what_is_armed(scene: Scene) -> None:
    assert at_boot(scene.root) == 0
    assert (attributes(scene.changed), scene.folder.exists()) == (scene.before, False)


@pytest.mark.parametrize("others", [True, False], ids=["beside other files of ours", "alone"])
def test_boot_time_unit_that_finds_nothing_armed_takes_the_debris_away_with_itself(scene: Scene, others: bool) -> None:
    unit, link = (Path(f"{scene.root}{path}") for path in (_arming.BOOT_UNIT, _arming.BOOT_LINK))
    link.parent.mkdir(parents=True)
    unit.write_text("[Unit]")
    link.symlink_to(unit)
    scene.folder.rename(f"{scene.folder}.new")
    if others:
        (scene.root / "gb10/last.json").write_text("{}")
    assert at_boot(scene.root) == 0
    assert (scene.changed.read_text(), unit.exists(), link.is_symlink(), Path(f"{scene.folder}.new").exists()) == ("new", False, False, False)
    assert (scene.root / "gb10").exists() == others


@pytest.mark.parametrize("content, found", [("{", "JSONDecodeError("), ("{}", "KeyError('id')"), ("[]", "TypeError(")])
@pytest.mark.parametrize("argument", ["fire", "boot"])
def test_script_says_that_its_data_is_damaged_and_leaves_it(
    scene: Scene, capfd: pytest.CaptureFixture[str], argument: str, content: str, found: str
) -> None:
    (scene.folder / _rollback.ARMED).write_text(content)
    assert scene.run(argument, *(["x"] if argument == "fire" else [])) == 1
    said = capfd.readouterr().err
    assert said.startswith(f"{scene.folder} - expected the data of a rollback, found {found}") and said.count("\n") == 1
    assert said.endswith(" in it. Put the links right by hand, then remove that folder.\n")
    assert content in [file.read_text() for file in scene.folder.glob("*.json")] and scene.changed.read_text() == "new"


def test_script_of_another_run_undoes_nothing(scene: Scene) -> None:
    assert scene.run("fire", "another") == 0
    assert (scene.changed.read_text(), (scene.folder / _rollback.ARMED).exists(), scene.log.exists()) == ("new", True, False)


def test_script_that_waited_for_the_lock_undoes_no_run_that_armed_meanwhile(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def wait(_machine: Machine, _path: str, _wait: float) -> Iterator[bool]:
        data = json.loads((scene.folder / _rollback.FIRING).read_text())
        (scene.folder / _rollback.FIRING).unlink()
        (scene.folder / _rollback.ARMED).write_text(json.dumps({**data, "id": "y"}))
        yield True

    monkeypatch.setattr(Machine, "locked", wait)
    assert _rollback.main([str(scene.folder / "restore.py"), "fire", "x"]) == 0
    assert (scene.changed.read_text(), (scene.folder / _rollback.ARMED).exists()) == ("new", True)


def test_lock_that_is_not_there_is_free_and_is_not_made_for_a_look(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with Machine().locked(str(lock), 0.0, create=False) as free:
        assert (free, lock.exists()) == (True, False)
    with Machine().locked(str(lock), 0.0) as held, Machine().locked(str(lock), 0.0, create=False) as second:
        assert (held, second) == (True, False)


def test_script_needs_nothing_but_the_standard_library() -> None:
    text = Path(_rollback.__file__).read_text()
    assert "ansible" not in "".join(line for line in text.splitlines() if line.startswith(("import ", "from ")))

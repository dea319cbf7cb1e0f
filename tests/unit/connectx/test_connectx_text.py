# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and outputs of the operating system as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _text

BOOT = 1790000000


def test_the_last_update_of_a_dgx_wins(fixtures: Path) -> None:
    release = _text.assignments((fixtures / "connectx" / "dgx-release-two-updates.txt").read_text())
    assert (release["DGX_NAME"], release["DGX_SWBUILD_VERSION"], release["DGX_OTA_VERSION"]) == ("DGX Spark", "7.2.3", "7.5.0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, {}), ("", {}), ("# A=1\nB = 'x y'\nC=\"\"\nnot a line\nD=e=f", {"B": "x y", "C": "", "D": "e=f"})],
)
def test_assignments(text: str | None, expected: dict[str, str]) -> None:
    assert _text.assignments(text) == expected


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("MemAvailable:   1000 kB\nCmaTotal:       0 kB", "MemAvailable", 1024000),
        ("MemAvailable:   1000 kB\nCmaTotal:       0 kB", "CmaTotal", 0),
        ("MemAvailable:   1000 kB", "CmaTotal", None),
        (None, "MemAvailable", None),
    ],
)
def test_meminfo(text: str | None, key: str, expected: int | None) -> None:
    assert _text.meminfo_bytes(text, key) == expected


@pytest.mark.parametrize(
    ("sample", "boot", "expected"),
    [
        ("journal-boot-with-cable.txt", BOOT, False),
        ("journal-uncabled-then-removed.txt", BOOT, False),
        ("journal-plugged-while-running.txt", BOOT, True),
        ("journal-plugged-while-running.txt", BOOT + 4690, False),
        ("journal-plugged-while-running.txt", None, None),
    ],
)
def test_a_cable_plugged_after_boot(fixtures: Path, sample: str, boot: int | None, expected: bool | None) -> None:
    events = _text.kernel_events((fixtures / "connectx" / sample).read_text())
    assert _text.plugged_after_boot(events, boot) is expected


@pytest.mark.parametrize("line", ["cx7-pcie-hotplug MTKP0001:00: Cable plugin", "mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged"])
def test_either_driver_tells_of_the_cable(line: str) -> None:
    events = _text.kernel_events(f"{BOOT + 31}.000001 spark-a kernel: {line}\n")
    assert events == [{"time": BOOT + 31.000001, "text": line}]
    assert _text.plugged_after_boot(events, BOOT) is True


def test_the_benign_power_line_is_no_cable() -> None:
    line = "mlx5_core 0000:01:00.0: mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W)."
    assert _text.plugged_after_boot([{"time": BOOT + 500.0, "text": line}], BOOT) is False


def test_journal_lines_that_are_none() -> None:
    assert _text.kernel_events("-- No entries --\n-- Boot 5c1f --\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Max locked memory         8388608              8388608              bytes", {"soft": 8388608, "hard": 8388608}),
        ("Max locked memory         65536                unlimited            bytes", {"soft": 65536, "hard": "unlimited"}),
        ("Max open files            1024                 1024                 files", None),
        (None, None),
    ],
)
def test_limits_of_a_process(text: str | None, expected: dict[str, Any] | None) -> None:
    assert _text.process_memlock(text) == expected


UNLIMITED = {"soft": "unlimited", "hard": "unlimited"}


@pytest.mark.parametrize(
    ("files", "user", "expected"),
    [
        (["* soft memlock unlimited\n* hard memlock unlimited"], "nvidia", UNLIMITED),
        (["* - memlock unlimited # all"], "nvidia", UNLIMITED),
        (["* - memlock -1"], "nvidia", UNLIMITED),
        (["* - memlock unlimited"], "root", {}),
        (["root - memlock unlimited"], "root", UNLIMITED),
        (["#* - memlock unlimited", "* - nofile 1024", None], "nvidia", {}),
        (["* - memlock unlimited", "* soft memlock 64"], "nvidia", {"soft": 65536, "hard": "unlimited"}),
        (["@sudo - memlock 64", "* - memlock unlimited"], "nvidia", {"soft": 65536, "hard": 65536}),
        (["nvidia - memlock unlimited", "@sudo - memlock 64"], "nvidia", UNLIMITED),
        (["somebody - memlock 64"], "nvidia", {}),
    ],
)
def test_limits_of_a_new_session(files: list[str | None], user: str, expected: dict[str, Any]) -> None:
    assert _text.configured_memlock(files, user, ["nvidia", "sudo"]) == expected


def test_a_unit_keeps_repeated_keys() -> None:
    text = "# c\n[Match]\nName=en*\n;x=1\nName = eth*\n\n[Network]\nAddress=10.0.0.1/24\n[Match]\nDriver=mlx5_core\n"
    assert _text.unit(text) == {"Match": {"Name": ["en*", "eth*"], "Driver": ["mlx5_core"]}, "Network": {"Address": ["10.0.0.1/24"]}}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a:b::d", ["a", "b", "", "d"]),
        (r"Wired 1:85-16:802-3-ethernet::yes:/run/a\:b.x", ["Wired 1", "85-16", "802-3-ethernet", "", "yes", "/run/a:b.x"]),
        (r"back\\slash:x", ["back\\slash", "x"]),
        ("", []),
        (":", ["", ""]),
    ],
)
def test_terse_fields(line: str, expected: list[str]) -> None:
    assert _text.terse(line) == ([expected] if expected else [])


def test_network_files_of_a_real_machine(fixtures: Path) -> None:
    assert _text.network_files((fixtures / "connectx" / "networkctl-list-systemd257.json").read_text()) == {
        "enP7s7": "/run/systemd/network/10-netplan-enP7s7.network",
        "enp1s0f0np0": "/run/systemd/network/10-netplan-enp1s0f0np0.network",
        "enp1s0f1np1": "/run/systemd/network/10-netplan-all-en.network",
    }


def test_interfaces_that_networkd_configures(fixtures: Path) -> None:
    text = (fixtures / "connectx" / "networkctl-list-systemd257.json").read_text()
    assert _text.managed_by_networkd(text) == {"enP7s7", "enp1s0f0np0", "enp1s0f1np1"}


@pytest.mark.parametrize("text", ["", "systemd-networkd is not running", "[]", "null", '{"Interfaces": null}', '{"Interfaces": [5, {"Index": 1}]}'])
def test_nothing_of_networkd(text: str) -> None:
    assert (_text.network_files(text), _text.managed_by_networkd(text)) == ({}, set())

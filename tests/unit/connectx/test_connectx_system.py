# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine around the card: session, limits, hot-plug, jobs, an armed rollback."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names, _system
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._system import Session

BOOT = 1790000000
SSH = "192.168.10.2 50000 192.168.10.11 22"


def test_the_session_is_found_above_sudo(node: Any) -> None:
    assert _system.session(node, os.getpid()) == Session(SSH, 1000, "700")


def test_root_who_logged_in_is_the_user(node: Any) -> None:
    node.process(800, 700, 0, f"SSH_CONNECTION={SSH}")
    assert _system.session(node, 800) == Session(SSH, 0, "700")


def test_the_outermost_of_nested_sessions_counts(node: Any) -> None:
    node.process(800, 710, 1000, "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 22")
    assert _system.session(node, 800).connection == SSH


@pytest.mark.parametrize("parent", [1, 0, 4242])
def test_without_ssh_the_user_is_who_runs_this(node: Any, parent: int) -> None:
    node.process(900, parent, 1000)
    assert _system.session(node, 900)[:2] == (None, 1000)


UNLIMITED = "* - memlock unlimited"
CONF = "/etc/security/limits.conf"


@pytest.mark.parametrize(
    ("files", "uid", "expected"),
    [
        ({}, 1000, {"soft": 8388608, "hard": 8388608}),
        ({_names.LIMITS_FILE: UNLIMITED}, 1000, {"soft": "unlimited", "hard": "unlimited"}),
        ({_names.LIMITS_FILE: UNLIMITED}, 0, {"soft": 8388608, "hard": 8388608}),
        ({CONF: UNLIMITED, "/etc/security/limits.d/90-x.conf": "* soft memlock 64"}, 1000, {"soft": 65536, "hard": "unlimited"}),
        ({"/etc/security/limits.d/90-x.conf.bak": UNLIMITED}, 1000, {"soft": 8388608, "hard": 8388608}),
        ({CONF: "* hard memlock unlimited"}, 1000, {"soft": 8388608, "hard": "unlimited"}),
    ],
)
def test_locked_memory_of_a_new_session(node: Any, files: dict[str, str], uid: int, expected: dict[str, Any]) -> None:
    for path, content in files.items():
        node.file(path, content)
    assert _system.memlock(node, Session(SSH, uid, "700")) == expected


def test_locked_memory_of_a_machine_that_does_not_tell(node: Any) -> None:
    assert _system.memlock(node, Session(None, 1000, "4242")) == {"soft": None, "hard": None}


def test_platform(node: Any) -> None:
    node.file("/sys/module/rdma_ucm/initstate", "live")
    facts = _system.platform(node, Session(SSH, 1000, "700"))
    assert {key: facts[key] for key in ("vendor", "product", "board")} == {"vendor": "NVIDIA", "product": "NVIDIA_DGX_Spark", "board": "P4242"}
    assert facts["dgx"]["DGX_OTA_VERSION"] == "7.5.0"
    assert [word for word in facts["cmdline"] if word.startswith("pci=")] == ["pci=realloc=off", "pci=pcie_bus_safe"]
    assert (facts["memory_available_bytes"], facts["cma_total_bytes"]) == (1024000, 0)
    assert facts["modules"] == {"mlx5_core": True, "mlx5_ib": True, "ib_uverbs": False, "rdma_ucm": True}


def journal(text: str = "", rc: int = 0, stderr: str = "", **more: Any) -> Result:
    """An answer of journalctl."""
    return Result(_system.JOURNAL, rc, text, stderr, **more)


HINT = (
    "Hint: You are currently not seeing messages from other users and the system.\n"
    "      Users in groups 'adm', 'systemd-journal' can see all messages.\nNo journal files were opened due to insufficient permissions.\n"
)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (journal("-- No entries --\n", 1, HINT), "not seeing messages from other users and the system"),
        (journal("", 1, "No journal files were opened due to insufficient permissions.\n"), "insufficient permissions"),
        (journal("", 1, "No journal files were found.\n"), "No journal files were found"),
        (journal("", 1, "Compiled without pattern matching support\n"), "without pattern matching"),
        (Result(_system.JOURNAL, None, missing=True), "no command journalctl"),
        (Result(_system.JOURNAL, None, timed_out=True), "no answer in time"),
    ],
)
def test_a_journal_that_can_not_be_read(node: Any, answer: Result, found: str) -> None:
    facts, problems = _system.hotplug(node, answer, BOOT)
    assert (facts["events"], facts["plugged_after_boot"]) == ([], None)
    fix = "Run with become: without the journal nobody can tell whether a cable was plugged in after boot."
    assert problems == [f"kernel journal - expected to be readable, found {found}. {fix}"]


def test_a_journal_without_such_lines(node: Any) -> None:
    facts, problems = _system.hotplug(node, journal("-- No entries --\n", 1), BOOT)
    assert (facts["events"], facts["plugged_after_boot"], problems) == ([], False, [])


def test_a_cable_plugged_into_a_running_machine(node: Any) -> None:
    facts, problems = _system.hotplug(node, journal(node.sample("journal-plugged-while-running.txt")), BOOT)
    assert (len(facts["events"]), facts["events"][-1]["time"], facts["plugged_after_boot"], problems) == (5, 1790004713.101, True, [])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({_system.HOTPLUG_STATE[0]: "1"}, True),
        ({_system.HOTPLUG_STATE[1]: "1"}, True),
        ({_system.HOTPLUG_STATE[0]: "0"}, False),
    ],
)
def test_hotplug_state_at_either_path(node: Any, files: dict[str, str], expected: bool | None) -> None:
    (node.folder / "etc/nvidia/cx7-hotplug-enabled").unlink()
    (node.folder / _system.HOTPLUG_STATE[0].lstrip("/")).unlink()
    for path, content in files.items():
        node.file(path, content)
    facts = _system.hotplug(node, journal(), BOOT)[0]
    assert (facts["marker"], facts["enabled"]) == (False, expected)


def test_jobs_hold_rdma_devices(node: Any) -> None:
    for number, rdma in enumerate(("rocep1s0f0", "roceP2p1s0f0")):
        node.file(f"/sys/class/infiniband_verbs/uverbs{number}/ibdev", rdma)
    node.process(4711, 1, 1000, opened=["/dev/null", "/dev/infiniband/uverbs1", "/dev/infiniband/uverbs0", "/dev/nvidia0"])
    node.process(4712, 1, 1000, opened=["/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"])
    node.process(4713, 1, 1000, opened=["/dev/nvidiactl"])
    assert _system.jobs(node) == [
        {"pid": 4711, "command": "python3", "rdma": ["roceP2p1s0f0", "rocep1s0f0"], "gpu": True},
        {"pid": 4712, "command": "python3", "rdma": ["rocep1s0f0"], "gpu": False},
    ]


def test_no_rollback(node: Any) -> None:
    assert _system.rollback(node) == (None, [])


def test_an_armed_rollback(node: Any) -> None:
    deadline = time.time() + 60
    node.file(_names.ROLLBACK_ARMED, json.dumps({"id": "r1", "deadline": deadline, "interfaces": ["enp1s0f0np0"], "more": {"x": 1}}))
    armed, problems = _system.rollback(node)
    assert armed is not None and problems == []
    assert (armed["id"], armed["deadline"], armed["interfaces"]) == ("r1", deadline, ["enp1s0f0np0"])
    assert 50 < armed["seconds_left"] <= 60


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": "x"}', '{"id": "x", "deadline": "soon"}', '{"id": "x", "deadline": 1, "interfaces": 5}'])
def test_a_rollback_that_can_not_be_read_is_still_armed(node: Any, content: str) -> None:
    node.file(_names.ROLLBACK_ARMED, content)
    armed, problems = _system.rollback(node)
    assert armed == {"id": "", "deadline": 0.0, "seconds_left": 0.0, "interfaces": []}
    assert len(problems) == 1 and problems[0].startswith("/var/lib/gb10/rollback/armed.json - expected ")

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the machine around the card: identity, platform, hot-plug, the session we came by, running jobs, an armed rollback."""

from __future__ import annotations

import os
import platform as python_platform
import re
import time
from typing import Any, NamedTuple, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names, _text
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Rollback
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged, parse

MODULES = ("mlx5_core", "mlx5_ib", "ib_uverbs", "rdma_ucm")
HOTPLUG_MARKER = "/etc/nvidia/cx7-hotplug-enabled"
HOTPLUG_STATE = (
    "/sys/devices/platform/MTKP0001:00/pcie_hotplug/hotplug_enabled",
    "/sys/bus/platform/drivers/cx7-pcie-hotplug/MTKP0001:00/pcie_hotplug/hotplug_enabled",
)
JOURNAL = ("journalctl", "-k", "-b", "-o", "short-unix", "--no-pager", "--grep", _text.HOTPLUG_PATTERN)

_UNREADABLE_JOURNAL = re.compile(
    r"insufficient permissions|not seeing messages from other users and the system|No journal files were found|without pattern matching"
)


class Session(NamedTuple):
    """How we came here: ``SSH_CONNECTION`` (None without SSH), the user who logged in, and the oldest process above us, that starts sessions."""

    connection: str | None
    uid: int
    origin: str


def host(machine: Machine) -> dict[str, Any]:
    """Who this machine is; ``boot_time`` in epoch seconds.

    ``init`` is what the first process calls itself; ``os.family`` the id of the system that this one descends from (``ID_LIKE`` names
    the closest relative first).
    """
    release = _text.assignments(machine.text("/etc/os-release"))
    names = {key: release.get(key.upper()) for key in ("id", "name", "version_id", "pretty_name")}
    return {
        "hostname": machine.text("/proc/sys/kernel/hostname"),
        "machine_id": machine.text("/etc/machine-id"),
        "boot_id": machine.text("/proc/sys/kernel/random/boot_id"),
        "boot_time": _text.boot_time(machine.text("/proc/stat")),
        "kernel": machine.text("/proc/sys/kernel/osrelease"),
        "architecture": os.uname().machine,
        "python": python_platform.python_version(),
        "init": machine.text("/proc/1/comm"),
        "os": {**names, "family": next(reversed(release.get("ID_LIKE", "").split()), names["id"])},
    }


def platform(machine: Machine, session: Session) -> dict[str, Any]:
    """What kind of machine this is and what a job finds on it."""
    dmi = "/sys/class/dmi/id"
    memory = machine.text("/proc/meminfo")
    loaded = _text.loaded_modules(machine.text("/proc/modules"))
    return {
        "vendor": machine.text(f"{dmi}/sys_vendor"),
        "product": machine.text(f"{dmi}/product_name"),
        "board": machine.text(f"{dmi}/board_name"),
        "dgx": _text.assignments(machine.text("/etc/dgx-release")),
        "cmdline": (machine.text("/proc/cmdline") or "").split(),
        "memory_available_bytes": _text.meminfo_bytes(memory, "MemAvailable"),
        "cma_total_bytes": _text.meminfo_bytes(memory, "CmaTotal"),
        "memlock": memlock(machine, session),
        "modules": {name: name in loaded or machine.exists(f"/sys/module/{name}") for name in MODULES},
    }


def memlock(machine: Machine, session: Session) -> dict[str, int | str | None]:
    """Locked memory that a new session of the same user may have, ``{soft, hard}`` in bytes or ``unlimited``: what the process
    that starts sessions has, and over it what pam_limits sets. The limits of the running session may be older than the files."""
    user, groups = machine.user(session.uid)
    folder = "/etc/security/limits.d"
    files = ["/etc/security/limits.conf", *(f"{folder}/{name}" for name in machine.names(folder) if name.endswith(".conf"))]
    inherited = _text.process_memlock(machine.text(f"/proc/{session.origin}/limits"))
    return {"soft": None, "hard": None, **(inherited or {}), **_text.configured_memlock(map(machine.text, files), user, groups)}


def session(machine: Machine, pid: int) -> Session:
    """Walk from process ``pid`` upwards: sudo drops ``SSH_CONNECTION``, the login shell above it still has it."""
    connection, owner, origin, current = None, str(pid), str(pid), str(pid)
    for _step in range(64):
        origin = current
        match = re.search(r"(?:^|\0)SSH_CONNECTION=([^\0]*)", machine.text(f"/proc/{current}/environ") or "")
        if match:
            connection, owner = match.group(1), current
        parent = re.search(r"^PPid:\s+(\d+)", machine.text(f"/proc/{current}/status") or "", re.MULTILINE)
        if not parent or parent.group(1) in ("0", "1"):
            break
        current = parent.group(1)
    uid = re.search(r"^Uid:\s+(\d+)", machine.text(f"/proc/{owner}/status") or "", re.MULTILINE)
    return Session(connection, int(uid.group(1)) if uid else os.getuid(), origin)


def hotplug(machine: Machine, journal: Result, boot: float | None) -> tuple[dict[str, Any], list[str]]:
    """Hot-plug power saving of the card, and what the kernel said about cables since boot: ``(facts, problems)``."""
    states = [state for state in map(machine.text, HOTPLUG_STATE) if state is not None]
    refusal = _UNREADABLE_JOURNAL.search(journal.stderr)
    readable = not (journal.missing or journal.timed_out or refusal)
    events = _text.kernel_events(journal.stdout) if readable else []
    facts = {
        "marker": machine.exists(HOTPLUG_MARKER),
        "enabled": states[0] == "1" if states else None,
        "events": events,
        "plugged_after_boot": _text.plugged_after_boot(events, boot) if readable else None,
    }
    if readable:
        return facts, []
    fix = "Run with become: without the journal nobody can tell whether a cable was plugged in after boot."
    return facts, [message("kernel journal", "to be readable", refusal.group() if refusal else journal.complaint, fix)]


def jobs(machine: Machine) -> list[dict[str, Any]]:
    """Processes that hold RDMA contexts, with ``rdma`` devices and whether they also hold the GPU."""
    verbs = "/sys/class/infiniband_verbs"
    devices = {f"/dev/infiniband/{name}": machine.text(f"{verbs}/{name}/ibdev") or name for name in machine.names(verbs) if name.startswith("uverbs")}
    found = []
    for pid in machine.names("/proc") if devices else []:
        opened = set(machine.opened(pid)) if pid.isdigit() else set()
        held = sorted({devices[path] for path in opened & set(devices)})
        if held:
            gpu = any(path.startswith("/dev/nvidia") for path in opened)
            found.append({"pid": int(pid), "command": machine.text(f"/proc/{pid}/comm") or "", "rdma": held, "gpu": gpu})
    return sorted(found, key=lambda job: job["pid"])


class Armed(TypedDict):
    """What is looked at in the data of an armed rollback; ``deadline`` in epoch seconds."""

    id: str
    deadline: float
    interfaces: list[str]


def rollback(machine: Machine) -> tuple[Rollback | None, list[str]]:
    """The armed rollback, if there is one: ``(rollback, problems)``. A file that can not be read still means that one is armed."""
    content = machine.text(_names.ROLLBACK_ARMED)
    if content is None:
        return None, []
    try:
        data = parse(_names.ROLLBACK_ARMED, content, Armed, "Look at the links, then remove the file.")
    except Damaged as damaged:
        return {"id": "", "deadline": 0.0, "seconds_left": 0.0, "interfaces": []}, [str(damaged)]
    left = round(data["deadline"] - time.time(), 1)
    return {"id": data["id"], "deadline": data["deadline"], "seconds_left": left, "interfaces": data["interfaces"]}, []

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and outputs of the operating system, as data: release files, meminfo, limits, kernel journal, unit files, nmcli, networkctl."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

PLUGGED = re.compile(r"cx7-pcie-hotplug .*Cable plugin|Port module event: .*Cable plugged")
"""Kernel lines that say that a cable was plugged in; the first is the hot-plug driver's, the second mlx5's."""

HOTPLUG_PATTERN = "cx7-pcie-hotplug|Port module event"
"""Pattern for ``journalctl --grep``: every line about cables and hot-plug."""

BOOT_SECONDS = 30
"""A cable that is in at boot is reported within this many seconds; a later report means it was plugged into a running machine."""


def assignments(text: str | None) -> dict[str, str]:
    """Lines ``KEY="value"`` as in ``os-release``; of repeated keys the last wins (``/etc/dgx-release`` gets one set of lines per update)."""
    pairs = {}
    for line in (text or "").splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            pairs[key.strip()] = value.strip().strip("\"'")
    return pairs


def meminfo_bytes(text: str | None, key: str) -> int | None:
    """One line of ``/proc/meminfo`` in bytes."""
    match = re.search(rf"^{re.escape(key)}:\s+(\d+) kB$", text or "", re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def boot_time(stat: str | None) -> int | None:
    """``btime`` of ``/proc/stat``: the moment of boot, epoch seconds."""
    match = re.search(r"^btime (\d+)$", stat or "", re.MULTILINE)
    return int(match.group(1)) if match else None


def loaded_modules(text: str | None) -> set[str]:
    """Names in ``/proc/modules``."""
    return {line.split(" ", 1)[0] for line in (text or "").splitlines() if line}


def kernel_events(text: str) -> list[dict[str, Any]]:
    """``journalctl -k -o short-unix`` to ``[{time: epoch seconds, text: the kernel's line}]``."""
    matches = (re.match(r"(\d+\.\d+) \S+ kernel: (.*)$", line) for line in text.splitlines())
    return [{"time": float(match.group(1)), "text": match.group(2)} for match in matches if match]


def plugged_after_boot(events: Iterable[dict[str, Any]], boot: float | None) -> bool | None:
    """Whether a cable was plugged in later than :data:`BOOT_SECONDS` after ``boot`` (epoch seconds)."""
    if boot is None:
        return None
    return any(event["time"] > boot + BOOT_SECONDS and PLUGGED.search(event["text"]) for event in events)


def process_memlock(text: str | None) -> dict[str, int | str] | None:
    """``/proc/PID/limits`` to the locked memory it may have: ``{soft, hard}`` in bytes or ``unlimited``."""
    match = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", text or "", re.MULTILINE)
    return {kind: int(value) if value.isdigit() else value for kind, value in zip(("soft", "hard"), match.groups())} if match else None


def configured_memlock(files: Iterable[str | None], user: str, groups: Iterable[str]) -> dict[str, int | str]:
    """What pam_limits gives a new session of ``user``: ``{soft, hard}`` in bytes or ``unlimited``, as far as the files set them.

    :param files: contents in the order in which pam_limits reads them. Of equal rank the later line wins; a line for the
        user outranks one for a group, which outranks ``*``; ``*`` and groups do not apply to root.
    """
    ranks = {user: 3}
    if user != "root":
        ranks |= {"*": 1, **{f"@{group}": 2 for group in groups}}
    chosen: dict[str, tuple[int, int | str]] = {}
    for line in "\n".join(text or "" for text in files).splitlines():
        words = line.partition("#")[0].split()
        if len(words) != 4 or words[2] != "memlock" or words[0] not in ranks:
            continue
        value: int | str = int(words[3]) * 1024 if words[3].isdigit() else "unlimited"
        for kind in ("soft", "hard") if words[1] == "-" else (words[1],):
            if ranks[words[0]] >= chosen.get(kind, (0, 0))[0]:
                chosen[kind] = (ranks[words[0]], value)
    return {kind: value for kind, (_rank, value) in chosen.items()}


def unit(text: str | None) -> dict[str, dict[str, list[str]]]:
    """A file in the style of systemd units and NetworkManager keyfiles: ``{section: {key: [values in order]}}``."""
    sections: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in (raw.strip() for raw in (text or "").splitlines()):
        key, equals, value = line.partition("=")
        if line.startswith("[") and line.endswith("]"):
            section = sections.setdefault(line[1:-1], {})
        elif equals and not line.startswith(("#", ";")):
            section.setdefault(key.strip(), []).append(value.strip())
    return sections


def terse(text: str) -> list[list[str]]:
    r"""``nmcli -t``: fields separated by colons, in which ``\:`` and ``\\`` are escaped."""
    return [[re.sub(r"\\(.)", r"\1", field) for field in re.findall(r"(?:^|:)((?:\\.|[^:\\])*)", line)] for line in text.splitlines() if line]


def network_files(text: str) -> dict[str, str]:
    """``networkctl list --json=short`` to the ``.network`` file that networkd applies, by interface; absent for unmanaged ones."""
    return {item["Name"]: item["NetworkFile"] for item in _networkd_links(text) if item.get("NetworkFile")}


def managed_by_networkd(text: str) -> set[str]:
    """``networkctl list --json=short`` to the interfaces that networkd configures."""
    return {item["Name"] for item in _networkd_links(text) if item.get("AdministrativeState") != "unmanaged"}


def _networkd_links(text: str) -> list[dict[str, Any]]:
    """The objects of ``networkctl list --json=short``; anything else is an empty list."""
    try:
        listing = json.loads(text or "{}")
    except ValueError:
        return []
    found = listing.get("Interfaces") if isinstance(listing, dict) else None
    return [item for item in found if isinstance(item, dict) and item.get("Name")] if isinstance(found, list) else []

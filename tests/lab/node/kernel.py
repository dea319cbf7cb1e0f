# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a node: the kernel's messages about the card, written into the real journal so that the real ``journalctl -k`` shows them.

``kernel.py boot`` starts over with what a boot prints (lines as in public logs of these machines);
``kernel.py say SECONDS TEXT...`` adds lines, SECONDS after the boot or ``now``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CARD = Path("/lab/hw/card.json")
IMPORTER = "/lib/systemd/systemd-journal-remote"
HOTPLUG = "cx7-pcie-hotplug MTKP0001:00"


def boot_lines(card: dict[str, Any]) -> list[tuple[float, str]]:
    """Seconds after boot and text of what the kernel says of the card while it comes up."""
    lines: list[tuple[float, str]] = []
    for number, function in enumerate(card["functions"]):
        bdf, start = function["bdf"], 1.15 + number / 100
        lines += [
            (start, f"mlx5_core {bdf}: firmware version: {card['firmware']}"),
            (start + 0.001, f"mlx5_core {bdf}: 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)"),
            (start + 0.38, f"mlx5_core {bdf}: mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W)."),
            (start + 0.4, module_line(function, card["ports"][function["port"]]["module"] is not None)),
            (start + 0.6, f"mlx5_core {bdf} {function['interface']}: renamed from eth{number}"),
        ]
    lines += [(5.309621, f"{HOTPLUG}: PCIe hotplug driver initialized successfully"), (5.406738, f"{HOTPLUG}: Hotplug enabled")]
    return sorted(lines)


def module_line(function: dict[str, Any], plugged: bool) -> str:
    """What mlx5 says when a cable is plugged into the port of a function, or pulled."""
    return f"mlx5_core {function['bdf']}: Port module event: module {function['port'][1:]}, Cable {'plugged' if plugged else 'unplugged'}"


def entry(seconds: float, text: str, machine: dict[str, str]) -> str:
    """One entry in the journal's export format."""
    fields = {
        "__REALTIME_TIMESTAMP": str(int((float(machine["boot_time"]) + seconds) * 1e6)),
        "__MONOTONIC_TIMESTAMP": str(int(seconds * 1e6)),
        "_BOOT_ID": machine["boot_id"],
        "_TRANSPORT": "kernel",
        "SYSLOG_IDENTIFIER": "kernel",
        "SYSLOG_FACILITY": "0",
        "PRIORITY": "6",
        "_MACHINE_ID": machine["machine_id"],
        "_HOSTNAME": machine["hostname"],
        "MESSAGE": text,
    }
    return "".join(f"{key}={value}\n" for key, value in fields.items()) + "\n"


def this_machine() -> dict[str, str]:
    """What an entry tells about the machine it comes from."""
    stat = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(encoding="ascii"), re.MULTILINE)
    return {
        "boot_time": stat.group(1) if stat else "0",
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", ""),
        "machine_id": Path("/etc/machine-id").read_text(encoding="ascii").strip(),
        "hostname": Path("/proc/sys/kernel/hostname").read_text(encoding="utf-8").strip(),
    }


def main(words: list[str]) -> None:
    """Write the entries of a boot, or more."""
    machine = this_machine()
    journal = Path("/var/log/journal") / machine["machine_id"] / "kernel.journal"
    journal.parent.mkdir(parents=True, exist_ok=True)
    if words == ["boot"]:
        journal.unlink(missing_ok=True)
        lines = boot_lines(json.loads(CARD.read_text(encoding="utf-8")))
    else:
        seconds = time.time() - float(machine["boot_time"]) if words[1] == "now" else float(words[1])
        # a microsecond apart, so that they keep their order
        lines = [(seconds + number / 1e6, text) for number, text in enumerate(words[2:])]
    text = "".join(entry(seconds, line, machine) for seconds, line in lines)
    subprocess.run([IMPORTER, "--output", str(journal), "-"], input=text, text=True, capture_output=True, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])

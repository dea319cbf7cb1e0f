# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QoS of one network device for RoCE: read what is there, compare, write only what differs.

This file is a script as well: the module copies its text to the node, where a unit that is bound to the device runs ``qos.py INTERFACE``
whenever the device appears; so it imports the standard library alone. ``qos.json``:
``{level, traffic_class, interfaces: {name: {wanted: Live, before: Live, rdma: device, tos_before: int}}}``.

dcb comes with iproute2 and works with the mlx5 of the kernel. Its first DSCP entry switches the port to trusting DSCP, deleting the last one back;
a change of PFC takes the link down for a moment; global pause and PFC exclude each other (mlx5 of the Linux kernel).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

CONFIG = "/etc/gb10/qos.json"
CONFIGFS = "/sys/kernel/config/rdma_cm"

Run = Callable[[list[str]], "Done"]


class Done(NamedTuple):
    """What a command left behind; ``rc`` 127 when there is no such command."""

    rc: int
    out: str
    err: str


class Live(NamedTuple):
    """QoS of a device. ``dscp``: DSCP -> priority, of those that were asked about; ``pfc``: priorities with PFC, in order;
    ``pause``: global pause (rx, tx), None where the driver has none."""

    dscp: dict[int, int]
    pfc: list[int]
    pause: list[bool] | None


class Unsupported(Exception):
    """The device has no DCB, or there is no ``dcb``; the text says which."""


def run(argv: list[str]) -> Done:
    """Run a command without a shell, in the C locale; never raises."""
    try:
        # not run_command: this also runs by itself, without an AnsibleModule
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, env={**os.environ, "LC_ALL": "C"}, encoding="utf-8",
            errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return Done(124, "", "no answer in time")
    except OSError as error:
        return Done(127, "", str(error))
    return Done(done.returncode, done.stdout, done.stderr)


def read(interface: str, dscps: list[int], call: Run = run) -> Live:
    """Read a device. Raises :class:`Unsupported`."""
    app = _json(call(["dcb", "-N", "-j", "app", "show", "dev", interface]))
    pfc = _json(call(["dcb", "-j", "pfc", "show", "dev", interface]))
    try:
        known = {int(dscp): int(priority) for dscp, priority in app.get("dscp_prio", [])}
    except (TypeError, ValueError):
        raise Unsupported(f"dcb answered {str(app)[:60]!r}") from None
    return Live(
        dscp={dscp: known[dscp] for dscp in dscps if dscp in known},
        pfc=[priority for priority, on in enumerate(pfc.get("prio_pfc", [])) if on],
        pause=_pause(call(["ethtool", "-a", interface])),
    )


def _json(done: Done) -> dict:
    if done.rc == 127:
        raise Unsupported("the command dcb is not installed (package iproute2)")
    if done.rc != 0:
        raise Unsupported((done.err or done.out).strip().splitlines()[-1] if (done.err or done.out).strip() else f"dcb ended with {done.rc}")
    try:
        found = json.loads(done.out or "{}")
    except ValueError:
        raise Unsupported(f"dcb answered {done.out[:60]!r}") from None
    return found if isinstance(found, dict) else {}


def _pause(done: Done) -> list[bool] | None:
    found = dict(re.findall(r"^(RX|TX):\s*(on|off)\s*$", done.out, re.MULTILINE))
    return [found["RX"] == "on", found["TX"] == "on"] if done.rc == 0 and len(found) == 2 else None


def commands(interface: str, live: Live, wanted: Live) -> list[list[str]]:
    """The commands that make a device what is wanted, none when it is. Global pause goes off before PFC comes on, and the other way round."""
    needed = []
    pause = [] if wanted.pause is None or live.pause in (None, wanted.pause) else [
        ["ethtool", "-A", interface, "rx", "on" if wanted.pause[0] else "off", "tx", "on" if wanted.pause[1] else "off"]]
    if not any(wanted.pause or []):
        needed += pause
    if live.pfc != wanted.pfc:
        needed.append(["dcb", "pfc", "set", "dev", interface, "prio-pfc", "all:off", *(f"{priority}:on" for priority in wanted.pfc)])
    if any(wanted.pause or []):
        needed += pause
    gone = [f"{dscp}:{priority}" for dscp, priority in sorted(live.dscp.items()) if dscp not in wanted.dscp]
    new = [f"{dscp}:{priority}" for dscp, priority in sorted(wanted.dscp.items()) if live.dscp.get(dscp) != priority]
    needed += [["dcb", "app", "replace", "dev", interface, "dscp-prio", *new]] if new else []
    needed += [["dcb", "app", "del", "dev", interface, "dscp-prio", *gone]] if gone else []
    return needed


def tos_path(device: str, root: str = "") -> str:
    """File of the kernel that holds RDMA-CM's default type of service for a device; its folder appears when it is made."""
    return f"{root}{CONFIGFS}/{device}/ports/1/default_roce_tos"


def read_tos(device: str, root: str = "") -> int | None:
    """RDMA-CM's default type of service, 0 as long as nobody asked for the device's folder; None where ``rdma_cm`` is not loaded."""
    if not os.path.isdir(f"{root}{CONFIGFS}"):
        return None
    try:
        with open(tos_path(device, root), encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def write_tos(device: str, value: int, root: str = "") -> None:
    """Set RDMA-CM's default type of service. Raises OSError."""
    os.makedirs(f"{root}{CONFIGFS}/{device}", exist_ok=True)
    with open(tos_path(device, root), "w", encoding="ascii") as file:
        file.write(f"{value}\n")


def main(interface: str) -> int:
    """What the unit runs: bring one device in line with the configuration."""
    with open(CONFIG, encoding="utf-8") as file:
        config = json.load(file)
    entry = config["interfaces"].get(interface)
    if entry is None:
        return 0
    device = entry.get("rdma")
    if device and read_tos(device) not in (None, config["traffic_class"]):
        write_tos(device, config["traffic_class"])
    if entry.get("wanted") is None:
        return 0
    wanted = live_of(entry["wanted"])
    dscps = sorted({*wanted.dscp, *live_of(entry["before"]).dscp})
    status = 0
    for command in commands(interface, read(interface, dscps), wanted):
        done = run(command)
        if done.rc != 0:
            sys.stderr.write(f"{' '.join(command)}: {done.err.strip()}\n")
            status = 1
    return status


def live_of(stored: Mapping[str, Any]) -> Live:
    """A :class:`Live` out of JSON, whose keys are strings."""
    return Live({int(dscp): int(priority) for dscp, priority in stored["dscp"].items()}, list(stored["pfc"]), stored["pause"])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))

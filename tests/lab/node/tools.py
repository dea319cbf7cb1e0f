# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a node, as ``ethtool``, ``rdma``, ``ibdev2netdev``, ``lspci``, ``dmesg`` and ``modprobe``: what needs the card or its kernel.

Answers about the four fabric netdevs come from /sys and the lab's ``card.json`` in the text of the real tools; everything else goes to
the real tool. The first argument is the tool's name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ethtool_text

HW = Path("/lab/hw")
NET = Path("/sys/class/net")
RDMA = Path("/sys/class/infiniband")
SYS_MODULE = Path("/sys/module")
#: Modules that this machine has, loaded or not.
MODULES = ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm", "iw_cm", "ib_umad")

State = dict[str, Any]


def rdma_links(ports: list[State]) -> list[dict[str, Any]]:
    """``rdma -j link`` as data. A port: ``{rdma, interface, ifindex, state, phys_state}`` with the words of /sys."""
    words = {"4: ACTIVE": "ACTIVE", "1: DOWN": "DOWN", "5: LinkUp": "LINK_UP", "3: Disabled": "DISABLED"}
    return [
        {
            "ifindex": number,
            "ifname": port["rdma"],
            "port": 1,
            "state": words[port["state"]],
            "physical_state": words[port["phys_state"]],
            "netdev": port["interface"],
            "netdev_index": port["ifindex"],
        }
        for number, port in enumerate(ports)
    ]


def rdma_text(links: list[dict[str, Any]]) -> str:
    """``rdma link``."""
    return "".join(
        f"link {link['ifname']}/1 state {link['state']} physical_state {link['physical_state']} netdev {link['netdev']} \n" for link in links
    )


def _card() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((HW / "card.json").read_text(encoding="utf-8"))
    return data


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _present(card: dict[str, Any]) -> list[State]:
    """The functions on the bus, in its order."""
    functions = sorted(card["functions"], key=lambda function: str(function["bdf"]))
    return [function for function in functions if (RDMA / function["rdma"]).exists() and (NET / function["interface"]).exists()]


def _real(tool: str, words: list[str]) -> int:
    for folder in ("/usr/sbin", "/usr/bin"):
        if os.access(f"{folder}/{tool}", os.X_OK):
            os.execv(f"{folder}/{tool}", [tool, *words])
    sys.stderr.write(f"{tool}: the lab does not simulate this\n")
    return 1


def run_ethtool(words: list[str]) -> int:
    """``ethtool`` for the fabric netdevs; the real one for everything else, a missing interface among it."""
    card = _card()
    function = next((each for each in card["functions"] if each["interface"] == words[-1] and (NET / words[-1]).exists()), None) if words else None
    if function is None or len(words) > 2:
        return _real("ethtool", words)
    name, port = words[-1], card["ports"][function["port"]]
    state = {
        **function,
        **port,
        "firmware": card["firmware"],
        "psid": card["psid"],
        "kernel": os.uname().release,
        "up": int(_word(NET / name / "flags") or "0", 16) & 1,
        "carrier": _word(NET / name / "carrier") == "1",
    }
    option = words[0] if len(words) == 2 else ""
    if option in ("-m", "--module-info", "--dump-module-eeprom"):
        text = ethtool_text.module(state)
        if os.geteuid() or not text:
            sys.stderr.write("netlink error: Operation not permitted\n" if os.geteuid() else "netlink error: Input/output error\n")
            return 1
    elif option in ("-S", "--statistics"):
        text = ethtool_text.statistics({path.name: int(_word(path) or 0) for path in sorted((NET / name / "statistics").iterdir())})
    elif option in ("-i", "--driver"):
        text = ethtool_text.driver(state)
    elif option == "--show-fec":
        text = ethtool_text.fec(name, state)
    elif option:
        return _real("ethtool", words)
    else:
        text = ethtool_text.settings(name, state)
    sys.stdout.write(text)
    return 0


def run_rdma(words: list[str]) -> int:
    """``rdma [-j] link|dev [show]``."""
    flags, rest = [word for word in words if word.startswith("-")], [word for word in words if not word.startswith("-") and word != "show"]
    ports = [
        {
            **function,
            "ifindex": int(_word(NET / function["interface"] / "ifindex")),
            "state": _word(RDMA / function["rdma"] / "ports/1/state"),
            "phys_state": _word(RDMA / function["rdma"] / "ports/1/phys_state"),
        }
        for function in _present(_card())
    ]
    if rest == ["link"]:
        links = rdma_links(ports)
        sys.stdout.write(json.dumps(links, separators=(",", ":")) + "\n" if flags else rdma_text(links))
    elif rest == ["dev"]:
        devices = [
            {
                "ifindex": number,
                "ifname": port["rdma"],
                "node_type": "ca",
                "fw": _word(RDMA / port["rdma"] / "fw_ver"),
                "node_guid": _word(RDMA / port["rdma"] / "node_guid"),
                "sys_image_guid": _word(RDMA / port["rdma"] / "sys_image_guid"),
            }
            for number, port in enumerate(ports)
        ]
        plain = "".join(f"{row['ifindex']}: {row['ifname']}: node_type ca fw {row['fw']} node_guid {row['node_guid']} \n" for row in devices)
        sys.stdout.write(json.dumps(devices, separators=(",", ":")) + "\n" if flags else plain)
    else:
        return _real("rdma", words)
    return 0


def run_ibdev2netdev(_words: list[str]) -> int:
    """``ibdev2netdev``."""
    for function in _present(_card()):
        up = _word(RDMA / function["rdma"] / "ports/1/state").endswith("ACTIVE")
        sys.stdout.write(f"{function['rdma']} port 1 ==> {function['interface']} ({'Up' if up else 'Down'})\n")
    return 0


def run_lspci(_words: list[str]) -> int:
    """``lspci``: the functions of the card, whatever the options."""
    for function in _present(_card()):
        sys.stdout.write(f"{function['bdf']} Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n")
    return 0


def run_dmesg(_words: list[str]) -> int:
    """``dmesg``: the node's own kernel journal."""
    strip = r"s/^\(\[[^]]*\]\) [^ ]* kernel:/\1/"
    return os.execv("/bin/sh", ["sh", "-c", f"journalctl -k -b --no-pager -q -o short-monotonic | sed '{strip}'"])


def run_modprobe(words: list[str]) -> int:
    """``modprobe`` of what the machine's kernel has; others fail as they do where there is no such module."""
    names = [word.replace("-", "_") for word in words if not word.startswith("-")]
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        if not {"-q", "--quiet"} & set(words):
            sys.stderr.write(f"modprobe: FATAL: Module {unknown[0]} not found in directory /lib/modules/{os.uname().release}\n")
        return 1
    if not {"-n", "--dry-run"} & set(words):
        for name in names:
            (SYS_MODULE / name).mkdir(exist_ok=True)
    return 0


TOOLS: dict[str, Callable[[list[str]], int]] = {
    "ethtool": run_ethtool,
    "rdma": run_rdma,
    "ibdev2netdev": run_ibdev2netdev,
    "lspci": run_lspci,
    "dmesg": run_dmesg,
    "modprobe": run_modprobe,
}

if __name__ == "__main__":
    sys.exit(TOOLS[sys.argv[1]](sys.argv[2:]))

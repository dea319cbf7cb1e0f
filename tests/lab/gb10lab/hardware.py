# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the card: PCIe functions, and what the kernel says about cables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import network
from .cabling import HOTPLUG, say
from .card import Function, functions
from .inventory import Node
from .shell import LabError
from .state import Lab


def chosen(node: Node, options: dict[str, str]) -> list[Function]:
    """The functions of a node that ``port`` (p0, p1, all) and ``rail`` (0, 1, all) name."""
    found = [each for each in functions(node) if options["port"] in (each.port, "all") and options["rail"] in (str(each.rail), "all")]
    if not found:
        raise LabError(f"--option port, rail - expected p0, p1 or all and 0, 1 or all, found {options['port']} and {options['rail']}. Correct them.")
    return found


def remove(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Take functions off the bus."""
    gone = [each for each in chosen(node, options) if (lab.node_folder(node) / "hw/pci_devices" / each.bdf).is_symlink()]
    network.remove(lab, node, gone)
    say(lab, node.name, "say", "now", f"{HOTPLUG}: Cable removal")
    return {"interfaces": [each.interface for each in gone]}


def bring_back(lab: Lab, node: Node, memory: dict[str, Any]) -> None:
    """Bring them back as hot-plug does."""
    network.bring_back(lab, node, [each for each in functions(node) if each.interface in memory["interfaces"]])
    say(lab, node.name, "boot")


def narrow(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Let the PCIe link of a domain train at x2."""
    domain = "0002" if options["rail"] == "1" else "0000"
    files = sorted((lab.node_folder(node) / f"hw/devices/pci{domain}:00").rglob("current_link_width"))
    for file in files:
        file.write_text("2\n", encoding="ascii")
    return {"files": [str(file) for file in files]}


def widen(_lab: Lab, _node: Node, memory: dict[str, Any]) -> None:
    """Back to x4."""
    for file in memory["files"]:
        Path(file).write_text("4\n", encoding="ascii")


def plug_late(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Tell of a cable that was plugged into the running machine."""
    first = functions(node)[0]
    says = f"mlx5_core {first.bdf}"
    lines = (f"{HOTPLUG}: Cable plugin", f"{says}: Port module event: module 0, Cable plugged", f"{says} {first.interface}: Link up")
    say(lab, node.name, "say", options["seconds"], *lines)
    return {}


def quiet(lab: Lab, node: Node, _memory: dict[str, Any]) -> None:
    """Start the kernel's journal over."""
    say(lab, node.name, "boot")

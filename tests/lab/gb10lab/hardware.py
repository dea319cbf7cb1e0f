# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the hardware: cables, links, PCIe functions and what the kernel says about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import card, network, nodes
from .card import FUNCTIONS, Function
from .inventory import Node
from .shell import LabError, run
from .state import Lab


def chosen(options: dict[str, str]) -> list[Function]:
    """The functions that ``port`` (p0, p1, all) and ``rail`` (0, 1, all) name."""
    found = [each for each in FUNCTIONS if options["port"] in (each.port, "all") and options["rail"] in (str(each.rail), "all")]
    if not found:
        raise LabError(f"--option port, rail - expected p0, p1 or all and 0, 1 or all, found {options['port']} and {options['rail']}. Correct them.")
    return found


def kernel(lab: Lab, node: Node, *words: str) -> None:
    """Start the node's kernel journal over (``boot``) or add a line (``say``, seconds, text)."""
    run(*lab.inside(node), "python3", "/lab/share/kernel.py", *words)


def _describe(lab: Lab, node: Node, pulled: frozenset[int] = frozenset(), speed: int = nodes.LINK_SPEED) -> None:
    plugged = {port: {**fields, "speed": speed} for port, fields in nodes.plugged(lab.up, node, pulled).items()}
    card.write_description(lab.node_folder(node) / "hw", plugged)


def _ends(lab: Lab, number: int) -> list[Node]:
    return [lab.up.node(end.rpartition(".")[0]) for end in lab.up.cables[number].ends]


def unplug(lab: Lab, _node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Pull a cable: no carrier, no module, a line in both kernels' journals."""
    number = int(options["cable"])
    if number >= len(lab.up.cables):
        raise LabError(f"--option cable - expected a number below {len(lab.up.cables)}, found {number}. Correct it.")
    for end in _ends(lab, number):
        _describe(lab, end, frozenset({number}))
    network.unplug(lab, lab.up.cables[number])
    for name, _dot, port in (end.rpartition(".") for end in lab.up.cables[number].ends):
        for function in FUNCTIONS:
            if function.port == port:
                kernel(lab, lab.up.node(name), "say", "now", f"mlx5_core {function.bdf}: Port module event: module {port[1:]}, Cable unplugged")
    return {"cable": number}


def plug(lab: Lab, _node: Node, memory: dict[str, Any]) -> None:
    """Plug it in again, as if it had never been out."""
    for end in _ends(lab, memory["cable"]):
        _describe(lab, end)
        kernel(lab, end, "boot")
    network.plug(lab, lab.up.cables[memory["cable"]])


def slow_link(lab: Lab, _node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Let a cable train at 100G."""
    return _renegotiate(lab, int(options["cable"]), 100000)


def full_link(lab: Lab, _node: Node, memory: dict[str, Any]) -> None:
    """Let it train at 200G again."""
    _renegotiate(lab, memory["cable"], nodes.LINK_SPEED)


def _renegotiate(lab: Lab, number: int, speed: int) -> dict[str, Any]:
    for end in _ends(lab, number):
        _describe(lab, end, speed=speed)
    network.unplug(lab, lab.up.cables[number])
    network.plug(lab, lab.up.cables[number])
    return {"cable": number}


def remove(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """Take functions off the bus."""
    functions = [each.interface for each in chosen(options) if (lab.node_folder(node) / "hw/pci_devices" / each.bdf).is_symlink()]
    network.remove(lab, node, [each for each in FUNCTIONS if each.interface in functions])
    kernel(lab, node, "say", "now", "cx7-pcie-hotplug MTKP0001:00: Cable removal")
    return {"interfaces": functions}


def bring_back(lab: Lab, node: Node, memory: dict[str, Any]) -> None:
    """Bring them back as hot-plug does."""
    network.bring_back(lab, node, [each for each in FUNCTIONS if each.interface in memory["interfaces"]])
    kernel(lab, node, "boot")


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
    for text in (
        "cx7-pcie-hotplug MTKP0001:00: Cable plugin",
        "mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:01:00.0 enp1s0f0np0: Link up",
    ):
        kernel(lab, node, "say", options["seconds"], text)
    return {}


def quiet(lab: Lab, node: Node, _memory: dict[str, Any]) -> None:
    """Start the kernel's journal over."""
    kernel(lab, node, "boot")

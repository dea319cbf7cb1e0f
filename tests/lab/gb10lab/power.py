# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's power: off is a container that has stopped and a network that has no carrier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import cabling, containers, network, nodes
from .inventory import Node
from .state import Lab


def off(lab: Lab, node: Node) -> None:
    """Cut the power, as a pulled plug does. The namespaces stay and would answer in the node's place, so their carriers go too."""
    held = cabling.current(lab)
    network.management(lab, node, "down")
    containers.halt(lab, node.name)
    cabling.settle(lab, replace(held, off=held.off - {node.name}), replace(held, off=held.off | {node.name}), cabling.tell)


def on(lab: Lab, node: Node, memory: dict[str, Any]) -> None:
    """Switch it on again where it is off; returns when its user can log in."""
    network.management(lab, node, "up")
    cabling.mend(lab, node, memory)
    if not lab.pid(node):
        containers.again(lab, node.name)
        nodes.wait(lab, node)

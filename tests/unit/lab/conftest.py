# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the lab importable: its package for the host, its programs for the nodes by fixture."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

LAB = Path(__file__).resolve().parents[2] / "lab"
sys.path.insert(0, str(LAB))


def _program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"gb10lab_node_{name}", LAB / "node" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def node_card() -> ModuleType:
    """The program that keeps GIDs and port states up to date."""
    return _program("card")


@pytest.fixture(scope="session")
def kernel() -> ModuleType:
    """The program that writes kernel messages."""
    return _program("kernel")

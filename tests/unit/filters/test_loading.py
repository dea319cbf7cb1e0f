# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to have filters: each task that uses one of a collection loads all filter files of that collection, in a process of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FILTERS = Path(__file__).resolve().parents[3] / "plugins" / "filter"
UTILS = "ansible_collections.gb10.cluster.plugins.plugin_utils."


@pytest.mark.parametrize("name", sorted(file.name for file in FILTERS.glob("*.py")))
def test_a_filter_imports_what_it_works_with_only_when_it_is_called(name: str) -> None:
    body = ast.parse((FILTERS / name).read_text(encoding="utf-8")).body
    modules = {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith(UTILS)} <= {f"{UTILS}_plain"}

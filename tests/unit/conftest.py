# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes ``ansible_collections.gb10.cluster`` the repository itself, wherever the checkout lies."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = Path(__file__).resolve().parent / "fixtures"


def _package(name: str, *paths: Path) -> None:
    """Register a namespace package ``name`` whose submodules are looked up in ``paths``."""
    if name in sys.modules:
        return
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(path) for path in paths]
    sys.modules[name] = importlib.util.module_from_spec(spec)


_package("ansible_collections")
_package("ansible_collections.gb10")
_package("ansible_collections.gb10.cluster", REPOSITORY)


@pytest.fixture
def fixtures() -> Path:
    """The folder of captured and made-up device outputs; provenance in its README.md."""
    return FIXTURES


@pytest.fixture
def calls() -> Callable[[Callable[[], Any]], int]:
    """Counts the calls that some work makes: how much it is, on a machine of any speed and under any load."""

    def count(work: Callable[[], Any]) -> int:
        made = 0

        def one_more(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(one_more)
        try:
            work()
        finally:
            sys.setprofile(before)
        return made

    return count

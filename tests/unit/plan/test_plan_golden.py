# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests in ``golden``, and the plan and the cabling page that must come out of each.

Write the expected files anew with ``REGENERATE=1 .venv/bin/pytest tests/unit/plan/test_plan_golden.py``, and read the difference.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._cabling import cabling

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.name.removesuffix(".request.yml") for path in GOLDEN.glob("*.request.yml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_request_gives_the_expected_plan_and_page(name: str, regenerate: bool) -> None:
    plan = make_plan(yaml.safe_load((GOLDEN / f"{name}.request.yml").read_text()))
    page = cabling(plan)
    if regenerate:
        (GOLDEN / f"{name}.plan.json").write_text(json.dumps(plan, indent=1) + "\n")
        (GOLDEN / f"{name}.cabling.md").write_text(page)
    assert plan == json.loads((GOLDEN / f"{name}.plan.json").read_text())
    assert page == (GOLDEN / f"{name}.cabling.md").read_text()


def test_every_expected_file_belongs_to_a_request() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {f"{name}.{kind}" for name in NAMES for kind in ("request.yml", "plan.json", "cabling.md")}

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the plan's tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("plan", derandomize=True, deadline=None, max_examples=60, database=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def _profile() -> None:
    """Property tests are the same in every run."""
    settings.load_profile("plan")


@pytest.fixture
def regenerate() -> bool:
    """Whether golden files are to be written anew."""
    return bool(os.environ.get("REGENERATE"))

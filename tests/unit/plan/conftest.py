# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the plan's tests."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def regenerate() -> bool:
    """Whether golden files are to be written anew."""
    return bool(os.environ.get("REGENERATE"))

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the simulated switch importable as ``switch``."""

from __future__ import annotations

import sys
from pathlib import Path

LAB = str(Path(__file__).resolve().parents[2] / "lab")
if LAB not in sys.path:
    sys.path.insert(0, LAB)

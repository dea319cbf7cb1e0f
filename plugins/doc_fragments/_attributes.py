# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module says about check mode, diff and repetition."""

from __future__ import annotations


class ModuleDocFragment:
    """The attributes; modules override what differs."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and tell exactly what a real run would change, without touching anything.
  diff_mode:
    description: Returns what changes, or would change, as a diff.
  idempotent:
    description: A second run with the same options changes nothing.
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and tell exactly what a real run would change, without touching anything.
    support: full
    details: This module only reads.
  diff_mode:
    description: Returns what changes, or would change, as a diff.
    support: N/A
  idempotent:
    description: A second run with the same options changes nothing.
    support: full
"""

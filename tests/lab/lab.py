#!/usr/bin/env python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of simulated GB10 machines on this one. Needs root, podman and the tools of tests/lab/setup.sh."""

from __future__ import annotations

import sys

from gb10lab.cli import main

if __name__ == "__main__":
    sys.exit(main())

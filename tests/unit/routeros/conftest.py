# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the simulated switch importable as ``switch``, and runs modules against it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _session
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import Care

LAB = str(Path(__file__).resolve().parents[2] / "lab")
if LAB not in sys.path:
    sys.path.insert(0, LAB)


@pytest.fixture(autouse=True)
def no_waiting_for_silence(request, monkeypatch):
    """A console without a network has said everything when it has said something."""
    if request.module.__name__ != "test_switch_server":
        monkeypatch.setattr(_session, "_SILENCE", 0.02)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a module against a bench: ``run(module, bench, option=…)`` gives what it returns."""

    def run_module(module, bench, **options):
        """``bench`` may be None where nobody logs in."""
        warnings: list[str] = []
        monkeypatch.setattr(module, "connect", lambda access: bench.connect())
        if hasattr(module, "care_of"):
            monkeypatch.setattr(module, "care_of", lambda params: Care(safe_mode_wait=0.1, settle=0.2, unroll_wait=1, poll=0.01))
        monkeypatch.setattr(AnsibleModule, "warn", lambda self, warning: warnings.append(warning))
        with patch_module_args({"host": "sw", **options}), pytest.raises(SystemExit):
            module.main()
        return {**json.loads(capsys.readouterr().out), "warnings": warnings}

    return run_module

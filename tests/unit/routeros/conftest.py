# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs modules against the simulated switch."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gb10.cluster.plugins.module_utils._routeros import _session
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._argspec import Care
from simulated import drops
from switch.exporting import export


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
            monkeypatch.setattr(module, "care_of", lambda params: Care(safe_mode_wait=0.1, settle=0.2, unroll_wait=30, poll=0.01))
        monkeypatch.setattr(AnsibleModule, "warn", lambda self, warning: warnings.append(warning))
        with patch_module_args({"host": "sw", **options}), pytest.raises(SystemExit):
            module.main()
        return {**json.loads(capsys.readouterr().out), "warnings": warnings}

    return run_module


@pytest.fixture
def ends_in_between(run):
    """Make a change with the connection dropped at any line; gives those lines after which neither all of it is there, nor nothing of it and the
    module has failed."""

    def prove(module, before, after, **options):
        """``before``: the bench before the change; ``after``: whether the line at which the connection drops is still carried out."""
        whole, ends = before.twin(), {True: export(before.machine)}
        run(module, whole, **options)
        ends[False] = export(whole.machine)
        failed, wrong = set(), []
        for line in drops(whole.scenario.log, after):
            bench = before.twin()
            bench.scenario.drop_at, bench.scenario.drop_after = line, after
            result = run(module, bench, **options)
            failed.add(result.get("failed", False))
            if export(bench.machine) != ends[result.get("failed", False)]:
                wrong.append((line, whole.scenario.log[line - 1]))
        assert ends[True] != ends[False] and True in failed and (False in failed or not after)
        return wrong

    return prove

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module connectx_qos: which rails it takes, and what it hands back."""

from __future__ import annotations

import json

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gb10.cluster.plugins.module_utils._roce._host import QosError, Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._sysfs import discover
from ansible_collections.gb10.cluster.plugins.modules import connectx_qos

PORTS = {"p0": {"peer": {"switch": "crs812", "leg": "qsfp56-dd-1-1"}, "speed": "200G", "rails": []}}
FOUND = {"p0": {0: "enp1s0f0np0", 1: "enP2p1s0f0np0"}, "p1": {0: "enp1s0f1np1", 1: "enP2p1s0f1np1"}}


@pytest.fixture
def module(capsys, monkeypatch):
    """Runs the module on a machine with four rails; ``calls`` are the rails it would change."""
    calls = []

    def change(node, rails, level, traffic_class, check_mode):
        calls.append((rails, level, traffic_class, check_mode))
        return Result(True, {"persistent": False, "interfaces": {}}, {"persistent": True, "interfaces": {}}, {}, [])

    monkeypatch.setattr(connectx_qos, "discover", lambda machine, interfaces: (FOUND, []))
    monkeypatch.setattr(connectx_qos, "rdma_device", lambda machine, name: f"roce-{name}")
    monkeypatch.setattr(connectx_qos, "qos", change)

    def run(**arguments):
        with patch_module_args(arguments), pytest.raises(SystemExit):
            connectx_qos.main()
        return json.loads(capsys.readouterr().out)

    run.calls = calls
    return run


def test_both_rails_of_the_planned_ports_are_taken_and_no_other(module):
    result = module(ports=PORTS, level="ecn", _ansible_check_mode=True)
    assert module.calls == [({"enp1s0f0np0": "roce-enp1s0f0np0", "enP2p1s0f0np0": "roce-enP2p1s0f0np0"}, "ecn", 106, True)]
    assert result["changed"] and result["diff"] == {"before": result["before"], "after": result["after"]}


def test_none_needs_no_plan(module):
    module(level="none")
    assert module.calls == [({}, "none", 106, False)]


def test_a_port_without_rails_is_refused(module, monkeypatch):
    monkeypatch.setattr(connectx_qos, "discover", lambda machine, interfaces: ({"p0": {0: "enp1s0f0np0"}}, []))
    result = module(ports=PORTS, level="ecn")
    assert (result["failed"], result["msg"]) == (True, "p0 rail 1: interface - expected one, found none. Plug the cable in and reboot.")


@pytest.mark.parametrize("names", [None, "aerial00", ["aerial00"], 5])
def test_names_that_are_not_of_the_plan_are_refused_before_anything_is_looked_for(module, monkeypatch, names):
    monkeypatch.setattr(connectx_qos, "discover", discover)
    result = module(ports=PORTS, interfaces={"p0": names}, level="ecn")
    fix = "Write them as in the plan, p0: [aerial00, aerial02]."
    assert result["msg"] == f"interfaces.p0 - expected two device names, rail 0 first, found {names!r}. {fix}"


def test_a_failure_is_told_without_a_traceback(module, monkeypatch):
    def fail(*arguments):
        raise QosError("enp1s0f0np0: DCB - expected it, found none. Do without.")

    monkeypatch.setattr(connectx_qos, "qos", fail)
    assert module(ports=PORTS, level="lossless")["msg"] == "enp1s0f0np0: DCB - expected it, found none. Do without."


def test_every_documented_key_is_returned(module):
    result = module(ports=PORTS, level="ecn")
    assert set(yaml.safe_load(connectx_qos.RETURN)) == set(result) - {"changed", "diff", "invocation"}

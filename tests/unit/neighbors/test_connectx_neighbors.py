# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module hands over what it is told, and sends nothing in check mode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors
from ansible_collections.gb10.cluster.plugins.modules import connectx_neighbors

GIVEN = {"phase": "start", "run_id": "run-1", "node": "spark-1", "ports": {"p0": {"peer": {"node": "spark-2", "port": "p1"}}}}


def returned(capsys: pytest.CaptureFixture[str], **arguments: Any) -> dict[str, Any]:
    """Run the module and return what it prints."""
    with patch_module_args({**GIVEN, **arguments}), pytest.raises(SystemExit):
        connectx_neighbors.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the two phases were called with, on a machine that allows everything."""
    seen: list[Any] = []

    def start(request: Any, machine: Any) -> str:
        seen.append(request)
        return ""

    def collect(run_id: str, machine: Any) -> tuple[dict[str, Any], str]:
        seen.append(run_id)
        return {"hostname": "dgx", "machine_id": "1" * 32, "neighbors": [{"port": "p0"}]}, ""

    monkeypatch.setattr(_neighbors, "allowed", lambda: True)
    monkeypatch.setattr(_neighbors, "start", start)
    monkeypatch.setattr(_neighbors, "collect", collect)
    return seen


def test_the_first_phase_starts_a_worker_and_changes_nothing(capsys: pytest.CaptureFixture[str], calls: list[Any]) -> None:
    result = returned(capsys, bring_up=True)
    assert (result["changed"], result["neighbors"]) == (False, [])
    assert calls == [_neighbors.Request("run-1", "spark-1", GIVEN["ports"], {}, True, 20, 3, 300)]


def test_the_second_phase_tells_what_was_heard(capsys: pytest.CaptureFixture[str], calls: list[Any]) -> None:
    result = returned(capsys, phase="collect")
    assert calls == ["run-1"]
    assert (result["changed"], result["hostname"], result["machine_id"], result["neighbors"]) == (False, "dgx", "1" * 32, [{"port": "p0"}])


@pytest.mark.parametrize("phase", ["start", "collect"])
def test_check_mode_does_neither_and_says_why(capsys: pytest.CaptureFixture[str], calls: list[Any], phase: str) -> None:
    result = returned(capsys, phase=phase, _ansible_check_mode=True)
    assert (result["changed"], result["neighbors"], calls) == (False, [], [])
    assert result["reason"] == "check mode, no frames are sent and no interface is raised"


def test_everything_that_is_wrong_is_told_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_neighbors, "allowed", lambda: False)
    assert returned(capsys, run_id="a b", node="", interfaces={"p0": ["one"]})["msg"].splitlines() == [
        "run_id - expected letters, digits and dashes, at most 64, found 'a b'. Take a number that is new for each run.",
        "node - expected letters, digits, dots, dashes and underscores, at most 253, found ''. Rename the host in the inventory.",
        "interfaces.p0 - expected two device names, rail 0 first, found ['one']. Write them as in the plan, p0: [aerial00, aerial02].",
        "connectx_neighbors - expected root, because raw sockets need it, found another user. Set become: true.",
    ]


@pytest.mark.parametrize(
    ("planned", "found"), [(None, None), ("p1", "'p1'"), ({}, None), ({"peer": "spark-2"}, "'spark-2'"), ({"peer": {"node": "b"}}, "{'node': 'b'}")]
)
def test_ports_that_are_not_of_the_plan_are_refused(capsys: pytest.CaptureFixture[str], calls: list[Any], planned: Any, found: Any) -> None:
    fix = "Give the ports of fabric_plan.nodes[inventory_hostname] as they are."
    assert returned(capsys, ports={"p0": planned})["msg"] == f"p0: peer - expected node and port, or switch and leg, found {found}. {fix}"
    assert calls == []


@pytest.mark.parametrize("phase", ["start", "collect"])
def test_a_complaint_is_the_message(capsys: pytest.CaptureFixture[str], calls: list[Any], monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    monkeypatch.setattr(_neighbors, "start", lambda request, machine: "no")
    monkeypatch.setattr(_neighbors, "collect", lambda run_id, machine: ({}, "no"))
    result = returned(capsys, phase=phase)
    assert (result["failed"], result["msg"]) == (True, "no")

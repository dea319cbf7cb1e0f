# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wiring of the module."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gb10.cluster.plugins.modules import connectx_link
from link_facts import connectx, slice_of
from link_machine import FakeMachine


def call(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], facts: Any = None, **arguments: Any
) -> tuple[int, Any]:
    """Run the module on a machine in memory: exit status and result."""
    monkeypatch.setattr(connectx_link, "Machine", lambda: machine)
    monkeypatch.setattr(connectx_link, "collect", lambda _interfaces: facts or connectx())
    with patch_module_args(arguments), pytest.raises(SystemExit) as ended:
        connectx_link.main()
    return int(ended.value.code or 0), json.loads(capsys.readouterr().out)


def test_change_is_made_confirmed_and_then_right(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machine = FakeMachine()
    rc, first = call(machine, monkeypatch, capsys, ports=slice_of("p0"))
    assert (rc, first["changed"], first["rollback"]["state"], first["backend"]) == (0, True, "armed", "netplan-networkd")
    rc, second = call(machine, monkeypatch, capsys, state="confirmed", run_id=first["rollback"]["id"])
    assert (rc, second["ports"], second["rollback"]) == (0, first["ports"], {"id": first["rollback"]["id"], "state": "confirmed"})
    rc, third = call(machine, monkeypatch, capsys, ports=slice_of("p0"))
    assert (rc, third["changed"], third["rollback"]) == (0, False, {"id": None, "state": "none"})


def test_check_mode_touches_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machine = FakeMachine()
    rc, result = call(machine, monkeypatch, capsys, ports=slice_of("p0"), _ansible_check_mode=True)
    assert (rc, result["changed"], machine.steps) == (0, True, [])
    assert [rail["state"] for rail in result["ports"]["p0"]["rails"]] == ["planned", "planned"]


def test_refusals_come_as_text_and_as_list(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rc, result = call(FakeMachine(), monkeypatch, capsys, connectx(backend=None), ports={}, confirm_timeout=1)
    assert (rc, len(result["refusals"]), result["msg"]) == (1, 3, "\n".join(result["refusals"]))


def test_failure_says_what_became_of_the_rollback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machine = FakeMachine()
    machine._apply = lambda _name, _settings: None  # type: ignore[method-assign]
    rc, result = call(machine, monkeypatch, capsys, ports=slice_of("p0"), run_id="me")
    assert (rc, result["rollback"]) == (1, {"id": "me", "state": "restored", "problems": []})


def test_warnings_are_warnings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machine = FakeMachine()
    machine.loadable = set()
    facts, warnings = connectx(change=lambda found: found["platform"].update(modules={})), []
    monkeypatch.setattr(connectx_link.AnsibleModule, "warn", lambda _module, text: warnings.append(text))
    call(machine, monkeypatch, capsys, facts, ports=slice_of("p0"))
    assert [text.split(" - ")[0] for text in warnings] == ["kernel module ib_uverbs", "kernel module rdma_ucm"]

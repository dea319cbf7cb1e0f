# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module hands the slice to the pings and never changes anything."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gb10.cluster.plugins.module_utils import _ping
from ansible_collections.gb10.cluster.plugins.modules import connectx_ping

PORTS = {"p0": {"peer": {"node": "b", "port": "p0"}, "speed": "200G", "rails": [{"rail": 0, "address": "10.77.0.1", "prefix": 24, "subnet": 0}]}}
PEERS = [{"peer": "b", "subnet": 0, "address": "10.77.0.2"}]


def returned(capsys: pytest.CaptureFixture[str], rc: int = 0, **arguments: Any) -> dict[str, Any]:
    """Run the module and return what it prints."""
    with patch_module_args({"ports": PORTS, "mtu": 9000, "peers": PEERS, **arguments}), pytest.raises(SystemExit) as end:
        connectx_ping.main()
    assert end.value.code == rc
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_all_paths_are_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectx_ping, "discover", lambda machine, interfaces: ({"p0": {0: interfaces["p0"][0]}}, []))
    monkeypatch.setattr(_ping, "measure", lambda planned, run: time.sleep(0.05) or planned)
    began = time.monotonic()
    result = returned(capsys, interfaces={"p0": ["aerial00", "aerial02"]})
    elapsed = time.monotonic() - began
    assert result["changed"] is False
    assert [(path["interface"], path["target"], path["mtu"]) for path in result["paths"]] == [("aerial00", "10.77.0.2", 9000)]
    assert 0.05 <= result["seconds"] <= elapsed + 0.05


def test_the_facts_come_along_when_asked_for(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectx_ping, "collect", lambda interfaces: {"asked": interfaces})
    monkeypatch.setattr(_ping, "measure", lambda planned, run: planned)
    names = {"p0": ["aerial00", "aerial02"]}
    assert "connectx" not in returned(capsys, interfaces=names)
    assert returned(capsys, interfaces=names, facts=True)["connectx"] == {"asked": names}
    assert returned(capsys, interfaces=names, facts=True, _ansible_check_mode=True)["connectx"] == {"asked": names}


def test_check_mode_sends_nothing_and_says_why(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ping, "measure", lambda planned, run: pytest.fail("a ping in check mode"))
    result = returned(capsys, _ansible_check_mode=True)
    assert (result["changed"], result["paths"], result["reason"]) == (False, [], "check mode, the links of the plan may not exist yet")


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize(
    "given, text",
    [
        ({"interfaces": {"p0": "aerial00"}}, "interfaces.p0 - expected two device names, rail 0 first, found 'aerial00'. Write them as in the plan, "),
        ({"peers": [{"peer": "b", "subnet": 0, "address": "-f"}]}, "peer b - expected an IPv4 address, found '-f'. Give what the filter gb10.cluster.f"),
        ({"peers": [{"peer": "b", "subnet": 0, "address": "b.lan"}]}, "peer b - expected an IPv4 address, found 'b.lan'. Give what the filter "),
        ({"interfaces": {"p0": None}}, "interfaces.p0 - expected two device names, rail 0 first, found None. "),
        ({"ports": {"p0": None}}, "p0: rails - expected a list of rails with rail, address, prefix and subnet each, found None. "),
        ({"ports": {"p0": {"rails": [{"rail": 0}]}}}, "p0: rails - expected a list of rails with rail, address, prefix and subnet each, found [{"),
        ({"ports": {"p0": {"rails": ["rail 0"]}}}, "p0: rails - expected a list of rails with rail, address, prefix and subnet each, found ['rail 0']. "),
    ],
)
def test_what_is_not_of_the_plan_is_refused(capsys: pytest.CaptureFixture[str], check_mode: bool, given: dict[str, Any], text: str) -> None:
    result = returned(capsys, rc=1, _ansible_check_mode=check_mode, **given)
    assert result["msg"].startswith(text)

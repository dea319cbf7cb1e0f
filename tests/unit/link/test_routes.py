# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of a rail: which come back, and what is said about those that do not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils import _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._link import _routes, _run
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Result
from link_facts import connectx, options
from link_machine import FakeMachine

RAIL, TWIN = "enp1s0f0np0", "enP2p1s0f0np0"
HOPS = f"nexthop dev {RAIL} via 10.1.1.2 weight 1 nexthop dev {TWIN} via 10.1.2.2 weight 3"
EXPECTED = {
    "-4": {
        RAIL: (
            [
                f"10.6.0.0/16 dev {RAIL} scope link table 100",
                f"default dev {RAIL} via 10.1.1.9",
                f"10.3.0.0/16 via inet6 fd00::9 dev {RAIL}",
                f"10.5.0.0/16 dev {RAIL} via 10.55.0.1 onlink",
                f"10.7.0.0/16 dev {RAIL} via 10.1.1.3 src 10.1.1.1 proto static metric 50",
                f"10.8.0.0/16 {HOPS}",
                f"10.9.0.0/16 dev {RAIL} via 10.1.1.2",
            ],
            ["10.2.0.0/16 with metrics"],
        ),
        TWIN: ([f"10.8.0.0/16 {HOPS}"], []),
    },
    "-6": {
        RAIL: (
            [
                f"fd01::/64 dev {RAIL} via fd00::2 metric 1024 pref medium",
                f"fd02::/64 dev {RAIL} metric 5 pref medium",
                f"fd03::/64 metric 1024 pref medium nexthop dev {RAIL} via fd00::3 weight 1 nexthop dev {RAIL} via fd00::4 weight 1",
            ],
            [],
        ),
    },
}


@pytest.mark.parametrize("family", EXPECTED)
def test_routes_of_others_become_the_commands_that_add_them_again(fixtures: Path, family: str) -> None:
    found = _routes.by_interface((fixtures / f"link/ip-route{family}-all-tables.json").read_text(), family)
    said = {name: ([" ".join(command) for command in routes.commands], routes.lost) for name, routes in found.items()}
    begin = f"ip {family} route replace "
    assert said == {name: ([begin + text for text in commands], lost) for name, (commands, lost) in EXPECTED[family].items()}


OTHERS = ['[{"dst": "10.0.0.0/8", "dev": "a", "protocol": "dhcp"}]', '[{"type": "blackhole", "dst": "10.4.0.0/16"}]']


@pytest.mark.parametrize("text", ["", "no JSON", "{}", "[{}, 5]", *OTHERS])
def test_what_is_nobodys_route_on_an_interface_is_left_out(text: str) -> None:
    assert _routes.by_interface(text, "-4") == {}


def machine_with(**route: Any) -> FakeMachine:
    """A node with a route on its first rail."""
    machine = FakeMachine()
    machine.routes = json.dumps([{"dst": "10.9.0.0/16", "dev": RAIL, "flags": [], **route}])
    return machine


@pytest.mark.parametrize("check_mode", [False, True])
def test_route_that_can_not_be_put_back_is_told_before_it_is_lost(check_mode: bool) -> None:
    machine = machine_with(metrics=[{"mtu": 1400}])
    fix = "Add it by hand when the state of before comes back."
    warning = f"{RAIL}: route - expected one that can be put back, found 10.9.0.0/16 with metrics. {fix}"
    assert _run.run(machine, options(), check_mode, lambda _interfaces: connectx())["warnings"] == [warning]
    if not check_mode:
        machine.routes = "[]"
        _run.run(machine, options("confirmed"), False, lambda _interfaces: connectx())
        assert _run.run(machine, options(), False, lambda _interfaces: connectx())["warnings"] == []
        assert _run.run(machine, options("absent"), False, lambda _interfaces: connectx())["warnings"] == [warning]


class Deaf(FakeMachine):
    """A node on which no route can be added the first ``refusals`` times."""

    refusals = 0

    def run(self, argv: Sequence[str], timeout: float = 30.0) -> Result:
        if list(argv[2:4]) == ["route", "replace"]:
            self.refusals -= 1
            return Result(2, "", "Error: Nexthop has invalid gateway.") if self.refusals >= 0 else Result(0, "", "")
        return super().run(argv, timeout)


@pytest.mark.parametrize(
    ("refusals", "problems"),
    [(0, []), (1, []), (2, [f"ip -4 route replace 10.9.0.0/16 dev {RAIL} via 10.1.1.2: Error: Nexthop has invalid gateway"])],
)
def test_route_that_did_not_come_back_is_a_problem_of_the_rollback(refusals: int, problems: list[str]) -> None:
    machine = Deaf()
    machine.routes = json.dumps([{"dst": "10.9.0.0/16", "dev": RAIL, "gateway": "10.1.1.2", "flags": []}])
    _run.run(machine, options(), False, lambda _interfaces: connectx())
    machine.refusals = refusals
    outcome = _rollback.fire(machine, "/var/lib/gb10/rollback")
    assert outcome is not None and outcome["problems"] == problems


def test_route_that_did_not_come_back_does_not_keep_absent_from_removing_ours() -> None:
    machine = Deaf()
    machine.routes = json.dumps([{"dst": "10.9.0.0/16", "dev": RAIL, "gateway": "10.1.1.2", "flags": []}])
    for state in ("present", "confirmed"):
        _run.run(machine, options(state), False, lambda _interfaces: connectx())
    machine.refusals = 9
    result = _run.run(machine, options("absent"), False, lambda _interfaces: connectx())
    text = f"ip -4 route replace 10.9.0.0/16 dev {RAIL} via 10.1.1.2: Error: Nexthop has invalid gateway"
    assert result["warnings"] == [f"route of before - expected to be there again, found {text}. Add it by hand if it is still wanted."]
    assert result["rollback"]["state"] == "armed"

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a port was before us, in its comment."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._notes import back, forget, former, noted, remember, set_rows
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import MAX_LINE

REMEMBERED: dict[str, tuple[str | None, dict[str, Any], str]] = {
    "no comment": (None, {"l2mtu": 1584}, "(gb10.cluster: was l2mtu=1584)"),
    "a comment of the owner, with brackets": ("rack 3 (left)", {"hw": "true"}, "rack 3 (left) (gb10.cluster: was hw=yes)"),
    "unset, and a flag": ("", {"speed": None, "auto-negotiation": True}, "(gb10.cluster: was auto-negotiation=yes speed=unset)"),
    "a comment that ends in a blank": ("rack 3 ", {"l2mtu": 1584}, "rack 3  (gb10.cluster: was l2mtu=1584)"),
    "an older note stays": ("a (gb10.cluster: was l2mtu=1584)", {"l2mtu": 9216, "disabled": "yes"}, "a (gb10.cluster: was disabled=yes l2mtu=1584)"),
}


@pytest.mark.parametrize(("comment", "before", "expected"), REMEMBERED.values(), ids=REMEMBERED)
def test_what_was_is_noted_behind_what_the_owner_wrote(comment: str | None, before: dict[str, Any], expected: str) -> None:
    row = {"comment": comment} if comment is not None else {}
    assert remember(row, before) == expected
    assert remember({"comment": expected}, before) == expected
    assert forget({"comment": expected}, tuple(noted({"comment": expected}))) == (comment or "").partition(" (gb10")[0]


def test_what_is_brought_back_has_the_type_of_a_value() -> None:
    row = {"comment": "x (gb10.cluster: was auto-negotiation=yes hw=no l2mtu=1584 path-cost=unset speed=unset)", "path-cost": 10, "hw": False}
    assert former(row, ("auto-negotiation", "hw", "speed")) == {"auto-negotiation": True, "hw": False}
    assert back(row, ("path-cost", "speed")) == {"path-cost": None, "comment": "x (gb10.cluster: was auto-negotiation=yes hw=no l2mtu=1584)"}
    assert back(row, ("hw",)) == {"comment": "x (gb10.cluster: was auto-negotiation=yes l2mtu=1584 path-cost=unset speed=unset)"}
    assert back(row, ("pvid",)) == {}


AROUND: dict[str, tuple[str, str, str]] = {
    "behind it": ("to spark-1 (gb10.cluster: was l2mtu=1584) moved to rack 4",
                  "to spark-1 (gb10.cluster: was hw=no l2mtu=1584) moved to rack 4", "to spark-1 moved to rack 4"),
    "behind it alone": ("(gb10.cluster: was l2mtu=1584) moved", "(gb10.cluster: was hw=no l2mtu=1584) moved", "moved"),
    "in brackets": ("a (gb10.cluster: was l2mtu=1584) (left)", "a (gb10.cluster: was hw=no l2mtu=1584) (left)", "a (left)"),
    "between two notes": ("a (gb10.cluster: was l2mtu=1584) b (gb10.cluster: was l2mtu=9216)",
                          "a (gb10.cluster: was hw=no l2mtu=1584) b", "a b"),
}


@pytest.mark.parametrize(("comment", "more", "without"), AROUND.values(), ids=AROUND)
def test_what_the_owner_writes_around_a_note_stays_and_the_note_counts(comment: str, more: str, without: str) -> None:
    row = {"comment": comment}
    assert noted(row) == {"l2mtu": "1584"}
    assert remember(row, {"l2mtu": 9216, "hw": False}) == more
    assert forget(row, ("l2mtu",)) == forget({"comment": more}, ("hw", "l2mtu")) == without


@pytest.mark.parametrize("comment", [None, "", "gb10.cluster", "gb10.cluster: was l2mtu=1", "(was l2mtu=1)"])
def test_a_comment_without_a_note_says_nothing(comment: str | None) -> None:
    assert noted({"comment": comment}) == {}


def test_equal_changes_share_a_command() -> None:
    rows = [{".id": f"*{number}", "name": f"port{number}"} for number in range(4)]
    values = ({"l2mtu": 1}, {"l2mtu": 2}, {}, {"l2mtu": 1})
    assert [command.text for command in set_rows("/interface/ethernet", list(zip(rows, values, strict=True)))] == [
        "/interface/ethernet set *0,*3 l2mtu=1", "/interface/ethernet set port1 l2mtu=2"]


def test_a_command_is_never_too_long_to_be_typed() -> None:
    rows = [{".id": f"*{number:X}", "name": f"qsfp28-{number}"} for number in range(200, 264)]
    note = remember({"comment": "defconf"}, {"auto-negotiation": True, "disabled": False, "fec-mode": "fec91", "l2mtu": 10218, "speed": None})
    commands = set_rows("/interface/ethernet", [(row, {"auto-negotiation": False, "speed": "100G-baseSR4-LR4", "comment": note}) for row in rows])
    assert [len(command.targets) for command in commands] == [32, 32] and all(len(command.text) <= MAX_LINE for command in commands)
    assert len(set_rows("/interface/ethernet", [(row, {"l2mtu": 9216}) for row in rows], most=64)[0].text) <= MAX_LINE

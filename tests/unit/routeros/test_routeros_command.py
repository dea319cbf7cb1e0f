# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands as data and as text."""

from __future__ import annotations

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._command import Command, Group, address, quote


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("qsfp56-dd-1-1", "qsfp56-dd-1-1"),
        ("200.0Gbps", "200.0Gbps"),
        ("", '""'),
        ("two words", '"two words"'),
        ("10.0.0.1/24", '"10.0.0.1/24"'),
        ('say "yes"', '"say \\"yes\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("$HOME", '"\\$HOME"'),
        ("a;b", '"a;b"'),
        ("line\nbreak\ttab", '"line\\nbreak\\ttab"'),
        ('\\"$', '"\\\\\\"\\$"'),
    ],
)
def test_a_string_is_quoted_unless_it_is_plain(text, written):
    assert quote(text) == written


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (Command("/interface/ethernet", "set", ("qsfp56-dd-1-1",), {"auto-negotiation": False, "speed": "200G-baseCR4"}),
         "/interface/ethernet set qsfp56-dd-1-1 auto-negotiation=no speed=200G-baseCR4"),
        (Command("/interface/ethernet", "set", ("*A", "*1B"), {"l2mtu": 9216}), "/interface/ethernet set *A,*1B l2mtu=9216"),
        (Command("/interface/bridge/port", "add", (), {"bridge": "my bridge", "interface": "qsfp28-1-1"}),
         '/interface/bridge/port add bridge="my bridge" interface=qsfp28-1-1'),
        (Command("/interface/ethernet/switch/qos/port", "set", ("qsfp28-1-1",), {"egress-rate-queue3": None}),
         "/interface/ethernet/switch/qos/port set qsfp28-1-1 !egress-rate-queue3"),
        (Command("/interface/bridge/vlan", "add", (), {"untagged": ["a-1", "a-2"], "vlan-ids": "1"}),
         "/interface/bridge/vlan add untagged=a-1,a-2 vlan-ids=1"),
        (Command("/interface/bridge/vlan", "set", ("*1",), {"comment": ""}), '/interface/bridge/vlan set *1 comment=""'),
        (Command("/interface/ethernet/switch/qos/profile", "remove", ("gb10-roce",)), "/interface/ethernet/switch/qos/profile remove gb10-roce"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_command_is_written_as_it_is_typed(command, text):
    assert command.text == text


@pytest.mark.parametrize(
    ("row", "target"),
    [
        ({".id": "*A", "name": "qsfp56-dd-1-1"}, "qsfp56-dd-1-1"),
        ({".id": "*A", "name": "5"}, "*A"),
        ({".id": "*A", "name": "*B"}, "*A"),
        ({".id": "*A", "name": "a,b"}, "*A"),
        ({".id": "*A", "name": 7}, "*A"),
        ({".id": "*A"}, "*A"),
    ],
)
def test_a_row_is_addressed_by_name_only_where_that_is_unmistakable(row, target):
    assert address(row) == target


def test_a_group_counts_every_row_it_touches():
    group = Group("l2mtu", (Command("/interface/ethernet", "set", ("*1", "*2", "*3"), {"l2mtu": 9216}),
                            Command("/interface/bridge/port", "add", (), {"interface": "x"})))
    assert group.actions == 4

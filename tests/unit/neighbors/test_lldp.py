# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What networkd and NetworkManager already know of LLDP neighbours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils import _neighbors_lldp as lldp
from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._machine import Machine

CRS812 = {"system": "crs812", "port": "qsfp56-dd-1-1", "forwards": True}


def output(fixtures: Path, name: str) -> str:
    """A command's output."""
    return (fixtures / "neighbors" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("parse", "name", "expected"),
    [
        (lldp.networkctl, "networkctl-lldp-systemd257.json", {"enp1s0f0np0": [CRS812]}),
        (lldp.networkctl, "networkctl-lldp-systemd257.txt", {"enp1s0f0np0": [CRS812]}),
        (
            lldp.networkctl,
            "networkctl-lldp-systemd255-derived.txt",
            {
                "enP2p1s0f1np1": [{**CRS812, "port": "qsfp56-dd-1-5"}],
                "enp1s0f0np0": [{"system": "48:a9:8a:01:02:04", "port": "eth 0", "forwards": False}],
            },
        ),
        (lldp.nmcli, "nmcli-device-lldp-1.52.txt", {"enp1s0f0np0": [CRS812]}),
    ],
)
def test_a_switch_is_known_by_its_name_and_port(parse: Any, name: str, expected: dict[str, Any], fixtures: Path) -> None:
    assert parse(output(fixtures, name)) == expected


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (lldp.networkctl, ""),
        (lldp.networkctl, '{"Neighbors":[]}'),
        (lldp.networkctl, "[]"),
        (lldp.networkctl, "LINK CHASSIS-ID SYSTEM-NAME CAPS PORT-ID PORT-DESCRIPTION\n\n0 neighbor(s) listed.\n"),
        (lldp.networkctl, "Failed to connect to network service"),
        (lldp.nmcli, ""),
        (lldp.nmcli, "Error: NetworkManager is not running.\n"),
    ],
)
def test_where_there_is_none_there_is_none(parse: Any, text: str) -> None:
    assert parse(text) == {}


@pytest.mark.parametrize(("bits", "forwards"), [("4 (mac-bridge)", True), ("16 (router)", True), ("128 (station-only)", False), ("", False)])
def test_bridges_and_routers_forward(bits: str, forwards: bool) -> None:
    assert lldp.nmcli(f"a:x:1:sw:{bits}\n")["a"][0]["forwards"] is forwards


def test_a_name_with_odd_characters_is_made_fit_to_be_shown() -> None:
    text = json.dumps({"Neighbors": [{"InterfaceName": "a", "Neighbors": [{"SystemName": "\x1b[31mred" + "x" * 99, "PortID": "a\nb"}]}]})
    assert lldp.networkctl(text) == {"a": [{"system": "?[31mred" + "x" * 56, "port": "a?b", "forwards": False}]}


def test_what_both_know_is_told_once(fixtures: Path) -> None:
    nmcli = output(fixtures, "nmcli-device-lldp-1.52.txt") + "b:x:2:y:128 (station-only)\n"
    answers = {"networkctl": output(fixtures, "networkctl-lldp-systemd257.json"), "nmcli": nmcli}
    machine = Machine(runner=lambda argv, timeout: Result(tuple(argv), 0, answers[argv[0]]))
    assert lldp.read(machine) == {"enp1s0f0np0": [CRS812], "b": [{"system": "y", "port": "2", "forwards": False}]}


def test_a_machine_without_either_knows_nobody() -> None:
    assert lldp.read(Machine(runner=lambda argv, timeout: Result(tuple(argv), None, "", missing=True))) == {}

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live state: what is read, what of it is wrong, what is left to do, and what an interface goes back to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link import _backends, _desired, _live, _record
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from link_facts import connectx, slice_of
from link_machine import FakeMachine

RAIL = Rail("p0", 0, "enp1s0f0np0", "10.77.0.1", 24, 9000, False, "networkd")
LOCAL = Rail("p0", 0, "enp1s0f0np0", "10.77.0.1", 24, 9000, True, "networkd")


def state(**changes: Any) -> _live.State:
    """A right rail."""
    sysctl = {"net/ipv4/conf/enp1s0f0np0/arp_ignore": "1", "net/ipv4/conf/enp1s0f0np0/arp_announce": "2"}
    found: dict[str, Any] = {
        "up": True, "carrier": True, "mtu": 9000, "addresses": ["10.77.0.1/24"], "dynamic": [], "routes": [], "lost_routes": [], "sysctl": sysctl,
        "owner": "networkd", "connection": None, "profile": None, "networkmanager": True, **changes,
    }  # fmt: skip
    result: _live.State = found  # type: ignore[assignment]
    return result


@pytest.mark.parametrize(
    ("rail", "changes", "wrong"),
    [
        (RAIL, {}, {}),
        (RAIL, {"up": False}, {"up": (False, True)}),
        (RAIL, {"mtu": 1500}, {"mtu": (1500, 9000)}),
        (RAIL, {"addresses": []}, {"ipv4": ([], ["10.77.0.1/24"])}),
        (RAIL, {"addresses": [], "carrier": False}, {}),
        (RAIL, {"addresses": ["10.9.9.9/24"], "carrier": False}, {"ipv4": (["10.9.9.9/24"], ["10.77.0.1/24"])}),
        (RAIL, {"addresses": ["10.77.0.1/16"]}, {"ipv4": (["10.77.0.1/16"], ["10.77.0.1/24"])}),
        (RAIL, {"addresses": ["10.77.0.1/24", "169.254.1.1/16"]}, {"ipv4": (["10.77.0.1/24", "169.254.1.1/16"], ["10.77.0.1/24"])}),
        (RAIL, {"dynamic": ["192.168.1.9/24"]}, {"ipv4": (["10.77.0.1/24", "192.168.1.9/24"], ["10.77.0.1/24"])}),
        (RAIL, {"addresses": ["10.77.0.1/24", "fe80::1/64"]}, {"ipv6": (["fe80::1/64"], [])}),
        (LOCAL, {"addresses": ["10.77.0.1/24", "fe80::1/64"]}, {}),
        (LOCAL, {}, {"ipv6": ([], ["link-local"])}),
        (LOCAL, {"carrier": False}, {}),
        (LOCAL, {"addresses": ["10.77.0.1/24", "fd00::1/64", "fe80::1/64"]}, {"ipv6": (["fd00::1/64", "fe80::1/64"], ["link-local"])}),
        (RAIL, {"owner": "NetworkManager", "profile": "Wired connection 1"}, {"owner": ("NetworkManager: Wired connection 1", "networkd")}),
        (RAIL, {"owner": None}, {"owner": ("nobody", "networkd")}),
        (RAIL, {"sysctl": {}}, {"arp_ignore": (None, "1"), "arp_announce": (None, "2")}),
    ],
)
def test_what_is_wrong_with_a_rail(rail: Rail, changes: dict[str, Any], wrong: dict[str, Any]) -> None:
    assert _live.differences(rail, state(**changes)) == wrong


def test_goal_has_the_keys_of_a_description_and_a_lease_is_in_neither() -> None:
    assert _live.describe(state(dynamic=["192.168.1.9/24"])) == _live.goal(RAIL)
    assert _live.describe(None) == {}


def test_devices_of_networkmanager_are_read_with_their_profiles(fixtures: Path) -> None:
    found = _live.parse_devices((fixtures / "link/nmcli-device-status.txt").read_text())
    assert found["enp1s0f0np0"] == ("connected", "068af5dd-349f-545c-ba31-d6288a6ed1b3", "netplan-enp1s0f0np0")
    assert found["enp1s0f1np1"] == ("disconnected", None, None)
    assert _live.parse_devices(r"eth0:connected:u:a\:b \\ c") == {"eth0": ("connected", "u", "a:b \\ c")}


def test_capture_tells_who_owns_an_interface_and_which_is_not_there() -> None:
    machine = FakeMachine("netplan-networkmanager")
    machine.links["enp1s0f0np0"].update(up=True, mtu=4000, addresses=["10.1.1.1/24"])
    found = _live.capture(machine, ["enp1s0f0np0", "enP7s7", "gone0"])
    first, management = found["enp1s0f0np0"], found["enP7s7"]
    assert found["gone0"] is None
    assert first and (first["owner"], first["profile"], first["mtu"], first["addresses"]) == ("NetworkManager", None, 4000, ["10.1.1.1/24"])
    assert management and (management["owner"], management["profile"]) == ("NetworkManager", "netplan-enP7s7")


@pytest.mark.parametrize(
    ("backend", "held", "commands"),
    [
        ("netplan-networkd", state(), ["networkctl reload", "networkctl reconfigure enp1s0f0np0"]),
        (
            "netplan-networkd", state(owner="NetworkManager", profile="Wired connection 1"),
            ["nmcli device set enp1s0f0np0 managed no", "networkctl reload", "networkctl reconfigure enp1s0f0np0"],
        ),
        (
            "netplan-networkmanager", state(owner="NetworkManager", profile="netplan-enp1s0f0np0"),
            ["nmcli connection reload", "nmcli device reapply enp1s0f0np0"],
        ),
        (
            "netplan-networkmanager", state(owner="NetworkManager", profile="Wired connection 1"),
            ["nmcli connection reload", "nmcli --wait 20 connection up id netplan-enp1s0f0np0 ifname enp1s0f0np0"],
        ),
        (
            "networkmanager", state(),
            ["networkctl reload", "nmcli connection reload", "nmcli device set enp1s0f0np0 managed yes",
             "nmcli --wait 20 connection up id gb10-enp1s0f0np0 ifname enp1s0f0np0"],
        ),
    ],
)  # fmt: skip
def test_commands_touch_our_interface_alone(backend: str, held: _live.State, commands: list[str]) -> None:
    steps = _backends.activate(backend, None, ["enp1s0f0np0"], {"enp1s0f0np0": held}, {"enp1s0f0np0"} if held["owner"] == "networkd" else set())
    assert [" ".join(step[0]) for step in steps] == commands


def test_rendering_is_renewed_before_the_daemons_are_asked() -> None:
    steps = _backends.activate("netplan-networkd", "/usr/libexec/netplan/generate", ["a"], {"a": state(), "b": None, "c": state()}, {"a"})
    assert [" ".join(step[0]) for step in steps] == [
        "/usr/libexec/netplan/generate",
        "udevadm control --reload",
        "udevadm trigger --settle --action=change /sys/class/net/a /sys/class/net/c",
        "networkctl reload",
        "networkctl reconfigure a",
    ]


@pytest.mark.parametrize("owner", ["networkd", "NetworkManager"], ids=["alone", "beside NetworkManager"])
def test_networkd_forgets_what_is_released_whoever_has_the_backend_now(owner: str) -> None:
    steps = _backends.activate("netplan-networkmanager", None, [], {"a": state(owner=owner)}, {"a", "enP7s7"})
    assert [" ".join(step[0]) for step in steps] == ["networkctl reload", "nmcli connection reload"]
    untouched = _backends.activate("netplan-networkmanager", None, [], {"a": state(owner=owner)}, {"enP7s7"})
    assert [" ".join(step[0]) for step in untouched] == ["nmcli connection reload"]


def test_boot_runs_only_what_makes_sense_before_the_daemons() -> None:
    commands = _backends.restore("netplan-networkd", "/usr/libexec/netplan/generate", {"a": state()})
    assert [" ".join(one["argv"]) for one in commands if one["boot"]] == ["/usr/libexec/netplan/generate", "udevadm control --reload"]
    reload = {"argv": ["nmcli", "connection", "reload"], "boot": False}
    assert _backends.restore("networkmanager", "x", {"a": state(owner="NetworkManager")}) == [reload]


BLANK = {"mtu": 1500, "addresses": [], "dynamic": [], "routes": [], "lost_routes": [], "connection": None, "profile": None}


@pytest.mark.parametrize(
    ("record", "ours", "expected"),
    [
        ({"interfaces": {"a": state(mtu=4000)}}, ["a"], state(mtu=4000)),
        ({"interfaces": {"a": None}}, ["a"], None),
        ({"interfaces": {}}, [], state()),
        ({"interfaces": {}}, ["a"], state(**BLANK, sysctl=dict.fromkeys(state()["sysctl"], "0"))),
    ],
    ids=["as recorded", "was not there", "never ours", "ours, but the record was lost"],
)
def test_what_an_interface_goes_back_to(record: dict[str, Any], ours: list[str], expected: Any) -> None:
    assert _record.before(record, "a", state(), ours) == expected


@pytest.mark.parametrize(
    ("backend", "paths"),
    [
        ("netplan-networkd", {_names.NETPLAN_FILE: 0o600}),
        ("netplan-networkmanager", {_names.NETPLAN_FILE: 0o600}),
        (
            "networkmanager",
            {f"/etc/NetworkManager/system-connections/gb10-{name}.nmconnection": 0o600 for name in ("enp1s0f0np0", "enP2p1s0f0np0")},
        ),
    ],
)
def test_files_of_ours(backend: str, paths: dict[str, int]) -> None:
    rails, refusals = _desired.planned_rails(slice_of("p0"), 9000, False, connectx(backend))  # type: ignore[arg-type]
    files = _desired.files(rails, backend)
    always = dict.fromkeys((_names.SYSCTL_FILE, _names.LIMITS_FILE, _names.MODULES_FILE), 0o644)
    assert refusals == []
    assert {path: mode for path, (_text, mode) in files.items()} == {**always, **paths}
    assert all(text.startswith("# gb10.cluster") for text, _mode in files.values())


def test_devices_that_their_owner_renamed_are_taken_from_the_facts() -> None:
    def renamed(facts: Any) -> None:
        for number, name in enumerate(("aerial00", "aerial02")):
            facts["ports"]["p0"]["rails"][number]["interface"] = name

    rails, _refusals = _desired.planned_rails(slice_of("p0"), 9000, False, connectx(change=renamed))  # type: ignore[arg-type]
    assert [(rail.interface, rail.cidr) for rail in rails] == [("aerial00", "10.77.0.1/24"), ("aerial02", "10.77.1.1/24")]

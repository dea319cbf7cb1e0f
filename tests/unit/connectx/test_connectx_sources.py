# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the configuration of netplan, networkd and NetworkManager off a machine."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _sources
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._claims import Definition, Profile, Unit

OK, NO, HUNG = Result(("x",), 0), Result(("x",), 1, "", "not running"), Result(("x",), None, timed_out=True)
WIRED = "/run/NetworkManager/system-connections/Wired connection 2.nmconnection"
RENDERED = "/run/NetworkManager/system-connections/netplan-enP2p1s0f0np0.nmconnection"


@pytest.fixture
def nmcli(node: Any) -> Result:
    """NetworkManager runs one connection of netplan and one of its own."""
    node.file(WIRED, node.sample("nm-wired-connection-2.nmconnection"))
    node.file(RENDERED, node.sample("nm-netplan-enp2p1s0f0np0.nmconnection"))
    node.file("/run/NetworkManager/system-connections/lo.nmconnection", node.sample("nm-lo.nmconnection"))
    return Result(_sources.NMCLI, 0, node.sample("nmcli-connection-show.txt"))


def test_a_file_hides_its_namesake(node: Any) -> None:
    for path in ("/lib/netplan/50-a.yaml", "/etc/netplan/50-a.yaml", "/etc/netplan/10-b.yaml", "/run/netplan/20-c.yaml", "/etc/netplan/note.txt"):
        node.file(path, "network: {}")
    assert _sources.paths(node, _sources.NETPLAN_FOLDERS, ".yaml") == ["/etc/netplan/10-b.yaml", "/run/netplan/20-c.yaml", "/etc/netplan/50-a.yaml"]


def test_profiles_of_networkmanager(node: Any, nmcli: Result) -> None:
    profiles = _sources.read(node, NO, nmcli)[0].profiles
    assert profiles == [
        Profile("netplan-enP2p1s0f0np0", "66653b97-dff9-3941-8a87-67b4b2768d7e", RENDERED, "enP2p1s0f0np0", active_on=("enP2p1s0f0np0",)),
        Profile("Wired connection 2", "94faf89f-37bb-3592-8def-6361b594a544", WIRED, "enP2p1s0f1np1", active_on=("enP2p1s0f1np1",)),
    ]


def test_a_profile_that_several_devices_run_is_one(node: Any) -> None:
    path = "/etc/NetworkManager/system-connections/multi.nmconnection"
    row = f"multi:u:802-3-ethernet:{{}}:yes:{path}\n"
    node.file(path, "[match]\ninterface-name=enp1*;enP2*;\n[ethernet]\nmac-address=02:AA:00:00:00:01\n")
    profiles = _sources.read(node, NO, Result(("nmcli",), 0, row.format("a") + row.format("b")))[0].profiles
    assert profiles == [Profile("multi", "u", path, None, ("enp1*", "enP2*"), "02:aa:00:00:00:01", ("a", "b"))]


def test_a_profile_that_only_root_may_read_does_not_pass_for_one_that_takes_any_device(node: Any, nmcli: Result) -> None:
    node.forbidden.add(WIRED)
    profile = _sources.read(node, NO, nmcli)[0].profiles[1]
    assert (profile.name, profile.interface, profile.autoconnect) == ("Wired connection 2", None, False)


def test_a_profile_that_mirrors_others_is_external(node: Any) -> None:
    meta = "[.nmmeta]\nnm-generated=true\nvolatile=true\nexternal=true"
    node.file("/run/NetworkManager/system-connections/x.nmconnection", f"[connection]\ninterface-name=x\n{meta}")
    listing = "x:u:802-3-ethernet:x:no:/run/NetworkManager/system-connections/x.nmconnection\n"
    assert [item.external for item in _sources.read(node, NO, Result(("nmcli",), 0, listing))[0].profiles] == [True]


def test_units_leave_out_what_netplan_rendered(node: Any) -> None:
    node.file("/run/systemd/network/10-netplan-enp1s0f0np0.network", "[Match]\nName=enp1s0f0np0")
    node.file("/etc/systemd/network/20-own.network", "[Match]\nName=enp1*\n[Network]\nDHCP=yes")
    assert _sources.read(node, OK, NO)[0].units == [Unit("/etc/systemd/network/20-own.network", {"Name": ["enp1*"]})]


def test_a_daemon_that_does_not_run_configures_nothing(node: Any, nmcli: Result, fixtures: Any) -> None:
    networkctl = Result(_sources.NETWORKCTL, 1, (fixtures / "connectx" / "networkctl-list-systemd257.json").read_text(), "not running")
    sources = _sources.read(node, networkctl, Result(nmcli.argv, 8, nmcli.stdout))[0]
    assert (sources.network_files, sources.profiles) == ({}, [])


def test_a_broken_netplan_file_is_a_problem(node: Any) -> None:
    node.file("/etc/netplan/40-a.yaml", "network: {ethernets: {enp1s0f0np0: {}}}")
    node.file("/etc/netplan/50-b.yaml", "network: [")
    sources, _renderer, problems = _sources.read(node, NO, NO)
    assert list(sources.definitions) == ["enp1s0f0np0"]
    fix = "Correct the file; netplan can not read it either."
    assert problems == [f"/etc/netplan/50-b.yaml - expected a YAML document, found none in line 1. {fix}"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("network:\n  wifis:\n    password: \"hunter2\n", "none in line 3"),
        ("network:\n  password: hunter2: x\n", "none in line 2"),
        ("network:\n  password: *hunter2\n", "none in line 2"),
        ("network:\n  password: %hunter2\n", "none in line 2"),
        ("network: hunter2\0\n", "none"),
    ],
)
def test_the_fault_of_a_file_is_told_without_a_word_of_it(node: Any, text: str, found: str) -> None:
    node.file("/etc/netplan/50-b.yaml", text)
    problems = _sources.read(node, NO, NO)[2]
    assert problems == [f"/etc/netplan/50-b.yaml - expected a YAML document, found {found}. Correct the file; netplan can not read it either."]


def test_without_a_yaml_reader_the_rendered_files_still_tell(node: Any, nmcli: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sources, "yaml", None)
    node.file("/etc/netplan/40-a.yaml", "network: {ethernets: {enp1s0f0np0: {}}}")
    node.file("/run/systemd/network/10-netplan-enp1s0f0np0.network", "[Match]\nName=enp1s0f0np0")
    node.file("/run/systemd/network/10-netplan-all-en.network", "[Match]\nName=en*")
    sources, renderer, problems = _sources.read(node, OK, nmcli)
    assert problems == [
        "netplan configuration - expected PyYAML to read it with, found no module yaml. "
        "Let Ansible use /usr/bin/python3 on this node, or install PyYAML for its Python."
    ]
    assert renderer is None
    assert sources.definitions == {
        "all-en": Definition("all-en", "ethernets", ["/run/systemd/network/10-netplan-all-en.network"], {"name": "en*"}),
        "enp1s0f0np0": Definition("enp1s0f0np0", "ethernets", ["/run/systemd/network/10-netplan-enp1s0f0np0.network"], None),
        "enP2p1s0f0np0": Definition("enP2p1s0f0np0", "ethernets", [RENDERED], None),
    }


@pytest.mark.parametrize(
    ("netplan", "networkd", "manager", "renderer", "holders", "expected"),
    [
        (True, OK, OK, None, set(), "netplan-networkd"),
        (True, OK, OK, "NetworkManager", set(), "netplan-networkmanager"),
        (True, OK, OK, "networkd", {"NetworkManager"}, "netplan-networkd"),
        (True, OK, OK, None, {"NetworkManager"}, "netplan-networkmanager"),
        (True, OK, OK, None, {"networkd"}, "netplan-networkd"),
        (True, OK, OK, None, {"NetworkManager", "networkd"}, "netplan-networkd"),
        (True, NO, OK, "networkd", set(), "netplan-networkmanager"),
        (True, OK, NO, "NetworkManager", set(), "netplan-networkd"),
        (True, NO, NO, None, set(), None),
        (False, OK, OK, None, set(), "networkmanager"),
        (False, OK, NO, None, set(), None),
        (True, OK, HUNG, "NetworkManager", set(), None),
        (True, OK, HUNG, None, {"networkd"}, None),
        (True, OK, HUNG, "networkd", set(), "netplan-networkd"),
        (True, HUNG, OK, "NetworkManager", set(), "netplan-networkmanager"),
        (True, HUNG, OK, None, {"NetworkManager"}, None),
        (False, OK, HUNG, None, set(), None),
    ],
)
def test_backend(netplan: bool, networkd: Result, manager: Result, renderer: str | None, holders: set[str], expected: str | None) -> None:
    assert _sources.backend(netplan, networkd, manager, renderer, holders) == expected


def test_a_daemon_that_hangs_is_named_with_its_cure() -> None:
    cure = "expected an answer, found no answer in time. Restart it: systemctl restart"
    assert _sources.hanging(HUNG, HUNG) == [f"systemd-networkd - {cure} systemd-networkd.", f"NetworkManager - {cure} NetworkManager."]
    assert _sources.hanging(OK, NO) == []

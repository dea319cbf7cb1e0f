# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our netplan file, and what the two renderers make of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gb10.cluster.plugins.module_utils import _netplan
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link import _run
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from link_cases import done
from link_facts import connectx, options
from link_machine import FakeMachine

RAILS = [
    Rail("p0", 0, "enp1s0f0np0", "10.77.0.1", 24, 9000, False, "networkd"),
    Rail("p0", 1, "enP2p1s0f0np0", "10.77.1.1", 24, 9000, False, "networkd"),
]


def rendered(fixtures: Path, name: str) -> dict[str, str]:
    """What netplan rendered on a node of the lab."""
    found: dict[str, str] = json.loads((fixtures / f"link/rendered-{name}.json").read_text())
    return found


@pytest.mark.parametrize("backend", ["netplan-networkd", "netplan-networkmanager"])
@pytest.mark.parametrize("local", [True, False])
def test_document_is_ours_and_leaves_everything_global_alone(backend: str, local: bool) -> None:
    text = _netplan.document([Rail(*[*RAILS[0].__dict__.values()][:6], local, "networkd")], backend)
    network = yaml.safe_load(text)["network"]
    assert text.startswith(_names.MARKER + "\n")
    assert set(network) == {"version", "ethernets"}
    assert network["ethernets"]["enp1s0f0np0"]["renderer"] == {"netplan-networkd": "networkd", "netplan-networkmanager": "NetworkManager"}[backend]


def test_document_does_not_depend_on_the_order_of_rails() -> None:
    assert _netplan.document(RAILS, "netplan-networkd") == _netplan.document(RAILS[::-1], "netplan-networkd")
    assert _netplan.interfaces(_netplan.document(RAILS, "netplan-networkd")) == ["enP2p1s0f0np0", "enp1s0f0np0"]


MEANING = {"mtu": "9000", "ipv4": ["static"], "ipv6": "none", "dhcp": False, "routes": False, "dns": False}


def meaning_of_unit(text: str) -> dict[str, Any]:
    """What a unit of networkd does."""
    return {
        "mtu": re.findall(r"^MTUBytes=(.+)$", text, re.MULTILINE)[0],
        "ipv4": ["static"] * len(re.findall(r"^Address=10\.77\.", text, re.MULTILINE)),
        "ipv6": "none" if "LinkLocalAddressing=no" in text and "IPv6AcceptRA=no" in text else "some",
        "dhcp": "DHCP=" in text,
        "routes": "[Route]" in text or "Gateway=" in text,
        "dns": "DNS=" in text,
    }


def meaning_of_profile(text: str) -> dict[str, Any]:
    """What a profile of NetworkManager does."""
    ipv4, ipv6 = (text.split(f"[{name}]")[1].split("[")[0] for name in ("ipv4", "ipv6"))
    return {
        "mtu": re.findall(r"^mtu=(.+)$", text, re.MULTILINE)[0],
        "ipv4": ["static"] * len(re.findall(r"^address\d+=10\.77\.", ipv4, re.MULTILINE)),
        "ipv6": "none" if "method=disabled" in ipv6 else "some",
        "dhcp": "method=auto" in ipv4,
        "routes": "route" in ipv4 or "gateway" in ipv4 or "never-default=true" not in ipv4,
        "dns": "dns=" in ipv4,
    }


def test_both_renderers_mean_the_same(fixtures: Path) -> None:
    units, profiles = rendered(fixtures, "networkd-after"), rendered(fixtures, "networkmanager-after")
    for name in ("enp1s0f0np0", "enP2p1s0f0np0"):
        assert meaning_of_unit(units[f"/run/systemd/network/10-netplan-{name}.network"]) == MEANING
        assert meaning_of_profile(profiles[f"/run/NetworkManager/system-connections/netplan-{name}.nmconnection"]) == MEANING


@pytest.mark.parametrize("backend", ["networkd", "networkmanager"])
def test_our_file_changes_our_interfaces_alone(fixtures: Path, backend: str) -> None:
    before, after = rendered(fixtures, f"{backend}-before"), rendered(fixtures, f"{backend}-after")
    assert set(_netplan.changed(before, after)) == {"enp1s0f0np0", "enP2p1s0f0np0"}
    assert _netplan.changed(after, after) == {}


NETWORK, RULES = "/run/systemd/network/10-netplan-enP7s7.network", "/run/udev/rules.d/90-netplan.rules"


@pytest.mark.parametrize(
    ("path", "edit", "owners"),
    [
        (NETWORK, lambda text: text.replace("192.168.10.11", "192.168.10.12"), {"enP7s7"}),
        (NETWORK, lambda _text: None, {"enP7s7"}),
        ("/run/systemd/network/10-netplan-br0.netdev", lambda _text: "[NetDev]\n", {"br0"}),
        ("/run/NetworkManager/system-connections/netplan-wlan0-home.nmconnection", lambda _text: "[connection]\n", {"wlan0-home"}),
        (RULES, lambda text: text.replace('"1"', '"0"'), {"enP7s7"}),
        (RULES, lambda text: text + 'ATTR{x}="1"\n', {"*"}),
        (RULES, lambda text: text + "# a comment\n", set()),
        (RULES, lambda text: "", {"enP7s7"}),
    ],
    ids=["address", "removed", "new device", "new profile", "rule of one interface", "rule for all", "comment", "rules gone"],
)
def test_change_belongs_to_the_interface_it_configures(fixtures: Path, path: str, edit: Any, owners: set[str]) -> None:
    before = rendered(fixtures, "networkd-before")
    text = edit(before.get(path, ""))
    after = {key: value for key, value in {**before, path: text}.items() if value is not None}
    assert set(_netplan.changed(before, after)) == owners


def test_static_addresses_are_read_from_both_kinds_of_rendering(fixtures: Path) -> None:
    assert _netplan.static_addresses(rendered(fixtures, "networkd-before")) == {"enP7s7": ["192.168.10.11/24"]}
    assert _netplan.static_addresses(rendered(fixtures, "networkmanager-before")) == {"enP7s7": ["192.168.10.12/24"]}


def test_edit_takes_one_definition_out_and_shows_no_secret(fixtures: Path) -> None:
    text = (fixtures / "link/netplan-shared.yaml").read_text()
    kept = yaml.safe_load(_netplan.without(text, "enp1s0f0np0"))["network"]
    assert (kept["ethernets"], list(kept["wifis"])) == ({"enP7s7": {"dhcp4": True}}, ["wlP9s9"])
    patch = _netplan.edit("/etc/netplan/50-cloud-init.yaml", text, "enp1s0f0np0")
    assert patch.splitlines() == [
        "--- /etc/netplan/50-cloud-init.yaml",
        "+++ /etc/netplan/50-cloud-init.yaml",
        "@@ -5,8 +4,0 @@",
        "-    enp1s0f0np0:",
        "-      dhcp4: no",
        "-      ********",
        "-        ********",
        "-        ********",
        "-",
        "-      addresses:",
        "-        - 192.168.100.10/24",
    ]


SECRET = """\
network:
  wifis:
    wlP9s9:
      dhcp4: true
      access-points:
        "My Home":
          password: |
            mtu: horse
            battery
          auth: {key-management: psk, password: staple}
        other: {password: correct}
      # the password is tr0ub4dor
      mtu: 1400
      match: {name: "wl, password: opensesame"}
      set-name: &anchor hunter2
      renderer: >-
        dhcp4: folded
      addresses: [10.0.0.1/24,
        10.0.0.2/24]
      routes:
        - to: default
          via: 10.0.0.254
        - {to: 10.9.0.0/16, via: 10.0.0.3}
      name: "quoted
        mtu: 5"
    other: {}
"""


def test_edit_shows_nothing_but_what_it_knows(fixtures: Path) -> None:
    patch = _netplan.edit("/etc/netplan/60-home.yaml", SECRET, "wlP9s9").splitlines()
    removed = SECRET.splitlines()[2:-1]
    assert patch[2] == f"@@ -3,{len(removed)} +2,0 @@" and len(patch) == 3 + len(removed)
    shown = [line for line in patch[3:] if "*" not in line]
    assert shown == [
        "-    wlP9s9:", "-      dhcp4: true", "-      mtu: 1400", "-      routes:", "-        - to: default", "-          via: 10.0.0.254",
    ]  # fmt: skip
    blotted = {line.strip("- ") for line in patch[3:] if "*" in line}
    assert blotted == {"********", *(f"{key}: ********" for key in ("match", "set-name", "renderer", "addresses", "name"))}


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("enp1s0f0np0: {dhcp4: true, mtu: 9000}", "enp1s0f0np0: {dhcp4: true, mtu: 9000}"),
        ("enp1s0f0np0: {addresses: [10.0.0.1/24]}", "enp1s0f0np0: {addresses: [10.0.0.1/24]}"),
        ("enp1s0f0np0: {auth: {password: x}}", "enp1s0f0np0: ********"),
        ("'enp1s0f0np0': {dhcp4: true, auth: {", "'enp1s0f0np0': ********"),
        ("enp1s0f0np0: # password x", "enp1s0f0np0: ********"),
    ],
)
def test_edit_shows_a_definition_on_one_line_if_it_knows_all_of_it(body: str, shown: str) -> None:
    patch = _netplan.edit("/x", f"network:\n  ethernets:\n    {body}\n", "enp1s0f0np0").splitlines()
    assert patch[3:] == [f"-    {shown}"]


def test_rendering_beside_the_machine_leaves_nothing_on_it() -> None:
    machine = FakeMachine()
    before = dict(machine.files)
    wanted = {_names.NETPLAN_FILE: _netplan.document(RAILS, "netplan-networkd").encode(), "/etc/netplan/50-cloud-init.yaml": None}
    after, complaint = _netplan.render(machine, wanted)
    assert (complaint, set(after)) == (
        "",
        {RULES, "/run/systemd/network/10-netplan-enp1s0f0np0.network", "/run/systemd/network/10-netplan-enP2p1s0f0np0.network"},
    )
    assert (machine.files, machine.steps) == (before, [])


def test_complaint_of_netplan_is_the_line_that_names_the_file(fixtures: Path) -> None:
    address, syntax = (fixtures / "link/netplan-complaints.txt").read_text().split("rc 1\n")[:2]
    wanted = "malformed address '192.168.300.1/24', must be X.X.X.X/NN or X:X:X:X:X:X:X:X/NN"
    assert _netplan.complaint(address) == f"/etc/netplan/50-x.yaml:5:18: Error in network definition: {wanted}"
    assert _netplan.complaint(syntax) == "/etc/netplan/50-x.yaml:2:1: Invalid YAML: did not find expected node content"
    assert _netplan.complaint("") == "no reason given"


def test_file_that_netplan_does_not_accept_is_told_without_the_scratch_folder() -> None:
    machine = FakeMachine()
    machine.put("/etc/netplan/99-broken.yaml", "network: [")
    assert _netplan.render(machine, {})[1] == "/etc/netplan/99-broken.yaml: Error in network definition"


def test_absent_needs_the_daemon_that_takes_away_what_was_rendered_unless_there_is_nothing() -> None:
    machine = FakeMachine()
    nothing = _run.run(machine, options("absent", {}), False, lambda _interfaces: connectx(None))
    assert not nothing["changed"]
    done("p0")(machine)
    before = machine.state()
    with pytest.raises(_run.Refused, match="network configuration - expected netplan"):
        _run.run(machine, options("absent", {}), False, lambda _interfaces: connectx(None))
    assert machine.state() == before

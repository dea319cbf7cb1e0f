# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who configures an interface, by the rules of netplan, networkd and NetworkManager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _claims, _names
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._claims import Definition, Device, Profile, Sources, Unit

RAIL, TWIN = "enp1s0f0np0", "enP2p1s0f0np0"
DEVICES = [
    Device("lo", "00:00:00:00:00:00", None),
    Device("enP7s7", "02:00:00:00:01:00", "r8127"),
    Device(RAIL, "02:00:00:00:01:01", "mlx5_core"),
    Device(TWIN, "02:00:00:00:01:03", "mlx5_core"),
    Device("enp1s0f1np1", "02:00:00:00:01:02", "mlx5_core"),
    Device("enP2p1s0f1np1", "02:00:00:00:01:04", "mlx5_core"),
]


def netplan(fixtures: Path, **files: str) -> dict[str, Definition]:
    """Definitions of samples, laid down as ``/etc/netplan/NAME.yaml``."""
    documents = [(f"/etc/netplan/{name}.yaml", yaml.safe_load((fixtures / "connectx" / sample).read_text())) for name, sample in files.items()]
    return _claims.merge(documents)[0]


def brief(claims: list[Any]) -> list[tuple[Any, ...]]:
    """The fields of claims that tests compare."""
    return [(claim["name"], claim["file"], claim["ours"], claim["shared_with"], claim["pattern"], claim["effective"]) for claim in claims]


A, B, N = "/etc/netplan/a.yaml", "/etc/netplan/b.yaml", "/run/systemd/network/10-netplan-"
OWN = "/etc/systemd/network/20-fabric.network"


@pytest.mark.parametrize(
    ("files", "applied", "expected"),
    [
        ({"a": "netplan-management-static.yaml"}, None, []),
        ({"a": "netplan-networkd-29-subnets.yaml"}, f"{N}{RAIL}.network", [(RAIL, A, False, [TWIN], None, True)]),
        ({"a": "netplan-networkd-29-subnets.yaml"}, None, [(RAIL, A, False, [TWIN], None, False)]),
        (
            {"a": "netplan-nvidia-three-sparks-example-twins-share-subnet.yaml"}, f"{N}{RAIL}.network",
            [(RAIL, A, False, ["enP2p1s0f0np0", "enP2p1s0f1np1", "enp1s0f1np1"], None, True)],
        ),
        ({"a": "netplan-rail-beside-management.yaml"}, f"{N}{RAIL}.network", [(RAIL, A, False, ["enP7s7"], None, True)]),
        (
            {"a": "netplan-wildcard.yaml"}, f"{N}all-en.network",
            [("all-en", A, False, ["enP2p1s0f0np0", "enP2p1s0f1np1", "enP7s7", "enp1s0f1np1"], "en*", True)],
        ),
        (
            {"a": "netplan-networkd-29-subnets.yaml", "b": "netplan-wildcard.yaml"}, f"{N}all-en.network",
            [
                ("all-en", B, False, ["enP2p1s0f0np0", "enP2p1s0f1np1", "enP7s7", "enp1s0f1np1"], "en*", True),
                (RAIL, A, False, [TWIN], None, False),
            ],
        ),
        (
            {"a": "netplan-networkd-29-subnets.yaml", "b": "netplan-nvidia-perf-guide-nm-renderer.yaml"}, f"{N}{RAIL}.network",
            [(RAIL, A, False, [TWIN], None, True), (RAIL, B, False, [TWIN], None, True)],
        ),
        ({"a": "netplan-bond-of-both-rails.yaml"}, f"{N}{RAIL}.network", [(RAIL, A, False, ["bond0", TWIN], None, True)]),
        ({}, OWN, [("20-fabric.network", OWN, False, [], None, True)]),
        ({}, f"{N}{RAIL}.network", [(f"10-netplan-{RAIL}.network", f"{N}{RAIL}.network", False, [], None, True)]),
    ],
)  # fmt: skip
def test_netplan_on_networkd(fixtures: Path, files: dict[str, str], applied: str | None, expected: list[Any]) -> None:
    units = [Unit(OWN, {"Driver": ["mlx5_core"]})]
    sources = Sources(netplan(fixtures, **files), units, {RAIL: applied} if applied else {})
    assert brief(_claims.claims(RAIL, sources, DEVICES)) == expected


def test_a_file_that_holds_only_one_rail_is_shared_with_nobody() -> None:
    definitions, _renderer = _claims.merge([(A, {"network": {"ethernets": {RAIL: {"dhcp4": False}}}})])
    assert brief(_claims.claims(RAIL, Sources(definitions), DEVICES)) == [(RAIL, A, False, [], None, False)]


def test_a_definition_of_something_absent_is_named_by_its_id() -> None:
    definitions, _renderer = _claims.merge([(A, {"network": {"ethernets": {RAIL: {}, "enp9s9": {}}, "wifis": {"wlP9s9": {}}}})])
    assert _claims.claims(RAIL, Sources(definitions), DEVICES)[0]["shared_with"] == ["enp9s9", "wlP9s9"]


def test_our_file_is_ours() -> None:
    definitions, _renderer = _claims.merge([(_names.NETPLAN_FILE, {"network": {"ethernets": {RAIL: {}, TWIN: {}}}})])
    assert brief(_claims.claims(RAIL, Sources(definitions), DEVICES)) == [(RAIL, _names.NETPLAN_FILE, True, [TWIN], None, False)]


def test_networkmanager_wrote_the_netplan_file(fixtures: Path) -> None:
    uuid = "94faf89f-37bb-3592-8def-6361b594a544"
    rendered = f"/run/NetworkManager/system-connections/netplan-NM-{uuid}.nmconnection"
    profile = Profile("Wired connection 2", uuid, rendered, active_on=("enP2p1s0f1np1",))
    sources = Sources(netplan(fixtures, a="netplan-90-NM.yaml"), profiles=[profile])
    assert brief(_claims.claims("enP2p1s0f1np1", sources, DEVICES)) == [(f"NM-{uuid}", A, False, [], None, True)]
    assert _claims.claims("enp1s0f1np1", sources, DEVICES) == []


def test_our_connection_is_ours_wherever_it_is_stored() -> None:
    uuid = _names.connection_uuid(RAIL)
    body = {"match": {"name": RAIL}, "renderer": "NetworkManager", "networkmanager": {"uuid": uuid, "name": f"gb10-{RAIL}"}}
    definitions, _renderer = _claims.merge([(f"/etc/netplan/90-NM-{uuid}.yaml", {"network": {"ethernets": {f"NM-{uuid}": body}}})])
    assert [claim["ours"] for claim in _claims.claims(RAIL, Sources(definitions), DEVICES)] == [True]
    kept = Profile(f"gb10-{RAIL}", uuid, f"/etc/NetworkManager/system-connections/gb10-{RAIL}.nmconnection", interface=RAIL, active_on=(RAIL,))
    assert [claim["ours"] for claim in _claims.claims(RAIL, Sources(profiles=[kept]), DEVICES)] == [True]


KEYFILE = "/etc/NetworkManager/system-connections/x.nmconnection"
WIRED = "Wired connection 1"


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (Profile(WIRED, "u", KEYFILE, interface=RAIL, active_on=(RAIL,)), [(WIRED, KEYFILE, False, [], None, True)]),
        (Profile(WIRED, "u", KEYFILE, interface=RAIL), [(WIRED, KEYFILE, False, [], None, False)]),
        (Profile(WIRED, "u", KEYFILE, interface=RAIL, autoconnect=False), [(WIRED, KEYFILE, False, [], None, False)]),
        (Profile(WIRED, "u", KEYFILE, interface="enP7s7", active_on=("enP7s7",)), []),
        (Profile(WIRED, "u", KEYFILE, active_on=("enP7s7",)), []),
        (Profile(WIRED, "u", KEYFILE), [(WIRED, KEYFILE, False, [], "*", False)]),
        (Profile(WIRED, "u", KEYFILE, autoconnect=False), []),
        (Profile(WIRED, "u", KEYFILE, patterns=("enp1*",)), [(WIRED, KEYFILE, False, [], "enp1*", False)]),
        (Profile(WIRED, "u", KEYFILE, patterns=("eth*",)), []),
        (Profile(WIRED, "u", KEYFILE, mac="02:00:00:00:01:01"), [(WIRED, KEYFILE, False, [], None, False)]),
        (Profile(WIRED, "u", KEYFILE, mac="02:00:00:00:01:00"), []),
        (Profile(RAIL, "u", None, interface=RAIL, active_on=(RAIL,), external=True), []),
    ],
)
def test_plain_networkmanager(profile: Profile, expected: list[Any]) -> None:
    assert brief(_claims.claims(RAIL, Sources(profiles=[profile]), DEVICES)) == expected


@pytest.mark.parametrize(
    ("match", "counts"),
    [
        ({"Name": ["en*"]}, True),
        ({"Name": ["eth* enp1*"]}, True),
        ({"Name": ["enP*"]}, False),
        ({"MACAddress": ["02:00:00:00:01:01"]}, True),
        ({"MACAddress": ["02:00:00:00:01:09"]}, False),
        ({"Name": ["en*"], "Virtualization": ["container"]}, False),
        ({"Type": ["ether"]}, False),
        ({}, False),
    ],
)
def test_units_of_networkd_that_wait_for_the_device(match: dict[str, list[str]], counts: bool) -> None:
    assert bool(_claims.claims(RAIL, Sources(units=[Unit("/etc/systemd/network/20-x.network", match)]), DEVICES)) is counts


@pytest.mark.parametrize(
    ("body", "reached", "shown"),
    [
        ({}, True, None),
        (None, True, None),
        ({"match": {"name": RAIL}}, True, None),
        ({"match": {"name": "en*np0"}}, True, "en*np0"),
        ({"match": {"name": "enP*"}}, False, "enP*"),
        ({"match": {"macaddress": "02:00:00:00:01:01"}}, True, None),
        ({"match": {"macaddress": "02:00:00:00:01:99"}}, False, None),
        ({"match": {"driver": "mlx5*"}}, True, "driver mlx5*"),
        ({"match": {"driver": ["r8169", "mlx5_core"], "name": "en*"}}, True, "en*"),
        ({"match": {"driver": "r8169", "name": "en*"}}, False, "en*"),
        ({"match": {}}, True, "*"),
    ],
)
def test_match_of_netplan(body: Any, reached: bool, shown: str | None) -> None:
    definitions, _renderer = _claims.merge([(A, {"network": {"ethernets": {RAIL: body}}})])
    assert _claims.matches(definitions[RAIL], Device(RAIL, "02:00:00:00:01:01", "mlx5_core")) is reached
    assert _claims.pattern(definitions[RAIL]) == shown


def test_a_later_file_amends_a_definition() -> None:
    first = {"network": {"renderer": "networkd", "ethernets": {"fab": {"match": {"name": "enp1*"}}}}}
    amended = {"renderer": "networkd", "fab": {"mtu": 9000, "match": {"driver": "mlx5_core"}}}
    second = {"network": {"renderer": "NetworkManager", "ethernets": amended}}
    definitions, renderer = _claims.merge([(A, first), (B, second)])
    assert renderer == "NetworkManager"
    assert definitions == {"fab": Definition("fab", "ethernets", [A, B], {"name": "enp1*", "driver": "mlx5_core"}, "networkd")}


@pytest.mark.parametrize("document", [None, [], "text", {}, {"network": None}, {"network": {"ethernets": None}}, {"other": 1}])
def test_documents_that_are_not_netplan(document: Any) -> None:
    assert _claims.merge([(A, document)]) == ({}, None)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/run/systemd/network/10-netplan-enp1s0f0np0.network", RAIL),
        ("/run/NetworkManager/system-connections/netplan-all-en.nmconnection", "all-en"),
        ("/etc/systemd/network/20-x.network", None),
        ("/etc/NetworkManager/system-connections/Wired connection 1.nmconnection", None),
        (None, None),
    ],
)
def test_a_rendered_file_leads_back_to_its_id(file: str | None, expected: str | None) -> None:
    assert _claims.rendered_id(file) == expected


def test_a_file_that_adds_to_our_definition_is_not_ours() -> None:
    own = {RAIL: {"addresses": ["10.77.0.2/24"], "networkmanager": {"uuid": _names.connection_uuid(RAIL)}}}
    other = {RAIL: {"addresses": ["192.168.177.11/24"]}}
    files = [(A, {"network": {"ethernets": other}}), (_names.NETPLAN_FILE, {"network": {"ethernets": own}})]
    definitions, _renderer = _claims.merge(files)
    assert [(claim["file"], claim["ours"]) for claim in _claims.claims(RAIL, Sources(definitions), DEVICES)] == [(A, False), (_names.NETPLAN_FILE, True)]


def test_our_uuids_never_change() -> None:
    assert _names.connection_uuid(RAIL) == "068af5dd-349f-545c-ba31-d6288a6ed1b3"
    assert _names.connection_uuid(RAIL) != _names.connection_uuid(TWIN)

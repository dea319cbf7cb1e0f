# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ethtool's text and the JSON of ``ip`` as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _ethtool, _ip

UP = {"speed_mbps": 200000, "lanes": 4, "link_detected": True, "link_reason": None}
DOWN = {"speed_mbps": None, "lanes": None, "link_detected": False, "link_reason": "No cable"}
UNKNOWN = {"speed_mbps": None, "lanes": None, "link_detected": None, "link_reason": None}


@pytest.mark.parametrize(
    ("sample", "expected"),
    [("ethtool-200g-up.txt", UP), ("ethtool-short-up-200g.txt", UP), ("ethtool-linkline-no-cable.txt", DOWN)],
)
def test_link(fixtures: Path, sample: str, expected: dict[str, Any]) -> None:
    assert _ethtool.link((fixtures / "connectx" / sample).read_text()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", UNKNOWN),
        ("Settings for X:\n\tSpeed: Unknown!\n\tLanes: Unknown!\n", UNKNOWN),
        ("\tLink detected: no (Autoneg, No partner detected)", {**DOWN, "link_reason": "Autoneg, No partner detected"}),
        ("\tLink detected: no\n", {**DOWN, "link_reason": None}),
    ],
)
def test_link_of_odd_outputs(text: str, expected: dict[str, Any]) -> None:
    assert _ethtool.link(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("driver: mlx5_core\nfirmware-version: 28.45.4028 (NVD0000000087)\n", ("mlx5_core", None, "28.45.4028", "NVD0000000087")),
        ("driver: veth\nversion: 1.0\nfirmware-version: \n", ("veth", "1.0", None, None)),
        ("driver: x\nversion: \nfirmware-version: 1.2\n", ("x", None, "1.2", None)),
        ("", (None, None, None, None)),
    ],
)
def test_driver(text: str, expected: tuple[str | None, ...]) -> None:
    assert tuple(_ethtool.driver(text).values()) == expected


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("ethtool-show-fec-rs.txt", {"configured": ["Auto"], "active": ["RS"]}),
        ("ethtool-show-fec-none.txt", {"configured": ["Auto"], "active": ["None"]}),
        ("ethtool-show-fec-forced-rs.txt", {"configured": ["RS"], "active": ["RS"]}),
        ("ethtool-linkline-no-cable.txt", {}),
    ],
)
def test_fec(fixtures: Path, sample: str, expected: dict[str, list[str]]) -> None:
    assert _ethtool.fec((fixtures / "connectx" / sample).read_text()) == expected


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("ethtool-m-200gbase-cr4-excerpt.txt", {"identifier": "0x11 (QSFP28)", "type": "200GBASE-CR4"}),
        (
            "ethtool-m-sff8636-5m-generic-synthetic.txt",
            {
                "identifier": "0x11 (QSFP28)", "connector": "0x23 (No separable connector)", "technology": "0xa0 (Copper cable unequalized)",
                "length": "5m", "vendor": "GenericVendor", "part_number": "QSFP28-100G-DAC-5M", "serial_number": "EXAMPLE0001",
            },
        ),
        ("ethtool-short-up-200g.txt", {}),
    ],
)  # fmt: skip
def test_module(fixtures: Path, sample: str, expected: dict[str, str]) -> None:
    assert _ethtool.module((fixtures / "connectx" / sample).read_text()) == expected


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("ethtool-S-clean-while-switch-drops.txt", {"rx_crc_errors_phy": 0, "rx_discards_phy": 0, "tx_discards_phy": 0, "rx_prio3_discards": 0}),
        ("ethtool-S-lane-errors-excerpt.txt", {}),
    ],
)
def test_counters_keep_what_tells_of_the_link(fixtures: Path, sample: str, expected: dict[str, int]) -> None:
    assert _ethtool.counters((fixtures / "connectx" / sample).read_text()) == expected


@pytest.mark.parametrize("text", ["", "[]", "not json", "{}", "[{}]", "[1]"])
def test_nothing_is_not_an_error(text: str) -> None:
    assert (_ip.rows(text), _ip.links(text), _ip.routes(text), _ip.devices(text)) == ([], {}, [], [])


def test_links_of_a_real_machine(fixtures: Path) -> None:
    links = _ip.links((fixtures / "connectx" / "ip-j-d-addr-two-rails.json").read_text())
    assert list(links) == ["lo", "enP7s7", "enp1s0f0np0"]
    assert _ip.addresses(links["enp1s0f0np0"]) == [
        {"address": "192.168.100.10", "prefix": 24, "family": "inet", "scope": "global"},
        {"address": "fe80::3075:5dff:fe64:caa4", "prefix": 64, "family": "inet6", "scope": "link"},
    ]


def test_routes_name_every_next_hop_and_every_prefix() -> None:
    text = json.dumps([
        {"dst": "default", "nexthops": [{"gateway": "10.0.0.1", "dev": "a"}, {"gateway": "10.0.1.1", "dev": "b"}], "metric": 5},
        {"dst": "10.9.0.7", "gateway": "10.0.0.9", "dev": "a", "protocol": "static"},
        {"dst": "10.0.0.0/24", "dev": "a", "protocol": "kernel", "scope": "link"},
        {"type": "unreachable", "dst": "10.8.0.0/16"},
    ])  # fmt: skip
    assert [tuple(route.values()) for route in _ip.routes(text)] == [
        ("0.0.0.0/0", "a", "10.0.0.1", None, 5),
        ("0.0.0.0/0", "b", "10.0.1.1", None, 5),
        ("10.9.0.7/32", "a", "10.0.0.9", "static", None),
        ("10.0.0.0/24", "a", None, "kernel", None),
    ]


def test_a_global_address_stands_for_an_interface_before_a_link_local_one() -> None:
    found = [
        {"address": "169.254.1.2", "prefix": 16, "family": "inet", "scope": "link"},
        {"address": "10.77.0.1", "prefix": 24, "family": "inet", "scope": "global"},
        {"address": "fe80::1", "prefix": 64, "family": "inet6", "scope": "link"},
    ]
    assert _ip.fabric_ipv4(found) == ["10.77.0.1", "169.254.1.2"]


@pytest.mark.parametrize(
    ("connection", "server", "client"),
    [
        ("192.168.10.2 50000 192.168.10.11 22", "192.168.10.11", "192.168.10.2"),
        ("::ffff:192.168.10.2 50000 ::ffff:192.168.10.11 22", "192.168.10.11", "192.168.10.2"),
        ("fe80::1%enP7s7 50000 fe80::2%enP7s7 22", "fe80::2", "fe80::1"),
        ("UNKNOWN 65535 UNKNOWN 65535", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_both_ends_of_the_session(connection: str | None, server: str | None, client: str | None) -> None:
    assert (_ip.session_address(connection), _ip.session_client(connection)) == (server, client)


def link(name: str, cidr: str | None = None, **more: Any) -> dict[str, Any]:
    """One row of ``ip`` with at most one address."""
    address, _slash, prefix = (cidr or "").partition("/")
    return {"ifname": name, "addr_info": [{"family": "inet", "local": address, "prefixlen": int(prefix), "scope": "global"}] if cidr else [], **more}


@pytest.mark.parametrize(
    ("rows", "server", "ways_out", "expected"),
    [
        ([link("enP7s7", "192.168.10.11/24")], "192.168.10.11", ["enP7s7", "enP7s7"], ("enP7s7", "192.168.10.11/24", ["enP7s7"])),
        (
            [link("enP7s7", "192.168.10.11/24"), link("wlP9s9", "10.1.0.5/16")],
            "192.168.10.11", ["wlP9s9"], ("enP7s7", "192.168.10.11/24", ["enP7s7", "wlP9s9"]),
        ),
        ([link("enP7s7", "192.168.10.11/24")], None, ["enP7s7"], ("enP7s7", "192.168.10.11/24", ["enP7s7"])),
        ([link("lo", "127.0.0.1/8"), link("enP7s7")], "127.0.0.1", ["enP7s7"], ("enP7s7", None, ["enP7s7"])),
        (
            [link("br0", "10.0.0.5/24"), link("enP7s7", master="br0"), link("veth1", master="br1")],
            "10.0.0.5", ["br0"], ("br0", "10.0.0.5/24", ["br0", "enP7s7"]),
        ),
        (
            [link("enP7s7.5", "10.0.0.5/24", link="enP7s7", linkinfo={"info_kind": "vlan"}), link("enP7s7")],
            "10.0.0.5", ["enP7s7.5"], ("enP7s7.5", "10.0.0.5/24", ["enP7s7", "enP7s7.5"]),
        ),
        ([link("enP7s7", "10.0.0.5/24", link="enp1s0f0np0", linkinfo={"info_kind": "veth"}), link("enp1s0f0np0")], "10.0.0.5", [],
         ("enP7s7", "10.0.0.5/24", ["enP7s7"])),
        ([link("enP7s7")], None, [], (None, None, [])),
    ],
)  # fmt: skip
def test_who_carries_the_session(rows: list[dict[str, Any]], server: str | None, ways_out: list[str], expected: tuple[Any, ...]) -> None:
    assert tuple(_ip.management({row["ifname"]: row for row in rows}, server, ways_out).values()) == expected

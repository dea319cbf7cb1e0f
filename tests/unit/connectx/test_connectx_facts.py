# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of whole machines: healthy ones and the states in which owners meet theirs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._command import Result
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _facts, _system
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._facts import collect
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Connectx, Rail

GRAMMAR = re.compile(r"^.+ - expected .+, found .+[^.]\. [A-Z].*\.$", re.DOTALL)
Configure = Callable[[dict[str, str]], None]
PAIR = {"enp1s0f0np0": "10.77.0.1/24", "enP2p1s0f0np0": "10.77.1.1/24"}


@pytest.fixture(autouse=True)
def _problems_speak_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test provokes, its problems are of the grammar and unique."""
    honest = _facts.collect

    def checked(*arguments: Any) -> Connectx:
        facts = honest(*arguments)
        assert [line for line in facts["problems"] if not GRAMMAR.match(line)] == []
        assert len(set(facts["problems"])) == len(facts["problems"])
        assert set(facts) == set(Connectx.__annotations__)
        assert all(set(rail) == set(Rail.__annotations__) for port in facts["ports"].values() for rail in port["rails"])
        return facts

    monkeypatch.setitem(globals(), "collect", checked)


def rails(facts: Connectx, key: str) -> dict[str, Any]:
    """One value of every rail, by interface."""
    return {rail["interface"]: rail[key] for port in facts["ports"].values() for rail in port["rails"]}  # type: ignore[literal-required]


def test_two_nodes_on_one_cable(node: Any, configure: Configure) -> None:
    configure(PAIR)
    facts = collect({}, node)
    assert facts["problems"] == []
    assert rails(facts, "rdma") == {
        "enp1s0f0np0": "rocep1s0f0", "enP2p1s0f0np0": "roceP2p1s0f0", "enp1s0f1np1": "rocep1s0f1", "enP2p1s0f1np1": "roceP2p1s0f1",
    }  # fmt: skip
    assert rails(facts, "carrier") == {"enp1s0f0np0": True, "enP2p1s0f0np0": True, "enp1s0f1np1": False, "enP2p1s0f1np1": False}
    assert rails(facts, "gid_index") == {"enp1s0f0np0": 3, "enP2p1s0f0np0": 3, "enp1s0f1np1": None, "enP2p1s0f1np1": None}
    assert rails(facts, "speed_mbps") == {"enp1s0f0np0": 200000, "enP2p1s0f0np0": 200000, "enp1s0f1np1": None, "enP2p1s0f1np1": None}
    assert rails(facts, "link_reason") == {"enp1s0f0np0": None, "enP2p1s0f0np0": None, "enp1s0f1np1": "No cable", "enP2p1s0f1np1": "No cable"}
    assert (facts["ports"]["p0"]["module"]["part_number"], facts["ports"]["p1"]["module"]) == ("QSFP28-100G-DAC-5M", {})


def test_one_rail_in_full(node: Any, configure: Configure) -> None:
    configure(PAIR)
    rail = collect({}, node)["ports"]["p0"]["rails"][1]
    assert len(rail.pop("gids")) == 4
    assert rail == {
        "rail": 1, "interface": "enP2p1s0f0np0", "rdma": "roceP2p1s0f0", "mac": "02:00:00:00:01:03", "up": True, "carrier": True,
        "mtu": 1500, "max_mtu": 9978,
        "pci": {"address": "0002:01:00.0", "speed_gts": 32.0, "width": 4, "max_speed_gts": 32.0, "max_width": 4},
        "addresses": [{"address": "10.77.1.1", "prefix": 24, "family": "inet", "scope": "global"}], "master": None, "gid_index": 3,
        "driver": "mlx5_core", "driver_version": "6.17.0-1014-nvidia", "firmware": "28.45.4028", "psid": "NVD0000000087", "speed_mbps": 200000, "lanes": 4,
        "link_detected": True, "link_reason": None, "fec": {"configured": ["Auto"], "active": ["RS"]},
        "carrier_changes": 2, "carrier_down_count": 1, "counters": {"port_rcv_data": 4003, "packet_seq_err": 0, "rx_discards_phy": 7},
        "sysctl": {"arp_ignore": 1, "arp_announce": 2, "rp_filter": 2}, "claims": [],
    }  # fmt: skip


def test_the_machine_around_the_card(node: Any) -> None:
    facts = collect({}, node)
    host = dict(facts["host"])
    assert re.match(r"3\.\d+\.\d+", host.pop("python")) and host.pop("architecture")
    assert host == {
        "hostname": "spark-a", "machine_id": "0123456789abcdef0123456789abcdef", "boot_id": "5c1f0b3a-0000-4000-8000-000000000001",
        "boot_time": 1790000000, "kernel": "6.17.0-1014-nvidia", "init": "systemd",
        "os": {"id": "ubuntu", "name": "Ubuntu", "version_id": "24.04", "pretty_name": "Ubuntu 24.04.4 LTS", "family": "debian"},
    }  # fmt: skip
    assert facts["management"] == {"interface": "enP7s7", "address": "192.168.10.11/24", "interfaces": ["enP7s7"]}
    assert facts["routes"][0] == {"destination": "0.0.0.0/0", "interface": "enP7s7", "gateway": "192.168.10.1", "protocol": "dhcp", "metric": 100}
    assert (facts["hotplug"]["marker"], facts["hotplug"]["enabled"], facts["hotplug"]["plugged_after_boot"]) == (True, True, False)
    assert (facts["backend"], facts["rollback"], facts["qos"], facts["jobs"]) == ("netplan-networkd", None, False, [])


def test_rails_that_have_qos_of_ours_are_told(node: Any, configure: Configure) -> None:
    node.file("/etc/gb10/qos.json", "{}")
    assert collect({}, node)["qos"] is True


def test_a_ring_has_two_cables(node: Any, configure: Configure) -> None:
    for name in ("enp1s0f1np1", "enP2p1s0f1np1"):
        node.file(f"/sys/class/net/{name}/carrier", "1")
        node.says(f"ethtool {name}", node.sample("ethtool-200g-up.txt"))
        node.says(f"ethtool -m {name}", node.sample("ethtool-m-200gbase-cr4-excerpt.txt"))
    configure({**PAIR, "enp1s0f1np1": "10.77.2.1/24", "enP2p1s0f1np1": "10.77.3.1/24"})
    facts = collect({}, node)
    assert set(rails(facts, "link_detected").values()) == {True}
    assert set(rails(facts, "gid_index").values()) == {3}
    assert facts["ports"]["p1"]["module"] == {"identifier": "0x11 (QSFP28)", "type": "200GBASE-CR4"}


def test_a_card_that_hotplug_took_away(node: Any) -> None:
    for bdf in ("0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1"):
        node.unplug(bdf)
    node.says(" ".join(_system.JOURNAL), node.sample("journal-uncabled-then-removed.txt"))
    facts = collect({}, node)
    assert facts["ports"] == {}
    assert [event["text"] for event in facts["hotplug"]["events"]][-1] == "cx7-pcie-hotplug MTKP0001:00: Cable removal"
    assert facts["hotplug"]["plugged_after_boot"] is False
    assert [line.split(" - ")[0] for line in facts["problems"]] == ["ConnectX-7"]


def test_renamed_devices_in_reversed_order(node: Any, configure: Configure) -> None:
    for bdf, name in {"0000:01:00.0": "aerial03", "0002:01:00.0": "aerial00"}.items():
        node.unplug(bdf)
        node.function(bdf, name)
    facts = collect({}, node)
    assert [(rail["rail"], rail["interface"], rail["pci"]["address"]) for rail in facts["ports"]["p0"]["rails"]] == [
        (0, "aerial03", "0000:01:00.0"), (1, "aerial00", "0002:01:00.0"),
    ]  # fmt: skip


def test_named_devices(node: Any) -> None:
    facts = collect({"p1": ["enP2p1s0f0np0", "enp1s0f0np0"]}, node)
    assert [(rail["rail"], rail["interface"]) for rail in facts["ports"]["p1"]["rails"]] == [(0, "enP2p1s0f0np0"), (1, "enp1s0f0np0")]


def test_one_function_missing(node: Any) -> None:
    node.unplug("0002:01:00.0")
    facts = collect({}, node)
    assert [rail["interface"] for rail in facts["ports"]["p0"]["rails"]] == ["enp1s0f0np0"]
    fix = "Power the machine off and on with the cable in."
    assert facts["problems"] == [f"p0 rail 1 - expected a network device in PCI domain 0002, found none. {fix}"]


def test_a_rail_on_two_pcie_lanes(node: Any) -> None:
    node.file("/sys/class/net/enP2p1s0f0np0/device/current_link_width", "2")
    facts = collect({}, node)
    assert {name: link["width"] for name, link in rails(facts, "pci").items()}["enP2p1s0f0np0"] == 2
    assert facts["problems"] == []


def test_the_gid_index_differs_between_rails(node: Any, configure: Configure) -> None:
    configure(PAIR)
    mapped, local = "0000:0000:0000:0000:0000:ffff:0a4d:0001", "fe80:0000:0000:0000:0200:00ff:fe00:0101"
    for index in range(8):
        for folder in ("gids", "gid_attrs/types"):
            (node.folder / f"sys/class/infiniband/rocep1s0f0/ports/1/{folder}/{index}").unlink()
    node.gids("rocep1s0f0", {
        0: (local, "IB/RoCE v1"), 1: (local, "RoCE v2"), 2: (local[:-1] + "2", "IB/RoCE v1"), 3: (local[:-1] + "2", "RoCE v2"),
        4: (mapped, "IB/RoCE v1"), 5: (mapped, "RoCE v2"),
    })  # fmt: skip
    assert {name: index for name, index in rails(collect({}, node), "gid_index").items() if index} == {"enp1s0f0np0": 5, "enP2p1s0f0np0": 3}


def test_small_subnets_side_by_side(node: Any, configure: Configure) -> None:
    configure({"enp1s0f0np0": "172.31.5.1/29", "enP2p1s0f0np0": "172.31.5.9/29"})
    assert [found[0]["prefix"] for found in rails(collect({}, node), "addresses").values() if found] == [29, 29]


def test_link_local_only(node: Any) -> None:
    node.address("enp1s0f0np0", "169.254.127.30/16", "link")
    node.address("enP2p1s0f0np0", "fe80::200:ff:fe00:106/64", "link")
    facts = collect({}, node)
    assert {name: [item["scope"] for item in found] for name, found in rails(facts, "addresses").items() if found} == {
        "enp1s0f0np0": ["link"], "enP2p1s0f0np0": ["link"],
    }  # fmt: skip
    assert set(rails(facts, "gid_index").values()) == {None}


def test_rails_in_a_bond(node: Any) -> None:
    node.interface("bond0", "02:00:00:00:01:01", linkinfo={"info_kind": "bond"})
    for name in PAIR:
        node.links[name]["master"] = "bond0"
    node.file("/etc/netplan/40-cx7.yaml", node.sample("netplan-bond-of-both-rails.yaml"))
    facts = collect({}, node)
    assert {name: master for name, master in rails(facts, "master").items() if master} == dict.fromkeys(PAIR, "bond0")
    assert rails(facts, "claims")["enp1s0f0np0"][0]["shared_with"] == ["bond0", "enP2p1s0f0np0"]


def test_a_session_over_a_bridge_protects_its_members(node: Any) -> None:
    node.links["enP7s7"]["addr_info"] = []
    node.interface("br0", "02:00:00:00:01:00")
    node.address("br0", "192.168.10.11/24")
    for name in ("enP7s7", "enp1s0f1np1"):
        node.links[name]["master"] = "br0"
    assert collect({}, node)["management"]["interfaces"] == ["br0", "enP7s7", "enp1s0f1np1"]


def test_the_way_back_and_an_ipv6_default_route_are_management_too(node: Any) -> None:
    node.says("ip -j route get 192.168.10.2", '[{"dst":"192.168.10.2","dev":"wlP9s9","flags":[]}]')
    node.says("ip -j -6 route show default", '[{"dst":"default","dev":"usb0","gateway":"fe80::1"}]')
    assert collect({}, node)["management"] == {"interface": "enP7s7", "address": "192.168.10.11/24", "interfaces": ["enP7s7", "usb0", "wlP9s9"]}


def test_who_claims_the_rails(node: Any) -> None:
    node.file("/etc/netplan/00-management.yaml", node.sample("netplan-management-static.yaml"))
    node.file("/etc/netplan/40-cx7.yaml", node.sample("netplan-networkd-29-subnets.yaml"))
    node.file("/etc/netplan/90-wild.yaml", node.sample("netplan-wildcard.yaml"))
    node.networkd = {"enp1s0f0np0": "/run/systemd/network/10-netplan-all-en.network"}
    claims = rails(collect({}, node), "claims")
    assert [(claim["file"], claim["pattern"], claim["effective"]) for claim in claims["enp1s0f0np0"]] == [
        ("/etc/netplan/90-wild.yaml", "en*", True), ("/etc/netplan/40-cx7.yaml", None, False),
    ]  # fmt: skip
    assert [claim["file"] for claim in claims["enp1s0f1np1"]] == ["/etc/netplan/90-wild.yaml"]


def test_the_global_renderer_counts_where_its_daemon_runs(node: Any) -> None:
    node.file("/etc/netplan/00-management.yaml", node.sample("netplan-management-static.yaml"))
    assert collect({}, node)["backend"] == "netplan-networkd"
    node.says("nmcli -t -f NAME,UUID,TYPE,DEVICE,AUTOCONNECT,FILENAME connection show", "")
    assert collect({}, node)["backend"] == "netplan-networkmanager"
    node.tools.remove("netplan")
    assert collect({}, node)["backend"] == "networkmanager"


def test_networkmanager_that_holds_the_management_gets_the_rails(node: Any) -> None:
    path = "/run/NetworkManager/system-connections/netplan-enP7s7.nmconnection"
    node.file(path, "[connection]\ninterface-name=enP7s7")
    node.says("nmcli -t -f NAME,UUID,TYPE,DEVICE,AUTOCONNECT,FILENAME connection show", f"netplan-enP7s7:u:802-3-ethernet:enP7s7:yes:{path}\n")
    assert collect({}, node)["backend"] == "netplan-networkmanager"


def test_a_machine_without_ethtool(node: Any) -> None:
    node.tools.remove("ethtool")
    facts = collect({}, node)
    assert facts["problems"] == ["ethtool - expected the command on this node, found none. Install the package ethtool."]
    assert set(rails(facts, "speed_mbps").values()) == set(rails(facts, "firmware").values()) == {None}
    assert rails(facts, "carrier")["enp1s0f0np0"] is True


def test_a_machine_with_no_tool_at_all(node: Any) -> None:
    node.tools.clear()
    facts = collect({}, node)
    assert [line.split(" - ")[0] for line in facts["problems"]] == ["kernel journal", "network backend", "ethtool", "ip"]
    assert (facts["management"]["interface"], facts["routes"], facts["backend"]) == (None, [], None)
    assert rails(facts, "mtu")["enp1s0f0np0"] is None


def test_a_tool_that_does_not_answer(node: Any) -> None:
    node.answers["ethtool enp1s0f0np0"] = Result(("ethtool", "enp1s0f0np0"), None, timed_out=True)
    assert collect({}, node)["problems"] == ["ethtool enp1s0f0np0 - expected an answer, found no answer in time. Run it by hand on this node."]


def test_without_root(node: Any) -> None:
    node.file("/etc/netplan/40-cx7.yaml", node.sample("netplan-networkd-29-subnets.yaml"))
    node.file("/sys/class/infiniband_verbs/uverbs0/ibdev", "rocep1s0f0")
    node.forbidden |= {"/etc/netplan/40-cx7.yaml", "/proc/700/environ", "/proc/700/fd", "/proc/720/fd", "/var/lib/gb10/rollback/armed.json"}
    for name in PAIR:
        node.says(f"ethtool -m {name}", "", 75, "netlink error: Operation not permitted")
    facts = collect({}, node)
    refused = "/etc/netplan/40-cx7.yaml, /proc/*/environ, /proc/*/fd and 2 more"
    assert facts["problems"] == [f"permission - expected to read everything, found refused for {refused}. Run with become."]
    assert (facts["ports"]["p0"]["module"], facts["rollback"], facts["jobs"]) == ({}, None, [])


def test_every_tool_is_asked_once(node: Any) -> None:
    collect({}, node)
    assert len(node.asked) == len(set(node.asked)) == 7 + 4 * 4 + 2

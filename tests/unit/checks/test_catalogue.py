# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Break one thing of a healthy fabric: exactly the right row says so, in exactly these words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import healthy_fabric
import pytest
import yaml

from ansible_collections.gb10.cluster.plugins.plugin_utils._checks import evaluate
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_document import document
from ansible_collections.gb10.cluster.plugins.plugin_utils._checks_rows import SCOPES, _problems, catalogue, prepared

NAMES = healthy_fabric.NAMES
UNKNOWN = "not checked: connectx_info did not run."
"""End of the message of all rows that ask a node without facts."""
NO_NCCL = "OSError: libnccl.so.2: cannot open shared object file: No such file or directory"
"""What nccl_info tells where the loader finds none."""
Request = dict[str, Any]
Break = Callable[[Request], object]


def results(request: Request, stage: str) -> list[dict[str, Any]]:
    """All results of one stage."""
    return [dict(result) for result in evaluate(prepared(catalogue(), [], stage), document(request))]


def said(request: Request, stage: str) -> list[tuple[str, str, str]]:
    """``(id, status, message)`` of everything that is not a pass."""
    return [(result["id"], result["status"], result["message"]) for result in results(request, stage) if result["status"] != "pass"]


def facts(request: Request, name: str = "spark-1") -> dict[str, Any]:
    """The facts of a node, to be changed in place."""
    found: dict[str, Any] = request["connectx"][name]["connectx"]
    return found


def rail(request: Request, number: int = 0, name: str = "spark-1") -> dict[str, Any]:
    """The facts of a rail of p0, to be changed in place."""
    found: dict[str, Any] = facts(request, name)["ports"]["p0"]["rails"][number]
    return found


def path(request: Request) -> dict[str, Any]:
    """The path from spark-1 over rail 1, to be changed in place."""
    found: dict[str, Any] = request["ping"]["spark-1"]["paths"][1]
    return found


def route(destination: str, gateway: str | None = None) -> Break:
    """Give spark-2 one more route."""
    row = {"destination": destination, "interface": "wlP9s9", "gateway": gateway, "protocol": "kernel", "metric": None}
    return lambda request: facts(request, "spark-2")["routes"].append(row)


def no_cable(request: Request, **changes: Any) -> None:
    """Take the cable out of p0 of spark-1."""
    facts(request)["ports"]["p0"]["module"] = {}
    for number in (0, 1):
        rail(request, number).update({"carrier": False, "link_detected": False, "speed_mbps": None, **changes})


def no_rail(request: Request, number: int) -> None:
    """Take a rail of p0 off the bus of spark-1, and with it what the kernel had for it."""
    gone = facts(request)["ports"]["p0"]["rails"].pop(number)
    facts(request)["routes"] = [row for row in facts(request)["routes"] if row["interface"] != gone["interface"]]


def no_card(request: Request, hotplug: bool) -> None:
    """Take the card of spark-1 off the bus."""
    no_rail(request, 1)
    no_rail(request, 0)
    facts(request).update(ports={}, hotplug={"marker": hotplug, "enabled": hotplug, "events": [], "plugged_after_boot": False})


def lost(request: Request) -> None:
    """spark-2 went away during the run."""
    request["hosts"].remove("spark-2")
    del request["connectx"]["spark-2"]


def another_kernel(request: Request) -> None:
    """Its driver comes with it."""
    facts(request)["host"]["kernel"] = "6.14.0-1009-nvidia"
    for number in (0, 1):
        rail(request, number)["driver_version"] = "6.14.0-1009-nvidia"


def old_python(request: Request) -> None:
    """A Python that can not read the facts, so that connectx_info told its version instead."""
    request["connectx"]["spark-1"] = {"changed": False, "failed": False, "python": "3.8.10"}


def unconfigured(request: Request, *names: str) -> None:
    """Rails as systemd-networkd leaves them on a new machine: down."""
    for name in names:
        for number in (0, 1):
            rail(request, number, name).update(up=False, carrier=None, mtu=1500, addresses=[], gid_index=None, claims=[], speed_mbps=None)
            rail(request, number, name)["sysctl"].update(arp_ignore=0, arp_announce=0)


def held_by_network_manager(request: Request) -> None:
    """Rails as NetworkManager leaves them on a new desktop: up, with a connection that it made up, and without an address."""
    made_up = {"source": "networkmanager", "name": "Wired connection 1", "file": "", "ours": False, "shared_with": [], "pattern": None}
    for number in (0, 1):
        rail(request, number).update(mtu=1500, addresses=[], gid_index=None, claims=[made_up])
        rail(request, number)["sysctl"].update(arp_ignore=0, arp_announce=0)
    for each in request["ping"]["spark-1"]["paths"]:
        each.update(small_ok=False, full_ok=False, largest_mtu=None, neighbour_mac=None, reason="no address")


PREFLIGHT: dict[str, Break] = {
    "a host that can not be reached": lost,
    "an old Python": old_python,
    "another family of systems": lambda request: facts(request, "spark-2")["host"]["os"].update(family="fedora"),
    "no systemd": lambda request: facts(request, "spark-2")["host"].update(init="init"),
    "another Ubuntu": lambda request: facts(request, "spark-2")["host"]["os"].update(version_id="26.04"),
    "one host name twice": lambda request: facts(request)["host"].update(hostname="spark-2"),
    "one machine-id twice": lambda request: facts(request)["host"].update(machine_id="2" * 32),
    "another kernel": another_kernel,
    "kernel 7.0 with kho": lambda request: [facts(request, name)["host"].update(kernel="7.0.0-1019-nvidia") for name in NAMES],
    "another DGX release": lambda request: facts(request)["platform"]["dgx"].update(DGX_OTA_VERSION="7.4.0"),
    "no card, hot-plug on": lambda request: no_card(request, True),
    "no card, hot-plug off": lambda request: no_card(request, False),
    "one rail missing": lambda request: no_rail(request, 1),
    "no cable": no_cable,
    "a cable plugged in after boot": lambda request: facts(request)["hotplug"].update(plugged_after_boot=True),
    "PCIe x2": lambda request: rail(request, 1)["pci"].update(width=2),
    "PCIe Gen1": lambda request: rail(request)["pci"].update(speed_gts=2.5),
    "a driver of its own": lambda request: [rail(request, number).update(driver_version="26.01-0.7.0") for number in (0, 1)],
    "another firmware": lambda request: [rail(request, number).update(firmware="28.47.1088") for number in (0, 1)],
    "a LAN equal to a rail subnet": route("10.77.1.0/24"),
    "a LAN inside a rail subnet": route("10.77.1.64/26"),
    "a LAN around the rail subnets": route("10.0.0.0/8"),
    "a more specific route through a gateway": route("10.77.0.9/32", "192.168.10.1"),
    "a wider route through a gateway": route("10.0.0.0/8", "192.168.10.1"),
}
VALIDATE: dict[str, Break] = {
    "a node that was never configured": lambda request: unconfigured(request, "spark-1"),
    "a desktop that was never configured": held_by_network_manager,
    "a little memory to lock": lambda request: facts(request)["platform"]["memlock"].update(soft=8388608),
    "no ib_uverbs": lambda request: facts(request)["platform"]["modules"].update(ib_uverbs=False),
    "no rdma_ucm": lambda request: facts(request)["platform"]["modules"].update(rdma_ucm=False),
    "a rail that went away": lambda request: no_rail(request, 1),
    "a cable that was pulled": lambda request: no_cable(request, link_reason="No cable", mtu=1500, addresses=[], gid_index=None),
    "no link, with the kernel's reason": lambda request: rail(request).update(carrier=False, speed_mbps=None, link_reason="No cable"),
    "no link, no reason": lambda request: rail(request).update(carrier=None),
    "100G on both ends": lambda request: [rail(request, 0, name).update(speed_mbps=100000) for name in NAMES],
    "MTU 1500": lambda request: rail(request, 1).update(mtu=1500),
    "no address": lambda request: rail(request).update(addresses=[]),
    "a second address": lambda request: rail(request)["addresses"].append({**rail(request)["addresses"][0], "address": "192.168.1.5", "prefix": 16}),
    "no RDMA device": lambda request: rail(request).update(rdma=None, gids=[], gid_index=None),
    "no GID": lambda request: rail(request).update(gid_index=None),
    "ARP of the wrong rail is answered": lambda request: rail(request)["sysctl"].update(arp_ignore=0),
    "ARP is asked with the wrong address": lambda request: rail(request)["sysctl"].update(arp_announce=0),
    "a change that was never confirmed": lambda request: facts(request).update(rollback={"id": "x", "deadline": 1.0, "seconds_left": 0.0}),
    "a peer that does not answer": lambda request: path(request).update(
        small_ok=False, full_ok=False, largest_mtu=None, neighbour_mac=None, reason="nobody answers ARP for its address"
    ),
    "a path with MTU 1500": lambda request: path(request).update(full_ok=False, largest_mtu=1500, reason="lost on the way or at the peer"),
    "a lossy path": lambda request: path(request).update(received=2, loss_percent=33.3),
    "the peer's other rail answers": lambda request: path(request).update(neighbour_mac="3c:6d:66:00:02:00"),
    "the peer's other rail answers ARP and nothing else": lambda request: path(request).update(
        small_ok=False, full_ok=False, largest_mtu=None, neighbour_mac="3c:6d:66:00:02:00", reason="no answer, although ARP was answered"
    ),
    "an old NCCL": lambda request: [node.update(version="2.27.7", build="2.27.7+cuda13.0") for node in request["nccl"].values()],
    "no NCCL": lambda request: request["nccl"]["spark-1"].update(version=None, build=None, error=NO_NCCL),
    "no NCCL anywhere": lambda request: [
        request["nccl"][name].update(version=None, build=None, error=error)
        for name, error in zip(NAMES, (NO_NCCL, "/x/libnccl.so.2 does not tell its version"), strict=True)
    ],
    "two builds of NCCL": lambda request: request["nccl"]["spark-2"].update(build="2.30.7+cuda13.2"),
}
CASES = [(stage, name, broken) for stage, table in (("preflight", PREFLIGHT), ("validate", VALIDATE)) for name, broken in table.items()]
MESSAGES: dict[str, dict[str, list[dict[str, str]]]] = yaml.safe_load(Path(__file__).with_name("messages.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("stage", "name", "broken"), CASES)
def test_what_is_broken_is_said_and_nothing_else(stage: str, name: str, broken: Break) -> None:
    request = healthy_fabric.request()
    broken(request)
    expected = [(row["id"], row["status"], row["message"]) for row in MESSAGES[stage][name]]
    assert [row for row in said(request, stage) if not row[2].endswith(UNKNOWN)] == expected


@pytest.mark.parametrize("stage", ["preflight", "validate"])
def test_a_healthy_fabric_passes_every_row(stage: str) -> None:
    assert said(healthy_fabric.request(), stage) == []
    asked = {row["id"] for row in prepared(catalogue(), [], stage)}
    assert asked - {result["id"] for result in results(healthy_fabric.request(), stage)} == {"card", "kho"}


def harmless(request: Request) -> None:
    """What looks bad on healthy machines: no hot-plug marker, an EEPROM that names another cable, addresses of the loopback."""
    power = {"time": 1.0, "text": "Detected insufficient power on the PCIe slot (27W)."}
    facts(request)["hotplug"].update(marker=False, enabled=None, events=[power])
    facts(request)["ports"]["p0"]["module"] = {"identifier": "0x11 (QSFP28)", "type": "40G Ethernet: 40G Base-CR4", "length": "1m"}
    facts(request)["problems"] = ["GPUDirect RDMA - expected nothing, found disabled. That is so on GB10."]
    rail(request).update(carrier_down_count=21, fec={"configured": [], "active": []})
    rail(request)["addresses"].append({"address": "fe80::1", "prefix": 64, "family": "inet6", "scope": "link"})


@pytest.mark.parametrize("stage", ["preflight", "validate"])
def test_what_only_looks_bad_passes(stage: str) -> None:
    request = healthy_fabric.request()
    harmless(request)
    assert said(request, stage) == []


def test_a_first_run_meets_unconfigured_rails_without_complaint_and_validation_says_that_first() -> None:
    request = healthy_fabric.request()
    for name in NAMES:
        facts(request, name)["platform"]["memlock"].update(soft=8388608, hard=8388608)
        facts(request, name)["platform"]["modules"].update(ib_uverbs=False, rdma_ucm=False)
    unconfigured(request, *NAMES)
    assert said(request, "preflight") == []
    assert [row[0] for row in said(request, "validate")][:2] == ["configuration", "configuration"]


def test_a_rail_that_somebody_else_gave_its_planned_address_is_configured() -> None:
    request = healthy_fabric.request()
    for number in (0, 1):
        rail(request, number).update(claims=[])
    assert said(request, "validate") == []


def test_our_rows_are_well_formed_and_their_ids_unique() -> None:
    rows = catalogue()
    assert [fault for row in rows for fault in _problems(dict(row))] == []
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["applies_to"] for row in rows} == set(SCOPES)
    assert all(row["fix"].endswith(".") for row in rows)


def test_every_row_has_a_case_that_breaks_it() -> None:
    broken = {row["id"] for cases in MESSAGES.values() for rows in cases.values() for row in rows if row["status"] != "skip"}
    assert {row["id"] for row in catalogue()} == broken

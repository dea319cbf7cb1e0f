# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused, in exactly which words, and that nothing was touched."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._link import _run
from link_facts import claim, connectx, options, slice_of
from link_machine import CLOUD_INIT, FakeMachine

R0, R1 = "p0 rail 0 (enp1s0f0np0)", "p0 rail 1 (enP2p1s0f0np0)"


def rail(facts: Any, number: int = 0) -> Any:
    """A rail of p0."""
    return facts["ports"]["p0"]["rails"][number]


def nothing(_facts: Any) -> None:
    """A healthy node."""


def management(facts: Any) -> None:
    facts["management"] = {"interface": "enP7s7", "address": None, "interfaces": ["enP7s7", "enp1s0f0np0"]}


def default_route(facts: Any) -> None:
    facts["routes"].append({"destination": "0.0.0.0/0", "interface": "enP2p1s0f0np0", "gateway": "10.0.0.1", "protocol": "dhcp", "metric": 100})


def bond(facts: Any) -> None:
    rail(facts)["master"] = "bond0"


def small(facts: Any) -> None:
    rail(facts, 1)["max_mtu"] = 4000


def half(facts: Any) -> None:
    del facts["ports"]["p0"]["rails"][1]


def unplugged(facts: Any) -> None:
    facts["ports"], facts["hotplug"]["marker"] = {}, True


def driverless(facts: Any) -> None:
    facts["ports"] = {}


def job(facts: Any) -> None:
    facts["jobs"] = [{"pid": 4711, "command": "python3", "rdma": ["rocep1s0f0", "rocep1s0f1"], "gpu": True}]


def storage(facts: Any) -> None:
    facts["jobs"] = [{"pid": 4712, "command": "nvmf_tgt", "rdma": ["roceP2p1s0f0"], "gpu": False}]


def job_elsewhere(facts: Any) -> None:
    """On the GPU with the rails of the other port, and on the GPU alone, which is in no list."""
    facts["jobs"] = [{"pid": 4711, "command": "python3", "rdma": ["rocep1s0f1", "roceP2p1s0f1"], "gpu": True}]


def claims(*found: Any) -> Any:
    def change(facts: Any) -> None:
        rail(facts)["claims"] = list(found)

    return change


OTHER_FILE = "Remove /etc/netplan/40-cx7.yaml, or let takeover: true move it to the backup; state: absent puts it back."
SHARED = claim(file="/etc/netplan/50-cloud-init.yaml", shared_with=["enP7s7"])
SHARED_TEXT = "network:\n  version: 2\n  ethernets:\n    enP7s7:\n      addresses: [192.168.10.11/24]\n    enp1s0f0np0: {dhcp4: true}\n"

TABLE: list[tuple[str, Any, Any, list[str]]] = [
    (
        "no backend", nothing, options(backend=None),
        ["network configuration - expected netplan with systemd-networkd or NetworkManager, or NetworkManager alone, found none of them that answers. "
         "Install, start or restart one of them; Ubuntu comes with netplan."],
    ),
    (
        "no port", nothing, options(ports={}),
        ["ports - expected at least one planned port, found none. Give the ports of fabric_plan.nodes[inventory_hostname]."],
    ),
    (
        "time limit", nothing, options(confirm_timeout=5),
        ["confirm_timeout - expected 15 to 3600 seconds, found 5. 60 is enough for a login over a slow network."],
    ),
    (
        "half a slice", nothing, options(ports={"p0": {"rails": slice_of("p0")["p0"]["rails"][1:]}}),
        ["p0: rails - expected rail 0 and rail 1, found [1]. Give the ports of fabric_plan.nodes[inventory_hostname] as they are."],
    ),
    (
        "no slice", nothing, options(ports={"p0": {"rails": [{"rail": 0, "address": "10.0.0.300", "prefix": 24}]}}, interfaces={"p1": ["a"]}),
        ["p0: rails - expected a list of rails with rail, address, prefix and subnet each, "
         "found [{'rail': 0, 'address': '10.0.0.300', 'prefix': 24}]. Give the ports of fabric_plan.nodes[inventory_hostname] as they are.",
         "interfaces.p1 - expected two device names, rail 0 first, found ['a']. Write them as in the plan, p0: [aerial00, aerial02]."],
    ),
    (
        "management", management, options(),
        ["enp1s0f0np0 - expected an interface that carries no management, found the one that carries this SSH session. "
         "Reach the machine over another interface, or correct fabric_interfaces."],
    ),
    (
        "default route", default_route, options(),
        ["enP2p1s0f0np0: default route - expected none on a rail, found one via 10.0.0.1. Move the default route to the management interface."],
    ),
    (
        "bond", bond, options(),
        [f"{R0}: bond or bridge - expected none, found bond0. Take enp1s0f0np0 out of bond0: RDMA gains nothing from bonds and bridges."],
    ),
    ("MTU", small, options(), [f"{R1}: MTU - expected at most 4000, found 9000. Lower fabric_mtu for all nodes."]),
    (
        "one rail", half, options(),
        ["p0: rails on this machine - expected 2, found 1 (enp1s0f0np0). "
         "One PCIe function is missing: power the machine off for a minute with the cable in, then look for its PCI domain in lspci."],
    ),
    (
        "hot-plug", unplugged, options(),
        ["p0: rails on this machine - expected 2, found 0. "
         "Hot-plug power saving takes a card without cable off the bus: plug in the cable and reboot."],
    ),
    (
        "no card", driverless, options(),
        ["p0: rails on this machine - expected 2, found 0. "
         "The card is not on the PCI bus or has no driver: check the cable, lspci -d 15b3: and mlx5_core, and reboot with the cable in."],
    ),
    (
        "job", job, options(),
        ["enp1s0f0np0: jobs - expected none while the address or MTU changes, found python3 (pid 4711, which also has the GPU). "
         "Wait for it to end, or allow the interruption with interrupt_jobs: true."],
    ),
    (
        "RDMA without the GPU", storage, options(),
        ["enP2p1s0f0np0: jobs - expected none while the address or MTU changes, found nvmf_tgt (pid 4712). "
         "Wait for it to end, or allow the interruption with interrupt_jobs: true."],
    ),
    ("job on other rails", job_elsewhere, options(), []),
    ("job with consent", job, options(interrupt_jobs=True), []),
    (
        "claim", claims(claim()), options(),
        [f"{R0}: other configuration - expected none, found netplan definition enp1s0f0np0 in /etc/netplan/40-cx7.yaml. {OTHER_FILE}"],
    ),
    ("claim of both rails, taken over", claims(claim(shared_with=["enP2p1s0f0np0"])), options(takeover=True), []),
    (
        "claim of an unplanned port as well, taken over", claims(claim(shared_with=["enp1s0f1np1"])), options(takeover=True),
        [f"{R0}: other configuration - expected none, found netplan definition enp1s0f0np0 in /etc/netplan/40-cx7.yaml. "
         "/etc/netplan/40-cx7.yaml also configures enp1s0f1np1 and is never moved. Make this edit and run again:\n"],
    ),
    (
        "shared file", claims(SHARED), options(takeover=True),
        [f"{R0}: other configuration - expected none, found netplan definition enp1s0f0np0 in /etc/netplan/50-cloud-init.yaml. "
         "/etc/netplan/50-cloud-init.yaml also configures enP7s7 and is never moved. Make this edit and run again:\n"
         "--- /etc/netplan/50-cloud-init.yaml\n+++ /etc/netplan/50-cloud-init.yaml\n@@ -6 +5,0 @@\n-    enp1s0f0np0: {dhcp4: true}"],
    ),
    (
        "wildcard", claims(claim(name="all-en", file="/etc/netplan/50-all.yaml", pattern="en*", shared_with=["enP7s7"])), options(takeover=True),
        [f"{R0}: other configuration - expected none, found netplan definition all-en in /etc/netplan/50-all.yaml. "
         "Replace the pattern en* in /etc/netplan/50-all.yaml by the names it is meant for (enP2p1s0f1np1, enP7s7, enp1s0f1np1)."],
    ),
    (
        "unit", claims(claim("networkd", "50-cx7.network", "/etc/systemd/network/50-cx7.network")), options(),
        [f"{R0}: other configuration - expected none, found networkd unit 50-cx7.network in /etc/systemd/network/50-cx7.network. "
         "Remove /etc/systemd/network/50-cx7.network, or let takeover: true move it to the backup; state: absent puts it back."],
    ),
    (
        "unit of the system", claims(claim("networkd", "05-all.network", "/usr/lib/systemd/network/05-all.network", effective=False)),
        options(takeover=True),
        [f"{R0}: other configuration - expected none, found networkd unit 05-all.network in /usr/lib/systemd/network/05-all.network. "
         "Remove it and run again; it is not in a file of its own below /etc."],
    ),
    ("unit that comes after ours", claims(claim("networkd", "80-x.network", "/etc/systemd/network/80-x.network", effective=False)), options(), []),
    (
        "profile", claims(claim("NetworkManager", "mine", "/etc/NetworkManager/system-connections/mine.nmconnection", effective=False)), options(),
        [f"{R0}: other configuration - expected none, found NetworkManager connection mine in "
         "/etc/NetworkManager/system-connections/mine.nmconnection. "
         "Remove /etc/NetworkManager/system-connections/mine.nmconnection, or let takeover: true move it to the backup; state: absent puts it back."],
    ),
    (
        "automatic profile",
        claims(claim("NetworkManager", "Wired connection 1", "/run/NetworkManager/system-connections/Wired connection 1.nmconnection")),
        options(), [],
    ),
    ("profile for any device", claims(claim("NetworkManager", "any", "/etc/NetworkManager/x", pattern="*", effective=False)), options(), []),
    ("ours", claims(claim(file="/etc/netplan/60-gb10-fabric.yaml", ours=True)), options(), []),
]  # fmt: skip


@pytest.mark.parametrize(("change", "run", "texts"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_refusal(change: Any, run: Any, texts: list[str]) -> None:
    machine = FakeMachine()
    if "Make this edit and run again:\n---" in "".join(texts):
        machine.put("/etc/netplan/50-cloud-init.yaml", SHARED_TEXT)
        machine.start()
    if run["takeover"]:
        machine.put("/etc/netplan/40-cx7.yaml", "network: {version: 2}\n")
    machine.steps, before = [], machine.state()
    refused: list[str] = []
    facts = connectx(run.pop("backend", "netplan-networkd"), change)
    try:
        _run.run(machine, run, True, lambda _interfaces: facts)
    except _run.Refused as error:
        refused = error.texts
    assert refused == texts
    assert (machine.steps, machine.state()) == ([], before)


def test_everything_is_refused_at_once() -> None:
    def all_of_it(facts: Any) -> None:
        for change in (management, bond, small, job, claims(claim())):
            change(facts)

    with pytest.raises(_run.Refused) as refused:
        _run.run(FakeMachine(), options(ports=slice_of("p0", "p1"), confirm_timeout=1), False, lambda _interfaces: connectx(change=all_of_it))
    assert [text.split(" - ")[0] for text in refused.value.texts] == [
        "confirm_timeout", "enp1s0f0np0", f"{R0}: bond or bridge", f"{R1}: MTU", f"{R0}: other configuration", "enp1s0f0np0, enp1s0f1np1: jobs",
    ]  # fmt: skip
    assert str(refused.value) == "\n".join(refused.value.texts)


NEVER = "Activate or undo that edit first; the next activation, ours or a reboot, would bring it in unseen."


def edited(machine: FakeMachine) -> None:
    machine.put("/etc/netplan/50-cloud-init.yaml", CLOUD_INIT.replace("10.11", "10.12"))


def rendered_only(machine: FakeMachine) -> None:
    edited(machine)
    machine._generate("")


def broken(machine: FakeMachine) -> None:
    machine.put("/etc/netplan/70-x.yaml", "network: [")


def renderer_for_all(machine: FakeMachine) -> None:
    machine.put("/etc/netplan/40-cx7.yaml", "network:\n  renderer: NetworkManager\n  ethernets:\n    enp1s0f0np0: {addresses: [192.168.100.1/24]}\n")
    machine.start()


@pytest.mark.parametrize(
    ("prepare", "text"),
    [
        (edited, f"netplan: enP7s7 - expected the files say what runs, found an edit that was never activated. {NEVER}"),
        (rendered_only, f"netplan: enP7s7 - expected the files say what runs, found an edit that was never activated. {NEVER}"),
        (
            broken,
            "netplan generate - expected files that netplan accepts, found /etc/netplan/70-x.yaml: Error in network definition. "
            "Correct them, then run again.",
        ),
        (
            renderer_for_all,
            "netplan: enP7s7 - expected no change outside our rails, found a change. "
            "Something in the files that change here applies to it too, a renderer for all say: state that in a file of its own first.",
        ),
    ],
    ids=["an edit never rendered", "an edit rendered but never activated", "a broken file", "a renderer for all in a file to be moved"],
)
def test_refusal_of_what_netplan_would_do_to_others(prepare: Any, text: str) -> None:
    machine = FakeMachine()
    prepare(machine)
    machine.links["enP7s7"]["carrier"] = True
    machine.steps, before = [], machine.state()
    facts = connectx(change=claims(claim()) if prepare is renderer_for_all else nothing)
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(takeover=True), False, lambda _interfaces: facts)
    assert text in refused.value.texts
    assert (machine.steps, machine.state()) == ([], before)


def taken_over() -> FakeMachine:
    """A node whose left-over file lies in the backup."""
    machine = FakeMachine()
    machine.put("/etc/netplan/40-cx7.yaml", "network:\n  ethernets:\n    enp1s0f0np0: {addresses: [192.168.100.1/24]}\n")
    machine.start()
    _run.run(machine, options(takeover=True), False, lambda _interfaces: connectx(change=claims(claim())))
    _run.run(machine, options("confirmed"), False, lambda _interfaces: connectx())
    return machine


def test_absent_refuses_to_overwrite_a_newer_file_and_to_cut_the_branch_it_sits_on() -> None:
    machine = taken_over()
    machine.put("/etc/netplan/40-cx7.yaml", "network:\n  ethernets: {}\n")
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options("absent", {}), False, lambda _interfaces: connectx(change=management))
    assert refused.value.texts == [
        "/etc/netplan/40-cx7.yaml - expected no file, so that the one of before can be put back, found a newer one. "
        "Remove or rename it, then run again.",
        "enp1s0f0np0 - expected an interface that carries no management, found the one that carries this SSH session. "
        "Reach the machine over another interface, or correct fabric_interfaces.",
    ]


def test_second_takeover_of_a_file_never_overwrites_the_backup_of_the_original() -> None:
    machine = taken_over()
    copy = "/var/lib/gb10/link/files/etc/netplan/40-cx7.yaml"
    original = machine.files[copy]
    machine.put("/etc/netplan/40-cx7.yaml", "network:\n  ethernets:\n    enp1s0f0np0: {addresses: [10.9.9.9/24]}\n")
    machine.start()
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(takeover=True), False, lambda _interfaces: connectx(change=claims(claim())))
    assert (
        f"/etc/netplan/40-cx7.yaml - expected a file taken over once, found the original in {copy}, and a newer one. "
        "Remove or rename the newer one, then run again; state: absent puts the original back."
    ) in refused.value.texts
    assert machine.files[copy] == original


def test_absent_puts_no_empty_file_in_the_place_of_a_backup_that_is_gone() -> None:
    machine = taken_over()
    copy = "/var/lib/gb10/link/files/etc/netplan/40-cx7.yaml"
    del machine.files[copy]
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options("absent", {}), False, lambda _interfaces: connectx())
    assert refused.value.texts == [
        f"{copy} - expected the copy of /etc/netplan/40-cx7.yaml from before the first run, found none. "
        "Bring the copy back, or remove the entry of /etc/netplan/40-cx7.yaml from /var/lib/gb10/link/record.json, then run again."
    ]
    assert "/etc/netplan/40-cx7.yaml" not in machine.files


@pytest.mark.parametrize("state", ["present", "absent"])
def test_file_that_can_not_be_read_is_a_refusal(state: str) -> None:
    machine = taken_over()
    look = machine.read

    def read(path: str) -> bytes | None:
        if path == "/etc/netplan/50-cloud-init.yaml":
            raise OSError(5, "Input/output error", path)
        return look(path)

    machine.read = read  # type: ignore[method-assign]
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(state, {} if state == "absent" else slice_of("p1")), False, lambda _interfaces: connectx())
    text = "/etc/netplan/50-cloud-init.yaml - expected a file that can be read and written, found Input/output error. Repair that, then run again."
    assert refused.value.texts == [text]


def test_module_that_this_kernel_does_not_have_is_a_warning_and_no_change() -> None:
    machine = FakeMachine()
    machine.loadable = {"ib_uverbs"}

    def bare(facts: Any) -> None:
        facts["platform"]["modules"] = {"ib_uverbs": "ib_uverbs" in machine.loaded, "rdma_ucm": False}

    first = _run.run(machine, options(), False, lambda _interfaces: connectx(change=bare))
    warning = (
        "kernel module rdma_ucm - expected loaded, found none for this kernel. "
        "RDMA programs can not open the card; install the modules of this kernel."
    )
    assert (machine.loaded, first["warnings"]) == ({"ib_uverbs"}, [warning])
    _run.run(machine, options("confirmed"), False, lambda _interfaces: connectx())
    second = _run.run(machine, options(), False, lambda _interfaces: connectx(change=bare))
    assert (second["changed"], second["warnings"]) == (False, [warning])


@pytest.mark.parametrize("path", ["/var/lib/gb10/rollback/armed.json", "/var/lib/gb10/rollback/firing.json", "/var/lib/gb10/link/record.json"])
@pytest.mark.parametrize("content", ["{", "[]", "{}"])
@pytest.mark.parametrize("state, check_mode", [("present", False), ("present", True), ("absent", False), ("absent", True)])
def test_data_of_ours_that_can_not_be_read_is_not_guessed_at(path: str, content: str, state: str, check_mode: bool) -> None:
    machine = FakeMachine()
    machine.put(path, content)
    before = machine.state()
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(state), check_mode, lambda _interfaces: connectx())
    first = "interfaces" if "record" in path else "id"
    wrong = {"{": "JSON that this collection wrote, found something else", "[]": "an object, found a list", "{}": f"{first}, found nothing"}
    assert refused.value.texts == [f"{path} - expected {wrong[content]}. Put the links right by hand, then remove that file."]
    assert machine.state() == before


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize("wall", ["/var/lib/gb10", "/etc/sysctl.d", "/etc/systemd/system/multi-user.target.wants"])
def test_folder_that_can_not_be_one_is_refused_in_check_mode_too(wall: str, check_mode: bool) -> None:
    machine = FakeMachine()
    machine.walls = [wall]
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(), check_mode, lambda _interfaces: connectx())
    assert refused.value.texts == [f"{wall} - expected a folder, or nothing, found something else. Move it away, then run again."]
    assert machine.steps == []


def test_folder_that_nothing_is_written_to_forbids_nothing() -> None:
    machine = FakeMachine()
    for state in ("present", "confirmed"):
        _run.run(machine, options(state), False, lambda _interfaces: connectx())
    machine.walls = ["/var/lib/gb10"]
    assert _run.run(machine, options(), False, lambda _interfaces: connectx())["changed"] is False


def test_only_one_run_at_a_time() -> None:
    machine = FakeMachine()

    class Busy:
        def __enter__(self) -> bool:
            return False

        def __exit__(self, *_exc: object) -> None:
            return None

    machine.locked = lambda _path, _wait, create: Busy()  # type: ignore[assignment, method-assign, return-value]
    text = "connectx_link - expected one run at a time, found another one at work on this machine. Wait for it to end."
    with pytest.raises(_run.Refused, match=text):
        _run.run(machine, options(), False, lambda _interfaces: connectx())


@pytest.mark.parametrize("check", [False, True], ids=["real run", "check mode"])
def test_user_who_is_not_root_is_told_so(check: bool) -> None:
    machine = FakeMachine()

    def denied(path: str, _wait: float, create: bool) -> None:
        assert create is not check
        raise PermissionError(13, "Permission denied", path)

    machine.locked = denied  # type: ignore[assignment, method-assign]
    text = "connectx_link - expected the rights of root, found no right to use /run/gb10-link.lock. Run it with become: true."
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(), check, lambda _interfaces: connectx())
    assert refused.value.texts == [text]

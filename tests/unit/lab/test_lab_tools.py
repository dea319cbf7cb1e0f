# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-ins speak like the real tools; real captures where there are any, the collection's own parsers for the rest."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _ethtool, _text
from ansible_collections.gb10.cluster.plugins.module_utils._roce import _worker
from ansible_collections.gb10.cluster.plugins.module_utils._roce._worker import Live
from gb10lab import card
from gb10lab import ethtool_text as ethtool

PLUGGED = {"p0": {"serial": "LABCABLE00", "speed": 200000}}
UP = {"up": True, "carrier": True, "speed": 200000, "module": card.describe(PLUGGED)["ports"]["p0"]["module"]}


def test_settings_of_a_good_link_are_the_published_capture(fixtures: Path) -> None:
    """Byte for byte."""
    assert ethtool.settings("enp1s0f0np0", UP) == (fixtures / "connectx/ethtool-200g-up.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"speed": 100000}, {"speed_mbps": 100000, "lanes": 2, "link_detected": True, "link_reason": None}, id="100G"),
        pytest.param(
            {"carrier": False, "module": None}, {"speed_mbps": None, "lanes": None, "link_detected": False, "link_reason": "No cable"}, id="no cable"
        ),
        pytest.param(
            {"carrier": False}, {"speed_mbps": None, "lanes": None, "link_detected": False, "link_reason": "No partner detected"}, id="nobody there"
        ),
        pytest.param(
            {"carrier": False, "up": False}, {"speed_mbps": None, "lanes": None, "link_detected": False, "link_reason": None}, id="down by hand"
        ),
    ],
)
def test_settings_of_other_links(change: dict[str, Any], expected: dict[str, Any]) -> None:
    """What the collection reads from them."""
    assert _ethtool.link(ethtool.settings("enp1s0f0np0", UP | change)) == expected


def test_driver() -> None:
    """Firmware and PSID in mlx5's form."""
    state = {"kernel": "6.17.0", "firmware": card.FIRMWARE, "psid": card.PSID, "bdf": "0000:01:00.0"}
    assert _ethtool.driver(ethtool.driver(state)) == {
        "driver": "mlx5_core",
        "driver_version": "6.17.0",
        "firmware": "28.45.4028",
        "psid": "NVD0000000087",
    }


def test_module() -> None:
    """The cable's identity; nothing where there is none."""
    assert _ethtool.module(ethtool.module(UP))["serial_number"] == "LABCABLE00"
    assert ethtool.module({"module": None}) == ""


@pytest.mark.parametrize(("carrier", "capture"), [(True, "ethtool-show-fec-rs.txt"), (False, "ethtool-show-fec-none.txt")])
def test_fec_is_the_published_capture(fixtures: Path, carrier: bool, capture: str) -> None:
    """Byte for byte; the name of the interface is the capture's."""
    expected = (fixtures / "connectx" / capture).read_text(encoding="utf-8")
    name = expected.partition(":")[0].rpartition(" ")[2]
    assert ethtool.fec(name, {"carrier": carrier}) == expected


TOOLS = Path(__file__).resolve().parents[2] / "lab/node/tools"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    """A node as the stand-ins see it: one cable in p0, whose rail 0 has carrier and whose rail 1 is down. Runs one by name."""
    card.write(tmp_path / "hw", card.tree(1))
    card.write_description(tmp_path / "hw", PLUGGED)
    (tmp_path / "sys/class").mkdir(parents=True)
    (tmp_path / "sys/class/infiniband").symlink_to(tmp_path / "hw/infiniband")
    # the links of hw/infiniband resolve where the node mounts it
    (tmp_path / "devices").symlink_to(tmp_path / "hw/devices")
    for number, function in enumerate(card.FUNCTIONS[:2], 4):
        own = {"ifindex": number, "statistics/rx_bytes": 7, "statistics/tx_bytes": 8} | ({} if function.rail else {"carrier": 1})
        card.write(tmp_path / "sys/class/net" / function.interface, {name: str(value) for name, value in own.items()})
    state = tmp_path / "hw/devices" / card.FUNCTIONS[0].folder / "infiniband" / card.FUNCTIONS[0].rdma / "ports/1/state"
    state.write_text("4: ACTIVE\n", encoding="ascii")

    def run(tool: str, *words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / tool).symlink_to(TOOLS)
        environment = {**os.environ, "LAB_HW": str(tmp_path / "hw"), "LAB_SYS": str(tmp_path / "sys"), "LAB_QOS": str(tmp_path / "qos")}
        done = subprocess.run([tmp_path / tool, *words], capture_output=True, text=True, check=False, env=environment)
        (tmp_path / tool).unlink()
        return done

    return run


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["enp1s0f0np0"], ethtool.settings("enp1s0f0np0", UP), id="settings with carrier"),
        pytest.param(["enP2p1s0f0np0"], ethtool.settings("enP2p1s0f0np0", UP | {"up": False, "carrier": False}), id="settings while down"),
        pytest.param(["--show-fec", "enp1s0f0np0"], ethtool.fec("enp1s0f0np0", UP), id="fec"),
        pytest.param(["-m", "enP2p1s0f0np0"], ethtool.module(UP), id="the module is read also while down"),
        pytest.param(
            ["-S", "enp1s0f0np0"], "NIC statistics:\n     rx_bytes: 7\n     tx_bytes: 8\n" + ethtool.counters(), id="the kernel's counters are live"
        ),
    ],
)
def test_ethtool_answers_by_the_live_state(run: Run, words: list[str], expected: str) -> None:
    """The text that lies ready for what the device is now."""
    done = run("ethtool", *words)
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


def test_ethtool_driver(run: Run) -> None:
    """The PCI function of the very device."""
    assert "bus-info: 0002:01:00.0\n" in run("ethtool", "-i", "enP2p1s0f0np0").stdout


def test_no_module_is_an_error(run: Run, tmp_path: Path) -> None:
    """As on a port without a cable."""
    card.write_description(tmp_path / "hw", {})
    done = run("ethtool", "-m", "enp1s0f0np0")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "netlink error: Input/output error\n")


def test_the_memory_of_a_module_is_for_root(run: Run, tmp_path: Path) -> None:
    """Others can not read the text that lies ready."""
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "hw/ethtool/enp1s0f0np0").iterdir()}
    assert {name for name, mode in modes.items() if mode == 0} == {"module"}


def test_port_counters_are_known_to_the_collection() -> None:
    """Those that it looks at are there."""
    assert _ethtool.counters(ethtool.counters())["rx_discards_phy"] == 0


def test_rdma_links(run: Run) -> None:
    """The form of ``rdma -j link`` and of ``rdma link``; functions without a netdev are not on the bus."""
    assert json.loads(run("rdma", "-j", "link").stdout) == [
        {"ifindex": 0, "ifname": "rocep1s0f0", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "enp1s0f0np0", "netdev_index": 4},
        {
            "ifindex": 1,
            "ifname": "roceP2p1s0f0",
            "port": 1,
            "state": "DOWN",
            "physical_state": "DISABLED",
            "netdev": "enP2p1s0f0np0",
            "netdev_index": 5,
        },
    ]
    assert run("rdma", "link", "show").stdout.splitlines()[0] == "link rocep1s0f0/1 state ACTIVE physical_state LINK_UP netdev enp1s0f0np0 "


def test_rdma_devices(run: Run) -> None:
    """The form of ``rdma -j dev`` and of ``rdma dev``."""
    first = json.loads(run("rdma", "-j", "dev").stdout)[0]
    assert (first["ifname"], first["fw"], first["node_guid"]) == ("rocep1s0f0", card.FIRMWARE, "0200:0001:0003:0000")
    assert run("rdma", "dev").stdout.startswith(f"0: rocep1s0f0: node_type ca fw {card.FIRMWARE} node_guid 0200:0001:0003:0000 sys_image_guid")


def test_lists_of_functions(run: Run) -> None:
    """In the order of the bus."""
    assert run("ibdev2netdev").stdout == "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)\nroceP2p1s0f0 port 1 ==> enP2p1s0f0np0 (Down)\n"
    assert [line.split()[0] for line in run("lspci", "-D").stdout.splitlines()] == ["0000:01:00.0", "0002:01:00.0"]


@pytest.mark.parametrize(
    ("words", "code", "loaded"),
    [
        pytest.param(["ib_umad"], 0, ["ib_umad"], id="a module that the kernel has"),
        pytest.param(["-a", "rdma-ucm", "ib_umad"], 0, ["ib_umad", "rdma_cm", "rdma_ucm"], id="a dash is an underscore, and rdma_ucm needs rdma_cm"),
        pytest.param(["-n", "rdma_ucm"], 0, [], id="a dry run"),
        pytest.param(["-q", "nvidia_peermem"], 1, [], id="one that it has not"),
    ],
)
def test_modprobe(run: Run, tmp_path: Path, words: list[str], code: int, loaded: list[str]) -> None:
    """What is loaded shows in /sys/module."""
    done = run("modprobe", *words)
    found = sorted(path.name for path in (tmp_path / "sys/module").iterdir()) if (tmp_path / "sys/module").exists() else []
    assert (done.returncode, done.stderr, found) == (code, "", loaded)


def test_rdma_cm_has_a_type_of_service_for_every_device(run: Run, tmp_path: Path) -> None:
    """Where the collection looks for it, once the module is loaded; loading it again changes nothing."""
    assert _worker.read_tos("rocep1s0f0", str(tmp_path)) is None
    run("modprobe", "rdma_ucm")
    _worker.write_tos("rocep1s0f0", 106, str(tmp_path))
    run("modprobe", "rdma_cm")
    assert [_worker.read_tos(device, str(tmp_path)) for device in ("rocep1s0f0", "roceP2p1s0f0")] == [106, 0]


FRESH = Live({}, [], [True, True])
LOSSLESS = Live({26: 3, 48: 6}, [3], [False, False])


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([], FRESH, id="as the driver starts: global pause, nothing else"),
        pytest.param([Live({26: 3, 48: 6}, [], [True, True])], Live({26: 3, 48: 6}, [], [True, True]), id="ecn"),
        pytest.param([LOSSLESS], LOSSLESS, id="lossless"),
        pytest.param([LOSSLESS, FRESH], FRESH, id="and back"),
        pytest.param([Live({26: 5}, [], [True, False]), LOSSLESS], LOSSLESS, id="another priority before"),
    ],
)
def test_qos_as_the_collection_writes_and_reads_it(run: Run, steps: list[Live], expected: Live) -> None:
    """What its own commands lead to, by its own eyes; the other rail stays as it was."""

    def call(words: list[str]) -> _worker.Done:
        done = run(*words)
        return _worker.Done(done.returncode, done.stdout, done.stderr)

    for wanted in steps:
        for command in _worker.commands("enp1s0f0np0", _worker.read("enp1s0f0np0", [26, 48], call), wanted):
            assert call(command) == (0, "", "")
    assert _worker.read("enp1s0f0np0", [26, 48], call) == expected
    assert _worker.read("enP2p1s0f0np0", [26, 48], call) == FRESH


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["dcb -j app show dev enp1s0f0np0"], "{}\n", id="an empty map"),
        pytest.param(
            ["dcb app add dev enp1s0f0np0 dscp-prio 48:6 26:3", "dcb -N -j app show dev enp1s0f0np0"],
            '{"dscp_prio":[[26,3],[48,6]]}\n',
            id="a map in the order of the DSCPs",
        ),
        pytest.param(
            ["dcb app add dev enp1s0f0np0 dscp-prio 26:3", "dcb app flush dev enp1s0f0np0", "dcb -j app show dev enp1s0f0np0"], "{}\n", id="flush"
        ),
        pytest.param(
            ["dcb pfc set dev enp1s0f0np0 prio-pfc all:on 0:off", "dcb pfc show dev enp1s0f0np0"],
            "pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:on 2:on 3:on 4:on 5:on 6:on 7:on\n",
            id="text, and all but one",
        ),
        pytest.param(
            ["dcb pfc set dev enp1s0f0np0 prio-pfc 3:on", "ethtool -A enp1s0f0np0 rx on", "dcb -j pfc show dev enp1s0f0np0"],
            '{"pfc_cap":8,"macsec_bypass":false,"delay":0,"prio_pfc":[' + ",".join(["false"] * 8) + "]}\n",
            id="global pause ends PFC",
        ),
    ],
)
def test_what_dcb_prints(run: Run, words: list[str], expected: str) -> None:
    """The last of the commands; the forms are iproute2's."""
    assert [run(*line.split()).stdout for line in words][-1] == expected


@pytest.mark.parametrize(
    ("seconds", "plugged_late"), [pytest.param(29.0, False, id="while it boots"), pytest.param(120.0, True, id="into the running machine")]
)
def test_kernel_messages_are_what_the_collection_looks_for(kernel: ModuleType, seconds: float, plugged_late: bool) -> None:
    """Boot lines alone never mean a cable that came later."""
    described = card.describe(PLUGGED)
    lines = [*kernel.boot_lines(described), (seconds, kernel.module_line(described["functions"][0], True))]
    events = [{"time": 1000 + at, "text": text} for at, text in lines]
    assert _text.plugged_after_boot(events, 1000) is plugged_late


def test_a_journal_entry_comes_from_the_kernel(kernel: ModuleType) -> None:
    """In the journal's export format, an empty line ends an entry."""
    text = kernel.entry(1.5, "hello", {"boot_time": "1000", "boot_id": "b", "machine_id": "m", "hostname": "spark-1"})
    fields = dict(line.split("=", 1) for line in text.strip().splitlines())
    assert text.endswith("\n\n")
    assert (fields["_TRANSPORT"], fields["__REALTIME_TIMESTAMP"], fields["MESSAGE"]) == ("kernel", "1001500000", "hello")

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-ins speak like the real tools; real captures where there are any, the collection's own parsers for the rest."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _ethtool, _text
from gb10lab import card

PLUGGED = {"p0": {"serial": "LABCABLE00", "speed": 200000}}
UP = {"up": True, "carrier": True, "speed": 200000, "module": card.describe(PLUGGED)["ports"]["p0"]["module"]}


def test_settings_of_a_good_link_are_the_published_capture(ethtool: ModuleType, fixtures: Path) -> None:
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
def test_settings_of_other_links(ethtool: ModuleType, change: dict[str, Any], expected: dict[str, Any]) -> None:
    """What the collection reads from them."""
    assert _ethtool.link(ethtool.settings("enp1s0f0np0", UP | change)) == expected


def test_driver(ethtool: ModuleType) -> None:
    """Firmware and PSID in mlx5's form."""
    state = {"kernel": "6.17.0", "firmware": card.FIRMWARE, "psid": card.PSID, "bdf": "0000:01:00.0"}
    assert _ethtool.driver(ethtool.driver(state)) == {"driver": "mlx5_core", "firmware": "28.45.4028", "psid": "NVD0000000087"}


def test_module(ethtool: ModuleType) -> None:
    """The cable's identity; nothing where there is none."""
    assert _ethtool.module(ethtool.module(UP))["serial_number"] == "LABCABLE00"
    assert ethtool.module({"module": None}) == ""


@pytest.mark.parametrize(("carrier", "capture"), [(True, "ethtool-show-fec-rs.txt"), (False, "ethtool-show-fec-none.txt")])
def test_fec_is_the_published_capture(ethtool: ModuleType, fixtures: Path, carrier: bool, capture: str) -> None:
    """Byte for byte; the name of the interface is the capture's."""
    expected = (fixtures / "connectx" / capture).read_text(encoding="utf-8")
    name = expected.partition(":")[0].rpartition(" ")[2]
    assert ethtool.fec(name, {"carrier": carrier}) == expected


def test_statistics(ethtool: ModuleType) -> None:
    """The kernel's counters beside those of the port."""
    text = ethtool.statistics({"rx_bytes": 7})
    assert "     rx_bytes: 7\n" in text
    assert _ethtool.counters(text)["rx_discards_phy"] == 0


def test_rdma_links(tools: ModuleType) -> None:
    """The form of ``rdma -j link`` and of ``rdma link``."""
    port = {"rdma": "rocep1s0f0", "interface": "enp1s0f0np0", "ifindex": 4, "state": "4: ACTIVE", "phys_state": "5: LinkUp"}
    links = tools.rdma_links([port])
    assert json.dumps(links, separators=(",", ":")) == (
        '[{"ifindex":0,"ifname":"rocep1s0f0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"enp1s0f0np0","netdev_index":4}]'
    )
    assert tools.rdma_text(links) == "link rocep1s0f0/1 state ACTIVE physical_state LINK_UP netdev enp1s0f0np0 \n"


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

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of the simulated ConnectX-7 as files: what /sys and the tools show of it. Pure data; ``write`` lays it into a folder.

Names, PCI addresses and their pairing are those of every GB10 machine (NVIDIA's DGX Spark user guide, "full correspondence table").
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import ethtool_text
from .inventory import PORTS, Node
from .rack import FULL

FIRMWARE, PSID = "28.45.4028", "NVD0000000087"
#: Both ends of the approved 0.4 m cable read like this; ``serial`` comes from the cable.
MODULE = {"identifier": "0x1e (QSFP+ or later with CMIS)", "vendor": "Amphenol", "part": "NJAAKK-N911", "length": "0.40m"}
#: GID slots that the lab shows; the real device has 256.
SLOTS = 16
COUNTERS = (
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_constraint_errors",
    "port_rcv_data",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_data",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
    "symbol_error",
    "VL15_dropped",
)
HW_COUNTERS = (
    "duplicate_request",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "resp_cqe_error",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "rx_icrc_encapsulated",
    "rx_read_requests",
    "rx_write_requests",
)
#: Loaded after boot without anybody's help; rdma_ucm is there, but has to be asked for.
MODULES = ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs")
#: Modules that the machine has, loaded or not.
KNOWN_MODULES = (*MODULES, "rdma_cm", "rdma_ucm", "iw_cm", "ib_umad")
DMI = {
    "sys_vendor": "gb10.cluster lab (simulated)",
    "product_name": "NVIDIA_DGX_Spark",
    "product_version": "simulated",
    "product_family": "DGX Spark",
    "board_vendor": "gb10.cluster lab (simulated)",
    "board_name": "P4242",
    "bios_vendor": "gb10.cluster lab (simulated)",
    "bios_version": "simulated",
    "chassis_vendor": "gb10.cluster lab (simulated)",
}


@dataclass(frozen=True)
class Function:
    """One PCIe function of the card: rail ``rail`` of port ``port``."""

    port: str
    rail: int
    bdf: str
    interface: str
    rdma: str

    @property
    def folder(self) -> str:
        """Its folder under /sys/devices."""
        domain = self.bdf[:4]
        return f"pci{domain}:00/{domain}:00:00.0/{self.bdf}"

    @property
    def unit(self) -> int:
        """Its number in the order of the bus; also that of its uverbs device."""
        return 2 * self.rail + PORTS.index(self.port)

    @property
    def verbs(self) -> str:
        """The name of its uverbs device."""
        return f"uverbs{self.unit}"


def _function(number: int, rail: int) -> Function:
    domain = "P2" if rail else ""
    return Function(f"p{number}", rail, f"{2 * rail:04x}:01:00.{number}", f"en{domain}p1s0f{number}np{number}", f"roce{domain}p1s0f{number}")


FUNCTIONS = tuple(_function(number, rail) for number in (0, 1) for rail in (0, 1))


def functions(node: Node) -> tuple[Function, ...]:
    """The functions of a node's card, under the names that its owner gave the netdevs. RDMA devices keep theirs: they are named after the bus."""
    return tuple(replace(each, interface=node.interfaces[each.port][each.rail]) if each.port in node.interfaces else each for each in FUNCTIONS)


@dataclass(frozen=True)
class Link:
    """A symbolic link in the tree."""

    target: str


def describe(plugged: dict[str, dict[str, Any]], made: Iterable[Function] = FUNCTIONS) -> dict[str, Any]:
    """What the node's programs know beyond /sys. ``plugged``: per port with a cable in it ``{serial, speed}`` (Mb/s)."""
    empty = {"module": None, "speed": FULL}
    full = {port: {"module": {**MODULE, "serial": cable["serial"]}, "speed": cable["speed"]} for port, cable in plugged.items()}
    ports = {port: full.get(port, empty) for port in PORTS}
    return {"firmware": FIRMWARE, "psid": PSID, "ports": ports, "functions": [vars(function) for function in made]}


def tools(described: dict[str, Any]) -> dict[str, str]:
    """What the node's tools answer, as {path below hw/: text}."""
    shared = {"firmware": described["firmware"], "psid": described["psid"], "kernel": os.uname().release}
    rows = sorted(described["functions"], key=lambda row: str(row["bdf"]))
    files = {"functions": "".join(f"{row['bdf']} {row['interface']} {row['rdma']}\n" for row in rows)}
    for row in rows:
        texts = ethtool_text.ready(row["interface"], row | shared | described["ports"][row["port"]])
        files |= {f"ethtool/{row['interface']}/{name}": text for name, text in texts.items()}
    return files


def tree(number: int, made: Iterable[Function] = FUNCTIONS) -> dict[str, str | Link]:
    """The whole card of node ``number`` in /sys as {path below hw/: text of the file, or a link}."""
    files: dict[str, str | Link] = {"hotplug/pcie_hotplug/hotplug_enabled": "1", "hotplug/pcie_hotplug/debug_state": "0"}
    files |= {f"dmi/id/{key}": text for key, text in DMI.items()}
    files |= {"modules": "\n".join(MODULES), "known_modules": "\n".join(KNOWN_MODULES)}
    for function in made:
        files |= _netdev(function, number) | _pci(function) | _rdma(function, number)
    for domain in ("0000", "0002"):
        bridge = f"{domain}:00:00.0"
        files |= {f"devices/pci{domain}:00/{bridge}/{name}": text for name, text in _pcie("0x10de", "0x22ce", "0x060400").items()}
        files[f"pci_devices/{bridge}"] = Link(f"../../../devices/pci{domain}:00/{bridge}")
    return files


def _netdev(function: Function, number: int) -> dict[str, str | Link]:
    own: dict[str, str | Link] = {
        "phys_port_name": function.port,
        "phys_switch_id": f"0200{number:02x}00030000",
        "speed": "-1",
        "device": Link(f"../../../{function.folder}"),
    }
    return {f"netdev/{function.interface}/{name}": value for name, value in own.items()}


def _pcie(vendor: str, device: str, kind: str) -> dict[str, str]:
    return {
        "vendor": vendor,
        "device": device,
        "class": kind,
        "current_link_speed": "32.0 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "4",
        "max_link_width": "4",
    }


def _pci(function: Function) -> dict[str, str | Link]:
    own: dict[str, str | Link] = dict(_pcie("0x15b3", "0x1021", "0x020000"))
    own["driver"] = Link("../../../../bus/pci/drivers/mlx5_core")
    own[f"net/{function.interface}"] = Link(f"../../../../virtual/net/{function.interface}")
    files = {f"devices/{function.folder}/{name}": value for name, value in own.items()}
    return files | {f"pci_devices/{function.bdf}": Link(f"../../../devices/{function.folder}")}


def _rdma(function: Function, number: int) -> dict[str, str | Link]:
    own: dict[str, str | Link] = {
        "fw_ver": FIRMWARE,
        "board_id": PSID,
        "hca_type": "MT4129",
        "node_type": "1: CA",
        "device": Link("../.."),
        "node_guid": f"0200:{number:04x}:0003:{function.unit:04x}",
        "sys_image_guid": f"0200:{number:04x}:0003:0000",
        "ports/1/link_layer": "Ethernet",
        "ports/1/state": "1: DOWN",
        "ports/1/phys_state": "3: Disabled",
        "ports/1/rate": "40 Gb/sec (4X QDR)",
    }
    own |= {f"ports/1/counters/{name}": "0" for name in COUNTERS} | {f"ports/1/hw_counters/{name}": "0" for name in HW_COUNTERS}
    for slot in range(SLOTS):
        own[f"ports/1/gids/{slot}"] = ":".join(["0000"] * 8)
        # reading an empty slot is EINVAL on the real device, and so is the speed of the loopback
        own |= {f"ports/1/gid_attrs/{kind}/{slot}": Link("/sys/class/net/lo/speed") for kind in ("types", "ndevs")}
    base = f"devices/{function.folder}"
    files = {f"{base}/infiniband/{function.rdma}/{name}": value for name, value in own.items()}
    verbs = f"{base}/infiniband_verbs/{function.verbs}"
    files |= {f"{verbs}/ibdev": function.rdma, f"{verbs}/dev": f"231:{192 + function.unit}", f"{verbs}/device": Link("../..")}
    return files | {
        f"infiniband/{function.rdma}": Link(f"../../devices/{function.folder}/infiniband/{function.rdma}"),
        f"infiniband_verbs/{function.verbs}": Link(f"../../devices/{function.folder}/infiniband_verbs/{function.verbs}"),
    }


def write(folder: Path, files: dict[str, str | Link]) -> None:
    """Lay a tree into a folder; texts get the final newline that sysfs adds."""
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, Link):
            path.symlink_to(value.target)
        else:
            path.write_text(value + "\n", encoding="utf-8")


def write_description(folder: Path, plugged: dict[str, dict[str, Any]], made: Iterable[Function] = FUNCTIONS) -> None:
    """Replace ``card.json`` and the texts of the tools, each file in one step: the node reads them at any moment."""
    described = describe(plugged, made)
    for name, text in {**tools(described), "card.json": json.dumps(described, indent=1)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text, encoding="utf-8")
        # the memory of a module is for root's eyes
        fresh.chmod(0o600 if path.name == "module" else 0o644)
        fresh.replace(path)

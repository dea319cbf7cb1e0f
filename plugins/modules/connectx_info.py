#!/usr/bin/python
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and wiring of the module ``connectx_info``."""

# budget: every fact has its line of documentation
from __future__ import annotations

DOCUMENTATION = r"""
module: connectx_info
short_description: Tell everything about the ConnectX-7 ports of a GB10 machine
version_added: 0.1.0
description:
  - Reads ports, rails, link, cable, PCIe, addresses, GIDs, counters, the configuration that claims each rail, and the machine around them.
  - Rails are found through C(phys_port_name) and the PCI domain, whatever the network devices are called.
  - Only reads, and decides nothing. What is missing, broken or forbidden becomes an empty value and a line in RV(connectx.problems).
  - Some facts need root (module EEPROM, kernel journal, netplan files, running jobs).
author:
  - gb10.cluster maintainers (@gb10)
extends_documentation_fragment:
  - gb10.cluster._attributes.info
  - gb10.cluster._connectx
notes:
  - The options are the slice of the plan, so that it can be handed over as it is. Only O(interfaces) has an effect.
seealso:
  - module: gb10.cluster.connectx_link
"""

EXAMPLES = r"""
- name: Read the ports of a machine that nobody has configured yet
  gb10.cluster.connectx_info:
  become: true
  register: node

- name: Read the ports of a machine whose owner renamed the devices of p0
  gb10.cluster.connectx_info:
    interfaces:
      p0: [aerial00, aerial02]
  become: true
  register: node

- name: Show both rails of p0 with their GID index
  ansible.builtin.debug:
    msg: "{{ node.connectx.ports.p0.rails | items2dict(key_name='interface', value_name='gid_index') }}"
"""

RETURN = r"""
connectx:
  description:
    - The facts. A value is V(null), an empty list or an empty dictionary where the machine does not have it or does not tell.
  returned: always
  type: dict
  contains:
    host:
      description: Identity and operating system; C(boot_time) in epoch seconds.
      type: dict
      returned: always
      sample: {hostname: spark-1, machine_id: 0123456789abcdef0123456789abcdef, boot_id: 5c1f0b3a-0000-4000-8000-000000000001,
               boot_time: 1790000000, kernel: 6.17.0-1014-nvidia, architecture: aarch64, python: 3.12.3, init: systemd,
               os: {id: ubuntu, name: Ubuntu, version_id: "24.04", pretty_name: Ubuntu 24.04.4 LTS, family: debian}}
    platform:
      description:
        - The machine from DMI, C(/etc/dgx-release) (the last update wins), the words of the kernel command line, memory, locked memory and modules.
        - C(memlock) is what a new session of the user who logged in gets, in bytes or V(unlimited).
      type: dict
      returned: always
      sample: {vendor: NVIDIA, product: NVIDIA_DGX_Spark, board: P4242, dgx: {DGX_NAME: DGX Spark, DGX_OTA_VERSION: 7.5.0},
               cmdline: [quiet, splash], memory_available_bytes: 120000000000, cma_total_bytes: 33554432,
               memlock: {soft: unlimited, hard: unlimited},
               modules: {mlx5_core: true, mlx5_ib: true, ib_uverbs: true, rdma_ucm: true}}
    hotplug:
      description:
        - Hot-plug power saving of the card, whether its marker file exists, and the kernel's lines about cables since boot (time in epoch seconds).
        - C(plugged_after_boot) is V(true) when a cable was plugged in more than 30 seconds after boot, V(null) when the journal can not be read.
      type: dict
      returned: always
      sample: {marker: true, enabled: true, plugged_after_boot: false,
               events: [{time: 1790000005.4, text: "cx7-pcie-hotplug MTKP0001:00: Hotplug enabled"}]}
    management:
      description:
        - The interface by which this session came (else the first with a default route), with its address.
        - C(interfaces) lists everything that carries the session or a default route, members of a bond or bridge included.
      type: dict
      returned: always
      sample: {interface: enP7s7, address: 192.168.10.11/24, interfaces: [enP7s7]}
    routes:
      description: IPv4 routes of the main table, one for each next hop. The default route is C(0.0.0.0/0).
      type: list
      elements: dict
      returned: always
      sample: [{destination: 0.0.0.0/0, interface: enP7s7, gateway: 192.168.10.1, protocol: dhcp, metric: 100}]
    ports:
      description: The ports that have at least one rail, by name C(p0) or C(p1).
      type: dict
      returned: always
      contains:
        module:
          description: The EEPROM of what is plugged in; empty when there is nothing, or without root.
          type: dict
          returned: always
          sample: {identifier: "0x11 (QSFP28)", vendor: Amphenol, part_number: NJAAKK-N911, length: 0.5m}
        rails:
          description: The rails that are there, rail 0 first.
          type: list
          elements: dict
          returned: always
          contains:
            rail: {description: Rail number, type: int, returned: always, sample: 0}
            interface: {description: Network device, type: str, returned: always, sample: enp1s0f0np0}
            rdma: {description: RDMA device, type: str, returned: always, sample: rocep1s0f0}
            pci:
              description: PCIe link of the function as trained and as it could be; speeds in GT/s.
              type: dict
              returned: always
              sample: {address: "0000:01:00.0", speed_gts: 32.0, width: 4, max_speed_gts: 32.0, max_width: 4}
            mac: {description: MAC address, type: str, returned: always, sample: "02:00:00:00:01:01"}
            up: {description: Whether the interface is administratively up, type: bool, returned: always, sample: true}
            carrier: {description: Whether the kernel sees a carrier; null while the interface is down, type: bool, returned: always, sample: true}
            mtu: {description: MTU in bytes, type: int, returned: always, sample: 9000}
            max_mtu: {description: Largest MTU the device takes in bytes, type: int, returned: always, sample: 9978}
            master: {description: Bond or bridge that the interface is a member of, type: str, returned: always, sample: null}
            addresses:
              description: Addresses of the interface, the primary one first.
              type: list
              elements: dict
              returned: always
              sample: [{address: 10.77.0.1, prefix: 24, family: inet, scope: global}]
            driver: {description: Driver, type: str, returned: always, sample: mlx5_core}
            driver_version: {description: Its version or the kernel's release, type: str, returned: always, sample: 6.17.0-1014-nvidia}
            firmware: {description: Firmware version, type: str, returned: always, sample: 28.45.4028}
            psid: {description: Board identity of the firmware, type: str, returned: always, sample: NVD0000000087}
            speed_mbps: {description: Speed of the cable in 10^6 bit/s; both rails show it, type: int, returned: always, sample: 200000}
            lanes: {description: Lanes of the link, type: int, returned: always, sample: 4}
            link_detected: {description: Whether ethtool sees a link, type: bool, returned: always, sample: true}
            link_reason: {description: Why there is no link in the words of the kernel, type: str, returned: always, sample: null}
            fec: {description: Error correction in the words of ethtool, type: dict, returned: always, sample: {configured: [Auto], active: [RS]}}
            gids:
              description: The used rows of the GID table. C(ipv4) is set for mapped addresses.
              type: list
              elements: dict
              returned: always
              sample: [{index: 3, type: RoCE v2, gid: "0000:0000:0000:0000:0000:ffff:0a4d:0001", ipv4: 10.77.0.1}]
            gid_index: {description: Index of the RoCE v2 GID of the IPv4 address, type: int, returned: always, sample: 3}
            carrier_changes: {description: How often the carrier changed since the device came, type: int, returned: always, sample: 1}
            carrier_down_count: {description: How often the carrier was lost since the device came, type: int, returned: always, sample: 0}
            counters:
              description: Counters of the RDMA device, and those of ethtool that tell of losses, errors and priorities.
              type: dict
              returned: always
              sample: {packet_seq_err: 0, port_rcv_data: 4711, rx_discards_phy: 0}
            claims:
              description:
                - Configuration that reaches the interface, what runs it now (C(effective)) first. C(ours) is what this collection wrote.
                - C(shared_with) names what else the same file configures, C(pattern) the wildcard that matched.
              type: list
              elements: dict
              returned: always
              sample: [{source: netplan, name: enp1s0f0np0, file: /etc/netplan/40-cx7.yaml, ours: false, shared_with: [enP2p1s0f0np0],
                        pattern: null, effective: true}]
            sysctl: {description: Live ARP settings, type: dict, returned: always, sample: {arp_ignore: 1, arp_announce: 2, rp_filter: 2}}
    backend:
      description: What configures new interfaces here, V(netplan-networkd), V(netplan-networkmanager) or V(networkmanager).
      type: str
      returned: always
      sample: netplan-networkmanager
    rollback:
      description: The rollback that C(connectx_link) left armed; C(deadline) in epoch seconds.
      type: dict
      returned: always
      sample: {id: 20261001T120000-1, deadline: 1790000600.0, seconds_left: 41.5, interfaces: [enp1s0f0np0, enP2p1s0f0np0]}
    qos:
      description: Whether M(gb10.cluster.connectx_qos) has configured rails of this node, so that its V(none) would change something.
      type: bool
      returned: always
      sample: false
    jobs:
      description: Processes that hold RDMA devices open, and whether they hold the GPU too.
      type: list
      elements: dict
      returned: always
      sample: [{pid: 4711, command: python3, rdma: [rocep1s0f0], gpu: true}]
    problems:
      description: What could not be read or is not there, and what to do about it.
      type: list
      elements: str
      returned: always
      sample: ["ethtool - expected the command on this node, found none. Install the package ethtool."]
python:
  description: The version of the Python that is too old to read the facts.
  returned: when that is why the module failed
  type: str
  sample: 3.8.10
"""

import platform
import sys

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._argspec import interface_errors, slice_argument_spec
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

PYTHON = (3, 10)


def main() -> None:
    """Check Python and the names, collect, return. What an older Python can not even import is imported after the check."""
    module = AnsibleModule(argument_spec=slice_argument_spec(), supports_check_mode=True)
    if sys.version_info < PYTHON:
        found, fix = platform.python_version(), "Set ansible_python_interpreter to a Python that is new enough."
        module.fail_json(msg=message("Python", "at least 3.10", found, fix), python=found)
    from ansible_collections.gb10.cluster.plugins.module_utils._connectx._facts import collect

    errors = interface_errors(module.params["interfaces"])
    if errors:
        module.fail_json(msg="\n".join(errors))
    module.exit_json(changed=False, connectx=collect(module.params["interfaces"]))


if __name__ == "__main__":
    main()

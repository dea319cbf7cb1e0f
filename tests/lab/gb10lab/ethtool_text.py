# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ethtool prints of a fabric netdev, in the text of ethtool 6 with the mlx5 driver.

The texts are made on the host whenever a cable changes and lie ready below ``hw/ethtool/INTERFACE``; in the node, ``tools`` picks one
by the live state of the device.
"""

from __future__ import annotations

from typing import Any

#: (speed, name) of the link modes of a ConnectX-7, in the driver's order.
LINK_MODES = """1000baseT/Full 10000baseT/Full 1000baseKX/Full 10000baseKR/Full 10000baseR_FEC 40000baseKR4/Full 40000baseCR4/Full
40000baseSR4/Full 40000baseLR4/Full 25000baseCR/Full 25000baseKR/Full 25000baseSR/Full 50000baseCR2/Full 50000baseKR2/Full
100000baseKR4/Full 100000baseSR4/Full 100000baseCR4/Full 100000baseLR4_ER4/Full 50000baseSR2/Full 1000baseX/Full 10000baseCR/Full
10000baseSR/Full 10000baseLR/Full 10000baseER/Full 50000baseKR/Full 50000baseSR/Full 50000baseCR/Full 50000baseLR_ER_FR/Full
50000baseDR/Full 100000baseKR2/Full 100000baseSR2/Full 100000baseCR2/Full 100000baseLR2_ER2_FR2/Full 100000baseDR2/Full
200000baseKR4/Full 200000baseSR4/Full 200000baseLR4_ER4_FR4/Full 200000baseDR4/Full 200000baseCR4/Full 100000baseKR/Full
100000baseSR/Full 100000baseLR_ER_FR/Full 100000baseCR/Full 100000baseDR/Full 200000baseKR2/Full 200000baseSR2/Full
200000baseLR2_ER2_FR2/Full 200000baseDR2/Full 200000baseCR2/Full""".split()
LANES = {200000: 4, 100000: 2}
#: Counters of ``ethtool -S`` beside the kernel's own; the lab's link loses nothing.
PHY_COUNTERS = (
    "rx_crc_errors_phy",
    "rx_symbol_err_phy",
    "rx_discards_phy",
    "tx_discards_phy",
    "rx_corrected_bits_phy",
    "link_down_events_phy",
    *(
        f"{way}_prio{number}_{what}"
        for number in range(8)
        for way, what in (("rx", "bytes"), ("rx", "discards"), ("rx", "pause"), ("tx", "bytes"), ("tx", "pause"))
    ),
    "tx_queue_dropped",
)
#: The states of a device that ethtool tells apart: down by hand, without carrier, with one.
LIVE = {"down": {"up": False, "carrier": False}, "up": {"up": True, "carrier": False}, "carrier": {"up": True, "carrier": True}}
State = dict[str, Any]


def settings(name: str, state: State) -> str:
    """``ethtool IF``. ``state``: ``{up, carrier, speed (Mb/s), module}``."""
    modes = "\n".join([f"\tSupported link modes:   {LINK_MODES[0]}", *(f"\t                        {mode}" for mode in LINK_MODES[1:])])
    if state["carrier"]:
        link = f"\tSpeed: {state['speed']}Mb/s\n\tLanes: {LANES[state['speed']]}\n\tDuplex: Full"
        detected = "yes"
    else:
        link = "\tSpeed: Unknown!\n\tDuplex: Unknown! (255)"
        detected = "no" if not state["up"] else "no (No partner detected)" if state["module"] else "no (No cable)"
    return f"""Settings for {name}:
\tSupported ports: [ Backplane ]
{modes}
\tSupported pause frame use: Symmetric
\tSupports auto-negotiation: Yes
\tSupported FEC modes: None\t RS\t BASER
{modes.replace("Supported link modes: ", "Advertised link modes:")}
\tAdvertised pause frame use: Symmetric
\tAdvertised auto-negotiation: Yes
\tAdvertised FEC modes: RS
{link}
\tAuto-negotiation: on
\tPort: Direct Attach Copper
\tPHYAD: 0
\tTransceiver: internal
\tLink detected: {detected}
"""


def driver(state: State) -> str:
    """``ethtool -i IF``."""
    return f"""driver: mlx5_core
version: {state["kernel"]}
firmware-version: {state["firmware"]} ({state["psid"]})
expansion-rom-version: {""}
bus-info: {state["bdf"]}
supports-statistics: yes
supports-test: yes
supports-eeprom-access: no
supports-register-dump: no
supports-priv-flags: yes
"""


def module(state: State) -> str:
    """``ethtool -m IF`` of a passive copper cable with CMIS memory; empty without one."""
    fields = state["module"]
    if not fields:
        return ""
    rows = {
        "Identifier": fields["identifier"],
        "Power class": "1",
        "Max power": "0.25W",
        "Connector": "0x23 (No separable connector)",
        "Cable assembly length": fields["length"],
        "Transmitter technology": "0x0a (Copper cable, passive, unequalized)",
        "Vendor name": fields["vendor"],
        "Vendor PN": fields["part"],
        "Vendor rev": "A0",
        "Vendor SN": fields["serial"],
    }
    return "".join(f"\t{name:<41} : {value}\n" for name, value in rows.items())


def fec(name: str, state: State) -> str:
    """``ethtool --show-fec IF``."""
    active = "RS" if state["carrier"] else "None"
    return f"FEC parameters for {name}:\nSupported/Configured FEC encodings: Auto\nActive FEC encoding: {active}\n"


def counters() -> str:
    """The counters of the port at the end of ``ethtool -S IF``; the kernel's own come before them."""
    return "".join(f"     {name}: 0\n" for name in PHY_COUNTERS)


def ready(name: str, state: State) -> dict[str, str]:
    """All texts of an interface by file. ``state``: ``{speed (Mb/s), module, firmware, psid, kernel, bdf}``; what is live is in the file's name."""
    texts = {"driver": driver(state), "module": module(state), "counters": counters()}
    for word, live in LIVE.items():
        texts |= {f"settings.{word}": settings(name, state | live), f"fec.{word}": fec(name, state | live)}
    return texts

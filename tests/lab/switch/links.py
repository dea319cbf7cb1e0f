# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the chip uses the lanes of a cage, and which links come up. Pure: configuration and what is plugged in go in, links come out.

The rules are the published ones (MikroTik manual, wired interface compatibility; truth table of chishiki37/dgx-spark-fabric): RouterOS walks a
cage from its lowest enabled lane; the mode of that lane takes as many of the following lanes as it needs, their own settings are ignored, but they
must be enabled, else the leg gets fewer lanes. Every split must be forced; only a mode that fills its cage may negotiate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .machine import Plug
from .schema import hardware
from .values import Nothing

_PORT = re.compile(r"(qsfp56-dd|qsfp56|qsfp28)-(\d+)-(\d+)\Z")
_COPPER = {"400G-baseSR8-LR8": "400G-baseCR8", "200G-baseSR4-LR4": "200G-baseCR4", "100G-baseSR2-LR2": "100G-baseCR2",
           "100G-baseSR4-LR4": "100G-baseCR4", "50G-baseSR2-LR2": "50G-baseCR2", "50G-baseSR-LR": "50G-baseCR",
           "40G-baseSR4-LR4": "40G-baseCR4", "25G-baseSR-LR": "25G-baseCR", "10G-baseSR-LR": "10G-baseCR"}
_SEEN_LINKING = {"qsfp56-dd": {"100G-baseCR4": {"1": 4}, "50G-baseCR2": {"1": 2, "3": 2, "5": 2, "7": 2}}, "qsfp56": {}, "qsfp28": {}}
"""Not in the manual's table, but reported as linking."""

_FEWER = {"qsfp56-dd": {4: "200G-baseCR4", 2: "100G-baseCR2", 1: "50G-baseCR"}, "qsfp56": {2: "100G-baseCR2", 1: "50G-baseCR"},
          "qsfp28": {2: "50G-baseCR2", 1: "25G-baseCR"}}
"""Family -> lanes that are left -> what a leg that gets no more becomes."""

_WHOLE = {"qsfp56-dd": "400G-baseCR8", "qsfp56": "200G-baseCR4", "qsfp28": "100G-baseCR4"}
_PAM4 = ("400G-baseCR8", "200G-baseCR4", "100G-baseCR2", "50G-baseCR")


@dataclass(frozen=True)
class Leg:
    """One leg as the chip forms it. ``word``: its mode in copper terms; ``gbps`` 0 where the mode is impossible; ``forced``: no negotiation."""

    leader: str
    lane: int
    lanes: int
    word: str
    gbps: int
    forced: bool
    fec_mode: str


@dataclass(frozen=True)
class Link:
    """A leg's link: ``status``, ``gbps`` 0 without link, ``fec`` as the monitor shows them; ``up``: the other end sees it too."""

    leg: Leg
    status: str
    gbps: int
    fec: str
    up: bool


def cage_of(port: str) -> str | None:
    """``qsfp56-dd-1`` of ``qsfp56-dd-1-5``; None for a port without lanes."""
    found = _PORT.match(port)
    return f"{found[1]}-{found[2]}" if found else None


def legs(rows: list[dict[str, Any]]) -> list[Leg]:
    """The legs of one cage from the rows of its lanes, lowest lane first."""
    family = _PORT.match(rows[0]["default-name"])[1]  # type: ignore[index]
    found = []
    index = 0
    while index < len(rows):
        row = rows[index]
        if row["disabled"]:
            index += 1
            continue
        word, wanted = _mode(family, row, index + 1)
        enabled = 0
        while enabled < max(wanted, 1) and index + enabled < len(rows) and not rows[index + enabled]["disabled"]:
            enabled += 1
        if 0 < wanted and enabled < wanted:
            lanes = max(count for count in _FEWER[family] if count <= enabled)
            word, wanted = _FEWER[family][lanes], lanes
        gbps = int(word.split("G")[0]) if wanted and "G" in word else 0
        found.append(Leg(row["default-name"], index + 1, max(wanted, 1), word, gbps, not row["auto-negotiation"], row["fec-mode"]))
        index += max(wanted, 1)
    return found


def is_impossible(row: dict[str, Any]) -> bool:
    """Whether a lane is told to lead a mode that can not begin there; an export remarks on it, even where another leg takes the lane."""
    found = _PORT.match(row["default-name"])
    told = not isinstance(row["advertise"] if row["auto-negotiation"] else row["speed"], Nothing)
    return bool(found and told and _mode(found[1], row, int(found[3]))[1] == 0)


def _mode(family: str, row: dict[str, Any], lane: int) -> tuple[str, int]:
    """(mode, lanes it takes) that a lane asks for; 0 lanes where it can not lead that mode."""
    if row["auto-negotiation"]:
        offered = [_COPPER.get(word, word) for word in row["advertise"]] if not isinstance(row["advertise"], Nothing) else [_WHOLE[family]]
        best = sorted(offered, key=lambda word: (_lanes(family, word, lane) > 0, _gbps(word)))
        return (best[-1], _lanes(family, best[-1], lane)) if best else ("", 0)
    word = "" if isinstance(row["speed"], Nothing) else _COPPER.get(row["speed"], row["speed"])
    return word, _lanes(family, word, lane)


def _gbps(word: str) -> float:
    found = re.match(r"(\d+(?:\.\d+)?)([GM])", word)
    return float(found[1]) / (1000 if found[2] == "M" else 1) if found else 0


def _lanes(family: str, word: str, lane: int) -> int:
    entry = {**hardware()["lanes"][family], **_SEEN_LINKING[family]}.get(word)
    if entry is None:
        return 1 if word == "1G-baseX" else 0
    return 1 if isinstance(entry, str) else entry.get(str(lane), 0)


def link(leg: Leg, plug: Plug | None, is_dark: bool) -> Link:
    """Whether a leg comes up with what is plugged in. ``is_dark``: the cage is restarting."""
    if plug is None or not leg.gbps:
        return Link(leg, "no-link", 0, "off", False)
    if is_dark:
        return Link(leg, "initializing", 0, "off", False)
    if not leg.forced:
        gbps = _negotiated(leg, plug)
        return Link(leg, "link-ok", gbps, "fec91", True) if gbps and leg.lane in plug.tails else Link(leg, "no-link", 0, "off", False)
    if plug.eeprom != "good" and leg.word == "100G-baseCR2":
        return Link(leg, "auto-init-failed", 0, "off", False)
    if leg.gbps not in plug.speeds or leg.lane not in plug.tails:
        return Link(leg, "no-link", 0, "off", False)
    fec = ("fec91" if leg.word in _PAM4 else "off") if leg.fec_mode == "auto" else leg.fec_mode
    if fec == "off" and (leg.word in _PAM4 or leg.word in ("100G-baseCR4", "50G-baseCR2", "25G-baseCR")):
        return Link(leg, "no-link", 0, "off", False)
    return Link(leg, "link-ok", leg.gbps, fec, plug.host_trains)


def _negotiated(leg: Leg, plug: Plug) -> int:
    """Speed that a whole cage negotiates, 0 for none: a split never does, and a QSFP56 cage not above 100G."""
    if plug.split or len(plug.tails) > 1:
        return 0
    most = 100 if leg.leader.startswith(("qsfp56-", "qsfp28")) and not leg.leader.startswith("qsfp56-dd") else 400
    reachable = [speed for speed in (400, 100) if speed <= most and (speed in plug.speeds or (speed == 100 and 200 in plug.speeds))]
    return reachable[0] if reachable else 0

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breakout of cages: from the lanes as they are set to the commands that are missing. Pure.

There is no breakout command: a mode is the speed of its leading lanes, without auto-negotiation, and all lanes must be enabled. Touching one lane
restarts its whole cage (MikroTik manual, wired interface compatibility); so a cage that is right is not touched, and equal legs share a command.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._message import message
from ._cages import MEDIA, Mode, lanes_of, legs_of, modes_of, parse_port, speed_word
from ._command import Group, Value, address
from ._facts import link
from ._management import management_ports
from ._notes import ETHERNET, back, noted, remember, set_rows
from ._rows import Row, flag

FIELDS = ("disabled", "auto-negotiation", "speed", "fec-mode")
"""What is changed of a lane here, and noted."""

Menus = dict[str, list[Row]]


class Cage(NamedTuple):
    """One cage of the plan. ``fec``: the value for ``fec-mode``; ``media``: copper or optical. ``mode`` None: back to what it was."""

    name: str
    mode: Mode | None
    media: str
    fec: str


class Want(NamedTuple):
    """``legs``: leading ports that the plan names, to be compared with the modes. Not ``present``: what we changed in ``cages``, or without any in
    all cages, goes back to what it was."""

    cages: list[Cage]
    legs: list[str]
    present: bool = True


def understand(name: str, cages: dict[str, Any], present: bool) -> tuple[list[Cage], list[str]]:
    """Cages as the plan writes them, ``{cage: {mode, media, fec}}``, and what can not be understood. ``name`` is how messages call the switch."""
    found, refused = [], []
    for cage, given in cages.items():
        port = parse_port(cage)
        if port is None or port.lane is not None:
            refused.append(message(f"{name}: cage {cage}", "the name of a cage such as qsfp56-dd-1", cage, "Write it without a lane."))
            continue
        modes = modes_of(port.family)
        given = given or {}
        mode = modes.get(str(given.get("mode")))
        if not present:
            found.append(Cage(cage, None, "copper", "auto"))
        elif mode is None:
            refused.append(message(f"{name}: mode of {cage}", " or ".join(modes), given.get("mode"), f"A {port.family} cage has no other."))
        else:
            media = given.get("media") or "copper"
            fec = "off" if given.get("fec") is False else given.get("fec") or "auto"
            fec = mode.fec[0] if fec == "auto" else fec
            if media not in MEDIA:
                refused.append(message(f"{name}: media of {cage}", " or ".join(MEDIA), media, "A DAC is copper; an AOC or a transceiver is optical."))
            elif fec not in mode.fec:
                refused.append(message(f"{name}: fec of {cage}", " or ".join(mode.fec), fec, f"{mode.name} comes up with no other."))
            else:
                found.append(Cage(cage, mode, media, fec))
    return found, refused


def refusals(name: str, menus: Menus, want: Want, session_address: str) -> list[str]:
    """What this switch can not do, or must not have done to it. ``session_address``: where the session goes."""
    known = {str(row.get("default-name")) for row in menus[ETHERNET]}
    cages = sorted({port.cage for name_ in known if (port := parse_port(name_))})
    refused = [
        message(f"{name}: cage {cage.name}", f"a cage of this switch ({', '.join(cages)})", "none of that name", "Correct fabric_cables.")
        for cage in want.cages if cage.name not in cages
    ]
    leading = {cage.name: list(legs_of(cage.name, cage.mode)) for cage in want.cages if cage.mode}
    for leg in want.legs:
        port = parse_port(leg)
        if port and port.cage in leading and leg not in leading[port.cage]:
            refused.append(message(
                f"{name}: leg {leg}", f"a leading lane of {port.cage}: {', '.join(leading[port.cage])}", leg, "A leg is named by its first lane."))
    carried = management_ports(session_address, menus) or []
    touched = {group.title for group in groups(menus, want)}
    for cage in _cages(menus, want):
        own = sorted(set(carried) & set(lanes_of(cage.name)))
        if own and cage.name in touched:
            refused.append(message(
                f"{name}: cage {cage.name}", "no management in a fabric cage", f"the session to {session_address} comes through {', '.join(own)}",
                "Give management an ether port of its own first; changing the cage would cut it off."))
    return refused


def groups(menus: Menus, want: Want) -> list[Group]:
    """The missing commands, one group per cage."""
    rows = {str(row.get("default-name")): row for row in with_notes(menus[ETHERNET])}
    comments = {row.get("default-name"): row.get("comment") for row in menus[ETHERNET]}
    found = []
    for cage in _cages(menus, want):
        if all(lane in rows for lane in lanes_of(cage.name)):
            lanes = [rows[lane] for lane in lanes_of(cage.name)]
            commands = set_rows(ETHERNET, _changes(lanes, cage, comments) if cage.mode else [(row, back(row, FIELDS)) for row in lanes])
            if commands:
                found.append(Group(cage.name, tuple(commands)))
    return found


def _cages(menus: Menus, want: Want) -> list[Cage]:
    """The wanted cages; without any, to take back, those that carry a note of ours."""
    if want.cages or want.present:
        return want.cages
    ports = [parse_port(str(row.get("default-name"))) for row in menus[ETHERNET] if noted(row).keys() & set(FIELDS)]
    return [Cage(name, None, "copper", "auto") for name in dict.fromkeys(port.cage for port in ports if port)]


def with_notes(ethernet: list[Row]) -> list[Row]:
    """The ports with the notes that somebody wrote over: all lanes of a cage have one or none has, so a lane without has lost it. It gets back
    what all others of its cage agree on."""
    cages: dict[str, list[dict[str, str]]] = {}
    for row in ethernet:
        if (port := parse_port(str(row.get("default-name")))) and noted(row).keys() >= set(FIELDS):
            cages.setdefault(port.cage, []).append(noted(row))
    found = []
    for row in ethernet:
        port = parse_port(str(row.get("default-name")))
        notes = cages.get(port.cage, []) if port and not noted(row) else []
        agreed = {name: value for name, value in notes[0].items() if all(note.get(name) == value for note in notes)} if notes else {}
        found.append({**row, "comment": remember(row, agreed)} if agreed else row)
    return found


def _changes(lanes: list[Row], cage: Cage, comments: dict[Any, Any]) -> list[tuple[Row, dict[str, Value]]]:
    """Enable lanes that are disabled, give leaders what they lack; where there is anything to do, note what all lanes were.

    :param comments: default name -> the comment that is there, without a note that was lost.
    """
    leaders = legs_of(cage.name, cage.mode) if cage.mode else {}
    found = []
    for row in lanes:
        values: dict[str, Value] = {"disabled": False} if flag(row.get("disabled")) else {}
        values |= _wrong(row, cage) if row["default-name"] in leaders else {}
        found.append((row, values))
    is_due = any(values for _row, values in found)
    for row, values in found:
        note = remember(row, {name: row.get(name) for name in FIELDS}) if is_due else row.get("comment")
        values |= {"comment": note} if note != comments[row["default-name"]] else {}
    return sorted(found, key=lambda change: change[0]["default-name"] in leaders)


def _wrong(row: Row, cage: Cage) -> dict[str, Value]:
    """Values that a leading lane does not have yet. A mode that needs fec91 gets it from ``auto`` too."""
    if cage.mode is None:
        return {}
    wanted: dict[str, Value] = {"auto-negotiation": False, "speed": speed_word(cage.mode, cage.media), "fec-mode": cage.fec}
    same_fec = cage.mode.fec == ("auto", "fec91") and row.get("fec-mode") in cage.mode.fec
    return {
        key: value for key, value in wanted.items()
        if (flag(row.get(key)) if isinstance(value, bool) else row.get(key)) != value and not (key == "fec-mode" and cage.fec == "auto" and same_fec)
    }


def view(menus: Menus, want: Want) -> dict[str, Any]:
    """The lanes of the wanted cages as the user sees them: leaders with their mode, the others with whether they are enabled."""
    rows = {str(row.get("default-name")): row for row in menus[ETHERNET]}
    found: dict[str, Any] = {}
    for cage in _cages(menus, want):
        leaders = list(legs_of(cage.name, cage.mode)) if cage.mode else lanes_of(cage.name)
        for lane in lanes_of(cage.name):
            row = rows.get(lane, {})
            shown: dict[str, Any] = {"enabled": not flag(row.get("disabled"))}
            if lane in leaders:
                shown |= {"auto_negotiation": flag(row.get("auto-negotiation")), "speed": row.get("speed"), "fec_mode": row.get("fec-mode")}
            found.setdefault(cage.name, {})[lane] = shown
    return found


def leg_names(want: Want) -> list[str]:
    """Legs to look at: those that the plan names, or without any all of the wanted cages."""
    return want.legs or [leg for cage in want.cages if cage.mode for leg in legs_of(cage.name, cage.mode)]


def addresses(menus: Menus, want: Want) -> dict[str, str]:
    """Leg -> how to point at its port."""
    return {str(row["default-name"]): address(row) for row in menus[ETHERNET] if row.get("default-name") in leg_names(want)}


def report(monitors: dict[str, Row], want: Want) -> dict[str, dict[str, Any]]:
    """What the switch says of each leg: the link, and whether that is what was asked for (``as_planned``)."""
    modes = {leg: cage.mode for cage in want.cages if cage.mode for leg in legs_of(cage.name, cage.mode)}
    found = {}
    for leg, monitor in monitors.items():
        shown = link(monitor)
        mode = modes.get(leg)
        is_up = shown["status"] == "link-ok" and (mode is None or shown["rate_gbps"] == mode.gbps)
        found[leg] = {**shown, "as_planned": is_up}
    return found


def all_as_planned(monitors: dict[str, Row], want: Want) -> bool:
    """Whether nothing is left to wait for."""
    return all(leg["as_planned"] for leg in report(monitors, want).values())


def link_warnings(name: str, legs: dict[str, dict[str, Any]], want: Want) -> list[str]:
    """What speaks against a leg: no link, another speed, a module that is not what the plan says."""
    media = {leg: cage.media for cage in want.cages if cage.mode for leg in legs_of(cage.name, cage.mode)}
    modes = {leg: cage.mode for cage in want.cages if cage.mode for leg in legs_of(cage.name, cage.mode)}
    told = []
    for leg, shown in legs.items():
        module = shown["module"]
        mode = modes.get(leg)
        if module is None and shown["status"] != "link-ok":
            told.append(message(f"{name}: leg {leg}", "a cable", "none", "Push the plug in until it clicks, at both ends."))
        elif not shown["as_planned"]:
            found = f"{shown['status']}, {shown['rate_gbps'] or 'no'} Gb/s, EEPROM {(module or {}).get('eeprom_checksum') or 'unknown'}"
            expected = f"link at {mode.speed}" if mode else "link"
            told.append(message(f"{name}: leg {leg}", expected, found, "Look at the cable, and at the port of the node: it has the last word."))
        connector = str((module or {}).get("connector") or "")
        if connector and (connector == "no-separable-connector") != (media.get(leg, "copper") == "copper"):
            told.append(message(
                f"{name}: media of leg {leg}", media.get(leg), f"connector {connector}", "Correct media of that cable in fabric_cables."))
    return told

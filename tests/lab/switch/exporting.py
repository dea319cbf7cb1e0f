# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration as text: ``/export``, ``/import``, and a published export as the start of a switch."""

from __future__ import annotations

import re
from collections.abc import Set

from .interpreter import Interpreter
from .links import is_impossible
from .machine import Machine, Row
from .menus import QOS, Menu
from .values import Nothing, RouterError, quoted

ORDER = (
    "/interface/bridge", "/interface/ethernet", f"{QOS}/tx-manager", f"{QOS}/priority-flow-control", f"{QOS}/port", f"{QOS}/profile",
    f"{QOS}/settings", f"{QOS}/tx-manager/queue", f"{QOS}/map", "/interface/vlan", "/interface/list", "/interface/bridge/port",
    "/interface/bridge/settings", "/interface/ethernet/switch", "/interface/ethernet/switch/port", f"{QOS}/map/ip", f"{QOS}/map/vlan",
    "/ip/neighbor/discovery-settings", "/interface/bridge/vlan", "/interface/list/member", "/ip/address", "/ip/ssh", "/ip/service",
    "/system/clock", "/system/identity", "/system/note",
)
"""Menus in the order in which published exports have them."""

_INDEXED = (f"{QOS}/tx-manager/queue", "/interface/ethernet/switch/port")
_SUCCESS = "Script file loaded and executed successfully"


def header(machine: Machine) -> str:
    """The comment lines at the top; what differs from export to export stands here alone."""
    return (f"# 2026-11-30 12:00:00 by RouterOS {machine.version}\n# software id = SIMU-LATE\n#\n"
            f"# model = {machine.model.product}\n# serial number = SIMULATED\n")


def export(machine: Machine, menu: str = "", flags: Set[str] = frozenset()) -> str:
    """The configuration of a menu and those below it: what differs from a bare switch, everything with ``verbose``."""
    machine.tick()
    sections = []
    with machine.lock:
        for path in ORDER:
            if path in machine.tables and (path == menu or path.startswith(f"{menu}/") or not menu):
                commands = _commands(machine, machine.menus[path], "verbose" in flags)
                if commands:
                    sections.append(_section(path, commands, "terse" in flags))
    return header(machine) + "".join(sections)


def _section(path: str, commands: list[tuple[str, str]], terse: bool) -> str:
    menu = path.replace("/", " ").replace(" ", "/", 1)
    lines = [] if terse else [menu]
    for note, command in commands:
        if note:
            lines += [menu, note] if terse else [note]
        lines.append(f"{menu} {command}" if terse and not note else command if terse else _wrapped(command))
    return "\n".join(lines) + "\n"


def _wrapped(command: str) -> str:
    """Break a line at 79 columns, with a backslash at its end and four blanks before the rest: between words, after ``=``, and inside a value that
    fits on no line."""
    lines, line = [], ""
    for token in re.findall(r'\[[^]]*\] |[^\s="]+=|"(?:\\.|[^"\\])*" ?|[^\s"]+ ?', command):
        rest = token
        while len(token) > 70 and len(line) + len(rest) > 78:
            cut = 78 - len(line)
            lines.append(line + rest[:cut] + "\\")
            line, rest = "    ", rest[cut:]
        if len(token) <= 70 and len(line) + len(token.rstrip()) > 78:
            lines.append(line + "\\")
            line = "    "
        line += rest
    return "\n".join([*lines, line])


def _commands(machine: Machine, menu: Menu, verbose: bool) -> list[tuple[str, str]]:
    """(comment, command) for every row that needs one."""
    if menu.singleton:
        words = _words(machine, menu, machine.tables[menu.path].record, verbose)
        return [("", f"set {words}")] if words else []
    found = []
    for index, row in enumerate(machine.rows(menu.path)):
        if row.get("dynamic") and not row.get("default"):
            continue
        words = _words(machine, menu, row, verbose)
        note = "# unsupported speed" if menu.path == "/interface/ethernet" and is_impossible(row) else ""
        if menu.fixed or row.get("default"):
            if words:
                found.append((note, f"set {_target(menu, row, index)} {words}"))
        else:
            found.append(("", f"add {words}"))
    return found


def _target(menu: Menu, row: Row, index: int) -> str:
    if menu.path == "/interface/ethernet":
        return f"[ find default-name={row['default-name']} ]"
    if menu.path in _INDEXED:
        return str(index)
    return "[ find default=yes ]" if row.get("default") else quoted(row["name"])


def _words(machine: Machine, menu: Menu, row: Row, verbose: bool) -> str:
    bare = _bare(machine, menu, row)
    words = []
    for name in sorted(name for name in menu.fields.keys() & row.keys() if verbose or row[name] != bare.get(name)):
        value = row[name]
        if name == "name" and menu.fixed and value == bare.get(name):
            continue
        if isinstance(value, Nothing):
            words += [f"!{name}"] if verbose or not isinstance(bare.get(name), Nothing) else []
        elif name not in ("password", "mac-address", "orig-mac-address") or verbose:
            text = quoted(value)
            words.append(f'{name}="{text}"' if name == "advertise" and "," in text else f"{name}={text}")
    return " ".join(words)


def _bare(machine: Machine, menu: Menu, row: Row) -> Row:
    """The values that are not worth a word: those of a bare switch."""
    if menu.path == "/interface/ethernet":
        return menu.defaults | {"name": row.get("default-name"), "l2mtu": machine.model.factory_l2mtu}
    if menu.path == "/interface/ethernet/switch":
        return menu.defaults | {"name": "switch1", "qos-hw-offloading": machine.model.group == "cpss"}
    if menu.fixed or menu.singleton or row.get("default"):
        origin = machine.factory[menu.path].get(row.get(".id"))
        if origin is not None:
            return origin
    return menu.defaults


def import_script(interpreter: Interpreter, text: str, dry_run: bool = False) -> str:
    """Run a script file line by line, up to the first error; with ``dry_run`` only read it."""
    script = Interpreter(interpreter.binder, interpreter.runner)
    script.printed = interpreter.printed
    for number, line in logical_lines(text):
        try:
            if dry_run:
                script.menu = script.check_text(line)
            else:
                script.run_text(line)
        except RouterError as error:
            return f"Script Error: {str(error).replace('(line 1 ', f'(line {number} ')}"
    return _SUCCESS


def logical_lines(text: str) -> list[tuple[int, str]]:
    """(number of its first line, statement) for every statement: continued lines and open braces belong together."""
    found: list[tuple[int, str]] = []
    pending, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not pending:
            start = number
        stripped = line.rstrip("\r")
        if stripped.endswith("\\"):
            pending += (stripped[:-1].lstrip() if pending else stripped[:-1])
            continue
        pending += stripped.lstrip() if pending and not pending.endswith("\n") else stripped
        if _open_braces(pending) > 0:
            pending += "\n"
            continue
        if pending.strip() and not pending.lstrip().startswith("#"):
            found.append((start, pending))
        pending = ""
    return [*found, (start, pending)] if pending.strip() else found


def _open_braces(text: str) -> int:
    bare = re.sub(r'"(?:\\.|[^"\\])*"', "", text)
    return bare.count("{") - bare.count("}")


def load_export(machine: Machine, interpreter: Interpreter, text: str) -> list[str]:
    """Make a published export the configuration of a switch, as if it had been reset without its default configuration first.

    Returns the lines that this simulation can not take: menus it does not have, rows that the switch does not have.
    """
    for path in ("/interface/bridge", "/interface/bridge/port", "/ip/address"):
        machine.tables[path].rows = []
    skipped = []
    interpreter.menu = ""
    menu = ""
    for _number, line in logical_lines(text):
        if line.startswith("/"):
            menu = line
        try:
            interpreter.run_text(line)
        except RouterError as error:
            if line.startswith("/") and str(error).startswith(("bad command name", "syntax error")):
                interpreter.menu = "/nothing"
            skipped.append(f"{menu}: {line}: {error}" if menu != line else f"{line}: {error}")
    interpreter.menu = ""
    return skipped

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands of the menus do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import exporting, printing, views
from .binding import Bound
from .interpreter import Interpreter
from .machine import Machine, Row
from .values import NOTHING, Id, RouterError, put, truth, written

WRITING = ("add", "set", "remove", "enable", "disable", "unset", "comment", "move", "reset-counters", "import", "save", "load", "reboot", "upgrade")
_SAFE_MODE_WRITING = ("take", "release", "unroll", "toggle")
POLICIES = {"full": {"read", "write", "ftp", "policy"}, "write": {"read", "write"}, "read": {"read"}}
"""Group of a user -> what it may; files need ``ftp``, which the group ``write`` does not have."""


_DERIVED = ("/interface", "/file", "/interface/bridge/host", "/system/history")
"""Menus whose rows belong elsewhere."""


class Question(Exception):
    """The switch asks something before it goes on. ``answer`` gets the answer and returns what is printed; None: only Ctrl-C gets out."""

    def __init__(self, text: str, answer: Callable[[str], str] | None = None) -> None:
        super().__init__(text)
        self.text, self.answer = text, answer


@dataclass
class Context:
    """Who types: ``session`` identifies the login, ``is_pty`` a shell as opposed to a single command over an exec channel; ``may_all``: whatever
    the user's group may."""

    machine: Machine
    user: str
    session: object
    is_pty: bool = True
    quit: bool = False
    may_all: bool = False


class Commands:
    """Runs bound commands for one login."""

    def __init__(self, context: Context) -> None:
        self.context, self.machine = context, context.machine

    def run(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        """Carry out a command; text goes to the interpreter, a result into the brackets around it."""
        self.machine.tick()
        self._permit(command, arguments)
        path, verb = command.menu, command.verb
        if path == "/safe-mode":
            return self._safe_mode(verb, command, arguments, interpreter)
        handler: Any = getattr(self, "_" + verb.replace("-", "_"), None) or getattr(self, "_" + (path[1:] + "/" + verb).replace("/", "_"), None)
        if handler is None:
            return NOTHING
        return handler(command, arguments, interpreter)

    def _permit(self, command: Bound, arguments: dict[str, Any]) -> None:
        group = next((row["group"] for row in self.machine.rows("/user") if row["name"] == self.context.user), "read")
        policies = POLICIES["full"] if self.context.may_all else POLICIES.get(str(group), {"read"})
        writes_file = command.menu == "/file" and command.verb in WRITING or command.verb == "export" and "file" in arguments
        writes = command.verb in WRITING or command.menu == "/safe-mode" and command.verb in _SAFE_MODE_WRITING
        needed = "ftp" if writes_file else "write" if writes else "read"
        if needed not in policies:
            raise RouterError("not enough permissions (9)")

    # Selecting rows.
    def _targets(self, command: Bound, arguments: dict[str, Any]) -> list[Row]:
        path = command.menu
        if self.machine.menus[path].singleton:
            return []
        if "numbers" not in arguments:
            if self.context.is_pty:
                raise Question("numbers: ")
            raise RouterError("missing value(s) of argument(s) numbers")
        value = arguments["numbers"]
        wanted = value if isinstance(value, list) else [value] if isinstance(value, (int, Id)) else str(value).split(",")
        return [self._one(path, put(item)) for item in wanted]

    def _one(self, path: str, text: str) -> Row:
        """A stored row by id, name or position."""
        stored = self._stored(path)
        if text.startswith("*"):
            found = next((row for row in stored if row[".id"] == text), None)
            if found is None:
                raise RouterError("no such item (4)")
            return found
        by_name = next((row for row in stored if text and row.get("name") == text), None)
        if by_name is not None:
            return by_name
        if re.match(r"\d+\Z", text) and int(text) < len(stored):
            return stored[int(text)]
        raise RouterError("no such item")

    def _stored(self, path: str) -> list[Row]:
        """Rows as stored; those of derived menus are only shown."""
        return views.rows(self.machine, path) if path in _DERIVED else self.machine.rows(path)

    def _own(self, path: str, rows: list[Row]) -> list[tuple[str, list[Row]]]:
        """(menu, stored rows) that really hold the rows of a menu."""
        if path != "/interface":
            return [(path, rows)]
        kinds = {"ether": "/interface/ethernet", "bridge": "/interface/bridge", "vlan": "/interface/vlan"}
        found: dict[str, list[Row]] = {}
        for row in rows:
            own = self.machine.row(kinds[row["type"]], row["name"])
            found.setdefault(kinds[row["type"]], []).append(own or {})
        return list(found.items())

    # Commands that most menus have.
    def _print(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        menu = self.machine.menus[command.menu]
        shown = views.rows(self.machine, command.menu)
        if "from" in arguments:
            wanted = {row[".id"] for row in (self._one(command.menu, item) for item in put(arguments["from"]).replace(";", ",").split(","))}
            shown = [row for row in shown if row[".id"] in wanted]
        shown = [row for row in shown if interpreter.matches(command.where, row)]
        only = put(arguments["proplist"]).split(",") if "proplist" in arguments else None
        if only and any(name not in row for name in only for row in shown[:1]):
            raise RouterError("input does not match any value of value-name")
        if "as-value" in command.flags:
            return printing.as_value(shown, menu, "detail" in command.flags, only)
        if "count-only" in command.flags:
            interpreter.printed.append(str(len(shown)))
            return len(shown)
        interpreter.printed.append(printing.human(shown, menu, command.flags))
        return NOTHING

    def _get(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        shown = views.rows(self.machine, command.menu)
        if self.machine.menus[command.menu].singleton:
            row = shown[0]
        else:
            number = arguments.get("number", NOTHING)
            item = put(number[0]) if isinstance(number, list) and number else put(number)
            stored = self._one(command.menu, item)
            row = next(view for view in shown if view[".id"] == stored[".id"])
        if "value-name" not in arguments:
            return {name: value for name, value in row.items() if name != ".id"}
        name = put(arguments["value-name"])
        known = set(row) | set(self.machine.menus[command.menu].fields)
        if name not in known or name == ".id":
            raise RouterError("input does not match any value of value-name")
        return row.get(name, NOTHING)

    def _find(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        shown = views.rows(self.machine, command.menu)
        found = [row[".id"] for row in shown if interpreter.matches(command.where, row)]
        if self.machine.version == "7.24" and command.says_where and len(found) < len(shown):
            ids = [row[".id"] for row in shown]
            found = [ids[(ids.index(item) + 1) % len(ids)] for item in found]
        return found

    def _set(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        rows = self._targets(command, arguments)
        values = {name: value for name, value in arguments.items() if name != "numbers"}
        singleton = self.machine.menus[command.menu].singleton
        if command.menu == "/user" and "password" in values:
            for row in rows:
                self.machine.passwords[row["name"]] = put(values["password"])
            values.pop("password")
        for path, own in self._own(command.menu, rows) if rows or singleton else ():
            self.machine.set(path, own, values, command.unset)
        return NOTHING

    def _unset(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        rows = self._targets(command, arguments)
        if rows:
            self.machine.set(command.menu, rows, {}, {put(arguments["value-name"])})
        return NOTHING

    def _comment(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        for path, own in self._own(command.menu, self._targets(command, arguments)):
            self.machine.set(path, own, {"comment": put(arguments.get("comment", ""))})
        return NOTHING

    def _enable(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        return self._toggle(command, arguments, disabled=False)

    def _disable(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        return self._toggle(command, arguments, disabled=True)

    def _toggle(self, command: Bound, arguments: dict[str, Any], disabled: bool) -> Any:
        rows = self._targets(command, arguments)
        for path, own in self._own(command.menu, rows) if rows else ():
            self.machine.set(path, own, {"disabled": disabled})
        return NOTHING

    def _add(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        values = {name: value for name, value in arguments.items() if name not in ("copy-from", "place-before")}
        if command.menu == "/file":
            self.machine.write_file(put(values["name"]), put(values.get("contents", "")))
            return NOTHING
        password = values.pop("password", None) if command.menu == "/user" else None
        if password is not None:
            self.machine.passwords[put(values["name"])] = put(password)
        return self.machine.add(command.menu, values)

    def _remove(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        rows = self._targets(command, arguments)
        if command.menu == "/file":
            for row in rows:
                self.machine.files.pop(row["name"], None)
        else:
            self.machine.remove(command.menu, rows)
        return NOTHING

    def _monitor(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        if "once" not in command.flags:
            raise RouterError("interrupted")
        look = views.ethernet_monitor if command.menu == "/interface/ethernet" else views.bridge_port_monitor
        shown = [look(self.machine, row) for row in self._targets(command, arguments)]
        if "as-value" in command.flags:
            return shown[0] if len(shown) == 1 else shown
        interpreter.printed.append(printing.monitor(shown[0]) if len(shown) == 1 else printing.columns(shown))
        return NOTHING

    def _once(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        """``qos/monitor once``: buffers of the chip; their size is not published, these figures are made up."""
        shown = {"total-byte-cap": 33554432, "total-byte-use": 0, "multicast-byte-cap": 3355443, "multicast-byte-use": 0}
        interpreter.printed.append(printing.monitor(shown))
        return shown

    # Files and the whole configuration.
    def _export(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        text = exporting.export(self.machine, command.menu, command.flags)
        if "file" in arguments:
            self.machine.write_file(f"{put(arguments['file'])}.rsc", text)
        else:
            interpreter.printed.append(text.rstrip("\n"))
        return NOTHING

    def _import(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        name = put(arguments.get("file-name", ""))
        if name not in self.machine.files:
            raise RouterError("input does not match any value of file-name")
        dry_run = "dry-run" in command.flags
        if dry_run and not truth(arguments.get("verbose", "verbose" in command.flags)):
            raise RouterError("dry-run can only be used with verbose")
        interpreter.printed.append(exporting.import_script(interpreter, self.machine.files[name], dry_run))
        return NOTHING

    def _system_backup_save(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        name = put(arguments.get("name", self.machine.identity))
        self.machine.write_file(f"{name}.backup", exporting.export(self.machine, "", {"verbose"}))
        interpreter.printed.append("Saving system configuration\nConfiguration backup saved")
        return NOTHING

    def _system_backup_load(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        raise Question("Restore and reboot? [y/N]: ", self._restore_answer(put(arguments.get("name", ""))))

    def _restore_answer(self, name: str) -> Callable[[str], str]:
        def answer(text: str) -> str:
            if text.lower() != "y":
                return "action cancelled"
            if f"{name}.backup" not in self.machine.files and name not in self.machine.files:
                return "input does not match any value of name"
            self.machine.counts["reboots"] += 1
            self.context.quit = True
            return "Restoring system configuration\nSystem configuration restored, rebooting now"
        return answer

    def _system_reboot(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        def answer(text: str) -> str:
            if text.lower() == "y":
                self.machine.counts["reboots"] += 1
                self.context.quit = True
                return "system will reboot shortly"
            return "action cancelled"
        raise Question("Reboot, yes? [y/N]: ", answer)

    def _quit(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        if self.machine.safe_mode.session is self.context.session:
            def answer(text: str) -> str:
                self.context.quit = text.lower() == "y"
                return "" if self.context.quit else "Action aborted."
            raise Question("You are in Safe Mode. Quitting will unroll changes. Quit? [y/N]", answer)
        self.context.quit = True
        return NOTHING

    # Safe mode.
    def _safe_mode(self, verb: str, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        state = views.safe_mode(self.machine, self.context.session)
        if verb == "get":
            return state.get(put(arguments["value-name"]), NOTHING) if "value-name" in arguments else state
        if verb == "print":
            if "as-value" in command.flags:
                return state
            interpreter.printed.append("\n".join(f"  {name:>7}: {written(value)}" for name, value in state.items()))
            return NOTHING
        if verb == "toggle":
            verb = "release" if state["current"] else "take"
        interpreter.printed.append(getattr(self, f"_{verb}_safe_mode")(state))
        return NOTHING if verb == "take" else True

    def _take_safe_mode(self, state: Row) -> str:
        if state["current"]:
            return "Safe Mode is already active"
        if state["enabled"]:
            return f"Safe Mode is taken by another user ({state['user']}). Action aborted."
        if self.context.is_pty:
            self.machine.take_safe_mode(self.context.session, self.context.user, "ssh")
        return "Taking Safe Mode session... Success!"

    def _release_safe_mode(self, state: Row) -> str:
        if not state["current"]:
            return "Safe Mode has not been taken. Action aborted."
        self.machine.end_safe_mode()
        return "Releasing Safe Mode... Success!"

    def _unroll_safe_mode(self, state: Row) -> str:
        if not state["current"]:
            return "Safe Mode has not been taken. Action aborted."
        self.machine.unroll()
        return "Unrolling Safe Mode... Success!"

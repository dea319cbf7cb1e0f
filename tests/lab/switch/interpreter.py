# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs command lines: built-ins, variables, conditions; what menus do is in ``commands.py``.

A line is read and bound as a whole first, so that a mistake anywhere keeps all of it from running; then its statements run in order and the first
error ends it. Every line has its own local variables. Brackets among the arguments of a command run in its menu: ``set [find …]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .binding import Binder, Bound
from .language import Braces, Call, Joined, Literal, Operation, Pair, Parser, Statement, Variable, parse
from .values import NOTHING, Id, RouterError, kind_of, put, same, to_json, truth


class Runner(Protocol):
    """Carries out a bound command whose arguments have been evaluated. Returns its result (for brackets); prints through the interpreter."""

    def run(self, command: Bound, arguments: dict[str, Any], interpreter: Interpreter) -> Any:
        """Raises :class:`RouterError`."""


class Interpreter:
    """One console: its menu, its variables, what it has printed."""

    def __init__(self, binder: Binder, runner: Runner) -> None:
        self.binder, self.runner = binder, runner
        self.menu = ""
        self.globals: dict[str, Any] = {}
        self.printed: list[str] = []
        self._scopes: list[dict[str, Any]] = []
        self.calls = 0

    def execute(self, line: str) -> str:
        """Run a line and return everything it printed, an error included."""
        self.printed = []
        try:
            self.run_text(line)
        except RouterError as error:
            self.printed.append(str(error))
        return "\n".join(self.printed)

    def run_text(self, text: str) -> Any:
        """Run statements given as text, in a scope of their own."""
        self.check_text(text)
        return self._run(parse(text))

    def check_text(self, text: str) -> str:
        """Read statements without running them. Returns the menu after them; raises :class:`RouterError`."""
        menu = self.menu
        for statement in parse(text):
            menu = self._check(statement, menu)
        return menu

    def _check(self, statement: Statement, menu: str, in_call: bool = False) -> str:
        """Bind a statement and everything in its brackets, to find errors before anything runs. Returns the menu after it."""
        bound = self.binder.bind(statement, menu, in_call)
        for value in [*bound.arguments.values(), *bound.parts]:
            for call in _calls(value):
                for inner in call.script:
                    self._check(inner, menu if bound.menu == ":" else bound.menu, in_call=True)
        return menu if bound.verb else bound.menu

    def _run(self, statements: tuple[Statement, ...], scope: dict[str, Any] | None = None) -> Any:
        self._scopes.append(scope if scope is not None else {})
        menu = self.menu
        result: Any = NOTHING
        try:
            for statement in statements:
                result = self._statement(statement)
        finally:
            self._scopes.pop()
            if self.calls or self._scopes:
                self.menu = menu
        return result

    def _statement(self, statement: Statement) -> Any:
        bound = self.binder.bind(statement, self.menu, in_call=self.calls > 0)
        if bound.menu == ":":
            return getattr(self, f"_do_{bound.verb}")(_Parts(bound.parts))
        if not bound.verb:
            self.menu = bound.menu
            return NOTHING
        menu, self.menu = self.menu, bound.menu
        try:
            arguments = {name: self._argument(value) for name, value in bound.arguments.items()}
        finally:
            self.menu = menu
        return self.runner.run(bound, arguments, self)

    def value(self, node: Any, row: Mapping[str, Any] | None = None) -> Any:
        """Evaluate a value; in a condition of ``where``, ``row`` is the row that is looked at."""
        if isinstance(node, Literal):
            return node.text if node.is_quoted else _word(node.text)
        if isinstance(node, Variable):
            return self._variable(node, row)
        if isinstance(node, Call):
            self.calls += 1
            try:
                return self._run(node.script)
            finally:
                self.calls -= 1
        if isinstance(node, Braces):
            elements = Parser(node.text, node.column - 1).array()
            if any(key is not None for key, _item in elements):
                return {key or "": self.value(item) for key, item in elements}
            return [self.value(item) for _key, item in elements]
        if isinstance(node, Joined):
            return "".join(put(self.value(part)) for part in node.parts)
        return self._operation(node, row)

    def matches(self, condition: Any, row: Mapping[str, Any]) -> bool:
        """Whether a row satisfies a condition of ``where``."""
        return condition is None or truth(self._operation(condition, row) if isinstance(condition, Operation) else self.value(condition, row))

    def _argument(self, node: Any) -> Any:
        """Arguments take their words as they are written; ``a=5`` of a text field stays the text."""
        return node.text if isinstance(node, Literal) else self.value(node)

    def _variable(self, node: Variable, row: Mapping[str, Any] | None) -> Any:
        for scope in reversed(self._scopes):
            if node.name in scope:
                return scope[node.name]
        if node.name in self.globals:
            return self.globals[node.name]
        if row is not None and node.name in row:
            return row[node.name]
        raise RouterError(f"syntax error (line 1 column {node.column + 1})")

    def _operation(self, node: Any, row: Mapping[str, Any] | None) -> Any:
        if not isinstance(node, Operation):
            return self.value(node, row)
        if node.operator == "word":
            name = node.operands[0].text
            return row.get(name, NOTHING) if row is not None and not _is_constant(name) else _word(name)
        if node.operator == "not":
            return not truth(self._operation(node.operands[0], row))
        left = self._operation(node.operands[0], row)
        if node.operator in ("and", "or"):
            chosen = truth(left) is (node.operator == "or")
            return truth(left) if chosen else truth(self._operation(node.operands[1], row))
        right_node = node.operands[1]
        right = self.value(right_node.operands[0]) if isinstance(right_node, Operation) and right_node.operator == "word" else self._operation(
            right_node, row)
        return _OPERATORS[node.operator](left, right)

    # Built-ins.
    def _do_put(self, parts: _Parts) -> Any:
        value = self.value(parts.positional[0]) if parts.positional else NOTHING
        self.printed.append(put(value))
        return NOTHING

    def _do_local(self, parts: _Parts) -> Any:
        name = parts.positional[0].text
        self._scopes[-1][name] = self.value(parts.positional[1]) if len(parts.positional) > 1 else NOTHING
        return NOTHING

    def _do_global(self, parts: _Parts) -> Any:
        name = parts.positional[0].text
        self.globals[name] = self.value(parts.positional[1]) if len(parts.positional) > 1 else self.globals.get(name, NOTHING)
        return NOTHING

    def _do_set(self, parts: _Parts) -> Any:
        name = parts.positional[0].text
        scope = next((scope for scope in reversed(self._scopes) if name in scope), self.globals)
        scope[name] = self.value(parts.positional[1]) if len(parts.positional) > 1 else NOTHING
        return NOTHING

    def _do_foreach(self, parts: _Parts) -> Any:
        elements = self.value(parts.named["in"])
        name = parts.positional[0].text
        for element in elements if isinstance(elements, list) else [elements]:
            self._block(parts.named["do"], {name: element})
        return NOTHING

    def _do_if(self, parts: _Parts) -> Any:
        branch = parts.named.get("do") if truth(self.value(parts.positional[0])) else parts.named.get("else")
        return self._block(branch, {}) if branch is not None else NOTHING

    def _do_do(self, parts: _Parts) -> Any:
        try:
            return self._block(parts.positional[0], {})
        except RouterError:
            if "on-error" not in parts.named:
                raise
            return self._block(parts.named["on-error"], {})

    def _do_onerror(self, parts: _Parts) -> Any:
        try:
            return self._block(parts.named["in"], {})
        except RouterError as error:
            return self._block(parts.named["do"], {parts.positional[0].text: str(error)})

    def _do_error(self, parts: _Parts) -> Any:
        raise RouterError(put(self.value(parts.positional[0])) if parts.positional else "")

    def _do_delay(self, parts: _Parts) -> Any:
        return NOTHING

    def _do_return(self, parts: _Parts) -> Any:
        return self.value(parts.positional[0])

    def _do_len(self, parts: _Parts) -> Any:
        value = self.value(parts.positional[0])
        return len(value) if isinstance(value, (list, dict)) else len(put(value))

    def _do_typeof(self, parts: _Parts) -> Any:
        return kind_of(self.value(parts.positional[0]))

    def _do_tostr(self, parts: _Parts) -> Any:
        return put(self.value(parts.positional[0]))

    def _do_tonum(self, parts: _Parts) -> Any:
        text = put(self.value(parts.positional[0]))
        return int(text) if re.match(r"-?\d+\Z", text) else NOTHING

    def _do_tobool(self, parts: _Parts) -> Any:
        return truth(self.value(parts.positional[0]))

    def _do_toarray(self, parts: _Parts) -> Any:
        value = self.value(parts.positional[0])
        return value if isinstance(value, (list, dict)) else [part for part in put(value).split(",") if part]

    def _do_find(self, parts: _Parts) -> Any:
        where, key = (self.value(part) for part in parts.positional[:2])
        if isinstance(where, list):
            return next((index for index, item in enumerate(where) if same(item, key)), NOTHING)
        found = put(where).find(put(key))
        return found if found >= 0 else NOTHING

    def _do_pick(self, parts: _Parts) -> Any:
        value, start, *end = (self.value(part) for part in parts.positional)
        last = int(put(end[0])) if end else int(put(start)) + 1
        picked = (list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else put(value))[int(put(start)):last]
        return picked if end or not isinstance(picked, list) else (picked[0] if picked else NOTHING)

    def _do_serialize(self, parts: _Parts) -> Any:
        value = self.value(parts.named["value"] if "value" in parts.named else parts.positional[0])
        kind = put(self.value(parts.named["to"]))
        if kind == "json":
            return to_json(value, "options" not in parts.named or put(self.value(parts.named["options"])) != "json.no-string-conversion")
        return _dsv(value, put(self.value(parts.named["delimiter"])) if "delimiter" in parts.named else ",")

    def _do_parse(self, parts: _Parts) -> Any:
        text = put(self.value(parts.positional[0]))
        try:
            bound = [self.binder.bind(statement, self.menu) for statement in parse(text)]
        except RouterError as error:
            words = text.strip().lstrip("/").split()
            return f"(<% {error} {';'.join(words)})" if str(error).startswith("bad command name") else str(error)
        return "(evl " + " ".join(f"{command.menu}/{command.verb}" for command in bound) + ")"

    def _block(self, node: Any, scope: dict[str, Any]) -> Any:
        if isinstance(node, Braces):
            statements = parse(node.text, node.column - 1)
            return self._run(statements, scope)
        return self.value(node)


class _Parts:
    """Parts of a built-in, sorted into positional and named ones."""

    def __init__(self, parts: list[Any]) -> None:
        self.positional = [part for part in parts if not isinstance(part, Pair)]
        self.named = {part.name: part.value for part in parts if isinstance(part, Pair)}


def _word(text: str) -> Any:
    """The value of an unquoted word."""
    if text in ("true", "yes", "false", "no"):
        return text in ("true", "yes")
    if re.match(r"-?\d+\Z", text):
        return int(text)
    return Id(text) if re.match(r"\*[0-9A-Fa-f]+\Z", text) else text


def _is_constant(text: str) -> bool:
    return text in ("true", "yes", "false", "no") or bool(re.match(r"[-*]?\d", text))


def _like(left: Any, right: Any) -> bool:
    try:
        return bool(re.search(put(right), put(left)))
    except re.error:
        return False


def _number(value: Any) -> int:
    text = put(value)
    return int(text) if re.match(r"-?\d+\Z", text) else 0


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": same,
    "!=": lambda left, right: not same(left, right),
    "~": _like,
    "<": lambda left, right: _number(left) < _number(right),
    ">": lambda left, right: _number(left) > _number(right),
    "<=": lambda left, right: _number(left) <= _number(right),
    ">=": lambda left, right: _number(left) >= _number(right),
    ".": lambda left, right: put(left) + put(right),
    ",": lambda left, right: [*(left if isinstance(left, list) else [left]), *(right if isinstance(right, list) else [right])],
    "+": lambda left, right: _number(left) + _number(right),
    "-": lambda left, right: _number(left) - _number(right),
}


def _calls(node: Any) -> list[Call]:
    """Every bracket in a value."""
    if isinstance(node, Call):
        return [node]
    if isinstance(node, Pair):
        return _calls(node.value)
    if isinstance(node, Joined):
        return [call for part in node.parts for call in _calls(part)]
    if isinstance(node, Operation):
        return [call for part in node.operands for call in _calls(part)]
    return []


def _dsv(value: Any, delimiter: str) -> str:
    if len(delimiter) > 3:
        raise RouterError("value of delimiter should not be longer than 3")
    rows = value if isinstance(value, list) else [value]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return "\n".join([delimiter.join(keys), *(delimiter.join(put(row.get(key, NOTHING)) for key in keys) for row in rows)])

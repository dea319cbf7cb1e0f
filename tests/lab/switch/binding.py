# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a statement to a command of a menu: which words are the path, which the command, which its arguments. Pure.

Errors carry the column in the typed line (counted from 1), as RouterOS 7.20 to 7.24 say them. Measured ones: ``/nonsense command`` is a bad command
name at the word, ``/nonsense/command`` a syntax error at the second slash, ``/system/resource/print bogus=1`` an expected end of command at the
argument, ``/export hide-sensitive=yes`` one at the ``=`` of a flag; inside brackets 7.23 and newer say bad parameter, at its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .fields import EnumError
from .language import Literal, Pair, Statement
from .menus import Menu
from .schema import Schema
from .values import RouterError

BUILTINS = ("put", "local", "global", "set", "foreach", "if", "do", "len", "serialize", "parse", "onerror", "error", "delay", "find", "pick",
            "typeof", "tostr", "tonum", "toarray", "tobool", "return")
_POSITIONAL = {
    "get": ("number", "value-name"), "print": ("from",), "comment": ("numbers", "comment"), "take": (), "import": ("file-name",),
    "unset": ("numbers", "value-name"), "monitor": ("numbers",),
}
_FLAGS = {"append", "as-value", "brief", "count-only", "detail", "follow", "follow-only", "show-ids", "terse", "value-list", "without-paging",
          "once", "stats", "pfc", "usage", "rates", "hide-sensitive", "show-sensitive", "verbose", "compact", "dry-run", "as-string",
          "as-string-value", "comments"}


@dataclass
class Bound:
    """A command: ``menu`` (``""`` at the root), ``verb``, ``arguments`` by name, ``flags``, ``unset`` (given with ``!``), ``where``.

    A menu without a command (``verb`` empty) is a step into it. Built-ins have the menu ``:``; their parts stay as they are in ``parts``.
    """

    menu: str
    verb: str
    column: int
    arguments: dict[str, Any] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    unset: set[str] = field(default_factory=set)
    where: Any = None
    says_where: bool = False
    parts: list[Any] = field(default_factory=list)


class Binder:
    """Binds statements of one switch. ``in_call``: inside brackets, where some errors are worded differently."""

    def __init__(self, schema: Schema, menus: dict[str, Menu]) -> None:
        self.schema, self.menus = schema, menus
        self._children: dict[str, set[str]] = {}
        for menu in schema.menus:
            parent, _slash, name = menu.rpartition("/")
            self._children.setdefault(parent, set()).add(name)
        self._verbs: dict[str, set[str]] = {}
        for path in schema.commands:
            menu, _slash, verb = path.rpartition("/")
            self._verbs.setdefault(menu, set()).add(verb)

    def bind(self, statement: Statement, menu: str, in_call: bool = False) -> Bound:
        """Bind a statement that was typed in a menu."""
        parts = list(statement.parts)
        first = parts[0]
        if not isinstance(first, Literal) or first.is_quoted:
            raise RouterError(f"expected command name (line 1 column {statement.column})")
        if first.text.startswith(":"):
            return self._builtin(first.text[1:], first.column + 1, parts[1:])
        words: list[tuple[str, int, bool]] = []
        while parts and isinstance(parts[0], Literal) and not parts[0].is_quoted:
            words = _path_words(parts[0])
            here = "" if parts[0].text.startswith("/") and parts[0] is first else menu
            menu, verb, is_over = self._walk(words, here, parts[0] is first)
            column = words[-1][1] if words else parts[0].column
            parts.pop(0)
            if verb in BUILTINS and menu == "":
                return self._builtin(verb, column, parts)
            if verb:
                return self._arguments(Bound(menu, verb, column, where=statement.where, says_where=statement.says_where), parts, in_call)
            if is_over:
                break
        if parts:
            raise RouterError(f"expected command name (line 1 column {getattr(parts[0], 'column', statement.column)})")
        return Bound(menu, "", statement.column)

    def _builtin(self, name: str, column: int, parts: list[Any]) -> Bound:
        found = name if name in BUILTINS else _only([builtin for builtin in BUILTINS if builtin.startswith(name)])
        if not found or not name:
            raise RouterError(f"bad command name {name} (line 1 column {column})")
        return Bound(":", found, column, parts=parts)

    def _walk(self, words: list[tuple[str, int, bool]], menu: str, is_first: bool) -> tuple[str, str, bool]:
        """Follow the words of one token from a menu. Returns (menu, verb or "", whether the menu changed by ``/`` or ``..`` alone)."""
        for word, column, slash_follows in words:
            if word == "..":
                menu = menu.rpartition("/")[0]
                continue
            children, verbs = self._children.get(menu, set()), self._verbs.get(menu, set())
            names = children | verbs | (set(BUILTINS) if menu == "" else set())
            found = word if word in names else _only([name for name in names if name.startswith(word)])
            if found is None:
                if slash_follows:
                    raise RouterError(f"syntax error (line 1 column {column + len(word)})")
                raise RouterError(f"bad command name {word} (line 1 column {column})")
            if found in children and (found not in verbs or slash_follows):
                menu = f"{menu}/{found}"
            elif slash_follows:
                raise RouterError(f"syntax error (line 1 column {column + len(word)})")
            else:
                return menu, found, False
        return menu, "", not words or words[-1][0] == ".."

    def _arguments(self, bound: Bound, parts: list[Any], in_call: bool) -> Bound:
        known = self.schema.commands[f"{bound.menu}/{bound.verb}"]
        spec = self.menus.get(bound.menu)
        if spec and spec.singleton:
            known = known - {"detail", "where", "numbers", "from"}
        positional = list(_POSITIONAL.get(bound.verb, ("numbers",)))
        if spec and spec.singleton and bound.verb == "get":
            positional = ["value-name"]
        for part in parts:
            if isinstance(part, Pair):
                self._pair(bound, part, known, spec, in_call)
                continue
            if isinstance(part, Literal) and not part.is_quoted:
                flag = part.text if part.text in known & _FLAGS else _only([name for name in known & _FLAGS if name.startswith(part.text)])
                if flag:
                    bound.flags.add(flag)
                    continue
            name = positional.pop(0) if positional else None
            if name not in known:
                raise self._unknown(part, in_call)
            bound.arguments[name] = part
        if bound.where is not None and "where" not in known:
            raise RouterError(f"expected end of command (line 1 column {bound.column})")
        return bound

    def _pair(self, bound: Bound, pair: Pair, known: frozenset[str], spec: Menu | None, in_call: bool) -> None:
        name = pair.name if pair.name in known else _only([name for name in known if name.startswith(pair.name)])
        if name is None:
            raise self._unknown(pair, in_call)
        if pair.negated:
            bound.unset.add(name)
            return
        if name in _FLAGS and bound.verb in ("print", "export", "monitor"):
            raise RouterError(f"expected end of command (line 1 column {pair.equals})")
        if pair.value is None:
            raise RouterError(f"expected end of command (line 1 column {pair.equals + 1})")
        field_ = spec.fields.get(name) if spec else None
        if field_ and isinstance(pair.value, Literal) and field_.kind in ("word", "words", "flag"):
            try:
                field_.parse(pair.value.text, lambda target: [])
            except EnumError:
                raise RouterError(f"syntax error (line 1 column {pair.value.column})") from None
        bound.arguments[name] = pair.value

    def _unknown(self, part: Any, in_call: bool) -> RouterError:
        column = getattr(part, "column", 1)
        name = part.name if isinstance(part, Pair) else getattr(part, "text", None)
        if in_call and name and tuple(map(int, self.schema.line.split("."))) >= (7, 23):
            return RouterError(f"bad parameter {name} (line 1 column {column + len(name)})")
        return RouterError(f"expected end of command (line 1 column {column})")


def _path_words(token: Literal) -> list[tuple[str, int, bool]]:
    """Words of a path token with their columns, and whether a slash follows."""
    return [(found[0], token.column + found.start(), token.text[found.end():found.end() + 1] == "/") for found in re.finditer(r"[^/]+", token.text)]


def _only(names: list[str]) -> str | None:
    return names[0] if len(names) == 1 else None

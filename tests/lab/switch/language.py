# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RouterOS' command language as a tree. Pure: text in, tree out, with the column of everything for error messages.

A line is statements separated by ``;`` or newlines. A statement is words, ``name=value`` pairs, values and a ``where`` condition; which words are
a path, a command or an argument only the menus know, so that is decided later (``binding.py``). Quoting as measured by tik4net on 7.23 and 7.24.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .values import RouterError

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "$": "$", "_": " ", "?": "?"}
_WORD = re.compile(r"[^\s;\[\](){}\"$]+")
_NAME = re.compile(r"!?[A-Za-z.][A-Za-z0-9.-]*(?==)")
_FIND = re.compile(r"(?:^|/)find\Z")
_OPERATORS = ("!=", "<=", ">=", "&&", "||", "=", "~", "<", ">", "!", "+", "-", ".", ",")


@dataclass(frozen=True)
class Literal:
    """A fixed value: a word or a quoted string."""

    text: str
    column: int
    is_quoted: bool = False


@dataclass(frozen=True)
class Variable:
    """``$name``."""

    name: str
    column: int


@dataclass(frozen=True)
class Call:
    """``[ … ]``: the result of the statements inside."""

    script: tuple[Statement, ...]
    column: int


@dataclass(frozen=True)
class Operation:
    """An operator with its operands. A bare word is the operator ``word``: left of a comparison in ``where`` a property, else itself."""

    operator: str
    operands: tuple[Any, ...]
    column: int


@dataclass(frozen=True)
class Braces:
    """``{ … }``, an array or a block: which of them, the command that gets it knows."""

    text: str
    column: int


@dataclass(frozen=True)
class Joined:
    """Adjacent parts that make one value, ``"a"$b``."""

    parts: tuple[Any, ...]
    column: int


@dataclass(frozen=True)
class Pair:
    """``name=value``; ``value`` is None for ``!name`` and for a name with nothing after its ``=``."""

    name: str
    value: Any
    column: int
    equals: int
    negated: bool = False


@dataclass
class Statement:
    """One command. ``parts``: literals, values and pairs in order; ``where``: the condition after that word, or None; ``says_where``: whether
    the word was there, which ``find`` may leave out."""

    parts: list[Any] = field(default_factory=list)
    where: Any = None
    says_where: bool = False
    column: int = 1


class Parser:
    """Reads one text. ``offset`` is added to every column: the position of a nested text in its line."""

    def __init__(self, text: str, offset: int = 0) -> None:
        self.text, self.offset, self.at = text, offset, 0

    def fail(self, at: int | None = None) -> RouterError:
        """A syntax error at a position."""
        return RouterError(f"syntax error (line 1 column {self.column(self.at if at is None else at)})")

    def column(self, at: int) -> int:
        """Column of a position, counted from 1."""
        return at + self.offset + 1

    def script(self, closing: str = "") -> tuple[Statement, ...]:
        """Statements up to the closing character, which is consumed, or to the end."""
        statements: list[Statement] = []
        while True:
            self._skip_to_statement()
            if self.at >= len(self.text):
                if closing:
                    raise self.fail()
                return tuple(statements)
            if self.text[self.at] == closing:
                self.at += 1
                return tuple(statements)
            statements.append(self._statement(closing))

    def array(self) -> list[tuple[str | None, Any]]:
        """Elements of an array: (key or None, value)."""
        elements: list[tuple[str | None, Any]] = []
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n;":
                self.at += 1
            if self.at >= len(self.text):
                return elements
            keyed = re.compile(r'(?:"([^"]*)"|([A-Za-z0-9-]+))=').match(self.text, self.at)
            if keyed:
                self.at = keyed.end()
            elements.append(((keyed[1] or keyed[2]) if keyed else None, self._value(";")))

    def _skip_to_statement(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] in " \t\r\n;":
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t\r":
            self.at += 1

    def _statement(self, closing: str) -> Statement:
        statement = Statement(column=self.column(self.at))
        while True:
            self._blank()
            if self.at >= len(self.text) or self.text[self.at] in ";\n" + closing:
                return statement
            if re.compile(r"where(?=[\s;\]]|$)").match(self.text, self.at) and statement.parts:
                self.at += len("where")
                statement.where, statement.says_where = self._condition(closing), True
                return statement
            part = self._part(closing)
            statement.parts.append(part)
            if isinstance(part, Literal) and _FIND.search(part.text) and self._has_condition(closing):
                statement.where = self._condition(closing)
                return statement

    def _has_condition(self, closing: str) -> bool:
        """After ``find`` the word ``where`` may be left out."""
        self._blank()
        return self.at < len(self.text) and self.text[self.at] not in ";\n" + closing and not re.compile(r"where\b").match(self.text, self.at)

    def _part(self, closing: str) -> Any:
        start = self.at
        named = _NAME.match(self.text, self.at)
        if named:
            name, equals = named[0], named.end()
            self.at = equals + 1
            bare = self.at >= len(self.text) or self.text[self.at] in " \t\r\n;" + closing
            if bare and re.compile(r"[ \t]*\{").match(self.text, self.at):
                self._blank()
                bare = False
            value = None if bare else self._value(closing)
            return Pair(name.lstrip("!"), value, self.column(start), self.column(equals))
        negated = re.compile(r"!([a-z][a-z0-9-]*)(?=[\s;\]]|$)").match(self.text, self.at)
        if negated:
            self.at = negated.end()
            return Pair(negated[1], None, self.column(start), self.column(start), negated=True)
        return self._value(closing)

    def _value(self, closing: str) -> Any:
        parts = []
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in " \t\r\n;]})":
            parts.append(self._atom())
        if not parts:
            raise self.fail()
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), self.column(start))

    def _atom(self) -> Any:
        column = self.column(self.at)
        character = self.text[self.at]
        if character == '"':
            return self._string()
        if character == "$":
            name = re.compile(r'\$(?:"([^"]*)"|([A-Za-z0-9]+))').match(self.text, self.at)
            if not name:
                raise self.fail(self.at + 1)
            self.at = name.end()
            return Variable(name[1] or name[2], column)
        if character == "[":
            self.at += 1
            return Call(self.script("]"), column)
        if character == "(":
            self.at += 1
            value = self._condition(")")
            if self.at >= len(self.text) or self.text[self.at] != ")":
                raise self.fail()
            self.at += 1
            return value
        if character == "{":
            return self._braces()
        word = _WORD.match(self.text, self.at)
        if not word:
            raise self.fail()
        self.at = word.end()
        return Literal(word[0], column)

    def _string(self) -> Any:
        start = self.at
        self.at += 1
        parts: list[Any] = []
        text = ""
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == '"':
                literal = Literal(text, self.column(start), is_quoted=True)
                return Joined((*parts, literal), self.column(start)) if parts else literal
            if character == "\\":
                escaped = self.text[self.at:self.at + 1]
                if escaped in _ESCAPES:
                    text += _ESCAPES[escaped]
                    self.at += 1
                else:
                    text += self._bytes()
            elif character == "$":
                self.at -= 1
                inner = self._interpolated()
                parts += [Literal(text, self.column(start), is_quoted=True), inner]
                text = ""
            else:
                text += character
        raise self.fail()

    def _bytes(self) -> str:
        """Characters written as bytes, ``\\C3\\BC``; the reading position is behind the first backslash."""
        found = re.compile(r"[0-9A-F]{2}(?:\\[0-9A-F]{2})*").match(self.text, self.at)
        if not found:
            raise self.fail(self.at - 1)
        self.at = found.end()
        return bytes.fromhex(found[0].replace("\\", "")).decode("utf-8", "surrogateescape")

    def _interpolated(self) -> Any:
        """``$name``, ``$(expression)`` or ``$[command]`` inside a string."""
        if self.text[self.at + 1:self.at + 2] in ("(", "["):
            self.at += 1
        return self._atom()

    def _braces(self) -> Braces:
        start, depth, in_string = self.at, 0, False
        while self.at < len(self.text):
            character = self.text[self.at]
            if in_string:
                if character == "\\":
                    self.at += 1
                in_string = character != '"'
            elif character == '"':
                in_string = True
            elif character in "{}":
                depth += 1 if character == "{" else -1
                if depth == 0:
                    self.at += 1
                    return Braces(self.text[start + 1:self.at - 1], self.column(start + 1))
            self.at += 1
        raise self.fail()

    # Conditions and expressions, loosest operator first.
    def _condition(self, closing: str) -> Any:
        return self._binary(closing, 0)

    _LEVELS: tuple[tuple[str, ...], ...] = (("or", "||"), ("and", "&&"), ("=", "!=", "~", "<", ">", "<=", ">="), (".", ",", "+", "-"))

    def _binary(self, closing: str, level: int) -> Any:
        if level == len(self._LEVELS):
            return self._unary(closing)
        left = self._binary(closing, level + 1)
        while True:
            at = self.at
            operator = self._operator(closing)
            if operator not in self._LEVELS[level]:
                self.at = at
                return left
            right = self._binary(closing, level + 1)
            left = Operation({"||": "or", "&&": "and"}.get(operator, operator), (left, right), self.column(at))

    def _operator(self, closing: str) -> str | None:
        self._blank()
        if self.at >= len(self.text) or self.text[self.at] in ";\n]})" or self.text[self.at] == closing:
            return None
        word = re.compile(r"(and|or)(?=[\s(])").match(self.text, self.at)
        if word:
            self.at = word.end()
            return word[1]
        for operator in _OPERATORS:
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                return operator
        raise self.fail()

    def _unary(self, closing: str) -> Any:
        self._blank()
        start = self.at
        if self.at >= len(self.text):
            raise self.fail()
        negation = re.compile(r"!(?!=)|not\b").match(self.text, self.at)
        if negation:
            self.at = negation.end()
            return Operation("not", (self._unary(closing),), self.column(start))
        word = re.compile(r"[^\s;\[\](){}\"$=!~<>&|]+").match(self.text, self.at)
        if word and self.text[self.at] not in '"$[({':
            self.at = word.end()
            return Operation("word", (Literal(word[0], self.column(start)),), self.column(start))
        if self.text[self.at] in ";]})":
            raise self.fail()
        return self._atom()


@lru_cache(maxsize=1024)
def parse(text: str, offset: int = 0) -> tuple[Statement, ...]:
    """Statements of a text. Raises :class:`RouterError` with the column of what can not be read."""
    return Parser(text, offset).script()

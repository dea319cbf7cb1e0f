# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this collection keeps in JSON files of its own: read against its type, so that a damaged file is a refusal that names it."""

from __future__ import annotations

import functools
import json
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

from ansible_collections.gb10.cluster.plugins.module_utils._message import message

Kind = TypeVar("Kind")

_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a whole number", float: "a number", NoneType: "null"}


class Damaged(Exception):
    """A file of ours holds something else; the argument is the refusal. It is never written over: what it said may still be saved."""


class _Other(Exception):
    """Something is not of its type; the arguments are what was expected, and what was found."""


def parse(path: str, content: str | bytes, kind: type[Kind], fix: str) -> Kind:
    """The data that ``content`` of the file ``path`` holds; raises :class:`Damaged` when it is not of ``kind``.

    :param kind: a ``TypedDict`` of texts, numbers, lists, mappings, rows (``tuple``), other such types, and each of these ``| None``.
        Keys that it does not know are kept.
    :param fix: what to do about a damaged file.
    """
    try:
        data: Kind = json.loads(content)
        _check(data, kind, "")
    except _Other as other:
        expected, found = other.args
        raise Damaged(message(path, expected, found, fix)) from None
    except (ValueError, RecursionError):
        raise Damaged(message(path, "JSON that this collection wrote", "something else", fix)) from None
    return data


@functools.cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any] | None]:
    """Origin and arguments of a type, and the keys of a ``TypedDict``; looking them up takes longer than all comparisons."""
    return get_origin(kind), get_args(kind), get_type_hints(kind) if is_typeddict(kind) else None


def _check(value: Any, kind: Any, place: str) -> None:
    """Raise :class:`_Other` for the first thing in ``value`` that is not of ``kind``; ``place`` says where it is, beginning with a dot."""
    if value.__class__ is kind:
        return
    origin, arguments, hints = _parts(kind)
    if origin is UnionType:
        if value is not None:
            _check(value, next(one for one in arguments if one is not NoneType), place)
    elif hints is not None:
        _plain(value, dict, place)
        for key, hint in hints.items():
            if key not in value:
                raise _Other(f"{place}.{key}"[1:], "nothing")
            _check(value[key], hint, f"{place}.{key}")
    elif origin is dict:
        _plain(value, dict, place)
        for key, one in value.items():
            _check(one, arguments[1], f"{place}.{key}")
    elif origin in (list, tuple):
        _plain(value, list, place)
        if origin is tuple and len(value) != len(arguments):
            raise _Other(f"{len(arguments)} values for {place[1:]}", len(value))
        for number, one in enumerate(value):
            _check(one, arguments[number] if origin is tuple else arguments[0], f"{place}.{number}")
    elif kind is not Any:
        _plain(value, kind, place)


def _plain(value: Any, kind: type, place: str) -> None:
    """The same for a value without looking into it. JSON writes a number without fraction like a whole one; true is no number."""
    found = type(value)
    if found is not kind and (kind, found) != (float, int):
        raise _Other(f"{_WORDS[kind]} for {place[1:]}" if place else _WORDS[kind], _WORDS[found])

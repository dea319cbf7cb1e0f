# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects what is wrong with a request, and words for saying it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from ...module_utils._message import message


class Notes:
    """Everything that one plan has to say. Refusals make it invalid, warnings do not."""

    def __init__(self) -> None:
        self.refusals: list[str] = []
        self.warnings: list[str] = []

    def refuse(self, what: str, expected: object, found: object, fix: str) -> None:
        """Add a refusal in the grammar of :func:`message`."""
        self.refusals.append(message(what, expected, found, fix))

    def refused(self, what: str) -> bool:
        """Whether there is a refusal of ``what``, so that nobody need be told twice."""
        return any(text.startswith(f"{what} - ") for text in self.refusals)

    def warn(self, what: str, expected: object, found: object, fix: str) -> None:
        """Add a warning in the grammar of :func:`message`."""
        self.warnings.append(message(what, expected, found, fix))


def shown(value: Any) -> str:
    """A value as a message shows it: containers by their kind, texts on one line and no longer than 60 characters."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = " ".join(str(value).split())
    return f"{text[:57]}..." if len(text) > 60 else text or "an empty text"


def listed(names: Iterable[str], last: str = "and", most: int = 8) -> str:
    """``a, b and c``; of more than ``most`` names the rest is counted only."""
    all_names = list(names)
    if len(all_names) > most:
        return f"{', '.join(all_names[:most])} and {len(all_names) - most} more"
    return f" {last} ".join(filter(None, [", ".join(all_names[:-1]), *all_names[-1:]]))


def one_of(options: Iterable[str]) -> str:
    """``a, b or c``, all of them."""
    return listed(options, last="or", most=100)


def closest(word: str, options: Iterable[str], otherwise: str) -> str:
    """``Did you mean X?`` for the option that ``word`` is a misspelling of, else ``otherwise``."""
    match = difflib.get_close_matches(str(word), list(options), n=1, cutoff=0.6)
    return f"Did you mean {match[0]}?" if match else otherwise

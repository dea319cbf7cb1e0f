# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which calls of ``Notes.refuse`` and ``Notes.warn`` a test goes through, so that none is left without one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.gb10.cluster.plugins.plugin_utils._plan import _notes

PACKAGE = Path(_notes.__file__).parent

Site = tuple[str, int]


def sites(*names: str) -> set[Site]:
    """File and first line of every call in these files of the package; in all of them but the named ones if a name begins with ``-``."""
    found = set()
    for path in PACKAGE.glob("_*.py"):
        if path.name in names or (names[0].startswith("-") and f"-{path.name}" not in names):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("refuse", "warn"):
                    found.add((path.name, node.lineno))
    return found


def source(site: Site) -> str:
    """The text of a site's first line."""
    return (PACKAGE / site[0]).read_text().splitlines()[site[1] - 1].strip()


@contextmanager
def recorded() -> Iterator[set[Site]]:
    """The sites that are gone through inside the ``with``."""
    seen: set[Site] = set()
    originals = {name: getattr(_notes.Notes, name) for name in ("refuse", "warn")}

    def recording(original: Callable[..., None]) -> Callable[..., None]:
        def call(*args: Any) -> None:
            frame = sys._getframe(1)
            seen.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
            original(*args)

        return call

    for name, original in originals.items():
        setattr(_notes.Notes, name, recording(original))
    try:
        yield seen
    finally:
        for name, original in originals.items():
            setattr(_notes.Notes, name, original)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer to "is it cabled as planned?", and what all topologies say alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..module_utils._message import message
from ._cabling_seen import DOWN, Seen
from ._plan._notes import listed
from ._wiring import Port, join

VERDICTS = ("wrong", "switch", "direct", "foreign", "unheard", "missing", "other order", "as planned")
"""From what to begin with to what is well; the first that applies is the verdict."""


@dataclass
class Answer:
    """What :func:`_cabling.verdict` returns, as it grows."""

    refusals: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    moves: list[dict[str, str]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    additions: list[list[str]] = field(default_factory=list)
    fabric_cables: str | None = None
    kinds: set[str] = field(default_factory=set)

    @property
    def verdict(self) -> str:
        """The verdict in one word."""
        return next(kind for kind in VERDICTS if kind in {*self.kinds, VERDICTS[-1]})

    def refuse(self, kind: str, what: str, expected: str, found: str, fix: str) -> None:
        """Add a refusal; ``kind`` is one of ``VERDICTS``."""
        self.kinds.add(kind)
        self.refusals.append(message(what, expected, found, fix))

    def warn(self, what: str, expected: str, found: str, fix: str) -> None:
        """Add a warning."""
        self.warnings.append(message(what, expected, found, fix))

    def silent_rails(self, seen: Seen, port: Port, others: Sequence[Port]) -> None:
        """Warn about rails of a good cable that hear nobody. They are a matter of the machine: validation fails them, with numbers."""
        state = seen.port(port)
        heard = {rail for rails in state.heard.values() for rail in rails}
        for rail in state.rails:
            if rail["rail"] in heard:
                continue
            found, fix = "silence", "Power the machine off and on with the cable in; this part of the port seems dead."
            if not rail["up"]:
                found, fix = "that it is down", f"Set it up: ip link set dev {rail['interface']} up."
            elif not rail["carrier"]:
                found = "no link"
            expected = f"to hear {listed(map(join, others), most=3)}{' as the other rail does' if heard else ''}"
            self.warn(f"{join(port)} rail {rail['rail']} ({rail['interface']})", expected, found, fix)


def unheard(answer: Answer, port: Port, expected: str, state: str) -> None:
    """Refuse a planned port on which nobody can be heard."""
    found = "no such port on the machine"
    fix = "Power the machine off and on with the cable in: hot-plug power saving takes an empty port off the bus."
    if state == DOWN:
        found, fix = "that it is down", "Set fabric_neighbors_bring_up: true to have it raised meanwhile, or set its interfaces up."
    answer.refuse("unheard", join(port), expected, found, fix)

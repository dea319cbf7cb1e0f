# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes that somebody added on an interface, as the commands that add them again (``ip -j route`` of iproute2 6.1, all tables)."""

from __future__ import annotations

from typing import Any, NamedTuple

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._ip import rows

_MADE_BY_OTHERS = {"kernel", "dhcp", "ra"}

_WORDS = {"gateway": "via", "prefsrc": "src", "protocol": "proto", **{word: word for word in ("metric", "scope", "table", "pref", "weight")}}
"""Keys of a row to the words that say the same to ``ip route``."""

_TREATED = {"dst", "type", "dev", "via", "flags", "nexthops"}


class Routes(NamedTuple):
    """Of one interface: ``commands`` that add its routes again, and ``lost``: those for which there is none (``10.9.0.0/16 with metrics``)."""

    commands: list[list[str]]
    lost: list[str]


def by_interface(text: str, family: str) -> dict[str, Routes]:
    """``ip -j FAMILY route show table all`` by interface, beside what the kernel, leases and router advertisements make.

    :param family: ``-4`` or ``-6``. A route over several interfaces counts for each of them.
    """
    found: dict[str, Routes] = {}
    for row in rows(text):
        hops: list[dict[str, Any]] = row.get("nexthops") or [row]
        if row.get("protocol") in _MADE_BY_OTHERS:
            continue
        strange = sorted({key for one in (row, *hops) for key in one} - _WORDS.keys() - _TREATED)
        for name in dict.fromkeys(hop["dev"] for hop in hops if "dev" in hop):
            routes = found.setdefault(name, Routes([], []))
            if strange:
                routes.lost.append(f"{row.get('dst')} with {', '.join(strange)}")
            else:
                routes.commands.append(_command(row, family))
    return found


def _command(row: dict[str, Any], family: str) -> list[str]:
    kind = [row["type"]] if "type" in row else []
    hops = [word for hop in row.get("nexthops", []) for word in ["nexthop", *_words(hop)]]
    return ["ip", family, "route", "replace", *kind, row["dst"], *_words(row), *hops]


def _words(part: dict[str, Any]) -> list[str]:
    """A route or one of its next hops, in the words of ``ip route``; states of a link among the flags are nothing to say."""
    via = ["via", part["via"]["family"], part["via"]["host"]] if "via" in part else []
    device = ["dev", part["dev"]] if "dev" in part else []
    onlink = ["onlink"] if "onlink" in part.get("flags", []) else []
    return [*via, *device, *(word for key, said in _WORDS.items() if key in part for word in (said, str(part[key]))), *onlink]

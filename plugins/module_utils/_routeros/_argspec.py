# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say how to reach a switch, and how carefully to change it; documented in the fragment ``_mikrotik``."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._message import message
from ._session import SwitchError


class Care(NamedTuple):
    """How careful to be. Seconds: for another's safe mode to end, for the read-back to come right, for our own lost session to be undone
    (RouterOS takes up to 9 minutes to notice), between two looks. ``keep_exports``: how many of our exports stay on the switch."""

    safe_mode_wait: float = 60
    settle: float = 30
    unroll_wait: float = 600
    poll: float = 2
    keep_exports: int = 5


class Access(NamedTuple):
    """How to reach a switch. ``known_hosts_file`` None means the user's own file; ``timeout`` in seconds; ``called``: in messages."""

    host: str
    port: int
    username: str
    password: str | None
    private_key_file: str | None
    timeout: int
    host_key_checking: bool
    known_hosts_file: str | None
    called: str | None = None

    @property
    def name(self) -> str:
        """How messages call the switch."""
        return self.called or (self.host if self.port == 22 else f"{self.host}:{self.port}")


def connection_argument_spec() -> dict[str, dict[str, Any]]:
    """Argument spec of the connection, the same for every switch module."""
    return {
        "host": {"type": "str", "required": True},
        "port": {"type": "int", "default": 22},
        "username": {"type": "str", "default": "admin"},
        "password": {"type": "str", "no_log": True},
        "private_key_file": {"type": "path"},
        "timeout": {"type": "int", "default": 30},
        "host_key_checking": {"type": "bool", "default": True},
        "known_hosts_file": {"type": "path"},
        "called": {"type": "str"},
    }


def change_argument_spec() -> dict[str, dict[str, Any]]:
    """Argument spec of every module that changes a switch: the connection, and the care taken."""
    return {
        **connection_argument_spec(),
        "safe_mode_wait": {"type": "int", "default": 60},
        "keep_exports": {"type": "int", "default": 5},
    }


def access_of(params: dict[str, Any]) -> Access:
    """The connection of a module's parameters. Options that RouterOS would read after a ``+`` in the name are cut off.

    :raises SwitchError: for numbers that make no sense.
    """
    access = Access(*(params[name] for name in Access._fields))
    _at_least(access.name, params, {"port": 1, "timeout": 1})
    return access._replace(username=access.username.partition("+")[0])


def care_of(params: dict[str, Any]) -> Care:
    """How careful a module's parameters want it to be. Raises :class:`SwitchError` for numbers that make no sense."""
    _at_least(access_of(params).name, params, {"safe_mode_wait": 0, "keep_exports": 0})
    return Care(safe_mode_wait=params["safe_mode_wait"], keep_exports=params["keep_exports"])


def _at_least(name: str, params: dict[str, Any], least: dict[str, int]) -> None:
    refused = [message(f"{name}: {option}", f"{number} or more", params[option], "Correct the option.")
               for option, number in least.items() if params[option] is not None and params[option] < number]
    if refused:
        raise SwitchError("\n".join(refused))

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say how to reach a switch, and how carefully to change it; documented in the fragment ``_mikrotik``."""

from __future__ import annotations

from typing import Any, NamedTuple


class Access(NamedTuple):
    """How to reach a switch. ``known_hosts_file`` None means the user's own file; ``timeout`` in seconds."""

    host: str
    port: int
    username: str
    password: str | None
    private_key_file: str | None
    timeout: int
    host_key_checking: bool
    known_hosts_file: str | None


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
    }


def change_argument_spec() -> dict[str, dict[str, Any]]:
    """Argument spec of every module that changes a switch: the connection, and the care taken."""
    return {
        **connection_argument_spec(),
        "safe_mode_wait": {"type": "int", "default": 60},
        "keep_exports": {"type": "int", "default": 5},
    }


def access_of(params: dict[str, Any]) -> Access:
    """The connection of a module's parameters. Options that RouterOS would read after a ``+`` in the name are cut off."""
    access = Access(*(params[name] for name in Access._fields))
    return access._replace(username=access.username.partition("+")[0])

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logging in on a switch with netmiko.

netmiko is imported guarded: without it this module still imports, and :func:`connect` says which Python lacks it.
The terminal is a PTY shell on purpose: over an exec channel ``/safe-mode/take`` reports success and protects nothing
(measured on RouterOS 7.21).
"""

from __future__ import annotations

import codecs
import re
import sys
import time
from contextlib import suppress
from typing import Any

from .._message import message
from ._argspec import Access
from ._console import SILENCE, find_prompt
from ._session import ConnectionLost, Session, SwitchError

_Driver: Any = object
try:
    from netmiko.mikrotik import MikrotikRouterOsSSH
    from paramiko import PKey

    _Driver = MikrotikRouterOsSSH
    HAS_NETMIKO = True
except ImportError:
    HAS_NETMIKO = False

_SCREENS: dict[str, tuple[str, str]] = {
    "Do you want to see the software license": ("the licence question of a first login", "Log in once by hand and answer it."),
    'Please press "Enter" to continue!': ("the notice of an unlicensed system", "Log in once by hand and license the system."),
    'remove this default configuration type "r"': (
        "the default configuration screen of a first login", "Log in once by hand and press any key but r."),
    "new password>": ("the question for a new password", "Log in once by hand and set one; a factory or empty password is not accepted."),
}
"""Text on the screen -> (what it is, what to do). RouterOS shows these instead of a prompt."""

_BYTES = "iso-8859-1"
"""What netmiko is told that the switch speaks, one character per byte: it drops what it can not decode, and of a character that comes in two pieces
both, so that a comment would not be written back as it was. What is typed is ASCII."""


def connect(access: Access) -> Session:
    """Log in on a switch.

    :raises SwitchError: with the reason, when that does not lead to a prompt.
    """
    return Session(_NetmikoTerminal(access, access.name), access.name, access.timeout)


class _Screen(SwitchError):
    """A screen instead of a prompt."""


class _Login(_Driver):
    """netmiko's driver, except that a screen of a first login ends the attempt instead of being answered or waited for."""

    def special_login_handler(self, delay_factor: float = 1.0) -> None:
        pattern = "|".join(["(?:" + self.prompt_pattern, *(re.escape(screen) for screen in _SCREENS)]) + ")"
        seen = self.read_until_pattern(pattern=pattern, read_timeout=self.conn_timeout, re_flags=re.IGNORECASE)
        for screen, (found, fix) in _SCREENS.items():
            if screen.lower() in seen.lower():
                self.paramiko_cleanup()
                raise _Screen(message(f"{self.host}: login", "a prompt", found, fix))

    def set_base_prompt(self, *args: Any, **kwargs: Any) -> str:
        """netmiko's own ends at the first ``>``, which an identity may hold."""
        self.write_channel(self.RETURN)
        seen, last_byte = "", time.monotonic()
        deadline = last_byte + self.conn_timeout
        while (now := time.monotonic()) < deadline:
            news = self.read_channel()
            seen, last_byte = seen + news, now if news else last_byte
            prompt = find_prompt(seen) if now - last_byte > SILENCE else None
            if prompt:
                self.base_prompt = prompt
                return prompt
            time.sleep(0.01)
        raise ValueError(f"no prompt, but {seen[-60:]!r}")


class _NetmikoTerminal:
    """A netmiko connection as a :class:`Terminal`."""

    def __init__(self, access: Access, name: str) -> None:
        if not HAS_NETMIKO:
            raise SwitchError(message(
                "Python library netmiko", f"importable by {sys.executable}", "not installed there",
                "Install it with pip install 'netmiko>=4.8,<5', or point ansible_python_interpreter at a Python that has it."))
        self._name = name
        secret = access.password or access.private_key_file
        try:
            self._connection: Any = _Login(
                device_type="mikrotik_routeros", host=access.host, port=access.port, username=access.username,
                password=access.password or "", use_keys=bool(access.private_key_file), key_file=access.private_key_file,
                allow_agent=not secret, ssh_strict=access.host_key_checking,
                system_host_keys=access.host_key_checking and not access.known_hosts_file,
                alt_host_keys=bool(access.known_hosts_file), alt_key_file=access.known_hosts_file or "",
                conn_timeout=access.timeout, auth_timeout=access.timeout, banner_timeout=access.timeout, encoding=_BYTES,
            )
        except SwitchError:
            raise
        except Exception as error:  # netmiko, paramiko and the sockets below raise kinds of their own, ValueError among them: no login is what they share
            raise login_error(error, access, name) from error
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.prompt: str = self._connection.base_prompt.encode(_BYTES).decode("utf-8", "surrogateescape")
        self.address: str = self._connection.remote_conn.get_transport().getpeername()[0]

    def write(self, text: str) -> None:
        try:
            self._connection.write_channel(text)
        except Exception as error:  # of many kinds, see _lost
            raise self._lost(error) from error

    def read(self) -> str:
        try:
            text = self._connection.read_channel()
            if not text and self._is_gone():
                raise EOFError("by the switch")
            return self._decoder.decode(text.encode(_BYTES))
        except Exception as error:  # of many kinds, see _lost
            raise self._lost(error) from error

    def _is_gone(self) -> bool:
        """netmiko reads a closed channel as silence."""
        channel = self._connection.remote_conn
        return channel is None or channel.closed or channel.eof_received or not channel.get_transport().is_active()

    def close(self) -> None:
        self._connection.disconnect()

    def drop(self) -> None:
        with suppress(Exception):  # of a connection that is dead already; why it is, is said elsewhere
            self._connection.paramiko_cleanup()

    def _lost(self, error: Exception) -> ConnectionLost:
        """netmiko and paramiko end a session with OSError, EOFError, SSHException or their own; to us they are all one."""
        self.drop()
        return ConnectionLost(message(f"{self._name}: SSH session", "open", f"closed ({error})", "Check the path to the switch."))


def login_error(error: Exception, access: Access, name: str) -> SwitchError:
    """Say why a login failed, by the kind of the exception and, where there is no kind, by paramiko's words."""
    text = " ".join(str(error).split()).partition(" Common causes")[0].rstrip(".")
    known_hosts = access.known_hosts_file or "~/.ssh/known_hosts"
    is_of_key = isinstance(error, ValueError) or type(error).__name__ == "NetmikoAuthenticationException"
    unusable = _unusable(access) if is_of_key else None
    if unusable:
        return SwitchError(message(
            f"{name}: private key {access.private_key_file}", "a key without a passphrase", unusable,
            "Correct private_key_file. A key with a passphrase belongs into the SSH agent, which is asked where neither key nor password is given."))
    if type(error).__name__ == "NetmikoAuthenticationException":
        bare = not (access.password or access.private_key_file)
        return SwitchError(message(
            f"{name}: login as {access.username}", "accepted", "refused, without password and key" if bare else "refused",
            "Set ansible_password (in a vault) or ansible_ssh_private_key_file, or load the key into the SSH agent." if bare else
            "Check username, password and key; a user that has an SSH key may not log in with a password any more."))
    if "not found in known_hosts" in text:
        return SwitchError(message(
            f"{name}: host key", f"known in {known_hosts}", "unknown",
            f"Compare the fingerprint of ssh-keyscan -p {access.port} {access.host} with the switch's and add the line to that file."))
    if "does not match" in text and "ost key" in text:
        return SwitchError(message(
            f"{name}: host key", f"the one in {known_hosts}", "another one",
            "Find out why it changed (reset, another device, an attack) before the old line is replaced."))
    if type(error).__name__ in ("NetmikoTimeoutException", "ReadTimeout", "ValueError", "ReadException"):
        return SwitchError(message(
            f"{name}: login", f"a prompt within {access.timeout} s", text[:200], "Check address, port and path to the switch."))
    return SwitchError(message(f"{name}: login", "a prompt", f"{type(error).__name__}: {text[:200]}", "Check address, port and key file."))


def _unusable(access: Access) -> str | None:
    """Why the private key can not be used, of which paramiko only says that authentication failed; None where it can, where there is none, and
    with a password, which may be its passphrase."""
    if not access.private_key_file or access.password or not HAS_NETMIKO:
        return None
    try:
        PKey.from_path(access.private_key_file)
    except OSError as error:
        return error.strerror or "a file that can not be read"
    except Exception as error:  # paramiko's own, and those of the cryptography below, which change with its version
        is_locked = any(word in str(error).lower() for word in ("encrypt", "password", "passphrase"))
        return "one with a passphrase" if is_locked else "something else"
    return None

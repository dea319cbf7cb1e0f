# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One login on a switch: typing lines and reading answers, over netmiko.

netmiko is imported guarded: without it this module still imports, and :func:`connect` says which Python lacks it.
The terminal is a PTY shell on purpose: over an exec channel ``/safe-mode/take`` reports success and protects nothing
(measured on RouterOS 7.21).
"""

from __future__ import annotations

import re
import sys
import time
from typing import Any, Protocol

from .._message import message
from ._argspec import Access
from ._command import Command
from ._console import Reply, clean, parse_reply, prompt_pattern, typed
from ._rows import Row, parse_rows, print_source, read_command

_Driver: Any = object
try:
    from netmiko.mikrotik import MikrotikRouterOsSSH

    _Driver = MikrotikRouterOsSSH
    HAS_NETMIKO = True
except ImportError:
    HAS_NETMIKO = False

MAX_LINE = 400
"""Longest line to type: RouterOS scrolls longer ones sideways, which breaks their echo (community.routeros issue 6)."""

_SILENCE = 0.15
"""Seconds without a byte after which a refusal counts as complete; RouterOS paints prompts before late output (120-150 ms)."""

_SCREENS: dict[str, tuple[str, str]] = {
    "Do you want to see the software license": ("the licence question of a first login", "Log in once by hand and answer it."),
    'Please press "Enter" to continue!': ("the notice of an unlicensed system", "Log in once by hand and license the system."),
    'remove this default configuration type "r"': (
        "the default configuration screen of a first login", "Log in once by hand and press any key but r."),
    "new password>": ("the question for a new password", "Log in once by hand and set one; a factory or empty password is not accepted."),
}
"""Text on the screen -> (what it is, what to do). RouterOS shows these instead of a prompt."""


class SwitchError(Exception):
    """Something about the switch that the user must know; the text is complete."""


class ConnectionLost(SwitchError):
    """The session ended under us, or does not answer any more."""


class Terminal(Protocol):
    """The bytes of a session. ``prompt`` is its unchanging part, ``[admin@crs812]``; ``address`` the IP address it goes to."""

    prompt: str
    address: str

    def write(self, text: str) -> None:
        """Type text. Raises :class:`ConnectionLost`."""

    def read(self) -> str:
        """What has come in, possibly nothing; never waits. Raises :class:`ConnectionLost`."""

    def close(self) -> None:
        """End the session in an orderly way."""

    def drop(self) -> None:
        """Cut the connection, so that the switch undoes what a safe mode holds."""


class Session:
    """A logged-in session on one switch."""

    def __init__(self, terminal: Terminal, name: str, timeout: float) -> None:
        """``name`` is how messages call the switch; ``timeout`` in seconds is the longest silence of a working switch."""
        self.name = name
        self.address = terminal.address
        self._terminal = terminal
        self._timeout = timeout
        self._prompt = prompt_pattern(terminal.prompt)
        self._number = 0

    def run(self, text: str) -> Reply:
        """Type one line and wait for its answer.

        :raises SwitchError: for a line that is too long to be echoed; nothing is sent then.
        :raises ConnectionLost: when the session ends, or is silent for longer than its timeout; the connection is cut then.
        """
        if len(text) > MAX_LINE:
            raise SwitchError(message(
                f"{self.name}: {text[:60]}…", f"at most {MAX_LINE} characters", len(text), "Give ports shorter names, or split the work."))
        self._number += 1
        line = typed(text, self._number)
        self._terminal.write(line + "\r\n")
        received, last_byte = "", time.monotonic()
        while True:
            news = self._terminal.read()
            now = time.monotonic()
            if news:
                received, last_byte = received + news, now
            reply = parse_reply(clean(received), line, self._number, self._prompt) if news or now - last_byte > _SILENCE else None
            if reply and (reply.complete or now - last_byte > _SILENCE):
                if reply.question:
                    self._terminal.write("\x03")
                return reply
            if now - last_byte > self._timeout:
                self._terminal.drop()
                raise ConnectionLost(message(
                    f"{self.name}: answer to {text!r}", f"within {self._timeout:g} s", "silence",
                    "Look at the switch's log and load, or raise the option timeout."))
            time.sleep(0.01)

    def rows(self, menu: str, singleton: bool = False) -> list[Row]:
        """All rows of a menu; one row for a menu with a single record.

        :raises SwitchError: when the menu can not be read, with the switch's own words.
        """
        return self.read(print_source(menu, singleton), singleton)

    def read(self, source: str, singleton: bool = False) -> list[Row]:
        """Rows that a command prints, such as ``/interface/ethernet/monitor ether1 once as-value``."""
        reply = Reply("", complete=False)
        for as_json in (True, False):
            reply = self.run(read_command(source, as_json))
            rows = parse_rows(reply.text, as_json, singleton) if reply.complete else None
            if rows is not None:
                return rows
        raise SwitchError(message(
            f"{self.name}: {source}", "readable rows", repr(reply.text[-200:]) or "nothing",
            "Check the RouterOS version and the rights of the user."))

    def write(self, command: Command) -> str:
        """Send a command that changes something; the answer is empty when it went through, else what the switch objects."""
        reply = self.run(command.text)
        return "" if reply.complete and not reply.text else reply.text or "no answer"

    def close(self) -> None:
        """End the session in an orderly way."""
        self._terminal.close()

    def drop(self) -> None:
        """Cut the connection, so that the switch undoes what a safe mode of this session holds."""
        self._terminal.drop()


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
                conn_timeout=access.timeout, auth_timeout=access.timeout, banner_timeout=access.timeout,
            )
        except SwitchError:
            raise
        except Exception as error:
            raise login_error(error, access, name) from error
        self.prompt: str = self._connection.base_prompt
        self.address: str = self._connection.remote_conn.get_transport().getpeername()[0]

    def write(self, text: str) -> None:
        try:
            self._connection.write_channel(text)
        except Exception as error:
            raise self._lost(error) from error

    def read(self) -> str:
        try:
            text = self._connection.read_channel()
            if not text and self._is_gone():
                raise EOFError("by the switch")
            return text
        except Exception as error:
            raise self._lost(error) from error

    def _is_gone(self) -> bool:
        """netmiko reads a closed channel as silence."""
        channel = self._connection.remote_conn
        return channel is None or channel.closed or channel.eof_received or not channel.get_transport().is_active()

    def close(self) -> None:
        self._connection.disconnect()

    def drop(self) -> None:
        self._connection.paramiko_cleanup()

    def _lost(self, error: Exception) -> ConnectionLost:
        """netmiko and paramiko end a session with OSError, EOFError, SSHException or their own; to us they are all one."""
        self.drop()
        return ConnectionLost(message(f"{self._name}: SSH session", "open", f"closed ({error})", "Check the path to the switch."))


def login_error(error: Exception, access: Access, name: str) -> SwitchError:
    """Say why a login failed, by the kind of the exception and, where there is no kind, by paramiko's words."""
    text = " ".join(str(error).split())
    known_hosts = access.known_hosts_file or "~/.ssh/known_hosts"
    if type(error).__name__ == "NetmikoAuthenticationException":
        return SwitchError(message(
            f"{name}: login as {access.username}", "accepted", "refused",
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

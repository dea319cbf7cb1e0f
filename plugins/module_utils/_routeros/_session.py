# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One login on a switch: typing lines and reading answers, whatever carries the bytes."""

from __future__ import annotations

import time
from typing import Protocol

from .._message import message
from ._command import Command
from ._console import SILENCE as _SILENCE
from ._console import Reply, clean, parse_reply, prompt_pattern, typed
from ._rows import Row, parse_rows, print_source, read_command

MAX_LINE = 400
"""Longest line to type: RouterOS scrolls longer ones sideways, which breaks their echo (community.routeros issue 6)."""


_MOST = 10
"""Times the timeout that one answer may take: a switch that logs into the session all the time, but never answers, would be waited for for ever."""


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
        latest = last_byte + _MOST * self._timeout
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
            if now - last_byte > self._timeout or now > latest:
                self._terminal.drop()
                limit, found = (_MOST * self._timeout, "no end of it") if now > latest else (self._timeout, "silence")
                raise ConnectionLost(message(
                    f"{self.name}: answer to {text!r}", f"within {limit:g} s", found, "Look at the switch's log and load, or raise the option timeout."))
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

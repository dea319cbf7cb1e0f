# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The terminal of a RouterOS login: banner, first-login screens, prompt, echo, pager, questions, safe-mode keys. Text in, text out; no socket.

Behaviour as captured from RouterOS 7.21 to 7.24: the prompt is painted after several carriage returns, the typed line is repainted behind it,
output is cut at the width that the terminal claimed, and things come late.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .commands import Commands, Context, Question
from .interpreter import Interpreter
from .machine import Machine

PAGER = "-- [Q quit|D dump|down]"
SCREENS = {
    "license": ("Do you want to see the software license? [Y/n]: ", "nN"),
    "unlicensed": ('Please press "Enter" to continue!', "\r"),
    "default-config": ("The following default configuration has been installed on your router:\r\n\r\n"
                       'You can click on "Show Script" to see it, or remove this default configuration type "r" or hit any other key.\r\n', ""),
    "new-password": ("Change your password\r\n\r\nnew password> ", "\x03"),
}
"""Screen -> (what is shown instead of a prompt, the keys that end it; empty: any)."""

_KEYS = re.compile(r"[^\x00-\x1f\x7f]+|[\x00-\x1f\x7f]")
"""Typed text as runs of what is only written down, and single keys that do something."""

_NOISE = "12:00:01 echo: system,error,critical login failure for user root from 192.0.2.7 via ssh"


@dataclass
class Scenario:
    """What else happens on a switch. ``drop_at``: the typed line, counted over all logins, at which the connection goes; ``drop_after``: whether that
    line is still carried out. ``pieces``: output comes in pieces of that many characters; ``delay``: seconds before each."""

    screens: list[str] = field(default_factory=list)
    echo: str = "repaint"
    noise: bool = False
    late: bool = False
    early_prompt: bool = False
    pieces: int = 0
    delay: float = 0
    drop_at: int = 0
    drop_after: bool = False
    lines: int = 0
    log: list[str] = field(default_factory=list)


class Dropped(Exception):
    """The connection is gone."""


def login_options(username: str) -> tuple[str, int, bool]:
    """(user, width, whether the terminal is probed) from a login name with console options after ``+``."""
    name, _plus, options = username.partition("+")
    width = re.search(r"(\d+)w", options)
    return name, int(width[1]) if width else 80, not re.search(r"(?<!\d)t", options)


class Console:
    """One shell. ``send`` takes text for the terminal; feed typed text to :meth:`feed`."""

    def __init__(self, machine: Machine, username: str, send: Callable[[str], None], scenario: Scenario | None = None) -> None:
        user, self.width, self.probes = login_options(username)
        self.machine, self.send, self.scenario = machine, send, scenario or Scenario()
        self.context = Context(machine, user, self)
        self.interpreter = Interpreter(machine.binder, Commands(self.context))
        self.line = ""
        self._question: Question | None = None
        self._paged: list[str] = []
        self._screens = list(self.scenario.screens)
        self._last = ""
        machine.counts["logins"] += 1
        machine.listeners.append(self.tell)

    @property
    def closed(self) -> bool:
        """Whether the session has ended itself."""
        return self.context.quit

    def start(self) -> None:
        """Show what comes before the first prompt."""
        self.send(f"\r\n  MMM      MMM       KKK\r\n  MikroTik RouterOS {self.machine.version} (c) 1999-2026       https://www.mikrotik.com/\r\n\r\n")
        if self.probes:
            self.send("\x1b[9999C\x1b[6n")
            return
        self._next_screen()

    def stop(self) -> None:
        """The connection is gone, however that came."""
        if self.tell in self.machine.listeners:
            self.machine.listeners.remove(self.tell)
        self.machine.lose(self)

    def tell(self, text: str) -> None:
        """A line that comes when it comes, with the prompt after it."""
        self.send(f"\r\n{text}\r\n\r\r\r\r{self.prompt}{self.line}")

    @property
    def prompt(self) -> str:
        """``[admin@MikroTik] > ``, with the menu and the mark of safe mode."""
        held = self.machine.safe_mode.session is self
        menu = self.interpreter.menu
        return f"[{self.context.user}@{self.machine.identity}] {menu}{'<SAFE>' if held else '>'} "

    def _paint(self) -> None:
        self.send(f"\r\r\r\r{self.prompt}")

    def _next_screen(self) -> None:
        if self._screens:
            self.send(SCREENS[self._screens[0]][0])
        else:
            self._paint()

    def feed(self, text: str) -> None:
        """Typed text. Raises :class:`Dropped` when the scenario says so."""
        if self.probes:
            if re.search(r"\x1b\[\d+;\d+R", text):
                self.probes = False
                self._next_screen()
            return
        for keys in _KEYS.findall(text):
            if len(keys) > 1 and not (self._screens or self._paged or self._question or self.closed):
                self.line += keys
                self._last = keys[-1]
                continue
            for key in keys:
                if self.closed:
                    return
                self._key(key)

    def _key(self, key: str) -> None:
        if self._screens:
            keys = SCREENS[self._screens[0]][1]
            if not keys or key in keys:
                self._screens.pop(0)
                self.send("\r\n")
                self._next_screen()
            return
        if self._paged:
            self._page(key)
        elif key == "\n" and self._last == "\r":
            pass
        elif key == "\x18":
            self._control_x()
        elif key == "\x04":
            self.context.quit = True
        elif key == "\x03":
            self._question, self.line = None, ""
            self.send("\r\n")
            self._paint()
        elif key in ("\x7f", "\b"):
            self.line = self.line[:-1]
        elif self._question and self._question.text.endswith("]? ") and key in "ur":
            self._answer(key)
        elif key in "\r\n":
            self._enter()
        elif key >= " ":
            self.line += key
        self._last = key

    def _enter(self) -> None:
        line, self.line = self.line, ""
        if self._question:
            self._answer(line)
            return
        self._echo(line)
        if not line.strip():
            self._paint()
            return
        self.scenario.lines += 1
        self.scenario.log.append(line)
        drops = self.scenario.drop_at == self.scenario.lines
        if drops and not self.scenario.drop_after:
            raise Dropped
        try:
            output = self.interpreter.execute(line)
        except Question as question:
            output = "\n".join(self.interpreter.printed)
            self._question = question
        if drops:
            raise Dropped
        self._show(line, output)

    def _echo(self, line: str) -> None:
        if self.scenario.echo == "letters":
            self.send("".join(f"\r{self.prompt}{line[:length]}" for length in range(1, len(line) + 1)) + "\r\n")
        else:
            self.send(f"\r{self.prompt}{line}\r\n" * (2 if self.scenario.echo == "double" else 1))

    def _show(self, line: str, output: str) -> None:
        if self.scenario.early_prompt:
            self._paint()
            self.send("\r\n")
        lines = [part[start:start + self.width] for part in output.split("\n") for start in range(0, max(len(part), 1), self.width)] if output else []
        if self.scenario.noise:
            lines.insert(len(lines) // 2, _NOISE)
        if " print" in line and "without-paging" not in line and "put" not in line and len(lines) > 24:
            self._paged = lines[23:]
            self.send("\r\n".join(lines[:23]) + f"\r\n{PAGER}")
            return
        text = "".join(f"{part}\r\n" for part in lines)
        for start in range(0, len(text), self.scenario.pieces or len(text) or 1):
            self.send(text[start:start + (self.scenario.pieces or len(text))])
        self._after()
        if self.scenario.late and "Releasing Safe Mode" in output:
            self.send("\rSafe Mode released\r\n")
            self._paint()

    def _after(self) -> None:
        if self._question:
            self.send(self._question.text)
        elif not self.closed:
            self._paint()

    def _answer(self, text: str) -> None:
        question, self._question = self._question, None
        self.send(f"{text}\r\n")
        output = question.answer(text) if question and question.answer else ""
        self.send("".join(f"{part}\r\n" for part in output.split("\n") if part))
        self._after()

    def _page(self, key: str) -> None:
        if key in "qQ":
            self._paged = []
        else:
            shown, self._paged = (self._paged, []) if key in "dD" else (self._paged[:23], self._paged[23:])
            self.send("\r" + "\r\n".join(shown) + "\r\n")
        if self._paged:
            self.send(PAGER)
        else:
            self.send("\r\n")
            self._paint()

    def _control_x(self) -> None:
        """Take or release with the key, asking when somebody else holds it."""
        mode = self.machine.safe_mode
        if mode.session is None:
            self.send("\r\nTaking Safe Mode session... Success!\r\n")
            self.machine.take_safe_mode(self, self.context.user, "ssh")
            self.send(f"\r\x1b[9999B\r\r\r\r\x1b[9999B{self.prompt}\x1b[c")
        elif mode.session is self:
            self.send("\r\nReleasing Safe Mode... Success!\r\n")
            self.machine.end_safe_mode()
            self.send(f"\r\r\r\r{self.prompt}\rSafe Mode released\r\n\r\r\r\r{self.prompt}")
        else:
            who = "current user in another session" if mode.user == self.context.user else f"another user ({mode.user})"
            self._question = Question("Unroll, release or abort [u/r]? ", self._conflict)
            self.send(f"\r\nSafe Mode is taken by {who}.\r\n{self._question.text}")

    def _conflict(self, answer: str) -> str:
        if answer == "u":
            self.machine.unroll()
        elif answer == "r":
            self.machine.end_safe_mode("Safe mode released by another user")
        else:
            return "Action aborted."
        self.machine.take_safe_mode(self, self.context.user, "ssh")
        return "Taking Safe Mode session... Success!"


def run_once(machine: Machine, username: str, line: str) -> str:
    """A single command over an exec channel: no echo, no prompt, and a safe mode that protects nothing."""
    context = Context(machine, login_options(username)[0], object(), is_pty=False)
    interpreter = Interpreter(machine.binder, Commands(context))
    try:
        output = interpreter.execute(line)
    except Question as question:
        output = question.text
    return "".join(f"{part}\r\n" for part in output.split("\n")) + "\r\n" if output else ""

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a RouterOS terminal says, taken apart: echo, noise, output and prompt. Pure text, no device.

RouterOS has no structured error channel. A typed line gets a marker appended, ``<line>;:put "#<n>"``, which is printed exactly when
everything before it went through; so success and failure are told apart by position, never by the wording or language of a message,
and neither a prompt that is painted early nor a line that comes late can be taken for the end of an answer.

Behaviour of the terminal: repaints of prompt and echo, log lines in open sessions, the late ``Safe Mode released`` line
(tik4net findings on 7.23.2 and 7.24; RouterOS 7.23.7 captures).
"""

from __future__ import annotations

import re
from typing import NamedTuple

SILENCE = 0.15
"""Seconds without a byte after which a prompt or a refusal counts as complete; RouterOS paints prompts before late output (120-150 ms)."""

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[A-Za-z=>])")
_NOISE = re.compile(
    r"^(?:(?:\S+ )?\d\d:\d\d:\d\d echo: \S+ .*"  # a log entry that RouterOS shows in every open session
    r"|\[?Safe [Mm]ode released(?: by another user)?\]?)$"
)
_QUESTION = re.compile(r"(?:^|\n)(?:numbers:|[^\n]*(?:\[[yY]/[nN]\]:?|\[u/r(?:/d)?\][?:]|-- \[Q quit[^\n]*))[ ]*\Z")


class Reply(NamedTuple):
    """An answer. ``complete``: the marker was printed, so nothing failed; ``text``: what was printed, without echo, noise and prompt;
    ``question``: the switch waits for an answer that nobody meant to give."""

    text: str
    complete: bool
    question: bool = False


def clean(raw: str) -> str:
    """Strip colour and cursor sequences, and make every line end a single newline."""
    text = _ANSI.sub("", raw)
    text = re.sub(r"\r+\n|\n\r", "\n", text)
    return text.replace("\r", "").replace("\x00", "")


_PROMPT = re.compile(r"(?:^|\n)[ ]*(\[[^\n]+?@[^\n]*?\])(?:[ ]*>[ ]*\1)*[ ]*>[ ]*\Z")


def find_prompt(raw: str) -> str | None:
    """The part of a prompt that never changes, ``[admin@crs812]``, at the end of what a new session shows; painted more than once it is still one.

    It ends where the line ends, because an identity may hold ``]`` and ``>`` itself.
    """
    found = _PROMPT.search(clean(raw))
    return found[1] if found else None


def prompt_pattern(user_at_identity: str) -> re.Pattern[str]:
    """Pattern of a prompt at the end of what was received, in every menu, inside and outside safe mode.

    :param user_at_identity: the part of the prompt that never changes, ``[admin@crs812]``.
    """
    return re.compile(r"(?:^|\n)[ ]*(?:" + re.escape(user_at_identity) + r" ?(?:/[^>\n]*)?(?:<SAFE>|>)[ ]*)+\Z")


def typed(line: str, number: int) -> str:
    """The line to type so that the answer carries marker ``number``."""
    return f'{line};:put "#{number}"'


def parse_reply(received: str, line: str, number: int, prompt: re.Pattern[str]) -> Reply | None:
    """Look for a finished answer in everything received since the line was typed.

    :param received: cleaned text, see :func:`clean`.
    :param line: what :func:`typed` made of the command.
    :returns: None while the answer is not finished. An incomplete one may still grow: look again after a moment of silence.
    """
    echo = None
    for echo in re.finditer(re.escape(line) + r"[ \t]*\n", received):
        pass
    if echo is None:
        return None
    body = received[echo.end():]
    marker = re.search(rf"(?m)^#{number}[ ]*$", body)
    ended = prompt.search(body)
    if marker:
        return Reply(_without_noise(body[:marker.start()], prompt), complete=True) if ended else None
    if ended:
        text = _without_noise(body, prompt)
        return Reply(text, complete=False) if text else None
    question = _QUESTION.search(body)
    return Reply(_without_noise(body, prompt), complete=False, question=True) if question else None


def unwrap(text: str) -> str:
    """Join what is one logical line: RouterOS breaks long lines at the width of the terminal, inside values and inside characters too."""
    return text.replace("\n", "").encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _without_noise(text: str, prompt: re.Pattern[str]) -> str:
    lines = [line for line in text.split("\n") if not _NOISE.match(line.strip()) and not prompt.fullmatch(line)]
    return "\n".join(lines).strip("\n").rstrip()

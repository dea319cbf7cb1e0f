# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of a RouterOS terminal, as the bytes that come in."""

from __future__ import annotations

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._console import Reply, clean, parse_reply, prompt_pattern, typed

PROMPT = prompt_pattern("[admin@crs812]")
OUT, SAFE = "[admin@crs812] > ", "[admin@crs812] <SAFE> "
SET = typed("/interface/ethernet set *A l2mtu=9216", 7)
PUT = typed(":put 5", 7)


def answer(raw: str, line: str) -> Reply | None:
    return parse_reply(clean(raw), line, 7, PROMPT)


@pytest.mark.parametrize(
    ("raw", "line", "reply"),
    [
        (f"\r{OUT}{SET}\r\n#7\r\n\r\r\r\r{OUT}", SET, Reply("", True)),
        (f"\r{OUT}{PUT}\r\n5\r\n#7\r\n\r\r\r\r{OUT}", PUT, Reply("5", True)),
        (f"\r{SAFE}{SET}\r\n#7\r\n\r\r\r\r{SAFE}", SET, Reply("", True)),
        (f"\r{OUT}{SET}\r\nfailure: max bit rate is 100G\r\n\r\r\r\r{OUT}", SET, Reply("failure: max bit rate is 100G", False)),
        (f"\r{OUT}{SET}\r\n#7\r\n\r\r\r\r[admin@crs812] /interface/ethernet> ", SET, Reply("", True)),
        (f"\r{OUT}{SET}\r\n\r{OUT}{SET}\r\n#7\r\n\r\r\r\r{OUT}", SET, Reply("", True)),
        ("".join(f"\r{OUT}{SET[:length]}" for length in range(1, len(SET) + 1)) + f"\r\n#7\r\n\r\r\r\r{OUT}", SET, Reply("", True)),
        (f"\r\x1b[9999B\x1b[K{OUT}{SET}\r\n\x1b[m#7\r\n\r\x1b[9999B\r\r\r\r\x1b[9999B{OUT}\x1b[c", SET, Reply("", True)),
        (f"\rSafe Mode released\r\n\r{OUT}{SET}\r\n#7\r\n\r\r\r\r{OUT}", SET, Reply("", True)),
        (f"\r{OUT}{SET}\r\n12:03:04 echo: system,error,critical login failure for user x\r\n#7\r\n\r\r\r\r{OUT}", SET, Reply("", True)),
        (f"\r{OUT}{SET}\r\n[Safe mode released by another user]\r\n#7\r\n\r\r\r\r{OUT}", SET, Reply("", True)),
        (f"\r{OUT}{SET}\r\n#7\r\n\r\r\r\r{OUT}\r\nSafe Mode released\r\n\r\r\r\r{OUT}", SET, Reply("", True)),
    ],
    ids=["silent success", "one line of output", "in safe mode", "refused", "in a menu", "echoed twice", "echoed letter by letter",
         "cursor sequences", "a line that came late", "a log line inside", "another session's end", "a line after the prompt"],
)
def test_an_answer_is_what_stands_between_echo_and_prompt(raw, line, reply):
    assert answer(raw, line) == reply


@pytest.mark.parametrize(
    "raw",
    [
        "",
        f"\r{OUT}",
        f"\r{OUT}{SET}",
        f"\r{OUT}{SET}\r\n",
        f"\r{OUT}{SET}\r\n\r{OUT}",
        f"\r{OUT}{SET}\r\n#7\r\n",
        f"\r{OUT}{SET}\r\nfailure: max bit",
        f"\r{OUT}{SET}\r\n12:03:04 echo: system,error,critical x\r\n\r{OUT}",
    ],
    ids=["nothing", "the old prompt", "half an echo", "the echo", "a prompt painted early", "no prompt yet", "half a refusal", "only a log line"],
)
def test_an_answer_is_not_over_before_marker_or_refusal_and_prompt_are_there(raw):
    assert answer(raw, SET) is None


@pytest.mark.parametrize("cut", range(0, len(f"\r{OUT}{PUT}\r\n5\r\n#7\r\n\r\r\r\r{OUT}")))
def test_no_beginning_of_an_answer_is_taken_for_success(cut):
    reply = answer(f"\r{OUT}{PUT}\r\n5\r\n#7\r\n\r\r\r\r{OUT}"[:cut], PUT)
    assert reply is None or not reply.complete or reply.text == "5"


def test_the_marker_inside_the_echo_is_not_an_answer():
    assert answer(f'\r{OUT}{SET}\r\n\r{OUT}:put "#7"', SET) is None


@pytest.mark.parametrize(
    "question",
    ["numbers: ", "Reboot, yes? [y/N]: ", "Unroll, release or abort [u/r]? ", "-- [Q quit|D dump|down]",
     "You are in Safe Mode. Quitting will unroll changes. Quit? [y/N]"],
)
def test_a_question_ends_an_answer(question):
    reply = answer(f"\r{OUT}{SET}\r\n{question}", SET)
    assert reply == Reply(question.strip(), complete=False, question=True)


def test_the_end_of_a_refusal_by_somebody_elses_safe_mode_is_its_text():
    raw = f"\r{OUT}{SET}\r\nSafe Mode is taken by another user (maria). Action aborted.\r\n\r\r\r\r{OUT}"
    assert answer(raw, SET) == Reply("Safe Mode is taken by another user (maria). Action aborted.", False)

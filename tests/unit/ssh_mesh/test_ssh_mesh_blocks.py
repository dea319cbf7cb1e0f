# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our block in files that others write too."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _blocks

ENTRIES = {"spark-1": ["one"], "spark-2": ["two", "three"]}
BLOCK = "# BEGIN gb10.cluster\n# spark-1\none\n# spark-2\ntwo\nthree\n# END gb10.cluster\n"


@pytest.mark.parametrize(
    ("text", "entries", "rest"),
    [
        ("", {}, ""),
        ("mine", {}, "mine"),
        (BLOCK, ENTRIES, ""),
        (f"{BLOCK}mine", ENTRIES, "mine"),
        (f"mine\n{BLOCK}more", ENTRIES, "mine\nmore"),
        (f"mine\r\n{BLOCK}", ENTRIES, "mine\r\n"),
        (f"mine \x0b\x85\u2028not three lines\n{BLOCK}", ENTRIES, "mine \x0b\x85\u2028not three lines\n"),
        (BLOCK.replace("\n", "\r\n"), ENTRIES, ""),
        ("# END gb10.cluster\n", {}, "# END gb10.cluster\n"),
        (f"{BLOCK}# BEGIN gb10.cluster\n# spark-1\nnewer\n# END gb10.cluster\n", {**ENTRIES, "spark-1": ["newer"]}, ""),
    ],
)
def test_a_text_is_our_entries_and_the_rest(text: str, entries: _blocks.Entries, rest: str) -> None:
    assert _blocks.split(text) == (entries, rest)


@pytest.mark.parametrize("text", ["# BEGIN gb10.cluster\nmine\n", f"# BEGIN gb10.cluster\nmine\n{BLOCK}"])
def test_a_block_that_does_not_end_is_not_guessed_at(text: str) -> None:
    with pytest.raises(ValueError, match="# BEGIN gb10.cluster"):
        _blocks.split(text)


@settings(max_examples=50, deadline=None)
@given(rest=st.text().filter(lambda text: "gb10" not in text), entries=st.sampled_from([{}, ENTRIES]))
def test_what_others_wrote_comes_out_as_it_went_in(rest: str, entries: _blocks.Entries) -> None:
    text = _blocks.join(entries, rest)
    assert text.endswith(rest)
    assert _blocks.split(text) == (entries, rest)


@pytest.mark.parametrize(
    ("names", "given_lines", "found", "entries"),
    [
        (["a", "b"], {"a": ["1"], "b": ["2"]}, {}, {"a": ["1"], "b": ["2"]}),
        (["b", "a"], {"a": ["1"], "b": ["2"]}, {"a": ["0"]}, {"b": ["2"], "a": ["1"]}),
        (["a", "b"], {"a": ["1"]}, {"b": ["kept"], "c": ["gone"]}, {"a": ["1"], "b": ["kept"]}),
        (["a", "b"], {"a": []}, {"a": ["0"]}, {}),
        ([], {}, {"a": ["gone"]}, {}),
    ],
)
def test_nodes_that_tell_nothing_keep_their_lines_and_others_lose_them(
    names: list[str], given_lines: _blocks.Entries, found: _blocks.Entries, entries: _blocks.Entries
) -> None:
    merged = _blocks.merge(names, given_lines, found)
    assert list(merged.items()) == list(entries.items())


@pytest.mark.parametrize(
    ("text", "shown"),
    [("secret\n", ""), (f"{BLOCK}secret\n", BLOCK), (f"secret\n{BLOCK}", f"{BLOCK}# (below other lines)\n")],
)
def test_a_diff_shows_our_lines_alone(text: str, shown: str) -> None:
    assert _blocks.shown(text) == shown

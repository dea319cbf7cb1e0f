# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of which node holds which state after a run in which one did not come through, word by word."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gb10.cluster.plugins.filter.fabric_mixture import fabric_mixture
from ansible_collections.gb10.cluster.plugins.plugin_utils._mixture import again, mixture

NEW = {"changed": True, "rollback": {"id": "run", "state": "confirmed"}}
SAME = {"changed": False, "rollback": {"id": None, "state": "none"}}
GONE = {"changed": False, "unreachable": True, "msg": "no answer"}
SKIPPED = {"changed": False, "skipped": True}
NODES = ["spark-1", "spark-2", "spark-3"]
COMMAND = "ansible-playbook -i lab gb10.cluster.three_node_ring"


def failed(rollback: str | None) -> dict[str, Any]:
    """The result of a node that failed, with what became of its rollback."""
    return {"changed": False, "failed": True, "msg": "", **({"rollback": {"id": "run", "state": rollback}} if rollback else {})}


def told(*results: Any, hosts: list[str] | None = None, links: str = "present", check: bool = False) -> list[str]:
    """What the user reads about nodes with these results, line by line."""
    text = mixture(dict(zip(NODES, results, strict=False)), NODES if hosts is None else hosts, links, check, COMMAND)
    return text.split("\n") if text else []


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (NEW, "  spark-1  new"),
        (SAME, "  spark-1  new"),
        (GONE, "  spark-1  unknown  no answer: a change that was under way takes itself back, at its next boot at the latest"),
        (failed("none"), "  spark-1  old      nothing was changed: see its message above"),
        (failed(None), "  spark-1  unknown  failed, and could not be asked: see its message above"),
        (failed("restored"), "  spark-1  old      its rollback put the old state back: see its message above"),
        (failed("firing"), "  spark-1  armed    its rollback is at work and puts the old state back"),
        (failed("armed"), "  spark-1  armed    changed and not confirmed: its rollback puts the old state back in time"),
        (failed("incomplete"), "  spark-1  unknown  its rollback put back a part: see its message above"),
        (None, "  spark-1  old      left the run before: see its message above"),
        (SKIPPED, "  spark-1  old      left the run before: see its message above"),
    ],
)
def test_each_end_of_a_node_is_one_state_with_its_reason(result: Any, line: str) -> None:
    assert told(result, GONE)[1] == line


@pytest.mark.parametrize(
    ("results", "headline"),
    [
        ([NEW, failed("restored"), NEW], "found new on 2, old on 1 of 3. Run the last line."),
        (
            [NEW, failed("none"), failed("incomplete")],
            "found new on 1, old on 1, unknown on 1 of 3. Mend what is said of spark-2, spark-3 above, then run the last line.",
        ),
        ([GONE, failed("firing"), NEW], "found new on 1, armed on 1, unknown on 1 of 3. Make spark-1 answer over SSH again, then run the last line."),
        (
            [GONE, failed("none"), GONE],
            "found old on 1, unknown on 2 of 3. Make spark-1, spark-3 answer over SSH again, mend what is said of spark-2 above, then run the last line.",
        ),
        ([GONE, GONE, GONE], "found unknown on 3 of 3. Make spark-1, spark-2, spark-3 answer over SSH again, then run the last line."),
        ([failed("none")], "found old on 1 of 1. Mend what is said of spark-1 above, then run the last line."),
    ],
)
def test_headline_counts_the_states_and_says_what_to_do_first(results: list[Any], headline: str) -> None:
    assert told(*results)[0] == f"links - expected new on every node, {headline}"


def test_the_command_is_the_last_line_below_what_the_words_mean() -> None:
    assert told(NEW, GONE, links="absent")[-2:] == [
        "new is what was there before the first run, old what was there before this run. The next run leaves alone what is new.",
        f"  {COMMAND}",
    ]
    assert told(NEW, GONE)[-2].startswith("new is what the plan says, old what was there before this run.")


@pytest.mark.parametrize(
    ("results", "hosts"),
    [
        ([NEW, SAME, NEW], NODES),
        ([None, None, None], NODES),
        ([SKIPPED, SKIPPED, SKIPPED], NODES),
        ([None, None, None], NODES[:2]),
    ],
    ids=["all came through", "links left out by tags", "the other state", "links left out, and a node lost elsewhere"],
)
def test_nothing_is_said_where_there_is_no_mixture(results: list[Any], hosts: list[str]) -> None:
    assert told(*results, hosts=hosts) == []


def test_a_node_that_got_lost_after_its_links_is_named() -> None:
    lines = told(NEW, SAME, NEW, hosts=["spark-1", "spark-2"])
    assert lines[0].endswith("found new on 3 of 3, and lost after that spark-3. Mend what is said of spark-3 above, then run the last line.")
    assert lines[1:4] == ["  spark-1  new", "  spark-2  new", "  spark-3  new      left the run later: see its message above"]


def test_in_check_mode_what_would_be_changed_is_still_old() -> None:
    assert told(NEW, SAME, failed("none"), check=True)[1:3] == ["  spark-1  old      check mode: it would be new", "  spark-2  new"]
    assert told(failed(None), check=True)[1] == "  spark-1  old      nothing was changed: see its message above"
    assert told(NEW, NEW, NEW, check=True) == []


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["/x/bin/ansible-playbook", "-i", "my lab", "gb10.cluster.teardown", "-K"], "ansible-playbook -i 'my lab' gb10.cluster.teardown -K"),
        (["a", "p.yml", "-e", "ansible_become_password=a b"], "ansible-playbook p.yml -e ansible_become_password=..."),
        (["a", "p.yml", "-e", '{"x_token": "1", "y": 2}'], "ansible-playbook p.yml -e ..."),
        (["a", "p.yml", "--extra-vars=api_secret: 1"], "ansible-playbook p.yml --extra-vars=..."),
        (["a", "p.yml", "-vvKe", "pw=1", "-C"], "ansible-playbook p.yml -vvKe pw=... -C"),
        (["a", "p.yml", "-Depw=1"], "ansible-playbook p.yml -Depw=..."),
        (["a", "p.yml", "-le", "-tnccl,validate"], "ansible-playbook p.yml -le -tnccl,validate"),
        (["a", "p.yml", "-epw=1"], "ansible-playbook p.yml -epw=..."),
        (["a", "p.yml", "--extra-v=pw=1"], "ansible-playbook p.yml --extra-v=pw=..."),
        (["a", "p.yml", "--extra", "pw='1 2' fabric_mtu=1500"], "ansible-playbook p.yml --extra 'pw=... fabric_mtu=1500'"),
        (["a", "p.yml", "-e", "pw='1"], "ansible-playbook p.yml -e ..."),
        (["a", "p.yml", "-e", "@vars.yml", "-e", "fabric_cables='a b'"], """ansible-playbook p.yml -e @vars.yml -e 'fabric_cables='"'"'a b'"'"''"""),
        (["a", "p.yml", "-e"], "ansible-playbook p.yml -e"),
        (["a", "p.yml", "--vault-password-file=v.txt", "-e", "fabric_mtu=1500"], "ansible-playbook p.yml --vault-password-file=v.txt -e fabric_mtu=1500"),
    ],
)
def test_the_command_is_the_one_typed_without_secrets(argv: list[str], command: str) -> None:
    assert again(argv) == command


def test_the_filter_takes_the_command_from_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ansible-playbook", "-i", "lab", "gb10.cluster.teardown"])
    text = fabric_mixture({"spark-1": GONE}, ["spark-1"], links="absent")
    assert text is not None
    assert text.endswith("\n  ansible-playbook -i lab gb10.cluster.teardown")

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark counts what goes to a node, and compares like with like."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import bench
import pytest
import switch_pass

COUNT = Path(bench.__file__).with_name("count.sh")
NAMES = {"192.168.10.11": "spark-1", "192.168.10.12": "spark-2"}


@pytest.mark.parametrize(
    ("program", "arguments", "destination"),
    [
        ("ssh", "-F cfg -o User=nvidia -o ControlPersist=60s 192.168.10.11 /bin/sh", "192.168.10.11\n"),
        ("ssh", "-C -tt -o ControlPath=/x 192.168.10.11 -o", "192.168.10.11\n"),
        ("sftp", "-b - -C -o Port=22 [192.168.10.12]", "[192.168.10.12]\n"),
        ("ssh", "-O stop -o ControlPath=/x 192.168.10.11", ""),
        ("ssh", "-V", ""),
    ],
    ids=["a command", "a command with an option-like word", "a transfer", "a word to the master", "no destination"],
)
def test_the_stand_in_notes_the_destination_and_runs_the_real_program(program, arguments, destination, tmp_path):
    real, stand_in, log = tmp_path / "real", tmp_path / "stand-in", tmp_path / "log"
    real.mkdir()
    stand_in.mkdir()
    log.touch()
    (real / program).write_text('#!/bin/sh\necho "real: $*"\nexit 4\n')
    (real / program).chmod(0o755)
    (stand_in / program).symlink_to(COUNT)
    environment = os.environ | {"PATH": f"{real}:{os.environ['PATH']}", "BENCH_LOG": str(log)}
    done = subprocess.run([stand_in / program, *arguments.split()], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"real: {arguments}\n", 4)
    assert log.read_text() == destination


@pytest.mark.parametrize(
    ("log", "executions"),
    [
        ("", {"spark-1": 0, "spark-2": 0}),
        ("192.168.10.11\nnvidia@192.168.10.12\n[192.168.10.11]\n", {"spark-1": 2, "spark-2": 1}),
        ("192.168.10.2\n", {"spark-1": 0, "spark-2": 0}),
    ],
    ids=["nothing", "commands and a transfer", "another machine"],
)
def test_count(log, executions):
    assert bench.count(log, NAMES) == executions


def test_the_report_shows_medians_ratios_and_what_is_missed():
    def runs(*times: float, executions: int) -> list[bench.Measured]:
        return [bench.Measured(seconds, {"spark-1": executions, "spark-2": executions - 1}) for seconds in times]

    result = bench.report(
        "two_node_direct",
        2,
        {
            "facts": runs(2, 1, 9, executions=2),
            "first": runs(30, 20, 10, executions=40),
            "second": runs(7, 8, 60, executions=16),
            "ping": [bench.Measured(4, {"spark-1": 1}, on_node=seconds) for seconds in (0.1, 2.1)],
        },
    )
    assert [(kind, row["median"], row["ratio"], row["executions"]) for kind, row in result["runs"].items()] == [
        ("facts", 2, 1, 2),
        ("first", 20, 10, 40),
        ("second", 8, 4, 16),
        ("ping", 4, 2, 1),
    ]
    assert bench.render(result).splitlines()[-3:] == [
        "aim reached: second run / facts only 4.0, at most 4.0",
        "aim missed: executions per node in the second run 16, at most 15",
        "aim missed: seconds a node takes to ping all peers on all rails 2.1, at most 2.0",
    ]


@pytest.mark.parametrize("said", ["", "0.1 s on the node for 4 paths, 3 of them at full MTU", "0.0 s on the node for 0 paths, 0 of them at full MTU"])
def test_pings_that_did_not_all_pass_are_not_measured(said):
    with pytest.raises(bench.BenchError, match="expected every path at full MTU"):
        bench.slowest(said)


def test_of_the_pings_the_slowest_node_counts():
    assert bench.slowest("".join(f'"msg": "{seconds} s on the node for 4 paths, 4 of them at full MTU"\n' for seconds in (0.06, 0.14, 0.1))) == 0.14


def test_one_round_at_a_switch_counts_logins_and_leaves_it_converged(tmp_path):
    costs = switch_pass.one_round(tmp_path, switch_pass.wanted())
    assert costs["converged"].logins == 1
    # a look, and for each of two modules its login and the second one that proves the way in
    assert costs["first"].logins == 5
    assert costs["first, task by task"].logins > costs["converged, task by task"].logins > 5
    assert all(cost.lines > cost.logins and cost.seconds > 0 for cost in costs.values())

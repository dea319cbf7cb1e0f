# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a topology's playbook takes and how often it goes to a node, in the lab, beside gathering facts alone.

Each round starts a lab of its own from nothing and does, in this order: facts (not measured, to warm the caches of both ends), facts,
cabling (the playbook ``discover``, before any address exists), first run, second run, ping, facts; so both ends of a round say how busy the
machine was. Every measured run logs in anew: it has a folder of its own for the masters of its connections. The time is from the start
of ``ansible-playbook`` to its end; the table shows medians.

An execution is one start of ssh or sftp towards a node (see ``count.sh``): a module that runs by pipelining is one, a file that
an action plugin copies is several. What runs on the control node is none. Of the nodes and rounds, the highest count is shown, and the
longest time that the pings themselves took on a node.

What a switch alone costs is measured by ``switch_pass``. The plan of a large fabric is computed in this process, without Ansible around it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import recap
import sample
import switch_pass
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LAB = [sys.executable, str(REPOSITORY / "tests/lab/lab.py")]
PROGRAMS = ("ssh", "sftp")
FACTS = str(HERE / "facts.yml")
PING = str(HERE / "ping.yml")
PINGED = re.compile(r"([\d.]+) s on the node for (\d+) paths, (\d+) of them at full MTU")
DISCOVER = "discover"
BLIND = ("switched_fabric",)
"""Topologies whose cables carry nothing before the first run."""
LARGE = 1000
"""Nodes of the fabric that is only planned."""

# (what, run, quantity, most it should be)
AIMS = (
    ("seconds until the whole cabling is known", "cabling", "median", 5.0),
    ("second run / facts only", "second", "ratio", 4.0),
    ("executions per node in the second run", "second", "executions", 15),
    ("seconds a node takes to ping all peers on all rails", "ping", "on_node", 2.0),
)


class BenchError(Exception):
    """A run that can not be compared: its text says why."""


@dataclass(frozen=True)
class Measured:
    """One run of a playbook: seconds by the clock, remote executions by node, seconds that the module itself took on the slowest node."""

    seconds: float
    executions: dict[str, int]
    on_node: float | None = None


def addresses(inventory: Path) -> dict[str, str]:
    """Node names by the address that ssh is given, from the inventory."""
    listing = subprocess.run(["ansible-inventory", "-i", str(inventory), "--list"], check=True, capture_output=True, text=True).stdout
    data = json.loads(listing)
    hosts = data["_meta"]["hostvars"]
    return {hosts.get(name, {}).get("ansible_host", name): name for name in data["gb10_nodes"]["hosts"]}


def count(log: str, names: dict[str, str]) -> dict[str, int]:
    """Executions by node from the lines of ``count.sh``; for sftp, Ansible puts brackets around the address."""
    destinations = [line.rpartition("@")[2].strip("[]") for line in log.splitlines()]
    found = Counter(names[destination] for destination in destinations if destination in names)
    return {name: found[name] for name in sorted(names.values())}


def slowest(output: str) -> float:
    """Seconds that the pings took on the slowest node, from what ``ping.yml`` said; all paths must have passed full packets."""
    said = PINGED.findall(output)
    if not said or any(paths != full or paths == "0" for _seconds, paths, full in said):
        raise BenchError(f"{output}\n{PING} - expected every path at full MTU, found the above. Repair that first.")
    return max(float(seconds) for seconds, _paths, _full in said)


def run(playbook: str, inventory: Path, names: dict[str, str]) -> tuple[Measured, str]:
    """Run a playbook with fresh connections; its measure and its output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        log.touch()
        environment = {"BENCH_LOG": str(log), "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"), "ANSIBLE_NOCOLOR": "1"}
        for program in PROGRAMS:
            (folder / program).symlink_to(HERE / "count.sh")
            environment[f"ANSIBLE_{program.upper()}_EXECUTABLE"] = str(folder / program)
        began = time.monotonic()
        done = subprocess.run(
            ["ansible-playbook", "-i", str(inventory), playbook],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if done.returncode:
            raise BenchError(f"{done.stdout}\n{playbook} - expected exit status 0, found {done.returncode}. Repair what the output above says.")
        return Measured(seconds, count(log.read_text(encoding="utf-8"), names)), done.stdout


def measure(topology: str, inventory: Path, rounds: int) -> dict[str, list[Measured]]:
    """All runs of all rounds, by the kind of run."""
    names = addresses(inventory)
    before_links: dict[str, str] = {} if topology in BLIND else {"cabling": f"gb10.cluster.{DISCOVER}"}
    playbooks = {**before_links, "first": f"gb10.cluster.{topology}", "second": f"gb10.cluster.{topology}"}
    runs: dict[str, list[Measured]] = {kind: [] for kind in ("facts", *playbooks, "ping")}
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}", flush=True)
        subprocess.run([*LAB, "down"], check=True)
        subprocess.run([*LAB, "up", "--inventory", str(inventory)], check=True)
        run(FACTS, inventory, names)
        runs["facts"].append(run(FACTS, inventory, names)[0])
        output = ""
        for kind, playbook in playbooks.items():
            measured, output = run(playbook, inventory, names)
            runs[kind].append(measured)
        if any(recap.changes(output).values()):
            raise BenchError(f"{output}\nsecond run - expected changed=0 on every host, found the above. Repair that first.")
        measured, output = run(PING, inventory, names)
        runs["ping"].append(replace(measured, on_node=slowest(output)))
        runs["facts"].append(run(FACTS, inventory, names)[0])
    return runs


def plan_seconds(nodes: int) -> float:
    """Seconds of processor time to plan that many nodes behind one switch, the least of three."""
    names = [f"spark-{number}" for number in range(1, nodes + 1)]
    request = {
        "topology": "switched_fabric", "supernet": "10.64.0.0/10", "mtu": 9000, "roce": "none", "rail_prefix": 20,
        "nodes": [{"name": name} for name in names], "switches": [{"name": "switch", "managed": False}],
        "cables": [{"switch": "switch", "to": [f"{name}.p0"], "speed": "200G"} for name in names],
    }
    taken = []
    for _round in range(3):
        began = time.process_time()
        plan = make_plan(request)
        taken.append(time.process_time() - began)
        if plan["refusals"] or len(plan["nodes"]) != nodes:
            raise BenchError(f"plan - expected {nodes} nodes, found {plan['refusals'][:1]}. Look at plan_seconds.")
    return min(taken)


def report(topology: str, nodes: int, runs: dict[str, list[Measured]]) -> dict[str, Any]:
    """The result as plain data: every single time (s), medians, ratios to facts alone, executions, and the aims with what was reached."""
    facts = statistics.median(one.seconds for one in runs["facts"])
    table = {
        kind: {
            "seconds": [round(one.seconds, 2) for one in measured],
            "median": round(statistics.median(one.seconds for one in measured), 2),
            "ratio": round(statistics.median(one.seconds for one in measured) / facts, 2),
            "executions": max(number for one in measured for number in one.executions.values()),
            "on_node": max((one.on_node for one in measured if one.on_node is not None), default=None),
            "executions_by_node": [one.executions for one in measured],
        }
        for kind, measured in runs.items()
    }
    aims = [{"what": what, "at_most": most, "reached": table[kind][quantity]} for what, kind, quantity, most in AIMS if kind in table]
    return {"topology": topology, "nodes": nodes, "simulated": True, "cores": os.cpu_count(), "runs": table, "aims": aims}


def render(result: dict[str, Any]) -> str:
    """The report of one fabric as a table for the terminal."""
    rounds = len(result["runs"]["first"]["seconds"])
    lines = [f"{result['topology']}, {result['nodes']} nodes in the lab (simulated), {result['cores']} cores, {rounds} rounds, medians", ""]
    lines.append(f"{'run':<8} {'seconds':>8} {'/ facts':>8} {'executions per node':>20}")
    for kind, row in result["runs"].items():
        lines.append(f"{kind:<8} {row['median']:>8.2f} {row['ratio']:>8.2f} {row['executions']:>20}")
    lines.append("")
    for aim in result["aims"]:
        verdict = "reached" if aim["reached"] <= aim["at_most"] else "missed"
        lines.append(f"aim {verdict}: {aim['what']} {aim['reached']}, at most {aim['at_most']}")
    return "\n".join([*lines, ""])


def main() -> int:
    """Measure, print the table, write the JSON; fails only when a run failed or the second one changed something."""
    parser = argparse.ArgumentParser(description="Time and remote executions of a topology's playbook in the lab.")
    parser.add_argument("--topology", default="two_node_direct")
    parser.add_argument("--nodes", type=int, action="append", help="again for each number of nodes; without, what the sample has")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=REPOSITORY / ".build/bench/result.json")
    options = parser.parse_args()

    os.environ["GB10_LAB"] = "bench"
    os.environ["ANSIBLE_CONFIG"] = "/var/tmp/gb10-lab/bench/ansible.cfg"
    fabrics: list[dict[str, Any]] = []
    try:
        for number in options.nodes or [None]:
            inventory = sample.find(options.topology, number)
            runs = measure(options.topology, inventory, options.rounds)
            fabrics.append(report(options.topology, len(addresses(inventory)), runs))
        switch = switch_pass.measure(options.rounds)
        costs = {name: cost._asdict() for name, cost in switch.items()}
        result = {"fabrics": fabrics, "switch": costs, "plan_nodes": LARGE, "plan_seconds": plan_seconds(LARGE)}
    except (BenchError, sample.NoSample, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        subprocess.run([*LAB, "down"], check=False)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    planned = f"plan of {LARGE} nodes: {result['plan_seconds']:.2f} s of processor time"
    print("\n".join(["", *map(render, fabrics), switch_pass.render(switch), "", planned, "", f"written: {options.json}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prove what a scenario promises, in its lab.

``prove.py look`` keeps what the machines are: first under the name ``before``, then as ``run-1``, ``run-2`` and so on, after each run of
molecule. ``prove.py PROOFS.yml [NUMBER...]`` proves these rows of the file, by default all of them, and then what was kept: the first run, in
check mode, touched nothing, and neither did the last. A scenario whose file says ``unprepared: true`` has no such runs.

A row puts faults in, runs playbooks one after the other, compares what they say and what they leave with what is expected,
and mends the faults:

``{title, lab: [words of lab.py], faults: [words of lab.py fault], runs: [run], snapshot: NAME, same_as: NAME, but: [key]}``, and a run is
``{playbook, inventories: [], arguments: [], rc: 0, says: [text], changed: {node: count}, untouched: bool, killed_when: {node, file}, follow: bool}``.
``inventories`` takes the place of the scenario's. ``killed_when`` kills ansible-playbook itself as soon as the node has the file.
``follow`` does at the cables what the run said, word by word.

``untouched`` compares every node before and after the run, down to file times and carrier changes. ``snapshot`` keeps the nodes' state after
the row under a name; ``same_as`` expects the files (without times), addresses and MTUs that were kept under a name, ``but`` for what has one of these keys.
That an interface has a link-local address counts, not which: NetworkManager draws it anew for a connection that it made up itself.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from warm_playbook import WarmPlaybook

PROJECT = Path(__file__).resolve().parents[3]
KEPT = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
"""Snapshots. What is printed here is also written to the file ``GB10_PROOFS``, because molecule tidies its folder up and shows nothing meanwhile."""
LAB = [sys.executable, str(PROJECT / "tests/lab/lab.py")]
RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", re.MULTILINE)
FADING = 20
"""Seconds that an address without carrier is given to go away."""
SETTLING = 120
"""Seconds; NetworkManager needs a few, a node that is gone for good would need for ever."""
ADVICE = re.compile(
    r"(?:Do this in order|Or keep the plan): (?P<steps>.+?)\.|(?P<one>\S+ p\d) and (?P<other>\S+ p\d) - expected a cable between them, .+? Plug a cable"
)
"""What a run tells the person at the rack."""
FLEETING = ("mtime_ns", "carrier_changes")
"""What a snapshot counts or dates."""
LEG_SPEED = re.compile(r"(set \[ find default-name=\S+ \] speed=|/interface ethernet$)")
"""What teardown leaves in the export of a new switch: RouterOS can not unset the speed of a port."""


class Refuted(Exception):
    """The row does not hold."""


def lab(*words: str) -> str:
    """Run a verb of lab.py; returns what it printed."""
    done = subprocess.run([*LAB, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refuted(f"lab.py {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def look() -> dict[str, Any]:
    """What the collection may change, of every node and switch. A switch also counts logins, which are no change of it."""
    return {machine: {**seen, "counts": None} for machine, seen in json.loads(lab("snapshot")).items()}


def is_fading(seen: dict[str, Any]) -> bool:
    """Whether a port lost its carrier and still has an address, which NetworkManager takes away some seconds later; networkd keeps ours."""
    ports = [port for node in seen.values() for port in node.get("interfaces", {}).values()]
    return any(not port["carrier"] and port["addresses"] for port in ports)


def settled() -> dict[str, Any]:
    """The nodes once two looks in a row are the same and management has its address: NetworkManager answers before it has finished."""
    last: dict[str, Any] = {}
    end = time.monotonic() + SETTLING
    fade = time.monotonic() + FADING
    while time.monotonic() < end:
        try:
            now = look()
        except Refuted:  # it is starting
            now = {}
        at_rest = now and now == last and (time.monotonic() > fade or not is_fading(now))
        if at_rest and all(node["interfaces"]["enP7s7"]["addresses"] for node in now.values() if "interfaces" in node):
            return now
        last = now
        time.sleep(1)
    raise Refuted(f"the nodes did not come to rest within {SETTLING} s")


def lasting(state: Any) -> Any:
    """A snapshot without what nobody promises to keep, such as the exports that stay on a switch: link-local addresses by their network."""
    if isinstance(state, dict):
        return {key: lasting(value) for key, value in state.items() if key not in FLEETING and not (key == "files" and "export" in state)}
    if isinstance(state, list):
        return [lasting(value) for value in state if not LEG_SPEED.match(str(value))]
    return "fe80::/64" if str(state).startswith("fe80::") else state


def differences(before: Any, after: Any, ignored: tuple[str, ...] = (), path: str = "") -> Iterator[str]:
    """What is different between two snapshots, one line for each leaf."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key not in ignored:
                yield from differences(before.get(key), after.get(key), ignored, f"{path} {key}".strip())
    elif before != after:
        yield f"{path}: {before} -> {after}"


def kill_when(program: WarmPlaybook, node: str, file: str) -> None:
    """Kill a run and its workers, which are in sessions of their own, as soon as a node has a file."""
    while program.is_running(0.3):
        if subprocess.run([*LAB, "exec", node, "test", "-e", file], capture_output=True, check=False).returncode == 0:
            for pid in descendants(program.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return


def descendants(pid: int) -> list[int]:
    """Processes below ``pid``, without ssh's control masters, which belong to nobody."""
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except FileNotFoundError:  # it has ended meanwhile
        return []
    return [each for child in children for each in (child, *descendants(child))]


def play(program: WarmPlaybook, run: dict[str, Any], inventories: list[Path]) -> None:
    """Run a playbook of the collection and compare its exit status, text and recap with the row."""
    with tempfile.TemporaryDirectory(prefix="gb10-prove-") as folder:
        words = [*(f"--inventory={path}" for path in inventories), f"gb10.cluster.{run['playbook']}", *run.get("arguments", [])]
        program.begin(Path(folder), *words)
        if "killed_when" in run:
            kill_when(program, **run["killed_when"])
        status = program.end()
        output = "".join(Path(folder, name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    recap = {node: int(changed) for node, changed in RECAP.findall(output.rpartition("PLAY RECAP")[2])}
    wrong = [f"exit status {status} instead of {run.get('rc', 0)}"] if status != run.get("rc", 0) else []
    wrong += [f"does not say: {text}" for text in run.get("says", []) if text not in output]
    wrong += [f"{node} changed={recap.get(node)} instead of {count}" for node, count in run.get("changed", {}).items() if recap.get(node) != count]
    if wrong:
        raise Refuted("\n".join([output, *wrong]))
    if run.get("follow"):
        advice = ADVICE.search(output)
        if advice is None:
            raise Refuted(f"{output}\ndoes not say what to do at the cables")
        lab("follow", advice["steps"] or f"plug a cable between {advice['one']} and {advice['other']}")


def prove(program: WarmPlaybook, row: dict[str, Any], inventories: list[Path]) -> None:
    """Carry one row out; raises :class:`Refuted` with everything needed to see why it does not hold."""
    try:
        for words in [*row.get("lab", []), *(f"fault {fault}" for fault in row.get("faults", []))]:
            lab(*words.split())
        for run in row.get("runs", []):
            before = settled() if run.get("untouched") else {}
            play(program, run, [PROJECT / path for path in run["inventories"]] if "inventories" in run else inventories)
            changes = list(differences(before, look())) if run.get("untouched") else []
            if changes:
                raise Refuted("\n".join(["expected an untouched machine, found", *changes]))
    finally:
        lab("fault", "clear")
    if "snapshot" in row:
        (KEPT / f"{row['snapshot']}.json").write_text(json.dumps(settled()), encoding="utf-8")
    if "same_as" in row:
        kept = json.loads((KEPT / f"{row['same_as']}.json").read_text(encoding="utf-8"))
        changes = list(differences(lasting(kept), lasting(settled()), tuple(row.get("but", []))))
        if changes:
            raise Refuted("\n".join([f"expected the state {row['same_as']}, found", *changes]))


def kept() -> list[Path]:
    """What was kept before and after molecule's runs, in order."""
    return [KEPT / "before.json", *sorted(KEPT.glob("run-*.json"), key=lambda path: int(path.stem[4:]))]


def keep() -> None:
    """Keep what the machines are now."""
    before, *runs = kept()
    is_first = not before.exists()
    path = before if is_first else KEPT / f"run-{len(runs) + 1}.json"
    # a node that has just started is not at rest yet; after a run it counts what the run left
    path.write_text(json.dumps(settled() if is_first else look()), encoding="utf-8")


def prove_stages() -> None:
    """Check mode, and the last run, left every machine alone, down to file times and carrier changes; raises :class:`Refuted`."""
    looks = [json.loads(path.read_text(encoding="utf-8")) for path in kept() if path.exists()]
    if len(looks) != 4:
        raise Refuted(f"expected a look before and after each of three runs, found {len(looks)} looks; begin with a new lab")
    changes = [*differences(*looks[:2]), *differences(*looks[-2:])]
    if changes:
        raise Refuted("\n".join(["expected an untouched machine, found", *changes]))


def tell(text: str) -> None:
    """Print, and keep."""
    print(text, flush=True)
    if "GB10_PROOFS" in os.environ:
        with open(os.environ["GB10_PROOFS"], "a", encoding="utf-8") as file:
            print(text, file=file)


def holds(title: str, proof: Callable[[], None]) -> str:
    """Carry a proof out, and say how long it took or what is wrong; returns the end of the latter, empty when it holds."""
    began = time.monotonic()
    try:
        proof()
    except Exception as error:  # such as a snapshot that a refuted row did not leave: the others go on
        said = str(error) if isinstance(error, Refuted) else traceback.format_exc()
        tell(f"{said}\nREFUTED: {title}\n")
        return "\n".join([*said.splitlines()[-8:], f"REFUTED: {title}"])
    tell(f"{title} ({time.monotonic() - began:.0f} s)")
    return ""


def main() -> int:
    """Keep a look, or prove; a proof that does not hold stops none of the others."""
    if sys.argv[1:] == ["look"]:
        keep()
        return 0
    scenario = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
    inventories = [PROJECT / path for path in scenario["inventories"]]
    rows = [scenario["proofs"][int(number)] for number in sys.argv[2:]] or scenario["proofs"]
    compiled = {"PYTHONPATH": str(PROJECT / "tests/lab/node/compiled"), "LAB_COMPILED": str(KEPT / "compiled")}
    with WarmPlaybook.started({**os.environ, **compiled, "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOLOR": "1"}) as program:
        wrong = [holds(row["title"], functools.partial(prove, program, row, inventories)) for row in rows]
    if not sys.argv[2:] and not scenario.get("unprepared"):
        wrong.append(holds("Check mode touched nothing, and a second run did not either", prove_stages))
    wrong = [text for text in wrong if text]
    tell("\n\n".join(wrong) or f"{len(rows)} proofs hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

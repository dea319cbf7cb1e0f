# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs of ``lab.py``."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from switch.models import VERSIONS

from . import cabling, containers, faults, image, inventory, limits, network, nodes, ssh, switches, triggers, wheels
from .shell import LabError, end_process, run
from .state import Lab, locked

REPOSITORY = Path(__file__).resolve().parents[3]
DEFAULT_INVENTORY = REPOSITORY / "inventories/two_node_direct"


def fingerprint(cluster: inventory.Cluster, image_name: str) -> str:
    """A hash of everything that makes a running lab the right one."""
    digest = hashlib.sha256(json.dumps([cluster.to_json(), image_name]).encode())
    simulator = nodes.SHARE.with_name("switch").iterdir() if cluster.managed else ()
    for file in sorted([*nodes.SHARE.iterdir(), *simulator]):
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()


def healthy(lab: Lab) -> bool:
    """Whether everything that ``up`` started is there and every node answers."""
    expected = {lab.container(node.name) for node in lab.up.nodes} | {lab.container(containers.SERVICE)}
    if set(containers.names(lab)) != expected:
        return False
    if not all(switches.answers(lab, switch) for switch in lab.up.switches):
        return False
    with ThreadPoolExecutor() as pool:
        return all(pool.map(lambda node: ssh.answers(lab, node), lab.up.nodes))


def up(options: argparse.Namespace) -> int:
    """Start the lab, or leave it alone when it already is what was asked for."""
    if os.geteuid():
        raise LabError("user - expected root, found another user. Run the lab as root.")
    began = time.monotonic()
    backends = tuple(options.backends.split(",")) if options.backends else ()
    cluster = inventory.read(options.inventory or [DEFAULT_INVENTORY], options.topology, backends, options.routeros)
    unknown = sorted({node.backend for node in cluster.nodes} - set(inventory.BACKENDS))
    if unknown:
        raise LabError(f"--backends - expected {', '.join(inventory.BACKENDS)}, found {', '.join(unknown)}. Correct the list.")
    with ThreadPoolExecutor() as pool:
        wheel = pool.submit(wheels.fetch)
        name = image.ensure()
        with locked(f"lab-{options.name}"):
            lab = Lab.load(options.name)
            wanted = fingerprint(cluster, name)
            if not (lab.cluster and lab.fingerprint == wanted and healthy(lab)):
                _destroy(lab)
                limits.check(len(cluster.nodes))
                lab = Lab(options.name, cluster, "", image.runtime(name))
                lab.save()
                try:
                    network.create(lab)
                    if not cluster.managed:
                        cabling.connect(lab, None, cabling.current(lab))
                    nodes.boot(lab, name, beside=lambda: switches.start(lab))
                except LabError:
                    _destroy(lab)
                    raise
                lab.fingerprint = wanted
                lab.save()
        if wheel.exception():
            print(f"lab: no {wheels.DEFAULT} in the package index: {wheel.exception()}", file=sys.stderr)
    also = f" and {len(cluster.managed)} switches" if cluster.managed else ""
    print(f"lab {lab.name}: {len(cluster.nodes)} simulated nodes{also} up after {time.monotonic() - began:.1f} s")
    return 0


def _destroy(lab: Lab) -> None:
    for fault in lab.faults:
        if "pid" in fault["memory"]:
            end_process(fault["memory"])
    switches.stop(lab)
    containers.destroy(lab)
    network.destroy(lab)
    shutil.rmtree(lab.folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        lab.folder.parent.rmdir()


def down(options: argparse.Namespace) -> int:
    """Remove everything that ``up`` made; image and wheels stay in the cache."""
    with locked(f"lab-{options.name}"):
        _destroy(Lab.load(options.name))
    return 0


def status(options: argparse.Namespace) -> int:
    """Say what runs, cables and faults included; 0 when the lab is up and every node answers."""
    lab = Lab.load(options.name)
    if lab.cluster is None:
        print(f"lab {lab.name}: down")
        return 3
    print(f"lab {lab.name} (simulated): {lab.cluster.topology}, state in {lab.folder}")
    every = True
    for node in lab.cluster.nodes:
        answers = ssh.answers(lab, node)
        every &= answers
        print(f"  {node.name:16} {node.user}@{node.address:16} {node.backend:24} {'up' if answers else 'DOWN'}")
    for switch in lab.cluster.switches:
        answers = switches.answers(lab, switch)
        every &= answers
        what = f"{switch.user}@{switch.address:16} {switch.model:24}" if switch.managed else f"{'a plain bridge':47}"
        print(f"  {switch.name:16} {what} {'up' if answers else 'DOWN'}")
    held = cabling.current(lab)
    for number, cable in enumerate(held.cables):
        ends = ("in the hand" if held.hand == (number, which) else end or "loose" for which, end in enumerate(cable.ends))
        print(f"  cable {number} {' -- '.join(ends)}{' (a switch)' if len(cable.ends) > 2 else ''}")
    for fault in lab.faults:
        said = " ".join(f"{key}={value}" for key, value in fault["memory"].get("options", {}).items())
        print(f"  fault {fault['name']} {fault['node']} {said}".rstrip())
    return 0 if every else 3


def env(options: argparse.Namespace) -> int:
    """Print what a shell needs so that ansible and ssh reach the lab."""
    lab = Lab.load(options.name)
    _ = lab.up  # whether it is
    print(f"export ANSIBLE_CONFIG={lab.folder}/ansible.cfg")
    print(f"export GB10_LAB={lab.name}")
    return 0


def execute(options: argparse.Namespace) -> int:
    """Run a command on a node as root, past SSH."""
    lab = Lab.load(options.name)
    words = [*lab.inside(lab.up.node(options.node)), *options.command]
    os.execvp(words[0], words)


def reboot(options: argparse.Namespace) -> int:
    """Reboot a node and wait until it lets its user in again."""
    lab = Lab.load(options.name)
    node = lab.up.node(options.node)
    before = lab.pid(node)
    run(*lab.inside(node), "systemctl", "reboot", check=False)
    end = time.monotonic() + 30
    while lab.pid(node) in (0, before):
        if time.monotonic() > end:
            raise LabError(f"node {node.name} - expected a reboot within 30 s, found it running. Look at its journal.")
        time.sleep(0.1)
    nodes.wait(lab, node)
    return 0


def fault(options: argparse.Namespace) -> int:
    """Put a fault in; without a name list them; `clear [NAME [NODE]]` mends them."""
    if options.fault is None:
        for name, row in faults.FAULTS.items():
            print(f"{name:22} {row.summary}" + "".join(f" [{key}={value}]" for key, value in row.options.items()))
        return 0
    with locked(f"lab-{options.name}"):
        lab = Lab.load(options.name)
        if options.fault == "clear":
            for mended in faults.clear(lab, *options.of[:2]):
                print(f"mended {mended}")
            return 0
        of = options.of[0] if options.of else None
        faults.apply(lab, options.fault, of, dict(item.partition("=")[::2] for item in options.option))
    return 0


def follow(options: argparse.Namespace) -> int:
    """Move cables as the collection's instructions say, word by word; they are faults too, and `fault clear` undoes them."""
    with locked(f"lab-{options.name}"):
        for did in faults.follow(Lab.load(options.name), " ".join(options.instruction)):
            print(did)
    return 0


def strike(options: argparse.Namespace) -> int:
    """Wait for a moment and strike: the process behind ssh-lost, killed and reboot."""
    lab = Lab.load(options.name)
    triggers.watch(lab, lab.up.node(options.node), options.strike, options.moment, float(options.heal))
    return 0


def switchroom(options: argparse.Namespace) -> int:
    """Be the process that has the switches."""
    from .switchroom import serve  # pylint: disable=import-outside-toplevel  # the only verb that needs paramiko

    serve(Lab.load(options.name))
    return 0


def switch(options: argparse.Namespace) -> int:
    """Type a line on the console of a switch, past SSH and its checks."""
    lab = Lab.load(options.name)
    print(switches.ask(lab, {"do": "run", "switch": lab.up.switch(options.switch).name, "line": options.line}))
    return 0


def snapshot(options: argparse.Namespace) -> int:
    """Print as JSON, by machine, what the collection may change on nodes (files, live links, routes, units) and switches (their exports)."""
    lab = Lab.load(options.name)
    known = {switch.name: switch for switch in lab.up.managed}

    def see(machine: str) -> Any:
        if machine in known:
            return switches.ask(lab, {"do": "snapshot", "switch": machine})
        return json.loads(run(*lab.inside(lab.up.node(machine)), "python3", "/lab/share/snapshot.py").stdout)

    machines = options.machine or [*(node.name for node in lab.up.nodes), *known]
    with ThreadPoolExecutor() as pool:
        print(json.dumps(dict(zip(machines, pool.map(see, machines), strict=True)), indent=1, sort_keys=True))
    return 0


def events(options: argparse.Namespace) -> int:
    """Print every change of a link or an address on a node since it was made, with its time; every line typed on a switch over SSH."""
    lab = Lab.load(options.name)
    if options.node in [each.name for each in lab.up.managed]:
        print("".join(f"{line}\n" for line in switches.ask(lab, {"do": "typed", "switch": options.node})), end="")
        return 0
    log = lab.node_folder(lab.up.node(options.node)) / "events.log"
    print(log.read_text(encoding="utf-8", errors="replace") if log.exists() else "", end="")
    return 0


def downloads(options: argparse.Namespace) -> int:
    """Print the wheels that nodes have fetched from the lab's package index: who and which."""
    for line in wheels.downloads(Lab.load(options.name)):
        print(line)
    return 0


def wheel(options: argparse.Namespace) -> int:
    """Put a wheel NAME==VERSION into the package index of all labs; print its path on the host."""
    print(wheels.fetch(options.requirement))
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="lab.py", description="A cluster of simulated GB10 machines on this one.")
    verbs = top.add_subparsers(dest="verb", required=True)

    def verb(name: str, action: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        summary = (action.__doc__ or "").partition("\n")[0]
        made = verbs.add_parser(name, help=summary, description=summary)
        made.add_argument("--name", default=os.environ.get("GB10_LAB", "default"), help="which lab (default: $GB10_LAB or default)")
        made.set_defaults(action=action)
        return made

    starting = verb("up", up)
    starting.add_argument("--inventory", type=Path, action="append", help="may be given several times, as to ansible (default: two_node_direct)")
    starting.add_argument("--topology", choices=sorted(inventory.DEFAULT_CABLES), help="in place of the inventory's")
    starting.add_argument("--backends", help=f"one of {', '.join(inventory.BACKENDS)} per node, joined by commas")
    starting.add_argument("--routeros", choices=VERSIONS, default=inventory.ROUTEROS, help="what the switches run")
    verb("down", down)
    verb("status", status)
    verb("env", env)
    running = verb("exec", execute)
    running.add_argument("node")
    running.add_argument("command", nargs=argparse.REMAINDER)
    verb("reboot", reboot).add_argument("node", metavar="NODE")
    verb("events", events).add_argument("node", metavar="NODE|SWITCH")
    verb("snapshot", snapshot).add_argument("machine", nargs="*", metavar="NODE|SWITCH", help="default: all of them")
    breaking = verb("fault", fault)
    breaking.add_argument("fault", nargs="?", metavar="NAME")
    breaking.add_argument("of", nargs="*", metavar="NODE|SWITCH", help="default: the first; after `clear`: NAME and machine")
    breaking.add_argument("--option", action="extend", nargs="+", default=[], metavar="KEY=VALUE")
    verb("follow", follow).add_argument("instruction", nargs="+", help="as it was printed; several are separated by semicolons")
    verb("downloads", downloads)
    verb("wheel", wheel).add_argument("requirement", nargs="?", default=wheels.DEFAULT)
    typing = verb("switch", switch)
    typing.add_argument("switch")
    typing.add_argument("line", help="as typed on the switch")
    verb("switchroom", switchroom)
    striking = verb("strike", strike)
    for name in ("node", "strike", "moment", "heal"):
        striking.add_argument(name)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; 1 and a line on standard error when something is wrong that the user can mend."""
    options = parser().parse_args(arguments)
    try:
        return int(options.action(options))
    except (LabError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted. The next `lab.py up` starts over, `lab.py down` removes what is there.", file=sys.stderr)
        return 130

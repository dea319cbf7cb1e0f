# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong with a cluster, as a table of faults that can be put in and mended.

``apply`` returns what ``clear`` needs to know (plain data, kept in the lab's state). ``clear`` mends what the fault did and nothing else:
it also works after the product has changed the machine in between. Faults of the rack build on each other and are mended newest first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import cabling, claims, hardware, network, rack, strangers, switches, triggers
from .inventory import Node, Switch
from .shell import LabError, ip, run
from .state import Lab

Memory = dict[str, Any]
Options = dict[str, str]


@dataclass(frozen=True)
class Fault:
    """One row of the table. ``options``: name of each option and its default; ``repeats``: whether a machine may have several;
    ``at_switch``: the machine is a switch."""

    summary: str
    apply: Callable[[Lab, Any, Options], Memory]
    clear: Callable[[Lab, Any, Memory], None]
    options: dict[str, str] = field(default_factory=dict)
    repeats: bool = False
    at_switch: bool = False


def _at_the_rack(name: str, summary: str, repeats: bool = False, **options: str) -> dict[str, Fault]:
    """A row for a fault that is nothing but a change at the rack; an underscore after an option's name is left out."""

    def put(lab: Lab, node: Node, given: Options) -> Memory:
        return cabling.put(lab, name, node, given)

    return {name: Fault(summary, put, cabling.mend, {key.rstrip("_"): value for key, value in options.items()}, repeats)}


def _at_a_switch(name: str, summary: str, **options: str) -> dict[str, Fault]:
    """A row for a fault that the process of the switches puts in and mends."""

    def put(lab: Lab, switch: Switch, given: Options) -> Memory:
        memory: Memory = switches.ask(lab, {"do": "fault", "switch": switch.name, "name": name, "options": given})
        return memory

    def mend(lab: Lab, switch: Switch, memory: Memory) -> None:
        switches.ask(lab, {"do": "mend", "switch": switch.name, "name": name, "memory": memory})

    return {name: Fault(summary, put, mend, options, at_switch=True)}


def _wrong_password(lab: Lab, switch: Switch, _options: Options) -> Memory:
    rows = switches.read_variables(lab)
    before = rows[switch.name]["ansible_password"]
    rows[switch.name]["ansible_password"] = f"not-{before}"
    switches.write_variables(lab, rows)
    return {"password": before}


def _right_password(lab: Lab, switch: Switch, memory: Memory) -> None:
    rows = switches.read_variables(lab)
    rows[switch.name]["ansible_password"] = memory["password"]
    switches.write_variables(lab, rows)


def _second_lan(lab: Lab, node: Node, options: Options) -> Memory:
    own, far = lab.namespace(f"n{node.number}"), lab.namespace("ctl")
    ip(own, f"link add wlP9s9 type veth peer name w{node.number} netns {far}", f"address add {options['address']} dev wlP9s9", "link set wlP9s9 up")
    ip(far, f"link set w{node.number} up")
    if options["route"]:
        ip(own, f"route add {options['route']} dev wlP9s9")
    return {}


def _one_lan(lab: Lab, node: Node, _memory: Memory) -> None:
    ip(lab.namespace(f"n{node.number}"), "link del wlP9s9", check=False)


def _mtu(lab: Lab, node: Node, options: Options) -> Memory:
    names = [each.interface for each in hardware.chosen(node, options)]
    before = {name: row["mtu"] for name, row in network.live(lab, node).items() if name in names}
    ip(lab.namespace(f"n{node.number}"), *(f"link set {name} mtu {options['mtu']}" for name in before))
    return {"mtu": before, "set": int(options["mtu"])}


def _mtu_back(lab: Lab, node: Node, memory: Memory) -> None:
    for name, row in network.live(lab, node).items():
        if name in memory["mtu"] and row["mtu"] == memory["set"]:
            ip(lab.namespace(f"n{node.number}"), f"link set {name} mtu {memory['mtu'][name]}")


def _no_address(lab: Lab, node: Node, options: Options) -> Memory:
    names = [each.interface for each in hardware.chosen(node, options)]
    rows = {name: row["addr_info"] for name, row in network.live(lab, node).items() if name in names}
    found = {name: [f"{each['local']}/{each['prefixlen']}" for each in row if each["family"] == "inet"] for name, row in rows.items()}
    ip(lab.namespace(f"n{node.number}"), *(f"address del {cidr} dev {name}" for name, cidrs in found.items() for cidr in cidrs), "link set lo up")
    return {"addresses": found}


def _address_back(lab: Lab, node: Node, memory: Memory) -> None:
    """By the owner of the interface: an address put back by hand would bring a second route."""
    owner = ("networkctl", "reconfigure") if node.backend == "netplan-networkd" else ("nmcli", "device", "reapply")
    for name, row in network.live(lab, node).items():
        present = {f"{each['local']}/{each['prefixlen']}" for each in row["addr_info"]}
        if set(memory["addresses"].get(name, [])) - present:
            run(*lab.inside(node), *owner, name)


def _job(lab: Lab, node: Node, options: Options) -> Memory:
    hold = f"exec 3</dev/infiniband/uverbs{options['device']}; exec sleep infinity"
    run(*lab.inside(node), "systemd-run", "--quiet", "--collect", "--unit=lab-job", "sh", "-c", hold)
    return {}


def _end_job(lab: Lab, node: Node, _memory: Memory) -> None:
    run(*lab.inside(node), "systemctl", "stop", "lab-job.service", check=False)


def _same_id(lab: Lab, node: Node, _options: Options) -> Memory:
    other = next((each for each in lab.up.nodes if each != node), None)
    if other is None:
        raise LabError("duplicate-machine-id - expected a second node, found none. Use a lab of two nodes.")
    own = Path(claims.inside(lab, node, "/etc/machine-id"))
    before = own.read_text(encoding="ascii")
    own.write_text(Path(claims.inside(lab, other, "/etc/machine-id")).read_text(encoding="ascii"), encoding="ascii")
    return {"machine_id": before}


def _own_id(lab: Lab, node: Node, memory: Memory) -> None:
    Path(claims.inside(lab, node, "/etc/machine-id")).write_text(memory["machine_id"], encoding="ascii")


def _crawl(lab: Lab, node: Node, options: Options) -> Memory:
    shape = f"qdisc add dev m{node.number} root tbf rate {options['rate']} burst 64kb latency 100ms"
    run("tc", "-n", lab.namespace("ctl"), *shape.split())
    return {}


def _run_again(lab: Lab, node: Node, _memory: Memory) -> None:
    run("tc", "-n", lab.namespace("ctl"), "qdisc", "del", "dev", f"m{node.number}", "root", check=False)


ONE_RAIL = {"port": "p0", "rail": "0"}
FAULTS: dict[str, Fault] = {
    **_at_the_rack("cable-unplugged", "a cable is pulled; both ends lose carrier", cable="0"),
    **_at_the_rack("cable-added", "one more cable, or the loose end of one into the other port", repeats=True, cable=""),
    **_at_the_rack("rewire", "all cables out, these in: A.p0:B.p0,B.p1:C.p0,...; three ends or more are a switch", cables=""),
    **_at_the_rack("move", "one end of a cable from a port into a free one", repeats=True, from_="", to=""),
    **_at_the_rack("unplug", "one end out of its port, held in the hand (hold=yes) or left hanging (no)", repeats=True, end="", hold="yes"),
    **_at_the_rack("plug", "the end in the hand into a free port", repeats=True, end=""),
    **_at_the_rack("swapped-tails", "the ends of two cables exchanged; by default those of two tails of a switch", repeats=True, ends=""),
    **_at_the_rack("moved-tail", "the end that comes from a leg of a switch into another port", repeats=True, end="", leg="", speed="200G"),
    **_at_the_rack("link-100g", "a cable trains at 100G", cable="0"),
    **_at_the_rack("dead-rail", "a rail has carrier and passes nothing, its twin is well", port="p0", rail="1"),
    "foreign-node": Fault(
        "a machine that is not in the inventory at the far end of the cable in a port; says: other-run or traffic",
        strangers.arrive,
        strangers.leave,
        {"port": "p0", "says": "other-run", "name": "spark-9"},
        repeats=True,
    ),
    "powered-off": Fault("the node loses its power; until it is cleared", triggers.switch_off, triggers.switch_on, {"when": "now"}),
    "rail-missing": Fault("a PCIe function is gone from the bus", hardware.remove, hardware.bring_back, {"port": "p0", "rail": "1"}),
    "nic-missing": Fault("the whole card is gone from the bus", hardware.remove, hardware.bring_back, {"port": "all", "rail": "all"}),
    "pcie-x2": Fault("the PCIe link of a rail trained at x2", hardware.narrow, hardware.widen, {"rail": "1"}),
    "plugged-after-boot": Fault(
        "the kernel journal tells of a cable plugged into the running machine", hardware.plug_late, hardware.quiet, {"seconds": "120"}
    ),
    "leftover-claim": Fault(
        "an older, applied configuration of a rail in a file of its own", claims.leftover, claims.restore, {"address": "192.168.177.11/24"}
    ),
    "shared-claim": Fault(
        "the file of the management interface also configures a rail", claims.shared, claims.restore, {"address": "192.168.177.11/24"}
    ),
    "wildcard-claim": Fault("an applied definition that matches en*", claims.wildcard, claims.restore),
    "unapplied-edit": Fault("the management interface's file was edited and never applied", claims.unapplied, claims.restore),
    "nm-holds-rails": Fault("NetworkManager also manages the rails of a machine of networkd", claims.held, claims.restore),
    "overlapping-lan": Fault("another network of the node overlaps the fabric", _second_lan, _one_lan, {"address": "10.77.0.50/24", "route": ""}),
    "mtu-drift": Fault("somebody set a live MTU back", _mtu, _mtu_back, {**ONE_RAIL, "rail": "all", "mtu": "1500"}),
    "address-drift": Fault("somebody removed a live address", _no_address, _address_back, ONE_RAIL),
    "ssh-lost": Fault(
        "the management link breaks during a change; heal: seconds until it is back, 0: never",
        triggers.cut,
        triggers.heal,
        {"when": "armed", "heal": "0"},
    ),
    "killed": Fault("the module that changes the links is killed", triggers.kill, triggers.end, {"when": "file"}),
    "reboot": Fault("the node reboots during a change", triggers.reboot, triggers.end, {"when": "armed"}),
    "job": Fault("a process has a context on an RDMA device", _job, _end_job, {"device": "0"}),
    "duplicate-machine-id": Fault("the node was cloned from another one", _same_id, _own_id),
    **_at_a_switch("l2mtu-1584", "the lanes of a cage have the L2 MTU of a new switch", leg=""),
    **_at_a_switch("lanes-disabled", "the lanes that follow the leader of a leg are disabled", leg=""),
    **_at_a_switch("leg-100g", "a leg is forced to 100G", leg=""),
    **_at_a_switch("autoneg-on-split", "the leader of a leg negotiates", leg=""),
    **_at_a_switch("second-bridge", "a leg is in a bridge of its own, which the chip does not forward", leg="", bridge="bridge2"),
    **_at_a_switch("interswitch-blocked", "the cable to another switch costs more than the way over the management network"),
    **_at_a_switch("foreign-qos", "somebody's QoS profile for DSCP 26", profile="vendor-roce", dscp="26", **{"class": "5"}),
    **_at_a_switch("routeros-old", "RouterOS calls itself an old version", version="7.19.6"),
    **_at_a_switch("package-missing", "the package switch-marvell is not there"),
    "wrong-password": Fault("ansible has a password that the switch refuses", _wrong_password, _right_password, at_switch=True),
    **_at_a_switch("host-key-changed", "the switch has another host key than the known one"),
    **_at_a_switch("new-password-screen", "a screen comes instead of a prompt", screen="new-password"),
    **_at_a_switch("no-write-permission", "the users of the switch may only read"),
    **_at_a_switch("safe-mode-held", "somebody else holds safe mode, for some seconds or until it is cleared (0)", user="anna", seconds="0"),
    **_at_a_switch("drop-at", "the connection goes at the Kth line typed from now on, which is still carried out or not", line="1", after="no"),
    **_at_a_switch("prompt-noise", "log lines in the output, late lines, an early prompt; echo: repaint, double or letters", echo="double"),
    **_at_a_switch("slow-switch", "output comes in small pieces with a pause before each", pieces="400", seconds="0.05"),
    "slow-management": Fault("the node's management network is slow", _crawl, _run_again, {"rate": "40mbit"}),
}


def machine(lab: Lab, name: str, of: str | None) -> Node | Switch:
    """The machine that a fault is for: the named one, else the first node or switch."""
    if FAULTS[name].at_switch:
        return lab.up.switch(of)
    return lab.up.node(of) if of else lab.up.nodes[0]


def apply(lab: Lab, name: str, of: str | None, options: Options) -> None:
    """Put a fault in; at most one of a kind per machine. ``of`` names the machine, None: the first."""
    fault = FAULTS.get(name)
    if fault is None:
        raise LabError(f"fault {name} - expected one of {', '.join(FAULTS)}, found none of that name. Correct the name.")
    node = machine(lab, name, of)
    unknown = sorted(set(options) - set(fault.options))
    if unknown:
        raise LabError(f"--option {', '.join(unknown)} - expected {', '.join(fault.options) or 'none'} for {name}, found another. Correct it.")
    if not fault.repeats and any((each["name"], each["node"]) == (name, node.name) for each in lab.faults):
        raise LabError(f"fault {name} on {node.name} - expected none yet, found it. Clear it first.")
    row: dict[str, Any] = {"name": name, "node": node.name, "memory": {}}
    lab.faults.append(row)
    row["memory"] = fault.apply(lab, node, fault.options | options)
    lab.save()


def follow(lab: Lab, text: str) -> list[str]:
    """Do at the rack what the collection's instructions say, word by word and in their order. Returns the faults that did it."""
    done = []
    for name, options in rack.understand(text):
        apply(lab, name, None, options)
        done.append(f"{name} {' '.join(f'{key}={value}' for key, value in options.items())}")
    return done


def clear(lab: Lab, name: str | None = None, node: str | None = None) -> list[str]:
    """Mend faults, newest first: all, or those of a name and node. Returns what was mended."""
    mended = []
    for row in list(reversed(lab.faults)):
        if name in (None, row["name"]) and node in (None, row["node"]):
            FAULTS[row["name"]].clear(lab, machine(lab, row["name"], row["node"]), row["memory"])
            lab.faults.remove(row)
            lab.save()
            mended.append(f"{row['name']} {row['node']}")
    if name is None:
        # also after a command that was interrupted
        cabling.connect(lab, cabling.current(lab), cabling.current(lab))
    return mended

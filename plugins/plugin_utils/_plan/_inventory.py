# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request, built from what an inventory says."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError
from jinja2.exceptions import UndefinedError

from .._plain import plain
from . import _read
from ._notes import Notes, listed, shown
from ._options import refuse_misspelt, refuse_values

GROUPS = ("gb10_nodes", "gb10_switches")

SETTINGS = {
    "fabric_topology": "topology",
    "fabric_supernet": "supernet",
    "fabric_mtu": "mtu",
    "fabric_roce": "roce",
    "fabric_rail_prefix": "rail_prefix",
    "fabric_ipv6_link_local": "ipv6_link_local",
    "fabric_reserved": "reserved",
    "fabric_cables": "cables",
}
"""Variable that is the same for the whole fabric -> its key in the request."""

NODE_VARIABLES = {"fabric_node_id": "id", "fabric_management": "management", "fabric_interfaces": "interfaces", "ansible_host": "address"}
SWITCH_VARIABLES = {
    "fabric_switch_model": "model",
    "fabric_switch_managed": "managed",
    "fabric_switch_bridge": "bridge",
    "fabric_switch_vlan": "vlan",
    "ansible_host": "address",
}
"""Variable of one host -> its key in the request."""

KNOWN = {*SETTINGS, *NODE_VARIABLES, *SWITCH_VARIABLES, "fabric_renumber", "fabric_plan_strict"}
"""What is judged here or by the plan, more closely than by type and choices."""

WAYS = ("ansible_port", "ansible_ssh_port", "ansible_connection", "ansible_ssh_common_args", "ansible_ssh_extra_args")
"""What makes one ``ansible_host`` two machines: a port of its own, another jump host, no SSH at all."""


def refuse_groups(groups: Mapping[str, Any], hosts: Sequence[str] | None = None, needed: Sequence[str] = GROUPS) -> list[str]:
    """What is wrong with the groups of an inventory, so that a misspelt one does not end green with nothing done.

    :param hosts: the hosts of this run, which ``--limit`` may have made fewer; None when nobody asks.
    :param needed: the groups that the playbook works on; the run must have a host of one of them.
    """
    notes, names = Notes(), plain(groups)
    ours = {host for group in needed for host in names.get(group) or []}
    if hosts is not None and names.get("gb10_nodes") and not ours & set(hosts):
        found = ", ".join(sorted(hosts)[:3]) or "none"
        notes.refuse("hosts of this run", f"one of {' or '.join(needed)}", found, "Correct --limit.")
    if not names.get("gb10_nodes"):
        likely = difflib.get_close_matches("gb10_nodes", [name for name, hosts in names.items() if hosts and name not in GROUPS], n=1)
        fix = f"Rename the group {likely[0]} to gb10_nodes." if likely else "Put the machines into the group gb10_nodes, or check the -i option."
        notes.refuse("group gb10_nodes", "at least one host", "none", fix)
    if not names.get("gb10_switches"):
        for likely_name in difflib.get_close_matches("gb10_switches", [name for name, hosts in names.items() if hosts and name not in GROUPS], n=1):
            fix = f"Rename the group {likely_name} to gb10_switches."
            notes.refuse("group gb10_switches", "the switches, if there are any", f"none, but {likely_name}", fix)
    return notes.refusals


def build_request(hostvars: Mapping[str, Any], groups: Mapping[str, Any], settings: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """The request for the whole inventory, whatever the run is limited to.

    :param hostvars: host -> variables.
    :param groups: group -> hosts, in the inventory's order.
    :param settings: every variable of :data:`SETTINGS` as the role sees it, which includes its defaults.
    :param run: what is known about this run: ``expected_topology`` (or None), ``stored`` (text of the stored plan, or None),
        ``stored_path``, ``renumber``, ``strict``, ``serial`` (whether the play is cut into batches) and ``specs`` (argument
        specifications of all roles).
    """
    notes = Notes()
    names = {group: list(plain(groups).get(group) or []) for group in GROUPS}
    hosts = {name: hostvars[name] for name in dict.fromkeys([*names["gb10_nodes"], *names["gb10_switches"]])}
    options = plain(dict(run))
    request: dict[str, Any] = {key: _common(notes, variable, hosts, names["gb10_nodes"], settings) for variable, key in SETTINGS.items()}
    request["nodes"] = [_host(notes, name, hosts[name], NODE_VARIABLES) for name in names["gb10_nodes"]]
    request["switches"] = [_host(notes, name, hosts[name], SWITCH_VARIABLES) for name in names["gb10_switches"]]
    request["previous"] = _previous(notes, options)
    _refuse_shared(notes, hosts, [*request["nodes"], *request["switches"]])
    specs = options.get("specs") or []
    refuse_misspelt(notes, hosts, specs, {*KNOWN, "fabric_plan"})
    refuse_values(notes, hosts, specs, KNOWN)
    _refuse_run(notes, request, options)
    children = _child_groups(hostvars)
    if children and not any(node.get("id") is not None for node in request["nodes"]):
        fix = "Set fabric_node_id on every node: adding a host to a child group changes the order of all."
        notes.refuse("fabric_node_id", "a number on every node where gb10_nodes has child groups", f"none with {listed(children)}", fix)
    request["refusals"] = notes.refusals
    return request


def _value(notes: Notes, host: str, variables: Mapping[str, Any], name: str) -> Any:
    """The value of a variable of a host, plain; None when there is none or its template fails."""
    if name not in variables:
        return None
    try:
        return plain(variables[name])
    except (AnsibleError, UndefinedError, TypeError, ValueError, RecursionError) as error:
        notes.refuse(f"{host}: {name}", "a value that can be computed", f"an error: {' '.join(str(error).split())}", "Correct the variable.")
        return None


def _common(notes: Notes, variable: str, hosts: Mapping[str, Any], nodes: list[str], settings: Mapping[str, Any]) -> Any:
    """The one value that all hosts have; what the role sees when none has its own.

    It comes from the inventory and not from the host that happens to run the task, because that may be any under ``--limit``.
    """
    users: dict[str, list[str]] = {}
    for name, variables in hosts.items():
        if variable in variables:
            users.setdefault(json.dumps(_value(notes, name, variables, variable), sort_keys=True), []).append(name)
    bare = [name for name in nodes if variable not in hosts[name]]
    if users and bare:
        users.setdefault("null", []).extend(bare)
    if len(users) > 1:
        found = listed(f"{shown(json.loads(value))} on {listed(names, most=3)}" for value, names in users.items())
        notes.refuse(variable, "one value for all hosts", found, "Set it once, under all: vars.")
    return json.loads(next(iter(users))) if users else _value(notes, "this play", settings, variable)


def _host(notes: Notes, name: str, variables: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    values = {key: _value(notes, name, variables, variable) for variable, key in known.items()}
    return {"name": name, **{key: value for key, value in values.items() if value is not None}}


def _previous(notes: Notes, run: dict[str, Any]) -> Any:
    """The stored plan, unless addresses are to be given anew."""
    renumber = _read.boolean(notes, "fabric_renumber", run.get("renumber"), False, "Leave it out for false.")
    if renumber or not run.get("stored"):
        return {}
    try:
        stored = json.loads(run["stored"])
    except (ValueError, RecursionError):
        stored = None
    nodes = stored.get("nodes") if isinstance(stored, dict) else None
    if not isinstance(nodes, dict) or not nodes or not all(isinstance(node, dict) and isinstance(node.get("ports"), dict) for node in nodes.values()):
        fix = "Restore the file; or remove it, which gives up the protection of the addresses in use."
        notes.refuse(str(run.get("stored_path")), "the stored plan", "something else", fix)
        return {}
    kept: dict[str, Any] = stored
    return kept


def _refuse_run(notes: Notes, request: dict[str, Any], run: dict[str, Any]) -> None:
    """Refuse what the playbook and its options say."""
    _read.boolean(notes, "fabric_plan_strict", run.get("strict"), False, "Leave it out for false.")
    expected, found = run.get("expected_topology"), request["topology"]
    if expected and found is not None and found != expected:
        fix = f"Run gb10.cluster.{found}, or correct fabric_topology." if isinstance(found, str) else "Correct fabric_topology."
        notes.refuse("fabric_topology", f"{expected}, which this playbook is for", shown(found), fix)
    if run.get("serial"):
        notes.refuse(
            "serial", "all hosts in one batch", "a play that cuts them up", "Take serial out of the play; use --limit to run on fewer hosts."
        )
    path = str(run.get("stored_path") or "")
    if not path.startswith("/"):
        lost = "Begin it with a slash, or with {{ inventory_dir }}: it would lie beside the playbook, in the installed collection."
        none = ("a folder", "none, because the inventory is not a file", "Set fabric_output_dir.")
        notes.refuse("fabric_output_dir", *(("a full path", path.rpartition("/")[0], lost) if path else none))


def _refuse_shared(notes: Notes, hosts: Mapping[str, Any], asked: list[dict[str, Any]]) -> None:
    """Refuse two hosts that are one machine, for ``ansible_host`` and the way to it are the same; a host without one goes by its name.

    :param asked: the nodes and switches of the request.
    """
    users: dict[tuple[str, ...], list[str]] = {}
    for name, address in {host["name"]: str(host.get("address", host["name"])) for host in asked}.items():
        ways = {way: _value(notes, name, hosts[name], way) for way in WAYS}
        old = ways.pop("ansible_ssh_port")
        ways["ansible_port"] = ways["ansible_port"] or old or 22
        users.setdefault((address.strip().lower(), *map(str, ways.values())), []).append(name)
    for (address, *_ways), sharing in users.items():
        if len(sharing) > 1:
            fix = "Give each the address of its own machine; two machines behind one address need an ansible_port each."
            notes.refuse(f"ansible_host {address}", "one host", listed(sharing), fix)


def _child_groups(hostvars: Any) -> list[str]:
    """Names of the child groups of ``gb10_nodes``.

    No variable tells them; the inventory behind ``hostvars`` does. Where it can not be reached, nothing is known and nothing refused.
    """
    group = getattr(getattr(hostvars, "_inventory", None), "groups", {}).get("gb10_nodes")
    return [child.name for child in getattr(group, "child_groups", [])]

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request that comes out of an inventory, which Ansible itself reads here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._inventory import (
    NODE_VARIABLES,
    SETTINGS,
    SWITCH_VARIABLES,
    build_request,
    refuse_groups,
)
from call_sites import recorded, sites
from plan_cases import GRAMMAR
from plan_requests import direct

SPECS: list[dict[str, Any]] = [
    {"argument_specs": {"main": {"options": {
        "nccl_version": {"type": "str", "default": "2.30.7"}, "nccl_source": {"type": "str", "choices": ["wheel", "path"], "default": "wheel"},
        "nccl_timeout": {"type": "int"}, "nccl_more": {"type": "list", "elements": "dict"}, "nccl_odd": {"type": "raw"}}}}},
    {"argument_specs": {"main": {"options": {"fabric_output_dir": {"type": "path"}}}, "other": {"options": {}}}},
]  # fmt: skip
RUN: dict[str, Any] = {
    "renumber": False,
    "strict": False,
    "stored": "",
    "stored_path": "/x/.gb10/plan.json",
    "serial": False,
    "expected_topology": "",
    "specs": SPECS,
}
PAIR = """
all:
  vars: {fabric_topology: two_node_direct}
  children:
    gb10_nodes: {hosts: {spark-1: {ansible_host: 192.168.10.11}, spark-2: {ansible_host: spark-2.lan}}}
"""


def read(folder: Path, text: str) -> tuple[HostVars, dict[str, Any]]:
    """``hostvars`` and ``groups`` of the text of an inventory file."""
    path = folder / "hosts.yml"
    path.write_text(text)
    return read_folder(path)


def read_folder(path: Path) -> tuple[HostVars, dict[str, Any]]:
    """``hostvars`` and ``groups`` of an inventory, a file or a folder."""
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(path)])
    return HostVars(inventory, VariableManager(loader=loader, inventory=inventory), loader), inventory.get_groups_dict()


def request(folder: Path, text: str, settings: dict[str, Any] | None = None, **run: Any) -> dict[str, Any]:
    """The request of an inventory file."""
    hostvars, groups = read(folder, text)
    return build_request(hostvars, groups, settings or {}, {**RUN, **run})


def test_an_inventory_becomes_a_request(tmp_path: Path) -> None:
    text = """
all:
  vars:
    fabric_topology: switched_fabric
    fabric_mtu: "9000"
    fabric_cables: [{switch: sw.lan, cage: qsfp56-dd-1, to: [spark-1.lan.p0, spark-2.lan.p0]}]
  children:
    gb10_nodes:
      hosts:
        spark-1.lan: {fabric_node_id: 5, fabric_interfaces: {p0: [a, b]}}
        spark-2.lan: {fabric_node_id: "{{ 3 + 3 }}", fabric_management: 192.168.10.12/24, ansible_host: 192.168.10.12}
    gb10_switches:
      hosts: {sw.lan: {fabric_switch_model: CRS812, fabric_switch_vlan: 7, fabric_switch_managed: true, fabric_switch_bridge: br}}
"""
    found = request(tmp_path, text, {"fabric_roce": "none", "fabric_reserved": []})
    assert found == {
        "topology": "switched_fabric",
        "supernet": None,
        "mtu": "9000",
        "roce": "none",
        "rail_prefix": None,
        "ipv6_link_local": None,
        "reserved": [],
        "cables": [{"switch": "sw.lan", "cage": "qsfp56-dd-1", "to": ["spark-1.lan.p0", "spark-2.lan.p0"]}],
        "nodes": [
            {"name": "spark-1.lan", "id": 5, "interfaces": {"p0": ["a", "b"]}},
            {"name": "spark-2.lan", "id": 6, "management": "192.168.10.12/24", "address": "192.168.10.12"},
        ],
        "switches": [{"name": "sw.lan", "model": "CRS812", "managed": True, "bridge": "br", "vlan": 7}],
        "previous": {},
        "refusals": [],
    }
    assert json.loads(json.dumps(found)) == found
    assert make_plan(found)["refusals"] == []


def test_the_order_of_the_group_is_the_order_of_the_nodes(tmp_path: Path) -> None:
    text = PAIR.replace("spark-1:", "zeta:").replace("spark-2:", "alpha:")
    assert [node["name"] for node in request(tmp_path, text)["nodes"]] == ["zeta", "alpha"]


def test_the_inventory_wins_over_what_the_running_host_sees(tmp_path: Path) -> None:
    text = (
        PAIR.replace("gb10_nodes: {", "gb10_nodes: {vars: {fabric_mtu: 1500}, ").replace("{spark-1", "{spark-1")
        + "    gb10_switches: {hosts: {sw: {}}}\n"
    )
    found = request(tmp_path, text, {"fabric_mtu": 9000})
    assert (found["mtu"], found["refusals"]) == (1500, [])


def test_a_stored_plan_is_handed_on_unless_addresses_may_move(tmp_path: Path) -> None:
    stored = json.dumps(make_plan(direct()))
    assert list(request(tmp_path, PAIR, stored=stored)["previous"]["nodes"]) == ["spark-1", "spark-2"]
    assert request(tmp_path, PAIR, stored=stored, renumber="yes")["previous"] == {}
    assert request(tmp_path, PAIR, stored="rubbish", renumber=True)["refusals"] == []


CHILDREN = """
all:
  vars: {fabric_topology: two_node_direct}
  children:
    gb10_nodes: {children: {rack_1: {hosts: {spark-1: {}}}, rack_2: {hosts: {spark-2: {}}}}}
"""

PORT_23 = "192.168.10.11, ansible_ssh_port: 23"
ONE_EACH = "Give each the address of its own machine; two machines behind one address need an ansible_port each."

NO_PLAN = (
    "/x/.gb10/plan.json - expected the stored plan, found something else. "
    "Restore the file; or remove it, which gives up the protection of the addresses in use."
)

REFUSED = [
    ("options that a role would refuse", PAIR.replace("vars: {", "vars: {nccl_source: wheell, nccl_more: [1], nccl_timeout: 1.5, "), {}, [
        "nccl_more - expected a list, each a mapping, found a list. Correct it, or leave it out.",
        "nccl_source - expected wheel or path, found wheell. Correct it, or leave it out.",
        "nccl_timeout - expected a whole number, found 1.5. Correct it, or leave it out."]),
    ("an option of one host", PAIR.replace("{ansible_host: spark-2.lan}", "{nccl_timeout: soon}"), {}, [
        "nccl_timeout - expected a whole number, found soon on spark-2. Correct it, or leave it out."]),
    ("options that a role takes, or that can not be computed yet", PAIR.replace(
        "vars: {", "vars: {nccl_timeout: '60', nccl_version: 2.3, nccl_source: '{{ nosuch }}', nccl_odd: {a: 1}, fabric_output_dir: , "), {}, []),
    ("a misspelt variable", PAIR.replace("vars: {", "vars: {fabric_mtuu: 1, "), {}, [
        "variable fabric_mtuu - expected a name of this collection, found one that is close to it on spark-1 and spark-2. Did you mean fabric_mtu?"]),
    ("misspelt names of Ansible", PAIR.replace("vars: {", "vars: {ansible_usr: x, ansible_pasword: y, ").replace("2: {ansible_host", "2: {ansible_hots"), {}, [
        "variable ansible_hots - expected a name of Ansible, found one that is close to it on spark-2. Did you mean ansible_host?",
        "variable ansible_pasword - expected a name of Ansible, found one that is close to it on spark-1 and spark-2. Did you mean ansible_password?",
        "variable ansible_usr - expected a name of Ansible, found one that is close to it on spark-1 and spark-2. Did you mean ansible_user?"]),
    ("other names of Ansible", PAIR.replace("vars: {", "vars: {ansible_hostname: a, ansible_ssh_user: c, ansible_ssh_port: 22, ansible_ssh_pass: d, "
        "ansible_become_password: e, ansible_become_pass: f, ansible_user_id: g, ansible_become_user: h, ansible_ssh_password: i, "), {}, []),
    ("a misspelt variable of another role on one host", PAIR.replace("{ansible_host: spark-2.lan}", "{nccl_verson: 1}"), {}, [
        "variable nccl_verson - expected a name of this collection, found one that is close to it on spark-2. Did you mean nccl_version?"]),
    ("two values", PAIR.replace("{ansible_host: spark-2.lan}", "{fabric_mtu: 1500}").replace("vars: {", "vars: {fabric_mtu: 9000, "), {}, [
        "fabric_mtu - expected one value for all hosts, found 9000 on spark-1 and 1500 on spark-2. Set it once, under all: vars."]),
    ("a value on one node only", PAIR.replace("{ansible_host: spark-2.lan}", "{fabric_mtu: 1500}"), {}, [
        "fabric_mtu - expected one value for all hosts, found 1500 on spark-2 and nothing on spark-1. Set it once, under all: vars."]),
    ("a template that fails", PAIR.replace("{ansible_host: spark-2.lan}", "{fabric_management: '{{ nosuch }}'}"), {}, [
        "spark-2: fabric_management - expected a value that can be computed, found an error: 'nosuch' is undefined. Correct the variable."]),
    ("one machine twice", PAIR.replace("spark-2.lan", "192.168.10.11"), {}, [
        f"ansible_host 192.168.10.11 - expected one host, found spark-1 and spark-2. {ONE_EACH}"]),
    ("one name twice, differently written", PAIR.replace("192.168.10.11", "SPARK-2.lan"), {}, [
        f"ansible_host spark-2.lan - expected one host, found spark-1 and spark-2. {ONE_EACH}"]),
    ("a host that is called like the address of another", PAIR.replace("spark-2.lan", "spark-1").replace("{ansible_host: 192.168.10.11}", "{}"), {}, [
        f"ansible_host spark-1 - expected one host, found spark-1 and spark-2. {ONE_EACH}"]),
    ("a machine twice, by the port that is meant anyway", PAIR.replace("spark-2.lan", "192.168.10.11, ansible_port: 22"), {}, [
        f"ansible_host 192.168.10.11 - expected one host, found spark-1 and spark-2. {ONE_EACH}"]),
    ("one machine twice, by two names of one port", PAIR.replace(".10.11", ".10.11, ansible_port: 23").replace("spark-2.lan", PORT_23), {}, [
        f"ansible_host 192.168.10.11 - expected one host, found spark-1 and spark-2. {ONE_EACH}"]),
    ("a node and a switch", PAIR + "    gb10_switches: {hosts: {sw: {ansible_host: 192.168.10.11}}}\n", {}, [
        f"ansible_host 192.168.10.11 - expected one host, found spark-1 and sw. {ONE_EACH}"]),
    ("child groups without ids", CHILDREN, {}, [
        "fabric_node_id - expected a number on every node where gb10_nodes has child groups, found none with rack_1 and rack_2. "
        "Set fabric_node_id on every node: adding a host to a child group changes the order of all."]),
    ("another topology than the playbook's", PAIR, {"expected_topology": "three_node_ring"}, [
        "fabric_topology - expected three_node_ring, which this playbook is for, found two_node_direct. "
        "Run gb10.cluster.two_node_direct, or correct fabric_topology."]),
    ("a topology of the wrong type", PAIR.replace("two_node_direct", "[x]"), {"expected_topology": "three_node_ring"}, [
        "fabric_topology - expected three_node_ring, which this playbook is for, found a list. Correct fabric_topology."]),
    ("serial", PAIR, {"serial": True}, [
        "serial - expected all hosts in one batch, found a play that cuts them up. Take serial out of the play; use --limit to run on fewer hosts."]),
    ("no place for the plan", PAIR, {"stored_path": ""}, [
        "fabric_output_dir - expected a folder, found none, because the inventory is not a file. Set fabric_output_dir."]),
    ("a place that moves with the playbook", PAIR, {"stored_path": "out/plan/plan.json"}, [
        "fabric_output_dir - expected a full path, found out/plan. "
        "Begin it with a slash, or with {{ inventory_dir }}: it would lie beside the playbook, in the installed collection."]),
    ("a place below a user who is none", PAIR, {"stored_path": "~nobody-here/plan/plan.json"}, [
        "fabric_output_dir - expected a full path, found ~nobody-here/plan. "
        "Begin it with a slash, or with {{ inventory_dir }}: it would lie beside the playbook, in the installed collection."]),
    ("a place that is a list", PAIR, {"stored_path": "[1]/plan.json"}, [
        "fabric_output_dir - expected a full path, found [1]. "
        "Begin it with a slash, or with {{ inventory_dir }}: it would lie beside the playbook, in the installed collection."]),
    ("a stored plan that is none", PAIR, {"stored": "{}"}, [
        NO_PLAN]),
    ("a stored plan without a node", PAIR, {"stored": '{"nodes": {}}'}, [
        NO_PLAN]),
    ("a stored plan without ports", PAIR, {"stored": '{"nodes": {"spark-1": null, "spark-2": {"ports": {}}}}'}, [
        NO_PLAN]),
    ("a stored plan that is empty", PAIR, {"stored": " "}, [
        NO_PLAN]),
    ("a stored plan that is no JSON", PAIR, {"stored": "<<<<"}, [
        NO_PLAN]),
    ("a stored plan without an end", PAIR, {"stored": "[" * 100_000}, [
        NO_PLAN]),
    ("switches that are neither on nor off", PAIR, {"renumber": "perhaps", "strict": []}, [
        "fabric_renumber - expected true or false, found perhaps. Leave it out for false.",
        "fabric_plan_strict - expected true or false, found a list. Leave it out for false."]),
]  # fmt: skip


@pytest.mark.parametrize(("title", "text", "run", "expected"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_wrong_around_the_request_is_refused_in_these_words(
    tmp_path: Path, title: str, text: str, run: dict[str, Any], expected: list[str]
) -> None:
    found = request(tmp_path, text, **run)
    assert found["refusals"] == expected
    assert make_plan(found)["refusals"][: len(expected)] == expected


ACCEPTED = [
    (
        "child groups with ids",
        CHILDREN.replace("spark-1: {}", "spark-1: {fabric_node_id: 1}").replace("spark-2: {}", "spark-2: {fabric_node_id: 2}"),
        {},
    ),
    (
        "somebody's own variables",
        PAIR.replace("vars: {", "vars: {fabric_room: 12, rack: 3, mtu: 9000, _fabric_mtu: 1, ansible_user: x, nccl: y, "),
        {},
    ),
    ("the playbook's topology", PAIR, {"expected_topology": "two_node_direct"}),
    ("texts for true and false", PAIR, {"renumber": "no", "strict": "yes"}),
    ("one address, a port each", PAIR.replace("192.168.10.11", "localhost, ansible_port: 2201").replace("spark-2.lan", "localhost, ansible_port: 2202"), {}),
    ("one address, one port of two left out", PAIR.replace("192.168.10.11", "jump").replace("spark-2.lan", "jump, ansible_port: 2202"), {}),
    ("one address behind two jump hosts", PAIR.replace("spark-2.lan", "192.168.10.11, ansible_ssh_common_args: -J other"), {}),
    ("a group that is no child", PAIR + "    canaries: {hosts: {spark-1: {}}}\n", {}),
]


@pytest.mark.parametrize(("title", "text", "run"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_what_is_right_is_not_refused(tmp_path: Path, title: str, text: str, run: dict[str, Any]) -> None:
    assert make_plan(request(tmp_path, text, **run))["refusals"] == []


GROUPS = [
    ("no group at all", {"all": ["a"], "ungrouped": ["a"]}, [
        "group gb10_nodes - expected at least one host, found none. Put the machines into the group gb10_nodes, or check the -i option."]),
    ("a misspelt group", {"gb10_node": ["a"]}, ["group gb10_nodes - expected at least one host, found none. Rename the group gb10_node to gb10_nodes."]),
    ("an empty group", {"gb10_nodes": [], "gb10-nodes": ["a"]}, [
        "group gb10_nodes - expected at least one host, found none. Rename the group gb10-nodes to gb10_nodes."]),
    ("misspelt switches", {"gb10_nodes": ["a"], "gb10_switch": ["b"]}, [
        "group gb10_switches - expected the switches, if there are any, found none, but gb10_switch. Rename the group gb10_switch to gb10_switches."]),
    ("only nodes", {"gb10_nodes": ["a"]}, []),
    ("nodes and switches", {"gb10_nodes": ["a"], "gb10_switches": ["b"], "gb10_switch": ["b"]}, []),
]  # fmt: skip


@pytest.mark.parametrize(("title", "groups", "expected"), GROUPS, ids=[row[0] for row in GROUPS])
def test_the_guard_knows_the_groups(title: str, groups: dict[str, Any], expected: list[str]) -> None:
    assert refuse_groups(groups) == expected


BOTH = ["gb10_nodes", "gb10_switches"]


@pytest.mark.parametrize(
    ("hosts", "needed", "expected"),
    [
        (["spark-1"], BOTH, []),
        (["crs812"], BOTH, []),
        (["web", "localhost"], BOTH, ["hosts of this run - expected one of gb10_nodes or gb10_switches, found localhost, web. Correct --limit."]),
        (["spark-1"], ["gb10_nodes"], []),
        (["crs812"], ["gb10_nodes"], ["hosts of this run - expected one of gb10_nodes, found crs812. Correct --limit."]),
    ],
    ids=["a node", "a switch", "none of ours", "a node where nodes are needed", "a switch where nodes are needed"],
)
def test_the_guard_knows_a_limit_that_leaves_nobody(hosts: list[str], needed: list[str], expected: list[str]) -> None:
    assert refuse_groups({"gb10_nodes": ["spark-1"], "gb10_switches": ["crs812"]}, hosts, needed) == expected


@pytest.mark.parametrize("name", ["discover", "ssh_mesh", "validate"])
def test_a_playbook_that_changes_no_switch_needs_a_node(name: str) -> None:
    playbook = yaml.safe_load((Path(__file__).resolve().parents[3] / "playbooks" / f"{name}.yml").read_text())
    assert playbook[0]["vars"] == {"fabric_expected_groups": ["gb10_nodes"]}
    assert {play["hosts"] for play in playbook[1:] if "hosts" in play} == {"gb10_nodes"}


def test_every_refusal_of_an_inventory_is_in_these_tables(tmp_path: Path) -> None:
    with recorded() as seen:
        for _title, text, run, expected in REFUSED:
            request(tmp_path, text, **run)
            assert all(GRAMMAR.fullmatch(line) for line in expected)
        for _title, groups, _expected in GROUPS:
            refuse_groups(groups, ["elsewhere"])
    assert sites("_inventory.py") - seen == set()


def test_the_variables_of_every_role_are_known() -> None:
    roles = Path(__file__).resolve().parents[3] / "roles"
    named = yaml.safe_load((roles / "fabric" / "vars" / "main.yml").read_text())["_fabric_roles"]
    assert {path.name for path in roles.iterdir() if (path / "tasks").is_dir()} <= set(named)


def test_the_documented_variables_are_those_that_are_read() -> None:
    roles = Path(__file__).resolve().parents[3] / "roles" / "fabric"
    options = yaml.safe_load((roles / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    read_by_plan = {*SETTINGS, *NODE_VARIABLES, *SWITCH_VARIABLES} - {"ansible_host"}
    read_by_role = {"fabric_renumber", "fabric_plan_strict", "fabric_plan_write", "fabric_output_dir", "fabric_expected_topology", "fabric_expected_groups"}
    assert set(options) == read_by_plan | read_by_role
    defaults = yaml.safe_load((roles / "defaults" / "main.yml").read_text())
    assert {name: option["default"] for name, option in options.items() if "default" in option and name in defaults} == {
        name: value for name, value in defaults.items() if name != "fabric_output_dir"
    }


SAMPLES = {
    "switched_eight_nodes": (8, ["crs812"], 4 * 2, []),
    "switched_fabric": (4, ["crs812"], 2 * 2, []),
    "switched_two_switches": (6, ["west", "east"], 2 * (3 + 1), ["west to east - expected inter-switch cables for 600G, the nodes on one side"]),
    "switched_unmanaged": (3, ["tor"], 0, []),
    "three_node_ring": (3, [], 0, []),
    "two_node_direct": (2, [], 0, []),
}
"""Sample inventory -> nodes, switches, legs on switches that we configure, beginnings of warnings."""


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_inventory_is_a_fabric(name: str) -> None:
    nodes, switches, legs, warnings = SAMPLES[name]
    hostvars, groups = read_folder(Path(__file__).resolve().parents[3] / "inventories" / name / "hosts.yml")
    plan = make_plan(build_request(hostvars, groups, {}, RUN))
    assert (plan["refusals"], len(plan["nodes"]), list(plan["switches"])) == ([], nodes, switches)
    assert sum(len(switch["legs"]) for switch in plan["switches"].values()) == legs
    assert [warning for warning in plan["warnings"] if not warning.startswith(tuple(warnings) or "-")] == []
    assert len(plan["warnings"]) == len(warnings)


def test_there_is_a_test_for_every_sample_inventory() -> None:
    assert sorted(path.parent.name for path in (Path(__file__).resolve().parents[3] / "inventories").glob("*/hosts.yml")) == sorted(SAMPLES)

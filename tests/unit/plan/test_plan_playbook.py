# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan through real playbooks: everything that is wrong, once, before anything else; and what is stored.

Inventories lie in ``playbook``, each with a text file of what is said about it. Write these anew with
``REGENERATE=1 .venv/bin/pytest tests/unit/plan/test_plan_playbook.py``, and read the difference.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._build import make_plan
from ansible_collections.gb10.cluster.plugins.plugin_utils._plan._inventory import build_request, refuse_groups
from call_sites import recorded, sites, source
from plan_cases import GRAMMAR
from test_plan_inventory import RUN, read, read_folder
from warm_playbook import WarmPlaybook

REPOSITORY = Path(__file__).resolve().parents[3]
INVENTORIES = Path(__file__).parent / "playbook"
PAIR = {"all": {"vars": {"fabric_topology": "two_node_direct"}, "children": {"gb10_nodes": {"hosts": {"spark-1": {}, "spark-2": {}}}}}}
OF_PAIRS = "- import_playbook: gb10.cluster._plan\n  vars: {fabric_expected_topology: two_node_direct}\n"


class Run:
    """What a run of ansible-playbook printed. ``said``: the texts of every failed task; ``told``: of every shown message."""

    def __init__(self, code: int, output: str) -> None:
        self.code, self.output = code, output
        self.tasks = re.findall(r"^TASK \[(?:gb10\.cluster\.fabric : )?(.*?)\]", self.output, re.M)
        failed = [json.loads(line)["msg"] for line in re.findall(r"^fatal: .*? => (.*)$", self.output, re.M)]
        self.said = [message.splitlines()[1:] for message in failed]
        self.told = [json.loads(text)["msg"] for text in re.findall(r"^ok: \[[^]]*\] => (\{\n.*?^\})", self.output, re.M | re.S)]
        self.changed = sum(map(int, re.findall(r"changed=(\d+)", self.output)))


class Folder:
    """A folder with an inventory, in which playbooks run."""

    def __init__(self, path: Path, program: WarmPlaybook) -> None:
        self.path, self.inventory, self.stored, self._program = path, path / "inventory", path / "inventory" / ".gb10", program
        self.inventory.mkdir()

    def holds(self, hosts: dict[str, Any]) -> None:
        """Write the inventory."""
        (self.inventory / "hosts.yml").write_text(json.dumps(hosts))

    def stores(self) -> None:
        """Store the plan of the inventory without a run."""
        hostvars, groups = read_folder(self.inventory / "hosts.yml")
        self.stored.mkdir()
        (self.stored / "plan.json").write_text(json.dumps(make_plan(build_request(hostvars, groups, {}, RUN))))

    @property
    def compared(self) -> str:
        """With what a plan was compared, in words."""
        return f"The stored plan is {self.stored}/plan.json. Another cluster needs an inventory in a folder of its own."

    def where(self, topology: str, first: str = "spark-1") -> str:
        """What the playbook plan says in the end."""
        return (
            f"Stored as files of this machine, though the recap counts them for {first}: the plan as {self.stored}/plan.json, and what to plug into "
            f"what as {self.stored}/cabling.md. No other machine was touched. Next, with the same options: gb10.cluster.{topology}"
        )

    def run(self, playbook: str, *options: str) -> Run:
        """Run a playbook, by its name in the collection or given as text."""
        if "\n" in playbook:
            (self.path / "play.yml").write_text(playbook)
            playbook = str(self.path / "play.yml")
        self._program.begin(self.path, "-i", str(self.inventory), playbook, *options)
        return Run(self._program.end(), (self.path / "stdout").read_text() + (self.path / "stderr").read_text())


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPlaybook]:
    """ansible-playbook, with the collection where it looks for it."""
    path = tmp_path_factory.mktemp("ansible")
    collection = path / "collections" / "ansible_collections" / "gb10" / "cluster"
    collection.parent.mkdir(parents=True)
    collection.symlink_to(REPOSITORY)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment |= {"ANSIBLE_COLLECTIONS_PATH": str(path / "collections"), "ANSIBLE_LOCAL_TEMP": str(path / "tmp"), "ANSIBLE_NOCOLOR": "1"}
    with WarmPlaybook.started(environment) as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path, program: WarmPlaybook) -> Folder:
    """An empty one."""
    return Folder(tmp_path, program)


OPTIONS = {
    "ring_of_four": (OF_PAIRS, ()),
    "missing_cable": ("gb10.cluster.plan", ("-e", "fabric_output_dir=")),
    "other_hosts": ("gb10.cluster.plan", ("--limit", "web")),
    "no_cables": ("- hosts: gb10_nodes\n  gather_facts: false\n  serial: 1\n  roles: [gb10.cluster.fabric]\n", ()),
}
ELSEWHERE = (
    "as in the stored plan", "the plan of this inventory", "the addresses of the stored plan", "request: previous", "once in {kind}", '"a name", "nothing"',
)  # fmt: skip
"""Words of the calls that take a stored plan, which is tested below, or a request that no inventory gives."""
NAMES = sorted(path.stem for path in INVENTORIES.glob("*.yml"))


def expected(name: str) -> list[str]:
    """What is to be said about an inventory."""
    return (INVENTORIES / f"{name}.txt").read_text().splitlines()


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("warned")])
def test_a_playbook_says_all_that_is_wrong_in_one_task_before_anything_else(folder: Folder, name: str, regenerate: bool) -> None:
    shutil.copy(INVENTORIES / f"{name}.yml", folder.inventory / "hosts.yml")
    playbook, options = OPTIONS.get(name, ("gb10.cluster.plan", ()))
    run = folder.run(playbook, *options)
    if regenerate:
        (INVENTORIES / f"{name}.txt").write_text("\n".join(run.said[0]) + "\n")
    assert run.code == 2
    assert run.said == [expected(name)]
    assert [line for line in run.said[0] if not GRAMMAR.fullmatch(line)] == []
    assert run.tasks[-1] in ("Refuse what can not work", "Refuse an inventory without GB10 machines")
    assert not folder.stored.exists()


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("warned")])
def test_a_playbook_tells_what_is_unusual_and_goes_on(folder: Folder, name: str, regenerate: bool) -> None:
    shutil.copy(INVENTORIES / f"{name}.yml", folder.inventory / "hosts.yml")
    folder.stores()
    run = folder.run("gb10.cluster._plan")
    if regenerate:
        (INVENTORIES / f"{name}.txt").write_text("\n".join(run.told[0]) + "\n")
    assert run.told == [expected(name)]
    assert (run.code, run.changed) == (0, 0)


def test_every_text_that_an_inventory_can_provoke_is_among_them(tmp_path: Path) -> None:
    with recorded() as seen:
        for name in NAMES:
            hostvars, groups = read(tmp_path, (INVENTORIES / f"{name}.yml").read_text())
            refuse_groups(groups, ["w1"] if name == "other_hosts" else None)
            options = {"renumber": "perhaps", "strict": "perhaps", "serial": True, "stored": "<", "stored_path": "", "expected_topology": "x"}
            make_plan(build_request(hostvars, groups, {}, {**RUN, **options}))
    unheard = sorted(source(site) for site in sites("-") - seen)
    assert [line for line in unheard if not any(words in line for words in ELSEWHERE)] == []
    assert len(unheard) == len(ELSEWHERE)


def test_the_first_plan_is_stored_once_and_check_mode_tells_the_same_without_storing(folder: Folder) -> None:
    folder.holds(PAIR)
    foretold = folder.run(OF_PAIRS, "--check", "--diff")
    assert not folder.stored.exists()
    first = folder.run(OF_PAIRS, "--diff")
    again = folder.run("gb10.cluster.plan", "--diff")
    assert (foretold.told, first.told, again.told) == ([], [], [folder.where("two_node_direct")])
    assert (foretold.code, first.code, again.code) == (0, 0, 0)
    assert (foretold.output, foretold.changed, first.changed, again.changed) == (first.output, 1, 1, 0)
    stored = json.loads((folder.stored / "plan.json").read_text())
    assert stored == make_plan({"topology": "two_node_direct", "nodes": [{"name": "spark-1"}, {"name": "spark-2"}]})
    assert sorted(path.name for path in folder.stored.iterdir()) == ["cabling.md", "plan.json"]
    # none of it is taken for inventory
    assert read_folder(folder.inventory)[1] == {"all": ["spark-1", "spark-2"], "ungrouped": [], "gb10_nodes": ["spark-1", "spark-2"]}


SHOW = """
- hosts: gb10_nodes
  gather_facts: false
  tags: other
  tasks:
    - ansible.builtin.debug: {msg: "{{ inventory_hostname }} {{ fabric_plan.nodes[inventory_hostname].id }} of {{ fabric_plan.nodes | length }}"}
"""


def test_every_host_of_the_run_knows_the_whole_plan(folder: Folder) -> None:
    folder.holds(PAIR)
    folder.stores()
    assert sorted(folder.run(OF_PAIRS + SHOW).told) == ["spark-1 1 of 2", "spark-2 2 of 2"]
    assert folder.run(OF_PAIRS + SHOW, "--limit", "spark-2", "--tags", "other").told == ["spark-2 2 of 2"]


def test_a_topology_playbook_tells_what_has_changed_since_the_plan_was_stored(folder: Folder) -> None:
    folder.holds(PAIR)
    folder.stores()
    again = folder.run(OF_PAIRS)
    assert (again.told, again.changed) == ([], 0)
    difference = "stored plan - expected the plan of this inventory, found nodes changed: spark-1 and spark-2; paths changed; marks changed. "
    difference += "Run gb10.cluster.plan, with the same -e as here, to review and store the new one."
    told = folder.run(OF_PAIRS, "-e", "fabric_mtu=1500")
    assert (told.code, told.told, told.changed) == (0, [[difference, folder.compared]], 0)
    refused = folder.run(OF_PAIRS, "-e", "fabric_mtu=1500", "-e", "fabric_plan_strict=true")
    assert (refused.code, refused.said) == (2, [[difference, folder.compared]])
    stored = folder.run("gb10.cluster.plan", "-e", "fabric_mtu=1500", "-e", "fabric_plan_strict=true")
    assert (stored.code, stored.told, stored.changed) == (0, [folder.where("two_node_direct")], 1)
    assert json.loads((folder.stored / "plan.json").read_text())["nodes"]["spark-1"]["mtu"] == 1500


def star_of(*nodes: str) -> dict[str, Any]:
    """An inventory of nodes behind one switch, in this order."""
    ends = [f"{name}.p0" for name in sorted(nodes)]
    cables = [{"switch": "crs804", "cage": f"qsfp56-dd-{place}", "to": [end, None]} for place, end in enumerate(ends, 1)]
    children = {"gb10_nodes": {"hosts": {name: {} for name in nodes}}, "gb10_switches": {"hosts": {"crs804": {"fabric_switch_model": "CRS804"}}}}
    return {"all": {"vars": {"fabric_topology": "switched_fabric", "fabric_cables": cables}, "children": children}}


def test_a_plan_that_only_grew_is_stored_so_that_new_addresses_stay_too(folder: Folder) -> None:
    of_switches = OF_PAIRS.replace("two_node_direct", "switched_fabric")
    folder.holds(star_of("spark-1", "spark-2"))
    folder.stores()
    folder.holds(star_of("spark-1", "spark-2", "spark-3"))
    before = (folder.stored / "plan.json").read_text()
    strict = folder.run(of_switches, "-e", "fabric_plan_strict=true")
    assert (strict.code, (folder.stored / "plan.json").read_text()) == (2, before)
    grown = folder.run(of_switches)
    assert (grown.told, grown.changed) == (strict.said, 1)
    assert list(json.loads((folder.stored / "plan.json").read_text())["nodes"]) == ["spark-1", "spark-2", "spark-3"]
    again = folder.run(of_switches)
    assert (again.told, again.changed) == ([], 0)
    folder.holds(star_of("spark-1", "spark-3", "spark-2"))
    turned = folder.run(of_switches)
    assert turned.code == 2 and "spark-3 p0 rail 0 - expected 10.77.0.3/24 as in the stored plan" in turned.output


TURNED = json.loads(json.dumps(PAIR))
TURNED["all"]["children"]["gb10_nodes"]["hosts"] = {"spark-2": {}, "spark-1": {}}


def test_the_stored_plan_is_found_below_a_tilde(folder: Folder) -> None:
    at_home = ("-e", f"fabric_output_dir=~/{os.path.relpath(folder.stored, Path.home())}")
    folder.holds(PAIR)
    stored = folder.run(OF_PAIRS, *at_home)
    assert (stored.code, stored.changed, (folder.stored / "plan.json").exists()) == (0, 1, True)
    again = folder.run(OF_PAIRS, *at_home)
    assert (again.code, again.changed) == (0, 0)
    folder.holds(TURNED)
    refused = folder.run(OF_PAIRS, *at_home)
    assert refused.code == 2 and "spark-2 p0 rail 0 - expected 10.77.0.2/24 as in the stored plan" in refused.output


def test_an_empty_file_in_place_of_the_stored_plan_is_refused_and_left(folder: Folder) -> None:
    folder.holds(TURNED)
    folder.stored.mkdir()
    (folder.stored / "plan.json").write_text("")
    refused = folder.run(OF_PAIRS)
    assert refused.code == 2 and f"{folder.stored}/plan.json - expected the stored plan, found something else. Restore the file; or" in refused.output
    assert [(path.name, path.read_text()) for path in folder.stored.iterdir()] == [("plan.json", "")]


def test_where_no_plan_is_stored_nothing_is_said_of_addresses_that_move(folder: Folder) -> None:
    folder.holds(PAIR)
    first = folder.run(OF_PAIRS, "-e", "fabric_renumber=true")
    assert (first.code, first.told, first.changed) == (0, [], 1)


def test_addresses_in_use_move_only_on_purpose(folder: Folder) -> None:
    folder.holds(PAIR)
    folder.stores()
    before = (folder.stored / "plan.json").read_text()
    folder.holds(TURNED)
    text = (
        "{0} p0 rail 0 - expected 10.77.0.{1}/24 as in the stored plan, found 10.77.0.{2}/24. "
        "Set fabric_node_id: {1} on {0} (and an id on every other node) to keep it, or run once with -e fabric_renumber=true to move it."
    )
    run = folder.run(OF_PAIRS)
    assert (run.code, run.said) == (2, [[text.format("spark-2", 2, 1), text.format("spark-1", 1, 2), folder.compared]])
    allowed = folder.run(OF_PAIRS, "-e", "fabric_renumber=true")
    assert (allowed.code, allowed.said, allowed.changed, len(allowed.told)) == (0, [], 0, 1)
    moves, changes = allowed.told[0][:2]
    assert moves.startswith("fabric_renumber - expected the addresses of the stored plan, found spark-2 p0 rail 0 from 10.77.0.2/24 to 10.77.0.1/24, ")
    assert changes.startswith("stored plan - expected the plan of this inventory, found nodes changed: spark-2 and spark-1; ")
    assert allowed.told[0][2:] == [folder.compared]
    strict = folder.run(OF_PAIRS, "-e", "fabric_renumber=true", "-e", "fabric_plan_strict=true")
    assert (strict.code, strict.said, strict.changed) == (2, [[changes, folder.compared]], 0)
    assert (folder.stored / "plan.json").read_text() == before
    moved = folder.run("gb10.cluster.plan", "-e", "fabric_renumber=true")
    assert (moved.code, moved.said, moved.changed, moved.told) == (0, [], 1, [[moves, folder.compared], folder.where("two_node_direct", "spark-2")])
    assert json.loads((folder.stored / "plan.json").read_text())["nodes"]["spark-2"]["id"] == 1


def test_the_plan_by_which_addresses_move_is_stored_right_before_they_do(folder: Folder) -> None:
    nobody = {"ansible_host": "127.0.0.1", "ansible_ssh_common_args": "-F none -o ConnectTimeout=1", "ansible_become_method": "sudo"}
    hosts = {name: {**nobody, "ansible_port": number} for number, name in enumerate(("spark-1", "spark-2"), 1)}
    inventory = json.loads(json.dumps(PAIR))
    inventory["all"]["children"]["gb10_nodes"]["hosts"] = hosts
    folder.holds(inventory)
    folder.stores()
    options = ("-e", "fabric_renumber=true", "-e", "fabric_supernet=10.78.0.0/16")
    before = (folder.stored / "plan.json").read_text()
    stopped = folder.run("gb10.cluster.two_node_direct", *options)
    assert stopped.code != 0
    assert (folder.stored / "plan.json").read_text() == before
    for option, changed in (("--check", False), ("--diff", True)):
        reached = folder.run("gb10.cluster.two_node_direct", *options, option, "--tags", "fabric_links")
        assert "Store the plan" in [task.rpartition(" : ")[2] for task in reached.tasks]
        assert reached.code != 0
        assert ((folder.stored / "plan.json").read_text() != before) is changed
    plan = json.loads((folder.stored / "plan.json").read_text())
    assert plan["nodes"]["spark-1"]["ports"]["p0"]["rails"][0]["address"] == "10.78.0.1"
    assert "10.78.0.1/24" in (folder.stored / "cabling.md").read_text()


def test_discover_does_all_of_it_by_the_tag_of_its_role(folder: Folder) -> None:
    folder.holds(star_of("spark-1", "spark-2"))
    every, tagged = (folder.run("gb10.cluster.discover", "--list-tasks", *tags).output for tags in ((), ("--tags", "fabric_neighbors")))
    assert tagged == every and "fabric_switch : Read where" in every


def test_a_vaulted_setting_is_read(folder: Folder) -> None:
    folder.holds(PAIR)
    folder.stores()
    (folder.path / "password").write_text("secret")
    hidden = VaultLib([("default", VaultSecret(b"secret"))]).encrypt(b"10.99.0.0/16", VaultSecret(b"secret")).decode()
    block = "\n".join(" " * 6 + line for line in hidden.splitlines())
    hosts = (
        "gb10_nodes:\n  vars:\n    fabric_topology: two_node_direct\n    fabric_supernet: !vault |\n"
        + block
        + "\n  hosts: {spark-1: {}, spark-2: {}}\n"
    )
    (folder.inventory / "hosts.yml").write_text(hosts)
    run = folder.run("gb10.cluster.plan", "--vault-password-file", str(folder.path / "password"))
    assert run.said[0][0].startswith("spark-1 p0 rail 0 - expected 10.77.0.1/24 as in the stored plan, found 10.99.0.1/24. ")

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles decide in their variables, templated as Ansible does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

ROLES = Path(__file__).resolve().parents[3] / "roles"
HOST = {"inventory_hostname": "crs812", "fabric_switch_state": "present"}


def value(role: str, name: str, given: dict[str, Any]) -> Any:
    """A variable of a role, on a host that has ``given``."""
    loader, known = DataLoader(), {}
    for part in ("defaults", "vars"):
        known |= loader.load_from_file(str(ROLES / role / part / "main.yml"), trusted_as_template=True) or {}
    return Templar(loader=loader, variables=known | given).template(known[name])


def due(**parts: Any) -> dict[str, Any]:
    return {"mikrotik": {"due": {"breakout": [], "bridge": [], "roce": [], "problems": [], **parts}}}


QOS = {
    "none and nothing of ours": ("none", {"connectx": {"qos": False}}, False),
    "none and something of ours": ("none", {"connectx": {"qos": True}}, True),
    "none and a node that was not read": ("none", None, True),
    "a level": ("ecn", {"connectx": {"qos": True}}, False),
}


@pytest.mark.parametrize(("level", "read", "expected"), QOS.values(), ids=QOS)
def test_rails_are_brought_back_where_the_plan_says_none_and_something_may_be_left(level, read, expected):
    given = {"fabric_plan": {"switches": {"crs812": {"roce": level}}}} | ({"fabric_qos_connectx": read} if read else {})
    assert value("fabric_qos", "_fabric_qos_is_left_over", given) is expected


ACCESS = {
    "names of today": ({"ansible_host": "h", "ansible_port": 1, "ansible_user": "u", "ansible_password": "p"}, ("h", 1, "u", "p")),
    "older names": ({"ansible_ssh_host": "h", "ansible_ssh_port": 1, "ansible_ssh_user": "u", "ansible_ssh_pass": "p"}, ("h", 1, "u", "p")),
    "the other name of the password": ({"ansible_ssh_password": "p"}, ("crs812", 22, "admin", "p")),
    "both": ({"ansible_port": 1, "ansible_ssh_port": 2, "ansible_user": "u", "ansible_ssh_user": "v"}, ("crs812", 1, "u", None)),
    "none": ({}, ("crs812", 22, "admin", None)),
}


@pytest.mark.parametrize(("given", "expected"), ACCESS.values(), ids=ACCESS)
def test_a_switch_is_reached_as_the_inventory_says(given, expected):
    access = value("fabric_switch", "_fabric_switch_access", HOST | given)
    assert tuple(access.get(name) for name in ("host", "port", "username", "password")) == expected


@pytest.mark.parametrize(("state", "expected"), [("present", "No switch was touched"), ("absent", "crs812 was not touched")])
def test_at_teardown_a_refusal_speaks_for_its_own_switch(state, expected):
    assert value("fabric_switch", "_fabric_switch_untouched", HOST | {"fabric_switch_state": state}) == expected


@pytest.mark.parametrize(
    ("now", "expected"), [({"skipped": True}, ["at first"]), (due(problems=["now"]), ["now"]), (due(), [])], ids=["as read", "changed", "mended"]
)
def test_problems_are_those_of_the_last_look(now, expected):
    given = {"__fabric_switch_info": due(problems=["at first"]), "__fabric_switch_now": now}
    assert value("fabric_switch", "_fabric_switch_problems", given) == expected


LOOKS = {
    "all are known": ({"unseen": [], "unread": []}, {"unseen": ["late"], "unread": []}, []),
    "nodes left out": ({"unseen": [], "unread": ["left out"]}, {"unseen": ["late"], "unread": ["left out"]}, ["left out"]),
    "seen in the end": ({"unseen": ["early"], "unread": []}, {"unseen": [], "unread": []}, []),
    "never seen": ({"unseen": ["early"], "unread": ["left out"]}, {"unseen": ["late"], "unread": ["left out"]}, ["left out", "late"]),
}


@pytest.mark.parametrize(("first", "end", "expected"), LOOKS.values(), ids=LOOKS)
def test_legs_that_were_not_looked_at_are_named(first, end, expected):
    given = {"_fabric_switch_at_first": {"refusals": [], "warnings": [], **first}, "_fabric_switch_in_the_end": end}
    assert value("fabric_switch", "_fabric_switch_not_looked_at", given) == expected


LEARNED = {
    "every leg of a node": (["qsfp56-dd-1-1", "qsfp56-dd-1-5", "ether1"], []),
    "one of two": (["qsfp56-dd-1-5"], ["qsfp56-dd-1-1"]),
    "nobody": ([], ["qsfp56-dd-1-1", "qsfp56-dd-1-5"]),
}


@pytest.mark.parametrize(("ports", "expected"), LEARNED.values(), ids=LEARNED)
def test_a_switch_is_asked_again_while_a_leg_of_a_node_is_silent(ports, expected):
    legs = {"qsfp56-dd-1-1": {"node": "spark-1", "port": "p0"}, "qsfp56-dd-1-5": {"node": "spark-2", "port": "p0"}, "qsfp56-dd-2-1": {"switch": "b"}}
    hosts = {f"4c:bb:47:00:00:{number:02x}": {"port": port} for number, port in enumerate(ports)}
    given = {"fabric_plan": {"switches": {"crs812": {"legs": legs}}}, "fabric_switch_hosts": {"mikrotik": {"hosts": hosts}}}
    assert sorted(value("fabric_switch", "_fabric_switch_silent", HOST | given)) == expected


@pytest.mark.parametrize(("switches", "seconds"), [({}, 88), ({"west": {}, "east 1": {}}, 388)], ids=["cables", "switches"])
def test_workers_outlive_the_question_to_every_switch(switches, seconds):
    given = {"fabric_plan": {"switches": switches}, "ansible_play_hosts": ["spark-1", "spark-2"]}
    assert value("fabric_neighbors", "_fabric_neighbors_deadline", given) == seconds


@pytest.mark.parametrize(("switches", "seconds"), [({}, 3), ({"crs812": {}}, 15)], ids=["cables", "switches"])
def test_behind_a_switch_neighbours_are_listened_for_longer(switches, seconds):
    assert value("fabric_neighbors", "fabric_neighbors_listen", {"fabric_plan": {"switches": switches}}) == seconds


def test_the_page_of_what_was_seen_may_lie_below_a_tilde(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert value("fabric_neighbors", "_fabric_neighbors_folder", {"fabric_neighbors_output_dir": "~/x"}) == "/home/me/x"


def test_a_node_that_left_the_play_before_its_links_counts_as_one_that_never_got_there():
    given = {
        "ansible_play_hosts_all": ["spark-1", "spark-2"], "fabric_links_state": "absent",
        "hostvars": {"spark-1": {}, "spark-2": {"__fabric_links_absent": {"changed": True}}},
    }
    assert value("fabric_links", "_fabric_links_results", given) == {"spark-1": {"skipped": True}, "spark-2": {"changed": True}}


@pytest.mark.parametrize(("folder", "expected"), [("/x", ["With pictures, and what to do: /x/cabling-seen.md on this machine"]), ("", [])])
def test_the_page_of_what_was_seen_is_named_where_there_is_one(folder, expected):
    assert value("fabric_neighbors", "_fabric_neighbors_place", {"_fabric_neighbors_folder": folder}) == expected

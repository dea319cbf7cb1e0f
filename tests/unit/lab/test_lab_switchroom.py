# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of the switches, without the lab's network below it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import paramiko
import pytest
from ansible.inventory.host import Host
from ansible.parsing.dataloader import DataLoader
from gb10lab import cabling, card, faults, lldp, rack, state, switch_vars, switches, switchroom
from gb10lab.shell import LabError
from gb10lab.state import Lab
from gb10lab.switchroom import Room
from switched import CLUSTER

ACCOUNTS = {name: {"user": "ops", "password": "secret"} for name in ("west", "east")}
SPLIT = "/interface/ethernet set qsfp56-dd-1-1,qsfp56-dd-1-5 auto-negotiation=no speed=200G-baseCR4"


@pytest.fixture(scope="module", name="key")
def _key() -> paramiko.PKey:
    """One key for all: making them takes long."""
    return paramiko.RSAKey.generate(2048)


@pytest.fixture(name="lab")
def _lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab in a folder of its own."""
    monkeypatch.setattr(state, "ROOT", tmp_path)
    made = Lab("unit", CLUSTER)
    (made.folder / "switches").mkdir(parents=True)
    return made


@pytest.fixture(name="room")
def _room(lab: Lab, key: paramiko.PKey, monkeypatch: pytest.MonkeyPatch) -> Any:
    """All switches of the lab; ``applied`` are the legs that were brought about, ``described`` the nodes whose card was,
    ``said`` the frames of the switches by leg."""
    applied: list[dict[str, cabling.Leg]] = []
    described: list[str] = []
    monkeypatch.setattr(cabling, "apply", lambda lab, before, wanted, held: applied.append(wanted))
    monkeypatch.setattr(card, "write_description", lambda folder, modules, functions: described.append(folder.parent.name))
    said: list[tuple[str, bytes]] = []
    monkeypatch.setattr(lldp, "open_socket", lambda namespace: None)
    monkeypatch.setattr(lldp, "send", lambda raw, device, frame: said.append((device, frame)))
    monkeypatch.setattr(switchroom, "host_key", lambda path: key if "other" not in path.name else paramiko.RSAKey.generate(2048))
    monkeypatch.setattr(switchroom, "RESTART", 0.2)
    room: Any = Room(lab, ACCOUNTS)
    room.applied, room.described, room.said = applied, described, said
    room.refresh()
    yield room
    for server in room.servers.values():
        server.close()


def up(room: Any) -> list[str]:
    """Rails 0 with carrier, as they were brought about last."""
    return [name for name, leg in room.applied[-1].items() if leg.up and name.endswith("r0")]


def do(room: Any, what: str, **given: Any) -> Any:
    """Ask, as over the socket."""
    return room.answer({"do": what, **given})


def test_what_is_typed_acts_on_the_legs(room: Any) -> None:
    """Dark while the cage restarts, then up, by itself; nothing is done where nothing changed."""
    assert up(room) == ["n1p1r0"]
    assert do(room, "run", switch="west", line=SPLIT) == ""
    times = len(room.applied)
    do(room, "run", switch="west", line="/system/identity print")
    assert (up(room), len(room.applied)) == (["n1p1r0"], times)
    assert 0 < room._pending() < 0.5  # pylint: disable=protected-access
    time.sleep(0.25)
    room.refresh()
    assert up(room) == ["n1p0r0", "n1p1r0", "n2p0r0"]


def test_cards_are_described_before_a_leg_and_only_when_they_change(room: Any) -> None:
    """Every node once at the start, then who got another speed."""
    assert room.described == ["a", "b", "c"]
    do(room, "run", switch="west", line=SPLIT)
    do(room, "run", switch="west", line="/interface/ethernet set qsfp56-dd-1-5 speed=100G-baseCR2")
    time.sleep(0.25)
    room.refresh()
    assert room.described == ["a", "b", "c", "b"]


def test_a_switch_tells_its_new_neighbours_who_it_is(room: Any) -> None:
    """Both rails, as soon as their leg is up; and nobody once it is told not to."""
    do(room, "run", switch="west", line=SPLIT)
    time.sleep(0.25)
    room.refresh()
    assert sorted(leg for leg, _frame in room.said) == ["n1p0r0", "n1p0r1", "n2p0r0", "n2p0r1"]
    row = room.machines["west"].row("/interface/ethernet", "qsfp56-dd-1-5")
    about = "MikroTik RouterOS 7.23.7 CRS812-8DS-2DQ-2DDQ"
    assert dict(room.said)["n2p0r1"] == lldp.frame(row["mac-address"], "qsfp56-dd-1-5", "west", about)
    do(room, "run", switch="west", line="/ip/neighbor/discovery-settings set protocol=mndp")
    room.said.clear()
    room.announce(room.applied[-1])
    assert room.said == []
    do(room, "run", switch="west", line="/ip/neighbor/discovery-settings set protocol=lldp")
    room.announce(room.applied[-1])
    assert len(room.said) == 4


def test_a_frame_of_lldp() -> None:
    """Chassis, port, time to live, name, description, capabilities and the end, each behind its type and length (IEEE 802.1AB)."""
    text = lldp.frame("02:00:5E:10:00:0A", "qsfp56-dd-1-1", "crs812", "MikroTik")
    assert text[:14].hex() == "0180c200000e" + "02005e10000a" + "88cc"
    fields, rest = [], text[14:]
    while rest:
        kind, length = rest[0] >> 1, (rest[0] & 1) << 8 | rest[1]
        fields.append((kind, rest[2 : 2 + length]))
        rest = rest[2 + length :]
    own = bytes.fromhex("02005e10000a")
    assert fields == [
        (1, b"\4" + own), (2, b"\5qsfp56-dd-1-1"), (3, b"\0\x78"), (5, b"crs812"), (6, b"MikroTik"), (7, b"\0\x14\0\x14"), (0, b"")]


def test_a_switch_is_reached_at_an_address_that_it_has(room: Any) -> None:
    """In the management network and on the loopback; with the account of the inventory and no other."""
    rows = room.machines["east"].rows("/ip/address")
    assert [row["address"] for row in rows] == ["192.168.10.3/24", "127.0.0.1/8"]
    assert (room.machines["east"].passwords, room.machines["east"].rows("/user")[0]["name"]) == ({"ops": "secret"}, "ops")
    reached = do(room, "reach")["west"]
    with paramiko.SSHClient() as client:
        host, kind, blob = reached["known_hosts_line"].split()
        entry = paramiko.hostkeys.HostKeyEntry.from_line(f"{host} {kind} {blob}")
        assert entry is not None and entry.key is not None
        client.get_host_keys().add(host, kind, entry.key)
        client.connect(reached["host"], reached["port"], "ops", "secret", allow_agent=False, look_for_keys=False)
        assert client.exec_command("/system/identity print")[1].read().decode().strip() == "name: west"


def test_another_host_key_comes_at_the_same_address_and_goes(room: Any) -> None:
    """The known one comes back."""
    before = do(room, "reach")["west"]
    do(room, "fault", switch="west", name="host-key-changed", options={})
    during = do(room, "reach")["west"]
    do(room, "mend", switch="west", name="host-key-changed", memory={})
    assert (during["port"], during["known_hosts_line"] == before["known_hosts_line"]) == (before["port"], False)
    assert do(room, "reach")["west"] == before


def test_faults_know_the_legs_to_nodes_and_those_to_switches(room: Any) -> None:
    """The default of a leg is the first that goes to a node."""
    memory = do(room, "fault", switch="west", name="l2mtu-1584", options={"leg": ""})
    assert set(memory["before"]) == {f"qsfp56-dd-1-{lane}" for lane in range(1, 9)}
    assert do(room, "fault", switch="west", name="interswitch-blocked", options={}) == {"before": {"qsfp56-dd-2-1": None}}


def test_a_rack_that_was_sent_is_the_one_that_counts(room: Any) -> None:
    """As after a fault at the rack."""
    moved = rack.CHANGES["swapped-tails"](rack.planned(CLUSTER), "a", {"ends": "a.p0,c.p0"})
    do(room, "rack", rack=moved.to_json())
    do(room, "run", switch="west", line=SPLIT)
    time.sleep(0.25)
    room.refresh()
    assert up(room) == ["n1p1r0", "n2p0r0", "n3p0r0"]


HEARD = [("n1p0r0", "02:00:00:00:00:01"), ("n1p0r1", "02:00:00:00:00:02"), ("n3p0r0", "02:00:00:00:00:0c"), ("n1p1r0", "02:00:00:00:00:03")]


def test_the_host_table_has_the_nodes_own_addresses(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind their legs, and those of the other switch behind the port that leads there; not those on a switch of its own."""
    monkeypatch.setattr(switchroom, "learned", lambda lab: HEARD)
    for name in ("west", "east"):
        do(room, "run", switch=name, line=SPLIT)
        do(room, "run", switch=name, line="/interface/ethernet set qsfp56-dd-2-1 auto-negotiation=no speed=400G-baseCR8")
    time.sleep(0.25)
    room.refresh()
    found = room._hosts("west")  # pylint: disable=protected-access
    assert found == {"qsfp56-dd-1-1": ["02:00:00:00:00:01", "02:00:00:00:00:02"], "qsfp56-dd-2-1": ["02:00:00:00:00:0C"]}
    assert "02:00:00:00:00:0C" in do(room, "run", switch="west", line=":put [/interface/bridge/host print as-value]")


def test_a_snapshot_is_the_same_as_long_as_nothing_is_configured(room: Any) -> None:
    """Also after a read and after a change that was taken back."""
    before = do(room, "snapshot", switch="west")
    do(room, "run", switch="west", line="/interface/ethernet set qsfp56-1-1 mtu=1400")
    during = do(room, "snapshot", switch="west")
    do(room, "run", switch="west", line="/interface/ethernet set qsfp56-1-1 mtu=1500")
    after = do(room, "snapshot", switch="west")
    assert before["export"] == after["export"] != during["export"]
    assert set(before) == {"export", "files", "legs", "counts", "safe_mode"}
    json.dumps(before)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        pytest.param({"do": "dance"}, "expected a known request, found dance", id="an unknown request"),
        pytest.param({"do": "run", "switch": "north", "line": ""}, "expected one of west, east, found north", id="an unknown switch"),
    ],
)
def test_refusals(room: Any, request_: dict[str, Any], words: str) -> None:
    """In one line."""
    with pytest.raises(LabError, match=words):
        room.answer(request_)


def test_ansible_learns_where_the_switches_are(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the plugin, for the switches alone; the file is for its owner; a wrong password comes and goes."""
    row = {**ACCOUNTS["west"], "host": "127.0.0.1", "port": 4711, "known_hosts_line": "[127.0.0.1]:4711 ssh-rsa AAAA\n"}
    (lab.folder / "known_hosts").write_text("a ssh-ed25519 AAAA\n", encoding="ascii")
    switches.introduce(lab, {"west": row})
    assert (lab.folder / "known_hosts").read_text(encoding="ascii") == "a ssh-ed25519 AAAA\n[127.0.0.1]:4711 ssh-rsa AAAA\n"
    assert (lab.folder / "vars/switches.json").stat().st_mode & 0o077 == 0
    monkeypatch.setattr(switch_vars, "__file__", str(lab.folder / "vars/gb10_lab_switches.py"))
    plugin = switch_vars.VarsModule()
    expected = {
        "ansible_host": "127.0.0.1",
        "ansible_port": 4711,
        "ansible_user": "ops",
        "ansible_password": "secret",
        "fabric_switch_known_hosts_file": str(lab.folder / "known_hosts"),
    }
    assert [plugin.get_vars(DataLoader(), "", [Host(name)]) for name in ("west", "a")] == [expected, {}]
    memory = faults.FAULTS["wrong-password"].apply(lab, CLUSTER.switches[0], {})
    assert plugin.get_vars(DataLoader(), "", [Host("west")])["ansible_password"] == "not-secret"
    faults.FAULTS["wrong-password"].clear(lab, CLUSTER.switches[0], memory)
    assert plugin.get_vars(DataLoader(), "", [Host("west")]) == expected

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QoS of a host's rails, on a node in a folder whose card, dcb, ethtool and systemctl are made of Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._roce import _host, _worker
from ansible_collections.gb10.cluster.plugins.module_utils._roce._host import QosError, Result, qos
from ansible_collections.gb10.cluster.plugins.module_utils._roce._node import Node, escape
from ansible_collections.gb10.cluster.plugins.module_utils._roce._worker import Done, Live

RAILS = {"enp1s0f0np0": "rocep1s0f0", "enP2p1s0f0np0": "roceP2p1s0f0"}
NO_DCB = "Attribute read: Operation not supported"


class Card(Node):
    """A node with two rails. ``fail``: text of a command that fails; ``ignore``: PFC is accepted and not taken."""

    def __init__(self, root: Path, has_dcb: bool = True) -> None:
        super().__init__(str(root), self.call)
        self.qos = {name: {"dscp": {}, "pfc": [], "pause": [True, True]} for name in RAILS}
        self.has_dcb, self.ignore, self.fail = has_dcb, False, ""
        self.log: list[str] = []
        for name, device in RAILS.items():
            (root / f"sys/class/net/{name}").mkdir(parents=True)
            (root / f"sys/kernel/config/rdma_cm/{device}/ports/1").mkdir(parents=True)
            (root / f"sys/kernel/config/rdma_cm/{device}/ports/1/default_roce_tos").write_text("0\n")

    def call(self, argv: list[str]) -> Done:
        text = " ".join(argv)
        writes = not any(word in argv for word in ("show", "-a"))
        self.log += [text] if writes else []
        if self.fail and self.fail in text:
            return Done(1, "", "it does not want to")
        if argv[0] == "systemctl":
            return self._systemctl(argv)
        if argv[0] == "dcb" and not self.has_dcb:
            return Done(1, "", NO_DCB)
        state = self.qos[argv[argv.index("dev") + 1] if "dev" in argv else argv[2]]
        if argv[0] == "ethtool" and argv[1] == "-a":
            rx, tx = ("on" if on else "off" for on in state["pause"])
            return Done(0, f"Pause parameters for x:\nAutonegotiate:\toff\nRX:\t\t{rx}\nTX:\t\t{tx}\n", "")
        if argv[0] == "ethtool":
            state["pause"] = [argv[4] == "on", argv[6] == "on"]
        elif "show" in argv:
            found = {"dscp_prio": sorted(state["dscp"].items())} if "app" in argv else {"prio_pfc": [p in state["pfc"] for p in range(8)]}
            return Done(0, json.dumps({key: value for key, value in found.items() if value}), "")
        elif "pfc" in argv and not self.ignore:
            state["pfc"] = [int(word[0]) for word in argv if word.endswith(":on")]
        elif "app" in argv:
            for pair in argv[argv.index("dscp-prio") + 1:]:
                dscp, priority = map(int, pair.split(":"))
                state["dscp"].pop(dscp, None)
                if "replace" in argv:
                    state["dscp"][dscp] = priority
        return Done(0, "", "")

    def _systemctl(self, argv: list[str]) -> Done:
        if argv[1] in ("enable", "disable"):
            name = argv[2].removeprefix("gb10-qos@").removesuffix(".service")
            link = f"{self.root}/etc/systemd/system/sys-subsystem-net-devices-{name}.device.wants/gb10-qos@{name}.service"
            if argv[1] == "enable":
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.symlink(_host.UNIT, link)
            else:
                os.unlink(link)
                os.rmdir(os.path.dirname(link))
        return Done(0, "", "")

    def picture(self) -> object:
        """Everything that can differ: the card, RDMA-CM, and every file and link."""
        files = {}
        for folder, _folders, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                files[str(path)] = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "no file"
        return json.loads(json.dumps(self.qos)), files


@pytest.fixture
def card(tmp_path: Path) -> Card:
    return Card(tmp_path)


def run(card: Card, level: str, check: bool = False, rails: dict | None = None, traffic_class: int = 106) -> Result:
    return qos(card, RAILS if rails is None else rails, level, traffic_class, check)


def test_lossless_clears_global_pause_first_and_leaves_one_priority_with_pfc(card):
    run(card, "lossless")
    assert [line for line in card.log if "enp1s0f0np0" in line and "systemctl" not in line] == [
        "ethtool -A enp1s0f0np0 rx off tx off",
        "dcb pfc set dev enp1s0f0np0 prio-pfc all:off 3:on",
        "dcb app replace dev enp1s0f0np0 dscp-prio 26:3 48:6"]
    assert all(state == {"dscp": {26: 3, 48: 6}, "pfc": [3], "pause": [False, False]} for state in card.qos.values())


def test_ecn_maps_and_leaves_pfc_and_pause_alone(card):
    card.qos["enp1s0f0np0"]["pfc"] = [5]
    run(card, "ecn")
    assert card.qos["enp1s0f0np0"] == {"dscp": {26: 3, 48: 6}, "pfc": [5], "pause": [True, True]}


def test_both_rails_and_rdma_cm_are_set_and_kept_by_a_unit_of_each_device(card):
    result = run(card, "ecn", traffic_class=104)
    assert result.after["interfaces"].keys() == RAILS.keys() and result.after["persistent"]
    assert [card.text(_worker.tos_path(device)) for device in RAILS.values()] == ["104\n", "104\n"]
    assert all(card.is_enabled(name) for name in RAILS)
    assert card.text(_host.UNIT) == _host.UNIT_TEXT


@pytest.mark.parametrize("levels", [("ecn",), ("lossless",), ("ecn", "lossless"), ("lossless", "ecn")], ids="-".join)
def test_a_second_run_changes_nothing_and_none_leaves_what_was_there(card, levels):
    card.qos["enP2p1s0f0np0"] = {"dscp": {26: 1, 10: 2}, "pfc": [1, 2], "pause": [False, False]}
    before = card.picture()
    for level in levels:
        assert run(card, level).changed
        card.log.clear()
        assert not run(card, level).changed and card.log == []
    told, done = run(card, "none", check=True), run(card, "none")
    assert (told.before, told.after) == (done.before, done.after)
    assert card.picture() == before
    assert not run(card, "none").changed


def test_a_lossless_host_that_becomes_ecn_gets_its_own_pfc_and_pause_back(card):
    card.qos["enp1s0f0np0"]["pfc"] = [5]
    run(card, "lossless")
    run(card, "ecn")
    assert card.qos["enp1s0f0np0"] == {"dscp": {26: 3, 48: 6}, "pfc": [5], "pause": [True, True]}


@pytest.mark.parametrize("level", ["ecn", "lossless"])
def test_check_mode_tells_what_the_real_run_does_and_touches_nothing(card, level):
    before = card.picture()
    told = run(card, level, check=True)
    assert card.picture() == before and card.log == []
    done = run(card, level)
    assert (told.changed, told.before, told.after) == (True, done.before, done.after)


def test_without_rails_none_undoes_what_an_earlier_run_did(card):
    before = card.picture()
    run(card, "lossless")
    assert run(card, "none", rails={}).changed
    assert card.picture() == before


def test_a_rail_that_left_the_plan_goes_back_to_what_it_was(card):
    run(card, "lossless")
    one = {"enp1s0f0np0": RAILS["enp1s0f0np0"]}
    assert run(card, "lossless", rails=one).changed
    assert card.qos["enP2p1s0f0np0"] == {"dscp": {}, "pfc": [], "pause": [True, True]}
    assert (card.is_enabled("enp1s0f0np0"), card.is_enabled("enP2p1s0f0np0")) == (True, False)
    assert not run(card, "lossless", rails=one).changed


def test_a_driver_without_dcb_is_a_fact_for_ecn_and_a_failure_for_lossless(tmp_path):
    card = Card(tmp_path, has_dcb=False)
    before = card.picture()
    with pytest.raises(QosError) as error:
        run(card, "lossless")
    assert str(error.value).split("\n") == [
        f"{name}: DCB - expected a driver that knows priority flow control, found {NO_DCB}. Set fabric_roce to ecn or none." for name in RAILS]
    assert card.picture() == before
    result = run(card, "ecn")
    assert result.facts["enp1s0f0np0"] == {"dcb": False, "reason": NO_DCB, "rdma_cm": True}
    assert result.warnings[0] == (
        f"enp1s0f0np0: DCB - expected a driver that maps DSCP to priorities, found {NO_DCB}. RoCE runs there without its own priority.")
    assert card.text(_worker.tos_path("rocep1s0f0")) == "106\n"
    assert not run(card, "ecn").changed


def test_a_missing_dcb_is_named():
    with pytest.raises(_worker.Unsupported, match="the command dcb is not installed"):
        _worker.read("x", [26], lambda argv: Done(127, "", "no such file"))


@pytest.mark.parametrize(
    "fail",
    ["ethtool -A enp1s0f0np0", "pfc set dev enp1s0f0np0", "app replace dev enp1s0f0np0", "ethtool -A enP2p1s0f0np0", "pfc set dev enP2p1s0f0np0",
     "app replace dev enP2p1s0f0np0", "systemctl enable gb10-qos@enp1s0f0np0", "systemctl enable gb10-qos@enP2p1s0f0np0"],
)
def test_whatever_fails_leaves_nothing_half_done(card, fail):
    before = card.picture()
    card.fail = fail
    with pytest.raises(QosError, match="Nothing was changed"):
        run(card, "lossless")
    assert card.picture() == before


def test_a_card_that_does_not_keep_what_it_is_told_is_a_failure(card):
    before = card.picture()
    card.ignore = True
    with pytest.raises(QosError) as error:
        run(card, "lossless")
    assert str(error.value) == (
        "enp1s0f0np0: QoS after the change - expected DSCP {26: 3, 48: 6}, PFC [3], pause [False, False], "
        "found DSCP {26: 3, 48: 6}, PFC [], pause [False, False]. "
        "Nothing was changed. The card's firmware or an LLDP agent may overwrite it: see dcb dcbx show.")
    assert card.picture() == before


@pytest.mark.parametrize(
    ("content", "expected", "found"),
    [
        (b"", "JSON that this collection wrote", "something else"),
        (b"not json", "JSON that this collection wrote", "something else"),
        (b'{"level": "\xff"}', "JSON that this collection wrote", "something else"),
        (b"[]", "an object", "a list"),
        (b'{"level": "ecn", "traffic_class": 106}', "interfaces", "nothing"),
        (b'{"level": "ecn", "traffic_class": 106, "interfaces": {"x": {}}}', "interfaces.x.wanted", "nothing"),
    ],
    ids=["empty", "text", "no UTF-8", "a list", "half of it", "an interface without anything"],
)
@pytest.mark.parametrize("level", ["none", "ecn"])
def test_a_damaged_file_of_ours_is_refused_and_kept(card, level, content, expected, found):
    file = Path(card.root + _worker.CONFIG)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    with pytest.raises(QosError) as error:
        run(card, level)
    assert str(error.value) == (
        f"/etc/gb10/qos.json - expected {expected}, found {found}. Restore it: it says what the rails were before the first run. "
        "Once it is removed, what they are now is taken for that.")
    assert file.read_bytes() == content and card.log == []


def test_something_else_where_our_file_is_to_be_is_refused(card):
    Path(card.root + _worker.CONFIG).mkdir(parents=True)
    with pytest.raises(QosError, match="/etc/gb10/qos.json - expected a file that can be read, found Is a directory. Restore it"):
        run(card, "ecn")


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(("make", "found"), [(os.mkfifo, "a pipe. Remove it (systemctl unmask for a masked unit), or move it away."),
                                             (os.mkdir, "Is a directory. Repair that, then run again.")])
def test_a_unit_that_can_not_be_written_is_refused_before_anything_is_touched(card, make, found, check):
    unit = Path(card.root + _host.UNIT)
    unit.parent.mkdir(parents=True)
    make(unit)
    before = card.picture()
    with pytest.raises(QosError) as error:
        run(card, "ecn", check)
    assert str(error.value) == f"{unit} - expected a file that can be read and written, found {found}"
    assert (card.picture(), card.log) == (before, [])
    assert run(card, "none", check).changed is False


def test_a_full_disk_leaves_nothing_half_done(card, monkeypatch):
    before = card.picture()
    real, calls = os.fsync, []

    def full_at_the_third(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full_at_the_third)
    with pytest.raises(QosError, match=r"No space left on device: '.*/gb10-qos@\.service'\. Nothing was changed\."):
        run(card, "lossless")
    assert card.picture() == before


# The worker.
@pytest.mark.parametrize(
    ("live", "wanted", "commands"),
    [
        (Live({}, [], [True, True]), Live({26: 3}, [3], [False, False]),
         ["ethtool -A x rx off tx off", "dcb pfc set dev x prio-pfc all:off 3:on", "dcb app replace dev x dscp-prio 26:3"]),
        (Live({26: 3, 48: 6}, [3], [False, False]), Live({}, [], [True, False]),
         ["dcb pfc set dev x prio-pfc all:off", "ethtool -A x rx on tx off", "dcb app del dev x dscp-prio 26:3 48:6"]),
        (Live({26: 1}, [3], None), Live({26: 3}, [3], None), ["dcb app replace dev x dscp-prio 26:3"]),
        (Live({26: 3}, [3], [False, False]), Live({26: 3}, [3], [False, False]), []),
        (Live({26: 3}, [3], [True, True]), Live({26: 3}, [3], None), []),
    ],
    ids=["on", "off", "another priority", "right", "pause is nobody's business"],
)
def test_only_what_differs_is_written_in_the_order_that_the_card_needs(live, wanted, commands):
    assert [" ".join(command) for command in _worker.commands("x", live, wanted)] == commands


def test_outputs_of_the_tools_are_read(fixtures):
    texts = {"app": "dcb-app-show.json", "pfc": "dcb-pfc-show.json", "-a": "ethtool-a.txt"}
    folder = fixtures / "roce"

    def call(argv: list[str]) -> Done:
        return Done(0, (folder / next(name for word, name in texts.items() if word in argv)).read_text(), "")

    assert _worker.read("enp1s0f0np0", [26, 48, 10], call) == Live({26: 3, 48: 6}, [3], [True, False])
    texts["app"] = "dcb-app-show-empty.json"
    assert _worker.read("enp1s0f0np0", [26], call).dscp == {}


def test_a_device_without_dcb_is_told_in_the_words_of_the_tool(fixtures):
    with pytest.raises(_worker.Unsupported, match="Attribute read: Operation not supported"):
        _worker.read("x", [26], lambda argv: Done(1, "\n", (fixtures / "roce" / "dcb-no-driver.txt").read_text()))


def test_the_unit_brings_a_device_in_line_and_writes_nothing_the_second_time(card, monkeypatch):
    run(card, "lossless")
    card.qos["enp1s0f0np0"] = {"dscp": {}, "pfc": [], "pause": [True, True]}
    Path(card.root + _worker.tos_path("rocep1s0f0")).write_text("0\n")
    monkeypatch.setattr(_worker, "CONFIG", card.root + _worker.CONFIG)
    monkeypatch.setattr(_worker, "CONFIGFS", card.root + _worker.CONFIGFS)
    monkeypatch.setattr(_worker, "run", card.call)
    monkeypatch.setattr(_worker.read, "__defaults__", (card.call,))
    card.log.clear()
    assert _worker.main("enp1s0f0np0") == 0
    assert card.qos["enp1s0f0np0"] == {"dscp": {26: 3, 48: 6}, "pfc": [3], "pause": [False, False]}
    assert Path(card.root + "/sys/kernel/config/rdma_cm/rocep1s0f0/ports/1/default_roce_tos").read_text() == "106\n"
    card.log.clear()
    assert _worker.main("enp1s0f0np0") == 0 and card.log == []
    assert _worker.main("eth0") == 0 and card.log == []


def test_the_script_runs_by_itself_on_a_bare_python(card):
    run(card, "ecn")
    script = Path(card.root + _host.SCRIPT)
    load = f"import runpy; runpy.run_path({str(script)!r}, run_name='worker')"
    done = subprocess.run([sys.executable, "-I", "-c", load], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("interface", "name"), [("enp1s0f0np0", "enp1s0f0np0"), ("rail-0", "rail\\x2d0")])
def test_an_interface_is_written_into_the_name_of_a_unit_as_systemd_does(interface, name):
    assert escape(interface) == name

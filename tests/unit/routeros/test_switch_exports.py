# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports, imports and backups of the simulated switch, and published ones as its configuration."""

from __future__ import annotations

import re

import pytest
from simulated import Bench
from switch.binding import Binder
from switch.commands import Commands, Context
from switch.exporting import export, load_export
from switch.interpreter import Interpreter
from switch.models import MODELS, VERSIONS

QOS = "/interface/ethernet/switch/qos"


def load(bench: Bench, text: str) -> list[str]:
    interpreter = Interpreter(Binder(bench.machine.schema, bench.machine.menus), Commands(Context(bench.machine, "admin", object())))
    return load_export(bench.machine, interpreter, text)


def sections(text: str) -> dict[str, list[str]]:
    """Menu -> its commands, unwrapped, without the header."""
    found: dict[str, list[str]] = {}
    menu = ""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line.startswith("/"):
            menu = line
        elif not line.startswith("#"):
            found.setdefault(menu, []).append(line)
    return found


def test_a_published_export_becomes_the_configuration_and_is_exported_the_same(fixtures):
    published = (fixtures / "routeros" / "export-crs504-7.24.4.rsc").read_text()
    bench = Bench("CRS504", "7.24")
    skipped = load(bench, published)
    assert [line.split(":")[0] for line in skipped] == ["/interface l2tp-server server"] * 2 + ["/ppp profile"] * 2
    expected, found = sections(published), sections(export(bench.machine))
    for menu in ("/interface l2tp-server server", "/ppp profile"):
        expected.pop(menu)
    found.pop("/system identity")
    assert found == expected


def test_an_export_breaks_its_lines_where_routeros_does(fixtures):
    published = (fixtures / "routeros" / "export-crs504-7.24.4.rsc").read_text()
    bench = Bench("CRS504", "7.24")
    load(bench, published)
    exported = export(bench.machine)
    for part in ("/interface ethernet\n", "/interface ethernet switch qos priority-flow-control\n", "/ip address\n"):
        start = published.index(part)
        end = published.index("\n/", start + 1)
        assert published[start:end] in exported


def test_a_terse_export_with_unsupported_speeds_is_read_and_written(fixtures):
    published = (fixtures / "routeros" / "export-crs504-7.20beta4-terse.rsc").read_text()
    bench = Bench("CRS504", "7.20.8")
    assert [line.split(":")[0] for line in load(bench, published)] == ["/routing bgp template set default as=65530"]
    exported = export(bench.machine, flags={"terse"})
    differ = ("# 20", "# software", "/routing")
    assert [line for line in published.splitlines() if line not in exported.splitlines() and not line.startswith(differ)] == []


def test_a_published_script_configures_the_switch(fixtures):
    bench = Bench("CRS812", "7.24")
    bench.machine.version = "7.23.7"
    bench.machine.files["script.rsc"] = (fixtures / "routeros" / "script-crs812-7.24rc4.rsc").read_text()
    assert bench.run("/import file-name=script.rsc") == "configuration applied\nScript file loaded and executed successfully"
    exported = sections(export(bench.machine))
    assert "set [ find default-name=qsfp56-dd-1-5 ] auto-negotiation=no l2mtu=9216 mtu=9000 speed=200G-baseCR4" in exported["/interface ethernet"]
    assert "set qsfp56-dd-1-1 egress-rate-queue3=200.0Gbps pfc=lab-pfc-tc3 trust-l3=keep" in exported["/interface ethernet switch qos port"]
    assert "add bridge=bridge comment=\"lab VLANs\" tagged=qsfp56-dd-1-1,qsfp56-1-1 vlan-ids=3901-3903" in exported["/interface bridge vlan"]
    assert "set 3 ecn=yes weight=1" in exported["/interface ethernet switch qos tx-manager queue"]


def test_published_configuration_lines_are_accepted(fixtures):
    bench = Bench("CRS804", "7.23.7")
    bench.machine.files["x.rsc"] = (fixtures / "routeros" / "config-crs804-8-nodes.rsc").read_text()
    assert bench.run("/import file-name=x.rsc") == "Script file loaded and executed successfully"
    assert bench.run(f":put [{QOS}/port get qsfp56-dd-1-5 egress-rate-queue3]") == "200000000000"


def test_the_same_lines_stop_an_old_version_at_its_first_mistake(fixtures):
    bench = Bench("CRS804", "7.22.1")
    bench.machine.files["x.rsc"] = (fixtures / "routeros" / "config-crs804-8-nodes.rsc").read_text()
    assert bench.run("/import file-name=x.rsc") == "Script Error: failure: max bit rate is 100G"
    assert bench.run(f":put [{QOS}/priority-flow-control find where name=pfc-tc3]") == "*1"
    assert bench.run(":put [/ip/neighbor/discovery-settings get lldp-dcbx]") == "false"


def test_a_dry_run_reads_without_running():
    bench = Bench()
    bench.machine.files["x.rsc"] = "/interface/ethernet set ether1 mtu=1400\n/interface/bridge\nset 0 nothing=1\n"
    assert bench.run("/import file-name=x.rsc dry-run") == "dry-run can only be used with verbose"
    assert bench.run("/import file-name=x.rsc verbose=yes dry-run") == "Script Error: expected end of command (line 3 column 7)"
    assert bench.run(":put [/interface/ethernet get ether1 mtu]") == "1500"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_a_switch_is_what_its_own_export_says(model, version):
    bench, copy = Bench(model, version), Bench(model, version)
    for line in ("/interface/ethernet set 1 mtu=1400 comment=\"two \\\"words\\\"\"", "/interface/bridge set bridge priority=0x1000",
                 f"{QOS}/profile add name=roce dscp=26 pcp=3 traffic-class=3", f"{QOS}/port set 1 trust-l3=keep egress-rate-queue3=10G",
                 f"{QOS}/tx-manager/queue set 1 weight=7", "/interface/bridge/port set 1 path-cost=100"):
        assert bench.run(line) == "", line
    exported = export(bench.machine)
    assert load(copy, exported) == []
    assert export(copy.machine) == exported


def test_what_differs_from_export_to_export_is_in_comments_only():
    text = export(Bench().machine)
    assert text.startswith("# ") and "by RouterOS 7.23.7" in text.splitlines()[0]
    assert not any("SIMULATED" in line for line in text.splitlines() if not line.startswith("#"))


def test_a_part_of_the_configuration_can_be_exported():
    bench = Bench()
    bench.run(f"{QOS}/profile add name=roce dscp=26")
    assert sections(bench.run(f"{QOS} export")) == {"/interface ethernet switch qos profile": ["add dscp=26 name=roce"]}
    assert "/interface ethernet switch qos profile add dscp=26 name=roce" in bench.run("/interface export terse").splitlines()


def test_a_verbose_export_spells_what_is_unset():
    assert "!egress-rate-queue3" in export(Bench().machine, flags={"verbose"})


def test_a_backup_is_saved_and_asks_before_it_is_restored():
    bench = Bench()
    assert bench.run("/system/backup/save name=before") == "Saving system configuration\nConfiguration backup saved"
    assert bench.run("/system/backup/load name=before") == "Restore and reboot? [y/N]: "
    assert bench.machine.counts["reboots"] == 0


def test_files_are_listed_and_removed():
    bench = Bench()
    bench.run("/export file=one")
    bench.run("/file/add name=two.txt contents=hello")
    assert bench.run(":put [:len [/file find]]") == "2"
    bench.run("/file remove one.rsc")
    assert list(bench.machine.files) == ["two.txt"]

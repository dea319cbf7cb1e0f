# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated switch answers as published transcripts do."""

from __future__ import annotations

import pytest
from simulated import Bench
from switch.models import MODELS, VERSIONS
from switch.schema import lines, schema

QOS = "/interface/ethernet/switch/qos"


def answers(version: str, *typed: str, model: str = "CRS812") -> str:
    """What the last of several lines prints."""
    bench = Bench(model, version)
    return [bench.run(line) for line in typed][-1]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        # measured on 7.21.5, 7.20.8 and 7.24
        ("/nonsense command", "bad command name nonsense (line 1 column 2)"),
        ("/nonsense/command", "syntax error (line 1 column 10)"),
        ("/system/resource/print bogus=1", "expected end of command (line 1 column 24)"),
        ("/export hide-sensitive=yes", "expected end of command (line 1 column 23)"),
        ("/export terse show-sensitive=no", "expected end of command (line 1 column 29)"),
        (':put [:parse "/nonsense command"]', "(<% bad command name nonsense (line 1 column 2) nonsense;command)"),
        (':put [:parse "/ip/address/print"]', "(evl /ip/address/print)"),
        (':put [:parse "/ip address print"]', "(evl /ip/address/print)"),
        # collected from manuals and reports
        ("/interface/ethernet set qsfp56-dd-1-1 fec-mode=rs-fec", "syntax error (line 1 column 48)"),
        ("/interface/ethernet set qsfp56-dd-1-1 speed=200G", "syntax error (line 1 column 45)"),
        ("/interface/bridge add name= mtu=1500", "expected end of command (line 1 column 28)"),
        ("/interface/ethernet set nothing mtu=1500", "no such item"),
        ("/interface/ethernet set *FFF mtu=1500", "no such item (4)"),
        ("/interface/ethernet set ether1 mtu=10", "value of mtu out of range (68..65535)"),
        ("/interface/ethernet set ether1 mtu=jumbo", "invalid value for argument mtu"),
        ("/interface/ethernet set qsfp56-dd-1-1 l2mtu=9571", "value of l2mtu out of range (0..65536)"),
        ("/interface/bridge add name=bridge", "failure: already have interface with such name"),
        ("/interface/bridge/port add bridge=bridge interface=ether1", "failure: device already added as bridge port"),
        ("/interface/bridge/port add bridge=nothing interface=ether1", "input does not match any value of bridge"),
        (f"{QOS}/port set qsfp56-dd-1-1 pfc=nothing", "input does not match any value of pfc"),
        (f"{QOS}/profile add dscp=26", "missing value(s) of argument(s) name"),
        (f"{QOS}/profile add name=x dscp=64", "value of dscp out of range (0..63)"),
        (":put [/interface/ethernet get ether1 nothing]", "input does not match any value of value-name"),
        (":put [/interface/ethernet get ether1 .id]", "input does not match any value of value-name"),
        (":put $undefined", "syntax error (line 1 column 7)"),
        (':put "unknown \\q escape"', "syntax error (line 1 column 15)"),
        ("/import file-name=nothing.rsc", "input does not match any value of file-name"),
    ],
)
def test_a_mistake_is_answered_with_its_exact_text(line, answer):
    assert answers("7.22.1", line) == answer


@pytest.mark.parametrize(
    ("version", "answer"),
    [("7.22.1", "expected end of command (line 1 column 22)"), ("7.24", "bad parameter detail (line 1 column 28)")],
)
def test_inside_brackets_a_wrong_argument_is_worded_by_the_version(version, answer):
    assert answers(version, ":put [/ip/ssh print  detail as-value]") == answer


@pytest.mark.parametrize(
    ("line", "output"),
    [
        (":put 5", "5"),
        (':put "a b"', "a b"),
        (':put ("#n=" . [:len "abc"])', "#n=3"),
        (":local x 7;:put $x", "7"),
        (":put [:len [/interface/bridge find]]", "1"),
        (':foreach i in={"a";"b"} do={:put "<$i>"}', "<a>\n<b>"),
        (":foreach i in=[/interface/bridge find] do={:put [/interface/bridge get $i name]}", "bridge"),
        (':if (1 = 2) do={:put "yes"} else={:put "no"}', "no"),
        (':if ([:len [/interface/ethernet find where name~"^qsfp56-dd" and disabled=no]] = 16) do={:put "all"}', "all"),
        (':onerror e in={:error "broken"} do={:put "caught $e"}', "caught broken"),
        (':put [:typeof [/safe-mode get owner]]', "nothing"),
        (':put [:find "abcd" "cd"]', "2"),
        (':put [:find "abcd" "x"]', ""),
        (':put [:serialize to=json {"a"=1;"b"="x y"}]', '{"a":1,"b":"x y"}'),
        (':put [:serialize to=dsv delimiter="~^~" options=dsv.remap [/interface/bridge print as-value]]',
         ".id~^~mtu~^~name~^~protocol-mode\n*1~^~auto~^~bridge~^~rstp"),
        ("/int/eth/pr count-only", "34"),
        ("/interface ethernet print count-only where default-name~\"^qsfp56-1\"", "4"),
        (":put [/system/resource get version]", "7.22.1 (stable)"),
        (":put [/interface/ethernet get qsfp56-dd-1-1 running]", "false"),
        ("/interface/ethernet print as-value", ""),
        (":error oops; :put never", "oops"),
        (":put first; /nonsense x", "bad command name nonsense (line 1 column 14)"),
    ],
)
def test_the_language_does_what_it_does(line, output):
    assert answers("7.22.1", line) == output


def test_success_is_silence_and_add_tells_its_id_only_inside_put():
    bench = Bench()
    assert bench.run("/interface/ethernet set qsfp56-dd-1-1 l2mtu=9216") == ""
    assert bench.run(f"{QOS}/profile add name=a dscp=1") == ""
    assert bench.run(f":put [{QOS}/profile add name=b dscp=2]") == "*2"


def test_ids_are_upper_case_and_never_used_twice():
    bench = Bench()
    first = bench.run(f":put [{QOS}/profile add name=a dscp=1]")
    bench.run(f"{QOS}/profile remove a")
    assert bench.run(f":put [{QOS}/profile add name=a dscp=1]") != first
    assert bench.run(":put [/interface/bridge/port get [find interface=qsfp56-dd-1-1] .id]") == "input does not match any value of value-name"
    assert bench.run(":put [/interface/bridge/port find where interface=qsfp56-dd-1-1]") == "*A"


def test_a_find_without_result_is_a_silent_no_op():
    bench = Bench()
    assert bench.run('/interface/bridge remove [find name="nothing"]') == ""
    assert bench.run('/interface/ethernet set [find name="nothing"] mtu=1500') == ""


def test_7_24_finds_the_wrong_row():
    right = ":put [/interface/ethernet get [find where name=qsfp56-dd-1-1] name]"
    assert answers("7.23.7", right) == "qsfp56-dd-1-1"
    assert answers("7.24", right) == "qsfp56-dd-1-2"


def test_a_command_without_a_row_asks_for_one():
    assert answers("7.23.7", "/interface/ethernet set mtu=1500") == "numbers: "


@pytest.mark.parametrize(
    ("group", "line", "answer"),
    [
        ("read", "/interface/ethernet set ether1 mtu=1500", "not enough permissions (9)"),
        ("read", "/safe-mode/take", "not enough permissions (9)"),
        ("write", "/export file=x", "not enough permissions (9)"),
        ("write", "/interface/ethernet set ether1 mtu=1500", ""),
        ("read", ":put [/system/identity get name]", "sw"),
    ],
)
def test_a_user_may_do_what_the_policies_of_its_group_say(group, line, answer):
    bench = Bench(username="guest")
    bench.machine.add("/user", {"name": "guest", "group": group})
    assert bench.run(line) == answer


@pytest.mark.parametrize(
    ("model", "version", "line", "accepted"),
    [
        ("CRS812", "7.22.1", f"{QOS}/profile add name=x automap=no", False),
        ("CRS812", "7.23.7", f"{QOS}/profile add name=x automap=no", True),
        ("CRS504", "7.22.1", f"{QOS}/tx-manager/queue set 3 shared-pool-index=1", True),
        ("CRS504", "7.23.7", f"{QOS}/tx-manager/queue set 3 shared-pool-index=1", False),
        ("CRS812", "7.22.1", f"{QOS}/tx-manager/queue set 3 shared-pool-index=1", False),
        ("CRS812", "7.23.7", f"{QOS}/tx-manager/queue set 3 use-shared-buffers=yes", False),
        ("CRS812", "7.22.1", f"{QOS}/settings set lossless-traffic-class=3", False),
        ("CRS812", "7.23.7", f"{QOS}/settings set lossless-traffic-class=3", True),
        ("CRS310", "7.20.8", f"{QOS}/priority-flow-control print", False),
        ("CRS310", "7.20.8", f"{QOS}/tx-manager/queue set 3 ecn=yes", False),
        ("CRS812", "7.20.8", "/ip/neighbor/discovery-settings set lldp-dcbx=yes", True),
        ("CRS812", "7.20.8", "/ip/ssh set password-authentication=yes", False),
        ("CRS812", "7.22.1", "/ip/ssh set password-authentication=yes", True),
        ("CRS812", "7.22.1", "/export path=/interface", False),
        ("CRS812", "7.23.7", "/interface/bridge/port set 0 trusted-dhcpv6=yes", True),
        ("CRS812", "7.22.1", "/interface/bridge/port set 0 trusted-dhcpv6=yes", False),
    ],
)
def test_what_a_version_or_chip_does_not_have_is_refused(model, version, line, accepted):
    refusals = ("expected end of command", "syntax error", "bad command name")
    assert answers(version, line, model=model).startswith(refusals) is not accepted


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_runs_every_version(model, version):
    bench = Bench(model, version)
    for menu in bench.machine.menus:
        if f"{menu}/print" in bench.machine.schema.commands:
            assert not bench.run(f"{menu} print").startswith(("syntax error", "expected", "bad", "failure")), menu


def test_the_schema_covers_every_simulated_version():
    assert {schema(version, "cpss").line for version in VERSIONS} <= set(lines())
    with pytest.raises(ValueError, match="no command dump of RouterOS 6"):
        schema("6.49", "bc2")

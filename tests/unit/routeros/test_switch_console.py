# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The terminal of the simulated switch, byte by byte, and its safe mode."""

from __future__ import annotations

import pytest
from simulated import Bench
from switch.console import PAGER, Console, Dropped, Scenario, run_once
from switch.hardware import build
from switch.machine import MAX_ACTIONS, Machine

OUT, SAFE = "[admin@sw] > ", "[admin@sw] <SAFE> "


class Shell:
    """A console with what it has sent since one last looked."""

    def __init__(self, machine: Machine, username: str = "admin+ct511w4098h", **scenario: object) -> None:
        self._sent: list[str] = []
        self.console = Console(machine, username, self._sent.append, Scenario(**scenario))
        self.console.start()

    def __call__(self, typed: str) -> str:
        self._sent.clear()
        self.console.feed(typed)
        return self.seen

    @property
    def seen(self) -> str:
        return "".join(self._sent)


@pytest.fixture
def switch() -> Machine:
    return build("CRS812", "7.23.7", identity="sw")


def test_the_first_prompt_comes_after_the_banner(switch):
    shell = Shell(switch)
    assert "MikroTik RouterOS 7.23.7" in shell.seen
    assert shell.seen.endswith("\r\r\r\r" + OUT)


def test_a_line_is_repainted_as_its_echo_and_followed_by_output_and_prompt(switch):
    assert Shell(switch)(":put 5\r\n") == f"\r{OUT}:put 5\r\n5\r\n\r\r\r\r{OUT}"


@pytest.mark.parametrize(
    ("echo", "begins"),
    [("double", f"\r{OUT}:put 5\r\n\r{OUT}:put 5\r\n5"), ("letters", f"\r{OUT}:\r{OUT}:p\r{OUT}:pu\r{OUT}:put")],
)
def test_an_echo_may_look_otherwise(switch, echo, begins):
    assert Shell(switch, echo=echo)(":put 5\r").startswith(begins)


def test_a_menu_shows_in_the_prompt_until_one_leaves_it(switch):
    shell = Shell(switch)
    assert shell("/interface/ethernet\r").endswith("[admin@sw] /interface/ethernet> ")
    assert shell("..\r").endswith("[admin@sw] /interface> ")
    assert shell("print count-only\r").startswith("\r[admin@sw] /interface> print count-only\r\n35\r\n")
    assert shell("/\r").endswith(OUT)


def test_output_is_broken_at_the_width_that_the_login_name_claims(switch):
    shell = Shell(switch, "admin+ct20w")
    assert shell(':put "012345678901234567890123"\r').split("\r\n")[1:3] == ["01234567890123456789", "0123"]


def test_without_the_option_t_the_terminal_is_probed_and_nothing_comes_before_the_answer(switch):
    shell = Shell(switch, "admin")
    assert shell.seen.endswith("\x1b[9999C\x1b[6n")
    assert shell(":put 5\r") == ""
    assert shell("\x1b[24;80R").endswith(OUT)


@pytest.mark.parametrize(
    ("screen", "text", "key"),
    [("license", "software license? [Y/n]: ", "n"), ("unlicensed", 'Please press "Enter" to continue!', "\r"),
     ("default-config", 'remove this default configuration type "r"', "x"), ("new-password", "new password> ", "\x03")],
)
def test_a_first_login_shows_its_screen_before_any_prompt(switch, screen, text, key):
    shell = Shell(switch, screens=[screen])
    assert text in shell.seen and OUT not in shell.seen
    assert shell(key).endswith(OUT)


def test_a_long_print_stops_at_the_pager(switch):
    shell = Shell(switch)
    assert shell("/interface/ethernet print\r").endswith(PAGER)
    assert shell("q").endswith(OUT)
    assert shell("/interface/ethernet print\r").endswith(PAGER)
    assert shell(" ").endswith(OUT)
    assert shell("/interface/ethernet print without-paging\r").endswith(OUT)


def test_control_c_gets_out_of_a_question(switch):
    shell = Shell(switch)
    assert shell("/interface/ethernet set mtu=1500\r").endswith("numbers: ")
    assert shell("\x03").endswith(OUT)


def test_a_reboot_is_asked_about(switch):
    shell = Shell(switch)
    assert shell("/system/reboot\r").endswith("Reboot, yes? [y/N]: ")
    assert shell("n\r").endswith(f"action cancelled\r\n\r\r\r\r{OUT}")
    assert switch.counts["reboots"] == 0


def test_a_log_line_comes_in_the_middle_and_the_prompt_may_come_early(switch):
    assert "echo: system,error,critical" in Shell(switch, noise=True)(":put 5\r")
    assert Shell(switch, early_prompt=True)(":put 5\r") == f"\r{OUT}:put 5\r\n\r\r\r\r{OUT}\r\n5\r\n\r\r\r\r{OUT}"


def test_a_connection_drops_at_the_line_that_the_scenario_names(switch):
    shell = Shell(switch, drop_at=2)
    shell("/interface/ethernet set ether1 mtu=1400\r")
    with pytest.raises(Dropped):
        shell("/interface/ethernet set ether1 mtu=1300\r")
    assert switch.row("/interface/ethernet", "ether1")["mtu"] == 1400


# Safe mode.
def test_safe_mode_by_command_as_measured_on_7_21_to_7_23_7(switch):
    shell = Shell(switch)
    assert shell("/safe-mode/take\r").endswith(f"Taking Safe Mode session... Success!\r\n\r\r\r\r{SAFE}")
    assert "Safe Mode is already active" in shell("/safe-mode/take\r")
    assert shell(":put [/safe-mode get current]\r").split("\r\n")[1] == "true"
    assert shell("/safe-mode/release\r").endswith(f"Releasing Safe Mode... Success!\r\n\r\r\r\r{OUT}")
    assert "Safe Mode has not been taken. Action aborted." in shell("/safe-mode/release\r")
    shell("/safe-mode/take\r")
    assert "Unrolling Safe Mode... Success!" in shell("/safe-mode/unroll\r")


def test_safe_mode_by_key_as_captured_on_7_23_7(switch):
    shell = Shell(switch)
    assert shell("\x18") == f"\r\nTaking Safe Mode session... Success!\r\n\r\x1b[9999B\r\r\r\r\x1b[9999B{SAFE}\x1b[c"
    assert shell("\x18") == f"\r\nReleasing Safe Mode... Success!\r\n\r\r\r\r{OUT}\rSafe Mode released\r\n\r\r\r\r{OUT}"


def test_safe_mode_has_one_holder(switch):
    first, second = Shell(switch), Shell(switch)
    first("/safe-mode/take\r")
    assert "Safe Mode is taken by another user (admin). Action aborted." in second("/safe-mode/take on-error=unroll\r")
    assert "Safe Mode has not been taken. Action aborted." in second("/safe-mode/release\r")
    asked = ":put [/safe-mode get enabled];:put [/safe-mode get current];:put [/safe-mode get user]\r"
    assert second(asked).split("\r\n")[1:4] == ["true", "false", "admin"]
    assert second("\x18").endswith("Safe Mode is taken by current user in another session.\r\nUnroll, release or abort [u/r]? ")
    assert second("x\r").endswith(f"Action aborted.\r\n\r\r\r\r{OUT}")
    assert second("\x18").endswith("[u/r]? ")
    assert second("u").endswith(SAFE)


def test_what_safe_mode_holds_is_undone_files_included_and_ids_are_not_given_again(switch):
    shell = Shell(switch)
    shell("/safe-mode/take\r")
    shell("/interface/ethernet set ether1 mtu=1400\r")
    shell("/interface/bridge add name=second\r")
    shell("/file/add name=x contents=y\r")
    shell("/safe-mode/unroll\r")
    assert switch.row("/interface/ethernet", "ether1")["mtu"] == 1500
    assert switch.row("/interface/bridge", "second") is None
    assert switch.files == {}
    assert shell(":put [/interface/bridge add name=third]\r").split("\r\n")[1] == "*3"


def test_a_lost_session_is_undone_when_the_switch_notices():
    now = [0.0]
    switch = build("CRS812", "7.23.7", identity="sw", clock=lambda: now[0], unroll_seconds=540)
    holder, other = Shell(switch), Shell(switch)
    holder("/safe-mode/take\r")
    holder("/interface/ethernet set ether1 mtu=1400\r")
    holder.console.stop()
    now[0] = 539
    assert other(":put [/safe-mode get enabled];:put [/interface/ethernet get ether1 mtu]\r").split("\r\n")[1:3] == ["true", "1400"]
    now[0] = 541
    assert other(":put [/safe-mode get enabled];:put [/interface/ethernet get ether1 mtu]\r").split("\r\n")[1:3] == ["false", "1500"]


def test_changes_of_others_are_undone_too(switch):
    holder, other = Shell(switch), Shell(switch)
    holder("/safe-mode/take\r")
    other("/interface/ethernet set ether1 mtu=1400\r")
    holder("/safe-mode/unroll\r")
    assert switch.row("/interface/ethernet", "ether1")["mtu"] == 1500


def test_an_error_undoes_nothing(switch):
    shell = Shell(switch)
    shell("/safe-mode/take\r")
    shell("/interface/ethernet set ether1 mtu=1400\r")
    shell(":error broken\r")
    shell("/safe-mode/release\r")
    assert switch.row("/interface/ethernet", "ether1")["mtu"] == 1400


def test_beyond_a_hundred_actions_safe_mode_ends_and_protects_nothing(switch):
    shell = Shell(switch)
    shell("/safe-mode/take\r")
    for _index in range(MAX_ACTIONS):
        shell("/interface/ethernet set ether1 mtu=1400\r")
    assert shell(":put [/safe-mode get current]\r").split("\r\n")[1] == "true"
    assert "[Safe mode released by another user]" in shell("/interface/ethernet set ether2 mtu=1400\r")
    shell.console.stop()
    assert switch.row("/interface/ethernet", "ether1")["mtu"] == 1400


def test_several_rows_in_one_command_are_several_actions(switch):
    shell = Shell(switch)
    shell("/safe-mode/take\r")
    shell("/interface/ethernet set ether1,ether2 mtu=1400\r")
    assert switch.safe_mode.actions == 2


def test_quitting_safe_mode_is_asked_about_and_undoes(switch):
    shell = Shell(switch)
    shell("/safe-mode/take\r")
    shell("/interface/ethernet set ether1 mtu=1400\r")
    assert shell("/quit\r").endswith("You are in Safe Mode. Quitting will unroll changes. Quit? [y/N]")
    shell("y\r")
    assert shell.console.closed
    shell.console.stop()
    assert switch.row("/interface/ethernet", "ether1")["mtu"] == 1500


def test_over_an_exec_channel_safe_mode_lies(switch):
    line = "/safe-mode/take on-error=unroll; /interface/ethernet set ether1 mtu=1400; :put [/safe-mode get enabled]"
    assert run_once(switch, "admin", line) == "Taking Safe Mode session... Success!\r\nfalse\r\n\r\n"
    assert switch.row("/interface/ethernet", "ether1")["mtu"] == 1400


def test_an_exec_channel_has_neither_echo_nor_prompt(switch):
    assert run_once(switch, "admin+ct", "/system/identity print") == "  name: sw\r\n\r\n"
    assert run_once(switch, "admin", "/interface/ethernet set ether1 mtu=1400") == ""


def test_the_history_counts_what_was_done():
    bench = Bench()
    bench.run("/interface/ethernet set ether1 mtu=1400")
    assert bench.run(":put [:len [/system/history find]]") == "1"

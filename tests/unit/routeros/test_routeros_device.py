# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a switch is, and what that forbids."""

from __future__ import annotations

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._routeros._device import Device, Version, device, refusals, warnings


def a_device(version="7.23.7 (long-term)", chip="Marvell-98DX7335", marvell="7.23.7", firmware=("7.23.7", "7.23.7")) -> Device:
    packages = [{"name": "routeros", "version": version.split()[0], "disabled": False}]
    if marvell:
        packages.append({"name": "switch-marvell", "version": marvell, "disabled": False})
    board = {"model": "CRS812-8DS-2DQ-2DDQ", "current-firmware": firmware[0], "upgrade-firmware": firmware[1]}
    return device({"version": version}, board, [{"name": "switch1", "type": chip}], packages)


@pytest.mark.parametrize(
    ("older", "newer"),
    [("7.9", "7.20"), ("7.23.7", "7.24"), ("7.24rc4", "7.24"), ("7.24beta2", "7.24rc1"), ("7.24rc2", "7.24rc10"), ("7.24", "7.24.1")],
)
def test_versions_compare_as_numbers_and_candidates_come_before_the_release(older, newer):
    assert Version.parse(older).before(newer)
    assert not Version.parse(newer).before(older)


def test_a_version_is_not_older_than_itself():
    assert not Version.parse("7.23.7 (long-term)").before("7.23.7")


@pytest.mark.parametrize(
    ("chip", "group"),
    [("Marvell-98DX7335", "cpss"), ("Marvell-98DX4310", "bc2"), ("Marvell-98CX8410", "bc2"), ("Marvell-98DX226S", "ac3"), ("QCA-8337", None)],
)
def test_a_chip_belongs_to_a_generation(chip, group):
    assert a_device(chip=chip).group == group


def test_a_device_is_read_from_four_menus():
    found = a_device()
    assert (found.version.text, found.channel, found.model, found.packages) == (
        "7.23.7", "long-term", "CRS812-8DS-2DQ-2DDQ", {"routeros": "7.23.7", "switch-marvell": "7.23.7"})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (a_device(), []),
        (a_device(version="7.19.6 (stable)", marvell="7.19.6"),
         ["sw: RouterOS - expected 7.20 or newer, found 7.19.6. Upgrade RouterOS."]),
        (a_device(chip="QCA-8337"),
         ["sw: switch chip - expected a Marvell Prestera, found QCA-8337. Set fabric_switch_managed to false for this switch."]),
        (a_device(marvell=None),
         ["sw: package switch-marvell - expected enabled, version 7.23.7, found missing. "
          "Install the package of the same version as RouterOS and reboot the switch."]),
        (a_device(marvell="7.22.1"),
         ["sw: package switch-marvell - expected enabled, version 7.23.7, found 7.22.1. "
          "Install the package of the same version as RouterOS and reboot the switch."]),
        (a_device(chip="Marvell-98DX4310", marvell=None), []),
    ],
    ids=["fine", "too old", "another chip", "package missing", "package of another version", "no package needed"],
)
def test_a_switch_that_no_module_may_change(found, said):
    assert refusals("sw", found) == said


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (a_device(), []),
        (a_device(version="7.24 (stable)", marvell="7.24"),
         ["sw: RouterOS - expected 7.24.1 or newer in the line 7.24, found 7.24. "
          "Upgrade: 7.24 looks up wrong rows and can lock up the management port."]),
        (a_device(firmware=("7.19.5", "7.22.1")),
         ["sw: RouterBOOT firmware - expected 7.22.1, found 7.19.5. Run /system/routerboard/upgrade and reboot in a quiet hour."]),
    ],
    ids=["fine", "7.24.0", "firmware behind"],
)
def test_a_switch_with_something_to_know(found, said):
    assert warnings("sw", found) == said

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts a play is for, found as Ansible does."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

PLAYBOOKS = Path(__file__).resolve().parents[3] / "playbooks"


@pytest.mark.parametrize("switches", [[], ["crs812"], ["east 1", "Größe"]], ids=["none", "one", "names with blanks"])
@pytest.mark.parametrize("playbook", ["teardown.yml", "_hosts.yml"])
def test_every_switch_is_reached_whatever_its_name(playbook, switches):
    loader = DataLoader()
    inventory = InventoryManager(loader=loader)
    for name in switches:
        inventory.add_group("gb10_switches")
        inventory.add_host(name, "gb10_switches")
    plays = loader.load_from_file(str(PLAYBOOKS / playbook), trusted_as_template=True)
    hosts = next(play["hosts"] for play in plays if "gb10_switches" in play["hosts"])
    pattern = Templar(loader=loader, variables={"groups": inventory.get_groups_dict()}).template(hosts)
    assert [host.name for host in inventory.get_hosts(pattern)] == switches

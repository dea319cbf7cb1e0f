# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside ansible, which finds it by the lab's ``ansible.cfg``: how to reach the lab's switches, from ``switches.json`` beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.inventory.host import Host
from ansible.plugins.vars import BaseVarsPlugin


class VarsModule(BaseVarsPlugin):
    """Variables of a host, which win over those of the inventory file."""

    def get_vars(self, loader: Any, path: str, entities: Any) -> dict[str, Any]:
        """Return the variables of the switches among ``entities``."""
        rows = json.loads((Path(__file__).with_name("switches.json")).read_text(encoding="utf-8"))
        hosts = entities if isinstance(entities, list) else [entities]
        return {key: value for host in hosts if isinstance(host, Host) for key, value in rows.get(host.name, {}).items()}

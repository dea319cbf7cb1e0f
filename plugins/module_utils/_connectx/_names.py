# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to this collection on a node: file names, the marker line, the names of its connections."""

from __future__ import annotations

import uuid

MARKER = "# gb10.cluster: written by connectx_link, changes made here are lost"
"""First line of every file of ours that can hold a comment."""

NETPLAN_FILE = "/etc/netplan/60-gb10-fabric.yaml"
SYSCTL_FILE = "/etc/sysctl.d/60-gb10-fabric.conf"
LIMITS_FILE = "/etc/security/limits.d/60-gb10-memlock.conf"
MODULES_FILE = "/etc/modules-load.d/60-gb10-rdma.conf"

ROLLBACK_DIR = "/var/lib/gb10/rollback"
ROLLBACK_ARMED = f"{ROLLBACK_DIR}/armed.json"
"""Exists while a rollback is armed: ``{"id": str, "deadline": epoch seconds, "interfaces": [str], …}``."""

CONNECTION_PREFIX = "gb10-"


def connection_name(interface: str) -> str:
    """Name of our NetworkManager connection for ``interface`` where there is no netplan."""
    return f"{CONNECTION_PREFIX}{interface}"


def connection_uuid(interface: str) -> str:
    """UUID of our NetworkManager connection for ``interface``: the same on every run, so that it proves ownership
    even after NetworkManager has stored the connection under a file name of its own (``90-NM-<uuid>.yaml``)."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{interface}.gb10.cluster"))

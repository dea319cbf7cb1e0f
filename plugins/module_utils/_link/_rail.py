# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One planned rail on its device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rail:
    """One planned rail on its device. ``owner`` reads like ``_live.owner``: who shall have the interface."""

    port: str
    rail: int
    interface: str
    address: str
    prefix: int
    mtu: int
    link_local: bool
    owner: str

    @property
    def cidr(self) -> str:
        """Address with prefix."""
        return f"{self.address}/{self.prefix}"

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.port} rail {self.rail} ({self.interface})"

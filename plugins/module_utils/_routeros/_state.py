# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading what the decisions need from a switch."""

from __future__ import annotations

from ._device import Device, device
from ._qos import QOS, Have
from ._rows import Row
from ._session import ConnectionLost, Session, SwitchError


class Reader:
    """Reads menus of one session; one that this switch does not have, or that the user may not read, is empty and noted in ``missing``."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.missing: dict[str, str] = {}

    def rows(self, menu: str, singleton: bool = False) -> list[Row]:
        """Rows of a menu, or none. Raises :class:`ConnectionLost` only."""
        try:
            return self.session.rows(menu, singleton)
        except ConnectionLost:
            raise
        except SwitchError as error:
            self.missing[menu] = str(error)
            return []

    def record(self, menu: str) -> Row:
        """The one record of a menu, or an empty one."""
        return next(iter(self.rows(menu, singleton=True)), {})

    def device(self) -> Device:
        """What the switch is."""
        return device(self.record("/system/resource"), self.record("/system/routerboard"), self.rows("/interface/ethernet/switch"),
                      self.rows("/system/package"))

    def qos(self) -> Have:
        """The QoS menus of the switch chip."""
        return Have(
            profiles=self.rows(f"{QOS}/profile"),
            map_ip=self.rows(f"{QOS}/map/ip"),
            pfc=self.rows(f"{QOS}/priority-flow-control"),
            queues=self.rows(f"{QOS}/tx-manager/queue"),
            ports=self.rows(f"{QOS}/port"),
            chips=self.rows("/interface/ethernet/switch"),
            discovery=self.record("/ip/neighbor/discovery-settings"),
        )

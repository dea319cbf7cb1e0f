# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading what the decisions need from a switch."""

from __future__ import annotations

import time
from collections.abc import Callable

from ._command import address
from ._device import Device, device
from ._facts import Ports, leaders
from ._qos_rows import Have
from ._qos_view import MENUS, have
from ._rows import Row, flag
from ._session import ConnectionLost, Session, SwitchError


class Reader:
    """Looks at a switch once: a menu is read when it is first asked for. One that this switch does not have, or that the user may not read,
    is empty and noted in ``missing``."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.missing: dict[str, str] = {}
        self._rows: dict[str, list[Row]] = {}

    def rows(self, menu: str, singleton: bool = False) -> list[Row]:
        """Rows of a menu, or none. Raises :class:`ConnectionLost` only."""
        if menu not in self._rows:
            try:
                self._rows[menu] = self.session.rows(menu, singleton)
            except ConnectionLost:
                raise
            except SwitchError as error:
                self.missing[menu] = str(error)
                self._rows[menu] = []
        return self._rows[menu]

    def record(self, menu: str) -> Row:
        """The one record of a menu, or an empty one."""
        return next(iter(self.rows(menu, singleton=True)), {})

    def device(self) -> Device:
        """What the switch is."""
        return device(self.record("/system/resource"), self.record("/system/routerboard"), self.rows("/interface/ethernet/switch"),
                      self.rows("/system/package"))

    def qos(self) -> Have:
        """The QoS menus of the switch chip."""
        return have({menu: self.rows(menu, singleton) for menu, singleton in MENUS.items()})

    def ports(self, links: bool = False, roles: bool = False, hosts: bool = False) -> Ports:
        """The menus that describe ports; ``links``, ``roles`` and ``hosts`` cost one more answer per leg, per running member, or one."""
        ethernet = self.rows("/interface/ethernet")
        members = self.rows("/interface/bridge/port")
        default_names = {row["name"]: str(row.get("default-name")) for row in ethernet}
        led = leaders(ethernet)
        looked_at = [row for row in ethernet if links and (row.get("default-name") in led or flag(row.get("running")))]
        running = {row["name"] for row in ethernet if flag(row.get("running"))}
        return Ports(
            ethernet=ethernet,
            interfaces=self.rows("/interface"),
            bridges=self.rows("/interface/bridge"),
            bridge_ports=members,
            hosts=self.rows("/interface/bridge/host") if hosts else [],
            monitors={str(row.get("default-name")): self.monitor("/interface/ethernet", address(row)) for row in looked_at},
            roles={default_names[row["interface"]]: self.monitor("/interface/bridge/port", row[".id"])
                   for row in members if roles and row["interface"] in running},
        )

    def monitor(self, menu: str, target: str) -> Row:
        """One look at one row, empty when the switch can not tell."""
        try:
            return next(iter(self.session.read(f"{menu}/monitor {target} once as-value", singleton=True)), {})
        except ConnectionLost:
            raise
        except SwitchError as error:
            self.missing[f"{menu}/monitor"] = str(error)
            return {}


def wait_for_links(
    session: Session, ports: dict[str, str], is_good: Callable[[dict[str, Row]], bool], patience: float, poll: float = 1
) -> dict[str, Row]:
    """Look at the links of ports (leg -> how to point at it) until ``is_good``, for ``patience`` seconds at most; 0 looks once."""
    reader = Reader(session)
    deadline = time.monotonic() + patience
    while True:
        monitors = {leg: reader.monitor("/interface/ethernet", target) for leg, target in ports.items()}
        if is_good(monitors) or time.monotonic() >= deadline:
            return monitors
        time.sleep(poll)

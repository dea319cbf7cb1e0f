# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A RouterOS switch made of text: SSH server, command language, tables, and what the hardware behind them would do.

A lab makes one with ``hardware.build(model, version, identity=…)``, says in ``plugs`` what is plugged into its cages, in ``passwords`` and
``keys`` who may log in, in ``learned`` which addresses each port has seen, and puts it behind an address with ``server.Server``. After every line
that somebody typed (``after_line``) and every change that stays (``on_commit``) it asks ``forwarding.legs`` what each leg has to do;
``forwarding.join`` lets several switches see the spanning tree that they form. ``console.Scenario`` holds what can go wrong.
"""

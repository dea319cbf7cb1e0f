# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated switch without sockets: the product's sessions typing straight into the simulator's console."""

from __future__ import annotations

import json

from ansible_collections.gb10.cluster.plugins.module_utils._routeros._session import ConnectionLost, Session, SwitchError
from switch import views
from switch.commands import Commands, Context, Question
from switch.console import Console, Dropped, Scenario
from switch.hardware import build
from switch.interpreter import Interpreter
from switch.language import parse
from switch.machine import Machine
from switch.values import to_json


class DirectTerminal:
    """A terminal of the product that is a console of the simulator, reached at the factory address of a switch."""

    address = "192.168.88.1"

    def __init__(self, machine: Machine, username: str, scenario: Scenario) -> None:
        self._pieces: list[str] = []
        self._console = Console(machine, f"{username}+ct511w4098h", self._pieces.append, scenario)
        self._console.start()
        self._alive = True
        self._pieces.clear()
        self.prompt = f"[{username}@{machine.identity}]"

    def write(self, text: str) -> None:
        if not self._alive:
            raise ConnectionLost("the simulated session has ended")
        try:
            self._console.feed(text)
        except Dropped:
            self.drop()

    def read(self) -> str:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            return text
        if not self._alive:
            raise ConnectionLost("the simulated session has ended")
        return ""

    def close(self) -> None:
        self.drop()

    def drop(self) -> None:
        if self._alive:
            self._alive = False
            self._console.stop()


READS = (":local d [", ":put [")
"""How a line begins that only reads."""


def drops(log: list[str], after: bool) -> list[int]:
    """Lines of a whole run at which to drop the connection, after or before they are carried out.

    All of them up to the beginning of safe mode. From there on, of lines that only read, one after another, the first and the last: the switch is
    the same at each, and what reads is what has read before. Whether one that only reads is still carried out makes no difference.
    """
    read = [True, *(line.startswith(READS) for line in log), False]
    begin = next(number for number, line in enumerate(log, 1) if line.startswith("/safe-mode/take"))
    return [number for number in range(1, len(log) + 1)
            if not (read[number] and (after or number > begin and read[number - 1] and read[number + 1]))]


def check_schema(machine: Machine, commands: list[str]) -> None:
    """Every command must bind: its menu, its verb and its arguments are in the schema of the version, its words in their enumerations."""
    for command in commands:
        for statement in parse(command):
            machine.binder.bind(statement, "")


class Bench:
    """One simulated switch and a way to log in: ``connect`` makes sessions of the product."""

    def __init__(self, model: str = "CRS812", version: str = "7.23.7", username: str = "admin", **machine: object) -> None:
        self._made = {"model": model, "version": version, "username": username, **machine}
        self.machine = build(model, version, identity="sw", **machine)
        self.scenario = Scenario()
        self.username = username
        self.refuse_login = False

    def twin(self) -> Bench:
        """Another switch in the same state, on which nothing was typed."""
        twin = Bench(**self._made)
        twin.machine.plugs = dict(self.machine.plugs)
        twin.machine.restore(self.machine.snapshot())
        return twin

    def connect(self) -> Session:
        if self.refuse_login:
            raise SwitchError("the simulated switch lets nobody in")
        return Session(DirectTerminal(self.machine, self.username, self.scenario), "sw", timeout=30)

    def rows(self, path: str) -> list[dict]:
        """Rows of a menu as a session would read them."""
        return json.loads(to_json(views.rows(self.machine, path)))

    def run(self, line: str) -> str:
        """What a line prints, typed by the user in a shell of its own."""
        interpreter = Interpreter(self.machine.binder, Commands(Context(self.machine, self.username, object())))
        try:
            return interpreter.execute(line)
        except Question as question:
            return question.text

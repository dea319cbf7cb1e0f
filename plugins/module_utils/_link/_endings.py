# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a change that did not last, as the module says it."""

from __future__ import annotations

from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _records, _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._names import ROLLBACK_DIR
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine


class Failed(Exception):
    """The change was not made, or did not last; ``rollback`` tells what became of it."""

    def __init__(self, text: str, rollback: dict[str, Any]) -> None:
        super().__init__(text)
        self.rollback = rollback


def fire(machine: Machine, run_id: str) -> None:
    """Go back now. A rollback that the system does not let end is still there: its timer, the next boot and the next run try again."""
    try:
        _rollback.fire(machine, ROLLBACK_DIR)
    except OSError as error:
        problem = f"{error.filename or ROLLBACK_DIR}: {error.strerror or error}"
        fix = "Make room or mount that place writable, then run again; the next boot tries too."
        text = message("rails", "the old state, put back by the rollback", f"one that did not end ({problem})", fix)
        raise Failed(text, {"id": run_id, "state": "firing", "problems": [problem]}) from error


def unknown(run_id: str, damaged: _records.Damaged) -> Failed:
    """Say that nobody can tell what became of the change, because our own data is gone."""
    return Failed(str(damaged), {"id": run_id, "state": "incomplete", "problems": [str(damaged)]})


def fired(outcome: _arming.Outcome | None, run_id: str, why: str) -> Failed:
    """Say that the old state came back, or what of it did not."""
    problems = outcome["problems"] if outcome else []
    state = "firing" if outcome is None else "incomplete" if problems else "restored"
    endings = {
        "firing": "the rollback at work, which puts the old state back",
        "incomplete": f"the old state, except: {'; '.join(problems)}",
        "restored": "the old state, put back by the rollback",
    }
    text = message("rails", "the state of the plan, confirmed over a new login", endings[state], f"Reason: {why}.")
    return Failed(text, {"id": run_id, "state": state, "problems": problems})

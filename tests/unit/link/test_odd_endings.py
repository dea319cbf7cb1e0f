# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollback that the system does not let end, and a record that somebody edited: what is said is what is true."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming, _record, _run
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Meta

from link_facts import connectx, options, slice_of
from link_machine import FakeMachine, Killed

OUTCOME = "/var/lib/gb10/last-rollback.json"


class FullMachine(FakeMachine):
    """A node on whose disk there is no room for what became of a rollback."""

    full = True

    def write(self, path: str, content: bytes, meta: Meta) -> None:
        """Write, except that one."""
        if self.full and path == OUTCOME:
            raise OSError(28, "No space left on device", path)
        super().write(path, content, meta)


def stuck(machine: FullMachine) -> str:
    """What a run says; also holds its rollback against the state that the machine is in."""
    with pytest.raises(_run.Failed) as failed:
        _run.run(machine, options(ports=slice_of("p0")), False, lambda _interfaces: connectx())
    assert failed.value.rollback == {"id": "run-1", "state": "firing", "problems": [f"{OUTCOME}: No space left on device"]}
    return str(failed.value)


TEXT = (
    f"rails - expected the old state, put back by the rollback, found one that did not end ({OUTCOME}: No space left on device). "
    "Make room or mount that place writable, then run again; the next boot tries too."
)


def test_a_change_that_fails_and_can_not_end_its_rollback() -> None:
    machine = FullMachine()
    before = machine.state()
    machine.fail_at = 12
    assert stuck(machine) == TEXT
    machine.full = False
    machine.fire()
    assert machine.state() == before


def test_an_unfinished_rollback_of_an_earlier_run_that_still_can_not_end() -> None:
    machine = FullMachine()
    machine.fail_at, machine.mode = 12, "kill"
    with pytest.raises(Killed):
        _run.run(machine, options(ports=slice_of("p0")), False, lambda _interfaces: connectx())
    machine.fail_at = 0
    assert stuck(machine) == TEXT
    assert stuck(machine) == TEXT
    machine.full = False
    assert _run.run(machine, options(ports=slice_of("p0")), False, lambda _interfaces: connectx())["rollback"]["state"] == "armed"


@pytest.mark.parametrize("state", ["present", "absent"])
def test_an_address_in_the_record_that_is_none_is_refused_and_nothing_touched(state: str) -> None:
    machine = FakeMachine()
    _run.run(machine, options(ports=slice_of("p0")), False, lambda _interfaces: connectx())
    assert _arming.confirm(machine, "run-1")
    record = json.loads(machine.files[_record.FILE][0])
    record["interfaces"]["enp1s0f0np0"]["addresses"] = ["10.0.0.1/24", "spark-1"]
    machine.put(_record.FILE, json.dumps(record))
    before = machine.state()
    with pytest.raises(_run.Refused) as refused:
        _run.run(machine, options(state, slice_of("p0")), False, lambda _interfaces: connectx())
    text = f"{_record.FILE} - expected addresses of enp1s0f0np0, found 'spark-1'. Put the links right by hand, then remove that file."
    assert (refused.value.texts, machine.state()) == ([text], before)

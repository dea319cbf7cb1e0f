# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QoS of a host whose run is killed at any step, so that nothing takes anything back, and whose tools or files say odd things."""

from __future__ import annotations

import copy
import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from ansible_collections.gb10.cluster.plugins.module_utils._roce import _host, _worker
from ansible_collections.gb10.cluster.plugins.module_utils._roce._host import QosError, qos
from ansible_collections.gb10.cluster.plugins.module_utils._roce._worker import Done, Unsupported
from test_roce_host import RAILS, Card, run


class Killed(BaseException):
    """The process is gone."""


class Nobody(ExitStack):
    """What a killed process takes back."""

    def __exit__(self, *details: object) -> bool:
        self.pop_all()
        return False


class Doomed(Card):
    """A node on which the process is killed at its ``left``-th write; None: never."""

    left: int | None = None

    def _step(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    def call(self, argv: list[str]) -> Done:
        if not any(word in argv for word in ("show", "-a")):
            self._step()
        return super().call(argv)

    def replace(self, path, content, undo) -> None:
        self._step()
        super().replace(path, content, undo)

    def write_tos(self, device, value) -> None:
        self._step()
        super().write_tos(device, value)


FIRST = next(iter(RAILS))
WAYS = [(None, "lossless", RAILS), (None, "ecn", RAILS), ("lossless", "ecn", RAILS), ("lossless", "none", RAILS),
        ("lossless", "lossless", {FIRST: RAILS[FIRST]})]


@pytest.mark.parametrize(("before", "level", "rails"), WAYS)
def test_a_run_that_is_killed_at_any_step_is_finished_and_taken_back_by_the_next(tmp_path: Path, monkeypatch, before, level, rails):
    kills = 0
    for step in range(100):
        card = Doomed(tmp_path / str(step))
        new = copy.deepcopy(card.qos)
        if before:
            run(card, before)
        card.left = step
        with monkeypatch.context() as patch:
            patch.setattr(_host, "ExitStack", Nobody)
            try:
                run(card, level, rails=rails)
                break
            except Killed:
                kills += 1
        card.left = None
        run(card, level, rails=rails)
        assert not run(card, level, rails=rails).changed
        run(card, "none")
        assert card.qos == new
        assert [path for path in (_worker.CONFIG, _host.SCRIPT, _host.UNIT) if card.exists(path)] == []
    assert kills > 5


@pytest.mark.parametrize("traffic_class", [-1, 256, 1000])
@pytest.mark.parametrize("check", [True, False])
def test_a_type_of_service_that_does_not_fit_a_byte_is_refused(tmp_path: Path, traffic_class, check):
    card = Card(tmp_path)
    with pytest.raises(QosError, match=rf"^traffic_class - expected 0 to 255, found {traffic_class}\. Give it the ib_tc of the plan, usually 106\.$"):
        qos(card, RAILS, "ecn", traffic_class, check)
    assert card.log == []


@pytest.mark.parametrize(("place", "value", "said"), [
    ("before", {"dscp": {"ef": 3}, "pfc": [], "pause": None}, "expected numbers as DSCP, found 'ef'"),
    ("wanted", {"dscp": {}, "pfc": [], "pause": [True]}, "expected 2 values for interfaces.enp1s0f0np0.wanted.pause, found 1"),
])
def test_a_damaged_file_is_named_and_no_traceback(tmp_path: Path, place, value, said):
    card = Card(tmp_path)
    run(card, "ecn")
    stored = json.loads(card.text(_worker.CONFIG))
    stored["interfaces"][FIRST][place] = value
    (tmp_path / _worker.CONFIG[1:]).write_text(json.dumps(stored))
    with pytest.raises(QosError, match=f"{_worker.CONFIG} - {said}"):
        run(card, "none")


@pytest.mark.parametrize("answer", [[["AF31", 3]], [[26]], [26], 26, [[26, None]]])
def test_an_odd_answer_of_dcb_is_no_traceback(answer):
    def call(argv):
        return Done(0, json.dumps({"dscp_prio": answer} if "app" in argv else {}), "")

    with pytest.raises(Unsupported, match="dcb answered"):
        _worker.read("enp1s0f0np0", [26], call)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules as Ansible runs them: options in, JSON out, never a traceback."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError, undo_when_told_to_end
from ansible_collections.gb10.cluster.plugins.modules import nccl_library, nccl_settings


@pytest.fixture(autouse=True)
def handlers() -> Any:
    """Leaves the handlers of signals as they were."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def answer(module: Any, capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """What the module answers to these options."""
    with patch_module_args(options), pytest.raises(SystemExit):
        module.main()
    return json.loads(capsys.readouterr().out)


def test_a_refusal_is_the_modules_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(nccl_library, capsys, prefix=str(tmp_path / "nccl"), version="latest")
    assert (result["failed"], result["msg"]) == (True, "version - expected X.Y.Z as in 2.30.7, found latest. Name one exact release of NCCL.")


def test_a_damaged_record_is_the_modules_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "2.30.7").mkdir()
    (tmp_path / "2.30.7" / "gb10.json").write_text("{}")
    result = answer(nccl_library, capsys, prefix=str(tmp_path), state="absent")
    assert result["msg"] == f"{tmp_path}/2.30.7/gb10.json - expected version, found nothing. Move {tmp_path}/2.30.7 away, then run again."


def test_what_the_system_refuses_is_the_modules_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    result = answer(nccl_library, capsys, prefix="/proc/gb10/nccl", source="file", wheel=str(tmp_path / "file"), loader=False)
    assert result["msg"].startswith("files of NCCL (/proc/gb10")
    assert "found No such file or directory. Run as root" in result["msg"]


@pytest.mark.parametrize(("module", "options"), [(nccl_library, {"source": "path"}), (nccl_settings, {"state": "present"})])
def test_options_that_belong_together_are_asked_for(module: Any, options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert "but all of the following are missing" in answer(module, capsys, **options)["msg"]


def test_absent_where_nothing_is_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(nccl_library, capsys, prefix=str(tmp_path / "gb10" / "nccl"), state="absent")
    assert {key: result[key] for key in ("changed", "installed", "installing")} == {"changed": False, "installed": True, "installing": None}
    assert list(tmp_path.iterdir()) == []


def test_settings_are_written_and_illegal_ones_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"conf": str(tmp_path / "nccl.conf"), "environment_file": str(tmp_path / "gb10" / "nccl.env")}
    result = answer(nccl_settings, capsys, settings={"NCCL_IB_TC": 106}, **places)
    assert (result["changed"], result["bootstrap"]) == (True, None)
    assert (tmp_path / "nccl.conf").read_text() == "# BEGIN gb10.cluster\nNCCL_IB_TC=106\n# END gb10.cluster\n"
    result = answer(nccl_settings, capsys, settings={"NCCL_DEBUG": "a b", "X": "1"}, **places)
    assert result["msg"].count("expected NCCL_NAME and a value of plain characters") == 2
    assert answer(nccl_settings, capsys, state="absent", **places)["changed"] is True
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_fails_like_any_other(number: signal.Signals) -> None:
    undo_when_told_to_end()
    with pytest.raises(NcclError) as failure:
        os.kill(os.getpid(), number)
    assert str(failure.value) == f"installation of NCCL - expected time to finish, found {number.name}. Run again."

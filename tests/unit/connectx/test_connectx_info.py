# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module: the slice goes in as it is, the facts come out, wrong names are refused."""

from __future__ import annotations

import ast
import json
import platform
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gb10.cluster.plugins.module_utils import _message
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _argspec, _facts
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._types import Connectx
from ansible_collections.gb10.cluster.plugins.modules import connectx_info

SLICE = {
    "mtu": 9000, "ipv6_link_local": False, "interfaces": {"p0": ["aerial00", "aerial02"]},
    "ports": {
        "p0": {"peer": {"node": "spark-2", "port": "p0"}, "speed": "200G", "rails": [{"rail": 0, "address": "10.77.0.1", "prefix": 24, "subnet": 0}]},
    },
}  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], **arguments: Any) -> tuple[int, dict[str, Any]]:
    """Run the module: exit status and what it returned."""
    with patch_module_args(arguments), pytest.raises(SystemExit) as ended:
        connectx_info.main()
    return int(str(ended.value.code or 0)), json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("check", [False, True])
def test_the_slice_is_accepted_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, check: bool) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(_facts, "collect", lambda interfaces: seen.append(interfaces) or {"ports": {}})
    assert run(capsys, **SLICE, _ansible_check_mode=check)[1]["connectx"] == {"ports": {}}
    assert seen == [SLICE["interfaces"]]


def test_a_machine_that_is_no_gb10_is_told_about_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    status, result = run(capsys)
    assert (status, result["changed"], set(result["connectx"])) == (0, False, set(Connectx.__annotations__))


def test_an_older_python_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectx_info, "PYTHON", (99, 0))
    status, result = run(capsys)
    found = platform.python_version()
    assert (status, result["python"]) == (1, found)
    assert result["msg"] == f"Python - expected at least 3.10, found {found}. Set ansible_python_interpreter to a Python that is new enough."


@pytest.mark.parametrize("file", [connectx_info.__file__, _argspec.__file__, _message.__file__])
def test_what_is_read_before_that_is_something_that_python_3_8_can_read(file: str) -> None:
    assert ast.parse(Path(file).read_text(encoding="utf-8"), feature_version=(3, 8))


FIX = "Write them as in the plan, p0: [aerial00, aerial02]."


@pytest.mark.parametrize(
    ("interfaces", "expected"),
    [
        ({"p2": ["a", "b"]}, f"interfaces - expected the ports p0 and p1, found p2. {FIX}"),
        ({"p0": "aerial00"}, f"interfaces.p0 - expected two device names, rail 0 first, found 'aerial00'. {FIX}"),
        ({"p0": ["a"]}, f"interfaces.p0 - expected two device names, rail 0 first, found ['a']. {FIX}"),
        ({"p0": ["a", "a"]}, f"interfaces.p0 - expected two device names, rail 0 first, found ['a', 'a']. {FIX}"),
        (
            {"p0": ["a", 1], "p1": ["a", ""]},
            f"interfaces.p0 - expected two device names, rail 0 first, found ['a', 1]. {FIX}\n"
            f"interfaces.p1 - expected two device names, rail 0 first, found ['a', '']. {FIX}",
        ),
    ],
)
def test_wrong_names_are_refused(capsys: pytest.CaptureFixture[str], interfaces: dict[str, Any], expected: str) -> None:
    status, result = run(capsys, interfaces=interfaces)
    assert (status, result["failed"], result["msg"]) == (1, True, expected)

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that change a switch document is what they return."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.gb10.cluster.plugins.modules import mikrotik_breakout, mikrotik_bridge, mikrotik_roce
from simulated import Bench

CAGES = {"qsfp56-dd-1": {"mode": "2x200G"}}
LEGS = {"qsfp56-dd-1-1": {"speed": "200G"}, "qsfp56-dd-1-5": {"speed": "200G"}}
MODULES = [
    (mikrotik_breakout, {"cages": CAGES, "link_wait": 0}),
    (mikrotik_bridge, {"cages": CAGES, "legs": LEGS}),
    (mikrotik_roce, {"cages": CAGES, "legs": LEGS, "level": "lossless"}),
]


def shape(value: object) -> object:
    """Keys of a sample, all the way down; cages, legs, ports and profiles are names and count by what is below them."""
    if not isinstance(value, dict):
        return None
    names = [key for key in value if key.startswith(("qsfp", "gb10-", "ether")) or key.isdigit()]
    below = [shape(value[key]) for key in names if value[key] is not None]
    return {**{key: shape(value[key]) for key in value if key not in names}, **({"*": below[0]} if below else {})}


@pytest.mark.parametrize(("module", "options"), MODULES, ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2])
def test_every_documented_key_is_returned_and_every_returned_one_documented(run, module, options):
    documented = yaml.safe_load(module.RETURN)
    result = run(module, Bench(), **options)
    assert set(documented) == set(result) - {"changed", "diff", "invocation", "warnings"}
    assert shape(documented["after"]["sample"]) == shape(result["after"])
    if "legs" in documented:
        assert shape(documented["legs"]["sample"]) == shape(result["legs"])


@pytest.mark.parametrize(("module", "options"), MODULES, ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2])
def test_a_switch_that_lets_nobody_in_is_a_failure_without_a_traceback(run, module, options):
    bench = Bench()
    bench.refuse_login = True
    result = run(module, bench, **options)
    assert (result["failed"], result["msg"]) == (True, "the simulated switch lets nobody in")


@pytest.mark.parametrize(("module", "options"), MODULES, ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2])
def test_a_password_is_in_no_result(run, module, options):
    assert "s3cret" not in str(run(module, Bench(), password="s3cret", **options))


@pytest.mark.parametrize(("module", "options"), MODULES, ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2])
def test_somebody_elses_safe_mode_is_named_and_left_alone(run, module, options):
    bench = Bench()
    holder = object()
    bench.machine.take_safe_mode(holder, "maria", "ssh")
    result = run(module, bench, **options)
    assert result["failed"] and "found held by maria from ssh" in result["msg"]
    assert bench.machine.safe_mode.session is holder

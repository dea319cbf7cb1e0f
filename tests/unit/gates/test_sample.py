# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sample inventory of any size is found or cut."""

from __future__ import annotations

import pytest
import sample


SAMPLES = ["switched_eight_nodes", "switched_fabric", "switched_two_switches", "switched_unmanaged", "three_node_ring", "two_node_direct"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "CUT", tmp_path)


@pytest.mark.parametrize(
    ("topology", "number", "name"),
    [
        ("two_node_direct", None, "two_node_direct"),
        ("two_node_direct", 2, "two_node_direct"),
        ("three_node_ring", 3, "three_node_ring"),
        ("switched_fabric", None, "switched_fabric"),
        ("switched_unmanaged", None, "switched_unmanaged"),
        ("switched_fabric", 4, "switched_fabric"),
        ("switched_fabric", 2, "switched_fabric_2"),
        ("switched_fabric", 3, "switched_fabric_3"),
        ("switched_fabric", 5, "switched_fabric_5"),
        ("switched_fabric", 6, "switched_two_switches"),
        ("switched_fabric", 8, "switched_eight_nodes"),
    ],
)
def test_a_sample_of_that_size(topology, number, name):
    folder = sample.find(topology, number)
    assert folder.name == name
    assert number in (None, len(sample.nodes(sample.read(folder))))


def test_cut_to_size_no_cable_end_is_left_of_a_node_that_went():
    cut = sample.read(sample.find("switched_fabric", 3))
    assert [cable["to"] for cable in cut["vars"]["fabric_cables"]] == [["spark-1.p0", "spark-2.p0"], ["spark-3.p0", None]]


@pytest.mark.parametrize(
    ("topology", "number", "text"),
    [
        ("three_node_ring", 2, "expected three_node_ring with 3 nodes, found 2 nodes"),
        ("switched_fabric", 9, "expected switched_fabric with 3 or 4 or 6 or 8 nodes, found 9 nodes"),
        ("mesh", None, f"expected {' or '.join(SAMPLES)}, found mesh"),
    ],
)
def test_what_no_sample_can_be(topology, number, text):
    with pytest.raises(sample.NoSample) as error:
        sample.find(topology, number)
    assert str(error.value) == f"sample inventory - {text}. Write TOPOLOGY=NAME and perhaps NODES=NUMBER."

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a playbook changed is read from its recap."""

from __future__ import annotations

import pytest
import recap

FIRST = """
ok: [spark-1] => {"msg": "spark-9 : ok=1 changed=9 unreachable=0 failed=0"}
PLAY RECAP *********************************************************************
localhost                  : ok=2    changed=0    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0
spark-1                    : ok=31   changed=7    unreachable=0    failed=0    skipped=4    rescued=0    ignored=0
"""


@pytest.mark.parametrize(
    ("output", "changed", "status"),
    [
        (FIRST, {"localhost": 0, "spark-1": 7}, 1),
        (FIRST.replace("changed=7", "changed=0"), {"localhost": 0, "spark-1": 0}, 0),
        ("ERROR! the playbook could not be found\n", {}, 1),
    ],
    ids=["one host changed", "nothing changed", "no recap at all"],
)
def test_recap(output, changed, status, tmp_path, monkeypatch):
    (tmp_path / "log").write_text(output)
    monkeypatch.setattr("sys.argv", ["recap.py", str(tmp_path / "log")])
    assert recap.changes(output) == changed
    assert int(recap.main()) == status

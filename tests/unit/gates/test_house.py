# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule of the house finds its breach, and nothing where there is none."""

from __future__ import annotations

import house
import pytest

HEADER = "\n".join(house.HEADER)
ROLE = {
    "roles/nccl/README.md": "",
    "roles/nccl/tasks/main.yml": "",
    "roles/nccl/defaults/main.yml": "nccl_state: present\n",
    "roles/nccl/meta/argument_specs.yml": "argument_specs: {main: {options: {nccl_state: {default: present}}}}",
}

BREACHES = [
    # (rule, files, messages)
    (house.budgets, {"plugins/modules/a.py": "\n" * 200}, []),
    (
        house.budgets,
        {"plugins/modules/a.py": "\n" * 201},
        ["plugins/modules/a.py - expected at most 200 lines, found 201. Move a part out, or state the reason in a comment '# budget: ...'."],
    ),
    (house.budgets, {"plugins/modules/a.py": "\n" * 201 + "# budget: one table of all modes"}, []),
    (
        house.budgets,
        {"roles/a/tasks/main.yml": "\n" * 100, "roles/a/tasks/b.yml": "\n" * 51, "roles/b/tasks/main.yml": "\n" * 100},
        ["roles/a - expected at most 150 lines, found 151. Move a part out, or state the reason in a comment '# budget: ...'."],
    ),
    (house.forbidden, {"README.md": "a framework/of ../shared_things and /homework/"}, []),
    (
        house.forbidden,
        {"README.md": "\nsee /wor" + "k/here"},
        ["README.md:2 - expected no such text, found '/wor" + "k/'. Name no path of one machine; copy what is needed into the repository."],
    ),
    (
        house.forbidden,
        {"roles/a/tasks/main.yml": "host_key_" + "checking: no", "tests/unit/a.yml": "host_key_" + "checking: no"},
        ["roles/a/tasks/main.yml:1 - expected no such text, found 'host_key_" + "checking: no'. Write the host's key to a known_hosts file."],
    ),
    (house.licence, {"a.py": HEADER, "b": "#!/bin/sh\n" + HEADER, "__init__.py": "", "c.yml": "", "d.md": ""}, []),
    (
        house.licence,
        {"a.py": "import os", "b": "#!/bin/sh\nexit"},
        [
            "a.py - expected the licence header, found 'import os'. Copy it from another file.",
            "b - expected the licence header, found 'exit'. Copy it from another file.",
        ],
    ),
    (house.role_parts, ROLE, []),
    (
        house.role_parts,
        {**ROLE, "roles/nccl/defaults/main.yml": "nccl_state: absent\nnccl_source: wheel\nmode: 1\n"},
        [
            "role nccl: mode - expected a name that begins with nccl, found mode. Rename it.",
            "role nccl: mode - expected an option in meta/argument_specs.yml, found only a default. Document it.",
            "role nccl: nccl_source - expected an option in meta/argument_specs.yml, found only a default. Document it.",
            "role nccl: nccl_state - expected the documented default 'present', found 'absent'. Make them equal.",
        ],
    ),
    (
        house.role_parts,
        {**ROLE, "roles/nccl/defaults/main.yml": ""},
        ["role nccl: nccl_state - expected the documented default in defaults/main.yml, found none. Add it, or document no default."],
    ),
    (
        house.role_parts,
        {**ROLE, "roles/nccl/meta/argument_specs.yml": "argument_specs: {main: {options: {nccl_state: {default: present}, nccl_path: {}}}}"},
        [],
    ),
    (
        house.role_parts,
        {path: text for path, text in ROLE.items() if "README" not in path},
        ["roles/nccl - expected README.md, found no such file. Add it."],
    ),
    (house.tests_that_test, {"tests/unit/a/test_b.py": "def test_c():\n    assert 1\ndef test_d():\n    with pytest.raises(E):\n        f()"}, []),
    (
        house.tests_that_test,
        {"tests/unit/a/test_b.py": "def test_c():\n    '''Says much.'''\n    call(it)", "tests/unit/test_d.py": "x = 1"},
        [
            "tests/unit/a/test_b.py:1 - expected test_c to assert something, found no assertion. Write one, or delete the test.",
            "tests/unit/test_d.py - expected tests, found none. Write one, or delete the file.",
        ],
    ),
    (house.node_syntax, {"plugins/modules/a.py": "match x:\n    case 1: pass", "plugins/filter/a.py": "try: x\nexcept* E: y"}, []),
    (
        house.node_syntax,
        {"plugins/module_utils/a.py": "try:\n    x\nexcept* E:\n    y"},
        [
            "plugins/module_utils/a.py:4 - expected syntax of Python 3.10, found Exception groups are only supported in Python 3.11 and greater."
            " Write it in the older way."
        ],
    ),
    (house.return_keys, {"plugins/modules/a.py": "RETURN = 'ports: {type: dict}'"}, []),
    (
        house.return_keys,
        {"plugins/modules/a.py": "RETURN = 'items: {type: list}'"},
        ["plugins/modules/a.py - expected another return key, found items. Rename it."],
    ),
    (house.requirements, {"requirements.txt": "# why\nnetmiko>=4.8,<5\n", "tests/requirements.txt": "netmiko==4.8.1\n"}, []),
    (
        house.requirements,
        {"requirements.txt": "netmiko>=4.8,<5\n", "tests/requirements.txt": "netmiko==5.0.0; python_version > '3'\n"},
        ["tests/requirements.txt - expected netmiko>=4.8,<5, found 5.0.0. Pin a version that requirements.txt allows."],
    ),
    (
        house.requirements,
        {"meta/execution-environment.yml": "dependencies: {python: requirements.txt, system: bindep.txt}", "requirements.txt": ""},
        ["meta/execution-environment.yml - expected a file for system, found bindep.txt. Add it."],
    ),
    (house.action_group, {"plugins/modules/mikrotik_a.py": "", "meta/runtime.yml": "action_groups: {mikrotik: [mikrotik_a]}"}, []),
    (
        house.action_group,
        {"plugins/modules/mikrotik_a.py": "", "meta/runtime.yml": ""},
        ["meta/runtime.yml: action group mikrotik - expected ['mikrotik_a'], found []. Make them equal."],
    ),
]


@pytest.mark.parametrize(("rule", "texts", "messages"), BREACHES, ids=[f"{row[0].__name__}-{number}" for number, row in enumerate(BREACHES)])
def test_a_rule_finds_its_breaches_and_no_other(rule, texts, messages):
    assert sorted(rule(house.Files(texts))) == sorted(messages)


def test_every_rule_has_a_breach_and_a_clean_case():
    for rule in house.RULES:
        outcomes = {bool(messages) for tried, _texts, messages in BREACHES if tried is rule}
        assert outcomes == {True, False}, rule.__name__


def test_what_is_not_text_is_left_out(tmp_path):
    (tmp_path / "picture").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "text").write_text("é", encoding="utf-8")
    assert house.Files.of(tmp_path, {"picture", "text"}).texts == {"text": "é"}

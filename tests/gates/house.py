# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the house that no other tool knows; prints every breach and fails when there is one.

A rule is a function from the repository's files to messages. The tables on top are what most rules are about.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from export import REPOSITORY, tracked
from packaging.requirements import Requirement

# (files, most lines of a group, what a group is: one file, or all that share so many leading folders)
BUDGETS: tuple[tuple[str, int, int | None], ...] = (
    ("plugins/modules/*.py", 200, None),
    ("plugins/module_utils/*.py", 250, None),
    ("plugins/plugin_utils/*.py", 250, None),
    ("playbooks/*.yml", 25, None),
    ("roles/*/tasks/*.yml", 150, 2),
    ("inventories/*", 60, 2),
)
PUBLIC_VARIABLES = 10
REASON = re.compile(r"# budget: \w+( \w+)+")

HEADER = (
    "# Copyright (c) gb10.cluster contributors",
    "# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)",
    "# SPDX-License-Identifier: GPL-3.0-or-later",
)

# (files, text that must not be there, what to do); a class of one letter keeps a pattern from finding itself
FORBIDDEN: tuple[tuple[str, str, str], ...] = (
    ("*", r"(?<![\w.~-])/[w]ork/|\.\./[s]hared\b", "Name no path of one machine; copy what is needed into the repository."),
    ("*", r"StrictHostKey[C]hecking[ =]+(no|off)\b", "Write the host's key to a known_hosts file."),
    ("*", r"#\s*[n]oqa", "Repair what the linter found."),
    (".ansible-lint", r"\b(skip|warn)_list:", "Repair what the linter found."),
    ("[rpie]*/*.yml", r"host_key_[c]hecking:\s*(?i:false|no)\b", "Write the host's key to a known_hosts file."),
    ("[rpie]*/*.yml", r"ignore_[e]rrors:\s*(?i:true|yes)\b", "Say with failed_when what is no failure."),
)

# what Ansible itself puts into a result, or a name of a dict's methods (core 2.21 refuses those)
RETURN_KEYS = {"results", "skipped", "failed", "items", "keys", "values"}

NODE_PYTHON = (3, 10)
NODE_CODE = ("plugins/modules/*.py", "plugins/module_utils/*.py")


@dataclass(frozen=True)
class Files:
    """The repository as text: ``texts`` maps a relative path to the file's text; what is not UTF-8 is left out."""

    texts: dict[str, str]

    @classmethod
    def of(cls, root: Path, names: set[str]) -> Files:
        """Read the files ``names`` below ``root``."""
        texts = {}
        for name in sorted(names):
            try:
                texts[name] = (root / name).read_text(encoding="utf-8")
            except (UnicodeDecodeError, IsADirectoryError):
                continue
        return cls(texts)

    def matching(self, *patterns: str) -> Iterator[tuple[str, str]]:
        """Paths and texts of the files that match a pattern; ``*`` also spans folders."""
        for path, text in self.texts.items():
            if any(fnmatch(path, pattern) for pattern in patterns):
                yield path, text

    def data(self, path: str) -> Any:
        """The YAML of a file, or an empty dict when there is no such file."""
        return yaml.safe_load(self.texts.get(path, "")) or {}

    def roles(self) -> list[str]:
        """Names of the roles."""
        return sorted({path.split("/")[1] for path, _text in self.matching("roles/*/*")})


def budgets(files: Files) -> Iterator[str]:
    """No group of files is longer than its budget, unless one of them states a reason."""
    for pattern, limit, depth in BUDGETS:
        groups: dict[str, list[str]] = {}
        for path, text in files.matching(pattern):
            groups.setdefault("/".join(path.split("/")[:depth]), []).append(text)
        for group, texts in groups.items():
            lines = sum(len(text.splitlines()) for text in texts)
            if lines > limit and not any(REASON.search(text) for text in texts):
                yield message(group, f"at most {limit} lines", lines, "Move a part out, or state the reason in a comment '# budget: ...'.")


def forbidden(files: Files) -> Iterator[str]:
    """Nothing of the table ``FORBIDDEN`` is in a file."""
    for pattern, text, fix in FORBIDDEN:
        for path, content in files.matching(pattern):
            for found in re.finditer(text, content):
                line = content.count("\n", 0, found.start()) + 1
                yield message(f"{path}:{line}", "no such text", repr(found.group()), fix)


def licence(files: Files) -> Iterator[str]:
    """Every Python file and every script begins with the licence, a script after its first line."""
    for path, text in files.texts.items():
        lines = text.splitlines()
        script = text.startswith("#!")
        if text and (path.endswith((".py", ".sh")) or script) and tuple(lines[script : script + len(HEADER)]) != HEADER:
            yield message(path, "the licence header", repr(lines[script] if lines[script:] else ""), "Copy it from another file.")


def role_parts(files: Files) -> Iterator[str]:
    """Every role has its files, and its options are its default variables, with the same values."""
    for role in files.roles():
        for part in ("README.md", "defaults/main.yml", "meta/argument_specs.yml", "tasks/main.yml"):
            if f"roles/{role}/{part}" not in files.texts:
                yield message(f"roles/{role}", part, "no such file", "Add it.")
        specs = f"roles/{role}/meta/argument_specs.yml"
        options = files.data(specs).get("argument_specs", {}).get("main", {}).get("options", {})
        defaults = files.data(f"roles/{role}/defaults/main.yml")
        yield from _role_options(role, options, defaults)
        if len(options) > PUBLIC_VARIABLES and not REASON.search(files.texts.get(specs, "")):
            yield message(specs, f"at most {PUBLIC_VARIABLES} options", len(options), "Remove some, or state the reason in a comment '# budget: ...'.")


def _role_options(role: str, options: dict[str, Any], defaults: dict[str, Any]) -> Iterator[str]:
    """Compare a role's documented options with its defaults: an option without a default has none in either place."""
    for name in sorted(options.keys() | defaults.keys()):
        what = f"role {role}: {name}"
        if not name.startswith(role):
            yield message(what, f"a name that begins with {role}", name, "Rename it.")
        if name not in options:
            yield message(what, "an option in meta/argument_specs.yml", "only a default", "Document it.")
        elif name not in defaults:
            if "default" in options[name]:
                yield message(what, "the documented default in defaults/main.yml", "none", "Add it, or document no default.")
        elif "{{" not in str(defaults[name]) and options[name].get("default") != defaults[name]:
            yield message(what, f"the documented default {options[name].get('default')!r}", repr(defaults[name]), "Make them equal.")


def tests_that_test(files: Files) -> Iterator[str]:
    """A file of tests has tests, and a test asserts something, or expects an exception or a warning."""
    for path, text in files.matching("tests/unit/*test_*.py"):
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        if not functions:
            yield message(path, "tests", "none", "Write one, or delete the file.")
        for function in functions:
            if not any(isinstance(node, ast.Assert) or getattr(node, "attr", "") in ("raises", "warns") for node in ast.walk(function)):
                yield message(f"{path}:{function.lineno}", f"{function.name} to assert something", "no assertion", "Write one, or delete the test.")


def node_syntax(files: Files) -> Iterator[str]:
    """What runs on nodes is legal for their oldest Python."""
    for path, text in files.matching(*NODE_CODE):
        try:
            ast.parse(text, feature_version=NODE_PYTHON)
        except SyntaxError as error:
            yield message(f"{path}:{error.lineno}", "syntax of Python {}.{}".format(*NODE_PYTHON), error.msg, "Write it in the older way.")


def return_keys(files: Files) -> Iterator[str]:
    """No module returns a key that Ansible or a dict uses itself."""
    for path, text in files.matching("plugins/modules/*.py"):
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and getattr(node.targets[0], "id", "") == "RETURN":
                for key in RETURN_KEYS & (yaml.safe_load(str(node.value.value)) or {}).keys():
                    yield message(path, "another return key", key, "Rename it.")


def requirements(files: Files) -> Iterator[str]:
    """The tools' pins satisfy what the collection asks for, and the execution environment names files that exist."""
    pins = dict(line.split(";")[0].strip().split("==") for line in files.texts.get("tests/requirements.txt", "").splitlines() if "==" in line)
    for line in files.texts.get("requirements.txt", "").splitlines():
        if line and not line.startswith("#"):
            wanted = Requirement(line)
            if not wanted.specifier.contains(pins.get(wanted.name, "0")):
                yield message("tests/requirements.txt", line, pins.get(wanted.name), "Pin a version that requirements.txt allows.")
    for kind, path in files.data("meta/execution-environment.yml").get("dependencies", {}).items():
        if path not in files.texts:
            yield message("meta/execution-environment.yml", f"a file for {kind}", path, "Add it.")


def action_group(files: Files) -> Iterator[str]:
    """The action group holds every switch module, so that a playbook says the connection once."""
    modules = sorted(Path(path).stem for path, _text in files.matching("plugins/modules/mikrotik_*.py"))
    group = sorted(files.data("meta/runtime.yml").get("action_groups", {}).get("mikrotik", []))
    if modules != group:
        yield message("meta/runtime.yml: action group mikrotik", modules, group, "Make them equal.")


RULES: tuple[Callable[[Files], Iterator[str]], ...] = (
    budgets,
    forbidden,
    licence,
    role_parts,
    tests_that_test,
    node_syntax,
    return_keys,
    requirements,
    action_group,
)


def main() -> int:
    """Check the working tree against all rules."""
    files = Files.of(REPOSITORY, tracked())
    breaches = [f"{rule.__name__}: {breach}" for rule in RULES for breach in rule(files)]
    print("\n".join([*breaches, f"{len(breaches)} breaches of {len(RULES)} rules in {len(files.texts)} files"]))
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main())

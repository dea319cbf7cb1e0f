# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook, imported once for many runs: to start it, and to pack every module for the nodes, takes longer than most runs do.

A run is a process of its own, forked from one that has imported the program and done nothing with it; runs share the packed modules. As a
script it serves, and only then imports the program: a line on stdin, ``[folder, argument…]``, is one run in that folder, which then holds
what it printed in ``stdout`` and ``stderr``; a line on stdout is its exit status. :class:`WarmPlaybook` is the other side.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

KINDS = ("action", "cache", "callback", "connection", "filter", "inventory", "lookup", "strategy", "test", "vars")
"""Kinds of plugins that a run loads."""

WORK = "ansible_collections.gb10.cluster.plugins.plugin_utils"
"""What the collection's filters import when they are called; Ansible compiles it anew in every process."""

SECONDS = 600
"""After which a run counts as stuck."""


class WarmPlaybook:
    """The program in another process, whose environment is that of all runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextlib.contextmanager
    def started(cls, environment: Mapping[str, str]) -> Iterator[WarmPlaybook]:
        """Start it, and end it."""
        with subprocess.Popen([sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            yield cls(process)

    @property
    def pid(self) -> int:
        """The process whose children the runs are."""
        return self._process.pid

    def begin(self, folder: Path, *arguments: str) -> None:
        """Begin a run in ``folder``."""
        assert self._process.stdin
        print(json.dumps([str(folder), *arguments]), file=self._process.stdin, flush=True)

    def is_running(self, seconds: float) -> bool:
        """Whether the run has not ended ``seconds`` later."""
        assert self._process.stdout
        return not select.select([self._process.stdout], [], [], seconds)[0]

    def end(self) -> int:
        """Wait for the end of the run; returns its exit status, negative for the signal that ended it."""
        assert self._process.stdout
        return int(self._process.stdout.readline())


def _run(folder: str, *arguments: str) -> None:
    """Be ansible-playbook."""
    signal.alarm(SECONDS)
    os.chdir(folder)
    for number, name in enumerate((os.devnull, "stdout", "stderr")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.argv = ["ansible-playbook", *arguments]
    importlib.import_module("ansible.cli.playbook").PlaybookCLI.cli_executor(sys.argv)


def main() -> None:
    """Serve until stdin ends."""
    importlib.import_module("ansible.cli.playbook")
    loader = importlib.import_module("ansible.plugins.loader")
    warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
    loader.init_plugin_loader()
    for kind in KINDS:
        for _plugin in getattr(loader, f"{kind}_loader").all(class_only=True):
            pass
    for module in pkgutil.walk_packages(importlib.import_module(WORK).__path__, f"{WORK}."):
        importlib.import_module(module.name)
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            status = 70
            try:
                _run(*json.loads(line))
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()

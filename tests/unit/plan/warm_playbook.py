# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook, imported once for many runs: starting it takes longer than what these tests do with it.

A run is a process of its own, forked from one that has imported the program and done nothing with it. A line on stdin, ``[folder, argument…]``,
is one run in that folder, which then holds what it printed in ``stdout`` and ``stderr``; a line on stdout is its exit status.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import warnings

from ansible.cli.playbook import PlaybookCLI
from ansible.plugins import loader

KINDS = ("action", "cache", "callback", "connection", "filter", "inventory", "lookup", "strategy", "test", "vars")
"""Kinds of plugins that a run loads."""

SECONDS = 120
"""After which a run counts as stuck."""


def run(folder: str, *arguments: str) -> None:
    """Be ansible-playbook."""
    signal.alarm(SECONDS)
    os.chdir(folder)
    for number, name in enumerate((os.devnull, "stdout", "stderr")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
    PlaybookCLI.cli_executor(["ansible-playbook", *arguments])


def main() -> None:
    """Serve until stdin ends."""
    warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
    loader.init_plugin_loader()
    for kind in KINDS:
        for _plugin in getattr(loader, f"{kind}_loader").all(class_only=True):
            pass
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            status = 70
            try:
                run(*json.loads(line))
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()

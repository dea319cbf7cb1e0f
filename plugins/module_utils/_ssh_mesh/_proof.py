# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves the mesh: logs in to every node as the user would, with nobody there to answer a question."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils import _command
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import Account, acting_as
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home

Run = Callable[..., _command.Result]

_AT_ONCE = 4
"""Logins that one node tries at the same time: all nodes do it, and sshd drops some when ten are under way (``MaxStartups``)."""

_PAUSE = 1.0
"""Seconds before what failed is tried once more, for those that sshd dropped."""

_GRACE = 10
"""Seconds that a login may take after the connection stands: the start files of the user's shell run too."""

_FIXES = (
    (r"Permission denied", "Look at what sshd says there, journalctl -u ssh: AuthorizedKeysFile, AllowUsers, mode and owner of the home."),
    (r"Host key verification failed", "sshd there shows another key than its /etc/ssh/ssh_host_*_key.pub. Restart sshd, or set HostKey to those."),
    (r"timed out|No route|unreachable|refused|no answer in time", "Look at cables and firewalls, or set ssh_mesh_address to an address that works."),
    (r"Could not resolve", "Set ssh_mesh_address of that node to an address."),
    (r"Bad (owner|permissions|configuration)|configuration option", "Repair ~/.ssh/config and what it includes."),
)
_FIX = "See more with: ssh -v NAME."


class Login(TypedDict):
    """How one login went: ``message`` is None when it worked."""

    peer: str
    works: bool
    message: str | None


def prove(home: Home, name: str, peers: list[str], timeout: int, run: Run = _command.run, pause: float = _PAUSE) -> list[Login]:
    """Log in to each of ``peers`` from node ``name``; takes some 2 · (peers / 4) · (``timeout`` + 10) seconds at the very most.

    The order begins behind the node itself, so that not all begin with the same one.
    """
    begin = peers.index(name) + 1 if name in peers else 0
    order = peers[begin:] + peers[:begin]
    complaints: dict[str, str | None] = dict.fromkeys(order, "")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for round_pause in (0.0, pause):
            again = [peer for peer in order if complaints[peer] is not None]
            if again:
                time.sleep(round_pause)
                complaints.update(zip(again, pool.map(lambda peer: _login(home.account, peer, timeout, run), again)))
    return [{"peer": peer, "works": complaints[peer] is None, "message": _told(name, peer, complaints[peer])} for peer in peers]


def _login(account: Account, peer: str, timeout: int, run: Run) -> str | None:
    """Why a login did not work, or None. A connection that is open already proves nothing."""
    options = ["-o", "BatchMode=yes", "-o", "ControlPath=none", "-o", f"ConnectTimeout={timeout}"]
    done = run([*_become(account), "ssh", *options, "--", peer, "true"], timeout=timeout + _GRACE)
    return None if done.ok else done.complaint


def _become(account: Account) -> list[str]:
    """A command that runs another one as that user, without a session of its own. ssh takes ``~`` from ``HOME``."""
    if os.geteuid() == account.uid:
        return []
    identity = ["setpriv", f"--reuid={account.uid}", f"--regid={account.gid}", "--init-groups", "--"]
    return [*identity, "env", "-u", "SSH_AUTH_SOCK", f"HOME={account.home}", f"USER={account.name}", f"LOGNAME={account.name}"]


def _told(name: str, peer: str, complaint: str | None) -> str | None:
    if complaint is None:
        return None
    fix = next((fix for pattern, fix in _FIXES if re.search(pattern, complaint)), _FIX)
    return message(f"ssh from {name} to {peer}", "a login without a question", complaint, fix)


@contextmanager
def without_previous_key(home: Home) -> Iterator[None]:
    """Let ssh use the new key alone for a while; a run that dies here is mended by the next one."""
    with acting_as(home.account):
        os.replace(home.previous_settings, home.set_aside)
    try:
        yield
    finally:
        with acting_as(home.account):
            os.replace(home.set_aside, home.previous_settings)

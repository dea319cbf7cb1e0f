# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a node told nothing, in our grammar: from what Ansible, ssh and sudo say to what there is to do.

The texts on the left are those of OpenSSH 9 and 10, sudo 1.9, and ansible-core 2.19 and 2.21 (``plugins/connection/ssh.py``, ``plugins/action``).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._message import message

LONGEST = 100
"""Characters of somebody else's text that are shown."""


class Silence(TypedDict):
    """What to say of a node that told nothing."""

    message: str
    fix: str


class Known(NamedTuple):
    """A text that is known: a regular expression that it matches, what was expected instead, and what to do."""

    text: str
    expected: str
    fix: str


ANSWER, ROOT = "an answer over SSH", "to become root"
SUDO_ELSE = "where the nodes have different ones, set ansible_become_password of each in a vault."
COPY = "'ssh-copy-id USER@ADDRESS'"
LOG_IN = "Log in on it once by hand with ssh, and compare the key that it shows"

KNOWN = [
    Known("missing sudo password|a password is required", ROOT, f"Add -K, which asks once for the sudo password; {SUDO_ELSE}"),
    Known("incorrect sudo password|sorry, try again", ROOT, f"Give -K the sudo password of ansible_user; {SUDO_ELSE}"),
    Known("not in the sudoers|not allowed to (execute|run)|may not run sudo", ROOT, "Put this user into the group sudo on it, or set ansible_user."),
    Known("(sudo|su|doas): (command )?not found", ROOT, "Install sudo on it, or correct ansible_become_method and ansible_become_exe."),
    Known("privilege escalation prompt", ROOT, "See why 'sudo -v' takes so long on it; often it can not resolve its own host name."),
    Known("unprotected private key", ANSWER, "Run chmod 600 on your private key."),
    Known("identification has changed", ANSWER, f"If it was installed anew, run 'ssh-keygen -R ADDRESS'. {LOG_IN}; else correct ansible_host."),
    Known("host key verification failed|host key is known|host key checking", ANSWER, f"{LOG_IN}."),
    Known(r"permission denied( \(|,)|authentication failures", ANSWER, f"Set ansible_user to your user on it, and let your key in: {COPY}."),
    Known("could not resolve|not known|name resolution", ANSWER, "Set ansible_host to its address on the management network."),
    Known("connection refused", ANSWER, "Start or install its SSH server (openssh-server), or correct ansible_host and ansible_port."),
    Known("timed out|no route to host|network is unreachable", ANSWER, "Power it on, or correct ansible_host."),
    Known("sshpass", ANSWER, f"Install sshpass on this machine; or let your key in, {COPY}, and leave -k out."),
    Known("interpreter .*not found|python.*not found", "Python 3.10 or newer", "Install python3 on it, or correct ansible_python_interpreter."),
    Known("no space left", "room for a file of Ansible", "Make room on its disk."),
]
OTHER = {
    True: Known("", ANSWER, "Power it on, or correct ansible_host; 'ssh USER@ADDRESS' must log in without a question."),
    False: Known("", "facts of the machine", "Run this again with -vvv, which shows the whole of it."),
}
"""For a text that is not known, by whether Ansible calls the node unreachable."""

OURS = re.compile(" - expected .*, found ")
"""What a module of this collection refuses says by itself what to do."""

PREFIX = re.compile(r"Task failed: |Failed to connect to the host via \S+: |Data could not be sent to remote host .*?over ssh: ")


def silence(node: str, returned: dict[str, Any]) -> Silence | None:
    """What to say of a node that told nothing; None when it told something, or was not asked.

    :param returned: what connectx_info or connectx_ping returned, or Ansible in place of it.
    """
    if not returned or returned.get("skipped") or "connectx" in returned or "python" in returned:
        return None
    if not returned.get("unreachable") and OURS.search(str(returned.get("msg"))):
        return Silence(message=f"{node}: {returned['msg']}", fix="")
    told = _lines(returned.get("msg"))
    printed = _lines(returned.get("module_stderr"))
    for known in KNOWN:
        for line in told + printed + _lines(returned.get("module_stdout")):
            if re.search(known.text, line, re.IGNORECASE):
                return _said(node, known, line)
    unreachable = bool(returned.get("unreachable"))
    last = told[-1:] if unreachable else printed[-1:] + told[:1]  # ssh comes to the point last, Ansible first
    return _said(node, OTHER[unreachable], (last + ["nothing"])[0])


def _lines(text: Any) -> list[str]:
    """The lines of a text without what Ansible puts before them, and without ornaments."""
    lines = [line.strip(" @") for line in PREFIX.sub("", str(text or "")).splitlines()]
    return list(filter(None, lines))


def _said(node: str, known: Known, line: str) -> Silence:
    whole = line.rstrip(" .:!")
    short = whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 3]}..."
    return Silence(message=message(f"{node}: connection", known.expected, short, known.fix), fix=known.fix)

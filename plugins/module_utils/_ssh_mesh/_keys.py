# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key pair of a node: made there, replaced without a moment in which nobody can log in, and never read by us."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _command, _files
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError, acting_as
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._peers import comment

Run = Callable[..., _command.Result]

_PREVIOUS = "IdentityFile ~/.ssh/gb10/previous\n"


def ensure(home: Home, name: str, rotate: bool, check_mode: bool, run: Run = _command.run) -> dict[str, Any]:
    """Make the key pair unless it is there, or replace it.

    After a rotation the key before it stays in use beside the new one until :func:`forget`, so that it does not matter in which
    order, and when, the other nodes learn the new one. While one is kept there is no further rotation.

    :returns: ``{changed, diff, public_key, fresh, unfinished}``; ``public_key`` is None when check mode did not make it,
        ``unfinished`` tells that ``rotate`` found a rotation that was never proven.
    :raises MeshError: the key is not ours, or can not be made. :raises OSError: the system refused.
    """
    with acting_as(home.account):
        there, kept = home.private.exists(), home.previous.exists()
        public = _public(home.private, run) if there else None
        new = not there or (rotate and not kept)
        before = {home.public: _files.read(home.public), home.previous_settings: _files.read(home.previous_settings)}
        after = {home.public: f"{public} {comment(name)}\n", home.previous_settings: _PREVIOUS if kept or (there and new) else None}
        if not check_mode and (new or before != after):
            with ExitStack() as undo:
                _home.prepare(home, undo)
                if new:
                    public = _replace(home, name, undo, run)
                    after[home.public] = f"{public} {comment(name)}\n"
                for file, text in after.items():
                    _files.write(file, text, undo, 0o600)
                undo.pop_all()
    after[home.public] = f"(new key of {name}) {comment(name)}\n" if new else after[home.public]
    diff = [
        {"before": before[file] or "", "after": after[file] or "", "before_header": str(file), "after_header": str(file)}
        for file in after
        if before[file] != after[file]
    ]
    known = None if new and check_mode else public
    return {"changed": bool(diff), "diff": diff, "public_key": known, "fresh": new, "unfinished": rotate and kept}


def _public(private: Path, run: Run) -> str:
    """Type and public half of a private key, as ssh-keygen works it out."""
    mode = private.stat().st_mode & 0o777
    if mode & 0o077:
        fix = f"Others may have read it: chmod 600 {private}, and run with ssh_mesh_rotate: true."
        raise MeshError(message(str(private), "mode 0600", f"{mode:04o}", fix))
    done = run(["ssh-keygen", "-y", "-P", "", "-f", str(private)])
    words = done.stdout.split()
    if not done.ok or words[:1] != ["ssh-ed25519"]:
        fix = "Move it away and run again, a new one is made."
        raise MeshError(message(str(private), "an ed25519 key without passphrase", words[0] if done.ok and words else done.complaint, fix))
    return " ".join(words[:2])


def _replace(home: Home, name: str, undo: ExitStack, run: Run) -> str:
    """Make a new key pair and put it in the place of the present one, which is kept and in use all the time; returns type and public half."""
    halves = (home.new, home.new.with_suffix(".pub"))
    for half in halves:
        half.unlink(missing_ok=True)
        undo.callback(half.unlink, missing_ok=True)
    done = run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment(name), "-f", str(home.new)])
    if not done.ok:
        raise MeshError(message(f"new key of {name}", "ssh-keygen to make it", done.complaint, "Install openssh-client, and look at the space in the home."))
    public = _public(home.new, run)
    if home.private.exists():
        _files.keep(home.private, home.previous, undo)
        _files.write(home.previous_settings, _PREVIOUS, undo, 0o600)
    _files.rename(home.new, home.private, undo)
    halves[1].unlink()
    return public


def forget(home: Home) -> None:
    """Remove the key before a rotation; from here on only the new one is used."""
    for file in (home.previous, home.previous_settings, home.set_aside):
        file.unlink(missing_ok=True)

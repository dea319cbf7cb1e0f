# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose mesh it is: the account on this node, and acting as that user instead of root."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils._files import advice
from ansible_collections.gb10.cluster.plugins.module_utils._message import message


class MeshError(Exception):
    """Something can not be done and nothing was left half done; each argument is one text in the collection's grammar."""

    def __str__(self) -> str:
        """All texts, one a line."""
        return "\n".join(str(text) for text in self.args)


def of_system(error: OSError) -> MeshError:
    """The same for what the system refused while files were read or written."""
    what = str(error.filename2 or error.filename or "files of the SSH mesh")
    fix = "Look at owner, mode, space and mount options of that place; without root (become: true) only your own files can be changed."
    return MeshError(message(what, "to be readable and writable", error.strerror or str(error), advice(error, fix)))


@dataclass(frozen=True)
class Account:
    """A user of this node, as the system's user database has it: sshd and ssh take the home from there, not from ``$HOME``."""

    name: str
    uid: int
    gid: int
    home: Path


def find(wanted: str | None, environ: Mapping[str, str], login: int) -> Account:
    """The account of ``wanted``, else of the user who logged in.

    :param environ: where sudo tells who called it.
    :param login: the user id that owns the session by which we are here.
    :raises MeshError: no such account, no home, root without being named, or somebody else's without root.
    """
    if not wanted and (environ.get("SUDO_USER") or _name(login)) == "root":
        raise MeshError(message("user of the SSH mesh", "the user who logs in, not root", "root", "Name the user in ssh_mesh_user, also if it is root."))
    name = wanted or environ.get("SUDO_USER") or _name(login)
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise MeshError(message(f"user {name}", "an account on this node", "none", "Create it, or correct ssh_mesh_user.")) from None
    if not os.path.isdir(entry.pw_dir):
        raise MeshError(message(f"home of {name}", "a folder", f"none at {entry.pw_dir}", "Create it, or correct ssh_mesh_user."))
    if os.geteuid() not in (0, entry.pw_uid):
        raise MeshError(message(f"user {name}", "root, or that user, to run this", _name(os.geteuid()), "Run with become: true."))
    return Account(name, entry.pw_uid, entry.pw_gid, Path(entry.pw_dir))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@contextmanager
def acting_as(account: Account | None) -> Iterator[None]:
    """Do what is inside as that user, so that no link in a home leads root anywhere and every file has the right owner.

    None, and the user who runs this anyway, change nothing.
    """
    if account is None or os.geteuid() == account.uid:
        yield
        return
    groups, gid = os.getgroups(), os.getegid()
    try:
        os.setgroups(os.getgrouplist(account.name, account.gid))
        os.setegid(account.gid)
        os.seteuid(account.uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(gid)
        os.setgroups(groups)

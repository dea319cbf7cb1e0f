# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where everything lies in a home, what of it was made by us, and what sshd and ssh would not put up with there."""

from __future__ import annotations

import grp
import os
import pwd
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import Account, MeshError, acting_as

MOUNTS = Path("/proc/self/mounts")
REMOTE = {"9p", "afs", "autofs", "beegfs", "ceph", "cifs", "fuse", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "smb3"}
"""Types of file systems that another machine serves, or that mount one when they are looked at; of ``fuse.sshfs`` the first part."""


@dataclass(frozen=True)
class Home:
    """The paths; all of them are read and written as the account's user."""

    account: Account

    @property
    def ssh(self) -> Path:
        """The user's folder."""
        return self.account.home / ".ssh"

    @property
    def authorized(self) -> Path:
        """Who may log in; the user's file."""
        return self.ssh / "authorized_keys"

    @property
    def config(self) -> Path:
        """The settings of ssh; the user's file."""
        return self.ssh / "config"

    @property
    def settings(self) -> Path:
        """Our settings of ssh, which ``config`` includes."""
        return self.ssh / "config.d" / "gb10.conf"

    @property
    def ours(self) -> Path:
        """The folder in which nobody else writes."""
        return self.ssh / "gb10"

    @property
    def known(self) -> Path:
        """The host keys of all nodes."""
        return self.ours / "known_hosts"

    @property
    def private(self) -> Path:
        """The private key; the public one lies beside it."""
        return self.ours / "id_ed25519"

    @property
    def public(self) -> Path:
        """The public key."""
        return self.ours / "id_ed25519.pub"

    @property
    def previous(self) -> Path:
        """The private key before a rotation, until the new one is proven everywhere."""
        return self.ours / "previous"

    @property
    def previous_settings(self) -> Path:
        """Makes ssh try that key too."""
        return self.ours / "previous.conf"

    @property
    def set_aside(self) -> Path:
        """The same while only the new key is to be tried."""
        return self.ours / "previous.conf.aside"

    @property
    def new(self) -> Path:
        """A private key that is being made; the public one lies beside it."""
        return self.ours / "new"

    @property
    def record(self) -> Path:
        """The paths of others' places that were not there before us, one a line."""
        return self.ours / "made"


def made(home: Home) -> set[Path]:
    """What absent may remove when nothing of others is left in it: what the record says, and what lies in our folder."""
    return {home.known, *map(Path, _recorded(home))}


def _recorded(home: Home) -> list[str]:
    """The lines of the record. Raises MeshError for one that is no path: what else is missing can not be told."""
    lines = (_files.read(home.record) or "").splitlines()
    for line in lines:
        if not line.startswith("/"):
            fix = "Remove it: absent then leaves the files and folders of the home that are empty without our lines."
            raise MeshError(message(str(home.record), "one path a line", repr(line), fix))
    return lines


def prepare(home: Home, undo: ExitStack) -> None:
    """Make the folders, and record those that are not ours alone."""
    new = [home.ssh] if _files.make_folder(home.ssh, undo, 0o700) else []
    _files.make_folder(home.ours, undo, 0o700)
    note(home, new, undo)


def note(home: Home, paths: list[Path], undo: ExitStack) -> None:
    """Record that these were not there before us."""
    if paths:
        lines = sorted({*_recorded(home), *map(str, paths)})
        _files.write(home.record, "\n".join([*lines, ""]), undo, 0o600)


def refuse(home: Home) -> None:
    """Raise MeshError for everything whose owner or mode makes sshd or ssh ignore it, or us unable to write it."""
    with acting_as(home.account):
        if found := _refusals(home):
            raise MeshError(*found)


def _refusals(home: Home) -> list[str]:
    walls = {wall for folder in (home.ours, home.settings.parent) if (wall := _files.wall(folder))}
    if walls:
        return [message(part, "a folder, or nothing", what, "Move it away, a folder is made.") for part, what in sorted(walls)]
    found = []
    for path in (home.account.home, home.ssh, home.settings.parent, home.authorized, home.config):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        owners = (home.account.uid, 0) if path == home.account.home else (home.account.uid,)
        if status.st_uid not in owners:
            fix = f"Give it back: chown {home.account.name} {path}."
            found.append(message(str(path), f"to belong to {home.account.name}", f"the user id {status.st_uid}", fix))
        if status.st_mode & 0o002 or status.st_mode & 0o020 and not _private(status.st_gid, home.account):
            fix = f"sshd and ssh ignore it. Repair it: chmod go-w {path}."
            found.append(message(str(path), "to be writable by its owner alone", f"mode {status.st_mode & 0o7777:04o}", fix))
    return found


def _private(gid: int, account: Account) -> bool:
    """Whether a group is the user's own, as on Debian and Ubuntu, whose OpenSSH accepts what such a group may write."""
    try:
        return gid == account.gid and set(grp.getgrgid(gid).gr_mem) <= {account.name}
    except KeyError:
        return False


def clear(home: Home, undo: ExitStack) -> None:
    """Remove what is ours alone, and the folders that were made by us and are empty.

    Keys go when nothing can fail any more, and the record after them: a run that is killed here is finished by the next one.
    """
    ours = made(home)
    for file in (home.previous_settings, home.set_aside, home.public):
        _files.write(file, None, undo)
    if home.settings.parent in ours:
        _files.remove_folder(home.settings.parent, undo)
    for file in (home.new, home.new.with_suffix(".pub"), home.previous, home.private, home.record):
        file.unlink(missing_ok=True)
    for folder in (home.ours, *([home.ssh] if home.ssh in ours else [])):
        _files.remove_if_empty(folder)


def others(home: Home) -> dict[str, str]:
    """Who else has a mesh on this node, and where: the accounts that the system lists, seen by root alone. Homes that another machine serves are
    left out, except those beside our own: a look would mount each of them, and hang where its server is dead."""
    if os.geteuid() != 0:
        return {}
    mounts = MOUNTS.read_text("utf-8", "surrogateescape")
    accounts = (Account(entry.pw_name, entry.pw_uid, entry.pw_gid, Path(entry.pw_dir)) for entry in pwd.getpwall())
    places = {account.name: Home(account).ours for account in accounts}
    near = {name: str(place) for name, place in places.items() if place != home.ours and _is_near(place, home.ours, mounts)}
    return {name: place for name, place in near.items() if os.path.isdir(place)}


def _is_near(place: Path, own: Path, mounts: str) -> bool:
    """Whether ``place`` lies on a file system of this machine or on the one of ``own``, told by the table of mounts without touching it."""
    point, kind = _mount(place, mounts)
    return kind.partition(".")[0] not in REMOTE or point == _mount(own, mounts)[0]


def _mount(place: Path, mounts: str) -> tuple[str, str]:
    """Mount point and type of the file system of ``place``; of two mounts in one point the later one is seen."""
    found = ("/", "")
    for row in mounts.splitlines():
        point, kind = row.split(" ")[1:3]
        # the table has these signs in octal (proc_pid_mounts(5))
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)
        if place.is_relative_to(point) and len(point) >= len(found[0]):
            found = (point, kind)
    return found


def left(home: Home) -> list[Path]:
    """The files in our folder that :func:`clear` removes and that are there."""
    names = (home.private, home.public, home.previous, home.previous_settings, home.set_aside, home.new, home.new.with_suffix(".pub"), home.record)
    return [path for path in names if os.path.lexists(path)]

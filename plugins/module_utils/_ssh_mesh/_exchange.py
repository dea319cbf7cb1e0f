# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what a node knows about all nodes into its files, or takes it out again: all of them or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh import _blocks, _home, _peers
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import Account, MeshError, acting_as
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._home import Home
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._peers import Peer

HOSTS = Path("/etc/hosts")

_INCLUDE = {"the nodes of the cluster": ["Include config.d/gb10.conf"]}

Lines = Callable[[Peer], list[str]]


@dataclass(frozen=True)
class Target:
    """One file: who writes it (None: whoever runs this), the lines of a node in it and what a diff shows of them."""

    file: Path
    writer: Account | None
    lines: Lines
    shown: Lines
    mode: int = 0o600


@dataclass(frozen=True)
class Change:
    """What becomes of one file, None for no file; ``shown`` is its text as a diff shows it."""

    target: Target
    before: str | None
    after: str | None
    shown: str | None


def exchange(home: Home, names: list[str], peers: list[Peer], hosts_file: bool, check_mode: bool, hosts: Path = HOSTS) -> dict[str, Any]:
    """Make the files say what ``peers`` say.

    :param names: all nodes of the mesh, in the order of the lines. Those without a peer keep the lines they have; others lose them.
    :param hosts_file: whether the names go into ``hosts``.
    :returns: ``{changed, diff}`` of the module.
    :raises MeshError: what others own stands in the way. :raises OSError: the system refused, and all is as before.
    """
    of_hosts = _peers.hosts if hosts_file else _nothing
    table = (
        Target(home.known, home.account, _peers.known, _peers.known),
        Target(home.settings, home.account, _peers.settings, _peers.settings),
        Target(home.authorized, home.account, _peers.authorized, _peers.authorized_shown),
        Target(hosts, None, of_hosts, of_hosts, 0o644),
    )
    _home.refuse(home)
    with acting_as(home.account):
        made = _home.made(home)
        changes = [*(_change(target, names, peers, made) for target in table), _include(home, bool(names), made)]
    return _apply(home, changes, check_mode)


def withdraw(home: Home, check_mode: bool, hosts: Path = HOSTS, *, names_stay: bool = False) -> dict[str, Any]:
    """Take our lines out of all files, and remove the key pair and what else is ours; raises as :func:`exchange`.

    :param names_stay: somebody else's mesh needs the names in ``hosts``.
    """
    table = [Target(file, home.account, _nothing, _nothing) for file in (home.known, home.settings, home.authorized)]
    table += [] if names_stay else [Target(hosts, None, _nothing, _nothing)]
    with acting_as(home.account):
        made = _home.made(home)
        changes = [_include(home, False, made), *(_change(target, [], [], made) for target in table)]
        left, public = _home.left(home), _files.read(home.public) or ""
    result = _apply(home, changes, check_mode, clear=bool(left))
    if not left:
        return result
    names = "".join(f"{path.name}\n" for path in left)
    own = {"before": names + public, "after": "", "before_header": str(home.ours), "after_header": str(home.ours)}
    return {"changed": True, "diff": [*result["diff"], own]}


def _nothing(_peer: Peer) -> list[str]:
    return []


def _change(target: Target, names: list[str], peers: list[Peer], made: set[Path]) -> Change:
    """The text of one file after this run."""
    before, found, rest = _read(target.file, target.lines is not _nothing)
    kept = {} if target.lines is _nothing else found
    texts = []
    for lines in (target.lines, target.shown):
        entries = _blocks.merge(names, {peer["name"]: lines(peer) for peer in peers}, kept)
        texts.append(_text(target.file, before, _blocks.join(entries, rest), made))
    return Change(target, before, *texts)


def _include(home: Home, wanted: bool, made: set[Path]) -> Change:
    """The one line in the user's settings of ssh."""
    before, _found, rest = _read(home.config, wanted)
    text = _text(home.config, before, _blocks.join(_INCLUDE if wanted else {}, rest), made)
    return Change(Target(home.config, home.account, _nothing, _nothing), before, text, text)


def _read(file: Path, wanted: bool) -> tuple[str | None, _blocks.Entries, str]:
    """A file's text, our entries in it, and the rest; ``wanted``: whether entries are to be there afterwards."""
    before = _files.read(file) if wanted else _files.remains(file)
    try:
        return (before, *_blocks.split(before or ""))
    except ValueError as mark:
        fix = "Mend or remove that block."
        raise MeshError(message(f"{file}: {mark}", f"{_blocks.END} after it", "another beginning or the end of the file", fix)) from None


def _text(file: Path, before: str | None, after: str, made: set[Path]) -> str | None:
    """No file instead of an empty one, where there was none before us."""
    return None if not after and (before is None or file in made) else after


def _apply(home: Home, planned: list[Change], check_mode: bool, clear: bool = False) -> dict[str, Any]:
    """Write what differs, or nothing; with ``clear`` also remove what is ours alone."""
    changes = [change for change in planned if change.before != change.after]
    for change in changes:
        if change.target.writer is None and os.geteuid() != 0 and not os.access(change.target.file, os.W_OK):
            fix = "Run with become: true, or set ssh_mesh_hosts_file: false."
            raise MeshError(message(str(change.target.file), "to be writable", "no permission", fix))
    if not check_mode:
        with ExitStack() as undo:
            _write(home, changes, undo)
            if clear:
                with _acting_as(home.account, undo) as inner:
                    _home.clear(home, inner)
            undo.pop_all()
    return {"changed": bool(changes), "diff": [_diff(change) for change in changes]}


def _write(home: Home, changes: list[Change], undo: ExitStack) -> None:
    """Write all changes; what was not there before is recorded first."""
    new = [change.target.file for change in changes if change.before is None]
    if new:
        with _acting_as(home.account, undo) as inner:
            _home.prepare(home, inner)
            folder = home.settings.parent
            _home.note(home, [*new, *([folder] if home.settings in new and not folder.exists() else [])], inner)
            if home.settings in new:
                _files.make_folder(folder, inner, 0o700)
    for change in changes:
        with _acting_as(change.target.writer, undo) as inner:
            _files.write(change.target.file, change.after, inner, change.target.mode)


@contextmanager
def _acting_as(account: Account | None, undo: ExitStack) -> Iterator[ExitStack]:
    """Do something as that user, and take it back as that user."""
    with acting_as(account), ExitStack() as inner:
        yield inner
        kept = inner.pop_all()

    def take_back() -> None:
        with acting_as(account):
            kept.close()

    undo.callback(take_back)


def _diff(change: Change) -> dict[str, str]:
    header = str(change.target.file)
    before, after = (_blocks.shown(text or "").encode("utf-8", "replace").decode() for text in (change.before, change.shown))
    return {"before": before, "after": after, "before_header": header, "after_header": header}

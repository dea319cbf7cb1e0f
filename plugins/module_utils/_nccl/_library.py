# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL on this node: what is there, and what should be. Nothing is changed here."""

from __future__ import annotations

from typing import TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._records import Damaged, parse
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _apt, _probe, _tree, _wheel
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import version_code
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._proof import prove_tree
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._wanted import Machine, Wanted, library

LOADS, NOT_CONFIGURED = "loads it", "not configured"


class State(TypedDict):
    """What the module manages: our versions on disk, what killed runs left there, where ``current`` leads, what the dynamic
    loader does, and the packages (name to full version, with `` held`` behind it)."""

    versions: list[str]
    unfinished: list[str]
    current: str | None
    loader: str
    packages: dict[str, str]


def read(wanted: Wanted, machine: Machine) -> State:
    """The state of this node, as far as what is wanted touches it. A damaged version counts as not there."""
    versions = _tree.versions(wanted.prefix)
    if wanted.unpacked and not _tree.whole(wanted.root, wanted.sha256):
        versions = [name for name in versions if name != wanted.version]
    return {
        "versions": versions,
        "unfinished": _tree.unfinished(wanted.prefix),
        "current": str(wanted.current.readlink()) if wanted.current.is_symlink() else None,
        "loader": _read_loader(wanted, machine),
        "packages": _read_packages(wanted, machine),
    }


def _read_loader(wanted: Wanted, machine: Machine) -> str:
    """A file of ours for another prefix is not ours to take away, only to take over."""
    needed = wanted.present and wanted.loader and not wanted.packaged
    text = _files.read(machine.loader) if needed else _files.remains(machine.loader)
    if text != wanted.loader_text:
        return "configured for another prefix" if text and needed else NOT_CONFIGURED
    taken = _probe.load(_probe.SONAME, machine.runner).path
    return LOADS if taken == str(library(wanted.current).resolve()) else f"loads {taken}"


def _read_packages(wanted: Wanted, machine: Machine) -> dict[str, str]:
    """Packages matter when they are the source, or when they were and everything has to go."""
    if not wanted.packaged and (wanted.present or not wanted.remembered.exists()):
        return {}
    found = _apt.installed(machine.runner)
    return {name: f"{package.version} held" if package.held else package.version for name, package in sorted(found.items())}


class Remembered(TypedDict):
    """Which packages were not there before us, and which we hold."""

    added: list[str]
    held: list[str]


def remembered(wanted: Wanted) -> Remembered:
    """What the note says, nothing when there is none. Raises Damaged."""
    text = _files.read(wanted.remembered)
    fix = f"Remove it, and see to {' and '.join(_apt.PACKAGES)} by hand: which of them were there before can not be told any more."
    return {"added": [], "held": []} if text is None else parse(str(wanted.remembered), text, Remembered, fix)


def target(wanted: Wanted, found: State, machine: Machine) -> State:
    """What the state should become. Raises NcclError with every refusal; nothing was touched then."""
    wall = _files.wall(wanted.prefix)
    blocked = [message(wall[0], "a folder, or nothing", wall[1], "Move it away, or use another prefix.")] if wall else []
    if not wanted.present:
        ours = remembered(wanted)
        left = {name: text for name, text in found["packages"].items() if name not in ours["added"]}
        free = {name: text.removesuffix(" held") if name in ours["held"] else text for name, text in left.items()}
        gone: State = {"versions": [], "unfinished": [], "current": None, "loader": NOT_CONFIGURED, "packages": free}
        if blocked and found != gone:
            raise NcclError(*blocked)
        return gone
    refusals = blocked + refuse(wanted, found, machine)
    packages: dict[str, str] = {}
    if wanted.packaged and not refusals:
        full = _apt.resolve(wanted.version, _apt.installed(machine.runner), machine.runner)
        packages = {name: f"{full} held" for name in sorted(_apt.PACKAGES)}
    if refusals:
        raise NcclError(*refusals)
    versions = sorted({*found["versions"], *([wanted.version] if wanted.unpacked else [])}, key=lambda name: version_code(name) or 0)
    if wanted.staged:
        return {**found, "versions": versions, "unfinished": []}
    return {
        "versions": versions,
        "unfinished": [],
        "current": None if wanted.packaged else wanted.version if wanted.unpacked else str(wanted.path),
        "loader": LOADS if wanted.loader and not wanted.packaged else NOT_CONFIGURED,
        "packages": packages,
    }


def refuse(wanted: Wanted, found: State, machine: Machine) -> list[str]:
    """Everything that can not work, before anything is touched."""
    code, least = version_code(wanted.version), version_code(wanted.minimum_version or "0.0.0")
    named = (("version", code, wanted.version), ("minimum_version", least, wanted.minimum_version))
    refusals = [message(name, "X.Y.Z as in 2.30.7", text, "Name one exact release of NCCL.") for name, number, text in named if number is None]
    if code and least and code < least:
        fix = "Use that release or a newer one."
        refusals.append(message("version of NCCL", f"{wanted.minimum_version} or newer for this topology", wanted.version, fix))
    if wanted.current.exists() and not wanted.current.is_symlink():
        refusals.append(message(str(wanted.current), "a link of ours, or nothing", "something else", "Move it away, or use another prefix."))
    if wanted.staged and not wanted.unpacked:
        refusals.append(message("source of a staged NCCL", "wheel or file", wanted.source, "Use state present; there is nothing to unpack."))
    if wanted.unpacked and wanted.version not in found["versions"]:
        refusals += _refuse_wheel(wanted, machine)
    if wanted.packaged:
        try:
            remembered(wanted)
        except Damaged as damaged:
            refusals += damaged.args
    if wanted.present and wanted.source == "path" and code:
        try:
            prove_tree(wanted.root, wanted, machine)
        except NcclError as error:
            refusals += error.args
    return refusals


def _refuse_wheel(wanted: Wanted, machine: Machine) -> list[str]:
    """What stands in the way of unpacking a wheel."""
    refusals = []
    if wanted.root.is_symlink() or (wanted.root.exists() and _tree.record(wanted.root) is None):
        refusals.append(message(str(wanted.root), "nothing, or what we unpacked", "somebody's files", "Move them away, or use another prefix."))
    if wanted.source == "wheel" and _wheel.installer(machine.runner) is None:
        refusals.append(_wheel.no_installer(wanted.version))
    if wanted.source == "file" and wanted.wheel and not wanted.wheel.is_file():
        refusals.append(message("wheel", "a file on this node", str(wanted.wheel), "Copy the wheel there, or correct the path."))
    return refusals

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes NCCL on this node what was asked for, all of it or nothing, and proves it by loading the library."""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _apt, _tree, _wheel
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import digest, version_code
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._library import LOADS, State, read, remembered, target
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._proof import Proof, prove, prove_tree
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._wanted import Machine, Wanted


def ensure(wanted: Wanted, machine: Machine, check_mode: bool) -> dict[str, Any]:
    """Compare, change if need be, and prove; returns what the module returns. Raises NcclError or OSError."""
    installing = _tree.wait(wanted.prefix, wanted.wait)  # before the state is read: when nobody is at work, the state is what they left
    before = read(wanted, machine)
    after = target(wanted, before, machine)
    changed, proof = before != after, None
    result: dict[str, Any] = {"changed": changed, "installed": not changed, "installing": installing, "diff": {"before": before, "after": after}}
    unknown = after["versions"] != before["versions"] and not _wheel.expected_sum(wanted.version, wanted.sha256)
    result["warnings"] = [_wheel.without_sum(wanted.version)] if wanted.unpacked and unknown else []
    if not wanted.present:
        if changed and not check_mode:
            remove(wanted, machine)
        return result
    if not changed:
        proof = prove(wanted, machine)
    elif not check_mode:
        proof = install(wanted, machine)
    return {
        **result,
        "source": wanted.source,
        "version": wanted.version,
        "version_code": version_code(wanted.version),
        "library": proof.library if proof else None,
        "cuda": proof.build.cuda if proof else None,
        "build": proof.build.text if proof else None,
    }


def install(wanted: Wanted, machine: Machine) -> Proof:
    """Put the NCCL that was asked for on this node. Raises NcclError or OSError; the node is then as before."""
    with ExitStack() as folders:
        _files.make_folder(wanted.prefix, folders)
        with _tree.exclusive(wanted.prefix), _tree.incoming(wanted.prefix) as scratch, ExitStack() as undo:
            found = read(wanted, machine)
            goal = target(wanted, found, machine)
            if goal["versions"] != found["versions"]:
                _unpack(wanted, machine, scratch, undo)
            if goal["packages"] != found["packages"]:
                _install_packages(wanted, machine, found, goal, undo)
            _switch(wanted, machine, found, goal, undo)
            proof = prove(wanted, machine)
            undo.pop_all()
        folders.pop_all()
    return proof


def remove(wanted: Wanted, machine: Machine) -> None:
    """Take away what we put there, and nothing else. Raises NcclError or OSError; running it again goes on from there."""
    with ExitStack() as folders:
        _files.make_folder(wanted.prefix, folders)
        with _tree.exclusive(wanted.prefix), ExitStack() as undo:
            found = read(wanted, machine)
            goal = target(wanted, found, machine)
            _remove_packages(machine, found, goal)
            _switch(wanted, machine, found, goal, undo)
            undo.pop_all()
            for version in found["versions"]:
                _tree.remove(wanted.prefix / version)
            wanted.remembered.unlink(missing_ok=True)
    _files.remove_if_empty(wanted.prefix)
    if wanted.prefix.parent.name == "gb10":
        _files.remove_if_empty(wanted.prefix.parent)


def _unpack(wanted: Wanted, machine: Machine, scratch: Path, undo: ExitStack) -> None:
    """Fetch, check, unpack, prove, and only then put the version in its place."""
    wheel = _wheel.download(wanted.version, scratch, machine.runner) if wanted.source == "wheel" else wanted.wheel
    if wheel is None:
        raise NcclError(message("wheel", "the path of a wheel for source 'file'", "none", "Set the option wheel."))
    tree = scratch / "tree"
    tree.mkdir()
    tree.chmod(0o755)
    _wheel.unpack(wheel, tree, wanted.version, _wheel.expected_sum(wanted.version, wanted.sha256))
    _tree.seal(tree, wanted.version, digest(wheel))
    prove_tree(tree, wanted, machine)
    _tree.place(tree, wanted.root, undo)


def _install_packages(wanted: Wanted, machine: Machine, found: State, goal: State, undo: ExitStack) -> None:
    """Install and hold the packages; what of that is ours is remembered first, in case the run is killed."""
    before, ours = _apt.installed(machine.runner), remembered(wanted)
    ours["added"] = sorted({*ours["added"], *(name for name in _apt.PACKAGES if name not in before)})
    ours["held"] = sorted({*ours["held"], *(name for name in _apt.PACKAGES if name not in before or not before[name].held)})
    _files.write(wanted.remembered, json.dumps(ours) + "\n", undo)
    undo.callback(_restore_packages, before, machine)
    full = goal["packages"][_apt.PACKAGES[0]].removesuffix(" held")
    if {package.version for package in before.values()} != {full} or len(before) < len(_apt.PACKAGES):
        _apt.install(full, machine.runner)
    _apt.hold(True, _apt.PACKAGES, machine.runner)


def _restore_packages(before: dict[str, _apt.Package], machine: Machine) -> None:
    """Go back to the packages of before as far as apt still can; the failure to report is the one that led here."""
    with suppress(NcclError):
        now = _apt.installed(machine.runner)
        if free := [name for name in now if now[name].held and not (name in before and before[name].held)]:
            _apt.hold(False, free, machine.runner)
        if new := [name for name in now if name not in before]:
            _apt.remove(new, machine.runner)
        old = {package.version for package in before.values()}
        if len(before) == len(_apt.PACKAGES) and len(old) == 1 and {now[name].version for name in now} != old:
            _apt.install(old.pop(), machine.runner)


def _remove_packages(machine: Machine, found: State, goal: State) -> None:
    """Let go of the packages we hold, and remove those that were not there before us."""
    if free := [name for name, text in found["packages"].items() if goal["packages"].get(name) != text and text.endswith(" held")]:
        _apt.hold(False, free, machine.runner)
    if gone := [name for name in found["packages"] if name not in goal["packages"]]:
        _apt.remove(gone, machine.runner)


def _switch(wanted: Wanted, machine: Machine, found: State, goal: State, undo: ExitStack) -> None:
    """Let ``current`` and the dynamic loader point where they should."""
    if (found["current"], found["loader"]) == (goal["current"], goal["loader"]):
        return
    text = wanted.loader_text if goal["loader"] == LOADS else None
    touches_loader = text is not None or _files.remains(machine.loader) == wanted.loader_text
    if touches_loader:
        undo.callback(machine.runner, ["ldconfig"], 120.0)
    _files.point(wanted.current, goal["current"], undo)
    if touches_loader:
        _files.write(machine.loader, text, undo)
        result = machine.runner(["ldconfig"], 120.0)
        if not result.ok:
            raise NcclError(message("ldconfig", "success", result.complaint, "Repair the loader's configuration and run again."))

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes NCCL's settings into both files, or neither, and lets NCCL prove them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _probe, _settings
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError


def tell(settings: dict[str, str], conf: Path, environment: Path, library: Path | None, check_mode: bool) -> dict[str, Any]:
    """Compare, write if need be, and prove; returns ``{changed, diff, bootstrap}`` of the module. Raises NcclError or OSError."""
    walls = {wall for file in (conf, environment) if (wall := _files.wall(file.parent))}
    if walls and settings:
        raise NcclError(*(message(part, "a folder, or nothing", found, "Move it away, or name another place.") for part, found in sorted(walls)))
    look = _files.read if settings else _files.remains
    before = {conf: look(conf), environment: look(environment)}
    try:
        after = {conf: _settings.conf(before[conf], settings), environment: _settings.environment(settings)}
    except ValueError as mark:
        raise NcclError(message(f"{conf}: {mark}", f"{_settings.END} after it", "the end of the file", "Mend or remove that block.")) from None
    there = before[environment]
    if there is not None and not there.startswith(f"{_settings.HEADER}\n"):
        if settings:
            fix = "Set environment_file to a path of its own, or move that file away."
            raise NcclError(message(str(environment), "no file, or the one that this module wrote", "somebody's", fix))
        after[environment] = there
    changed, proven = before != after, None
    with ExitStack() as undo:
        if changed and not check_mode:
            for file, text in after.items():
                _files.write(file, text, undo)
        if settings and library and not (changed and check_mode):
            proven = _prove(settings, conf, library)
        undo.pop_all()
    if changed and not settings and not check_mode and environment.parent.name == "gb10":
        _files.remove_if_empty(environment.parent)
    diff = [
        {"before": _printable(before[file]), "after": _printable(after[file]), "before_header": str(file), "after_header": str(file)}
        for file in after
    ]
    return {"changed": changed, "diff": diff, "bootstrap": proven}


def _printable(text: str | None) -> str:
    """The text with a question mark for each byte that is no UTF-8."""
    return (text or "").encode("utf-8", "replace").decode()


def _prove(settings: dict[str, str], conf: Path, library: Path) -> dict[str, str | None]:
    """Let NCCL choose, and compare with the interface that was meant. Raises NcclError."""
    chosen, meant = _probe.bootstrap(str(library), conf), settings.get("NCCL_SOCKET_IFNAME", "").removeprefix("=")
    if chosen.error is not None or meant not in ("", chosen.interface):
        fix = "The interface must be up and carry an address; NCCL_DEBUG=INFO shows what NCCL sees."
        raise NcclError(message(f"bootstrap interface of NCCL under {conf}", meant or "any", chosen.error or chosen.interface, fix))
    return {"interface": chosen.interface, "address": chosen.address}

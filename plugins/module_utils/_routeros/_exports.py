# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a switch was before a change, as files on the switch."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from .._message import message
from ._command import quote
from ._rows import number
from ._session import Session, SwitchError

PREFIX = "gb10-"
_OURS = re.compile(re.escape(PREFIX) + r"\d{8}T\d{12}Z\.rsc\Z")
"""Names that only :func:`save` gives; what else begins with the prefix is its owner's and never removed."""


def save(session: Session, keep: int) -> str:
    """Save the configuration on the switch and drop all but the newest ``keep`` of our own exports, whatever the clock of this one. Returns its name."""
    name = PREFIX + datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%fZ")
    reply = session.run(f"/export file={name}")
    files = {str(row.get("name")): row for row in session.read("/file print as-value proplist=name,size")}
    file = files.get(f"{name}.rsc")
    failed = session.run(f":put [:find [/file get {quote(name + '.rsc')} contents] \"#error exporting\"]").text if file else ""
    if not reply.complete or file is None or number(file.get("size")) == 0 or number(failed) is not None:
        raise SwitchError(message(
            f"{session.name}: export before the change", f"a complete file {name}.rsc", reply.text or "an incomplete one",
            "Check free space and that the user's group has the policy ftp; nothing was changed."))
    ours = sorted(other for other in files if _OURS.match(other) and other != f"{name}.rsc")
    for old in ours[:max(0, len(ours) - keep + 1)] if keep else []:
        session.run(f"/file remove {quote(old)}")
    return f"{name}.rsc"

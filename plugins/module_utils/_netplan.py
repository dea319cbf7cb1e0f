# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our netplan file, and what netplan makes of all files together: rendered beside the machine before anything is activated."""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
from collections.abc import Iterable, Set

from ansible_collections.gb10.cluster.plugins.module_utils._connectx._names import MARKER, connection_uuid
from ansible_collections.gb10.cluster.plugins.module_utils._connectx._sources import NETPLAN_FOLDERS
from ansible_collections.gb10.cluster.plugins.module_utils._link._rail import Rail
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine, Meta

GENERATORS = ("/usr/libexec/netplan/generate", "/usr/lib/netplan/generate", "/lib/netplan/generate")
"""The program behind ``netplan generate``. That command itself also reloads systemd, even with ``--root-dir``; this runs the generators, and
with them would render somebody's unfinished edit for the machine itself (netplan 1.1.2, ``cli/commands/generate.py``)."""

_RENDERED = (
    "/run/systemd/network/*netplan*",
    "/run/NetworkManager/system-connections/*netplan*",
    "/run/NetworkManager/conf.d/*netplan*",
    "/run/udev/rules.d/*netplan*",
)
_FOLDERS = tuple(os.path.dirname(pattern) for pattern in _RENDERED)
_OWNED = re.compile(r"(?:\d+-)?netplan-(.+?)(?:\.network|\.link|\.netdev|\.nmconnection|\.rules)")

_BLOT = "********"
_SHOWN = frozenset(
    "renderer match name macaddress driver set-name dhcp4 dhcp6 optional addresses mtu gateway4 gateway6 routes to via metric link-local "
    "accept-ra wakeonlan ignore-carrier critical".split()
)
"""Keys of a definition whose values are no secret."""

_COMMON = ("dhcp4: false", "dhcp6: false", "optional: true")
_ADDRESSING = {True: ("link-local: [ipv6]", "ipv6-address-generation: eui64"), False: ("link-local: []",)}
# NetworkManager ignores link-local, accept-ra and ignore-carrier: what they mean there is said in its own words
# (observed with netplan 1.1.2: link-local [] becomes ipv6.method=ignore, under which the kernel still adds fe80::).
_PASSTHROUGH = {
    True: ("connection.autoconnect-priority: \"100\"", "ipv4.never-default: \"true\"", "ipv6.method: link-local", "ipv6.addr-gen-mode: eui64"),
    False: ("connection.autoconnect-priority: \"100\"", "ipv4.never-default: \"true\"", "ipv6.method: disabled"),
}


def document(rails: Iterable[Rail], backend: str) -> str:
    """Text of our file. The renderer is said per interface: at the top it would be global and move the management interface."""
    networkmanager = backend == "netplan-networkmanager"
    lines = [MARKER, "network:", "  version: 2", "  ethernets:"]
    for rail in sorted(rails, key=lambda one: one.interface):
        lines += [f"    {rail.interface}:", f"      renderer: {'NetworkManager' if networkmanager else 'networkd'}"]
        lines += [f"      {line}" for line in _COMMON]
        lines += [f"      addresses: [{rail.cidr}]", f"      mtu: {rail.mtu}"]
        if networkmanager:
            lines += ["      networkmanager:", f"        uuid: {connection_uuid(rail.interface)}", "        passthrough:"]
            lines += [f"          {line}" for line in _PASSTHROUGH[rail.link_local]]
        else:
            lines += [f"      {line}" for line in (*_ADDRESSING[rail.link_local], "accept-ra: false", "ignore-carrier: true")]
    return "\n".join([*lines, ""])


def interfaces(text: str) -> list[str]:
    """Interfaces that our file of any version defines."""
    return re.findall(r"^    (\S+):$", text, re.MULTILINE)


def generator(machine: Machine) -> str:
    """Path of the program that renders, the first that is there."""
    return next((path for path in GENERATORS if machine.meta(path) is not None), GENERATORS[0])


def render(machine: Machine, changes: dict[str, bytes | None]) -> tuple[dict[str, str], str]:
    """What netplan makes of its sources after ``changes`` (path to new content, None for removed): ``({path: text}, complaint)``."""
    with machine.scratch() as root:
        for folder in NETPLAN_FOLDERS:
            sources = {f"{folder}/{name}": machine.read(f"{folder}/{name}") for name in machine.names(folder) if name.endswith(".yaml")}
            sources.update({path: content for path, content in changes.items() if os.path.dirname(path) == folder})
            for path, content in sources.items():
                if content is not None:
                    machine.write(root + path, content, Meta(0o600, 0, 0, 0, None))
        done = machine.run([generator(machine), "--root-dir", root])
        return _read(machine, root), "" if done.rc == 0 else complaint((done.err or done.out).replace(root, ""))


def complaint(text: str) -> str:
    """The line of netplan's complaint that names the file; the lines below it quote from the file, which may hold secrets."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("/")), lines[0] if lines else "no reason given").rstrip(":")


def running(machine: Machine) -> dict[str, str]:
    """What netplan rendered last for the machine itself: ``{path: text}``."""
    return _read(machine, "")


def _read(machine: Machine, root: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pattern, folder in zip(_RENDERED, _FOLDERS):
        for name in machine.names(root + folder):
            content = machine.peek(f"{root}{folder}/{name}")
            if content is not None and fnmatch.fnmatch(f"{folder}/{name}", pattern):
                found[f"{folder}/{name}"] = content.decode("utf-8", "replace").replace(root or "\0", "")
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> dict[str, set[str]]:
    """Which definitions differ between two renderings: ``{netplan id: lines that differ}``.

    Files that serve several definitions (udev rules) are compared line by line; a line belongs to the interface it quotes,
    and to the id ``*`` when it quotes none.
    """
    differing: dict[str, set[str]] = {}
    for path in sorted(before.keys() | after.keys()):
        old, new = set(before.get(path, "").splitlines()), set(after.get(path, "").splitlines())
        owned = _OWNED.fullmatch(os.path.basename(path))
        for line in (old ^ new) or (set() if (path in before) == (path in after) else {""}):
            quoted = re.search(r'(?:ID_NET_NAME\}|NAME|KERNEL)=="([^"*?]+)"', line)
            owner = owned.group(1) if owned else quoted.group(1) if quoted else "*"
            differing.setdefault(owner, set()).add(line)
    return {owner: lines for owner, lines in differing.items() if owner != "*" or any(line.strip() and not line.startswith("#") for line in lines)}


def static_addresses(rendered: dict[str, str]) -> dict[str, list[str]]:
    """Static addresses that a rendering gives to interfaces named like their netplan id: ``{interface: [CIDR]}``."""
    found: dict[str, list[str]] = {}
    for path, text in rendered.items():
        owned = _OWNED.fullmatch(os.path.basename(path))
        listed = re.findall(r"^(?:Address|address\d+)=([^,\s]+)", text, re.MULTILINE)
        if owned and listed:
            found.setdefault(owned.group(1), []).extend(listed)
    return found


def without(text: str, definition: str) -> str:
    """A netplan file without one definition: its key and everything indented deeper."""
    kept: list[str] = []
    depth: int | None = None
    for line in text.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        if depth is not None and (not line.strip() or indent > depth):
            continue
        depth = indent if re.match(rf"\s+[\"']?{re.escape(definition)}[\"']?:", line) else None
        if depth is None:
            kept.append(line)
    return "".join(kept)


def edit(path: str, text: str, definition: str) -> str:
    """The edit that takes one definition out of a file, as a patch without context; it is shown to people, so everything that
    :data:`_SHOWN` does not know is blotted out, line by line."""
    before, after = (part.splitlines(keepends=True) for part in (text, without(text, definition)))
    lines = list(difflib.unified_diff(before, after, path, path, n=0))
    shown = _SHOWN | {definition}
    hidden: int | None = None
    for number, line in enumerate(lines):
        if number < 2 or line.startswith("@@"):
            continue
        content = line[1:].rstrip()
        indent = len(content) - len(content.lstrip(" "))
        if not content or hidden is not None and indent > hidden:
            lines[number] = f"-{' ' * indent}{_BLOT if content else ''}\n"
            continue
        key = re.fullmatch(r" *(?:- +)*([\"']?)([\w.*:-]+?)\1:(?: +(.*))?", content)
        harmless = bool(re.fullmatch(r" *- +[\w.:/-]+", content)) or bool(key and key[2] in shown and _is_harmless(key[3] or "", shown))
        # what is deeper than a line that is not shown as it is belongs to it
        hidden = None if harmless else indent
        kept = content[: key.start(3)] if key and key[3] and key[2] in shown else " " * indent
        lines[number] = f"-{content}\n" if harmless else f"-{kept}{_BLOT}\n"
    return "".join(lines).rstrip()


def _is_harmless(value: str, shown: Set[str]) -> bool:
    """Whether a value ends on the line of its key, is plain (no quotes, comments, texts over several lines), and has only keys that are shown."""
    plain = re.fullmatch(r"[\w.:/,*?\[\]{} -]*", value) and all(value.count(one) == value.count(other) for one, other in ("[]", "{}"))
    return bool(plain) and set(re.findall(r"([\w-]+)\s*:", value)) <= shown

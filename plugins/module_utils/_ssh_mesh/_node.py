# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node tells the others about itself: its names, addresses and host keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.gb10.cluster.plugins.module_utils import _command
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _ip
from ansible_collections.gb10.cluster.plugins.module_utils._message import message
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._account import MeshError
from ansible_collections.gb10.cluster.plugins.module_utils._ssh_mesh._peers import FORM, is_address

HOST_KEYS = Path("/etc/ssh")

_HOST_KEY = re.compile(r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)) +([A-Za-z0-9+/]+=*)(?:\s|$)")
_USELESS = re.compile(r"(?i)localhost(\.|$)|127\.|::1$|fe80:|169\.254\.")


class Forms(NamedTuple):
    """``address``: to connect to; ``aliases``: more names of the machine; ``addresses``: other forms under which it is reached."""

    address: str
    aliases: list[str]
    addresses: list[str]


def reached(connection: str | None, run: Callable[..., _command.Result] = _command.run) -> tuple[list[str], int]:
    """The addresses at which the others can reach this node, the best one first, and sshd's port.

    :param connection: ``SSH_CONNECTION`` of the session by which we are here, None without.
    """
    words = (connection or "").split(" ")
    port = int(words[3]) if words[3:] and words[3].isdecimal() else 22
    present = _ip.links(run(["ip", "-j", "-d", "addr", "show"]).stdout)
    ways_out = [name for family in ("-4", "-6") for name in _ip.devices(run(["ip", "-j", family, "route", "show", "default"]).stdout)]
    return choose(present, _ip.session_address(connection), ways_out), port


def choose(present: dict[str, dict[str, Any]], server: str | None, ways_out: list[str]) -> list[str]:
    """The IPv4 addresses of the interface by which the session came in, else of the first way out; that of the session first.

    Where there is none, one of IPv6: of these a machine has several that come and go, and a second run is to change nothing.

    :param present: ``_ip.links``. :param server: the address at which this node was reached.
    """
    interface = _ip.management(present, server, ways_out)["interface"]
    found = [item for item in _ip.addresses(present.get(interface or "", {})) if item["scope"] == "global"]
    found.sort(key=lambda item: item["address"] != server)
    return [item["address"] for item in found if item["family"] == "inet"] or [item["address"] for item in found[:1]]


def names(name: str, hostname: str, reached_as: str, address: str | None, found: list[str], rails: Iterable[str]) -> Forms:
    """Put together all forms of a node.

    :param name: in the inventory. :param hostname: of the machine itself. :param reached_as: where Ansible connects to.
    :param address: what the user wants the others to connect to. :param found: as :func:`reached` returns it.
    :param rails: its addresses on the fabric.
    :raises MeshError: the name would mean something else to ssh, or there is no address.
    """
    refusals = []
    if not _useful([name]):
        refusals.append(message("inventory name", "letters, digits, dots, dashes and underscores, and not localhost", repr(name), "Rename the host."))
    chosen = address or (found[0] if found else None)
    if not _useful([chosen or ""]):
        fix = f"Set ssh_mesh_address of {name} to the address at which the other nodes reach it."
        refusals.append(message(f"address of {name}", "one for the other nodes to connect to", chosen or "none", fix))
    if not chosen or refusals:
        raise MeshError(*refusals)
    # ssh compares names with those of its settings letter by letter, /etc/hosts and people do not
    own = [form for text in (name, hostname) if not is_address(text) for form in (text, text.partition(".")[0])]
    aliases = [*own, *(form.lower() for form in own)]
    return Forms(chosen, _useful(aliases, name), _useful([reached_as, *found, *rails], name, chosen, *aliases))


def _useful(candidates: Iterable[str], *known: str) -> list[str]:
    """Forms that ssh takes and that mean this node everywhere, each once."""
    good = (form for form in dict.fromkeys(candidates) if form not in known)
    return [form for form in good if FORM.fullmatch(form) and not _USELESS.match(form)]


def host_keys(folder: Path = HOST_KEYS) -> list[str]:
    """Type and key of each of sshd's public keys. They are read here, so nobody has to trust what a network shows.

    :raises MeshError: there is none. :raises OSError: one can not be read.
    """
    lines = [file.read_text("utf-8", "replace") for file in sorted(folder.glob("ssh_host_*_key.pub"))]
    found = [" ".join(match.groups()) for match in map(_HOST_KEY.match, lines) if match]
    if not found:
        raise MeshError(message(f"{folder}/ssh_host_*_key.pub", "the public keys of sshd", "none", "Make them with ssh-keygen -A."))
    return found


def describe(name: str, hostname: str, reached_as: str, address: str | None, rails: list[str], connection: str | None) -> dict[str, Any]:
    """All of a ``Peer`` but its user and its key pair; parameters as of :func:`names` and :func:`reached`.

    :raises MeshError: everything that is wrong, at once. :raises OSError: a host key can not be read.
    """
    refusals: list[str] = []
    found, port = reached(connection)
    parts: dict[str, Any] = {"name": name, "port": port}
    try:
        parts.update(names(name, hostname, reached_as, address, found, rails)._asdict())
    except MeshError as error:
        refusals += error.args
    try:
        parts["host_keys"] = host_keys()
    except MeshError as error:
        refusals += error.args
    if refusals:
        raise MeshError(*refusals)
    return parts

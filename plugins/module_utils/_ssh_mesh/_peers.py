# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of the mesh as data, and the lines that tell the others about it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import TypedDict

from ansible_collections.gb10.cluster.plugins.module_utils._message import message

FORM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")
"""A name or address that means itself in each of the files."""
_KEY = re.compile(r"[a-z0-9@.-]+ [A-Za-z0-9+/]+=*")
_PLAIN_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*")


class Peer(TypedDict):
    """What the other nodes need to know about one."""

    name: str  # in the inventory
    user: str
    port: int
    address: str  # to connect to when it is called by name or alias
    aliases: list[str]  # more names of the machine
    addresses: list[str]  # other forms, names or addresses, under which it is reached
    public_key: str | None  # type and key; None when a check mode run would make it
    fresh: bool  # the key pair is made in this run
    host_keys: list[str]  # type and key each


def is_address(text: str) -> bool:
    """Whether this is an IP address and no name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def forms(peer: Peer) -> list[str]:
    """Every name and address of a node, each once."""
    return list(dict.fromkeys([peer["name"], *peer["aliases"], peer["address"], *peer["addresses"]]))


def comment(name: str) -> str:
    """What stands behind a node's key."""
    return f"gb10.cluster:{name}"


def authorized(peer: Peer) -> list[str]:
    """Its line in ``authorized_keys``."""
    return [f"{peer['public_key'] or _new(peer)} {comment(peer['name'])}"]


def authorized_shown(peer: Peer) -> list[str]:
    """The same for a diff: a key of this run can not be known in check mode, so a real run does not show it either."""
    return [f"{_new(peer)} {comment(peer['name'])}"] if peer["fresh"] else authorized(peer)


def _new(peer: Peer) -> str:
    return f"(new key of {peer['name']})"


def known(peer: Peer) -> list[str]:
    """Its lines in ``known_hosts``, one for each host key; a port other than 22 is part of the name (sshd(8))."""
    names = ",".join(form if peer["port"] == 22 else f"[{form}]:{peer['port']}" for form in forms(peer))
    return [f"{names} {key}" for key in peer["host_keys"]]


def settings(peer: Peer) -> list[str]:
    """Its lines in ``ssh_config``: where a name leads to, and how one logs in under any form.

    The included file is there between a rotation and its proof, and lets the key before it still be used. What follows our lines
    belongs to no host.
    """
    return [
        f"Host {' '.join([peer['name'], *peer['aliases']])}",
        f"  HostName {peer['address']}",
        f"Host {' '.join(forms(peer))}",
        f"  User {_word(peer['user'])}",
        f"  Port {peer['port']}",
        "  IdentityFile ~/.ssh/gb10/id_ed25519",
        "  Include gb10/previous.conf",
        "  IdentitiesOnly yes",
        "  UserKnownHostsFile ~/.ssh/gb10/known_hosts",
        "  StrictHostKeyChecking yes",
        "  UpdateHostKeys no",
        "Match all",
    ]


def _word(user: str) -> str:
    """A user as one word of ssh_config: directories have names with blanks and backslashes (OpenSSH 8.7 and later, ``argv_split``)."""
    if _PLAIN_USER.fullmatch(user):
        return user
    escaped = user.replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'


def hosts(peer: Peer) -> list[str]:
    """Its line in ``/etc/hosts``; none where there is no address to write, or no name."""
    names = [name for name in [peer["name"], *peer["aliases"]] if not is_address(name)]
    return [f"{peer['address']}\t{' '.join(names)}"] if names and is_address(peer["address"]) else []


def refuse(peers: list[Peer]) -> list[str]:
    """One refusal for each address that would lead to two nodes, and for each thing that would not be what it says in our files.

    What one node tells becomes lines on all others, ``/etc/hosts`` among them: none of it may end a line or begin a second word.
    """
    if odd := [text for peer in peers for text in _odd(peer)]:
        return odd
    fix = "Set ssh_mesh_address of each to an address that leads to it alone."
    owners = _owners((f"{peer['address']} port {peer['port']}", peer["name"]) for peer in peers)
    return [message(f"address {form}", "to be one node's", " and ".join(names), fix) for form, names in owners.items() if len(names) > 1]


def _odd(peer: Peer) -> list[str]:
    forms_of = [peer["name"], peer["address"], *peer["aliases"], *peer["addresses"]]
    keys = [*peer["host_keys"], *([peer["public_key"]] if peer["public_key"] else [])]
    rows = (
        *(("name or address", "letters, digits, dots, colons, dashes and underscores", form, bool(FORM.fullmatch(form))) for form in forms_of),
        *(("key", "a type and a key", key, bool(_KEY.fullmatch(key))) for key in keys),
        ("user", "a name on one line", peer["user"], bool(peer["user"]) and peer["user"].isprintable()),
        ("port", "1 to 65535", peer["port"], 1 <= peer["port"] <= 65535),
    )
    fix = "Pass what ssh_mesh_node returned on that node, and look at that node if it is."
    return [message(f"{what} told by {peer['name']!r}", expected, repr(value), fix) for what, expected, value, right in rows if not right]


def settle(peers: list[Peer]) -> tuple[list[Peer], list[str]]:
    """Take away the forms that do not tell nodes apart, except from a node of that inventory name: ``(peers, warnings)``."""
    owners = _owners((form, peer["name"]) for peer in peers for form in forms(peer))
    shared = {form: names for form, names in owners.items() if len(names) > 1}
    settled: list[Peer] = []
    for peer in peers:
        aliases = [form for form in peer["aliases"] if form not in shared]
        addresses = [form for form in peer["addresses"] if form not in shared]
        settled.append({**peer, "aliases": aliases, "addresses": addresses})
    fix = "Only a node of that inventory name is called so. Give the machines different host names and addresses."
    return settled, [message(form, "to stand for one node", " and ".join(names), fix) for form, names in shared.items()]


def _owners(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names of nodes by form."""
    owners: dict[str, list[str]] = {}
    for form, name in pairs:
        owners.setdefault(form, []).append(name)
    return owners

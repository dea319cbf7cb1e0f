# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults in the configuration of a node's network: what others than the collection wrote, applied or not.

Every fault remembers the files as they were; ``restore`` puts them back, content, mode and time, and lets the machine apply them.
A file that was taken away in between (by a takeover) stays away, and so do its addresses.
"""

from __future__ import annotations

import base64
import textwrap
from pathlib import Path
from typing import Any

from . import card, network
from .inventory import Node
from .network import MANAGEMENT
from .nodes import MANAGEMENT_FILES
from .shell import LabError, ip, run
from .state import Lab

#: An id that sorts after the management interface's, which would lose its address otherwise: the first file that matches counts.
WILDCARD_ID = "zz-all"
OWN = """\
    network:
      version: 2
      ethernets:
        {rail}:
          addresses: [{address}]
    """
PATTERN = """\
    network:
      version: 2
      ethernets:
        {id}:
          match:
            name: "en*"
          dhcp4: true
          optional: true
    """
KEYFILE = """\
    [connection]
    id=cx7
    uuid=6c656674-6f76-4572-8000-000000000001
    type=ethernet
    {match}

    [ipv4]
    {ipv4}

    [ipv6]
    method=disabled
    """


def rail(node: Node) -> str:
    """The device that others configure: rail 0 of p0."""
    return card.functions(node)[0].interface


def inside(lab: Lab, node: Node, path: str) -> str:
    """A path of the node as the host sees it."""
    pid = lab.pid(node)
    if not pid:
        raise LabError(f"node {node.name} - expected a running node, found it down. Bring the lab up again.")
    return f"/proc/{pid}/root{path}"


def _remember(lab: Lab, node: Node, path: str) -> dict[str, Any]:
    file = Path(inside(lab, node, path))
    if not file.exists():
        return {"path": path, "content": None}
    status = file.stat()
    return {"path": path, "content": base64.b64encode(file.read_bytes()).decode(), "mode": status.st_mode & 0o7777, "mtime_ns": status.st_mtime_ns}


def _write(lab: Lab, node: Node, path: str, text: str) -> None:
    file = Path(inside(lab, node, path))
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")


def _fill(text: str, **values: str) -> str:
    return textwrap.dedent(text).format_map(values)


def _settle(lab: Lab, node: Node) -> None:
    """Let the machine apply its files, as its owner would."""
    if node.backend == "networkmanager":
        run(*lab.inside(node), "nmcli", "connection", "reload")
    else:
        run(*lab.inside(node), "netplan", "apply", timeout=60)


def _memory(lab: Lab, node: Node, path: str, applied: bool, addresses: tuple[str, ...] = ()) -> dict[str, Any]:
    resting = [name for name, row in network.live(lab, node).items() if "UP" not in row["flags"]]
    return {"files": [_remember(lab, node, path)], "applied": applied, "addresses": list(addresses), "resting": resting, "restart": False}


def _put(lab: Lab, node: Node, path: str, text: str, addresses: tuple[str, ...] = ()) -> dict[str, Any]:
    memory = _memory(lab, node, path, True, addresses)
    _write(lab, node, path, text)
    _settle(lab, node)
    if node.backend == "networkmanager":
        run(*lab.inside(node), "nmcli", "--wait", "5", "connection", "up", "cx7", "ifname", rail(node), check=False)
    return memory


def leftover(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """A file as NVIDIA's instructions leave it, naming a rail, applied."""
    address = options["address"]
    if node.backend == "networkmanager":
        text = _fill(KEYFILE, match=f"interface-name={rail(node)}", ipv4=f"method=manual\naddress1={address}")
        return _put(lab, node, "/etc/NetworkManager/system-connections/cx7.nmconnection", text, (address,))
    return _put(lab, node, "/etc/netplan/40-cx7.yaml", _fill(OWN, rail=rail(node), address=address), (address,))


def shared(lab: Lab, node: Node, options: dict[str, str]) -> dict[str, Any]:
    """The management interface's own netplan file with one more definition, applied."""
    path = _netplan_file(node)
    text = Path(inside(lab, node, path)).read_text(encoding="utf-8")
    return _put(lab, node, path, f"{text.rstrip()}\n    {rail(node)}:\n      addresses: [{options['address']}]\n", (options["address"],))


def wildcard(lab: Lab, node: Node, _options: dict[str, str]) -> dict[str, Any]:
    """A definition for every wired interface, applied."""
    if node.backend == "networkmanager":
        text = _fill(KEYFILE, match="autoconnect-priority=-10\n[match]\ninterface-name=en*", ipv4="method=auto")
        return _put(lab, node, "/etc/NetworkManager/system-connections/cx7.nmconnection", text)
    return _put(lab, node, "/etc/netplan/45-all.yaml", _fill(PATTERN, id=WILDCARD_ID))


def unapplied(lab: Lab, node: Node, _options: dict[str, str]) -> dict[str, Any]:
    """The management interface's netplan file with another MTU that nobody has applied."""
    path = _netplan_file(node)
    memory = _memory(lab, node, path, False)
    text = Path(inside(lab, node, path)).read_text(encoding="utf-8")
    _write(lab, node, path, text.replace(f"    {MANAGEMENT}:\n", f"    {MANAGEMENT}:\n      mtu: 1400\n"))
    return memory


def held(lab: Lab, node: Node, _options: dict[str, str]) -> dict[str, Any]:
    """NetworkManager told to manage everything on a machine whose netplan speaks to networkd."""
    if node.backend != "netplan-networkd":
        raise LabError(f"nm-holds-rails on {node.name} - expected a node of netplan-networkd, found {node.backend}. Choose another node.")
    path = "/etc/NetworkManager/conf.d/10-globally-managed-devices.conf"
    memory = _memory(lab, node, path, True) | {"restart": True}
    _write(lab, node, path, "")
    run(*lab.inside(node), "systemctl", "restart", "NetworkManager")
    return memory


def restore(lab: Lab, node: Node, memory: dict[str, Any]) -> None:
    """Put the files back and let the machine apply them."""
    for kept in memory["files"]:
        file = Path(inside(lab, node, kept["path"]))
        if kept["content"] is None:
            file.unlink(missing_ok=True)
            continue
        fresh = file.with_name(f".{file.name}.lab")
        fresh.write_bytes(base64.b64decode(kept["content"]))
        fresh.chmod(kept["mode"])
        fresh.replace(file)
        run("touch", "--no-create", "--date", f"@{kept['mtime_ns'] // 10**9}.{kept['mtime_ns'] % 10**9:09d}", file)
    if memory["restart"]:
        run(*lab.inside(node), "systemctl", "restart", "NetworkManager")
    elif memory["applied"]:
        _settle(lab, node)
    own = lab.namespace(f"n{node.number}")
    ip(own, *(f"address del {cidr} dev {rail(node)}" for cidr in memory["addresses"]), "link set lo up", check=False)
    for name, row in network.live(lab, node).items():
        if name in memory["resting"] and not any(each["family"] == "inet" for each in row["addr_info"]):
            ip(own, f"link set {name} down", f"address flush dev {name}")


def _netplan_file(node: Node) -> str:
    if node.backend == "networkmanager":
        raise LabError(f"node {node.name} - expected a node with netplan, found {node.backend}. Choose another node.")
    return "/" + MANAGEMENT_FILES[node.backend]

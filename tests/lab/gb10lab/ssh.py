# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH into the nodes from the host: keys made per lab, host keys pinned, and a proxy into the lab's management namespace."""

from __future__ import annotations

import shutil
from pathlib import Path

from .inventory import Node
from .shell import run
from .state import Lab

PROXY = Path(__file__).with_name("proxy.py")


def make_key(path: Path, comment: str) -> str:
    """Make an ed25519 key pair unless it is there; return the public half."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path)
    return path.with_name(path.name + ".pub").read_text(encoding="ascii").strip()


def host_key(lab: Lab, node: Node) -> Path:
    """Where a node's host key lies on the host, to be seeded into the node."""
    return lab.node_folder(node) / "root/etc/ssh/ssh_host_ed25519_key"


def write(lab: Lab) -> str:
    """Write ``ssh_config``, ``known_hosts`` and ``ansible.cfg`` into the lab's folder; return the user's public key."""
    folder = lab.folder
    public = make_key(folder / "id_ed25519", f"gb10-lab-{lab.name}")
    lines = [f"{node.address},{node.name} {' '.join(make_key(host_key(lab, node), node.name).split()[:2])}" for node in lab.up.nodes]
    (folder / "known_hosts").write_text("\n".join(lines) + "\n", encoding="ascii")
    shutil.copy(PROXY, folder / "proxy.py")
    (folder / "cp").mkdir(exist_ok=True)
    (folder / "ssh_config").write_text(ssh_config(folder, lab.namespace("ctl"), lab.up.nodes), encoding="ascii")
    (folder / "ansible.cfg").write_text(ansible_cfg(folder, bool(lab.up.managed)), encoding="ascii")
    return public


def ssh_config(folder: Path, namespace: str, nodes: tuple[Node, ...]) -> str:
    """The text of ``ssh_config``: every node by name and address, checked host keys, sockets made inside the namespace."""
    hosts = "".join(f"Host {node.name}\n  HostName {node.address}\n  User {node.user}\n" for node in nodes)
    return f"""{hosts}Host *
  ProxyUseFdpass yes
  ProxyCommand /usr/bin/env python3 {folder}/proxy.py /run/netns/{namespace} %h %p
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  IdentityFile {folder}/id_ed25519
  IdentitiesOnly yes
  IdentityAgent none
  ConnectTimeout 10
  ServerAliveInterval 3
  ServerAliveCountMax 5
"""


def ansible_cfg(folder: Path, switches: bool = False) -> str:
    """The text of ``ansible.cfg``: connection details and nothing else. Those of ``switches`` come as variables, by a plugin."""
    plugin = f"vars_plugins = {folder}/vars\n" if switches else ""
    return f"""[defaults]
host_key_checking = true
interpreter_python = /usr/bin/python3
private_key_file = {folder}/id_ed25519
{plugin}
[ssh_connection]
pipelining = true
control_path_dir = {folder}/cp
ssh_args = -F {folder}/ssh_config -o ControlMaster=auto -o ControlPersist=60s
"""


def answers(lab: Lab, node: Node) -> bool:
    """Whether the user can log in."""
    options = ["-F", str(lab.folder / "ssh_config"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=2"]
    return run("ssh", *options, f"{node.user}@{node.address}", "true", check=False).returncode == 0

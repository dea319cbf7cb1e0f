# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab: its names, its folders, and what it remembers between two commands."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .inventory import Cluster, Node
from .shell import LabError, run

ROOT = Path("/var/tmp/gb10-lab")


def cache() -> Path:
    """The folder that outlives labs: base image marks and wheels. Shared by all labs of the machine."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gb10-lab"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass
class Lab:
    """A lab by name. ``cluster`` is None while it is down; ``faults`` are those applied, oldest first; ``switchroom`` is the switches' process."""

    name: str
    cluster: Cluster | None = None
    fingerprint: str = ""
    runtime: str = ""
    faults: list[dict[str, Any]] = field(default_factory=list)
    switchroom: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,19}", self.name):
            raise LabError(f"lab name - expected 1 to 20 of a-z, 0-9 and -, found {self.name}. Choose another --name.")

    @property
    def folder(self) -> Path:
        """The lab's state folder."""
        return ROOT / self.name

    @property
    def up(self) -> Cluster:
        """The running cluster; ``LabError`` when the lab is down."""
        if self.cluster is None:
            raise LabError(f"lab {self.name} - expected a running lab, found none. Run `lab.py up --name {self.name}`.")
        return self.cluster

    def namespace(self, part: str) -> str:
        """Name a network namespace: ``ctl`` (management side), ``fab`` (cables), ``park`` (removed devices) or ``n1`` (a node)."""
        return f"gb10-{self.name}-{part}"

    def container(self, name: str) -> str:
        """Name the container of a node or service."""
        return f"gb10-{self.name}-{name}"

    def node_folder(self, node: Node) -> Path:
        """The folder that a node sees as ``/lab``."""
        return self.folder / "nodes" / node.name

    def save(self) -> None:
        """Remember everything that is not derived from the name."""
        data = {
            "cluster": self.cluster and self.cluster.to_json(),
            "fingerprint": self.fingerprint,
            "runtime": self.runtime,
            "faults": self.faults,
            "switchroom": self.switchroom,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.folder / "lab.json.new"
        fresh.write_text(json.dumps(data, indent=1), encoding="utf-8")
        fresh.replace(self.folder / "lab.json")

    @classmethod
    def load(cls, name: str) -> Lab:
        """Return the lab as it was saved; a lab that is down when there is nothing."""
        lab = cls(name)
        with contextlib.suppress(FileNotFoundError):
            data = json.loads((lab.folder / "lab.json").read_text(encoding="utf-8"))
            lab.cluster = Cluster.from_json(data["cluster"]) if data["cluster"] else None
            lab.fingerprint, lab.runtime, lab.faults = data["fingerprint"], data["runtime"], data["faults"]
            lab.switchroom = data.get("switchroom")
        return lab

    def pid(self, node: Node) -> int:
        """The process id of a node's systemd on the host; 0 while it is down."""
        answer = run("podman", "inspect", "--format", "{{.State.Pid}}", self.container(node.name), check=False)
        return int(answer.stdout.strip() or 0) if answer.returncode == 0 else 0

    def inside(self, node: Node) -> list[str]:
        """The words that, put before a command, run it inside a node as root."""
        pid = self.pid(node)
        if not pid:
            raise LabError(f"node {node.name} - expected a running node, found it down. Run `lab.py up --name {self.name}`.")
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return [
            "nsenter",
            "-t",
            str(pid),
            "-m",
            "-u",
            "-i",
            "-n",
            "-p",
            "env",
            "-i",
            path,
            "LC_ALL=C.UTF-8",
            "HOME=/root",
            "SYSTEMD_DEVICE_VERIFY_SYSFS=0",
        ]


@contextlib.contextmanager
def locked(what: str) -> Iterator[None]:
    """Hold a lock: one command at a time changes the ``image``, the ``wheels`` or the lab ``lab-NAME``, on the whole machine."""
    with (cache() / f"{what}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The containers of a lab: how they are started, found again and removed."""

from __future__ import annotations

from .shell import run
from .state import Lab

#: The label by which a lab knows what it started.
LABEL = "gb10-lab"
#: The name of the one container that is no node: the package index.
SERVICE = "index"
#: Without these runc refuses to start where the host's limits are lower than podman's wish.
LIMITS = "--ulimit nofile=20000:20000 --ulimit nproc=10000:10000".split()
#: A machine of its own: systemd as the first process, with every right inside its namespaces.
MACHINE = "--systemd always --privileged".split()


def start(lab: Lab, name: str, namespace: str, options: list[str], image: str, *command: str) -> None:
    """Start a container in one of the lab's network namespaces, with the names of the lab and nobody's resolver."""
    identity = ["--name", lab.container(name), "--label", f"{LABEL}={lab.name}", "--network", f"ns:/run/netns/{lab.namespace(namespace)}"]
    fixed = ["--runtime", lab.runtime, *LIMITS, *"--no-hosts --dns none --restart always".split()]
    run("podman", "run", "--detach", *identity, *fixed, *options, image, *command)


def halt(lab: Lab, name: str) -> None:
    """Stop a container at once; it stays stopped."""
    run("podman", "stop", "--time", "0", lab.container(name))


def again(lab: Lab, name: str) -> None:
    """Start a container that was stopped."""
    run("podman", "start", lab.container(name))


def tries(runtime: str, image: str) -> str:
    """What goes wrong when a machine is started with an OCI runtime; empty when nothing does."""
    trial = run("podman", "run", "--rm", "--runtime", runtime, "--network", "none", *LIMITS, *MACHINE, image, "true", check=False)
    return "" if trial.returncode == 0 else (trial.stderr.strip() or str(trial.returncode)).splitlines()[-1]


def names(lab: Lab) -> list[str]:
    """The containers that the lab started."""
    return run("podman", "ps", "--all", "--filter", f"label={LABEL}={lab.name}", "--format", "{{.Names}}").stdout.split()


def destroy(lab: Lab) -> None:
    """Remove the lab's containers with everything in them.

    Also by name: of one whose start was cut short podman may know nothing but that its storage is there, which keeps the name.
    """
    planned = [lab.container(name) for name in (SERVICE, *(node.name for node in lab.cluster.nodes))] if lab.cluster else []
    found = dict.fromkeys([*names(lab), *planned])
    if found:
        run("podman", "rm", "--force", "--ignore", "--time", "0", "--volumes", *found)

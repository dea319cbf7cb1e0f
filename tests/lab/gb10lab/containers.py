# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The containers of a lab: how they are started, found again and removed."""

from __future__ import annotations

from .shell import run
from .state import Lab

#: The label by which a lab knows what it started.
LABEL = "gb10-lab"
#: Without these runc refuses to start where the host's limits are lower than podman's wish.
LIMITS = "--ulimit nofile=20000:20000 --ulimit nproc=10000:10000".split()
#: A machine of its own: systemd as the first process, with every right inside its namespaces.
MACHINE = "--systemd always --privileged".split()


def start(lab: Lab, name: str, namespace: str, options: list[str], image: str, *command: str) -> None:
    """Start a container in one of the lab's network namespaces, with the names of the lab and nobody's resolver."""
    identity = ["--name", lab.container(name), "--label", f"{LABEL}={lab.name}", "--network", f"ns:/run/netns/{lab.namespace(namespace)}"]
    fixed = ["--runtime", lab.runtime, *LIMITS, *"--no-hosts --dns none --restart always".split()]
    run("podman", "run", "--detach", *identity, *fixed, *options, image, *command)


def tries(runtime: str, image: str) -> str:
    """What goes wrong when a machine is started with an OCI runtime; empty when nothing does."""
    trial = run("podman", "run", "--rm", "--runtime", runtime, "--network", "none", *LIMITS, *MACHINE, image, "true", check=False)
    return "" if trial.returncode == 0 else (trial.stderr.strip() or str(trial.returncode)).splitlines()[-1]


def names(lab: Lab) -> list[str]:
    """The containers that the lab started."""
    return run("podman", "ps", "--all", "--filter", f"label={LABEL}={lab.name}", "--format", "{{.Names}}").stdout.split()


def destroy(lab: Lab) -> None:
    """Remove the lab's containers with everything in them."""
    found = names(lab)
    if found:
        run("podman", "rm", "--force", "--time", "0", "--volumes", *found)

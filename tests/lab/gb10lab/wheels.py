# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package index of a lab: wheels fetched once by the host's pip, served to the nodes on their management network.

The nodes have no way out of the lab, as many real ones; ``/etc/pip.conf`` points them here, so the product's own ``pip`` calls
run unchanged. The folder is shared by all labs of the machine.
"""

from __future__ import annotations

import hashlib
import html
import sys
import tempfile
from pathlib import Path

from . import containers
from .shell import LabError, run
from .state import Lab, cache, locked

DEFAULT = "nvidia-nccl-cu13==2.30.7"
PORT = 8080


def folder() -> Path:
    """Where the wheels and the index pages lie."""
    path = cache() / "wheels"
    (path / "simple").mkdir(parents=True, exist_ok=True)
    return path


def fetch(requirement: str = DEFAULT) -> Path:
    """Return the wheel of ``NAME==VERSION`` for this architecture; download it first when it is not there yet."""
    name, _equals, version = requirement.partition("==")
    project = folder() / "simple" / name
    with locked("wheels"):
        found = sorted(project.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
        if not found:
            project.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder(), prefix="partial-") as partial:
                command = [sys.executable, *"-m pip download --quiet --no-deps --only-binary=:all: --dest".split(), partial, requirement]
                run(*command, timeout=900)
                found = [file.rename(project / file.name) for file in Path(partial).glob("*.whl")]
            if not found:
                raise LabError(f"{requirement} - expected a wheel from pip download, found none. Check pip's configuration.")
            (project / "index.html").write_text(page(sorted(project.glob("*.whl"))), encoding="utf-8")
    return found[0]


def page(wheels: list[Path]) -> str:
    """A project's page of a PEP 503 index."""
    links = (f'<a href="{html.escape(wheel.name)}#sha256={digest(wheel)}">{html.escape(wheel.name)}</a><br>' for wheel in wheels)
    return "<!DOCTYPE html>\n" + "\n".join(links) + "\n"


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pip_conf(gateway: str) -> str:
    """The node's /etc/pip.conf."""
    return f"[global]\nindex-url = http://{gateway}:{PORT}/simple\ntrusted-host = {gateway}\ndisable-pip-version-check = true\nretries = 1\n"


def serve(lab: Lab, image: str) -> None:
    """Start the index as a container in the management namespace."""
    command = f"python3 -u -m http.server {PORT} --bind {lab.up.gateway} --directory /wheels".split()
    containers.start(lab, containers.SERVICE, "ctl", ["--volume", f"{folder()}:/wheels:ro"], image, *command)


def downloads(lab: Lab) -> list[str]:
    """The wheels that nodes have fetched from this lab's index, one entry per download."""
    log = run("podman", "logs", lab.container(containers.SERVICE))
    words = [line.split() for line in (log.stdout + log.stderr).splitlines() if '"GET ' in line and '" 200 ' in line]
    return [f"{line[0]} {Path(line[6]).name}" for line in words if line[6].endswith(".whl")]

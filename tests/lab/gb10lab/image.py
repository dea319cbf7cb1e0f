# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of a node: a Debian from a registry or by debootstrap, and one layer of packages and settings on top."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import containers
from .shell import LabError, run
from .state import cache, locked

SUITE = "trixie"
FOLDER = Path(__file__).resolve().parents[1] / "image"
REPOSITORY = "localhost/gb10-lab-node"
BASES = ("registry", "debootstrap")
#: Seconds that a registry gets before debootstrap is taken instead.
PULL_TIMEOUT = 120.0


def tag() -> str:
    """The image's name, with a hash of everything that goes into it."""
    digest = hashlib.sha256((SUITE + os.environ.get("GB10_LAB_BASE", "")).encode())
    for file in sorted(path for path in FOLDER.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(FOLDER)} {file.stat().st_mode & 0o100:o}\n".encode() + file.read_bytes())
    return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def ensure() -> str:
    """Return the name of the node image; make it first when there is none, and drop older ones that nothing uses."""
    name = tag()
    with locked("image"):
        if run("podman", "image", "exists", name, check=False).returncode:
            _build(name, _base())
            old = run("podman", "images", "--format", "{{.Repository}}:{{.Tag}}", REPOSITORY).stdout.split()
            for other in set(old) - {name}:
                run("podman", "rmi", other, check=False)
    return name


def runtime(image: str) -> str:
    """Return the OCI runtime that can start a node here: podman's own choice first, then the other (crun fails on hybrid cgroups)."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    known = cache() / f"runtime-{boot}"
    if known.exists():
        return known.read_text(encoding="ascii")
    default = run("podman", "info", "--format", "{{.Host.OCIRuntime.Name}}", check=False).stdout.strip()
    said = []
    for name in dict.fromkeys(filter(None, (default, "crun", "runc"))):
        trouble = containers.tries(name, image)
        if not trouble:
            for old in cache().glob("runtime-*"):
                old.unlink()
            known.write_text(name, encoding="ascii")
            return name
        said.append(f"{name}: {trouble}")
    raise LabError("OCI runtime - expected crun or runc to start a container, found neither. " + "; ".join(said))


def _base() -> str:
    """Return the name of a plain Debian image: pulled where a registry answers, made by debootstrap elsewhere."""
    wish = os.environ.get("GB10_LAB_BASE", "")
    if wish and wish not in BASES:
        raise LabError(f"GB10_LAB_BASE - expected registry or debootstrap, found {wish}. Correct it or leave it empty.")
    if wish != "debootstrap":
        try:
            run("podman", "pull", "--quiet", f"debian:{SUITE}", timeout=PULL_TIMEOUT)
            return f"debian:{SUITE}"
        except LabError:
            if wish:
                raise
            print("lab: no image registry answers, taking debootstrap", file=sys.stderr)
    name = f"localhost/gb10-lab-base:{SUITE}"
    if run("podman", "image", "exists", name, check=False).returncode:
        print("lab: debootstrap makes the base image, once (about a minute)", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=cache(), prefix="base-") as folder:
            run("debootstrap", "--variant=minbase", SUITE, folder, timeout=900)
            with subprocess.Popen(["tar", "--xattrs", "--xattrs-include=*", "-C", folder, "-c", "."], stdout=subprocess.PIPE) as packed:
                taken = subprocess.run(["podman", "import", "-", name], stdin=packed.stdout, capture_output=True, text=True, check=False)
            if taken.returncode or packed.returncode:
                raise LabError(f"`podman import` ended with {taken.returncode}:\n{taken.stderr.strip()}")
    return name


def _build(name: str, base: str) -> None:
    """Put the lab's layer on a base. ``chroot`` isolation and the host's network: nothing here needs more."""
    print("lab: building the node image, once (about a minute)", file=sys.stderr)
    run("podman", "build", "--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={base}", "--tag", name, FOLDER, timeout=900)

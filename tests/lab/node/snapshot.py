# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a node: everything that the collection may change, as JSON, so that tests can compare before and after."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDERS = (
    "/etc/netplan",
    "/etc/sysctl.d",
    "/etc/security/limits.d",
    "/etc/modules-load.d",
    "/etc/gb10",
    "/etc/NetworkManager/system-connections",
    "/etc/NetworkManager/conf.d",
    "/etc/systemd/network",
    "/etc/ld.so.conf.d",
    "/opt/gb10",
    "/var/lib/gb10",
    "/run/gb10",
    "/root/.ssh",
    "/home/nvidia/.ssh",
    "/etc/ssh/ssh_config.d",
    "/etc/profile.d",
    "/usr/local/lib/gb10",
)
FILES = ("/etc/nccl.conf", "/etc/environment", "/etc/hosts")
#: Folders with big content that has no business in a digest.
LARGE = ("/opt/gb10/nccl/",)
#: What the stand-ins of dcb and ethtool keep of a rail, and what it is when nobody has set it.
QOS = {"dscp": "", "pfc": "", "pause": "on on"}
SYSCTLS = ("arp_ignore", "arp_announce", "rp_filter")


def files() -> dict[str, dict[str, Any]]:
    """Per path: mode, modification time in nanoseconds, SHA-256 or the target of a link."""
    paths = [path for folder in FOLDERS for path in sorted(Path(folder).rglob("*"))] + [Path(name) for name in FILES]
    paths += sorted(path for path in Path("/etc/systemd/system").rglob("gb10*"))
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        if path.is_symlink():
            found[str(path)] = {"target": str(path.readlink())}
        elif path.is_file():
            status = path.stat()
            row: dict[str, Any] = {"mode": f"{status.st_mode & 0o7777:04o}", "mtime_ns": status.st_mtime_ns}
            row["sha256"] = f"size {status.st_size}" if str(path).startswith(LARGE) else hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path)] = row
    return found


def interfaces() -> dict[str, dict[str, Any]]:
    """Per interface: what is live, and how often carrier came and went since it was made."""
    shown = json.loads(subprocess.run(["ip", "-j", "address", "show"], capture_output=True, text=True, check=True).stdout)
    found = {}
    for device in shown:
        name, folder = device["ifname"], Path("/sys/class/net") / device["ifname"]
        found[name] = {
            "up": "UP" in device["flags"],
            "carrier": "LOWER_UP" in device["flags"],
            "mtu": device["mtu"],
            "addresses": sorted(f"{each['local']}/{each['prefixlen']}" for each in device["addr_info"]),
            "carrier_changes": int((folder / "carrier_changes").read_text(encoding="ascii")),
            "sysctl": {key: int(Path(f"/proc/sys/net/ipv4/conf/{name}/{key}").read_text(encoding="ascii")) for key in SYSCTLS},
            "qos": {key: kept(name, key, value) for key, value in QOS.items()},
        }
    return found


def kept(interface: str, key: str, default: str) -> str:
    """What was set of the QoS of a rail."""
    path = Path("/run/lab/qos") / interface / key
    return path.read_text(encoding="ascii").strip() if path.exists() else default


def units() -> list[str]:
    """Units of ours that systemd knows, whether they are active or not."""
    shown = subprocess.run(["systemctl", "list-units", "--all", "--plain", "--no-legend", "gb10*"], capture_output=True, text=True, check=True).stdout
    return sorted(line.split()[0] for line in shown.splitlines() if line.strip())


def routes() -> list[str]:
    """The IPv4 main table as ``ip`` prints it, without metrics: NetworkManager counts them up at each activation."""
    return sorted(
        re.sub(r" metric \d+", "", line).strip()
        for line in subprocess.run(["ip", "-4", "route"], capture_output=True, text=True, check=True).stdout.splitlines()
    )


if __name__ == "__main__":
    json.dump({"files": files(), "interfaces": interfaces(), "routes": routes(), "units": units()}, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")

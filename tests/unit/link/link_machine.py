# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node in memory: files, links, netplan, networkd and NetworkManager as far as the link code can tell them apart.

It does what the lab showed that the real ones do, and can fail, or be killed, at any step that changes something. With a list in ``kept`` it
puts a copy there at each of these steps: what a kill at that step leaves.
"""

from __future__ import annotations

import contextlib
import copy
import fnmatch
import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from ansible_collections.gb10.cluster.plugins.module_utils import _netplan, _rollback
from ansible_collections.gb10.cluster.plugins.module_utils._connectx import _names
from ansible_collections.gb10.cluster.plugins.module_utils._link import _arming
from ansible_collections.gb10.cluster.plugins.module_utils._rollback import Machine, Meta, Result

RAILS = ("enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1")
MANAGEMENT = "enP7s7"
DONE = Result(0, "", "")
FAILED = Result(1, "", "injected failure")
CLOUD_INIT = "network:\n  version: 2\n  ethernets:\n    enP7s7:\n      addresses: [192.168.10.11/24]\n"
KEYFILE = "[connection]\nid=management\nuuid=m\ninterface-name=enP7s7\n[ipv4]\naddress1=192.168.10.11/24\n"
DESKTOP = "network:\n  version: 2\n  renderer: NetworkManager\n"


@functools.cache
def _parse(text: bytes) -> Any:
    return yaml.safe_load(text)


class Killed(BaseException):
    """The process is gone at this step, as after SIGKILL."""


def link(**changes: Any) -> dict[str, Any]:
    """A link as the kernel makes it."""
    return {"up": False, "mtu": 1500, "addresses": [], "carrier": True, **changes}


class FakeMachine(Machine):
    """The node. ``fail_at`` is the number of the changing step that goes wrong, ``mode`` how: ``error`` or ``kill``."""

    def __init__(self, backend: str = "netplan-networkd") -> None:
        self.backend = backend
        self.files: dict[str, tuple[bytes, Meta]] = {}
        self.links = {name: link() for name in (*RAILS, MANAGEMENT)}
        self.routes = "[]"
        self.walls: list[str] = []
        self.sysctl: dict[str, str] = {}
        self.networkd = backend == "netplan-networkd"
        self.units: dict[str, dict[str, Any]] = {}
        self.configured: set[str] = set()
        self.networkmanager = True
        self.profiles: dict[str, dict[str, Any]] = {}
        self.devices: dict[str, tuple[bool, str | None]] = {name: (not self.networkd, None) for name in self.links}
        self.loaded: set[str] = set()
        self.loadable = {"ib_uverbs", "rdma_ucm"}
        self.timer = False
        self.unit = ""
        self.serving: set[str] = set()
        self.clock, self.behind = 1_000_000.0, 0.0
        self.steps: list[str] = []
        self.fail_at, self.mode = 0, "error"
        self.kept: list[FakeMachine] | None = None
        if backend.startswith("netplan"):
            self.put(_netplan.GENERATORS[0], "", 0o755)
            self.put("/etc/netplan/50-cloud-init.yaml", CLOUD_INIT)
        if backend == "netplan-networkmanager":
            self.put("/etc/netplan/01-network-manager-all.yaml", DESKTOP)
        if backend == "networkmanager":
            self.put("/etc/NetworkManager/system-connections/management.nmconnection", KEYFILE)
        self.start()
        self.steps = []

    # -- the world around: what a test does, and how states are compared

    def copy(self) -> FakeMachine:
        """A machine of its own in this state. Entries of the mappings are replaced, never changed, but for those of ``links``."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (dict, list, set)):
                setattr(twin, name, value.copy())
        twin.links = {name: {**one, "addresses": list(one["addresses"])} for name, one in self.links.items()}
        twin.kept = None
        return twin

    def put(self, path: str, text: str, mode: int = 0o600) -> None:
        """Somebody else writes a file."""
        self.clock += 1
        self.files[path] = (text.encode(), Meta(mode, 0, 0, int(self.clock) * 10**9, None))

    def state(self) -> dict[str, Any]:
        """Everything that has to come back: files with all attributes, live state, owners, rendering."""
        kept = {path: entry for path, entry in self.files.items() if path != "/var/lib/gb10/last-rollback.json" and not path.startswith("/run/")}
        rendered = {path: entry[0] for path, entry in self.files.items() if path.startswith("/run/") and path != "/run/gb10-confirmed.json"}
        settings = {path: value for path, value in self.sysctl.items() if value != "0"}
        links = {name: {**one, "addresses": list(one["addresses"])} for name, one in self.links.items()}
        return {"files": kept, "rendered": rendered, "links": links, "sysctl": settings, "devices": dict(self.devices), "timer": self.timer}

    def start(self) -> None:
        """The daemons start: netplan's generator has run, every link gets what is configured for it."""
        if self.backend.startswith("netplan"):
            self._generate("")
        self._reload_networkd()
        self._reload_profiles()
        for name in self.links:
            if self.networkd and name in self.units:
                self._apply(name, self.units[name])
                self.configured.add(name)
            managed = name not in self.units and not self._denied(name)
            best = max((one for one in self.profiles.values() if one["interface"] == name), key=lambda one: one["priority"], default=None)
            self.devices[name] = (managed, best["id"] if managed and best else None)
            if managed and best:
                self._apply(name, best)

    def reboot(self) -> None:
        """Live state and transient units are gone; the boot-time unit runs before the daemons."""
        self.fail_at, self.timer = 0, False
        self.links = {name: link(carrier=one["carrier"]) for name, one in self.links.items()}
        self.sysctl, self.configured, self.units, self.profiles = {}, set(), {}, {}
        self.files = {path: entry for path, entry in self.files.items() if not path.startswith("/run/")}
        if self.backend.startswith("netplan"):
            self._generate("")
        if _arming.BOOT_LINK in self.files and _arming.BOOT_UNIT in self.files:
            if _arming.SCRIPT in self.files:
                _rollback.fire(self, _names.ROLLBACK_DIR, boot=True)
            else:
                debris = (_names.ROLLBACK_DIR, _arming.BOOT_LINK, _arming.BOOT_UNIT)
                self.files = {path: entry for path, entry in self.files.items() if not path.startswith(debris)}
        self.start()

    def fire(self) -> None:
        """The time is up."""
        self.fail_at = 0
        if self.timer:
            self.timer = False
            _rollback.fire(self, _names.ROLLBACK_DIR)

    # -- the machine as the link code sees it

    def _step(self, what: str) -> bool:
        """Count a changing step; True when it is to fail."""
        self.steps.append(what)
        if self.kept is not None:
            self.kept.append(self.copy())
        if len(self.steps) != self.fail_at:
            return False
        if self.mode == "kill":
            raise Killed
        return True

    def read(self, path: str) -> bytes | None:
        if path.startswith("/proc/sys/"):
            return self.sysctl.get(path[10:], "0").encode()
        carrier = re.fullmatch(r"/sys/class/net/(.+)/carrier", path)
        if carrier:
            one = self.links.get(carrier.group(1))
            return b"1\n" if one and one["up"] and one["carrier"] else b"0\n"
        return self.files[path][0] if path in self.files else None

    def meta(self, path: str) -> Meta | None:
        return self.files[path][1] if path in self.files else None

    def write(self, path: str, content: bytes, meta: Meta) -> None:
        if not path.startswith("/tmp/") and self._step(f"write {path}"):
            raise OSError(28, "No space left on device")
        self.clock += 1
        self.files[path] = (content, meta if meta.mtime_ns or meta.target else meta._replace(mtime_ns=int(self.clock) * 10**9))

    def wall(self, folder: str) -> tuple[str, str] | None:
        return next(((one, "something else") for one in self.walls if f"{folder}/".startswith(f"{one}/")), None)

    def poke(self, path: str, value: str) -> bool:
        if self._step(f"poke {path}"):
            return False
        self.sysctl[path[10:]] = value
        return True

    def rename(self, old: str, new: str) -> bool:
        moved = {path: entry for path, entry in self.files.items() if path == old or path.startswith(f"{old}/")}
        if not moved or any(path.startswith(f"{new}/") for path in self.files) or self._step(f"rename {old}"):
            return False
        for path, entry in moved.items():
            del self.files[path]
            self.files[new + path[len(old) :]] = entry
        return True

    def remove(self, path: str) -> None:
        gone = [one for one in self.files if one == path or one.startswith(f"{path}/")]
        if gone and self._step(f"remove {path}"):
            raise OSError(5, "Input/output error")
        for one in gone:
            del self.files[one]

    def names(self, path: str) -> list[str]:
        return sorted({one[len(path) + 1 :].split("/")[0] for one in self.files if one.startswith(f"{path}/")})

    def prune(self, path: str) -> None:
        pass

    def now(self) -> float:
        return self.clock - self.behind

    def ticks(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds

    @contextlib.contextmanager
    def scratch(self) -> Iterator[str]:
        yield "/tmp/scratch"
        self.files = {path: entry for path, entry in self.files.items() if not path.startswith("/tmp/scratch/")}

    @contextlib.contextmanager
    def locked(self, path: str, wait: float, create: bool = True) -> Iterator[bool]:
        yield True

    def run(self, argv: Sequence[str], timeout: float = 30.0) -> Result:
        words = list(argv)
        reading = {
            ("ip", "-j", "address"): self._addresses,
            ("ip", "-j", "-4"): lambda _words: Result(0, self.routes, ""),
            ("ip", "-j", "-6"): lambda _words: Result(0, "[]", ""),
            ("nmcli", "-t", "-f"): self._device_status,
            ("networkctl", "list", "--json=short"): self._networkctl_list,
            ("modprobe", "--dry-run", "--quiet"): lambda words: DONE if words[3] in self.loadable else FAILED,
        }
        if tuple(words[:3]) in reading:
            return reading[tuple(words[:3])](words)
        if words[0] == _netplan.GENERATORS[0] and "--root-dir" in words:
            return self._generate(words[2])
        if self._step(" ".join(words)):
            return FAILED
        changing = {
            _netplan.GENERATORS[0]: lambda _words: self._generate(""),
            "udevadm": lambda _words: DONE,
            "ip": self._ip,
            "networkctl": self._networkctl,
            "nmcli": self._nmcli,
            "modprobe": lambda words: self.loaded.add(words[1]) or DONE,
            "systemd-run": self._systemd_run,
            "systemctl": self._systemctl,
        }
        return changing[words[0]](words)

    # -- netplan, networkd, NetworkManager, iproute2

    def _systemd_run(self, words: list[str]) -> Result:
        """Start a timer; as with systemd, not under the name of a timer or service that is still there."""
        unit = next(word[7:] for word in words if word.startswith("--unit="))
        if unit in self.serving or (self.timer and unit == self.unit):
            return Result(1, "", f"Failed to start transient timer unit: Unit {unit}.timer was already loaded or has a fragment file.")
        self.timer, self.unit = True, unit
        return DONE

    def _systemctl(self, words: list[str]) -> Result:
        if words[1] == "stop" and fnmatch.fnmatch(f"{self.unit}.timer", words[2]):
            self.timer = False
        return DONE

    def _generate(self, root: str) -> Result:
        """Render like netplan 1.1.2, in short: a unit or a profile per definition, and the udev rules for NetworkManager."""
        definitions: dict[str, Any] = {}
        renderer = "networkd"
        for path in sorted(path for path in self.files if path.startswith(f"{root}/etc/netplan/")):
            try:
                network = _parse(self.files[path][0])["network"]
            except (yaml.YAMLError, KeyError, TypeError):
                return Result(1, "", f"{path}: Error in network definition")
            renderer = network.get("renderer", renderer)
            for name, body in (network.get("ethernets") or {}).items():
                definitions.setdefault(name, {}).update(body)
        for path in [path for path in self.files if path.startswith(f"{root}/run/") and "netplan" in path]:
            del self.files[path]
        rules = []
        for name, body in definitions.items():
            manager = body.get("networkmanager", {})
            device = body.get("match", {}).get("name", name)
            by_nm = body.get("renderer", renderer) == "NetworkManager"
            rules.append(f'SUBSYSTEM=="net", ENV{{ID_NET_NAME}}=="{device}", ENV{{NM_UNMANAGED}}="{0 if by_nm else 1}"')
            address = (body.get("addresses") or [""])[0]
            if by_nm:
                more = manager.get("passthrough", {})
                lines = ["[connection]", f"id=netplan-{name}", f"uuid={manager.get('uuid', f'uuid-{name}')}", f"interface-name={device}"]
                lines += [f"autoconnect-priority={more.get('connection.autoconnect-priority', 0)}", "[ethernet]", f"mtu={body.get('mtu', 1500)}"]
                lines += ["[ipv4]", f"address1={address}", "[ipv6]", f"method={more.get('ipv6.method', 'auto')}"]
                target = f"{root}/run/NetworkManager/system-connections/netplan-{name}.nmconnection"
            else:
                local = "no" if body.get("link-local") == [] else "ipv6"
                lines = ["[Match]", f"Name={device}", "[Link]", f"MTUBytes={body.get('mtu', 1500)}"]
                lines += ["[Network]", f"LinkLocalAddressing={local}", f"Address={address}"]
                target = f"{root}/run/systemd/network/10-netplan-{name}.network"
            self.files[target] = ("\n".join(lines).encode(), Meta(0o640, 0, 0, 1, None))
        if rules:
            self.files[f"{root}/run/udev/rules.d/90-netplan.rules"] = ("\n".join(rules).encode(), Meta(0o640, 0, 0, 1, None))
        return DONE

    def _values(self, path: str) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.files[path][0].decode().splitlines() if "=" in line and not line.startswith("#"))

    def _reload_networkd(self) -> None:
        self.units = {}
        found = [path for path in self.files if re.fullmatch(r"/(run|etc)/systemd/network/.+\.network", path)]
        for path in sorted(found, key=lambda one: one.rsplit("/", 1)[1], reverse=True) if self.networkd else ():
            values = self._values(path)
            self.units[values["Name"]] = {
                "interface": values["Name"],
                "mtu": int(values.get("MTUBytes", 1500)),
                "address": values.get("Address", ""),
                "local": values.get("LinkLocalAddressing", "ipv6") != "no",
            }
        self.configured &= set(self.units)

    def _reload_profiles(self) -> None:
        self.profiles = {}
        found = [path for path in self.files if re.fullmatch(r"/(run|etc)/NetworkManager/system-connections/.+\.nmconnection", path)]
        for path in sorted(found) if self.networkmanager else ():
            values = self._values(path)
            self.profiles[values["id"]] = {
                "id": values["id"],
                "uuid": values["uuid"],
                "interface": values["interface-name"],
                "mtu": int(values.get("mtu", 1500)),
                "address": values.get("address1", "").split(",")[0],
                "local": values.get("method") != "disabled",
                "priority": int(values.get("autoconnect-priority", 0)),
            }
        for name, (managed, profile) in self.devices.items():
            if profile and profile not in self.profiles:
                self.devices[name] = (managed, None)
                self.links[name]["addresses"] = []

    def _denied(self, name: str) -> bool:
        rules = self.files.get("/run/udev/rules.d/90-netplan.rules", (b"", None))[0].decode()
        return f'=="{name}", ENV{{NM_UNMANAGED}}="1"' in rules

    def _apply(self, name: str, settings: dict[str, Any]) -> None:
        local = [f"fe80::{name.lower().count('p')}/64"] if settings["local"] else []
        self.links[name].update(up=True, mtu=settings["mtu"], addresses=[one for one in (settings["address"], *local) if one])

    def _addresses(self, _words: list[str]) -> Result:
        rows = []
        for name, one in self.links.items():
            infos = [{"local": cidr.split("/")[0], "prefixlen": int(cidr.split("/")[1])} for cidr in one["addresses"]]
            rows.append({"ifname": name, "flags": ["UP"] if one["up"] else [], "mtu": one["mtu"], "addr_info": infos})
        return Result(0, json.dumps(rows), "")

    def _device_status(self, _words: list[str]) -> Result:
        if not self.networkmanager:
            return Result(8, "", "NetworkManager is not running")
        lines = []
        for name, (managed, profile) in self.devices.items():
            state = "unmanaged" if not managed else "connected" if profile else "disconnected"
            lines.append(f"{name}:{state}:{self.profiles[profile]['uuid'] if profile else ''}:{profile or ''}")
        return Result(0, "\n".join(lines), "")

    def _networkctl_list(self, _words: list[str]) -> Result:
        rows = [{"Name": name, "AdministrativeState": "configured" if name in self.configured else "unmanaged"} for name in self.links]
        return Result(0, json.dumps({"Interfaces": rows}), "") if self.networkd else FAILED

    def _ip(self, words: list[str]) -> Result:
        name = words[words.index("dev") + 1]
        one = self.links[name]
        if words[1:3] == ["link", "set"]:
            one.update({"up": {"up": True}, "down": {"up": False}}.get(words[-1]) or {"mtu": int(words[-1])})
        elif words[1:3] == ["address", "del"]:
            one["addresses"].remove(words[3])
        elif words[1:3] == ["address", "replace"]:
            one["addresses"] = sorted({*one["addresses"], words[3]})
        elif words[1:4] == ["-6", "address", "flush"]:
            one["addresses"] = [cidr for cidr in one["addresses"] if ":" not in cidr]
        return DONE

    def _networkctl(self, words: list[str]) -> Result:
        if words[1] == "reload":
            self._reload_networkd()
            return DONE
        for name in words[2:]:
            if name in self.units and not self.devices[name][0]:
                self._apply(name, self.units[name])
                self.configured.add(name)
        return DONE

    def _nmcli(self, words: list[str]) -> Result:
        if words[1:3] == ["connection", "reload"]:
            self._reload_profiles()
        elif words[1:3] == ["device", "set"]:
            managed, profile = self.devices[words[3]]
            self.devices[words[3]] = (True, profile) if words[5] == "yes" else (False, None)
        elif words[1:3] == ["device", "reapply"]:
            managed, profile = self.devices[words[3]]
            self._apply(words[3], self.profiles[profile or ""])
        elif "up" in words:
            key, name = words[words.index("up") + 1 : words.index("up") + 3]
            profile = next((one for one in self.profiles.values() if one[key] == name), None)
            if profile is None:
                return Result(10, "", f"Error: unknown connection '{name}'.")
            self.devices[words[-1]] = (True, profile["id"])
            self._apply(words[-1], profile)
        return DONE

# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The automatic rollback: puts a node's old files and the old live state of its interfaces back.

This file is a script as well. Arming copies its text beside the data, and the copy runs by itself (``restore.py fire ID|boot``) when the
module that armed it is long gone; so it is one file that imports the standard library alone (and longer than others for it), and every path
and command comes from the data:

``armed.json``: ``{id, deadline, interfaces, files: [entry], commands: [{argv, boot}], live: {interface: Live}, unit, boot_files, last}``.
It is renamed to ``firing.json`` or ``confirmed.json`` by whoever comes first: the rename is the lock between the timer and the module.
"""

# budget: one file that must run alone, beside its data, long after the module

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

ARMED, FIRING, CONFIRMED = "armed.json", "firing.json", "confirmed.json"
SETTLE = 8.0
"""Seconds that networkd or NetworkManager get to bring an interface's own addresses back before they are added by hand."""
PATIENCE = 35.0
"""Seconds that a module which holds the lock gets to end its step: a little more than a command of its may take."""
DEFAULT_MTU = 1500
RAIL_SYSCTL = {"arp_ignore": "1", "arp_announce": "2"}
"""Both rails hear every broadcast on their cable: each answers and announces its own address only."""
ROUNDS = 5
"""How often what is left is put right by hand: one step may bring the next (enabling IPv6 makes the kernel add an address)."""


class Result(NamedTuple):
    """What a command left behind; ``rc`` 127 when there is no such command, 124 when it did not end in time."""

    rc: int
    out: str
    err: str


class Meta(NamedTuple):
    """Attributes of a file; ``target`` is set for a symbolic link."""

    mode: int
    uid: int
    gid: int
    mtime_ns: int
    target: str | None


def _sync_folder(path: str) -> None:
    """Let a rename to ``path`` reach the disk: what was told as done outlasts a power cut. Not every file system can sync a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Machine:
    """The node: everything the link code does to it goes through here."""

    def run(self, argv: Sequence[str], timeout: float = 30.0) -> Result:
        """Run a command in the C locale, without a shell; never raises."""
        path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
        environment = {**os.environ, "LC_ALL": "C", "PATH": path}
        try:
            # not run_command: this also runs by itself, without an AnsibleModule
            done = subprocess.run(  # pylint: disable=ansible-bad-function
                list(argv),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                env=environment,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Result(124, "", "no answer in time")
        except OSError as error:
            return Result(127, "", str(error))
        return Result(done.returncode, done.stdout, done.stderr)

    def read(self, path: str) -> bytes | None:
        """Content of a file, None when there is none; raises OSError when there is one that can not be read."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def peek(self, path: str) -> bytes | None:
        """Content of a file that is only looked at, None whenever it can not be read: the kernel refuses the carrier of a link that is down."""
        try:
            return self.read(path)
        except OSError:
            return None

    def meta(self, path: str) -> Meta | None:
        """Attributes of a file (a link is not followed), None when there is none; raises OSError."""
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        target = os.readlink(path) if stat.S_ISLNK(found.st_mode) else None
        return Meta(stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns, target)

    def write(self, path: str, content: bytes, meta: Meta) -> None:
        """Write a file (or link) so that a crash leaves the old or the new one, with these attributes; mtime 0 means now."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{os.path.dirname(path)}/.{os.path.basename(path)}.new"
        self.remove(temporary)
        try:
            if meta.target is not None:
                os.symlink(meta.target, temporary)
            else:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(content)
                    os.fchown(file.fileno(), meta.uid, meta.gid)
                    os.fchmod(file.fileno(), meta.mode)
                    file.flush()
                    os.fsync(file.fileno())
                if meta.mtime_ns:
                    os.utime(temporary, ns=(meta.mtime_ns, meta.mtime_ns))
            os.rename(temporary, path)
            _sync_folder(path)
        except OSError as error:
            self.remove(temporary)
            # a full disk does not say which file
            error.filename = error.filename or path
            raise

    def wall(self, folder: str) -> tuple[str, str] | None:
        """What keeps ``folder`` from being made or used as a folder: the first part of its path that is something else, and what; or None."""
        parts = [folder]
        while parts[-1] != os.path.dirname(parts[-1]):
            parts.append(os.path.dirname(parts[-1]))
        part = next((one for one in reversed(parts) if os.path.lexists(one) and not os.path.isdir(one)), None)
        if part is None:
            return None
        return part, f"a link to {os.readlink(part)}, which is no folder" if os.path.islink(part) else "something else"

    def poke(self, path: str, value: str) -> bool:
        """Write a kernel setting in place."""
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write(value)
        except OSError:
            return False
        return True

    def rename(self, old: str, new: str) -> bool:
        """Rename; False when ``old`` is not there (any more)."""
        try:
            os.rename(old, new)
        except OSError:
            return False
        _sync_folder(new)
        return True

    def remove(self, path: str) -> None:
        """Remove a file or a whole folder, if it is there."""
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            # asked first: a read-only place refuses before it says that there is nothing
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def names(self, path: str) -> list[str]:
        """Sorted names in a folder, empty when there is none."""
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def prune(self, path: str) -> None:
        """Remove a folder and its parents as far as they are empty."""
        with contextlib.suppress(OSError):
            os.removedirs(path)

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def ticks(self) -> float:
        """Seconds that pass evenly while the machine's clock is set."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[str]:
        """A folder for files that nobody else reads, gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="gb10-") as folder:
            yield folder

    @contextlib.contextmanager
    def locked(self, path: str, wait: float, create: bool = True) -> Iterator[bool]:
        """Hold the lock on a file; yields False when another run still has it after ``wait`` seconds.

        :param create: whether the file is made; without it a lock that is not there is a lock that nobody has.
        """
        if not create and self.meta(path) is None:
            yield True
            return
        with open(path, "a" if create else "r", encoding="ascii") as file:
            until, held = time.monotonic() + wait, False
            while not held:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held = True
                except OSError:
                    if time.monotonic() >= until:
                        break
                    time.sleep(0.1)
            yield held


def keep(machine: Machine, path: str, folder: str) -> dict[str, Any]:
    """Copy a file into ``folder``; returns the entry by which :func:`give_back` restores it, also when there is no such file.
    Raises OSError when there is one that can not be read."""
    meta = machine.meta(path)
    if meta is None:
        return {"path": path, "meta": None}
    content = machine.read(path) if meta.target is None else b""
    if content is None:
        raise FileNotFoundError(f"{path} is gone")
    machine.write(f"{folder}/files{path}", content, meta)
    return {"path": path, "meta": list(meta)}


def give_back(machine: Machine, entry: dict[str, Any], folder: str) -> None:
    """Make the file of ``entry`` what it was when it was kept; a file that is still the same is not touched."""
    path = entry["path"]
    if entry["meta"] is None:
        machine.remove(path)
        return
    meta = Meta(*entry["meta"])
    content = machine.read(f"{folder}/files{path}") if meta.target is None else b""
    if content is None:
        raise FileNotFoundError(f"{folder}/files{path} is gone")
    if machine.meta(path) != meta or machine.peek(path) != content:
        machine.write(path, content, meta)


def addresses(machine: Machine) -> dict[str, dict[str, Any]]:
    """``{interface: {up, mtu, master, addresses: [CIDR], dynamic: [CIDR]}}``; ``dynamic`` ones have a lease and are their owner's affair."""
    try:
        rows = json.loads(machine.run(["ip", "-j", "address", "show"]).out or "[]")
    except ValueError:
        rows = []
    found = {}
    for row in rows:
        infos = [(f"{info['local']}/{info['prefixlen']}", bool(info.get("dynamic"))) for info in row.get("addr_info", []) if "local" in info]
        found[row["ifname"]] = {
            "up": "UP" in row.get("flags", []),
            "mtu": row.get("mtu"),
            "master": row.get("master"),
            "addresses": sorted(cidr for cidr, dynamic in infos if not dynamic),
            "dynamic": sorted(cidr for cidr, dynamic in infos if dynamic),
        }
    return found


def put_back(machine: Machine, live: dict[str, Any]) -> list[str]:
    """Give every interface its former owner and live state back; returns what did not come back, in sentences.

    :param live: ``{interface: State | None}``, a State as ``_link/_live.py`` captures it; None means that the interface was not there.
    """
    present = addresses(machine)
    old = {interface: state for interface, state in live.items() if state is not None and interface in present}
    problems, owned = [], []
    for name, state in old.items():
        handed = [(argv, machine.run(argv)) for argv in _owner_commands(name, state)]
        # a profile that is gone is no problem: NetworkManager's automatic ones do not outlive a boot
        problems += [f"{' '.join(argv)}: {done.err.strip() or done.rc}" for argv, done in handed if done.rc != 0 and "connection" not in argv]
        if state["owner"] and all(done.rc == 0 for _argv, done in handed):
            owned.append(name)
    until = machine.ticks() + SETTLE
    while machine.ticks() < until and any(set(old[name]["addresses"]) - set(present[name]["addresses"]) for name in owned):
        machine.sleep(0.2)
        present = {**present, **addresses(machine)}
    for _round in range(ROUNDS):
        for state in old.values():
            for path, value in state["sysctl"].items():
                machine.poke(f"/proc/sys/{path}", value)
        present = {**present, **addresses(machine)}
        todo = [command for interface, state in old.items() for command in _kernel_commands(interface, state, present[interface])]
        if not todo:
            break
        for command in todo:
            machine.run(command)
        machine.sleep(0.1)
    now = {**present, **addresses(machine)}
    problems += [
        f"{path} is not {value}"
        for state in old.values()
        for path, value in state["sysctl"].items()
        if path.startswith("net/ipv4") and (machine.peek(f"/proc/sys/{path}") or b"").decode().strip() != value
    ]
    return problems + [
        f"{interface} {key} is {_shown(now[interface][key])} instead of {_shown(state[key])}"
        for interface, state in old.items()
        for key in ("up", "mtu", "addresses")
        if _shown(now[interface][key]) != _shown(state[key])
    ]


def put_back_routes(machine: Machine, live: dict[str, Any]) -> list[str]:
    """Add the former routes of the interfaces again; returns what could not be added, in sentences. ``live`` as for :func:`put_back`."""
    present = addresses(machine)
    waiting = [route for interface, state in live.items() if state is not None and interface in present for route in state["routes"]]
    # twice: a route may need a later one to reach its gateway
    for _round in range(2):
        done = [(route, machine.run(route)) for route in waiting]
        waiting = [route for route, result in done if result.rc != 0]
    return [f"{' '.join(route)}: {result.err.strip().rstrip('.') or result.rc}" for route, result in done if result.rc != 0]


def forget(machine: Machine, live: dict[str, Any]) -> None:
    """At boot, before the interfaces' owners start: undo what udev took from the files that were still the new ones when the device appeared."""
    present = addresses(machine)
    for interface in [name for name in live if name in present]:
        if present[interface]["mtu"] != DEFAULT_MTU:
            machine.run(["ip", "link", "set", "dev", interface, "mtu", str(DEFAULT_MTU)])
        for key in RAIL_SYSCTL:
            default = machine.peek(f"/proc/sys/net/ipv4/conf/default/{key}")
            machine.poke(f"/proc/sys/net/ipv4/conf/{interface}/{key}", (default or b"0").decode().strip())


def _shown(value: Any) -> Any:
    """Addresses without the link-local ones, which come and go with the carrier."""
    return [cidr for cidr in value if not cidr.startswith("fe80:")] if isinstance(value, list) else value


def _owner_commands(interface: str, state: dict[str, Any]) -> list[list[str]]:
    """Hand the interface back to whoever had it."""
    if state["owner"] == "NetworkManager":
        commands = [["nmcli", "device", "set", interface, "managed", "yes"]]
        if state["connection"]:
            commands.append(["nmcli", "--wait", "0", "connection", "up", "uuid", state["connection"], "ifname", interface])
        return commands
    release = [["nmcli", "device", "set", interface, "managed", "no"]] if state["networkmanager"] else []
    return release + ([["networkctl", "reconfigure", interface]] if state["owner"] == "networkd" else [])


def _kernel_commands(interface: str, state: dict[str, Any], now: dict[str, Any]) -> list[list[str]]:
    """What is left to do by hand once the owner had its time."""
    commands = [["ip", "link", "set", "dev", interface, "mtu", str(state["mtu"])]] if now["mtu"] != state["mtu"] else []
    commands += [["ip", "address", "del", cidr, "dev", interface] for cidr in now["addresses"] if cidr not in state["addresses"]]
    if now["up"] != state["up"]:
        commands.append(["ip", "link", "set", "dev", interface, "up" if state["up"] else "down"])
    return commands + [["ip", "address", "replace", cidr, "dev", interface] for cidr in state["addresses"] if cidr not in now["addresses"]]


def fire(machine: Machine, folder: str, boot: bool = False, only: str | None = None) -> dict[str, Any] | None:
    """Put everything back and vanish; returns what is also left in the file ``last``, None when there was nothing (any more) to put back.

    :param only: id of the run that may be undone: while a timer waited for the lock another run may have armed its own rollback.
    """
    found = _found(machine, folder)
    if only is not None and found is not None and found["id"] != only:
        return None
    machine.rename(f"{folder}/{ARMED}", f"{folder}/{FIRING}")
    content = machine.read(f"{folder}/{FIRING}")
    if content is None:
        finished = machine.read(f"{folder}/{CONFIRMED}")
        if finished is not None:
            vanish(machine, folder, json.loads(finished), boot)
        return None
    data = json.loads(content)
    problems = []
    for entry in data["files"]:
        try:
            give_back(machine, entry, folder)
        except OSError as error:
            problems.append(f"{entry['path']}: {error}")
    for command in data["commands"]:
        done = machine.run(command["argv"]) if command["boot"] or not boot else Result(0, "", "")
        if done.rc != 0:
            problems.append(f"{' '.join(command['argv'])}: {(done.err or done.out).strip() or done.rc}")
    if boot:
        forget(machine, data["live"])
    else:
        problems += put_back(machine, data["live"]) + put_back_routes(machine, data["live"])
    outcome = {"id": data["id"], "when": machine.now(), "at": "boot" if boot else "run", "problems": problems}
    machine.write(data["last"], json.dumps(outcome).encode(), Meta(0o600, 0, 0, 0, None))
    vanish(machine, folder, data, boot)
    return outcome


def _found(machine: Machine, folder: str) -> dict[str, Any] | None:
    """Data of the rollback in this folder, whatever stage it is in; None when there is none."""
    contents = (machine.read(f"{folder}/{name}") for name in (ARMED, FIRING, CONFIRMED))
    return next((json.loads(content) for content in contents if content is not None), None)


def vanish(machine: Machine, folder: str, data: Mapping[str, Any], boot: bool = False) -> None:
    """Take the timer, the boot-time unit and the folder away; systemd is made to forget the unit, except by the unit itself ``boot``."""
    machine.run(["systemctl", "stop", f"{data['unit']}.timer"])
    # at once, not file by file: what a power cut leaves from here on is debris, which the boot-time unit takes away with itself
    machine.remove(f"{folder}.new")
    if not machine.rename(folder, f"{folder}.new"):
        machine.remove(folder)
    machine.remove(f"{folder}.new")
    known = [path for path in data["boot_files"] if machine.meta(path) is not None]
    for path in known:
        # without this folder the unit only takes itself away, and may not be able to either
        with contextlib.suppress(OSError):
            machine.remove(path)
    if known and not boot:
        machine.run(["systemctl", "daemon-reload"])
    for path in {os.path.dirname(entry["path"]) for entry in data["files"]} | {os.path.dirname(folder)}:
        if path.startswith(os.path.dirname(folder)):
            machine.prune(path)


def main(argv: Sequence[str]) -> int:
    """Run as the script that lies beside the data: ``boot``, or ``fire`` with the id of the run that started the timer.
    A module that is still at work sees that it has begun and stops at its next step."""
    machine, folder = Machine(), os.path.dirname(os.path.abspath(argv[0]))
    try:
        return _main(machine, folder, argv)
    except (ValueError, KeyError, TypeError) as error:
        fix = "Put the links right by hand, then remove that folder."
        sys.stderr.write(f"{folder} - expected the data of a rollback, found {error!r} in it. {fix}\n")
        return 1


def _main(machine: Machine, folder: str, argv: Sequence[str]) -> int:
    found = _found(machine, folder)
    if found is None or argv[2:] not in ([], [found["id"]]):
        return 0
    machine.rename(f"{folder}/{ARMED}", f"{folder}/{FIRING}")
    with machine.locked(found["lock"], PATIENCE):
        outcome = fire(machine, folder, boot=argv[1:] == ["boot"], only=found["id"])
    return 1 if outcome and outcome["problems"] else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))

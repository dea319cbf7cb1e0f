# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH servers for simulated switches: one address, one switch; any number of them in one process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import paramiko

from .console import Console, Dropped, Scenario, login_options, run_once
from .machine import Machine

SERVER_ID = "SSH-2.0-ROSSSH"
_ATTEMPTS = 3


class _Handshake(paramiko.ServerInterface):
    """Who may log in, and what the client asked for."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.failures = machine, 0
        self.username = ""
        self.is_ready, self.command, self.has_pty = threading.Event(), "", False

    def _has_key(self, name: str) -> bool:
        return bool(self.machine.keys.get(name))

    def get_allowed_auths(self, username: str) -> str:
        name = login_options(username)[0]
        return "publickey" if self._has_key(name) else "publickey,password"

    def check_auth_none(self, username: str) -> int:
        return self._accept(username, self.machine.passwords.get(login_options(username)[0]) == "")

    def check_auth_password(self, username: str, password: str) -> int:
        name = login_options(username)[0]
        known = self.machine.passwords.get(name)
        return self._accept(username, not self._has_key(name) and known is not None and known in ("", password))

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return self._accept(username, key.get_base64() in self.machine.keys.get(login_options(username)[0], set()))

    def _accept(self, username: str, right: bool) -> int:
        self.failures += not right
        self.username = username
        return paramiko.AUTH_SUCCESSFUL if right and self.failures < _ATTEMPTS else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED if kind == "session" else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_pty_request(self, *args: object) -> bool:
        self.has_pty = True
        return True

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        self.is_ready.set()
        return True

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self.command = command.decode("utf-8", "replace")
        self.is_ready.set()
        return True


class Server:
    """One switch behind an address. ``port`` 0 takes a free one; ``after_line`` is called after everything that is typed, so that a
    lab can act."""

    def __init__(self, machine: Machine, host: str = "127.0.0.1", port: int = 0, host_key: paramiko.PKey | None = None,
                 scenario: Scenario | None = None, after_line: Callable[[], None] | None = None) -> None:
        self.machine, self.scenario, self.after_line = machine, scenario or Scenario(), after_line
        self.host_key = host_key or paramiko.RSAKey.generate(2048)
        self._listener = socket.create_server((host, port))
        self.host, self.port = self._listener.getsockname()[:2]
        self._sockets: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True, name=f"switch {machine.identity}").start()

    def known_hosts_line(self) -> str:
        """A line for ``known_hosts``."""
        name = self.host if self.port == 22 else f"[{self.host}]:{self.port}"
        return f"{name} {self.host_key.get_name()} {self.host_key.get_base64()}\n"

    def close(self) -> None:
        """Stop listening and cut every session."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        for connection in list(self._sockets):
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._sockets.add(connection)
        transport = paramiko.Transport(connection)
        try:
            transport.local_version = SERVER_ID
            transport.add_server_key(self.host_key)
            handshake = _Handshake(self.machine)
            transport.start_server(server=handshake)
            channel = transport.accept(30)
            if channel is not None and handshake.is_ready.wait(10):
                self._session(channel, handshake, connection)
        except (paramiko.SSHException, EOFError, OSError):
            pass
        finally:
            transport.close()
            self._sockets.discard(connection)

    def _session(self, channel: paramiko.Channel, handshake: _Handshake, connection: socket.socket) -> None:
        if handshake.command:
            channel.sendall(run_once(self.machine, handshake.username, handshake.command).encode())
            channel.send_exit_status(0)
            channel.close()
            return

        def send(text: str) -> None:
            time.sleep(self.scenario.delay)
            channel.sendall(text.encode())

        console = Console(self.machine, handshake.username, send, self.scenario)
        try:
            console.start()
            while not console.closed:
                typed = channel.recv(4096)
                if not typed:
                    break
                console.feed(typed.decode("utf-8", "replace"))
                if self.after_line:
                    self.after_line()
        except Dropped:
            connection.close()
        finally:
            console.stop()
            if self.after_line:
                self.after_line()
            channel.close()


def host_key(path: Path) -> paramiko.PKey:
    """The host key stored in a file, made on first use."""
    if not path.exists():
        paramiko.RSAKey.generate(2048).write_private_key_file(str(path))
    return paramiko.RSAKey(filename=str(path))

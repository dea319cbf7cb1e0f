# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ProxyCommand with ProxyUseFdpass: connect inside a network namespace and hand the socket to ssh. Arguments: NAMESPACE HOST PORT."""

from __future__ import annotations

import array
import ctypes
import os
import socket
import sys

CLONE_NEWNET = 0x40000000


def main() -> None:
    """Enter the namespace, connect, pass the socket over standard output, which ssh has made a socket."""
    namespace, host, port = sys.argv[1:]
    if ctypes.CDLL(None, use_errno=True).setns(os.open(namespace, os.O_RDONLY), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    connection = socket.create_connection((host, int(port)), 10)
    with socket.socket(fileno=os.dup(1)) as ssh:
        ssh.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection.fileno()]))])


try:
    main()
except OSError as error:
    sys.exit(f"lab proxy: {error}")

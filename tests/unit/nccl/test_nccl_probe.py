# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a build from a file, and asking a library that is really loaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _apt, _probe
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._build import header_code, read_build, version_code
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._probe import Bootstrap

REAL_LIBRARY = os.environ.get("GB10_NCCL_LIBRARY")

# A library that does what NCCL does here: answers its version, and chooses the interface that the configuration file names.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const char texts[] = "\0NCCL version information\0NCCL version 2.30.7+cuda13.3\0NCCL git version HEAD a5187fa2e\0";
int ncclGetVersion(int *code) { *code = 23007; return texts[0]; }
int ncclGetUniqueId(char *id) {
    char line[256], name[64] = "";
    FILE *file = fopen(getenv("NCCL_CONF_FILE"), "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "NCCL_SOCKET_IFNAME==%63s", name);
    if (strcmp(getenv("NCCL_DEBUG"), "INFO") || getenv("HOME")) return 2;
    if (strcmp(name, "enP7s7")) {
        printf("\n[2026-11-30 08:22:28] a:1:1 [0] bootstrap.cc:126 (x) NCCL WARN Bootstrap : no socket interface found\n");
        return 5;
    }
    printf("a:1:1 [0] NCCL INFO Bootstrap: Using %s:192.168.10.11<0>\n", name);
    memset(id, 0, 128);
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library above, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("lib")
    (folder / "nccl.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-o", str(folder / "libnccl.so.2"), str(folder / "nccl.c")], check=True)
    return folder / "libnccl.so.2"


def test_a_library_is_loaded_in_a_process_of_its_own(library: Path) -> None:
    assert _probe.load(str(library)) == _probe.Loaded(23007, str(library))
    assert "libnccl" not in Path("/proc/self/maps").read_text()


def test_what_can_not_be_loaded_is_told_in_one_line(tmp_path: Path) -> None:
    text = tmp_path / "libnccl.so.2"
    text.write_text("no library")
    assert _probe.load(str(text)).error == f"OSError: {text}: file too short"
    assert "No such file" in str(_probe.load(str(tmp_path / "gone.so")).error)


def test_the_build_is_read_from_the_file(library: Path, tmp_path: Path) -> None:
    build = read_build(library)
    assert build is not None
    assert (build.version, build.cuda, build.git) == ("2.30.7", "13.3", "a5187fa2e")
    assert re.fullmatch(r"2\.30\.7\+cuda13\.3 git a5187fa2e sha256 [0-9a-f]{16}", build.text)
    for content in (b"", b"something else"):
        (tmp_path / "x").write_bytes(content)
        assert read_build(tmp_path / "x") is None
    assert read_build(tmp_path / "gone") is None


@pytest.mark.parametrize(("version", "code"), [("2.28.9", 22809), ("2.30.7", 23007), ("2.32.3", 23203), ("2.30", None), ("v2.30.7", None), ("", None)])
def test_version_codes(version: str, code: int | None) -> None:
    assert version_code(version) == code


def test_the_code_of_a_header(tmp_path: Path) -> None:
    header = tmp_path / "nccl.h"
    header.write_text("#define NCCL_MAJOR 2\n#define NCCL_VERSION_CODE 23007\n#define NCCL_VERSION(X,Y,Z) 1\n")
    assert (header_code(header), header_code(tmp_path / "gone")) == (23007, None)


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ("NCCL_SOCKET_IFNAME==enP7s7\n", Bootstrap("enP7s7", "192.168.10.11")),
        ("NCCL_SOCKET_IFNAME==nosuch\n", Bootstrap(error="Bootstrap : no socket interface found")),
    ],
)
def test_the_library_chooses_under_the_file_alone(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conf: str, expected: Bootstrap) -> None:
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "of this process")
    (tmp_path / "nccl.conf").write_text(conf)
    assert _probe.bootstrap(str(library), tmp_path / "nccl.conf") == expected


def cases(text: str) -> dict[str, str]:
    """The captured runs: command line (and file shown before it) to output."""
    parts = re.split(r"^\$ +(.*)$", text, flags=re.MULTILINE)
    shown, found = "", {}
    for command, output in zip(parts[1::2], parts[2::2], strict=True):
        if command.startswith("cat"):
            shown = command.split()[-1]
        else:
            found[command.replace(" python3 ncclGetUniqueId.py", "").replace("NCCL_DEBUG=INFO", "").strip() or shown] = output
    return found


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("NCCL_SOCKET_IFNAME=enP7s7", Bootstrap("enP7s7", "192.168.10.11")),
        ("NCCL_SOCKET_IFNAME==enP7s7", Bootstrap("enP7s7", "192.168.10.11")),
        ("NCCL_CONF_FILE=conf.ok", Bootstrap("enP7s7", "192.168.10.11")),
        ("NCCL_SOCKET_IFNAME=nosuch", Bootstrap(error="Bootstrap : no socket interface found")),
        ("NCCL_CONF_FILE=conf.bad", Bootstrap(error="no bootstrap line")),
        ("NCCL_CONF_FILE=conf.bad2", Bootstrap(error="Bootstrap : no socket interface found")),
    ],
)
def test_what_the_real_library_printed_is_understood(fixtures: Path, setting: str, expected: Bootstrap) -> None:
    printed = cases((fixtures / "nccl" / "nccl-2.30.7-bootstrap-ifname-and-conf-file-real.txt").read_text())[setting]
    assert _probe.parse_bootstrap(re.sub(r"^uid rc (\d+).*$", r"status \1", printed, flags=re.MULTILINE)) == expected


@pytest.mark.skipif(REAL_LIBRARY is None, reason="set GB10_NCCL_LIBRARY to a real libnccl.so.2, for example below /opt/gb10/nccl/current/lib")
def test_the_real_library_takes_our_interface_from_the_file(tmp_path: Path) -> None:
    script = """
        ip link add enP7s7 type veth peer name far && ip link add enp1s0f0np0 type veth peer name far2
        ip addr add 192.168.10.11/24 dev enP7s7 && ip addr add 10.77.0.1/24 dev enp1s0f0np0
        for i in lo enP7s7 far enp1s0f0np0 far2; do ip link set $i up; done
        exec "$0" -c 'import sys; sys.path.insert(0, sys.argv[1]); import conftest, pathlib
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _probe
for name in ("=enP7s7", "=enp1s0f0np0", "=enP7s8"):
    conf = pathlib.Path(sys.argv[3]); conf.write_text("NCCL_SOCKET_IFNAME=" + name + chr(10)); print(_probe.bootstrap(sys.argv[2], conf))' "$@"
    """
    words = [sys.executable, str(Path(__file__).parents[1]), str(REAL_LIBRARY), str(tmp_path / "nccl.conf")]
    answer = subprocess.run(["unshare", "--net", "sh", "-ec", script, *words], capture_output=True, text=True, check=True).stdout
    assert answer.splitlines() == [
        str(Bootstrap("enP7s7", "192.168.10.11")),
        str(Bootstrap("enp1s0f0np0", "10.77.0.1")),
        str(Bootstrap(error="Bootstrap : no socket interface found")),
    ]


# -- the package tools' text -------------------------------------------------------------------------------------------


def test_what_dpkg_tells() -> None:
    text = "libnccl2\t2.30.7-1+cuda13.3\thi \nlibnccl-dev\t2.30.7-1+cuda13.3\tii \n"
    assert _apt.parse_installed(text) == {"libnccl2": _apt.Package("2.30.7-1+cuda13.3", True), "libnccl-dev": _apt.Package("2.30.7-1+cuda13.3", False)}
    assert _apt.parse_installed("libnccl2\t2.30.7-1+cuda13.3\trc \nlibnccl-dev\t2.30.7-1+cuda13.3\tiU \n") == {}
    assert _apt.parse_installed("") == {}


MADISON = """\
  libnccl2 | 2.30.7-1+cuda13.3 | https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa  Packages
  libnccl2 | 2.30.7-1+cuda13.10 | https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa  Packages
  libnccl2 | 2.30.7-2+cuda13.4 | https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa  Packages
  libnccl2 | 2.22.3-1-1 | http://deb.debian.org/debian trixie/contrib arm64 Packages
libnccl-dev | 2.30.7-1+cuda13.3 | https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa  Packages
libnccl-dev | 2.30.7-1+cuda13.10 | https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa  Packages
"""


@pytest.mark.parametrize(("version", "full"), [("2.30.7", "2.30.7-1+cuda13.10"), ("2.22.3", None), ("2.30", None)])
def test_the_newest_package_that_both_have_is_chosen(version: str, full: str | None) -> None:
    assert _apt.choose(version, _apt.parse_available(MADISON)) == full

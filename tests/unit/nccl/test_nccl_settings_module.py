# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings as files: our block, the environment file, everybody else's lines, and the proof."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gb10.cluster.plugins.module_utils._files import NotRegular
from ansible_collections.gb10.cluster.plugins.module_utils._nccl import _places, _probe, _settings
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._failure import NcclError, of_system
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._settings import Source
from ansible_collections.gb10.cluster.plugins.module_utils._nccl._telling import tell

SETTINGS = {
    "NCCL_SOCKET_IFNAME": "=enP7s7",
    "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
    "NCCL_IB_SUBNET_AWARE_ROUTING": "1",
    "NCCL_NET_PLUGIN": "none",
}
BLOCK = """\
# BEGIN gb10.cluster
NCCL_SOCKET_IFNAME==enP7s7
NCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0
NCCL_IB_SUBNET_AWARE_ROUTING=1
NCCL_NET_PLUGIN=none
# END gb10.cluster
"""
EMPTY = BLOCK.replace("gb10.cluster\nNCCL_SOCKET", "gb10.cluster\n# the file was here before, and empty\nNCCL_SOCKET")


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    """An empty /etc."""
    (tmp_path / "etc").mkdir()
    return tmp_path / "etc"


def go(etc: Path, settings: dict[str, str] | None = None, check_mode: bool = False, library: Path | None = None) -> dict[str, Any]:
    """One run of the module; without settings for state absent."""
    return tell(settings or {}, etc / "nccl.conf", etc / "gb10" / "nccl.env", library, check_mode)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(None, BLOCK, id="no file"),
        pytest.param("", EMPTY, id="empty file"),
        pytest.param(EMPTY.replace("=1", "=0"), EMPTY, id="a file that was empty, settings changed"),
        pytest.param("NCCL_DEBUG=WARN\n", f"{BLOCK}NCCL_DEBUG=WARN\n", id="others' lines stay, below ours"),
        pytest.param("NCCL_DEBUG=WARN", f"{BLOCK}NCCL_DEBUG=WARN", id="no newline at the end"),
        pytest.param("NCCL_DEBUG=WARN\r\n", f"{BLOCK}NCCL_DEBUG=WARN\r\n", id="carriage returns stay"),
        pytest.param(f"{BLOCK}NCCL_DEBUG=WARN\n", f"{BLOCK}NCCL_DEBUG=WARN\n", id="nothing to do"),
        pytest.param(f"a=1\n{BLOCK.replace('=1', '=0')}b=2\n", f"{BLOCK}a=1\nb=2\n", id="an old block is replaced and moves to the top"),
        pytest.param(f"{BLOCK}x=1\n{BLOCK}", f"{BLOCK}x=1\n", id="one block is enough"),
    ],
)
def test_our_block_comes_first_and_all_other_lines_are_kept(before: str | None, after: str) -> None:
    assert _settings.conf(before, SETTINGS) == after
    assert _settings.conf(after, SETTINGS) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, None), ("", ""), (BLOCK, None), (EMPTY, ""), (f"{EMPTY}x=1\n", "x=1\n"), (f"{BLOCK}NCCL_DEBUG=WARN\n", "NCCL_DEBUG=WARN\n"), ("x=1\n", "x=1\n")],
)
def test_without_settings_only_our_block_goes(before: str | None, after: str | None) -> None:
    assert _settings.conf(before, {}) == after


def test_a_block_without_end_is_refused(etc: Path) -> None:
    (etc / "nccl.conf").write_text("# BEGIN gb10.cluster\nNCCL_DEBUG=INFO\n")
    with pytest.raises(NcclError) as failure:
        go(etc, SETTINGS)
    assert str(failure.value) == (
        f"{etc}/nccl.conf: # BEGIN gb10.cluster - expected # END gb10.cluster after it, found the end of the file. Mend or remove that block."
    )


def as_nccl(text: str) -> dict[str, str]:
    """nccl.conf as NCCL 2.30.7 reads it: ``#`` in column 1 is a comment, the first setter of a name wins."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#") and name and not any(sign in name for sign in " \t"):
            found.setdefault(name, value)
    return found


def as_systemd(text: str) -> dict[str, str]:
    """EnvironmentFile as systemd.exec(5) has it, for lines without quotes, backslashes and blanks, which it would treat."""
    found = {}
    for line in text.splitlines():
        if line and line[0] not in "#;":
            assert not set(line) & set("\"'\\ \t")
            name, _equals, value = line.partition("=")
            found[name] = value
    return found


def as_docker(text: str) -> dict[str, str]:
    """``--env-file``: everything behind the first ``=`` literally; a name with a blank is an error."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals
            assert " " not in name
            found[name] = value
    return found


def as_shell(text: str) -> dict[str, str]:
    """``set -a; . FILE`` in a real shell."""
    output = subprocess.run(["env", "-i", "sh", "-c", f"set -a\n{text}\nenv"], capture_output=True, text=True, check=True).stdout
    return {name: value for name, _equals, value in (line.partition("=") for line in output.splitlines()) if name.startswith("NCCL_")}


@pytest.mark.parametrize("reader", [as_nccl, as_systemd, as_docker, as_shell])
def test_everybody_reads_the_same_settings_out_of_both_files(reader: Any) -> None:
    assert reader(_settings.environment(SETTINGS)) == SETTINGS
    assert reader(_settings.conf(None, SETTINGS)) == SETTINGS


@pytest.mark.parametrize(
    ("name", "value"),
    [("NCCL_DEBUG", '"INFO"'), ("NCCL_DEBUG", "IN FO"), ("NCCL_DEBUG", ""), ("NCCL_DEBUG", "a\nb"), ("NCCL_DEBUG", "$X"), ("export X", "1"), ("PATH", "/")],
)
def test_what_they_would_read_differently_is_refused(name: str, value: str) -> None:
    assert _settings.refuse({**SETTINGS, name: value}) == [
        f"setting {name} - expected NCCL_NAME and a value of plain characters, found {value!r}. "
        "Leave out quotes, blanks and everything else that a shell would treat."
    ]
    assert _settings.refuse(SETTINGS) == []


def test_both_files_are_written_and_a_second_run_touches_nothing(etc: Path) -> None:
    check = go(etc, SETTINGS, check_mode=True)
    assert list(etc.iterdir()) == []
    assert go(etc, SETTINGS)["diff"] == check["diff"]
    assert (etc / "nccl.conf").read_text() == BLOCK
    assert (etc / "gb10" / "nccl.env").read_text() == "# written by gb10.cluster\n" + "".join(f"{name}={value}\n" for name, value in SETTINGS.items())
    assert [oct(file.stat().st_mode & 0o777) for file in (etc / "nccl.conf", etc / "gb10" / "nccl.env", etc / "gb10")] == ["0o644", "0o644", "0o755"]
    times = [file.stat() for file in etc.rglob("*")]
    assert go(etc, SETTINGS)["changed"] is False
    assert [file.stat() for file in etc.rglob("*")] == times
    assert check["diff"][0] == {"before": "", "after": BLOCK, "before_header": str(etc / "nccl.conf"), "after_header": str(etc / "nccl.conf")}


def test_the_mode_of_the_file_and_a_link_to_it_stay(etc: Path) -> None:
    (etc / "real").write_bytes(b"# caf\xe9\nNCCL_DEBUG=WARN\r\n")
    (etc / "real").chmod(0o640)
    (etc / "nccl.conf").symlink_to("real")
    result = go(etc, SETTINGS)
    assert result["diff"][0]["before"] == "# caf?\nNCCL_DEBUG=WARN\r\n"
    assert (etc / "nccl.conf").is_symlink()
    assert (etc / "real").read_bytes() == BLOCK.encode() + b"# caf\xe9\nNCCL_DEBUG=WARN\r\n"
    assert oct((etc / "real").stat().st_mode & 0o777) == "0o640"
    go(etc)
    assert (etc / "real").read_bytes() == b"# caf\xe9\nNCCL_DEBUG=WARN\r\n"


def test_absent_leaves_the_machine_as_it_was_before(etc: Path) -> None:
    go(etc, SETTINGS)
    check = go(etc, check_mode=True)
    assert go(etc)["diff"] == check["diff"]
    assert list(etc.iterdir()) == []
    assert go(etc)["changed"] is False
    (etc / "gb10").mkdir()
    (etc / "gb10" / "other").write_text("x")
    go(etc, SETTINGS)
    go(etc)
    assert [str(path.relative_to(etc)) for path in etc.rglob("*")] == ["gb10", "gb10/other"]


def test_absent_leaves_an_empty_file_as_it_was(etc: Path) -> None:
    (etc / "nccl.conf").write_text("")
    (etc / "nccl.conf").chmod(0o600)
    if os.geteuid() == 0:
        os.chown(etc / "nccl.conf", 1, 1)
    before = (etc / "nccl.conf").stat()
    go(etc, SETTINGS)
    assert go(etc, SETTINGS)["changed"] is False
    check = go(etc, check_mode=True)
    assert go(etc)["diff"] == check["diff"]
    after = (etc / "nccl.conf").stat()
    assert (after.st_size, after.st_mode, after.st_uid, after.st_gid) == (0, before.st_mode, before.st_uid, before.st_gid)
    assert go(etc)["changed"] is False


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize("text", ["PATH=/bin\n", "", "NCCL_DEBUG=INFO\n# written by gb10.cluster\n"])
def test_an_environment_file_of_somebody_else_is_neither_taken_nor_removed(etc: Path, text: str, check_mode: bool) -> None:
    (etc / "gb10").mkdir()
    (etc / "gb10" / "nccl.env").write_text(text)
    with pytest.raises(NcclError) as failure:
        go(etc, SETTINGS, check_mode=check_mode)
    fix = "Set environment_file to a path of its own, or move that file away."
    assert str(failure.value) == f"{etc}/gb10/nccl.env - expected no file, or the one that this module wrote, found somebody's. {fix}"
    assert go(etc, check_mode=check_mode)["changed"] is False
    assert {str(path.relative_to(etc)): path.read_text() for path in etc.rglob("*") if path.is_file()} == {"gb10/nccl.env": text}


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize("make", [lambda part: part.symlink_to("/nowhere"), lambda part: part.write_text("")])
def test_a_folder_that_can_not_be_one_is_refused(etc: Path, make: Any, check_mode: bool) -> None:
    make(etc / "gb10")
    with pytest.raises(NcclError) as failure:
        go(etc, SETTINGS, check_mode=check_mode)
    assert str(failure.value).startswith(f"{etc}/gb10 - expected a folder, or nothing, found ")
    assert str(failure.value).endswith(". Move it away, or name another place.")
    assert [path.name for path in etc.iterdir()] == ["gb10"]
    assert go(etc, check_mode=check_mode)["changed"] is False


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize("name", ["nccl.conf", "gb10/nccl.env"])
def test_something_that_is_no_file_is_told_by_name_and_neither_replaced_nor_removed(etc: Path, name: str, check_mode: bool) -> None:
    (etc / "gb10").mkdir()
    os.mkfifo(etc / name)
    with pytest.raises(NotRegular) as failure:
        go(etc, SETTINGS, check_mode=check_mode)
    assert str(of_system(failure.value, "")) == (
        f"files of NCCL ({etc}/{name}) - expected to be readable and writable, found a pipe. "
        "Remove it (systemctl unmask for a masked unit), or move it away."
    )
    assert go(etc, check_mode=check_mode)["changed"] is False
    assert [str(path.relative_to(etc)) for path in etc.rglob("*") if not path.is_dir()] == [name]


# -- who else sets them ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("syntax", "line", "value"),
    [
        ("conf", "NCCL_NET_PLUGIN=ext", "ext"),
        ("conf", "NCCL_NET_PLUGIN=ext\r", "ext"),
        ("conf", ' NCCL_NET_PLUGIN="ext"', None),
        ("conf", "export NCCL_NET_PLUGIN=ext", None),
        ("conf", "#NCCL_NET_PLUGIN=ext", None),
        ("shell", "export NCCL_NET_PLUGIN=ext", "ext"),
        ("shell", "NCCL_NET_PLUGIN='ext'; x", "ext"),
        ("shell", 'export A=1 NCCL_NET_PLUGIN="ext" B=2', "ext"),
        ("shell", "  # export NCCL_NET_PLUGIN=ext", None),
        ("shell", 'if [ "$NCCL_NET_PLUGIN" = ext ]; then', None),
        ("shell", "MY_NCCL_NET_PLUGIN=ext", None),
        ("shell", "export NCCL_NET_PLUGIN=none", None),
        ("shell", "export NCCL_DEBUG=INFO", None),
    ],
)
def test_a_line_that_sets_ours_to_something_else_is_found(syntax: str, line: str, value: str | None) -> None:
    found = _settings.shadows(SETTINGS, [Source("/x", f"\n{line}\n", syntax, True)])
    expected = {"file": "/x", "line": 2, "name": "NCCL_NET_PLUGIN", "value": value, "ours": "none", "wins": True}
    assert found == ([] if value is None else [expected])


def test_our_own_block_shadows_nothing() -> None:
    text = f"{BLOCK.replace('=none', '=other')}NCCL_NET_PLUGIN=ext\n"
    assert [row["line"] for row in _settings.shadows(SETTINGS, [Source("/etc/nccl.conf", text, "conf", False)])] == [7]


def test_every_place_is_looked_at_and_told_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "home" / "nvidia"
    for name, text in {
        "etc/nccl.conf": f"{BLOCK}NCCL_NET_PLUGIN=a\n",
        "etc/environment": 'NCCL_NET_PLUGIN="b"\n',
        "etc/profile.d/nccl.sh": "export NCCL_NET_PLUGIN=c\n",
        "etc/profile.d/nccl.csh": "export NCCL_NET_PLUGIN=x\n",
        "home/nvidia/.nccl.conf": "NCCL_NET_PLUGIN=d\n",
        "home/nvidia/.bashrc": "export NCCL_NET_PLUGIN=e\n",
        "home/nvidia/.profile": "\xff export NCCL_NET_PLUGIN=f\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "latin-1")
    os.mkfifo(home / ".zshrc")
    wins = "It wins over ours for whoever it applies to: remove that line."
    assert _settings.warnings(_settings.shadows(SETTINGS, _places.sources(tmp_path, [home, tmp_path / "home" / "gone"]))) == [
        f"{tmp_path}/etc/nccl.conf line 7: NCCL_NET_PLUGIN - expected none, found a. It is without effect, because ours comes first: remove that line.",
        f"{tmp_path}/etc/environment line 1: NCCL_NET_PLUGIN - expected none, found b. {wins}",
        f"{tmp_path}/etc/profile.d/nccl.sh line 1: NCCL_NET_PLUGIN - expected none, found c. {wins}",
        f"{home}/.nccl.conf line 1: NCCL_NET_PLUGIN - expected none, found d. {wins}",
        f"{home}/.profile line 1: NCCL_NET_PLUGIN - expected none, found f. {wins}",
        f"{home}/.bashrc line 1: NCCL_NET_PLUGIN - expected none, found e. {wins}",
    ]


def test_nobody_waits_for_what_is_no_text_or_for_a_home_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    (home / ".zshrc").symlink_to("/proc/kmsg")
    (home / ".profile").write_text("x" * (_places._MOST_BYTES + 1))
    (home / ".bashrc").write_text("export NCCL_NET_PLUGIN=e\n")
    look = Path.glob

    def glob(folder: Path, pattern: str) -> Any:
        if folder == away:
            raise OSError(116, "Stale file handle", str(folder))
        return look(folder, pattern)

    monkeypatch.setattr(Path, "glob", glob)
    signal.alarm(10)
    try:
        found = [source.file for source in _places.sources(tmp_path, [away, home])]
    finally:
        signal.alarm(0)
    assert [file for file in found if not file.endswith(".zshrc")] == [f"{home}/.bashrc"]


def test_homes_are_those_of_root_and_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    users = [("/root", 0), ("/usr/sbin", 1), ("/home/a", 1000), ("/home/a", 1001), ("/nonexistent", 65534), ("/home/b", 59999)]
    monkeypatch.setattr(_places.pwd, "getpwall", lambda: [type("User", (), {"pw_dir": home, "pw_uid": uid}) for home, uid in users])
    assert _places.homes() == [Path("/home/a"), Path("/home/b"), Path("/root")]


# -- the proof ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            _probe.Bootstrap(error="Bootstrap : no socket interface found"),
            "expected enP7s7, found Bootstrap : no socket interface found. The interface must be up and carry an address; "
            "NCCL_DEBUG=INFO shows what NCCL sees.",
        ),
        (
            _probe.Bootstrap("docker0", "172.17.0.1"),
            "expected enP7s7, found docker0. The interface must be up and carry an address; NCCL_DEBUG=INFO shows what NCCL sees.",
        ),
    ],
)
def test_settings_that_nccl_does_not_take_are_a_failure_and_both_files_are_as_before(
    etc: Path, monkeypatch: pytest.MonkeyPatch, answer: _probe.Bootstrap, text: str
) -> None:
    (etc / "nccl.conf").write_text("NCCL_DEBUG=WARN\n")
    monkeypatch.setattr(_probe, "bootstrap", lambda _library, _conf: answer)
    with pytest.raises(NcclError) as failure:
        go(etc, SETTINGS, library=Path("/x"))
    assert str(failure.value) == f"bootstrap interface of NCCL under {etc}/nccl.conf - {text}"
    assert [(file.name, file.read_text()) for file in etc.iterdir()] == [("nccl.conf", "NCCL_DEBUG=WARN\n")]


def test_nccl_proves_settings_that_are_there_and_never_what_check_mode_would_write(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(_probe, "bootstrap", lambda library, conf: asked.append(f"{library} {conf}") or _probe.Bootstrap("enP7s7", "192.168.10.11"))
    assert go(etc, SETTINGS, check_mode=True, library=Path("/lib"))["bootstrap"] is None
    assert asked == []
    for check_mode in (False, True):
        assert go(etc, SETTINGS, check_mode, Path("/lib"))["bootstrap"] == {"interface": "enP7s7", "address": "192.168.10.11"}
    assert asked == [f"/lib {etc}/nccl.conf"] * 2

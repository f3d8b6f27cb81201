"""Files appear whole or not at all, and are read up to a limit."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ffplan.base.files import read_limited, text_lines, write_whole


def test_a_new_file_and_a_replaced_one(tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    write_whole(target, "one\n")
    target.chmod(0o640)
    write_whole(target, "two é\n")
    assert target.read_text(encoding="utf-8") == "two é\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_no_name_in_the_folder_can_redirect_the_scratch_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a name that was foreseen is not followed: the file is created, or the write fails."""
    victim, target = tmp_path / "victim", tmp_path / "report.txt"
    victim.write_text("precious")
    monkeypatch.setattr("os.urandom", lambda count: b"\0" * count)
    (tmp_path / f".ffplan-{'0' * 16}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(target, "new")
    assert victim.read_text() == "precious"
    assert not target.exists()


def test_a_name_of_245_characters(tmp_path: Path) -> None:
    target = tmp_path / ("r" * 245)
    write_whole(target, "x")
    assert target.read_text() == "x"


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk."""
    target = tmp_path / "rates.yaml"
    target.write_text("old\n")
    code = (
        "import resource, signal\n"
        "from pathlib import Path\n"
        "from ffplan.base.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        f"write_whole(Path({str(target)!r}), 'new\\n' * 100)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "OSError" in done.stderr
    assert target.read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rates.yaml"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert found == ["through"]
    assert pipe.is_fifo()


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_limited(file, 5) == b"12345"
    assert read_limited(file, 4) is None


def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """Opening a pipe waits for its writer, and some devices act when they are opened."""
    pipe, link, loop = tmp_path / "pipe", tmp_path / "link", tmp_path / "loop"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    loop.symlink_to(loop)
    for path, words in ((pipe, "named pipe"), (link, "named pipe"), (Path("/dev/zero"), "device")):
        with pytest.raises(OSError, match=f"this is a {words}; give a file"):
            read_limited(path, 1000)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="this is a socket"):
            read_limited(tmp_path / "socket", 1000)
    for path in (loop, tmp_path / "none"):
        with pytest.raises(OSError):  # noqa: PT011
            read_limited(path, 1000)
    ours, theirs = os.pipe()
    os.write(theirs, b"text")
    os.close(theirs)
    assert read_limited(Path(f"/dev/fd/{ours}"), 4) == b"text"
    os.close(ours)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a\n"]),
        ("\n", ["\n"]),
        ("a\r\n\r\nb\rc\n\n", ["a\r\n", "\r\n", "b\r", "c\n", "\n"]),
        ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\nh", ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n", "h"]),
    ],
)
def test_lines_end_where_an_editor_ends_them(text: str, lines: list[str]) -> None:
    assert text_lines(text, ends=True) == lines
    assert text_lines(text) == [line.rstrip("\r\n") for line in lines]

"""Files as they are written: whole, or what was there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kragx.data import file_names
from kragx.data.formats.jsonl import open_log, open_text, write_bytes, write_records
from kragx.errors import UsageError

posix = pytest.mark.skipif(os.name != "posix", reason="of POSIX")
not_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)


def left(folder: Path) -> list[str]:
    """The names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_what_was_there_stays_until_the_end(tmp_path):
    """Whoever reads meanwhile reads the old file; afterwards the new one stands there alone."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    with open_text(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert left(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError(28, "No space left")])
def test_an_error_leaves_what_was_there(tmp_path, error):
    """Whatever ends the writing, the old file is whole, and nothing else is left."""
    path = tmp_path / "a.txt"
    path.write_text("old")

    def records():
        yield {"a": 1}
        raise error

    expected = UsageError if isinstance(error, OSError) else error
    with pytest.raises(expected):
        write_records(records(), path)
    assert path.read_text() == "old"
    assert left(tmp_path) == ["a.txt"]


@posix
def test_a_disk_without_room(tmp_path):
    """A write that the system refuses is a typed error, and the old file is whole."""
    import resource

    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UsageError, match=r"a\.bin: cannot be written: File too large"):
            write_bytes(path, b"x" * 100_000)
        with pytest.raises(UsageError, match="cannot be written"):
            write_records(({"a": "x" * 100} for _ in range(1000)), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old"
    assert left(tmp_path) == ["a.bin"]


@pytest.mark.integration
def test_killed_while_writing(tmp_path):
    """A process that is killed half way leaves the old file whole."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    program = (
        "import os\nfrom kragx.data.formats.jsonl import open_text\n"
        f"with open_text({str(path)!r}) as file:\n    file.write('n' * 10**6)\n    os._exit(9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert done.returncode == 9
    assert path.read_text() == "old"


@posix
def test_links_and_permissions_stay(tmp_path):
    """A symbolic link still leads to the file, whose permissions stay."""
    (tmp_path / "else").mkdir()
    target, link = tmp_path / "else" / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@posix
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    """As the user's mask says, not those of a private temporary file."""
    (tmp_path / "any").touch()
    write_bytes(tmp_path / "a", b"")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "any").stat().st_mode


@posix
def test_devices_and_pipes(tmp_path):
    """What is no file is written to as it comes, and is still there afterwards."""
    for device in ("/dev/null", "/dev/stderr"):
        write_bytes(device, b"")
        assert Path(device).exists()
    with pytest.raises(UsageError, match="/dev/full: cannot be written: No space left"):
        write_bytes("/dev/full", b"x")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"sent")
    reader.join(10)
    assert received == [b"sent"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.integration
@posix
def test_standard_output_that_is_a_file(tmp_path):
    """`--out /dev/stdout > file` goes where the shell has opened, and what follows comes after."""
    program = (
        "from kragx.data.formats.jsonl import write_bytes\n"
        "write_bytes('/dev/stdout', b'one\\n'); print('two')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "out.txt").open("ab") as file:
        subprocess.run([sys.executable, "-c", program], env=environment, stdout=file, check=True)
    assert (tmp_path / "out.txt").read_text() == "one\ntwo\n"
    assert left(tmp_path) == ["out.txt"]


def test_what_cannot_be_written_is_said_before_the_work(tmp_path):
    """A folder, a missing folder and a name that is too long are refused before anything else."""
    for path in (tmp_path, tmp_path / "none" / "a", tmp_path / ("x" * 300)):
        with pytest.raises(UsageError, match="cannot be written"), open_text(path):
            pytest.fail("the work has begun")
    with pytest.raises(UsageError, match="cannot be written"), open_log(tmp_path):
        pytest.fail("the work has begun")
    write_bytes(tmp_path / ("x" * 255), b"as long as names can be")


@not_root
def test_permissions_are_asked(tmp_path):
    """A file that is read-only stays, and so does one in a folder that takes no new file."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(UsageError, match="Permission denied"):
        write_bytes(path, b"new")
    path.chmod(0o600)
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="Permission denied"):
        write_bytes(path, b"new")
    tmp_path.chmod(0o700)
    assert path.read_text() == "old"


def test_names_of_files():
    """Whatever a retriever is called, its file is one on every system, and nobody else's."""
    assert file_names(["a. .", " b ", "..", "a/b"]) == ["a", "b", "_", "a_b"]
    assert file_names(["A", "a", "a-2", "A"]) == ["A", "a-2", "a-2-2", "A-3"]
    assert file_names(["stra\u00dfe", "STRASSE", "\u00e9", "e\u0301"]) == [
        "stra\u00dfe",
        "STRASSE-2",
        "\u00e9",
        "e\u0301-2",
    ]
    assert file_names(["x" * 59 + ". y"]) == ["x" * 59]

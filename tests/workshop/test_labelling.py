"""The labelling loop: keys, undo, skip, resume, what is on disk after each, what is shown."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from kragx.agreement import PairToLabel, Sample, Scale
from kragx.errors import DataError, UsageError
from kragx.workshop.labelling import label, printable, sheet
from tests import children
from tests.waiting import PATIENCE
from tests.workshop.serving import written

SCALE = Scale(0, 3)
SAMPLE = Sample(
    tuple(PairToLabel(f"q{at}", f"d{at}", f"question {at}", f"passage {at}") for at in range(4)), {}
)


def session(path, keys, sample=SAMPLE, width=80, scale=SCALE, rubric=None):
    """Label with these keys; how it ended, the file's lines, and what was shown."""
    out = Console(file=io.StringIO(), width=width, color_system=None)
    with sheet(path, sample, scale) as own:
        ended = label(own, iter(keys), out, rubric=rubric)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return ended, lines, out.file.getvalue()


@pytest.fixture
def path(tmp_path):
    """A label file that does not exist yet."""
    return tmp_path / "human.qrels"


def test_grades(path):
    """Digits are labels; other keys do nothing; the end of the sample ends the session."""
    ended, lines, _ = session(path, "3x91!20")
    assert lines == ["q0 0 d0 3", "q1 0 d1 1", "q2 0 d2 2", "q3 0 d3 0"]
    assert (ended.done, ended.total, ended.skipped) == (4, 4, 0)


def test_undo(path):
    """The key u takes back the last thing done, a skip too, and shows that pair again."""
    ended, lines, shown = session(path, "3u2suuq")
    assert lines == []
    assert ended.done == 0
    order = [line for line in shown.splitlines() if line.startswith("passage ")]
    assert order == [f"passage {at}" for at in (0, 1, 0, 1, 2, 1, 0)]


def test_undo_after_the_last_pair(path):
    """The last label can be taken back too, in the same session and in a later one."""
    ended, lines, shown = session(path, "3120u3x")
    assert [line.split()[-1] for line in lines] == ["3", "1", "2", "3"]
    assert (ended.done, "no pair is left" in shown) == (4, True)
    _, lines, shown = session(path, "u1x")
    assert lines[-1] == "q3 0 d3 1"
    assert "passage 0" not in shown
    assert "but 1 skipped" in session(path.with_name("other.qrels"), "s123")[2]


def test_contradictions_are_not_settled_silently(path):
    """A file with two labels of a pair is refused and stays as it is; a repeated one is fine."""
    path.write_text("q0 0 d0 2\nq0 0 d0 1\n")
    with pytest.raises(DataError, match=r"document 'd0': 2 \(line 1\), 1 \(line 2\)"):
        session(path, "1")
    assert path.read_text() == "q0 0 d0 2\nq0 0 d0 1\n"
    path.write_text("q0 0 d0 2\nq0 0 d0 2.0\n")
    assert session(path, "1q")[1] == ["q0 0 d0 2", "q1 0 d1 1"]


def test_no_compressed_label_files(path):
    """Labels are not written as plain text into a file that says it is compressed."""
    with pytest.raises(UsageError, match=r"without \.gz"):
        session(path.with_name("human.qrels.gz"), "1")


def test_skip(path):
    """A skipped pair is passed over, and comes again in the next session."""
    ended, lines, _ = session(path, "s321")
    assert (ended.done, ended.skipped) == (3, 1)
    assert lines[0] == "q1 0 d1 3"
    ended, lines, shown = session(path, "0")
    assert "passage 0" in shown
    assert "passage 1" not in shown
    assert lines[-1] == "q0 0 d0 0"


def test_resume_from_the_file_alone(path):
    """What the file has is not shown again; undo reaches back into an earlier session."""
    session(path, "32q")
    _, lines, shown = session(path, "u1q")
    assert "passage 0" not in shown
    assert lines == ["q0 0 d0 3", "q1 0 d1 1"]


def test_every_label_is_on_disk_before_the_next_pair(path):
    """At each key press the file holds all labels so far: an interrupt there loses nothing."""
    seen = []

    def keys():
        seen.append(path.read_text() if path.exists() else "")
        if len(seen) == 4:
            raise KeyboardInterrupt
        yield "2"
        yield from keys()

    out = Console(file=io.StringIO())
    with sheet(path, SAMPLE, SCALE) as own, pytest.raises(KeyboardInterrupt):
        label(own, keys(), out)
    assert [text.count("\n") for text in seen] == [0, 1, 2, 3]
    assert list(path.parent.iterdir()) == [path]  # no half-written file beside it


def test_hangul_keys(path):
    """A keyboard left in Hangul mode works: ㄴ skips, ㅕ undoes, ㅂ ends."""
    ended, lines, _ = session(path, "2ㄴㅕ1ㅂ3")
    assert lines == ["q0 0 d0 2", "q1 0 d1 1"]
    assert ended.skipped == 0


def test_other_labels_stay(path):
    """Labels of pairs outside the sample are kept, and undo does not touch them."""
    path.write_text("other\t0\tdoc\t2.0\n")
    _, lines, _ = session(path, "uu1q")
    assert lines == ["other 0 doc 2", "q0 0 d0 1"]


def test_labels_off_the_scale(path):
    """A file with another scale is not mixed with."""
    path.write_text("q0 0 d0 5\n")
    with pytest.raises(DataError, match=r"human.qrels:1: the label 5 is not on the scale"):
        session(path, "1")
    with pytest.raises(UsageError, match="beyond the digits"):
        session(path.with_name("new.qrels"), "1", scale=Scale(0, 20))


def test_korean_is_wrapped_by_width(path):
    """No line is wider than the terminal, wide characters counted as two, composed or not."""
    text = unicodedata.normalize("NFD", "청약철회는 서면을 받은 날부터 이레 안에 할 수 있다. " * 8)
    long = "가나다라마바사아자차카타파하" * 9
    sample = Sample((PairToLabel("q", "d", text, long),), {})
    _, _, shown = session(path, "q", sample, width=40)
    assert max(map(cell_len, shown.splitlines())) <= 40
    assert "청약철회는" in shown
    assert shown.replace("\n", "").count("하가나다") == 8


def test_what_is_shown(path):
    """Question, passage, how far, the keys and the rubric; no grade by a judge, no id."""
    item = PairToLabel("qid", "docid", "the question", "the passage", rank=7, grade=3)
    _, _, shown = session(path, "hxq", Sample((item,), {}), rubric={0: "nothing", 3: "all of it"})
    for part in ("the question", "the passage", "1 / 1", "u undo", "3  all of it"):
        assert part in shown
    assert "qid" not in shown
    assert "docid" not in shown
    assert "7" not in shown
    support = Sample((item,), {"asks": "support"})
    assert "gold text" in session(path, "q", support)[2]


def test_the_question_is_in_sight():
    """Below a passage that is longer than the window the question stands again, else once."""
    item = PairToLabel("q", "d", "the question", "a long passage " * 60)
    for height, times in ((15, 2), (60, 1)):
        file = io.StringIO()
        out = Console(file=file, width=60, height=height, force_terminal=True, color_system=None)
        with sheet(Path("none.qrels"), Sample((item,), {}), SCALE) as own:
            label(own, iter("q"), out)
        assert file.getvalue().count("the question") == times


def test_passages_cannot_steer_the_terminal():
    """Escape sequences and the like in a passage are shown, not obeyed."""
    assert printable("a\x1b[2Jb\x07c\x9bd\u202ee") == ("a‹U+001B›[2Jb‹U+0007›c‹U+009B›d‹U+202E›e")
    assert printable("line\r\nline\tcell") == "line\nline    cell"


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
def test_in_a_terminal(tmp_path):
    """In a pseudo-terminal: single keys, the Delete key is no 3, Ctrl-C ends with 130."""
    import pty
    import termios

    docs = [{"id": f"d{at}", "text": f"passage {at}"} for at in range(4)]
    row = {"query_id": "q1", "query": "why?", "gold": [], "retrieved": docs}
    written(tmp_path / "results.jsonl", [row])
    mine, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(
        children.heeding(
            [
                sys.executable,
                *["-m", "kragx", "judge", "label", "my.qrels", "--results", "results.jsonl"],
            ]
        ),
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[2])},
        start_new_session=True,
    )
    shown = ""

    def wait_for(text):
        nonlocal shown
        until = time.monotonic() + PATIENCE
        while text not in shown:
            assert time.monotonic() < until, shown
            if select.select([mine], [], [], 0.1)[0]:
                shown += os.read(mine, 65536).decode("utf-8", "replace")
        shown = shown.split(text, 1)[1]

    try:
        wait_for("1 / 4")
        wait_for("q quit")
        os.write(mine, b"\x1b[3~\x1b[A2")
        wait_for("2 / 4")
        wait_for("q quit")
        os.write(mine, "ㄴ0".encode())
        wait_for("3 / 4")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        wait_for("2 of 4 labelled")
        assert termios.tcgetattr(theirs)[3] == before[3]
    finally:
        process.kill()
        process.wait()
        os.close(mine)
        os.close(theirs)
    lines = (tmp_path / "my.qrels").read_text().splitlines()
    assert [line.split()[-1] for line in lines] == ["2", "0"]

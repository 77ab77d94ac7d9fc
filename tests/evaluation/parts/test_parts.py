"""Work in parts: whoever does it, and however it is cut, nothing of it changes."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from kragx import evaluate, match_pairs, read_rows
from kragx.data import Reading, SurrogateRepair
from kragx.data.batch import in_rows
from kragx.errors import DataError, KragxError, UsageError, WorkerError
from kragx.evaluation import parts
from kragx.evaluation.parts import ProcessPool
from kragx.judging import Judge
from kragx.matchers import JudgeMatcher, MatchWarning
from kragx.testing import ScriptedClient
from tests.children import heeding
from tests.one_thread import ONE_THREAD
from tests.thoroughness import all_cases, some
from tests.waiting import PATIENCE, wait_until


def _row(number, **more):
    text = "gold{0} passage{0} of{0} number{0} with some more words"
    gold = [{"text": text.format(number)}]
    texts = [text.format(n) for n in (number + 1, number)]
    return {
        "query_id": f"q{number}",
        "query": f"What is {number}?",
        "gold": gold,
        "retrieved": [{"id": f"d{place}", "text": text} for place, text in enumerate(texts)],
        **more,
    }


def _written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(params=[300, 2_000, 1 << 20])
def size(request, monkeypatch):
    """How many bytes a part has."""
    monkeypatch.setattr(parts, "PART_BYTES", request.param)
    monkeypatch.setattr(parts, "PART_ROWS", max(1, request.param // 300))
    return request.param


def test_a_file_in_parts_is_the_whole_file(tmp_path, size):
    """Numbers, counts and settings are the same to the last bit."""
    file = _written(tmp_path / "results.jsonl", map(_row, range(20)))
    whole = evaluate(file)
    assert evaluate(file, workers=ONE_THREAD).to_dict(queries=True) == whole.to_dict(queries=True)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=12),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
    st.integers(1, 200),
)
def test_parts_are_whole_lines_under_their_numbers(lengths, end, is_ended, size):
    """Whatever lines and parts are: parts are the file, each from the line it says on."""
    rows = [
        json.dumps({"query_id": str(n), "gold": [{"text": "x" * long}]})
        for n, long in enumerate(lengths)
    ]
    content = end.join(rows) + (end if is_ended else "")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_BYTES", size)
        file = Path(folder, "gold.jsonl")
        file.write_bytes(content.encode())
        own = [*parts.parts_of(Reading(str(file), "gold"))]
        numbered = [line for part in own for line in part.content.lines]
        whole = enumerate(content.encode().splitlines(keepends=True), start=1)
        assert numbered == [line for line in whole if line[1].strip()]
        of_parts = [line for part in own for line, *_ in in_rows(part.batches(SurrogateRepair()))]
        assert of_parts == [line for line, *_ in Reading(str(file), "gold")]


METHODS = ["exact", "text", "phrase", "rouge2", "rougeL", {"any": ["id", "overlap"]}]
"""Of every way to compare one: by ids, texts, tokens, subsequences, and a combination."""


def _odd(number):
    """Questions that failed, were not asked, found nothing, found twice, or have no gold."""
    kinds = {
        1: {"retrieved": [], "error": "timed out"},
        2: {"retrieved": []},
        3: {"gold": []},
        4: {"retrieved": _row(number)["retrieved"] * 2},
        5: {"gold": [{"text": "."}, {"text": "12", "id": "d1", "grade": 2.0}]},
        6: {"query": "half \ud83d of one"},
        7: {"answerable": False, "gold": []},
    }
    row = {**_row(number), **kinds.get(number % 9, {})}
    if number % 9 == 8:
        del row["retrieved"]
    return row


def _said(work):
    """What is made of it, or the error; and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = work()
        except KragxError as error:
            result = repr(error), str(error)
    return result, sorted(str(own.message) for own in caught)


@pytest.mark.parametrize("match", some(METHODS, 4), ids=str)
def test_every_method_and_size_gives_the_same(tmp_path, size, match):
    """With failures, missing answers, duplicates, texts without tokens: values and warnings."""
    file = _written(tmp_path / "results.jsonl", map(_odd, range(40)))
    metrics = ["ndcg@10", "coverage@2(offsets=off)", "iou@2", "seconds_mean", "abstention"]

    def result(workers):
        evaluation = evaluate(file, match=match, metrics=metrics, workers=workers)
        return evaluation.to_dict(queries=True), evaluation.failures

    assert _said(lambda: result(ONE_THREAD)) == _said(lambda: result(None))


@pytest.mark.integration
@pytest.mark.parametrize("n", [2, 3])
def test_processes_give_the_same(tmp_path, monkeypatch, n):
    """Other processes read the parts themselves; what is in memory is sent to them."""
    monkeypatch.setattr(parts, "PART_BYTES", 2_000)
    monkeypatch.setattr(parts, "PART_ROWS", 7)
    file = _written(tmp_path / "results.jsonl", map(_odd, range(40)))
    metrics = ["ndcg@10", "coverage@2", "source_diversity@2"]

    def result(source, workers):
        return evaluate(*source, metrics=metrics, workers=workers).to_dict(queries=True)

    for source in ((file,), read_rows(file)):
        assert _said(lambda own=source: result(own, n)) == _said(lambda own=source: result(own, 1))
    one, two = (_said(lambda n=n: [*match_pairs(file, texts=True, workers=n)]) for n in (1, n))
    assert one == two


def test_packed_and_whole_files_are_shared_as_well(tmp_path, size):
    """Of a .gz and of a JSON list the questions are sent."""
    rows = [*map(_row, range(20))]
    plain = Path(_written(tmp_path / "results.jsonl", rows))
    (tmp_path / "results.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "results.json").write_text(json.dumps(rows), encoding="utf-8")
    wanted = evaluate(str(plain)).to_dict(queries=True)
    for name in ("results.jsonl.gz", "results.json"):
        own = evaluate(str(tmp_path / name), workers=ONE_THREAD).to_dict(queries=True)
        assert own["queries"] == wanted["queries"]
        assert own["settings"]["dataset"] == wanted["settings"]["dataset"]


@pytest.mark.integration
def test_texts_of_a_corpus_are_found_by_each_worker(tmp_path, monkeypatch):
    """And ids without one are counted over all parts."""
    monkeypatch.setattr(parts, "PART_BYTES", 2_000)
    rows = [*map(_row, range(40))]
    texts = {doc["id"] + row["query_id"]: doc["text"] for row in rows for doc in row["retrieved"]}
    for row in rows:
        row["retrieved"] = [{"id": doc["id"] + row["query_id"]} for doc in row["retrieved"]]
    file = _written(tmp_path / "results.jsonl", rows)
    one, two = (evaluate(file, corpus=texts, workers=n).to_dict(queries=True) for n in (None, 2))
    assert one == two
    some = dict([*texts.items()][:5])
    one, two = (_said(lambda n=n: evaluate(file, corpus=some, workers=n)) for n in (None, 2))
    assert one == two
    assert "75 ids have no text" in one[0][1]


def test_a_judge_stays_here(tmp_path):
    """It waits for a server; who asks for processes as well is told so."""
    judge = JudgeMatcher(Judge(ScriptedClient([3]), store=tmp_path / "store.sqlite"))
    with pytest.warns(MatchWarning, match="asks a judge, so it stays in this process") as told:
        assert evaluate([["a text"]], [["a text"]], match=judge, workers=2).mean["recall@10"] == 1
    assert told[0].filename == __file__  # where the workers were asked for


@dataclass(frozen=True)
class OfScript:
    """A matcher as a script defines one."""

    threshold: float = 1.0

    def scores(self, items, notes):
        """All match."""
        return (np.ones(item.shape) for item in items)


@pytest.mark.integration
def test_what_others_cannot_import_is_said(monkeypatch, tmp_path):
    """A class of the script itself is named, with what to do."""
    monkeypatch.setattr(OfScript, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "OfScript", OfScript, raising=False)
    monkeypatch.setattr(parts, "PART_ROWS", 1)
    golds = [["a"], ["b"], ["c"]]
    with pytest.raises(UsageError, match=r"workers: other processes cannot have .* by import path"):
        evaluate(golds, golds, match=OfScript(), workers=2)


@all_cases("workers", [0, -1, True, 1.5, "two"])
def test_what_is_no_number_of_workers_is_refused(workers):
    """Nor is it an engine."""
    with pytest.raises(UsageError, match=r"workers: .* is no number of processes"):
        evaluate([["a"]], [["a"]], workers=workers)


@pytest.mark.parametrize(
    "spoil",
    some(
        [
            lambda rows: rows.append(_row(3)),
            lambda rows: rows[12].update(gold="none"),
            lambda rows: rows[12].pop("query_id"),
            lambda rows: [row["retrieved"][1].pop("text") for row in rows[5:15:4]],
        ],
        4,
    ),
    ids=["id in two parts", "no gold", "no id", "no text"],
)
def test_mistakes_are_those_of_the_whole_file(tmp_path, size, spoil):
    """The same first mistake is named with the same file, line and field."""
    rows = [*map(_row, range(20))]
    spoil(rows)
    file = _written(tmp_path / "results.jsonl", rows)
    with pytest.raises(DataError) as whole:
        evaluate(file)
    with pytest.raises(DataError) as cut:
        evaluate(file, workers=ONE_THREAD)
    assert str(cut.value) == str(whole.value)


def _dies(item):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.integration
def test_a_worker_that_dies_is_an_error_that_names_its_part():
    """Whatever kills it, nobody waits for it."""
    with pytest.raises(WorkerError, match=r"a worker died while it worked on 1;"):
        list(ProcessPool(2).map(_dies, [1, 2, 3]))


def _dies_sending(item):
    import os
    import signal
    import threading

    if item == 2:
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    return b"." * (200 << 20)


@pytest.mark.integration
def test_a_worker_that_dies_while_it_sends_is_an_error_too():
    """Nobody waits for the rest of a value."""
    with pytest.raises(WorkerError, match="a worker died while it worked on"):
        list(ProcessPool(2).map(_dies_sending, [1, 2, 2, 2]))


def _fails_or_sleeps(item):
    if item == 1:
        raise ValueError("one")
    time.sleep(10 * PATIENCE)


@pytest.mark.integration
def test_after_a_mistake_nobody_waits_for_the_rest():
    """Processes end in the middle of what they are at, and the mistake is what it was."""
    start = time.monotonic()
    with pytest.raises(ValueError, match="one"):
        list(ProcessPool(2).map(_fails_or_sleeps, [1, 2, 3, 4, 5]))
    assert time.monotonic() - start < PATIENCE


def _cores(item):
    import pyarrow

    return pyarrow.cpu_count()


@pytest.mark.integration
def test_a_worker_takes_one_core():
    """Also of libraries that take all there are."""
    assert list(ProcessPool(2).map(_cores, [1, 2, 3])) == [1, 1, 1]


_SCRIPT = """
import sys
from kragx import evaluate
from kragx.evaluation import parts as part

print("once")
part.PART_BYTES = 2_000
print(evaluate(sys.argv[1], workers=2)["recall@10"])
"""


@pytest.mark.integration
def test_a_script_needs_no_guard(tmp_path):
    """Workers do not import it, so that what it does is done once."""
    file = _written(tmp_path / "results.jsonl", map(_row, range(40)))
    (tmp_path / "script.py").write_text(_SCRIPT, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "script.py"), file]
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "once\n1.0\n"


_SHARED = """
import sys
from kragx import evaluate
from kragx.evaluation import parts as part

part.PART_BYTES = 2_000
evaluate(sys.argv[1], workers=2, match="tests.evaluation.parts.slow:Slow")
"""


@pytest.mark.integration
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_whoever_ends_the_work_leaves_no_process(tmp_path, sign):
    """Ctrl-C, and a kill that lets nobody say goodbye."""
    file = _written(tmp_path / "results.jsonl", map(_row, range(40)))
    pids = tmp_path / "pids"
    pids.mkdir()
    work = subprocess.Popen(
        heeding([sys.executable, "-c", _SHARED, file]),
        env={**os.environ, "SLOW": str(pids)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: len([*pids.iterdir()]) == 2, work)
    os.killpg(work.pid, sign) if sign == signal.SIGINT else work.kill()
    assert work.wait(timeout=PATIENCE) == -sign
    wait_until(lambda: not any(Path("/proc", own.name).exists() for own in pids.iterdir()))

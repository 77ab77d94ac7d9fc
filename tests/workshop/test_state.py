"""What a workshop holds: its rows, folded."""

import sqlite3
import threading
from contextlib import closing

import pytest

from kragx.errors import DataError
from kragx.judging.store import Store as JudgementStore
from kragx.workshop.state.records import Judgement, Person, Question, Release, SuggestedDocument
from kragx.workshop.state.state import State
from kragx.workshop.state.store import RecordStore
from tests.waiting import wait_until


@pytest.fixture
def store(tmp_path):
    """An opened workshop in a new file."""
    with RecordStore(tmp_path / "workshop.sqlite") as opened:
        yield opened


def said(grade: int | None = None, **fields: object) -> Judgement:
    """A judgement of one pair by one person."""
    kind = "grade" if grade is not None else "undone"
    pair = {"question": "q", "document": "d", "person": "p"}
    return Judgement(**{"kind": kind, "grade": grade, **pair, **fields})


def test_records_come_back_as_they_were(store):
    """Every field of every record is the same after it was stored."""
    records = [
        Person(name="지민", role="owner"),
        Question(
            person="p",
            text="환불은 며칠 안에 되나요?",
            origin="template",
            query_type="lookup",
            answerable=False,
            sources=("a", "b"),
            gold=({"id": "a", "grade": 2},),
            metadata={"difficulty": "hard", "of": [1, 2]},
            forbidden=({"id": "b", "why": "tenant"},),
        ),
        SuggestedDocument(question="q", document="d", origin="retriever", rank=3, score=0.5),
        said(3, spans=((0, 4), (9, 12)), note="앞 문장", purpose="odd"),
        said(kind="forbidden", why="예전 가격표"),
        Release(person="p", version=1, hash="00", file="gold_v1.jsonl"),
    ]
    store.add(records)
    assert list(store.after({})) == records


def test_a_mark_says_nothing_of_relevance(store):
    """A document is graded and forbidden at once; undone takes back the one of its own kind."""
    state = State(store)
    state.add([said(2), said(kind="forbidden", why="stale"), said(kind="allowed", why="stale")])
    pair = ("q", "d")
    assert (state.newest(pair, "p").grade, state.mark(pair, "p").kind) == (2, "allowed")
    state.add([said(why="stale")])
    assert (state.newest(pair, "p").grade, state.mark(pair, "p").kind) == (2, "forbidden")
    assert state.last("p").kind == "forbidden"
    state.add([said()])
    assert (state.newest(pair, "p"), state.mark(pair, "p").kind) == (None, "forbidden")
    state.add([said(why="stale"), said(why="stale")])  # the second takes back nothing
    assert (state.mark(pair, "p"), state.last("p")) == (None, None)


def test_the_newest_counts_and_undone_takes_back(store):
    """A second grade counts instead of the first, which comes back when the second is undone."""
    state = State(store)
    state.add([said(1)])
    state.add([said(3)])
    assert state.newest(("q", "d"), "p").grade == 3
    state.add([said()])
    assert state.newest(("q", "d"), "p").grade == 1
    state.add([said(), said()])
    assert state.newest(("q", "d"), "p") is None


def test_a_judgement_sent_twice_counts_once(store):
    """The same uid adds nothing, so that one undo takes all of it back."""
    state = State(store)
    grade = said(2)
    state.add([grade])
    state.add([grade])
    state.add([said()])
    assert state.judgement(grade.uid)
    assert state.newest(("q", "d"), "p") is None


def test_a_decision_leaves_both_originals(store):
    """What settles a conflict stands beside what two people said."""
    state = State(store)
    state.add([said(0), said(3, person="r"), said(2, person="o", is_decision=True)])
    assert {who: last[-1].grade for who, last in state.judgements["q", "d"].items()} == {
        "p": 0,
        "r": 3,
    }
    assert state.decisions["q", "d"][-1].grade == 2


def test_threads_share_a_store(store):
    """What ten threads write at once is all there, once, and the history has its order."""
    state = State(store)

    def write(person: str) -> None:
        for grade in (0, 1, 2):
            state.add([said(grade, person=person)])

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: [one.grade for one in made] for name, made in state.history.items()} == {
        str(number): [0, 1, 2] for number in range(10)
    }


def test_the_history_forgets_what_is_undone(store):
    """Of two pairs the first one's grade is taken back, and the second's stays."""
    state = State(store)
    first, second = said(1), said(2, document="e")
    state.add([first, second, said()])
    assert state.history["p"] == [second]
    assert state.judgement(first.uid) == first


def test_two_states_of_one_file_see_each_other(tmp_path):
    """What one process writes, another one reads on from where it was."""
    path = tmp_path / "workshop.sqlite"
    with RecordStore(path) as one, RecordStore(path) as other:
        first, second = State(one), State(other)
        for grade in (1, 2):
            first.add([said(grade)])
            second.refresh()
            assert second.newest(("q", "d"), "p").grade == grade


def test_an_old_one(tmp_path):
    """A database of another version is refused, and says which this kragx knows."""
    path = tmp_path / "workshop.sqlite"
    with RecordStore(path), closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
    with pytest.raises(DataError, match="of version 1; this kragx knows"):
        RecordStore(path).__enter__()


def test_another_database_is_refused(tmp_path):
    """A judgement store is no workshop, and a workshop no judgement store."""
    with JudgementStore(tmp_path / "judge.sqlite"), RecordStore(tmp_path / "workshop.sqlite"):
        pass
    with pytest.raises(DataError, match="something else"), RecordStore(tmp_path / "judge.sqlite"):
        pass
    with pytest.raises(DataError, match="something else"):
        JudgementStore(tmp_path / "workshop.sqlite").__enter__()


def test_who_waited_for_the_lock_reads_nothing_again(tmp_path):
    """Of several who ask at once one reads, and each sees what was written before they asked."""
    with RecordStore(tmp_path / "a.sqlite") as store, RecordStore(tmp_path / "a.sqlite") as other:
        state, reads, usual = State(store), [], store.after
        store.after = lambda *own: reads.append(1) or usual(*own)
        lock, waiting, seen = state.lock, [], []

        class Counted:
            def __enter__(self):
                waiting.append(1)
                return lock.__enter__()

            def __exit__(self, *how):
                return lock.__exit__(*how)

        def ask():
            state.refresh()
            seen.append("late" in state.people)

        state.lock = Counted()

        threads = [threading.Thread(target=ask) for _ in range(8)]
        with lock:
            other.add([Person(uid="late", name="l")])
            for thread in threads:
                thread.start()
            wait_until(lambda: len(waiting) == 8)
        for thread in threads:
            thread.join()
    assert seen == [True] * 8
    assert len(reads) == 1

"""What is suggested for a question."""

import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest

from kragx.data import Doc, GoldDataset, Retrieved, Run
from kragx.errors import UsageError
from kragx.workshop.commands.workshop import sources
from kragx.workshop.pairs.candidates import LabellingPlan
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.queue import suggestions
from kragx.workshop.queue.queue import Queue, stopping_estimate
from kragx.workshop.queue.suggestions import Suggester, SuggestionSource
from kragx.workshop.state.records import Judgement, Question
from kragx.workshop.state.state import State
from kragx.workshop.state.store import RecordStore

DOCS = {
    f"s:{n}": Doc(f"s:{n}", f"chunk {n} says something", {"source": "s", "start": start})
    for n, start in enumerate([0, 200, 100, 300])  # 0, 2, 1, 3 in their source
}
DOCS |= {"w": Doc("w", "a whole document"), "o": Doc("o", "another one", {"source": "o"})}

PLAN = LabellingPlan()


@pytest.fixture
def state(tmp_path):
    """A workshop with one question."""
    with RecordStore(tmp_path / "w.sqlite") as store:
        state = State(store)
        state.add([Question(uid="q", person="p", text="what?")])
        yield state


class Asked:
    """A retriever with fixed answers, which counts its questions."""

    def __init__(self, *documents: Doc, error: str | None = None) -> None:
        self.answer, self.n, self.texts = Retrieved(documents, error=error), 0, Counter()

    def __call__(self, dataset: GoldDataset, hear: object = None) -> Run:
        """The same to every question."""
        self.n += len(dataset)
        self.texts.update(query.text for query in dataset)
        return Run({query.id: self.answer for query in dataset})


def suggester(state: State, plan: LabellingPlan = PLAN, said=None, **asks) -> Suggester:
    """A suggester of retrievers, whose keys are their names."""
    plan = replace(plan, retrievers={name: name for name in asks})
    queue = Queue(state, DOCS, Copies(DOCS), plan)
    own = [SuggestionSource(name, name, ask) for name, ask in asks.items()]
    return Suggester(queue, own, str if said is None else said.append)


def rows(state: State, question: str = "q") -> list[tuple[str, str, int | None]]:
    """What is suggested, in the order in which it came."""
    return [
        (row.document, row.origin, row.rank)
        for of_document in state.candidates[question].values()
        for row in of_document
    ]


def test_answers_are_stored_once(state):
    """The first k with their ranks; a second start asks nothing, another text asks anew."""
    ask = Asked(Doc("s:0"), Doc("w"), Doc("o"))
    for _ in range(2):
        suggester(state, LabellingPlan(depth=2), one=ask).run()
    assert rows(state) == [("s:0", "retriever", 1), ("w", "retriever", 2)]
    assert ask.n == 1
    state.add([Question(uid="q", person="p", text="what else?")])
    own = suggester(state, LabellingPlan(depth=2), one=ask)
    own.run()
    own.run()
    assert ask.texts == {"what?": 1, "what else?": 1}
    state.add([Question(uid="q", person="p", text="what else?", state="dropped")])
    suggester(state, one=Asked(Doc("w"))).run()
    assert len(rows(state)) == 4


def test_another_retriever_is_asked(state):
    """Of a config that changed what is new is asked, and what went is not suggested any more."""
    suggester(state, one=Asked(Doc("w"))).run()
    own = suggester(state, other=Asked(Doc("o")))
    own.run()
    own._queue.refresh()
    assert [*own._queue.pools["q"].candidates] == ["o"]


def test_documents_are_found_by_id_or_text(state):
    """An id of another text, or of none, is looked for by text; what is nowhere is said."""
    said = []
    ask = Asked(
        Doc("s:0", "Title: chunk 0 says something"),  # a heading before it
        Doc("unknown", "a  whole document"),
        Doc("s:1", "chunk 3 says something"),
        Doc("s:2", "nothing like it"),
        Doc(None, "nowhere"),
        Doc("lost"),
    )
    suggester(state, said=said, one=ask).run()
    assert rows(state) == [
        ("s:0", "retriever", 1),
        ("w", "retriever", 2),
        ("s:3", "retriever", 3),
    ]
    (text,) = said
    assert text.startswith("one: 3 documents that it found are not in the corpus")
    assert "'s:2'" in text


def test_failures_are_said_and_stop_nothing(state):
    """One that cannot be asked, one that fails and one that finds nothing; the fourth suggests."""
    said = []

    def broken(dataset: GoldDataset, hear: object) -> Run:
        raise UsageError("no such index")

    def raising(dataset: GoldDataset, hear: object) -> Run:
        raise ZeroDivisionError

    asks = {"broken": broken, "raising": raising, "failing": Asked(error="TimeoutError: slow")}
    asks |= {"empty": Asked(), "one": Asked(Doc("w")), "file": lambda dataset, hear: Run({})}
    state.add([Question(uid=str(n), person="p", text=f"{n}?") for n in range(60)])
    own = suggester(state, said=said, **asks)
    own.run()
    assert said == [
        "broken: cannot be asked: no such index",
        "raising: cannot be asked: ZeroDivisionError: ",
        "failing: failed for 61 questions ('q': TimeoutError: slow)",
        "file: failed for 61 questions ('q': it has no answer)",
    ]
    assert rows(state, "q") == rows(state, "59") == [("w", "retriever", 1)]
    own._queue.refresh()
    names = list(asks)
    answered = {n for n, does in zip(names, own._queue.pools["q"].answered) if does}
    assert answered == {"empty", "one"}
    assert stopping_estimate(own._queue.pools.values(), 4)["outcome"] == "answers"


def test_a_restart_half_way_keeps_what_was_answered(state):
    """Each answer is stored when it comes: of 60 questions the next start asks the last 20."""
    state.add([Question(uid=str(n), person="p", text=f"{n}?") for n in range(59)])
    texts = Counter()

    def ask(dataset: GoldDataset, hear) -> Run:
        for query in dataset:
            texts[query.text] += 1
            if texts.total() == 41:
                raise SystemExit  # as a process ends
            hear(query, Retrieved((Doc("w"),)))
        return Run({})

    with pytest.raises(SystemExit):
        suggester(state, one=ask).run()
    assert sum(map(bool, state.candidates.values())) == 40
    suggester(state, one=ask).run()
    assert sum(map(bool, state.candidates.values())) == 60
    assert sorted(texts.values()) == [1] * 59 + [2]


def test_what_could_not_be_stored_is_tried_again(state, monkeypatch):
    """A database that others hold is waited for, without anybody's doing."""
    monkeypatch.setattr(suggestions, "_PAUSE", 0.05)
    held = sqlite3.connect(state.store.address.path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    said = []
    own = suggester(state, said=said, one=Asked(Doc("w")))
    own.start()
    until(lambda: said)
    assert said[0].startswith("suggestions: ")
    held.execute("ROLLBACK")
    held.close()
    until(lambda: rows(state))
    assert rows(state) == [("w", "retriever", 1)]
    until(lambda: own._last_remarks["suggestions"] == "")


def until(is_so) -> None:
    """Wait until something is so."""
    for _ in range(1000):
        if is_so():
            return
        sleep(0.01)
    raise AssertionError


def test_sources_and_neighbours(state):
    """What a question was made from comes first; beside what is relevant lie its neighbours."""
    state.add([Question(uid="q", person="p", text="what?", sources=("w", "gone"))])
    own = suggester(state)
    own.run()
    assert rows(state) == [("w", "source", None)]
    state.add([Judgement(question="q", document="s:2", person="p", grade=3)])
    state.add([Judgement(question="q", document="w", person="p", grade=3)])
    own.run()
    own.run()
    found = [(document, origin) for document, origin, _ in rows(state)]
    assert found == [("w", "source"), ("s:2", "source"), ("s:0", "neighbour"), ("s:1", "neighbour")]


def test_the_ends_of_a_source_have_one_neighbour(state):
    """Where there is none before, or nothing of the same source, none is suggested."""
    state.add([Judgement(question="q", document=one, person="p", grade=2) for one in ("s:3", "o")])
    suggester(state).run()
    assert [row[0] for row in rows(state) if row[1] == "neighbour"] == ["s:1"]


def test_it_is_woken(state):
    """In its thread it asks for what has come since."""
    ask = Asked(Doc("w"))
    own = suggester(state, one=ask)
    own.start()
    for _ in range(500):
        if rows(state):
            break
        sleep(0.01)
    assert rows(state) == [("w", "retriever", 1)]


def test_retrievers_of_a_config(tmp_path, state):
    """A config's retrievers are asked as `kragx run` asks them, to its first metric's cut."""
    (tmp_path / "corpus.jsonl").write_text('{"id": "w", "text": "a whole document"}\n')
    Path(tmp_path / "kragx.yaml").write_text(
        "dataset: not_there_yet.jsonl\n"
        "retrievers:\n"
        "  bm25: {class: kragx.retrievers:BM25Retriever.from_corpus,\n"
        "         args: {corpus: '${here}/corpus.jsonl'}}\n"
        "  broken: {class: 'no_such_module:thing'}\n"
        "metrics: [mrr, recall@5, ndcg@10]\n"
    )
    own, cut = sources(tmp_path / "kragx.yaml")
    assert cut == 5
    assert [source.name for source in own] == ["bm25", "broken"]
    asked = GoldDataset.from_documents([["w"]], queries=["whole document"])
    (answer,) = own[0].ask(asked, lambda query, answer: None).results.values()
    assert [doc.text for doc in answer.documents] == ["a whole document"]
    with pytest.raises(UsageError, match="no_such_module"):
        own[1].ask(asked, lambda query, answer: None)
    again, _ = sources(tmp_path / "kragx.yaml")
    assert again[0].key == own[0].key
    assert again[0].key != again[1].key


def test_history(tmp_path):
    """A retriever is asked with what was said before a question."""
    asked = []

    def ask(dataset, hear):
        asked.extend(dataset)
        return Run({query.id: Retrieved() for query in dataset})

    said = [{"role": "user", "content": "before"}]
    with RecordStore(tmp_path / "w.sqlite") as store:
        state = State(store)
        state.add([Question(uid="q", person="p", text="and?", history=tuple(said))])
        suggester(state, r=ask).run()
    assert [[turn.to_dict() for turn in query.history] for query in asked] == [said]

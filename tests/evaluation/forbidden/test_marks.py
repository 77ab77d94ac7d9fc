"""Which documents are marked: planted ones, a slow reference, and what nobody knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from kragx import DataError, Doc, Forbidden, Gold, GoldDataset, Query, Retrieved, Run, evaluate
from kragx.data import Corpus, value_at
from kragx.data.batch import Batch
from kragx.data.rules import RuleSet
from kragx.evaluation.forbidden import Forbidding, joined
from kragx.matchers import MatchWarning
from kragx.metrics import ForbiddenMarks
from tests.thoroughness import all_cases, examples

pytestmark = pytest.mark.filterwarnings("ignore:forbidden items that can match nothing")

TENANT = {"tenant": {"metadata.tenant": {"not": {"query": "metadata.tenant"}}}}


def marked(
    query: Mapping[str, Any], docs: Sequence[Doc] | None, *, match: object = "id", **options: Any
) -> ForbiddenMarks:
    """The marks of one question without those of versions; None stands for no answer."""
    question = Query("q1", **{"gold": (Gold("g", "Some other text of gold."),), **query})
    run = Run({} if docs is None else {"q1": Retrieved(tuple(docs))}, "run")
    dataset = GoldDataset((question,), forbidden=options.pop("rules", {}))
    options = {"metrics": ["hit_rate@9"]} | options
    marks = evaluate(dataset, run, match=match, **options).forbidden
    assert marks is not None
    columns = {name: getattr(marks, name)[:, :-1] for name in ("mark", "could", "open")}
    return replace(marks, **columns)


def column(marks: ForbiddenMarks, kind: str = "forbidden") -> list[int]:
    """What is marked as one kind."""
    place = marks.kinds.index(kind)
    return [int(mark) for mark in marks.mark[:, place]]


def test_by_id() -> None:
    """The id decides, wherever it stands; a document without any is not known."""
    items = (Forbidden(id="b"), Forbidden(id="g", why="odd"))
    docs = [Doc("a"), Doc("b"), Doc("g"), Doc("b")]
    marks = marked({"forbidden": items}, docs)
    assert column(marks) == [0, 1, 0, 1]
    assert column(marks, "odd") == [0, 0, 1, 0]  # may be relevant as well
    assert marks.could.tolist() == [[True, True]]
    assert not marks.open.any()
    assert marks.names == {1: "b", 2: "g", 3: "b"}
    texts = [Doc(text="no id here"), Doc("b", "with an id")]
    assert column(marked({"forbidden": items[:1]}, texts, match="overlap")) == [-1, 1]


def test_by_the_key_of_ids() -> None:
    """Where the evaluation compares ids of parents, those are forbidden."""
    docs = [Doc("c1", metadata={"parent": "b"}), Doc("b", metadata={"parent": "g"})]
    items = (Forbidden(id="b"),)
    match = {"method": "id", "id_key": "metadata.parent", "gold_id_key": "id"}
    assert column(marked({"forbidden": items}, docs, match=match)) == [1, 0]


LAST, THIS = (
    f"The price list of the northern branch for the year {year}: a coffee is sold at {price} won "
    "and a green tea with honey at 4,500 won until the end of the season."
    for year, price in ((2025, "3,000"), (2026, "3,500"))
)


@all_cases("match", ["overlap", "span", "rouge2", "text", "exact", "rougeL"])
def test_by_text_in_another_chunking(match: str) -> None:
    """A piece of last year's list is found in whatever chunk; this year's, the gold, is not it."""
    items = (Forbidden(text=LAST, why="stale"),)
    docs = [
        Doc(text=THIS),
        Doc(text=LAST[: len(LAST) // 2]),
        Doc(text=f"Prices. {LAST} Thank you for your visit."),
        Doc(text="Nothing of all this stands in here, and nothing of it ever did."),
    ]
    query = {"gold": (Gold(text=THIS),), "forbidden": items}
    marks = marked(query, docs, match=match)
    assert column(marks, "stale") == [0, 1, 1, 0]
    assert marks.names[1] == f"{LAST[:60]}…"


def test_text_is_compared_apart_from_siblings_whatever_gold_is() -> None:
    """The settings say what compares forbidden texts: the matcher itself if it tells siblings."""
    query = Query("q1", gold=(Gold(text=THIS),), forbidden=(Forbidden(text=LAST),))
    run = Run({"q1": Retrieved((Doc(text=THIS),))})
    together = {"method": "rouge2", "measure": "overlap"}
    for match, method in (
        ({"method": "span", "threshold": 0.7}, "span"),
        ({"method": "span", "siblings": "together", "threshold": 0.7}, "span"),
        (together, "overlap"),
        ({"any": ["exact", {"method": "span", "threshold": 0.7}]}, "span"),
    ):
        settings = evaluate(GoldDataset((query,)), run, match=match).settings["forbidden"]["match"]
        assert (settings["method"], settings["siblings"]) == (method, "apart")
        assert settings["threshold"] == (0.7 if method == "span" else 0.5)


def test_gold_matches_as_if_nothing_were_forbidden() -> None:
    """What is forbidden changes no number of other metrics of a question with gold."""
    query = Query("q1", gold=(Gold(text=THIS),))
    docs = (Doc(text=LAST), Doc(text=THIS))
    run = Run({"q1": Retrieved(docs)})
    plain = evaluate(GoldDataset((query,)), run)
    with_it = Query("q1", gold=query.gold, forbidden=(Forbidden(text=LAST),))
    forbidding = evaluate(GoldDataset((with_it,)), run)
    assert {name: forbidding.mean[name] for name in plain.mean} == plain.mean
    assert forbidding.settings["vocabulary"] == plain.settings["vocabulary"]


def test_by_source() -> None:
    """A source alone forbids all of its documents; with a place, those that share half of it."""

    def at(start: int, end: int) -> Doc:
        return Doc(f"d{start}", "x", {"source": "a.md", "start": start, "end": end})

    docs = [
        *(at(0, 100), at(90, 200), at(150, 160)),
        *(Doc("b.md:0-9", "x"), Doc("c", "x"), Doc("e", "x", {"source": "a.md"})),
        Doc("f", "y" * 20, {"source": "a.md", "start_index": 100}),
    ]
    whole = {"forbidden": (Forbidden(source="a.md"),)}
    assert column(marked(whole, docs)) == [1, 1, 1, 0, -1, 1, 1]
    part = {"forbidden": (Forbidden(source="a.md", start=100, end=200),)}
    assert column(marked(part, docs)) == [0, 1, 1, 0, -1, -1, 1]
    by_id = {"forbidden": (Forbidden(source="b.md"),)}
    assert column(marked(by_id, docs))[3] == 1
    corpus = [{"id": "c", "text": "x", "metadata": {"source": "a.md"}}]
    assert column(marked(whole, docs, corpus=corpus))[4] == 1


def test_the_text_of_an_id_from_the_corpus() -> None:
    """An id that the corpus has forbids its text as well, whatever the documents' ids are."""
    corpus = {"old": LAST, "n1": LAST, "n2": THIS}
    docs = [Doc("n1"), Doc("n2", THIS), Doc("old"), Doc(text=f"So it was: {LAST}")]
    item = Forbidden(id="old")
    for match in ("overlap", "text"):
        options = {"match": match, "corpus": corpus}
        marks = marked({"gold": (Gold(text=THIS),), "forbidden": (item,)}, docs, **options)
        assert column(marks) == [1, 0, 1, 1]
        assert not marks.open.any()


def test_forbidden_texts_choose_their_script() -> None:
    """Without gold it is forbidden texts that say how passages are compared."""
    text = "상품을 받은 날부터 십사 일 안에는 포장을 뜯지 않은 소프트웨어를 전액 환불해 드립니다"
    glued = "상품을받은 날부터십사 일안에는 포장을뜯지 않은소프트웨어를 전액환불해 드립니다"
    query = {"gold": (), "forbidden": (Forbidden(text=text),)}
    assert column(marked(query, [Doc(text=glued)], match="overlap", metrics=["leak@1"])) == [1]


def test_a_text_of_one_source() -> None:
    """Where an item says its source as well, the same text of another one is not it."""
    item = Forbidden(text=LAST, source="a.md")
    docs = [Doc("1", LAST, {"source": source}) for source in ("a.md", "b.md")] + [Doc("2", LAST)]
    assert column(marked({"forbidden": (item,)}, docs, match="overlap")) == [1, 0, 1]


def test_by_rule() -> None:
    """Rules mark by metadata of either side; lacking ones are those of the corpus, or unknown."""
    docs = [Doc(name, metadata=about) for name, about in
            {"a": {"tenant": "A"}, "b": {"tenant": "B"}, "c": {}, "d": {}}.items()]  # fmt: skip
    query = {"metadata": {"tenant": "A"}}
    assert column(marked(query, docs, rules=TENANT), "tenant") == [0, 1, -1, -1]
    corpus = [{"id": "c", "text": "x", "metadata": {"tenant": "B"}}]
    filled = marked(query, docs, rules=TENANT, corpus=corpus)
    assert column(filled, "tenant") == [0, 1, 1, -1]
    with pytest.warns(MatchWarning, match=r"rule tenant: 1 of 1 questions have no"):
        nobody = marked({}, docs, rules=TENANT)
    assert column(nobody, "tenant") == [-1, -1, -1, -1]
    assert nobody.could.tolist() == [[False]]
    lacks = {"tenant": {"metadata.tenant": {"missing": True}}}
    docs[2] = Doc("c", metadata={"page": 1})  # of d nothing at all is known, not what it lacks
    assert column(marked({}, docs, rules=lacks), "tenant") == [0, 0, 1, -1]
    both = {"r": {"tenant": {"is": "B"}, "old": {"is": True}}}
    with pytest.warns(MatchWarning, match="rule r: none of 4 retrieved documents has old"):
        assert column(marked({}, docs, rules=both), "r") == [0, -1, -1, -1]


def test_a_path_that_no_document_has() -> None:
    """A rule that may be misspelt is told, whatever it says of documents without the field."""
    rules = {"tenant": {"metadata.tenat": {"missing": False, "not": "A"}}}
    docs = [Doc(name, metadata={"tenant": "B"}) for name in "ab"]
    with pytest.warns(MatchWarning, match=r"tenant: none of 2 retrieved documents has"):
        marked({}, docs, rules=rules)


def test_values_of_numpy_and_pandas() -> None:
    """Arrays and sets are lists, numbers are numbers, what pandas has in empty cells is none."""
    values = [np.array(["A"]), {"A", "B"}, np.str_("A"), np.nan, pd.NaT, pd.NA, ("B",)]
    docs = [Doc(str(place), metadata={"tenant": value}) for place, value in enumerate(values)]
    rules = {"tenant": {"tenant": {"in": {"query": "tenant"}}}}
    marks = marked({"metadata": {"tenant": "A"}}, docs, rules=rules)
    assert column(marks, "tenant") == [1, 1, 1, -1, -1, -1, 0]


def test_rules_of_the_caller_replace() -> None:
    """Rules beside the gold set's replace those of the same name, and are recorded."""
    docs = [Doc("a", metadata={"tenant": "A"})]
    other = {"tenant": {"metadata.tenant": {"is": "A"}}}
    marks = marked({"metadata": {"tenant": "A"}}, docs, rules=TENANT, forbidden=other)
    assert column(marks, "tenant") == [1]


def test_what_nobody_knows() -> None:
    """Texts under ids, ids of another chunking, and no answer leave a question open, not clean."""
    by_text = {"forbidden": (Forbidden(text=LAST),)}
    docs = [Doc("a")]
    assert marked(by_text, docs).open.tolist() == [[True]]
    gone = {"forbidden": (Forbidden(id="z"),)}
    assert marked(gone, docs).open.tolist() == [[True]]
    assert marked(gone, [Doc("g")]).open.tolist() == [[False]]  # gold's id: they are alike
    corpus = [{"id": "a", "text": "x"}]
    assert marked(gone, [Doc("g")], corpus=corpus).open.tolist() == [[True]]
    known = [*corpus, {"id": "z", "text": "x"}]
    assert marked(gone, docs, corpus=known).open.tolist() == [[False]]
    assert marked(gone, None).open.tolist() == [[True]]
    assert marked(gone, []).open.tolist() == [[False]]  # nothing came, whatever is forbidden
    assert marked({"forbidden": (Forbidden(text="§"),)}, docs).open.tolist() == [[True]]


def test_what_can_match_nothing_is_said() -> None:
    """A warning counts the items, and says what to do."""
    with pytest.warns(MatchWarning, match=r"match nothing: 2; .*\(name the corpus that has them\)"):
        marked({"forbidden": (Forbidden(text=LAST), Forbidden(id="z"))}, [Doc("a")])


def test_ids_that_another_run_meets() -> None:
    """Of two retrievers neither is open where one of them has met an id: that one is alive."""
    query = Query("q1", gold=(Gold("g"),), forbidden=(Forbidden(id="b"),))
    runs = {name: Run({"q1": Retrieved((Doc(name),))}, name) for name in ("a", "b")}
    results = evaluate(GoldDataset((query,)), runs, match="id", metrics=["leak@1"])
    assert [results[name]["leak@1"] for name in runs] == [0.0, 1.0]
    assert evaluate(GoldDataset((query,)), runs["a"], match="id", metrics=["leak@1"]).bounds


def test_nothing_is_forbidden() -> None:
    """Without items, rules and metrics of them there is nothing, not even marks."""
    query = Query("q1", gold=(Gold("a"),))
    run = Run({"q1": Retrieved((Doc("a", metadata={"superseded_by": "b"}),))})
    evaluation = evaluate(GoldDataset((query,)), run, metrics=["hit_rate@1"])
    assert evaluation.forbidden is None
    assert "forbidden" not in {*evaluation.settings, *evaluation.counts}
    looked = GoldDataset((Query("q1", gold=query.gold, forbidden=()),))
    assert evaluate(looked, run, metrics=["hit_rate@1"]).mean == evaluation.mean


def test_a_time_without_zone() -> None:
    """It is refused with its question, rank, field, value and remedy."""
    rules = {"stale": {"metadata.until": {"before": "2026-01-31T00:00:00Z"}}}
    docs = [
        Doc("a", metadata={"until": "2026-01-30"}),
        Doc("b", metadata={"until": "2026-01-30T09:00"}),
    ]
    message = r"query 'q1', rank 2 \('b'\): stale\.metadata\.until: .* has no time zone; write"
    with pytest.raises(DataError, match=message):
        marked({}, docs, rules=rules)
    assert column(marked({}, docs, rules=rules | {"timezone": "Asia/Seoul"}), "stale") == [1, 1]


# -- a slow reference ------------------------------------------------------------------------------

IDS = st.sampled_from(["a", "b", "c", "d"])
SOURCES = st.sampled_from(["s", "t"])
VALUES = st.sampled_from(["A", "B", 1, True, ["A", "B"]])
ABOUT = st.fixed_dictionaries(
    {}, optional={"tenant": VALUES, "source": SOURCES, "n": st.integers(0, 3)}
)
DOCS = st.lists(st.builds(Doc, IDS | st.none(), st.just("x"), ABOUT), max_size=4)
KINDS = st.sampled_from(["tenant", "x", "y"])
ITEMS = st.builds(Forbidden, id=IDS, why=KINDS) | st.builds(Forbidden, source=SOURCES, why=KINDS)
QUERIES = st.builds(
    Query,
    id=st.just("q"),
    gold=st.lists(st.builds(Gold, IDS), max_size=1).map(tuple),
    metadata=st.fixed_dictionaries({}, optional={"tenant": VALUES, "n": st.integers(0, 3)}),
    forbidden=st.none() | st.lists(ITEMS, max_size=3).map(tuple),
)
ANSWERS = st.none() | DOCS.map(lambda docs: Retrieved(tuple(docs)))
RULES = {
    "tenant": {"metadata.tenant": {"not_in": {"query": "metadata.tenant"}}},
    "n": {"n": {"after": {"query": "n"}}, "tenant": {"missing": False}},
}


def slow_rule(rule: Mapping[str, Mapping[str, Any]], doc: Mapping[str, Any], query: Query) -> int:
    """A rule on one document of one question."""
    if not doc:
        return -1
    truths = []
    made = RuleSet.of({"r": rule}).rules[0]
    for condition in made.conditions:
        path = condition.query_path
        operand = condition.operand if path is None else value_at(query.metadata, path)
        truths.append(condition.holds(value_at(doc, condition.path), operand, None))
    return 0 if 0 in truths else -1 if -1 in truths else 1


def slow_marks(
    rows: Sequence[tuple[Query, Retrieved | None]], corpus: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, Any]:
    """The same as `ForbiddenMarks`, document by document."""
    items = [item for query, _ in rows for item in query.forbidden or ()]
    kinds = sorted({*RULES, *(item.why for item in items)})
    named = {item.id for item in items} | {gold.id for query, _ in rows for gold in query.gold}
    retrieved = {doc.id for _, answer in rows if answer for doc in answer.documents}
    are_alike = bool((named & retrieved) - {None})
    marks, could, is_open = [], [], []
    for query, answer in rows:
        docs = answer.documents if answer else ()
        asked = query.forbidden or ()
        of_query = dict.fromkeys(kinds, False) | {item.why: True for item in asked}
        of_query["tenant"] |= "tenant" in query.metadata
        of_query["n"] |= "n" in query.metadata
        could.append([of_query[kind] for kind in kinds])
        for doc in docs:
            about = {**((corpus or {}).get(doc.id or "", {})), **doc.metadata}
            row = dict.fromkeys(kinds, 0)
            is_met = bool(doc.metadata) or doc.id in (corpus or {})
            whole = {"": "", **about} if is_met else {}
            truths = [(name, slow_rule(rule, whole, query)) for name, rule in RULES.items()]
            for item in asked:
                own, wanted = (doc.id, item.id) if item.id else (about.get("source"), item.source)
                truths.append((item.why, -1 if own is None else int(own == wanted)))
            for kind, truth in truths:
                row[kind] = max(row[kind], truth, key=[0, -1, 1].index)
            marks.append([row[kind] for kind in kinds])
        lost = set()
        for item in asked:
            if item.id is not None:
                gone = item.id not in corpus if corpus is not None else not are_alike
                is_there = any(doc.id == item.id for doc in docs)
            else:
                sources = {about.get("source") for about in (corpus or {}).values()}
                gone = corpus is not None and item.source not in sources
                abouts = [
                    {**((corpus or {}).get(doc.id or "", {})), **doc.metadata} for doc in docs
                ]
                is_there = any(about.get("source") == item.source for about in abouts)
            if gone and not is_there:
                lost.add(item.why)
        row_open = [
            could[-1][place] if answer is None else kind in lost and bool(docs)
            for place, kind in enumerate(kinds)
        ]
        is_open.append(row_open)
    return {"kinds": kinds, "mark": marks, "could": could, "open": is_open}


CORPORA = st.none() | st.dictionaries(IDS, ABOUT, min_size=1)


@examples(400)
@given(
    rows=st.lists(st.tuples(QUERIES, ANSWERS), min_size=1, max_size=4),
    of_corpus=CORPORA,
    cut=st.integers(0, 4),
)
def test_against_a_slow_reference(
    rows: list[tuple[Query, Retrieved | None]], of_corpus: Mapping[str, Any] | None, cut: int
) -> None:
    """Marks are those of a walk over documents, whole and in parts of any size."""
    docs = [Doc(name, "x", about) for name, about in (of_corpus or {}).items()]
    corpus = Corpus() if of_corpus is None else Corpus(docs, "corpus")
    forbidding = Forbidding(RuleSet.of(RULES), corpus=corpus)
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    batches = [Batch.of([(None, *row) for row in part]) for part in parts]
    together = joined([*map(forbidding.marks, batches)]).resolved()
    slow = slow_marks(rows, of_corpus)
    assert list(together.kinds) == slow["kinds"]
    assert together.mark[:, :-1].tolist() == slow["mark"]
    assert together.could[:, :-1].tolist() == slow["could"]
    assert together.open[:, :-1].tolist() == slow["open"]
    at_once = forbidding.marks(Batch.of([(None, *row) for row in rows])).resolved()
    for name in (field.name for field in fields(ForbiddenMarks)):
        assert np.array_equal(getattr(at_once, name), getattr(together, name)), name


def test_probes_alone_are_said() -> None:
    """Where no question has gold, "0 scored" would read as if nothing had been measured."""
    gold = GoldDataset((Query("q", "?", forbidden=(Forbidden("a"),)),))
    result = evaluate(gold, [[Doc("a")]], match="id", metrics=["leak@1"])
    assert result["leak@1"] == 1.0
    assert str(result).splitlines()[-1] == "all 1 queries are probes: leaks alone are measured"

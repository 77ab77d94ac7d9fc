"""Old versions above which none of their successors stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, Doc, Forbidden, Gold, GoldDataset, Query, Retrieved, Run, evaluate
from kragx.data import Corpus
from kragx.data.batch import Batch
from kragx.evaluation.forbidden import Forbidding
from tests.thoroughness import all_cases, examples

pytestmark = pytest.mark.filterwarnings("ignore:forbidden items that can match nothing")

OLD, NEW = Forbidden(id="v1", superseded_by="v2"), Forbidden(id="v2", superseded_by="v3")


def versions(
    docs: Sequence[Doc] | None, items: Sequence[Forbidden] = (OLD,), **options: Any
) -> SimpleNamespace:
    """The marks of one question as older versions."""
    query = Query("q1", gold=(Gold("g", "gold that has a text"),), forbidden=tuple(items))
    run = Run({} if docs is None else {"q1": Retrieved(tuple(docs))}, "run")
    options = {"match": "id", "metrics": ["stale_first@9"]} | options
    marks = evaluate(GoldDataset((query,)), run, **options).forbidden
    assert marks is not None
    columns = {"stale": marks.mark, "versions": marks.could, "stale_open": marks.open}
    return SimpleNamespace(
        kinds=marks.kinds, **{name: values[:, -1] for name, values in columns.items()}
    )


def ids(*names: str) -> list[Doc]:
    """Documents that are these ids alone."""
    return [*map(Doc, names)]


@all_cases(
    ("names", "stale"),
    [
        (("v1", "v2"), [1, 0]),  # the new one stands below
        (("v2", "v1"), [0, 0]),
        (("a", "v1"), [0, 1]),  # it is absent
        (("a", "v2"), [0, 0]),
        ((), []),
    ],
)
def test_by_hand(names: Sequence[str], stale: list[int]) -> None:
    """An item that names the newer document names a pair."""
    marks = versions(ids(*names))
    assert marks.stale.tolist() == stale
    assert marks.versions.tolist() == [True]


def test_chains_are_transitive() -> None:
    """Whatever succeeds the successor succeeds it as well, by items, metadata or the corpus."""
    assert versions(ids("v3", "v1"), (OLD, NEW)).stale.tolist() == [0, 0]
    assert versions(ids("v3", "v1")).stale.tolist() == [0, 1]  # nobody says what v3 is
    corpus = [{"id": "v2", "text": "x", "metadata": {"superseded_by": "v3"}}]
    assert versions(ids("v3", "v1"), corpus=corpus).stale.tolist() == [0, 0]
    docs = [Doc("v3"), Doc("v1", metadata={"superseded_by": "v2"}), Doc("v2")]
    assert versions(docs, ()).stale.tolist() == [0, 1, 0]
    docs[2] = Doc("v2", metadata={"superseded_by": "v3"})
    assert versions(docs, ()).stale.tolist() == [0, 0, 0]


def test_metadata_forbid_nothing() -> None:
    """That a document has a successor makes a pair that is met, and no leak."""
    docs = [Doc("v1", metadata={"superseded_by": "v2"})]
    marks = versions(docs, ())
    assert (marks.kinds, marks.stale.tolist(), marks.versions.tolist()) == ((), [1], [True])
    assert versions(ids("v1"), ()).versions.tolist() == [False]
    numbered = [Doc("4", metadata={"superseded_by": 5}), Doc("5")]
    assert versions(numbered, ()).stale.tolist() == [1, 0]
    corpus = [{"id": "v1", "text": "x", "metadata": {"superseded_by": "v2"}}]
    assert versions(ids("v1"), (), corpus=corpus).stale.tolist() == [1]


def test_what_nobody_knows() -> None:
    """A document without id above may be the successor, and so may be one that may be the old."""
    docs = [Doc(text="who knows"), Doc("v1", "old")]
    assert versions(docs, match="overlap").stale.tolist() == [-1, -1]
    assert versions(docs[::-1], match="overlap").stale.tolist() == [1, -1]
    assert versions(None).stale_open.tolist() == [True]
    assert versions(ids("a")).stale_open.tolist() == [True]  # no id is any that is named
    assert versions(ids("g")).stale_open.tolist() == [False]
    assert versions([]).stale_open.tolist() == [False]


def test_sources_have_versions() -> None:
    """A source's successor is a document's id or a source; of it any document serves."""
    items = (Forbidden(source="2025.md", superseded_by="2026.md"),)
    old, new = (Doc(f"{year}.md:0-5", "prices") for year in (2025, 2026))
    assert versions([new, old], items).stale.tolist() == [0, 0]
    assert versions([old, new], items).stale.tolist() == [1, 0]


def test_circles_are_errors() -> None:
    """Documents whose metadata lead in a circle are refused with their question."""
    docs = [Doc("a", metadata={"superseded_by": "b"}), Doc("b", metadata={"superseded_by": "a"})]
    with pytest.raises(DataError, match=r"query 'q1': superseded_by: a circle of versions: 'a' ->"):
        versions(docs, ())
    with pytest.raises(DataError, match="a circle of versions"):
        versions([Doc("v2", metadata={"superseded_by": "v1"}), Doc("v1")])


IDS = st.sampled_from(["a", "b", "c", "d", "e"])
PAIRS = st.tuples(IDS, IDS).filter(lambda pair: pair[0] < pair[1])  # so that there is no circle
EDGES = st.lists(PAIRS, max_size=3, unique_by=lambda pair: pair[0])


@examples(400)
@given(
    names=st.lists(IDS | st.none(), max_size=5),
    of_items=EDGES,
    of_docs=EDGES,
    of_corpus=EDGES,
)
def test_against_a_slow_reference(
    names: list[str | None],
    of_items: list[tuple[str, str]],
    of_docs: list[tuple[str, str]],
    of_corpus: list[tuple[str, str]],
) -> None:
    """Stale is what stands above all that can be reached from it; each id has one successor."""
    of_docs = [(old, new) for old, new in of_docs if old not in dict(of_items)]
    newer: dict[str, str] = {**dict(of_corpus), **dict(of_items), **dict(of_docs)}
    said: Mapping[str, Mapping[str, Any]] = {old: {"superseded_by": new} for old, new in of_docs}
    # Of documents that were retrieved the metadata are one or the other, never both.
    known = {old: new for old, new in of_corpus if old not in {**dict(of_items), **dict(of_docs)}}
    docs = tuple(Doc(name, "x", said.get(name or "", {})) for name in names)
    corpus = Corpus(
        [
            Doc(name, "x", {"superseded_by": known[name]} if name in known else {})
            for name in "abcde"
        ],
        "corpus",
    )
    items = tuple(Forbidden(id=old, superseded_by=new) for old, new in of_items)
    query = Query("q", forbidden=items)
    batch = Batch.of([(None, query, Retrieved(docs))])
    marks = Forbidding(corpus=corpus, is_asked=True).marks(batch).resolved()
    in_list = {name for name in names if name is not None}
    newer = {
        old: new
        for old, new in newer.items()
        if old in dict(of_items) or old in known or (old in in_list and old in dict(of_docs))
    }
    older = {*dict(of_items), *(in_list & {*dict(of_docs)}), *(in_list & {*known})}
    expected = []
    for rank, name in enumerate(names):
        above = names[:rank]
        chain, successors = name, set()
        while chain in newer:
            chain = newer[chain]
            successors.add(chain)
        if name is None:  # it may be any of those that items name
            starts = {new for _, new in of_items}
            reach = {*starts}
            for start in starts:
                while start in newer:
                    start = newer[start]  # noqa: PLW2901
                    reach.add(start)
            expected.append(-1 if of_items and reach.isdisjoint(above) else 0)
        elif name not in older or not successors.isdisjoint(above):
            expected.append(0)
        else:
            expected.append(-1 if None in above else 1)
    assert marks.mark[:, -1].tolist() == expected
    assert marks.could[:, -1].tolist() == [bool(of_items) or bool(in_list & older)]

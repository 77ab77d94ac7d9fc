"""The matcher `pages`."""

from __future__ import annotations

import json
import unicodedata
import warnings
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given, strategies as st

from kragx import DataError, GoldDataset, UsageError, evaluate, match_pairs, read_dataset
from kragx.data.writing import write_gold
from kragx.matchers import MatchWarning
from tests.thoroughness import examples

NUMBERS = count()
METRICS = ["recall@5", "mrr@5", "ndcg@5"]


def at(page: Any, source: str = "manual.pdf", **more: Any) -> dict[str, Any]:
    """A retrieved chunk as LangChain's loaders give it."""
    return {"id": f"chunk-{next(NUMBERS)}", "metadata": {"source": source, "page": page, **more}}


def gold(*pages: Any, doc: str = "manual.pdf", **more: Any) -> dict[str, Any]:
    """A gold item of pages."""
    return {"doc": doc, "pages": list(pages), **more}


def matched(golds: list[Any], docs: list[Any], **options: Any) -> list[list[bool]]:
    """Which document matches which gold item."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)
        (pair,) = match_pairs([golds], [docs], match={"method": "pages", **options})
    return pair["matched"]


def test_by_hand() -> None:
    """LangChain's page 2 is the third page; a range is one item that any of its pages finds."""
    golds = [gold(3, "7-9"), gold(1)]
    docs = [at(2), at(3), at(8), at(0), at(2, "other.pdf")]
    assert matched(golds, docs) == [
        [True, False],
        [False, False],
        [True, False],
        [False, True],
        [False, False],
    ]
    result = evaluate([golds], [docs], match="pages", metrics=["recall@3", "recall@4"])
    assert list(result.mean.values()) == [0.5, 1.0]


def test_where_counting_starts() -> None:
    """`first: 1` with labels and loaders that count as readers do; labels match as they are."""
    docs = [{"id": "c", "metadata": {"source": "manual.pdf", "page": 2, "page_label": "3"}}]
    assert matched([gold(3)], docs) == [[True]]
    assert matched([gold(3)], docs, page_key="page_label", first=1) == [[True]]
    assert matched([gold(3)], docs, first=1) == [[False]]
    roman = [{"id": "c", "metadata": {"source": "manual.pdf", "page": 3, "page_label": "IV"}}]
    assert matched([gold("iv")], roman, page_key="page_label", first=1) == [[True]]


def test_chunks_over_several_pages() -> None:
    """A chunk's page is a range or a list."""
    docs = [at("4-6"), at([0, 5]), at(4)]
    assert matched([gold(6)], docs) == [[True], [True], [False]]


def test_the_same_document() -> None:
    """A path ends with the gold's name: in NFD too, and with Windows' slashes."""
    sources = [
        "/data/설명서.pdf",
        unicodedata.normalize("NFD", "설명서.pdf"),
        "C:\\docs\\설명서.pdf",
    ]
    docs = [at(0, source) for source in [*sources, "새설명서.pdf", "설명서.pdf/other.pdf"]]
    wanted = [[True], [True], [True], [False], [False]]
    assert matched([gold(1, doc="설명서.pdf")], docs) == wanted
    assert matched([gold(1, doc="old/a.pdf")], [at(0, "old/a.pdf"), at(0, "new/a.pdf")]) == [
        [True],
        [False],
    ]


def test_images_and_whole_documents() -> None:
    """An image without text or page is found by id; gold without pages by any page."""
    image = {"id": "figure-2", "metadata": {}}
    assert matched([{"id": "figure-2"}, gold(4)], [image, at(3)]) == [[True, False], [False, True]]
    either = gold(4, alternatives=[{"id": "figure-2"}])
    assert matched([either], [image]) == [[True]]
    assert matched([{"doc": "manual.pdf"}], [at(7), at(0, "other.pdf")]) == [[True], [False]]


def test_counted_from_another_number() -> None:
    """Where nothing matches and all would if pages were counted otherwise, a warning says so."""
    golds, docs = [[gold(3)], [gold(8)]], [[at(3)], [at(8)]]
    with pytest.warns(MatchWarning, match=r"2 of 2 gold items would .* then say first: 1"):
        evaluate(golds, docs, match="pages", metrics=METRICS)
    match = {"method": "pages", "first": 1}
    with pytest.warns(MatchWarning, match="then say first: 0"):
        evaluate([[gold(3)]], [[at(2)]], match=match, metrics=METRICS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(golds, [[at(2)], [at(3)]], match="pages", metrics=METRICS)


def test_documents_without_pages() -> None:
    """They are counted."""
    bare = {"id": "web-1", "metadata": {"source": "index.html"}}
    result = evaluate([[gold(3)]], [[at(2), bare]], match="pages", metrics=METRICS)
    assert any("without a page: 1" in remark for remark in result.remarks)


WRONG = [
    ({"pages": [3]}, r"gold\[0\].doc: must be the name or path"),
    ({"doc": "a.pdf", "pages": [0]}, r"gold\[0\].pages: 0 is no page: they are counted from 1"),
    ({"doc": "a.pdf", "pages": ["9-7"]}, r"gold\[0\].pages: '9-7' is no range"),
    ({"doc": "a.pdf", "pages": "1-999999999"}, r"gold\[0\].pages: .* is no range"),
    ({"doc": "a.pdf", "pages": []}, r"gold\[0\].pages: no page"),
    ({"doc": "a.pdf", "pages": [True]}, r"gold\[0\].pages: must be a page"),
    ({"doc": "a.pdf", "pages": [1], "each": True}, r"gold\[0\].each: unknown field"),
    ({"doc": "a.pdf", "pages": [1], "page": 1}, r"gold\[0\].page: unknown field"),
]


@pytest.mark.parametrize(("item", "message"), WRONG)
def test_mistakes_in_gold(item: dict[str, Any], message: str, tmp_path: Path) -> None:
    """A wrong item is an error with file, line and field."""
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "gold": [item]}), encoding="utf-8")
    with pytest.raises(DataError, match=rf"gold.jsonl:1: .*{message}"):
        read_dataset(str(path))


def test_mistakes_elsewhere() -> None:
    """Documents that say nothing, pages that are none, gold that is none, wrong options."""
    with pytest.raises(DataError, match="rank 1: the document has no 'source' and no id"):
        matched([gold(3)], [{"text": "x", "metadata": {"file": "a.pdf"}}])
    for more in ({}, {"page": 2}):
        with pytest.raises(DataError, match="'q1', rank 1: source: must be the name or path"):
            matched([gold(3)], [{"id": "c", "metadata": {"source": 5, **more}}])
    with pytest.raises(DataError, match="rank 1: page: must be a page or a range"):
        matched([gold(3)], [at({"n": 1})])
    with pytest.raises(DataError, match="gold 1: the gold item has no 'doc' and no id"):
        matched(["text"], [at(1)])
    with pytest.raises(DataError, match="gold 1: the gold item has pages and no 'doc'"):
        matched([{"id": "c", "metadata": {"pages": [3]}}], [at(1)])
    with pytest.raises(UsageError, match=r"match\.first"):
        matched([gold(3)], [at(1)], first=2)
    with pytest.raises(UsageError, match=r"match\.threshold"):
        matched([gold(3)], [at(1)], threshold=0.5)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_in_files(ending: str, tmp_path: Path) -> None:
    """Gold of pages is written and read back as the same."""
    dataset = GoldDataset.from_documents({"q1": [gold(3, "7-9"), gold("1-2")]})
    assert [item.id for item in dataset["q1"].gold] == [
        "manual.pdf#3,7-9",
        "manual.pdf#1-2",
    ]
    path = tmp_path / f"gold.{ending}"
    write_gold(dataset, path)
    assert read_dataset(str(path)).queries == dataset.queries


PAGES = st.lists(
    st.one_of(
        st.integers(1, 9),
        st.tuples(st.integers(1, 9), st.integers(0, 4)).map(lambda own: f"{own[0]}-{sum(own)}"),
    ),
    min_size=1,
    max_size=3,
)


def numbers(pages: list[Any]) -> set[int]:
    """Every page, one by one."""
    found = set()
    for own in pages:
        first, _, last = str(own).partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@examples(200)
@given(st.lists(PAGES, min_size=1, max_size=3), st.lists(PAGES, max_size=5), st.booleans())
def test_as_sets(golds: list[Any], docs: list[Any], from_one: bool) -> None:
    """Pages match where the sets of their numbers meet."""
    found = matched([gold(*own) for own in golds], [at(own) for own in docs], first=int(from_one))
    move = 0 if from_one else 1
    assert found == [
        [bool({page + move for page in numbers(doc)} & numbers(own)) for own in golds]
        for doc in docs
    ]


@examples(60)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 6)), min_size=1, unique=True),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 6)), unique=True),
)
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
def test_as_pytrec_eval(golds: list[tuple[str, int]], docs: list[tuple[str, int]]) -> None:
    """Single pages are ids: recall, reciprocal rank and nDCG are trec_eval's."""
    result = evaluate(
        [[gold(page, doc=f"{doc}.pdf") for doc, page in golds]],
        [[at(page - 1, f"{doc}.pdf") for doc, page in docs]],
        match="pages",
        metrics=METRICS,
    )
    qrels = {"q1": {f"{doc}#{page}": 1 for doc, page in golds}}
    run = {"q1": {f"{doc}#{page}": float(-rank) for rank, (doc, page) in enumerate(docs)}}
    peer = pytrec_eval.RelevanceEvaluator(qrels, {"recall.5", "ndcg_cut.5"})
    values = peer.evaluate(run).get("q1", {"recall_5": 0.0, "ndcg_cut_5": 0.0})
    assert result["recall@5"] == pytest.approx(values["recall_5"])
    assert result["ndcg@5"] == pytest.approx(values["ndcg_cut_5"])

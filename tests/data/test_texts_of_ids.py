"""Gold and results that name chunks by id get their texts from a corpus, in one place."""

from __future__ import annotations

import gzip
import json
import tempfile
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import (
    DataError,
    Doc,
    UsageError,
    evaluate,
    match_pairs,
    read_corpus,
    read_dataset,
    read_gold,
)
from kragx.data import GoldDataset, Retrieved, Run, as_corpus, corpus as corpora
from kragx.data.validation import validate
from kragx.judging import Judge
from kragx.testing import ScriptedClient
from tests.thoroughness import examples

TEXTS = {"c1": "the ferry leaves at nine", "c2": "tickets are sold on board", "c3": "no dogs"}


def of(gold):
    """A gold set of one query with these gold items."""
    return GoldDataset.from_documents([gold])


def test_gold_and_alternatives_get_their_texts():
    """Ids without a text get the corpus's; what has a text keeps it, whatever its id."""
    dataset = of([{"id": "c1", "alternatives": [{"id": "c2"}]}, {"id": "c3", "text": "own"}])
    filled = as_corpus(TEXTS).gold(dataset, "overlap")
    (first, second) = filled["q1"].gold
    assert (first.text, first.alternatives[0].text) == (TEXTS["c1"], TEXTS["c2"])
    assert second.text == "own"
    assert dataset["q1"].gold[0].text is None  # the caller's set is as it was


def test_what_has_every_text_is_the_same_set():
    """A gold set that lacks nothing is given back itself, so its hash is not computed again."""
    dataset = of(["a text"])
    assert as_corpus(TEXTS).gold(dataset) is dataset


def test_managed_gold_sets(tmp_path):
    """Relevant and highly relevant chunk ids, alternatives too, are matched by text."""
    record = {
        "query_id": "q",
        "query": "When?",
        "relevant_chunk_ids": ["c3", ["c1", "c2"]],
        "highly_relevant_chunk_ids": ["c3"],
    }
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")
    (high, low) = sorted(read_gold(path, corpus=TEXTS)["q"].gold, key=lambda gold: -gold.grade)
    assert (high.grade, high.text) == (2, "no dogs")
    assert {low.text, *(other.text for other in low.alternatives)} == {TEXTS["c1"], TEXTS["c2"]}
    found = [["It says: no dogs", "and tickets are sold on board, always"]]
    scored = evaluate(path, {"q": found[0]}, corpus=TEXTS, metrics=["recall@1", "recall@2"])
    assert scored.mean == {"recall@1": 0.5, "recall@2": 1.0}


def test_ids_without_a_text_are_counted_and_named():
    """All of them are counted, a few named with their places, and the remedy said."""
    gold = of([{"id": f"x{number}"} for number in range(5)])
    with pytest.raises(DataError) as caught:
        evaluate(gold, [[{"id": "y"}]], corpus=TEXTS)
    assert caught.value.field == "gold"
    assert str(caught.value).startswith("gold: 5 ids have no text and are not in the corpus")
    assert "'x0' (query 'q1', gold 1), 'x1' (query 'q1', gold 2)" in str(caught.value)
    assert "2 more" in str(caught.value)
    assert "match by 'id'" in caught.value.remedy
    with pytest.raises(DataError, match=r"retrieved: 1 id has no text.*'y' \(query 'q1', rank 1\)"):
        evaluate(of([{"id": "c1"}]), [[{"id": "y"}]], corpus=TEXTS)


def test_without_a_corpus_they_are_counted_too():
    """Without a corpus both sides are counted, over all queries."""
    gold = {"q1": {"c1": 1}, "q2": {"c2": 1, "c3": 1}}
    run = {"q1": [{"id": "c1"}], "q2": ["a text"]}
    with pytest.raises(DataError, match=r"^gold: 3 ids have no text.*name the corpus"):
        evaluate(gold, run, match="overlap")
    with pytest.raises(DataError, match=r"^retrieved: 1 id has no text: 'c1'"):
        evaluate([["a"], ["b"]], run, match="overlap")


class OwnWords:
    """Somebody's matcher: a document matches if it begins with the gold text."""

    threshold = 1.0

    def scores(self, items, notes):
        """1 or 0 for each pair."""
        for item in items:
            golds = item.target_texts("words")
            docs = item.doc_texts("words")
            yield [[float(doc.startswith(gold)) for gold in golds.values()] for doc in docs]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:no retrieved id is any gold id")  # true, and meant here
@pytest.mark.parametrize(
    ("match", "n_hits"),
    [
        ({"any": ["id", "overlap"]}, 1498),
        ({"cascade": [{"method": "id", "accept": 1}, "text"]}, 1498),
        (OwnWords(), 1498),
        ({"any": [{"all": ["id", "phrase"]}, "id"]}, 0),
        ({"any": ["id", OwnWords()]}, 1498),
    ],
    ids=["any", "cascade", "own", "nested", "any with an own one"],
)
def test_combinations_and_own_matchers_count_them_too(match, n_hits):
    """Whoever compares texts, all ids without one are counted, not the first alone."""
    gold = {"q0": {"c0": 1}} | {f"q{number}": {"c1": 1} for number in range(1, 1500)}
    run = {query: [{"id": "d0", "text": "a text"}] for query in gold} | {"q1499": [{"id": "d1"}]}
    with pytest.raises(DataError, match=r"^gold: 2 ids have no text: 'c0' \(query 'q0', gold 1\)"):
        evaluate(gold, run, match=match)
    with pytest.raises(DataError, match=r"2 ids have no text.*add 'text', name the corpus"):
        list(match_pairs(gold, run, match=match))
    texts = {"c0": "one", "c1": "a text", "d1": "other"}
    found = evaluate(gold, run, match=match, corpus=texts, metrics=["hit_rate@1"])
    assert found.mean["hit_rate@1"] == pytest.approx(n_hits / 1500)


def test_a_judge_of_relevance_counts_documents_within_its_depth(tmp_path):
    """Neither the gold nor what stands below its depth is read, so neither is counted."""
    judge = Judge(ScriptedClient([]), store=tmp_path / "judgements.sqlite")
    match = {"method": "llm", "mode": "relevance", "depth": 2, "judge": judge}
    gold = GoldDataset.from_documents([[], []], queries=["one?", "two?"])
    run = [[{"id": name} for name in names] for names in ("abx", "cdy")]
    with pytest.raises(DataError, match=r"^retrieved: 4 ids have no text: 'a' .*'llm' compares"):
        evaluate(gold, run, match=match, metrics=["precision@2"])


def test_an_alternative_that_the_corpus_lacks_is_an_error():
    """It would silently never match; without a corpus it may be meant for matching by id."""
    gold = of([{"text": "a text of its own", "alternatives": [{"id": "lost"}]}])
    found = [["a text of its own"]]
    assert evaluate(gold, found, metrics=["recall@1"]).mean == {"recall@1": 1.0}
    with pytest.raises(DataError, match=r"1 id has no text.*'lost'"):
        evaluate(gold, found, corpus=TEXTS)


def test_matching_by_id_needs_no_corpus(tmp_path):
    """By id nothing is filled in, no corpus is read, and the gold set's hash is what it was."""
    broken = tmp_path / "corpus.jsonl"
    broken.write_text("no JSON", encoding="utf-8")
    gold, run = {"q": {"c1": 1, "lost": 1}}, {"q": [{"id": "c1"}]}
    plain = evaluate(gold, run, match="id", metrics=["recall@1"])
    known = evaluate(gold, run, match="id", metrics=["recall@1"], corpus=str(broken))
    assert plain.mean == known.mean == {"recall@1": 0.5}
    assert plain.settings["dataset"]["hash"] == known.settings["dataset"]["hash"]


def test_a_metric_of_texts_gets_them_under_id_as_well():
    """Coverage compares texts whatever the matcher; a corpus gives it what it needs."""
    scored = evaluate(
        {"q": {"c1": 1}}, {"q": [{"id": "c1"}]}, match="id", metrics=["coverage@1"], corpus=TEXTS
    )
    assert scored.mean == {"coverage@1": 1.0}


def test_unicode_forms_and_numbers():
    """An id in NFD is the id in NFC, unless the corpus has both; a number is its digits."""
    nfc = "문서-가"
    nfd = unicodedata.normalize("NFD", nfc)
    assert nfc != nfd
    assert as_corpus({nfc: "text"}).text(nfd) == "text"
    assert as_corpus({nfd: "text"}).text(nfc) == "text"
    both = as_corpus({nfc: "composed", nfd: "decomposed"})
    assert (both.text(nfc), both.text(nfd)) == ("composed", "decomposed")
    assert as_corpus({7: "seven"}).text("7") == "seven"
    assert as_corpus([{"id": 7, "text": "seven"}]).text("7") == "seven"


def test_stretches_of_a_document():
    """``document:start-end`` is a stretch, as for `gold validate`; beyond the end it is none."""
    corpus = as_corpus({"doc": "0123456789", "doc:2-4": "a chunk of that name"})
    assert corpus.text("doc:0-3") == "012"
    assert corpus.text("doc:2-4") == "a chunk of that name"
    assert corpus.text(f"doc:0-{'9' * 5000}") is None
    assert corpus.text("doc:3-11") is corpus.text("doc:3-3") is corpus.text("other:0-1") is None


ROWS = [{"id": "c1", "text": "한 줄, 그리고", "metadata": {"page": 1}}, {"id": "c2", "text": "two"}]


def as_jsonl(path):
    """Write `ROWS` as JSON Lines."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(lines)


def as_csv(path):
    """Write `ROWS` as CSV, the page in a column of its own."""
    path.write_text('id,text,page\nc1,"한 줄, 그리고",1\nc2,two,\n', encoding="utf-8")


def as_parquet(path):
    """Write `ROWS` as Parquet."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(ROWS), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("c.jsonl", as_jsonl),
        ("c.jsonl.gz", as_jsonl),
        ("c.json", lambda path: path.write_text(json.dumps(ROWS, indent=1), encoding="utf-8")),
        ("c.csv", as_csv),
        ("c.parquet", as_parquet),
    ],
)
def test_files(tmp_path, name, write):
    """A corpus may be JSON Lines, JSON, CSV or Parquet, by itself or in a folder."""
    write(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not read", encoding="utf-8")
    for path in (tmp_path / name, tmp_path):
        docs = read_corpus(path)
        assert [(doc.id, doc.text) for doc in docs] == [("c1", "한 줄, 그리고"), ("c2", "two")]
        assert {name: str(value) for name, value in docs[0].metadata.items()} == {"page": "1"}


def test_a_column_of_metadata(tmp_path):
    """A mapping in a cell is the metadata; what is none stands under the column's name."""
    path = tmp_path / "c.csv"
    path.write_text('id,text,metadata,page\na,x,"{""of"": 9}",1\nb,y,draft,\n', encoding="utf-8")
    metadata = [doc.metadata for doc in read_corpus(path)]
    assert metadata == [{"of": 9, "page": "1"}, {"metadata": "draft"}]


def test_python_values():
    """Texts or documents by id, lists of documents and DataFrames are corpora as well."""
    pandas = pytest.importorskip("pandas")
    from langchain_core.documents import Document

    sources = [
        {"c": "text"},
        {"c": Doc(id="other", text="text")},
        [Document(id="c", page_content="text")],
        [{"id": "c", "text": "text"}],
        pandas.DataFrame({"id": ["c"], "text": ["text"]}),
    ]
    assert [as_corpus(source).text("c") for source in sources] == ["text"] * len(sources)
    with pytest.raises(UsageError, match="corpus: int is none"):
        as_corpus(3)
    with pytest.raises(DataError, match=r"nowhere\.jsonl: cannot be read"):
        as_corpus("nowhere.jsonl")


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12))
@examples(20)
def test_documents_one_by_one(numbers):
    """A file that is not held gives what `read_corpus` gives, or the same error."""

    def outcome(read: Callable[[Path], Iterable[Doc]]) -> object:
        try:
            return [*read(path)]
        except DataError as error:
            return str(error)

    rows = [{"id": f"c{n}", "text": "text"} for n in numbers]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.jsonl")
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        assert outcome(corpora.documents) == outcome(read_corpus)
        path = Path(folder, "c.json")  # in one line: every place is line 1
        path.write_text(json.dumps(rows), encoding="utf-8")
        assert outcome(corpora.documents) == outcome(read_corpus)


def test_broken_corpora(tmp_path):
    """An id that stands twice is named with both places, across the files of a folder too."""
    as_jsonl(tmp_path / "a.jsonl")
    as_jsonl(tmp_path / "b.jsonl")
    with pytest.raises(
        DataError, match=r"b\.jsonl:1: id 'c1' stands twice \(first in .*a\.jsonl:1"
    ):
        read_corpus(tmp_path)
    (tmp_path / "b.jsonl").write_text('{"id": "c"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.jsonl:1: has no text; .* needs 'id' and 'text'"):
        read_corpus(tmp_path / "b.jsonl")
    with pytest.raises(DataError, match=r"corpus:2: id 'c' stands twice \(first in corpus:1\)"):
        as_corpus([{"id": "c", "text": "a"}, {"id": "c", "text": "b"}]).text("c")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="the folder holds no corpus"):
        read_corpus(tmp_path / "empty")


def test_validate_knows_the_same_ids(tmp_path):
    """What `validate` finds in a corpus is what is filled in, and what it misses is an error."""
    as_csv(tmp_path / "corpus.csv")
    gold = tmp_path / "gold.qrels"
    gold.write_text("q 0 c1 1\nq 0 c9 1\n", encoding="utf-8")
    checked = validate(str(gold), corpus=str(tmp_path / "corpus.csv"))
    assert [p.message for p in checked.problems if "corpus" in p.message] == [
        f"id 'c9' is not in the corpus {tmp_path / 'corpus.csv'}"
    ]
    with pytest.raises(DataError, match=r"gold: 1 id has no text.*'c9'"):
        read_dataset(gold, corpus=tmp_path / "corpus.csv")


IDS = st.sampled_from([*TEXTS, "lost", "가", unicodedata.normalize("NFD", "가")])
DOCS = st.builds(Doc, id=IDS, text=st.sampled_from([None, "own"]))


@examples(200)
@given(runs=st.lists(st.lists(DOCS, max_size=4), min_size=1, max_size=5))
def test_filled_as_by_hand(runs):
    """Each document without text gets that of its id, and all else stays: slowly, one by one."""
    known = {**TEXTS, "가": "first"}
    run = Run({str(number): Retrieved(tuple(docs)) for number, docs in enumerate(runs)})
    by_hand = [
        [
            doc
            if doc.text is not None
            else replace(doc, text=known.get(unicodedata.normalize("NFC", doc.id or "")))
            for doc in docs
        ]
        for docs in runs
    ]
    filled = as_corpus(known).run(run)
    assert [list(filled[key].documents) for key in filled] == by_hand
    lost = {doc.id for docs in by_hand for doc in docs if doc.text is None}
    if lost:
        with pytest.raises(DataError, match=f"^retrieved: {len(lost)} id"):
            as_corpus(known).run(run, "overlap")

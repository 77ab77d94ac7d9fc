"""Matching by equal ids and by equal texts."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document

from kragx import (
    DataError,
    Doc,
    Gold,
    GoldDataset,
    Query,
    RAGEvaluator,
    Retrieved,
    Run,
    UsageError,
    evaluate,
    explain,
    matcher,
)
from kragx.data.formats.parquet import write_questions
from kragx.matchers import MatchWarning
from tests.thoroughness import all_cases

from .support import decided, scored

CASCADE = {"cascade": [{"method": "exact", "accept": 1.0, "reject": 1.0}, "id"]}


def doc(**metadata: object) -> dict[str, object]:
    """A document without an id of its own."""
    return {"text": "본문", "metadata": metadata}


class TestId:
    """The matcher `id`."""

    def test_equal_ids_match_and_others_do_not(self) -> None:
        """Only equal ids match, whatever the texts say."""
        docs = [{"id": "a", "text": "하나"}, {"id": "b", "text": "둘"}]
        golds = [{"id": "b", "text": "하나"}, {"id": "c"}]
        assert decided("id", docs, golds) == [[False, False], [True, False]]

    @pytest.mark.filterwarnings("ignore:ids of gold")
    @all_cases("other", ["A", "a ", " a", "а", "a1"])
    def test_ids_are_compared_as_they_are(self, other: str) -> None:
        """Case, white space and look-alikes make another id."""
        assert decided("id", [{"id": other}], [{"id": "a"}]) == [[False]]

    def test_a_whole_number_equals_its_digits(self) -> None:
        """The id 7 and the id "7" are the same id, as JSON and Python mix them."""
        assert decided("id", [{"id": 7}, {"id": "07"}], [{"id": "7"}]) == [[True], [False]]

    @pytest.mark.parametrize(
        "document",
        [
            Document(page_content="본문", metadata={"id": "d7"}),
            {"text": "본문", "metadata": {"id": "d7"}},
            Doc(text="본문", metadata={"id": "d7"}),
        ],
    )
    def test_metadata_id_stands_in_for_a_missing_id(self, document: object) -> None:
        """A document without an id of its own is known by `metadata.id`."""
        assert decided("id", [document], [{"id": "d7"}]) == [[True]]

    def test_metadata_id_stands_in_for_gold_too(self) -> None:
        """A gold item without an id of its own is known by `metadata.id`."""
        gold = Document(page_content="본문", metadata={"id": 7})
        assert decided("id", [{"id": "7"}], [gold]) == [[True]]

    @pytest.mark.parametrize("others", [[], [{"text": "본문", "metadata": {"id": "z"}}]])
    def test_the_own_id_wins_over_metadata(self, others: list[object]) -> None:
        """A document's own id is its id, whether or not other documents of the list have one."""
        docs = [{"id": "own", "metadata": {"id": "other"}}, *others]
        assert decided("id", docs, [{"id": "own"}, {"id": "other"}])[0] == [True, False]

    def test_id_key_names_a_metadata_key(self) -> None:
        """`id_key` says which metadata key holds the id; gold keeps its own id."""
        docs = [{"id": "chunk-1", "metadata": {"page": 12}}, {"id": "12", "metadata": {"page": 3}}]
        spec = {"method": "id", "id_key": "page"}
        assert decided(spec, docs, [{"id": "12"}]) == [[True], [False]]

    def test_a_parent_can_be_the_unit(self) -> None:
        """With `metadata.parent_id` every chunk of the gold parent matches."""
        docs = [doc(parent_id="p1"), doc(parent_id="p2"), doc(parent_id="p1")]
        spec = {"method": "id", "id_key": "metadata.parent_id"}
        assert decided(spec, docs, [{"id": "p1"}]) == [[True], [False], [True]]

    def test_gold_with_the_same_key_is_known_by_it(self) -> None:
        """Gold documents from the same store are known by the same key as the retrieved ones."""
        gold = Document(id="chunk-9", page_content="본문", metadata={"parent_id": "p1"})
        spec = {"method": "id", "id_key": "metadata.parent_id"}
        assert decided(spec, [doc(parent_id="p1"), doc(parent_id="chunk-9")], [gold]) == [
            [True],
            [False],
        ]

    def test_both_keys_may_differ(self) -> None:
        """`id_key` and `gold_id_key` name different keys on the two sides."""
        golds = [{"id": "x", "metadata": {"source": "s1"}}]
        spec = {"method": "id", "id_key": "metadata.file", "gold_id_key": "metadata.source"}
        assert decided(spec, [doc(file="s1"), doc(file="x")], golds) == [[True], [False]]

    @pytest.mark.parametrize("key", ["metadata.source.page.id", "source.page.id"])
    def test_a_path_reaches_into_nested_metadata(self, key: str) -> None:
        """A path of several keys goes down into nested metadata."""
        docs = [doc(source={"page": {"id": "p3"}})]
        assert decided({"method": "id", "id_key": key}, docs, [{"id": "p3"}]) == [[True]]

    def test_a_key_with_dots_wins_over_a_path(self) -> None:
        """A metadata key that itself holds a dot is taken as it is."""
        docs = [{"text": "본문", "metadata": {"doc.id": "flat", "doc": {"id": "nested"}}}]
        golds = [{"id": "flat"}, {"id": "nested"}]
        assert decided({"method": "id", "id_key": "doc.id"}, docs, golds) == [[True, False]]

    def test_a_missing_id_is_an_error_that_says_where_and_what_else(self) -> None:
        """A document without an id names its query and rank, its keys, and a text matcher."""
        docs = [{"id": "a"}, doc(page=3, source="s.pdf")]
        with pytest.raises(DataError) as caught:
            scored(matcher("id"), docs, [{"id": "a"}])
        for part in ("'q1'", "rank 2", "id_key", "page, source", "overlap", "text"):
            assert part in str(caught.value)

    def test_a_missing_key_is_an_error_that_names_it(self) -> None:
        """A document without the metadata key that was asked for names this key."""
        with pytest.raises(DataError, match=r"'q1', rank 1: .* metadata\.parent_id"):
            scored(
                matcher({"method": "id", "id_key": "metadata.parent_id"}),
                [{"id": "a"}],
                [{"id": "a"}],
            )

    def test_gold_without_an_id_is_an_error(self) -> None:
        """A gold item without an id names its query and place, and a text matcher."""
        with pytest.raises(DataError, match=r"'q1', gold 2: .*gold_id_key.*overlap"):
            scored(matcher("id"), [{"id": "a"}], [{"id": "a"}, "본문만 있는 정답"])

    def test_ids_that_a_vector_store_made(self) -> None:
        """They can match nothing: counted, and said with the remedies."""
        texts = ["하나", "둘", "셋"]
        gold = GoldDataset.from_documents([[{"id": f"c{n}"}] for n in range(3)], queries=texts)
        found = [
            [Document(id=str(uuid4()), page_content=text, metadata={"chunk": 1})] for text in texts
        ]
        with pytest.warns(
            MatchWarning,
            match=r"compared: 3\).*'c0'.* a vector store .*'overlap'.*'id_key'",
        ):
            result = evaluate(gold, found, match="id", metrics=["hit_rate@5"])
        assert result.counts["n_queries_ids_apart"] == 3
        assert "of which no retrieved one is any gold id: 3 (no match by id)" in result.to_text()

    @pytest.mark.parametrize("own", ["c0", "0f8fad5b-d9cb-469f-a165-70867728950e"])
    def test_ids_that_may_match(self, own: str) -> None:
        """One id of one's own among UUIDs, or UUIDs on both sides, are nothing to speak of."""
        gold = GoldDataset.from_documents([[{"id": own}]])
        found = [[{"id": str(uuid4())}, {"id": str(uuid4()) if own != "c0" else "c1"}]]
        result = evaluate(gold, found, match="id", metrics=["hit_rate@5"])
        assert "n_queries_ids_apart" not in result.counts

    def test_ids_that_never_meet(self) -> None:
        """Ids of a corpus that was chunked anew: said with one of either side and what to do.

        The same of documents, of results in parts, and of qrels and a run, which make none.
        """
        gold = {f"q{n}": {f"doc-{n}": 1} for n in range(3)}
        run = {f"q{n}": {f"doc.{n}.0": 2.0, f"doc.{n}.1": 1.0} for n in range(3)}
        rows = [
            {"query_id": query, "gold": [{"id": own}], "retrieved": [{"id": id_} for id_ in ids]}
            for (query, ids), [own] in zip(run.items(), gold.values())
        ]
        said = (
            r"^no retrieved id is any gold id \(questions compared: 3\): in 'q0' 'doc\.0\.0' was "
            r"retrieved, 'doc-0' is gold; if the corpus was chunked anew, .*'rouge2'.*'id_key'"
        )
        how: dict[str, Any] = {"match": "id", "metrics": ["hit_rate@5"]}
        for sources in ((gold, run), (rows,)):
            with pytest.warns(MatchWarning, match=said) as caught:
                result = evaluate(*sources, **how)
            assert (len(caught), result.counts["n_queries_ids_apart"]) == (1, 3)

    def test_each_retriever_whose_ids_never_meet(self) -> None:
        """Of several runs the one is named; one whose misses are gold elsewhere is not."""
        gold = {f"q{n}": {f"c{n}": 1} for n in range(3)}
        runs = {
            "bad": Run.from_documents({f"q{n}": [{"id": f"c{(n + 1) % 3}"}] for n in range(3)}),
            "other": Run.from_documents({f"q{n}": [{"id": f"{n}"}] for n in range(3)}),
        }
        with pytest.warns(MatchWarning, match="^other: no retrieved id is any gold id") as caught:
            evaluate(gold, runs, match="id", metrics=["hit_rate@5"])
        assert len(caught) == 1

    @pytest.mark.parametrize(
        "found",
        [
            {"q0": {"x": 1.0}},  # the only question that was answered
            {"q0": {}, "q1": {}, "q2": {}},
            {"q0": {"x": 1.0}, "q1": {"y": 1.0}, "q2": {"z": 1.0, "c2": 0.5}},
            {"q0": {"x": 1.0}, "q1": {"y": 1.0}, "q2": {"c0": 1.0}},
        ],
        ids=["one miss", "nothing retrieved", "a hit", "gold of another question"],
    )
    def test_misses(self, found: dict[str, dict[str, float]]) -> None:
        """Misses, one alone among them, and empty lists are what metrics are for."""
        gold = {f"q{n}": {f"c{n}": 1} for n in range(3)}
        documents = {name: [{"id": id_} for id_ in ids] for name, ids in found.items()}
        for run in (found, Run.from_documents(documents)):
            result = evaluate(gold, run, match="id", metrics=["hit_rate@5"])
            assert "n_queries_ids_apart" not in result.counts

    def test_ids_that_only_look_equal_are_one_warning(self) -> None:
        """Where no id meets as white space differs, that is said, and not the general case too."""
        gold = {f"q{n}": {f"c {n}": 1} for n in range(3)}
        found = [[{"id": f"c\u00a0{n}"}] for n in range(3)]
        with pytest.warns(MatchWarning, match="only look equal in 3 questions") as caught:
            evaluate(GoldDataset.from_documents(gold), found, match="id", metrics=["hit_rate@5"])
        assert len(caught) == 1

    @all_cases("key", ["id_key", "gold_id_key"])
    @all_cases("bad", [5, "", " ", ["page"]])
    def test_a_key_that_is_none(self, key: str, bad: object) -> None:
        """It is refused before anything is matched, with its name and value."""
        with pytest.raises(UsageError, match=rf"match\.{key}: {re.escape(repr(bad))} is not a"):
            matcher({"method": "id", key: bad})

    @pytest.mark.parametrize("bad", [1.5, True, ["p1"], {"id": "p1"}])
    def test_what_is_no_id_is_an_error(self, bad: object) -> None:
        """A metadata value that is neither a string nor a whole number is not taken as an id."""
        with pytest.raises(DataError, match=r"query 'q1', rank 1: .*is not an id"):
            scored(matcher({"method": "id", "id_key": "page"}), [doc(page=bad)], [{"id": "p1"}])

    @pytest.mark.parametrize("empty", ["", " "])
    def test_an_empty_id_in_metadata_is_an_error(self, empty: str) -> None:
        """Documents and gold whose ids are empty are not each other; the message says where."""
        golds, lists = [[{"text": "a", "metadata": {"id": empty}}]], [[{"id": "a", "text": "b"}]]
        with pytest.raises(DataError, match=r"query 'q1', gold 1: .*the id is empty"):
            evaluate(golds, lists, match="id")
        with pytest.raises(DataError, match=r"query 'q1', rank 1: .*the id is empty"):
            evaluate(lists, golds, match="id")

    def test_any_alternative_serves(self) -> None:
        """A gold item is matched by its own id or by that of any alternative."""
        gold = {"id": "a", "alternatives": [{"id": "b"}, {"text": "id 없는 글"}]}
        docs = [{"id": "b"}, {"id": "c"}, {"id": "a"}]
        assert decided("id", docs, [gold, {"id": "c"}]) == [
            [True, False],
            [False, True],
            [True, False],
        ]

    def test_an_alternative_may_hold_the_only_id(self) -> None:
        """A gold item without an id of its own is matched through an alternative's id."""
        gold = Gold(text="글", alternatives=(Doc(id="b"),))
        assert decided("id", [{"id": "b"}], [gold]) == [[True]]

    @all_cases("match", ["id", {"any": ["id", "exact"]}, {"all": ["id", "exact"]}, CASCADE])
    @all_cases("form", [Document, lambda text, **own: {"text": text, **own}])
    def test_ids_in_metadata_of_lists(self, form: Any, match: Any) -> None:
        """Lists of documents whose ids stand in their metadata alone, alone and in combinations."""
        first, second = ([form(text, metadata={"id": text})] for text in ("a door", "a sea"))
        golds, lists = [first, second], [[*second, *first], second]
        assert evaluate(golds, lists, match=match, metrics=["mrr@5"])["mrr@5"] == 0.75
        if match == "id":
            krag = RAGEvaluator(match_method="id").evaluate_all(golds, lists)
            assert krag["mrr"] == {"mrr": 0.75}

    @all_cases("match", ["id", {"method": "id", "id_key": "id"}, {"any": ["id", "exact"]}])
    @all_cases("text", ["a door", ""])
    def test_equal_texts_under_other_ids(self, text: str, match: Any) -> None:
        """They are other documents, wherever ids stand; the same text and id is the same again."""
        gold = [[{"id": "a", "text": "a gate"}, {"id": "c", "text": "a sea"}]]
        for form in (lambda own: {"id": own}, lambda own: {"metadata": {"id": own}}):
            docs = [{"text": text, **form(own)} for own in "baac"]
            result = evaluate(gold, [docs], match=match, metrics=["mrr", "precision", "recall"])
            assert result.mean == {"mrr": 0.5, "precision": 0.5, "recall": 1.0}
            assert result.counts["n_duplicates"] == 1
            spec = {"match": match, "query_id": "q1"}
            assert [doc.repeated for doc in explain(gold, [docs], **spec).retrieved][2:] == [
                True,
                False,
            ]

    def test_equal_texts_under_a_key(self) -> None:
        """The same where a key is named: chunks of one text from two pages are two documents."""
        docs = [{"text": "a door", "metadata": {"doc_id": own}} for own in "bab"]
        match = {"method": "id", "id_key": "doc_id", "gold_id_key": "id"}
        result = evaluate([[{"id": "a"}]], [docs], match=match, metrics=["mrr"])
        assert (result["mrr"], result.counts["n_duplicates"]) == (0.5, 1)

    @pytest.mark.parametrize("match", ["id", {"method": "id", "id_key": "id"}])
    def test_a_missing_id_in_lists_names_what_is_there(self, match: Any) -> None:
        """The message about lists of plain documents has their keys too."""
        with pytest.raises(DataError, match=r"'q1', rank 1: .*it has: page"):
            evaluate([[{"id": "a", "text": "a"}]], [[doc(page=3)]], match=match)

    def test_some_ids_in_metadata_in_a_parquet_file(self, tmp_path: Path) -> None:
        """Metadata of a Parquet file are read where `id` is a member, as of lists."""
        pytest.importorskip("pyarrow")
        found = (Doc("x", "a"), Doc(text="b", metadata={"id": "g"}))
        row = (Query("q1", gold=(Gold("g", "c"),)), Retrieved(found))
        write_questions([row], tmp_path / "found.parquet")
        for match in ("id", {"any": ["id", "exact"]}):
            result = evaluate(tmp_path / "found.parquet", match=match, metrics=["mrr@5"])
            assert result["mrr@5"] == 0.5


class TestExact:
    """The matcher `exact`."""

    @all_cases(
        "same",
        [
            "수도는 서울이다",
            "  수도는\t서울이다\n",
            "수도는   서울이다",
            "수도는\u3000서울이다",
            unicodedata.normalize("NFD", "수도는 서울이다"),
        ],
    )
    def test_form_and_white_space_do_not_matter(self, same: str) -> None:
        """NFD and other white space leave a text the same."""
        assert decided("exact", [same], ["수도는 서울이다"]) == [[True]]

    @pytest.mark.parametrize("other", ["수도는 서울이다.", "수도는서울이다", "서울이다", ""])
    def test_other_texts_do_not_match(self, other: str) -> None:
        """A character more or less makes another text, and an empty text matches nothing."""
        assert decided("exact", [other], ["수도는 서울이다"]) == [[False]]

    @pytest.mark.parametrize(("casefold", "expected"), [(False, False), (True, True)])
    @pytest.mark.parametrize(("left", "right"), [("KTX 노선", "ktx 노선"), ("Straße", "STRASSE")])
    def test_case_matters_unless_told_otherwise(
        self, casefold: bool, expected: bool, left: str, right: str
    ) -> None:
        """Case is kept by default and folded, ß included, with `casefold`."""
        spec = {"method": "exact", "casefold": casefold}
        assert decided(spec, [left], [right]) == [[expected]]

    @pytest.mark.parametrize("empty", ["", " \n\t"])
    def test_an_empty_gold_text_is_an_error(self, empty: str) -> None:
        """An empty gold text would equal every empty document, so it is refused."""
        with pytest.raises(DataError, match="'q1', gold 2: the gold text is empty"):
            scored(matcher("exact"), ["글"], ["글", empty])

    def test_alternatives_serve(self) -> None:
        """A gold item is matched by its own text or by that of any alternative."""
        gold = {"text": "서울", "alternatives": [{"text": "서울시"}, {"id": "no-text"}]}
        assert decided("exact", ["서울시", "서울", "부산"], [gold]) == [[True], [True], [False]]


@all_cases("method", ["exact", "text", "contains", "rouge1", "overlap"])
def test_comparing_texts_needs_texts(method: str) -> None:
    """A matcher of texts names the query and place of what has none, and suggests `id`."""
    with pytest.raises(DataError, match=r"'q1'.* have a text.*'id'"):
        scored(matcher(method), ["글 하나", {"id": "b"}], ["글 하나"])
    with pytest.raises(DataError, match=r"'q1'.* have a text.*'id'"):
        scored(matcher(method), ["글 하나"], ["글 하나", {"id": "g"}])


@all_cases("method", ["id", "exact", "text", "contains", "rouge2", "rougeL"])
@all_cases(("n", "m"), [(0, 0), (0, 2), (2, 0)])
def test_empty_sides_give_empty_matrices(method: str, n: int, m: int) -> None:
    """No documents or no gold is not an error: the matrix is n x m all the same."""
    values = [{"id": "a", "text": "글 하나"}, {"id": "b", "text": "글 둘"}]
    assert scored(matcher(method), values[:n], values[:m]).shape == (n, m)

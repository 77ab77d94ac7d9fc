"""Gold files: what is read, what comes back after writing, which fields are refused."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from kragx import (
    DataError,
    Doc,
    Gold,
    GoldDataset,
    Query,
    Run,
    UsageError,
    evaluate,
    read_dataset,
    read_gold,
    write_gold,
    write_results,
)
from tests.thoroughness import examples

from .support import datasets, written


@given(dataset=datasets)
@examples(80)
def test_what_is_written_is_read_back(dataset: GoldDataset) -> None:
    """Any gold set, whatever its texts, grades and metadata, comes back as the same queries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gold.jsonl"
        write_gold(dataset, path)
        assert read_gold(path).queries == dataset.queries


def test_a_line_is_a_query(tmp_path: Path) -> None:
    """Every field of the format arrives where it belongs."""
    path = written(
        tmp_path,
        {
            "query_id": "물음-1",
            "query": "대한민국의 수도는?",
            "gold": [
                {
                    "id": "d1",
                    "text": "수도는 서울이다",
                    "grade": 2,
                    "alternatives": [{"id": "d2"}, {"text": "서울이 수도이다"}],
                    "metadata": {"page": 3},
                },
                {"text": "서울"},
            ],
            "query_type": "fact",
            "expected_doc_types": ["law", "news"],
            "answerable": True,
            "reference": "서울",
            "metadata": {"source": {"year": 2024}},
        },
        {"query_id": "물음-2"},
        name="우리말.jsonl",
    )
    dataset = read_gold(path)
    assert dataset.name == "우리말"
    assert dataset.queries == (
        Query(
            id="물음-1",
            text="대한민국의 수도는?",
            gold=(
                Gold(
                    "d1",
                    "수도는 서울이다",
                    2.0,
                    (Doc(id="d2"), Doc(text="서울이 수도이다")),
                    {"page": 3},
                ),
                Gold(text="서울"),
            ),
            query_type="fact",
            expected_doc_types=("law", "news"),
            answerable=True,
            reference="서울",
            metadata={"source": {"year": 2024}},
        ),
        Query(id="물음-2"),
    )


def test_korean_is_written_as_korean(tmp_path: Path) -> None:
    """A written file is UTF-8 without a BOM, one query a line, without empty fields."""
    path = tmp_path / "gold.jsonl"
    dataset = GoldDataset.from_documents({"가": [{"id": "나", "text": ""}], "다": []})
    write_gold(dataset, path)
    assert path.read_bytes().decode("utf-8") == (
        '{"query_id": "가", "gold": [{"id": "나", "text": ""}]}\n{"query_id": "다", "gold": []}\n'
    )


def test_what_evaluate_takes_is_written(tmp_path: Path) -> None:
    """Gold and results are written of lists, tables and files, too; a retriever has to be asked."""
    path, rows = tmp_path / "results.jsonl", [{"query_id": "q1", "gold": [{"text": "a b"}]}]
    for gold, found in (([["a b"]], [["c"], ["a b"]][1:]), (rows, {"q1": ["a b"]})):
        write_results(gold, found, path)
        assert evaluate(path, metrics=["mrr"])["mrr"] == 1.0
        write_gold(gold, tmp_path / "gold.jsonl")
        assert read_gold(tmp_path / "gold.jsonl")["q1"].gold == (Gold(text="a b"),)
    write_results(path, path, tmp_path / "again.jsonl")
    assert path.read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    with pytest.raises(UsageError, match=r"function is no run; pass a Run \(kragx\.retrieve makes"):
        write_results(rows, lambda question: [question], path)


def test_the_classes_themselves_take_no_lists() -> None:
    """Whoever gives lists of documents to `GoldDataset` or `Run` is told what takes them."""
    with pytest.raises(UsageError, match=r"no Query; GoldDataset\.from_documents\(\.\.\.\) takes"):
        GoldDataset([["a"]])  # type: ignore[arg-type]
    for results in ([["a"]], {"q1": ["a"]}):
        with pytest.raises(UsageError, match=r"to Retrieved; Run\.from_documents\(\.\.\.\) takes"):
            Run(results)  # type: ignore[arg-type]


def test_a_results_file_serves_as_gold(tmp_path: Path) -> None:
    """The gold of a results file is read, its retrieved lists are passed over."""
    line = {"query_id": "a", "gold": [{"id": "d1"}], "retrieved": [{"id": "d2"}], "seconds": 0.1}
    assert read_gold(written(tmp_path, line)).queries == (Query("a", gold=(Gold(id="d1"),)),)


@pytest.mark.parametrize(("given_id", "expected"), [(7, "7"), (0, "0"), ("7", "7")])
def test_whole_number_ids_are_their_digits(tmp_path: Path, given_id: object, expected: str) -> None:
    """Query ids and gold ids that are whole numbers become strings."""
    gold = [{"id": given_id, "alternatives": [{"id": given_id}]}]
    query = read_gold(written(tmp_path, {"query_id": given_id, "gold": gold})).queries[0]
    assert query.id == query.gold[0].id == query.gold[0].alternatives[0].id == expected


WRONG = [
    ({"query_id": None}, "query_id: missing"),
    ({"query_id": 1.5}, "an id must be a string or a whole number, not float"),
    ({"query_id": True}, "an id must be a string or a whole number, not bool"),
    ({"query_id": ["a"]}, "an id must be a string or a whole number, not list"),
    ({"query": 5}, "query: must be a text, not 5"),
    ({"query": ["물음"]}, "query: must be a text"),
    ({"query_type": 5}, "query_type: must be a text"),
    ({"reference": {"a": 1}}, "reference: must be a text"),
    ({"answerable": "yes"}, "answerable: must be true or false"),
    ({"answerable": 1}, "answerable: must be true or false"),
    ({"expected_doc_types": "law"}, "expected_doc_types: must be a list"),
    ({"expected_doc_types": [None]}, "expected_doc_types[0]: must be a text, not None"),
    ({"expected_doc_types": [{"kind": "law"}]}, "expected_doc_types[0]"),
    ({"metadata": ["a"]}, "metadata: must be a mapping"),
    ({"metadata": "a"}, "metadata: must be a mapping"),
    ({"gold": None}, "gold: must be a list of gold items, not None; leave the field out"),
    ({"gold": {"d1": 1}}, "gold: must be a list"),
    ({"gold": "d1"}, "gold: must be a list"),
    ({"gold": [{}]}, "gold[0]: a gold item needs 'id', 'text' or 'alternatives'"),
    ({"gold": [{"id": "a"}, 5]}, "gold[1]: int 5 is not a document"),
    ({"gold": [None]}, "gold[0]: None is not a document"),
    ({"gold": [{"id": 1.5}]}, "gold[0]: an id must be a string or a whole number"),
    ({"gold": [{"text": 5}]}, "gold[0]: a text must be a string"),
    ({"gold": [{"id": "a", "grade": "3"}]}, "gold[0].grade: must be a finite number"),
    ({"gold": [{"id": "a", "grade": True}]}, "gold[0].grade: must be a finite number"),
    ({"gold": [{"id": "a", "metadata": []}]}, "gold[0].metadata: must be a mapping"),
    ({"gold": [{"id": "a", "alternatives": {"id": "b"}}]}, "alternatives"),
    ({"gold": [{"id": "a", "alternatives": "b"}]}, "alternatives"),
    ({"gold": [{"id": "a", "alternatives": 5}]}, "gold[0].alternatives: must be a list"),
    (
        {"gold": [{"id": "a", "alternatives": [{}]}]},
        "gold[0].alternatives[0]: a document needs 'id' or 'text'",
    ),
]


@pytest.mark.parametrize(("fields", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_a_field_of_the_wrong_type_is_refused(
    tmp_path: Path, fields: dict[str, object], message: str
) -> None:
    """Each field of a wrong type names file, line and field; none is converted in silence."""
    path = written(tmp_path, {"query_id": "first"}, {"query_id": "second"} | fields)
    with pytest.raises(DataError) as caught:
        read_gold(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_where_gold_stands_in_its_source(tmp_path: Path) -> None:
    """It may stand beside the text or in the metadata, which is where it is kept; never as two."""
    place = {"source": "manual.md", "start": 3, "end": 9, "share": 0.5}
    beside, within = ({"id": "a", **place}, {"id": "a", "metadata": {**place, "by": "kim"}})
    path = written(
        tmp_path, *({"query_id": f"q{n}", "gold": [g]} for n, g in enumerate((beside, within)))
    )
    golds = [query.gold[0].metadata for query in read_gold(path)]
    assert golds == [place, {**place, "by": "kim"}]
    path = written(tmp_path, {"query_id": "a", "gold": [{"start": 4, **within}]})
    with pytest.raises(DataError, match=r":1: gold\[0\]\.start: metadata says 3$"):
        read_gold(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"qurey": "물음"}, "qurey: unknown field; perhaps you meant 'query'?"),
        ({"retreived": []}, "retreived: unknown field; perhaps you meant 'retrieved'?"),
        ({"topic": 5}, "(all else belongs under 'metadata')"),
        (
            {"gold": [{"id": "a", "grades": 1}]},
            "gold[0].grades: unknown field; perhaps you meant 'grade'",
        ),
        ({"gold": [{"id": "a", "page": 1}]}, "gold[0].page: unknown field"),
        ({"gold": [{"alternatives": [{"ID": "b"}]}]}, "ID: unknown field; perhaps you meant 'id'?"),
    ],
    ids=str,
)
def test_an_unknown_field_is_refused_with_the_nearest(
    tmp_path: Path, line: dict[str, object], message: str
) -> None:
    """A misspelt field is not passed over: the error names it and the nearest one."""
    path = written(tmp_path, {"query_id": "a"} | line)
    with pytest.raises(DataError) as caught:
        read_gold(path)
    assert str(caught.value).startswith(f"{path}:1: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("gold", "where"),
    [
        (["수도는 서울이다"], r"gold\[0\]"),
        ([{"id": "a"}, "d7"], r"gold\[1\]"),
        ([{"id": "a", "alternatives": ["b"]}], r"gold\[0\]\.alternatives\[0\]"),
    ],
)
def test_a_plain_string_is_refused(tmp_path: Path, gold: list[object], where: str) -> None:
    """In a file a string may be an id or a text, so it must say which."""
    path = written(tmp_path, {"query_id": "a", "gold": gold})
    with pytest.raises(DataError, match=rf":1: {where}: an object .*id"):
        read_gold(path)


@pytest.mark.parametrize(("first", "again"), [("a", "a"), (7, "7"), ("가", "가")])
def test_a_duplicated_query_id_names_both_lines(
    tmp_path: Path, first: object, again: object
) -> None:
    """A query id that stands twice names the line of each, and 7 is the same as "7"."""
    path = written(tmp_path, {"query_id": first}, "", {"query_id": "b"}, {"query_id": again})
    with pytest.raises(DataError) as caught:
        read_gold(path)
    assert str(caught.value).startswith(f"{path}:4: query_id: '{again}' stands twice")
    assert "first on line 1" in str(caught.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_grade_must_be_finite(tmp_path: Path, number: str) -> None:
    """NaN and infinities, which Python's JSON lets through, are no grades."""
    path = written(tmp_path, f'{{"query_id": "a", "gold": [{{"id": "d", "grade": {number}}}]}}')
    with pytest.raises(DataError, match=r":1: gold\[0\]\.grade: must be a finite number"):
        read_gold(path)


def test_metadata_that_json_lacks_is_written_as_text(tmp_path: Path) -> None:
    """Metadata values such as dates are written as strings, rather than failing half-way."""
    from datetime import date

    path = tmp_path / "gold.jsonl"
    dataset = GoldDataset((Query("a", metadata={"day": date(2024, 3, 1)}),))
    write_gold(dataset, path)
    assert json.loads(path.read_text(encoding="utf-8"))["metadata"] == {"day": "2024-03-01"}


def test_metadata_that_was_read_can_be_written(tmp_path: Path) -> None:
    """NaN in metadata, which is read, does not stop the file from being written again."""
    path = written(tmp_path, '{"query_id": "a", "metadata": {"weight": NaN}}')
    write_gold(read_gold(path), tmp_path / "again.jsonl")
    assert read_gold(tmp_path / "again.jsonl").queries[0].id == "a"


@pytest.mark.parametrize("name", ["gold.jsonl.gz", "gold.json.gz"])
def test_gzipped_files_are_unpacked(tmp_path: Path, name: str) -> None:
    """A name that ends with .gz is read as the file within; a damaged one is a clear error."""
    record = {"query_id": "a", "query": "물음", "gold": [{"id": "d1"}]}
    plain = json.dumps([record] if "json.gz" in name else record).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(plain))
    found = read_dataset(path)
    assert (found.name, found.queries[0].text) == ("gold", "물음")
    path.write_bytes(gzip.compress(plain)[:-9])
    with pytest.raises(DataError, match="not a whole gzip file"):
        read_dataset(path)

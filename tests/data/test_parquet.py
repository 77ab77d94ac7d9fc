"""Parquet with a row a question: read as JSON Lines is, by columns, from wherever it lies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

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
    read_results,
    write_gold,
    write_results,
)
from kragx.data import Retrieved
from kragx.data.formats import parquet
from kragx.data.formats.parquet import (
    ParquetTable,
    files_of,
    is_located,
    located_name,
    write_questions,
)
from kragx.data.source import Reading
from kragx.matchers import Diagnostics, IdMatcher, MatchItem
from tests.data.support import docs, queries, written
from tests.thoroughness import examples

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

answers = st.none() | st.builds(
    Retrieved,
    st.lists(docs, max_size=3).map(tuple),
    st.none() | st.floats(0, 1e6),
)
failed = st.builds(Retrieved, error=st.text(min_size=1).filter(str.strip))
drawn = st.lists(
    st.tuples(queries, answers | failed),
    min_size=1,
    max_size=5,
    unique_by=lambda pair: pair[0].id,
)

ROWS: list[dict[str, Any]] = [
    {
        "query_id": "q1",
        "query": "how far?",
        "gold": [{"text": "ten miles"}, {"id": "g2", "text": "x", "grade": 0.0}],
        "retrieved": [{"id": "d1", "text": "it is ten miles", "score": 2.5}, {"text": "no"}],
        "seconds": 0.25,
        "query_type": "fact",
    },
    {"query_id": "q2", "gold": [{"text": "blue"}], "retrieved": []},
    {"query_id": "q3", "gold": [{"text": "red"}], "error": "ReadTimeout: no answer"},
    {"query_id": "q4", "gold": [{"text": "green"}]},
]


def table(path: Path, rows: list[dict[str, Any]] = ROWS, **types: Any) -> Path:
    """A file of rows as pyarrow infers their types."""
    found = pa.Table.from_pylist(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pa.array([row.get(name) for row in rows], types.get(name)) for name in names}
    pq.write_table(pa.table(columns) if types or len(names) > found.num_columns else found, path)
    return path


def read(source: object) -> list[tuple[Query, Retrieved | None]]:
    """Questions with what was retrieved."""
    return [(query, answer) for _, query, answer in Reading(source, strict=True)]


@pytest.mark.integration
@given(drawn)
@examples(60)
def test_what_is_written_is_read_back_as_json_lines_is(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[Query, Retrieved | None]],
) -> None:
    """Whatever a results file can hold, Parquet holds too, to the hash of the gold set."""
    folder = tmp_path_factory.mktemp("both")
    dataset = GoldDataset(tuple(query for query, _ in pairs))
    run = Run({query.id: answer for query, answer in pairs if answer is not None})
    write_results(dataset, run, folder / "same.jsonl")
    write_results(dataset, run, folder / "same.parquet")
    lines, rows = (read_results(folder / f"same.{ending}") for ending in ("jsonl", "parquet"))
    assert rows[0].queries == lines[0].queries
    assert rows[0].content_hash == dataset.content_hash
    assert rows[1].results == lines[1].results


def test_a_row_a_question_is_evaluated_as_its_lines_are(tmp_path: Path) -> None:
    """By hand: q1 is found at rank 1, q2 got nothing, q3 failed, q4 is missing."""
    lines = evaluate(written(tmp_path, *ROWS))
    rows = evaluate(table(tmp_path / "file.parquet"))
    assert rows.mean["mrr@10"] == 0.25
    assert rows.queries == lines.queries
    assert rows.counts == lines.counts
    assert rows.settings["dataset"] == lines.settings["dataset"]
    assert rows.failures == {"q3": "ReadTimeout: no answer"}


def test_files_that_other_tools_write_are_read(tmp_path: Path) -> None:
    """Large lists and texts, ids that are numbers, metadata as JSON, struct or map, an index."""
    pandas = pytest.importorskip("pandas")
    rows = [
        {
            "query_id": 7,
            "gold": [{"id": 1, "text": "a", "metadata": {"page": 3, "of": None}}],
            "retrieved": [{"id": 11, "text": "a b", "score": 1, "metadata": '{"page": 4}'}],
            "metadata": {"level": "easy"},
        }
    ]
    frame = pandas.DataFrame([{"query_id": 0}, *rows])[1:]  # its index is no plain range
    frame.to_parquet(tmp_path / "pandas.parquet")
    schema = pa.schema(
        {
            "query_id": pa.int64(),
            "gold": pa.large_list(
                pa.struct(
                    {
                        "id": pa.int32(),
                        "text": pa.large_string(),
                        "metadata": pa.struct({"page": pa.int64(), "of": pa.string()}),
                    }
                )
            ),
            "retrieved": pa.large_list(
                pa.struct(
                    {
                        "id": pa.int64(),
                        "text": pa.dictionary(pa.int8(), pa.string()),
                        "score": pa.float32(),
                        "metadata": pa.string(),
                    }
                )
            ),
            "metadata": pa.map_(pa.string(), pa.string()),
        }
    )
    columns = {field.name: pa.array([rows[0][field.name]], field.type) for field in schema}
    pq.write_table(pa.table(columns, schema=schema), tmp_path / "other.parquet")
    gold = Gold("1", "a", metadata={"page": 3})
    document = Doc("11", "a b", {"page": 4}, 1.0)
    expected = (
        Query("7", gold=(gold,), metadata={"level": "easy"}),
        Retrieved((document,)),
    )
    assert read(tmp_path / "other.parquet") == [expected]
    assert read(tmp_path / "pandas.parquet") == [expected]


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"query_id": None}, "query_id", "missing; each query needs an id of its own"),
    ({"query_id": " "}, "query_id", "missing; each query needs an id of its own"),
    ({"query_id": "q1"}, "query_id", "'q1' stands twice"),
    ({"gold": [{"text": None}]}, "gold[0]", "a gold item needs 'id', 'text' or 'alternatives'"),
    ({"gold": [{"text": " "}]}, "gold[0].text", "an empty text"),
    ({"gold": [{"text": "x", "grade": float("nan")}]}, "gold[0].grade", "must be a finite number"),
    ({"gold": [{"text": "x", "alternatives": [{"id": ""}]}]}, "gold[0].alternatives[0]", "empty"),
    (
        {"retrieved": [{"id": None, "text": None}]},
        "retrieved[0]",
        "a document needs 'id' or 'text'",
    ),
    ({"retrieved": [{"text": "x", "score": float("nan")}]}, "retrieved[0].score", "not nan"),
    ({"retrieved": [{"text": "x", "title": "y"}]}, "retrieved[0].title", "unknown field"),
    ({"retrieved": ["x"]}, "retrieved[0]", "an object is expected, not the string 'x'"),
    ({"retrieved": "x"}, "retrieved", "JSON is expected, not 'x'"),
    ({"seconds": -1.0}, "seconds", "0 to 1,000,000 seconds, not -1.0"),
    ({"error": "broke", "retrieved": [{"text": "x"}]}, "retrieved", "stands beside 'error'"),
    ({"answerable": False}, "answerable", "false, but there are 1 gold items"),
    ({"metadata": "no JSON"}, "metadata", "must be a mapping"),
    ({"model": "mine"}, "model", "unknown field"),
]


@pytest.mark.parametrize(("change", "field", "message"), MISTAKES)
def test_a_mistake_is_named_by_file_row_field_and_value(
    tmp_path: Path, change: dict[str, Any], field: str, message: str
) -> None:
    """What is wrong is said as of a line of JSON; the third row of this file is broken."""
    rows = [
        {"query_id": f"q{n}", "gold": [{"text": "x"}], "retrieved": [{"text": "x"}]}
        for n in range(1, 4)
    ]
    rows[2] |= {"query_id": "q3"} | change
    if "error" in change:
        rows[2]["retrieved"] = change["retrieved"]
    path = tmp_path / "bad.parquet"
    if set(map(type, change.get("retrieved") or [{}])) != {dict}:
        rows = rows[2:]
    table(path, rows)
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.field.startswith(field)
    assert message in str(caught.value)
    assert caught.value.path == f"{path}:{len(rows)}"


def test_a_text_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    """Other tools write what is no text into columns of texts."""
    raw = pa.array([b"fine", b"\xff\xfe"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    documents = pa.StructArray.from_arrays([texts], ["text"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), documents)
    pq.write_table(pa.table({"query_id": ["a", "b"], "retrieved": lists}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet: cannot be read as Parquet: "):
        read(tmp_path / "x.parquet")


def test_ids_that_stand_in_two_files_are_named_with_both(tmp_path: Path) -> None:
    """A folder of files is one set of results, in which each id stands once."""
    table(tmp_path / "a.parquet", ROWS[:2])
    table(tmp_path / "b.parquet", ROWS[1:2])
    with pytest.raises(DataError, match=r"b\.parquet:1: query_id: 'q2' .*first in .*a\.parquet:2"):
        read(tmp_path)


@pytest.mark.parametrize("form", ["folder", "pattern", "address", "addresses", "list"])
def test_many_files_are_one_set(tmp_path: Path, form: str) -> None:
    """A folder, a pattern, an address of either, and several files; in the order of names."""
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    (folder / "_temporary").mkdir()
    files = [folder / "a.parquet", folder / "b.parquet", folder / "deep" / "c.parquet"]
    for file, row in zip(files, ROWS):
        table(file, [row])
    table(folder / "_temporary" / "d.parquet", ROWS[3:])
    table(folder / ".hidden.parquet", ROWS[3:])
    source: object = {
        "folder": folder,
        "pattern": f"{folder}/**/*.parquet",
        "address": folder.as_uri(),
        "addresses": f"{folder.as_uri()}/**/*.parquet",
        "list": [str(folder / "a.parquet"), f"{folder}/b*.parquet", str(folder / "deep")],
    }[form]
    assert [query.id for query, _ in read(source)] == ["q1", "q2", "q3"]
    dataset = read_dataset(source)
    assert dataset.name == ("a" if form == "list" else "data")
    assert evaluate(source).counts["n_failed"] == 1


def test_files_at_an_address_are_read_by_its_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of s3://, with a file system in memory: what is listed there, and fits, is read."""
    from pyarrow.fs import _MockFileSystem

    system = _MockFileSystem()
    for number in range(3):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(ROWS[number : number + 1]), sink)
        system.create_dir("bucket/runs")
        with system.open_output_stream(f"bucket/runs/part-{number}.parquet") as stream:
            stream.write(sink.getvalue())

    def folder_at(folder: str, query: str) -> tuple[Any, str]:
        assert query == "?region=here"
        return system, folder.removeprefix("s3://")

    monkeypatch.setattr(parquet, "_folder_at", folder_at)
    assert [q.id for q, _ in read("s3://bucket/runs/?region=here")] == ["q1", "q2", "q3"]
    assert [q.id for q, _ in read("s3://bucket/runs/*-[02].parquet?region=here")] == ["q1", "q3"]
    assert [q.id for q, _ in read("s3://bucket/runs/part-1.parquet?region=here")] == ["q2"]
    with pytest.raises(DataError, match=r"^s3://bucket/none: cannot be read: no such file"):
        read("s3://bucket/none?region=here")
    sink_address = "s3://bucket/runs/part-3.parquet?region=here"
    write_questions([(Query("q9"), Retrieved())], sink_address)
    assert [q.id for q, _ in read(sink_address)] == ["q9"]


def test_an_address_that_cannot_be_read_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheme that pyarrow does not know; a login that fails, whose keys are not shown."""
    with pytest.raises(DataError, match=r"foo://x: no address that pyarrow can read here: .*s3://"):
        read("foo://x/y.parquet")

    def refused(folder: str, query: str) -> Any:
        raise OSError("When getting information: AWS Error ACCESS_DENIED")

    monkeypatch.setattr(parquet, "_folder_at", refused)
    with pytest.raises(DataError) as caught:
        read("s3://KEY:SECRET@bucket/runs")
    assert caught.value.path == "s3://bucket/runs"
    assert "ACCESS_DENIED" in caught.value.problem


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b"no Parquet at all"), "cannot be read as Parquet"),
        (lambda path: path.write_bytes(b""), "cannot be read as Parquet"),
        (lambda path: None, "cannot be read: No such file"),
        (
            lambda path: pq.write_table(
                pa.table({"query_id": ["q"]}).replace_schema_metadata({"kragx": "{}"}), path
            ),
            "a table of values per question",
        ),
        (
            lambda path: pq.write_table(
                pa.Table.from_arrays([pa.array(["a"])] * 2, names=["query_id"] * 2), path
            ),
            "the column 'query_id' stands twice",
        ),
        (lambda path: table(path, [{"question": "?", "answer": "!"}]), "not recognised"),
    ],
)
def test_a_file_of_another_kind_is_told(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    """A tired user names whatever ends with .parquet."""
    path = tmp_path / "file.parquet"
    make(path)
    with pytest.raises(DataError, match=rf"^[^:]*file\.parquet(:1)?: {message}"):
        read_results(path)


def test_a_byte_that_rots_is_no_other_number(tmp_path: Path) -> None:
    """Whatever kragx wrote is read as it was, or it is said that it cannot be."""
    path = tmp_path / "file.parquet"
    write_results([["a text", "another"]], [["a text", "one more"]], path)
    whole = read_results(path)
    raw = path.read_bytes()
    for place in range(4, len(raw) // 2, 7):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with suppress(DataError):
            assert read_results(path) == whole, place


def test_a_row_a_document_is_read_as_from_other_tables(tmp_path: Path) -> None:
    """Ranks say what was retrieved, as in CSV."""
    rows = [{"query_id": "q", "rank": n, "doc_id": f"d{n}", "text": "t"} for n in (2, 1)]
    run = read_results(table(tmp_path / "file.parquet", rows))[1]
    assert [doc.id for doc in run["q"].documents] == ["d1", "d2"]


def test_fields_of_metadata_may_be_called_as_those_of_documents(tmp_path: Path) -> None:
    """Metadata that is a struct is read as a whole."""
    metadata = {"text": "draft", "score": 2.0, "page": 1}
    row = {"query_id": "q1", "gold": [], "retrieved": [{"id": "d", "metadata": metadata}]}
    path = table(tmp_path / "file.parquet", [row])
    ((_, _, answer),) = Reading(path, strict=True)
    assert answer is not None
    assert answer.documents[0].metadata == metadata


def test_lists_are_read_whose_documents_lack_what_is_compared(tmp_path: Path) -> None:
    """Of documents without ids it is said that they have none, not that there are no lists."""
    rows = [{"query_id": "q1", "gold": [{"id": "d"}], "retrieved": [{"text": "t"}, {"text": "u"}]}]
    path = table(tmp_path / "file.parquet", rows)
    with pytest.raises(DataError, match="'q1', rank 1: no id; write"):
        evaluate(path, match="id", metrics=["precision@2"])


class Newest(IdMatcher):
    """Somebody's matcher: equal ids, of documents of the year alone."""

    def scores(self, items: Iterable[MatchItem], diagnostics: Diagnostics) -> Iterator[Any]:
        """Those of ids where the metadata say so."""
        listed = list(items)
        for item, scores in zip(listed, super().scores(listed, diagnostics)):
            is_new = [doc.metadata.get("year") == 2026 for doc in item.docs]
            yield scores * np.array(is_new)[:, None]


def test_a_subclass_may_look_at_any_field(tmp_path: Path) -> None:
    """What a built-in matcher looks at says nothing of a class that derives from it."""
    docs = [{"id": "d", "metadata": {"year": year}} for year in (2025, 2026)]
    rows = [
        {"query_id": f"q{n}", "gold": [{"id": "d", "text": "t"}], "retrieved": [doc]}
        for n, doc in enumerate(docs)
    ]
    path = table(tmp_path / "file.parquet", rows)
    found = evaluate(path, match=Newest(), metrics=["recall@1"])
    assert found.queries == {"q0": {"recall@1": 0.0}, "q1": {"recall@1": 1.0}}
    gold = {"q0": [{"id": "d", "text": "t"}]}
    run = {"q0": [{**docs[1], "text": "t"}]}
    assert evaluate(gold, run, match=Newest(), metrics=["recall@1"])["recall@1"] == 1.0


def test_parts_are_row_groups_with_their_rows(tmp_path: Path) -> None:
    """Together they hold what the file holds, under the same numbers."""
    path = tmp_path / "file.parquet"
    rows = [{"query_id": f"q{n}", "gold": [{"text": f"g{n}"}], "retrieved": []} for n in range(10)]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
    whole = list(ParquetTable(str(path)).records())
    parts = list(ParquetTable(str(path)).stretches(1))
    assert [part.groups for part in parts] == [(0,), (1,), (2,), (3,)]
    assert [own for part in parts for own in part.records()] == whole
    assert [row for row, _ in whole] == list(range(1, 11))
    assert [part.groups for part in ParquetTable(str(path)).stretches(1 << 30)] == [(0, 1, 2, 3)]


def test_one_document_stands_for_all_that_are_equal(tmp_path: Path) -> None:
    """A chunk that many questions retrieve is one string and one document of a batch."""
    path = tmp_path / "file.parquet"
    chunk = Doc(text="the same chunk " * 20)
    write_questions([(Query(f"q{n}"), Retrieved((chunk,))) for n in range(100)], path)
    documents = {id(answer.documents[0]) for _, answer in read(path) if answer is not None}
    assert len(documents) == 2  # the first question is a batch of its own
    group = pq.read_metadata(path).row_group(0)
    columns = map(group.column, range(group.num_columns))
    sizes = {column.path_in_schema: column.total_compressed_size for column in columns}
    assert sizes["retrieved.list.element.text"] < 1_000  # a hundred of it are 30,000


def test_a_column_may_be_mapped(tmp_path: Path) -> None:
    """As of other tables; what is neither mapped nor a field goes to the metadata."""
    rows = [{"번호": 1, "gold": [{"id": "a"}], "split": "dev"}]
    path = table(tmp_path / "gold.parquet", rows)
    dataset = read_dataset(path, columns={"query_id": "번호"})
    assert dataset.queries == (Query("1", gold=(Gold("a"),), metadata={"split": "dev"}),)


def test_what_names_files_is_told_from_what_does_not(tmp_path: Path) -> None:
    """By its ending, as an address or as a folder; gold documents in lists are none."""
    assert is_located("x.parquet")
    assert is_located("s3://bucket/x")
    assert is_located(tmp_path)
    assert not is_located("a text " * 1000)  # longer than a file's name may be
    assert not is_located([[str(tmp_path)]])  # documents of a query
    assert is_located([tmp_path, "x.PARQUET"])
    assert not is_located("x.jsonl")
    assert not is_located(["a text", "x.parquet"])
    assert not is_located([])
    assert located_name("/data/runs/bm25-*.parquet") == "bm25"
    assert located_name("/data/runs/*.parquet") == "runs"
    assert located_name("s3://bucket/runs/?region=x") == "runs"


def test_nothing_stands_there_before_all_is_written(tmp_path: Path) -> None:
    """What ends in the middle leaves what was there, and nothing else."""
    path = tmp_path / "file.parquet"
    write_gold(GoldDataset((Query("before"),)), path)

    def broken() -> Any:
        yield Query("q1"), None
        raise DataError("broken")

    with pytest.raises(DataError, match="broken"):
        write_questions(broken(), path)
    assert [query.id for query in read_dataset(path)] == ["before"]
    assert [own.name for own in tmp_path.iterdir()] == ["file.parquet"]
    with pytest.raises(UsageError, match="cannot be written"):
        write_questions([], tmp_path / "none" / "file.parquet")


@pytest.mark.parametrize("source", [".", "*.parquet", "./*.parquet", "**/*.parquet"])
def test_files_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """They are told from what is no data by their whole names, as anywhere else."""
    for name in ("1.parquet", "_x.parquet", ".y.parquet", "run.parquet"):
        table(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert files_of(source) == ["1.parquet", "run.parquet"]


def test_files_of_keeps_what_is_named(tmp_path: Path) -> None:
    """A file whose name looks like a pattern is that file, and each file counts once."""
    odd = table(tmp_path / "run[1].parquet")
    assert files_of(str(odd)) == [str(odd)]
    assert files_of([str(odd), str(tmp_path)]) == [str(odd)]
    assert json.loads(json.dumps(files_of(odd))) == [str(odd)]

"""What must not be found in gold sets: read, checked and written in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kragx import (
    DataError,
    Forbidden,
    Gold,
    GoldDataset,
    Query,
    UsageError,
    read_dataset,
    read_gold,
    read_results,
    validate,
    write_gold,
    write_results,
)
from kragx.data import Reading, Retrieved, Run
from kragx.data.gold_diff import diff_files, diff_gold

RULES: dict[str, Any] = {
    "tenant": {"metadata.tenant": {"not": {"query": "metadata.tenant"}}},
    "timezone": "Asia/Seoul",
}
ITEMS = (
    Forbidden(id="c9", why="tenant"),
    Forbidden(text="The old price is 10.", why="stale", superseded_by="c1"),
    Forbidden(source="prices.md", start=0, end=20),
    Forbidden(source="secret.md"),
)
DATASET = GoldDataset(
    (
        Query("q1", "How much?", gold=(Gold("c1", "It is 12."),), forbidden=ITEMS),
        Query("q2", "And this?", gold=(Gold("c2", "That is 13."),), forbidden=()),
        Query("q3", "Whose?", metadata={"tenant": "A"}),
    ),
    forbidden=RULES,
)


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.parquet", "gold.jsonl.gz"])
def test_written_and_read(name: str, tmp_path: Path) -> None:
    """Every form of file has it all: items, that somebody has looked, rules, and the same hash."""
    path = tmp_path / name
    if name.endswith(".gz"):
        write_gold(DATASET, tmp_path / "gold.jsonl")
        import gzip

        path.write_bytes(gzip.compress((tmp_path / "gold.jsonl").read_bytes()))
    else:
        write_gold(DATASET, path)
    read = read_gold(path)
    assert read.queries == DATASET.queries
    assert read.forbidden == RULES
    assert read.content_hash == DATASET.content_hash


def test_in_results(tmp_path: Path) -> None:
    """Results files have the same."""
    run = Run({"q1": Retrieved(())})
    for name in ("results.jsonl", "results.parquet"):
        write_results(DATASET, run, tmp_path / name)
        read, _ = read_results(str(tmp_path / name))
        assert (read.queries, read.forbidden) == (DATASET.queries, RULES)


def test_where_nothing_is(tmp_path: Path) -> None:
    """Hashes, files and columns of a gold set that forbids nothing are as they were."""
    plain = GoldDataset((Query("q1", "How much?", gold=(Gold("c1", "It is 12."),)),))
    assert plain.content_hash.startswith("a5ec9d7cff58b5e1")
    write_gold(plain, tmp_path / "gold.jsonl")
    assert "forbidden" not in (tmp_path / "gold.jsonl").read_text()
    write_gold(plain, tmp_path / "gold.parquet")
    from pyarrow import parquet

    file = parquet.ParquetFile(tmp_path / "gold.parquet")
    assert "forbidden" not in file.schema_arrow.names
    assert b"kragx.forbidden" not in (file.metadata.metadata or {})


def test_hashes_tell(tmp_path: Path) -> None:
    """Items, rules and that somebody has looked are part of a gold set's content."""
    query = Query("q1", "x")
    one = Forbidden(id="a")
    sets = [
        GoldDataset((query,)),
        GoldDataset((Query("q1", "x", forbidden=()),)),
        GoldDataset((Query("q1", "x", forbidden=(one,)),)),
        GoldDataset((query,), forbidden=RULES),
    ]
    assert len({dataset.content_hash for dataset in sets}) == len(sets)


def test_tables_list_ids(tmp_path: Path) -> None:
    """A column of ids, separated as others are; where the cell is empty, somebody has looked."""
    path = tmp_path / "gold.csv"
    path.write_text(
        "query_id,query,gold,forbidden_chunk_ids\n"
        'q1,How much?,"[{""id"": ""c1""}]",c8;c9\n'
        'q2,And this?,"[{""id"": ""c1""}]",\n'
    )
    first, second = read_dataset(str(path))
    assert first.forbidden == (Forbidden(id="c8"), Forbidden(id="c9"))
    assert second.forbidden == ()


def test_in_python() -> None:
    """A question takes mappings as items, and rows of mappings are rows of a file."""
    assert Query("q1", forbidden=[{"id": "c9", "why": "tenant"}]).forbidden == ITEMS[:1]  # type: ignore[arg-type]
    rows = [
        {"forbidden": RULES},
        {"query_id": "q1", "query": "?", "gold": [], "forbidden": [{"id": 9}]},
    ]
    dataset = read_dataset(rows)
    assert dataset["q1"].forbidden == (Forbidden(id="9"),)
    assert dataset.forbidden == RULES


LINE = {"query_id": "q1", "query": "?", "gold": []}


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("c9", r"gold.jsonl:1: forbidden: must be a list of forbidden items, not 'c9'"),
        ({"id": "c9"}, r"forbidden: must be a list .*; write \[\] where somebody has looked"),
        (["c9"], r"forbidden\[0\]: an object is expected, not 'c9'; write \{\"id\": \.\.\.\}"),
        ([{}], r"forbidden\[0\]: a forbidden item needs 'id', 'text' or 'source'"),
        ([{"id": "a", "wy": "b"}], r"forbidden\[0\]\.wy: unknown field; perhaps you meant 'why'"),
        ([{"id": True}], r"forbidden\[0\]\.id: an id must be a string or a whole number"),
        ([{"text": " "}], r"forbidden\[0\]\.text: an empty text; it is in every document"),
        ([{"id": "a", "why": ""}], r"forbidden\[0\]\.why: is empty; name its kind"),
        ([{"id": "a", "start": 0, "end": 3}], r"forbidden\[0\]\.source: missing beside"),
        ([{"source": "a", "start": 3, "end": 3}], r"forbidden\[0\]\.end: 3 to 3 is no stretch"),
        ([{"source": "a", "end": 3}], r"forbidden\[0\]\.start: None to 3 is no stretch"),
        ([{"source": "a", "start": 0.5, "end": 3}], r"start: must be a whole number, not 0\.5"),
        ([{"id": "a", "superseded_by": "a"}], r"superseded_by: a circle of versions: 'a' -> 'a'"),
        (
            [{"id": "a", "superseded_by": "b"}, {"id": "b", "superseded_by": "a"}],
            r"superseded_by: a circle of versions: 'a' -> 'b' -> 'a'; name the newer document",
        ),
    ],
)
def test_refused(items: Any, message: str, tmp_path: Path) -> None:
    """What is no item is an error with line, field, value and remedy."""
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(LINE | {"forbidden": items}) + "\n")
    with pytest.raises(DataError, match=message):
        read_gold(path)


def test_rules_stand_first(tmp_path: Path) -> None:
    """Rules behind a question are refused, and so are those that are none, with their path."""
    path = tmp_path / "gold.jsonl"
    path.write_text(f"{json.dumps(LINE)}\n{json.dumps({'forbidden': RULES})}\n")
    with pytest.raises(DataError, match=r"gold.jsonl:2: query_id: missing"):
        read_gold(path)
    path.write_text(json.dumps({"forbidden": ["tenant"]}) + "\n" + json.dumps(LINE))
    with pytest.raises(DataError, match=r"gold.jsonl: forbidden: rules by name are expected"):
        read_gold(path)
    path.write_text(json.dumps({"forbidden": {"r": {"f": {"iz": 1}}}}) + "\n" + json.dumps(LINE))
    with pytest.raises(DataError, match=r"gold.jsonl: forbidden\.r\.f\.iz: unknown condition"):
        read_gold(path)
    with pytest.raises(UsageError, match=r"forbidden\.r\.f\.iz: unknown condition"):
        GoldDataset((Query("q1"),), forbidden={"r": {"f": {"iz": 1}}})


def test_rules_before_questions_without_gold(tmp_path: Path) -> None:
    """Rules say nothing of the format: what stands behind them does, if it is id and question."""
    path = tmp_path / "gold.jsonl"
    probe = {"query_id": "q1", "query": "?", "forbidden": [{"id": "a"}]}
    path.write_text(f"{json.dumps({'forbidden': RULES})}\n{json.dumps(probe)}\n")
    assert read_gold(path)["q1"].forbidden == (Forbidden(id="a"),)


def test_a_circle_over_questions(tmp_path: Path) -> None:
    """Versions that lead in a circle from question to question are told as well."""
    items = [{"id": "a", "superseded_by": "b"}], [{"id": "b", "superseded_by": "a"}]
    lines = [
        LINE | {"query_id": f"q{number}", "forbidden": item} for number, item in enumerate(items)
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError, match=r"superseded_by: a circle of versions"):
        read_gold(path)
    (problem,) = (found for found in validate(str(path)).problems if found.level == "error")
    assert problem.field == "forbidden.superseded_by"


def test_validated_with_a_corpus(tmp_path: Path) -> None:
    """What no document of the corpus is can match nothing, and is an error with its field."""
    corpus = tmp_path / "corpus.jsonl"
    docs = [
        {"id": "c1", "text": "It is 12 from now on.", "metadata": {"source": "prices.md"}},
        {"id": "c9", "text": "The price of the other shop.", "metadata": {"source": "other.md"}},
    ]
    corpus.write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    items = [
        *({"id": "c9"}, {"id": "c8"}, {"text": "The price of the other"}),
        *({"text": "A price that stands nowhere"}, {"source": "other.md"}, {"source": "gone.md"}),
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(LINE | {"gold": [{"id": "c1"}], "forbidden": items}) + "\n")
    problems = validate(str(path), corpus=str(corpus)).problems
    assert {problem.field for problem in problems if problem.level == "error"} == {
        "forbidden[1].id",
        "forbidden[3].text",
        "forbidden[5].source",
    }


def test_probes_are_validated(tmp_path: Path) -> None:
    """No gold is missed where a question could leak; one of another asker is another question."""
    rules = {"forbidden": {"tenant": RULES["tenant"]}}
    lines = [
        LINE | {"query_id": f"q{number}", "query": "What is the fee?", **more}
        for number, more in enumerate(
            [
                *({"metadata": {"tenant": "A"}}, {"metadata": {"tenant": "B"}}),
                *({"forbidden": [{"id": "a"}]}, {"forbidden": [{"id": "b"}]}),
                *({"metadata": {"tenant": "A"}}, {}),
            ]
        )
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (rules, *lines)))
    problems = [(problem.query_id, problem.field) for problem in validate(str(path)).problems]
    assert problems == [("q4", "query"), ("q5", "gold")]


def test_gold_diff(tmp_path: Path) -> None:
    """What is forbidden is content that differs, whatever its order; rules differ as a whole."""
    query = DATASET["q1"]
    other = Query(query.id, query.text, query.gold, forbidden=ITEMS[:0:-1])
    same = Query(query.id, query.text, query.gold, forbidden=ITEMS[::-1])
    old = GoldDataset((query,))
    assert diff_gold(old, GoldDataset((same,))).comparable
    (changed,) = diff_gold(old, GoldDataset((other,))).questions
    assert [change.what for change in changed.changes] == ["forbidden"]
    for name, rules in (("old", {}), ("new", RULES)):
        write_gold(GoldDataset((query,), forbidden=rules), tmp_path / f"{name}.jsonl")
    diff = diff_files(tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert list(diff.remarks) == ["the rules that forbid documents differ"]


def test_a_column_that_is_mapped_may_forbid(tmp_path: Path) -> None:
    """Whatever a column is called that holds what is forbidden, it is looked at before."""
    path = tmp_path / "gold.csv"
    path.write_text("query_id,question,answer_passage,banned\nq1,a,b,c\n", encoding="utf-8")
    assert Reading(path).may_forbid is False
    assert Reading(path, columns={"forbidden_chunk_ids": "banned"}).may_forbid is True

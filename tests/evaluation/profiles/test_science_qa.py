"""Profile science-qa: the competition's numbers, its rows, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, GoldDataset, Retrieved, Run, evaluate, read_dataset
from kragx.api.files import evaluate_submission
from kragx.data.formats.other_tools import read_submission
from kragx.evaluation.evaluation import Evaluation
from tests.thoroughness import all_cases

from .support import TINY, by_id, quick

METRIC = "map@3(norm=hits, credit=document)"
"""The competition's score by its canonical name."""


def scored(gold: str, found: str) -> float | None:
    """The value of one query whose ids are letters."""
    result = evaluate({"q": by_id(*gold)}, {"q": by_id(*found)}, profile="science-qa")
    assert list(result.mean) == [METRIC]
    return result[METRIC]


def saved(folder: Path, records: list[Any], name: str = "file.jsonl") -> Path:
    """A JSON Lines file."""
    path = folder / name
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text(text, "utf-8")
    return path


def competition(gold: Path, submission: Path) -> tuple[Evaluation, list[str]]:
    """A submission's evaluation, and the eval_ids without a row."""
    rows, run, left_out = read_submission(submission, read_gold(gold))
    return evaluate(rows, run, profile="science-qa"), left_out


def read_gold(path: Path) -> GoldDataset:
    """The competition's gold."""
    return read_dataset(path, "science-qa")


def row(eval_id: object, *topk: object) -> dict[str, object]:
    """One row of a submission."""
    return {"eval_id": eval_id, "topk": list(topk)}


def refs(eval_id: object, *ids: object) -> dict[str, object]:
    """One line of a gold file."""
    return {"eval_id": eval_id, "refs": list(ids)}


@all_cases(
    ("gold", "found", "value"),
    [
        ("abc", "axy", 1.0),
        ("a", "xaa", (1 / 2 + 2 / 3) / 2),
        ("ab", "axb", (1 / 1 + 2 / 3) / 2),
        ("a", "xyza", 0.0),
        ("abc", "abc", 1.0),
        ("a", "xya", 1 / 3),
        ("a", "xyz", 0.0),
        ("a", "", 0.0),
        ("", "", 1.0),
        ("", "x", 0.0),
        ("", "xyzw", 0.0),
    ],
)
def test_the_numbers_of_the_competition(gold: str, found: str, value: float):
    """The precisions at the hits within 3 are averaged over those hits; abstaining right is 1."""
    assert scored(gold, found) == pytest.approx(value, abs=TINY)


@pytest.mark.parametrize(
    ("gold", "found", "shown"), [("a", "xaa", ".5833"), ("ab", "axb", ".8333")]
)
def test_the_numbers_as_they_are_printed(gold: str, found: str, shown: str):
    """To four digits the design's two fractions are .5833 and .8333."""
    assert f"{scored(gold, found):.4f}".lstrip("0") == shown


def slow(gold: set[str], found: list[str]) -> float:
    """The competition's formula for one row, written out."""
    if not gold:
        return 0.0 if found else 1.0
    hits, total = 0, 0.0
    for rank, document in enumerate(found[:3], start=1):
        if document in gold:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0


letters = st.sampled_from("abcdef")
gold_sets = st.dictionaries(
    st.sampled_from(["1", "2", "3", "넷"]), st.lists(letters, max_size=4), min_size=1
)


@given(data=st.data(), gold=gold_sets)
@quick
def test_a_slow_reference_agrees(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, gold: dict[str, list[str]]
):
    """The mean over a submission's rows, repeated ones included, is the formula's."""
    rows = data.draw(
        st.lists(
            st.tuples(st.sampled_from(sorted(gold)), st.lists(letters, max_size=6)),
            min_size=1,
            max_size=6,
        )
    )
    folder = tmp_path_factory.mktemp("qa")
    gold_file = saved(folder, [refs(key, *ids) for key, ids in gold.items()], "gold.jsonl")
    result, left_out = competition(
        gold_file, saved(folder, [row(key, *found) for key, found in rows], "rows.csv")
    )
    expected = [slow(set(gold[key]), found) for key, found in rows]
    values = [values[METRIC] for values in result.queries.values()]
    assert values == pytest.approx(expected, abs=TINY)
    assert result[METRIC] == pytest.approx(sum(expected) / len(expected), abs=TINY)
    assert left_out == [key for key in gold if key not in dict(rows)]


def test_a_repeated_eval_id_counts_twice(tmp_path: Path):
    """Two rows of one eval_id are two values in the mean, the second under an id of its own."""
    gold = saved(tmp_path, [refs(1, "a"), refs(2, "b")], "gold.jsonl")
    rows = saved(tmp_path, [row(1, "a"), row(2, "x"), row(1, "x"), row(1, "x", "a")])
    result, _ = competition(gold, rows)
    assert result.mean == {METRIC: (1 + 0 + 0 + 1 / 2) / 4}
    assert len(result.query_ids) == len(set(result.query_ids)) == 4


def test_an_eval_id_may_look_like_a_repeated_one(tmp_path: Path):
    """An eval_id '1#2' of its own does not clash with the second row of '1'."""
    gold = saved(tmp_path, [refs("1", "a"), refs("1#2", "b")], "gold.jsonl")
    rows = [row("1", "a"), row("1", "x"), row("1#2", "b")]
    assert competition(gold, saved(tmp_path, rows))[0][METRIC] == pytest.approx(2 / 3)
    assert competition(gold, saved(tmp_path, rows[::-1]))[0][METRIC] == pytest.approx(2 / 3)


def test_a_gold_query_without_a_row_is_left_out_and_reported(tmp_path: Path):
    """What has no row is not in the mean (an empty row would be), and is named."""
    gold = saved(tmp_path, [refs(1, "a"), refs(2, "b"), refs(3)], "gold.jsonl")
    result, left_out = competition(gold, saved(tmp_path, [row(1, "a")]))
    assert (result[METRIC], left_out) == (1.0, ["2", "3"])
    result, left_out = competition(gold, saved(tmp_path, [row(1, "a"), row(2)]))
    assert (result[METRIC], left_out) == (0.5, ["3"])


def test_evaluate_submission_is_the_whole_way(tmp_path: Path):
    """From two paths: a value for each row, and what has no row counted as missing."""
    gold = saved(tmp_path, [refs(1, "a"), refs(2, "b"), refs(3)], "gold.jsonl")
    rows = saved(tmp_path, [row(1, "x", "a"), row(1, "a")])
    result = evaluate_submission(gold, rows)
    assert result.mean == {METRIC: 0.75}
    assert result.counts["n_missing"] == 2


def test_a_missing_query_is_left_out_in_python_too():
    """Under the profile a query that is not in a run's mapping is counted, not averaged as 0."""
    result = evaluate({"1": by_id("a"), "2": by_id("b")}, {"1": by_id("a")}, profile="science-qa")
    assert result[METRIC] == 1.0
    assert result.counts["n_missing"] == 1


def test_a_row_without_gold_is_an_error(tmp_path: Path):
    """A row whose eval_id is unknown is refused with file, line and id."""
    gold = saved(tmp_path, [refs(1, "a")], "gold.jsonl")
    rows = saved(tmp_path, [row(1, "a"), row(9, "a")])
    with pytest.raises(DataError, match=r"file\.jsonl:2: eval_id '9' is not in the gold set"):
        competition(gold, rows)


def test_an_extra_query_is_an_error_in_python_too():
    """Under the profile a run's query that has no gold is refused, not passed over."""
    with pytest.raises(DataError, match="'9'"):
        evaluate({"1": by_id("a")}, {"1": by_id("a"), "9": by_id("a")}, profile="science-qa")


def test_abstaining_needs_an_answer():
    """Of queries without gold, only an empty answer scores 1: a failed one is 0 and counted."""
    gold = GoldDataset.from_documents({"silent": [], "failed": [], "talks": []})
    run = Run(
        {
            "silent": Retrieved(),
            "failed": Retrieved(error="no answer"),
            "talks": Run.from_documents({"q": by_id("x")})["q"],
        }
    )
    result = evaluate(gold, run, profile="science-qa")
    assert {key: values[METRIC] for key, values in result.queries.items()} == {
        "silent": 1.0,
        "failed": 0.0,
        "talks": 0.0,
    }
    assert result.counts["n_failed"] == 1


@pytest.mark.parametrize("cut", ["map@1", "map@3", "map"])
def test_abstention_looks_at_the_whole_list(cut: str):
    """A query without gold scores by whether the whole list is empty, at every cut-off."""
    gold: dict[str, Any] = {"silent": [], "talks": [], "gold": by_id("a")}
    run = {"silent": [], "talks": by_id("x", "y"), "gold": by_id("a")}
    result = evaluate(gold, run, profile="science-qa", metrics=[cut])
    assert result[cut] == pytest.approx(2 / 3)


# -- files -----------------------------------------------------------------------------------

GOLD = {"1": ["a", "b"], "2": [], "셋": ["c"]}
LINES = [refs("1", "a", "b"), refs("2"), refs("셋", "c")]


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.json", "gold.csv", "gold"])
@pytest.mark.parametrize(
    "content",
    [
        "\n".join(map(json.dumps, LINES)),
        "\ufeff" + "\r\n\r\n".join(map(json.dumps, LINES)) + "\r\n",
        json.dumps(GOLD),
        "\ufeff" + json.dumps(GOLD, indent=2, ensure_ascii=False),
    ],
    ids=["lines", "lines-bom-crlf", "object", "object-bom-indented"],
)
def test_gold_is_read_in_both_forms(tmp_path: Path, name: str, content: str):
    """Lines and one object give the same gold set, whatever the file's ending."""
    path = tmp_path / name
    path.write_bytes(content.encode())
    gold = read_gold(path)
    assert {query.id: [item.id for item in query.gold] for query in gold} == GOLD


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.txt", "rows"])
def test_a_submission_is_read_whatever_its_ending(tmp_path: Path, name: str):
    """A submission is JSON Lines, also as .csv, which is what the competition asks for."""
    gold = saved(tmp_path, LINES, "gold.jsonl")
    rows = saved(tmp_path, [row("1", "b"), row("2"), row("셋", "x", "c")], name)
    assert competition(gold, rows)[0][METRIC] == pytest.approx((1 + 1 + 1 / 2) / 3)


def test_whole_numbers_are_ids(tmp_path: Path):
    """The eval_id 7 and the id 12 are the same written as a number and as a string."""
    gold = saved(tmp_path, [refs(7, 12, "13"), refs("8", 14)], "gold.jsonl")
    rows = saved(tmp_path, [row("7", "x", 12), row(8, "14")])
    assert competition(gold, rows)[0][METRIC] == pytest.approx((1 / 2 + 1) / 2)


def test_gold_that_is_named_twice_is_one(tmp_path: Path):
    """An id that stands twice among the refs of a query is one gold item."""
    (query,) = read_gold(saved(tmp_path, [refs(1, "a", "a", "b")]))
    assert [item.id for item in query.gold] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no query"),
        ("{}", "holds no query"),
        ('{"eval_id": 1, "refs": ["a"]}\n{"eval_id": "1", "refs": ["b"]}', "'1' stands twice"),
        ('{"1": ["a"], "1": ["b"]}', "'1' stands twice"),
        ('{"eval_id": 1, "refs": ["a"]}\n{"eval_id": 2}', ":2: refs: missing"),
        ('{"eval_id": 1, "refs": "a"}', ":1: refs: must be a list of ids, not 'a'"),
        ('{"eval_id": 1, "refs": [null]}', ":1: refs[0]: the id is empty"),
        ('{"eval_id": 1, "refs": [1.5]}', ":1: refs[0]: an id must be"),
        ('{"eval_id": 1, "refs": []}\n{"refs": []}', ":2: eval_id: missing"),
        ('{"eval_id": true, "refs": []}', ":1: eval_id: an id must be"),
        ('{"eval_id": 1, "refs": []}\n{"eval_id": ', ":2: not valid JSON"),
        ('{"1": "a"}', ":1: 1: must be a list of ids"),
        ("[1]", ":1: an object is expected"),
    ],
)
def test_broken_gold_is_named(tmp_path: Path, content: str, message: str):
    """A broken line or value, a repeated eval_id and an empty file are errors that say where."""
    path = tmp_path / "dev-set.json"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError) as error:
        read_gold(path)
    assert "dev-set" in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file holds no row"),
        ('{"eval_id": 1}', ":1: topk: missing"),
        ('{"eval_id": 1, "topk": "a"}', ":1: topk: must be a list of ids, not 'a'"),
        ('{"eval_id": 1, "topk": [["a"]]}', ":1: topk[0]: an id must be"),
        ('{"eval_id": 1, "topk": []}\n{"topk": []}', ":2: eval_id: missing"),
        ('{"eval_id": 1, "topk": []}\nnothing', ":2: not valid JSON"),
    ],
)
def test_a_broken_submission_is_named(tmp_path: Path, content: str, message: str):
    """A broken line or value and an empty file are errors that begin with the file."""
    gold = saved(tmp_path, [refs(1, "a")], "gold.jsonl")
    path = tmp_path / "rows.csv"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError) as error:
        competition(gold, path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_the_result_records_the_profile():
    """Settings hold profile science-qa with everything it fixes, and no deviation."""
    result = evaluate({"q": by_id("a")}, {"q": by_id("a")}, profile="science-qa")
    recorded = result.settings["profile"]
    expected = {
        "name": "science-qa",
        "match": "id",
        "order": "list",
        "norm": "hits",
        "credit": "document",
        "duplicates": "count",
        "no_gold": "abstain",
        "missing": "left_out",
    }
    assert {name: recorded[name] for name in expected} == expected
    assert result.settings["deviations"] == {}

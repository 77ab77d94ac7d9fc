"""A printed evaluation: no mean without its interval, and the same as in a comparison."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from kragx import Evaluations, compare, evaluate
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.printing import as_markdown
from kragx.report.csv_files import means_csv
from tests.thoroughness import some

METRICS = ["hit_rate@1", "mrr@3", "precision@2", "redundancy@3", "seconds_mean", "seconds_p95"]
PATTERNS = {
    "hits": [["g"]],
    "misses": [["x"]],
    "second": [["x", "g"]],
    "mixed": [["g"], ["x", "g"], ["x"], ["g", "g2"], []],
}


def evaluation(pattern: str, n: int, name: str = "run") -> Evaluation:
    """N questions that are answered as a pattern says, over and over, some slower than others."""
    lists = PATTERNS[pattern]
    records = [
        {
            "query_id": f"q{i}",
            "gold": [{"text": "g"}],
            "retrieved": [{"text": text} for text in lists[i % len(lists)]],
            "seconds": 0.1 + 0.01 * (i % 7) ** 2,
        }
        for i in range(n)
    ]
    return replace(evaluate(records, match="exact", metrics=METRICS), name=name)


def cells(text: str) -> dict[str, list[str]]:
    """The cells of a printed table by the metric before them."""
    rows = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


@pytest.mark.parametrize("n", some([1, 2, 3, 30], 4))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_as_in_a_comparison(pattern: str, n: int):
    """Each interval, and each reason for none, is that which `compare` shows for the same run."""
    own = evaluation(pattern, n)
    comparison = compare([own])
    for metric, estimate in comparison.overall.means["run"].items():
        assert own.ends[metric] == estimate.ends
        assert own.intervals[metric] == (
            None if estimate.low is None else (estimate.low, estimate.high)
        )
        assert cells(str(own))[metric][1] == estimate.ends


def test_by_hand():
    """Thirty hits of thirty are Wilson's n / (n + z^2); a p95 has none; two of two cannot tell."""
    shown = cells(str(evaluation("hits", 30)))
    assert shown["hit_rate@1"][:2] == ["1.0000", "[0.8865, 1.0000]"]
    assert shown["redundancy@3"][1] == "[0.0000, 0.1135]"
    assert shown["seconds_p95"][1] == ""
    few = str(evaluation("hits", 2))
    assert cells(few)["hit_rate@1"][:2] == ["1.0000", "too few to tell"]
    assert "too few to tell: fewer than 3 queries have no interval" in few
    alike = str(evaluation("second", 30))
    assert cells(alike)["mrr@3"][:2] == ["0.5000", "all alike"]
    assert "all alike: the same for each query" in alike


def test_notebook_and_markdown():
    """What a notebook shows and Markdown hold the interval as the terminal does."""
    own = evaluation("mixed", 30)
    ends = own.ends["hit_rate@1"]
    assert ends.startswith("[0.")
    assert f"<td>{ends}</td>" in own._repr_html_()
    assert ends.replace("[", "\\[").replace("]", "\\]") in as_markdown(own.describe())


def test_side_by_side():
    """Several runs have each interval below its mean, and the note says what it is."""
    one, other = evaluation("mixed", 30, "one"), evaluation("hits", 30, "other")
    text = str(Evaluations.of([one, other]))
    lines = text.splitlines()
    line = next(number for number, line in enumerate(lines) if "│ hit_rate@1 " in line)
    assert [cell.strip() for cell in lines[line + 1].strip("│").split("│")] == [
        "",
        one.ends["hit_rate@1"],
        other.ends["hit_rate@1"],
    ]
    assert "with each mean its 95% interval" in text


def test_json_and_csv():
    """JSON has [low, high] or null for each metric; CSV two columns for each mean, or nothing."""
    own = evaluation("mixed", 30)
    plain = own.to_dict()["intervals"]
    assert list(plain) == list(own.mean)
    assert plain["hit_rate@1"] == list(own.intervals["hit_rate@1"] or ())
    assert plain["seconds_p95"] is None
    assert "intervals" not in own.to_dict(intervals=False)
    (row,) = csv.DictReader(io.StringIO(means_csv([own])))
    assert [float(row[f"hit_rate@1 {end}"]) for end in ("low", "high")] == plain["hit_rate@1"]
    assert "seconds_p95 low" not in row
    (row,) = csv.DictReader(io.StringIO(means_csv([evaluation("hits", 2)])))
    assert row["hit_rate@1 low"] == ""


def test_a_number_that_no_query_has_a_part_in():
    """K-RAG's F1 of mean precision and mean recall has no interval, and its MAP above 1 has one."""
    golds = [["a b", "c"], ["d"], ["e"], ["f"]]
    lists = [["a b", "x"], ["d", "d"], ["y"], ["f", "z"]]
    metrics = ["f1@2", "map@2"]
    with pytest.warns(UserWarning, match="above 1"):
        own = evaluate(golds, lists, match="text", metrics=metrics, profile="krag")
    f1, mean_ap = own.mean
    assert own.intervals[f1] is None
    assert own.ends[f1] == ""
    low, high = own.intervals[mean_ap] or (0, 0)
    assert low < (own[mean_ap] or 0) < high


def test_a_precision_that_no_list_can_reach():
    """Of lists of at most two documents precision@5 is .4 at most, and only there it is said."""
    metrics = ["precision@5", "precision@2", "precision@5(over=retrieved)", "recall@5", "precision"]
    short, long = [["g", "x"], ["x"]], [["g", "x"], ["x", "y", "z", "u", "v"]]
    first, second = (evaluate([["g"], ["g"]], found, metrics=metrics) for found in (short, long))
    (remark,) = first.remarks[1:]
    assert remark.startswith("precision@5: 0.4000 at most, as no list has more than 2 documents")
    assert second.remarks == first.remarks[:1]  # of short gold alone


def test_a_dash_is_said():
    """A metric that no question has what it takes for says so, beside its dash."""
    metrics = ["doc_type_coverage@5", "seconds_p95", "throughput"]
    result = evaluate([["a"], ["b"]], [["a"], []], match="exact", metrics=metrics)
    remarks = [f"{metric}: no value for 2 of 2 queries" for metric in metrics[:2]]
    assert [remark for remark in result.remarks if "no value" in remark] == remarks

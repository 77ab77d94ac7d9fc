"""Searches of files, in parts: one process, several, and tables of values give the same numbers."""

import json
import random

import pytest

from kragx import evaluate
from kragx.evaluation import parts as part
from kragx.evaluation.part_tables import evaluate_in_parts

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")
METRICS = [
    "ndcg@10",
    "recall@3(of=all)",
    "mrr@10(of=last)",
    "precision@5(of=read)",
    "recall@20tokens(of=all, order=chain)",
    "coverage(of=all)",
    "hit_rate(of=retrieved)",
    "evidence_recall@2",
    "first_search",
    "waste",
    "tokens_per_gold",
    "tokens_to_evidence",
]


def records(n, seed=0):
    """Questions of all kinds: searches alone, beside a list, a list alone, neither, failed."""
    draw = random.Random(seed)

    def doc():
        number = draw.randrange(40)
        text = " ".join(WORDS[number * step % len(WORDS)] for step in (3, 5, 7))
        return {"id": f"c{number}", "text": text}

    for number in range(n):
        record = {"query_id": f"q{number}", "query": "what?"}
        record["gold"] = [{"text": doc()["text"]} for _ in range(draw.randrange(3))]
        searches = []
        for place in range(draw.randrange(5)):
            search = {"query": f"s{place}", "seconds": draw.random(), "tokens": draw.randrange(50)}
            kind = draw.random()
            if kind < 0.8:
                search["retrieved"] = [doc() for _ in range(draw.randrange(4))]
            elif kind < 0.9:
                search["error"] = "Boom: no"
            if draw.random() < 0.3:
                search["read"] = ["nobody", f"c{draw.randrange(40)}"]
            searches.append(search)
        kind = draw.random()
        if kind < 0.7 or kind > 0.95:
            record["searches"] = searches
        if 0.5 < kind < 0.9:
            record["retrieved"] = [doc() for _ in range(4)]
        if kind > 0.95:
            record["error"] = "TimeoutError: no"
        yield record


def written(folder, n):
    """A results file."""
    path = folder / "results.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records(n)))
    return path


def test_tables_give_the_same_numbers(tmp_path, monkeypatch):
    """Scored part by part into tables all numbers are those of one go, and are read again."""
    monkeypatch.setattr(part, "PART_BYTES", 1 << 14)
    path, options = written(tmp_path, 90), {"match": "overlap", "metrics": METRICS}
    whole = evaluate(path, **options)
    in_parts = evaluate_in_parts(path, tmp_path / "out", **options)
    assert len(in_parts.tables) > 1
    assert whole.to_dict() == in_parts.evaluation.to_dict()
    again = evaluate_in_parts(path, tmp_path / "out", **options)
    assert again.n_kept == len(again.tables)
    assert whole.to_dict() == again.evaluation.to_dict()


@pytest.mark.integration
def test_several_processes_give_the_same_numbers(tmp_path, monkeypatch):
    """Values and counts of two processes are those of one, to the last bit."""
    monkeypatch.setattr(part, "PART_BYTES", 1 << 16)
    path, options = written(tmp_path, 600), {"match": "overlap", "metrics": METRICS}
    alone, together = (evaluate(path, workers=n, **options) for n in (None, 2))
    assert alone.to_dict(queries=True) == together.to_dict(queries=True)


def test_a_table_is_of_its_basis(tmp_path):
    """The same lines beside others, which change the basis, are computed anew."""
    lines = [json.dumps(record) for record in records(40)]
    with_lists = [line for line in lines if '"retrieved"' in line and '"searches"' not in line]
    options = {"match": "overlap", "metrics": ["recall@3", "mrr(of=all)"]}
    alone, mixed = tmp_path / "alone.jsonl", tmp_path / "mixed.jsonl"
    alone.write_text("\n".join(with_lists))
    mixed.write_text("\n".join([*with_lists, *(line for line in lines if line not in with_lists)]))
    evaluate_in_parts(alone, tmp_path / "out", **options)
    of_mixed = evaluate_in_parts(mixed, tmp_path / "out", **options)
    assert of_mixed.n_kept == 0
    assert of_mixed.evaluation.mean == evaluate(mixed, **options).mean


def test_what_nobody_says_that_they_read_is_not_known(tmp_path, monkeypatch):
    """Nor of who failed, is missing or did not search; with one question that says it, it is."""
    monkeypatch.setattr(part, "PART_BYTES", 1 << 14)
    rows = [json.loads(json.dumps(row)) for row in records(90)]
    for search in [search for row in rows for search in row.get("searches", ())]:
        search.pop("read", None)
    path = tmp_path / "results.jsonl"
    options = {"match": "text", "metrics": ["recall(of=read)", "precision@5(of=read)", "mrr"]}

    def evaluated():
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        whole = evaluate(path, **options)
        in_parts = evaluate_in_parts(path, tmp_path / "out", **options)
        assert whole.to_dict() == in_parts.evaluation.to_dict()
        assert len(in_parts.tables) > 1
        return whole.mean

    assert evaluated()["mrr"] > 0
    assert evaluated()["recall(of=read)"] is evaluated()["precision@5(of=read)"] is None
    last = next(row for row in reversed(rows) if row.get("searches") and "error" not in row)
    last["searches"][-1]["read"] = ["nobody"]
    assert evaluated()["recall(of=read)"] == 0.0

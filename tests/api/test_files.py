"""Results files compared: one list, and one way to know tokens, for all of them."""

from __future__ import annotations

import json

import pytest

from kragx import evaluate
from kragx.api.files import evaluate_files
from kragx.evaluation.criteria import Criteria

GOLD, NOISE = {"id": "gold", "text": "one two"}, {"id": "noise", "text": "three four five"}
MISSES = {"query": "a", "retrieved": [NOISE]}
FINDS = {"query": "b", "retrieved": [GOLD]}


def written(folder, name, **row):
    """A file in which the same is returned for two questions."""
    path = folder / f"{name}.jsonl"
    rows = [{"query_id": f"q{n}", "query": "?", "gold": [GOLD], **row} for n in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def results(*paths, metrics):
    """Evaluations of the files by their names."""
    found = evaluate_files(paths, Criteria.of(match="id", metrics=metrics))
    return {name: found[name] for name in found}


@pytest.mark.parametrize("is_first", [True, False])
def test_metrics_are_about_one_list_whichever_file_is_named_first(tmp_path, is_first):
    """One file lacks what it handed on, so that of all of them the first search is measured."""
    searches = [MISSES, FINDS]
    paths = [
        written(tmp_path, "both", searches=searches, retrieved=[GOLD]),
        written(tmp_path, "alone", searches=searches),
        written(tmp_path, "plain", retrieved=[GOLD]),
    ]
    found = results(*(paths if is_first else paths[::-1]), metrics=["recall@1"])
    assert [each.settings["searches"] for each in found.values()] == [{"basis": "first"}] * 3
    means = {name: each["recall@1"] for name, each in found.items()}
    assert means == {"both": 0, "alone": 0, "plain": 1}


def test_lists_and_agents_that_hand_on_a_list_are_measured_by_it(tmp_path):
    """Where every question has a list in the end, that is what is measured."""
    both = written(tmp_path, "both", searches=[MISSES, FINDS], retrieved=[GOLD])
    found = results(both, written(tmp_path, "plain", retrieved=[NOISE, GOLD]), metrics=["recall@1"])
    assert {name: each["recall@1"] for name, each in found.items()} == {
        "both": 1,
        "plain": 0,
    }


def test_tokens_are_counted_of_all_files_or_of_none(tmp_path):
    """Beside stated tokens nothing is counted: who states none has no value; else all count."""
    stated = [MISSES | {"tokens": 50}, FINDS | {"tokens": 70}]
    paths = [
        written(tmp_path, "plain", retrieved=[GOLD]),
        written(tmp_path, "stated", searches=stated, retrieved=[GOLD]),
        written(tmp_path, "silent", searches=[MISSES, FINDS], retrieved=[GOLD]),
    ]

    def tokens(*files):
        found = results(*files, metrics=["recall@1", "tokens_per_gold"])
        return {name: each["tokens_per_gold"] for name, each in found.items()}

    assert tokens(*paths) == {"plain": None, "stated": 120, "silent": None}
    assert tokens(paths[0], paths[2]) == {"plain": 2, "silent": 5}


def test_a_document_scores_alike_in_whichever_file_it_stands(tmp_path):
    """What words are known is gathered of all files, as of one gold set with several runs."""
    text = "The lease of {} ends on the first day of spring and is renewed by letter alone."
    gold, other = {"text": text.format("Harrow")}, {"text": text.format("Kendal")}
    more = [{"text": f"{place} has a Kendal in its name."} for place in ("Furness", "Down")]
    lists = {"one": [other], "two": [other, *more]}
    paths = [tmp_path / f"{name}.jsonl" for name in lists]
    for path in paths:
        row = {"query_id": "q1", "query": "?", "gold": [gold], "retrieved": lists[path.stem]}
        path.write_text(json.dumps(row))
    together = evaluate([[gold]], {name: [docs] for name, docs in lists.items()}, metrics="hits@1")
    found = evaluate_files(list(map(str, paths)), Criteria.of(metrics="hits@1"))
    assert [found[name].mean for name in lists] == [together[name].mean for name in lists]
    # Kendal, which the other file alone makes known, is no misreading here, either.
    assert [found["one"]["hits@1"], evaluate(paths[0], metrics="hits@1")["hits@1"]] == [0, 1]

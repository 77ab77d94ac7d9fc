"""What a result says of the profile it was made with: every field, every deviation, true names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from kragx import Evaluation, Evaluations, UsageError, evaluate
from kragx.ground.printing import show
from kragx.metrics import PROFILES
from tests.thoroughness import all_cases

from .support import by_id

COMMON = {
    "order": "list",
    "duplicates": "once",
    "over": "k",
    "norm": "m",
    "credit": "gold",
    "gain": "linear",
    "ideal": "gold",
    "need": "any",
    "rel": None,
    "no_gold": "skip",
    "missing": "empty",
    "macro": "queries",
}
FIXED: dict[str, dict[str, Any]] = {
    "kragx": COMMON | {"match": "overlap"},
    "trec": COMMON | {"match": "id", "order": "score", "duplicates": "error", "no_gold": "zero"},
    "krag": COMMON
    | {
        "match": "text",
        "duplicates": "count",
        "over": "retrieved",
        "credit": "document",
        "gain": "exp2",
        "ideal": "ones",
        "need": "all",
        "no_gold": "zero",
        "no_gold_hits": True,
        "macro": "means",
    },
    "science-qa": COMMON
    | {
        "match": "id",
        "duplicates": "count",
        "norm": "hits",
        "credit": "document",
        "no_gold": "abstain",
        "missing": "left_out",
    },
}
DOCS = [[{"id": "a", "text": "alpha beta gamma"}]]


def run(profile: str, **options: Any) -> Evaluation:
    """An evaluation in which everything is found."""
    return evaluate(DOCS, DOCS, profile=profile, **options)


def test_there_are_four_profiles():
    """The profiles are kragx, trec, krag and science-qa, and these tests know each."""
    assert set(PROFILES) == set(FIXED)


@pytest.mark.parametrize("name", FIXED)
def test_every_field_that_a_profile_fixes_is_recorded(name: str):
    """Settings list every field of the profile with its value, and no deviation, also as JSON."""
    result = run(name)
    plain = json.loads(json.dumps(result.to_dict()))["settings"]
    assert plain["profile"]["name"] == name
    assert {key: plain["profile"][key] for key in FIXED[name]} == FIXED[name]
    assert plain["deviations"] == {}


def test_rouge_under_profile_krag_is_recorded_as_what_it_is():
    """With scores for gains, as K-RAG's ROUGE class has them, the profile in the result says so."""
    result = run("krag", match={"method": "rouge1", "tokenizer": "whitespace"})
    recorded = result.settings["profile"]
    assert (recorded["gain"], recorded["ideal"]) == ("score", "retrieved")


@pytest.mark.parametrize(
    ("match", "name"),
    [("rouge1", "unicode"), ({"method": "rouge1", "tokenizer": "whitespace"}, "whitespace")],
)
def test_the_tokenizer_is_recorded(match: Any, name: str):
    """The tokenizer of a ROUGE match, named or not, is in the result with its version."""
    tokenizer = run("kragx", match=match).settings["match"]["tokenizer"]
    assert tokenizer["name"] == name
    assert tokenizer["version"]


@all_cases(
    ("profile", "metric", "printed"),
    [
        ("kragx", "map@10", "map@10"),
        ("kragx", "precision@10", "precision@10"),
        ("trec", "map", "map"),
        ("trec", "f1@5(over=retrieved)", "f1@5(over=retrieved)"),
        ("krag", "hit_rate@10", "hit_rate@10(need=all)"),
        ("krag", "mrr@10", "mrr@10"),
        ("krag", "recall@10", "recall@10"),
        ("krag", "precision@10", "precision@10(over=retrieved)"),
        ("krag", "f1@10", "f1@10(over=retrieved, macro=means)"),
        ("krag", "map@10", "map@10(credit=document)"),
        ("krag", "ndcg@10", "ndcg@10(gain=exp2, ideal=ones)"),
        ("krag", "precision@10(over=k)", "precision@10"),
        ("science-qa", "map@3", "map@3(norm=hits, credit=document)"),
    ],
)
def test_a_metric_is_printed_as_what_it_is(profile: str, metric: str, printed: str):
    """The canonical name says all that differs from kragx's own meaning, whatever the profile."""
    result = run(profile, metrics=[metric])
    assert list(result.mean) == result.settings["metrics"] == [printed]
    assert result[metric] == result[printed] == result.mean[printed]


@pytest.mark.parametrize("name", FIXED)
def test_several_results_are_printed_side_by_side(name: str):
    """A comparison under any profile prints every metric by its canonical name."""
    results = [
        replace(evaluate(DOCS, docs, profile=name), name=label)
        for label, docs in (("good", DOCS), ("bad", [[{"id": "b", "text": "delta epsilon"}]]))
    ]
    out = Console(width=200, record=True, quiet=False)
    with out.capture() as captured:
        show(Evaluations.of(results).describe(), out)
    for metric in results[0].mean:
        assert f" {metric} " in captured.get()


@all_cases(
    ("profile", "options", "deviations"),
    [
        ("kragx", {"metrics": ["ndcg@5"]}, {}),
        ("kragx", {"no_gold": "skip"}, {}),
        ("kragx", {"no_gold": "zero"}, {"no_gold": "zero"}),
        (
            "kragx",
            {"metrics": ["ndcg@5(gain=exp2)", "mrr@5"]},
            {"ndcg@5(gain=exp2)": {"gain": "exp2"}},
        ),
        (
            "kragx",
            {"metrics": ["precision@5(over=retrieved, rel=2)"]},
            {"precision@5(over=retrieved, rel=2)": {"over": "retrieved", "rel": 2.0}},
        ),
        ("krag", {"metrics": ["precision@5(over=retrieved)"]}, {}),
        ("krag", {"metrics": ["precision@5(over=k)"]}, {"precision@5": {"over": "k"}}),
        (
            "krag",
            {"metrics": ["hit_rate@5(need=any)"], "no_gold": "skip"},
            {"hit_rate@5": {"need": "any"}, "no_gold": "skip"},
        ),
        (
            "trec",
            {"metrics": ["map(norm=cut)", "map"]},
            {"map(norm=cut)": {"norm": "cut"}},
        ),
    ],
)
def test_every_deviation_is_recorded(
    profile: str, options: Mapping[str, Any], deviations: Mapping[str, Any]
):
    """What a call changes of its profile stands under deviations, and nothing else does."""
    assert run(profile, **options).settings["deviations"] == deviations


@all_cases("name", FIXED)
@all_cases("match", ["id", {"method": "rouge1", "tokenizer": "whitespace"}])
def test_other_metrics_record_the_same_deviations(name: str, match: Any):
    """`with_metrics` records what `evaluate` with these metrics would have recorded."""
    metrics = ["ndcg@3", "map@3(norm=cut)", "f1@2"]
    direct = run(name, match=match, metrics=metrics, no_gold="zero")
    later = run(name, match=match, metrics=["mrr"], no_gold="zero").with_metrics(metrics)
    assert later.settings == direct.settings
    assert later.mean == direct.mean


def test_a_profile_of_ones_own_is_recorded_as_it_is():
    """A `Profile` value works as a name does, also for further metrics, and is recorded whole."""
    own = replace(PROFILES["kragx"], name="ours", norm="cut", no_gold="zero")
    gold, docs = {"1": by_id(*"abc"), "2": []}, {"1": by_id("a"), "2": by_id("a")}
    result = evaluate(gold, docs, profile=own, match="id", metrics=["map@1"])
    assert result.mean == {"map@1(norm=cut)": 0.5}
    assert result.settings["profile"]["name"] == "ours"
    assert result.settings["deviations"] == {}
    assert result.with_metrics(["mrr@1"]).mean == {"mrr@1": 0.5}


def test_an_unknown_profile_is_named_with_the_nearest():
    """A profile that does not exist is a UsageError that names the nearest one."""
    with pytest.raises(UsageError, match=r"profile: unknown name 'science_qa'.*'science-qa'"):
        run("science_qa")
    with pytest.raises(UsageError, match=r"no_gold: unknown value 'skipp'.*'skip'"):
        run("kragx", no_gold="skipp")


@pytest.mark.parametrize(
    "metric", ["map@3(credit=document)", "ndcg(ideal=ones)", "f1(macro=means)"]
)
def test_what_only_profiles_set_cannot_be_asked_for(metric: str):
    """The options that reproduce other tools are no options of a metric string."""
    with pytest.raises(UsageError, match="has no option"):
        run("kragx", metrics=[metric])

"""Profile krag against recorded outputs of the real K-RAG 0.0.32 (see record_krag.py)."""

from __future__ import annotations

import ast
import json
import re
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from kragx import DataError, KragxError, UsageError
from kragx.adapters.krag.evaluators import (
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
)
from kragx.data.tokenizers import KragTokenizer
from kragx.matchers import MatchWarning
from kragx.metrics import MetricWarning
from tests.evaluation.profiles.support import TINY, StoredTokens
from tests.thoroughness import all_cases, some_cases

RECORDED = json.loads(Path(__file__).with_name("krag_goldens.json").read_text("utf-8"))
TEXTS: list[str] = RECORDED["texts"]
CASES: list[dict[str, Any]] = RECORDED["cases"]
TOKENS: dict[str, dict[str, list[str]]] = {
    name: {TEXTS[int(position)]: tokens for position, tokens in stored.items()}
    for name, stored in RECORDED["tokens"].items()
}
METHODS = {
    "hit_rate": "calculate_hit_rate",
    "mrr": "calculate_mrr",
    "recall": "calculate_recall",
    "precision": "calculate_precision",
    "f1": "calculate_f1_score",
    "map": "calculate_map",
    "ndcg": "calculate_ndcg",
}

# A text of one token has no bigram: kragx says so, K-RAG does not.
pytestmark = pytest.mark.filterwarnings("ignore::kragx.matchers.items.MatchWarning")
above_one = pytest.mark.filterwarnings("ignore::kragx.metrics.engine.MetricWarning")

evaluators = pytest.mark.parametrize(
    "kind", [OfflineRetrievalEvaluators, RougeOfflineRetrievalEvaluators]
)


def texts(positions: list[list[int]]) -> list[list[str]]:
    """The lists of texts that a record's positions stand for."""
    return [[TEXTS[position] for position in of_query] for of_query in positions]


def evaluator(case: dict[str, Any], **changed: Any) -> OfflineRetrievalEvaluators:
    """The kragx evaluator of a recorded case."""
    documents = texts(case["actual"]), texts(case["predicted"])
    options: dict[str, Any] = {
        "match_method": case["match_method"],
        "averaging_method": case["averaging"],
        "matching_criteria": case["criteria"],
        "profile": "krag",
    }
    if case["class"] == "text":
        return OfflineRetrievalEvaluators(*documents, **options | changed)
    options |= {
        "threshold": case["threshold"],
        "tokenizer": StoredTokens(TOKENS[case["tokenizer"]]),
    }
    return RougeOfflineRetrievalEvaluators(*documents, **options | changed)


def check(case: dict[str, Any], evaluators: OfflineRetrievalEvaluators) -> None:
    """Compare every metric at every k with what was recorded, all k in one call and one k alone."""
    by_metric: dict[str, dict[int | None, Any]] = {}
    for cut, metrics in case["results"].items():
        for metric, recorded in metrics.items():
            by_metric.setdefault(metric, {})[None if cut == "none" else int(cut)] = recorded
    for number, (metric, recorded) in enumerate(by_metric.items()):
        calculate = getattr(evaluators, METHODS[metric])
        crashed = [k for k, values in recorded.items() if "error" in values]
        for k in crashed:
            with pytest.raises(DataError):
                calculate(k)
        ks = [k for k in recorded if k not in crashed]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values_at = calculate(ks)
        assert list(values_at) == ks, metric
        warned = {
            str(warning.message).partition("(")[0].partition(" ")[0]
            for warning in caught
            if issubclass(warning.category, MetricWarning)
        }
        for k in ks:
            where = f"{metric}@{k}"
            assert list(values_at[k]) == list(recorded[k]), where
            for name, value in recorded[k].items():
                assert abs(values_at[k][name] - value) <= TINY, f"{where} {name}"
            spec = metric if k is None else where
            if any(value > 1 + TINY for value in recorded[k].values()):
                assert spec in warned, f"{where} is above 1 without a word"
            if metric not in ("map", "ndcg"):
                assert not warned, f"{where} cannot be above 1"
        if ks:
            alone = ks[number % len(ks)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MetricWarning)
                assert calculate(alone) == pytest.approx(values_at[alone], rel=0, abs=TINY)


@some_cases("case", CASES, 14)
def test_every_number_is_that_of_krag(case: dict[str, Any]):
    """Keys and values are K-RAG's within 1e-12; where K-RAG crashed there is a DataError; a mean
    above 1 comes with a MetricWarning.
    """
    check(case, evaluator(case))


def test_the_recording_covers_what_it_should():
    """The recorded cases hold both classes, every setting, crashes, values above 1 and no f1."""
    seen = {field: {case[field] for case in CASES} for field in ("class", "averaging", "criteria")}
    assert seen == {
        "class": {"text", "rouge"},
        "averaging": {"micro", "macro", "both"},
        "criteria": {"all", "partial"},
    }
    rouge = {(case["match_method"], case["tokenizer"]) for case in CASES if case["tokenizer"]}
    assert len(rouge) == 6
    answers = [
        (metric, answer)
        for case in CASES
        for metrics in case["results"].values()
        for metric, answer in metrics.items()
    ]
    assert len(answers) > 30_000
    assert sum("error" in answer for _, answer in answers) > 200
    assert sum(answer["map"] > 1 for metric, answer in answers if metric == "map") > 500
    assert sum(not answer for metric, answer in answers if metric == "f1") > 100


@above_one
def test_the_text_class_ignores_its_match_method():
    """Under profile krag the text class looks for the gold text, whatever match_method says."""
    case = next(case for case in CASES if case["name"].startswith("hand/lengths_differ:text"))
    made = evaluator(case, match_method="rouge1")
    check(case, made)
    assert made.evaluation.settings["match"]["method"] == "text"


REPORTS = RECORDED["reports"]


@pytest.mark.parametrize(
    "report", REPORTS, ids=[f"{each['name']}-{each['averaging']}-{each['k']}" for each in REPORTS]
)
@above_one
def test_the_printed_summary_is_that_of_krag(report: dict[str, Any]):
    """get_metrics_by_averaging_method prints K-RAG's lines: labels, k, keys, and equal numbers."""
    made = evaluator(report | {"class": "text", "match_method": "text"})
    found = _lines(made.get_metrics_by_averaging_method(report["k"]))
    recorded = _lines(report["text"])
    assert [label for label, _ in found] == [label for label, _ in recorded]
    for (label, values), (_, expected) in zip(found, recorded, strict=True):
        assert list(values) == list(expected), label
        assert values == pytest.approx(expected, rel=0, abs=TINY), label


def _lines(report: str) -> list[tuple[str, dict[str, float]]]:
    parsed = [re.fullmatch(r"(.+ @\w+): (\{.*\})", line) for line in report.split("\n")]
    assert len(parsed) == 7
    assert all(parsed)
    return [(line[1], ast.literal_eval(line[2])) for line in parsed if line]


REFUSED = RECORDED["constructor_errors"]


@all_cases("record", REFUSED)
def test_what_krag_refuses_is_a_typed_error(record: dict[str, Any]):
    """Empty lists and lists of different lengths are an error of kragx's own, and a ValueError."""
    assert record["error"].startswith("ValueError")
    rouge = record["class"] == "rouge"
    kind = RougeOfflineRetrievalEvaluators if rouge else OfflineRetrievalEvaluators
    options = {"tokenizer": "whitespace"} if rouge else {}
    with pytest.raises(KragxError) as error:
        kind(
            texts(record["actual"]), texts(record["predicted"]), profile="krag", **options
        ).calculate_mrr()
    assert isinstance(error.value, ValueError)


@evaluators
@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("method", [*METHODS.values(), "evaluate_all"])
def test_a_k_below_1_is_an_error(kind: type[OfflineRetrievalEvaluators], method: str, k: int):
    """A k of 0 or less, by which K-RAG cuts lists in odd ways, is a UsageError that shows it."""
    options = {"tokenizer": "whitespace"} if kind is RougeOfflineRetrievalEvaluators else {}
    made = kind([["gold"]], [["gold", "other"]], profile="krag", **options)
    with pytest.raises(UsageError, match=f"k must be a whole number .*not '{k}'"):
        getattr(made, method)(k)


def test_ndcg_of_a_query_without_gold_says_what_to_do():
    """Where K-RAG's ROUGE nDCG crashes, the error names the query and a way out."""
    made = RougeOfflineRetrievalEvaluators(
        [["a b"], []], [["a b"], ["a c"]], tokenizer="whitespace", profile="krag"
    )
    with pytest.raises(DataError, match=r"query '\w+': no gold.*profile 'kragx'"):
        made.calculate_ndcg(1)
    assert made.calculate_mrr(1) == {"mrr": 0.5}


def test_whitespace_forms_give_the_recorded_tokens():
    """KragTokenizer('whitespace') counts exactly the tokens that K-RAG counted."""
    stored = TOKENS["whitespace"]
    assert len(stored) > 200
    assert list(KragTokenizer("whitespace").tokens(stored)) == list(stored.values())


def test_kiwi_forms_give_the_recorded_tokens():
    """KragTokenizer('kiwi') counts exactly the tokens that K-RAG counted with the same Kiwi."""
    for package in ("kiwipiepy", "kiwipiepy_model"):
        pytest.importorskip(package)
        recorded, installed = RECORDED["versions"][package], version(package)
        if installed != recorded:
            pytest.skip(f"recorded with {package} {recorded}, and {installed} is installed")
    stored = TOKENS["kiwi"]
    assert list(KragTokenizer("kiwi").tokens(stored)) == list(stored.values())


@pytest.mark.integration
def test_kiwi_forms_are_treated_as_krag_treats_them():
    """With any Kiwi: forms joined by spaces, lower-cased, split, stemmed if longer than 3."""
    kiwi = pytest.importorskip("kiwipiepy").Kiwi()
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer().stem
    expected = [
        [
            stem(word) if len(word) > 3 else word
            for word in re.split(r"\s+", " ".join(token.form for token in tokens).lower())
        ]
        for tokens in map(kiwi.tokenize, TEXTS)
    ]
    found = list(KragTokenizer("kiwi").tokens(TEXTS))
    assert found == expected
    assert [""] in found
    words = {word for tokens in found for word in tokens}
    assert words >= {"환불", "parcel", "deliveri"}


@pytest.mark.integration
def test_kiwi_is_what_the_rouge_class_uses():
    """Without a tokenizer, profile krag reads texts with K-RAG's own: Kiwi forms, recorded so."""
    pytest.importorskip("kiwipiepy")
    made = RougeOfflineRetrievalEvaluators(
        [["환불은 사흘 안에 됩니다"]], [["환불이 사흘 안에 된다"]], threshold=0.6, profile="krag"
    )
    assert made.calculate_recall(1) == {"micro_recall": 1.0, "macro_recall": 1.0}
    tokenizer = made.evaluation.settings["match"]["tokenizer"]
    assert (tokenizer["name"], tokenizer["forms"]) == ("krag", "kiwi")
    assert version("kiwipiepy") in tokenizer["version"]
    plain = RougeOfflineRetrievalEvaluators(
        made.actual_docs, made.predicted_docs, threshold=0.6, tokenizer="whitespace", profile="krag"
    )
    assert plain.calculate_recall(1) == {"micro_recall": 0.0, "macro_recall": 0.0}


def test_a_text_of_one_token_is_warned_about():
    """What K-RAG scores 0 without a word, a text too short for a bigram, is a MatchWarning."""
    with pytest.warns(MatchWarning, match="gold that can match nothing by 'rouge2' in 1 question"):
        made = RougeOfflineRetrievalEvaluators(
            [["refund"]], [["refund"]], "rouge2", tokenizer="whitespace", profile="krag"
        ).calculate_mrr()
    assert made == {"mrr": 0.0}

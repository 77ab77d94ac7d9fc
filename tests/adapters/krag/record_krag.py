"""Record what the evaluators of the real K-RAG 0.0.32 return, into krag_goldens.json.

    python3.11 -m venv krag-env && krag-env/bin/pip install krag==0.0.32 nltk
    MPLBACKEND=Agg krag-env/bin/python tests/adapters/krag/record_krag.py

K-RAG stays out of kragx's own environment: it pins an old LangChain, numpy and Kiwi. No path, host
or date goes into the output, so that two recordings with the same versions are the same bytes.
"""

from __future__ import annotations

import itertools
import json
import platform
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import krag.evaluators as krag
from krag.document import KragDocument
from krag_inputs import KO, Input, Lists, hand_inputs, random_inputs

GOLDENS = Path(__file__).with_name("krag_goldens.json")

KS = (1, 2, 3, 5, 10, None)
METRICS = {
    "hit_rate": "calculate_hit_rate",
    "mrr": "calculate_mrr",
    "recall": "calculate_recall",
    "precision": "calculate_precision",
    "f1": "calculate_f1_score",
    "map": "calculate_map",
    "ndcg": "calculate_ndcg",
}
AVERAGING = {each.value: each for each in krag.AveragingMethod}
CRITERIA = {each.value: each for each in krag.MatchingCriteria}
TOKENIZERS = {
    "kiwi": krag.TokenizerType.KIWI,
    "whitespace": krag.TokenizerType.WHITESPACE,
}
METHODS = ("rouge1", "rouge2", "rougeL")
THRESHOLDS = (0.3, 0.5, 0.8)
PACKAGES = (
    "krag",
    "kiwipiepy",
    "kiwipiepy_model",
    "korouge-score",
    "nltk",
    "numpy",
    "scikit-learn",
    "langchain-core",
)

Setting = tuple[str, str, str | None, float | None, str, str]
"""Class (text or rouge), match method, tokenizer, threshold, averaging method, criteria."""

# K-RAG loads a Kiwi model for each evaluator, and keeps every one of them in a cache. One is handed
# to all instead; `check_own_kiwi` shows that this changes nothing.
REAL_KIWI = krag.Kiwi
SHARED_KIWI = REAL_KIWI()


def evaluator(actual: Lists, predicted: Lists, setting: Setting) -> Any:
    """One of K-RAG's evaluators."""
    kind, method, tokenizer, threshold, averaging, criteria = setting
    documents = (
        [[KragDocument(page_content=text) for text in texts] for texts in lists]
        for lists in (actual, predicted)
    )
    options: dict[str, Any] = {
        "match_method": method,
        "averaging_method": AVERAGING[averaging],
        "matching_criteria": CRITERIA[criteria],
    }
    if kind == "text":
        return krag.OfflineRetrievalEvaluators(*documents, **options)
    options |= {"threshold": threshold, "tokenizer": TOKENIZERS[tokenizer or "kiwi"]}
    return krag.RougeOfflineRetrievalEvaluators(*documents, **options)


def answer(function: Callable[..., dict[str, float]], *args: Any) -> dict[str, Any]:
    """What a metric returns, or the error that it ends in."""
    try:
        found = function(*args)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    assert all(type(value) in (int, float) for value in found.values())
    return dict(found)


def measured(
    actual: Lists, predicted: Lists, setting: Setting, ks: Iterable[int | None] = KS
) -> dict[str, Any]:
    """Every metric at every k; a new evaluator and empty caches for each, so nothing is stale."""
    results = {}
    for k in ks:
        krag.OfflineRetrievalEvaluators.text_match.cache_clear()
        krag.RougeOfflineRetrievalEvaluators.text_match.cache_clear()
        made = evaluator(actual, predicted, setting)
        results["none" if k is None else str(k)] = {
            metric: answer(getattr(made, method), k) for metric, method in METRICS.items()
        }
    return results


class Texts:
    """Every distinct text once; the records hold their positions."""

    def __init__(self) -> None:
        self.position: dict[str, int] = {}

    def listed(self, lists: Lists) -> list[list[int]]:
        """The positions of some texts."""
        return [
            [self.position.setdefault(text, len(self.position)) for text in texts]
            for texts in lists
        ]


def settings_of(inputs: list[Input]) -> Iterator[tuple[str, Setting]]:
    """Which inputs are measured with which settings."""
    # Every input: the text class twice; the rouge class with each method and tokenizer, threshold,
    # averaging and criteria changing.
    rng = random.Random(2048)
    averaging = itertools.cycle(["both", "micro", "both", "macro", "both"])
    for number, (name, *_) in enumerate(inputs):
        first, second = ("all", "partial") if number % 2 else ("partial", "all")
        yield name, ("text", "text", None, None, "both", first)
        yield name, ("text", "text", None, None, next(averaging), second)
        for method, tokenizer in itertools.product(METHODS, TOKENIZERS):
            if "at_threshold" in name:
                endings = {"30": 0.3, "50": 0.5, "80": 0.8}
                threshold = (
                    0.8
                    if "bigrams" in name and method != "rouge2"
                    else endings.get(name[-2:], rng.choice(THRESHOLDS))
                )
            else:
                threshold = rng.choice(THRESHOLDS)
            chosen = next(averaging), rng.choice(["all", "partial"])
            yield name, ("rouge", method, tokenizer, threshold, *chosen)
    for threshold, tokenizer in itertools.product((0.5, 0.8), TOKENIZERS):
        chosen = ("rouge", "rouge2", tokenizer, threshold, "both", "partial")
        yield "hand/at_threshold_bigrams", chosen
    # Two inputs with every combination of what else there is to choose.
    lively, short = "hand/lengths_differ", "hand/chunk_shorter_than_gold"
    for averages, criteria in itertools.product(AVERAGING, CRITERIA):
        yield lively, ("text", "text", None, None, averages, criteria)
    for method, tokenizer, threshold, criteria in itertools.product(
        METHODS, TOKENIZERS, THRESHOLDS, CRITERIA
    ):
        yield short, ("rouge", method, tokenizer, threshold, "both", criteria)
    for averages, criteria in itertools.product(AVERAGING, CRITERIA):
        yield lively, ("rouge", "rouge1", "whitespace", 0.5, averages, criteria)


def label(setting: Setting) -> str:
    """A setting as the end of a case's name."""
    kind, method, tokenizer, threshold, averaging, criteria = setting
    middle = [method, str(tokenizer), str(threshold)] if kind == "rouge" else []
    return "/".join([kind, *middle, averaging, criteria])


def recorded_cases(inputs: list[Input], texts: Texts) -> list[dict[str, Any]]:
    """A record for each input and setting."""
    by_name = {name: (actual, predicted) for name, actual, predicted in inputs}
    fields = ("class", "match_method", "tokenizer", "threshold", "averaging", "criteria")
    return [
        {
            "name": f"{name}:{label(setting)}",
            **dict(zip(fields, setting)),
            "actual": texts.listed(by_name[name][0]),
            "predicted": texts.listed(by_name[name][1]),
            "results": measured(*by_name[name], setting),
        }
        for name, setting in dict.fromkeys(settings_of(inputs))
    ]


def recorded_reports(inputs: list[Input], texts: Texts) -> list[dict[str, Any]]:
    """The printed summary of the text class."""
    by_name = {name: (actual, predicted) for name, actual, predicted in inputs}
    names = (
        "hand/lengths_differ",
        "hand/nothing_matched_disjoint",
        "hand/three_chunks_contain_one_gold",
    )
    reports = []
    for name, averaging, k in itertools.product(names, AVERAGING, (2, None)):
        actual, predicted = by_name[name]
        made = evaluator(actual, predicted, ("text", "text", None, None, averaging, "all"))
        reports.append(
            {
                "name": name,
                "averaging": averaging,
                "criteria": "all",
                "k": k,
                "actual": texts.listed(actual),
                "predicted": texts.listed(predicted),
                "text": made.get_metrics_by_averaging_method(k),
            }
        )
    return reports


def recorded_constructor_errors(texts: Texts) -> list[dict[str, Any]]:
    """What the classes refuse to be made with."""
    inputs: tuple[Input, ...] = (
        ("no_queries", [], []),
        ("no_actual", [], [[KO[0]]]),
        ("no_predicted", [[KO[0]]], []),
        ("lengths", [[KO[0]], [KO[1]]], [[KO[0]]]),
    )
    settings: tuple[Setting, ...] = (
        ("text", "text", None, None, "both", "all"),
        ("rouge", "rouge1", "whitespace", 0.5, "both", "all"),
    )
    errors = []
    for (name, actual, predicted), setting in itertools.product(inputs, settings):
        try:
            evaluator(actual, predicted, setting)
            error = None
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        errors.append(
            {
                "name": name,
                "class": setting[0],
                "actual": texts.listed(actual),
                "predicted": texts.listed(predicted),
                "error": error,
            }
        )
    return errors


def recorded_tokens(cases: list[dict[str, Any]], texts: list[str]) -> dict[str, Any]:
    """What the ROUGE counting sees of each text that a rouge case holds, by tokenizer."""
    used = sorted(
        {
            position
            for case in cases
            if case["class"] == "rouge"
            for positions in (*case["actual"], *case["predicted"])
            for position in positions
        }
    )
    tokens = {}
    for name in TOKENIZERS:
        made = evaluator([[KO[0]]], [[KO[0]]], ("rouge", "rouge1", name, 0.5, "both", "all"))
        forms, count = made.tokenizer.tokenize_fn, made.scorer._tokenizer.tokenize
        tokens[name] = {str(position): count(forms(texts[position])) for position in used}
    return tokens


def check_own_kiwi(cases: list[dict[str, Any]], texts: list[str]) -> None:
    """An evaluator with a Kiwi of its own returns the same as with the shared one."""
    krag.Kiwi = REAL_KIWI
    picked = [case for case in cases if case["tokenizer"] == "kiwi"][::60]
    for case in picked:
        actual, predicted = (
            [[texts[position] for position in positions] for positions in case[side]]
            for side in ("actual", "predicted")
        )
        fields = ("class", "match_method", "tokenizer", "threshold", "averaging", "criteria")
        again = measured(actual, predicted, tuple(case[field] for field in fields), [3])
        assert again["3"] == case["results"]["3"], case["name"]


def write(data: dict[str, Any], path: Path) -> None:
    """One line for each text and record, so that a change shows in a diff."""

    def compact(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join(map(compact, value))
            parts.append(f"{compact(key)}:[\n{lines}\n]")
        else:
            parts.append(f"{compact(key)}:{compact(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8", newline="\n")


def main(path: Path) -> None:
    """Record everything."""
    krag.Kiwi = lambda: SHARED_KIWI
    inputs = hand_inputs() + random_inputs()
    numbered = Texts()
    cases = recorded_cases(inputs, numbered)
    reports = recorded_reports(inputs, numbered)
    errors = recorded_constructor_errors(numbered)
    texts = list(numbered.position)
    data = {
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "texts": texts,
        "tokens": recorded_tokens(cases, texts),
        "cases": cases,
        "reports": reports,
        "constructor_errors": errors,
    }
    check_own_kiwi(cases, texts)
    write(data, path)
    kinds = dict(Counter(case["class"] for case in cases))
    print(f"{len(inputs)} inputs, {kinds} cases, {len(texts)} texts", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDENS)

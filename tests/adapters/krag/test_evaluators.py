"""K-RAG's evaluators as kragx has them: shapes, options, what is recorded, what is refused."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from kragx import DataError, UsageError, evaluate
from kragx.adapters.krag import evaluators, rag_evaluator
from kragx.adapters.krag.evaluators import (
    AveragingMethod,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
    TokenizerType,
)
from kragx.adapters.krag.rag_evaluator import RAGEvaluator
from kragx.document import KragDocument
from kragx.judging import Judge
from kragx.testing import ScriptedClient
from tests.evaluation.profiles.support import TINY, Words
from tests.thoroughness import all_cases

GOLD = [["alpha", "beta"], ["gamma"]]
DOCS = [["alpha one", "nothing", "beta two"], ["nothing", "gamma three"]]

SHAPE = {
    "hit_rate": ["hit_rate"],
    "mrr": ["mrr"],
    "recall": ["micro_recall", "macro_recall"],
    "precision": ["micro_precision", "macro_precision"],
    "f1_score": ["micro_f1", "macro_f1"],
    "map": ["map"],
    "ndcg": ["ndcg"],
}

profiles = pytest.mark.parametrize("profile", ["kragx", "krag"])


def shape(metrics: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """The keys of a result, in order."""
    assert all(isinstance(value, float) for values in metrics.values() for value in values.values())
    return {metric: list(values) for metric, values in metrics.items()}


# -- shapes ----------------------------------------------------------------------------------


@profiles
@pytest.mark.parametrize("k", [2, None])
def test_one_k_gives_the_metrics(profile: str, k: int | None):
    """evaluate_all of one k, or None for whole lists, is a dictionary of seven dictionaries."""
    values = RAGEvaluator(profile=profile).evaluate_all(GOLD, DOCS, k=k)
    assert shape(values) == SHAPE


@profiles
@pytest.mark.parametrize("ks", [[1, 3], (1, 3), range(1, 4, 2), [3, None]])
def test_several_k_give_a_dictionary_by_k(profile: str, ks: Any):
    """evaluate_all of several k has each k's result under that k, None among them."""
    evaluator = RAGEvaluator(profile=profile)
    values = evaluator.evaluate_all(GOLD, DOCS, k=ks)
    assert list(values) == list(ks)
    for k in ks:
        assert values[k] == evaluator.evaluate_all(GOLD, DOCS, k=k)


def test_k_is_10_unless_told_otherwise():
    """evaluate_all without a k cuts at 10."""
    docs = [[f"nothing {number}" for number in range(10)] + ["alpha"]]
    assert RAGEvaluator().evaluate_all([["alpha"]], docs)["mrr"] == {"mrr": 0.0}
    assert RAGEvaluator().evaluate_all([["alpha"]], docs, k=11)["mrr"] == {"mrr": 1 / 11}


@profiles
def test_single_metrics_are_those_of_evaluate_all(profile: str):
    """Each calculate_ method returns its part of evaluate_all, for one k, several and None."""
    evaluator = OfflineRetrievalEvaluators(GOLD, DOCS, profile=profile)
    for k in (1, None):
        everything = evaluator.evaluate_all(k)
        for metric, values in everything.items():
            assert getattr(evaluator, f"calculate_{metric}")(k) == values
    assert evaluator.calculate_map([1, 2]) == {k: evaluator.calculate_map(k) for k in (1, 2)}


def test_the_numbers_are_those_of_the_design():
    """Two golds at 1 and 3, one at 2: hits need all, precision divides by what was retrieved."""
    values = RAGEvaluator().evaluate_all(GOLD, DOCS, k=2)
    assert values == {
        "hit_rate": {"hit_rate": 0.5},
        "mrr": {"mrr": 0.75},
        "recall": {"micro_recall": pytest.approx(2 / 3), "macro_recall": 0.75},
        "precision": {"micro_precision": 0.5, "macro_precision": 0.5},
        "f1_score": {
            "micro_f1": pytest.approx(4 / 7),
            "macro_f1": pytest.approx((1 / 2 + 2 / 3) / 2),
        },
        "map": {"map": 0.5},
        "ndcg": {"ndcg": pytest.approx((1 / 1.6309297535714575 + 0.6309297535714575) / 2)},
    }


def test_nothing_found_keeps_every_key():
    """Under profile kragx every key is there with a 0; under krag f1 has none, as in K-RAG."""
    assert shape(RAGEvaluator().evaluate_all([["alpha"]], [["x"]])) == SHAPE
    krag = RAGEvaluator(profile="krag").evaluate_all([["alpha"]], [["x"]])
    assert shape(krag) == SHAPE | {"f1_score": []}


@profiles
@pytest.mark.parametrize("method", [*AveragingMethod, "micro", "macro", "both", "MACRO"])
def test_the_averaging_method_chooses_keys(profile: str, method: AveragingMethod | str):
    """Micro or macro alone leaves those keys, and never changes a number."""
    everything = RAGEvaluator(profile=profile).evaluate_all(GOLD, DOCS, k=2)
    found = RAGEvaluator(profile=profile, averaging_method=method).evaluate_all(GOLD, DOCS, k=2)
    wanted = method.value if isinstance(method, AveragingMethod) else method.lower()
    dropped = {"micro": "macro_", "macro": "micro_", "both": "none_"}[wanted]
    assert found == {
        metric: {key: value for key, value in values.items() if not key.startswith(dropped)}
        for metric, values in everything.items()
    }


@profiles
@pytest.mark.parametrize(
    ("criteria", "value"),
    [
        (MatchingCriteria.ALL, 0.5),
        ("all", 0.5),
        (MatchingCriteria.PARTIAL, 1.0),
        ("partial", 1.0),
    ],
)
def test_the_criteria_decide_what_a_hit_is(
    profile: str, criteria: MatchingCriteria | str, value: float
):
    """A hit needs all gold, or with PARTIAL any."""
    values = RAGEvaluator(profile=profile, matching_criteria=criteria).evaluate_all(GOLD, DOCS, k=2)
    assert values["hit_rate"] == {"hit_rate": value}


# -- one matching, no stale answers ----------------------------------------------------------


@profiles
def test_texts_are_tokenised_once(profile: str):
    """One evaluator tokenises each distinct text once, however many metrics and k are asked for."""
    words = Words()
    evaluator = RougeOfflineRetrievalEvaluators(GOLD, DOCS, tokenizer=words, profile=profile)
    assert words.asked == []
    evaluator.evaluate_all([1, 2, 3, None])
    evaluator.calculate_ndcg(2)
    evaluator.get_metrics_by_averaging_method(1)
    texts = {text for lists in (GOLD, DOCS) for of_query in lists for text in of_query}
    assert sorted(words.asked) == sorted(texts)


def test_krags_text_is_the_same_in_every_language(monkeypatch):
    """K-RAG's lines are for code that reads them; the evaluator's own table is in Korean."""
    evaluator = OfflineRetrievalEvaluators(GOLD, DOCS)
    english = evaluator.get_metrics_by_averaging_method(2)
    monkeypatch.setenv("KRAGX_LANG", "ko")
    assert english.startswith("Hit Rate @2: {'hit_rate': ")
    assert evaluator.get_metrics_by_averaging_method(2) == english
    assert "지표" in str(evaluator)
    assert "hit_rate@2" in str(evaluator)


@profiles
def test_several_k_are_computed_in_one_pass(profile: str):
    """The evaluation behind the numbers has all seven at every k, and nothing that nobody asked."""
    evaluator = OfflineRetrievalEvaluators(GOLD, DOCS, profile=profile)
    evaluator.evaluate_all([1, 3])
    assert len(evaluator.evaluation.mean) == 14
    evaluator.calculate_mrr(2)
    assert evaluator.evaluation.mean == {"mrr@2": evaluator.calculate_mrr(2)["mrr"]}


@profiles
def test_a_second_call_evaluates_the_second_documents(profile: str):
    """evaluate_all keeps nothing of an earlier call, and get_evaluator is the last call's."""
    rag = RAGEvaluator("rouge1", tokenizer="whitespace", profile=profile)
    assert rag.evaluate_all([["alpha"]], [["alpha"]])["mrr"] == {"mrr": 1.0}
    first = rag.get_evaluator()
    assert rag.evaluate_all([["alpha"]], [["beta"]])["mrr"] == {"mrr": 0.0}
    assert rag.get_evaluator() is not first
    assert rag.get_evaluator().predicted_docs == [["beta"]]
    assert first.calculate_mrr() == {"mrr": 1.0}


def test_there_is_no_evaluator_before_a_call():
    """get_evaluator says that evaluate_all comes first."""
    with pytest.raises(UsageError, match="call evaluate_all first"):
        RAGEvaluator().get_evaluator()


def test_the_callers_lists_are_not_changed():
    """Evaluating leaves lists, documents and metadata as they were."""
    gold = [[KragDocument("alpha beta", {"page": 1})], []]
    docs = [[KragDocument("so alpha beta", {"page": 2})] * 2, [KragDocument("x y")]]
    before = repr((gold, docs))
    RAGEvaluator("overlap").evaluate_all(gold, docs)
    RAGEvaluator(profile="krag").evaluate_all(gold, docs, k=1)
    assert repr((gold, docs)) == before


# -- what is recorded ------------------------------------------------------------------------


def _changed(deviations: dict[str, Any]) -> list[dict[str, Any]]:
    return [changes for changes in deviations.values() if isinstance(changes, dict)]


@pytest.mark.parametrize("method", ["text", "rouge1"])
def test_the_two_deviations_of_profile_kragx_are_recorded(method: str):
    """A call's result says that precision divides by what was retrieved and hits need all gold."""
    rag = RAGEvaluator(method)
    rag.evaluate_all(GOLD, DOCS, k=2)
    settings = rag.get_evaluator().evaluation.settings
    assert settings["profile"]["name"] == "kragx"
    changes = _changed(settings["deviations"])
    assert {"over": "retrieved"} in changes
    assert {"need": "all"} in changes
    assert all(each in ({"over": "retrieved"}, {"need": "all"}) for each in changes)


def test_partial_is_no_deviation_from_profile_kragx():
    """With PARTIAL a hit is kragx's own, and only over=retrieved is recorded."""
    rag = RAGEvaluator(matching_criteria="partial")
    rag.evaluate_all(GOLD, DOCS, k=1)
    changes = _changed(rag.get_evaluator().evaluation.settings["deviations"])
    assert changes
    assert all(each == {"over": "retrieved"} for each in changes)


def test_profile_krag_has_no_deviation():
    """Under profile krag K-RAG's own ways are the profile's; with PARTIAL the hit deviates."""
    evaluator = OfflineRetrievalEvaluators(GOLD, DOCS, profile="krag")
    assert evaluator.evaluation.settings["deviations"] == {}
    partial = OfflineRetrievalEvaluators(GOLD, DOCS, matching_criteria="partial", profile="krag")
    assert _changed(partial.evaluation.settings["deviations"]) == [{"need": "any"}]


def test_numbers_are_those_of_evaluate():
    """What an evaluator returns under profile kragx is `evaluate` with the two deviations."""
    found = RAGEvaluator("rouge1").evaluate_all(GOLD, DOCS, k=2)
    names = {
        "hit_rate": "hit_rate@2(need=all)",
        "mrr": "mrr@2",
        "map": "map@2",
        "ndcg": "ndcg@2",
        "recall": "recall@2",
        "precision": "precision@2(over=retrieved)",
        "f1_score": "f1@2(over=retrieved)",
    }
    result = evaluate(GOLD, DOCS, match="rouge1", metrics=names.values())
    assert 0 < found["ndcg"]["ndcg"] < 1
    for metric, name in names.items():
        values = list(found[metric].values())
        assert values[-1] == pytest.approx(result[name], abs=TINY)
        if len(values) == 2:
            assert values[0] == pytest.approx(result.micro[name], abs=TINY)


# -- methods and tokenizers ------------------------------------------------------------------


@all_cases(
    ("method", "gold", "docs", "mrr"),
    [
        ("text", "alpha  beta", ["x", "so alpha beta it is"], 0.5),
        ("exact", "alpha  beta", ["alpha beta gamma", "alpha beta"], 0.5),
        ("contains", "alpha beta", ["x", "beta"], 0.5),
        ("rouge1", "alpha beta", ["x", "beta alpha"], 0.5),
        ("rouge2", "alpha beta", ["beta alpha", "Alpha Beta"], 0.5),
        ("rougeL", "alpha beta gamma", ["gamma beta alpha", "alpha x gamma"], 0.5),
        ("overlap", "alpha beta", ["beta x alpha", "x y z v w alpha beta u"], 0.5),
    ],
)
def test_every_method_matches_as_its_name_says(method: str, gold: str, docs: list[str], mrr: float):
    """RAGEvaluator knows K-RAG's methods and kragx's own."""
    assert RAGEvaluator(method).evaluate_all([[gold]], [docs])["mrr"] == {"mrr": mrr}


def test_ids_match_as_well():
    """match_method 'id' compares ids, under the metadata key that its options name, if any."""
    gold, docs = [[{"id": "a"}]], [[{"id": "b"}, {"id": "a"}]]
    assert RAGEvaluator("id").evaluate_all(gold, docs)["mrr"] == {"mrr": 0.5}
    chunks = [[Document(page_content=name, metadata={"doc_id": name}) for name in "ba"]]
    with pytest.raises(DataError, match=r"it has: doc_id\), as {'method': 'id', 'id_key': \.\.\.}"):
        RAGEvaluator("id").evaluate_all(gold, chunks)
    by_key = RAGEvaluator({"method": "id", "id_key": "doc_id", "gold_id_key": "id"})
    assert by_key.evaluate_all(gold, chunks)["mrr"] == {"mrr": 0.5}


def test_every_method_of_kragx_goes_with_its_options():
    """Those that K-RAG has not as well, by name or with options of their own."""
    gold, docs = [["alpha beta gamma delta"]], [["x", "beta gamma"]]
    vectors = {"method": "embedding", "embeddings": DeterministicFakeEmbedding(size=8)}
    for method in ("phrase", "span", {"method": "span", "short": 0}, {"any": ["exact", "phrase"]}):
        made = OfflineRetrievalEvaluators(gold, docs, method)
        assert RAGEvaluator(method).evaluate_all(gold, docs) == made.evaluate_all(10)
    rag = RAGEvaluator(vectors, threshold=0.25)
    rag.evaluate_all(gold, docs)
    assert rag.get_evaluator().evaluation.settings["match"]["threshold"] == 0.25


def test_text_match_answers_for_one_pair_and_for_several():
    """text_match takes one retrieved text, or several of which any may match."""
    for made in (
        OfflineRetrievalEvaluators(GOLD, DOCS),
        RougeOfflineRetrievalEvaluators(GOLD, DOCS, threshold=0.6),
    ):
        assert made.text_match("alpha", "alpha")
        assert not made.text_match("alpha", "beta")
        assert made.text_match("alpha", ["beta", "alpha"])
        assert not made.text_match("alpha", [])


def test_the_threshold_and_the_measure_are_used():
    """One shared word of two and three is F .4, precision 1/3, recall 1/2, overlap 1/2."""
    gold, docs = [["alpha beta"]], [["alpha x y"]]

    def mrr(threshold: float, measure: str = "fmeasure") -> float:
        rag = RAGEvaluator("rouge1", rouge_threshold=threshold, measure=measure)
        return rag.evaluate_all(gold, docs)["mrr"]["mrr"]

    assert (mrr(0.4), mrr(0.41)) == (1.0, 0.0)
    assert (mrr(0.33, "precision"), mrr(0.34, "precision")) == (1.0, 0.0)
    assert (mrr(0.5, "recall"), mrr(0.51, "recall")) == (1.0, 0.0)
    assert (mrr(0.5, "overlap"), mrr(0.51, "overlap")) == (1.0, 0.0)


def test_the_threshold_has_one_name_in_every_class(tmp_path):
    """`threshold` does in RAGEvaluator what it does in the class it makes, as rouge_threshold."""
    gold, docs = [["alpha beta"]], [["alpha x y"]]
    for threshold in (0.4, 0.41):
        made = RougeOfflineRetrievalEvaluators(gold, docs, "rouge1", threshold=threshold)
        for option in ({"threshold": threshold}, {"rouge_threshold": threshold}):
            rag = RAGEvaluator("rouge1", **option)
            assert rag.evaluate_all(gold, docs) == made.evaluate_all(10)
    overlap = RAGEvaluator("overlap", threshold=1.0)
    overlap.evaluate_all(gold, docs)
    assert overlap.get_evaluator().evaluation.settings["match"]["threshold"] == 1.0
    judge = Judge(ScriptedClient([2]), store=tmp_path / "judgements.sqlite")
    for grade, mrr in ((2, 1.0), (3, 0.0)):
        judged = RAGEvaluator("llm", judge=judge, threshold=grade)
        assert judged.evaluate_all(gold, docs)["mrr"]["mrr"] == mrr


def whole(text: str) -> list[str]:
    """A tokenizer for which a text is one token."""
    return [text]


@all_cases(
    ("tokenizer", "name", "mrr"),
    [
        (None, "unicode", 1.0),
        ("unicode", "unicode", 1.0),
        ("whitespace", "whitespace", 0.0),
        (TokenizerType.WHITESPACE, "whitespace", 0.0),
        ({"name": "char", "n": 3}, "char", 1.0),
        (Words(), "words", 0.0),
        (whole, f"{__name__}:whole", 0.0),
    ],
)
def test_any_tokenizer_works(tokenizer: Any, name: str, mrr: float):
    """K-RAG's members, kragx's names and mappings, tokenizers and functions; recorded by name."""
    rag = RAGEvaluator("rouge1", tokenizer=tokenizer, rouge_threshold=0.9)
    assert rag.evaluate_all([["Alpha, beta!"]], [["alpha beta"]])["mrr"] == {"mrr": mrr}
    match = rag.get_evaluator().evaluation.settings["match"]
    assert match["tokenizer"]["name"] == name


def test_the_krag_members_mean_krags_tokenizers_under_its_profile():
    """Under profile krag WHITESPACE is lower-cased and stemmed, as K-RAG counts it."""
    options = {"tokenizer": TokenizerType.WHITESPACE, "rouge_threshold": 1.0}
    gold, docs = [["Shipping ORDERS"]], [["shipped order"]]
    krag = RAGEvaluator("rouge1", profile="krag", **options)
    assert krag.evaluate_all(gold, docs)["mrr"] == {"mrr": 1.0}
    described = krag.get_evaluator().evaluation.settings["match"]["tokenizer"]
    assert (described["name"], described["forms"]) == ("krag", "whitespace")
    assert RAGEvaluator("rouge1", **options).evaluate_all(gold, docs)["mrr"] == {"mrr": 0.0}


# -- what is refused -------------------------------------------------------------------------


@all_cases(
    ("options", "message"),
    [
        ({"match_method": "rouge-1"}, "match_method: unknown method 'rouge-1'.*'rouge1'"),
        ({"match_method": "txt"}, "match_method: unknown method 'txt'.*'text'"),
        ({"averaging_method": "mikro"}, "averaging_method: unknown value 'mikro'.*'micro'"),
        ({"matching_criteria": "partially"}, "matching_criteria: .*'partially'.*'partial'"),
        ({"match_method": "rouge1", "tokenizer": "unicod"}, "tokenizer: .*'unicod'.*'unicode'"),
        ({"match_method": "rouge1", "measure": "recal"}, "match.measure: .*'recal'.*'recall'"),
        ({"match_method": "rouge1", "rouge_threshold": 0}, "threshold: 0 is out of range"),
        ({"match_method": "rouge1", "rouge_threshold": 1.5}, "threshold: 1.5 is out of range"),
        ({"match_method": "rouge1", "threshold": 1.5}, "threshold: 1.5 is out of range"),
        ({"threshold": 0.7}, "match_method.threshold: 'text' decides yes or no.* one of rouge1"),
        (
            {"match_method": "rouge1", "threshold": 0.7, "rouge_threshold": 0.6},
            "threshold: 0.7 and rouge_threshold=0.6 are one setting; give one of them",
        ),
        ({"profile": "krg"}, "profile: unknown value 'krg'.*'krag'"),
        ({"profile": "trec"}, "profile: unknown value 'trec'; valid: kragx, krag"),
        ({"profile": "krag", "match_method": "overlap"}, "K-RAG has no 'overlap'.*profile='kragx'"),
        (
            {"profile": "krag", "match_method": "rouge1", "measure": "overlap"},
            "measure: 'overlap' is not K-RAG's.*profile='kragx'",
        ),
    ],
)
def test_a_wrong_argument_is_named_with_the_remedy(options: dict[str, Any], message: str):
    """An unknown value is a UsageError that names the argument, the value and the nearest one."""
    with pytest.raises(UsageError, match=message):
        RAGEvaluator(**options).evaluate_all(GOLD, DOCS)


@pytest.mark.parametrize(
    ("gold", "found", "name"),
    [(None, DOCS, "actual_docs: None"), (GOLD, iter(DOCS), "predicted_docs: <list_iterator")],
)
def test_what_is_no_list_is_named(gold: Any, found: Any, name: str):
    """Nothing, or what can be read but once, is a UsageError that says which, and what to pass."""
    with pytest.raises(UsageError, match=f"{name}.* is no list; pass a list a query"):
        OfflineRetrievalEvaluators(gold, found)


def test_a_choice_that_is_set_later_is_read_as_one_that_is_set_first():
    """In any case; what it cannot be is a UsageError here as well."""
    evaluator = OfflineRetrievalEvaluators(GOLD, DOCS)
    evaluator.averaging_method = "Micro"
    assert list(evaluator.calculate_recall()) == ["micro_recall"]
    evaluator.averaging_method = "mikro"
    with pytest.raises(UsageError, match=r"unknown value 'mikro'.*'micro'"):
        evaluator.calculate_recall()


@pytest.mark.parametrize("k", [0, -3, 1.5, True, [1, 0]])
@profiles
def test_a_wrong_k_is_an_error(k: Any, profile: str):
    """A k that is no whole number of at least 1 is a UsageError."""
    with pytest.raises(UsageError, match="k must be a whole number"):
        RAGEvaluator(profile=profile).evaluate_all(GOLD, DOCS, k=k)


def test_a_text_is_no_k():
    """A k given as a text is refused as it stands, not read letter by letter."""
    with pytest.raises(UsageError, match="'55'"):
        RAGEvaluator().evaluate_all(GOLD, DOCS, k="55")


# -- no arithmetic ---------------------------------------------------------------------------


def arithmetic(source: str) -> list[str]:
    """What computes in a module: operators on anything but texts and types, and such calls."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.BinOp(op=ast.BitOr()):
                continue  # a type `int | None`, or two dictionaries in one
            case ast.BinOp(op=ast.Add(), left=ast.JoinedStr() | ast.Constant(value=str())):
                continue
            case ast.BinOp(op=ast.Add(), right=ast.JoinedStr() | ast.Constant(value=str())):
                continue
            case ast.BinOp() | ast.AugAssign() | ast.UnaryOp(op=ast.USub()):
                found.append(ast.unparse(node))
            case ast.Call(func=ast.Name(id="sum" | "min" | "max" | "round" | "pow" | "divmod")):
                found.append(ast.unparse(node))
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                module = getattr(node, "module", None) or ""
                imported = {module.split(".")[0], *(name.name.split(".")[0] for name in names)}
                if imported & {"numpy", "math", "statistics", "operator", "fractions"}:
                    found.append(ast.unparse(node))
    return found


def test_the_evaluators_compute_nothing():
    """Their modules hold no arithmetic: every number comes from the metrics."""
    for module in (evaluators, rag_evaluator):
        assert arithmetic(inspect.getsource(module)) == []


@all_cases(
    "line",
    [
        "x = a + b",
        "x = a / 2",
        "x = 2 * (a or 1)",
        "x += 1",
        "x = -a",
        "x = sum(a)",
        "import numpy as np",
        "from math import log2",
        "from numpy.linalg import norm",
    ],
)
def test_arithmetic_is_noticed(line: str):
    """The check above sees operators, calls that compute, and imports for it."""
    assert arithmetic(f"def f(a, b):\n    {line}\n")
    assert not arithmetic("def f(a: int | None):\n    return f'{a}' + ('' if a else 'b')\n")


@pytest.mark.parametrize("kind", [OfflineRetrievalEvaluators, RougeOfflineRetrievalEvaluators])
def test_what_is_set_anew_is_seen(kind):
    """Documents, gold and options set anew start over, after any question."""
    evaluator = kind([["one two three"]], [["nothing"]])
    assert evaluator.calculate_hit_rate() == {"hit_rate": 0.0}
    evaluator.predicted_docs = [["one two three"]]
    assert evaluator.calculate_hit_rate(1) == {"hit_rate": 1.0}
    evaluator.actual_docs = [["four"]]
    assert evaluator.evaluate_all()["map"] == {"map": 0.0}
    evaluator.actual_docs = [["one two three", "four"]]
    assert evaluator.calculate_hit_rate() == {"hit_rate": 0.0}
    evaluator.matching_criteria = "partial"
    assert evaluator.calculate_hit_rate() == {"hit_rate": 1.0}

"""Nothing is dropped silently: queries without gold, and all that is counted beside the values."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import pytest

from kragx import (
    DataError,
    Doc,
    Evaluation,
    Gold,
    Retrieved,
    Run,
    UsageError,
    evaluate,
)
from tests.thoroughness import all_cases

from .support import OPTIONS

SEVEN = [name for name in OPTIONS if name != "redundancy"]


def ids(*names: str) -> list[dict[str, str]]:
    """Documents that have ids alone."""
    return [{"id": name} for name in names]


def by_id(gold: Any, run: Any, *metrics: str, **options: Any) -> Evaluation:
    """An evaluation by ids."""
    return evaluate(gold, run, match="id", metrics=metrics or ["recall"], **options)


WITHOUT_GOLD = {
    "with": {"a": 1, "b": 1},
    "empty": {},
    "listed": {"n": 0},
    "missing": {},
    "failed": {"n": -1},
}
ANSWERS = Run(
    {
        "with": Retrieved((Doc("a"), Doc("x"))),
        "empty": Retrieved(),
        "listed": Retrieved((Doc("n"), Doc("y"))),
        "failed": Retrieved(error="timeout"),
    }
)


class TestPolicies:
    """Query `with` has gold and half of it is found; four queries have none."""

    def evaluation(self, no_gold: str | None, *metrics: str) -> Evaluation:
        """The five queries under one policy."""
        return by_id(WITHOUT_GOLD, ANSWERS, *metrics, no_gold=no_gold)

    @pytest.mark.parametrize("no_gold", [None, "skip"])
    def test_skip(self, no_gold: str | None) -> None:
        """By default queries without gold have no value and stay out of the mean."""
        result = self.evaluation(no_gold, "recall", "precision")
        assert result.mean == {"recall": 0.5, "precision": 0.5}
        assert result.queries["empty"] == {"recall": None, "precision": None}
        assert (result.counts["n_scored"], result.counts["n_no_gold"]) == (1, 4)

    def test_skip_leaves_the_micro_counts_too(self) -> None:
        """The documents of a query that is left out are not among the pooled ones."""
        result = self.evaluation("skip", "f1")
        assert result.counts["pooled"]["f1"] == {
            "relevant": 1,
            "other": 1,
            "found": 1,
            "missed": 1,
        }
        assert result.micro == {"f1": 0.5}

    def test_zero(self) -> None:
        """With zero, each of them is 0 in every metric and its documents are pooled."""
        result = self.evaluation("zero", *SEVEN)
        for query in ("empty", "listed", "missing", "failed"):
            assert set(result.queries[query].values()) == {0.0}
        assert result["recall"] == pytest.approx(0.1)
        assert (result.counts["n_scored"], result.counts["n_no_gold"]) == (5, 4)
        assert result.counts["pooled"]["f1"]["other"] == 3

    def test_error(self) -> None:
        """With error, queries without gold are refused and counted in the message."""
        with pytest.raises(DataError, match="4 queries have no gold"):
            self.evaluation("error", "recall")

    def test_error_with_gold_everywhere(self) -> None:
        """With error, a set in which every query has gold is scored as ever."""
        assert by_id({"q": {"a": 1}}, {"q": ids("a")}, no_gold="error")["recall"] == 1.0

    def test_abstain(self) -> None:
        """With abstain, an empty answer is 1; documents, no answer and a failure are 0."""
        result = self.evaluation("abstain", *SEVEN)
        for query, expected in (("empty", 1), ("listed", 0), ("missing", 0), ("failed", 0)):
            assert set(result.queries[query].values()) == {expected}, query
        assert result["recall"] == pytest.approx((0.5 + 1) / 5)
        assert result.counts["n_scored"] == 5

    def test_abstain_with_gold(self) -> None:
        """An empty answer to a query with gold is 0 also under abstain."""
        assert by_id({"q": {"a": 1}}, {"q": []}, no_gold="abstain")["recall"] == 0.0

    @pytest.mark.parametrize("no_gold", ["skip", "zero", "abstain"])
    def test_redundancy_without_relevant_documents(self, no_gold: str) -> None:
        """Redundancy has no value without a relevant document, and the mean counts without it."""
        result = self.evaluation(no_gold, "redundancy")
        assert result["redundancy"] == 0.0
        listed = [result.queries[query]["redundancy"] for query in ("listed", "missing", "failed")]
        assert listed == [None, None, None]

    def test_the_policy_is_recorded(self) -> None:
        """A policy that is not the profile's stands among the deviations."""
        assert self.evaluation("zero").settings["deviations"] == {"no_gold": "zero"}
        assert self.evaluation("skip").settings["deviations"] == {}

    def test_an_unknown_policy(self) -> None:
        """A policy that does not exist is answered with the nearest."""
        with pytest.raises(UsageError, match="perhaps you meant 'abstain'"):
            self.evaluation("abstein")


GRADED = {"low": {"a": 1}, "high": {"a": 3, "b": 1}}
IN_TURN = {"low": ids("a"), "high": ids("b", "a")}
LEVELS = ("recall", "recall(rel=2)", "precision(rel=2)", "map(rel=2)", "ndcg")


class TestRelevanceLevel:
    """`rel` can leave a query without gold for one metric alone."""

    def test_counts_where_they_differ(self) -> None:
        """Such metrics have their own n_scored and n_no_gold; the others have none of their own."""
        counts = by_id(GRADED, IN_TURN, *LEVELS).counts
        assert (counts["n_scored"], counts["n_no_gold"]) == (2, 0)
        own = {"n_scored": 1, "n_no_gold": 1}
        assert counts["metrics"] == dict.fromkeys(LEVELS[1:4], own)

    def test_values(self) -> None:
        """The query is left out of those means alone, its documents out of their pools."""
        result = by_id(GRADED, IN_TURN, *LEVELS)
        assert [result[name] for name in LEVELS[:4]] == [1.0, 1.0, 0.5, 0.5]
        assert result.queries["low"]["recall(rel=2)"] is None
        assert result.counts["pooled"]["precision(rel=2)"] == {
            "relevant": 1,
            "other": 1,
            "found": 1,
            "missed": 0,
        }

    def test_zero_and_error(self) -> None:
        """The policies zero and error treat it as a query without gold."""
        assert by_id(GRADED, IN_TURN, "recall(rel=2)", no_gold="zero").mean == {
            "recall(rel=2)": 0.5
        }
        with pytest.raises(DataError, match=r"recall\(rel=2\): 1 quer.* no gold"):
            by_id(GRADED, IN_TURN, *LEVELS, no_gold="error")

    def test_no_query_is_left(self) -> None:
        """Where no query reaches rel, neither mean nor micro average is known, nor is it 0."""
        result = by_id(GRADED, IN_TURN, "recall(rel=9)")
        assert result.mean == result.micro == {"recall(rel=9)": None}
        assert [*result.describe()][2].rows == [["recall(rel=9)", "-", "", "-"]]
        assert set(result.counts["pooled"]["recall(rel=9)"].values()) == {0}


class TestCounts:
    """What is counted beside the values."""

    def test_missing_failed_and_extra(self) -> None:
        """Missing and failed queries are scored 0 and counted apart, extra ones only counted."""
        run = Run(
            {
                "found": Retrieved((Doc("a"),)),
                "nothing": Retrieved(),
                "failed": Retrieved(error="timeout"),
                "extra 1": Retrieved((Doc("a"),)),
                "extra 2": Retrieved(error="timeout"),
            }
        )
        gold = {query: {"a": 1} for query in ("found", "missing", "nothing", "failed")}
        result = by_id(gold, run)
        names = ("n_queries", "n_scored", "n_no_gold", "n_missing", "n_extra", "n_failed")
        assert [result.counts[name] for name in names] == [4, 4, 0, 1, 2, 1]
        assert [of_query["recall"] for of_query in result.queries.values()] == [1, 0, 0, 0]
        assert result["recall"] == 0.25

    def test_queries_join_by_id(self) -> None:
        """The run's order of queries does not matter."""
        gold = {"one": {"a": 1}, "two": {"b": 1}}
        result = by_id(gold, {"two": ids("b"), "one": ids("x", "a")}, "mrr")
        assert result.queries == {"one": {"mrr": 0.5}, "two": {"mrr": 1.0}}

    def test_a_run_of_other_queries(self) -> None:
        """A run none of whose ids is known is an error, not a row of zeros."""
        with pytest.raises(DataError, match="none of its 1 query ids"):
            by_id({"q1": {"a": 1}}, {"1": ids("a")})

    def test_duplicates(self) -> None:
        """Repeats are counted: by id, and by normalised text where there is no id."""
        assert by_id({"q": {"a": 1}}, {"q": ids("a", "b", "a", "a")}).counts["n_duplicates"] == 2
        texts = ["one text", " one\n text ", "another", "One text"]
        result = evaluate([["one text"]], [texts], match="exact", metrics=["precision"])
        assert result.counts["n_duplicates"] == 1
        assert result["precision"] == 0.25

    def test_duplicates_are_of_one_query(self) -> None:
        """The same document in the lists of two queries is no duplicate."""
        gold = {"q1": {"a": 1}, "q2": {"a": 1}}
        assert by_id(gold, {"q1": ids("a"), "q2": ids("a")}).counts["n_duplicates"] == 0

    def test_the_judged_share(self) -> None:
        """The judged share is that of documents that match an item of any grade."""
        gold = {"q1": {"a": 1, "b": 0, "c": -1}, "q2": {"a": 2}}
        run = {"q1": ids("a", "b", "c", "x"), "q2": ids("b")}
        assert by_id(gold, run).counts["judged_share"] == pytest.approx(3 / 5)

    def test_the_judged_share_needs_a_match(self) -> None:
        """A document whose score is below the threshold is not judged."""
        match = {"method": "rouge1", "threshold": 0.7}
        chunks = ["a quiet street at noon", "a quiet street", "nothing of it"]
        result = evaluate([["a quiet street at night"]], [chunks], match=match, metrics=["recall"])
        assert result.counts["judged_share"] == pytest.approx(2 / 3)
        assert result.at_threshold(0.78).counts["judged_share"] == pytest.approx(1 / 3)

    def test_no_documents(self) -> None:
        """Without any document the judged share is unknown, not 0."""
        assert by_id({"q": {"a": 1}}, {"q": []}).counts["judged_share"] is None

    def test_undefined_redundancy(self) -> None:
        """Queries without a relevant document are left out of the mean redundancy and counted."""
        gold = {query: {"a": 1} for query in ("twice", "once", "never")}
        gold["twice"] = {"a": 1, "b": 1}
        texts = {"twice": ["|a|", "|a| too"], "once": ["|a|"], "never": ["x"]}
        dataset = {query: [f"|{name}|" for name in golds] for query, golds in gold.items()}
        result = evaluate(dataset, texts, match="text", metrics=["recall", "redundancy"])
        assert [of_query["redundancy"] for of_query in result.queries.values()] == [0.5, 0, None]
        assert result["redundancy"] == 0.25
        assert result.counts["metrics"] == {"redundancy": {"n_scored": 2, "n_no_gold": 0}}
        assert result.counts["n_scored"] == 3


class TestPlainValues:
    """A value that is unknown is None."""

    @pytest.mark.parametrize("no_gold", ["skip", "zero", "abstain"])
    def test_json(self, no_gold: str) -> None:
        """A result with undefined values is valid JSON, with null and without NaN."""
        result = by_id({"q1": {}, "q2": {"a": 1}}, {"q2": ids("x")}, *OPTIONS, no_gold=no_gold)
        plain = result.to_dict(queries=True)
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["mean"]["redundancy"] is None
        assert plain["queries"]["q2"]["redundancy"] is None

    def test_nothing_scored(self) -> None:
        """Where no query has gold every mean of it is None, and the result still prints as JSON."""
        result = by_id({"q": {}}, {"q": ids("a")}, *OPTIONS, "judged").with_metrics([*OPTIONS])
        assert set(result.mean.values()) == {None}
        assert set(result.queries["q"].values()) == {None}
        assert result.counts["n_scored"] == 0
        json.dumps(result.to_dict(queries=True), allow_nan=False)

    def test_queries_when_asked_for(self) -> None:
        """The values per query are in the dictionary only when asked for."""
        result = by_id({"q": {"a": 1}}, {"q": ids("a")})
        assert "queries" not in result.to_dict()
        assert result.to_dict(queries=True)["queries"] == {"q": {"recall": 1.0}}

    def test_a_metric_by_any_spelling(self) -> None:
        """A mean is found by any spelling of its metric; one that was not computed is refused."""
        result = by_id({"q": {"a": 1}}, {"q": ids("a")}, "ndcg@10", "hit_rate@3(need=all)")
        assert result["nDCG @10 (gain=linear)"] == 1.0
        assert result["hit-rate@3( need = all )"] == 1.0
        with pytest.raises(UsageError, match="was not computed"):
            result["ndcg@5"]


SENTENCES = [["the red boat left the old harbour"], ["seven small lamps"], ["a quiet street"]]
CHUNKS = [
    ["the red boat left", "the red boat left the old harbour at dawn"],
    ["seven lamps", "no", "seven small lamps"],
    [],
]


class TestThreshold:
    """Scores are kept, so another threshold needs no other matching."""

    def at(self, threshold: float) -> Evaluation:
        """A fresh evaluation at that threshold."""
        match = {"method": "rouge1", "threshold": threshold}
        return evaluate(SENTENCES, CHUNKS, match=match, metrics=list(OPTIONS))

    @all_cases("threshold", [0.01, 0.3, 0.73, 0.8, 0.9, 1.0])
    def test_equals_a_fresh_evaluation(self, threshold: float) -> None:
        """Everything in a result decided anew equals a fresh one: values, counts, settings."""
        anew = self.at(0.5).at_threshold(threshold)
        assert anew.to_dict(queries=True) == self.at(threshold).to_dict(queries=True)

    def test_thresholds_matter(self) -> None:
        """The cases above differ, and the first result stays as it was."""
        first = self.at(0.5)
        before = first.to_dict(queries=True)
        assert first.at_threshold(0.9)["mrr"] != first["mrr"]
        assert first.to_dict(queries=True) == before

    def test_results_are_compared_by_identity(self) -> None:
        """Results can be looked for in lists and sets, although they hold arrays."""
        one, other = self.at(0.5), self.at(0.5)
        assert one == one  # noqa: PLR0124
        assert one != other
        assert len({one, other}) == 2

    @pytest.mark.parametrize("threshold", [0, -0.5, nan, inf])
    def test_a_threshold_is_above_0(self, threshold: float) -> None:
        """A threshold that would match everything, or is no number, is refused."""
        with pytest.raises(UsageError, match="threshold"):
            self.at(0.5).at_threshold(threshold)

    def test_equality_has_no_threshold(self) -> None:
        """A matcher that says yes or no has no threshold to change."""
        with pytest.raises(UsageError, match="no threshold"):
            by_id({"q": {"a": 1}}, {"q": ids("a")}).at_threshold(0.7)


class TestGains:
    """A gain that is not finite is an error."""

    @pytest.mark.parametrize("grade", [1024.0, 1e308])
    def test_exponential_gains(self, grade: float) -> None:
        """A grade whose 2^grade overflows is refused, and the remedy named."""
        with pytest.raises(DataError, match=r"not finite; use .*gain=linear"):
            by_id({"q1": {"a": 1}, "q2": {"a": grade}}, {"q1": ids("a")}, "ndcg(gain=exp2)")
        assert by_id({"q": {"a": grade}}, {"q": ids("a")}, "ndcg")["ndcg"] == 1.0

    def test_large_gains(self) -> None:
        """The largest grades that do not overflow are scored, to rounding."""
        gold = {"q": {"a": 1000, "b": 900.5}}
        result = by_id(gold, {"q": ids("b", "a")}, "ndcg(gain=exp2)")
        assert result["ndcg(gain=exp2)"] == pytest.approx(0.6309, abs=5e-5)

    def test_grades_far_below_0(self) -> None:
        """Negative grades have no gain, so none of theirs can overflow."""
        result = by_id({"q": {"a": 1, "n": -1e308}}, {"q": ids("n", "a")}, "ndcg(gain=exp2)")
        assert result["ndcg(gain=exp2)"] == pytest.approx(0.6309, abs=5e-5)

    @pytest.mark.parametrize("grade", [inf, -inf, nan])
    def test_grades_are_finite(self, grade: float) -> None:
        """A grade that is not finite is refused when gold is read."""
        with pytest.raises(DataError, match="grade: must be a finite number"):
            by_id({"q": {"a": grade}}, {"q": ids("a")})

    @pytest.mark.parametrize("grade", [inf, nan])
    def test_grades_of_gold_made_by_hand(self, grade: float) -> None:
        """It is refused as well where `Gold` was made in Python."""
        with pytest.raises(DataError, match="finite"):
            Gold("a", grade=grade)

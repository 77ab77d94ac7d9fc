"""Numbers that every implementation must give, worked out by hand or printed in textbooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kragx import Evaluation, evaluate

from .support import OPTIONS

UNCUT = [name for name in OPTIONS if name != "redundancy"]


def of_ids(
    golds: Mapping[str, float], retrieved: Sequence[str], metrics: Sequence[str]
) -> list[float | None]:
    """One query by ids: what the metrics say."""
    docs = [{"id": each} for each in retrieved]
    result = evaluate({"q": golds}, {"q": docs}, match="id", metrics=metrics)
    return list(result.mean.values())


def of_texts(gold: Sequence[str], retrieved: Sequence[str], metrics: Sequence[str]) -> Evaluation:
    """One query by containment: the chunks hold the gold texts, written between bars."""
    return evaluate([gold], [retrieved], match="text", metrics=metrics)


def judged(letters: str, n_gold: int) -> tuple[dict[str, float], list[str]]:
    """Gold and list from letters, R for relevant and N for not, with n_gold gold in all."""
    retrieved = [f"{letter}{rank}" for rank, letter in enumerate(letters, start=1)]
    found = [name for name in retrieved if name[0] == "R"]
    never = [f"never{number}" for number in range(n_gold - len(found))]
    return dict.fromkeys([*found, *never], 1.0), retrieved


class TestTwoQueries:
    """Gold [[d1,d2,d5],[d3,d4]], retrieved [[d1,d2,d5],[d6,d4,d5]]."""

    gold = (["d1", "d2", "d5"], ["d3", "d4"])
    retrieved = (["d1", "d2", "d5"], ["d6", "d4", "d5"])

    def mean(self, *metrics: str) -> list[float | None]:
        """The means in the order asked for."""
        result = evaluate(self.gold, self.retrieved, match="exact", metrics=metrics)
        return [result[metric] for metric in metrics]

    def cuts(self, name: str, inside: str = "", uncut: bool = False) -> list[float | None]:
        """The means at 1, 2, 3 and, if asked for, uncut."""
        ends = ["@1", "@2", "@3", *[""] * uncut]
        return self.mean(*(f"{name}{end}{inside}" for end in ends))

    def test_macro(self) -> None:
        """Macro precision, recall and F1 over what was retrieved are .667, .75 and .70."""
        names = ["precision(over=retrieved)", "recall", "f1(over=retrieved)"]
        assert self.mean(*names) == pytest.approx([2 / 3, 0.75, 0.70])

    @pytest.mark.parametrize("end", ["", "@3"])
    def test_micro(self, end: str) -> None:
        """Micro precision, recall and F1 are .667, .80 and .727."""
        names = [f"{name}{end}" for name in ("precision", "recall", "f1")]
        result = evaluate(self.gold, self.retrieved, match="exact", metrics=names)
        assert list(result.micro) == names
        assert list(result.micro.values()) == pytest.approx([2 / 3, 0.80, 8 / 11])

    def test_pooled_counts(self) -> None:
        """Relevant, other and missed are 3, 0, 0 and 1, 2, 1; pooled 4, 2, 1 with 4 found."""
        sides = [([gold], [docs]) for gold, docs in zip(self.gold, self.retrieved)]
        pooled = [
            evaluate(gold, docs, match="exact", metrics=["f1"]).counts["pooled"]["f1"]
            for gold, docs in [*sides, (self.gold, self.retrieved)]
        ]
        assert [(c["relevant"], c["other"], c["missed"], c["found"]) for c in pooled] == [
            (3, 0, 0, 3),
            (1, 2, 1, 1),
            (4, 2, 1, 4),
        ]

    def test_hit_rate_of_all(self) -> None:
        """The share of queries with all gold found is 0, 0, .5 at 1, 2, 3, and .5 uncut."""
        assert self.cuts("hit_rate", "(need=all)", uncut=True) == [0, 0, 0.5, 0.5]

    def test_mrr(self) -> None:
        """MRR at 1, 2, 3 is .5, .75, .75."""
        assert self.cuts("mrr") == pytest.approx([0.5, 0.75, 0.75])

    def test_map(self) -> None:
        """MAP at 1, 2, 3 is .1667, .4583, .625."""
        assert self.cuts("map") == pytest.approx([1 / 6, 11 / 24, 0.625])

    def test_ndcg(self) -> None:
        """NDCG at 1, 2, 3 is .5, .6934, .6934, not the .815 of a slip in .631 / 1.631."""
        assert self.cuts("ndcg") == pytest.approx([0.5, 0.6934, 0.6934], abs=5e-5)


class TestTextbooks:
    """Single lists from lessons and guides."""

    def test_mrr_of_three_queries(self) -> None:
        """First answers at ranks 1, 3 and 2 give MRR .6111."""
        retrieved = (["a", "x", "y"], ["x", "y", "a"], ["x", "a", "y"])
        result = evaluate([["a"]] * 3, retrieved, match="exact", metrics=["mrr"])
        assert result["mrr"] == pytest.approx(11 / 18)
        assert result["mrr"] == pytest.approx(0.6111, abs=5e-5)

    def test_average_precision(self) -> None:
        """Relevance R N R R N N R N R N with 5 gold gives AP .7087."""
        assert of_ids(*judged("RNRRNNRNRN", 5), ["map"]) == pytest.approx([0.7087], abs=5e-5)

    @pytest.mark.parametrize(
        ("letters", "n_gold", "precision", "recall"),
        [("RNRRN", 10, 0.6, 0.3), ("RRNRN", 8, 0.6, 0.375)],
    )
    def test_precision_and_recall(
        self, letters: str, n_gold: int, precision: float, recall: float
    ) -> None:
        """3 of 5 retrieved are relevant: precision@5 .6, recall@5 3 of all gold."""
        values = of_ids(*judged(letters, n_gold), ["precision@5", "recall@5"])
        assert values == pytest.approx([precision, recall])

    @pytest.mark.parametrize(
        ("grades", "metric", "expected"),
        [
            ((3, 1, 2, 0, 1), "ndcg", 0.9663),
            ((3, 1, 2, 0, 1), "ndcg@5", 5.0178 / 5.1925),
            ((3, 2, 3, 0, 1), "ndcg@5", 0.9724),
            ((3, 2, 3, 0, 1), "ndcg@5(gain=exp2)", 0.9575),
        ],
    )
    def test_graded_ndcg(self, grades: Sequence[float], metric: str, expected: float) -> None:
        """Grades in the order retrieved give the textbook's nDCG, linear and exponential."""
        golds = {f"d{rank}": float(grade) for rank, grade in enumerate(grades)}
        assert of_ids(golds, list(golds), [metric]) == pytest.approx([expected], abs=5e-5)


class TestManyToMany:
    """One chunk with several gold texts, and several chunks with the same one."""

    def test_one_chunk_over_three_golds(self) -> None:
        """One chunk that holds all three gold texts is perfect at 1, and finds three."""
        names = ["map@1", "recall@1", "ndcg@1", "precision@1", "hit_rate@1(need=all)"]
        result = of_texts(["|a|", "|b|", "|c|"], ["|a| |b| |c|"], names)
        assert list(result.mean.values()) == [1.0] * 5
        result = of_texts(["|a|", "|b|", "|c|"], ["|a| |b| |c|"], ["f1"])
        assert result.counts["pooled"]["f1"] == {
            "relevant": 1,
            "other": 0,
            "found": 3,
            "missed": 0,
        }

    def test_one_chunk_over_three_golds_is_no_more_than_perfect(self) -> None:
        """One chunk that holds more gold than k has ranks does not lift map@k above 1."""
        names = ["map@1(norm=cut)", "map@2(norm=cut)", "map@1(norm=hits)"]
        result = of_texts(["|a|", "|b|", "|c|"], ["|a| |b| |c|"], names)
        assert list(result.mean.values()) == [1.0] * 3

    def test_two_golds_at_rank_two(self) -> None:
        """Nothing, then both gold texts in one chunk, gives ndcg@2 .7737."""
        result = of_texts(["|a|", "|b|"], ["none", "|a| and |b|"], ["ndcg@2"])
        assert result["ndcg@2"] == pytest.approx(0.7737, abs=5e-5)

    def test_the_ideal_puts_high_grades_first(self) -> None:
        """Grades 3, 3, 1 found as {3, 1} and {3} are as good as it gets: ndcg@2 is exactly 1."""
        golds = [
            {"text": "|a|", "grade": 3},
            {"text": "|b|", "grade": 3},
            {"text": "|c|", "grade": 1},
        ]
        result = evaluate([golds], [["|a| |c|", "|b|"]], match="text", metrics=["ndcg@2"])
        assert result["ndcg@2"] == 1.0

    def test_rel_decides_before_the_order(self) -> None:
        """Grade 1 at rank 1 and grade 3 at rank 2 give AP .5 with rel=2: only one gold is left."""
        assert of_ids({"a": 1, "b": 3}, ["a", "b"], ["map(rel=2)", "map"]) == [0.5, 1.0]

    def test_the_same_document_five_times(self) -> None:
        """A gold document five times in a row counts once: precision@5 .2, and 4 duplicates."""
        names = ["precision@5", "precision@5(over=retrieved)", "map@5", "ndcg@5", "redundancy@5"]
        for gold, match in (({"d1": 1.0}, "id"), (["d1"], "exact")):
            docs = [{"id": "d1"}] * 5 if match == "id" else ["d1"] * 5
            result = evaluate({"q": gold}, {"q": docs}, match=match, metrics=names)
            assert list(result.mean.values()) == [0.2, 0.2, 1.0, 1.0, 0.0]
            assert result.counts["n_duplicates"] == 4

    def test_a_gold_text_in_three_chunks(self) -> None:
        """Three chunks that hold one gold text: MAP and nDCG 1, two of three chunks redundant."""
        chunks = ["first |a| chunk", "second |a| chunk", "third |a| chunk"]
        result = of_texts(["|a|"], chunks, ["map", "ndcg", "map@3", "ndcg@3", "redundancy"])
        assert list(result.mean.values()) == [1.0, 1.0, 1.0, 1.0, pytest.approx(2 / 3)]
        counts = of_texts(["|a|"], chunks, ["precision"]).counts["pooled"]["precision"]
        assert counts == {"relevant": 3, "other": 0, "found": 1, "missed": 0}

    def test_an_alternative_serves_as_well(self) -> None:
        """A gold item is found by any of its alternatives, and by two of them only once."""
        gold = [{"id": "a", "alternatives": [{"id": "b"}, {"id": "c"}]}, {"id": "d"}]
        docs = [{"id": name} for name in ("x", "c", "b")]
        names = ["recall", "mrr", "map", "precision", "redundancy"]
        result = evaluate([gold], [docs], match="id", metrics=names)
        assert list(result.mean.values()) == pytest.approx([0.5, 0.5, 0.25, 2 / 3, 0.5])


class TestMistakesOfPeers:
    """Basic cases that other packages get wrong."""

    @pytest.mark.parametrize("match", ["exact", "text", "rouge1", "overlap"])
    def test_no_match_is_0_everywhere(self, match: str) -> None:
        """Where nothing matches, every metric is 0 and redundancy has no value."""
        result = evaluate(
            [["the heron waits by the pond"]],
            [["copper prices fell again", "a third unrelated line"]],
            match=match,
            metrics=[*UNCUT, *(f"{name}@3" for name in UNCUT), "redundancy"],
        )
        means = dict(result.mean)
        assert means.pop("redundancy") is None
        assert set(means.values()) == {0.0}
        assert set(result.micro.values()) == {0.0}

    def test_an_empty_answer_is_0_everywhere(self) -> None:
        """A query with gold that was answered with nothing scores 0, and is scored."""
        result = evaluate([["a"]], [[]], match="exact", metrics=[*UNCUT, "ndcg@3", "precision@3"])
        assert set(result.mean.values()) == {0.0}
        assert result.counts["n_scored"] == 1

    def test_average_precision_is_over_all_gold(self) -> None:
        """One of four gold documents at rank 1 is AP .25, and 1 only with norm=hits or norm=cut."""
        golds = dict.fromkeys("abcd", 1.0)
        names = ["map", "map@1", "map(norm=hits)", "map@1(norm=cut)", "map@2(norm=cut)"]
        assert of_ids(golds, ["a"], names) == [0.25, 0.25, 1.0, 1.0, 0.5]

    def test_a_gold_text_inside_a_longer_chunk(self) -> None:
        """Gold that stands verbatim in a longer chunk is found, by containment and by overlap."""
        gold = "the ferry leaves at nine every morning"
        chunk = (
            f"Timetables changed in spring. Since then {gold}, and a second boat " + "waits " * 40
        )
        for match in ("text", "overlap"):
            result = evaluate([[gold]], [[chunk]], match=match, metrics=["recall@1"])
            assert result["recall@1"] == 1.0, match

    def test_korean_texts(self) -> None:
        """Two identical Korean texts match; two that share only a number do not."""
        text = "접수 기간은 공고일부터 30일이다"
        other = "버스는 30분마다 다닌다"
        result = evaluate([[text], [text]], [[text], [other]], match="rouge1", metrics=["recall"])
        assert [of_query["recall"] for of_query in result.queries.values()] == [1.0, 0.0]

"""`probe`: how far words that mean nothing move a judge's grade of what is known.

A judge that gives one grade to everything is moved by nothing, and is worth nothing. So what is
known to answer a query is asked about as well.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import yaml

from kragx.agreement.coefficients import defined, ratio
from kragx.agreement.scoring import LEVEL, ends
from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.data import GoldDataset, Query, normalise
from kragx.ground.errors import DataError, UsageError, check_whole, nearest
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    message,
    number,
    percent,
    signed,
    warning,
)
from kragx.judging import Grader, Question, Tally
from kragx.judging.judgement_counts import failed_kinds, failure_lines
from kragx.judging.question import gold_texts
from kragx.judging.rubric import Asks
from kragx.metrics import Bools, Floats, Ints
from kragx.metrics.intervals import LEAST, Interval, expanded_intervals, wilson_interval

VARIANTS: Mapping[str, str | Mapping[str, str]] = yaml.safe_load(
    Path(__file__).with_name("probes.yaml").read_text(encoding="utf-8")
)
"""What `probe` makes of a passage to raise its grade, by name: for all languages, or for each."""

PASSAGES = 30
"""How many irrelevant passages are probed unless told otherwise."""

_GUESSING, _GOOD = 0.5, 0.9  # an auc; where both are possible, nothing has been learnt

Verdict = Literal[
    "nothing graded", "one grade", "too few", "guessing", "all a match", "fooled", "not fooled"
]
_SENTENCES: Mapping[Verdict, str] = {
    "nothing graded": message("no irrelevant passage has a grade: nothing is known of this judge"),
    "one grade": message(
        "this judge gives one grade to everything; do not trust it: that nothing moves it means "
        "nothing"
    ),
    "all a match": message(
        "this judge takes all irrelevant passages for a match; do not trust it: that nothing moves "
        "it means nothing"
    ),
    "guessing": message(
        "this judge cannot be told from one that guesses; do not trust it, whatever moves it or "
        "does not"
    ),
    "too few": message(
        "too few queries or gold texts were graded to tell whether this judge is better than "
        "guessing"
    ),
    "not fooled": message("nothing that was tried fooled this judge"),
}


@dataclass(frozen=True)
class Baseline:
    """What the judge says without any addition, of what is known.

    Attributes:
        n_irrelevant, n_gold: graded passages that do not answer their query, and texts that do.
        irrelevant, gold: their mean grades; None without one.
        n_wrong, n_recognised: irrelevant passages, and gold texts, taken for a match.
        n_grades: how many different grades it gave.
        auc: how often a gold text is graded above an irrelevant passage, ties counting half: .5 is
            guessing, 1 perfect. None where either is missing.
        interval: of the auc, the query being the unit.
    """

    n_irrelevant: int
    n_gold: int
    irrelevant: float | None
    gold: float | None
    n_wrong: int
    n_recognised: int
    n_grades: int
    auc: float | None
    interval: Interval | None

    @property
    def tells_nothing(self) -> bool:
        """Whether the judge may be a good one, and one that guesses as well."""
        return self.interval is None or self.interval[0] <= _GUESSING < _GOOD <= self.interval[1]


@dataclass(frozen=True)
class Lift:
    """What one variant does to irrelevant passages.

    Attributes:
        variant: one of `VARIANTS`.
        n: passages with a grade both plain and with the variant.
        n_missing: passages without, as a judgement failed; they are left out, not 0.
        lift: how far it moves the mean grade; None if n is 0.
        interval: of the lift, the query being the unit.
        n_right: of the n those that are no match without it, as is right.
        n_fooled: of these those that are a match with it.
        fooled: the interval of their share (Wilson's, of as many trials as queries); None if
            n_right is 0.
    """

    variant: str
    n: int
    n_missing: int
    lift: float | None
    interval: Interval | None
    n_right: int
    n_fooled: int
    fooled: Interval | None


@dataclass(frozen=True)
class Probe(Result):
    """How gullible a judge is.

    Attributes:
        baseline: whether it tells what answers a query from what does not, without any addition.
        lifts: one for each variant.
        settings: model, rubric, seed, ...
        judging: what it took (calls, tokens), and what failed.
    """

    baseline: Baseline
    lifts: tuple[Lift, ...]
    settings: Mapping[str, Any]
    judging: Tally

    also_plain: ClassVar[tuple[str, ...]] = ("verdict",)

    @property
    def verdict(self) -> Verdict:
        """What the numbers come to."""
        base = self.baseline
        if not base.n_irrelevant:
            return "nothing graded"
        if base.n_grades == 1 and (base.n_gold or base.n_wrong):
            return "one grade"
        if base.n_wrong == base.n_irrelevant:
            return "all a match"
        if base.interval and not base.tells_nothing and base.interval[0] <= _GUESSING:
            return "guessing"
        if any(lift.n_fooled for lift in self.lifts):
            return "fooled"
        return "too few" if base.tells_nothing else "not fooled"

    def describe(self) -> Iterator[Part]:
        """The verdict, what it rests on, and the lift of each variant."""
        settings, base = self.settings, self.baseline
        yield Line(
            message(
                "{model}, {rubric}: {n} irrelevant passages and {n_gold} gold texts of {n_queries} "
                "queries",
                **{**settings, "n": settings["n_passages"]},
            )
        )
        yield Line(self._text) if self.verdict == "not fooled" else warning(self._text)
        head = (message("without any addition"), message("mean"), message("a match"), "n")
        sides = (
            (message("irrelevant"), base.irrelevant, base.n_wrong, base.n_irrelevant),
            (message("gold"), base.gold, base.n_recognised, base.n_gold),
        )
        yield Table(head, [(kind, number(mean), str(m), str(n)) for kind, mean, m, n in sides])
        if base.auc is not None:
            yield Line(
                message(
                    "gold graded above irrelevant: {share} ({between}) of cases; guessing 50%, "
                    "perfect 100%",
                    share=percent(base.auc, 0),
                    between=_shares(base.interval),
                )
            )
        yield from self._of_variants()
        if n := self.judging.n_missing:
            judging = to_jsonable(self.judging)
            kinds = failed_kinds(judging)
            yield warning(
                message("failed judgements: {n} ({kinds}), left out, never 0", n=n, kinds=kinds)
            )
            yield from map(warning, failure_lines(judging))

    @property
    def _text(self) -> str:
        """The verdict in a sentence, and what fooled the judge."""
        fooled = [
            message("{name} ({n} of {of})", name=lift.variant, n=lift.n_fooled, of=lift.n_right)
            for lift in sorted(self.lifts, key=lambda lift: -lift.n_fooled / (lift.n_right or 1))
            if lift.n_fooled
        ]
        fooled_by = message("fooled by {variants}", variants=joined(", ", fooled)) if fooled else ""
        is_doubtful = self.verdict == "fooled" and self.baseline.tells_nothing
        return joined(
            "; ", [_SENTENCES.get("too few" if is_doubtful else self.verdict, ""), fooled_by]
        )

    def _of_variants(self) -> Iterator[Part]:
        head = (message("added"), message("lift"), LEVEL, message("fooled"), LEVEL, "n")
        rows = [
            (
                lift.variant,
                "-" if lift.lift is None else signed(lift.lift),
                ends(lift.interval),
                message("{n} of {of}", n=lift.n_fooled, of=lift.n_right),
                _shares(lift.fooled),
                str(lift.n),
            )
            for lift in self.lifts
        ]
        yield Table(head, rows)
        yield Line(
            message(
                "fooled: how many of those judged rightly without it are judged wrongly with it. "
                "Intervals hold at {confidence} for all of them together",
                confidence=LEVEL,
            )
        )


def _shares(pair: Interval | None) -> str:
    if pair is None:
        return "-"
    return message("{low} to {high}", low=percent(pair[0], 0), high=percent(pair[1], 0))


def probe(
    judge: Grader,
    dataset: GoldDataset,
    *,
    passages: int = PASSAGES,
    variants: Iterable[str] = tuple(VARIANTS),
    seed: int = SEED,
) -> Probe:
    """Ask a judge about irrelevant passages and gold texts, plain and changed without a meaning.

    All intervals hold at 95 % together (Bonferroni).

    Args:
        judge: whom to ask, by its own rubric, else about relevance; what it said before is taken
            from its store.
        dataset: queries with their gold. Irrelevant to a query are the texts that its gold grades 0
            or below; where it has none, the gold texts of other queries.
        passages: how many irrelevant ones, of as many queries as can be; and of each of these
            queries its best graded gold text.
        variants: which of `VARIANTS` to try.
        seed: of what is drawn.

    Raises:
        DataError: no query has a text and an irrelevant passage.
        JudgingError: the budget is used up, or the service refuses everything.
        UsageError: an argument is wrong.
    """
    check_whole("passages", passages)
    check_whole("seed", seed, lowest=0)
    variants = list(variants)
    for name in variants:
        if name not in VARIANTS:
            hint = nearest(name, VARIANTS)
            raise UsageError("{name!r} is none; {hint}", field="variants", name=name, hint=hint)
    names = [name for name in VARIANTS if name in variants]
    mode = judge.asks or "relevance"
    drawn = irrelevant(dataset, passages, seed, support=mode == "support")
    best = _best_gold(query for query, _ in drawn)
    questions = [
        *(_question(judge, query, text, gold_texts(query)[:1], mode) for query, text in drawn),
        *(_question(judge, query, text, [text], mode) for query, text in best),
    ]
    n = len(drawn)
    changed = [
        # The same source of randomness for each variant: what one draws moves no other.
        _changed(question, query.text or "", name, random.Random(f"{seed} {row}"))
        for name in names
        for row, (question, (query, _)) in enumerate(zip(questions, drawn))
    ]
    judged = judge.judge([*questions, *changed])
    # A grade of None, of a judgement that failed, becomes NaN.
    grades = np.array([judgement.score for judgement in judged.judgements], float)
    plain, moved = np.split(grades, [len(questions)])
    query = np.unique([query.id for query, _ in (*drawn, *best)], return_inverse=True)[1]
    cuts = np.array([question.rubric.match_from for question in questions])
    confidence = 1 - (1 - CONFIDENCE) / (len(names) + 1)
    draws = {"confidence": confidence, "count": RESAMPLES, "seed": seed}
    return Probe(
        baseline=_baseline(plain, np.arange(len(plain)) >= n, plain >= cuts, query, draws),
        lifts=tuple(
            _lift(name, np.array([plain[:n], after]), cuts[:n], query[:n], draws)
            for name, after in zip(names, moved.reshape(len(names), n))
        ),
        settings={
            "model": judge.model,
            "asks": mode,
            "rubric": judge.rubric_id(mode),
            "variants": names,
            "n_passages": n,
            "n_gold": len(best),
            "n_queries": int(query.max()) + 1,
            "confidence": CONFIDENCE,
            "confidence_of_each": confidence,
            "seed": seed,
        },
        judging=judged.tally,
    )


def _baseline(
    grades: Floats, of_gold: Bools, match: Bools, query: Ints, draws: Mapping[str, Any]
) -> Baseline:
    """What (p) grades say; NaN of what failed, which is no match."""
    graded = ~np.isnan(grades)
    scale = np.unique(grades[graded])
    # Sums over queries: how often each grade was given to irrelevant passages and gold texts.
    terms = np.zeros((query.max() + 1, 2, len(scale)))
    places = query[graded], of_gold[graded].astype(int), np.searchsorted(scale, grades[graded])
    np.add.at(terms, places, 1)
    counts = terms.sum(0)
    auc = defined(_auc(counts[None])["auc"][0])
    interval = expanded_intervals(terms[terms.any((1, 2))], _auc, **draws)["auc"]
    # Where nothing varies in resamples, as all gold is graded above all else: as a share.
    n_queries = int((terms.sum(2) > 0).all(1).sum())
    if interval is None and auc is not None and n_queries >= LEAST:
        interval = wilson_interval(auc, n_queries, draws["confidence"])
    n_irrelevant, n_gold = map(int, counts.sum(1))
    mean, gold_mean = map(defined, ratio(counts @ scale, counts.sum(1)))
    n_wrong, n_recognised = (int((match & side).sum()) for side in (~of_gold, of_gold))
    matches = n_wrong, n_recognised, len(scale), auc, None if auc is None else interval
    return Baseline(n_irrelevant, n_gold, mean, gold_mean, *matches)


def _auc(sums: Floats) -> dict[str, Floats]:
    """Of (b, 2, l) counts of grades, irrelevant and gold: the area under the ROC curve, (b)."""
    irrelevant, gold = sums[:, 0], sums[:, 1]
    # Of equal grades half are below: the area under the curve counts a tie as a half.
    below = np.cumsum(irrelevant, -1) - irrelevant / 2
    return {"auc": ratio((gold * below).sum(-1), gold.sum(-1) * irrelevant.sum(-1))}


def _lift(variant: str, grades: Floats, cuts: Ints, query: Ints, draws: Mapping[str, Any]) -> Lift:
    """What a variant does, by (2, i) grades without and with it; NaN of what failed."""
    graded = ~np.isnan(grades).any(0)
    (before, after), cuts = grades[:, graded], cuts[graded]
    query = np.unique(query[graded], return_inverse=True)[1]
    # Sums by query, as whole queries are drawn again: passages of one go up and down together.
    terms = np.array([np.bincount(query, after - before), np.bincount(query)], float).T
    intervals = expanded_intervals(
        terms, lambda sums: {"lift": ratio(sums[:, 0], sums[:, 1])}, **draws
    )
    right = before < cuts
    n_right, n_fooled = int(right.sum()), int((right & (after >= cuts)).sum())
    fooled = None
    if n_right:
        n_queries = len(np.unique(query[right]))
        fooled = wilson_interval(n_fooled / n_right, n_queries, draws["confidence"])
    # Of means, as of grades that are no whole numbers the sum of differences may be another one.
    lift = float(after.mean()) - float(before.mean()) if len(after) else None
    counts = len(after), int((~graded).sum())
    return Lift(variant, *counts, lift, intervals["lift"], n_right, n_fooled, fooled)


# -- what is asked -------------------------------------------------------------------------------


def irrelevant(
    dataset: GoldDataset, count: int, seed: int, *, support: bool = False
) -> list[tuple[Query, str]]:
    """Passages that do not answer their query, from as many queries as can be.

    Args:
        dataset: queries with gold.
        count: how many.
        seed: of the draw.
        support: whether each query must have a gold text, against which support is judged.

    Raises:
        DataError: there is none.
    """
    rng = random.Random(seed)
    golds = [(query.id, text) for query in dataset for text in gold_texts(query) if text.strip()]
    queries = [query for query in dataset if query.text and (gold_texts(query) or not support)]
    rng.shuffle(queries)
    by_query = [[(query, text) for text in _irrelevant_to(query, golds, rng)] for query in queries]
    # The first of every query, then the second of every query that has one, and so on.
    passages = [passage for turn in zip_longest(*by_query) for passage in turn if passage]
    if not passages:
        raise DataError(
            "{name}: no query has a text and a passage known to be irrelevant; give gold "
            "texts, of grade 0 or of other queries",
            name=dataset.name,
        )
    return passages[:count]


def _irrelevant_to(query: Query, golds: Sequence[tuple[str, str]], rng: random.Random) -> list[str]:
    """What its gold grades 0, else up to three of some 50 gold texts of other queries."""
    if texts := [gold.text for gold in query.gold if gold.grade <= 0 and gold.text]:
        return texts
    answers = list(map(normalise, gold_texts(query)))
    texts = [
        text
        for query_id, text in rng.sample(golds, min(len(golds), 50))
        if query_id != query.id
        and not any(gold in normalise(text) or normalise(text) in gold for gold in answers)
    ]
    return texts[:3]


def _best_gold(queries: Iterable[Query]) -> list[tuple[Query, str]]:
    """Of each query that has one the first of its best graded gold texts."""
    best = []
    for query in {query.id: query for query in queries}.values():
        golds = [gold for gold in query.gold if gold.grade > 0 and (gold.text or "").strip()]
        if golds:
            best.append((query, max(golds, key=lambda gold: gold.grade).text or ""))
    return best


def _question(judge: Grader, query: Query, text: str, golds: Sequence[str], mode: Asks) -> Question:
    """What is asked of a passage, of support by the first of some gold texts.

    It has no ids: human labels stay out of it, and exports do not show what nobody retrieved.
    """
    if mode == "relevance":
        rubric = judge.rubric_for(mode, query.text or "")
        return Question(rubric, text, query=query.text, reference=query.reference)
    return Question(judge.rubric_for(mode, golds[0]), text, gold=golds[0])


def _changed(question: Question, query: str, variant: str, rng: random.Random) -> Question:
    """The question about a passage as a variant changes it, in the rubric's language."""
    template, scattered = VARIANTS[variant], question.document.split()
    added = list(dict.fromkeys(query.split()))
    rng.shuffle(added)
    for word in added:
        scattered.insert(rng.randint(0, len(scattered)), word)
    text = template if isinstance(template, str) else template[question.rubric.language]
    document = text.format(
        passage=question.document,
        query=query,
        words=", ".join(query.split() * 3),
        scattered=" ".join(scattered),
        top=question.rubric.top,
    )
    return replace(question, document=document)

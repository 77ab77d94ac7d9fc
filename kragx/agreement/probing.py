"""`probe`: how far words that mean nothing move a judge's grade of what is known."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kragx.agreement.coefficients import ratio
from kragx.agreement.gullibility import Baseline, Kind, Lift, Probe
from kragx.agreement.labels import gold_texts
from kragx.agreement.model_families import kinship
from kragx.agreement.variants import VARIANTS, chosen, untried
from kragx.comparison.statistics import (
    CONFIDENCE,
    MOST_RESAMPLES,
    RESAMPLES,
    SEED,
    check_confidence,
)
from kragx.data import GoldDataset, Query, normalise
from kragx.errors import DataError, check_whole
from kragx.judging import Grader, Question
from kragx.judging.rubric import Asks
from kragx.metrics import Floats, Ints
from kragx.metrics.intervals import LEAST, expanded_intervals, wilson_interval

PASSAGES = 30
"""How many irrelevant passages are probed unless told otherwise."""

Origin = Literal["graded 0", "gold of another query", "gold"]


@dataclass(frozen=True)
class Passage:
    """A text that is known not to answer a query, or (of origin ``gold``) to answer it."""

    query: Query
    text: str
    origin: Origin

    @property
    def kind(self) -> Kind:
        """Whether it answers its query."""
        return "gold" if self.origin == "gold" else "irrelevant"


def probe(
    judge: Grader,
    dataset: GoldDataset,
    *,
    passages: int = PASSAGES,
    variants: Iterable[str] | None = None,
    asks: Asks | None = None,
    models: Mapping[str, str] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Probe:
    """Ask a judge about irrelevant passages and gold texts, plain and changed without a meaning.

    Args:
        judge: whom to ask; what it said before is taken from its store.
        dataset: queries with their gold. Irrelevant to a query are the texts that its gold grades 0
            or below; where it has none, the gold texts of other queries.
        passages: how many irrelevant ones, of as many queries as can be; and of each of these
            queries its best graded gold text.
        variants: which of `VARIANTS` to try; None for all.
        asks: what the judge is asked; None for what its own rubric asks, else ``relevance``.
        models: other models by their part, ``{"reranker": ..., "generator": ...}``, to warn of a
            judge of the same family.
        confidence: that all intervals hold together (Bonferroni).
        resamples: of the bootstrap over queries.
        seed: of what is drawn.

    Raises:
        DataError: no query has a text and an irrelevant passage.
        JudgingError: the budget is used up, or the service refuses everything.
        UsageError: an argument is wrong.
    """
    check_confidence(confidence)
    check_whole("passages", passages)
    check_whole("resamples", resamples, most=MOST_RESAMPLES)  # before anything is asked
    check_whole("seed", seed, least=0)
    asks = asks or judge.asks or "relevance"
    wanted = chosen(variants)
    drawn = irrelevant(dataset, passages, seed, support=asks == "support")
    drawn += own_golds(passage.query for passage in drawn)
    plain_questions = [_question(judge, passage, asks) for passage in drawn]
    why_not = untried([question.rubric for question in plain_questions])
    names = [name for name in wanted if name not in why_not]
    questions: list[Question] = []
    cells: list[tuple[int, int]] = []  # of each question its passage, and 0 or its variant from 1
    for row, (passage, question) in enumerate(zip(drawn, plain_questions)):
        questions.append(question)
        cells.append((row, 0))
        for column, name in enumerate(names, start=1):
            if passage.kind == "irrelevant" or VARIANTS[name].of_gold:
                rng = random.Random(f"{seed} {row}")
                questions.append(VARIANTS[name].change(question, passage.query.text or "", rng))
                cells.append((row, column))
    judged = judge.judge(questions)
    # A grade of None, of a judgement that failed, becomes NaN.
    grades = np.full((len(drawn), 1 + len(names)), np.nan)
    grades[tuple(np.array(cells).T)] = [judgement.score for judgement in judged.judgements]
    asked_of = {
        kind: [row for row, passage in enumerate(drawn) if passage.kind == kind]
        for kind in ("irrelevant", "gold")
    }
    pairs: list[tuple[Kind, int]] = [("irrelevant", column) for column in range(1, 1 + len(names))]
    pairs += [
        ("gold", column)
        for column, name in enumerate(names, start=1)
        if VARIANTS[name].of_gold and asked_of["gold"]
    ]
    together = 1 - (1 - confidence) / (len(pairs) + 1)
    draws = {"confidence": together, "count": resamples, "seed": seed}
    cuts = np.array([question.rubric.match_from for question in plain_questions])
    _, query_rows = np.unique([passage.query.id for passage in drawn], return_inverse=True)
    of_gold = np.array([passage.kind == "gold" for passage in drawn])
    lifts = []
    for kind, column in pairs:
        rows = asked_of[kind]
        lifts.append(
            _lift(
                names[column - 1],
                kind,
                (grades[rows, 0], grades[rows, column]),
                cuts[rows],
                query_rows[rows],
                draws,
            )
        )
    top = max(question.rubric.top for question in plain_questions)
    return Probe(
        baseline=_baseline(grades[:, 0], of_gold, cuts, query_rows, top, draws),
        lifts=tuple(lifts),
        untried={name: why for name, why in why_not.items() if name in wanted},
        origins=Counter(passage.origin for passage in drawn),
        warnings=tuple(
            dict.fromkeys(
                text for member in judge.members for text in kinship(member.model, models or {})
            )
        ),
        settings={
            "model": judge.model,
            "asks": asks,
            "rubric": judge.rubric_id(asks),
            "top": top,
            "variants": names,
            "n_passages": len(asked_of["irrelevant"]),
            "n_queries": len(set(query_rows)),
            "models": dict(models or {}),
            "confidence": confidence,
            "confidence_of_each": together,
            "resamples": resamples,
            "seed": seed,
            "unit": "query",
            "panel": judge.summary(judged.tally).get("panel"),
        },
        judging=judged.tally,
    )


def irrelevant(
    dataset: GoldDataset, count: int, seed: int, *, support: bool = False
) -> list[Passage]:
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
    by_query: list[list[Passage]] = []
    for query in queries:
        graded_0 = [gold.text for gold in query.gold if gold.grade <= 0 and gold.text]
        if graded_0:
            by_query.append([Passage(query, text, "graded 0") for text in graded_0])
            continue
        own = list(map(normalise, gold_texts(query)))
        others = [
            text
            for query_id, text in rng.sample(golds, min(len(golds), 50))
            if query_id != query.id and not _shares(normalise(text), own)
        ]
        by_query.append([Passage(query, text, "gold of another query") for text in others[:3]])
    # The first of every query, then the second of every query that has one, and so on.
    passages = [passage for turn in zip_longest(*by_query) for passage in turn if passage]
    if not passages:
        raise DataError(
            f"{dataset.name}: no query has a text and a passage known to be irrelevant; give gold "
            "texts, of grade 0 or of other queries"
        )
    return passages[:count]


def _shares(text: str, golds: Sequence[str]) -> bool:
    return any(text in gold or gold in text for gold in golds)


def own_golds(queries: Iterable[Query]) -> list[Passage]:
    """Of each query that has one the first of its best graded gold texts."""
    distinct = {query.id: query for query in queries}.values()
    return [
        Passage(query, max(golds, key=lambda gold: gold.grade).text or "", "gold")
        for query in distinct
        if (golds := [gold for gold in query.gold if gold.grade > 0 and (gold.text or "").strip()])
    ]


def _question(judge: Grader, passage: Passage, asks: Asks) -> Question:
    """What is asked of a passage.

    It has no ids: human labels stay out of it, and exports do not show what nobody retrieved.
    """
    query, text = passage.query, passage.text
    if asks == "relevance":
        rubric = judge.rubric_for(asks, query.text or "")
        return Question(rubric, text, query=query.text, reference=query.reference)
    gold = text if passage.kind == "gold" else next(iter(gold_texts(query)))
    return Question(judge.rubric_for(asks, gold), text, gold=gold)


def _baseline(
    grades: Floats,
    of_gold: NDArray[np.bool_],
    cuts: Ints,
    query_rows: NDArray[np.intp],
    top: int,
    draws: Mapping[str, Any],
) -> Baseline:
    """Of (p) plain grades, those of gold marked."""
    known = ~np.isnan(grades)
    scale = np.union1d(np.arange(top + 1.0), grades[known])
    # Sums over queries: how often each grade was given to irrelevant passages and to gold texts.
    terms = np.zeros((query_rows.max() + 1, 2, len(scale)))
    places = np.searchsorted(scale, grades[known])
    np.add.at(terms, (query_rows[known], of_gold[known].astype(int), places), 1)
    counts = terms.sum(0)
    n_irrelevant, n_gold = map(int, counts.sum(1))
    auc = _auc(counts[None])["auc"][0] if n_irrelevant and n_gold else None
    interval = None
    if auc is not None:
        interval = expanded_intervals(terms[terms.any((1, 2))], _auc, **draws)["auc"]
        # Where nothing varies in resamples, as all gold is graded above all else: as a share.
        both = int((terms.sum(2) > 0).all(1).sum())
        if interval is None and both >= LEAST:
            interval = wilson_interval(float(auc), both, draws["confidence"])
    means = ratio(counts @ scale, counts.sum(1))
    match = known & (grades >= cuts)
    return Baseline(
        n_irrelevant,
        n_gold,
        irrelevant=float(means[0]) if n_irrelevant else None,
        gold=float(means[1]) if n_gold else None,
        grades={
            int(grade) if grade == int(grade) else float(grade): (int(irrelevant), int(gold))
            for grade, (irrelevant, gold) in zip(scale, counts.T)
        },
        n_wrong=int((match & ~of_gold).sum()),
        n_recognised=int((match & of_gold).sum()),
        auc=None if auc is None else float(auc),
        interval=interval,
    )


def _auc(sums: Floats) -> dict[str, Floats]:
    """Of (b, 2, l) counts of grades, irrelevant and gold: the area under the ROC curve, (b)."""
    irrelevant, gold = sums[:, 0], sums[:, 1]
    below = np.cumsum(irrelevant, -1) - irrelevant / 2
    return {"auc": ratio((gold * below).sum(-1), gold.sum(-1) * irrelevant.sum(-1))}


def _lift(
    variant: str,
    kind: Kind,
    grades: tuple[Floats, Floats],
    cuts: Ints,
    query_rows: NDArray[np.intp],
    draws: Mapping[str, Any],
) -> Lift:
    plain, changed = grades
    known = ~np.isnan(plain) & ~np.isnan(changed)
    n, n_missing = int(known.sum()), int((~known).sum())
    what = VARIANTS[variant].what
    if not n:
        return Lift(variant, what, kind, 0, n_missing, None, None, None, None, 0, 0, None)
    plain, changed, cuts = plain[known], changed[known], cuts[known]
    _, rows = np.unique(query_rows[known], return_inverse=True)
    terms = np.array([np.bincount(rows, changed - plain), np.bincount(rows)], float).T
    intervals = expanded_intervals(
        terms, lambda sums: {"lift": ratio(sums[:, 0], sums[:, 1])}, **draws
    )
    is_match, becomes_match = plain >= cuts, changed >= cuts
    right = is_match == (kind == "gold")
    fooled = right & (is_match != becomes_match)
    n_right, n_fooled = int(right.sum()), int(fooled.sum())
    n_trials = len(set(rows[right]))
    return Lift(
        variant,
        what,
        kind,
        n,
        n_missing,
        plain=float(plain.mean()),
        changed=float(changed.mean()),
        lift=float(changed.mean()) - float(plain.mean()),
        interval=intervals["lift"],
        n_right=n_right,
        n_fooled=n_fooled,
        fooled=wilson_interval(n_fooled / n_right, n_trials, draws["confidence"])
        if n_right
        else None,
    )

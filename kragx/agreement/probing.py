"""`probe`: how far words that mean nothing move a judge's grade of what is known."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import yaml

from kragx.agreement.gullibility import Probe, baseline_of, lift_of
from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.data import GoldDataset, Query, normalise
from kragx.ground.errors import DataError, UsageError, check_whole, nearest
from kragx.judging import Grader, Question
from kragx.judging.question import gold_texts
from kragx.judging.rubric import Asks

VARIANTS: Mapping[str, str | Mapping[str, str]] = yaml.safe_load(
    Path(__file__).with_name("probes.yaml").read_text(encoding="utf-8")
)
"""What `probe` makes of a passage to raise its grade, by name: for all languages, or for each."""

PASSAGES = 30
"""How many irrelevant passages are probed unless told otherwise."""


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
    n_irrelevant = len(drawn)
    drawn += [*_best_gold(passage.query for passage in drawn)]
    questions = [_question(judge, passage, mode) for passage in drawn]
    changed = [
        # The same source of randomness for each variant: what one draws moves no other.
        _changed(question, passage.query.text or "", name, random.Random(f"{seed} {row}"))
        for name in names
        for row, (question, passage) in enumerate(zip(questions[:n_irrelevant], drawn))
    ]
    judged = judge.judge([*questions, *changed])
    # A grade of None, of a judgement that failed, becomes NaN.
    grades = np.array([judgement.score for judgement in judged.judgements], float)
    plain_grades, changed_grades = np.split(grades, [len(drawn)])
    query = np.unique([passage.query.id for passage in drawn], return_inverse=True)[1]
    cuts = np.array([question.rubric.match_from for question in questions])
    confidence = 1 - (1 - CONFIDENCE) / (len(names) + 1)
    draws = {"confidence": confidence, "count": RESAMPLES, "seed": seed}
    of_gold = np.arange(len(drawn)) >= n_irrelevant
    before = plain_grades[:n_irrelevant]
    return Probe(
        baseline=baseline_of(plain_grades, of_gold, plain_grades >= cuts, query, draws),
        lifts=tuple(
            lift_of(name, np.array([before, after]), cuts, query, draws)
            for name, after in zip(names, changed_grades.reshape(len(names), n_irrelevant))
        ),
        settings={
            "model": judge.model,
            "asks": mode,
            "rubric": judge.rubric_id(mode),
            "variants": names,
            "n_passages": n_irrelevant,
            "n_gold": len(drawn) - n_irrelevant,
            "n_queries": int(query.max()) + 1,
            "confidence": CONFIDENCE,
            "confidence_of_each": confidence,
            "seed": seed,
        },
        judging=judged.tally,
    )


@dataclass(frozen=True)
class JudgedPassage:
    """A text that is known not to answer a query, or (`is_gold`) to answer it."""

    query: Query
    text: str
    is_gold: bool = False


def irrelevant(
    dataset: GoldDataset, count: int, seed: int, *, support: bool = False
) -> list[JudgedPassage]:
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
    by_query = [_irrelevant_to(query, golds, rng) for query in queries]
    # The first of every query, then the second of every query that has one, and so on.
    passages = [passage for turn in zip_longest(*by_query) for passage in turn if passage]
    if not passages:
        raise DataError(
            "{name}: no query has a text and a passage known to be irrelevant; give gold "
            "texts, of grade 0 or of other queries",
            name=dataset.name,
        )
    return passages[:count]


def _irrelevant_to(
    query: Query, golds: Sequence[tuple[str, str]], rng: random.Random
) -> list[JudgedPassage]:
    """What its gold grades 0, else up to three of some 50 gold texts of other queries."""
    texts = [gold.text for gold in query.gold if gold.grade <= 0 and gold.text]
    if texts:
        return [JudgedPassage(query, text) for text in texts]
    own = list(map(normalise, gold_texts(query)))
    passages = [
        JudgedPassage(query, text)
        for query_id, text in rng.sample(golds, min(len(golds), 50))
        if query_id != query.id
        and not any(gold in normalise(text) or normalise(text) in gold for gold in own)
    ]
    return passages[:3]


def _best_gold(queries: Iterable[Query]) -> Iterator[JudgedPassage]:
    """Of each query that has one the first of its best graded gold texts."""
    for query in {query.id: query for query in queries}.values():
        golds = [gold for gold in query.gold if gold.grade > 0 and (gold.text or "").strip()]
        if golds:
            best = max(golds, key=lambda gold: gold.grade)
            yield JudgedPassage(query, best.text or "", is_gold=True)


def _question(judge: Grader, passage: JudgedPassage, mode: Asks) -> Question:
    """What is asked of a passage.

    It has no ids: human labels stay out of it, and exports do not show what nobody retrieved.
    """
    query, text = passage.query, passage.text
    if mode == "relevance":
        rubric = judge.rubric_for(mode, query.text or "")
        return Question(rubric, text, query=query.text, reference=query.reference)
    gold = text if passage.is_gold else gold_texts(query)[0]
    return Question(judge.rubric_for(mode, gold), text, gold=gold)


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

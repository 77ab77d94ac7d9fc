"""The pairs that people label: from where, which are drawn, and the file that keeps them."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby
from math import floor, fsum
from pathlib import Path
from typing import Any, Unpack

from kragx.agreement.label_files import Pair, asked_in, check_choice, document_name, grades_by
from kragx.comparison.statistics import SEED
from kragx.data import Doc, GoldDataset, Run
from kragx.data.formats.jsonl import write_records
from kragx.ground.errors import DataError, check_whole
from kragx.judging import Store
from kragx.judging.examples import SAMPLED, read_sampled, sample_path
from kragx.judging.question import gold_texts
from kragx.judging.store import Address
from kragx.judging.store.qrels import Choice

PAIRS = 50
"""How many pairs are drawn unless told otherwise: about a quarter of an hour's work."""

_RANKS = (1, 3, 10)  # strata of rank: 1, 2-3, 4-10, deeper


@dataclass(frozen=True)
class PairToLabel:
    """A pair that could be labelled.

    Attributes:
        query_id, document_id: as the labels will name it.
        query: what the document is judged against: the question (or, if the judge was asked for
            support, the gold texts).
        document: the passage.
        rank: the best rank at which it was retrieved; None if that is not known.
        grade: the judge's; None if it has none. It decides what is drawn and is never shown.
    """

    query_id: str
    document_id: str
    query: str
    document: str
    rank: int | None = None
    grade: float | None = None

    @property
    def ids(self) -> Pair:
        """What names it."""
        return self.query_id, self.document_id


@dataclass(frozen=True)
class Sample:
    """What is to be labelled, in the order in which it is shown.

    Attributes:
        items: without the judge's grades and ranks, so that nobody who labels can see them.
        settings: how they were drawn.
    """

    items: tuple[PairToLabel, ...]
    settings: Mapping[str, Any]

    def write(self, path: Path) -> None:
        """Write it as JSON Lines: the settings, then an item a line."""
        records = ({name: getattr(pair, name) for name in SAMPLED} for pair in self.items)
        write_records([{"sample": self.settings}, *records], path)


def read_sample(path: Path) -> Sample:
    """Read what `Sample.write` wrote.

    Raises:
        DataError: it is no such file.
    """
    settings, rows = read_sampled(path)
    if not rows:
        raise DataError("the sample is empty; remove the file to draw anew", path=str(path))
    return Sample(tuple(PairToLabel(*row) for row in rows), settings)


def draw(
    candidates: Sequence[PairToLabel],
    pairs: int = PAIRS,
    *,
    queries: int | None = None,
    asks: str = "relevance",
    seed: int = SEED,
    weights: Mapping[str, float] | None = None,
) -> Sample:
    """Draw pairs to label.

    Each combination of the judge's grade and band of ranks (1, 2-3, 4-10, deeper) gets the same
    number as far as it has them, so that rare grades are seen; within one, pairs come from as many
    queries as can be. The order shown is random.

    Args:
        candidates: what could be labelled.
        pairs: how many; all, if there are not so many.
        queries: instead, draw so many whole queries, as corrected metrics need them. Each one's
            chance is recorded (``chances``), and `weights` of all that could be drawn.
        asks: what is labelled, ``relevance`` or ``support``; recorded.
        seed: the same candidates and seed give the same sample.
        weights: of whole queries, how many asks each stands for, to which chances are in
            proportion; None for equal chances.

    Raises:
        DataError: there is nothing to draw, or an id cannot stand in qrels.
        UsageError: a number is not above 0.
    """
    check_whole("pairs", pairs)
    check_whole("queries", 1 if queries is None else queries)
    _check_ids(candidates)
    # Files list pairs in any order; the same pairs and seed are to give the same sample.
    ordered = sorted(candidates, key=lambda pair: pair.ids)
    rng = random.Random(seed)
    chances: dict[str, Mapping[str, float]] = {}
    if queries is None:
        drawn = _stratified(ordered, pairs, rng)
    else:
        drawn, chances["chances"] = _whole_queries(ordered, queries, rng, weights)
        if weights is not None:
            chances["weights"] = {pair.query_id: weights[pair.query_id] for pair in ordered}
    return Sample(
        # Blind: neither the judge's grade nor the rank goes into what people are shown.
        tuple(replace(pair, grade=None, rank=None) for pair in drawn),
        {
            "design": "queries" if queries else "stratified",
            "asks": asks,
            "seed": seed,
            "wanted": pairs if queries is None else queries,
            "drawn": len(drawn),
            "candidates": len(ordered),
            **chances,
        },
    )


def _check_ids(candidates: Sequence[PairToLabel]) -> None:
    if not candidates:
        raise DataError("there is no pair to label: nothing was retrieved or judged")
    for pair in candidates:
        for name in pair.ids:
            if not name or name.split() != [name] or pair.query_id.startswith("#"):
                raise DataError(
                    "the id {name!r} cannot stand in qrels: it is empty, holds white space, or "
                    "is a query id that begins with #",
                    name=name,
                )


def _whole_queries(
    ordered: Sequence[PairToLabel],
    queries: int,
    rng: random.Random,
    weights: Mapping[str, float] | None,
) -> tuple[list[PairToLabel], dict[str, float]]:
    """All pairs of the queries that are drawn, and the chance of each of these."""
    groups = groupby(ordered, key=lambda pair: pair.query_id)
    by_query = {query_id: list(pairs) for query_id, pairs in groups}
    names = list(by_query)
    sizes = [1.0 if weights is None else weights[name] for name in names]
    rows, chances = drawn_in_proportion(sizes, queries, rng)
    drawn = {names[row]: chances[row] for row in rows}
    # One query after the other: reading its question once is enough.
    shuffled = (rng.sample(by_query[name], len(by_query[name])) for name in drawn)
    return list(chain.from_iterable(shuffled)), drawn


def drawn_in_proportion(
    sizes: Sequence[float], n: int, rng: random.Random, *, strata: Sequence[int] | None = None
) -> tuple[list[int], list[float]]:
    """Draw n of some units without replacement, each with a chance in proportion to its size.

    Systematic sampling of a random order: chances are exactly min(1, c size), and their sum is n;
    where no more than n units have a size, all of these are drawn.

    Args:
        sizes: of all units, 0 or more.
        n: how many are drawn.
        rng: decides.
        strata: of each unit the part that it belongs to; each part gets its share, but for
            rounding. No chance depends on it.

    Returns:
        Which were drawn, in random order, and the chance of every unit.

    Source: H. O. Hartley, J. N. K. Rao, Sampling with unequal probabilities and without
    replacement, The Annals of Mathematical Statistics 33, 1962.
    """
    # What nobody asks has no chance, and cannot be weighted by one.
    certain = {row for row, size in enumerate(sizes) if size > 0}
    scale = 0.0
    if n < len(certain):
        certain, total = set[int](), fsum(sizes)
        # What is so large that it comes for sure leaves fewer places to the others.
        for row in sorted(range(len(sizes)), key=lambda row: -sizes[row]):
            if sizes[row] * (n - len(certain)) < total:
                break
            certain.add(row)
            total -= sizes[row]
        scale = (n - len(certain)) / total
    chances = [1.0 if row in certain else scale * size for row, size in enumerate(sizes)]
    order = rng.sample(range(len(sizes)), len(sizes))
    if strata is not None:
        order.sort(key=strata.__getitem__)
    # Whoever stands where the sum of the chances passes a whole number, from a random start.
    sums = list(accumulate((chances[row] for row in order), initial=rng.random()))
    drawn = [
        row
        for row, start, end in zip(order, sums, sums[1:])
        if row in certain or floor(end) > floor(start)
    ]
    rng.shuffle(drawn)
    return drawn, chances


def _stratified(
    ordered: Sequence[PairToLabel], pairs: int, rng: random.Random
) -> list[PairToLabel]:
    def stratum_of(pair: PairToLabel) -> tuple[float, int]:
        band = 0 if pair.rank is None else 1 + sum(pair.rank > last for last in _RANKS)
        return -1 if pair.grade is None else pair.grade, band

    by_stratum = groupby(sorted(ordered, key=stratum_of), key=stratum_of)
    strata = [list(stratum) for _, stratum in by_stratum]
    for stratum in strata:
        rng.shuffle(stratum)
    used: Counter[str] = Counter()
    drawn: list[PairToLabel] = []
    while strata and len(drawn) < pairs:
        # One from each stratum in turn, so that none gets more than another before it is used up.
        for stratum in rng.sample(strata, len(strata))[: pairs - len(drawn)]:
            pair = min(stratum, key=lambda pair: used[pair.query_id])
            stratum.remove(pair)
            used[pair.query_id] += 1
            drawn.append(pair)
        strata = [stratum for stratum in strata if stratum]
    rng.shuffle(drawn)
    return drawn


def drawing_of(labels: object) -> Mapping[str, Any]:
    """How `kragx judge label` drew a file of labels; nothing where it did not."""
    if isinstance(labels, (str, Path)) and (path := sample_path(Path(labels))).is_file():
        return read_sample(path).settings
    return {}


def from_run(
    dataset: GoldDataset, run: Run, depth: int, *, asks: str = "relevance"
) -> list[PairToLabel]:
    """What a run retrieved, down to a rank.

    Args:
        dataset: the queries.
        run: what was retrieved for them.
        depth: the last rank.
        asks: ``relevance``; or ``support``, where documents are labelled against the query's gold
            texts instead of the question, and queries without any are left out.

    Raises:
        DataError: a query or a document has no text.
    """
    pairs: dict[Pair, PairToLabel] = {}
    for query in dataset:
        texts = gold_texts(query) if asks == "support" else [query.text or ""]
        result, against = run.results.get(query.id), "\n\n".join(dict.fromkeys(texts))
        docs = result.documents[:depth] if result else ()
        if docs and not against:
            if asks == "support":
                continue
            raise DataError(
                "query {id!r} has no text, and nobody can judge relevance to it; add "
                "'query' to the results file",
                id=query.id,
            )
        for rank, doc in enumerate(docs, start=1):
            if doc.text is None:
                raise DataError(
                    "query {id!r}, document {id_2!r} has no text to read; a results file "
                    "with texts is needed, a TREC run has none",
                    id=query.id,
                    id_2=doc.id,
                )
            pair = PairToLabel(query.id, document_name(doc), against, doc.text, rank)
            pairs.setdefault(pair.ids, pair)
    return list(pairs.values())


def from_store(address: str | Path | Address, **choice: Unpack[Choice]) -> list[PairToLabel]:
    """What a judge was asked, with its grade; what failed has none and may be drawn all the same.

    Raises:
        DataError: the store holds no such question.
        UsageError: an option does not fit, or the store holds grades of several kinds.
    """
    check_choice(choice)
    documents: dict[Pair, str] = {}
    against: dict[Pair, dict[str, None]] = {}  # in order, each text once
    with Store(address, make=False) as store:
        mode = choice.get("asks") or asked_in(store)
        grades = grades_by(store, choice)
        for record in store.records():
            question = record["question"] or {}
            if question.get("asks") == mode:
                text = question["query"] if mode == "relevance" else question["gold"]
                for pair in map(tuple, record["pairs"]):
                    documents.setdefault(pair, question["document"])
                    against.setdefault(pair, {})[text or ""] = None
    return [
        PairToLabel(*pair, "\n\n".join(against[pair]), document, grade=grades.get(pair))
        for pair, document in documents.items()
    ]


def with_grades(pairs: Iterable[PairToLabel], graded: Iterable[PairToLabel]) -> list[PairToLabel]:
    """Pairs with the grades that a store has for them: by ids, else by their text."""
    grades: dict[Pair, float | None] = {}
    for pair in graded:
        grades[pair.ids] = grades[_by_text(pair)] = pair.grade
    return [replace(pair, grade=grades.get(pair.ids, grades.get(_by_text(pair)))) for pair in pairs]


def _by_text(pair: PairToLabel) -> Pair:
    return pair.query_id, document_name(Doc(text=pair.document))

"""Drawing pairs for people to label, from what was retrieved or judged."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kragx.agreement.labels import Pair, asked_in, document_name
from kragx.comparison.statistics import SEED
from kragx.data.formats.jsonl import open_text, read_records, to_json
from kragx.data.gold import GoldDataset
from kragx.data.runs import Run
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError
from kragx.judging.question import key_of

PAIRS = 50
"""How many pairs are drawn unless told otherwise: about a quarter of an hour's work."""

_RANKS = (1, 3, 10)  # strata of rank: 1, 2-3, 4-10, deeper


@dataclass(frozen=True)
class Candidate:
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
    grade: int | None = None

    @property
    def pair(self) -> Pair:
        """The ids."""
        return self.query_id, self.document_id


@dataclass(frozen=True)
class Sample:
    """What is to be labelled, in the order in which it is shown.

    Attributes:
        items: without the judge's grades and ranks, so that nobody who labels can see them.
        settings: how they were drawn.
    """

    items: tuple[Candidate, ...]
    settings: Mapping[str, Any]

    def write(self, path: Path) -> None:
        """Write it as JSON Lines: the settings, then an item a line."""
        with open_text(path) as file:
            file.write(to_json({"sample": dict(self.settings)}) + "\n")
            for each in self.items:
                fields = asdict(each)
                file.write(to_json({name: fields[name] for name in _SHOWN}) + "\n")


_SHOWN = ("query_id", "document_id", "query", "document")


def read_sample(path: Path) -> Sample:
    """Read what `Sample.write` wrote.

    Raises:
        DataError: it is no such file.
    """
    settings: Mapping[str, Any] | None = None
    items = []
    for number, record in read_records(path, Mender()):
        if settings is None:
            settings = record.get("sample")
            if not isinstance(settings, dict):
                raise DataError(f"{path}:{number}: not a sample that kragx judge label has drawn")
            continue
        try:
            query_id, document_id, query, document = (str(record[name]) for name in _SHOWN)
            items.append(Candidate(query_id, document_id, query, document))
        except KeyError as error:
            raise DataError(f"{path}:{number}: {error} is missing") from None
    if settings is None or not items:
        raise DataError(f"{path}: the sample is empty; remove the file to draw anew")
    return Sample(tuple(items), settings)


def from_run(
    dataset: GoldDataset, run: Run, depth: int, *, asks: str = "relevance"
) -> list[Candidate]:
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
    found: dict[Pair, Candidate] = {}
    for query in dataset:
        result = run.results.get(query.id)
        for rank, doc in enumerate(result.documents[:depth] if result else (), start=1):
            if asks == "support":
                golds = (gold.text for gold in query.gold if gold.grade > 0 and gold.text)
                against = "\n\n".join(dict.fromkeys(golds))
                if not against:
                    break
            else:
                against = query.text or ""
            if not against:
                raise DataError(
                    f"query {query.id!r} has no text, and nobody can judge relevance to it; add "
                    "'query' to the results file"
                )
            if doc.text is None:
                raise DataError(
                    f"query {query.id!r}, document {doc.id!r} has no text to read; a results file "
                    "with texts is needed, a TREC run has none"
                )
            item = Candidate(query.id, document_name(doc), against, doc.text, rank)
            found.setdefault(item.pair, item)
    return list(found.values())


def from_store(
    path: str | Path,
    *,
    asks: str | None = None,
    model: str | None = None,
    rubric: str | None = None,
) -> list[Candidate]:
    """What a judge was asked, with its grade; what failed has none and may be drawn all the same.

    Raises:
        DataError: the store holds no such question.
        UsageError: an option does not fit, or the store holds grades of several kinds.
    """
    from kragx.judging import Store
    from kragx.judging.exchange import grades

    with Store(path) as store:
        asked = asks or asked_in(store)
        known = grades(store, asks=asked, model=model, rubric=rubric, human=False)
        texts: dict[Pair, tuple[dict[str, None], str]] = {}
        for record in store.records():
            question = record["question"]
            if question is None or question["asks"] != asked:
                continue
            against = question["query"] if asked == "relevance" else question["gold"]
            for query_id, document_id in record["pairs"]:
                wanted, _ = texts.setdefault((query_id, document_id), ({}, question["document"]))
                wanted[against or ""] = None
    return [
        Candidate(*pair, "\n\n".join(wanted), document, grade=known.get(pair))
        for pair, (wanted, document) in texts.items()
    ]


def with_grades(candidates: Iterable[Candidate], graded: Iterable[Candidate]) -> list[Candidate]:
    """Candidates with the grades that a store has for them: by ids, else by their text."""
    by_pair: dict[Pair, int | None] = {}
    for each in graded:
        by_pair[each.pair] = each.grade
        by_pair[each.query_id, f"text-{key_of(each.document)[:16]}"] = each.grade
    return [
        replace(
            each,
            grade=by_pair.get(
                each.pair, by_pair.get((each.query_id, f"text-{key_of(each.document)[:16]}"))
            ),
        )
        for each in candidates
    ]


def draw(
    candidates: Sequence[Candidate],
    pairs: int = PAIRS,
    *,
    queries: int | None = None,
    stratified: bool = True,
    asks: str = "relevance",
    seed: int = SEED,
) -> Sample:
    """Draw pairs to label.

    Stratified, each combination of the judge's grade and band of ranks (1, 2-3, 4-10, deeper) gets
    the same number as far as it has them, so that rare grades are seen; within one, pairs come from
    as many queries as can be. The order shown is random.

    Args:
        candidates: what could be labelled.
        pairs: how many; all, if there are not so many.
        queries: instead, draw so many whole queries, as corrected metrics need them.
        stratified: False draws pairs with equal chances.
        asks: what is labelled, ``relevance`` or ``support``; recorded.
        seed: the same candidates and seed give the same sample.

    Raises:
        DataError: there is nothing to draw, or an id cannot stand in qrels.
        UsageError: a number is not above 0.
    """
    for name, value in (("pairs", pairs), ("queries", queries)):
        if value is not None and (isinstance(value, bool) or value < 1):
            raise UsageError(f"{name}: {value!r} is not a whole number above 0")
    if not candidates:
        raise DataError("there is no pair to label: nothing was retrieved or judged")
    for each in candidates:
        for name in each.pair:
            if not name or name.split() != [name] or each.query_id.startswith("#"):
                raise DataError(
                    f"the id {name!r} cannot stand in qrels: it is empty, holds white space, or "
                    "is a query id that begins with #"
                )
    ordered = sorted(candidates, key=lambda each: each.pair)
    rng = random.Random(seed)
    if queries is not None:
        ids = sorted({each.query_id for each in ordered})
        chosen_ids = rng.sample(ids, min(queries, len(ids)))
        # One query after the other: reading its question once is enough.
        chosen = []
        for query_id in chosen_ids:
            of_query = [each for each in ordered if each.query_id == query_id]
            rng.shuffle(of_query)
            chosen += of_query
    elif stratified:
        chosen = _stratified(ordered, pairs, rng)
        rng.shuffle(chosen)
    else:
        chosen = rng.sample(ordered, min(pairs, len(ordered)))
    design = "queries" if queries is not None else "stratified" if stratified else "random"
    return Sample(
        tuple(replace(each, grade=None, rank=None) for each in chosen),
        {
            "design": design,
            "asks": asks,
            "seed": seed,
            "wanted": pairs if queries is None else queries,
            "drawn": len(chosen),
            "candidates": len(ordered),
        },
    )


def _stratified(ordered: Sequence[Candidate], pairs: int, rng: random.Random) -> list[Candidate]:
    strata: dict[tuple[int, int], list[Candidate]] = defaultdict(list)
    for each in ordered:
        band = 0 if each.rank is None else 1 + sum(each.rank > last for last in _RANKS)
        strata[-1 if each.grade is None else each.grade, band].append(each)
    used: dict[str, int] = defaultdict(int)
    waiting = [strata[key] for key in sorted(strata)]
    for stratum in waiting:
        rng.shuffle(stratum)
    chosen: list[Candidate] = []
    while waiting and len(chosen) < pairs:
        # One from each stratum in turn, so that none gets more than another before it is used up.
        for stratum in rng.sample(waiting, len(waiting)):
            if len(chosen) == pairs:
                break
            at = min(range(len(stratum)), key=lambda at: used[stratum[at].query_id])
            item = stratum.pop(at)
            used[item.query_id] += 1
            chosen.append(item)
        waiting = [stratum for stratum in waiting if stratum]
    return chosen


def sample_path(qrels: Path) -> Path:
    """Where the sample of a label file is kept: beside it, as ``human.qrels.sample.jsonl``."""
    return qrels.with_name(qrels.name + ".sample.jsonl")


__all__ = [
    "Candidate",
    "Sample",
    "draw",
    "from_run",
    "from_store",
    "read_sample",
    "sample_path",
    "with_grades",
]

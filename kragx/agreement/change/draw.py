"""The questions whose labels can change a difference, in an order drawn by lot.

What two lists of a question can differ by follows from the relevant documents that are known.
"""

from __future__ import annotations

import hashlib
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain
from math import fsum
from pathlib import Path
from typing import Any, Self

import numpy as np

from kragx.agreement.label_files import document_name
from kragx.comparison.lists import ListDiff, QuestionDiff
from kragx.data import Doc
from kragx.data.formats.jsonl import write_records
from kragx.data.text import composed
from kragx.ground.errors import DataError, UsageError
from kragx.judging.rubric import canonical_json, key_of
from kragx.metrics import Floats, parse

Relevance = Mapping[str, bool]
"""Whether documents are relevant, by their names; who is missing is not known."""

Credits = Mapping[str, tuple[float, float]]
"""What each document is worth in an old list and a new one."""

_FIRST = ("hit_rate", "mrr")  # of the first relevant document alone
_POOLED = ("recall", "ndcg")  # over all that is relevant: of what is known, that is
LABELLED = ("precision", *_FIRST, *_POOLED)
"""Metrics whose differences people can label, in which a document is relevant or is not."""


@dataclass(frozen=True)
class LabelledMetric:
    """A metric whose difference is labelled.

    Attributes:
        name: of the metric, one of `LABELLED`.
        k: its cut-off.
    """

    name: str
    k: int

    @classmethod
    def of(cls, text: str) -> Self:
        """The metric of a text.

        Raises:
            UsageError: it has no cut-off, options, or is made of more than relevant documents.
        """
        spec = parse(text)
        if (
            spec.name not in LABELLED
            or not isinstance(spec.k, int)
            or str(spec) != f"{spec.name}@{spec.k}"
        ):
            raise UsageError(
                "{text!r} cannot be labelled",
                field="--metric",
                remedy="name one of {names} with a cut-off and without options, as in ndcg@5",
                text=text,
                names=", ".join(LABELLED),
            )
        return cls(spec.name, spec.k)

    @property
    def is_pooled(self) -> bool:
        """Whether it is a share of all relevant documents, of which the known ones are taken."""
        return self.name in _POOLED

    def credit(self, rank: int | None) -> float:
        """What a document at a rank adds, or for `hit_rate` and `mrr` is worth as the first."""
        if rank is None:
            return 0.0
        match self.name:
            case "precision":
                return 1.0 / self.k
            case "mrr":
                return 1.0 / rank
            case "ndcg":
                return float(1.0 / np.log2(1.0 + rank))
        return 1.0

    def whole(self, n_relevant: int) -> float:
        """What the sums of credits are divided by, of so many relevant documents."""
        if self.name == "precision":
            return 1.0
        if self.name == "ndcg":
            return sum(map(self.credit, range(1, 1 + min(n_relevant, self.k)))) or 1.0
        return float(n_relevant or 1)

    def credits(self, old: Sequence[str], new: Sequence[str]) -> Credits:
        """What each document is worth in the old list and the new, by the better of its ranks.

        Those within the cut-off, by the better of their ranks; one that is repeated keeps its rank
        and counts once.
        """
        # Backwards, so that of a repeated document the first rank is left.
        in_old, in_new = (
            {doc: rank for rank, doc in reversed([*enumerate(docs[: self.k], 1)])}
            for docs in (old, new)
        )
        ranks = {doc: (in_old.get(doc), in_new.get(doc)) for doc in in_old | in_new}
        order = sorted(ranks, key=lambda doc: (min(filter(None, ranks[doc])), doc))
        return {doc: (self.credit(ranks[doc][0]), self.credit(ranks[doc][1])) for doc in order}

    def wanted(self, worth: Credits, labels: Relevance) -> tuple[str, ...]:
        """The documents to be labelled next; none where no label can change the difference.

        What came or went comes first; what stayed follows where that leaves the difference open.
        Where the first relevant document decides alone they are asked for one by one.
        """
        low, high = self.bounds(worth, labels)
        if low == high:
            return ()
        unknown = {doc: pair for doc, pair in worth.items() if doc not in labels}
        if self.name not in _FIRST:
            return tuple(doc for doc, (old, new) in unknown.items() if old != new) or (*unknown,)
        best = _best(worth, labels)
        telling = [doc for doc, pair in unknown.items() if any(map(operator.gt, pair, best))]
        if self.name == "mrr":
            return tuple(telling[:1])
        return tuple([doc for doc in telling if 0.0 in unknown[doc]] or telling[:1])

    def bounds(self, worth: Credits, labels: Relevance) -> tuple[float, float]:
        """The least and the greatest difference, new minus old, that the unknown labels leave.

        They are alike where no label can change it.
        """
        unknown = [pair for doc, pair in worth.items() if doc not in labels]
        if self.name in _FIRST:
            # One relevant document more makes either extreme: the one that is a list's first.
            best_old, best_new = _best(worth, labels)
            values = [max(best_new, new) - max(best_old, old) for old, new in [(0, 0), *unknown]]
            return min(values), max(values)
        relevant = [new - old for doc, (old, new) in worth.items() if labels.get(doc)]
        gains = sorted(new - old for old, new in unknown)
        # However many of the unknown are relevant: at the worst those that gain least, at the best
        # those that gain most.
        n_relevant = range(len(relevant), len(relevant) + len(gains) + 1)
        wholes = [self.whole(n) for n in n_relevant]
        sums = (sum(relevant) + np.cumsum([0.0, *order]) for order in (gains, gains[::-1]))
        lowest, highest = (totals / wholes for totals in sums)
        low, high = float(lowest.min()), float(highest.max())
        return (low, high) if high - low > 1e-12 else (low, low)

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"


def _best(worth: Credits, labels: Relevance) -> tuple[float, float]:
    """The credit of the first relevant document that is known, in either list."""
    relevant = [pair for doc, pair in worth.items() if labels.get(doc)]
    old, new = map(max, zip((0.0, 0.0), *relevant))
    return old, new


@dataclass(frozen=True)
class LotQuestion:
    """A question that was drawn.

    Attributes:
        query_id: which.
        weight: how many asks it stands for.
        old, new: the names of its documents.
        most: the greatest difference possible, weighted, whatever its sign.
        chance: that it came next, when it did: `most` over the sum of those that were left.
    """

    query_id: str
    weight: float
    old: tuple[str, ...]
    new: tuple[str, ...]
    most: float = 0.0
    chance: float = 0.0


@dataclass(frozen=True)
class Lot:
    """What is labelled, in the order drawn, and what the difference is made of beside it.

    Attributes:
        old, new: what the versions are called.
        metric: whose difference is wanted.
        n_questions: how many questions have two lists.
        n_left_out: how many have not, as a version failed or was not asked.
        left_out_share: how many of all asks these stand for.
        is_sample: whether the questions were themselves drawn from more.
        asks: how many asks they stand for.
        seed: of the draw.
        questions: those whose difference is open, in the order drawn.
        lists_hash: tells these lists, weights and known labels from others.
    """

    old: str
    new: str
    metric: LabelledMetric
    n_questions: int
    n_left_out: int
    left_out_share: float
    is_sample: bool
    asks: float
    seed: int
    questions: tuple[LotQuestion, ...]
    lists_hash: str

    @cached_property
    def most(self) -> Floats:
        """(n) the greatest weighted difference of each question drawn."""
        return np.array([question.most for question in self.questions], np.float64)

    @property
    def record(self) -> dict[str, Any]:
        """What holds for all of it, in plain values; equal lots have equal ones."""
        record = {**asdict(self), "metric": str(self.metric)}
        order = [question["query_id"] for question in record.pop("questions")]
        return {"lot": {**record, "order_hash": key_of(canonical_json(order))[:16]}}

    def write(self, path: Path) -> None:
        """Write it as JSON Lines: what holds for all, then a question a line, in its order."""
        part = path.with_name(f"{path.name}.part")
        write_records([self.record, *map(asdict, self.questions)], part)
        part.replace(path)  # so that there is all of it, or none


def draw_lot(
    diff: ListDiff, metric: LabelledMetric, *, seed: int = 0
) -> tuple[Lot, dict[str, Doc]]:
    """Draw the order in which questions are labelled, and name their documents.

    One question after the other is drawn from those that are left, with a chance proportional to
    its weight times the greatest difference that its labels can make.

    Args:
        diff: the two versions. Questions that failed in one of them are left out.
        metric: whose difference is wanted.
        seed: the same lists and seed give the same order.

    Returns:
        The lot, and the documents to be labelled by their names, without what could tell the side.

    Raises:
        DataError: a document that is to be read has no text, or a version returned nothing at all.
    """
    for side in ("old", "new"):
        if not any(getattr(question, side) for question in diff.questions):
            raise DataError(
                "{name} returned nothing for any question",
                remedy="there is nothing to label; see why it did not answer",
                name=getattr(diff, side),
            )
    pairs, docs = _named(diff, metric.k)
    questions: list[LotQuestion] = []
    names_to_read = set[str]()
    digest = hashlib.sha256()
    for diffed, question in pairs:
        worth = metric.credits(question.old, question.new)
        size = question.weight * max(map(abs, metric.bounds(worth, {})))
        texts: list[str | None] = []
        if size:  # else no label can change a difference of 0
            if not diffed.query.text:
                raise DataError(
                    "the question {id!r} has no text, and nobody can judge for it",
                    remedy="add 'query' to the results file",
                    id=question.query_id,
                )
            questions.append(replace(question, most=size))
            names_to_read.update(worth)
            texts = [diffed.query.text, *(docs[doc].text for doc in worth)]
        digest.update(canonical_json([*vars(question).values(), *texts]).encode())
    asks = fsum(question.weight for _, question in pairs)
    all_asks = fsum(question.weight for question in diff.questions)
    lot = Lot(
        diff.old,
        diff.new,
        metric,
        len(pairs),
        len(diff.questions) - len(pairs),
        1 - asks / all_asks if all_asks else 0.0,
        any(question.query.inclusion < 1 for question in diff.questions),
        asks,
        seed,
        tuple(_in_order(questions, seed)),
        digest.hexdigest()[:16],
    )
    return lot, _readable(docs, names_to_read)


def _in_order(questions: Sequence[LotQuestion], seed: int) -> Iterator[LotQuestion]:
    sizes = np.array([question.most for question in questions], np.float64)
    # Who waits an exponential time with a rate proportional to its size comes first with a chance
    # proportional to it, and so do those that are left.
    order = np.argsort(np.random.default_rng(seed).exponential(size=len(sizes)) / sizes)
    remaining = np.cumsum(sizes[order][::-1])[::-1]
    for place, total in zip(order, remaining):
        yield replace(questions[place], chance=float(min(1.0, sizes[place] / total)))


def _named(diff: ListDiff, k: int) -> tuple[list[tuple[QuestionDiff, LotQuestion]], dict[str, Doc]]:
    """The questions with two lists, down to a rank with their documents by name; and the documents.

    Names are the same for the same, and tell no side: where ids do not meet, or one stands for
    several texts, a hash of id and text is the name, as ids may tell a chunking.
    """
    lists = [[(docs or ())[:k] for docs in (diffed.old, diffed.new)] for diffed in diff.questions]
    texts: defaultdict[str | None, set[str | None]] = defaultdict(set)
    for doc in chain.from_iterable(chain.from_iterable(lists)):
        texts[doc.id].add(composed(doc.text))
    docs_by_name: dict[str, Doc] = {}

    def named(docs: Iterable[Doc]) -> tuple[str, ...]:
        names: list[str] = []
        for doc in docs:
            text = composed(doc.text)
            if diff.is_exact and (not doc.id or len(texts[doc.id]) == 1):
                names.append(document_name(replace(doc, text=text)))
            else:
                names.append(f"text-{key_of(canonical_json([doc.id, text]))[:16]}")
            docs_by_name.setdefault(names[-1], doc)
        return tuple(names)

    return [
        (diffed, LotQuestion(diffed.query.id, diffed.weight, named(old), named(new)))
        for diffed, (old, new) in zip(diff.questions, lists)
        if diffed.is_known
    ], docs_by_name


def _readable(docs: Mapping[str, Doc], names: Iterable[str]) -> dict[str, Doc]:
    """The documents of some names, as people read them.

    Raises:
        DataError: one has no text.
    """
    readable: dict[str, Doc] = {}
    for name in sorted(names):
        if docs[name].text is None:
            raise DataError(
                "the document {name!r} has no text to read",
                remedy="compare results files that have texts",
                name=name,
            )
        title = (docs[name].metadata or {}).get("title")
        readable[name] = Doc(name, docs[name].text, {"title": title} if title else {})
    return readable

"""The questions whose labels can change a difference, in an order drawn by lot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kragx.agreement.change.credit import LabelledMetric, Labels, TwoLists
from kragx.agreement.label_files import document_name
from kragx.comparison.lists import ListDiff, QuestionDiff
from kragx.data import Doc, Gold, GoldDataset, Query
from kragx.data.documents import normal_form
from kragx.data.formats.jsonl import write_records
from kragx.errors import DataError
from kragx.judging.keys import canonical_json, key_of
from kragx.metrics.match_table import Floats


@dataclass(frozen=True)
class LotQuestion:
    """A question that was drawn.

    Attributes:
        query_id: which.
        weight: how many asks it stands for.
        old, new: the names of its documents.
        known: labels that were known before.
        beyond: how many relevant documents were known that neither list has.
        most: the greatest difference possible, weighted, whatever its sign.
        chance: that it came next, when it did: `most` over the sum of those that were left.
    """

    query_id: str
    weight: float
    old: tuple[str, ...]
    new: tuple[str, ...]
    known: Labels = field(default_factory=dict)
    beyond: int = 0
    most: float = 0.0
    chance: float = 0.0

    def lists(self, metric: LabelledMetric) -> TwoLists:
        """Both lists, as a metric sees them."""
        return TwoLists(metric, self.old, self.new, self.beyond)


@dataclass(frozen=True)
class Lot:
    """What is labelled, in the order drawn, and what the difference is made of beside it.

    Attributes:
        old, new: what the versions are called.
        metric: whose difference is wanted.
        n_questions: how many questions have two lists.
        n_left_out: how many have not, as a version failed or was not asked.
        is_sample: whether the questions were themselves drawn from more.
        asks: how many asks they stand for.
        settled: the sum of the weighted differences that needed no label; 0 without known ones.
        seed: of the draw.
        questions: those whose difference is open, in the order drawn.
        lists_hash: tells these lists, weights and known labels from others.
    """

    old: str
    new: str
    metric: LabelledMetric
    n_questions: int
    n_left_out: int
    is_sample: bool
    asks: float
    settled: float
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
        write_records([self.record, *map(asdict, self.questions)], path)


def draw_lot(
    diff: ListDiff, metric: LabelledMetric, *, gold: GoldDataset | None = None, seed: int = 0
) -> tuple[Lot, dict[str, Doc]]:
    """Draw the order in which questions are labelled, and name their documents.

    One question after the other is drawn from those that are left, with a chance proportional to
    its weight times the greatest difference that its labels can make.

    Args:
        diff: the two versions. Questions that failed in one of them are left out.
        metric: whose difference is wanted.
        gold: labels that are known: graded above 0 is relevant, at or below 0 is not. What it does
            not name is labelled.
        seed: the same lists and seed give the same order.

    Returns:
        The lot, and the documents to be labelled by their names, without what could tell the side.

    Raises:
        DataError: a document that is to be read has no text.
    """
    named = _Named(diff, metric.k)
    known = {} if gold is None else {query.id: query for query in gold}
    pairs = [
        (question, named.question(question, known.get(question.query.id)))
        for question in diff.questions
        if question.is_known
    ]
    settled, open_questions, needed = 0.0, [], set[str]()
    for diffed, question in pairs:
        lists = question.lists(metric)
        low, high = lists.bounds(question.known)
        most = question.weight * max(abs(low), abs(high))
        if low == high or not most:
            settled += question.weight * low
            continue
        open_questions.append((question, most))
        needed.update(lists.documents)
        _check_text(diffed.query)
    questions = _ordered(open_questions, seed)
    lot = Lot(
        diff.old,
        diff.new,
        metric,
        len(pairs),
        len(diff.questions) - len(pairs),
        any(question.query.inclusion < 1 for question in diff.questions),
        float(sum(question.weight for _, question in pairs)),
        settled,
        seed,
        tuple(questions),
        key_of(canonical_json([[*vars(question).values()] for _, question in pairs]))[:16],
    )
    return lot, named.documents(needed)


def _check_text(query: Query) -> None:
    if not query.text:
        problem = f"the question {query.id!r} has no text, and nobody can judge for it"
        raise DataError(problem, remedy="add 'query' to the results file")


def _ordered(questions: Sequence[tuple[LotQuestion, float]], seed: int) -> Iterator[LotQuestion]:
    most = np.array([size for _, size in questions], np.float64)
    # Who waits an exponential time with a rate proportional to its size comes first with a chance
    # proportional to it, and so do those that are left.
    order = np.argsort(np.random.default_rng(seed).exponential(size=len(most)) / most)
    left = np.cumsum(most[order][::-1])[::-1]
    for place, total in zip(order, left):
        question, size = questions[place]
        yield LotQuestion(
            **vars(question) | {"most": size, "chance": float(min(1.0, size / total))}
        )


class _Named:
    """Names of the documents of a `ListDiff`: the same for the same, and nothing that tells a side.

    An id that stands for several texts gets a piece of each text's hash. Where documents of the
    versions are told by their texts, the texts alone name them, as ids may tell a chunking.
    """

    def __init__(self, diff: ListDiff, k: int) -> None:
        self._by_id, self._k = diff.is_exact, k
        self._docs: dict[str, Doc] = {}
        texts: dict[str, set[str | None]] = {}
        for question in diff.questions:
            for doc in (*(question.old or ())[:k], *(question.new or ())[:k]):
                if doc.id is not None:
                    texts.setdefault(doc.id, set()).add(doc.text)
        self._ambiguous = {name for name, of_id in texts.items() if len(of_id) > 1}

    def name(self, doc: Doc) -> str:
        """The name of a document."""
        text = doc.text
        if not self._by_id and text is not None:
            name = document_name(Doc(text=normal_form(text)))
        elif doc.id in self._ambiguous:
            name = f"{doc.id}-{key_of(text or '')[:8]}"
        else:
            name = document_name(doc)
        title = doc.metadata.get("title") if doc.metadata else None
        self._docs.setdefault(name, Doc(name, text, metadata={"title": title} if title else {}))
        return name

    def question(self, diff: QuestionDiff, gold: Query | None) -> LotQuestion:
        """A question with its documents by name."""
        sides = ((of or ())[: self._k] for of in (diff.old, diff.new))
        old, new = (tuple(map(self.name, docs)) for docs in sides)
        docs = dict(zip(new + old, (diff.new or ())[: self._k] + (diff.old or ())[: self._k]))
        return LotQuestion(diff.query.id, diff.weight, old, new, *_known(docs, gold))

    def documents(self, names: Iterable[str]) -> dict[str, Doc]:
        """The documents of some names.

        Raises:
            DataError: one has no text.
        """
        docs = {name: self._docs[name] for name in sorted(names)}
        for name, doc in docs.items():
            if doc.text is None:
                raise DataError(
                    f"the document {name!r} has no text to read",
                    remedy="compare results files with texts, or name --corpus",
                )
        return docs


def _known(docs: Mapping[str, Doc], gold: Query | None) -> tuple[dict[str, bool], int]:
    """What gold says of documents, by name, and how many of its relevant items are none of them."""
    labels: dict[str, bool] = {}
    beyond = 0
    for item in gold.gold if gold is not None else ():
        forms: tuple[Gold | Doc, ...] = (item, *item.alternatives)
        names = [name for name, doc in docs.items() if any(_is_same(form, doc) for form in forms)]
        labels |= {name: labels.get(name, False) or item.grade > 0 for name in names}
        beyond += item.grade > 0 and not names
    return labels, beyond


def _is_same(gold: Gold | Doc, doc: Doc) -> bool:
    """Whether a gold item is a document: of its id, and of its text where both have one."""
    if gold.text is None or doc.text is None:
        return gold.id is not None and gold.id == doc.id
    return normal_form(gold.text) == normal_form(doc.text)

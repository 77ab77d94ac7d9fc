"""The questions whose labels can change a difference, in an order drawn by lot."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np

from kragx import matchers
from kragx.agreement.change.credit import LabelledMetric, Labels, TwoLists
from kragx.agreement.label_files import document_name
from kragx.comparison.lists import ListDiff, QuestionDiff, composed
from kragx.data import Doc, Gold, GoldDataset, Query
from kragx.data.documents import normal_form
from kragx.data.formats.jsonl import write_records
from kragx.evaluation.vocabulary import vocabulary_of_items
from kragx.ground.errors import DataError
from kragx.judging.keys import canonical_json, key_of
from kragx.matchers import MatchItem, MatchWarning, Notes
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
        left_out_share: how many of all asks these stand for.
        is_sample: whether the questions were themselves drawn from more.
        n_known: how many labels were known before.
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
    left_out_share: float
    is_sample: bool
    n_known: int
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
        part = path.with_name(f"{path.name}.part")
        write_records([self.record, *map(asdict, self.questions)], part)
        part.replace(path)  # so that there is all of it, or none


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
        DataError: a document that is to be read has no text; gold says nothing of any; or a
            version returned nothing at all.
    """
    for side in ("old", "new"):
        if not any(getattr(question, side) for question in diff.questions):
            problem = f"{getattr(diff, side)} returned nothing for any question"
            raise DataError(problem, remedy="there is nothing to label; see why it did not answer")
    named = _Named(diff, metric.k)
    pairs = [(diffed, named.question(diffed)) for diffed in diff.questions if diffed.is_known]
    if gold is not None:
        pairs = [*_with_known(pairs, named.docs, gold)]
    known_values, open_questions, needed = [], [], set[str]()
    digest = hashlib.sha256()
    for diffed, question in pairs:
        lists = question.lists(metric)
        low, high = lists.bounds(question.known)
        most = question.weight * max(abs(low), abs(high))
        texts: list[str | None] = []
        if low == high or not most:
            known_values.append(question.weight * low)
        else:
            open_questions.append((question, most))
            needed.update(lists.documents)
            _check_text(diffed.query)
            texts = [diffed.query.text, *(named.docs[doc].text for doc in lists.documents)]
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
        sum(len(question.known) for _, question in pairs),
        asks,
        fsum(known_values),
        seed,
        tuple(_ordered(open_questions, seed)),
        digest.hexdigest()[:16],
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

    An id that stands for several texts gets a piece of each text's hash. Where ids do not meet a
    hash of id and text is the name, as ids may tell a chunking.
    """

    def __init__(self, diff: ListDiff, k: int) -> None:
        self._by_id, self._k = diff.is_exact, k
        self.docs: dict[str, Doc] = {}
        texts: dict[str, set[str | None]] = {}
        for question in diff.questions:
            for doc in (*(question.old or ())[:k], *(question.new or ())[:k]):
                if doc.id is not None:
                    texts.setdefault(doc.id, set()).add(composed(doc.text))
        self._ambiguous = {name for name, of_id in texts.items() if len(of_id) > 1}

    def name(self, doc: Doc) -> str:
        """The name of a document."""
        text = composed(doc.text)
        if not self._by_id:
            name = f"text-{key_of(canonical_json([doc.id, text]))[:16]}"
        elif doc.id in self._ambiguous:
            name = f"{doc.id}-{key_of(text or '')[:8]}"
        else:
            name = document_name(replace(doc, text=text))
        self.docs.setdefault(name, doc)
        return name

    def question(self, diff: QuestionDiff) -> LotQuestion:
        """A question with its documents by name."""
        sides = ((of or ())[: self._k] for of in (diff.old, diff.new))
        old, new = (tuple(map(self.name, docs)) for docs in sides)
        return LotQuestion(diff.query.id, diff.weight, old, new)

    def documents(self, names: Iterable[str]) -> dict[str, Doc]:
        """The documents of some names.

        Raises:
            DataError: one has no text.
        """
        docs = {}
        for name in sorted(names):
            doc = self.docs[name]
            if doc.text is None:
                problem = f"the document {name!r} has no text to read"
                raise DataError(problem, remedy="compare results files that have texts")
            title = doc.metadata.get("title") if doc.metadata else None
            docs[name] = Doc(name, doc.text, {"title": title} if title else {})
        return docs


Pairs = Sequence[tuple[QuestionDiff, LotQuestion]]


def _with_known(
    pairs: Pairs, docs: Mapping[str, Doc], gold: GoldDataset
) -> Iterator[tuple[QuestionDiff, LotQuestion]]:
    """The same with what gold says of their documents.

    What gold calls relevant are documents of its id, and those that match its text as evaluations
    do; what it calls not relevant is so in the same document alone.

    Raises:
        DataError: it says nothing of any.
    """
    queries = {query.id: query for query in gold}
    of_gold = {lot.query_id: queries.get(lot.query_id, Query(lot.query_id)) for _, lot in pairs}
    met = _met([(of_gold[lot.query_id], lot) for _, lot in pairs], docs)
    n_known = 0
    for diffed, lot in pairs:
        names = dict.fromkeys(lot.old + lot.new)
        known: dict[str, bool] = {}
        beyond = 0
        for place, item in enumerate(of_gold[lot.query_id].gold):
            same = [name for name in names if _is_same(item, docs[name])]
            if item.grade > 0:
                same += [name for name in names if (lot.query_id, place, name) in met]
                beyond += not same
            known |= {name: known.get(name, False) or item.grade > 0 for name in same}
        n_known += len(known)
        yield diffed, replace(lot, known=known, beyond=beyond)
    if not n_known:
        problem = "says nothing of any document that the versions return"
        remedy = "its questions join by id, its items by id or text"
        raise DataError(problem, path=gold.name, field="--gold", remedy=remedy)


def _met(
    questions: Sequence[tuple[Query, LotQuestion]], docs: Mapping[str, Doc]
) -> set[tuple[str, int, str]]:
    """Which gold item, by its place, matches which document, as evaluations match by default."""
    rows = [
        (
            query.id,
            [*_texts(query)],
            [(name, docs[name].text) for name in dict.fromkeys(lot.old + lot.new)],
        )
        for query, lot in questions
    ]
    rows = [(uid, forms, named) for uid, forms, named in rows if forms and named]
    items = [
        MatchItem(
            Query(uid, gold=tuple(Gold(text=text) for _, text in forms)),
            tuple(Doc(text=text or "") for _, text in named),
        )
        for uid, forms, named in rows
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # nobody named this matcher
        matcher = matchers.matcher("overlap").knowing(vocabulary_of_items(items))
        scores = list(matcher.scores(items, Notes())) if items else []
    return {
        (uid, forms[column][0], named[row][0])
        for (uid, forms, named), matrix in zip(rows, scores)
        for row, column in np.argwhere(np.asarray(matrix) >= matcher.threshold)
    }


def _texts(query: Query) -> Iterator[tuple[int, str]]:
    """The texts of relevant items, with their places."""
    for place, item in enumerate(query.gold):
        forms: tuple[Gold | Doc, ...] = (item, *item.alternatives)
        for form in forms:
            if form.text and item.grade > 0:
                yield place, form.text


def _is_same(gold: Gold, doc: Doc) -> bool:
    """Whether a gold item or its alternative is a document: by id, and text where both have one."""
    forms: tuple[Gold | Doc, ...] = (gold, *gold.alternatives)
    return any(
        form.id is not None and form.id == doc.id
        if form.text is None or doc.text is None
        else normal_form(form.text) == normal_form(doc.text)
        for form in forms
    )

"""What a matcher is given, queries with their documents and targets, and what it takes note of.

Diagnostics are counts for its result, and what is warned of at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from kragx.data import Doc, Gold, Retrieved
from kragx.data.batch import Batch
from kragx.data.documents import normal_form
from kragx.data.entries import NO_TEXT, Entries
from kragx.data.lists import distinct
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import DataError
from kragx.metrics import Bools, Ints, RankedList

if TYPE_CHECKING:
    from kragx.judging import Judgement
    from kragx.judging.judgement_counts import Tally


class MatchWarning(UserWarning):
    """Something about the texts makes matches less than they seem; said once per evaluation."""


@dataclass
class Diagnostic:
    """What questions show together, and single ones do not; of plain values, as files keep it.

    Attributes:
        counts: by name.
        example: what the first of the questions shows; empty without one.
    """

    counts: Counter[str] = field(default_factory=Counter)
    example: dict[str, str] = field(default_factory=dict)

    def merge(self, later: Self) -> None:
        """Add what the questions after these have shown."""
        self.counts.update(later.counts)
        self.example = self.example or later.example

    def problem(self) -> str:
        """What to warn of; empty for nothing."""
        return ""


F = TypeVar("F", bound=Diagnostic)


class Diagnostics(Counter[str]):
    """Counts of a match that belong into its result; what judging took stands in `judging`.

    Those of questions and of the ones after them come to those of all (`merge`), in whatever parts
    they were matched.
    """

    @cached_property
    def judging(self) -> Tally:
        """What judging took, and what is missing."""
        from kragx.judging.judgement_counts import Tally

        return Tally()

    @cached_property
    def by_kind(self) -> dict[tuple[str, str], Diagnostic]:
        """By their kind and the matcher's settings."""
        return {}

    def diagnostic(self, settings: object, kind: str, make: Callable[[], F]) -> F:
        """That of this kind by the matcher with these settings, made if there is none."""
        key = kind, repr(settings)
        if key not in self.by_kind:
            self.by_kind[key] = make()
        return self.by_kind[key]  # type: ignore[return-value]

    def of_kind(self, kind: str) -> list[Diagnostic]:
        """Those of this kind, of whichever matchers."""
        return [diagnostic for (name, _), diagnostic in self.by_kind.items() if name == kind]

    def merge(self, later: Diagnostics) -> None:
        """Add what was noted of the questions after these."""
        self.update(later)
        if "judging" in later.__dict__:
            self.judging.add(later.judging)
        for key, diagnostic in later.by_kind.items():
            if key in self.by_kind:
                self.by_kind[key].merge(diagnostic)
            else:
                self.by_kind[key] = diagnostic

    def warn(self) -> None:
        """Warn of what was found in all questions."""
        for key in sorted(self.by_kind):  # the same order for parts of any size
            if problem := self.by_kind[key].problem():
                warn(problem, MatchWarning)

    @property
    def record(self) -> dict[str, Any]:
        """What a file keeps, of which nothing is asked again."""
        by_kind = [[*key, type(value).__name__, value] for key, value in self.by_kind.items()]
        judging = self.judging.record if "judging" in vars(self) else None
        return {"counts": dict(self), "by_kind": by_kind, "judging": judging}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """What a file has kept."""
        from pydantic import TypeAdapter

        diagnostics = cls(record["counts"])
        classes: list[type[Diagnostic]] = [Diagnostic, *Diagnostic.__subclasses__()]
        kinds = {kind.__name__: TypeAdapter(kind) for kind in classes}
        for kind, settings, name, value in record["by_kind"]:
            diagnostics.by_kind[kind, settings] = kinds[name].validate_python(value)
        if record["judging"] is not None:
            from kragx.judging.judgement_counts import Tally

            diagnostics.judging = Tally.of_record(record["judging"])
        return diagnostics

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> Any:
        from pydantic_core import core_schema as schema

        to_record = schema.plain_serializer_function_ser_schema(attrgetter("record"))
        return schema.no_info_plain_validator_function(cls.of_record, serialization=to_record)

    def __reduce__(self) -> tuple[Any, ...]:
        # A Counter alone would be sent, without what stands beside its counts.
        return type(self), (dict(self),), self.__dict__


class TextlessError(DataError):
    """A document or gold item has no text, and the matcher compares texts.

    Whoever matches many says which ones there are (`kragx.matchers.matching`).

    Attributes:
        method: the name of the match method.
    """

    method: str = ""


def textless(query_id: str, method: str) -> TextlessError:
    """The error for a query."""
    error = TextlessError(
        "query {id!r}: not all documents and gold items have a text, and the match method "
        "{method!r} compares texts; add it, or match by 'id'",
        id=query_id,
        method=method,
    )
    error.method = method
    return error


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that a retrieved document may match: a gold item or one of its alternatives.

    Attributes:
        gold: position of the gold item in the query, from 0.
        id, text, metadata: those of the gold item or of the alternative.
    """

    gold: int
    id: str | None
    text: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class MatchItem(RankedList):
    """One query with its ranked documents (n of them) and the targets they may match (t of them).

    A gold item without alternatives is one target; with them it is several, and it is matched
    if any of them is. `status` says whether the retriever answered, if only with an empty list.

    Attributes:
        mask: (n x t) the pairs that are asked for; None for all.
    """

    mask: Bools | None = field(default=None, compare=False, repr=False)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Each gold item, before its alternatives; made for those who look at them."""
        items: Iterator[tuple[int, tuple[Gold | Doc, ...]]] = (
            (place, (gold, *gold.alternatives)) for place, gold in enumerate(self.query.gold)
        )
        return tuple(
            Target(place, doc.id, doc.text, doc.metadata) for place, docs in items for doc in docs
        )

    @property
    def shape(self) -> tuple[int, int]:
        """N and t: how many documents, and how many targets they may match."""
        return len(self.docs), len(self.targets)

    @property
    def wanted(self) -> Bools:
        """The pairs that are asked for (n x t); the scores of the others may be anything."""
        return np.ones(self.shape, bool) if self.mask is None else self.mask

    def doc_texts(self, method: str) -> list[str]:
        """The text of every retrieved document.

        Raises:
            TextlessError: one has none.
        """
        texts = [doc.text for doc in self.docs if doc.text is not None]
        if len(texts) < len(self.docs):
            raise textless(self.query.id, method)
        return texts

    def target_texts(self, method: str) -> dict[int, str]:
        """The text of every target that has one, by its position among the targets.

        Raises:
            TextlessError: a gold item has no text, nor has any of its alternatives.
        """
        with_text = {n: target for n, target in enumerate(self.targets) if target.text is not None}
        if len({target.gold for target in with_text.values()}) < len(self.query.gold):
            raise textless(self.query.id, method)
        return {n: target.text or "" for n, target in with_text.items()}


def items_of(batch: Batch, mask: Bools | None = None) -> list[MatchItem]:
    """The questions of a batch as objects, for whoever looks at one at a time.

    Args:
        batch: the questions.
        mask: the pairs of all of them that are asked for; None for all.
    """
    items = [
        # Whoever failed is scored as an empty list, whatever came before that.
        MatchItem(query, () if status != "answered" else answer.documents, status, seconds, error)
        for query, answer, status, seconds, error in zip(
            batch.queries(),
            [answer or Retrieved() for answer in batch.answers()],
            batch.statuses,
            batch.seconds,
            map(batch.errors.get, range(len(batch))),
        )
    ]
    if mask is None or mask.all():
        return items
    masks = np.split(mask, np.cumsum(np.multiply(*shapes(batch)))[:-1])
    return [replace(item, mask=mask.reshape(item.shape)) for item, mask in zip(items, masks)]


def batch_of(items: Sequence[MatchItem]) -> Batch:
    """Questions with their documents as a batch."""
    answers = [
        None if item.status == "missing" else Retrieved(item.docs, item.seconds, item.error)
        for item in items
    ]
    return Batch.of([(None, item.query, answer) for item, answer in zip(items, answers)])


@dataclass(frozen=True)
class Targets:
    """The gold items of a batch and their alternatives, each of which a document may match.

    Attributes:
        entries: of the t targets, one question after the other; each gold item stands before its
            alternatives.
        gold: (t) which gold item of them all each one is of.
    """

    entries: Entries
    gold: Ints

    @classmethod
    def of(cls, golds: Entries) -> Self:
        """Those of gold items."""
        texts = golds.texts
        if golds.alternatives is None:
            return cls(golds, np.arange(len(texts.numbers)))
        docs = (
            (Doc(item.id, item.text, item.metadata), *item.alternatives)
            for item in chain.from_iterable(golds.golds())
        )
        gold = np.repeat(np.arange(len(texts.numbers)), n_of_golds(golds))
        n_targets = np.bincount(texts.of_text[gold], minlength=len(texts)).tolist()
        return cls(Entries.of([*chain.from_iterable(docs)], n_targets, "score"), gold)


def n_of_golds(golds: Entries) -> Ints:
    """How many targets each gold item is, of some that have alternatives: itself and these."""
    return 1 + np.array([*map(len, golds.alternatives or ())], np.int64)


def shapes(batch: Batch) -> tuple[Ints, Ints]:
    """How many documents each query of a batch has, and how many targets they may match."""
    golds, n_docs = batch.golds.texts, batch.docs.texts.n_texts
    if batch.golds.alternatives is None:
        return n_docs, golds.n_texts
    n_targets = np.bincount(golds.of_text, n_of_golds(batch.golds), len(golds))
    return n_docs, n_targets.astype(np.int64)


def every_pair(batch: Batch) -> Bools:
    """All pairs of a batch, as those that are asked for."""
    return np.ones(int(np.multiply(*shapes(batch)).sum()), bool)


def repeated(docs: Entries) -> Bools:
    """Whether each document of each list stood earlier in it, one list after the other."""
    is_again: Bools = first_same(docs) != np.arange(len(docs.texts.numbers))
    return is_again


def first_same(docs: Entries) -> Ints:
    """The first document of its list that each document is the same as.

    It is the same one by id, or without an id by its normalised text.
    """
    places = np.arange(len(docs.texts.numbers))
    if docs.are_distinct:
        return places
    # Each document's id by number, or without one its text, the same for one normal form.
    numbers = docs.texts.numbers.copy()
    ids = docs.ids or [None] * len(numbers)
    number_of_id = dict(zip(dict.fromkeys(ids), count()))
    identities = np.fromiter(map(number_of_id.__getitem__, ids), np.int64, len(ids))
    has_no_id = identities == number_of_id.get(None, NO_TEXT)
    if has_no_id.any():
        is_text = has_no_id & (numbers >= 0)
        texts = distinct(numbers[is_text])
        forms = [*map(normal_form, map(docs.texts.known.__getitem__, texts.tolist()))]
        number_of_form = dict(zip(dict.fromkeys(forms), count()))
        of_text = np.fromiter(map(number_of_form.__getitem__, forms), np.int64, len(forms))
        # Texts have numbers behind those of ids, so that none is taken for one.
        row = np.searchsorted(texts, numbers[is_text])
        numbers[is_text] = len(number_of_id) + of_text[row]
        identities[has_no_id] = numbers[has_no_id]
    keys = docs.texts.of_text * (int(identities.max(initial=0)) + 1) + identities
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    # Without text and id nothing can be the same.
    return np.where(identities < 0, places, first[group])


@dataclass(frozen=True)
class Pool:
    """The judged documents of all retrievers under comparison, as the gold of each of them.

    Without gold, what is relevant is what was judged relevant in the union of what the retrievers
    found. Numbers of a pool are relative to it: a document that no retriever found is not missed by
    anyone. So they carry the pool's hash, and numbers of different pools are not compared.

    Attributes:
        judgements: by query id the judgement of each document text (normalised).
        depth: how many documents of each list were pooled; None for all of them.
        cut: the least grade that binary metrics count as relevant.
        top: the highest grade of the scale.
        votes: whether several judges have decided.
        tally: what judging took.
        hash: of the queries, documents and grades; two pools with the same hash are the same.
    """

    judgements: Mapping[str, Mapping[str, Judgement]]
    depth: int | None
    cut: int
    top: int
    votes: bool = False
    tally: Tally | None = field(default=None, compare=False)
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        from kragx.judging.rubric import canonical_json, key_of

        content = [
            [
                query_id,
                sorted([key_of(text), judgement.grade] for text, judgement in of_query.items()),
            ]
            for query_id, of_query in sorted(self.judgements.items())
        ]
        object.__setattr__(self, "hash", key_of(canonical_json([content, self.cut]))[:16])

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of the pool, the provenance of its labels included."""
        sources = Counter(
            "missing" if judgement.grade is None else judgement.source
            for of_query in self.judgements.values()
            for judgement in of_query.values()
        )
        return {
            "hash": self.hash,
            "depth": self.depth,
            "rel": self.cut,
            "documents": sources.total(),
            "labels": {
                "human": sources["human"],
                "judge": sources["judge"] + sources["store"],
                "missing": sources["missing"],
            },
        }

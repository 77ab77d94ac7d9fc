"""What is evaluated: a gold set and what was retrieved, joined query by query as a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from kragx.data.documents import Doc
from kragx.data.gold import GoldDataset, Query, hash_of, query_hash
from kragx.data.reading import is_source, nothing_retrieved, read_dataset, read_run
from kragx.data.runs import Retrieved, Run, Status, rank_by_score
from kragx.data.source import Reading
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError
from kragx.evaluation.retriever_calls import is_retriever
from kragx.matchers import BaseMatcher, MatchItem, Notes
from kragx.matchers.equal_ids import IdArrays, match_id_arrays, read_id_arrays
from kragx.matchers.matching import match as match_items
from kragx.matchers.matching import repeats
from kragx.metrics import Profile
from kragx.metrics.evidence import RankedList
from kragx.metrics.table import MatchTable


def arranged(profile: Profile) -> Callable[[MatchItem], MatchItem]:
    """What a profile does with a list before it is matched: order it, refuse duplicates."""

    def ordered(item: MatchItem) -> MatchItem:
        if profile.order == "score":
            item = replace(item, docs=_by_score(item))
        if profile.duplicates == "error" and any(repeats(item.docs)):
            doc = item.docs[repeats(item.docs).index(True)]
            raise DataError(
                f"query {item.query.id!r}: document {doc.id!r} stands twice, which the profile "
                f"{profile.name!r} refuses; remove it, or use the profile 'kragx'"
            )
        return item

    return ordered


def _by_score(item: MatchItem) -> tuple[Doc, ...]:
    scored = sum(doc.score is not None for doc in item.docs)
    if scored in (0, len(item.docs)):
        return rank_by_score(item.docs) if scored else item.docs
    rank = [doc.score is None for doc in item.docs].index(True) + 1
    raise DataError(
        f"query {item.query.id!r}, rank {rank}: no score, though {scored} of the list's "
        f"{len(item.docs)} documents have one; this profile ranks by score: give all or none"
    )


class Source:
    """A stream of queries, each with what was retrieved for it, that counts what passes."""

    def __init__(
        self,
        pairs: Iterable[tuple[Query, Retrieved | None]],
        *,
        name: str,
        dataset_name: str,
        mender: Mender,
        run: Run | None = None,
    ) -> None:
        self._pairs = pairs
        self.name = name
        self.dataset_name = dataset_name
        self.mender = mender
        self.run_settings: Mapping[str, Any] = run.settings if run else {}
        self.query_ids: list[str] = []
        self.statuses: Counter[str] = Counter()
        self.n_empty = 0
        self.answers: list[RankedList] | None = None  # kept only where a metric looks at them
        self.gold: GoldDataset | None = None
        self._hashes: list[bytes] = []
        self.first_failure: str | None = None

    def items(self, *, leave_out_missing: bool = False) -> Iterator[MatchItem]:
        """Yield each query with its documents, counting how each was answered."""
        for query, found in self._pairs:
            status: Status = "answered"
            if found is None:
                status = "missing"
                if leave_out_missing:
                    self.statuses[status] += 1
                    continue
            elif found.error is not None:
                status = "failed"
                self.first_failure = self.first_failure or f"query {query.id!r}: {found.error}"
            self.query_ids.append(query.id)
            self.statuses[status] += 1
            docs = found.documents if found and found.error is None else ()
            self.n_empty += status == "answered" and not docs
            if self.gold is None:
                self._hashes.append(query_hash(query))
            if self.answers is not None:  # rows of the table, in its order
                seconds = None if found is None else found.seconds
                self.answers.append(RankedList(query, docs, status, seconds))
            yield MatchItem(query, docs, status)

    def dataset_settings(self) -> Mapping[str, Any]:
        """Name, version and content hash of the gold set, once all of it has passed."""
        if self.gold is not None:
            return dict(self.gold.settings)
        return {"name": self.dataset_name, "version": None, "hash": hash_of(self._hashes)}

    def match(self, matcher: BaseMatcher, profile: Profile, notes: Notes) -> MatchTable:
        """Match the whole stream."""
        items = self.items(leave_out_missing=profile.missing == "left_out")
        return match_items(map(arranged(profile), items), matcher, notes)


class _ById(Source):
    """Qrels and a run as plain mappings, whose ids are compared without making documents."""

    def __init__(self, read: IdArrays) -> None:
        super().__init__((), name="run", dataset_name="gold", mender=Mender())
        self._read = read
        self.query_ids = list(read.qrels)
        self.statuses["missing"] = int((~read.answered).sum())
        self.n_empty = int((np.diff(read.doc_start) == 0).sum()) - self.statuses["missing"]

    def dataset_settings(self) -> Mapping[str, Any]:
        return _IdArraysSettings(self.dataset_name, self._read)

    def match(self, matcher: BaseMatcher, profile: Profile, notes: Notes) -> MatchTable:
        return match_id_arrays(self._read)


class _IdArraysSettings(Mapping[str, Any]):
    """The settings of qrels as a mapping, hashed when somebody looks.

    That takes longer than to evaluate them.
    """

    def __init__(self, name: str, read: IdArrays) -> None:
        self._plain = {"name": name, "version": None, "hash": None}
        # A copy: the caller may change the mapping.
        self._gold = (tuple(read.qrels), read.gold, read.grade, read.gold_start)

    @cached_property
    def _hash(self) -> str:
        queries, ids, grades, starts = self._gold
        gold = {
            query: dict(zip(documents, of_query.tolist()))
            for query, documents, of_query in zip(queries, ids, np.split(grades, starts[1:-1]))
        }
        return GoldDataset.from_documents(gold).content_hash

    def __getitem__(self, key: str) -> Any:
        return self._hash if key == "hash" else self._plain[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)

    def __repr__(self) -> str:
        return repr(dict(self))


def source_of(
    dataset: object, run: object, profile: Profile, *, by_id: bool = False
) -> tuple[Source, int]:
    """What to evaluate, and how many queries of the run are not in the gold set."""
    if by_id and profile.missing == "empty":
        read = read_id_arrays(dataset, run)
        if read is not None:
            n_extra = len(read.run) - int(read.answered.sum())
            if n_extra < len(read.run):
                return _ById(read), n_extra
    if run is not None:
        gold = read_dataset(dataset)
        found = as_run(run, gold)
        extra = [query_id for query_id in found if query_id not in gold]
        if extra and profile.missing == "left_out":
            raise DataError(
                f"run {found.name!r}: query {extra[0]!r} is not in the gold set {gold.name!r}; the "
                f"profile {profile.name!r} scores the run's rows, so each needs gold"
            )
        return _joined(gold, found, extra), len(extra)
    if not is_source(dataset):
        raise UsageError(
            "run: nothing to evaluate; pass what was retrieved (a Run, lists of documents, or a "
            "retriever), or a results file alone, by its path or as rows"
        )
    reading = Reading(dataset, strict=True)
    name = reading.name
    return Source(_answered(reading), name=name, dataset_name=name, mender=reading.mender), 0


def _answered(reading: Reading) -> Iterator[tuple[Query, Retrieved | None]]:
    answered = False
    for _, query, retrieved in reading:
        answered = answered or retrieved is not None
        yield query, retrieved
    if not answered:
        raise nothing_retrieved(reading.problems.file)


def _joined(gold: GoldDataset, run: Run, extra: Sequence[str]) -> Source:
    if extra and len(extra) == len(run):
        raise DataError(
            f"run {run.name!r}: none of its {len(run)} query ids is in the gold set {gold.name!r} "
            f"(it has {extra[0]!r}, the gold set {next(iter(gold)).id!r}); queries join by id"
        )
    mender = Mender()
    mender.surrogates = gold.n_replaced_surrogates + run.n_replaced_surrogates
    source = Source(
        ((query, run.results.get(query.id)) for query in gold),
        name=run.name,
        dataset_name=gold.name,
        mender=mender,
        run=run,
    )
    source.gold = gold
    return source


def as_run(value: object, dataset: GoldDataset) -> Run:
    """The run that a value stands for, as `kragx.data.reading.read_run`; a retriever is asked."""
    from kragx.evaluation.retrieve import retrieve

    return retrieve(value, dataset) if is_retriever(value) else read_run(value, dataset)

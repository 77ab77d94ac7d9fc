"""What is evaluated: a gold set and what was retrieved, joined query by query as a stream."""

import warnings
from collections import Counter, UserDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kragx.data import (
    NO_CORPUS,
    Corpus,
    Doc,
    GoldDataset,
    Mender,
    Query,
    Reading,
    Retrieved,
    Run,
    as_corpus,
    hash_of,
    is_source,
    look_alikes,
    nothing_retrieved,
    query_hash,
    rank_by_score,
    read_dataset,
    read_run,
    told_apart,
)
from kragx.errors import DataError, UsageError
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.matchers import (
    METHODS,
    BaseMatcher,
    Heard,
    MatchItem,
    MatchWarning,
    Notes,
    matching,
)
from kragx.matchers.ids import IdArrays, match_id_arrays, read_id_arrays
from kragx.metrics import MatchTable, Profile, RankedList


def arranged(item: MatchItem, profile: Profile | None) -> MatchItem:
    """What a profile does with a list before it is matched: order it, refuse duplicates."""
    if profile is None:
        return item
    if profile.order == "score":
        item = replace(item, docs=_by_score(item))
    if profile.duplicates == "error" and any(matching.repeats(item.docs)):
        doc = item.docs[matching.repeats(item.docs).index(True)]
        raise DataError(
            f"query {item.query.id!r}: document {doc.id!r} stands twice, which the profile "
            f"{profile.name!r} refuses; remove it, or use the profile 'kragx'"
        )
    return item


def _by_score(item: MatchItem) -> tuple[Doc, ...]:
    scored = sum(doc.score is not None for doc in item.docs)
    if scored in (0, len(item.docs)):
        return rank_by_score(item.docs) if scored else item.docs
    rank = [doc.score is None for doc in item.docs].index(True) + 1
    raise DataError(
        f"query {item.query.id!r}, rank {rank}: no score, though {scored} of the list's "
        f"{len(item.docs)} documents have one; this profile ranks by score: give all or none"
    )


def match_item(query: Query, retrieved: Retrieved | None) -> MatchItem:
    """A query with what the run has of it; nothing where it is missing or has failed."""
    if retrieved is None:
        return MatchItem(query, (), "missing")
    if retrieved.error is not None:
        return MatchItem(query, (), "failed", retrieved.seconds, retrieved.error)
    return MatchItem(query, retrieved.documents, "answered", retrieved.seconds)


def first_failure(failures: Mapping[str, str]) -> str:
    """The first of some failures, by query id, in words."""
    query_id, error = next(iter(failures.items()))
    return f"query {query_id!r}: {error}"


def judged_share(table: MatchTable) -> float | None:
    """The share of retrieved documents whose relevance is known; None without any.

    Nothing need be known of those that were retrieved where nothing answers.
    """
    judged = table.judged[~np.repeat(table.unanswerable, table.n_docs)]
    return float(judged.mean()) if judged.size else None


def unanswerable_counts(table: MatchTable) -> dict[str, Any]:
    """What was retrieved where nothing answers: ``{"unanswerable": {...}}``, if that is anywhere.

    The questions; those answered with an empty list, and those not answered at all; the documents.
    """
    rows = table.unanswerable
    if not rows.any():
        return {}
    counts = {
        "n_queries": rows,
        "n_empty": rows & table.answered & (table.n_docs == 0),
        "n_unanswered": rows & ~table.answered,
        "n_documents": table.n_docs[rows],
    }
    return {"unanswerable": {name: int(value.sum()) for name, value in counts.items()}}


@dataclass
class Source:
    """A stream of queries, each with what was retrieved for it, that counts what passes.

    Attributes:
        name: the run's.
        dataset_name: the gold set's.
        gold: the whole gold set, where it is one.
        reading: the file that is read as it passes, where it is one.
        n_extra: queries of the run that the gold set lacks.
        n_longer_lines: of a TREC run, as `Run` has them.
        lists: what each query got; kept only where a metric looks at it.
        query_ids, statuses, n_empty: of what has passed.
        failures: by query id, why the retriever failed.
    """

    _pairs: Iterable[tuple[Query, Retrieved | None]]
    name: str
    dataset_name: str
    mender: Mender = field(default_factory=Mender)
    run_settings: Mapping[str, Any] = field(default_factory=dict)
    gold: GoldDataset | None = None
    reading: Reading | None = None
    n_extra: int = 0
    n_longer_lines: int = 0
    lists: list[RankedList] | None = None
    query_ids: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    n_empty: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    _hashes: list[bytes] = field(default_factory=list)

    def items(
        self, profile: Profile | None = None, *, leave_out_missing: bool = False
    ) -> Iterator[MatchItem]:
        """Yield each query with its documents, counting how each was answered.

        Args:
            profile: what is done with a list before it is matched (`arranged`); None for nothing.
            leave_out_missing: whether queries without an answer are counted only.
        """
        for query, retrieved in self._pairs:
            item = arranged(match_item(query, retrieved), profile)
            self.statuses[item.status] += 1
            if item.status == "missing" and leave_out_missing:
                continue
            if item.error is not None:
                self.failures[query.id] = item.error
            self.query_ids.append(query.id)
            self.n_empty += item.status == "answered" and not item.docs
            if self.gold is None:
                self._hashes.append(query_hash(query))
            if self.lists is not None:  # rows of the table, in its order
                self.lists.append(item)
            yield item

    def counts(self, table: MatchTable, profile: Profile, notes: Notes) -> dict[str, Any]:
        """What was scored and what was not, once all of it has passed."""
        n_with_gold = len(np.unique(table.gold_query[table.grade > 0]))
        return {
            "n_queries": table.n_queries,
            "n_scored": n_with_gold if profile.leaves_out_no_gold else table.n_queries,
            "n_no_gold": table.n_queries - n_with_gold,
            "n_missing": self.statuses["missing"],
            "n_extra": self.n_extra,
            "n_failed": self.statuses["failed"],
            "n_empty": self.n_empty,
            "n_duplicates": int(table.repeated.sum()),
            "judged_share": judged_share(table),
            "n_replaced_surrogates": self.mender.surrogates,
            "n_longer_lines": self.n_longer_lines,
            **unanswerable_counts(table),
            **notes,
            **({"first_failure": first_failure(self.failures)} if self.failures else {}),
        }

    def dataset_settings(self) -> Mapping[str, Any]:
        """Name, version and content hash of the gold set, once all of it has passed."""
        if self.gold is not None:
            return dict(self.gold.settings)
        settings = {"name": self.dataset_name, "version": None, "hash": hash_of(self._hashes)}
        encoding = None if self.reading is None else self.reading.problems.encoding
        return settings if encoding is None else settings | {"encoding": encoding}

    def match(
        self, matcher: BaseMatcher, profile: Profile, notes: Notes, heard: Heard | None = None
    ) -> MatchTable:
        """Match the whole stream; `heard` is told as by `matching.match`."""
        items = self.items(profile, leave_out_missing=profile.missing == "left_out")
        return matching.match(items, matcher, notes, heard)


class _ById(Source):
    """Qrels and a run as plain mappings, whose ids are compared without making documents."""

    def __init__(self, read: IdArrays) -> None:
        super().__init__((), "run", "gold")
        self._read = read
        self.query_ids = list(read.qrels)
        self.statuses["missing"] = int((~read.answered).sum())
        self.n_empty = int((np.diff(read.doc_start) == 0).sum()) - self.statuses["missing"]
        self.n_extra = len(read.run) - int(read.answered.sum())

    def dataset_settings(self) -> Mapping[str, Any]:
        return _IdArraysSettings(self.dataset_name, self._read)

    def match(
        self, matcher: BaseMatcher, profile: Profile, notes: Notes, heard: Heard | None = None
    ) -> MatchTable:
        return match_id_arrays(self._read)


class _IdArraysSettings(UserDict[str, Any]):
    """The settings of qrels as a mapping, hashed when somebody looks.

    That takes longer than to evaluate them.
    """

    def __init__(self, name: str, read: IdArrays) -> None:
        super().__init__(name=name, version=None, hash=None)
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
        return self._hash if key == "hash" else self.data[key]

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True)
class Texts:
    """Where the texts of ids come from, and who cannot do without.

    Attributes:
        corpus: has them; may be no corpus at all.
        needed_by: the match method for which an id without text is an error; None for nobody.
        sides: whose texts it compares.
    """

    corpus: Corpus = NO_CORPUS
    needed_by: str | None = None
    sides: tuple[str, ...] = ("gold", "retrieved")

    @classmethod
    def of(cls, corpus: object, matcher: BaseMatcher, *, looks: bool = False) -> Self:
        """The texts of a corpus, as far as a matcher, or a metric that `looks` at them, needs any.

        Without a corpus only the built-in methods are known to compare every text; for whatever
        else lacks one `matching.match` counts them.
        """
        known = as_corpus(corpus)
        if matcher.reads == "ids":
            return cls(known) if looks else cls()
        needed = next(_comparing_all(matcher), None)
        if needed is None and known.source is not None:
            needed = matcher.name or matcher.class_name
        return cls(
            known,
            needed,
            ("gold", "retrieved") if matcher.uses_gold and matcher.pool is None else ("retrieved",),
        )

    def gold(self, dataset: GoldDataset) -> GoldDataset:
        """A gold set with its texts, as `Corpus.gold`."""
        return self.corpus.gold(dataset, self.needed_by if "gold" in self.sides else None)

    def filled(
        self, pairs: Iterable[tuple[Query, Retrieved | None]]
    ) -> Iterator[tuple[Query, Retrieved | None]]:
        """Queries and what was retrieved with their texts, as `Corpus.filled`."""
        return self.corpus.filled(pairs, self.needed_by, self.sides)


def _comparing_all(matcher: BaseMatcher) -> Iterator[str]:
    """The built-in methods that compare every text, whatever the other members say."""
    for member in matcher.members:
        yield from _comparing_all(member)
    is_built_in = matcher.name in METHODS and matcher.inner is None
    if is_built_in and matcher.reads == "texts" and not matcher.judges:
        yield matcher.name


NO_TEXTS = Texts()
"""Nothing is filled in, and nothing is needed."""


def source_of(
    dataset: object,
    run: object,
    profile: Profile,
    *,
    by_id: bool = False,
    texts: Texts = NO_TEXTS,
) -> Source:
    """What to evaluate.

    Args:
        dataset: as for `evaluate`.
        run: as for `evaluate`.
        profile: says which queries are left out.
        by_id: whether ids alone are compared, which needs no documents.
        texts: fills in those of ids.
    """
    if by_id and profile.missing == "empty":
        read = read_id_arrays(dataset, run)
        if read is not None:
            source = _ById(read)
            if source.n_extra < len(read.run):
                return source
    if run is not None:
        gold = read_dataset(dataset)
        if is_retriever(run):
            gold = texts.gold(gold)  # before it is asked
            return _joined(gold, as_run(run, gold), profile, texts)
        answers = as_run(run, gold)  # a file that is no run is the greater mistake
        return _joined(texts.gold(gold), answers, profile, texts)
    if not is_source(dataset):
        raise UsageError(
            "run: nothing to evaluate; pass what was retrieved (a Run, lists of documents, or a "
            "retriever), or a results file alone, by its path or as rows"
        )
    reading = Reading(dataset, strict=True)
    pairs = texts.filled(_answered(reading))
    return Source(pairs, reading.name, reading.name, reading.problems.mender, reading=reading)


def _answered(reading: Reading) -> Iterator[tuple[Query, Retrieved | None]]:
    answered = False
    for _, query, retrieved in reading:
        answered = answered or retrieved is not None
        yield query, retrieved
    if not answered:
        raise nothing_retrieved(reading.problems.file)


def _joined(gold: GoldDataset, run: Run, profile: Profile, texts: Texts) -> Source:
    extra = [query_id for query_id in run if query_id not in gold]
    if extra and profile.missing == "left_out":
        raise DataError(
            f"run {run.name!r}: query {extra[0]!r} is not in the gold set {gold.name!r}; the "
            f"profile {profile.name!r} scores the run's rows, so each needs gold"
        )
    alike = look_alikes(extra, (query.id for query in gold if query.id not in run))
    example = next((told_apart(*pair) for pair in alike.items()), "")
    if extra and len(extra) == len(run):
        raise DataError(
            f"run {run.name!r}: none of its {len(run)} query ids is in the gold set {gold.name!r} "
            f"({example or f'it has {extra[0]!r}, the gold set {next(iter(gold)).id!r}'}); "
            "queries join by id"
        )
    if example:
        problem = f"run {run.name!r}: {len(alike)} of its query ids only look like the gold set's: "
        warnings.warn(problem + example, MatchWarning, stacklevel=2)
    mender = Mender()
    mender.surrogates = gold.n_replaced_surrogates + run.n_replaced_surrogates
    pairs = texts.filled((query, run.results.get(query.id)) for query in gold)
    return Source(
        pairs,
        run.name,
        gold.name,
        mender,
        run.settings,
        gold,
        n_extra=len(extra),
        n_longer_lines=run.n_longer_lines,
    )


def as_run(value: object, dataset: GoldDataset) -> Run:
    """The run that a value stands for, as `kragx.data.reading.read_run`; a retriever is asked."""
    from kragx.evaluation.retrieve import retrieve

    return retrieve(value, dataset) if is_retriever(value) else read_run(value, dataset)

"""`Forbidding`: from a batch to its marks, and from those of all parts to an evaluation's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kragx.data import NO_CORPUS, Corpus, GoldDataset, Run, value_at
from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.forbidden import check_cycle, newer_by_older
from kragx.data.rules import RuleSet
from kragx.evaluation.forbidden.marking import (
    RANKS,
    ItemMatches,
    MarkedDocuments,
    Place,
    doc_ids,
    matched_items,
    ruled,
    versions_of,
)
from kragx.ground.caller_warnings import warn
from kragx.ground.printing import message
from kragx.matchers import MatchWarning
from kragx.matchers.texts import TextsMatcher
from kragx.metrics import Bools, ForbiddenMarks, Ints

_TRUTHS = np.array([0, -1, 1], np.int8)
"""Which of 0, -1 and 1 a rank of `RANKS` stands for."""


@dataclass
class Beyond:
    """What only all questions together can tell of what is forbidden.

    Where no id that was retrieved, for whichever question, is forbidden anywhere, or gold, ids are
    of another chunking, and what is forbidden by id can match nothing.

    Attributes:
        kinds: of whatever forbids.
        named: ids of forbidden items and of gold, until one is met.
        retrieved: those of documents.
        met: whether an id is both; nobody asks further then, and there may be millions.
        newer: the newer document by the older one, as items name them.
        n_unmatchable: items that can match nothing, whatever was retrieved.
        n_by_id: items that can match nothing if no id is met.
        lacking: of fields that rules ask for how many questions, or documents, lack each, and how
            many there are.
    """

    kinds: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    retrieved: set[str] = field(default_factory=set)
    met: bool = False
    newer: dict[str, str] = field(default_factory=dict)
    n_unmatchable: int = 0
    n_by_id: int = 0
    lacking: list[tuple[Place, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.met = self.met or not self.named.isdisjoint(self.retrieved)
        if self.met:
            self.named, self.retrieved = set(), set()

    def merge(self, later: Self) -> None:
        """Add that of the questions behind these."""
        self.kinds |= later.kinds
        self.named |= later.named
        self.retrieved |= later.retrieved
        self.met = self.met or later.met
        # One part may have named the id that another has retrieved.
        self.__post_init__()
        self.newer |= later.newer
        self.n_unmatchable += later.n_unmatchable
        self.n_by_id += later.n_by_id
        self.lacking += later.lacking

    @property
    def are_apart(self) -> bool:
        """Whether something is forbidden by ids that are of another chunking than what came."""
        return bool(self.n_by_id) and not self.met

    @property
    def n_lost(self) -> int:
        """How many items can match nothing, once all questions are known."""
        return self.n_unmatchable + (self.n_by_id if self.are_apart else 0)

    def warn(self) -> None:
        """Say that items can match nothing, once all questions are known, and what to do."""
        if self.n_lost:
            problem = message(
                "forbidden items that can match nothing: {n}; whether their questions leak is not "
                "known: these are ids that neither results nor corpus have (name the corpus that "
                "has them), or texts where ids are compared (compare texts: match 'overlap')",
                n=self.n_lost,
            )
            warn(problem, MatchWarning)
        sums = defaultdict[Place, Ints](lambda: np.zeros(2, np.int64))
        for place, *counts in self.lacking:
            sums[place] += counts
        for (rule, path, is_of_query), (n_lacking, n) in sums.items():
            if n_lacking and (is_of_query or n_lacking == n):
                problem = message(
                    "rule {rule}: {n} of {of} questions have no {path}, and it says nothing of them"
                    if is_of_query
                    else "rule {rule}: none of {of} retrieved documents has {path}",
                    rule=rule,
                    n=n_lacking,
                    of=n,
                    path=path,
                )
                warn(problem, MatchWarning)


@dataclass(frozen=True, kw_only=True)
class PartMarks(ForbiddenMarks):
    """The marks of some questions, as if some retrieved id were one that is named.

    Attributes:
        open_apart: the same as `open` as if none were, so that what is forbidden by id alone can
            match nothing.
        beyond: what only all questions together can tell.
    """

    open_apart: Bools
    beyond: Beyond

    def resolved(self) -> ForbiddenMarks:
        """The marks, once all questions are known.

        Raises:
            DataError: documents take each other's place in a circle.
        """
        check_cycle(self.beyond.newer)
        return replace(self, open=self.open_apart) if self.beyond.are_apart else self


def joined(parts: Sequence[PartMarks]) -> PartMarks:
    """The marks of all questions of some parts, in order; at least one of them."""
    beyond = Beyond()
    for part in parts:
        beyond.merge(part.beyond)
    wide = [widened(part, beyond.kinds) for part in parts]
    firsts = np.cumsum([0, *(len(part.mark) for part in wide)]).tolist()
    names = {
        first + row: name for first, part in zip(firsts, wide) for row, name in part.names.items()
    }
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in wide]) for name in _OF_KINDS
    }
    return replace(wide[0], **columns, names=names, beyond=beyond)


_OF_KINDS = ("mark", "could", "open", "open_apart")


def widened(marks: PartMarks, kinds: Iterable[str]) -> PartMarks:
    """The same with columns of more kinds, as what is not here may be forbidden elsewhere."""
    every = tuple(sorted({*marks.kinds, *kinds}))
    places = [*map(every.index, marks.kinds), -1]
    wide: dict[str, Any] = {}
    for name in _OF_KINDS:
        values = getattr(marks, name)
        wide[name] = np.zeros((len(values), len(every) + 1), values.dtype)
        wide[name][:, places] = values
    return replace(marks, kinds=every, **wide)


@dataclass(frozen=True)
class Forbidding:
    """What must not come, and how retrieved documents are told to be that.

    It can be sent to other processes.

    Attributes:
        rules: forbid by metadata.
        matcher: compares texts, with siblings apart; None where ids alone are compared.
        id_key: where a document keeps its id, as of the matcher `id`.
        corpus: has metadata that documents lack, and says which documents there are.
        is_asked: whether a metric asks, so that versions are told by the documents' own metadata
            wherever nothing is forbidden, too.
        ids_met: whether it is known that ids are those of these documents.
    """

    rules: RuleSet = field(default_factory=RuleSet)
    matcher: TextsMatcher | None = None
    id_key: str | None = None
    corpus: Corpus = NO_CORPUS
    is_asked: bool = False
    ids_met: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the rules, and what compares texts."""
        matcher = self.matcher
        words = None if matcher is None else matcher.vocabulary
        return {
            "rules": dict(self.rules.source or {}),
            "match": None if matcher is None else matcher.settings,
            **({} if words is None else {"vocabulary": words.settings}),
        }

    def marks(self, batch: Batch) -> PartMarks:
        """The marks of a batch.

        Raises:
            DataError: a time has no zone, or versions lead in a circle.
        """
        docs = MarkedDocuments(batch, self.id_key, self.corpus)
        matched = matched_items(docs, self.matcher, self._is_in_corpus)
        whys = [item.why for item in matched.items]
        kinds = tuple(sorted({*whys, *(rule.name for rule in self.rules.rules)}))
        kind_of = np.array([*map(kinds.index, whys)], np.int64)
        queries = np.array(matched.queries, np.int64)

        def having(numbers: Iterable[int]) -> Bools:
            """(q, s + 1) which questions have some of these items, of which kinds or versions."""
            rows, mask = [*numbers], np.zeros((len(batch), len(kinds) + 1), bool)
            mask[queries[rows], kind_of[rows]] = True
            older = [row for row in rows if matched.items[row].superseded_by is not None]
            mask[queries[older], -1] = True
            return mask

        could, lost, by_id = map(having, (range(len(whys)), matched.lost, matched.by_id))
        ranks = np.zeros((len(docs), len(kinds) + 1), np.int8)
        stale, are_met = versions_of(docs, matched, reads_metadata=self.is_asked)
        ranks[:, -1], could[:, -1] = RANKS[stale], could[:, -1] | are_met
        # Reshaped, as an empty list becomes an array that has no columns to unpack.
        doc, item, truth = np.array(matched.pairs, np.int64).reshape(-1, 3).T
        # A document may be several items of a kind: plain indexing keeps the last alone.
        np.maximum.at(ranks, (doc, kind_of[item]), RANKS[truth])
        beyond = self._beyond(docs, matched, kinds)
        for rule in self.rules.rules:
            of_rule, could_by_rule, lacking = ruled(rule, docs, self.rules.zone)
            column = kinds.index(rule.name)
            ranks[:, column] = np.maximum(ranks[:, column], of_rule)
            could[:, column] |= could_by_rule
            beyond.lacking += lacking
        # Of an empty answer all is known, whatever is forbidden; of none nothing is.
        may_be = (batch.docs.texts.n_texts > 0)[:, None]
        is_open = (could & ~batch.answered[:, None]) | (lost & may_be)
        is_told = (ranks == RANKS[1]).any(axis=1)
        return PartMarks(
            kinds=kinds,
            mark=_TRUTHS[ranks],
            could=could,
            open=is_open,
            names={row: docs.label(row) for row in is_told.nonzero()[0].tolist()},
            open_apart=is_open | (by_id & may_be),
            beyond=beyond,
        )

    def _beyond(self, docs: MarkedDocuments, matched: ItemMatches, kinds: Iterable[str]) -> Beyond:
        named, retrieved = set[str](), set[str]()
        if self.corpus.source is None and not self.ids_met:  # a corpus says which ids there are
            of_items = (item.id for item in matched.items)
            named = {*filter(None, (*of_items, *(docs.batch.golds.ids or ())))}
            retrieved = {*filter(None, docs.ids)}
        return Beyond(
            {*kinds},
            named,
            retrieved,
            self.ids_met,
            newer_by_older(matched.items),
            len(matched.lost),
            len(matched.by_id),
        )

    def watching(self, batches: Iterable[Batch], parts: list[PartMarks]) -> Iterator[Batch]:
        """The batches as they pass, whose marks are added to some."""
        for batch in batches:
            parts.append(self.marks(batch))
            yield batch

    def _is_in_corpus(self, doc_id: str) -> bool:
        """Whether the corpus has a document that is called so."""
        if self.id_key is None:
            return self.corpus.text(doc_id) is not None
        return doc_id in self._corpus_ids

    @cached_property
    def _corpus_ids(self) -> frozenset[str]:
        docs = self.corpus.docs.values()
        return frozenset(str(value_at(doc.metadata, self.id_key or "")) for doc in docs)


def ids_met(dataset: GoldDataset, runs: Iterable[Run], id_key: str | None) -> bool:
    """Whether any id that any of some runs retrieved is one that is forbidden, or gold.

    Args:
        dataset: the gold set.
        runs: what was retrieved.
        id_key: where a document keeps its id.
    """
    named = {item.id for query in dataset for item in query.forbidden or ()}
    named = {*named, *(gold.id for query in dataset for gold in query.gold)} - {None}
    answers = (answer for run in runs for answer in run.results.values())
    lists = (Entries.of(answer.documents, [len(answer.documents)], "score") for answer in answers)
    return any(not named.isdisjoint(doc_ids(docs, id_key)) for docs in lists)

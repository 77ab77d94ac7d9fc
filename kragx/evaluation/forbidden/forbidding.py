"""`Forbidding`: from a batch to its marks, the one function that tells what must not be found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kragx.data import NO_CORPUS, Corpus, GoldDataset, Run, value_at
from kragx.data.batch import Batch, Entries
from kragx.data.forbidden import versions_of as named_versions
from kragx.data.rules import Rules
from kragx.evaluation.forbidden.marks import Beyond, Meeting, PartMarks
from kragx.evaluation.forbidden.pairing import Items, Pairing, Pairs, doc_ids
from kragx.evaluation.forbidden.ruling import Ruling
from kragx.evaluation.forbidden.versions import versions_of
from kragx.matchers.batches import BatchMatcher
from kragx.metrics import ForbiddenMarks

_MARKS = np.array([0, -1, 1], np.int8)
_RANKS = np.array([0, 2, 1], np.int8)  # of 0, 1 and -1: what is forbidden outweighs all else


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

    rules: Rules = field(default_factory=Rules)
    matcher: BatchMatcher | None = None
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
        items = Items.of(batch)
        pairing = Pairing(
            batch, items, self.matcher, self.id_key, self.corpus, self._known_ids.__contains__
        )
        ruling = Ruling(batch, lambda: pairing.doc_ids, self.corpus, self.rules.zone)
        pairs = pairing.pairs()
        return self._part(batch, items, pairing, pairs, ruling)

    def watching(self, batches: Iterable[Batch], parts: list[PartMarks]) -> Iterator[Batch]:
        """The batches as they pass, whose marks are added to some."""
        for batch in batches:
            parts.append(self.marks(batch))
            yield batch

    @cached_property
    def _known_ids(self) -> _KnownIds:
        return _KnownIds(self.corpus, self.id_key)

    def _part(
        self, batch: Batch, items: Items, pairing: Pairing, pairs: Pairs, ruling: Ruling
    ) -> PartMarks:
        kinds = tuple(sorted({*(item.why for item in items.items), *self._names}))
        number = {kind: place for place, kind in enumerate(kinds)}
        kind = np.fromiter((number[item.why] for item in items.items), np.int64, len(items.items))
        ranks = np.zeros((len(batch.docs.texts.numbers), len(kinds)), np.int8)
        np.maximum.at(ranks, (pairs.doc, kind[pairs.item]), _RANKS[pairs.truth])
        could, lost, by_id = np.zeros((3, len(batch), len(kinds)), bool)
        could[items.query, kind] = True
        lost[items.query[pairs.lost], kind[pairs.lost]] = True
        by_id[items.query[pairs.by_id], kind[pairs.by_id]] = True
        for rule in self.rules.rules:
            column = number[rule.name]
            truths, could_be = ruling.of_rule(rule)
            np.maximum(ranks[:, column], _RANKS[truths], out=ranks[:, column])
            could[:, column] |= could_be
        versions = versions_of(
            batch, items, pairing, pairs, ruling, self.corpus, reads_metadata=self.is_asked
        )
        # Of an empty answer all is known, whatever is forbidden; of none nothing is.
        is_open, may_be = ~batch.answered, batch.docs.texts.n_texts > 0
        mark = _MARKS[ranks]
        is_told = (mark == 1).any(axis=1) | (versions.stale == 1)
        marks = ForbiddenMarks(
            kinds=kinds,
            mark=mark,
            could=could,
            open=(could & is_open[:, None]) | (lost & may_be[:, None]),
            stale=versions.stale,
            versions=versions.versions,
            stale_open=(versions.versions & is_open) | (versions.open & may_be),
            names={row: pairing.name(row) for row in is_told.nonzero()[0].tolist()},
        )
        return PartMarks(
            marks,
            by_id & may_be[:, None],
            versions.by_id & may_be,
            Beyond(
                {*kinds},
                self._meeting(batch, items, pairing),
                dict(named_versions(items.items)),
                int(pairs.lost.sum()),
                int(pairs.by_id.sum()),
            ),
        )

    @property
    def _names(self) -> Iterator[str]:
        return (rule.name for rule in self.rules.rules)

    def _meeting(self, batch: Batch, items: Items, pairing: Pairing) -> Meeting:
        """Whether any retrieved id is named; a corpus says itself which ids there are."""
        meeting = Meeting(met=self.ids_met)
        if self.corpus.source is None and not self.ids_met:
            named = {item.id for item in items.items if item.id is not None}
            named |= {*filter(None, batch.golds.ids or ())}
            meeting.add(named, {*filter(None, pairing.doc_ids)})
        return meeting


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


class _KnownIds:
    """Whether a corpus has a document that is called so."""

    def __init__(self, corpus: Corpus, id_key: str | None) -> None:
        self._corpus, self._id_key = corpus, id_key

    def __contains__(self, doc_id: object) -> bool:
        if self._id_key is None:
            return self._corpus.text(str(doc_id)) is not None
        return doc_id in self._of_key

    @cached_property
    def _of_key(self) -> frozenset[Any]:
        docs, key = self._corpus.docs.values(), self._id_key or ""
        return frozenset(str(value_at(doc.metadata, key)) for doc in docs)

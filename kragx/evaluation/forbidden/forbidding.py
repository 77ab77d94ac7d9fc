"""`Forbidding`: from a batch to its marks, the one function that tells what must not be found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kragx.data import NO_CORPUS, Corpus, GoldDataset, Run, value_at
from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.forbidden import newer_by_older
from kragx.data.rules import RuleSet
from kragx.evaluation.forbidden.marks import Beyond, PartMarks
from kragx.evaluation.forbidden.pairing import ItemMatches, Items, Pairing, doc_ids
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

    rules: RuleSet = field(default_factory=RuleSet)
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
        pairing = Pairing(batch, items, self.matcher, self.id_key, self.corpus, self._is_in_corpus)
        ruling = Ruling(batch, lambda: pairing.doc_ids, self.corpus, self.rules.zone)
        pairs = pairing.pairs()
        return self._part(batch, items, pairing, pairs, ruling)

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

    def _part(
        self, batch: Batch, items: Items, pairing: Pairing, pairs: ItemMatches, ruling: Ruling
    ) -> PartMarks:
        kinds = tuple(
            sorted({*(item.why for item in items.items), *(rule.name for rule in self.rules.rules)})
        )
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
                *self._ids(batch, items, pairing),
                self.ids_met,
                newer_by_older(items.items),
                int(pairs.lost.sum()),
                int(pairs.by_id.sum()),
                {
                    place: (n_lacking, n)
                    for rule in self.rules.rules
                    for place, n_lacking, n in ruling.lacking(rule)
                },
            ),
        )

    def _ids(self, batch: Batch, items: Items, pairing: Pairing) -> tuple[set[str], set[str]]:
        """What is named, and what was retrieved; a corpus says itself which ids there are."""
        if self.corpus.source is not None or self.ids_met:
            return set(), set()
        named = {item.id for item in items.items if item.id is not None}
        named |= {*filter(None, batch.golds.ids or ())}
        return named, {*filter(None, pairing.doc_ids)}


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

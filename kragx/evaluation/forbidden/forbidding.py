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
from kragx.evaluation.forbidden.documents import Documents, doc_ids
from kragx.evaluation.forbidden.items import ItemMatches, matched_items
from kragx.evaluation.forbidden.marks import Beyond, PartMarks
from kragx.evaluation.forbidden.ruling import RANKS, Ruled
from kragx.evaluation.forbidden.versions import versions_of
from kragx.matchers.batches import BatchMatcher
from kragx.metrics import Bools, ForbiddenMarks

_TRUTHS = np.array([0, -1, 1], np.int8)  # of ranks


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
        docs = Documents(batch, self.id_key, self.corpus)
        matched = matched_items(docs, self.matcher, self._is_in_corpus)
        whys = [item.why for item in matched.items]
        kinds = tuple(sorted({*whys, *(rule.name for rule in self.rules.rules)}))
        kind_of = np.array([*map(kinds.index, whys)], np.int64)

        def having(numbers: Iterable[int]) -> Bools:
            """(q, s) which questions have some of these items, of which kinds."""
            rows, mask = [*numbers], np.zeros((len(batch), len(kinds)), bool)
            mask[np.array(matched.queries, np.int64)[rows], kind_of[rows]] = True
            return mask

        could, lost, by_id = map(having, (range(len(whys)), matched.lost, matched.by_id))
        ranks = np.zeros((len(docs), len(kinds)), np.int8)
        doc, item, truth = np.array(matched.pairs, np.int64).reshape(-1, 3).T
        np.maximum.at(ranks, (doc, kind_of[item]), RANKS[truth])
        beyond = self._beyond(docs, matched, kinds)
        for rule in self.rules.rules:
            ruled, column = Ruled.by(rule, docs, self.rules.zone), kinds.index(rule.name)
            ranks[:, column] = np.maximum(ranks[:, column], ruled.ranks)
            could[:, column] |= ruled.could
            beyond.lacking |= ruled.lacking
        versions = versions_of(docs, matched, reads_metadata=self.is_asked)
        # Of an empty answer all is known, whatever is forbidden; of none nothing is.
        is_open, may_be = ~batch.answered, batch.docs.texts.n_texts > 0
        is_told = (ranks == RANKS[1]).any(axis=1) | (versions.stale == 1)
        marks = ForbiddenMarks(
            kinds=kinds,
            mark=_TRUTHS[ranks],
            could=could,
            open=(could & is_open[:, None]) | (lost & may_be[:, None]),
            stale=versions.stale,
            versions=versions.versions,
            stale_open=(versions.versions & is_open) | (versions.open & may_be),
            names={row: docs.label(row) for row in is_told.nonzero()[0].tolist()},
        )
        return PartMarks(marks, by_id & may_be[:, None], versions.by_id & may_be, beyond)

    def _beyond(self, docs: Documents, matched: ItemMatches, kinds: Iterable[str]) -> Beyond:
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

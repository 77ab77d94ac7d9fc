"""What metrics may look at beside the match table: lists, facts, spans, and lengths for budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kragx import matchers
from kragx.data import Doc, Gold, Query, facts_of, unreviewed
from kragx.data.searches import ListName, Order
from kragx.data.tokenizers import Passages
from kragx.evaluation.document_sizes import DocumentSizes
from kragx.evaluation.searching import Searched
from kragx.evaluation.spans import Reader
from kragx.ground.errors import UsageError
from kragx.ground.printing import message
from kragx.matchers import MatchItem, matching
from kragx.matchers.items import batch_of
from kragx.matchers.matching import match_in_pool
from kragx.metrics import (
    Cut,
    HeldFacts,
    Ints,
    MatchTable,
    MetricSpec,
    Profile,
    RankedList,
    TextBudget,
)
from kragx.metrics.evidence import Evidence, Relevance
from kragx.metrics.evidence_metrics import OPTIONS
from kragx.metrics.search_table import SearchTable
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.reading import SpanOptions

FACTS_HAVE_NO_IDS = message(
    "facts are texts and have no ids, so context_completeness cannot match them by 'id'; name "
    "another matcher, for example facts_match: text"
)


def facts_matcher(
    spec: object, matcher: matchers.BaseMatcher, named: Profile
) -> matchers.BaseMatcher:
    """What matches facts, where a metric reads them."""
    of_facts = matcher if spec is None else matchers.matcher(spec, named.match_options)
    if of_facts.reads == "ids":
        raise UsageError(FACTS_HAVE_NO_IDS, field="facts_match")
    return of_facts.against_gold()


@dataclass(frozen=True)
class Facts:
    """Which facts the documents of each query hold; matched once, for every k.

    Attributes:
        rows: (n) the evaluation's row of each query that has facts.
        matches: the matches of these queries, whose facts stand as its gold.
        follows: whether gold and facts have one matcher, and so one threshold.
        n: how many facts there are, in how many queries, by what is known of them.
        diagnostics: what their matcher noted.
        contexts: where whole contexts were judged and not single documents: of each query that has
            facts, at how many documents each of its contexts ends, in their order.
    """

    rows: Ints
    matches: MatchTable
    follows: bool
    n: Mapping[str, int]
    diagnostics: matchers.Diagnostics
    contexts: Sequence[Sequence[int]] | None = None

    @classmethod
    def matched(
        cls,
        lists: Sequence[RankedList],
        specs: Sequence[MetricSpec],
        matcher: matchers.BaseMatcher,
        sizes: DocumentSizes,
        *,
        follows: bool,
    ) -> Facts:
        """Match the facts with the documents, or the contexts, that some metric looks at."""
        cuts = list(dict.fromkeys(spec.k for spec in specs if spec.metric.reads_facts))
        depths = np.stack([sizes.held_within(lists, k) for k in cuts], axis=1)
        items, contexts = {}, []
        for row, ranked in enumerate(lists):
            query = with_facts(ranked.query)
            if not query.gold:
                continue
            # As deep as the deepest cut-off reads: all the others are read from the same matches.
            docs = ranked.docs[: depths[row].max()]
            ends = sorted({*depths[row].tolist()} - {0})
            if matcher.of_context:
                docs = _contexts(replace(ranked, docs=docs), ends, matcher.name)
            items[row] = MatchItem(query, docs, ranked.status)
            contexts.append(ends)
        diagnostics = matchers.Diagnostics()
        table = matching.match_batches([batch_of([*items.values()])], matcher, diagnostics)
        n = {
            "n": len(table.grade),
            "n_vital": int((table.grade == VITAL).sum()),
            "n_queries": len(items),
            "n_unreviewed": sum(unreviewed(item.query) for item in items.values()),
        }
        ends_of = contexts if matcher.of_context else None
        return cls(np.array(list(items), np.int64), table, follows, n, diagnostics, ends_of)

    def held(self, depths: Ints) -> HeldFacts:
        """Which facts the first documents of each query hold, so many of each list.

        Raises:
            UsageError: contexts of these lengths were not judged.
        """
        table = self.matches
        fact_values = np.zeros(len(table.grade))
        query = self.rows[table.gold_query]
        if self.contexts is None:
            table = table.first(depths[self.rows])
            fact_values[table.pair_gold[np.isnan(table.pair_score)]] = np.nan
            # A fact that was found is present, whatever could not be said of other documents.
            fact_values[table.pair_gold[table.matched]] = 1
            return HeldFacts(query, fact_values, table.grade)
        for number, (row, ends) in enumerate(zip(self.rows.tolist(), self.contexts)):
            depth = int(depths[row])
            if depth and depth not in ends:
                raise UsageError(
                    "context_completeness: the first {depth} documents were not judged as a "
                    "context; name the metric with its cut-off when you call evaluate",
                    depth=depth,
                )
            if depth:
                facts = slice(table.gold_start[number], table.gold_start[number + 1])
                fact_values[facts] = table.dense(number)[ends.index(depth)]
        return HeldFacts(query, fact_values, table.grade)

    def deepest(self) -> dict[int, list[float | None]]:
        """By row what is said of each fact at the deepest cut-off; None where it is not known."""
        ends = [cuts[-1] if cuts else 0 for cuts in self.contexts or ()]
        depths = np.zeros(int(self.rows.max(initial=-1)) + 1, np.int64)
        depths[self.rows] = self.matches.n_docs if self.contexts is None else ends
        values = [None if np.isnan(value) else value for value in self.held(depths).held.tolist()]
        spans = pairwise(self.matches.gold_start.tolist())
        return {row: values[a:b] for row, (a, b) in zip(self.rows.tolist(), spans)}


def facts_counts(
    n: Mapping[str, int], diagnostics: matchers.Diagnostics, matcher: matchers.BaseMatcher
) -> dict[str, Any]:
    """The counts of all facts together, once what they show is warned of.

    Raises:
        JudgingError: more judgements are missing than the matcher's judge allows.
    """
    matching.conclude(matcher, diagnostics)
    return judging_counts(matcher, diagnostics, "judging_facts") | {"facts": dict(n)}


def relevance_specs(specs: Iterable[MetricSpec]) -> list[MetricSpec]:
    """The metrics of judged relevance."""
    return [spec for spec in specs if spec.metric.from_relevance is not None]


def relevance_depth(specs: Iterable[MetricSpec]) -> int | None:
    """How far down lists the metrics of judged relevance look; None for to the end."""
    ks = [spec.k for spec in relevance_specs(specs)]
    # A budget may hold any number of documents, so beside one nobody knows where to stop.
    ranks = [k for k in ks if isinstance(k, int)]
    return max(ranks) if ranks and len(ranks) == len(ks) else None


def relevance_matcher(
    specs: Sequence[MetricSpec], spec: object, matcher: matchers.BaseMatcher, named: Profile
) -> matchers.BaseMatcher:
    """What judges relevance, or a pool that it has judged, where a metric needs it.

    Raises:
        UsageError: it judges something else.
    """
    # A combination asks its judge about some pairs alone, and so has no grade of all documents.
    of_gold = matcher if matcher.judges and not matcher.members else "llm"
    judge = matchers.matcher(
        of_gold if spec is None else spec, named.match_options, field="relevance_match"
    )
    return judge if spec is not None and judge.pool else judge.of_relevance(relevance_depth(specs))


def judged_relevance(
    lists: Sequence[RankedList],
    specs: Sequence[MetricSpec],
    judge: matchers.BaseMatcher,
) -> Relevance:
    """How relevant the documents of each query are; nothing is asked where nothing answers."""
    depth = relevance_depth(specs)
    items = {
        row: MatchItem(ranked.query, ranked.top(depth), ranked.status)
        for row, ranked in enumerate(lists)
        if ranked.query.answerable is not False
    }
    pooled = judge if judge.pool is not None else judge.pooled([items.values()])
    pool, diagnostics = pooled.pool, matchers.Diagnostics()
    assert pool is not None  # as it was pooled
    return Relevance(
        rows=np.array([*items], np.int64),
        table=match_in_pool(items.values(), pooled, diagnostics),
        cut=float(pool.cut),
        depth=depth,
        judging=judging_counts(pooled, diagnostics, "judging_relevance"),
        settings={**pooled.settings, "pool": pool.settings},
    )


def judging_counts(
    matcher: matchers.BaseMatcher, diagnostics: matchers.Diagnostics, name: str = "judging"
) -> dict[str, Any]:
    """What judging took: ``{"judging": {...}}``, nothing without a judge."""
    return {name: matcher.summary(diagnostics.judging)} if matcher.judges else {}


VITAL, OKAY = 1.0, 0.5
"""What facts weigh; they stand as grades of the gold that they are in matches."""


def with_facts(query: Query) -> Query:
    """A query whose gold are its facts.

    Raises:
        DataError: they are no list of facts.
    """
    # Marked, as a fact may say just what a gold text says.
    gold = (
        Gold(text=fact.text, grade=VITAL if fact.vital else OKAY, metadata={"fact": True})
        for fact in facts_of(query)
    )
    return replace(query, gold=tuple(gold))


def _contexts(ranked: RankedList, ends: Sequence[int], method: str) -> tuple[Doc, ...]:
    """A document for each context that ends after so many of the list's.

    What they hold together does not depend on their order or on repeats: the same texts are the
    same context, and asked about once.
    """
    texts = MatchItem(replace(ranked.query, gold=()), ranked.docs).doc_texts(method)
    contexts = ("\n\n".join(sorted(set(texts[:end]))) for end in ends)
    return tuple(Doc(f"first {end}", text) for end, text in zip(ends, contexts))


def span_options(specs: Iterable[MetricSpec]) -> tuple[SpanOptions, ...]:
    """The ways in which metrics read texts for spans, each once."""
    # What reads spans cuts budgets itself, amid a document; nothing else does.
    options: list[dict[str, Any]] = [
        {name: spec[name] for name in OPTIONS} for spec in specs if spec.metric.cuts_budgets
    ]
    return tuple(dict.fromkeys(SpanOptions(**named) for named in options))


def reading_settings(
    readers: Mapping[SpanOptions, Reader], tokens: Mapping[str, Any] | None
) -> dict[str, Any]:
    """How texts were read for spans, and what a budget's token is; nothing where none was."""
    return {
        **({"spans": [reader.settings() for reader in readers.values()]} if readers else {}),
        **({"budget_tokenizer": dict(tokens)} if tokens else {}),
    }


class _Read(NamedTuple):
    """What was read of the documents of one list of each question."""

    sizes: DocumentSizes
    spreads: dict[SpanOptions, tuple[Spread, Reader]]


@dataclass(frozen=True)
class GatheredEvidence(Evidence):
    """The evidence of an evaluation.

    Attributes:
        matched_facts: the facts that were found; None if no metric reads them.
        sizes: the lengths of the documents, for budgets.
        passages: what spans are compared by where their tokenizer is chosen by the gold's script.
        searched: what each search brought, with the documents, where metrics look at these.
        relevance_of: as `relevance`, of other lists of searches by their names.
        named: which of these lists it is of; None for the one that metrics are about which name
            none.
    """

    matched_facts: Facts | None = None
    sizes: DocumentSizes = field(default_factory=DocumentSizes, repr=False, compare=False)
    passages: Passages | None = None
    searched: Searched | None = field(default=None, repr=False, compare=False)
    relevance_of: Mapping[tuple[ListName, Order], Relevance] = field(default_factory=dict)
    named: tuple[ListName, Order] | None = None
    # Read once for each way of reading, for every metric and k.
    _spreads: dict[SpanOptions, tuple[Spread, Reader]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _read_of: dict[tuple[ListName, Order], _Read] = field(
        default_factory=dict, repr=False, compare=False
    )

    def of(self, name: ListName, order: Order) -> GatheredEvidence:
        """The same of another list of each question."""
        assert self.searches is not None  # whoever asks knows of searches
        table = self.searches.of(name, order)
        searched = self.searched
        read = self._read_of.setdefault(
            (name, order), _Read(DocumentSizes(self.sizes.tokenizer), {})
        )
        return replace(
            self,
            lists=() if searched is None else searched.lists(self.lists, name, order),
            table=table,
            sizes=read.sizes,
            matched_facts=None,
            relevance=self.relevance_of.get((name, order)),
            named=(name, order),
            _spreads=read.spreads,
        )

    def within(self, budget: TextBudget) -> GatheredEvidence:
        """The same, each list cut after the documents that fit whole into a budget."""
        depths, judged = self.sizes.depths(self.lists, budget), self.relevance
        marks = self.forbidden
        if marks is not None and (self.searches is None or self.named == ("all", "turns")):
            marks = marks.first(self.table.n_docs, depths)
        return replace(
            self,
            lists=[
                replace(ranked, docs=ranked.docs[:depth])
                for ranked, depth in zip(self.lists, depths)
            ],
            table=self.table.first(depths),
            # Lengths are kept row by row, and these lists are shorter.
            sizes=DocumentSizes(self.sizes.tokenizer),
            relevance=judged and replace(judged, table=judged.table.first(depths[judged.rows])),
            forbidden=marks,
            _spreads={},
        )

    def facts(self, k: Cut) -> HeldFacts:
        """Which facts the first k documents of each query hold."""
        if self.matched_facts is None:
            return HeldFacts(np.array([], np.int64), np.array([]), np.array([]))
        return self.matched_facts.held(self.sizes.held_within(self.lists, k))

    def spread(self, options: SpanOptions) -> Spread:
        """Where the gold of every query stands in what was retrieved."""
        options = options.by(self.passages)
        if options not in self._spreads:
            reader = Reader(options)
            self._spreads[options] = reader.spread(self.lists, self.table), reader
            reader.warn()
        return self._spreads[options][0]

    def n_tokens(self, k: Cut, spread: Spread) -> Ints:
        """(q) how many tokens of each query's stream a cut-off holds."""
        if isinstance(k, TextBudget):
            return self.sizes.read(self.lists, k, spread)
        return spread.after(self.sizes.held_within(self.lists, k))

    @property
    def readers(self) -> dict[SpanOptions, Reader]:
        """Who has read the texts for spans, in each way that was asked for."""
        spreads = (*(read.spreads for read in self._read_of.values()), self._spreads)
        return {options: reader for of_list in spreads for options, (_, reader) in of_list.items()}

    @property
    def follows(self) -> bool:
        """Whether facts are matched at the gold's threshold."""
        return self.matched_facts is not None and self.matched_facts.follows

    def decided(self, table: MatchTable, searches: SearchTable | None = None) -> GatheredEvidence:
        """The same with these matches, and with facts at their threshold where they follow it.

        Args:
            table: the matches.
            searches: with matches at the same threshold.
        """
        facts = self.matched_facts
        if facts is not None and facts.follows:
            facts = replace(facts, matches=facts.matches.at_threshold(table.threshold))
        return replace(self, table=table, matched_facts=facts, searches=searches)

    def counts(self, facts_by: matchers.BaseMatcher | None) -> dict[str, Any]:
        """What is counted of facts, which this matches, and of a judge of relevance."""
        facts = self.matched_facts
        of_facts = (
            {}
            if facts is None or facts_by is None
            else facts_counts(facts.n, facts.diagnostics, facts_by)
        )
        return of_facts if self.relevance is None else {**of_facts, **self.relevance.judging}

    def settings(self) -> dict[str, Any]:
        """What judged relevance, how texts were read for spans, and what a budget's token is."""
        sizes = (self.sizes, *(read.sizes for read in self._read_of.values()))
        tokens = next(filter(None, (of_list.described() for of_list in sizes)), None)
        relevance = {} if self.relevance is None else {"relevance": self.relevance.settings}
        return relevance | reading_settings(self.readers, tokens)

"""By what a run is evaluated: the matcher, the metrics, and what their numbers mean."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from kragx import matchers
from kragx.data import (
    Corpus,
    Doc,
    Gold,
    GoldDataset,
    Run,
    Tokenizer,
    UnicodeTokenizer,
    as_corpus,
    describe,
    tokenizer,
)
from kragx.data.forbidden import FORBIDDEN
from kragx.data.rules import RuleSet
from kragx.data.searches import ListName, Order
from kragx.data.tokenizers import Passages
from kragx.evaluation.document_sizes import DocumentSizes
from kragx.evaluation.evidence import (
    Facts,
    GatheredEvidence,
    facts_matcher,
    judged_relevance,
    relevance_matcher,
    relevance_specs,
    span_options,
)
from kragx.evaluation.forbidden import Forbidding
from kragx.evaluation.inputs import Source
from kragx.evaluation.searching import SEARCHES, Searched, Searching, Seen
from kragx.evaluation.wording import IDS_ALONE
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError, UsageError, inside, nearest
from kragx.matchers.gold_siblings import (
    GoldSample,
    GoldSiblings,
    compares_gold,
    gold_siblings,
    siblings_remarks,
)
from kragx.matchers.siblings import are_misread
from kragx.matchers.texts import ALL_LOST, GOLD_LOST, TextsMatcher
from kragx.metrics import (
    KRAGX,
    NO_GOLD,
    ForbiddenMarks,
    MatchTable,
    MetricLike,
    MetricSpec,
    NoGold,
    Profile,
    RankedList,
    TextBudget,
    listed,
    parse_all,
    profile_for,
)
from kragx.metrics.evidence import Relevance
from kragx.metrics.search_table import SearchTable
from kragx.metrics.spec import Reads

if TYPE_CHECKING:
    from kragx.matchers.vocabulary import Vocabulary


SEARCH_METRICS = ("evidence_recall", "first_search", "rescue", "waste", "searches_per_gold")
"""What is computed beside the usual metrics where questions have several searches."""
TOKEN_METRICS = ("tokens_per_gold", "tokens_to_evidence")
"""The same where searches say what they cost in tokens."""


def ids_alone(gold: GoldDataset, runs: Collection[Run]) -> bool:
    """Whether ids are all that can be compared: one side has no text at all, and both have ids."""
    items = [item for query in gold for item in query.gold]
    golds: list[Gold | Doc] = [*items, *(doc for item in items for doc in item.alternatives)]
    docs = [doc for run in runs for answer in run.results.values() for doc in answer.documents]
    gold_has_text = any(item.text is not None for item in golds)
    if not golds or (gold_has_text and (not docs or any(doc.text is not None for doc in docs))):
        return False
    # Where an id is looked for if no key is named (`IdMatcher`).
    return all(item.id is not None or "id" in item.metadata for item in (*golds, *docs))


@dataclass(frozen=True)
class Criteria:
    """By what a run is evaluated; it can be sent to other processes.

    Attributes:
        label: names the matcher where several stand side by side.
        matcher: decides what matches the gold.
        named: the profile as it was named, by which metrics are read.
        profile: the same with the rule for queries without gold that was asked for.
        specs: the metrics.
        facts_by: matches facts; None where no metric reads them.
        facts_follow: whether that is what matches the gold.
        relevance_by: judges relevance; None where no metric reads it.
        tokenizer: says what a token is in budgets.
        passages: what spans are compared by where their tokenizer is chosen by the gold's script;
            None before the gold was looked at.
        is_open: whether nobody has said what matches: ids alone are then compared as ids.
        are_ids: whether that is so.
        forbidden: rules that forbid documents, beside the gold set's, of which they replace those
            of the same name.
        forbidden_words: the words of all texts with those of forbidden ones; None where there are
            none of these, or nobody has looked.
        ids_met: whether it is known that some retrieved id, if only another run's, is forbidden or
            gold, so that ids are not of another chunking.
        are_usual: whether nobody has named metrics.
        searching: takes searches apart, and says which list of them metrics are about that name
            none (`basis`); None where nobody looks at searches.
        lists_alone: whether metrics ask for searches where there are lists alone, whose basis might
            be another as well.
        reads: what metrics read beside matches (`Reads`).
        looks: whether they look at documents, times, facts, relevance.
        reads_forbidden: whether one asks what must not come.
    """

    label: str
    matcher: matchers.BaseMatcher
    named: Profile
    profile: Profile
    specs: tuple[MetricSpec, ...]
    facts_by: matchers.BaseMatcher | None = None
    facts_follow: bool = True
    relevance_by: matchers.BaseMatcher | None = None
    tokenizer: Tokenizer = field(default_factory=UnicodeTokenizer)
    passages: Passages | None = None
    is_open: bool = False
    are_ids: bool = False
    forbidden: Mapping[str, Any] = field(default_factory=dict)
    forbidden_words: Vocabulary | None = None
    ids_met: bool = False
    are_usual: bool = False
    searching: Searching | None = None
    lists_alone: bool = False
    reads: frozenset[Reads] = field(init=False)
    looks: bool = field(init=False)
    reads_forbidden: bool = field(init=False)
    _siblings: dict[int, GoldSiblings] = field(default_factory=dict, repr=False, compare=False)
    _warned: set[str] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        *,
        match: object = None,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        profile: str | Profile | None = None,
        no_gold: NoGold | None = None,
        facts_match: object = None,
        relevance_match: object = None,
        budget_tokenizer: object = None,
        forbidden: object = None,
    ) -> Self:
        """What the arguments of `kragx.evaluate` say.

        Raises:
            UsageError: an argument is wrong, or the matcher cannot do what a metric needs.
        """
        metrics = None if metrics is None else listed(metrics)
        named = profile_for(profile, metrics)
        match_spec = named.match if match is None else match
        matcher = matchers.matcher(match_spec, named.match_options)
        named = matcher.profile_for(named)
        if no_gold is not None and no_gold not in NO_GOLD:
            raise UsageError(
                "no_gold: unknown value {no_gold!r}; {hint}",
                no_gold=no_gold,
                hint=nearest(str(no_gold), NO_GOLD),
            )
        specs = tuple(parse_all(metrics, named))
        reads = frozenset[Reads]().union(*(spec.reads for spec in specs))
        with inside(FORBIDDEN):
            rules = {} if forbidden is None else RuleSet.of(forbidden).source
        if matcher.judges and named.name == "krag":
            raise UsageError(
                "match 'llm': K-RAG has no judge, so profile krag cannot reproduce one; use "
                "profile kragx"
            )
        for spec in specs if matcher.top is None else ():
            if spec["gain_from"] == "judge":
                raise UsageError(
                    "metric {of_grades}: gain_from=judge needs a matcher that gives grades; use "
                    "match llm",
                    of_grades=spec,
                )
        if matcher.of_context:
            raise UsageError(
                "match: {name!r} says which facts a whole context holds",
                remedy="name it as facts_match, and match gold by another, for example overlap",
                name=matcher.name,
            )
        return cls(
            label=matchers.label(match_spec),
            matcher=matcher,
            named=named,
            profile=named if no_gold is None else replace(named, no_gold=no_gold),
            specs=specs,
            facts_by=facts_matcher(facts_match, matcher, named) if "facts" in reads else None,
            facts_follow=facts_match is None,
            relevance_by=relevance_matcher(specs, relevance_match, matcher, named)
            if "relevance" in reads
            else None,
            # Other profiles reproduce somebody, whose way to match is not given up for ids.
            is_open=match is None and named.name == KRAGX.name,
            forbidden=rules or {},
            are_usual=metrics is None,
            passages=None if matcher.vocabulary is None else matcher.vocabulary.passages,
            tokenizer=(
                UnicodeTokenizer()
                if budget_tokenizer is None
                else tokenizer(budget_tokenizer, field="budget_tokenizer")
            ),
        )

    def of_ids(self) -> Self:
        """The same, by which ids are compared, as there is nothing else."""
        matcher = matchers.matcher("id")
        return replace(
            self, matcher=matcher, label="id", passages=None, is_open=False, are_ids=True
        )

    def fitting(self, gold: GoldDataset, runs: Collection[Run], corpus: object) -> Self:
        """The same, or `of_ids` where nobody has said what matches, and ids are all there is.

        Args:
            gold: the gold set.
            runs: what was retrieved; empty before anything is.
            corpus: where one has the texts of ids, these are compared.
        """
        may_be_ids = self.is_open and as_corpus(corpus).source is None
        return self.of_ids() if may_be_ids and ids_alone(gold, runs) else self

    def __post_init__(self) -> None:
        reads = frozenset[Reads]().union(*(spec.reads for spec in self.specs))
        looks, forbidden = "documents" in reads, "forbidden" in reads
        # Past the frozen class: they follow from `specs`, and are asked for again with every part.
        vars(self).update(reads=reads, looks=looks, reads_forbidden=forbidden)

    def _list_of(self, spec: MetricSpec) -> tuple[ListName, Order] | None:
        """The list of searches that a metric is about; None for the basis, or no list."""
        basis = None if self.searching is None else self.searching.basis
        return None if spec["of"] in (None, basis) else (spec["of"], spec["order"])

    def seeing(self, searches: Seen | None) -> Self:
        """The same where questions may have several searches.

        Args:
            searches: what a look at them shows; None where there are none.
        """
        if searches is None and "searches" not in self.reads:
            return self
        known = searches or Seen("retrieved", frozenset())
        specs = self.specs
        if self.are_usual:
            names = (*SEARCH_METRICS, *(TOKEN_METRICS if "tokens" in known.says else ()))
            specs = tuple(dict.fromkeys((*specs, *parse_all(names, self.named))))
        says_read = "read" in known.says or "read" not in self.reads
        changed = replace(self, specs=specs, are_usual=False, lists_alone=searches is None)
        counts = "tokens" in changed.reads and "tokens" not in known.says
        counts_by = self.tokenizer if counts else None
        searching = Searching(known.basis, changed.looks, counts_by, says_read)
        return replace(changed, searching=searching)

    @property
    def forbidden_matcher(self) -> matchers.BaseMatcher | None:
        """What compares forbidden texts, with siblings apart; None where ids alone are compared."""
        if self.matcher.reads == "ids":
            return None
        # A sibling of what is forbidden is another document, whatever gold forgives.
        rules = (member for member in self.matcher.family if member.siblings is not None)
        passages = next(rules, None)
        matcher = passages.with_siblings("apart") if passages else matchers.matcher("overlap")
        return matcher if self.forbidden_words is None else matcher.knowing(self.forbidden_words)

    def forbids(self, source: Source) -> bool:
        """Whether something may be forbidden, or a metric asks what is."""
        return bool(self.forbidden) or self.reads_forbidden or source.may_forbid is True

    def forbidding(self, rules: Mapping[str, Any], corpus: Corpus) -> Forbidding:
        """What tells what must not come.

        Args:
            rules: of the gold set.
            corpus: has metadata that documents lack.
        """
        matcher = self.forbidden_matcher
        return Forbidding(
            RuleSet.of({**rules, **self.forbidden}),
            matcher if isinstance(matcher, TextsMatcher) else None,
            self.id_key,
            corpus,
            self.reads_forbidden,
            self.ids_met,
        )

    @property
    def id_key(self) -> str | None:
        """Where documents keep the ids that the matcher, or a member, compares; None: as usual."""
        keys = (getattr(member, "id_key", None) for member in self.matcher.family)
        return next(filter(None, keys), None)

    @property
    def members(self) -> list[matchers.BaseMatcher]:
        """What matches gold, and facts, with the members of combinations."""
        deciders = [self.matcher] if self.facts_by is None else [self.matcher, self.facts_by]
        return [member for decider in deciders for member in decider.family]

    @property
    def token_settings(self) -> dict[str, Any] | None:
        """What a result records of the budgets' tokens; None if no budget counts any."""
        budgets = (spec.k for spec in self.specs if isinstance(spec.k, TextBudget))
        counts = any(budget.unit == "tokens" for budget in budgets)
        return describe(self.tokenizer) if counts else None

    def siblings(
        self, sample: GoldSample, diagnostics: matchers.Diagnostics | None = None
    ) -> GoldSiblings | None:
        """What the matcher makes of the gold of other questions; looked at, and said, once.

        None of a matcher that cannot tell without asking somebody (`compares_gold`).

        Args:
            sample: of the gold.
            diagnostics: of all questions, once they were matched: where texts are misread, too,
                that is said.
        """
        if not compares_gold(self.matcher):
            return None
        key = hash((sample.n, *sample.looked_at()))
        # `replace` hands this dictionary on: several runs have their gold compared once.
        if key not in self._siblings:
            self._siblings[key] = gold_siblings(sample, self.matcher)
        siblings = self._siblings[key]
        misread = (
            diagnostics is not None and siblings.untold is not None and are_misread(diagnostics)
        )
        siblings = replace(siblings, misread=misread)
        for problem in siblings_remarks(siblings.at(self.matcher.threshold), self.label):
            if problem not in self._warned:
                self._warned.add(problem)
                warnings.warn(problem, matchers.MatchWarning, stacklevel=outside())
        return siblings

    def measured(self, metrics: Iterable[str]) -> Self:
        """The same matcher and profile with metrics of matches alone; nothing is forbidden."""
        return replace(
            self,
            specs=tuple(parse_all(metrics, self.named)),
            facts_by=None,
            relevance_by=None,
            forbidden={},
        )

    @property
    def needs_vocabulary(self) -> bool:
        """Whether matchers or spans look at the words of all texts, and nobody has said them."""
        if self.matcher.needs_vocabulary or (self.facts_by and self.facts_by.needs_vocabulary):
            return True
        by_script = "spans" in self.reads and self.passages is None
        return by_script and any(read.tokenizer == "auto" for read in span_options(self.specs))

    def knowing(self, vocabulary: Vocabulary) -> Self:
        """The same with matchers and spans that know the words of all texts."""
        return replace(
            self,
            matcher=self.matcher.knowing(vocabulary),
            facts_by=self.facts_by and self.facts_by.knowing(vocabulary),
            passages=vocabulary.passages,
            forbidden_words=vocabulary.of_forbidden or self.forbidden_words,
        )

    def gathered(
        self,
        lists: Sequence[RankedList],
        table: MatchTable,
        concurrency: int,
        forbidden: ForbiddenMarks | None = None,
        searches: SearchTable | None = None,
        searched: Searched | None = None,
    ) -> GatheredEvidence:
        """What the metrics look at beside the matches.

        Args:
            lists: what each query got, in the order of the table's rows.
            table: the matches with the gold.
            concurrency: how many questions were asked at once.
            forbidden: what of the lists must not come.
            searches: what each search brought.
            searched: the same with documents.
        """
        facts, sizes = None, DocumentSizes(self.tokenizer)
        if (by := self.facts_by) is not None:
            follows = self.facts_follow
            facts = Facts.matched(lists, self.specs, by, sizes, follows=follows)
        gathered = (None, forbidden, searches, facts, sizes, self.passages, searched)
        evidence = GatheredEvidence(lists, table, concurrency, *gathered)
        if (judge := self.relevance_by) is None:
            return evidence
        judged: dict[Any, Relevance] = {}
        # Once a list, however many metrics are about it: each is a pool, whose judge is paid.
        for name in dict.fromkeys(map(self._list_of, relevance_specs(self.specs))):
            of_list = (evidence if name is None else evidence.of(*name)).lists
            specs = [spec for spec in self.specs if self._list_of(spec) == name]
            judged[name] = judged_relevance(of_list, specs, judge)
        return replace(evidence, relevance=judged.pop(None, None), relevance_of=judged)

    def check_lost(self, diagnostics: matchers.Diagnostics, n_with_gold: int) -> None:
        """Refuse a result in which no question can match.

        Zeros throughout would look like a result. K-RAG's are reproduced.

        Args:
            diagnostics: of all questions; the count that is looked at goes.
            n_with_gold: questions that have gold, of whatever grade.
        """
        all_are_lost = 0 < n_with_gold == diagnostics.pop(ALL_LOST, 0)
        if all_are_lost and self.named.name == KRAGX.name and not self.matcher.members:
            why = diagnostics.of_kind(GOLD_LOST)[0].problem()
            raise DataError("no question can match: {why}", why=why)

    def settings(
        self,
        dataset: Mapping[str, Any],
        run: Mapping[str, Any],
        forbidding: Forbidding | None = None,
    ) -> dict[str, Any]:
        """What a result records, but for the metrics and the versions."""
        facts_by, pool, vocabulary = self.facts_by, self.matcher.pool, self.matcher.vocabulary
        return {
            "profile": asdict(self.named),
            # Empty until numbers are there (`Evaluation.with_scores`), to stand in this order.
            "deviations": {},
            "match": self.matcher.settings,
            **({"match_from": IDS_ALONE} if self.are_ids else {}),
            "metrics": [],
            "dataset": dataset,
            **({} if facts_by is None else {"facts_match": facts_by.settings}),
            "run": run,
            **({} if pool is None else {"pool": pool.settings}),
            **({} if vocabulary is None else {"vocabulary": vocabulary.settings}),
            **({} if forbidding is None else {FORBIDDEN: forbidding.settings}),
            **({} if self.searching is None else self._of_searches(self.searching)),
        }

    def _of_searches(self, searching: Searching) -> dict[str, Any]:
        """What a result records of how searches are looked at."""
        settings: dict[str, Any] = {"basis": searching.basis}
        if self.lists_alone:
            settings["lists_alone"] = True
        if searching.counts_by is not None:
            settings |= {"tokens": "counted", "tokenizer": describe(searching.counts_by)}
        return {SEARCHES: settings}

    def __getstate__(self) -> dict[str, Any]:
        # Metrics hold functions, so others read them by their names; a plain one goes by itself.
        specs = [
            (":" not in spec.name and spec.metric.function) or str(spec) for spec in self.specs
        ]
        return {**vars(self), "specs": specs}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        specs = tuple(parse_all(state["specs"], state["named"]))
        vars(self).update(state, specs=specs)


def deviations(
    specs: Sequence[MetricSpec], named: Mapping[str, Any], profile: Profile
) -> dict[str, Any]:
    """What differs from the profile as it was named: options in metric strings, and `no_gold`."""
    changes: dict[str, Any] = {}
    for spec in specs:
        for name, value in spec.options.items():
            if spec.metric.options[name].by_profile and value != named[name]:
                changes.setdefault(str(spec), {})[name] = value
    return (
        changes if profile.no_gold == named["no_gold"] else changes | {"no_gold": profile.no_gold}
    )

"""Where the gold was lost: which step of a retrieving chain had it last, and what became of it."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from math import inf
from statistics import median
from typing import ClassVar, Literal

from kragx.data import Doc, GoldDataset, Query, Retrieved, Run, Stage, last_stages, read_dataset
from kragx.errors import DataError, UsageError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate import evaluate_run
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import gold_outcome
from kragx.evaluation.search_lists import (
    ALL,
    ANSWER,
    chain_of,
    has_searches,
    matches_of_lists,
    read_of,
    tools_of,
)
from kragx.matchers import MatchWarning, OnMatch
from kragx.metrics import MetricWarning, Profile, TextBudget
from kragx.metrics.scores import number_of
from kragx.printing import (
    Heading,
    Line,
    Part,
    Result,
    Table,
    joined,
    number,
    percent,
    phrase,
    visible,
    warning,
)

Reason = Literal[
    "never_retrieved", "fused_away", "cut", "lowered", "always_low", "unread", "failed", "missing"
]
"""What became of a gold item that the answer has not within k.

- ``never_retrieved``: no stage, and no search, had it;
- ``fused_away``: one of several lists had it, what was made of them not;
- ``cut``: the list that a stage got had it, what it returned not: a filter, or a limit below k;
- ``lowered``: within k before a stage, and behind it deeper, whatever a limit then took away;
- ``always_low``: never within k in any list on its way;
- ``unread``: a search had it, and it was not read;
- ``failed``: the question was not answered;
- ``missing``: the results of somebody who searches lack the question.
"""


def reasons(k: int | None) -> dict[str, str]:
    """The reasons as people read them, in their order."""
    return {
        "never_retrieved": phrase("never retrieved"),
        "fused_away": phrase("dropped by the fusion"),
        "cut": phrase("cut"),
        "lowered": phrase("ranked down below {k}", k=k),
        "always_low": phrase("never within {k}", k=k),
        "unread": phrase("retrieved, not read"),
        "failed": phrase("failed questions"),
        "missing": phrase("missing questions"),
    }


_ONE: Mapping[str, str] = {
    "failed": phrase("failed question"),
    "missing": phrase("missing question"),
}
"""The same in a sentence about a single gold item, where that is another word."""

USUAL_K = 10


@dataclass(frozen=True)
class LostItem:
    """A gold item that the answer has not within k.

    Attributes:
        query_id: of its question.
        gold: its position among the question's gold items, from 0.
        reason: what became of it.
        stage: where; None where no stage ever had it, or the question failed as a whole.
        rank_before: its best rank in the lists that this stage got; None if it was in none.
        rank_after: its rank in what the stage returned; None if it is not there.
    """

    query_id: str
    gold: int
    reason: Reason
    stage: str | None = None
    rank_before: int | None = None
    rank_after: int | None = None


@dataclass(frozen=True)
class Loss:
    """How many gold items were lost for one reason at one stage.

    Attributes:
        reason: the reason.
        stage: the stage; None where it was none.
        n: how many gold items.
        query_ids: of their questions.
    """

    reason: Reason
    stage: str | None
    n: int
    query_ids: tuple[str, ...]


@dataclass(frozen=True)
class StageScore:
    """What one stage does to the gold; items are counted over the questions that have the stage.

    Attributes:
        name: the stage's.
        inputs: the stages whose documents it gets; none of one that searches.
        n_questions: how many questions have the stage.
        n_failed: on how many of them it failed, or did not end.
        milliseconds: the median time of those that ended; None if none is known.
        means: recall and nDCG at k of what it returned, over its questions with gold; None without.
        n_reached: gold items that it could have returned: that some list which it got had; of a
            stage that searches all of them.
        n_kept: of these how many it returned, at any rank.
        n_within: gold items within k behind it.
        n_lifted: those that its inputs had deeper than k, and that it has within k.
        n_lowered: those that an input had within k, and that it has deeper.
    """

    name: str
    inputs: tuple[str, ...]
    n_questions: int
    n_failed: int
    milliseconds: float | None
    means: Mapping[str, float | None]
    n_reached: int
    n_kept: int
    n_within: int
    n_lifted: int
    n_lowered: int


@dataclass(frozen=True)
class StageLosses(Result):
    """Where one retriever loses the gold, under one matcher.

    Attributes:
        retriever: its name.
        match: names the matcher.
        k: how deep an answer is looked at; None where searches were made: what came was there to
            be read, and what was read is the answer.
        n_questions: how many questions were asked, have gold and stages, or measured searches;
            with searches those that the results lack, too, where these are scored as empty lists.
        n_gold: their gold items.
        n_found: those that the answer has within k.
        stages: in the order of the chain; empty where nothing can be said, and `remarks` say why.
        items: the gold items that are lost.
        remarks: what a reader must know before trusting this.
        n_read_unknown: of how many questions nobody says what was read; all that came counts as
            read there, which the summary says, too.

    Examples:
        >>> from kragx import Doc, Retrieved, Run, Stage, stage_losses
        >>> search = Stage("bm25", documents=(Doc("c1", "the answer"), Doc("c2", "another text")))
        >>> rerank = Stage("reranker", inputs=("bm25",), documents=(Doc("c2", "another text"),))
        >>> run = Run({"q1": Retrieved(rerank.documents, stages=(search, rerank))}, name="chain")
        >>> losses = stage_losses([["the answer"]], run, match="exact", k=5)
        >>> losses.n_gold, losses.n_found
        (1, 0)
    """

    retriever: str
    match: str
    k: int | None
    n_questions: int
    n_gold: int
    n_found: int
    stages: tuple[StageScore, ...]
    items: tuple[LostItem, ...]
    remarks: tuple[str, ...] = ()
    n_read_unknown: int = 0

    also_plain: ClassVar[tuple[str, ...]] = ("losses",)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """How many items each stage loses, by reason; the most first."""
        ids_by_loss: dict[tuple[Reason, str | None], list[str]] = {}
        for item in self.items:
            ids_by_loss.setdefault((item.reason, item.stage), []).append(item.query_id)
        losses = [
            Loss(reason, stage, len(ids), tuple(dict.fromkeys(ids)))
            for (reason, stage), ids in ids_by_loss.items()
        ]
        return tuple(sorted(losses, key=lambda loss: -loss.n))

    @property
    def by_reason(self) -> dict[str, int]:
        """How many items are lost for each reason; all reasons, in their order."""
        counts = Counter[str](item.reason for item in self.items)
        return {reason: counts[reason] for reason in reasons(self.k)}

    @property
    def summary(self) -> str:
        """One line: what is found, and what loses the rest."""
        if not self.stages:
            return joined("; ", self.remarks)
        recall = phrase(
            "{n} of {of} gold items reached the answer"
            if self.k is None
            else "{n} of {of} gold items within {k}",
            n=self.n_found,
            of=self.n_gold,
            k=self.k,
        )
        words = reasons(self.k)
        causes = [
            phrase(
                "{n} {reason}{place}",
                n=loss.n,
                reason=_ONE.get(loss.reason, words[loss.reason])
                if loss.n == 1
                else words[loss.reason],
                place=f" ({visible(loss.stage)})" if loss.stage else "",
            )
            for loss in self.losses
        ]
        line = (
            phrase("{found}; lost: {lost}", found=recall, lost=joined(", ", causes))
            if causes
            else recall
        )
        if not self.n_read_unknown:
            return line
        return joined("; ", [line, _read_unknown(self.n_read_unknown)])

    def describe(self) -> Iterator[Part]:
        """The summary, then what each stage does to the gold."""
        yield Line(joined(": ", [visible(self.retriever), self.summary]))
        if self.stages:
            yield self.table
        in_summary = _read_unknown(self.n_read_unknown)
        remarks = (remark for remark in self.remarks if remark != in_summary)
        yield from map(warning, remarks if self.stages else ())

    @property
    def table(self) -> Table:
        """The stages: the quality behind each, and what it does to the gold that reached it."""
        metrics = list(self.stages[0].means)
        rows = [
            [
                _label(stage.name),
                joined(" + ", map(_label, stage.inputs)) or "-",
                *(number(stage.means[metric]) for metric in metrics),
                phrase(
                    "{n} of {of} ({share})",
                    n=stage.n_kept,
                    of=stage.n_reached,
                    share=percent(stage.n_kept / stage.n_reached if stage.n_reached else None, 0),
                ),
                *self._moved(stage),
                "-" if stage.milliseconds is None else number(stage.milliseconds),
            ]
            for stage in self.stages
        ]
        moved = [] if self.k is None else [phrase("into / out of {k}", k=self.k)]
        columns = [phrase("stage"), phrase("gets"), *metrics, phrase("gold kept"), *moved, "ms"]
        note = phrase(
            "gold kept: of the gold items that reached the list; of a tool's searches, of all of "
            "the questions that it was used for, as recall is. ms: median of a question"
            if self.k is None
            else "gold kept: of the gold items that reached the stage; of one that searches, of "
            "all. "
            "into / out of {k}: items that the stage moved there by its order. ms: median",
            k=self.k,
        )
        return Table(columns, rows, words=2, note=note)

    def _moved(self, stage: StageScore) -> list[str]:
        if self.k is None:
            return []
        return [f"+{stage.n_lifted} / -{stage.n_lowered}" if stage.inputs else "-"]


def _read_unknown(n: int) -> str:
    """That the answer is taken for more than may have been read."""
    return phrase(
        "questions of which nobody says what was read: {n}; all that came counts as read there",
        n=n,
    )


def _label(name: str) -> str:
    return phrase("all searches") if name == ALL else visible(name)


def losses_table(losses: Sequence[StageLosses]) -> Table:
    """Retrievers side by side: what each loses, by reason."""
    k = losses[0].k
    words = {
        reason: word
        for reason, word in reasons(k).items()
        if any(of_one.by_reason[reason] for of_one in losses)
    }
    within = phrase("reached the answer") if k is None else phrase("within {k}", k=k)
    columns = [phrase("retriever"), phrase("gold items"), within, *words.values()]
    rows = [
        [
            visible(of_one.retriever),
            *map(str, (of_one.n_gold, of_one.n_found, *map(of_one.by_reason.get, words))),
        ]
        for of_one in losses
        if of_one.stages
    ]
    note = phrase(
        "gold items of all questions but those whose searches gave no documents, each counted once"
        if k is None
        else "gold items of the questions with stages, each counted once"
    )
    return Table(columns, rows, note=note)


def losses_parts(losses: Sequence[StageLosses], level: int = 2) -> Iterator[Part]:
    """The section of a report; nothing where no retriever has stages."""
    if not losses:
        return
    yield Heading(phrase("Where the gold is lost"), level=level)
    with_stages = [of_one for of_one in losses if of_one.stages]
    for k in dict.fromkeys(of_one.k for of_one in with_stages):
        alike = [of_one for of_one in with_stages if of_one.k == k]
        if len(alike) > 1:
            yield losses_table(alike)
    for of_one in losses:
        yield from of_one.describe()


def stage_losses(
    dataset: object,
    run: Run,
    *,
    match: object = None,
    k: int = USUAL_K,
    profile: str | Profile | None = None,
    corpus: object = None,
) -> StageLosses:
    """Say which stage of a chain, or which search and what was made of it, loses the gold.

    Args:
        dataset: the gold set, as for `evaluate`.
        run: what the chain returned, with stages (``retrieve(..., stages=True)``, or read from
            results that have them), or with searches.
        match: as for `evaluate`.
        k: how deep an answer is looked at; with searches all of it is.
        profile: as for `evaluate`.
        corpus: as for `evaluate`.

    Raises:
        UsageError: no question of the run has stages, or an argument is wrong.
        DataError: the data is.

    Examples:
        >>> from kragx import Doc, Retrieved, Run, Stage, stage_losses
        >>> search = Stage("bm25", documents=(Doc("c1", "the answer"), Doc("c2", "another text")))
        >>> rerank = Stage("reranker", inputs=("bm25",), documents=(Doc("c2", "another text"),))
        >>> run = Run({"q1": Retrieved(rerank.documents, stages=(search, rerank))}, name="chain")
        >>> losses = stage_losses([["the answer"]], run, match="exact", k=5)
        >>> [(stage.name, stage.n_reached, stage.n_kept) for stage in losses.stages]
        [('bm25', 1, 1), ('reranker', 1, 0)]
    """
    if not has_stages(run):
        raise UsageError(
            f"run: no question of {run.name!r} has stages, or searches; "
            "retrieve(..., stages=True) keeps the stages of LangChain's chains"
        )
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UsageError(f"k: must be a whole number from 1 on, not {k!r}")
    gold = read_dataset(dataset)
    criteria = Criteria.of(match=match, metrics=_metrics(k), profile=profile)
    if criteria.matcher.judges:
        return _unjudged(run.name, criteria.label, k)
    final = evaluate_run(gold, run, criteria, corpus=corpus)
    return losses_of(final, gold, run, criteria, k=k, corpus=corpus)


def has_stages(run: Run) -> bool:
    """Whether there is more to say of a run than of its answers."""
    return any(
        len(answer.stages) > 1
        or answer.searches
        or any(not _equal(stage.documents, answer.documents) for stage in answer.stages)
        for answer in run.results.values()
    )


def _equal(first: Sequence[Doc], second: Sequence[Doc]) -> bool:
    """Whether two lists are of the same documents; a corpus may have given one of them texts."""
    return [doc.identity for doc in first] == [doc.identity for doc in second]


def depth_of(evaluation: Evaluation) -> int:
    """The k of the first metric that has one."""
    depths = (spec.k for spec in evaluation.specs if not isinstance(spec.k, TextBudget))
    return next(filter(None, depths), USUAL_K)


def losses_of(
    final: Evaluation,
    dataset: GoldDataset,
    run: Run,
    criteria: Criteria,
    *,
    k: int,
    corpus: object = None,
    on_match: Callable[[str], OnMatch | None] = lambda name: None,
) -> StageLosses:
    """The same, of a run whose answers were matched already.

    Args:
        final: the evaluation of the answers, whose threshold decides.
        dataset: the gold set.
        run: what the chain returned, with stages or searches.
        criteria: the matcher, whose scores may be recorded ones, and the profile.
        k: how deep an answer is looked at.
        corpus: as for `evaluate`.
        on_match: says who listens to the matcher, by the name of a stage's run.
    """
    if not has_searches(run):
        if criteria.matcher.judges:
            return _unjudged(run.name, final.match_name, k)
        return _losses(_Road(final, dataset, run, criteria, k, {ANSWER: final}, corpus, on_match))
    if "pool" in final.settings:  # whose gold is what was retrieved
        return _unjudged(run.name, final.match_name, None)
    tools = tools_of(run)
    settled = matches_of_lists(final, run, tools)
    return _losses(
        _Road(final, dataset, run, criteria, None, settled, corpus, on_match, tuple(tools))
    )


@dataclass(frozen=True)
class _Road:
    """What is known of the way to a run's answers.

    Attributes:
        final: the evaluation of the answers.
        k: how deep they are looked at; None where searches were made.
        settled: of lists that are matched already, by name; the answer's is one of them.
        tools: that searched.
    """

    final: Evaluation
    dataset: GoldDataset
    run: Run
    criteria: Criteria
    k: int | None
    settled: Mapping[str, Evaluation]
    corpus: object
    on_match: Callable[[str], OnMatch | None]
    tools: Sequence[str] = ()

    @property
    def metrics(self) -> list[str]:
        return ["recall"] if self.k is None else _metrics(self.k)

    def lists(self, query: Query) -> dict[str, Stage]:
        """The lists of a question by their names, the answer last; none of one that has no way."""
        if query.id not in self.run:
            return {ANSWER: Stage(ANSWER)}
        answer = self.run[query.id]
        if self.k is None:
            return {stage.name: stage for stage in chain_of(answer, self.tools)}
        return _lists(answer) if answer.stages else {}

    def is_asked(self, query: Query) -> bool:
        """Whether a question counts: with searches one that the results lack does, as in recall."""
        is_missing = self.k is None and self.final.profile.missing != "left_out"
        return query.id in self.run or is_missing

    def matched(self, name: str, lists: Mapping[str, Mapping[str, Stage]]) -> Evaluation:
        """What a stage returned, matched as the answers were."""
        queries = tuple(
            query if query.forbidden is None else replace(query, forbidden=None)
            for query in self.dataset
            if name in lists.get(query.id, ())
        )
        results = {query.id: Retrieved(lists[query.id][name].documents) for query in queries}
        run = Run(results, name=f"{self.run.name} > {name}")
        gold = GoldDataset(queries, name=self.dataset.name)
        with warnings.catch_warnings():  # of the answers they are said
            warnings.simplefilter("ignore", MatchWarning)
            warnings.simplefilter("ignore", MetricWarning)
            evaluation = evaluate_run(
                gold,
                run,
                self.criteria.measured(self.metrics),
                corpus=self.corpus,
                on_match=self.on_match,
            )
            threshold = self.final.table.threshold  # which may be another than the matcher's
            if evaluation.table.threshold != threshold:
                evaluation = evaluation.at_threshold(threshold)
        return evaluation


def _losses(road: _Road) -> StageLosses:
    run, k = road.run, road.k
    with_gold = [query for query in road.dataset if road.is_asked(query) and _items(query)]
    lists = {query.id: own for query in with_gold if (own := road.lists(query))}
    queries = [query for query in with_gold if query.id in lists]
    matched, remarks = dict[str, Evaluation](), [*_left_out(road, len(with_gold), queries)]
    # The longest chain says the order of all; the lists of searches stand behind their stages.
    names = dict.fromkeys(chain(*sorted(lists.values(), key=len, reverse=True)))
    for name in sorted(names, key=lambda name: (name == ANSWER, name == ALL)):
        if name in road.settled:
            matched[name] = road.settled[name]
        elif road.criteria.matcher.judges:
            remarks = [*dict.fromkeys([*remarks, _not_judged()])]
        else:
            try:
                matched[name] = road.matched(name, lists)
            except (DataError, UsageError) as error:
                why = visible(str(error).splitlines()[0])
                remarks.append(
                    phrase("stage {name} is passed over: {why}", name=visible(name), why=why)
                )
    if not matched.keys() - {ANSWER}:
        return _unsaid(run.name, road.final.match_name, k, remarks)
    ranks = {name: _ranks(evaluation) for name, evaluation in matched.items()}
    chains = [
        _Chain(query, run.results.get(query.id), lists[query.id], ranks, k) for query in queries
    ]
    scores = [
        _score(name, chains, _means(evaluation, queries, lists, name, road.metrics))
        for name, evaluation in matched.items()
        if name != ANSWER or any(of_query.makes_answer for of_query in chains)
    ]
    remarks += chain.from_iterable(
        _remarks(score, len(queries), is_said=k is None) for score in scores if score.name != ANSWER
    )
    items = tuple(item for of_query in chains for item in of_query.lost())
    n_gold = sum(len(of_query.items) for of_query in chains)
    n_found = n_gold - len(items)
    heading = (run.name, road.final.match_name, k, len(queries), n_gold, n_found)
    n_unknown = _n_read_unknown(road, queries)
    return StageLosses(*heading, tuple(scores), items, tuple(remarks), n_unknown)


def _left_out(road: _Road, n_with_gold: int, queries: Sequence[Query]) -> Iterator[str]:
    """Of how many questions nobody knows the way, or its end."""
    if n_without := n_with_gold - len(queries):
        yield phrase(
            "questions without a search that gives documents, left out: {n}"
            if road.k is None
            else "questions without stages, left out: {n}",
            n=n_without,
        )
    if n_unknown := _n_read_unknown(road, queries):
        yield _read_unknown(n_unknown)


def _n_read_unknown(road: _Road, queries: Iterable[Query]) -> int:
    """Of how many questions nobody says what was read, though they were answered."""
    if road.k is not None:
        return 0
    answers = [road.run[query.id] for query in queries if query.id in road.run]
    return sum(answer.error is None and read_of(answer) is None for answer in answers)


def _remarks(score: StageScore, n_questions: int, *, is_said: bool) -> Iterator[str]:
    """On how few questions a stage was seen, unless that `is_said`, and how often it failed."""
    name = visible(score.name)
    if score.n_questions < n_questions and not is_said:
        yield phrase(
            "stage {name} was seen on {n} of {of} questions; its numbers are of those",
            name=name,
            n=score.n_questions,
            of=n_questions,
        )
    if score.n_failed:
        yield phrase(
            "stage {name} failed on {n} of {of} questions, each scored as an empty list",
            name=name,
            n=score.n_failed,
            of=score.n_questions,
        )


def _metrics(k: int) -> list[str]:
    return [f"recall@{k}", f"ndcg@{k}"]


def _unjudged(retriever: str, match: str, k: int | None) -> StageLosses:
    return _unsaid(retriever, match, k, [_not_judged()])


def _not_judged() -> str:
    return phrase(
        "what stages returned is not sent to a judge; where they lose the gold can be said by "
        "a matcher that asks none, for example {example}",
        example="matchers: {judged: llm, texts: overlap}",
    )


def _unsaid(retriever: str, match: str, k: int | None, why: Iterable[str]) -> StageLosses:
    return StageLosses(retriever, match, k, 0, 0, 0, (), (), tuple(why))


def _items(query: Query) -> list[int]:
    """The positions of a question's gold items."""
    return [position for position, gold in enumerate(query.gold) if gold.grade > 0]


def _lists(answer: Retrieved) -> dict[str, Stage]:
    """The stages of an answer by their names, and last the answer, made of those that end it."""

    def label(name: str) -> str:
        return f"{ANSWER} (stage)" if name == ANSWER else name

    last = tuple(label(stage.name) for stage in last_stages(answer.stages))
    stages = (
        replace(stage, name=label(stage.name), inputs=tuple(map(label, stage.inputs)))
        for stage in answer.stages
    )
    every = (*stages, Stage(ANSWER, last, answer.documents))
    return {stage.name: stage for stage in every}


def _ranks(evaluation: Evaluation) -> dict[str, list[float]]:
    """By query id the first rank of each gold item; infinite where it was not found."""
    first = gold_outcome(evaluation).first.tolist()
    starts = pairwise(evaluation.table.gold_start.tolist())
    return {
        query_id: [rank or inf for rank in first[start:end]]
        for query_id, (start, end) in zip(evaluation.query_ids, starts)
    }


def _means(
    evaluation: Evaluation,
    queries: Iterable[Query],
    lists: Mapping[str, Mapping[str, Stage]],
    name: str,
    metrics: Sequence[str],
) -> dict[str, float | None]:
    """The means of an evaluation over those of its questions that have a list."""
    places = {query_id: row for row, query_id in enumerate(evaluation.query_ids)}
    rows = [places[query.id] for query in queries if name in lists[query.id]]
    scores = evaluation.with_metrics(metrics).scores
    weights = None if evaluation.weights is None else evaluation.weights[rows]
    return {
        str(score.spec): number_of(score.spec.metric, score.values[rows], weights=weights)
        for score in scores
    }


class _Chain:
    """The lists on the way to one question's answer, and which has which gold item at which rank.

    Attributes:
        query_id: of the question.
        items: the positions of its gold items.
        lists: what its stages returned, and last the answer.
        inputs: the lists of which each is made; in place of one that could not be matched those of
            which that was made.
        makes_answer: whether the answer is another list than what the last stage returned.
    """

    def __init__(
        self,
        query: Query,
        answer: Retrieved | None,
        lists: Mapping[str, Stage],
        ranks: Mapping[str, Mapping[str, Sequence[float]]],
        k: int | None,
    ) -> None:
        self.query_id, self.items, self.lists = query.id, _items(query), lists
        self.k = sys.maxsize if k is None else k  # what stands anywhere is within it
        self._is_read = k is None
        self._is_missing = answer is None
        self._is_failed = answer is not None and answer.error is not None
        self._ranks = {
            name: by_query[query.id] for name, by_query in ranks.items() if name in lists
        }
        self.inputs: dict[str, list[str]] = {}
        for name, stage in lists.items():
            readable = (
                [source] if source in self._ranks else self.inputs[source]
                for source in stage.inputs
            )
            self.inputs[name] = [*dict.fromkeys(chain.from_iterable(readable))]
        last = lists[ANSWER].inputs
        self.makes_answer = len(last) != 1 or not (
            self._is_failed or _equal(lists[last[0]].documents, lists[ANSWER].documents)
        )

    def searches(self, name: str) -> bool:
        """Whether a list is of a search: one that only joins others, of which none is, is not."""
        joins = name == ANSWER or (name == ALL and self._is_read)
        return not self.inputs[name] and not (joins and not self.lists[name].inputs)

    def rank(self, item: int, *names: str) -> float:
        """The best rank of a gold item in some lists; infinite if it is in none."""
        return min((self._ranks[name][item] for name in names), default=inf)

    def lost(self) -> Iterator[LostItem]:
        """The gold items that the answer has not within k, and where each was lost."""
        failed = next((name for name, stage in self.lists.items() if stage.error is not None), None)
        for item in self.items:
            if self.rank(item, ANSWER) > self.k:
                if self._is_missing:
                    yield LostItem(self.query_id, item, "missing")
                elif self._is_failed:
                    yield LostItem(self.query_id, item, "failed", failed)
                else:
                    yield self._traced(item)

    def _traced(self, item: int) -> LostItem:
        """Backwards from the answer to the stage that lost an item."""
        names, visited = [ANSWER], {ANSWER}
        while names:
            name = names.pop(0)
            inputs, rank = self.inputs[name], self.rank(item, name)
            before = self.rank(item, *inputs)
            if name == ANSWER and self._is_read and before < rank:
                return LostItem(self.query_id, item, "unread")
            if reason := self._reason(name, before, rank):
                ranks = (None if place == inf else int(place) for place in (before, rank))
                return LostItem(self.query_id, item, reason, name, *ranks)
            # Back along the lists that have it; where none has, along all, as one before may.
            having = [source for source in inputs if self.rank(item, source) < inf]
            names += [source for source in having or inputs if source not in visited]
            visited.update(names)
        return LostItem(self.query_id, item, "never_retrieved")

    def _reason(self, name: str, before: float, rank: float) -> Reason | None:
        """Why a list loses an item of these ranks; None where it was lost before."""
        if before <= self.k < rank < inf:
            return "lowered"
        if before == inf and rank < inf:
            return "always_low"
        if before < rank == inf and not self._is_low(name, before):
            return "fused_away" if len(self.inputs[name]) > 1 else "cut"
        return None

    def _is_low(self, name: str, before: float) -> bool:
        """Whether a stage only took the first documents, and this one had been below k before."""
        if before <= self.k or len(self.inputs[name]) != 1:
            return False
        output, source = (self.lists[stage].documents for stage in (name, self.inputs[name][0]))
        return _equal(output, source[: len(output)])


def _score(name: str, chains: Iterable[_Chain], means: Mapping[str, float | None]) -> StageScore:
    """What a stage, or what is made of the last ones, does to the gold."""
    chains = [of_query for of_query in chains if name in of_query.lists]
    k, stages = chains[0].k, [of_query.lists[name] for of_query in chains]
    ranks = [
        (of_query.rank(item, *inputs), of_query.rank(item, name), of_query.searches(name))
        for of_query in chains
        for inputs in (of_query.inputs[name],)
        for item in of_query.items
    ]
    reached = [after for before, after, searches in ranks if searches or before < inf]
    times = [stage.seconds * 1000 for stage in stages if stage.seconds is not None]
    return StageScore(
        name=name,
        inputs=tuple(dict.fromkeys(chain(*(of_query.inputs[name] for of_query in chains)))),
        n_questions=len(chains),
        n_failed=sum(stage.error is not None for stage in stages),
        milliseconds=median(times) if times else None,
        means=means,
        n_reached=len(reached),
        n_kept=sum(after < inf for after in reached),
        n_within=sum(after <= k for _, after, _ in ranks),
        n_lifted=sum(after <= k < before < inf for before, after, _ in ranks),
        n_lowered=sum(before <= k < after < inf for before, after, _ in ranks),
    )

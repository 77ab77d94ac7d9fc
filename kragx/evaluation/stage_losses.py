"""Where the gold was lost: which step of a retrieving chain had it last, and what became of it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from math import inf
from statistics import median
from typing import ClassVar, Literal

from kragx.data import Doc, GoldDataset, Query, Retrieved, Run, Stage, last_stages, read_dataset
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run
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
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import (
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
from kragx.matchers import MatchWarning
from kragx.metrics import MetricWarning, Profile, TextBudget
from kragx.metrics.scores import number_of

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
    def summary(self) -> str:
        """One line: what is found, and what loses the rest."""
        if not self.stages:
            return joined("; ", self.remarks)
        line: str = phrase(
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
                reason=(_ONE if loss.n == 1 else words).get(loss.reason, words[loss.reason]),
                place=f" ({visible(loss.stage)})" if loss.stage else "",
            )
            for loss in self.losses
        ]
        if causes:
            line = phrase("{found}; lost: {lost}", found=line, lost=joined(", ", causes))
        return joined("; ", [line, *_read_unknown(self.n_read_unknown)])

    def describe(self) -> Iterator[Part]:
        """The summary, then what each stage does to the gold."""
        yield Line(joined(": ", [visible(self.retriever), self.summary]))
        if self.stages:
            yield self.table
            in_summary = _read_unknown(self.n_read_unknown)
            yield from (warning(remark) for remark in self.remarks if remark not in in_summary)

    @property
    def table(self) -> Table:
        """The stages: the quality behind each, and what it does to the gold that reached it."""
        metrics = list(self.stages[0].means)
        moved = [] if self.k is None else [phrase("into / out of {k}", k=self.k)]
        columns = [phrase("stage"), phrase("gets"), *metrics, phrase("gold kept"), *moved, "ms"]
        note = phrase(
            "gold kept: of the gold items that reached the list; of a tool's searches, of all of "
            "the questions that it was used for, as recall is. ms: median of a question"
            if self.k is None
            else "gold kept: of the gold items that reached the stage; of one that searches, of "
            "all. into / out of {k}: items that the stage moved there by its order. ms: median",
            k=self.k,
        )
        rows = [_row(stage, has_depth=self.k is not None) for stage in self.stages]
        return Table(columns, rows, words=2, note=note)


def _row(stage: StageScore, *, has_depth: bool) -> list[str]:
    share = percent(stage.n_kept / stage.n_reached if stage.n_reached else None, 0)
    moved = f"+{stage.n_lifted} / -{stage.n_lowered}" if stage.inputs else "-"
    return [
        _label(stage.name),
        joined(" + ", map(_label, stage.inputs)) or "-",
        *map(number, stage.means.values()),
        phrase("{n} of {of} ({share})", n=stage.n_kept, of=stage.n_reached, share=share),
        *([moved] if has_depth else []),
        "-" if stage.milliseconds is None else number(stage.milliseconds),
    ]


def _read_unknown(n: int) -> list[str]:
    """That the answer is taken for more than may have been read, if it is."""
    text = phrase(
        "questions of which nobody says what was read: {n}; all that came counts as read there",
        n=n,
    )
    return [text] if n else []


def _label(name: str) -> str:
    return phrase("all searches") if name == ALL else visible(name)


def losses_parts(losses: Sequence[StageLosses], level: int = 2) -> Iterator[Part]:
    """The section of a report; nothing where no retriever has stages."""
    if losses:
        yield Heading(phrase("Where the gold is lost"), level=level)
        yield from chain.from_iterable(of_one.describe() for of_one in losses)


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
            "run: no question of {name!r} has stages, or searches; "
            "retrieve(..., stages=True) keeps the stages of LangChain's chains",
            name=run.name,
        )
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UsageError("k: must be a whole number from 1 on, not {k!r}", k=k)
    gold = read_dataset(dataset)
    criteria = Criteria.of(match=match, metrics=_metrics(k), profile=profile)
    if criteria.matcher.judges:
        return _unsaid(run.name, criteria.label, k, [_not_judged()])
    final = evaluate_run(gold, run, criteria, corpus=corpus)
    return losses_of(final, gold, run, criteria, k=k, corpus=corpus)


def has_stages(run: Run) -> bool:
    """Whether there is more to say of a run than of its answers."""
    return any(
        # A single stage that returned just the answer says no more than the answer does.
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
) -> StageLosses:
    """The same, of a run whose answers were matched already.

    Args:
        final: the evaluation of the answers, whose threshold decides.
        dataset: the gold set.
        run: what the chain returned, with stages or searches.
        criteria: the matcher and the profile.
        k: how deep an answer is looked at.
        corpus: as for `evaluate`.
    """
    depth = None if has_searches(run) else k
    # The gold of a pool is what was retrieved.
    if "pool" in final.settings if depth is None else criteria.matcher.judges:
        return _unsaid(run.name, final.match_name, depth, [_not_judged()])
    tools = tools_of(run) if depth is None else []
    # With searches a question that the results lack counts as in recall.
    takes_missing = depth is None and final.profile.missing != "left_out"
    with_gold = [query for query in dataset if _items(query) and (query.id in run or takes_missing)]
    lists = {query.id: _lists(run.results.get(query.id), depth, tools) for query in with_gold}
    queries = [query for query in with_gold if lists[query.id]]
    answers = [run[query.id] for query in queries if query.id in run and depth is None]
    n_read_unknown = sum(answer.error is None and read_of(answer) is None for answer in answers)
    remarks = _read_unknown(n_read_unknown)
    if n_left_out := len(with_gold) - len(queries):
        text = phrase(
            "questions without a search that gives documents, left out: {n}"
            if depth is None
            else "questions without stages, left out: {n}",
            n=n_left_out,
        )
        remarks.insert(0, text)
    metrics = ["recall"] if depth is None else _metrics(k)
    evaluate = partial(evaluate_run, criteria=criteria.measured(metrics), corpus=corpus)
    of_list = partial(_evaluated, final, run.name, dataset, lists, evaluate)
    # Of lists that are matched already nothing is matched anew.
    settled = {ANSWER: final} if depth else matches_of_lists(final, run, tools)
    matched = _matched(lists, settled, None if criteria.matcher.judges else of_list, remarks)
    if not matched.keys() - {ANSWER}:
        return _unsaid(run.name, final.match_name, depth, remarks)
    ranks = {name: _ranks(evaluation) for name, evaluation in matched.items()}
    chains = [
        _Chain(query, run.results.get(query.id), lists[query.id], ranks, depth) for query in queries
    ]
    if not any(of_query.makes_answer for of_query in chains):
        del matched[ANSWER]
    scores = [
        _score(name, chains, evaluation.with_metrics(metrics))
        for name, evaluation in matched.items()
    ]
    for score in scores:
        remarks += _remarks(score, len(queries), is_said=depth is None)
    items = tuple(chain.from_iterable(of_query.lost() for of_query in chains))
    n_gold = sum(len(of_query.items) for of_query in chains)
    heading = (run.name, final.match_name, depth, len(queries), n_gold, n_gold - len(items))
    return StageLosses(*heading, tuple(scores), items, tuple(remarks), n_read_unknown)


def _matched(
    lists: Mapping[str, Mapping[str, Stage]],
    settled: Mapping[str, Evaluation],
    evaluate: Callable[[str], Evaluation] | None,
    remarks: list[str],
) -> dict[str, Evaluation]:
    """The evaluations of lists by their names, the answer's last.

    Args:
        lists: those of each question.
        settled: those that are matched already.
        evaluate: matches one by its name; None where that would ask a judge.
        remarks: get why others are passed over.
    """
    matched: dict[str, Evaluation] = {}
    # The longest chain says the order of all; the lists of searches stand behind their stages.
    names = dict.fromkeys(chain(*sorted(lists.values(), key=len, reverse=True)))
    for name in sorted(names, key=lambda name: (name == ANSWER, name == ALL)):
        try:
            if name in settled:
                matched[name] = settled[name]
            elif evaluate is not None:
                matched[name] = evaluate(name)
            elif (text := _not_judged()) not in remarks:
                remarks.append(text)
        except (DataError, UsageError) as error:
            why = visible(str(error).splitlines()[0])
            text = phrase("stage {name} is passed over: {why}", name=visible(name), why=why)
            remarks.append(text)
    return matched


def _evaluated(
    final: Evaluation,
    run: str,
    dataset: GoldDataset,
    lists: Mapping[str, Mapping[str, Stage]],
    evaluate: Callable[[GoldDataset, Run], Evaluation],
    name: str,
) -> Evaluation:
    """The list of this name of each question that has it, matched as the answers were."""
    # What must not come is told of answers; what a stage held for a while is no leak.
    asked = (replace(query, forbidden=None) for query in dataset)
    queries = tuple(query for query in asked if name in lists.get(query.id, ()))
    results = {query.id: Retrieved(lists[query.id][name].documents) for query in queries}
    with warnings.catch_warnings():  # said of the answers already, and by the same matcher
        warnings.simplefilter("ignore", MatchWarning)
        warnings.simplefilter("ignore", MetricWarning)
        evaluation = evaluate(GoldDataset(queries), Run(results, name=f"{run} > {name}"))
        threshold = final.table.threshold  # which may be another than the matcher's
        is_same = evaluation.table.threshold == threshold
        return evaluation if is_same else evaluation.at_threshold(threshold)


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


def _lists(answer: Retrieved | None, k: int | None, tools: Sequence[str]) -> dict[str, Stage]:
    """The lists of a question by their names, the answer last; none of one that has no way.

    Args:
        answer: what it got; None where the results lack it.
        k: as of `StageLosses`.
        tools: that searched.
    """
    if answer is None:
        return {ANSWER: Stage(ANSWER)}
    if k is None:
        return {stage.name: stage for stage in chain_of(answer, tools)}
    if not answer.stages:
        return {}

    # A stage may have the very name under which the answer stands here.
    def label(name: str) -> str:
        return f"{ANSWER} (stage)" if name == ANSWER else name

    lists = [
        replace(stage, name=label(stage.name), inputs=tuple(map(label, stage.inputs)))
        for stage in answer.stages
    ]
    last = tuple(label(stage.name) for stage in last_stages(answer.stages))
    return {stage.name: stage for stage in [*lists, Stage(ANSWER, last, answer.documents)]}


def _ranks(evaluation: Evaluation) -> dict[str, list[float]]:
    """By query id the first rank of each gold item; infinite where it was not found."""
    first = [rank or inf for rank in gold_outcome(evaluation).first.tolist()]
    starts = pairwise(evaluation.table.gold_start.tolist())
    return {query_id: first[slice(*ends)] for query_id, ends in zip(evaluation.query_ids, starts)}


class _Chain:
    """The lists on the way to one question's answer, and which has which gold item at which rank.

    Attributes:
        query_id: of the question.
        items: the positions of its gold items.
        k: how deep the answer is looked at.
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
        self.k = k or sys.maxsize  # what stands anywhere is within it
        self._is_read, self._answer = k is None, answer
        self._ranks = {name: ranks[name][query.id] for name in lists if name in ranks}
        self.inputs: dict[str, list[str]] = {}
        for name, stage in lists.items():
            # It stands behind all that it gets, so what takes their place is known already.
            readable = ([s] if s in self._ranks else self.inputs[s] for s in stage.inputs)
            self.inputs[name] = [*dict.fromkeys(chain.from_iterable(readable))]
        last = lists[ANSWER].inputs
        has_failed = answer is not None and answer.error is not None
        self.makes_answer = len(last) != 1 or not (
            has_failed or _equal(lists[last[0]].documents, lists[ANSWER].documents)
        )

    def ranks(self, name: str, item: int) -> tuple[float, float]:
        """The best rank of a gold item in the lists that one is made of, and its rank in that."""
        before = (self._ranks[source][item] for source in self.inputs[name])
        return min(before, default=inf), self._ranks[name][item]

    def is_reached(self, name: str, item: int) -> bool:
        """Whether a list could have a gold item: one that was made of lists what these had.

        Of searches, which are made of none, all; but one that only joins others is no search.
        """
        joins = name == ANSWER or (name == ALL and self._is_read)
        searches = not self.inputs[name] and not (joins and not self.lists[name].inputs)
        return searches or self.ranks(name, item)[0] < inf

    def lost(self) -> Iterator[LostItem]:
        """The gold items that the answer has not within k, and where each was lost."""
        items = [item for item in self.items if self._ranks[ANSWER][item] > self.k]
        if self._answer is None:
            yield from (LostItem(self.query_id, item, "missing") for item in items)
        elif self._answer.error is not None:
            broken = (name for name, stage in self.lists.items() if stage.error is not None)
            stage = next(broken, None)
            yield from (LostItem(self.query_id, item, "failed", stage) for item in items)
        else:
            yield from map(self._traced, items)

    def _traced(self, item: int) -> LostItem:
        """Backwards from the answer to the stage that lost an item."""
        # All branches abreast: of several stages that lose it the nearest to the answer is named.
        names, visited = [ANSWER], {ANSWER}
        while names:
            name = names.pop(0)
            before, rank = self.ranks(name, item)
            if name == ANSWER and self._is_read and before < rank:
                return LostItem(self.query_id, item, "unread")
            if reason := self._reason(name, before, rank):
                ranks = (None if place == inf else int(place) for place in (before, rank))
                return LostItem(self.query_id, item, reason, name, *ranks)
            # Back along the lists that have it; where none has, along all, as one before may.
            inputs = self.inputs[name]
            having = [source for source in inputs if self._ranks[source][item] < inf]
            names += [source for source in having or inputs if source not in visited]
            visited.update(names)
        return LostItem(self.query_id, item, "never_retrieved")

    def _reason(self, name: str, before: float, rank: float) -> Reason | None:
        """Why a list loses an item of these ranks; None where it was lost before."""
        if before <= self.k < rank < inf:
            return "lowered"
        if before == inf and rank < inf:
            return "always_low"
        if not before < rank == inf:
            return None
        inputs = self.inputs[name]
        if len(inputs) > 1:
            return "fused_away"
        # One that only took the first documents does not lose what had been below k before.
        output, source = self.lists[name].documents, self.lists[inputs[0]].documents
        is_low = before > self.k and _equal(output, source[: len(output)])
        return None if is_low else "cut"


def _score(name: str, chains: Iterable[_Chain], evaluation: Evaluation) -> StageScore:
    """What a stage, or what is made of the last ones, does to the gold.

    Args:
        name: the list's.
        chains: of all questions.
        evaluation: of what it returned.
    """
    chains = [of_query for of_query in chains if name in of_query.lists]
    places = {query_id: row for row, query_id in enumerate(evaluation.query_ids)}
    rows = [places[of_query.query_id] for of_query in chains]
    weights = None if evaluation.weights is None else evaluation.weights[rows]
    k, stages = chains[0].k, [of_query.lists[name] for of_query in chains]
    items = [(of_query, item) for of_query in chains for item in of_query.items]
    ranks = [of_query.ranks(name, item) for of_query, item in items]
    reached = [
        after
        for (_, after), (of_query, item) in zip(ranks, items)
        if of_query.is_reached(name, item)
    ]
    times = [stage.seconds * 1000 for stage in stages if stage.seconds is not None]
    return StageScore(
        name=name,
        inputs=tuple(dict.fromkeys(chain(*(of_query.inputs[name] for of_query in chains)))),
        n_questions=len(chains),
        n_failed=sum(stage.error is not None for stage in stages),
        milliseconds=median(times) if times else None,
        means={
            str(score.spec): number_of(score.spec.metric, score.values[rows], weights=weights)
            for score in evaluation.scores
        },
        n_reached=len(reached),
        n_kept=sum(after < inf for after in reached),
        n_within=sum(after <= k for _, after in ranks),
        n_lifted=sum(after <= k < before < inf for before, after in ranks),
        n_lowered=sum(before <= k < after < inf for before, after in ranks),
    )

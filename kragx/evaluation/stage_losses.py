"""Where the gold was lost: which step of a retrieving chain had it last, and what became of it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import ClassVar, Literal

import numpy as np

from kragx.data import Doc, GoldDataset, Query, Retrieved, Run, Stage, last_stages, read_dataset
from kragx.errors import DataError, KragxError, UntrustedError, UsageError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate import evaluate_run
from kragx.evaluation.evaluation import Evaluation
from kragx.matchers import Heard, MatchWarning
from kragx.metrics import MetricWarning, Profile, TextBudget
from kragx.metrics.engine import number_of
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

Reason = Literal["never_retrieved", "fused_away", "cut", "lowered", "always_low", "failed"]
"""What became of a gold item that the answer has not within k.

- ``never_retrieved``: no stage had it;
- ``fused_away``: one of several lists had it, what was made of them not;
- ``cut``: the list that a stage got had it, what it returned not: a filter, or a limit below k;
- ``lowered``: within k before a stage, and behind it deeper, whatever a limit then took away;
- ``always_low``: never within k in any list on its way;
- ``failed``: the question was not answered.
"""


def reasons(k: int) -> dict[str, str]:
    """The reasons as people read them, in their order."""
    return {
        "never_retrieved": phrase("never retrieved"),
        "fused_away": phrase("dropped by the fusion"),
        "cut": phrase("cut"),
        "lowered": phrase("ranked down below {k}", k=k),
        "always_low": phrase("never within {k}", k=k),
        "failed": phrase("failed questions"),
    }


ANSWER = "answer"
"""Names what a chain makes of its last stages where that is none itself."""

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
        n_added: those that none of its inputs had, and that it returned nevertheless.
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
    n_added: int


@dataclass(frozen=True)
class StageLosses(Result):
    """Where one retriever loses the gold, under one matcher.

    Attributes:
        retriever: its name.
        match: names the matcher.
        k: how deep an answer is looked at.
        n_questions: how many questions were asked, have gold and stages.
        n_gold: their gold items.
        n_found: those that the answer has within k.
        stages: in the order of the chain; empty where nothing can be said, and `remarks` say why.
        items: the gold items that are lost.
        remarks: what a reader must know before trusting this.

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
    k: int
    n_questions: int
    n_gold: int
    n_found: int
    stages: tuple[StageScore, ...]
    items: tuple[LostItem, ...]
    remarks: tuple[str, ...] = ()

    also_plain: ClassVar[tuple[str, ...]] = ("losses",)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """How many items each stage loses, by reason; the most first."""
        of: dict[tuple[Reason, str | None], list[str]] = {}
        for item in self.items:
            of.setdefault((item.reason, item.stage), []).append(item.query_id)
        losses = [
            Loss(reason, stage, len(ids), tuple(dict.fromkeys(ids)))
            for (reason, stage), ids in of.items()
        ]
        return tuple(sorted(losses, key=lambda loss: -loss.n))

    @property
    def by_reason(self) -> dict[str, int]:
        """How many items are lost for each reason; all reasons, in their order."""
        counts = Counter(item.reason for item in self.items)
        return {reason: counts[reason] for reason in reasons(self.k)}  # type: ignore[index]

    @property
    def summary(self) -> str:
        """One line: what is found, and what loses the rest."""
        if not self.stages:
            return joined("; ", self.remarks)
        found = phrase(
            "{n} of {of} gold items within {k}", n=self.n_found, of=self.n_gold, k=self.k
        )
        words = reasons(self.k)
        lost = [
            phrase(
                "{n} {reason}{place}",
                n=loss.n,
                reason=words[loss.reason],
                place=f" ({visible(loss.stage)})" if loss.stage else "",
            )
            for loss in self.losses
        ]
        return (
            phrase("{found}; lost: {lost}", found=found, lost=joined(", ", lost)) if lost else found
        )

    def describe(self) -> Iterator[Part]:
        """The summary, then what each stage does to the gold."""
        yield Line(joined(": ", [visible(self.retriever), self.summary]))
        if self.stages:
            yield self.table
        yield from map(warning, self.remarks if self.stages else ())

    @property
    def table(self) -> Table:
        """The stages: the quality behind each, and what it does to the gold that reached it."""
        metrics = list(self.stages[0].means)
        rows = [
            [
                visible(stage.name),
                visible(" + ".join(stage.inputs)) or "-",
                *(number(stage.means[metric]) for metric in metrics),
                phrase(
                    "{n} of {of} ({share})",
                    n=stage.n_kept,
                    of=stage.n_reached,
                    share=_share(stage.n_kept, stage.n_reached),
                ),
                _signed(stage.n_lifted, stage.n_lowered) if stage.inputs else "-",
                "-" if stage.milliseconds is None else number(stage.milliseconds),
            ]
            for stage in self.stages
        ]
        moved = phrase("into / out of {k}", k=self.k)
        columns = [phrase("stage"), phrase("gets"), *metrics, phrase("gold kept"), moved, "ms"]
        note = phrase(
            "gold kept: of the gold items that reached the stage; of one that searches, of all. "
            "into / out of {k}: items that the stage moved there by its order. ms: median",
            k=self.k,
        )
        return Table(columns, rows, words=2, note=note)


def _share(part: int, of: int) -> str:
    return percent(part / of if of else None, 0)


def _signed(up: int, down: int) -> str:
    return f"+{up} / -{down}"


def losses_table(losses: Sequence[StageLosses]) -> Table:
    """Retrievers side by side: what each loses, by reason."""
    k = losses[0].k
    words = {
        name: said
        for name, said in reasons(k).items()
        if any(own.by_reason[name] for own in losses)
    }
    within = phrase("within {k}", k=k)
    columns = [phrase("retriever"), phrase("gold items"), within, *words.values()]
    rows = [
        [
            visible(own.retriever),
            *map(str, (own.n_gold, own.n_found, *(own.by_reason[name] for name in words))),
        ]
        for own in losses
        if own.stages
    ]
    note = phrase("gold items of the questions with stages, each counted once")
    return Table(columns, rows, note=note)


def losses_parts(losses: Sequence[StageLosses], level: int = 2) -> Iterator[Part]:
    """The section of a report; nothing where no retriever has stages."""
    if not losses:
        return
    yield Heading(phrase("Where the gold is lost"), level=level)
    if sum(bool(own.stages) for own in losses) > 1:
        yield losses_table([own for own in losses if own.stages])
    for own in losses:
        yield from own.describe()


def stage_losses(
    dataset: object,
    run: Run,
    *,
    match: object = None,
    k: int = USUAL_K,
    profile: str | Profile | None = None,
    corpus: object = None,
) -> StageLosses:
    """Say which stage of a chain loses the gold.

    Args:
        dataset: the gold set, as for `evaluate`.
        run: what the chain returned, with stages (``retrieve(..., stages=True)``, or read from
            results that have them).
        match: as for `evaluate`.
        k: how deep an answer is looked at.
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
            f"run: no question of {run.name!r} has stages; retrieve(..., stages=True) keeps those "
            "of LangChain's chains"
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
        or any(not _equal(stage.documents, answer.documents) for stage in answer.stages)
        for answer in run.results.values()
    )


def _equal(some: Sequence[Doc], others: Sequence[Doc]) -> bool:
    """Whether two lists are of the same documents; a corpus may have given one of them texts."""
    return [doc.identity for doc in some] == [doc.identity for doc in others]


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
    heard: Callable[[str], Heard | None] = lambda name: None,
) -> StageLosses:
    """The same, of a run whose answers were matched already.

    Args:
        final: the evaluation of the answers, whose threshold decides.
        dataset: the gold set.
        run: what the chain returned, with stages.
        criteria: the matcher, whose scores may be recorded ones, and the profile.
        k: how deep an answer is looked at.
        corpus: as for `evaluate`.
        heard: says who listens to the matcher, by the name of a stage's run.
    """
    if criteria.matcher.judges:
        return _unjudged(run.name, final.match_name, k)
    run = _apart(run)
    criteria = criteria.measured(_metrics(k))
    queries = [
        query
        for query in dataset
        if query.id in run and run[query.id].stages and any(gold.grade > 0 for gold in query.gold)
    ]
    names, remarks = _names(run[query.id] for query in queries), []
    matched: dict[str, Evaluation] = {}
    for name in names:
        part = _stage_run(run, queries, name)
        own = GoldDataset(tuple(query for query in queries if query.id in part), name=dataset.name)
        try:
            with warnings.catch_warnings():  # of the answers they are said
                warnings.simplefilter("ignore", MatchWarning)
                warnings.simplefilter("ignore", MetricWarning)
                evaluation = evaluate_run(
                    own, part, criteria, corpus=corpus, heard=heard(part.name)
                )
                threshold = final.table.threshold  # which may be another than the matcher's
                if evaluation.table.threshold != threshold:
                    evaluation = evaluation.at_threshold(threshold)
                matched[name] = evaluation
        except UntrustedError:
            return _unsaid(
                run.name,
                final.match_name,
                k,
                phrase(
                    "where stages lose the gold is not recorded in the folder; --trust matches "
                    "again"
                ),
            )
        except (DataError, UsageError) as error:
            remarks.append(
                phrase("stage {name} is passed over: {why}", name=visible(name), why=_short(error))
            )
    chain = _Chain(run, queries, matched, final, k)
    stages = tuple(chain.score(name) for name in names if name in matched)
    rare = [own for own in stages if own.n_questions < len(queries)]
    remarks += [
        phrase(
            "stage {name} was seen on {n} of {of} questions; its numbers are of those",
            name=visible(own.name),
            n=own.n_questions,
            of=len(queries),
        )
        for own in rare
    ]
    remarks += [
        phrase(
            "stage {name} failed on {n} of {of} questions, each scored as an empty list",
            name=visible(own.name),
            n=own.n_failed,
            of=own.n_questions,
        )
        for own in stages
        if own.n_failed
    ]
    n_without = sum(
        query.id in run and any(gold.grade > 0 for gold in query.gold) for query in dataset
    ) - len(queries)
    if n_without:
        remarks.append(phrase("questions without stages, left out: {n}", n=n_without))
    items = tuple(chain.lost())
    n_gold = sum(len(_items(query)) for query in queries)
    return StageLosses(
        retriever=run.name,
        match=final.match_name,
        k=k,
        n_questions=len(queries),
        n_gold=n_gold,
        n_found=n_gold - len(items),
        stages=(*stages, *chain.answer()),
        items=items,
        remarks=tuple(remarks),
    )


def _metrics(k: int) -> list[str]:
    return [f"recall@{k}", f"ndcg@{k}"]


def _unjudged(retriever: str, match: str, k: int) -> StageLosses:
    return _unsaid(
        retriever,
        match,
        k,
        phrase(
            "what stages returned is not sent to a judge; where they lose the gold can be said by "
            "a matcher that asks none, for example {example}",
            example="matchers: {judged: llm, texts: overlap}",
        ),
    )


def _unsaid(retriever: str, match: str, k: int, why: str) -> StageLosses:
    return StageLosses(retriever, match, k, 0, 0, 0, (), (), (why,))


def _short(error: KragxError) -> str:
    return visible(str(error).splitlines()[0])


def _apart(run: Run) -> Run:
    """A run none of whose stages is called as the answer is."""
    names = {ANSWER: f"{ANSWER} (stage)"}
    if not any(stage.name in names for own in run.results.values() for stage in own.stages):
        return run

    def renamed(stage: Stage) -> Stage:
        name, *inputs = (names.get(own, own) for own in (stage.name, *stage.inputs))
        return replace(stage, name=name, inputs=tuple(inputs))

    results = {
        query_id: replace(answer, stages=tuple(map(renamed, answer.stages)))
        for query_id, answer in run.results.items()
    }
    return replace(run, results=results)


def _items(query: Query) -> list[int]:
    """The positions of a question's gold items."""
    return [position for position, gold in enumerate(query.gold) if gold.grade > 0]


def _stage_run(run: Run, queries: Iterable[Query], name: str) -> Run:
    """What one stage returned, as a run of its own."""
    results = {
        query.id: Retrieved(stage.documents, stage.seconds)
        for query in queries
        for stage in run[query.id].stages
        if stage.name == name
    }
    return Run(results, name=f"{run.name} > {name}")


def _names(answers: Iterable[Retrieved]) -> list[str]:
    """The names of all stages, each behind its inputs."""
    inputs: dict[str, dict[str, None]] = {}
    for answer in answers:
        for stage in answer.stages:
            inputs.setdefault(stage.name, {}).update(dict.fromkeys(stage.inputs))
    names: dict[str, None] = {}
    while len(names) < len(inputs):
        rest = [name for name in inputs if name not in names]
        ready = [name for name in rest if inputs[name].keys() <= names.keys()]
        names |= dict.fromkeys(ready[:1] or rest[:1])  # of a circle, which names make that change
    return list(names)


def _ranks(evaluation: Evaluation) -> dict[str, dict[int, int]]:
    """By query id the first rank of each gold item that was found, by its position."""
    table = evaluation.table
    pairs = table.matched
    golds, docs = table.pair_gold[pairs].astype(int), table.pair_doc[pairs].astype(int)
    rows = table.gold_query[golds]
    ranks = docs - table.doc_start[rows] + 1
    order = np.argsort(-ranks, kind="stable")  # so that the first rank is the last to be set
    found: dict[str, dict[int, int]] = {}
    places = (golds - table.gold_start[rows])[order].tolist()
    for row, place, rank in zip(rows[order].tolist(), places, ranks[order].tolist()):
        found.setdefault(evaluation.query_ids[row], {})[place] = rank
    return found


class _Chain:
    """The stages of a run, and which of them had which gold item at which rank."""

    def __init__(
        self,
        run: Run,
        queries: Sequence[Query],
        matched: Mapping[str, Evaluation],
        final: Evaluation,
        k: int,
    ) -> None:
        self._run, self._queries, self._matched, self._k = run, queries, matched, k
        self._final = final
        self._ranks = {name: _ranks(own) for name, own in matched.items()}
        self._ranks[ANSWER] = _ranks(final)
        self._stages: dict[str, dict[str, Stage]] = {
            query.id: {stage.name: stage for stage in run[query.id].stages} for query in queries
        }
        last = {query.id: [*last_stages(run[query.id].stages)] for query in queries}
        # Where the last stage is the answer, on all questions, there is nothing more to name.
        self._has_answer = any(
            len(own) != 1 or not (run[name].error or _equal(own[0].documents, run[name].documents))
            for name, own in last.items()
        )
        self._last = {name: self._readable(name, own) for name, own in last.items()}

    def _readable(self, query_id: str, stages: Iterable[Stage]) -> list[str]:
        """The names of stages; in place of one that could not be matched those of its inputs."""
        names: dict[str, None] = {}
        for stage in stages:
            if stage.name in self._matched:
                names[stage.name] = None
            else:
                inputs = (self._stages[query_id][name] for name in stage.inputs)
                names |= dict.fromkeys(self._readable(query_id, inputs))
        return list(names)

    def _inputs(self, query_id: str, name: str) -> list[str]:
        if name == ANSWER:
            return self._last[query_id]
        own = self._stages[query_id]
        return self._readable(query_id, (own[other] for other in own[name].inputs))

    def _rank(self, query_id: str, name: str, item: int) -> int | None:
        return self._ranks[name].get(query_id, {}).get(item)

    def _best(self, query_id: str, names: Iterable[str], item: int) -> int | None:
        ranks = (self._rank(query_id, name, item) for name in names)
        return min((rank for rank in ranks if rank is not None), default=None)

    def score(self, name: str) -> StageScore:
        """What a stage does to the gold."""
        queries = [query for query in self._queries if name in self._stages[query.id]]
        stages = [self._stages[query.id][name] for query in queries]
        means = self._matched[name].mean
        return self._score(name, queries, stages, means)

    def answer(self) -> Iterator[StageScore]:
        """The same of what is made of the last stages, where that is not the last stage itself."""
        if self._has_answer and self._queries:
            rows = {query_id: row for row, query_id in enumerate(self._final.query_ids)}
            final = self._final.with_metrics(_metrics(self._k))
            mine = [rows[query.id] for query in self._queries]
            means = {
                str(own.spec): number_of(own.spec.metric, own.values[mine]) for own in final.scores
            }
            yield self._score(ANSWER, self._queries, (), means)

    def _score(
        self,
        name: str,
        queries: Sequence[Query],
        stages: Sequence[Stage],
        means: Mapping[str, float | None],
    ) -> StageScore:
        counts: Counter[str] = Counter()
        inputs: dict[str, None] = {}
        for query in queries:
            sources = self._inputs(query.id, name)
            inputs |= dict.fromkeys(sources)
            for item in _items(query):
                before = self._best(query.id, sources, item)
                after = self._rank(query.id, name, item)
                reached = before is not None or not sources
                within = after is not None and after <= self._k
                counts["reached"] += reached
                counts["kept"] += reached and after is not None
                counts["within"] += within
                counts["added"] += not reached and after is not None
                if before is not None and after is not None:
                    counts["lifted"] += within and before > self._k
                    counts["lowered"] += not within and before <= self._k
        times = [stage.seconds * 1000 for stage in stages if stage.seconds is not None]
        return StageScore(
            name=name,
            inputs=tuple(inputs),
            n_questions=len(queries),
            n_failed=sum(stage.error is not None for stage in stages),
            milliseconds=median(times) if times else None,
            means=means,
            n_reached=counts["reached"],
            n_kept=counts["kept"],
            n_within=counts["within"],
            n_lifted=counts["lifted"],
            n_lowered=counts["lowered"],
            n_added=counts["added"],
        )

    def lost(self) -> Iterator[LostItem]:
        """The gold items that the answers have not within k, and where each was lost."""
        for query in self._queries:
            is_failed = self._run[query.id].error is not None
            for item in _items(query):
                rank = self._rank(query.id, ANSWER, item)
                if rank is not None and rank <= self._k:
                    continue
                if is_failed:
                    yield LostItem(query.id, item, "failed", self._broken(query.id))
                else:
                    last = self._last[query.id]
                    is_last = not self._has_answer and last == [self._end(query.id)]
                    yield self._traced(query.id, item, last[0] if is_last else ANSWER)

    def _end(self, query_id: str) -> str:
        return next(last_stages(self._stages[query_id].values())).name

    def _broken(self, query_id: str) -> str | None:
        """The stage that failed, of a question that did."""
        stages = self._stages[query_id].values()
        return next((stage.name for stage in stages if stage.error is not None), None)

    def _is_low(self, query_id: str, name: str, before: int) -> bool:
        """Whether a stage only took the first documents, and this one had been below k before."""
        sources = self._inputs(query_id, name)
        if before <= self._k or len(sources) != 1:
            return False
        taken = self._documents(query_id, name)
        return _equal(taken, self._documents(query_id, sources[0])[: len(taken)])

    def _documents(self, query_id: str, name: str) -> tuple[Doc, ...]:
        own = self._stages[query_id].get(name)
        return self._run[query_id].documents if own is None else own.documents

    def _traced(self, query_id: str, item: int, end: str) -> LostItem:
        """Backwards from the answer to the stage that lost an item."""
        names, seen = [end], {end}
        while names:
            name = names.pop(0)
            sources = self._inputs(query_id, name)
            rank = self._rank(query_id, name, item)
            before = self._best(query_id, sources, item)
            if rank is None and before is not None and not self._is_low(query_id, name, before):
                reason: Reason = "fused_away" if len(sources) > 1 else "cut"
                return LostItem(query_id, item, reason, name, before)
            if rank is not None and before is not None and before <= self._k < rank:
                return LostItem(query_id, item, "lowered", name, before, rank)
            if rank is not None and before is None:
                return LostItem(query_id, item, "always_low", name, None, rank)
            # Back along the lists that have it; where none has, along all, as one before may.
            having = [one for one in sources if self._rank(query_id, one, item) is not None]
            names += [one for one in having or sources if one not in seen]
            seen.update(names)
        return LostItem(query_id, item, "never_retrieved")

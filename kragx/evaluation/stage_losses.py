"""Where the gold was lost: which step of a retrieving chain had it last, and what became of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from math import inf
from statistics import median
from typing import ClassVar

from kragx.data import GoldDataset, Retrieved, Run, Stage, as_corpus, read_dataset, read_run
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run, for_all
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import gold_outcome
from kragx.evaluation.search_lists import (
    ALL,
    ANSWER,
    AnswerChain,
    LostItem,
    Reason,
    equal_lists,
    gold_places,
    has_searches,
    lists_of,
    matches_of_lists,
    only_lists,
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
    message,
    number,
    visible,
    warning,
)
from kragx.matchers import MatchWarning
from kragx.metrics import MetricWarning, Profile, TextBudget
from kragx.metrics.scores import number_of


def reasons(k: int | None) -> dict[str, str]:
    """The reasons as people read them, in their order."""
    return {
        "never_retrieved": message("never retrieved"),
        "fused_away": message("dropped by the fusion"),
        "cut": message("cut"),
        "low": message("ranked below {k}", k=k),
        "unread": message("retrieved, not read"),
        "failed": message("failed questions"),
    }


USUAL_K = 10


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
    """How much of the gold is there behind one stage.

    Attributes:
        name: the stage's.
        inputs: the stages whose documents it gets; none of one that searches.
        n_questions: how many questions have the stage.
        n_failed: on how many of them it failed, or did not end.
        milliseconds: the median time of those that ended; None if none is known.
        means: recall, and recall and nDCG at k, of what it returned, over its questions with gold;
            None without.
    """

    name: str
    inputs: tuple[str, ...]
    n_questions: int
    n_failed: int
    milliseconds: float | None
    means: Mapping[str, float | None]


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
        line: str = message(
            "{n} of {of} gold items reached the answer"
            if self.k is None
            else "{n} of {of} gold items within {k}",
            n=self.n_found,
            of=self.n_gold,
            k=self.k,
        )
        words = reasons(self.k)
        causes = [
            message(
                "{n} {reason}{place}",
                n=loss.n,
                reason=words[loss.reason],
                place=f" ({visible(loss.stage)})" if loss.stage else "",
            )
            for loss in self.losses
        ]
        return (
            message("{found}; lost: {lost}", found=line, lost=joined(", ", causes))
            if causes
            else line
        )

    def describe(self) -> Iterator[Part]:
        """The summary, then how much of the gold is there behind each stage."""
        yield Line(joined(": ", [visible(self.retriever), self.summary]))
        if self.stages:
            heads = [message("stage"), message("gets"), *self.stages[0].means, "ms"]
            note = message("ms: median of a question")
            yield Table(heads, [*map(_row, self.stages)], words=2, note=note)
            yield from map(warning, self.remarks)


def _row(stage: StageScore) -> list[str]:
    return [
        _label(stage.name),
        joined(" + ", map(_label, stage.inputs)) or "-",
        *map(number, stage.means.values()),
        "-" if stage.milliseconds is None else number(stage.milliseconds),
    ]


def _label(name: str) -> str:
    return message("all searches") if name == ALL else visible(name)


def losses_parts(losses: Sequence[StageLosses], level: int = 2) -> Iterator[Part]:
    """The section of a report; nothing where no retriever has stages."""
    if losses:
        yield Heading(message("Where the gold is lost"), level=level)
        yield from chain.from_iterable(of_one.describe() for of_one in losses)


def stage_losses(
    dataset: object,
    run: object,
    *,
    match: object = None,
    k: int = USUAL_K,
    profile: str | Profile | None = None,
    corpus: object = None,
) -> StageLosses:
    """Say which stage of a chain, or which search and what was made of it, loses the gold.

    Args:
        dataset: the gold set, as for `evaluate`.
        run: what the chain returned, as for `evaluate`, with stages (``retrieve(...,
            stages=True)``, or results that have them), or with searches.
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
        >>> [(stage.name, stage.means["recall"]) for stage in losses.stages]
        [('bm25', 1.0), ('reranker', 0.0)]
    """
    gold = read_dataset(dataset)
    run = read_run(run, gold)
    if not has_stages(run):
        raise UsageError(
            "run: no question of {name!r} has stages, or searches; "
            "retrieve(..., stages=True) keeps the stages of LangChain's chains",
            name=run.name,
        )
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UsageError("k: must be a whole number from 1 on, not {k!r}", k=k)
    criteria = Criteria.of(match=match, metrics=_metrics(k), profile=profile)
    if criteria.matcher.judges:
        return _unsaid(run.name, criteria.label, k, _not_judged())
    # The words of all its answers, so that a pair scores alike in each list.
    criteria = for_all(criteria, gold, [run], as_corpus(corpus))
    final = evaluate_run(gold, run, criteria, corpus=corpus)
    return losses_of(final, gold, run, criteria, k=k, corpus=corpus)


def has_stages(run: Run) -> bool:
    """Whether there is more to say of a run than of its answers."""
    return any(
        # A single stage that returned just the answer says no more than the answer does.
        len(answer.stages) > 1
        or answer.searches
        or any(not equal_lists(stage.documents, answer.documents) for stage in answer.stages)
        for answer in run.results.values()
    )


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
    unsaid = partial(_unsaid, run.name, final.match_name, depth)
    # The gold of a pool is what was retrieved.
    if "pool" in final.settings if depth is None else criteria.matcher.judges:
        return unsaid(_not_judged())
    tools = tools_of(run) if depth is None else []
    # With searches a question that the results lack counts as in recall.
    takes_missing = depth is None and final.profile.missing != "left_out"
    lists = {
        query.id: lists_of(run.results.get(query.id), depth, tools)
        for query in dataset
        if gold_places(query) and (query.id in run or takes_missing)
    }
    remarks = _left_out(run, lists, depth)
    queries = [query for query in dataset if lists.get(query.id)]
    # Of lists that are matched already nothing is matched anew.
    matched = {ANSWER: final} if depth else dict(matches_of_lists(final, run, tools))
    if criteria.matcher.judges and any(of_query.keys() - matched for of_query in lists.values()):
        remarks.append(_not_judged())
        lists = {query_id: only_lists(of_query, matched) for query_id, of_query in lists.items()}
    metrics = ["recall"] if depth is None else _metrics(k)
    measured = criteria.measured(metrics)
    # The longest chain says the order of all; the lists of searches stand behind their stages.
    names = dict.fromkeys(chain(*sorted(lists.values(), key=len, reverse=True)))
    for name in [name for name in names if name not in matched]:
        of_name = {query_id: own[name] for query_id, own in lists.items() if name in own}
        try:
            matched[name] = _evaluated(name, of_name, final, dataset, run, measured, corpus)
        except (DataError, UsageError) as error:
            why = visible(str(error).splitlines()[0])
            return unsaid(message("stage {name}: {why}", name=visible(name), why=why))
    if not matched.keys() & names.keys() - {ANSWER}:
        return unsaid(*remarks)
    ranks = {name: _ranks(evaluation) for name, evaluation in matched.items()}
    chains = []
    for query in queries:
        of_query = lists[query.id]
        ranks_of_query = {name: ranks[name][query.id] for name in of_query}
        answer = run.results.get(query.id)
        chains.append(AnswerChain(query, answer, depth, of_query, ranks_of_query))
    shown = sorted(names, key=lambda name: (name == ANSWER, name == ALL))
    if not any(of_query.makes_answer for of_query in chains):
        shown.remove(ANSWER)
    scores = [_score(name, chains, matched[name].with_metrics(metrics)) for name in shown]
    remarks += chain.from_iterable(_remarks(score, len(queries), depth) for score in scores)
    items = tuple(chain.from_iterable(of_query.lost() for of_query in chains))
    n_gold = sum(len(gold_places(query)) for query in queries)
    heading = (run.name, final.match_name, depth, len(queries), n_gold, n_gold - len(items))
    return StageLosses(*heading, tuple(scores), items, tuple(remarks))


def _left_out(run: Run, lists: Mapping[str, Mapping[str, Stage]], k: int | None) -> list[str]:
    """How many questions nothing can be said of, and of how many nobody says what was read."""
    n = sum(not of_query for of_query in lists.values())
    if k is not None:
        return [message("questions without stages, left out: {n}", n=n)] if n else []
    answers = [run[query_id] for query_id, own in lists.items() if own and query_id in run]
    n_unknown = sum(answer.error is None and read_of(answer) is None for answer in answers)
    texts = {
        message("questions without a search that gives documents, left out: {n}", n=n): n,
        message(
            "questions of which nobody says what was read: {n}; all that came counts as read there",
            n=n_unknown,
        ): n_unknown,
    }
    return [text for text, number in texts.items() if number]


def _evaluated(
    name: str,
    lists: Mapping[str, Stage],
    final: Evaluation,
    dataset: GoldDataset,
    run: Run,
    criteria: Criteria,
    corpus: object,
) -> Evaluation:
    """The lists of one name, by query id, matched as the answers were."""
    # What must not come is told of answers; what a stage held for a while is no leak.
    queries = [replace(query, forbidden=None) for query in dataset if query.id in lists]
    results = {query.id: Retrieved(lists[query.id].documents) for query in queries}
    of_name = Run(results, name=f"{run.name} > {name}")
    with warnings.catch_warnings():  # said of the answers already, and by the same matcher
        warnings.simplefilter("ignore", MatchWarning)
        warnings.simplefilter("ignore", MetricWarning)
        evaluation = evaluate_run(GoldDataset(tuple(queries)), of_name, criteria, corpus=corpus)
        threshold = final.table.threshold  # which may be another than the matcher's
        is_same = evaluation.table.threshold == threshold
        return evaluation if is_same else evaluation.at_threshold(threshold)


def _ranks(evaluation: Evaluation) -> dict[str, list[float]]:
    """By query id the first rank of each gold item; infinite where it was not found."""
    first = [rank or inf for rank in gold_outcome(evaluation).first.tolist()]
    starts = pairwise(evaluation.table.gold_start.tolist())
    return {query_id: first[slice(*ends)] for query_id, ends in zip(evaluation.query_ids, starts)}


def _score(name: str, chains: Sequence[AnswerChain], evaluation: Evaluation) -> StageScore:
    """How much of the gold is behind a stage, or what is made of the last ones."""
    chains = [of_query for of_query in chains if name in of_query.lists]
    places = {query_id: row for row, query_id in enumerate(evaluation.query_ids)}
    rows = [places[of_query.query.id] for of_query in chains]
    weights = None if evaluation.weights is None else evaluation.weights[rows]
    stages = [of_query.lists[name] for of_query in chains]
    times = [stage.seconds * 1000 for stage in stages if stage.seconds is not None]
    return StageScore(
        name=name,
        inputs=tuple(dict.fromkeys(chain.from_iterable(stage.inputs for stage in stages))),
        n_questions=len(chains),
        n_failed=sum(stage.error is not None for stage in stages),
        milliseconds=median(times) if times else None,
        means={
            str(score.spec): number_of(score.spec.metric, score.values[rows], weights=weights)
            for score in evaluation.scores
        },
    )


def _remarks(score: StageScore, n_questions: int, k: int | None) -> Iterator[str]:
    """On how few questions a stage was seen, unless searches were made, and how often it failed."""
    name, n = visible(score.name), score.n_questions
    if n < n_questions and k is not None:
        yield message(
            "stage {name} was seen on {n} of {of} questions; its numbers are of those",
            name=name,
            n=n,
            of=n_questions,
        )
    if score.n_failed:
        yield message(
            "stage {name} failed on {n} of {of} questions, each scored as an empty list",
            name=name,
            n=score.n_failed,
            of=n,
        )


def _metrics(k: int) -> list[str]:
    return ["recall", f"recall@{k}", f"ndcg@{k}"]


def _not_judged() -> str:
    return message(
        "what stages returned is not sent to a judge; where they lose the gold can be said by "
        "a matcher that asks none, for example {example}",
        example="matchers: {judged: llm, texts: overlap}",
    )


def _unsaid(retriever: str, match: str, k: int | None, *why: str) -> StageLosses:
    return StageLosses(retriever, match, k, 0, 0, 0, (), (), why)

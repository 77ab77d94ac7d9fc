"""From what is given, the sources, to a cell for each matcher and retriever, and its values.

A cell holds an evaluation and the texts behind it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from kragx.comparison import check_comparable
from kragx.comparison.near_misses import Origins, most_alike
from kragx.data import Doc, Gold, GoldDataset, Retrieved, Run
from kragx.data.formats.jsonl import to_json
from kragx.evaluation.arranging import match_item
from kragx.evaluation.curves import CutoffCurve, StepCurve, curves, histogram, step_curves, times
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.leaks import LEAKING, leak_parts
from kragx.evaluation.ranked_lists import (
    budget_ranks,
    gold_outcome,
    lists_behind,
    missed_rows,
    pool_gold,
)
from kragx.evaluation.search_lists import placed_searches, search_outcomes
from kragx.ground.errors import UsageError
from kragx.ground.json_values import to_jsonable
from kragx.matchers import BaseMatcher
from kragx.metrics import MetricSpec, Profile, RankedList
from kragx.metrics.intervals import SEED
from kragx.metrics.search_table import NEVER, SearchView
from kragx.report.html_page.packing import rounded_score, short, text_of

Reasons = Mapping[tuple[str, str, str], tuple[float | None, str]]
"""What a judge said: for (query id, document text, gold text) its grade and its reason."""


@dataclass(frozen=True)
class Sources:
    """The texts behind evaluations.

    Attributes:
        dataset: the gold set; None if it is not at hand.
        runs: what each retriever returned, by its name.
        corpus: texts or documents by id, for gold that is named by its id alone.
        reasons: what judges said, by the matcher's name.
        matchers: those that decided, by name; combinations are asked who decided what.
    """

    dataset: GoldDataset | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    corpus: Mapping[str, str | Doc] = field(default_factory=dict)
    reasons: Mapping[str, Reasons] = field(default_factory=dict)
    matchers: Mapping[str, BaseMatcher] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RunCell:
    """One retriever under one matcher, with the texts behind it.

    Attributes:
        evaluation: its numbers.
        lists: what each row of its table got; None if no texts were given.
        golds: the gold of each row, in the table's order.
        curves: its metrics at growing cut-offs.
        rows: for each query of the page the row in the evaluation's table; None if it has none.
        steps: what its searches found by step; None where none are known.
        answers: what it gave by query id, with its searches.
    """

    evaluation: Evaluation
    lists: Sequence[RankedList] | None
    golds: Sequence[Sequence[Gold]]
    curves: Sequence[CutoffCurve]
    rows: Sequence[int | None]
    steps: StepCurve | None = None
    answers: Mapping[str, Retrieved] = field(default_factory=dict)

    @property
    def pooled(self) -> bool:
        """Whether the gold is a pool that a judge has graded."""
        return "pool" in self.evaluation.settings

    def by_query(self, values: Sequence[Any], missing: Any = None) -> list[Any]:
        """The values of rows in the page's order of queries."""
        return [missing if row is None else values[row] for row in self.rows]


MOST_DOCS = 50
"""So many documents of each list a page holds."""

MOST_QUESTIONS = 20_000
"""So many questions a page holds: more are neither opened quickly nor read by anybody."""


@dataclass(frozen=True)
class Grid:
    """The cells by matcher and retriever, and the queries of the page.

    Attributes:
        cells: those.
        query_ids: the queries.
        sample: where they are not all, how many questions there are (``n``), on how many of them
            retrievers differ (``n_differing``), and how many of those the page holds
            (``n_differing_held``).
    """

    cells: Mapping[str, Mapping[str, RunCell]]
    query_ids: Sequence[str]
    sample: Mapping[str, int] | None = None

    def __iter__(self) -> Iterator[RunCell]:
        """Every cell."""
        return (cell for of_match in self.cells.values() for cell in of_match.values())

    @property
    def runs(self) -> list[Sequence[RankedList]]:
        """The lists of every cell whose texts were given."""
        return [cell.lists for cell in self if cell.lists is not None]


def cell_grid(evaluations: Sequence[Evaluation], sources: Sources) -> Grid:
    """The cells of evaluations.

    Raises:
        UsageError: there is no evaluation, or they cannot stand side by side.
    """
    if not evaluations:
        raise UsageError("evaluations: the list is empty; pass at least one")
    query_ids, sample = _sample_queries(evaluations)
    cells: dict[str, dict[str, RunCell]] = {}
    of_evaluations = zip(evaluations, curves(evaluations), step_curves(evaluations), strict=True)
    for evaluation, of_metric, of_steps in of_evaluations:
        lists = lists_behind(evaluation, sources.dataset, sources.runs)
        golds = _golds(evaluation, lists, sources.dataset)
        row_of = {query_id: row for row, query_id in enumerate(evaluation.query_ids)}
        run, rows = sources.runs.get(evaluation.name, Run({})), list(map(row_of.get, query_ids))
        cell = RunCell(evaluation, lists, golds, of_metric, rows, of_steps, run.results)
        of_match = cells.setdefault(evaluation.match_name, {})
        if of_match.setdefault(evaluation.name, cell) is not cell:
            raise UsageError(
                "evaluations: two are of retriever {name!r} and matcher {match_name!r}; give each "
                "its own name (dataclasses.replace(evaluation, name=...))",
                name=evaluation.name,
                match_name=evaluation.match_name,
            )
    for match, of_match in cells.items():
        if len(of_match) > 1:
            check_comparable([cell.evaluation for cell in of_match.values()])
        cells[match] = _with_pool(of_match)
    return Grid(cells, query_ids, sample)


def _with_pool(of_match: dict[str, RunCell]) -> dict[str, RunCell]:
    """The cells of a matcher; where all gold is a judge's, with the pool that they share."""
    pooled = [(cell.evaluation, cell.lists) for cell in of_match.values() if cell.pooled]
    listed = [(evaluation, lists) for evaluation, lists in pooled if lists]
    # With one list unknown some pooled documents have no text, and would stand there as bare ids.
    if not listed or len(listed) < len(pooled):
        return of_match
    pool = _with_searched(pool_gold(listed), of_match.values())
    return {name: replace(cell, golds=pool) for name, cell in of_match.items()}


def _with_searched(pool: list[list[Gold]], cells: Iterable[RunCell]) -> list[list[Gold]]:
    """The gold of a pool with the texts of what stands in no list, but was searched."""
    for cell in cells:
        searches = cell.evaluation.searches
        if searches is None:
            continue
        table = searches.table
        docs = {
            place: doc
            for row, query_id in enumerate(cell.evaluation.query_ids)
            if (answer := cell.answers.get(query_id)) is not None
            for search, places in placed_searches(answer, cell.evaluation, row)
            for place, doc in zip(places or (), search.measured)
        }
        for place, gold in zip(table.pair_doc.tolist(), table.pair_gold.tolist()):
            row = int(table.gold_query[gold])
            item = gold - int(table.gold_start[row])
            if not pool[row][item].text and place in docs:
                found = docs[place]
                pool[row][item] = replace(pool[row][item], id=found.id, text=found.text)
    return pool


def _sample_queries(
    evaluations: Sequence[Evaluation],
) -> tuple[list[str], Mapping[str, int] | None]:
    """The queries that the page holds, and of how many, where it cannot hold all.

    Those that leak come first, then those on which retrievers differ, one finding gold and another
    none, by lot where even they are too many; the rest are drawn by lot from the others.
    """
    query_ids = list(dict.fromkeys(chain(*(evaluation.query_ids for evaluation in evaluations))))
    if len(query_ids) <= MOST_QUESTIONS:
        return query_ids, None
    # By matcher: what one finds and another misses is no difference between retrievers.
    found, missed = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for evaluation in evaluations:
        lost = {evaluation.query_ids[row] for row in missed_rows(evaluation)}
        missed[evaluation.match_name] |= lost
        found[evaluation.match_name] |= {*evaluation.query_ids} - lost
    differing = {query_id for match in found for query_id in found[match] & missed[match]}
    leaking = {leak.query_id for evaluation in evaluations for leak in evaluation.leaks}
    order = np.random.default_rng(SEED).permutation(len(query_ids)).tolist()
    ranks = [0 if name in leaking else 1 if name in differing else 2 for name in query_ids]
    order.sort(key=ranks.__getitem__)  # stable, so each group stays in an order by chance
    kept = [query_ids[row] for row in sorted(order[:MOST_QUESTIONS])]
    n_held = len(differing.intersection(kept))
    sample = {"n": len(query_ids), "n_differing": len(differing), "n_differing_held": n_held}
    return kept, sample


def _golds(
    evaluation: Evaluation, lists: Sequence[RankedList] | None, dataset: GoldDataset | None
) -> list[Sequence[Gold]]:
    """The gold set's gold of each row; nothing where only the table is known."""
    if "pool" in evaluation.settings:
        return [()] * len(evaluation.query_ids)
    if lists is not None:
        return [ranked.query.gold for ranked in lists]
    return [() if dataset is None else dataset[query_id].gold for query_id in evaluation.query_ids]


def cell_values(
    cell: RunCell, texts: Mapping[str, str], origins: Callable[[], Origins]
) -> dict[str, Any]:
    """Everything about a cell but the texts of its lists.

    Args:
        cell: the evaluation.
        texts: of gold that is named by its id alone.
        origins: which document passages were cut from, where that is asked.
    """
    evaluation, lists, by_query = cell.evaluation, cell.lists, cell.by_query
    kept_rows = set(cell.rows)
    missed = (
        {row: (lists[row], cell.golds[row]) for row in missed_rows(evaluation) if row in kept_rows}
        if lists
        else {}
    )
    # Of misses alone: to compare each list with each gold would take minutes.
    alike = most_alike(missed, texts) if missed else {}
    kin = {row: origins().kin(golds, ranked.docs) for row, (ranked, golds) in missed.items()}
    return {
        "values": {
            str(scores.spec): by_query(short(scores.values.tolist()))
            for scores in evaluation.scores
            if not np.isnan(scores.values).all()
        },
        "mean": evaluation.mean,
        "micro": evaluation.micro,
        "bounds": evaluation.bounds,
        "maximum": evaluation.maximum,
        "counts": evaluation.counts,
        "remarks": list(map(text_of, evaluation.further_remarks)),
        "status": "".join(by_query(_statuses(cell), "-")),
        "seconds": None if lists is None else by_query(short([ranked.seconds for ranked in lists])),
        "cuts": {
            name: by_query(ranks.tolist()) for name, ranks in budget_ranks(evaluation).items()
        },
        "first": by_query(ranks_in(evaluation)),
        "best": by_query(_highest(evaluation)),
        "alike": [None if row is None else alike.get(row) for row in cell.rows],
        "kin": [None if row is None else kin.get(row) or None for row in cell.rows],
        "curves": to_jsonable(cell.curves),
        "histogram": to_jsonable(histogram(evaluation)),
        "times": to_jsonable(times(lists)) if lists is not None else None,
        **({"runs": to_jsonable(runs)} if (runs := evaluation.several_runs) else {}),
        **({} if evaluation.forbidden is None else {"leaks": _leaks(cell)}),
        **_searches(cell),
    }


def _searches(cell: RunCell) -> dict[str, Any]:
    """What searches found by step, and the page's questions by what became of them."""
    evaluation = cell.evaluation
    if cell.steps is None or not (outcomes := search_outcomes(evaluation)):
        return {}
    # Of a sample of questions only those that the page holds can be opened.
    places = {row: place for place, row in enumerate(cell.rows) if row is not None}
    by_name = {
        name: [places[row] for row in rows if row in places] for name, rows in outcomes.items()
    }
    # By list, of those that some metric is about beside the basis, the first ranks of gold.
    basis = evaluation.settings["searches"]["basis"]
    lists = {list_looked_at(spec, basis) for spec in evaluation.specs}
    ranks = {
        name: cell.by_query(ranks_in(evaluation, name)) for name in sorted(filter(None, lists))
    }
    return {"searches": {"found": to_jsonable(cell.steps), **by_name}, "ranks": ranks}


def _leaks(cell: RunCell) -> dict[str, Any]:
    """What is said of what must not be found, and by query what came: rank, name, kinds, rules."""
    evaluation = cell.evaluation
    by_id: dict[str, list[list[Any]]] = {}
    for leak in evaluation.leaks:
        rules = to_json(to_jsonable(leak.rules)) if leak.rules else None
        by_id.setdefault(leak.query_id, []).append([leak.rank, leak.document, leak.kinds, rules])
    places = {evaluation.query_ids[row]: at for at, row in enumerate(cell.rows) if row is not None}
    return {
        "lines": [
            [text_of(line.text), line.style == LEAKING]
            for line in leak_parts([evaluation.leak_report], 0)
            if line.style != "dim"  # the page says of all retrievers which questions have no gold
        ],
        "found": bool(by_id),
        "rows": {places[query_id]: rows for query_id, rows in by_id.items() if query_id in places},
    }


def _statuses(cell: RunCell) -> list[str]:
    """A letter for each row: answered, empty, failed or missing."""
    evaluation, table = cell.evaluation, cell.evaluation.table
    if cell.lists is None:
        letters = [
            "a" if answered else "f" if query_id in evaluation.failures else "m"
            for query_id, answered in zip(evaluation.query_ids, table.answered, strict=True)
        ]
    else:
        letters = [ranked.status[0] for ranked in cell.lists]
    # An empty list counts as answered there, but a reader looks for it under another name.
    n_docs = table.n_docs.tolist()
    return ["e" if letter == "a" and not n else letter for letter, n in zip(letters, n_docs)]


def _highest(evaluation: Evaluation) -> list[list[float | int | None]]:
    """For each row the highest score of each gold item, and its rank, one after the other."""
    table, outcome = evaluation.table, gold_outcome(evaluation)
    scores = (rounded_score(score, table.threshold) for score in outcome.best.tolist())
    best = list(chain(*zip(scores, outcome.best_rank.tolist(), strict=True)))
    return [best[2 * start : 2 * end] for start, end in pairwise(table.gold_start.tolist())]


STEPS = "steps"
"""Stands for all searches, with the number of the step in the place of a rank."""


def list_looked_at(spec: MetricSpec, basis: str | None) -> str | None:
    """The list that a metric is about, where that is not the basis."""
    if spec.metric.from_searches is not None:
        return STEPS
    if spec["of"] in (None, basis):
        return None
    return f"{spec['of']} {spec['order']}" if spec["of"] == "all" else str(spec["of"])


def ranks_in(evaluation: Evaluation, name: str | None = None) -> list[list[int | None]]:
    """For each row the first rank of each gold item in a list.

    It is 0 for an item that was not found, and None where that is not known; an item that is no
    gold (its grade is too low) has -1.

    Args:
        evaluation: with searches, where a list is named.
        name: as `list_looked_at` gives it; None for the list that the evaluation is of.
    """
    searches, table = evaluation.searches, evaluation.table
    if searches is not None and name is not None:
        of, _, order = name.partition(" ")
        table = searches.table if name == STEPS else searches.of(of, order or "turns")  # type: ignore[arg-type]  # as a spec has them
    outcome = gold_outcome(replace(evaluation, table=table))
    first = outcome.first
    if searches is not None and name == STEPS:
        steps = SearchView(searches, evaluation.profile.rel).gold_step
        first = np.where(steps == NEVER, 0, steps)
    # A rank of -1 tells the page that an item is judged, and no gold.
    ranks = np.where(outcome.relevant, first, -1).tolist()
    # A judgement that is missing could make it found: 0 would say that it was not.
    is_open = (outcome.unknown & outcome.relevant).tolist()
    known = [None if unknown else rank for rank, unknown in zip(ranks, is_open, strict=True)]
    return [known[start:end] for start, end in pairwise(table.gold_start.tolist())]


def judged(
    matcher: BaseMatcher, dataset: GoldDataset, runs: Iterable[Run], profile: Profile
) -> Reasons:
    """The grade and reason of each pair that a judge was asked about; nothing without a judge.

    Args:
        matcher: a judge, or a combination with one.
        dataset: the gold set.
        runs: what each retriever returned.
        profile: by which lists are put in order.
    """
    reasons: dict[tuple[str, str, str], tuple[float | None, str]] = {}
    for run in runs if matcher.judges else ():
        answers = ((query, run.results.get(query.id)) for query in dataset)
        # A failed answer has no documents that anybody could have been asked about.
        items = (
            match_item(query, answer, profile)
            for query, answer in answers
            if answer is not None and answer.error is None
        )
        reasons |= matcher.said(items)
    return reasons

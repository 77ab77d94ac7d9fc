"""From evaluations to the plain values that the page shows: an index, and blocks of texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import Any

from kragx.comparison import (
    Change,
    Comparison,
    Difference,
    View,
    gates_parts,
    gates_table,
)
from kragx.comparison.changes import gold_of
from kragx.comparison.comparison import FEW
from kragx.comparison.near_misses import ALIKE, SIMILAR, Origins
from kragx.comparison.tuning import Tuning
from kragx.comparison.verdict import nearest_rival, verdict
from kragx.data import Doc, Query
from kragx.evaluation.evaluate_run import versions
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.presenting import metric_names, profile_label
from kragx.evaluation.ranked_lists import texts_by_id
from kragx.evaluation.stage_losses import Loss, StageLosses, reasons
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Name, Part, joined, listed, message, visible, warning
from kragx.matchers import EmbeddingMatcher
from kragx.metrics import TextBudget, parse
from kragx.report.findings import (
    Findings,
    lead_parts,
    pool_facts,
    pool_note,
    pool_table,
    reasons_tables,
    searches_table,
    steps_table,
    unmeasured_text,
)
from kragx.report.html_page.cells import (
    MOST_DOCS,
    Grid,
    RunCell,
    Sources,
    cell_grid,
    cell_values,
    list_looked_at,
)
from kragx.report.html_page.packing import TextTable, described, packed, short, text_of
from kragx.report.html_page.questions import QUESTIONS_A_BLOCK, OpenedQuestions


def payload(
    findings: Findings, sources: Sources, record: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Everything the page shows of some evaluations of the same gold set.

    Args:
        findings: what they came to.
        sources: the texts.
        record: how the run came about.

    Returns:
        Packed values by their id on the page: the index, then details of questions, then texts.

    Raises:
        UsageError: there is no evaluation, or they cannot be compared.
    """
    evaluations = findings.evaluations
    grid = cell_grid(evaluations, sources)
    queries = _queries(grid, sources)
    by_id = texts_by_id(_retrieved(grid, sources), sources.corpus)
    origins = cache(partial(Origins.of, grid.runs, sources.corpus))  # asked of misses alone
    texts, metadata = TextTable(), TextTable()
    questions = OpenedQuestions(grid, texts, metadata, by_id, sources)
    # Questions number the texts, and blocks of texts say where each begins: the index comes last.
    details = list(map(packed, questions.blocks(queries)))
    text_blocks = list(map(packed, texts.blocks()))
    metadata_blocks = list(map(packed, metadata.blocks()))
    first = evaluations[0]
    values = {
        match: {name: cell_values(cell, by_id, origins) for name, cell in of_match.items()}
        for match, of_match in grid.cells.items()
    }
    retrievers = list(dict.fromkeys(evaluation.name for evaluation in evaluations))
    passed = [gate for gate in findings.gates if gate.passed]
    index = {
        "versions": versions(),
        "record": record,
        "gates": {
            "failed": len(findings.gates) - len(passed),
            "parts": described(gates_parts(findings.gates)) if findings.gates else [],
            "passed": described([gates_table(passed)]) if passed else [],
        },
        "tunings": {tuning.match: _tuning(tuning) for tuning in findings.tunings},
        "matcher_grids": [
            {"matches": of_grid.labels, "parts": described(of_grid.describe())}
            for of_grid in findings.matcher_grids
        ],
        "dataset": dict(first.settings["dataset"]),
        **_basis(first),
        "profile": text_of(profile_label(first.settings)),
        "matches": [
            {
                **_match(name, of_match),
                **_searching(of_match, values[name]),
                **_pooled(of_match, values[name]),
                "members": questions.members.get(name),
            }
            for name, of_match in grid.cells.items()
        ],
        "retrievers": retrievers,
        "metrics": [
            _metric(name, _basis(first).get("basis"))
            for name in metric_names(evaluation.mean for evaluation in evaluations)
        ],
        "queries": {
            "ids": grid.query_ids,
            "sample": grid.sample,
            "texts": [query.text for query in queries],
            "unanswerable": [row for row, query in enumerate(queries) if query.answerable is False],
            **_weights(first, grid.query_ids),
        },
        "cells": [[of_match.get(name) for name in retrievers] for of_match in values.values()],
        "standings": _standings(findings, grid.query_ids),
        "losses": {name: _losses(findings.losses_under(name)) for name in grid.cells},
        "limits": {"alike": ALIKE, "similar": SIMILAR, "few": FEW},
        "per_block": QUESTIONS_A_BLOCK,
        "starts": {"texts": texts.starts, "metadata": metadata.starts},
        "kept": {
            "texts": bool(grid.runs),
            "max_docs": MOST_DOCS,
            "docs_left_out": questions.n_docs_left_out,
        },
    }
    return {
        "index": packed(index),
        **{f"detail-{number}": block for number, block in enumerate(details)},
        **{f"texts-{number}": block for number, block in enumerate(text_blocks)},
        **{f"metadata-{number}": block for number, block in enumerate(metadata_blocks)},
    }


def _retrieved(grid: Grid, sources: Sources) -> Iterator[Doc]:
    """All documents that came: those of lists, then those of searches."""
    yield from (doc for lists in grid.runs for ranked in lists for doc in ranked.docs)
    for run in sources.runs.values():
        searches = (search for answer in run.results.values() for search in answer.searches)
        yield from (doc for search in searches for doc in search.measured)


def _weights(evaluation: Evaluation, query_ids: Sequence[str]) -> dict[str, list[float | None]]:
    """For how many asks each query of the page stands; nothing where all weigh alike."""
    if evaluation.weights is None:
        return {}
    # The page may hold a sample of the questions, in an order of its own.
    by_id = dict(zip(evaluation.query_ids, evaluation.weights.tolist()))
    return {"weights": short([by_id.get(query_id) for query_id in query_ids])}


def _basis(evaluation: Evaluation) -> dict[str, str]:
    """The list that metrics are about which name none; nothing where nobody searches twice."""
    searches = evaluation.settings.get("searches")
    return {} if searches is None else {"basis": searches["basis"]}


def _queries(grid: Grid, sources: Sources) -> list[Query]:
    """The queries of the page, as far as they are known."""
    retrieved = {ranked.query.id: ranked.query for run in reversed(grid.runs) for ranked in run}
    queries = retrieved | {query.id: query for query in sources.dataset or ()}
    return [queries.get(query_id) or Query(query_id) for query_id in grid.query_ids]


_NEAR = 0.1
"""How far below its threshold a cosine is a near miss."""


def _near_limit(match: Mapping[str, Any]) -> float | None:
    """The least score that the page calls a near miss: half of the threshold; None without one.

    Of cosines, which are well above 0 for unrelated texts, a score a little below the threshold.
    """
    if match.get("threshold") is None:
        return None
    threshold, members = float(match["threshold"]), match.get("of")
    # Of a cascade that only rules out the last member scores; a span's `of` is a word.
    method = members[-1]["method"] if isinstance(members, list) else match["method"]
    least = threshold - _NEAR if method == EmbeddingMatcher.name else 0.0
    return round(max(least, threshold / 2), 9)


def _match(name: str, of_match: Mapping[str, RunCell]) -> dict[str, Any]:
    first = next(iter(of_match.values()))
    evaluation, match = first.evaluation, first.evaluation.settings["match"]
    return {
        "name": name,
        "label": evaluation.match_label,
        "method": match["method"],
        "threshold": None if first.pooled else match.get("threshold"),
        "near": None if first.pooled else _near_limit(match),
        "top": evaluation.table.top,
        "pool": evaluation.settings.get("pool"),
        "judged": "judging" in evaluation.counts,
    }


def _pooled(cells: Mapping[str, RunCell], values: Mapping[str, Any]) -> dict[str, Any]:
    """What a judged pool is, and how much of it is known; nothing without one."""
    evaluations = [cell.evaluation for cell in cells.values()]
    if (pool := evaluations[0].settings.get("pool")) is None:
        return {}
    # Of each question of the page; a retriever that lacks it has no ranks, and -1 is below the cut.
    ranks = zip(*(value["first"] for value in values.values()))
    of_questions = (next(filter(None, several), ()) for several in ranks)
    n_relevant = sum(rank != -1 for of_question in of_questions for rank in of_question)
    return {
        "pool_note": text_of(pool_note(pool)),
        "pool_facts": [list(map(text_of, row)) for row in pool_facts(pool, n_relevant)],
        "pool_table": described([pool_table(evaluations)])[0],
    }


def _searching(cells: Mapping[str, RunCell], values: Mapping[str, Any]) -> dict[str, Any]:
    """What retrievers that search several times came to; nothing where nobody does."""
    searching = {name: value["searches"] for name, value in values.items() if "searches" in value}
    if not searching:
        return {}
    evaluations = [cells[name].evaluation for name in searching]
    steps = {name: cell.steps for name, cell in cells.items() if cell.steps is not None}
    table, outcomes = searches_table(evaluations, searching)
    return {
        "searches": described([table])[0],
        "outcomes": outcomes,
        "steps": described([steps_table(steps)])[0],
        "unmeasured": {
            evaluation.name: text_of(unmeasured_text(evaluation)) for evaluation in evaluations
        },
    }


def _metric(name: str, basis: str | None) -> dict[str, Any]:
    spec = parse(name)
    metric, budget = spec.metric, spec.k if isinstance(spec.k, TextBudget) else None
    return {
        "name": name,
        "of_documents": metric.from_matches is None and metric.from_searches is None,
        "meaning": text_of(metric.meaning or f"{metric.question} {metric.formula}"),
        "k": spec.k if budget is None and metric.from_searches is None else None,
        "budget": budget and {"n": budget.n, "unit": budget.unit},
        "higher": metric.higher_is_better,
        "unit": metric.range == (0, 1),
        "share": metric.is_share,
        **({} if metric.interval == "score" else {"exact": True}),
        **({} if (of := list_looked_at(spec, basis)) is None else {"list": of}),
    }


def _tuning(tuning: Tuning) -> dict[str, Any]:
    """What the page says of a grid."""
    return {
        "verdict": tuning.verdict,
        "take": tuning.take,
        "sentence": text_of(tuning.sentence),
        "settings": described([tuning.settings_table()] if tuning.settings else []),
        "confirmed": bool(tuning.held_out and tuning.held_out.simpler),
        "curves": short(to_jsonable(tuning.curves)),
        "confidence": tuning.confidence,
    }


def _losses(losses: Sequence[StageLosses]) -> dict[str, Any]:
    """Where retrievers lose gold: side by side, and each of them with questions to open."""

    def lost(loss: Loss, k: int | None) -> dict[str, Any]:
        text = joined(" · ", [reasons(k)[loss.reason], visible(loss.stage or "")])
        return {"n": loss.n, "text": text_of(text), "query_ids": loss.query_ids}

    return {
        "tables": described(reasons_tables(losses)),
        "retrievers": [
            {
                "retriever": of_one.retriever,
                "summary": text_of(of_one.summary),
                "parts": described(islice(of_one.describe(), 1, None)),
                "lost": [lost(loss, of_one.k) for loss in of_one.losses],
            }
            for of_one in losses
        ],
    }


_LOOKED_UP = ("baseline", "metrics", "statistics", "failures", "n_queries", "n_asks")
"""What figures and filters look up of a comparison beside what it says."""


def _standings(findings: Findings, query_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Each comparison by its matcher's name."""
    tuned = {tuning.match for tuning in findings.tunings}
    return {
        comparison.match: {
            **_looked_up(comparison, query_ids),
            "verdicts": _verdicts(comparison, is_tuned=comparison.match in tuned),
            "means": described([comparison.means_table(evaluations)])[0],
            "fields": [
                {
                    "field": field,
                    "places": [comparison.slices.index(part) for part in large],
                    "n_small": len(comparison.by(field)) - len(large),
                    "best": described([comparison.slices_table(field)])[0],
                    "means": described(part.means_table(comparison.metrics) for part in large),
                }
                for field in comparison.fields_told
                for large in [comparison.large(field)]
            ],
            "cautions": described(_cautions(comparison, findings.changes)),
            "advice": [
                {
                    "text": text_of(recommendation.text),
                    "supported": recommendation.supported,
                    "kind": recommendation.kind,
                    "metric": recommendation.values.get("metric"),
                }
                for recommendation in comparison.recommendations
            ],
        }
        for comparison, evaluations in zip(findings.comparisons, findings.groups, strict=True)
    }


def _looked_up(comparison: Comparison, query_ids: Sequence[str]) -> dict[str, Any]:
    """What figures and filters need, with the positions of queries instead of their ids."""
    position_of = {query_id: position for position, query_id in enumerate(query_ids)}
    return {
        **short({name: to_jsonable(getattr(comparison, name)) for name in _LOOKED_UP}),
        "estimates": {
            name: {
                metric: [*short(to_jsonable([mean.value, mean.low, mean.high])), text_of(mean.ends)]
                for metric, mean in means.items()
            }
            for name, means in comparison.overall.means.items()
        },
        "slices": [
            {
                "field": part.field,
                "value": part.value,
                "rows": [position_of[id_] for id_ in part.query_ids if id_ in position_of],
            }
            for part in comparison.slices
        ],
    }


def _verdicts(comparison: Comparison, *, is_tuned: bool) -> dict[str, dict[str, Any]]:
    """The verdict by each metric, as it would be if that were the first, below a headline."""
    if not comparison.retrievers:
        return {"": {"headline": text_of(comparison.recommendations[0].text), "text": ""}}
    verdicts = {}
    for metric in comparison.metrics:
        # All p are computed already: that a metric comes first changes what is said, and no number.
        first = replace(comparison, metrics=(metric, *comparison.metrics))
        text = verdict(first).text
        headline = _headline(first.overall, metric, is_tuned=is_tuned)
        verdicts[metric] = {
            "headline": text_of(headline or text),
            "text": text_of(text if headline and not is_tuned else ""),
            **_best(comparison, metric, is_tuned=is_tuned),
        }
    return verdicts


def _best(comparison: Comparison, metric: str, *, is_tuned: bool) -> dict[str, Any]:
    """Who is best in a metric and who comes next, whether that is certain, and by how much."""
    view = comparison.overall
    if (leader := view.leaders.get(metric)) is None:
        return {}
    rival = nearest_rival(comparison, leader)
    best = {"best": leader.best, "next": rival.against}
    if view.found_nothing(metric):  # zeros are no tie
        return best
    badge = message(
        "not tested" if not leader.tested else "certain" if leader.decided else "not certain"
    )
    return {
        **best,
        "badge": None if is_tuned else [text_of(badge), leader.tested and leader.decided],
        "lead": _lead(comparison, rival) if leader.tested else None,
    }


def _lead(comparison: Comparison, rival: Difference) -> dict[str, Any]:
    """How far the best is ahead of the next, with the ends of its interval, which are drawn."""
    parts = lead_parts(comparison, rival)
    plain = {
        "means": parts.pop("means"),
        "lines": list(map(text_of, parts.pop("lines"))),
        "bar": short([rival.value, rival.low, rival.high]),
    }
    return {**{name: text_of(text) for name, text in parts.items()}, **plain}


def _headline(view: View, metric: str, *, is_tuned: bool) -> str:
    """Who is ahead, in so few words as can be read from afar; nothing where nobody is."""
    leader = view.leaders.get(metric)
    if leader is None or view.found_nothing(metric):
        return ""
    return message(
        "Over all questions {best} has the best value of {metric}; which setting to take stands "
        "above."
        if is_tuned
        else "{best} is best on {metric}."
        if leader.decided
        else "{best} has the best value of {metric}."
        if len(leader.shared) == 1
        else "{names} share the best value of {metric}.",
        best=leader.best,
        names=listed(leader.shared),
        metric=Name(metric, "metric"),
    )


def _cautions(comparison: Comparison, changes: Iterable[Change]) -> Iterator[Part]:
    """What a reader must know with the verdict."""
    # Of another matcher gold may differ in ids alone, which this one does not compare.
    of_match = [change for change in changes if change.comparison.match == comparison.match]
    yield from (warning(versions.text) for versions in gold_of(of_match)) if of_match else ()
    for failures in comparison.failures:
        yield from failures.describe()
    of_verdict = (
        caution.text
        for caution in comparison.recommendations[0].cautions
        if caution.code not in ("failed", "leaks")  # of these the page says more
    )
    yield from map(warning, (*of_verdict, *comparison.further_cautions))

"""From evaluations to the plain values that the page shows: an index, and blocks of texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from kragx.comparison import Comparison, GateResult, flips_warning, too_few_questions
from kragx.comparison.near_misses import ALIKE, SIMILAR, Origins
from kragx.comparison.statistics import LEAST
from kragx.comparison.view import FEW
from kragx.data import Query
from kragx.evaluation.evaluation import Evaluation, metric_names, versions
from kragx.evaluation.explain import near_limit
from kragx.evaluation.ranked_lists import texts_by_id
from kragx.metrics import TextBudget, parse
from kragx.plain import plain
from kragx.report.html_page.cells import Cell, Grid, Sources, cell_grid, cell_values
from kragx.report.html_page.packing import Texts, packed, short
from kragx.report.html_page.questions import QUESTIONS_A_BLOCK, Questions


def payload(
    evaluations: Sequence[Evaluation],
    sources: Sources,
    comparisons: Sequence[Comparison],
    record: Mapping[str, Any] | None = None,
    gates: Sequence[GateResult] = (),
) -> dict[str, str]:
    """Everything the page shows of some evaluations of the same gold set.

    Args:
        evaluations: by matcher, then retriever.
        sources: the texts.
        comparisons: what the statistics say, one for each matcher.
        record: how the run came about.
        gates: held against the numbers.

    Returns:
        Packed values by their id on the page: the index, then details of questions, then texts.

    Raises:
        UsageError: there is no evaluation, or they cannot be compared.
    """
    grid = cell_grid(evaluations, sources)
    queries = _queries(grid, sources)
    by_id, origins = texts_by_id(grid.runs, sources.corpus), Origins.of(grid.runs, sources.corpus)
    texts = Texts(sources.max_chars)
    questions = Questions(grid, texts, by_id, sources)
    # Questions number the texts, and blocks of texts say where each begins: the index comes last.
    details = list(map(packed, questions.blocks(queries)))
    text_blocks = list(map(packed, texts.blocks()))
    first = evaluations[0]
    retrievers = list(dict.fromkeys(evaluation.name for evaluation in evaluations))
    index = {
        "versions": versions(),
        "record": record,
        "gates": plain(gates),
        "dataset": first.settings["dataset"],
        "profile": first.profile_label,
        "matches": [
            {**_match(name, of_match), "members": questions.members.get(name)}
            for name, of_match in grid.cells.items()
        ],
        "retrievers": retrievers,
        "metrics": list(map(_metric, metric_names(evaluations))),
        "queries": {
            "ids": grid.query_ids,
            "texts": [query.text for query in queries],
            "unanswerable": [row for row, own in enumerate(queries) if own.answerable is False],
        },
        "cells": [
            [
                cell_values(of_match[name], by_id, origins) if name in of_match else None
                for name in retrievers
            ]
            for of_match in grid.cells.values()
        ],
        "standings": _standings(comparisons, grid.query_ids),
        "limits": {"alike": ALIKE, "similar": SIMILAR, "few": FEW, "least": LEAST},
        "per_block": QUESTIONS_A_BLOCK,
        "text_starts": texts.starts,
        "kept": {
            "texts": bool(grid.runs),
            "max_docs": sources.max_docs,
            "docs_left_out": questions.n_docs_left_out,
            "max_chars": sources.max_chars,
            "texts_cut": texts.n_cut,
        },
    }
    return {
        "index": packed(index),
        **{f"detail-{number}": block for number, block in enumerate(details)},
        **{f"texts-{number}": block for number, block in enumerate(text_blocks)},
    }


def _queries(grid: Grid, sources: Sources) -> list[Query]:
    """The queries of the page, as far as they are known."""
    retrieved = {ranked.query.id: ranked.query for run in reversed(grid.runs) for ranked in run}
    known = retrieved | {query.id: query for query in sources.dataset or ()}
    return [known.get(query_id) or Query(query_id) for query_id in grid.query_ids]


def _match(name: str, of_match: Mapping[str, Cell]) -> dict[str, Any]:
    first = next(iter(of_match.values()))
    evaluation, match = first.evaluation, first.evaluation.settings["match"]
    return {
        "name": name,
        "label": evaluation.match_label,
        "method": match["method"],
        "threshold": None if first.pooled else match.get("threshold"),
        "near": None if first.pooled else near_limit(match),
        "top": evaluation.table.top,
        "pool": evaluation.settings.get("pool"),
        "judged": "judging" in evaluation.counts,
    }


def _metric(name: str) -> dict[str, Any]:
    spec = parse(name)
    metric, budget = spec.metric, spec.k if isinstance(spec.k, TextBudget) else None
    return {
        "name": name,
        "of_documents": metric.from_matches is None,
        "meaning": {"en": f"{metric.question} {metric.formula}", **metric.meaning},
        "k": spec.k if budget is None else None,
        "budget": budget and {"n": budget.n, "unit": budget.unit},
        "higher": metric.higher_is_better,
        "unit": metric.range == (0, 1),
        "share": metric.is_share,
    }


def _standings(
    comparisons: Sequence[Comparison], query_ids: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Each comparison by its matcher's name, with the positions of queries instead of their ids."""
    position_of = {query_id: position for position, query_id in enumerate(query_ids)}
    values: dict[str, dict[str, Any]] = {}
    for comparison in comparisons:
        own = comparison.to_dict()
        for part in own["slices"]:
            part["rows"] = [position_of[query_id] for query_id in part.pop("query_ids")]
        own["flips"] = [
            {
                "metric": flips.metric,
                "chosen": flips.chosen,
                "leader": flips.leader,
                "swapped": plain(flips.swapped),
            }
            for flips in comparison.flips
        ]
        too_few = too_few_questions(comparison)
        own["too_few"] = plain(too_few)
        # The page says these in its own words.
        told = (flips_warning(comparison.flips), str(too_few))
        own["cautions"] = [caution for caution in comparison.cautions if caution not in told]
        own["advice"] = plain(comparison.recommendations)
        values[comparison.match] = short(own)
    return values

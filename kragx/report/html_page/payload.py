"""From evaluations to the plain values that the page shows: an index, and blocks of texts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kragx.comparison import Comparison, GoldVersions, orders_warning, too_few_questions
from kragx.comparison.changes import gold_of
from kragx.comparison.gold_versions import NAMED
from kragx.comparison.near_misses import ALIKE, SIMILAR, Origins
from kragx.comparison.statistics import LEAST
from kragx.comparison.tuning import Tuning
from kragx.comparison.verdict import TELLING
from kragx.comparison.view import FEW
from kragx.data import Doc, Query
from kragx.data.gold_diff import gold_name
from kragx.evaluation.evaluation import Evaluation, metric_names, profile_label, versions
from kragx.evaluation.explain import near_limit
from kragx.evaluation.ranked_lists import texts_by_id
from kragx.ground.json_values import plain
from kragx.metrics import TextBudget, parse
from kragx.report.findings import Findings
from kragx.report.html_page.cells import Grid, RunCell, Sources, cell_grid, cell_values
from kragx.report.html_page.lists import list_looked_at
from kragx.report.html_page.packing import TextTable, by_language, packed, short
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
    evaluations, comparisons = findings.evaluations, findings.comparisons
    grid = cell_grid(evaluations, sources)
    queries = _queries(grid, sources)
    by_id = texts_by_id(_retrieved(grid, sources), sources.corpus)
    origins = Origins.of(grid.runs, sources.corpus)
    texts, metadata = TextTable(sources.max_chars), TextTable()
    questions = OpenedQuestions(grid, texts, metadata, by_id, sources)
    # Questions number the texts, and blocks of texts say where each begins: the index comes last.
    details = list(map(packed, questions.blocks(queries)))
    text_blocks = list(map(packed, texts.blocks()))
    metadata_blocks = list(map(packed, metadata.blocks()))
    first = evaluations[0]
    retrievers = list(dict.fromkeys(evaluation.name for evaluation in evaluations))
    index = {
        "versions": versions(),
        "record": record,
        "gates": [{**plain(gate), "said": by_language(gate.said)} for gate in findings.gates],
        "tunings": {tuning.match: _tuning(tuning) for tuning in findings.tunings},
        "matcher_grids": short(plain(findings.matcher_grids)),
        "dataset": dict(first.settings["dataset"]),
        **_basis(first),
        "profile": by_language(profile_label(first)),
        "matches": [
            {**_match(name, of_match), "members": questions.members.get(name)}
            for name, of_match in grid.cells.items()
        ],
        "retrievers": retrievers,
        "metrics": [
            _metric(name, _basis(first).get("basis")) for name in metric_names(evaluations)
        ],
        "queries": {
            "ids": grid.query_ids,
            "sample": plain(grid.sample),
            "texts": [query.text for query in queries],
            "unanswerable": [row for row, query in enumerate(queries) if query.answerable is False],
            **_weights(first, grid.query_ids),
        },
        "cells": [
            [
                cell_values(of_match[name], by_id, origins) if name in of_match else None
                for name in retrievers
            ]
            for of_match in grid.cells.values()
        ],
        "standings": _standings(comparisons, grid.query_ids),
        "gold": {
            comparison.match: [
                _gold_versions(dataset)
                for dataset in gold_of(
                    change
                    for change in findings.changes
                    if change.comparison.match == comparison.match
                )
            ]
            for comparison in comparisons
        },
        "losses": {
            name: [
                {**plain(loss), "remarks": list(map(by_language, loss.remarks))}
                for loss in findings.losses_under(name)
            ]
            for name in grid.cells
        },
        "limits": {
            "alike": ALIKE,
            "similar": SIMILAR,
            "few": FEW,
            "least": LEAST,
            "telling": TELLING,
        },
        "per_block": QUESTIONS_A_BLOCK,
        "starts": {"texts": texts.starts, "metadata": metadata.starts},
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


def _match(name: str, of_match: Mapping[str, RunCell]) -> dict[str, Any]:
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


def _metric(name: str, basis: str | None) -> dict[str, Any]:
    spec = parse(name)
    metric, budget = spec.metric, spec.k if isinstance(spec.k, TextBudget) else None
    return {
        "name": name,
        "of_documents": metric.from_matches is None and metric.from_searches is None,
        "meaning": {"en": f"{metric.question} {metric.formula}", **metric.meaning},
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
    values = short(plain(tuning))
    for setting, setting_values in zip(tuning.settings, values["settings"], strict=True):
        setting_values["failed"] = by_language(setting.failed) if setting.failed else None
    return dict(values)


def _gold_versions(versions: GoldVersions) -> dict[str, Any]:
    """What the page says of the gold set of earlier results; all ids are in report.json."""
    lists = ("changed", "only_later", "only_earlier")
    numbers = ("n_same", "n_moved", "n_ids", "left_out")
    return {
        "names": [gold_name(versions.earlier), gold_name(versions.later)],
        "ids": versions.named[:NAMED],
        **{name: len(getattr(versions, name)) for name in lists},
        **{name: getattr(versions, name) for name in numbers},
    }


_TEXTS = ("siblings", "missing_judgements", "ids_apart", "documents")
"""Cautions of a verdict that the page says as it is told."""


def _standings(
    comparisons: Sequence[Comparison], query_ids: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Each comparison by its matcher's name, with the positions of queries instead of their ids."""
    position_of = {query_id: position for position, query_id in enumerate(query_ids)}
    values: dict[str, dict[str, Any]] = {}
    for comparison in comparisons:
        record = comparison.to_dict()
        for part, slice_ in zip(record["slices"], comparison.slices, strict=True):
            part.pop("query_ids")
            part["rows"] = _positions(slice_.query_ids, position_of)
        record["flips"] = [
            {
                "metric": order.metric,
                "chosen": order.chosen,
                "leader": order.leader,
                "swapped": plain(order.swapped),
            }
            for order in comparison.orders
        ]
        too_few = too_few_questions(comparison)
        record["too_few"] = plain(too_few)
        # The page says these in its own words.
        warnings = (orders_warning(comparison.orders), str(too_few))
        turning = [
            caution for caution in comparison.recommendations[0].cautions if caution.code in _TEXTS
        ]
        record["cautions"] = [
            *(by_language(order.text) for order in turning),
            *(by_language(caution) for caution in comparison.cautions if caution not in warnings),
        ]
        record["advice"] = plain(comparison.recommendations)
        values[comparison.match] = short(record)
    return values


def _positions(query_ids: Sequence[str], position_of: Mapping[str, int]) -> list[int]:
    """Where those of some ids stand that the page holds."""
    return [position_of[own_id] for own_id in query_ids if own_id in position_of]

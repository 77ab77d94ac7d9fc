"""From evaluations to the plain values that the page shows: an index, and blocks of texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kragx.comparison import Comparison, check_comparable
from kragx.comparison.near_misses import ALIKE, SIMILAR, Origins
from kragx.comparison.recommendations import FEW
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.errors import UsageError
from kragx.evaluation.answers import answers, kept_answers, pool_gold, texts_by_id
from kragx.evaluation.curves import curves
from kragx.evaluation.evaluation import Evaluation, metric_names, versions
from kragx.evaluation.explain import NEAR
from kragx.matchers.embedding import EmbeddingMatcher
from kragx.metrics import RankedList, metric
from kragx.report.html_page.cells import Cell, cell_values
from kragx.report.html_page.details import QUERIES_A_BLOCK, Details, Sources
from kragx.report.html_page.packing import Texts, packed, starts
from kragx.report.html_page.standings import standings


@dataclass(frozen=True)
class Payload:
    """What the page is given, packed: the index, then details of queries, then texts."""

    index: str
    details: tuple[str, ...]
    texts: tuple[str, ...]


def payload(
    evaluations: Sequence[Evaluation], sources: Sources, comparisons: Sequence[Comparison]
) -> Payload:
    """Everything the page shows of some evaluations of the same gold set.

    Args:
        evaluations: by matcher, then retriever.
        sources: the texts.
        comparisons: what the statistics say, one for each matcher.

    Raises:
        UsageError: there is no evaluation, or they cannot be compared.
    """
    grid = _grid(evaluations, sources)
    query_ids = list(dict.fromkeys(each for one in evaluations for each in one.query_ids))
    queries = _queries(query_ids, grid, sources.dataset)
    listed = [
        cell.answers for row in grid.values() for cell in row.values() if cell.answers is not None
    ]
    by_id = texts_by_id(listed, sources.corpus)
    origins = Origins.of(listed, sources.corpus)
    texts = Texts(sources.max_chars)
    rows = {
        id(cell): _rows(cell.evaluation, query_ids)
        for of_match in grid.values()
        for cell in of_match.values()
    }
    details = Details(grid, rows, texts, by_id, sources)
    packed_details = tuple(map(packed, details.blocks(queries)))
    text_blocks = list(texts.blocks())
    first = evaluations[0]
    retrievers = list(dict.fromkeys(each.name for each in evaluations))
    index = {
        "versions": versions(),
        "dataset": first.settings["dataset"],
        "profile": first.profile_label,
        "matches": [
            {**_match(name, of_match), "members": details.members.get(name)}
            for name, of_match in grid.items()
        ],
        "retrievers": retrievers,
        "metrics": [_metric(name) for name in metric_names(evaluations)],
        "queries": {
            "ids": query_ids,
            "texts": [query.text for query in queries],
        },
        "cells": [
            [
                None
                if name not in of_match
                else cell_values(of_match[name], rows[id(of_match[name])], by_id, origins)
                for name in retrievers
            ]
            for of_match in grid.values()
        ],
        "standings": standings(comparisons, query_ids),
        "limits": {"alike": ALIKE, "similar": SIMILAR, "few": FEW},
        "per_block": QUERIES_A_BLOCK,
        "text_starts": starts(text_blocks),
        "kept": {
            "texts": bool(listed),
            "max_docs": sources.max_docs,
            "docs_left_out": details.n_docs_left_out,
            "max_chars": sources.max_chars,
            "texts_cut": texts.n_cut,
        },
    }
    return Payload(packed(index), packed_details, tuple(map(packed, text_blocks)))


def _grid(evaluations: Sequence[Evaluation], sources: Sources) -> dict[str, dict[str, Cell]]:
    """A cell for each matcher and retriever."""
    if not evaluations:
        raise UsageError("evaluations: the list is empty; pass at least one")
    grouped: dict[str, dict[str, Evaluation]] = {}
    for each in evaluations:
        of_match = grouped.setdefault(each.match_name, {})
        if each.name in of_match:
            raise UsageError(
                f"evaluations: two are of retriever {each.name!r} and matcher {each.match_name!r}; "
                "give each its own name (dataclasses.replace(evaluation, name=...))"
            )
        of_match[each.name] = each
    of_evaluation = dict(zip(map(id, evaluations), curves(evaluations), strict=True))
    grid: dict[str, dict[str, Cell]] = {}
    for match, of_match in grouped.items():
        check_comparable(list(of_match.values()))
        answered = {name: _answers(each, sources) for name, each in of_match.items()}
        golds: dict[str, Sequence[Sequence[Gold]]] = {}
        pooled = [
            (each, answered[name] or ())
            for name, each in of_match.items()
            if "pool" in each.settings
        ]
        shared = pool_gold(pooled) if pooled and all(rows for _, rows in pooled) else None
        for name, each in of_match.items():
            found = answered[name]
            golds[name] = shared or _golds(each, found, sources.dataset)
        grid[match] = {
            name: Cell(each, answered[name], golds[name], of_evaluation[id(each)])
            for name, each in of_match.items()
        }
    return grid


def _golds(
    evaluation: Evaluation, found: Sequence[RankedList] | None, dataset: GoldDataset | None
) -> list[Sequence[Gold]]:
    """The gold set's gold of each row; nothing where only the table is known."""
    if "pool" not in evaluation.settings:
        if found is not None:
            return [answer.query.gold for answer in found]
        if dataset is not None:
            return [dataset[query_id].gold for query_id in evaluation.query_ids]
    return [()] * len(evaluation.query_ids)


def _answers(evaluation: Evaluation, sources: Sources) -> list[RankedList] | None:
    if sources.dataset is not None and evaluation.name in sources.runs:
        return answers(evaluation, sources.dataset, sources.runs[evaluation.name])
    return kept_answers(evaluation)


def _queries(
    query_ids: Sequence[str], grid: Mapping[str, Mapping[str, Cell]], dataset: GoldDataset | None
) -> list[Query]:
    known = {query.id: query for query in dataset or ()}
    for of_match in grid.values():
        for cell in of_match.values():
            for answer in cell.answers or ():
                known.setdefault(answer.query.id, answer.query)
    return [known.get(query_id) or Query(query_id) for query_id in query_ids]


def _rows(evaluation: Evaluation, query_ids: Sequence[str]) -> list[int | None]:
    at = {query_id: row for row, query_id in enumerate(evaluation.query_ids)}
    return [at.get(query_id) for query_id in query_ids]


def _match(name: str, of_match: Mapping[str, Cell]) -> dict[str, Any]:
    first = next(iter(of_match.values())).evaluation
    settings = first.settings["match"]
    threshold = settings.get("threshold") if "pool" not in first.settings else None
    return {
        "name": name,
        "label": first.match_label,
        "method": settings["method"],
        "threshold": threshold,
        "near": None if threshold is None else _near(settings, threshold),
        "top": first.table.top,
        "pool": first.settings.get("pool"),
        "judged": "judging" in first.counts,
    }


def _near(settings: Mapping[str, Any], threshold: float) -> float:
    """The least score that is a near miss: half of the threshold.

    Of cosines, which are well above 0 for unrelated texts, a score a little below the threshold.
    """
    members = settings.get("of")
    if isinstance(members, list):  # a cascade that only rules out: the last member scores
        return _near(members[-1], threshold)
    if settings["method"] == EmbeddingMatcher.name:
        return round(max(threshold - NEAR, threshold / 2), 9)
    return threshold / 2


def _metric(name: str) -> dict[str, Any]:
    cut = name.partition("@")[2].partition("(")[0]
    budget = re.fullmatch(r"(\d+)(tokens|chars)", cut)
    found = metric(name)
    return {
        "name": name,
        "of_documents": found.from_matches is None,
        "meaning": {"en": f"{found.question} {found.formula}", **found.meaning},
        "k": int(cut) if cut.isdigit() else None,
        "budget": None if budget is None else {"n": int(budget[1]), "unit": budget[2]},
        "higher": found.higher_is_better,
        "unit": found.range == (0, 1),
        "share": found.is_share,
    }

"""From evaluations to the plain values that the page shows: an index, and blocks of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kragx.comparison import Comparison
from kragx.dataset import Gold, GoldDataset, Query
from kragx.document import Doc
from kragx.errors import UsageError
from kragx.evaluation import Evaluation, versions
from kragx.measures import higher_is_better, measure
from kragx.metrics import METRICS
from kragx.report.answers import Answer, answers, kept_answers, pool_gold, texts_by_id
from kragx.report.charts import curves
from kragx.report.page.cells import Cell, cell_values, pairs
from kragx.report.page.packing import Texts, packed, starts
from kragx.report.page.standings import standings
from kragx.report.rows import check_comparable, match_label, metric_names, profile_label
from kragx.results import Run

Reasons = Mapping[tuple[str, str, str], tuple[int | None, str]]
"""What a judge said: for (query id, document text, gold text) its grade and its reason."""

_QUERIES_A_BLOCK = 32


@dataclass(frozen=True)
class Sources:
    """The texts behind evaluations, and how much of them the page holds.

    Attributes:
        dataset: the gold set; None if it is not at hand.
        runs: what each retriever returned, by its name.
        corpus: texts by id, for gold that is named by its id alone.
        reasons: what judges said, by the matcher's name.
        max_docs: how many documents of each list are kept.
        max_chars: how many characters of each text are kept; None for all.
    """

    dataset: GoldDataset | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    corpus: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, Reasons] = field(default_factory=dict)
    max_docs: int = 50
    max_chars: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_docs", self.max_docs), ("max_chars", self.max_chars)):
            if value is not None and (isinstance(value, bool) or value < 1):
                raise UsageError(f"{name}: {value!r} is not a whole number of at least 1")


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
    queries = _queries(query_ids, grid)
    listed = [
        cell.answers for row in grid.values() for cell in row.values() if cell.answers is not None
    ]
    by_id = texts_by_id(listed, sources.corpus)
    texts = Texts(sources.max_chars)
    rows = {
        id(cell): _rows(cell.evaluation, query_ids)
        for of_match in grid.values()
        for cell in of_match.values()
    }
    details = _Details(grid, rows, texts, by_id, sources)
    packed_details = tuple(map(packed, details.blocks(queries)))
    text_blocks = list(texts.blocks())
    first = evaluations[0]
    retrievers = list(dict.fromkeys(each.name for each in evaluations))
    index = {
        "versions": versions(),
        "dataset": first.settings["dataset"],
        "profile": profile_label(first),
        "matches": [_match(name, of_match) for name, of_match in grid.items()],
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
                else cell_values(of_match[name], rows[id(of_match[name])], by_id)
                for name in retrievers
            ]
            for of_match in grid.values()
        ],
        "standings": standings(comparisons, evaluations, query_ids),
        "per_block": _QUERIES_A_BLOCK,
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
            golds[name] = shared or (
                [()] * len(each.query_ids)
                if found is None or "pool" in each.settings
                else [answer.query.gold for answer in found]
            )
        grid[match] = {
            name: Cell(each, answered[name], golds[name], of_evaluation[id(each)])
            for name, each in of_match.items()
        }
    return grid


def _answers(evaluation: Evaluation, sources: Sources) -> list[Answer] | None:
    if sources.dataset is not None and evaluation.name in sources.runs:
        return answers(evaluation, sources.dataset, sources.runs[evaluation.name])
    return kept_answers(evaluation)


def _queries(query_ids: Sequence[str], grid: Mapping[str, Mapping[str, Cell]]) -> list[Query]:
    known: dict[str, Query] = {}
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
    return {
        "name": name,
        "label": match_label(first),
        "method": settings["method"],
        "threshold": settings.get("threshold") if "pool" not in first.settings else None,
        "top": first.table.top,
        "pool": first.settings.get("pool"),
        "judged": "judging" in first.counts,
    }


def _metric(name: str) -> dict[str, Any]:
    plain = name.partition("@")[0].partition("(")[0]
    least: float
    most: float | None
    cut = name.partition("@")[2].partition("(")[0]
    if plain in METRICS:
        least, most = METRICS[plain].range
        kind = "metric"
    else:
        found = measure(plain)
        (least, most), kind = found.range, "measure"
    return {
        "name": name,
        "kind": kind,
        "k": int(cut) if cut.isdigit() else None,
        "higher": higher_is_better(name),
        "unit": (least, most) == (0, 1),
    }


class _Details:
    """The texts, documents and scores of queries, for the blocks that the page opens singly."""

    def __init__(
        self,
        grid: Mapping[str, Mapping[str, Cell]],
        rows: Mapping[int, Sequence[int | None]],
        texts: Texts,
        by_id: Mapping[str, str],
        sources: Sources,
    ) -> None:
        self._grid, self._rows, self._texts = grid, rows, texts
        self._by_id, self._sources = by_id, sources
        self.n_docs_left_out = 0

    def blocks(self, queries: Sequence[Query]) -> Iterator[list[dict[str, Any]]]:
        """Some queries at a time."""
        for start in range(0, len(queries), _QUERIES_A_BLOCK):
            block = queries[start : start + _QUERIES_A_BLOCK]
            yield [self._query(at, query) for at, query in enumerate(block, start=start)]

    def _query(self, at: int, query: Query) -> dict[str, Any]:
        pool = []
        for of_match in self._grid.values():
            first = next(iter(of_match.values()))
            row = self._rows[id(first)][at]
            pooled = row is not None and "pool" in first.evaluation.settings
            golds = first.golds[row] if pooled and row is not None else ()
            pool.append([self._gold(each) for each in golds] if pooled else None)
        facts = query.metadata.get("facts")
        return {
            "gold": [self._gold(each) for each in query.gold],
            "pool": pool,
            "reference": query.reference,
            "facts": facts if isinstance(facts, list) else None,
            "runs": self._runs(at),
            "pairs": [
                [self._pairs(name, cell, at) for cell in of_match.values()]
                for name, of_match in self._grid.items()
            ],
            "reasons": [
                [self._reasons(name, cell, at) for cell in of_match.values()]
                for name, of_match in self._grid.items()
            ],
        }

    def _gold(self, gold: Gold) -> dict[str, Any]:
        alternatives = [
            [each.id, self._texts.number(each.text or self._by_id.get(each.id or ""))]
            for each in gold.alternatives
        ]
        plain: dict[str, Any] = {
            "id": gold.id,
            "grade": gold.grade,
            "text": self._texts.number(
                self._by_id.get(gold.id or "") if gold.text is None else gold.text
            ),
        }
        return {**plain, "alternatives": alternatives} if alternatives else plain

    def _runs(self, at: int) -> dict[str, Any]:
        """What each retriever returned; the same for every matcher, so the first one will do."""
        found: dict[str, Any] = {}
        for of_match in self._grid.values():
            for name, cell in of_match.items():
                row = self._rows[id(cell)][at]
                if name in found or row is None or cell.answers is None:
                    continue
                answer = cell.answers[row]
                start = cell.evaluation.table.doc_start[row]
                repeated = cell.evaluation.table.repeated[start : start + len(answer.docs)]
                docs = answer.docs[: self._sources.max_docs]
                self.n_docs_left_out += len(answer.docs) - len(docs)
                found[name] = {
                    "docs": [
                        self._doc(doc, again)
                        for doc, again in zip(docs, repeated.tolist(), strict=False)
                    ],
                    "n": len(answer.docs),
                    "error": answer.error,
                }
        return found

    def _doc(self, doc: Doc, repeated: bool) -> list[Any]:
        plain: list[Any] = [doc.id, self._texts.number(doc.text), doc.score]
        return [*plain, 1] if repeated else plain

    def _pairs(self, match: str, cell: Cell, at: int) -> list[float | None]:
        row = self._rows[id(cell)][at]
        return [] if row is None else pairs(cell.evaluation, row, self._sources.max_docs)

    def _reasons(self, match: str, cell: Cell, at: int) -> list[list[Any]]:
        """[document, gold item, grade, reason] of each pair that a judge has looked at.

        The gold item is -1 where the judge was asked about document and question alone.
        """
        row, known = self._rows[id(cell)][at], self._sources.reasons.get(match)
        if row is None or not known or cell.answers is None:
            return []
        answer = cell.answers[row]
        docs = answer.docs[: self._sources.max_docs]
        said_of = [known.get((answer.query.id, doc.text or "", "")) for doc in docs]
        listed = [[at_doc, -1, *said] for at_doc, said in enumerate(said_of) if said]
        for at_gold, gold in enumerate(cell.golds[row]):
            wanted = [gold.text, *(each.text for each in gold.alternatives)]
            for at_doc, doc in enumerate(docs):
                said = [known.get((answer.query.id, doc.text or "", each or "")) for each in wanted]
                best = max((each for each in said if each), key=_grade, default=None)
                if best is not None:
                    listed.append([at_doc, at_gold, *best])
        return listed


def _grade(said: tuple[int | None, str]) -> int:
    return -1 if said[0] is None else said[0]

"""The searches of a question as the page shows them: its documents once, and places among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from kragx.data import Doc, Query
from kragx.data.searches import lanes_of
from kragx.evaluation.arranging import arranged_answer
from kragx.evaluation.search_lists import placed_searches
from kragx.report.html_page.cells import RunCell
from kragx.report.html_page.packing import rounded_score, short


@dataclass(frozen=True)
class QuestionSearches:
    """What somebody searched for one question.

    Attributes:
        docs: the distinct documents that came, by search and rank.
        rows: ``[words, tool, step, lane, seconds, tokens, error, measured, documents, how many
            came]`` of each search; documents are numbers among those.
        read: numbers of what was read, -1 for what is not shown; None where nobody says.
        places: for each document where it stands in the search table; None where that lacks it.
        is_matched: whether it is known what of that is gold: not of a question that failed.
    """

    docs: Sequence[Doc]
    rows: Sequence[Sequence[Any]]
    read: Sequence[int] | None
    places: Sequence[int | None]
    is_matched: bool


def searched(cell: RunCell, row: int, max_docs: int) -> QuestionSearches | None:
    """The searches of a row; None where a retriever gave a list alone.

    Args:
        cell: the retriever.
        row: which question.
        max_docs: how many documents of each search are shown.
    """
    evaluation = cell.evaluation
    query_id = evaluation.query_ids[row]
    answer = cell.answers.get(query_id)
    # A retriever that gives a list alone has no searches to show, though it made one.
    if answer is None or (answer.has_list and not answer.searches):
        return None
    answer = arranged_answer(Query(query_id), answer, evaluation.profile)
    numbers: dict[object, int] = {}
    docs: list[Doc] = []
    places: list[int | None] = []
    rows: list[list[Any]] = []
    placed = placed_searches(answer, evaluation, row)
    for (search, in_table), lane in zip(placed, lanes_of(answer.searches)):
        # The same document comes again in later searches: it is sent once.
        came = search.documents or ()
        own: list[int] = []
        for rank, doc in enumerate(came[:max_docs]):
            number = numbers.setdefault((doc.id, doc.text), len(docs))
            if number == len(docs):
                docs.append(doc)
                places.append(in_table[rank] if in_table else None)
            own.append(number)
        facts = (search.query, search.tool, search.step, lane)
        costs = (short(search.seconds), search.tokens)
        rows.append([*facts, *costs, search.error, int(search.is_measured), own, len(came)])
    read = answer.of("read") if answer.error is None else None
    return QuestionSearches(
        docs,
        rows,
        None if read is None else [numbers.get((doc.id, doc.text), -1) for doc in read],
        places,
        is_matched=None not in places,
    )


def searched_pairs(
    of_cells: Mapping[int, QuestionSearches | None], cell: RunCell, row: int
) -> list[float | None]:
    """Document, gold item and score of each pair with a score above 0, one after the other.

    Args:
        of_cells: what was searched, by the `id` of the cell.
        cell: the retriever.
        row: which question.
    """
    searches, evaluation = of_cells.get(id(cell)), cell.evaluation
    if searches is None or evaluation.searches is None:
        return []
    table = evaluation.searches.table
    shown = {place: number for number, place in enumerate(searches.places) if place is not None}
    if not shown:
        return []
    # Sorted, as pairs stand by document: both ends of each are found at once.
    known = np.array(sorted(shown))
    first, last = (np.searchsorted(table.pair_doc, known, side) for side in ("left", "right"))
    return list(
        chain.from_iterable(
            (
                shown[place],
                int(table.pair_gold[pair] - table.gold_start[row]),
                rounded_score(float(table.pair_score[pair]), table.threshold),
            )
            for place, start, end in zip(known.tolist(), first.tolist(), last.tolist())
            for pair in range(start, end)
        )
    )

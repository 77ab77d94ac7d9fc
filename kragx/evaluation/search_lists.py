"""The lists on the way to an answer, and which of them lost a gold item.

Of an answer that took several searches those of one tool are one list, behind what the stages
within them returned; all searches together are another where there are several tools, and what was
read of them is the answer.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import Literal

import numpy as np

from kragx.data import Doc, Query, Retrieved, Run, Search, Stage, last_stages
from kragx.data.searches import distinct_by_identity
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import gold_outcome
from kragx.metrics.search_table import Places, SearchTable, ends, on_places

ANSWER = "answer"
"""Names what a chain makes of its last stages where that is none itself, or what was read."""

ALL = "all searches"
"""Names the list of all searches."""

SEARCH = "search"
"""Names the searches of no tool."""


def has_searches(run: Run) -> bool:
    """Whether somebody searched more than once, or read of what came."""
    return any(answer.searches for answer in run.results.values())


def searches_of(answer: Retrieved) -> tuple[Search, ...]:
    """The searches by step; a list alone is what one search gave."""
    if answer.searches or not answer.has_list:
        return answer.searches
    return (Search(documents=answer.documents, step=1, stages=answer.stages),)


def tool_of(search: Search) -> str:
    """The list that a search belongs to."""
    tool = search.tool or SEARCH
    return f"{tool} (tool)" if tool in (ALL, ANSWER) else tool


def tools_of(run: Run) -> list[str]:
    """The tools of a run, in the order in which they appear."""
    searches = (searches_of(answer) for answer in run.results.values())
    return list(dict.fromkeys(tool_of(search) for several in searches for search in several))


def read_of(answer: Retrieved) -> tuple[Doc, ...] | None:
    """What was read, or else handed on in the end; None where nobody says."""
    read = answer.of("read")
    return answer.of("retrieved") if read is None else read


def chain_of(answer: Retrieved, tools: Sequence[str]) -> tuple[Stage, ...]:
    """The lists of one question, the answer's last; none where no search is measured.

    Args:
        answer: what somebody got who searched. Where nobody says what was read all that came was.
        tools: of the whole run.
    """
    by_tool: dict[str, list[Search]] = {}
    for search in searches_of(answer):
        if search.documents is not None:
            by_tool.setdefault(tool_of(search), []).append(search)
    if not by_tool and answer.error is None:
        return () if answer.searches else (Stage(ANSWER),)  # who made no search has found nothing
    lists = [stage for tool, searches in by_tool.items() for stage in _of_tool(tool, searches)]
    of_tools = (stage.documents for stage in lists if stage.name in by_tool)
    whole = Stage(ALL, tuple(by_tool), _distinct(of_tools))
    # Of one tool all searches are its own list, which then would stand there twice.
    several = [whole] if len(tools) > 1 else []
    read = read_of(answer)
    inputs = (ALL,) if several else tuple(by_tool)
    last = Stage(ANSWER, inputs, whole.documents if read is None else read)
    return (*lists, *several, last)


def lists_of(answer: Retrieved | None, k: int | None, tools: Sequence[str]) -> dict[str, Stage]:
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


def only_lists(lists: Mapping[str, Stage], names: Container[str]) -> dict[str, Stage]:
    """The lists of these names alone."""
    return {
        name: replace(stage, inputs=tuple(source for source in stage.inputs if source in names))
        for name, stage in lists.items()
        if name in names
    }


def _of_tool(tool: str, searches: Sequence[Search]) -> Iterable[Stage]:
    """What the stages within the searches of a tool returned, and last what these did."""
    within: dict[str, list[Stage]] = {}
    for search in searches:
        for stage in search.stages:
            within.setdefault(stage.name, []).append(stage)
    for name, stages in within.items():
        inputs = (source for stage in stages for source in stage.inputs)
        yield _together(f"{tool} > {name}", tool, inputs, stages)
    last = (stage.name for search in searches for stage in last_stages(search.stages))
    yield _together(tool, tool, last, searches)


def _together(
    name: str, tool: str, inputs: Iterable[str], steps: Sequence[Search | Stage]
) -> Stage:
    """What the same step returned in all searches of a tool, or these did."""
    seconds, errors = [step.seconds for step in steps], [step.error for step in steps]
    return Stage(
        name,
        tuple(dict.fromkeys(f"{tool} > {source}" for source in inputs)),
        _distinct(step.documents or () for step in steps),
        # Times of some alone would pass for the time of all; failed has what did so every time.
        None if None in seconds else sum(filter(None, seconds)),
        None if None in errors else errors[0],
    )


def _distinct(lists: Iterable[Sequence[Doc]]) -> tuple[Doc, ...]:
    return distinct_by_identity(chain.from_iterable(lists))


Reason = Literal["never_retrieved", "fused_away", "cut", "low", "unread", "failed"]
"""What became of a gold item that the answer has not within k.

- ``never_retrieved``: no stage, and no search, had it;
- ``fused_away``: one of several lists had it, what was made of them not;
- ``cut``: the list that a stage got had it, what it returned not: a filter, or a limit below k;
- ``low``: the stage returned it deeper than k, and did not get it so;
- ``unread``: a search had it, and it was not read;
- ``failed``: the question was not answered, or the results lack it.
"""


@dataclass(frozen=True)
class LostItem:
    """A gold item that the answer has not within k.

    Attributes:
        query_id: of its question.
        gold: its position among the question's gold items, from 0.
        reason: what became of it.
        stage: where; None where no stage ever had it, or the question failed as a whole.
    """

    query_id: str
    gold: int
    reason: Reason
    stage: str | None = None


def gold_places(query: Query) -> list[int]:
    """The positions of a question's gold items."""
    return [position for position, gold in enumerate(query.gold) if gold.grade > 0]


def equal_lists(first: Sequence[Doc], second: Sequence[Doc]) -> bool:
    """Whether two lists are of the same documents; a corpus may have given one of them texts."""
    return [doc.identity for doc in first] == [doc.identity for doc in second]


@dataclass(frozen=True)
class AnswerChain:
    """The lists on the way to one question's answer, and which has which gold item at which rank.

    Attributes:
        query: the question.
        answer: what it got; None where the results lack it.
        k: how deep the answer is looked at; None for what was read.
        lists: what its stages returned, and last the answer.
        ranks: of each list the ranks of all gold items.
    """

    query: Query
    answer: Retrieved | None
    k: int | None
    lists: Mapping[str, Stage]
    ranks: Mapping[str, Sequence[float]]

    @property
    def makes_answer(self) -> bool:
        """Whether the answer is another list than what the last stage returned."""
        last = self.lists[ANSWER].inputs
        if len(last) != 1:
            return True
        has_failed = self.answer is not None and self.answer.error is not None
        documents = self.lists[ANSWER].documents
        return not (has_failed or equal_lists(self.lists[last[0]].documents, documents))

    def is_deep(self, rank: float) -> bool:
        """Whether a rank is none within k; what was read is within it at any rank."""
        return rank > (self.k or sys.maxsize)

    def lost(self) -> Iterator[LostItem]:
        """The gold items that the answer has not within k, and where each was lost."""
        broken = (name for name, stage in self.lists.items() if stage.error is not None)
        failure: tuple[Reason, str | None] = ("failed", next(broken, None))
        has_failed = self.answer is None or self.answer.error is not None
        for item in gold_places(self.query):
            if self.is_deep(self.ranks[ANSWER][item]):
                yield LostItem(self.query.id, item, *(failure if has_failed else self._at(item)))

    def _at(self, item: int) -> tuple[Reason, str | None]:
        """Why an item was lost, and at which stage: backwards from the answer."""
        # All branches abreast: of several stages that lose it the nearest to the answer is named.
        names, visited = [ANSWER], {ANSWER}
        while names:
            name = names.pop(0)
            inputs, rank = self.lists[name].inputs, self.ranks[name][item]
            before = min((self.ranks[source][item] for source in inputs), default=inf)
            if name == ANSWER and self.k is None and before < rank:
                return "unread", None
            if rank < inf and (before == inf or not self.is_deep(before)):
                return "low", name
            if before < rank == inf:
                # The first documents of a list may lack what was below k there: not they lose it.
                output, (source, *more) = self.lists[name].documents, inputs
                whole = self.lists[source].documents
                is_cut = self.is_deep(before) and equal_lists(output, whole[: len(output)])
                if more or not is_cut:
                    return ("fused_away" if more else "cut"), name
            # Back along the lists that have it; where none has, along all, as one before may.
            having = [source for source in inputs if self.ranks[source][item] < inf]
            names += [source for source in having or inputs if source not in visited]
            visited.update(names)
        return "never_retrieved", None


def matches_of_lists(final: Evaluation, run: Run, tools: Sequence[str]) -> Mapping[str, Evaluation]:
    """The evaluation's matches of what each tool found, of all searches, and of what was read.

    Nothing is matched anew: every document of a question stands once in its search table.
    """
    table = final.searches
    if table is None:
        return {}
    numbers = {tool: number for number, tool in enumerate(tools)}
    of_search = np.array(
        [
            numbers[tool_of(search)]
            for query_id, n in zip(final.query_ids, table.n_searches.tolist())
            for search in (searches_of(run[query_id]) if n else ())
        ],
        np.int64,
    )
    # The lists of the searches of each tool, one behind the other.
    search, _ = table.entries
    places = {}
    for tool, number in numbers.items():
        entries = ((of_search == number) & (table.measured | table.failed))[search]
        n_docs = np.bincount(table.query[search[entries]], minlength=len(table.start) - 1)
        places[tool] = Places(ends(n_docs), table.docs[entries], np.ones(len(n_docs), bool))
    if len(tools) > 1:
        places[ALL] = table.places("all")
    places[ANSWER] = _read(table)
    return {
        name: replace(
            final,
            table=on_places(table.table, own, table.same),
            searches=None,
            evidence=None,
            forbidden=None,
            runs=(),
        )
        for name, own in places.items()
    }


def _read(table: SearchTable) -> Places:
    """What was read, or else handed on, or else all that came: the first that is known."""
    parts = [table.places(name) for name in ("read", "retrieved", "all")]
    which = np.select([parts[0].is_there, parts[1].is_there], [0, 1], 2)
    docs = [
        parts[part].docs[slice(*parts[part].start[row : row + 2])]
        for row, part in enumerate(which.tolist())
    ]
    start = ends(np.array([*map(len, docs)], np.int64))
    # An empty array goes with them, as concatenate takes no empty list: there may be no question.
    return Places(start, np.concatenate([*docs, np.zeros(0, np.int64)]), np.ones(len(docs), bool))


def placed_searches(
    answer: Retrieved, evaluation: Evaluation, row: int
) -> Iterator[tuple[Search, Sequence[int] | None]]:
    """The searches of a question with where their documents stand in the evaluation's table.

    None of a question that was not answered: nothing of it is matched.
    """
    table = evaluation.searches
    for number, search in enumerate(answer.searches):
        if table is None or table.start[row + 1] - table.start[row] != len(answer.searches):
            yield search, None
        else:
            entries = table.list_start[table.start[row] + number :][:2]
            yield search, table.docs[slice(*entries)].tolist()


def search_outcomes(evaluation: Evaluation) -> Mapping[str, list[int]]:
    """The questions, as rows of an evaluation, of which something is so; one may be in several.

    ``rescued``: the first step brought no gold, and a later one did. ``in_vain``: no step brought
    any, as ``waste`` counts it; nor did who failed, or never searched. ``wasted``: steps followed
    after the last that brought new gold. ``unread``: a search brought gold that was not read.
    Nothing where no searches are known.
    """
    if (searches := evaluation.searches) is None:
        return {}
    first_run = replace(evaluation, runs=())  # whose searches those are
    measured = first_run.with_metrics(["rescue", "evidence_recall", "waste"])
    values = {scores.spec.metric.name: scores.values for scores in measured.scores}
    came, read = (
        gold_outcome(replace(evaluation, table=searches.of(name))) for name in ("all", "read")
    )
    is_lost = came.relevant & (came.first > 0) & (read.first == 0)
    n_lost = np.bincount(searches.table.gold_query[is_lost], minlength=len(searches.read.is_there))
    outcomes = {
        "rescued": values["rescue"] == 1,
        "in_vain": values["evidence_recall"] == 0,
        "wasted": values["waste"] > 0,
        "unread": (n_lost > 0) & searches.read.is_there,
    }
    return {name: np.flatnonzero(is_so).tolist() for name, is_so in outcomes.items()}

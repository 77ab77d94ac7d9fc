"""The runs that traces hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from kragx.adapters.opentelemetry.otlp import spans_in
from kragx.adapters.opentelemetry.span import SpanReader, TraceSpan
from kragx.adapters.opentelemetry.turns import Spans, TracedTurn
from kragx.data import GoldDataset, Retrieved, Run
from kragx.data.problems import DataWarning
from kragx.errors import DataError, inside, shorten
from kragx.evaluation.calls.logs import KnownQuestions
from kragx.evaluation.calls.search_calls import searches_made
from kragx.evaluation.calls.stages import stages_of
from kragx.printing import joined, phrase
from kragx.warned import warn

_Turns = dict[str, dict[str, TracedTurn]]


def read_traces(
    path: str | Path, gold: GoldDataset, *, query_id: str | None = None
) -> dict[str, Run]:
    """The runs that traces hold, by the name of their spans; ready for `kragx.evaluate`.

    A question of the gold set is known by its text (NFC, white space collapsed), or by an attribute
    that says its id; where several have that text, by what was asked before it in its trace.
    Where it was asked more than once the last one counts. What is of no question of the gold set
    is of that of the span around it, or else of the only one that the trace has. Other questions
    are left out; a warning says all of this in numbers.

    An agent's searches are its outermost spans of tools and retrievers; what lies within one are
    its stages. Those that overlap in time, that one message called for, or that stand in one step
    of a graph, ran side by side. A tool gives the documents that its span has, else those of the
    retrievers within it; without such nobody knows what it found. An agent, whose spans are tools,
    in a graph, or within one of the kind AGENT, is the run that the span of its question names;
    other retrievers are runs by their own names, with `Retrieved.searches` where one searched
    several times for a question. A question all of whose searches ended in an error failed, an
    agent's if its own span did.

    Args:
        path: a file of OTLP as JSON.
        gold: the gold set.
        query_id: the attribute that has a query's id, if there is one (``session.query_id``).

    Raises:
        DataError: the file is none; a span lacks a document or lost some; it has no span of a
            retriever or tool, or none of a question of the gold set.
        UsageError: two questions of the gold set have the same text and history, and no attribute
            tells them.
    """
    remedy = "name the attribute of the spans that has the id: query_id='...'"
    questions = KnownQuestions(gold, by_id=query_id is not None, remedy=remedy)
    spans = Spans(_spans(path), questions, query_id)
    turns, unknown = spans.turns()
    if not turns:
        n_spans = len(unknown)
        raise DataError(
            f"none of its {n_spans} retriever spans is of a question of the gold set"
            if n_spans
            else "no span of a retriever",
            path=str(path),
            remedy="an attribute with the query's id can be named: query_id='...'"
            if n_spans
            else "spans need openinference.span.kind RETRIEVER, or gen_ai.operation.name retrieval",
        )
    last, n_again = _last(turns)
    agents = {turn.name: turn for turn in turns if turn.is_agents}
    for turn in spans.silent(agents):
        last[turn.name].setdefault(turn.query_id, turn)
    _warn(path, unknown, n_again)
    return {
        name: Run(
            {query_id: _answer(turn) for query_id, turn in by_question.items()},
            name=name,
            settings={
                "traces": Path(path).name,
                "questions_of_several_searches": _n_several(by_question),
            },
        )
        for name, by_question in last.items()
    }


def _spans(path: str | Path) -> list[TraceSpan]:
    reader = SpanReader()
    spans = []
    for location, record in spans_in(path):
        with inside(path=location):
            spans.append(reader.read(record))
    return spans


def _last(turns: Sequence[TracedTurn]) -> tuple[_Turns, int]:
    """The last turn of each question, by run; and how many others there are."""
    last: _Turns = defaultdict(dict)
    for turn in turns:
        last[turn.name][turn.query_id] = turn
    return last, len(turns) - sum(map(len, last.values()))


def _answer(turn: TracedTurn) -> Retrieved:
    """What a question got."""
    if not turn.is_agents and len(turn.searches) == 1:
        (call,) = turn.searches
        stages = stages_of(turn.calls) if len(turn.calls) > 1 else ()
        return Retrieved(call.documents or (), call.seconds, call.error, stages)
    searches = searches_made(turn.calls)
    errors = [search.error for search in searches]
    seconds = [search.seconds for search in searches]
    if turn.is_agents and turn.around is not None:
        error, took = turn.around.call.error, turn.around.call.seconds
    else:
        error = errors[-1] if errors and None not in errors else None
        took = None if None in seconds else sum(filter(None, seconds))
    return Retrieved(seconds=took, error=error, searches=searches, has_list=False)


def _n_several(by_question: Mapping[str, TracedTurn]) -> int:
    return sum(len(turn.searches) > 1 for turn in by_question.values())


def _warn(path: str | Path, unknown: Sequence[str], n_again: int) -> None:
    """Warn of what is left out."""
    remarks = (
        (
            len(unknown),
            phrase(
                "{n} spans are of other questions, as {text}",
                n=len(unknown),
                text=shorten(next(iter(unknown), "")),
            ),
        ),
        (n_again, phrase("{n} questions were asked again; the last answer counts", n=n_again)),
    )
    if parts := [text for n, text in remarks if n]:
        warn(joined(": ", (str(path), joined("; ", parts))), DataWarning)

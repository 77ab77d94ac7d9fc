"""The runs that traces hold: the searches that were made for questions of the gold set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kragx.adapters.opentelemetry.span import TraceSpan, spans_in
from kragx.data import Retrieved, Run, read_dataset
from kragx.evaluation.calls.call import Call, searches_made, stages_of
from kragx.evaluation.calls.logs import KnownQuestions, Place, first_of, warn_of
from kragx.evaluation.calls.messages import ToolCall, as_json, events_of, tool_message
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import message

_CALLED_FOR = re.compile(r"llm\.output_messages\.\d+\.message\.tool_calls\.\d+\.tool_call\.id")
_CALL_IDS = ("tool_call.id", "tool.id", "gen_ai.tool.call.id")


def read_traces(path: str | Path, gold: object, *, query_id: str | None = None) -> dict[str, Run]:
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
        gold: the gold set, as for `evaluate`.
        query_id: the attribute that has a query's id, if there is one (``session.query_id``).

    Raises:
        DataError: the file is none; a span lacks a document or lost some; it has no span of a
            retriever or tool, or none of a question of the gold set.
        UsageError: two questions of the gold set have the same text and history, and no attribute
            tells them.
    """
    gold = read_dataset(gold)
    remedy = message("name the attribute of the spans that has the id: query_id='...'")
    questions = KnownQuestions(gold, by_id=query_id is not None, remedy=remedy)
    traces = _Traces(spans_in(path), questions, query_id)
    turns, unknown = traces.turns()
    if not turns:
        raise DataError(
            "none of its {n} retriever spans is of a question of the gold set"
            if unknown
            else "no span of a retriever",
            path=str(path),
            remedy="an attribute with the query's id can be named: query_id='...'"
            if unknown
            else "spans need openinference.span.kind RETRIEVER, or gen_ai.operation.name retrieval",
            n=len(unknown),
        )
    last: dict[str, dict[str, _Turn]] = defaultdict(dict)
    for turn in turns:
        last[turn.name][turn.query_id] = turn
    n_again = len(turns) - sum(map(len, last.values()))
    # An agent that answered without a search found nothing; only names that searched are agents.
    for turn in traces.silent({turn.name for turn in turns if turn.is_agents}):
        last[turn.name].setdefault(turn.query_id, turn)
    n, text = len(unknown), shorten(next(iter(unknown), ""))
    others = message("{n} spans are of other questions, as {text}", n=n, text=text)
    again = message("{n} questions were asked again; the last answer counts", n=n_again)
    warn_of(str(path), [(n, others), (n_again, again)])
    return {
        name: Run(
            {query_id: _answer(turn) for query_id, turn in by_question.items()},
            name=name,
            settings={
                "traces": Path(path).name,
                "questions_of_several_searches": sum(
                    len(turn.searches) > 1 for turn in by_question.values()
                ),
            },
        )
        for name, by_question in last.items()
    }


@dataclass
class _Turn:
    """What was done for one question of the gold set, once.

    Attributes:
        name: of the run that it belongs to.
        query_id: the question's.
        root: the outermost span that says the question; None where only searches do.
        is_agents: whether an agent searched.
        searches: the calls of tools and retrievers that stand within no other.
        calls: these and all within them, in the order in which they began.
    """

    name: str
    query_id: str
    root: TraceSpan | None
    is_agents: bool = False
    searches: list[Call] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def started(self) -> float:
        """When the first of it began."""
        return min(call.started for call in ([self.root] if self.root else self.searches))


def _answer(turn: _Turn) -> Retrieved:
    """What a question got."""
    if not turn.is_agents and len(turn.searches) == 1:
        (call,) = turn.searches
        stages = stages_of(turn.calls) if len(turn.calls) > 1 else ()
        return Retrieved(call.documents or (), call.seconds, call.error, stages)
    searches = searches_made(turn.calls)
    if turn.is_agents and turn.root is not None:
        error, seconds = turn.root.error, turn.root.seconds
    else:
        errors, times = ([getattr(s, name) for s in searches] for name in ("error", "seconds"))
        error = errors[-1] if errors and None not in errors else None
        seconds = None if None in times else sum(times)
    return Retrieved(seconds=seconds, error=error, searches=searches, has_list=False)


def _called_for(attributes: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the calls that a model's message asks for."""
    for name, value in attributes.items():
        if _CALLED_FOR.fullmatch(name):
            yield str(value)
    with suppress(DataError, TypeError):  # of whatever stands there instead
        for entry in as_json(attributes.get("gen_ai.output.messages")) or ():
            calls = (event for event in events_of(entry) if isinstance(event, ToolCall))
            yield from (call.call_id for call in calls)


def _around(span: Call) -> list[TraceSpan]:
    """The spans in which one stands, the innermost first."""
    return [outer for outer in span.around if isinstance(outer, TraceSpan)]


class _Traces:
    """The spans of a file, and what is around what.

    Args:
        spans: in any order; files may hold those of several machines.
        questions: those of the gold set.
        query_id: the attribute that has a query's id, if there is one.
    """

    def __init__(
        self, spans: Iterable[TraceSpan], questions: KnownQuestions, query_id: str | None
    ) -> None:
        # Exporters that try again send a span twice.
        by_place = {span.at: span for span in spans}
        self.spans = sorted(by_place.values(), key=lambda span: span.started)
        self._link(by_place)
        self._by_texts = query_id is None
        self._query_ids: dict[TraceSpan, str] = {}
        self._of_trace: dict[str, set[str]] = defaultdict(set)
        self._saying: dict[tuple[str, str, str], set[TraceSpan]] = defaultdict(set)
        before: dict[Place, list[str]] = defaultdict(list)
        for span in self.spans:
            if query_id is None:
                question = self._by_text(span, questions, before[span.outer])
            else:
                question = questions.of_id(span.attributes.get(query_id))
            if question is not None:
                self._query_ids[span] = question
                self._of_trace[span.at[0]].add(question)
                self._saying[span.at[0], span.span_name, question].add(span)

    def _link(self, by_place: Mapping[Place, TraceSpan]) -> None:
        """Say of each call what waits for it, and which message called for it."""
        roots: dict[str, list[TraceSpan]] = defaultdict(list)
        for span in self.spans:
            roots[span.at[0]] += [] if span.outer[1] else [span]
        messages: dict[tuple[str, str], Place] = {}
        for span in self.spans:
            trace, above = span.at[0], by_place.get(span.outer)
            if above is None and span.outer[1] and len(roots[trace]) == 1:  # it was lost
                (above,) = roots[trace]
            # Broken links may go round in a circle.
            if above is not None and above is not span and span not in above.around:
                span.above = above
            for call_id in _called_for(span.attributes):
                messages[trace, call_id] = span.at
            if span.kind == "tool":
                wording = tool_message(as_json(span.attributes.get("output.value")))
                call_id = first_of(span.attributes, _CALL_IDS) or (wording or ("",))[0]
                span.message = messages.get((trace, str(call_id)))

    def _by_text(self, span: TraceSpan, questions: KnownQuestions, before: list[str]) -> str | None:
        """The question that a span was asked; what was asked before beside it is its history."""
        if not span.texts:
            return None
        *earlier, text = span.texts
        history = earlier or [*before]
        before += [text] if before[-1:] != [text] else []
        for outer in _around(span):
            if outer.texts[-1:] == (text,) and outer in self._query_ids:
                return self._query_ids[outer]
        return questions.of_text(text, history)

    def turns(self) -> tuple[list[_Turn], list[str]]:
        """The turns in the order in which they began, and what other searches were for."""
        within: dict[Call, list[Call]] = defaultdict(list)
        for span in self.spans:
            if searches := [call for call in (span, *span.around) if call.is_search]:
                within[searches[-1]].append(span)
        turns: dict[tuple[str, str, Place | str], _Turn] = {}
        unknown: list[str] = []
        for span in filter(within.__contains__, self.spans):
            turn = self._turn_of(span)
            if turn is None:
                unknown.append(span.query or "")
                continue
            place = turn.root.at if turn.root else span.at[0]
            turn = turns.setdefault((turn.name, turn.query_id, place), turn)
            turn.searches.append(span)
            turn.calls += within[span]
        return sorted(turns.values(), key=lambda turn: turn.started), unknown

    def _turn_of(self, span: TraceSpan) -> _Turn | None:
        """The turn that a search belongs to, so far without searches; None where nobody knows."""
        outer, trace = _around(span), span.at[0]
        is_agents = span.kind == "tool" or span.graph is not None
        is_agents = is_agents or any(place.label == "AGENT" for place in outer)
        query_id = self._asked_around(outer, is_agents)
        if query_id is None or not is_agents:  # what a retriever says itself comes first
            query_id = self._query_ids.get(span) or query_id
        # An agent that was asked something is asked by whoever asks it, and not by a neighbour.
        is_strange = self._by_texts and is_agents and any(place.texts for place in outer)
        if query_id is None and not is_strange and len(self._of_trace[trace]) == 1:
            (query_id,) = self._of_trace[trace]
        if query_id is None:
            return None
        root = next((o for o in reversed(outer) if self._query_ids.get(o) == query_id), None)
        outermost = root or (outer[-1] if outer else span)
        name = outermost.span_name if is_agents else span.span_name
        return _Turn(name, query_id, root, is_agents)

    def _asked_around(self, outer: Sequence[TraceSpan], is_agents: bool) -> str | None:
        """The question of what stands within some spans, the innermost of which comes first."""
        asked = [span for span in outer if span in self._query_ids]
        if not asked:
            return None
        if not (is_agents and self._by_texts):
            return self._query_ids[asked[0]]
        # What an agent asks another may be a question of the gold set by its words, and is still a
        # part of its own work. In a session it is none: such spans answer the other question, too.
        question = self._query_ids[asked[-1]]
        for span in reversed(asked):
            if self._saying[span.at[0], span.span_name, question] - {*outer}:
                question = self._query_ids[span]
        return question

    def silent(self, names: set[str]) -> Iterator[_Turn]:
        """The turns of agents with these names, whether they searched or not."""
        for span, query_id in self._query_ids.items():
            if span.span_name not in names or span.is_search:
                continue
            outer = _around(span)
            is_outermost = all(self._query_ids.get(place) != query_id for place in outer)
            if is_outermost and self._asked_around([span, *outer], True) == query_id:
                yield _Turn(span.span_name, query_id, span, True)

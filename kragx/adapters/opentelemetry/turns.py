"""From spans to turns: the searches that were made for one question of the gold set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kragx.adapters.opentelemetry.span import Place, TraceSpan
from kragx.evaluation.calls.call import Call
from kragx.evaluation.calls.logs import KnownQuestions
from kragx.evaluation.calls.search_calls import outermost


@dataclass
class TracedTurn:
    """What was done for one question of the gold set, once.

    Attributes:
        name: of the run that it belongs to.
        query_id: the question's.
        trace: in which it stands.
        around: the outermost span that says the question; None where only searches do.
        is_agents: whether an agent searched.
        searches: the calls of tools and retrievers that stand within no other.
        calls: these and all within them, in the order in which they began.
    """

    name: str
    query_id: str
    trace: str
    around: TraceSpan | None
    is_agents: bool = False
    searches: list[Call] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def started(self) -> float:
        """When the first of it began."""
        starts = [call.started for call in self.searches]
        return min(starts) if self.around is None else self.around.call.started


class Spans:
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
        self._by_place: dict[Place, TraceSpan] = {span.place: span for span in spans}
        by_start = sorted(self._by_place.values(), key=lambda span: span.call.started)
        self.spans: list[TraceSpan] = by_start
        self._roots: dict[str, list[TraceSpan]] = defaultdict(list)
        for span in self.spans:
            if not span.around[1]:
                self._roots[span.place[0]].append(span)
        self._link()
        self._by_texts = query_id is None
        self._query_ids: dict[Place, str] = {}
        self.of_trace: dict[str, set[str]] = defaultdict(set)
        self._saying: dict[tuple[str, str, str], set[Place]] = defaultdict(set)
        before: dict[Place, list[str]] = defaultdict(list)
        for span in self.spans:
            if query_id is not None:
                question = questions.of_id(span.attributes.get(query_id))
            else:
                question = self._by_text(span, questions, before)
            if question is not None:
                self._query_ids[span.place] = question
                self.of_trace[span.place[0]].add(question)
                self._saying[span.place[0], span.name, question].add(span.place)

    def _link(self) -> None:
        """Say of each call what waits for it, and which message called for it."""
        messages: dict[tuple[str, str], Place] = {}
        for span in self.spans:
            above = self._above(span)
            if above is not None and not self._is_within(above, span):
                span.call.above = above.call
            for call_id in span.calls_for:
                messages[span.place[0], call_id] = span.place
            if span.called_by_id is not None:
                span.call.message = messages.get((span.place[0], span.called_by_id))

    def _above(self, span: TraceSpan) -> TraceSpan | None:
        """The span around one; where that was lost, the only root of its trace."""
        outer = self._by_place.get(span.around)
        roots = self._roots.get(span.place[0], ())
        return roots[0] if outer is None and span.around[1] and len(roots) == 1 else outer

    def _is_within(self, span: TraceSpan, outer: TraceSpan) -> bool:
        """Whether one stands within another, should they go round in a circle."""
        return span is outer or outer.call in span.call.around

    def _by_text(
        self, span: TraceSpan, questions: KnownQuestions, before: dict[Place, list[str]]
    ) -> str | None:
        """The question that a span was asked; what was asked before beside it is its history."""
        if not span.texts:
            return None
        *earlier_texts, text = span.texts
        earlier = before[span.around]
        history = earlier_texts or [*earlier]
        if not earlier or earlier[-1] != text:
            earlier.append(text)
        for outer in self.around(span):
            if outer.question == text and outer.place in self._query_ids:
                return self._query_ids[outer.place]
        return questions.of_text(text, history)

    def around(self, span: TraceSpan) -> Iterator[TraceSpan]:
        """The spans in which one stands, the innermost first."""
        seen = {span.place}
        while (outer := self._above(span)) is not None and outer.place not in seen:
            seen.add(outer.place)
            yield outer
            span = outer

    def turns(self) -> tuple[list[TracedTurn], list[str]]:
        """The turns in the order in which they began, and what other searches were for."""
        by_call = {span.call: span for span in self.spans}
        within: dict[Call, list[Call]] = defaultdict(list)
        for span in self.spans:
            searches = [call for call in (span.call, *span.call.around) if call.is_search]
            if searches:
                within[searches[-1]].append(span.call)
        turns: dict[tuple[str, str, Place | str], TracedTurn] = {}
        unknown: list[str] = []
        for call in outermost(by_call):
            turn = self._turn_of(by_call[call])
            if turn is None:
                unknown.append(call.query or "")
                continue
            place = turn.around.place if turn.around else turn.trace
            turn = turns.setdefault((turn.name, turn.query_id, place), turn)
            turn.searches.append(call)
            turn.calls += within[call]
        return sorted(turns.values(), key=lambda turn: turn.started), unknown

    def _turn_of(self, span: TraceSpan) -> TracedTurn | None:
        """The turn that a search belongs to, so far without searches; None where nobody knows."""
        outer = [*self.around(span)]
        is_agents = span.call.kind == "tool" or span.call.graph is not None
        is_agents = is_agents or any(place.is_agent for place in outer)
        trace = span.place[0]
        query_id = self._asked_around(outer, is_agents)
        if query_id is None or not is_agents:  # what a retriever says itself comes first
            query_id = self._query_ids.get(span.place) or query_id
        # An agent that was asked something is asked by whoever asks it, and not by a neighbour.
        is_strange = self._by_texts and is_agents and any(place.texts for place in outer)
        if query_id is None and not is_strange:
            query_id = self._only_one(trace)
        if query_id is None:
            return None
        asking = [place for place in outer if self._query_ids.get(place.place) == query_id]
        around = asking[-1] if asking else None
        root = around or (outer[-1] if outer else span)
        return TracedTurn(root.name if is_agents else span.name, query_id, trace, around, is_agents)

    def _asked_around(self, outer: Sequence[TraceSpan], is_agents: bool) -> str | None:
        """The question of what stands within some spans, the innermost of which comes first."""
        asked = [span for span in outer if span.place in self._query_ids]
        if not asked:
            return None
        if not (is_agents and self._by_texts):
            return self._query_ids[asked[0].place]
        # What an agent asks another may be a question of the gold set by its words, and is still a
        # part of its own work. In a session it is none: such spans answer the other question, too.
        question = self._query_ids[asked[-1].place]
        places = {span.place for span in outer}
        for span in reversed(asked):
            if self._saying[span.place[0], span.name, question] - places:
                question = self._query_ids[span.place]
        return question

    def _only_one(self, trace: str) -> str | None:
        of_trace = self.of_trace[trace]
        return min(of_trace) if len(of_trace) == 1 else None

    def silent(self, names: Mapping[str, object]) -> Iterator[TracedTurn]:
        """The turns of agents with these names, whether they searched or not."""
        for span in self.spans:
            query_id = self._query_ids.get(span.place)
            if query_id is None or span.name not in names or span.call.is_search:
                continue
            outer = [*self.around(span)]
            is_outermost = all(self._query_ids.get(place.place) != query_id for place in outer)
            if is_outermost and self._asked_around([span, *outer], True) == query_id:
                yield TracedTurn(span.name, query_id, span.place[0], span, True)

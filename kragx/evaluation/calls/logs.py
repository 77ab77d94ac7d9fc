"""Logs of agents: which question was asked, and what is common to those who read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kragx.data import Doc, GoldDataset, Query, Retrieved, Run, SurrogateRepair, normalise
from kragx.data.formats.jsonl import foreign_json, open_bytes
from kragx.data.problems import DataWarning
from kragx.evaluation.calls.tool_answers import as_json, documents_of_tool
from kragx.evaluation.remote_retrievers.answer_path import AnswerPaths, steps_of, value_at
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import DataError, UsageError, inside
from kragx.ground.options import from_options
from kragx.ground.printing import joined


class KnownQuestions:
    """The questions of a gold set.

    Args:
        gold: the set.
        by_id: whether logs say the ids.
        remedy: what to do where texts do not tell questions apart.

    Raises:
        UsageError: two questions have the same text and the same history, and ids do not tell them.
    """

    def __init__(self, gold: GoldDataset, *, by_id: bool, remedy: str) -> None:
        self._ids = {query.id for query in gold}
        self._by_text: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
        # Told by their ids, questions may well share a text.
        for query in () if by_id else gold:
            if text := normalise(query.text or ""):
                query_id = self._by_text[text].setdefault(_history(query), query.id)
                if query_id != query.id:
                    problem = f"queries {query_id!r} and {query.id!r} have the same text"
                    raise UsageError(problem, remedy=remedy)

    def of_id(self, query_id: object) -> str | None:
        """The question with an id."""
        return str(query_id) if str(query_id) in self._ids else None

    def has_text(self, text: str) -> bool:
        """Whether a question has a text, whatever was said before."""
        return normalise(text) in self._by_text

    def of_text(self, text: str, before: Iterable[str] = ()) -> str | None:
        """The question with a text; of several the one before which a user had said the same.

        Args:
            text: white space and case of letters' forms do not matter (NFC).
            before: what was said, in order.
        """
        by_history = self._by_text.get(normalise(text), {})
        # A text of one question alone tells it: logs may hold less of what was said before.
        if len(by_history) == 1:
            return next(iter(by_history.values()))
        return by_history.get(tuple(map(normalise, before)))


def _history(query: Query) -> tuple[str, ...]:
    return tuple(normalise(turn.content) for turn in query.history if turn.role == "user")


class LogReader:
    """What is read of a log of calls, and how.

    Args:
        gold: the gold set.
        tools: the names of those that search; None for all.
        query_id: the path to a question's id.
        answer: paths to the documents in a tool's JSON.

    Raises:
        UsageError: one is no path, or is called something else.
    """

    def __init__(
        self,
        gold: GoldDataset,
        tools: Sequence[str] | None,
        query_id: str | None,
        answer: Mapping[str, str] | None,
    ) -> None:
        self.gold: GoldDataset = gold
        self.query_id: str | None = query_id
        self._tools = None if tools is None else [*tools]
        if query_id is not None:
            # For its errors alone: a wrong path is said before the log is opened.
            steps_of(query_id)
        with inside("answer"):
            self.paths: AnswerPaths = from_options(AnswerPaths, dict(answer or {}))
        self._problem: DataError | None = None
        self._fits = False

    def reads(self, tool: str) -> bool:
        """Whether a tool is one that searches."""
        return self._tools is None or tool in self._tools

    def id_in(self, record: object) -> str | None:
        """The question's id in a record; None where it has none."""
        try:
            return None if self.query_id is None else str(value_at(self.query_id, record))
        except DataError:
            return None

    def documents(
        self, content: Any, artifact: Any, structured: Any = None
    ) -> tuple[Doc, ...] | None:
        """The documents of an answer; None where it has none, so that nobody knows.

        Args:
            content: what the tool answered with.
            artifact: what it gave beside.
            structured: the same as `content`, as JSON.
        """
        if not self.paths.paths:
            return documents_of_tool(content, artifact)
        try:
            docs = self.paths.read(
                _parsed(content if structured is None else structured), SurrogateRepair()
            )
        except DataError as problem:
            # Not yet raised: another tool answers otherwise; wrong are paths that never fit.
            self._problem = self._problem or problem
            return None
        self._fits = True
        return docs

    def run(self, results: Mapping[str, Retrieved], name: str) -> Run:
        """The run of these results, in the order of the gold set.

        Raises:
            DataError: the paths led nowhere, not once.
        """
        if self._problem is not None and not self._fits:
            raise self._problem
        settings: dict[str, Any] = {"answer": self.paths.paths} if self.paths.paths else {}
        if self._tools:
            settings["tools"] = self._tools
        in_order = {query.id: results[query.id] for query in self.gold if query.id in results}
        return Run(in_order, name=name, settings=settings)


def _parsed(content: Any) -> Any:
    """What stands in JSON in an answer, or in its blocks of text."""
    if isinstance(content, (list, tuple)):
        # Joined before it is read, as one JSON may be spread over several blocks.
        texts = [block.get("text") if isinstance(block, dict) else None for block in content]
        if texts and all(isinstance(text, str) for text in texts):
            content = "".join(map(str, texts))
    return as_json(content)


def records(log: str | Path | Iterable[object], name: str) -> Iterator[tuple[str, object]]:
    """What stands in a log, a file of JSON Lines or a list, each with its place.

    Args:
        log: it.
        name: what one of them is, for errors.

    Raises:
        DataError: a line is no JSON.
    """
    if not isinstance(log, (str, Path)):
        yield from ((f"{name} {number}", record) for number, record in enumerate(log, start=1))
        return
    with open_bytes(log) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                place = f"{log}:{number}"
                try:
                    yield place, foreign_json(line.decode("utf-8-sig", "replace"), strict=False)
                except ValueError as error:
                    raise DataError("not JSON: {error}", path=place, error=error) from None


def warn_of(place: str, remarks: Iterable[tuple[int, str]]) -> None:
    """Warn of what is left out: each remark that is of any."""
    if parts := [text for n, text in remarks if n]:
        warn(joined(": ", (place, joined("; ", parts))), DataWarning)

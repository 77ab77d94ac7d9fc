"""Runs: what one retriever returned for each query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Any, Literal

from kragx.data.documents import Doc, is_answer, needed_id, ranked
from kragx.data.gold import check_unique, numbered
from kragx.data.search_records import searches_of
from kragx.data.searches import (
    ListName,
    Order,
    Search,
    Searches,
    Stage,
    comparable,
    distinct_by_identity,
    list_of,
    with_docs,
)
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.printing import Line, Part, Shown, message, warning

Status = Literal["answered", "missing", "failed"]
"""Whether a retriever answered a query, if only with an empty list."""


# By the name of the error's class, as each library has one of its own, or several.
_TIMEOUT = re.compile(r"\w*time(d_?)?out\w*(:|$)", re.IGNORECASE)


def timed_out(error: str | None) -> bool:
    """Whether an error's own name says that no answer came in time: ``ReadTimeout: ...``."""
    return error is not None and _TIMEOUT.match(error) is not None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What one query got.

    Attributes:
        documents: the ranked list (of `Doc`, or of what `Run.from_documents` takes); empty when
            nothing was found or the retriever failed.
        seconds: how long the retriever took, if measured.
        error: why the retriever failed; None if it answered.
        stages: what each step of a chain returned on the way, where somebody listened.
        searches: of somebody who searches several times, in their steps.
        has_list: whether `documents` were handed on in the end. Where there are searches alone, and
            nobody says what was, these are the documents of the first measured one. Without
            searches either, nothing was searched, as where an agent answers at once.

    Examples:
        >>> from kragx import Doc, Retrieved
        >>> answered = Retrieved((Doc("c7", "the answer"),), seconds=0.02)
        >>> failed = Retrieved(error="TimeoutError: no answer")
        >>> len(answered.documents), failed.documents
        (1, ())
    """

    documents: tuple[Doc, ...] = ()
    seconds: float | None = None
    error: str | None = None
    stages: tuple[Stage, ...] = ()
    searches: tuple[Search, ...] = ()
    has_list: bool = True

    def __post_init__(self) -> None:
        if type(self.documents) is not tuple or not {*map(type, self.documents)} <= {Doc}:
            docs = ranked(self.documents, SurrogateRepair(), "")
            object.__setattr__(self, "documents", docs)
        if not self.searches and self.has_list:  # as most answers, which are a list alone
            return
        has_list = self.has_list or self.error is not None
        documents = self.documents if has_list and self.error is None else ()
        searches = comparable(documents, self.searches)
        if not has_list:
            first = (search.measured for search in searches if search.is_measured)
            documents = next(first, ())
        object.__setattr__(self, "documents", documents)
        object.__setattr__(self, "searches", searches)
        object.__setattr__(self, "has_list", has_list)

    def of(self, name: ListName, order: Order = "turns") -> tuple[Doc, ...] | None:
        """The documents that a metric of this list is about; None where the list is not there.

        Somebody who has a list alone has searched once. Who failed, searched nothing, or only made
        searches that failed, has empty lists; and where nothing came, nothing was read, unless
        somebody says what was.

        Args:
            name: which list.
            order: how all searches make one.

        Examples:
            >>> from kragx import Doc, Retrieved, Search
            >>> searches = Search("a", (Doc("c1"),)), Search("b", (Doc("c2"), Doc("c1")))
            >>> answer = Retrieved(searches=searches, has_list=False)
            >>> [doc.id for doc in answer.of("all")], answer.of("retrieved")
            (['c1', 'c2'], None)
        """
        if self.error is not None:
            return ()
        if name == "retrieved" and self.has_list:
            return self.documents
        if not self.searches and name == "all":
            return distinct_by_identity(self.documents)
        if not self.searches:
            return self.documents if name != "read" else None if self.documents else ()
        listed = None if name == "retrieved" else list_of(self.searches, name, order)
        if listed is None and all(search.error is not None for search in self.searches):
            return ()
        return listed

    def with_docs(self, made: Callable[[Doc], Doc]) -> Retrieved:
        """The same with what is made of each document, also of those that searches gave."""
        return replace(
            self,
            documents=tuple(map(made, self.documents)),
            searches=tuple(with_docs(search, made) for search in self.searches),
        )


@dataclass(frozen=True)
class Run(Shown):
    """The ranked lists of one retriever, by query id.

    A query that is not in `results` is missing; one with an empty list was answered with nothing;
    one with an `error` failed. All three are scored as an empty list and counted apart.

    Attributes:
        results: what each query got.
        name: names the retriever in results.
        n_replaced_surrogates: lone surrogates replaced by U+FFFD while reading.
        n_longer_lines: lines of a TREC run on which more follows the tag, which is passed over.
        settings: how the retriever was asked.
        reruns: what the same retriever gave when it was asked all questions again, as an agent
            gives something else each time; values are then means over all runs.

    Raises:
        UsageError: the results are lists of documents.

    Examples:
        >>> from kragx import Doc, Retrieved, Run
        >>> run = Run({"q1": Retrieved((Doc("c7", "the answer"),))}, name="bm25")
        >>> run.name, len(run.results)
        ('bm25', 1)
    """

    results: Mapping[str, Retrieved]
    name: str = "run"
    n_replaced_surrogates: int = 0
    n_longer_lines: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    reruns: tuple[Run, ...] = ()

    def __post_init__(self) -> None:
        is_mapping = isinstance(self.results, Mapping)
        answers: Iterable[object] = self.results.values() if is_mapping else [self.results]
        if not {*map(type, answers)} <= {Retrieved}:
            raise UsageError(
                "Run: {value} is no mapping from query id to Retrieved",
                remedy="Run.from_documents(...) takes lists of documents",
                value=shorten(next(value for value in answers if type(value) is not Retrieved)),
            )
        if not {*map(type, self.results)} <= {str}:
            results = {needed_id(key, SurrogateRepair()): got for key, got in self.results.items()}
            object.__setattr__(self, "results", results)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __getitem__(self, query_id: str) -> Retrieved:
        return self.results[query_id]

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.results

    @property
    def every(self) -> tuple[Run, ...]:
        """Each time that all questions were asked by itself: this one, and its reruns."""
        # Without its reruns, which would be counted once more.
        return (replace(self, reruns=()), *self.reruns) if self.reruns else (self,)

    @property
    def failures(self) -> dict[str, str]:
        """Why the retriever failed, by query id, in the first run in which it did."""
        failures: dict[str, str] = {}
        for query_id, answer in chain.from_iterable(run.results.items() for run in self.every):
            if answer.error is not None:
                failures.setdefault(query_id, answer.error)
        return failures

    @classmethod
    def repeated(cls, runs: Iterable[Run]) -> Run:
        """One run of a retriever that was asked the same questions several times.

        Args:
            runs: of each time; the first names the retriever, the others are called after it.

        Raises:
            UsageError: there is none.

        Examples:
            >>> from kragx import Run
            >>> run = Run.repeated([Run.from_documents([["a"]], name="agent")] * 3)
            >>> [again.name for again in run.every]
            ['agent', 'agent (run 2)', 'agent (run 3)']
        """
        several = every_run(runs)
        if not several:
            raise UsageError("none is given", field="runs", remedy="pass one run or more")
        first, *others = several
        if not others:
            return first
        # Runs are found by name in results, and a retriever gives all of them its own.
        names = run_names(first.name, len(several))[1:]
        reruns = tuple(replace(run, name=name) for name, run in zip(names, others))
        return replace(first, settings={**first.settings, "runs": len(several)}, reruns=reruns)

    def describe(self) -> Iterator[Part]:
        """How many questions got how much, and on how many it failed."""
        answers = list(self.results.values())
        answered = [answer for answer in answers if answer.error is None]
        yield Line(
            message(
                "run {name}: {n} of {of} questions answered, {docs} documents",
                name=self.name,
                n=len(answered),
                of=len(answers),
                docs=sum(len(answer.documents) for answer in answered),
            )
        )
        if self.reruns:
            yield Line(message("asked {n} times; shown is the first", n=len(self.every)))
        if failures := self.failures:
            yield warning(
                message("failed on {n} of {of} questions", n=len(failures), of=len(answers))
            )

    @classmethod
    def from_documents(
        cls,
        retrieved: Sequence[Sequence[object] | Searches]
        | Mapping[str, Sequence[object] | Mapping[str, float] | Searches],
        *,
        name: str = "run",
    ) -> Run:
        """Make a run from Python values; they are not changed.

        Args:
            retrieved: for each query a ranked list of documents (LangChain documents, mappings,
                strings or `Doc`), a database's answer, or `Searches`; or a mapping from query id to
                such a list, or to ``{document id: score}``, which is ranked by score, ties by id
                descending, as a TREC run file is. Queries in a plain list are named q1, q2, ...
            name: names the retriever in results.
        """
        repair = SurrogateRepair()
        by_id = numbered(retrieved)
        check_unique(map(itemgetter(0), by_id), name)
        results = dict[str, Retrieved]()
        for query_id, docs in by_id:
            results[query_id] = _answer(docs, repair, f"query {query_id!r}")
        return cls(results, name=name, n_replaced_surrogates=repair.surrogates)


RUNS_OR_REPEAT = message(
    "each run asks for answers, whose times count; it cannot ask again for times alone besides"
)
"""Why nobody is asked `runs` times and in each of them to `repeat` a question."""


def run_names(name: str, n: int) -> list[str]:
    """What the runs of a retriever that is asked n times are called; the first as it is."""
    return [name, *(f"{name} (run {number})" for number in range(2, n + 1))]


def status_of(answer: Retrieved | None) -> Status:
    """Whether the retriever answered a question, if only with nothing."""
    return "missing" if answer is None else "answered" if answer.error is None else "failed"


def every_run(runs: Iterable[Run]) -> list[Run]:
    """Some runs, with the reruns of each behind it."""
    return [run for first in runs for run in first.every]


def _answer(answer: object, repair: SurrogateRepair, place: str) -> Retrieved:
    if type(answer) is not list:  # as most are, which hold no searches
        with inside(path=place):
            if (searches := searches_of(answer, repair)) is not None:
                return answer_of(searches)
            if isinstance(answer, Mapping):
                return Retrieved(ranked(answer, repair, ""))
        if not is_answer(answer):
            raise DataError(
                "{place}: retrieved must be a list of documents, not {kind}; "
                "put a single one into a list",
                place=place,
                kind=type(answer).__name__,
            )
    return Retrieved(ranked(answer, repair, place))


def answer_of(searches: Searches) -> Retrieved:
    """An answer of somebody who searches, in kragx's own form (`searches_of`)."""
    docs, found = searches.retrieved, searches.searches
    return Retrieved(
        () if docs is None else tuple(docs),
        searches.seconds,
        searches.error,
        searches=tuple(found),  # type: ignore[arg-type]  # in their own form they are no mappings
        has_list=docs is not None or searches.error is not None,
    )

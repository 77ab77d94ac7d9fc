"""Searches: what somebody who asks several times, such as an agent, got for one question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Literal

from kragx.data.documents import Doc, clean_each, normal_form
from kragx.data.stages import Stage
from kragx.errors import DataError, inside

ListName = Literal["retrieved", "first", "last", "all", "read"]
"""Which list a metric is about: what was handed on in the end, what the first or the last search
gave that is measured, what all gave, or what was read of it."""

Order = Literal["turns", "chain"]
"""How all searches make one list: by turns, rank by rank, or one search behind the other."""

UNKNOWN_DOC = -1
"""Stands for a document that was read, and that no search returned."""

UNTOLD = "failed without a reason"
"""The error of a search that failed with an empty message: stored, that would be no error."""

Key = tuple[str | None, str | None]
"""What tells the documents of one question apart: id and text."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search of those that were made for a question.

    Attributes:
        query: the words that were searched for; None where nobody says.
        documents: what came, in order (in `Searches` of any kind); None of a search that gives no
            documents (a number from a database, say): it counts as a step and in cost, and is never
            a search that found nothing.
        tool: the name of what was called.
        step: those that ran side by side have the same number; None in all searches of a question
            that ran one after the other.
        seconds: how long it took.
        tokens: what it cost, words asked and what came of them.
        error: why it failed; then nothing that it gave counts, and `Retrieved` has nothing of it.
        stages: what the steps within it returned.
        read: what of all that had come by then was cited or passed on, in that order: documents,
            their ids, or their numbers among the question's distinct ones. None if nobody says;
            empty if nothing was. `Retrieved` has documents, and ids that none of them has.

    Examples:
        >>> from kragx import Doc, Search
        >>> search = Search("winter opening hours", (Doc("c7"),), tool="handbook", read=("c7",))
        >>> search.is_measured
        True
    """

    query: str | None = None
    documents: tuple[Doc, ...] | None = ()
    tool: str | None = None
    step: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    error: str | None = None
    stages: tuple[Stage, ...] = ()
    read: tuple[int | str | Doc, ...] | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it is known what documents it gave."""
        return self.documents is not None and self.error is None

    @property
    def measured(self) -> tuple[Doc, ...]:
        """What it gave as far as that is known."""
        return (self.documents or ()) if self.error is None else ()

    @property
    def lane(self) -> tuple[str, str]:
        """What tells it from others of its step; a failed search and its retries are alike."""
        return lane_of(self.query, self.tool)


@dataclass(frozen=True, slots=True)
class Searches:
    """What a function that searches several times returns for one question.

    Attributes:
        searches: in order, as `Search` or as mappings in the form of a results file.
        retrieved: what was handed on in the end, documents of any kind; None where that is nobody's
            matter.
        seconds: how long all of it took; a retriever that is asked is timed in any case.
        error: why it failed, a limit that was reached, say; it is scored as an empty list then.

    Examples:
        >>> from kragx import Searches, evaluate
        >>> first = {"query": "opening hours", "retrieved": ["The museum is in Mill Street."]}
        >>> second = {"query": "museum open", "retrieved": ["The museum opens at ten."]}
        >>> gold = {"q1": ["The museum opens at ten."]}
        >>> evaluate(gold, {"q1": Searches([first, second])}, metrics=["mrr@5"])["mrr@5"]
        0.0
    """

    searches: Sequence[Search | Mapping[str, Any]]
    retrieved: Sequence[Any] | None = None
    seconds: float | None = None
    error: str | None = None


def lane_of(query: str | None, tool: str | None) -> tuple[str, str]:
    """What tells a search from others of its step."""
    return normal_form(query or ""), tool or ""


def key_of(doc: Doc) -> Key:
    """What tells a document from others of its question."""
    return doc.id, doc.text


def distinct_docs(retrieved: Iterable[Doc], searches: Iterable[Search]) -> dict[Key, Doc]:
    """The distinct documents of a question in the order of their numbers, from 0 on.

    Those that were handed on come first, then those that searches add.
    """
    docs: dict[Key, Doc] = {}
    for doc in retrieved:
        docs.setdefault(key_of(doc), doc)
    for search in searches:
        for doc in search.measured:
            docs.setdefault(key_of(doc), doc)
    return docs


def settled(retrieved: Sequence[Doc], searches: Sequence[Search]) -> tuple[Search, ...]:
    """The searches of a question in the form in which they are compared.

    They stand in their steps (`in_steps`), what was read are documents, or ids that none has, and
    those that failed have no documents, and an error that says something.

    Args:
        retrieved: what was handed on in the end.
        searches: the question's.

    Raises:
        DataError: some searches have a step, and others none; or there is no document with a
            number.
    """
    searches = [
        search
        if search.error is None
        else replace(search, documents=(), error=search.error if search.error.strip() else UNTOLD)
        for search in searches
    ]
    if not any(search.read for search in searches):
        return in_steps(searches)
    by_number = [*distinct_docs(retrieved, searches)]
    placed = in_steps([*_with_read_keys(searches, by_number)])
    return tuple(_with_read_docs(placed, distinct_docs(retrieved, placed)))


def _with_read_keys(searches: Sequence[Search], by_number: Sequence[Key]) -> Iterator[Search]:
    """Searches whose numbers of documents, which depend on their order, became documents."""

    def key(entry: int | str | Doc) -> str | Doc:
        if isinstance(entry, str):
            return entry
        if isinstance(entry, Doc):
            return Doc(*key_of(entry))
        if 0 <= entry < len(by_number):
            return Doc(*by_number[entry])
        raise DataError(f"there is no document {entry}; there are {len(by_number)}, from 0 on")

    for position, search in enumerate(searches):
        if search.read:
            with inside(f"searches[{position}]"):
                search = replace(search, read=clean_each(search.read, key, field="read"))  # noqa: PLW2901
        yield search


def _with_read_docs(searches: Iterable[Search], docs: Mapping[Key, Doc]) -> Iterator[Search]:
    """Searches whose ids of what was read became documents, where one has the id."""
    of_id: dict[str | None, Doc] = {}
    for doc in docs.values():
        of_id.setdefault(doc.id, doc)

    def read_doc(entry: int | str | Doc) -> int | str | Doc:
        if not isinstance(entry, Doc):
            return of_id.get(str(entry), entry)
        if (doc := docs.get(key_of(entry))) is not None:
            return doc
        return entry if entry.id is None else of_id.get(entry.id, entry.id)

    for search in searches:
        read = search.read and tuple(map(read_doc, search.read))
        yield search if read == search.read else replace(search, read=read)


def with_docs(search: Search, made: Callable[[Doc], Doc]) -> Search:
    """The same search with what is made of each of its documents."""
    return replace(
        search,
        documents=None if search.documents is None else tuple(map(made, search.documents)),
        read=search.read
        and tuple(made(entry) if isinstance(entry, Doc) else entry for entry in search.read),
    )


def in_steps(searches: Sequence[Search]) -> tuple[Search, ...]:
    """The searches of a question, each with its step, from 1 on without gaps.

    Where none says its step they ran one after the other, but a search that failed and the one
    after it in the same words are one step: it was tried again. Side by side their order, which is
    a log's, means nothing: they stand by their words, tool, and what came of them.

    Raises:
        DataError: some searches have a step, and others none.
    """
    lanes = [search.lane for search in searches]
    failed = [search.error is not None for search in searches]
    steps = numbered_steps([search.step for search in searches], lanes, failed)
    order = step_order(steps, lanes, failed, lambda place: _in_full(searches[place]))
    placed = ((searches[place], steps[place]) for place in order)
    return tuple(
        search if search.step == step else replace(search, step=step) for search, step in placed
    )


def _in_full(search: Search) -> str:
    """All that a search says but its step: any order by it is the same whatever the log's was."""
    return repr(replace(search, step=None))


def numbered_steps(
    steps: Sequence[int | None], lanes: Sequence[tuple[str, str]], failed: Sequence[bool]
) -> list[int]:
    """The steps of searches as `in_steps` numbers them, from 1 on without gaps.

    Raises:
        DataError: some searches have a step, and others none.
    """
    said = {*steps}
    if None not in said:
        numbers = {step: number for number, step in enumerate(sorted(said), start=1)}  # type: ignore[type-var]
        return [numbers[step] for step in steps]
    if len(said) > 1:
        raise DataError(
            "is missing, and searches of the same question have one",
            field=f"searches[{steps.index(None)}].step",
            remedy="give each search one, the same to those that ran side by side; or none",
        )
    retried = (
        has_failed and before == after
        for has_failed, (before, after) in zip(failed, pairwise(lanes))
    )
    counted, step = [1] if steps else [], 1
    for is_retry in retried:
        step += not is_retry
        counted.append(step)
    return counted


def step_order(
    steps: Sequence[int],
    lanes: Sequence[tuple[str, str]],
    failed: Sequence[bool],
    in_full: Callable[[int], str],
) -> Sequence[int]:
    """In which order searches stand: by step, then by lane, those that failed before others.

    Args:
        steps: as `numbered_steps` says.
        lanes: of each search.
        failed: whether each did.
        in_full: all that a search says, by its place; decides between equal ones.
    """
    places = range(len(steps))
    if all(before < after for before, after in pairwise(steps)):
        return places
    keys = [(step, lane, not fails) for step, lane, fails in zip(steps, lanes, failed)]
    if len({*keys}) == len(keys):
        return sorted(places, key=keys.__getitem__)
    return sorted(places, key=lambda place: (keys[place], in_full(place)))


def lane_numbers(
    steps: Sequence[int], lanes: Sequence[tuple[str, str]], failed: Sequence[bool]
) -> list[int]:
    """The lane of each search, from 0 on within a step: a search and its retries are one.

    Args:
        steps: of searches in their order (`step_order`).
        lanes: theirs.
        failed: whether each did.
    """
    numbers = [0] * len(steps)
    for place in range(1, len(steps)):
        if steps[place] == steps[place - 1]:
            is_retry = failed[place - 1] and lanes[place] == lanes[place - 1]
            numbers[place] = numbers[place - 1] + (not is_retry)
    return numbers


def lanes_of(searches: Sequence[Search]) -> list[int]:
    """The `lane_numbers` of the searches of a question, which are in order."""
    return lane_numbers(
        [search.step or 0 for search in searches],
        [search.lane for search in searches],
        [search.error is not None for search in searches],
    )


def list_of(searches: Sequence[Search], name: ListName, order: Order) -> tuple[Doc, ...] | None:
    """A list of a question's searches; None where it is not there.

    Args:
        searches: as `settled` has them.
        name: which: any but ``retrieved``.
        order: of all.
    """
    if name == "read":
        return _read_docs(searches)
    lists = [search.measured for search in searches if search.is_measured]
    if not lists:
        return None
    if name != "all":
        return lists[0 if name == "first" else -1]
    entries = [
        ((rank, number) if order == "turns" else (number, rank), doc)
        for number, docs in enumerate(lists)
        for rank, doc in enumerate(docs)
    ]
    entries.sort(key=lambda entry: entry[0])
    return distinct_by_identity(doc for _, doc in entries)


def distinct_by_identity(docs: Iterable[Doc]) -> tuple[Doc, ...]:
    """The same documents, each once: what stands again is the same by id, or else by its text."""
    distinct: dict[object, Doc] = {}
    for doc in docs:
        distinct.setdefault(doc.identity, doc)
    return tuple(distinct.values())


def _read_docs(searches: Sequence[Search]) -> tuple[Doc, ...] | None:
    """What was read, each document once; one that no search returned is its id."""
    lists = [search.read for search in searches if search.read is not None]
    if not lists:
        return None
    distinct: dict[Key, Doc] = {}
    for entry in chain.from_iterable(lists):
        doc = entry if isinstance(entry, Doc) else Doc(str(entry))
        distinct.setdefault(key_of(doc), doc)
    return tuple(distinct.values())

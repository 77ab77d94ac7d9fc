"""Searches: what somebody who asks several times, such as an agent, got for one question.

And stages: what each step of a retrieving chain returned to it, beside its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise, zip_longest
from typing import Any, Literal

from kragx.data.documents import Doc, Key, clean_each, key_of, normal_form
from kragx.ground.errors import DataError, inside

ListName = Literal["retrieved", "first", "last", "all", "read"]
"""Which list a metric is about: what was handed on in the end, what the first or the last search
gave that is measured, what all gave, or what was read of it."""

Order = Literal["turns", "chain"]
"""How all searches make one list: by turns, rank by rank, or one search behind the other."""

UNKNOWN_DOC = -1
"""Stands for a document that was read, and that no search returned."""

UNTOLD = "failed without a reason"
"""The error of a search that failed with an empty message: stored, that would be no error."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What one step returned to one question.

    Attributes:
        name: the step's own; no other of the question has it.
        inputs: the names of the stages whose documents it got: none of a step that searches, the
            members of a fusion, the list that is reranked.
        documents: what it returned, in order.
        seconds: how long it took, with all that happened within it.
        error: why it failed or did not end; None if it did.

    Examples:
        >>> from kragx import Doc, Retrieved, Stage
        >>> search = Stage("bm25", documents=(Doc("c1"), Doc("c2")))
        >>> rerank = Stage("reranker", inputs=("bm25",), documents=(Doc("c2"),))
        >>> answer = Retrieved((Doc("c2"),), stages=(search, rerank))
        >>> [stage.name for stage in answer.stages]
        ['bm25', 'reranker']
    """

    name: str
    inputs: tuple[str, ...] = ()
    documents: tuple[Doc, ...] = ()
    seconds: float | None = None
    error: str | None = None


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
        return normal_form(self.query or ""), self.tool or ""


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


def distinct_docs(retrieved: Iterable[Doc], searches: Iterable[Search]) -> dict[Key, Doc]:
    """The distinct documents of a question in the order of their numbers, from 0 on.

    Those that were handed on come first, then those that searches add.
    """
    docs: dict[Key, Doc] = {}
    for doc in chain(retrieved, *(search.measured for search in searches)):
        docs.setdefault(key_of(doc), doc)
    return docs


def comparable(retrieved: Sequence[Doc], searches: Sequence[Search]) -> tuple[Search, ...]:
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
    # In their steps, as the order of those that ran side by side means nothing.
    docs = distinct_docs(retrieved, in_steps([replace(search, read=None) for search in searches]))
    of_id = {doc.id: doc for doc in reversed(docs.values())}

    def read_doc(entry: int | str | Doc) -> str | Doc:
        if isinstance(entry, int):
            if 0 <= entry < len(by_number):
                return docs[by_number[entry]]
            raise DataError(
                "there is no document {entry}; there are {n_by_number}, from 0 on",
                entry=entry,
                n_by_number=len(by_number),
            )
        if isinstance(entry, Doc):
            key = key_of(entry)
            if key in docs or entry.id is None:
                return docs.get(key, Doc(*key))
            entry = entry.id
        return of_id.get(entry, entry)

    for position, search in enumerate(searches):
        if search.read:
            with inside(f"searches[{position}]"):
                read = clean_each(search.read, read_doc, field="read")
            searches[position] = replace(search, read=read)
    return in_steps(searches)


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
    steps = _numbered_steps(searches)
    placed = [
        search if search.step == step else replace(search, step=step)
        for search, step in zip(searches, steps)
    ]
    keys: list[Any] = [(search.step, search.lane, search.error is None) for search in placed]
    if len({*keys}) < len(keys):  # those that are alike stand by all that they say
        keys = [(key, repr(search)) for key, search in zip(keys, placed)]
    return tuple(placed[place] for place in sorted(range(len(keys)), key=keys.__getitem__))


def _numbered_steps(searches: Sequence[Search]) -> list[int]:
    """The steps of searches, from 1 on without gaps.

    Raises:
        DataError: some have a step, and others none.
    """
    said = [search.step for search in searches]
    if None not in said:
        numbers = {step: number for number, step in enumerate(sorted({*said}), start=1)}  # type: ignore[type-var]
        return [numbers[step] for step in said]
    if len({*said}) > 1:
        raise DataError(
            "is missing, and searches of the same question have one",
            field=f"searches[{said.index(None)}].step",
            remedy="give each search one, the same to those that ran side by side; or none",
        )
    is_new = (not _is_retry(*pair) for pair in pairwise(searches))
    return [*accumulate(is_new, initial=1)] if searches else []


def _is_retry(before: Search, after: Search) -> bool:
    return before.error is not None and before.lane == after.lane


def lanes_of(searches: Sequence[Search]) -> list[int]:
    """The lane of each search of a question, which are in order, from 0 on within a step.

    A search and its retries are one.
    """
    lanes = [0] * len(searches)
    for place, (before, after) in enumerate(pairwise(searches), start=1):
        if after.step == before.step:
            # A search that was tried again took its time once more, and no lane of its own.
            lanes[place] = lanes[place - 1] + (not _is_retry(before, after))
    return lanes


def list_of(searches: Sequence[Search], name: ListName, order: Order) -> tuple[Doc, ...] | None:
    """A list of a question's searches; None where it is not there.

    Args:
        searches: as `comparable` has them.
        name: which: any but ``retrieved``.
        order: of all.
    """
    if name == "read":
        reads = [search.read for search in searches if search.read is not None]
        entries = chain.from_iterable(reads)
        # Each document once; one that no search returned is its id.
        docs = (entry if isinstance(entry, Doc) else Doc(str(entry)) for entry in entries)
        return tuple(distinct_docs(docs, ()).values()) if reads else None
    lists = [search.measured for search in searches if search.is_measured]
    if not lists:
        return None
    if name != "all":
        return lists[0 if name == "first" else -1]
    turns = zip_longest(*lists) if order == "turns" else lists
    return distinct_by_identity(filter(None, chain.from_iterable(turns)))


def distinct_by_identity(docs: Iterable[Doc]) -> tuple[Doc, ...]:
    """The same documents, each once: what stands again is the same by id, or else by its text."""
    distinct: dict[object, Doc] = {}
    for doc in docs:
        distinct.setdefault(doc.identity, doc)
    return tuple(distinct.values())


def last_stages(stages: Iterable[Stage]) -> Iterator[Stage]:
    """The stages whose documents no other stage got."""
    stages = tuple(stages)
    inputs = {name for stage in stages for name in stage.inputs}
    return (stage for stage in stages if stage.name not in inputs)

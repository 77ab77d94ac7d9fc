"""Recording the searches of any code: `record_searches`, and `searched` for its functions."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar, overload

from kragx.data import Doc, SurrogateRepair
from kragx.data.documents import ranked
from kragx.data.searches import Search, Searches
from kragx.evaluation.answers import reason_of
from kragx.evaluation.calls.call import WAITING, Call, CallRecording, searches_made
from kragx.evaluation.calls.messages import documents_in, words_of
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import DataError, UsageError, shorten
from kragx.ground.printing import message

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Reader = Callable[[Any], Any]
_Recordings = tuple[CallRecording, ...]
"""Those within one another, the innermost last."""

LOST = (
    "a search was made in a thread that does not know for which question; start the thread with "
    "contextvars.copy_context().run, or ask one question at a time"
)
"""Why searches are not known of a question, though some were made."""

_RECORDINGS: ContextVar[_Recordings] = ContextVar("kragx_recordings", default=())

_TOGETHER: ContextVar[Hashable] = ContextVar("kragx_together", default=None)
_AT_WORK: dict[CallRecording, _Recordings] = {}
"""The recordings under way in this process, each with those around it."""


@contextmanager
def recorded(recording: CallRecording, *, listens: bool) -> Iterator[None]:
    """Within it the recording hears of calls, and with `listens` of those of LangChain."""
    recordings = (*_RECORDINGS.get(), recording)
    token = _RECORDINGS.set(recordings)
    listener: AbstractContextManager[None] = nullcontext()
    if listens:
        from kragx.evaluation.calls.chain import listening

        listener = listening(recordings)
    try:
        with at_work(recordings), listener, closing(recording):
            yield
    finally:
        _RECORDINGS.reset(token)


@contextmanager
def at_work(recordings: _Recordings = ()) -> Iterator[None]:
    """Within it what was asked may search, also when its recording is over.

    Args:
        recordings: by default those of this context.
    """
    recordings = recordings or _RECORDINGS.get()
    innermost = recordings[-1]
    with innermost.lock:
        innermost.n_at_work += 1
        _AT_WORK[innermost] = recordings
    try:
        yield
    finally:
        with innermost.lock:
            innermost.n_at_work -= 1
            if not innermost.n_at_work:
                del _AT_WORK[innermost]


def _recordings() -> _Recordings:
    """Those that hear of a call that is made here.

    A task that was made for one question may serve the next: where all that it knows are over, it
    knows as little as a thread without context variables. Such a thread can only belong to what is
    under way, if that is a single one.
    """
    recordings = _RECORDINGS.get()
    if any(recording.n_at_work for recording in recordings):
        return recordings
    several = [*_AT_WORK.values()]
    innermost = [one for one in several if all(inner[:-1] != one for inner in several)]
    if len(innermost) == 1:
        return innermost[0]
    for recording in chain(*innermost):
        recording.has_lost = True
    return ()


class SearchRecording(Searches):
    """The searches that were made within `record_searches`, as they come.

    It can be evaluated as what a retriever answers: ``evaluate(gold, {"q1": searches})``, and is a
    sequence of `Search`.
    """

    def __init__(self, recording: CallRecording) -> None:
        # What it derives from is frozen, and its `searches` are a property here.
        for name in ("retrieved", "seconds", "error"):
            object.__setattr__(self, name, None)
        vars(self).update(_recording=recording, _read=None, _made=None)

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches so far, in steps; one that is under way did not end."""
        own = vars(self)
        searches: tuple[Search, ...] | None = own["_made"]
        if searches is None:
            is_final = not own["_recording"].is_open  # asked before, as it may end meanwhile
            searches = searches_made(own["_recording"].calls)
            own["_made"] = searches if is_final else None
        last = [replace(search, read=own["_read"]) for search in searches[-1:]]
        return searches if own["_read"] is None else (*searches[:-1], *last)

    def hand_on(self, documents: Sequence[object]) -> None:
        """Say what was handed on in the end, in that order (`Searches.retrieved`)."""
        object.__setattr__(self, "retrieved", _documents(documents))  # it is frozen otherwise

    def read(self, documents: Sequence[object]) -> None:
        """Say what of all that came was cited or passed on, in that order: documents, or ids.

        Raises:
            DataError: a document has no id, or it is a single text.
        """
        if isinstance(documents, str):
            raise DataError(
                "{documents} is no list",
                field="read",
                remedy="put it into one",
                documents=shorten(documents),
            )
        docs = [Doc(doc) if isinstance(doc, str) else _documents([doc])[0] for doc in documents]
        if any(doc.id is None for doc in docs):
            raise DataError("what was read is told by its id", field="read", remedy="give it one")
        vars(self)["_read"] = tuple(str(doc.id) for doc in docs)

    @contextmanager
    def side_by_side(self) -> Iterator[None]:
        """Calls of functions within it are one step, also where one ends before the next begins."""
        token = _TOGETHER.set(object())
        try:
            yield
        finally:
            _TOGETHER.reset(token)

    def __len__(self) -> int:
        return len(self.searches)

    def __iter__(self) -> Iterator[Search]:
        return iter(self.searches)

    def __getitem__(self, place: Any) -> Any:
        return self.searches[place]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is what was searched so far; it hears of no more."""
        return Searches, (self.searches, self.retrieved, self.seconds, self.error)


@contextmanager
def record_searches() -> Iterator[SearchRecording]:
    """Record the searches that code makes within a block, whatever else it does.

    Searches are calls of functions that are `searched`, and of LangChain's tools and retrievers, in
    this thread and task and in those that have its context variables: tasks of asyncio,
    ``asyncio.to_thread``, LangChain's own threads. In a thread without them functions are heard
    as long as nothing else is recorded in the process, and LangChain is not. Calls that overlap in
    time ran side by side, and those within `SearchRecording.side_by_side`; what is called within a
    search is a stage of it. Recordings within one another hear of the same calls.

    Examples:
        >>> import kragx
        >>> @kragx.searched
        ... def handbook(query):
        ...     return [{"id": "c7", "text": "The hut opens in June."}]
        >>> with kragx.record_searches() as searches:
        ...     first = handbook("hut opening hours")
        ...     second = handbook("when does the hut open")
        >>> [(search.step, search.query) for search in searches]
        [(1, 'hut opening hours'), (2, 'when does the hut open')]
    """
    recording = CallRecording()
    try:
        with recorded(recording, listens=True):
            yield SearchRecording(recording)
    finally:
        if recording.has_lost:
            warn(
                message(
                    "not all searches are recorded: some were made in threads that do not know for "
                    "which question; start them with contextvars.copy_context().run"
                ),
                SearchWarning,
            )


class SearchWarning(UserWarning):
    """Searches were made that are not recorded, or not in full."""


@overload
def searched(function: _Function, /) -> _Function: ...
@overload
def searched(
    *,
    tool: str | None = None,
    query: str | None = None,
    documents: _Reader | None = None,
    tokens: _Reader | None = None,
) -> Callable[[_Function], _Function]: ...
def searched(
    function: Any = None,
    /,
    *,
    tool: str | None = None,
    query: str | None = None,
    documents: _Reader | None = None,
    tokens: _Reader | None = None,
) -> Any:
    """Make the calls of a function searches, where they are recorded; else nothing changes.

    They are recorded by `record_searches`, and where kragx asks a retriever (`retrieve`,
    ``kragx run``) that calls the function. A call that raises is a search that failed.

    Args:
        function: synchronous or asynchronous.
        tool: what it is called; default: its own name.
        query: the parameter that has the words; default: ``query``, ``question`` or the like, else
            the only text that is passed.
        documents: takes the documents out of what the function returns; it may return None. By
            default these are a list of documents or texts, a mapping with one, or JSON of it.
            Whatever else is returned, nobody knows what the search found.
        tokens: takes out of it how many tokens the call cost. Where this fails, or the other, the
            function does not, and what it takes is unknown, with a warning.

    Raises:
        UsageError: it is a generator, which is to return a list, or no function; or it has no such
            parameter.

    Examples:
        >>> from kragx import searched
        >>> @searched(tool="prices", documents=lambda answer: answer["rows"])
        ... def look_up(words):
        ...     return {"rows": [{"id": "p1"}], "total": 1}
        >>> look_up("bread")["total"]
        1
    """
    if function is None:
        options = {"tool": tool, "query": query, "documents": documents, "tokens": tokens}
        return functools.partial(searched, **options)
    name = tool or str(getattr(function, "__name__", type(function).__name__))
    if not callable(function) or hasattr(function, "invoke"):
        raise UsageError(
            "{name} is no function",
            remedy="tools and retrievers of LangChain are heard as they are",
            name=name,
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            "{name} yields its documents", remedy="have it return a list of them", name=name
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some C functions have none
        signature = inspect.signature(lambda *args: args)
    if query is not None and query not in signature.parameters:
        raise UsageError("{name} has no parameter {query!r}", field="query", name=name, query=query)

    def words(args: Any, kwargs: Any) -> str | None:
        # Arguments that do not fit, as the call will say, or cannot be printed: it works as ever.
        with suppress(Exception):
            arguments = signature.bind(*args, **kwargs).arguments
            if query is not None:
                arguments = {"query": arguments.get(query)}
            # What says something in JSON; `self` does not.
            kinds = (str, int, float, list, tuple, Mapping, type(None))
            return words_of({key: v for key, v in arguments.items() if isinstance(v, kinds)})
        return None

    def heard(answer: Any) -> dict[str, Any]:
        return {
            "documents": _known(name, "documents", _documents_of, documents, answer),
            "tokens": tokens and _known(name, "tokens", _tokens_of, tokens, answer),
        }

    # Where the code of a function, a static method or an object that is called may stand.
    bodies = (function, getattr(function, "__func__", None), type(function).__call__)
    if any(map(inspect.iscoroutinefunction, bodies)):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with _call(name, heard, words, args, kwargs) as answered:
                return answered(await function(*args, **kwargs))

        return awaited

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _call(name, heard, words, args, kwargs) as answered:
            return answered(function(*args, **kwargs))

    return call


@contextmanager
def _call(
    name: str,
    heard: Callable[[Any], dict[str, Any]],
    words: Callable[[Any, Any], str | None],
    args: Any,
    kwargs: Any,
) -> Iterator[Callable[[Any], Any]]:
    """A call, with what hands its answer on and remembers what is heard of it."""
    recordings, key, result = _recordings(), object(), dict[str, Any]()
    if not recordings:
        yield lambda answer: answer
        return

    def answered(answer: Any) -> Any:
        result.update(heard(answer))
        return answer

    query = words(args, kwargs)
    parents = WAITING.get()
    if "langchain_core.runnables.config" in sys.modules:
        from kragx.evaluation.calls.chain import waiting_run

        parents += (waiting_run(),)
    for recording in recordings:
        recording.begin(key, Call(name, "tool", query, message=_TOGETHER.get()), parents)
    token = WAITING.set((key, *WAITING.get()))
    try:
        yield answered
    except BaseException as error:
        result = {"error": reason_of(error)}
        raise
    finally:
        WAITING.reset(token)
        for recording in recordings:
            recording.end(key, **result)


def _documents_of(answer: Any) -> tuple[Doc, ...] | None:
    """The documents of what a function returned; None where it returned something else."""
    if isinstance(answer, str):
        return documents_in(answer)
    values = answer.values() if isinstance(answer, Mapping) else [()]
    if not any(isinstance(value, (list, tuple)) for value in values):
        return None  # values under names, which are no scores by id here
    try:
        return _documents(answer)
    except DataError:
        return documents_in(answer)


def _tokens_of(count: int | None) -> int | None:
    """A number of tokens; None where nobody knows.

    Raises:
        DataError: it is none.
    """
    if count is not None and count < 0:
        raise DataError("{count!r} is no number of tokens", count=count)
    return None if count is None else int(count)


def _known(name: str, field: str, read: _Reader, take: _Reader | None, answer: Any) -> Any:
    """What is read of an answer; None where that fails, which is warned of: the function did not.

    Args:
        name: the function's.
        field: what it is.
        read: reads it.
        take: takes it out of the answer first; None for the answer itself.
        answer: what the function returned.
    """
    try:
        return read(answer if take is None else take(answer))
    except Exception as error:
        warn(
            message(
                "{tool}: {field} of what it returned are unknown: {reason}",
                tool=name,
                field=field,
                reason=reason_of(error),
            ),
            SearchWarning,
        )
        return None


def _documents(answer: Any) -> tuple[Doc, ...]:
    return ranked(answer, SurrogateRepair(), "documents")

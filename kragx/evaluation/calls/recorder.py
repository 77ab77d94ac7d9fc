"""Recording the searches of any code: `record_searches`, and `searched` for its functions."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar, overload

from kragx.data import Doc, Mender
from kragx.data.answers import ranked
from kragx.data.searches import Search, Searches
from kragx.errors import DataError, UsageError, shorten
from kragx.evaluation.answers import reason_of
from kragx.evaluation.calls.call import Call, CallRecording
from kragx.evaluation.calls.search_calls import searches_made
from kragx.evaluation.calls.tool_answers import documents_in, words_of
from kragx.printing import phrase
from kragx.warned import warn

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Reader = Callable[[Any], Any]

LOST = (
    "a search was made in a thread that does not know for which question; start the thread with "
    "contextvars.copy_context().run, or ask one question at a time"
)
"""Why searches are not known of a question, though some were made."""

_RECORDINGS: ContextVar[tuple[CallRecording, ...]] = ContextVar("kragx_recordings", default=())
_CALL: ContextVar[Hashable] = ContextVar("kragx_call", default=None)
_TOGETHER: ContextVar[Hashable] = ContextVar("kragx_together", default=None)


class _Open:
    """The recordings under way in this process, for threads that have no context variables.

    Such a thread can only belong to the recording that is under way, if there is a single one.
    """

    def __init__(self) -> None:
        self._recordings: list[tuple[CallRecording, ...]] = []
        self._lock = threading.Lock()

    def add(self, recordings: tuple[CallRecording, ...]) -> None:
        with self._lock:
            self._recordings.append(recordings)

    def remove(self, recording: CallRecording) -> None:
        with self._lock:
            self._recordings = [rest for rest in self._recordings if rest[-1] is not recording]

    def recordings(self) -> tuple[CallRecording, ...]:
        """Those that hear of a call in a thread that does not know."""
        with self._lock:
            several = [*self._recordings]
        innermost = [
            recordings
            for recordings in several
            if not any(inner[:-1] == recordings for inner in several)
        ]
        if len(innermost) == 1:
            return innermost[0]
        for recordings in innermost:
            for recording in recordings:
                recording.has_lost = True
        return ()


_OPEN = _Open()


@contextmanager
def recorded(recording: CallRecording, *, listens: bool) -> Iterator[None]:
    """Within it the recording hears of calls, and with `listens` of those of LangChain."""
    recordings = (*_RECORDINGS.get(), recording)
    token = _RECORDINGS.set(recordings)
    _OPEN.add(recordings)
    try:
        with ExitStack() as stack:
            if listens:
                from kragx.evaluation.calls.chain import listening

                stack.enter_context(listening(recordings))
            yield
    finally:
        _RECORDINGS.reset(token)
        recording.close()
        if not recording.is_lasting:
            _OPEN.remove(recording)


def over(recording: CallRecording) -> None:
    """Say that what was asked is no longer at work."""
    recording.is_over = True  # before the other is looked at, as `recorded` does it the other way
    if recording.may_last:
        _OPEN.remove(recording)


class SearchRecording(Searches):
    """The searches that were made within `record_searches`, as they come.

    It can be evaluated as what a retriever answers: ``evaluate(gold, {"q1": searches})``, and is a
    sequence of `Search`.
    """

    _recording: CallRecording
    _read: tuple[int | str, ...] | None
    _made: tuple[Search, ...] | None

    def __init__(self, recording: CallRecording) -> None:
        super().__init__(())
        for name, value in {"_recording": recording, "_read": None, "_made": None}.items():
            object.__setattr__(self, name, value)  # what it derives from is frozen

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches so far, in steps; one that is under way did not end."""
        searches = self._made
        if searches is None:
            is_final = not self._recording.is_open  # asked before, as it may end meanwhile
            searches = searches_made(self._recording.calls)
            object.__setattr__(self, "_made", searches if is_final else None)
        if self._read is None or not searches:
            return searches
        return (*searches[:-1], replace(searches[-1], read=self._read))

    @searches.setter
    def searches(self, value: object) -> None:
        """Has no effect: what was recorded is known."""

    def hand_on(self, documents: Sequence[object]) -> None:
        """Say what was handed on in the end, in that order (`Searches.retrieved`)."""
        object.__setattr__(self, "retrieved", _documents(documents))

    def read(self, documents: Sequence[object]) -> None:
        """Say what of all that came was cited or passed on, in that order: documents, or ids.

        Raises:
            DataError: a document has no id, or it is a single text.
        """
        if isinstance(documents, str):
            raise DataError(
                f"{shorten(documents)} is no list", field="read", remedy="put it into one"
            )
        docs = [Doc(doc) if isinstance(doc, str) else _documents([doc])[0] for doc in documents]
        if any(doc.id is None for doc in docs):
            raise DataError("what was read is told by its id", field="read", remedy="give it one")
        object.__setattr__(self, "_read", tuple(str(doc.id) for doc in docs))

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

    @overload
    def __getitem__(self, place: int) -> Search: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Search, ...]: ...
    def __getitem__(self, place: int | slice) -> Search | tuple[Search, ...]:
        return self.searches[place]

    def __repr__(self) -> str:
        return f"<{len(self)} searches>"

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
                phrase(
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
        return functools.partial(
            _searched, tool=tool, query=query, documents=documents, tokens=tokens
        )
    return _searched(function, tool, query, documents, tokens)


def _searched(
    function: Callable[..., Any],
    tool: str | None,
    query: str | None,
    documents: _Reader | None,
    tokens: _Reader | None,
) -> Callable[..., Any]:
    name = tool or str(getattr(function, "__name__", type(function).__name__))
    if not callable(function) or hasattr(function, "invoke"):
        raise UsageError(
            f"{name} is no function",
            remedy="tools and retrievers of LangChain are heard as they are",
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{name} yields its documents", remedy="have it return a list of them")
    words = _words_from(function, name, query)

    def heard(answer: Any) -> dict[str, Any]:
        def read_documents() -> tuple[Doc, ...] | None:
            return _known_documents(answer if documents is None else documents(answer))

        def read_tokens() -> int | None:
            return None if tokens is None else _known_tokens(tokens(answer))

        return {
            "documents": _unless_broken(read_documents, name, "documents"),
            "tokens": _unless_broken(read_tokens, name, "tokens"),
        }

    if any(map(inspect.iscoroutinefunction, _bodies(function))):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with _call(name, words, args, kwargs) as result:
                answer = await function(*args, **kwargs)
                if result is not None:
                    result.update(heard(answer))
                return answer

        return awaited

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _call(name, words, args, kwargs) as result:
            answer = function(*args, **kwargs)
            if result is not None:
                result.update(heard(answer))
            return answer

    return call


def _bodies(function: Any) -> tuple[Any, ...]:
    """Where the code of a function, a static method or an object that is called may stand."""
    return function, getattr(function, "__func__", None), type(function).__call__


@contextmanager
def _call(
    name: str, words: Callable[..., str | None], args: Any, kwargs: Any
) -> Iterator[dict[str, Any] | None]:
    """A call, to whose end what is known of it can be added; None where nobody records."""
    recordings = _recordings()
    if not recordings:
        yield None
        return
    key, result = object(), dict[str, Any]()
    parents = (_CALL.get(), *_langchain_runs())
    query = words(args, kwargs)
    for recording in recordings:
        recording.begin(key, Call(name, "tool", query, message=_TOGETHER.get()), parents)
    token = _CALL.set(key)
    try:
        yield result
    except BaseException as error:
        result = {"error": reason_of(error)}
        raise
    finally:
        _CALL.reset(token)
        for recording in recordings:
            recording.end(key, **result)


def _recordings() -> tuple[CallRecording, ...]:
    """Those that hear of a call that is made here.

    A task that was made for one question may serve the next: where all that it knows are over, it
    knows as little as a thread without variables.
    """
    recordings = _RECORDINGS.get()
    if any(recording.is_open or recording.is_lasting for recording in recordings):
        return recordings
    return _OPEN.recordings()


def _langchain_runs() -> tuple[Hashable, ...]:
    if "langchain_core.runnables.config" not in sys.modules:
        return ()
    from kragx.evaluation.calls.chain import waiting_runs

    return waiting_runs()


def _words_from(
    function: Callable[..., Any], name: str, query: str | None
) -> Callable[[Any, Any], str | None]:
    """What takes the words out of the arguments of a call.

    Raises:
        UsageError: the function has no such parameter.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some C functions have none
        signature = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    if query is not None and query not in signature.parameters:
        raise UsageError(f"{name} has no parameter {query!r}", field="query")

    def words(args: Any, kwargs: Any) -> str | None:
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError:  # as the call itself will say
            return None
        if query is not None:
            arguments = {"query": arguments.get(query)}
        try:
            return words_of({key: value for key, value in arguments.items() if _is_plain(value)})
        except Exception:  # an argument cannot be printed; the function is to work all the same
            return None

    return words


def _is_plain(value: object) -> bool:
    """Whether an argument says something in JSON; `self` does not."""
    return value is None or isinstance(value, (str, int, float, list, tuple, Mapping))


def _known_documents(answer: Any) -> tuple[Doc, ...] | None:
    """The documents of what a function returned; None where it returned something else."""
    if isinstance(answer, str):
        return documents_in(answer)
    if isinstance(answer, Mapping) and not any(
        isinstance(v, (list, tuple)) for v in answer.values()
    ):
        return None  # values under names, which are no scores by id here
    try:
        return _documents(answer)
    except DataError:
        return documents_in(answer)


def _known_tokens(count: Any) -> int | None:
    """A number of tokens; None where nobody knows.

    Raises:
        DataError: it is none.
    """
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
        raise DataError(f"{count!r} is no number of tokens")
    return int(count)


def _unless_broken(read: Callable[[], Any], name: str, field: str) -> Any:
    """What is read of an answer; None, with a warning, where that fails: the function did not."""
    try:
        return read()
    except Exception as error:
        warn(
            phrase(
                "{tool}: {field} of what it returned are unknown: {reason}",
                tool=name,
                field=field,
                reason=reason_of(error),
            ),
            SearchWarning,
        )
        return None


def _documents(answer: Any) -> tuple[Doc, ...]:
    return ranked(answer, Mender(), "documents")

"""How retrievers are asked, what they answer with, and paths into it: ``$.hits.hits[*]``."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, fields
from json import JSONDecodeError
from typing import Annotated, Any, Literal

from kragx.data import RUNS_OR_REPEAT, Doc, Query, Retrieved, SurrogateRepair, as_docs
from kragx.data.documents import is_doc, named, ranked
from kragx.data.formats.jsonl import foreign_json
from kragx.ground.errors import DataError, KragxError, UsageError, nearest, shorten
from kragx.ground.options import check_options, optional, some_seconds, texts_by_name, whole
from kragx.ground.printing import message

_NAME = r"""[^\s.\[\]'"*$]+"""
_BRACKETS = r"""\[\s*(?:\d+|\*|'[^']*'|"[^"]*")\s*\]"""
_PATH = re.compile(rf"\s*(?:\$|\.?{_NAME}|{_BRACKETS})(?:\.{_NAME}|{_BRACKETS})*\s*")
_STEP = re.compile(rf"{_BRACKETS}|{_NAME}")
_OF_JSON = (Mapping, list, tuple, str, int, float, type(None))  # their methods are no fields
_SHOWN = 8
"""Names of fields that an error lists."""

QUOTED = 200
"""Characters of an odd answer that are shown."""

Step = str | int | None
"""A field's name, an entry's place, or None for each entry."""


class Mended(list[Doc]):
    """Documents that were read already, and how many lone surrogates were replaced in them."""

    def __init__(self, documents: Iterable[Doc], n_replaced: int) -> None:
        super().__init__(documents)
        self.n_replaced = n_replaced


def collected(answer: Any) -> Any:
    """An answer of which nothing is still to come: what is yielded one by one, as a list."""
    return list(answer) if isinstance(answer, (Iterator, ValuesView)) else answer


def reason_of(error: BaseException) -> str:
    """Why something failed: the error's own name, and what it says, in English as in files."""
    try:
        return f"{type(error).__name__}: {error.text if isinstance(error, KragxError) else error}"
    except Exception:  # a user's error may fail to say what it is
        return f"{type(error).__name__}: (it cannot be printed)"


def is_reply(answer: Any) -> bool:
    """Whether an answer is what somebody says who searched: words, messages, an object, nothing.

    It is no list, and no mapping in which documents stand.
    """
    if isinstance(answer, Mapping):
        lists = (value for value in answer.values() if isinstance(value, (list, tuple)))
        return not any(any(map(is_doc, entries)) for entries in lists)
    is_list = isinstance(answer, (list, tuple, set, frozenset))
    is_list = is_list or type(answer).__name__ in ("ndarray", "DataFrame")
    return not is_list and not inspect.iscoroutine(answer)


def documents_of(answer: Any, repair: SurrogateRepair) -> tuple[Doc, ...]:
    """The ranked documents of an answer, as `ranked` reads it.

    Raises:
        DataError: as `ranked`; or the answer was not awaited.
    """
    if inspect.iscoroutine(answer):
        answer.close()
        problem = "it was not awaited: make the function async def"
        raise DataError("the retriever returned {answer}; {why}", answer=named(answer), why=problem)
    if isinstance(answer, Mended):
        repair.surrogates += answer.n_replaced
    return ranked(answer, repair, "retrieved")


def steps_of(path: str) -> list[Step]:
    """The steps of a path, as far as JSONPath names places.

    That is ``$`` (the whole, and may be left out), ``.name``, ``['a name']``, ``[0]``, and ``[*]``
    for each entry of a list.

    Raises:
        UsageError: it is no path, or a kind of JSONPath that is not known here.
    """
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise UsageError(
            "{place!r} is no path",
            remedy="a path has .name, ['a name'], [0] and [*], as $.hits.hits[*]",
            place=path,
        )
    inner = (step[1:-1].strip() if step[0] == "[" else f"'{step}'" for step in _STEP.findall(path))
    return [None if step == "*" else int(step) if step.isdigit() else step[1:-1] for step in inner]


def value_at(path: str, answer: Any, parent: str = "") -> Any:
    """What stands at a path: one value, or those of each entry where the path has ``[*]``.

    Args:
        path: as `steps_of` reads it.
        answer: what JSON holds, or objects, whose attributes are fields.
        parent: the place of `answer` itself, for errors.

    Raises:
        DataError: there is no such place; the error says what is there instead.

    >>> hits = [{"_source": {"body": "a"}}, {"_source": {"body": "b"}}]
    >>> value_at("$.hits[*]._source.body", {"hits": hits})
    ['a', 'b']
    """
    steps, places = steps_of(path), [(parent, answer)]
    for step in steps:
        places = [inner for place in places for inner in _step(*place, step)]
    values = [value for _, value in places]
    return values if None in steps else values[0]


def _step(parent: str, value: Any, step: Step) -> Iterator[tuple[str, Any]]:
    match step, value:
        case str(), Mapping() if step in value:
            yield f"{parent}.{step}".lstrip("."), value[step]
        case None, list() | tuple():
            yield from ((f"{parent}[{place}]", entry) for place, entry in enumerate(value))
        case int(), list() | tuple() if step < len(value):
            yield f"{parent}[{step}]", value[step]
        case str(), _ if not isinstance(value, _OF_JSON) and hasattr(value, step):
            yield f"{parent}.{step}".lstrip("."), getattr(value, step)
        case _:
            is_list = isinstance(value, (list, tuple))
            entry = "list" if step is None or not is_list else f"entry [{step}]"
            raise DataError(
                "no {missing} in {value}, which is {described}",
                missing=f"field {step!r}" if isinstance(step, str) else entry,
                value=parent or "the answer",
                described=described(value),
            )


def described(value: Any) -> str:
    """What a value of JSON is, for an error: its fields, how long it is, or itself."""
    if isinstance(value, dict):
        names = ", ".join(map(repr, [*value][:_SHOWN]))
        rest = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
        return f"an object with {names}{rest}" if value else "an object without fields"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "null" if value is None else shorten(value)


def valid_path(value: Any) -> Any:
    """A path as it is, for `kragx.ground.plugins.check_options`."""
    steps_of(value)
    return value


def valid_paths(value: Any) -> Any:
    """One path, or one a field."""
    for path in value.values() if isinstance(value, Mapping) else (value,):
        steps_of(path)
    return value


@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerPaths:
    """Where an answer has its documents, and these their fields.

    Attributes:
        documents: where the list of documents is; None where the answer is it.
        text: where a document's text is, from the document on.
        id: the same of its id; a whole number is taken as its digits.
        score: the same of its score. The order of the list is the ranking, whatever they say.
        metadata: the same of a mapping, or for each field of the metadata a path.
            Without `text` and `id` documents are read as they are.
    """

    documents: Annotated[str | None, optional(valid_path)] = None
    text: Annotated[str | None, optional(valid_path)] = None
    id: Annotated[str | None, optional(valid_path)] = None
    score: Annotated[str | None, optional(valid_path)] = None
    metadata: Annotated[str | Mapping[str, str] | None, optional(valid_paths)] = None

    @property
    def paths(self) -> dict[str, Any]:
        """Those that are no defaults."""
        paths = {option.name: getattr(self, option.name) for option in fields(AnswerPaths)}
        return {name: path for name, path in paths.items() if path is not None}

    @property
    def are_plain(self) -> bool:
        """Whether documents are read as they are."""
        return self.text is None and self.id is None

    def read(self, answer: Any, repair: SurrogateRepair) -> tuple[Doc, ...]:
        """The ranked documents of an answer; without paths as `documents_of` finds them.

        Raises:
            DataError: they are not where they should be, or are none.
        """
        return documents_of(self.hits(answer) if self.paths else answer, repair)

    def read_json(
        self, body: str, answered: str, kind: str = "", *, strings: bool = True, remedy: str = ""
    ) -> list[Doc]:
        """The ranked documents of an answer that came as JSON.

        Args:
            body: the answer.
            answered: whose it is, as an error begins.
            kind: what it says it is, for what is no JSON.
            strings: whether texts are documents.
            remedy: what to do where documents that are read as they are are none.

        Raises:
            DataError: it has none, and is quoted.
        """
        repair, hits = SurrogateRepair(), None
        try:
            hits = self.hits(foreign_json(body, strict=True))
            return Mended(as_docs(hits, repair, "documents", strings=strings), repair.surrogates)
        except ValueError as error:  # a DataError is one
            if hits is not None and remedy and self.are_plain:
                error.remedy = remedy  # type: ignore[attr-defined]  # it is a DataError here
            raise DataError(
                "{answered} with no JSON ({kind}); {quoted}"
                if isinstance(error, JSONDecodeError)
                else "{answered}, but: {why}; {quoted}",
                answered=answered,
                kind=kind or message("of no type"),
                why=getattr(error, "text", str(error)),
                quoted=quoted(body),
            ) from None

    def hits(self, answer: Any) -> Sequence[Any]:
        """The documents of an answer, with their fields named as kragx names them.

        Raises:
            DataError: they are not where they should be.
        """
        values = value_at(self.documents or "$", answer)
        if not isinstance(values, (list, tuple)):
            fields = answer.items() if isinstance(answer, Mapping) else ()
            lists = [name for name, value in fields if isinstance(value, list)]
            is_whole = self.documents in ("$", None)
            raise DataError(
                "a list of documents is expected; the answer is {value}"
                if is_whole
                else "a list of documents is expected; {place!r} is {value}",
                remedy="say where it is, as documents: $.{name}" if lists else "",
                place=self.documents,
                value=described(values),
                name=next(iter(lists), ""),
            )
        paths = {name: path for name, path in self.paths.items() if name != "documents"}
        if self.are_plain:
            return values
        docs = [_field(paths, value, f"document {rank}") for rank, value in enumerate(values, 1)]
        for rank, doc in enumerate(docs, 1):
            for name in ("text", "id"):
                if name in doc and doc[name] is None:
                    raise DataError(
                        "{paths!r} of {label} is null, and is to be its {name}",
                        paths=paths[name],
                        label=f"document {rank}",
                        name=name,
                    )
        return docs


def _field(path: str | Mapping[str, Any], value: Any, label: str) -> Any:
    """What stands at a path, or at each of several."""
    if isinstance(path, str):
        return value_at(path, value, label)
    return {name: _field(place, value, label) for name, place in path.items()}


def quoted(body: str) -> str:
    """The first characters of an answer, in one line."""
    text = " ".join(body[: 4 * QUOTED].split())
    if not text:
        return message("the answer is empty")
    is_cut = len(text) > QUOTED or len(body) > 4 * QUOTED
    return message(
        "the answer begins {text}..." if is_cut else "the answer is {text}", text=text[:QUOTED]
    )


@dataclass(frozen=True)
class Asking(AnswerPaths):
    """How a retriever is asked, and where its answers have what (`AnswerPaths`).

    Attributes:
        concurrency: how many questions at once; more than 1 makes each query's time a time under
            load.
        timeout: seconds after which an attempt has failed; None waits for ever.
        retries: how often a question is asked again after an error, with growing pauses.
        on_error: ``record`` a query that failed and go on, or ``stop``.
        warmup: how many questions are asked first without being counted or timed.
        repeat: of one run, how often each question is asked to take its time, which is the median;
            its answer is the first.
        runs: how often all questions are asked; each answer counts, and a question's value is the
            mean over its runs (`Run.reruns`): for agents, which search otherwise each time.
        callbacks: LangChain callback handlers, for example of a tracing tool.
        input: of a LangChain runnable whose input is a mapping, what its fields get: ``query``,
            ``history`` (a list of mappings with role and content), for example
            ``{"input": "query", "chat_history": "history"}``. None gives it the question alone.
        stages: whether to keep what each step of a LangChain chain returned (`Retrieved.stages`).
        mask: what becomes of the text of a failure before anybody reads it.
        known: of each run what is answered already, by query id; it is not asked again.
        on_answer: of each run what is told each new answer as it comes, from whatever thread it
            comes in.
    """

    concurrency: Annotated[int, whole(1)] = 1
    timeout: Annotated[float | None, optional(some_seconds)] = None
    retries: Annotated[int, whole(0)] = 0
    on_error: Literal["record", "stop"] = "record"
    warmup: Annotated[int, whole(0)] = 0
    repeat: Annotated[int, whole(1)] = 1
    runs: Annotated[int, whole(1, 1000)] = 1
    callbacks: Sequence[Any] = ()
    input: Annotated[Mapping[str, str] | None, optional(texts_by_name)] = None
    stages: bool = False
    mask: Callable[[str], str] = str
    known: Sequence[Mapping[str, Retrieved]] = ()
    on_answer: Sequence[Callable[[Query, Retrieved], None]] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """What results record of how answers are read."""
        return {"answer": self.paths} if self.paths else {}

    def __post_init__(self) -> None:
        check_options(self)
        if self.runs > 1 and self.repeat > 1:
            raise UsageError(RUNS_OR_REPEAT, field="repeat", remedy="give runs or repeat")
        for name in ("score", "metadata") if self.are_plain else ():
            if (path := getattr(self, name)) is not None:
                raise UsageError(
                    "{place!r} is read only where text or id say what a document is",
                    field=name,
                    remedy="name one of these, too",
                    place=path,
                )
        for name, kind in (self.input or {}).items():
            if kind not in INPUTS:
                raise UsageError(
                    "unknown value {kind!r}; {hint}",
                    field=f"input.{name}",
                    kind=kind,
                    hint=nearest(kind, INPUTS),
                )


INPUTS = ("query", "history")
"""What a field of a mapping that a runnable takes may get."""

"""Documents, and ranked lists of them: of anything that is document-shaped, or an answer."""

from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isnan, nan
from numbers import Integral
from typing import Any, TypeGuard, TypeVar
from uuid import UUID

from kragx.data.foreign import answer_list, foreign_fields
from kragx.data.text import SurrogateRepair, normalise, not_a_text
from kragx.ground.errors import DataError, nearest, shorten
from kragx.ground.printing import message

_Value = TypeVar("_Value")
_Cleaned = TypeVar("_Cleaned")

TEXT_FIELDS = ("text", "page_content", "content")
"""What the text of a mapping is called: by kragx, by LangChain, by others."""

_FIELDS = dict.fromkeys(("id", *TEXT_FIELDS, "score", "metadata")).keys()


@dataclass(frozen=True, slots=True)
class Doc:
    """One retrieved document as kragx reads it.

    Attributes:
        id: the document's own id, if it has one.
        text: its text, if it has one (results may hold ids alone).
        metadata: whatever else is known of it.
        score: the retriever's score; the order of a list is its ranking, whatever the scores say.

    Examples:
        >>> from kragx import Doc, evaluate
        >>> found = [Doc("c7", "the answer", score=0.9), Doc("c8", "another text", {"page": 3})]
        >>> evaluate([["the answer"]], [found], match="exact", metrics=["mrr@5"])["mrr@5"]
        1.0
    """

    id: str | None = None
    text: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None

    @property
    def identity(self) -> tuple[str, str] | None:
        """What makes two entries of a list the same document: the id, else the normalised text."""
        if self.id is not None:
            return ("id", self.id)
        return None if self.text is None else ("text", normal_form(self.text))


Key = tuple[str | None, str | None]
"""What tells the documents of one question apart: id and text."""


def key_of(doc: Doc) -> Key:
    """What tells a document from others of its question."""
    return doc.id, doc.text


# A retriever's answers hold the same chunks again and again.
_of_text_made_once = lru_cache(maxsize=1 << 14)


@_of_text_made_once
def normal_form(text: str) -> str:
    """`normalise`; the text itself if it is so already, as a rule: then it is held once."""
    normalised = normalise(text)
    return text if normalised == text else normalised


def as_doc(value: object, repair: SurrogateRepair, strings: bool = True) -> Doc:
    """Read another library's document, a mapping, a string or a `Doc`; `value` is not changed.

    Other libraries are LangChain, LlamaIndex, Haystack and databases (`foreign_fields`).

    A mapping has `text` (or `page_content`, `content`), `id`, `score` and `metadata`, of which `id`
    or `text` is needed. In Python a string is a text; in a file it may as well be meant as an id,
    so it must say: there `strings` is False, and they are refused.

    Raises:
        DataError: the value is no document, its text is no string, or it has neither id nor text.
    """
    fields: Mapping[str, Any] | None
    if isinstance(value, str):
        if strings:
            try:
                return chunk_of(value)
            except UnicodeEncodeError:
                return Doc(text=repair.text(value))
        raise DataError(
            "an object is expected, not the string {value}",
            remedy='write {{"id": ...}} or {{"text": ...}}',
            value=shorten(value),
        )
    if isinstance(value, Doc):
        fields = {name: getattr(value, name) for name in ("id", "text", "score", "metadata")}
    # Most mappings are told by their keys alone, before the shapes of other tools are tried.
    elif isinstance(value, dict) and value.keys() <= _FIELDS:
        fields = value
    else:
        fields = foreign_fields(value) or (value if isinstance(value, Mapping) else None)
    if fields is None:
        raise DataError(
            "{value} is not a document; pass a document of LangChain, LlamaIndex "
            "or Haystack, a mapping with 'text' or 'id', or a string",
            value=named(value),
        )
    cleaned = clean_fields(fields, _FIELDS, repair, strings)
    doc = Doc(*cleaned, clean_score(fields.get("score")))
    if doc.id is None and doc.text is None:
        raise DataError("a document needs 'id' or 'text'; this one has neither")
    return doc


def as_docs(
    values: Iterable[object], repair: SurrogateRepair, place: str = "", strings: bool = True
) -> tuple[Doc, ...]:
    """`as_doc` for a ranked list; an error says the `place` where it happened and at which rank.

    In Python an entry may as well be a pair of document and score, as LangChain's
    ``similarity_search_with_score`` gives them. Without `place`, an error's field is the position
    in the list: ``[0].score``.
    """

    def ranked(value: object) -> Doc:
        if strings and isinstance(value, (tuple, list)) and is_pair(value):
            document, score = value
            return replace(as_doc(document, repair), score=clean_score(score))
        return as_doc(value, repair, strings)

    return clean_each(values, ranked, place and f"{place}, rank")


@_of_text_made_once
def chunk_of(text: str) -> Doc:
    """The document that is a text and nothing else, one for all that have the same text."""
    text.encode()  # one with something to mend is not kept, as mending is counted
    return Doc(text=text)


def is_pair(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a pair of something and a score: a number of any kind, or None."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    score = value[1]
    return score is None or (hasattr(score, "__float__") and not isinstance(score, bool))


def named(value: object) -> str:
    """A value for an error message: its type, and what it is, in one line."""
    if value is None:
        return "None"
    return f"{type(value).__name__} {' '.join(shorten(value).split())}"


def clean_each(
    values: Iterable[_Value], clean: Callable[[_Value], _Cleaned], path: str = "", field: str = ""
) -> tuple[_Cleaned, ...]:
    """What `clean` makes of each value.

    Raises:
        DataError: as `clean`; it happened at a number (from 1) behind `path` if there is one, else
            at a position (from 0) of `field`.
    """
    cleaned: list[_Cleaned] = []
    try:
        for value in values:
            cleaned.append(clean(value))  # noqa: PERF401  # the error tells how far it got
    except DataError as error:
        place = "" if path else f"{field}[{len(cleaned)}]"
        raise error.within(place, path=path and f"{path} {len(cleaned) + 1}") from None
    return tuple(cleaned)


def clean_fields(
    value: Mapping[str, Any], names: KeysView[str], repair: SurrogateRepair, strings: bool
) -> tuple[str | None, str | None, Mapping[str, Any]]:
    """The id, text and metadata of a mapping; `strings` is False in files, as of `as_doc`.

    Raises:
        DataError: one of them is broken, or `value` has a field that is not among the `names`.
    """
    refuse_unknown(value, names)
    text = value["text"] if "text" in value else value.get("page_content", value.get("content"))
    return (
        clean_id(value.get("id"), repair),
        None if text is None else clean_text(text, repair),
        clean_metadata(value.get("metadata"), repair if strings else None),
    )


def unknown_field(name: str, names: Iterable[str]) -> DataError:
    """The error for a field that is not among the known ones."""
    remedy = message("{hint} (all else belongs under 'metadata')", hint=nearest(name, names))
    return DataError("unknown field", field=name, remedy=remedy)


def refuse_unknown(value: Mapping[str, Any], names: KeysView[str]) -> None:
    """Raise that error where a mapping has a field that is not among the names."""
    if unknown := value.keys() - names:
        raise unknown_field(min(map(str, unknown)), names)


def clean_text(value: object, repair: SurrogateRepair) -> str:
    """`value` if it is a string, mended; else a `DataError`."""
    if not isinstance(value, str):
        raise not_a_text(value)
    return repair.text(value)


def clean_id(value: object, repair: SurrogateRepair) -> str | None:
    """An id as a string (of a whole number its digits, of a UUID its text), None if there is none.

    Raises:
        DataError: it is of another kind, or a text in which nothing stands: documents whose id is
            "" would all be the same one.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if not value or value.isspace():
            raise DataError("the id is empty", remedy="remove it or fill it in")
        return repair.text(value)
    if not isinstance(value, bool) and isinstance(value, (Integral, UUID)):  # numpy's too
        return str(value)
    raise DataError(
        "an id must be a string or a whole number, not {kind} ({value})",
        kind=type(value).__name__,
        value=shorten(value),
    )


def needed_id(value: object, repair: SurrogateRepair) -> str:
    """The same where an id cannot be left out: in a list of ids, or as a key."""
    doc_id = clean_id(value, repair)
    if doc_id is None:
        raise DataError("the id is empty", remedy="remove it or fill it in")
    return doc_id


def clean_number(value: object, field: str) -> float | None:
    """A finite float, None if there is none; else a `DataError` that names the field."""
    number = _as_number(value)
    if number is not None and number - number != 0.0:  # only NaN and the infinities
        raise DataError("must be a finite number, not {value}", field=field, value=shorten(value))
    return number


LONGEST = 1e6
"""More seconds than this, eleven days, no answer takes; it may be a time of day."""


def clean_seconds(value: object) -> float | None:
    """How long an answer took, None if that is not known; else a `DataError`."""
    seconds = clean_number(value, "seconds")
    if seconds is not None and not 0 <= seconds <= LONGEST:
        raise DataError(
            "must be how long the answer took, 0 to {longest:,.0f} seconds, not {value}",
            field="seconds",
            longest=LONGEST,
            value=shorten(value),
        )
    return seconds


INFINITE = {"Infinity": float("inf"), "-Infinity": float("-inf")}
"""Infinite scores as results files hold them: JSON has no number for these."""


def clean_score(value: object, field: str = "score") -> float | None:
    """The same for a score, which may be infinite as well, as a number or by name (`INFINITE`)."""
    number = INFINITE[value] if isinstance(value, str) and value in INFINITE else _as_number(value)
    if number is not None and isnan(number):
        raise DataError("must be a number, not {value}", field=field, value=shorten(value))
    return number


def score_record(score: float | None) -> float | str | None:
    """A score as JSON holds it."""
    names = {number: name for name, number in INFINITE.items()}
    return score if score is None else names.get(score, score)


def doc_record(doc: Doc) -> dict[str, Any]:
    """A document as a results file holds it."""
    return present(
        id=doc.id, text=doc.text, score=score_record(doc.score), metadata=dict(doc.metadata)
    )


def present(**fields: Any) -> dict[str, Any]:
    """The fields that hold something; an empty text is something, an empty list is not."""
    return {
        name: value for name, value in fields.items() if value is not None and value not in ([], {})
    }


def _as_number(value: object) -> float | None:
    """A float, None if there is none; what is no number is NaN."""
    if value is None:
        return None
    try:
        # numpy's numbers are numbers too; strings, booleans and arrays, even of one, are not.
        if type(value) is float:
            return value
        is_other = isinstance(value, (str, bool)) or hasattr(value, "__len__")
        return nan if is_other else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return nan


def clean_metadata(value: object, repair: SurrogateRepair | None = None) -> Mapping[str, Any]:
    """A copy of a metadata mapping, empty if there is none; else a `DataError`.

    `repair` mends the texts within; None for what a file holds, which was mended as it was read.
    """
    if value is None:
        return {}
    if not isinstance(value, (dict, Mapping)):
        raise DataError(
            "must be a mapping (a JSON object), not {kind}",
            field="metadata",
            kind=type(value).__name__,
        )
    # Whoever mends a plain dict makes another one anyway.
    copied = value if repair is not None and type(value) is dict else dict(value)
    return copied if repair is None else repair.value(copied)


def is_lacking(value: Any) -> bool:
    """Whether a value says that there is none, as pandas does in an empty cell."""
    # NaN, NaT and NA are what is not equal to itself, or cannot tell.
    return type(value).__name__ in ("NAType", "NaTType") or bool(value != value)  # noqa: PLR0124


def value_at(metadata: Mapping[str, Any], path: str) -> Any:
    """The value at a path (``source``, ``file.page``, ``metadata.file.page``); None if absent.

    A key that itself holds dots wins over a nested one, at every level.

    >>> value_at({"file": {"page": 3, "page.of": 9}}, "metadata.file.page.of")
    9
    """
    if path not in metadata:
        path = path.removeprefix("metadata.")
    while path not in metadata:
        head, _, path = path.partition(".")
        inner = metadata.get(head)
        if not path or not isinstance(inner, Mapping):
            return None
        metadata = inner
    return metadata[path]


def ranked(answer: Any, repair: SurrogateRepair, place: str) -> tuple[Doc, ...]:
    """The ranked documents of an answer.

    Args:
        answer: a sequence of documents or of ``(document, score)`` pairs; scores by id, which are
            ranked as a TREC run; a mapping in which one list holds documents, as LangChain's chains
            give it (``{"context": [...]}``); or what a database's client gave (`answer_list`).
        repair: mends their texts.
        place: for errors.

    Raises:
        DataError: it is none of these; the error quotes it.
    """
    entries: Any = answer if type(answer) is list else answer_list(answer)
    if entries is None and isinstance(answer, Mapping):
        lists = {  # of documents or texts; an empty one may be of either
            name: value
            for name, value in answer.items()
            if _is_list(value) and all(isinstance(doc, str) or is_doc(doc) for doc in value)
        }
        has_numbers = any(hasattr(value, "__float__") for value in answer.values())
        if not lists and (has_numbers or not answer):
            scores = ((needed_id(key, repair), key, score) for key, score in answer.items())
            return rank_by_score(
                [
                    Doc(doc_id, score=clean_score(score, message("the score of {key!r}", key=key)))
                    for doc_id, key, score in scores
                ]
            )
        entries = _only_list(answer, lists)
    entries = answer if entries is None else entries
    if type(entries) is not list and not _is_list(entries):
        raise _no_list(
            answer,
            message(
                "a list of documents is expected; in an agent @kragx.searched marks what searches"
            )
            if isinstance(answer, str)
            else message("a list of documents is expected"),
        )
    return as_docs(entries, repair, place)


def rank_by_score(docs: Sequence[Doc]) -> tuple[Doc, ...]:
    """A TREC run's order: by score descending, ties by id descending (as UTF-8 bytes)."""

    def key(doc: Doc) -> tuple[float, bytes]:
        score = float("-inf") if doc.score is None else doc.score
        return score, (doc.id or "").encode("utf-8", "surrogatepass")

    return tuple(sorted(docs, key=key, reverse=True))


def is_answer(value: object) -> bool:
    """Whether a value answers one question: a list of documents, or any mapping with some."""
    return _is_list(value) or isinstance(value, Mapping) or answer_list(value) is not None


def _is_list(value: object) -> bool:
    # An array of numpy is no Sequence; a set is none either, and has no order.
    is_array = type(value).__name__ == "ndarray"
    return is_array or (isinstance(value, Sequence) and not isinstance(value, (str, bytes)))


def _only_list(answer: Mapping[Any, Any], lists: Mapping[Any, Any]) -> object:
    """The list of documents that a mapping holds."""
    documents = [name for name, value in lists.items() if len(value) and all(map(is_doc, value))]
    # Without any, an empty list or one of texts may be meant, but not one of anything else.
    texts = [name for name, value in lists.items() if all(isinstance(text, str) for text in value)]
    names = documents or texts
    if len(names) == 1 or (names and not any(len(lists[name]) for name in names)):
        return lists[names[0]]
    raise _no_list(
        answer,
        message(
            "one list in it must hold documents, but of {names} it is not clear which does"
            if names
            else "one list in it must hold documents, but none does",
            names=", ".join(map(repr, names)),
        ),
    )


def is_doc(value: object) -> bool:
    """Whether a value looks like a document of its own, and not like a mere text."""
    if is_pair(value):
        value = value[0]
    if isinstance(value, Mapping) and not value.keys().isdisjoint(("id", *TEXT_FIELDS)):
        return True
    return isinstance(value, Doc) or foreign_fields(value) is not None


def _no_list(answer: object, problem: str) -> DataError:
    return DataError("the retriever returned {answer}; {why}", answer=named(answer), why=problem)

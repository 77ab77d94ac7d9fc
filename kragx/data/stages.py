"""Stages: what each step of a retrieving chain returned to a question, beside its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kragx.data.documents import (
    Doc,
    as_doc,
    clean_each,
    clean_metadata,
    clean_score,
    clean_seconds,
    clean_text,
    doc_record,
    present,
    score_record,
    unknown_field,
)
from kragx.data.text import Mender
from kragx.errors import DataError, shorten


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


_FIELDS = dict.fromkeys(("name", "inputs", "retrieved", "seconds", "error"))
_CHANGED = dict.fromkeys(("same", "score", "metadata"))


def stage_records(stages: Iterable[Stage], retrieved: Sequence[Doc]) -> list[dict[str, Any]]:
    """Stages as a results file holds them: each document is written once.

    One that stands in `retrieved`, or in an earlier stage, is its number there: from 0 on those of
    `retrieved`, then those that stages add. Where its score or metadata are others, these stand
    beside the number: ``{"same": 3, "score": 0.7}``.
    """
    numbers: dict[tuple[str | None, str | None], tuple[int, Doc]] = {}
    for number, doc in enumerate(retrieved):
        numbers.setdefault((doc.id, doc.text), (number, doc))
    n_known = len(retrieved)

    def record(doc: Doc) -> int | dict[str, Any]:
        nonlocal n_known
        number, before = numbers.setdefault((doc.id, doc.text), (n_known, doc))
        if before is doc and number == n_known:
            n_known += 1
            return doc_record(doc)
        if _is_same(before, doc):
            return number
        return {"same": number, "score": score_record(doc.score), "metadata": dict(doc.metadata)}

    return [
        {
            "name": stage.name,
            **present(inputs=list(stage.inputs)),
            "retrieved": list(map(record, stage.documents)),
            **present(seconds=stage.seconds, error=stage.error),
        }
        for stage in stages
    ]


def _is_same(before: Doc, doc: Doc) -> bool:
    try:
        return before is doc or bool(before == doc)
    except Exception:  # whatever foreign values raise when they are compared
        return False


def as_stages(values: object, retrieved: Sequence[Doc], mender: Mender) -> tuple[Stage, ...]:
    """The stages of a results file; see `stage_records`.

    Args:
        values: the list.
        retrieved: the documents that numbers mean first.
        mender: mends their texts.

    Raises:
        DataError: it is no such list; the error's field says where.
    """
    if not isinstance(values, list):
        raise DataError(f"must be a list of stages, not {shorten(values)}")
    documents, names = list(retrieved), set[str]()

    def document(value: object) -> Doc:
        if isinstance(value, int) and not isinstance(value, bool):
            return _numbered(value, documents)
        if isinstance(value, Mapping) and "same" in value:
            if unknown := value.keys() - _CHANGED.keys():
                raise unknown_field(str(min(unknown)), _CHANGED)
            number = value["same"]
            if not isinstance(number, int) or isinstance(number, bool):
                raise DataError(f"must be a document's number, not {shorten(number)}", field="same")
            return replace(
                _numbered(number, documents),
                score=clean_score(value.get("score")),
                metadata=clean_metadata(value.get("metadata"), mender),
            )
        documents.append(as_doc(value, mender, strings=False))
        return documents[-1]

    def stage(value: object) -> Stage:
        if not isinstance(value, Mapping):
            raise DataError(f"must be an object with 'name' and 'retrieved', not {shorten(value)}")
        if unknown := value.keys() - _FIELDS.keys():
            raise unknown_field(str(min(unknown)), _FIELDS)
        name = value.get("name")
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"must be the name of the stage, not {shorten(name)}", field="name")
        if name in names:
            raise DataError(f"{name!r} stands twice; number the second one", field="name")
        inputs = _list(value, "inputs", "names of earlier stages")
        for source in inputs:
            if not isinstance(source, str) or source not in names:
                raise DataError(f"no earlier stage is called {shorten(source)}", field="inputs")
        names.add(name)
        error = value.get("error")
        docs = _list(value, "retrieved", "documents, or of their numbers")
        return Stage(
            name=mender.mend(name),
            inputs=tuple(map(mender.mend, inputs)),
            documents=clean_each(docs, document, field="retrieved"),
            seconds=clean_seconds(value.get("seconds")),
            error=None if error is None else clean_text(error, mender),
        )

    return clean_each(values, stage)


def _numbered(number: int, docs: Sequence[Doc]) -> Doc:
    if not 0 <= number < len(docs):
        raise DataError(f"there is no document {number} before it; there are {len(docs)}")
    return docs[number]


def _list(value: Mapping[str, Any], name: str, kind: str) -> list[Any]:
    entries = value.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise DataError(f"must be a list of {kind}, not {shorten(entries)}", field=name)
    return entries


def last_stages(stages: Iterable[Stage]) -> Iterator[Stage]:
    """The stages whose documents no other stage got."""
    stages = tuple(stages)
    inputs = {name for stage in stages for name in stage.inputs}
    return (stage for stage in stages if stage.name not in inputs)

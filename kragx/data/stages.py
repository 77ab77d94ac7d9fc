"""Stages: what each step of a retrieving chain returned to a question, beside its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kragx.data.documents import (
    Doc,
    Key,
    as_doc,
    clean_each,
    clean_metadata,
    clean_score,
    clean_seconds,
    clean_text,
    doc_record,
    key_of,
    present,
    refuse_unknown,
    score_record,
)
from kragx.data.text import Mender
from kragx.ground.errors import DataError, shorten


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


_FIELDS = dict.fromkeys(("name", "inputs", "retrieved", "seconds", "error")).keys()
_CHANGED = dict.fromkeys(("same", "score", "metadata")).keys()


def stage_records(stages: Iterable[Stage], docs: NumberedDocs) -> list[dict[str, Any]]:
    """Stages as a results file holds them: each document is written once."""
    return [
        {
            "name": stage.name,
            **present(inputs=list(stage.inputs)),
            "retrieved": list(map(docs.record, stage.documents)),
            **present(seconds=stage.seconds, error=stage.error),
        }
        for stage in stages
    ]


class NumberedDocs:
    """Documents of one question as a results file holds them: each is written once.

    One that stands in `retrieved`, or was written before, is its number: from 0 on those of
    `retrieved`, then those that were written in full. Where its score or metadata are others, these
    stand beside the number: ``{"same": 3, "score": 0.7}``.

    Args:
        retrieved: what the question got.
        mender: mends the texts of those that are read.
        distinct: whether a document that stands twice in a list has one number; else what stands
            twice has two places, and numbers mean places.

    Attributes:
        docs: by number.
    """

    def __init__(
        self, retrieved: Iterable[Doc], mender: Mender | None = None, *, distinct: bool = False
    ) -> None:
        self._mender = mender or Mender()
        self._distinct = distinct
        self._numbers: dict[Key, int] = {}
        self.docs: list[Doc] = []
        self.add(*retrieved)

    def add(self, *docs: Doc) -> None:
        """Make documents known."""
        for doc in docs:
            number = self._numbers.setdefault(key_of(doc), len(self.docs))
            if number == len(self.docs) or not self._distinct:
                self.docs.append(doc)

    def number(self, doc: Doc) -> int | None:
        """The number of a document; None if it is not known."""
        return self._numbers.get(key_of(doc))

    def record(self, doc: Doc) -> int | dict[str, Any]:
        """A document as it is written, from here on known."""
        number = self.number(doc)
        if number is None:
            self.add(doc)
            return doc_record(doc)
        with suppress(Exception):  # whatever foreign values raise when they are compared
            if self.docs[number] is doc or self.docs[number] == doc:
                return number
        return {"same": number, "score": score_record(doc.score), "metadata": dict(doc.metadata)}

    def read(self, value: object, *, strings: bool = False) -> Doc:
        """A document, by its number or in full; then it is known from here on.

        Raises:
            DataError: it is none, or no document has the number.
        """
        if isinstance(value, int) and not isinstance(value, bool):
            return self.at(value)
        if isinstance(value, Mapping) and "same" in value:
            return self._changed(value)
        doc = as_doc(value, self._mender, strings=strings)
        self.add(doc)
        return doc

    def at(self, number: int) -> Doc:
        """The document with a number."""
        if not 0 <= number < len(self.docs):
            raise DataError(
                "there is no document {number} before it; there are {n_docs}",
                number=number,
                n_docs=len(self.docs),
            )
        return self.docs[number]

    def _changed(self, value: Mapping[str, Any]) -> Doc:
        """A known document with another score, or other metadata."""
        refuse_unknown(value, _CHANGED)
        number = value["same"]
        if not isinstance(number, int) or isinstance(number, bool):
            raise DataError(
                "must be a document's number, not {number}", field="same", number=shorten(number)
            )
        return replace(
            self.at(number),
            score=clean_score(value.get("score")),
            metadata=clean_metadata(value.get("metadata"), self._mender),
        )


def as_stages(values: object, documents: NumberedDocs, mender: Mender) -> tuple[Stage, ...]:
    """The stages of a results file; see `stage_records`.

    Args:
        values: the list.
        documents: those that numbers mean.
        mender: mends their texts.

    Raises:
        DataError: it is no such list; the error's field says where.
    """
    if not isinstance(values, list):
        raise DataError("must be a list of stages, not {values}", values=shorten(values))
    names = set[str]()

    def stage(value: object) -> Stage:
        if not isinstance(value, Mapping):
            raise DataError(
                "must be an object with 'name' and 'retrieved', not {value}", value=shorten(value)
            )
        refuse_unknown(value, _FIELDS)
        name = value.get("name")
        if not isinstance(name, str) or not name.strip():
            raise DataError(
                "must be the name of the stage, not {name}", field="name", name=shorten(name)
            )
        if name in names:
            raise DataError("{name!r} stands twice; number the second one", field="name", name=name)
        inputs = _list(value, "inputs", "names of earlier stages")
        for source in inputs:
            # Of earlier ones alone, so that no stage leads back to itself.
            if not isinstance(source, str) or source not in names:
                raise DataError(
                    "no earlier stage is called {source}", field="inputs", source=shorten(source)
                )
        names.add(name)
        error = value.get("error")
        docs = _list(value, "retrieved", "documents, or of their numbers")
        return Stage(
            name=mender.mend(name),
            inputs=tuple(map(mender.mend, inputs)),
            documents=clean_each(docs, documents.read, field="retrieved"),
            seconds=clean_seconds(value.get("seconds")),
            error=None if error is None else clean_text(error, mender),
        )

    return clean_each(values, stage)


def _list(value: Mapping[str, Any], name: str, kind: str) -> list[Any]:
    entries = value.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise DataError(
            "must be a list of {kind}, not {entries}",
            field=name,
            kind=kind,
            entries=shorten(entries),
        )
    return entries


def last_stages(stages: Iterable[Stage]) -> Iterator[Stage]:
    """The stages whose documents no other stage got."""
    stages = tuple(stages)
    inputs = {name for stage in stages for name in stage.inputs}
    return (stage for stage in stages if stage.name not in inputs)

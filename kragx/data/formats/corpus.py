"""Corpus files: JSON Lines of ``{"id", "text", "metadata"?}``."""

from __future__ import annotations

from pathlib import Path

from kragx.data.documents import Doc, as_doc
from kragx.data.formats.jsonl import read_records
from kragx.data.text import Mender
from kragx.errors import DataError


def read_corpus(path: str | Path) -> list[Doc]:
    """Read a corpus: JSON Lines of ``{"id", "text", "metadata"?}``.

    Raises:
        DataError: the file is empty, a document in it has no id or no text, or an id stands twice.
    """
    mender = Mender()
    docs: list[Doc] = []
    lines: dict[str, int] = {}
    for number, record in read_records(path, mender):
        try:
            doc = as_doc(record, mender)
        except DataError as error:
            raise error.within(path=f"{path}:{number}") from None
        if doc.id is None or doc.text is None:
            raise DataError(f"{path}:{number}: a document of a corpus needs 'id' and 'text'")
        if doc.id in lines:
            raise DataError(
                f"{path}:{number}: id {doc.id!r} stands twice (first in line {lines[doc.id]}); "
                "give each document its own"
            )
        lines[doc.id] = number
        docs.append(doc)
    if not docs:
        raise DataError(f"{path}: the corpus is empty; one JSON object a line is expected")
    return docs

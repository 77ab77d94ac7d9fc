"""From records as most are to a block: each text is looked up while its record is at hand.

What is said here is what the checks of one field after the other (`formats.format.Fields`) say as
well, in a tenth of the time; whatever is not plain is left to them, and so is what makes an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from kragx.data.block import NO_TEXT, Block, Entries
from kragx.data.columns import NotPlainError, columns
from kragx.data.documents import clean_seconds
from kragx.data.known import KnownTexts, NoTextError, known_texts
from kragx.data.lists import Lists
from kragx.errors import DataError

_FIELDS = frozenset(("query_id", "query", "gold", "retrieved", "seconds"))
_TEXT = itemgetter("text")
_MOST_NEW = 1 << 23


class Gathering:
    """Gathers records of gold and results files that have no other fields than most.

    Args:
        mended: whether lone surrogates were replaced already, as in what was read as JSON.
    """

    def __init__(self, *, mended: bool) -> None:
        self._mended = mended
        # (line, query id, question, whether anything was retrieved, seconds)
        self._rows: list[tuple[int | None, str, str | None, bool, float | None]] = []

    def _begin(self) -> None:
        self._known = known_texts()
        self._known.make_room()
        self._n_before = self._known.n_characters
        self._golds, self._docs = _Gathered(self._known), _Gathered(self._known)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_full(self) -> bool:
        """Whether it has some million characters of texts that were not known before."""
        return self._known.n_characters - self._n_before > _MOST_NEW

    def add(self, line: int | None, record: Mapping[str, Any]) -> bool:
        """Add a record, if it is plain."""
        query_id, question = record.get("query_id"), record.get("query")
        if type(query_id) is int:
            query_id = str(query_id)
        if not (
            record.keys() <= _FIELDS
            and type(query_id) is str
            and query_id.strip()
            and (question is None or type(question) is str)
        ):
            return False
        if not self._rows:  # not before: who takes a block may have the texts forgotten meanwhile
            self._begin()
        is_answered = "retrieved" in record
        try:
            golds, gold_texts = _read(record.get("gold", []), "grade")
            docs, doc_texts = _read(record["retrieved"] if is_answered else [], "score")
            if not all(map(str.strip, gold_texts)):
                return False  # an empty one stands in every document, which is an error
            texts = [*gold_texts, *doc_texts]
            if not self._mended:
                f"{query_id}{question}{''.join(texts)}".encode()
            numbers = self._known.numbers(texts)
            seconds = clean_seconds(record["seconds"]) if "seconds" in record else None
        except (NotPlainError, NoTextError, KeyError, TypeError, UnicodeEncodeError, DataError):
            return False
        self._golds.add(numbers[: len(gold_texts)], golds)
        self._docs.add(numbers[len(gold_texts) :], docs)
        self._rows.append((line, query_id, question, is_answered, seconds))
        return True

    def blocks(self) -> Iterator[Block]:
        """What was gathered, if anything was; from here on it gathers anew."""
        if not self._rows:
            return
        lines, query_ids, questions, answered, seconds = zip(*self._rows)
        golds, docs = self._golds.entries(), self._docs.entries()
        self._rows = []
        yield Block(lines, query_ids, questions, golds, docs, answered, seconds)


_Others = tuple[int, Mapping[str, list[Any]]]
"""How many entries a list has, and what stands in these beside texts."""


def _read(entries: Any, number: str) -> tuple[_Others, Sequence[str]]:
    """What stands in a list, and its texts; none of them, if the entries have none.

    Args:
        entries: of the list.
        number: the name of the one field that is a number.

    Raises:
        NotPlainError, KeyError, TypeError: they are not plain.
    """
    if type(entries) is not list:
        raise NotPlainError
    n = len(entries)
    if not n:
        return (0, {}), ()
    if {*map(len, entries)} == {1} and "text" in entries[0]:  # each is a text alone
        return (n, {}), [*map(_TEXT, entries)]
    plain = columns(entries, number, strings=False, keep=lambda texts: texts)
    if plain is None:
        raise NotPlainError
    beside = {"ids": plain.ids, "numbers": plain.numbers, "metadata": plain.metadata}
    others = {name: [*own] for name, own in beside.items() if own is not None}
    return (n, others), plain.texts or ()


class _Gathered:
    """The documents, or the gold items, that were gathered."""

    def __init__(self, known: KnownTexts) -> None:
        self._known = known.texts
        self._n: list[int] = []
        self._texts: list[int] = []
        self._columns: dict[str, list[Any]] = {}

    def add(self, texts: list[int], entries: _Others) -> None:
        """Add a list that was read."""
        n, others = entries
        if others or self._columns:
            for name in {**self._columns, **others}:
                column = self._columns.setdefault(name, [None] * len(self._texts))
                column += others.get(name) or [None] * n
        self._texts += texts or [NO_TEXT] * n
        self._n.append(n)

    def entries(self) -> Entries:
        """All of them."""
        numbers, n = np.array(self._texts, np.int64), np.array(self._n, np.int64)
        return Entries(Lists(self._known, numbers, n), **self._columns)

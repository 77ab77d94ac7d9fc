"""Any source of data, read query by query: from the kind of file to records to queries.

A source holds records, which its kind (`formats.kinds`) takes out of it, and all of them are of one
of the `FORMATS`, recognised by its fields.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from kragx.data.batch import Batch, Row, batched
from kragx.data.formats import FORMATS, tabular
from kragx.data.formats.format import Fields
from kragx.data.formats.jsonl import first_line, is_in_lines, read_records
from kragx.data.formats.kinds import Records, kind_of, name_of
from kragx.data.formats.located import is_located
from kragx.data.formats.parquet import Table
from kragx.data.formats.passages import columns_hint
from kragx.data.gold import Gold, Query, named_items
from kragx.data.problems import Problems
from kragx.data.text import normalise
from kragx.errors import DataError, UsageError, nearest, shorten
from kragx.printing import phrase

_AT_ONCE = 512
"""Questions of a batch: so many are read, and then matched, that caches stay warm."""


class Reading:
    """A source, read query by query.

    Iterating yields (line, query, what was retrieved for it or None), each query id once.

    Args:
        source: as of `read_dataset`.
        format: the same.
        columns: the same.
        encoding: the same.
        strict: the first mistake ends the reading with a `DataError`; else all are collected.
        lines: see below.

    Attributes:
        name: of the source: its file's name.
        format: its format, once it is recognised.
        problems: what is wrong with it, as far as it was read.
        lines: some whole lines of a JSON Lines file with their numbers, which are read instead of
            all of it; None for all.

    Raises:
        UsageError: an argument is wrong.
        DataError: while iterating: the file cannot be taken apart at all (unreadable, not JSON, not
            CSV), or holds no query.
    """

    def __init__(
        self,
        source: object,
        format: str | None = None,  # noqa: A002
        columns: Mapping[str, str] | None = None,
        *,
        encoding: str | None = None,
        strict: bool = False,
        lines: Iterable[tuple[int, bytes]] | None = None,
    ) -> None:
        if format is not None and format not in FORMATS:
            problem = phrase("unknown value {value!r}", value=format)
            raise UsageError(problem, field="format", remedy=nearest(format, FORMATS))
        self.columns: Mapping[str, str] = columns or {}
        tabular.check_columns(self.columns)
        self.source: object = tabular.only_split(source)
        self.path: str | Path | None = source if isinstance(source, (str, Path)) else None
        self.name: str = name_of(self.source)
        self._asked_format = format
        self.format = FORMATS.get(format or "")
        self.encoding = encoding
        self.problems: Problems = Problems(
            "gold" if self.path is None else str(self.path),
            strict=strict,
            is_file=self.path is not None,
        )
        self.lines = lines

    @property
    def is_read_once(self) -> bool:
        """Whether it is gone once it was read, as standard input is."""
        return str(self.path) == "-"

    @property
    def is_parquet(self) -> bool:
        """Whether it is one or several Parquet files."""
        return not self.is_read_once and self._is_file and self._kind.name == "parquet"

    @property
    def is_json_lines(self) -> bool:
        """Whether it is a file whose lines can be read apart from each other."""
        is_lines = self._is_file and not self.columns and self._kind.name == "json"
        return is_lines and is_in_lines(str(self.path), first_line(str(self.path)))

    @property
    def _is_file(self) -> bool:
        is_named = self.path is not None or isinstance(self.source, Table)
        return is_named or is_located(self.source)

    @property
    def _kind(self) -> Any:
        return kind_of(self.source, self._asked_format)

    def anew(self) -> "Reading":
        """The same, to be read once more."""
        return Reading(
            self.source, self._asked_format, self.columns, encoding=self.encoding, strict=True
        )

    def batches(self) -> Iterator[Batch]:
        """The same as iterating gives, many questions at once."""
        return batched(self, _AT_ONCE, keep=False)

    def __iter__(self) -> Iterator[Row]:
        first: dict[str, tuple[str, int | None]] = {}
        records = self._records()
        for number, (line, record) in enumerate(self._recognised(records), start=1):
            assert self.format is not None  # recognised, or there is no record
            fields = Fields(record, self.format, self.problems, line, number)
            for query, retrieved in self.format.read(fields):
                place = self.problems.file, fields.line
                if query.id in first:
                    message = stands_twice(query.id, place, first[query.id])
                    self.problems.add(fields.line, "query_id", message, query_id=query.id)
                elif query.id:
                    first[query.id] = place
                    for name, message in contradictions(query):
                        self.problems.add(fields.line, name, message, query_id=query.id)
                    yield fields.line, query, retrieved
        if not first and not self.problems.found and self.lines is None:
            raise self.empty

    @property
    def empty(self) -> DataError:
        """The error of a file without any query."""
        return DataError(phrase("the file holds no query"), path=self.problems.file)

    def _records(self) -> Records:
        """The records of the source; the cells of tables under the names of fields."""
        if self.lines is not None:
            return read_records(str(self.path), self.problems, self.lines)
        if self._is_file:
            kind = self._kind
            self.format = self.format or FORMATS.get(kind.format)
            if self.format is FORMATS["qrels"] and self.columns:
                raise UsageError("columns: qrels have none to map")
            rows = kind.records(self.source, self.problems, self.encoding)
            return self._named(rows) if kind.is_table or self.columns else rows
        if isinstance(self.source, Mapping):
            return iter([(None, self.source)])
        if tabular.is_frame(self.source):
            return self._named(tabular.filled(tabular.rows_of_frame(self.source)))
        if isinstance(self.source, Sequence):
            return self._named(self._objects(self.source))
        raise UsageError(
            f"dataset: {type(self.source).__name__} is not a gold set; pass a GoldDataset, the "
            "path of a gold file, a DataFrame, lists of gold documents, or a mapping by query id"
        )

    def _named(self, rows: Records) -> Records:
        return tabular.named(rows, self.columns, self.problems)

    def _objects(self, values: Sequence[object]) -> Records:
        for number, value in enumerate(values, start=1):
            if isinstance(value, Mapping):
                yield number, value
            else:
                self.problems.add(number, None, f"an object is expected, not {shorten(value)}")

    def _recognised(self, rows: Records) -> Records:
        """All of the records; the first that has a format's own fields says which format it is.

        The first of all may have none: a question without gold may be no more than an id and text.
        """
        if self.format is not None:
            return rows
        passed = []
        for line, record in rows:
            passed.append((line, record))
            self.format = next((form for form in FORMATS.values() if form.recognises(record)), None)
            if self.format is not None:
                return chain(passed, rows)
        if not passed:
            return rows
        line, record = passed[0]
        if "query_id" not in record:
            for problem in self.problems.found:
                if (problem.field or "").startswith("columns."):
                    raise problem.error()  # a mapped column is not there, and that is why
            raise DataError(
                phrase(
                    "not recognised as a gold set or as results; its fields are {fields}; "
                    "{hint}; or name its format ({formats})",
                    fields=", ".join(map(repr, record)),
                    hint=columns_hint(record),
                    formats=", ".join(FORMATS),
                ),
                path=self.problems.file if line is None else f"{self.problems.file}:{line}",
            )
        self.format = FORMATS["gold"]
        return iter(passed)


def stands_twice(
    query_id: str, place: tuple[str, int | None], first: tuple[str, int | None]
) -> str:
    """What is wrong with an id that stood at another place (file and line) before."""
    position = f"on line {first[1]}" if first[0] == place[0] else f"in {first[0]}:{first[1]}"
    remark = "twice" if first[1] is None else f"twice (first {position})"
    return f"{query_id!r} stands {remark}; queries are joined by id, so each needs its own"


def contradictions(query: Query) -> Iterator[tuple[str, str]]:
    """What no number can be made of although each field is right: (field, what is wrong)."""
    golds = query.gold
    if query.answerable is False and (n_wanted := sum(gold.grade > 0 for gold in golds)):
        yield "answerable", f"false, but there are {n_wanted} gold items; keep one of the two"
    for position, gold in enumerate(golds):
        for place, item in named_items(position, gold):
            if item.text is not None and not item.text.strip():
                message = "an empty text; it is in every document, so it matches everything"
                yield f"{place}.text", message
    if len({gold.grade for gold in golds}) < 2:
        return
    first: dict[tuple[str | None, str, str], int] = {}
    for position, gold in enumerate(golds):
        if gold.id is None and gold.text is None:
            continue
        before = first.setdefault(passage_of(gold), position)
        if golds[before].grade != gold.grade:
            name, value = ("text", gold.text) if gold.id is None else ("id", gold.id)
            yield (
                f"gold[{position}].{name}",
                f"{name} {shorten(value)} also stands in gold[{before}], with grade "
                f"{golds[before].grade:g} instead of {gold.grade:g}: keep one",
            )


def passage_of(gold: Gold) -> tuple[str | None, str, str]:
    """What a gold item is: an id with other metadata may be of another passage."""
    return gold.id, normalise(gold.text or ""), str(gold.metadata)

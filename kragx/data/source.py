"""Any source of data, read query by query: from the kind of file to records to queries.

A source holds records, which `Reading` takes out of each kind of file, and all of them are of one
of the `FORMATS`, recognised by its fields.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from kragx.data.formats import FORMATS, tabular, trec
from kragx.data.formats.format import Fields
from kragx.data.formats.jsonl import Place, ending, file_name, first_line, read_records, read_whole
from kragx.data.gold import Gold, Query, named_items
from kragx.data.problems import Problems
from kragx.data.runs import Retrieved
from kragx.data.text import normalise
from kragx.errors import DataError, UsageError, nearest, shorten

_Rows = Iterator[tuple[int | None, Mapping[str, Any]]]
"""Records, each with the line on which it begins."""


class Reading:
    """A source, read query by query.

    Iterating yields (line, query, what was retrieved for it or None), each query id once.

    Args:
        source: as of `read_dataset`.
        format: the same.
        columns: the same.
        encoding: the same.
        strict: the first mistake ends the reading with a `DataError`; else all are collected.

    Attributes:
        name: of the source: its file's name.
        format: its format, once it is recognised.
        problems: what is wrong with it, as far as it was read.

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
    ) -> None:
        if format is not None and format not in FORMATS:
            raise UsageError(f"format: unknown value {format!r}; {nearest(format, FORMATS)}")
        self.columns = columns or {}
        tabular.check_columns(self.columns)
        self.source = source
        self.path = source if isinstance(source, (str, Path)) else None
        self.name = "gold" if self.path is None else file_name(self.path)
        self.format = FORMATS.get(format or "")
        self.encoding = encoding
        self.problems = Problems("gold" if self.path is None else str(self.path), strict=strict)
        self._lines: Mapping[Place, int] = {}  # of the parts of a file that is one record

    def __iter__(self) -> Iterator[tuple[int | None, Query, Retrieved | None]]:
        first_lines: dict[str, int | None] = {}
        rows = self._rows()
        if self.format is None:
            rows = self._recognised(rows)
        for number, (line, record) in enumerate(rows, start=1):
            assert self.format is not None  # recognised, or there is no record
            fields = Fields(record, self.format, self.problems, line, number, self._lines)
            for query, retrieved in self.format.read(fields):
                if query.id in first_lines:
                    first = first_lines[query.id]
                    twice = "twice" if first is None else f"twice (first on line {first})"
                    fields.report(
                        "query_id",
                        f"{query.id!r} stands {twice}; queries are joined by id, so each needs "
                        "its own",
                    )
                elif query.id:
                    first_lines[query.id] = fields.line
                    for name, message in contradictions(query):
                        fields.report(name, message)
                    yield fields.line, query, retrieved
        if not first_lines and not self.problems.found:
            raise DataError("the file holds no query", path=self.problems.file)

    def _recognised(self, rows: _Rows) -> _Rows:
        """All of the records; the first that has a format's own fields says which format it is.

        The first of all may have none: a question without gold may be no more than an id and text.
        """
        passed = []
        for line, record in rows:
            passed.append((line, record))
            self.format = next((form for form in FORMATS.values() if form.recognises(record)), None)
            if self.format is not None:
                return chain(passed, rows)
        if passed:
            line, record = passed[0]
            if "query_id" not in record:
                raise DataError(
                    "not recognised as a gold set; its fields are "
                    f"{', '.join(map(repr, record))}; name its format ({', '.join(FORMATS)}), or "
                    "map its columns",
                    path=self.problems.file if line is None else f"{self.problems.file}:{line}",
                )
            self.format = FORMATS["gold"]
        return iter(passed)

    def _rows(self) -> _Rows:
        """The records of the source; the cells of tables under the names of fields."""
        if self.path is not None:
            return self._rows_of_file(self.path)
        if isinstance(self.source, Mapping):
            return self._objects([(None, self.source)])
        if tabular.is_frame(self.source):
            return self._named(tabular.filled(tabular.rows_of_frame(self.source)))
        if isinstance(self.source, Sequence):
            return self._named(self._objects(enumerate(self.source, start=1)))
        raise UsageError(
            f"dataset: {type(self.source).__name__} is not a gold set; pass a GoldDataset, the "
            "path of a gold file, a DataFrame, lists of gold documents, or a mapping by query id"
        )

    def _rows_of_file(self, path: str | Path) -> _Rows:
        first = first_line(path)
        kind = kind_of(path, first)
        if self.format is None:
            if kind == "run":
                raise DataError(
                    "a TREC run, which holds no gold; pass it as the run", path=str(path)
                )
            self.format = FORMATS.get(kind)
        if self.format is FORMATS["qrels"]:
            if self.columns:
                raise UsageError("columns: qrels have none to map")
            return trec.qrels_records(path, self.problems)
        if kind == "table":
            cells = tabular.READERS[ending(path)](path, self.problems, self.encoding)
            return self._named(tabular.filled(cells))
        rows = self._json_rows(path, first)
        return self._named(rows) if self.columns else rows

    def _json_rows(self, path: str | Path, first: str) -> _Rows:
        whole = read_whole(path, first, self.problems.mender) if first else None
        if whole is None:
            return read_records(path, self.problems)
        value, lines = whole
        if isinstance(value, list):
            return self._objects((lines[number,], item) for number, item in enumerate(value))
        self._lines = lines
        return self._objects([(1, value)])

    def _named(self, rows: _Rows) -> _Rows:
        return tabular.named(rows, self.columns, self.problems)

    def _objects(self, values: Iterable[tuple[int | None, object]]) -> _Rows:
        for line, value in values:
            if isinstance(value, Mapping):
                yield line, value
            else:
                self.problems.add(line, None, f"an object is expected, not {shorten(value)}")


def contradictions(query: Query) -> Iterator[tuple[str, str]]:
    """What no number can be made of although each field is right: (field, what is wrong)."""
    golds = query.gold
    if query.answerable is False and (n_wanted := sum(gold.grade > 0 for gold in golds)):
        yield "answerable", f"false, but there are {n_wanted} gold items; keep one of the two"
    for position, gold in enumerate(golds):
        if gold.alternatives or (gold.text is not None and not gold.text.strip()):
            for place, item in named_items(position, gold):
                if item.text is not None and not item.text.strip():
                    message = "an empty text; it is in every document, so it matches everything"
                    yield f"{place}.text", message
    if any(gold.grade != golds[0].grade for gold in golds[1:]):
        yield from _two_grades(golds)


def _two_grades(golds: Sequence[Gold]) -> Iterator[tuple[str, str]]:
    """What stands there with one grade, and again with another."""
    first: dict[tuple[str | None, str, str], int] = {}
    for position, gold in enumerate(golds):
        if gold.id is None and gold.text is None:
            continue
        # An id with other metadata may be of another passage, of which a matcher can tell.
        what = (gold.id, normalise(gold.text or ""), str(gold.metadata))
        before = first.setdefault(what, position)
        if golds[before].grade != gold.grade:
            name, value = ("text", gold.text) if gold.id is None else ("id", gold.id)
            yield (
                f"gold[{position}].{name}",
                f"{name} {shorten(value)} also stands in gold[{before}], with grade "
                f"{golds[before].grade:g} instead of {gold.grade:g}: keep one",
            )


def kind_of(path: str | Path, first: str) -> str:
    """What a file holds by its ending, else its first line: a table, qrels, a run, or JSON."""
    suffix = ending(path)
    if suffix in (".json", ".jsonl", ".ndjson") or first.startswith(("{", "[")):
        return "json"
    if suffix in (".qrels", ".run"):
        return suffix[1:]
    kind = trec.kind_of_line(first)
    if suffix in tabular.READERS:  # which BEIR's qrels may be called, too
        columns = first.split("\t")
        is_table = len(columns) == 4 and not tabular.FIELDS.keys().isdisjoint(columns)
        return "qrels" if suffix == ".tsv" and kind == "qrels" and not is_table else "table"
    return kind or "json"

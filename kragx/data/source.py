"""Any source of data, read query by query: from the kind of file to records to queries.

A source holds records, which `Reading` takes out of each kind of file, and all of them are of one
of the `FORMATS`, recognised by its fields.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from kragx.data.batch import Batch, BatchBuilder, Row, in_rows
from kragx.data.documents import Doc, rank_by_score
from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats import FORMATS, every_format, format_named, format_names, tabular, trec
from kragx.data.formats.document_rows import DocumentRows, Role, fields_of, options_for
from kragx.data.formats.format import FORBIDDEN_IDS, STANDS_FOR, Fields, Format
from kragx.data.formats.jsonl import (
    ending,
    file_name,
    first_line,
    json_value,
    read_records,
    read_whole,
)
from kragx.data.formats.parquet import ParquetTable, files_of, is_located, located_name, shown
from kragx.data.formats.trec import Beir, beir_of
from kragx.data.gold import Query, named_items
from kragx.data.problems import Problems
from kragx.data.rules import RuleSet
from kragx.data.search_records import SEARCHES
from kragx.data.text import SurrogateRepair, normalise
from kragx.ground.errors import DataError, UsageError, shorten
from kragx.ground.printing import message

_Rows = Iterator[tuple[int | None, Mapping[str, Any]]]
"""Records, each with the line on which it begins."""

_Place = tuple[str, int | None]
"""A file and a line."""

_EMPTY_TEXT = message("an empty text; it is in every document, so it matches everything")
_EXAMPLE = '{"query_id": "q1", "query": "...", "gold": [{"text": "..."}]}'
_PIECE = 1 << 20
_AT_ONCE = 2048
"""Records of a batch, at most: so many are read, and then matched, that caches stay warm."""

_SELDOM = frozenset((FORBIDDEN, FORBIDDEN_IDS, SEARCHES, *STANDS_FOR))
"""Fields that few sources have: how one is evaluated and written depends on them."""


@dataclass(eq=False)
class Reading:
    """A source, read query by query.

    Iterating yields (line, query, what was retrieved for it or None), each query id once.

    Attributes:
        source: as of `read_dataset`.
        format_name: the format that it is asked to be; None recognises it.
        columns: as of `read_dataset`.
        encoding: the same.
        strict: the first mistake ends the reading with a `DataError`; else all are collected.
        lines: some whole lines of a JSON Lines file with their numbers, which are read instead of
            all of it; None for all.
        expected: what is looked for in it, where a table of documents may hold one of two things;
            None for whatever it holds.
        role: what such a table is said to hold, which its columns may leave open.
        name: of the source: its file's name.
        format: its format, once it is recognised.
        problems: what is wrong with it, as far as it was read.
        by_lines: whether it is read line by line, as JSON Lines; known once a query was read.

    Raises:
        UsageError: an argument is wrong.
        DataError: while iterating: the file cannot be taken apart at all (unreadable, not JSON, not
            CSV), or holds no query.
    """

    source: object
    format_name: str | None = None
    columns: Mapping[str, str] | None = None
    _: KW_ONLY
    encoding: str | None = None
    strict: bool = False
    lines: Iterable[tuple[int, bytes]] | None = None
    expected: Role | None = None
    role: Role | None = None

    def __post_init__(self) -> None:
        name, source = self.format_name, self.source
        self.format: Format | None = None if name is None else format_named(name)
        self._columns: Mapping[str, str] = self.columns or {}
        if self._columns:
            tabular.check_columns(self._columns)
        self.beir: Beir | None = beir_of(source)
        are_parquet = isinstance(source, ParquetTable) or is_located(source)
        self.is_located: bool = self.beir is None and are_parquet
        self.path: str | Path | None = source if isinstance(source, (str, Path)) else None
        self.name: str = name_of(source)
        self.problems: Problems = Problems(
            self.expected or "gold" if self.path is None else str(self.path),
            strict=self.strict,
            is_file=self.path is not None,
        )
        self.by_lines: bool = self.lines is not None
        self._is_json = self.by_lines

    @cached_property
    def forbidden(self) -> Mapping[str, Any]:
        """The rules before the first question, or in the schema of Parquet; empty without any.

        Raises:
            DataError: one of them is none, or the source cannot be read.
        """
        first: object = None
        if self.is_located:
            rules = next((rules for table in self._tables() if (rules := table.rules())), None)
            first = None if rules is None else {FORBIDDEN: rules}
        elif self.path is None:
            first = self.source[0] if isinstance(self.source, Sequence) and self.source else None
        elif Path(self.path).is_file() and ending(self.path) not in tabular.READERS:
            with suppress(ValueError, RecursionError):  # which whoever reads the file says
                first = json_value(first_line(self.path), SurrogateRepair())
        if not isinstance(first, Mapping) or [*first] != [FORBIDDEN]:
            return {}
        try:
            RuleSet.of(first[FORBIDDEN])
        except UsageError as error:
            field = error.within(FORBIDDEN).field
            path, remedy = self.problems.file, error.remedy
            raise DataError(error.problem, path=path, field=field, remedy=remedy) from None
        return dict(first[FORBIDDEN])

    @cached_property
    def _seldom(self) -> frozenset[str] | None:
        """Which of `_SELDOM` may stand anywhere in it; None where that takes reading it.

        A file is looked through once, for their names, in a small part of the time of reading it.
        """
        path = self.path if self.beir is None else self.beir.queries
        mapped = _SELDOM.intersection(self._columns)
        if self.is_located:
            columns = chain.from_iterable(table.schema().names for table in self._tables())
            return mapped | _SELDOM.intersection(map(str.lower, columns))
        if path is None or str(path) == "-":
            return None
        if not Path(path).is_file() or not Path(path).stat().st_size:
            return mapped
        # Whose bytes say nothing may have any.
        if self.encoding is not None or str(path).endswith((".gz", ".xlsx", ".xls")):
            return _SELDOM
        return mapped | _names_in(path)

    def _tables(self) -> Iterable[ParquetTable]:
        source = self.source
        return [source] if isinstance(source, ParquetTable) else map(ParquetTable, files_of(source))

    def may_hold(self, *fields: str) -> bool | None:
        """Whether one of some of `_SELDOM` may stand in it; None where that takes reading it."""
        return None if self._seldom is None else not self._seldom.isdisjoint(fields)

    @property
    def may_forbid(self) -> bool | None:
        """Whether anything may be forbidden in it; None where that takes reading it."""
        return bool(self.forbidden) or self.may_hold(FORBIDDEN, FORBIDDEN_IDS)

    @property
    def is_read_once(self) -> bool:
        """Whether it is gone once it was read, as standard input is."""
        return str(self.path) == "-"

    def anew(self) -> "Reading":
        """The same, to be read once more."""
        return replace(self, strict=True, lines=None)

    def __iter__(self) -> Iterator[Row]:
        return in_rows(self.batches())

    def batches(self) -> Iterator[Batch]:
        """The same, many questions at once."""
        builder, first = BatchBuilder(), dict[str, _Place]()
        yield from builder.batches(self._added(builder, first))
        if not first and not self.problems.found and self.lines is None:
            raise self.empty

    def _added(self, builder: BatchBuilder, first: dict[str, _Place]) -> Iterator[int]:
        """Add all records, and say of each how many questions are a batch.

        Args:
            builder: of batches.
            first: is told where each id stands first.
        """
        # Whoever wants all problems wants them in their order: nothing is read ahead.
        size = _AT_ONCE if self.problems.strict else 1
        for number, (line, record) in self._records():
            if [*record] != [FORBIDDEN] or record[FORBIDDEN] != self.forbidden:
                self._add(builder, first, line, record, number)
            yield 1 if len(first) == 1 else size  # of the first it is told soon

    def _add(
        self,
        builder: BatchBuilder,
        first: dict[str, _Place],
        line: int | None,
        record: Mapping[str, Any],
        number: int,
    ) -> None:
        """Add what a record says; what is wrong with it is reported."""
        assert self.format is not None  # recognised, or there is no record
        # An id that stands twice takes the longer way, which reports it.
        if self.format is FORMATS["gold"] and str(record.get("query_id")) not in first:
            query_id = builder.add_record(line, record, mended=self._is_json)
            if query_id is not None:
                first[query_id] = self.problems.file, line
                return
        fields = Fields(record, self.format, self.problems, line, number)
        for query, answer in self.format.read(fields):
            if query.id in first:
                file, before = first[query.id]
                problem = message(
                    "{id!r} stands twice (first on line {line}); queries are joined by id, so each "
                    "needs its own"
                    if before is not None and file == self.problems.file
                    else "{id!r} stands twice (first in {place}); queries are joined by id, so "
                    "each needs its own",
                    id=query.id,
                    line=before,
                    place=file if before is None else f"{file}:{before}",
                )
                fields.report("query_id", problem, of=query)
            elif query.id:
                first[query.id] = self.problems.file, line
                for name, wording in contradictions(query):
                    fields.report(name, wording, of=query)
                builder.add(line, query, answer)

    def _records(self) -> Iterator[tuple[int, tuple[int | None, Mapping[str, Any]]]]:
        """The records of one format, numbered within each file."""
        if not self.is_located:
            yield from enumerate(self._with_format(self._rows()), start=1)
            return
        for table in self._tables():
            self.problems.file = shown(table.file)
            if is_nested := self.is_nested(table):
                self.format = FORMATS["gold"]
            rows = table.records() if is_nested else self._of_table(table.rows())
            yield from enumerate(self._with_format(rows), start=1)

    def is_nested(self, table: ParquetTable) -> bool:
        """Whether a Parquet file has a row a question with nested lists, and is read as such."""
        return self.format in (None, FORMATS["gold"]) and not self._columns and table.is_nested()

    @property
    def empty(self) -> DataError:
        """The error of a file without any query."""
        return DataError(
            "the file holds no query",
            path=self.problems.file,
            remedy="a line for each: {example}",
            example=_EXAMPLE,
        )

    def _with_format(self, rows: _Rows) -> _Rows:
        """All of the records; the first that has a format's own fields says which format it is.

        The first of all may have none: a question without gold may be no more than an id and text.
        """
        passed, gold = [], FORMATS["gold"]
        for line, record in rows if self.format is None else ():
            passed.append((line, record))
            # Most are, by fields that no other format has: these need not be asked.
            if not record.keys().isdisjoint(gold.marks) and record.keys() <= gold.fields.keys():
                self.format = gold
                return chain(passed, rows)
            for form in every_format():
                if form.recognises(record):
                    self.format = form
                    return chain(passed, rows)
        if passed:
            line, record = next((row for row in passed if [*row[1]] != [FORBIDDEN]), passed[0])
            if "query_id" not in record:
                for problem in self.problems.found:
                    if (problem.field or "").startswith("columns."):
                        raise problem.error()  # a mapped column is not there, and that is why
                raise DataError(
                    "not recognised as a gold set or as results; its fields are {fields}",
                    path=self.problems.file if line is None else f"{self.problems.file}:{line}",
                    remedy="say which is what, for example {options} (columns: in a config), or "
                    "name its format: {formats}"
                    if self.path is not None
                    else "say which is what, as read_dataset(..., columns={{'question': ..., "
                    "'answer_passage': ...}}), or name its format: {formats}",
                    fields=", ".join(map(repr, record)),
                    options=options_for(record, self.expected),
                    formats=", ".join(format_names()),
                )
            self.format = FORMATS["gold"]
        return chain(passed, rows)

    def _rows(self) -> _Rows:
        """The records of the source; the cells of tables under the names of fields."""
        if self.lines is not None:
            return read_records(str(self.path), self.problems, self.lines)
        if self.path is not None:
            return self._rows_of_file(self.path)
        if isinstance(self.source, Mapping):
            return self._objects([(None, self.source)])
        if tabular.is_frame(self.source):
            return self._of_table(tabular.rows_of_frame(self.source))
        if isinstance(self.source, Sequence):
            return self._named(self._objects(enumerate(self.source, start=1)))
        raise UsageError(
            "dataset: {kind} is not a gold set; pass a GoldDataset, the "
            "path of a gold file, a DataFrame, lists of gold documents, or a mapping by query id",
            kind=type(self.source).__name__,
        )

    def _rows_of_file(self, path: str | Path) -> _Rows:
        if self.beir is not None and self.format in (None, FORMATS["gold"]):
            self.format = FORMATS["gold"]
            return self.beir.records(self.problems)
        first = first_line(path)
        kind, suffix = kind_of(path, first), ending(path)
        if self.format is None:
            if kind == "run":
                raise DataError(
                    "a TREC run, which holds no gold; pass it as the run "
                    "(of kragx score: --gold FILE RUN)",
                    path=str(path),
                )
            self.format = FORMATS.get(kind)
        is_told = self.format_name is None and (self._columns or self.role)
        if is_told and self.format is FORMATS["qrels"] and suffix in tabular.READERS:
            self.format, kind = None, "table"  # BEIR's, in which somebody sees more
        if self.format is FORMATS["qrels"]:
            if self._columns:
                raise UsageError("columns: qrels have none to map")
            return trec.qrels_records(path, self.problems)
        if kind == "table":
            return self._of_table(tabular.READERS[suffix](path, self.problems, self.encoding))
        self._is_json = True
        whole = read_whole(path, first, self.problems.repair)
        if self.format is None and (numbers := _numbers_in(whole)):
            side = self.role or self.expected
            return self._of_table(_rows_of_numbers(numbers, "grade" if side == "gold" else "score"))
        self.by_lines = whole is None and not self._columns
        return self._named(
            read_records(path, self.problems) if whole is None else self._objects(whole)
        )

    def _of_table(self, rows: Iterable[tabular.Row]) -> _Rows:
        return self._named(tabular.filled(rows))

    def _named(self, rows: _Rows) -> _Rows:
        """Rows of questions, or of documents, under the names of fields, which JSON has."""
        first = next(rows, None)
        if first is None:
            return iter(())
        rows, table = chain([first], rows), None
        gold = FORMATS["gold"]
        if self.format in (None, gold) and (self._columns or not gold.recognises(first[1])):
            options = self.expected, self.role
            table = DocumentRows.of(first[1], self._columns, self.problems, *options)
        if table is not None:
            whole = list(rows)
            # Objects of JSON need not be alike, as rows of a table are.
            header = dict.fromkeys(chain.from_iterable(record for _, record in whole))
            table = DocumentRows.of(header, self._columns, self.problems, *options)
            if table is not None and table.are_documents(whole):
                self.by_lines = False  # a question may have several
                return table.records(whole)
            rows = iter(whole)
        is_named = self._is_json and not self._columns
        return rows if is_named else tabular.named(rows, self._columns, self.problems)

    def _objects(self, values: Iterable[tuple[int | None, object]]) -> _Rows:
        for line, value in values:
            if isinstance(value, Mapping):
                yield line, value
            else:
                problem = message("an object is expected, not {value}", value=shorten(value))
                self.problems.add(line, None, problem)


def _numbers_in(whole: object) -> Mapping[str, Mapping[str, float]]:
    """The numbers by document by question that a JSON file is, as ranx saves them; else empty."""
    value = whole[0][1] if isinstance(whole, list) else None
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        return {}
    numbers = [*chain.from_iterable(entry.values() for entry in value.values())]
    return value if numbers and all(type(number) in (int, float) for number in numbers) else {}


def _rows_of_numbers(
    numbers: Mapping[str, Mapping[str, float]], name: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """A row for each document, of a question the best first, as a TREC run is ranked."""
    for query_id, of_query in numbers.items():
        docs = rank_by_score([Doc(doc_id, score=number) for doc_id, number in of_query.items()])
        for doc in docs or [Doc()]:
            yield 1, {"query_id": query_id, "doc_id": doc.id, name: doc.score}


def contradictions(query: Query) -> Iterator[tuple[str, str]]:
    """What no number can be made of although each field is right: (field, what is wrong)."""
    golds = query.gold
    if query.answerable is False and (n_wanted := sum(gold.grade > 0 for gold in golds)):
        problem = message("false, but there are {n} gold items; keep one of the two", n=n_wanted)
        yield "answerable", problem
    for position, gold in enumerate(golds):
        for place, item in named_items(position, gold):
            if item.text is not None and not item.text.strip():
                yield f"{place}.text", _EMPTY_TEXT
    first: dict[tuple[str | None, str, str], int] = {}
    for position, gold in enumerate(golds):
        if gold.id is None and gold.text is None:
            continue
        # An id with other metadata may be of another passage.
        passage = gold.id, normalise(gold.text or ""), str(gold.metadata)
        before = first.setdefault(passage, position)
        if golds[before].grade != gold.grade:
            name, value = ("text", gold.text) if gold.id is None else ("id", gold.id)
            yield (
                f"gold[{position}].{name}",
                message(
                    "{name} {value} also stands in gold[{before}], with grade {first:g} instead of "
                    "{grade:g}: keep one",
                    name=name,
                    value=shorten(value),
                    before=before,
                    first=golds[before].grade,
                    grade=gold.grade,
                ),
            )


def name_of(source: object) -> str:
    """What a data set is called that is read from a source: as its file, or folder."""
    if (folder := beir_of(source)) is not None:
        return folder.name
    if is_located(source):
        return located_name(source)
    return file_name(source) if isinstance(source, (str, Path)) else "gold"


def kind_of_file(path: str | Path) -> str:
    """What a file holds; see `kind_of`."""
    return "table" if is_located(path) else kind_of(path, first_line(path))


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
        is_named = not tabular.FIELDS.keys().isdisjoint(columns) or fields_of(columns, {})[0]
        is_table = len(columns) == 4 and is_named
        return "qrels" if suffix == ".tsv" and kind == "qrels" and not is_table else "table"
    return kind or "json"


def _names_in(path: str | Path) -> frozenset[str]:
    """Which of `_SELDOM` a file has by its bytes.

    A text may well say "searches"; in JSON the name of a field stands in quotes. Of a table
    capitals make no difference.
    """
    is_table = ending(path) in tabular.READERS
    quote = b"" if is_table else b'"'
    name_of_bytes = {quote + name.encode() + quote: name for name in _SELDOM}
    names, before = set[str](), b""
    # Piece by piece: of a file that is mapped whole every page would count as this process's.
    with Path(path).open("rb") as file:
        while piece := file.read(_PIECE):
            piece = before + (piece.lower() if is_table else piece)
            names.update(name for text, name in name_of_bytes.items() if text in piece)
            before = piece[-max(map(len, name_of_bytes)) :]
    return frozenset(names)

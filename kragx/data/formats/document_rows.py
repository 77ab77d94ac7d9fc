"""Tables with a row for each document: what a search returned, what people judged, or both.

A question to which there is no document has a row in which nothing else stands.
"""

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

from kragx.data.documents import present
from kragx.data.formats import FORMATS
from kragx.data.formats.document_columns import (
    ANSWERS,
    NAMES,
    NUMBERS,
    OF_QUESTIONS,
    ORDERS,
    fields_of,
    hint,
    option,
    plain,
)
from kragx.data.formats.passages import column_like, in_yaml
from kragx.data.problems import DataWarning, Problems
from kragx.data.text import read_number
from kragx.data.weights import INCLUSION, WEIGHT, clean_inclusion, clean_weight
from kragx.errors import DataError, nearest, shorten
from kragx.printing import phrase
from kragx.warned import outside

Role = Literal["gold", "results"]
"""What a table with a row for each document may hold."""

_STANDS_FOR: Mapping[str, Callable[[object], float]] = {
    WEIGHT: clean_weight,
    INCLUSION: clean_inclusion,
}
"""What a question stands for, and what takes it."""

_INSTEAD = {"query_id": "query", "query": "query_id", "doc_id": "text", "text": "doc_id"}
_MARKS = {mark for form in FORMATS.values() for mark in form.marks}.difference(*NAMES.values())

_Rows = Iterator[tuple[int | None, Mapping[str, Any]]]


class _Row(NamedTuple):
    """A row: its line, its cells by field (numbers as such), and those of other columns."""

    line: int | None
    cells: dict[str, Any]
    beside: dict[str, Any]


@dataclass
class _Question:
    """What rows say of a question: its first line and text, asks, gold and documents with lines."""

    line: int | None
    text: str | None = None
    asks: dict[str, tuple[int | None, float]] = field(default_factory=dict)
    gold: dict[object, tuple[int | None, dict[str, Any]]] = field(default_factory=dict)
    retrieved: list[tuple[float, int | None, dict[str, Any]]] = field(default_factory=list)


@dataclass(frozen=True)
class DocumentRows:
    """A table with a row for each document.

    Attributes:
        fields: the column of each of `NAMES` that it has.
        named: those of them that somebody has named.
        problems: is told what is wrong.
        expected: what is looked for where the table was given; None for whatever it holds.
        role: what it is said to hold, which its columns may leave open.
    """

    fields: Mapping[str, str]
    named: Collection[str]
    problems: Problems
    expected: Role | None = None
    role: Role | None = None

    @classmethod
    def of(
        cls,
        header: Collection[str],
        columns: Mapping[str, str],
        problems: Problems,
        expected: Role | None = None,
        role: Role | None = None,
    ) -> "DocumentRows | None":
        """The table that has such columns; None if its rows are no documents.

        Raises:
            DataError: its rows look like documents, but it lacks a column that was named, or none
                says of which question, or which document, they are.
        """
        of_columns = {column: name for name, column in columns.items()}
        if not _MARKS.isdisjoint(of_columns.get(name, name) for name in header):
            return None
        fields, named = fields_of(header, columns)
        if not (fields.keys() & {"query_id", "query"} and fields.keys() & {"doc_id", "text"}):
            if fields.keys() & {*NUMBERS} and (lacking := hint(header, columns)):
                raise DataError(lacking, path=problems.file)
            return None
        unused = {"gold": ORDERS, "results": ("grade", *_STANDS_FOR), None: ()}[expected]
        for name, column in columns.items():
            stands_in = {name, _INSTEAD.get(name)} & fields.keys()
            if column not in header and name in NAMES and name not in unused and not stands_in:
                error = DataError(
                    phrase("no column {column!r}", column=column), remedy=nearest(column, header)
                )
                raise error.within(f"columns.{name}", path=problems.file)
        return cls(fields, named, problems, expected, role)

    def records(self, rows: Iterable[tuple[int | None, Mapping[str, Any]]]) -> _Rows:
        """A record of a results file for each question.

        Where no column has ids, a question is its own id, by which evaluations find it.

        Raises:
            DataError: it holds not what is expected, or may be gold as well as results.
        """
        cells = [read for line, row in rows if (read := self._row(line, row)) is not None]
        if not cells:
            return  # each has a broken number, which is reported
        holds = self._holds(cells)
        questions: dict[str, _Question] = {}
        for row in cells:
            self._add(row, holds, questions)
        for question in questions.values():
            question.retrieved.sort(key=lambda entry: entry[0])
        if holds.get("results") == "rank":
            self._check_ranks(questions)
        if holds.get("results") == "":
            self._doubt_order(questions)
        for query_id, question in questions.items():
            record: dict[str, Any] = {"query_id": query_id}
            if question.text is not None:
                record["query"] = question.text
            record |= {name: number for name, (_, number) in question.asks.items()}
            if "gold" in holds:
                record["gold"] = [item for _, item in question.gold.values()]
            if "results" in holds:
                record["retrieved"] = [document for *_, document in question.retrieved]
            yield question.line, record

    def are_documents(self, rows: Sequence[tuple[int | None, Mapping[str, Any]]]) -> bool:
        """Whether rows are documents after all.

        Without any number they are where a question has several, or somebody says so; and where
        gold is expected, and no other column looks like an answer.
        """
        if self.role or self.expected == "results" or self.fields.keys() & {*NUMBERS}:
            return True
        header = dict.fromkeys(name for _, row in rows[:1] for name in row)
        has_answer = column_like([*header], ANSWERS) is not None
        if self.expected == "gold" and "query" in self.fields and not has_answer:
            return True
        asked = [str(row.get(self.fields[self._key])) for _, row in rows]
        return len({*asked}) < len(asked)

    @property
    def _key(self) -> str:
        return "query_id" if "query_id" in self.fields else "query"

    @property
    def _decided(self) -> bool:
        """Whether somebody has named either the rank or the score, which then decides."""
        return ("rank" in self.named) != ("score" in self.named)

    def _row(self, line: int | None, row: Mapping[str, Any]) -> _Row | None:
        """A row by field; None of one with a broken number, which is reported."""
        cells = {name: row[column] for name, column in self.fields.items() if column in row}
        for name in NUMBERS:
            if cells.get(name) is not None:
                number = read_number(str(cells[name]).strip())
                if number is None:
                    self.problems.add(line, self.fields[name], _no_number(cells[name]))
                    return None
                cells[name] = number
        for name in filter(cells.__contains__, _STANDS_FOR):
            try:
                cells[name] = _stands_for(name, cells[name])
            except DataError as error:
                problem = "; ".join(filter(None, (error.problem, error.remedy)))
                self.problems.add(line, self.fields[name], problem)
                return None
        columns = {*self.fields.values()}
        beside = {
            str(name).removeprefix("metadata."): cell
            for name, cell in row.items()
            if name not in columns and cell is not None
        }
        if "distance" in cells:
            beside |= present(distance=cells["distance"])
        return _Row(line, {name: cell for name, cell in cells.items() if cell is not None}, beside)

    def _holds(self, rows: Sequence[_Row]) -> dict[Role, str]:
        """What is read from the table, each with the field of its number; empty for none."""
        grade = "grade" if "grade" in self.fields else ""
        order = next((name for name in ORDERS if name in self.fields), "")
        if self._decided and "score" in self.named:
            order = "score"
        number = grade or order
        holds: dict[Role, str] = {}
        if grade:
            holds["gold"] = grade
        if order:
            holds["results"] = order
        if number in ("score", "grade") and len(holds) == 1 and number not in self.named:
            holds = self._alone(number, [row.cells[number] for row in rows if number in row.cells])
        role = self.role or (self.expected if holds or not number else None)
        if role is None:
            if not holds:
                raise DataError(self._question_back(number), path=self.problems.file)
            return holds
        if holds and role not in holds and self.role is None:
            raise DataError(_UNEXPECTED[role], path=self.problems.file)
        counts = order or ("" if holds else number)  # of what is said to be what it is not
        is_placed = role == "gold" and order in ("rank", "distance")  # which are no grades
        return {role: holds.get(role, "" if is_placed else counts)}

    def _alone(self, number: str, values: Sequence[float]) -> dict[Role, str]:
        """What a table with this number alone holds; nothing if it may be either.

        A score may be a grade where all are whole. BEIR's header is one of gold.
        """
        are_whole = all(value % 1 == 0 for value in values)
        if number == "score":
            is_beir = plain(self.fields.get("doc_id", "")) == "corpus_id"
            role: Role = "gold" if is_beir else "results"
            return {role: number} if are_whole == is_beir else {}
        is_open = plain(self.fields[number]) == "relevance" and not are_whole
        return {} if is_open else {"gold": number}

    def _question_back(self, number: str) -> str:
        if not number:
            return phrase(
                "documents without rank, score or grade may be gold or results: say --as gold or "
                "--as results"
            )
        return phrase(
            "what stands in {column!r} may be grades or scores: say --as gold or --as results, if "
            "need be to kragx convert (in a config or in Python columns: {gold} or {results})",
            column=self.fields[number],
            gold=f"{{grade: {in_yaml(self.fields[number])}}}",
            results=f"{{score: {in_yaml(self.fields[number])}}}",
        )

    def _add(self, row: _Row, holds: Mapping[Role, str], questions: dict[str, _Question]) -> None:
        """Add what a row says, or report what is wrong with it."""
        cells = row.cells
        if self._key not in cells:
            self._report(row, self._key, phrase("missing; of which question is it?"))
            return
        query_id = str(cells[self._key]).strip()
        question = questions.setdefault(query_id, _Question(row.line))
        text = str(cells.get("query", question.text or "")).strip()
        if text != (question.text or text):
            problem = phrase(
                "{text} here, and {other} before; a question has one text",
                text=shorten(text),
                other=shorten(question.text),
            )
            self._report(row, "query", problem)
        question.text = question.text or text or None
        self._add_asks(row, question)
        if cells.keys() <= {*OF_QUESTIONS}:
            return
        doc_id = cells.get("doc_id")
        document = present(
            id=doc_id.strip() if isinstance(doc_id, str) else doc_id, text=cells.get("text")
        )
        if not document and "results" in holds and "text" in self.fields:
            document["text"] = ""  # a chunk in which nothing stands has its rank all the same
        if not document:
            name = "text" if "text" in self.fields else "doc_id"
            self._report(row, name, phrase("missing; a document needs a text or an id"))
            return
        document |= present(metadata=row.beside)
        if "gold" in holds:
            self._judge(row, document, holds["gold"], question)
        if "results" in holds:
            self._rank(row, document, holds["results"], question)

    def _add_asks(self, row: _Row, question: _Question) -> None:
        """Add what a row says that the question stands for, of which all its rows say the same."""
        for name in filter(row.cells.__contains__, _STANDS_FOR):
            number = row.cells[name]
            line, before = question.asks.setdefault(name, (row.line, number))
            if number != before:
                problem = phrase(
                    "{number} here, and {other} on line {line}; a question has one {name}: keep "
                    "one, or give the column another name if it is of documents",
                    number=f"{number:g}",
                    other=f"{before:g}",
                    line=line,
                    name=name,
                )
                self._report(row, name, problem)

    def _judge(
        self, row: _Row, document: Mapping[str, Any], number: str, question: _Question
    ) -> None:
        """Add a document as gold, unless nobody has judged it; each has one grade."""
        grade = row.cells.get(number) if number else 1.0
        if grade is None:
            return
        item = {**document, "grade": grade}
        key = document.get("id"), document.get("text")
        line, before = question.gold.setdefault(key, (row.line, item))
        if before["grade"] != grade:
            problem = phrase(
                "{grade} here, and {other} on line {line} for the same document; keep one",
                grade=f"{grade:g}",
                other=f"{before['grade']:g}",
                line=line,
            )
            self._report(row, number, problem)

    def _rank(
        self, row: _Row, document: Mapping[str, Any], order: str, question: _Question
    ) -> None:
        """Add a document as retrieved, unless it is only judged."""
        number = row.cells.get(order) if order else 0.0
        if number is None:
            if "grade" not in row.cells:
                self._report(row, order, phrase("missing"))
            return
        # Of one score, or without any, documents stand as they do in the table.
        place = -number if order in ("score", "grade") else number
        score = {"score": row.cells["score"]} if "score" in row.cells else {}
        question.retrieved.append((place, row.line, {**document, **score}))

    def _check_ranks(self, questions: Mapping[str, _Question]) -> None:
        """Report a rank that stands twice, and scores that rise with it here but not there.

        All may rise, as distances do; whoever names the rank alone goes by it.
        """
        turns: dict[bool, list[tuple[int | None, float, float]]] = {True: [], False: []}
        for query_id, question in questions.items():
            for (rank, _, above), (place, line, below) in pairwise(question.retrieved):
                if rank == place:
                    problem = phrase(
                        "{rank} stands twice for the question; each rank has one document",
                        rank=f"{rank:g}",
                    )
                    self.problems.add(line, self.fields["rank"], problem, query_id=query_id)
                score, before = below.get("score"), above.get("score")
                if score is not None and before is not None and score != before:
                    turns[score > before].append((line, score, before))
        if all(turns.values()) and not self._decided:
            line, score, before = min(turns.values(), key=len)[0]
            problem = phrase(
                "{score} behind {before}: ranks and scores disagree; say which of them counts, "
                "{rank} or {by_score}",
                score=f"{score:g}",
                before=f"{before:g}",
                rank=option("rank", self.fields["rank"]),
                by_score=option("score", self.fields["score"]),
            )
            self.problems.add(line, self.fields["score"], problem)

    def _doubt_order(self, questions: Mapping[str, _Question]) -> None:
        """Warn of a column that looks like scores by which the rows do not stand."""
        rankings = [
            [document.get("metadata", {}) for *_, document in question.retrieved]
            for question in questions.values()
        ]
        for column in dict.fromkeys(chain.from_iterable(chain.from_iterable(rankings))):
            numbers = [
                [read_number(str(metadata.get(column, "")).strip()) for metadata in ranking]
                for ranking in rankings
            ]
            values = [*chain.from_iterable(numbers)]
            if None in values or all(value % 1 == 0 for value in values if value is not None):
                continue
            if any(above < below for ranking in numbers for above, below in pairwise(ranking)):  # type: ignore[operator]
                message = phrase(
                    "{file}: no column is called rank or score, so the order of the rows is the "
                    "ranking; if {column!r} is a score, say {option}",
                    file=self.problems.file,
                    column=column,
                    option=option("score", str(column)),
                )
                warnings.warn(message, DataWarning, stacklevel=outside())

    def _report(self, row: _Row, name: str, problem: str) -> None:
        query_id = row.cells.get(self._key)
        named = None if query_id is None else str(query_id)
        self.problems.add(row.line, self.fields.get(name), problem, query_id=named)


def _stands_for(name: str, cell: object) -> float | None:
    """What a cell says that a question stands for; None where it says nothing."""
    number = None if cell is None else read_number(str(cell).strip())
    return None if cell is None else _STANDS_FOR[name](cell if number is None else number)


def _no_number(cell: object) -> str:
    if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", str(cell)):
        return phrase("{value} is no number: write decimals with a point", value=shorten(cell))
    return phrase("must be a number, not {value}", value=shorten(cell))


_UNEXPECTED: Mapping[Role, str] = {
    "gold": phrase(
        "what was retrieved, and no grades, where gold is expected; name their column, --column "
        "grade=..., or say --as gold, which takes each document for relevant"
    ),
    "results": phrase(
        "grades, and neither ranks nor scores, where results are expected; --as results takes the "
        "order of the rows"
    ),
}
"""What a table holds of which the other was expected."""

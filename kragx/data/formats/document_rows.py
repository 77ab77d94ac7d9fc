"""Tables with a row for each document: what a search returned, what people judged, or both.

A question to which there is no document has a row in which nothing else stands.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from kragx.data.documents import present
from kragx.data.formats import FORMATS
from kragx.data.formats.cells import cell_value
from kragx.data.problems import Problems
from kragx.data.weights import ASKS
from kragx.ground.errors import DataError, nearest, shorten
from kragx.ground.printing import message

Role = Literal["gold", "results"]
"""What a table with a row for each document may hold."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "query_id": ("query_id", "qid", "q_id", "question_id", "질문_id"),
    "query": ("query", "question", "query_text", "질문"),
    "rank": ("rank", "position", "doc_position", "순위"),
    "score": ("score", "similarity", "점수", "유사도"),
    "distance": ("distance", "거리"),
    # PyTerrier's docno is a document's id, its docid a number of the index.
    "doc_id": ("doc_id", "docno", "docid", "document_id", "corpus_id", "chunk_id", "문서_id", "id"),
    "text": (
        *("text", "chunk", "document", "passage", "content", "contents"),
        *("텍스트", "본문", "내용"),
    ),
    "grade": (
        *("grade", "rating", "label", "relevance", "relevance_grade", "rel", "gain"),
        *("judgement", "judgment", "등급", "평점"),
    ),
    **{name: (name,) for name in ASKS},
}
"""What a column may be called that holds it; spaces, hyphens and capitals make no difference."""

_ANSWERS = ("answer", "정답", "답변")
"""What stands in the names of columns that tables of questions have."""

_ORDERS = ("rank", "score", "distance")
"""What says in which order documents stand, the likeliest first."""

_NUMBERS = (*_ORDERS, "grade")
_NUMERIC = frozenset((*_NUMBERS, *ASKS))
_INSTEAD = {"query_id": "query", "query": "query_id", "doc_id": "text", "text": "doc_id"}
_MARKS = {mark for form in FORMATS.values() for mark in form.marks}.difference(*NAMES.values())

_UNEXPECTED: Mapping[Role, str] = {
    "gold": message(
        "what was retrieved, and no grades, where gold is expected; name their column, --column "
        "grade=..., or say --as gold, which takes each document for relevant"
    ),
    "results": message(
        "grades, and neither ranks nor scores, where results are expected; --as results takes the "
        "order of the rows"
    ),
}
"""What a table holds of which the other was expected."""

_Rows = Iterator[tuple[int | None, Mapping[str, Any]]]
_Cells = Mapping[str, Any]
_CellRows = Sequence[tuple[int | None, _Cells]]
_Document = tuple[int | None, _Cells, dict[str, Any]]
_Ranking = list[tuple[float, int | None, dict[str, Any]]]

_BESIDE = "beside"
"""Stands among the fields of a row for the columns that are none, by name."""

_OF_QUESTIONS = frozenset(("query_id", "query", *ASKS, _BESIDE))


def fields_of(
    header: Collection[str], columns: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    """The column of each of `NAMES` that a table has, and which of them are named."""
    named = {
        "query" if name == "question" else name: column
        for name, column in columns.items()
        if column in header and name in (*NAMES, "question")
    }
    called = {plain_name(name): name for name in header if name not in named.values()}
    fields = {
        field_name: called[name]
        for field_name, names in NAMES.items()
        for name in [next((name for name in names if name in called), None)]
        if name is not None
    } | named
    # A mere id may be the question's, where nothing else says that rows are documents.
    is_mere = "doc_id" not in named and plain_name(fields.get("doc_id", "")) == "id"
    if is_mere and fields.keys().isdisjoint(("text", "rank")):
        del fields["doc_id"]
    return fields, {*named}


def plain_name(name: str) -> str:
    """A column's name without what makes no difference."""
    return "_".join(re.split(r"[\s_-]+", str(name).strip().casefold()))


def _option(name: str, column: str) -> str:
    """What names a column on the command line."""
    return f"--column {shlex.quote(f'{name}={column}')}"


def options_for(header: Collection[str], expected: Role | None) -> str:
    """What may name the columns that a table of questions lacks, of which nobody knows what it is.

    Args:
        header: what its columns are called.
        expected: what is looked for in it.
    """
    fields, _ = fields_of(header, {})
    answers = (name for name in header if any(word in plain_name(name) for word in _ANSWERS))
    wanted = {} if "query" in fields else {"question": "..."}
    if expected != "results":
        wanted["answer_passage"] = next(answers, "...")
    elif fields.keys().isdisjoint(("doc_id", "text")):
        wanted["text"] = "..."
    return " ".join(_option(*pair) for pair in wanted.items())


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
            DataError: its rows look like documents, but it lacks a column that was named.
        """
        of_columns = {column: name for name, column in columns.items()}
        if not _MARKS.isdisjoint(of_columns.get(name, name) for name in header):
            return None
        fields, named = fields_of(header, columns)
        if not (fields.keys() & {"query_id", "query"} and fields.keys() & {"doc_id", "text"}):
            return None
        unused = {"gold": _ORDERS, "results": ("grade", *ASKS), None: ()}[expected]
        for name, column in columns.items():
            stands_in = {name, _INSTEAD.get(name)} & fields.keys()
            if column not in header and name in NAMES and name not in unused and not stands_in:
                problem = message("no column {column!r}", column=column)
                error = DataError(problem, remedy=nearest(column, header))
                raise error.within(f"columns.{name}", path=problems.file)
        return cls(fields, named, problems, expected, role)

    def are_documents(self, rows: Sequence[tuple[int | None, Mapping[str, Any]]]) -> bool:
        """Whether rows are documents after all.

        Without any number they are where a question has several, or somebody says so; and where
        gold is expected, and no other column looks like an answer.
        """
        if self.role or self.expected == "results" or self.fields.keys() & {*_NUMBERS}:
            return True
        has_answer = any(word in str(name).casefold() for name in rows[0][1] for word in _ANSWERS)
        if self.expected == "gold" and "query" in self.fields and not has_answer:
            return True
        asked = [str(row.get(self.fields[self._key])) for _, row in rows]
        return len({*asked}) < len(asked)

    def records(self, rows: Iterable[tuple[int | None, Mapping[str, Any]]]) -> _Rows:
        """A record of a results file for each question.

        Where no column has ids, a question is its own id, by which evaluations find it.

        Raises:
            DataError: it holds not what is expected, or may be gold as well as results.
        """
        read = ((line, self._cells(line, row)) for line, row in rows)
        table = [(line, cells) for line, cells in read if cells is not None]
        if not table:
            return  # each has a broken number, which is reported
        holds = self._holds([cells for _, cells in table])
        by_question: dict[str, list[tuple[int | None, _Cells]]] = {}
        for line, cells in table:
            if self._key in cells:
                by_question.setdefault(cells[self._key], []).append((line, cells))
            else:
                self._report(line, cells, self._key, message("missing; of which question is it?"))
        records, rankings = [], {}
        for query_id, of_question in by_question.items():
            record: dict[str, Any] = {"query_id": query_id, **self._asked(of_question)}
            documents = [*self._documents(of_question, holds)]
            if "gold" in holds:
                record["gold"] = self._golds(documents, holds["gold"])
            if "results" in holds:
                rankings[query_id] = self._ranking(documents, holds["results"])
                record["retrieved"] = [document for *_, document in rankings[query_id]]
            records.append((of_question[0][0], record))
        if holds.get("results") == "rank":
            self._check_ranks(rankings)
        yield from records

    @property
    def _key(self) -> str:
        return "query_id" if "query_id" in self.fields else "query"

    @property
    def _decided(self) -> bool:
        """Whether somebody has named either the rank or the score, which then decides."""
        return ("rank" in self.named) != ("score" in self.named)

    def _cells(self, line: int | None, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """The cells by field, numbers as such; None where one is broken, which is reported."""
        cells = {}
        columns = self.fields.values()
        for name, column in self.fields.items():
            try:
                cells[name] = _cell(name, row.get(column))
            except DataError as error:
                self.problems.add(line, column, error.problem_and_remedy)
                return None
        cells[_BESIDE] = {
            str(name).removeprefix("metadata."): cell
            for name, cell in row.items()
            if cell is not None and name not in columns
        }
        return {name: cell for name, cell in cells.items() if cell is not None}

    def _holds(self, rows: Sequence[Mapping[str, Any]]) -> dict[Role, str]:
        """What is read from the table, each with the field of its number; empty for none."""
        order = next((name for name in _ORDERS if name in self.fields), "")
        if self._decided and "score" in self.named:
            order = "score"
        holds: dict[Role, str] = {"gold": "grade"} if "grade" in self.fields else {}
        holds |= {"results": order} if order else {}
        number = next(iter(holds.values()), "")
        if number in ("score", "grade") and len(holds) == 1 and number not in self.named:
            holds = self._alone(number, [cells[number] for cells in rows if number in cells])
        role = self.role or (self.expected if holds or not number else None)
        if role is None:
            if not holds:
                raise DataError(_question_back(self.fields.get(number)), path=self.problems.file)
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
            is_beir = plain_name(self.fields.get("doc_id", "")) == "corpus_id"
            role: Role = "gold" if is_beir else "results"
            return {role: number} if are_whole == is_beir else {}
        is_open = plain_name(self.fields[number]) == "relevance" and not are_whole
        return {} if is_open else {"gold": number}

    def _asked(self, rows: _CellRows) -> dict[str, Any]:
        """What rows say of their question, of which all say the same."""
        fields = {}
        for name in ("query", *ASKS):
            values = [(line, cells, cells[name]) for line, cells in rows if name in cells]
            if not values:
                continue
            first, _, fields[name] = values[0]
            for line, cells, value in values[1:]:
                if value != fields[name]:
                    problem = message(
                        "{value} here, and {other} on line {line}; a question has one {name}: keep "
                        "one, or give the column another name if it is of documents",
                        value=_shown(value),
                        other=_shown(fields[name]),
                        line=first,
                        name=name,
                    )
                    self._report(line, cells, name, problem)
        return fields

    def _documents(self, rows: _CellRows, holds: Mapping[Role, str]) -> Iterator[_Document]:
        """The documents of the rows that have one; what a row has that is none is reported."""
        for line, cells in rows:
            if cells.keys() <= _OF_QUESTIONS:
                continue
            document = present(id=cells.get("doc_id"), text=cells.get("text"))
            if not document and "results" in holds and "text" in self.fields:
                document["text"] = ""  # a chunk in which nothing stands has its rank all the same
            if not document:
                name = "text" if "text" in self.fields else "doc_id"
                problem = message("missing; a document needs a text or an id")
                self._report(line, cells, name, problem)
                continue
            about = cells[_BESIDE] | present(distance=cells.get("distance"))
            yield line, cells, document | present(metadata=about)

    def _golds(self, documents: Iterable[_Document], number: str) -> list[dict[str, Any]]:
        """The documents that somebody has judged; each has one grade."""
        golds: dict[str, tuple[int | None, dict[str, Any]]] = {}
        for line, cells, document in documents:
            grade = cells.get(number) if number else 1.0
            if grade is None:
                continue
            key = repr((document.get("id"), document.get("text")))
            first, gold = golds.setdefault(key, (line, {**document, "grade": grade}))
            if gold["grade"] != grade:
                problem = message(
                    "{grade} here, and {other} on line {line} for the same document; keep one",
                    grade=f"{grade:g}",
                    other=f"{gold['grade']:g}",
                    line=first,
                )
                self._report(line, cells, number, problem)
        return [gold for _, gold in golds.values()]

    def _ranking(self, documents: Iterable[_Document], order: str) -> _Ranking:
        """The documents that are not only judged, best first, with rank and line."""
        ranking = []
        for line, cells, document in documents:
            number = cells.get(order) if order else 0.0
            if number is not None:
                # Of one score, or without any, documents stand as they do in the table.
                place = -number if order in ("score", "grade") else number
                ranking.append((place, line, document | present(score=cells.get("score"))))
            elif "grade" not in cells:
                self._report(line, cells, order, message("missing"))
        return sorted(ranking, key=lambda entry: entry[0])

    def _check_ranks(self, rankings: Mapping[str, _Ranking]) -> None:
        """Report a rank that stands twice, and scores that rise with it here but not there.

        All may rise, as distances do; whoever names the rank alone goes by it.
        """
        turns: dict[bool, list[tuple[int | None, float, float]]] = {True: [], False: []}
        for query_id, ranking in rankings.items():
            for (rank, _, above), (place, line, below) in pairwise(ranking):
                if rank == place:
                    problem = message(
                        "{rank} stands twice for the question; each rank has one document",
                        rank=f"{rank:g}",
                    )
                    self.problems.add(line, self.fields["rank"], problem, query_id=query_id)
                score, before = below.get("score"), above.get("score")
                if score is not None and before is not None and score != before:
                    turns[score > before].append((line, score, before))
        if all(turns.values()) and not self._decided:
            line, score, before = min(turns.values(), key=len)[0]
            problem = message(
                "{score} behind {before}: ranks and scores disagree; say which of them counts, "
                "{rank} or {by_score}",
                score=f"{score:g}",
                before=f"{before:g}",
                rank=_option("rank", self.fields["rank"]),
                by_score=_option("score", self.fields["score"]),
            )
            self.problems.add(line, self.fields["score"], problem)

    def _report(self, line: int | None, cells: _Cells, name: str, problem: str) -> None:
        self.problems.add(line, self.fields.get(name), problem, query_id=cells.get(self._key))


def _cell(name: str, cell: Any) -> Any:
    """What a cell says of a field; a `DataError` where it is no number and has to be one."""
    if cell is None or name in ("text", "doc_id"):
        return cell_value(cell, None if name == "text" else "word", name)
    if name not in _NUMERIC:
        return str(cell).strip()
    text = str(cell).strip()
    if not text:  # in a list of rows, whose blank cells stand as they are
        return None
    number = cell_value(text, "number", name)
    return ASKS[name](number) if name in ASKS else number


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else shorten(value)


def _question_back(column: str | None) -> str:
    """What is asked where a table may hold both, with the column of its only number."""
    if column is None:
        return message(
            "documents without rank, score or grade may be gold or results: say --as gold or "
            "--as results"
        )
    return message(
        "what stands in {column!r} may be grades or scores: say --as gold or --as results, if "
        "need be to kragx convert (in a config or in Python columns: {gold} or {results})",
        column=column,
        gold=f"{{grade: {column}}}",
        results=f"{{score: {column}}}",
    )

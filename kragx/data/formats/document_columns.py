"""What the columns of tables with a row for each document are called."""

import re
import shlex
from collections.abc import Collection, Mapping

from kragx.data.formats.passages import column_like, in_yaml
from kragx.data.weights import INCLUSION, WEIGHT
from kragx.printing import phrase

NAMES: Mapping[str, tuple[str, ...]] = {
    "query_id": ("query_id", "qid", "question_id", "질문_id"),
    "query": ("query", "question", "query_text", "질문"),
    "rank": ("rank", "position", "doc_position", "순위"),
    "score": ("score", "similarity", "점수", "유사도"),
    "distance": ("distance", "거리"),
    # PyTerrier's docno is a document's id, its docid a number of the index.
    "doc_id": ("doc_id", "docno", "docid", "document_id", "corpus_id", "chunk_id", "문서_id", "id"),
    "text": ("text", "chunk", "document", "passage", "content", "텍스트", "본문", "내용"),
    "grade": (
        *("grade", "rating", "label", "relevance", "relevance_grade", "rel", "gain"),
        *("judgement", "judgment", "등급", "평점"),
    ),
    WEIGHT: (WEIGHT,),
    INCLUSION: (INCLUSION,),
}
"""What a column may be called that holds it; spaces, hyphens and capitals make no difference."""

_ALIKE: Mapping[str, tuple[str, ...]] = {
    "query": ("search", "keyword", "질의", "검색어"),
    "text": ("snippet", "body", "문서"),
    "doc_id": ("url", "doc"),
    "score": ("similar",),
    "grade": ("relevan", "judg"),
}
"""What else may stand in the name of a column that holds it; for proposals alone."""

ANSWERS = ("answer", "정답", "답변")
"""What stands in the names of columns that tables of questions have."""

ORDERS = ("rank", "score", "distance")
"""What says in which order documents stand, the likeliest first."""

NUMBERS = (*ORDERS, "grade")
"""Those of them that hold numbers of documents."""

OF_QUESTIONS = ("query_id", "query", WEIGHT, INCLUSION)
"""Those of them that say something of the question alone."""


def fields_of(
    header: Collection[str], columns: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    """The column of each field that a table has, and which of them are named."""
    named = {
        "query" if name == "question" else name: column
        for name, column in columns.items()
        if column in header and name in (*NAMES, "question")
    }
    called = {plain(name): name for name in header if name not in named.values()}
    fields = {
        field_name: called[name]
        for field_name, names in NAMES.items()
        for name in [next((name for name in names if name in called), None)]
        if name is not None
    } | named
    # A mere id may be the question's, where nothing else says that rows are documents.
    is_mere = "doc_id" not in named and plain(fields.get("doc_id", "")) == "id"
    if is_mere and fields.keys().isdisjoint(("text", "rank")):
        del fields["doc_id"]
    return fields, {*named}


def hint(header: Collection[str], columns: Mapping[str, str]) -> str:
    """The options that name what a table of documents lacks; empty where it looks like none."""
    fields, _ = fields_of(header, columns)
    rest = [name for name in header if name not in fields.values()]

    def like(name: str) -> str | None:
        return column_like(rest, (*NAMES[name], *_ALIKE.get(name, ())))

    lacking: dict[str, str | None] = {}
    if fields.keys().isdisjoint(("query", "query_id")):
        lacking["query"] = like("query")
    if fields.keys().isdisjoint(("text", "doc_id")):
        name = next((name for name in ("text", "doc_id") if like(name) is not None), "text")
        is_unlike = like(name) is None or column_like(rest, ANSWERS) is not None
        if is_unlike and "rank" not in fields:
            return ""
        lacking[name] = like(name)
    if fields.keys().isdisjoint(NUMBERS):
        numbers = {name: column for name in NUMBERS if (column := like(name)) is not None}
        if not numbers:
            return ""
        lacking |= numbers
    if not lacking:
        return ""
    mapping = ", ".join(f"{name}: {in_yaml(column)}" for name, column in lacking.items())
    return phrase(
        "its rows seem to be documents; say which column holds what: {options} (in a config or in "
        "Python columns: {columns})",
        options=" ".join(option(name, column or "...") for name, column in lacking.items()),
        columns=f"{{{mapping}}}",
    )


def plain(name: str) -> str:
    """A column's name without what makes no difference."""
    return "_".join(re.split(r"[\s_-]+", str(name).strip().casefold()))


def option(name: str, column: str) -> str:
    """What names a column on the command line."""
    return f"--column {shlex.quote(f'{name}={column}')}"

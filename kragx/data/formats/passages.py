"""Plain tables of a question and the passage that answers it: ``question,answer_passage``."""

import json
from collections.abc import Iterable, Sequence

from kragx.data.formats.format import Fields, Format, Read
from kragx.data.gold import Gold, Query
from kragx.printing import phrase

_QUESTIONS = ("question", "query", "질문", "질의", "문제", "user_query")
# What an answer rests on before the answer: what is found is matched with what stood somewhere.
_PASSAGES = ("passage", "evidence", "근거", "context", "본문", "정답", "answer", "답변", "답")
_FOUND = ("retriev", "results", "hits", "contexts", "검색 결과", "검색결과")
_IDS = ("query_id", "question_id", "qid", "id", "no", "no.", "#", "번호", "연번", "순번")


def _read(fields: Fields) -> Read:
    """Its query; what else the row holds goes to the metadata."""
    yield (
        Query(
            id=fields.id_or_number("query_id"),
            text=fields.text("question", is_required=True),
            gold=tuple(Gold(text=text) for text in fields.texts("answer_passage") if text.strip()),
            answerable=fields.flag("answerable"),
            reference=fields.text("reference"),
            metadata=fields.metadata(**fields.rest()),
        ),
        None,
    )


PASSAGES = Format(
    "passages",
    fields={
        "question": "text",
        "answer_passage": "text",
        "query_id": "word",
        "answerable": "flag",
        "reference": "text",
        "metadata": "json",
    },
    marks=("answer_passage",),
    read=_read,
)
"""A row a question, its answer's passage in a cell as it is, line breaks and all."""


def columns_hint(names: Iterable[str]) -> str:
    """How to say what an unknown table holds, by what its columns are called."""
    columns = list(names)
    retrieved = column_like(columns, _FOUND)
    if retrieved is not None:
        return phrase(
            "results hold one question a line, as {line}; {found} seems to say what was retrieved",
            line='{"query_id": ..., "gold": [{"text": ...}], "retrieved": [{"text": ...}]}',
            found=in_yaml(retrieved),
        )
    question = column_like(columns, _QUESTIONS)
    passage = in_yaml(column_like([name for name in columns if name != question], _PASSAGES))
    asked = in_yaml(question)
    # Called so as a whole: "no" and "id" stand in many other words.
    number = next((column for column in columns if str(column).casefold() in _IDS), None)
    with_id = "" if number is None else f"query_id: {in_yaml(number)}, "
    return phrase(
        "say which column holds what, as columns: {columns} in a config, or, where it holds ids, "
        "{ids}; on the command line kragx convert takes --column FIELD=COLUMN for each, and "
        "writes what every other command reads",
        columns=f"{{{with_id}question: {asked}, answer_passage: {passage}}}",
        ids=f"{{{with_id or 'query_id: ..., '}query: {asked}, relevant_chunk_ids: {passage}}}",
    )


def column_like(columns: Sequence[str], words: Sequence[str]) -> str | None:
    """The first column in whose name one of the words stands, the first words first."""
    folded = {str(column).casefold(): str(column) for column in columns}
    return next((column for word in words for name, column in folded.items() if word in name), None)


def in_yaml(name: str | None) -> str:
    """A column's name as it stands in a mapping of a config, in quotes where YAML needs them.

    Three dots where it is not known.
    """
    import yaml  # which takes time, and a table that is understood needs none

    if name is None:
        return "..."
    try:
        is_plain = yaml.safe_load(f"{{column: {name}}}") == {"column": name}
    except yaml.YAMLError:
        is_plain = False
    return name if is_plain else json.dumps(name, ensure_ascii=False)

"""Plain tables of a question and the passage that answers it: ``question,answer_passage``."""

from kragx.data.formats.format import Fields, Format, Read
from kragx.data.gold import Gold, Query
from kragx.printing import phrase


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


def columns_hint() -> str:
    """How to say what an unknown table holds."""
    return phrase(
        "say which column holds what, as columns: {columns} in a config, or, where it holds ids, "
        "{ids}; on the command line kragx convert takes --column FIELD=COLUMN for each, and "
        "writes what every other command reads",
        columns="{question: ..., answer_passage: ...}",
        ids="{query_id: ..., query: ..., relevant_chunk_ids: ...}",
    )

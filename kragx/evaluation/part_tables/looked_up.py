"""Questions of a scored folder, looked up in the parts whose tables stand there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kragx.data import Mender, Query, Retrieved
from kragx.data.batch import in_rows
from kragx.data.formats.parquet import TABLE_KEY
from kragx.errors import DataError
from kragx.evaluation.part_tables.scored import table_name
from kragx.evaluation.parts.part import Part, part_at


def looked_up(
    ids_by_table: Mapping[int, Iterable[str]], tables: Sequence[Path], places: Sequence[object]
) -> dict[str, tuple[Query, Retrieved | None]]:
    """Some questions with what was retrieved, by id.

    A part is read only where its content is what the table was computed from: whoever made the
    table had that very content.

    Args:
        ids_by_table: by the number of a table the ids of its questions.
        tables: of a folder.
        places: where the part of each table stands.

    Raises:
        DataError: a part is not there any more, or is another one now.
    """
    questions: dict[str, tuple[Query, Retrieved | None]] = {}
    for number, ids in ids_by_table.items():
        part, missing = part_at(places[number]), set(ids)
        _check(part, tables[number])
        for _, query, retrieved in in_rows(part.batches(Mender())):
            if query.id in missing:
                questions[query.id] = query, retrieved
                missing.remove(query.id)
            if not missing:
                break
    return questions


def _check(part: Part, table: Path) -> None:
    """See to it that a table is of a part as it is now."""
    from pyarrow import parquet

    about = json.loads((parquet.read_schema(table).metadata or {}).get(TABLE_KEY, b"{}"))
    try:
        key = part.key
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=part.name) from None
    if table_name(key, str(about.get("settings"))) != table.name:
        raise DataError("is not what was scored any more", path=part.name)

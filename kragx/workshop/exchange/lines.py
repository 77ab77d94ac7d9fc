"""JSON Lines: every record of a workshop but releases, as it came, an object each."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from kragx.data.formats.jsonl import read_records, write_records
from kragx.ground.errors import nearest, shorten
from kragx.ground.printing import phrase
from kragx.workshop.exchange.rows import ExportReport, ExportSource, FileRows, Mistakes, Row
from kragx.workshop.state.records import (
    Judgement,
    Person,
    Question,
    Release,
    StoredRecord,
    SuggestedDocument,
)

KINDS: Mapping[str, type[StoredRecord]] = {
    "person": Person,
    "question": Question,
    "candidate": SuggestedDocument,
    "judgement": Judgement,
}
_NAMES = {kind: name for name, kind in KINDS.items()}


def write_jsonl(source: ExportSource, path: Path) -> ExportReport:
    """Write every record with its fields; of one person, without what others judged."""
    counts: Counter[type[StoredRecord]] = Counter()
    records = []
    for record in source.state.store.after({}):
        if isinstance(record, Judgement) and source.person not in (None, record.person):
            continue
        counts[type(record)] += 1
        if name := _NAMES.get(type(record)):
            fields = {column: getattr(record, column) for column in record.columns()}
            records.append({"record": name, **fields})
    write_records(records, path)
    n_releases = counts.pop(Release, 0)
    left_out = phrase("{n} releases: they are files of the folder", n=n_releases)
    words = (phrase("people"), phrase("questions"), phrase("candidates"), phrase("judgements"))
    n_written: dict[str, int] = {what: counts[kind] for what, kind in zip(words, KINDS.values())}
    return ExportReport(n_written, [left_out] if n_releases else [])


def read_jsonl(path: Path) -> FileRows:
    """Read what `write_jsonl` wrote.

    Raises:
        DataError: lines are of another kind; all are listed.
    """
    mistakes, rows = Mistakes(str(path)), []
    for number, line in read_records(path):
        place, name = f"line {number}", line.pop("record", None)
        kind = KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            remedy = f"write {', '.join(KINDS)}"
            mistakes.add(place, "record", f"{shorten(name)} is no kind of record", remedy)
        elif unknown := line.keys() - set(kind.columns()):
            hint = nearest(min(unknown), kind.columns())
            mistakes.add(place, min(unknown), "unknown field", hint)
        else:
            rows.append(Row(kind, place, line, number=number))
    mistakes.refuse()
    return FileRows(rows, is_history=True)

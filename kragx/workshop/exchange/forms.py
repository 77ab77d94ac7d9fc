"""The forms there are, and which one a file has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kragx.errors import UsageError, nearest
from kragx.workshop.exchange import doubts, own, ratings, tools
from kragx.workshop.exchange.rows import Rows, Source, Written


@dataclass(frozen=True)
class Form:
    """How questions and judgements are written and read.

    Attributes:
        write: writes a file; None where another command does.
        read: reads one; None of a form for other tools alone.
    """

    write: Callable[[Source, Path], Written] | None
    read: Callable[[Path], Rows] | None


FORMS: Mapping[str, Form] = {
    "csv": Form(own.write_csv, own.read_sheet),
    "json": Form(own.write_json, own.read_json),
    "qrels": Form(ratings.write_qrels, ratings.read_qrels),
    "quepid": Form(ratings.write_quepid, None),
    "labelstudio": Form(tools.write_label_studio, None),
    "argilla": Form(tools.write_argilla, None),
    "moved": Form(None, doubts.read_doubts),
}


def form_of(name: str) -> Form:
    """The form of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in FORMS:
        raise UsageError(f"unknown form {name!r}", field="--form", remedy=nearest(name, FORMS))
    return FORMS[name]


def recognised(path: Path) -> str:
    """The form of a file by its name's end and what stands in it.

    Raises:
        DataError: it cannot be read.
        UsageError: it could be anything.
    """
    end = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if end in ("csv", "tsv"):
        return "csv"
    if end in ("qrels", "txt", "test"):
        return "qrels"
    if end == "json":
        return "json"
    if end in ("jsonl", "ndjson"):
        if doubts.is_doubts(path):
            return "moved"
        remedy = "a gold set comes in with kragx gold start --gold"
        raise UsageError(f"{path}: holds nothing that kragx gold move has left", remedy=remedy)
    read = [name for name, form in FORMS.items() if form.read is not None]
    remedy = f"name it with --form ({', '.join(read)})"
    raise UsageError(f"{path}: of no form that its name tells", remedy=remedy)

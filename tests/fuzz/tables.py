"""Tables: the same cells in six encodings and four kinds of file, and broken ones."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path

from kragx import read_dataset
from tests.fuzz import mutate
from tests.fuzz.json_files import BY_ID, check_agreement
from tests.fuzz.running import Outcome
from tests.fuzz.trial import SEEDS, Trial

LANGUAGES = ("ko", "ja", "zh", "fr")
TRIED = ("utf-8", "cp949", "euc-kr")
"""Encodings of Korean tables that need no name."""


def tables(trial: Trial) -> None:
    """One of the three ways a table goes wrong."""
    trial.random.choice((_encoded, _four_kinds, _broken))(trial)


def _encoded(trial: Trial) -> None:
    """A table in any encoding is read as what it says, or refused, or its encoding is said."""
    random = trial.random
    language = random.choice(LANGUAGES)
    with (SEEDS / f"table_{language}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    # The fewer there are, the more easily they pass for something else.
    text = _csv([header, *random.sample(rows, random.randint(1, len(rows)))])
    fitting = [name for name in mutate.ENCODINGS if _fits(text, name)]
    encoding = random.choice(fitting)
    if random.random() < 0.3:
        text = text.replace("\n", "\r\n")
    content = text.encode(encoding)
    path = random.choice(("table.csv", "table.csv", "table.csv.gz"))
    trial.write(path, gzip.compress(content) if path.endswith(".gz") else content)
    same = _hash(text)
    named = trial.run("gold", "validate", path, "--encoding", encoding, "--format", "json")
    trial.claim(named.code == 0 and named.json["content_hash"] == same, f"{encoding}: misread")
    alone = trial.run("gold", "validate", path, "--format", "json", names=(path,))
    if alone.code == 0 and alone.json["content_hash"] != same:
        said = alone.out + alone.err
        trial.claim("cp949" in said, f"{encoding} is read as another encoding, which is not said")
    known = encoding.startswith("utf-8") or (language == "ko" and encoding in TRIED)
    trial.claim(alone.code == 0 or not known, f"{encoding} is refused: {alone.err[:200]}")
    scored = trial.run("score", path, *BY_ID, "--format", "json", names=(path,))
    check_agreement(trial, scored, alone)


def _four_kinds(trial: Trial) -> None:
    """The same cells say the same in CSV, TSV, Excel and Parquet."""
    random = trial.random
    with (SEEDS / f"table_{random.choice(LANGUAGES)}.csv").open(newline="") as file:
        rows = [*csv.reader(file)]
    for _ in range(random.choice((0, 1, 1, 2))):
        row = random.randrange(1, len(rows))
        column = random.randrange(len(rows[0]))
        odd = str(random.choice([*_CELLS, *mutate.ODD_VALUES]))
        rows[row][column] = random.choice((odd, mutate.text(random, rows[row][column])))
    if any(
        ord(c) < 32 or c in "\x85\ufeff" or "\ud800" <= c <= "\udfff"
        for r in rows
        for v in r
        for c in v.replace("\n", "")
    ):
        return _broken(trial)  # which Excel cannot hold
    outcomes = {path: _validated(trial, path, rows) for path in _WRITERS}
    ends = {
        path: (own.code, own.json["content_hash"] if own.code in (0, 3) and own.out else None)
        for path, own in outcomes.items()
    }
    trial.claim(len(set(ends.values())) == 1, f"the same cells are read differently: {ends}")
    return None


_CELLS = (
    "c1, c2",
    "c1;;c2",
    "[]",
    '["c1"',
    "['c1']",
    "TRUE",
    "1.0",
    "007",
    "1e3",
    "c1\nc2",
    " c1 ",
    "NA",
)


def _validated(trial: Trial, path: str, rows: Sequence[Sequence[str]]) -> Outcome:
    _WRITERS[path](trial.folder / path, rows)
    return trial.run("gold", "validate", path, "--format", "json")


def _broken(trial: Trial) -> None:
    """A file with other characters or bytes."""
    random = trial.random
    kind = random.choice((*_WRITERS, "table.csv"))
    language = random.choice(LANGUAGES)
    with (SEEDS / f"table_{language}.csv").open(newline="") as file:
        rows = [*csv.reader(file)]
    _WRITERS[kind](trial.folder / kind, rows)
    content = (trial.folder / kind).read_bytes()
    binary = not kind.endswith(("csv", "tsv"))
    changed = mutate.raw(random, content) if binary else mutate.any_of(random, content)
    trial.write(kind, changed)
    validated = trial.run("gold", "validate", kind, "--format", "json", names=(kind,))
    scored = trial.run("score", kind, *BY_ID, "--format", "json", names=(kind,))
    check_agreement(trial, scored, validated)


def _fits(text: str, encoding: str) -> bool:
    try:
        return text.encode(encoding).decode(encoding).removeprefix("\ufeff") == text
    except UnicodeError:
        return False


def _hash(text: str) -> str:
    Path("utf8.csv").write_bytes(text.encode())
    try:
        return read_dataset("utf8.csv").content_hash
    finally:
        Path("utf8.csv").unlink()


def _write_csv(path: Path, rows: Sequence[Sequence[str]], delimiter: str = ",") -> None:
    path.write_bytes(_csv(rows, delimiter).encode())


def _csv(rows: Sequence[Sequence[str]], delimiter: str = ",") -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _write_excel(path: Path, rows: Sequence[Sequence[str]]) -> None:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        cells = []
        for value in row:
            cell = openpyxl.cell.WriteOnlyCell(sheet, value=value[:32000])
            cell.data_type = "s"  # a text, though it may begin with =
            cells.append(cell if value else None)
        sheet.append(cells)
    book.save(path)


def _write_parquet(path: Path, rows: Sequence[Sequence[str]]) -> None:
    import pyarrow
    from pyarrow import parquet

    header, *body = rows
    columns = {name: [row[position] for row in body] for position, name in enumerate(header)}
    parquet.write_table(pyarrow.table(columns), path)


_WRITERS = {
    "table.csv": _write_csv,
    "table.tsv": lambda path, rows: _write_csv(path, rows, "\t"),
    "table.xlsx": _write_excel,
    "table.parquet": _write_parquet,
}

"""Excel files: what a cell shows is read, and what it only seems to hold is refused."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kragx import DataError, evaluate, read_dataset, validate
from kragx.data.corpus import read_corpus
from kragx.data.problems import DataWarning
from tests.app.commands.conftest import here, kragx
from tests.thoroughness import some

openpyxl: Any = pytest.importorskip("openpyxl")

__all__ = ["here", "kragx"]

HEADER = ("query_id", "query", "query_type", "relevant_chunk_ids", "retrieved_chunk_ids")
Change = Callable[[Any], object]


def saved(folder: Path, change: Change = lambda sheet: None, name: str = "set.xlsx") -> Path:
    """A workbook with two questions, changed."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (HEADER, ("q1", "how?", "a", "c1", "c1"), ("q2", "who?", "a", "c2", "c1; c2")):
        sheet.append(row)
    change(sheet)
    book.save(folder / name)
    return folder / name


def put(**cells: object) -> Change:
    """Cells with other values."""

    def change(sheet: Any) -> None:
        for name, value in cells.items():
            sheet[name] = value

    return change


def error(sheet: Any) -> None:
    """An error in a cell."""
    sheet["E3"] = "#REF!"
    sheet["E3"].data_type = "e"


REFUSED: dict[str, tuple[Change, str]] = {
    "a formula": (
        put(D3='="c"&2'),
        'D3: the formula ="c"&2 has no value; open the file in Excel and save it',
    ),
    "a formula as id": (put(A2="=B1"), "A2: the formula =B1 has no value"),
    "an error": (error, "E3: holds the error #REF!; mend it in Excel"),
    "merged cells": (
        lambda sheet: sheet.merge_cells("D2:D3"),
        "D2:D3: merged cells, of which the first alone holds something; unmerge them and fill",
    ),
    "a long number": (put(A2=20260101000012345678), "A2: a number of more than 15 digits"),
    "a date as id": (put(A2=datetime.datetime(2026, 3, 1)), "query_id: an id must be a string"),
    "a date as gold": (put(D2=datetime.datetime(2026, 3, 1)), "relevant_chunk_ids: must be a list"),
    "no query id": (put(A2=None), "query_id: missing"),
    "a blank query id": (put(A2="  "), "query_id: missing"),
    "a column twice": (put(E1="query"), "the column 'query' stands twice"),
    "a column without a name": (put(F2="x"), "F2: its column has no name in the first row"),
    "seconds below 0": (put(E1="seconds", E2=-1, E3=0.5), "seconds: must be how long"),
}


@pytest.mark.parametrize(("change", "message"), some(REFUSED.values(), 4), ids=REFUSED)
def test_refused(kragx: Any, here: Path, change: Change, message: str) -> None:
    """By every command, with row and cell, and what to do."""
    path = saved(here, change)
    for read in (read_dataset, evaluate):
        with pytest.raises(DataError, match=re.escape(message)):
            read(path)
    for args in (("score", path, "--match", "id"), ("gold", "validate", path)):
        code, out, err = kragx(*args)
        assert code == 3
        assert message[:40] in out + err


def test_a_broken_row_does_not_hide_the_others(tmp_path: Path) -> None:
    """Both are listed with their rows, and the good one is read."""
    path = saved(tmp_path, put(D2="=A1", D3="=A1", A4="q3", B4="when?", C4="a", D4="c3"))
    found = validate(str(path))
    errors = [(each.line, each.field) for each in found.problems if each.level == "error"]
    assert errors == [(2, "relevant_chunk_ids"), (3, "relevant_chunk_ids")]
    assert found.summary["n_queries"] == 1


def test_what_a_cell_shows_is_read(tmp_path: Path) -> None:
    """Numbers as their digits, a 7 that is shown as 007 so, dates in metadata, true as a flag."""

    def change(sheet: Any) -> None:
        put(A2=1.0, A3=7, D2=30, F1="metadata.day", F2=datetime.date(2026, 3, 1))(sheet)
        put(G1="answerable", G2=True, H1="metadata.code", H2="007", H3=2.5)(sheet)
        sheet["A3"].number_format = "000"
        sheet["I9"] = " "

    first, second = read_dataset(saved(tmp_path, change))
    assert (first.id, second.id, first.gold[0].id) == ("1", "007", "30")
    assert str(first.metadata["day"])[:10] == "2026-03-01"
    assert (first.answerable, first.metadata["code"], second.metadata["code"]) == (
        True,
        "007",
        "2.5",
    )


def calculated(path: Path, value: str) -> None:
    """What Excel does when it saves a formula that gives a text: it keeps the text beside it."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    sheet, count = re.subn(
        r'<c r="(\w+)"( t="\w+")?><f>(.*?)</f><v ?/?>(</v>)?',
        rf'<c r="\1" t="str"><f>\3</f><v>{value}</v>',
        sheet,
    )
    assert count == 1
    parts["xl/worksheets/sheet1.xml"] = sheet.encode()
    with zipfile.ZipFile(path, "w") as book:
        for name, content in parts.items():
            book.writestr(name, content)


@pytest.mark.parametrize(("value", "ids"), [("c7; c8", ["c7", "c8"]), ("", [])])
def test_a_formula_with_a_value_is_its_value(tmp_path: Path, value: str, ids: list[str]) -> None:
    """Also where the value is an empty text, as of =IF(A2="","",A2)."""
    path = saved(tmp_path, put(D3="=A9"))
    calculated(path, value)
    assert [gold.id for gold in read_dataset(path)["q2"].gold] == ids


def test_a_corpus(tmp_path: Path) -> None:
    """A corpus is read and refused alike."""
    cells = {"A1": "id", "B1": "text", "C1": "page", "D1": None, "E1": None, "C2": 4}
    cells |= dict.fromkeys(("D2", "E2", "D3", "E3", "C3"))
    documents = read_corpus(saved(tmp_path, put(**cells)))
    assert [(doc.id, doc.text, doc.metadata) for doc in documents] == [
        ("q1", "how?", {"page": "4"}),
        ("q2", "who?", {}),
    ]
    with pytest.raises(DataError, match=r"set\.xlsx:3: text: B3: the formula =A1 has no value"):
        read_corpus(saved(tmp_path, put(**cells | {"B3": "=A1"})))


def test_the_index_of_pandas(tmp_path: Path) -> None:
    """`to_excel` numbers the rows in a first column without a name, and leaves columns empty."""
    path = saved(tmp_path, lambda sheet: (sheet.insert_cols(1), put(A2=0, A3=1, H1="  ")(sheet)))
    assert read_dataset(path) == read_dataset(saved(tmp_path, name="plain.xlsx"), name="set")


def test_other_sheets_are_named(tmp_path: Path) -> None:
    """That more sheets are there, which nobody reads, is a warning that names the one that is."""
    path = saved(tmp_path, lambda sheet: sheet.parent.create_sheet("more"))
    with pytest.warns(DataWarning, match="the sheet 'Sheet' is read, and 1 more are not"):
        assert len(read_dataset(path)) == 2

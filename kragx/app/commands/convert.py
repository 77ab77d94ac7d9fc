"""`kragx convert`: gold sets and results as Parquet or as JSON Lines."""

from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from kragx.app.commands import options as opt
from kragx.data import Query, Reading, Retrieved
from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.format import STANDS_FOR, question_record, rules_record
from kragx.data.formats.jsonl import make_folder, write_records
from kragx.data.formats.parquet import ENDING, is_address, is_parquet, shown, write_questions
from kragx.data.search_records import SEARCHES
from kragx.ground import printing
from kragx.ground.errors import UsageError
from kragx.ground.printing import message

_Questions = Iterator[tuple[Query, Retrieved | None]]


def convert(
    file: Annotated[
        str,
        opt.argument(
            metavar="FILE",
            help="A gold set or results in any format; - is standard input. Of Parquet also a "
            "folder, a pattern of files or an address.",
        ),
    ],
    out: Annotated[
        str,
        opt.argument(
            metavar="OUT",
            help="The file to write: .parquet or .jsonl. With --questions-per-file a folder.",
        ),
    ],
    per_file: Annotated[
        int | None,
        typer.Option(
            "--questions-per-file",
            min=1,
            help="Write Parquet files of so many questions into the folder OUT.",
        ),
    ] = None,
    input_format: opt.InputFormat = None,
    column: opt.Columns = None,
    roles: opt.Roles = None,
    encoding: opt.Encoding = None,
) -> None:
    """Write a gold set or results as Parquet or JSON Lines.

    What is written says the same: queries, gold, what was retrieved, and the gold set's hash.
    """
    if per_file is None and not (is_parquet(out) or out == "-" or out.endswith(".jsonl")):
        raise UsageError(
            "{out}: a file is expected that ends with .parquet or .jsonl",
            field="OUT",
            remedy="to write a folder of files name --questions-per-file",
            out=out,
        )
    columns = opt.columns(column) if column else None
    options: dict[str, Any] = {"encoding": encoding, "strict": True, "role": opt.said(roles)}
    reading = Reading(file, input_format, columns, **options)
    questions = ((query, answer) for _, query, answer in reading)
    if per_file is not None:
        _write_parts(questions, out, per_file, reading)
    elif is_parquet(out):
        write_questions(questions, out, **_beside(reading))
    else:
        records = (question_record(*question) for question in questions)
        write_records(chain(rules_record(reading.forbidden), records), out)
    if out != "-":
        printing.say(message("written: {path}", path=shown(out)))


def _beside(reading: Reading) -> dict[str, Any]:
    """What is written beside gold and lists: what few sources say."""
    are_searches = reading.may_hold(SEARCHES)
    if are_searches:  # the name may be a value in a source
        are_searches = any(batch.searches is not None for batch in reading.anew().batches())
    is_said = {
        FORBIDDEN: reading.may_forbid,
        **dict.fromkeys(STANDS_FOR, reading.may_hold(*STANDS_FOR)),
        SEARCHES: are_searches,
    }
    beside = [name for name, flag in is_said.items() if flag is not False]
    return {"beside": beside, "rules": reading.forbidden}


def _write_parts(questions: _Questions, out: str, size: int, reading: Reading) -> None:
    """Write files of so many questions into a folder that has none yet."""
    if not is_address(out):
        make_folder(Path(out))
        if any(Path(out).rglob(f"*{ENDING}")):
            raise UsageError(
                message("{out} holds {ending} files already", out=out, ending=ENDING),
                field="OUT",
                remedy="what is read from there would be of both; name another folder, or an "
                "empty one",
            )
    for n in count():
        if not (part := list(islice(questions, size))):
            break
        write_questions(part, f"{out.rstrip('/')}/part-{n:05}{ENDING}", **_beside(reading))

"""`kragx convert`: gold sets and results as Parquet or as JSON Lines."""

from itertools import chain
from typing import Annotated, Any

from kragx.app.commands import options as opt
from kragx.data import Reading
from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.format import STANDS_FOR, question_record, rules_record
from kragx.data.formats.jsonl import ending, write_records
from kragx.data.formats.parquet import is_parquet, shown, write_questions
from kragx.data.search_records import SEARCHES
from kragx.ground import printing
from kragx.ground.errors import UsageError
from kragx.ground.printing import message


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
            help="The file to write: .parquet or .jsonl; - is standard output.",
        ),
    ],
    input_format: opt.InputFormat = None,
    column: opt.Columns = None,
    roles: opt.Roles = None,
    encoding: opt.Encoding = None,
) -> None:
    """Write a gold set or results as Parquet or JSON Lines.

    What is written says the same: queries, gold, what was retrieved, and the gold set's hash.
    """
    if not (is_parquet(out) or out == "-" or ending(out) == ".jsonl"):
        raise UsageError(
            "{out}: a file is expected that ends with .parquet or .jsonl", field="OUT", out=out
        )
    columns = opt.columns(column) if column else None
    options: dict[str, Any] = {"encoding": encoding, "strict": True, "role": opt.said(roles)}
    reading = Reading(file, input_format, columns, **options)
    questions = ((query, answer) for _, query, answer in reading)
    if is_parquet(out):
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

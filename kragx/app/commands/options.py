"""The options that several commands have: each one's name, help and type stand here once."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kragx.ground.errors import UsageError

if TYPE_CHECKING:  # it loads all formats, which the help does without
    from kragx.data.formats.document_rows import Role

argument: partial[Any] = partial(typer.Argument, show_default=False)

OF_MATCHING = "How matches are decided"
IN_CI, AT_SCALE = "In CI", "At scale"
"""The heads of the help under which options stand that few need."""

# Files and folders

Results = Annotated[
    Path,
    argument(
        metavar="RESULTS",
        help="A results file (- is standard input), or a folder that kragx run has written.",
    ),
]
HumanLabels = Annotated[
    str,
    argument(
        metavar="HUMAN",
        help="People's labels: TREC qrels (also .gz), CSV, a gold or results file with grades, or "
        "a judgement store with imported labels.",
    ),
]
JudgeLabels = Annotated[
    str,
    argument(
        metavar="JUDGE",
        help="The judge's: the same kinds of file, or the judgement store (.sqlite, or postgresql://...).",
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option(help="TREC run (also .gz) or results file (.jsonl) of a system; may be repeated."),
]
MoreRuns = Annotated[
    list[Path] | None,
    argument(metavar="RUN", help="More runs, after --runs."),
]
Gold = Annotated[
    Path | None,
    typer.Option(help="Gold file, for files that say only what was retrieved."),
]
Corpus = Annotated[
    Path | None,
    typer.Option(
        help="File or folder with the texts of ids (id, text), for gold and documents without "
        "one; a folder of kragx run has its config's."
    ),
]
StoreAddress = Annotated[
    str,
    typer.Option("--store", help="The judgement store: an SQLite file, or postgresql://..."),
]

InputFormat = Annotated[
    str | None, typer.Option("--input-format", help="Of the gold set (default: recognised).")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Of tables: field=column; repeat, for example query_id=No."),
]


class Table(StrEnum):
    """What a table with a row for each document holds; lists of options take no literals."""

    gold = "gold"
    results = "results"


Roles = Annotated[
    list[Table] | None,
    typer.Option(
        "--as",
        help="Of tables with a row for each document that may be either: what they hold; repeat "
        "where one holds gold and another results.",
    ),
]
Encoding = Annotated[str | None, typer.Option(help="Of CSV (default: utf-8, then cp949).")]

# Of gold sets, and the page on which they are made

WorkshopFolder = Annotated[Path, argument(metavar="FOLDER", help="As kragx gold start makes it.")]
NewQuestions = Annotated[
    Path | None, typer.Option("--out", "-o", help="The questions, JSON Lines; a new file.")
]
Port = Annotated[
    int | None,
    typer.Option(
        min=1, max=65535, show_default=False, help="Default: 8765, or the next that is free."
    ),
]
Browser = Annotated[bool, typer.Option("--open/--no-browser", help="Open the page in a browser.")]

# What is computed, and how sure it is

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="For example ndcg@10 or trec_eval's ndcg_cut_10; repeat for more (see: kragx "
        "metrics).",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of what is random.")]
Earlier = Annotated[
    Path | None,
    typer.Option(
        help="A result folder, or a baseline, to compare with; wins over the config's.",
        rich_help_panel=IN_CI,
    ),
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Compare what cannot be compared, and say so.")
]

Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Processes that share reading and matching (default 1); a judge asks from one.",
        rich_help_panel=AT_SCALE,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="Who shares the work instead: ray, a cluster (the extra 'ray'); see --address.",
        rich_help_panel=AT_SCALE,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Of --engine ray: the cluster's (default: auto, the one that runs here; local starts "
        "one).",
        rich_help_panel=AT_SCALE,
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Of a folder whose author you trust: run the code, ask the models and read the files "
        "that its config names (default: read what stands in the folder).",
    ),
]
MaxFailed = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="The share of questions that a retriever may fail on (default 0, or the config's).",
    ),
]

# Labels, judgements and judges

Asks = Annotated[
    Literal["relevance", "support"] | None,
    typer.Option(help="Of a store: relevance, or support (the best gold text's grade)."),
]
Model = Annotated[
    str | None,
    typer.Option(help="Of a store: only this model's grades; or a panel's: 'median of a, b, c'."),
]
RubricId = Annotated[
    str | None,
    typer.Option("--rubric", help="Of a store: only this rubric's grades (its id, or its file)."),
]
ExamplesName = Annotated[
    str | None,
    typer.Option("--examples", help="Of a store: only grades with these examples; none: without."),
]
ScaleOfLabels = Annotated[
    str | None,
    typer.Option("--scale", help="The labels there are, as 0-3 (default: those people used)."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A value that wins over the file's: match.threshold=0.4."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Count what a grid or the judge would ask; ask no judge.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Take over no answers of an interrupted run.")]
JudgingConfig = Annotated[
    Path,
    argument(
        metavar="CONFIG.yaml", help="Config file with 'dataset' and 'judge', as for kragx run."
    ),
]

# What is shown and written

TableOrJson = Annotated[Literal["table", "json"], typer.Option("--format", help="How to print.")]
TableJsonOrCsv = Annotated[
    Literal["table", "json", "csv"], typer.Option("--format", help="How to print.")
]
TableJsonOrMarkdown = Annotated[
    Literal["table", "json", "markdown"], typer.Option("--format", help="How to print.")
]
Full = Annotated[
    bool, typer.Option("--full", help="Also config, pairs, slices and every metric and remark.")
]
Summary = Annotated[
    Path | None,
    typer.Option(
        help="Write gates, means and changes as Markdown, for a CI job's page.",
        rich_help_panel=IN_CI,
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option(
        help="Write the gates as JUnit XML, which GitLab and Jenkins show as tests.",
        rich_help_panel=IN_CI,
    ),
]

Plot = Annotated[Path | None, typer.Option(help="Also draw it: a file .png, .svg or .pdf.")]


def columns(options: list[str], *, may_be_none: bool = False) -> dict[str, str]:
    """For each field the column that a command line names; an empty one, if that is allowed."""
    named = [option.partition("=") for option in options]
    for field, equals, column in named:
        if not (field and (column or (equals and may_be_none))):
            raise UsageError(
                "--column {name}{equals}{column}: write field=column",
                name=field,
                equals=equals,
                column=column,
            )
    return {field: column for field, _, column in named}


def rows(
    path: Any, column: list[str] | None, roles: list[Table] | None, gold: object = None
) -> tuple[object, object]:
    """Gold and run of results, or of a gold set and results.

    Of a results file its path and None where no option says how to read it.
    """
    if gold is None and not (column or roles):
        return path, None
    from kragx.data import read_dataset, read_rows, read_run  # takes longer than the command line

    named = columns(column or [])
    if gold is None:
        return read_rows(path, columns=named, role=said(roles))
    dataset = read_dataset(gold, columns=named, role=said(roles, "gold"))
    return dataset, read_run(path, dataset, named, role=said(roles, "results"))


def said(roles: list[Table] | None, expected: "Role | None" = None) -> "Role | None":
    """What a command line says that a table holds; `expected`: where that is looked for."""
    named: set[Role] = {"gold" if role is Table.gold else "results" for role in roles or ()}
    fitting = [role for role in named if expected in (None, role)]
    return fitting[0] if len(fitting) == 1 else None


def shared(workers: int | None, engine: str | None, address: str | None) -> object:
    """Who shares the work, as `kragx.evaluate` takes it: a number, or an engine."""
    if engine is None:
        if address is not None:
            raise UsageError("--address: belongs to --engine ray")
        return workers
    return {engine: given_options(address=address, n=workers)}


def given_options(**options: Any) -> dict[str, Any]:
    """The options that a command line names."""
    return {name: value for name, value in options.items() if value is not None}

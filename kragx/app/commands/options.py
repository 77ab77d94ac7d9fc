"""The options that several commands have: each one's name, help and type stand here once."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kragx.errors import UsageError

argument = partial(typer.Argument, show_default=False)

# Files and folders

Results = Annotated[
    Path,
    argument(
        metavar="RESULTS",
        help="A results file (- is standard input), or a folder that kragx run has written.",
    ),
]
HumanLabels = Annotated[
    Path,
    argument(
        metavar="HUMAN",
        help="People's labels: TREC qrels (also .gz), a gold or results file with grades, or a "
        "judgement store with imported labels.",
    ),
]
JudgeLabels = Annotated[
    Path,
    argument(
        metavar="JUDGE",
        help="The judge's: the same kinds of file, or the judgement store (.sqlite).",
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
Corpus = Annotated[
    Path | None,
    typer.Option(
        help="File or folder with the texts of ids (id, text), for gold and documents without "
        "one; a folder of kragx run has its config's."
    ),
]
StoreFile = Annotated[Path, typer.Option("--store", help="The judgement store (SQLite).")]

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
Confidence = Annotated[float, typer.Option(help="Of the intervals.")]
Resamples = Annotated[int, typer.Option(help="Of the bootstrap over queries.")]
Seed = Annotated[int, typer.Option(help="Of what is random.")]
Earlier = Annotated[
    Path | None, typer.Option(help="A result folder to compare with; wins over the config's.")
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Compare what cannot be compared, and say so.")
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
Model = Annotated[str | None, typer.Option(help="Of a store: only this model's grades.")]
RubricId = Annotated[
    str | None, typer.Option("--rubric", help="Of a store: only this rubric's grades.")
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
    bool, typer.Option("--dry-run", help="Count the judge's calls and tokens; ask nothing.")
]
MaxCalls = Annotated[int | None, typer.Option(help="The most calls that judging may take.")]

# What is shown and written

TableOrJson = Annotated[Literal["table", "json"], typer.Option("--format", help="How to print.")]
TableJsonOrCsv = Annotated[
    Literal["table", "json", "csv"], typer.Option("--format", help="How to print.")
]
Full = Annotated[
    bool, typer.Option("--full", help="Also config, pairs, slices and every metric and remark.")
]
Summary = Annotated[
    Path | None,
    typer.Option(help="Write gates, means and changes as Markdown, for a CI job's page."),
]


def group(name: str, about: str | None) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        name=name, help=about, no_args_is_help=True, add_completion=False, rich_markup_mode=None
    )


def not_read(out: Path | None, *read: object) -> None:
    """Refuse to write over a file that the command reads, which would be lost."""
    files = [path for path in read if isinstance(path, str | Path)]
    if out is not None and out.is_file():
        for path in map(Path, files):
            if path.is_file() and path.samefile(out):
                raise UsageError(f"--out: {out} is read, and would be lost; name another file")


def given(**options: Any) -> dict[str, Any]:
    """The options that a command line names."""
    return {name: value for name, value in options.items() if value is not None}

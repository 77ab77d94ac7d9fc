"""The options that several commands have: each one's name, help and type stand here once.

What there is to choose from is named by the registries, and only when help is shown: `$methods`
and the like in a help text are filled in then (`Command`), as reading a command line must not load
what computes.
"""

from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperOption

# Files and folders

ConfigFile = Annotated[
    Path, typer.Argument(metavar="CONFIG.yaml", help="Config file.", show_default=False)
]
ResultsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.jsonl",
        help="Results file: JSON Lines with query_id, gold and retrieved; - is standard input.",
        show_default=False,
    ),
]
Results = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="A results file (- is standard input), or a folder that kragx run has written.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER", help="A folder that kragx run has written.", show_default=False
    ),
]
HumanLabels = Annotated[
    Path,
    typer.Argument(
        metavar="HUMAN",
        help="People's labels: TREC qrels (also .gz), a gold or results file with grades, or a "
        "judgement store with imported labels.",
        show_default=False,
    ),
]
JudgeLabels = Annotated[
    Path,
    typer.Argument(
        metavar="JUDGE",
        help="The judge's: the same kinds of file, or the judgement store (.sqlite).",
        show_default=False,
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option(help="TREC run (also .gz) or results file (.jsonl) of a system; may be repeated."),
]
MoreRuns = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RUN", help="More runs, after --runs.", show_default=False),
]
StoreFile = Annotated[Path, typer.Option("--store", help="The judgement store (SQLite).")]

# How matches are decided

Match = Annotated[
    str | None,
    typer.Option(help="$methods, or package.module:name (default: overlap; id for qrels)."),
]
MatchSpec = Annotated[
    str | None,
    typer.Option(
        help="$methods; a mapping as in YAML ('{method: rouge2, measure: recall}'); or a YAML file "
        "with 'match:' (default: the folder's own, or overlap)."
    ),
]
Measure = Annotated[str | None, typer.Option(help="Of ROUGE: $measures (default: fmeasure).")]
Threshold = Annotated[
    float | None, typer.Option(help="Least score that is a match, in (0, 1] (default 0.5).")
]
TokenizerName = Annotated[
    str | None,
    typer.Option("--tokenizer", help="$tokenizers, or an import path (default: unicode)."),
]
IdKey = Annotated[str | None, typer.Option(help="Of id: metadata key or path of a document's id.")]
GoldIdKey = Annotated[
    str | None, typer.Option(help="Of id: the same for gold (default: as --id-key).")
]
Direction = Annotated[str | None, typer.Option(help="Of contains: $directions (default: either).")]
Casefold = Annotated[
    bool | None,
    typer.Option("--casefold", help="Of exact, text and contains: ignore case."),
]

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
ProfileName = Annotated[
    str | None, typer.Option("--profile", help="Whose numbers: $profiles (default: kragx).")
]
NoGold = Annotated[str | None, typer.Option(help="Queries without gold: $no_gold.")]
Confidence = Annotated[float, typer.Option(help="Of the intervals.")]
Resamples = Annotated[int, typer.Option(help="Of the bootstrap over queries.")]
Seed = Annotated[int, typer.Option(help="Of what is random.")]
Earlier = Annotated[
    Path | None, typer.Option(help="A result folder to compare with; wins over the config's.")
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Compare what cannot be compared, and say so.")
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


def group(name: str, about: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(name=name, help=about, no_args_is_help=True, rich_markup_mode=None)


class Command(TyperCommand):
    """A command whose help names what there is to choose from, as the registries have it."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Fill in the choices, then write the options as ever."""
        choices = _choices()
        for parameter in self.params:
            if isinstance(parameter, TyperOption) and parameter.help:
                parameter.help = Template(parameter.help).safe_substitute(choices)
        super().format_options(ctx, formatter)


def _choices() -> dict[str, str]:
    """What the ``$names`` in help texts stand for."""
    from typing import get_args

    from kragx.data import TOKENIZERS
    from kragx.matchers import METHODS
    from kragx.matchers.texts import Direction as ContainsDirection
    from kragx.matchers.tokenwise import Measure as RougeMeasure
    from kragx.metrics import NO_GOLD, PROFILES

    names: dict[str, Iterable[str]] = {
        "methods": METHODS,
        "measures": get_args(RougeMeasure),
        "directions": get_args(ContainsDirection),
        "tokenizers": TOKENIZERS,
        "profiles": PROFILES,
        "no_gold": NO_GOLD,
    }
    return {name: ", ".join(choices) for name, choices in names.items()}

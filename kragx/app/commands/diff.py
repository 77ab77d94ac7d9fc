"""`kragx diff`: what two versions of a retriever return, side by side; no gold is needed."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import end, show, written
from kragx.comparison.gates import failed, gates_parts
from kragx.ground.entry_points import declared
from kragx.ground.errors import UsageError
from kragx.ground.printing import Line, as_markdown, warning

_LABELS = "Labels"


def diff(
    old: Annotated[
        str,
        opt.argument(
            metavar="OLD",
            help="A results file, a TREC run or a folder that kragx run has written; with --config "
            "a retriever's name.",
        ),
    ],
    new: Annotated[
        str,
        opt.argument(
            metavar="NEW",
            help="The same of the new version; a retriever named twice is asked twice, and what "
            "differs is its own noise.",
        ),
    ],
    config: Annotated[
        Path | None, typer.Option(help="The config whose retrievers are asked now.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(help="What is asked, or compared: any gold file, also without gold."),
    ] = None,
    retriever: Annotated[
        list[str] | None,
        typer.Option(help="Of folders: which; two of them: OLD's, then NEW's."),
    ] = None,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", min=1, help="A depth; repeat (default: 1, 5, 10, as far as lists go)."),
    ] = None,
    by: Annotated[
        Literal["id", "text", "overlap"] | None,
        typer.Option(
            help="What tells documents: id and text, text, or half of the word pairs (default: the "
            "first by which lists meet)."
        ),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            help="Metadata that must be the same as well, as metrics and matchers read it; that of "
            "rules is read anyway."
        ),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            help="A condition: 'unchanged@5: >= 0.8'; also of jaccard@5 and rbo.",
            rich_help_panel=opt.IN_CI,
        ),
    ] = None,
    workshop: Annotated[
        Path | None,
        typer.Option(
            help="A folder: people label there what --metric needs, blind to the side, until it is "
            "decided which is better; the same command goes on.",
            rich_help_panel=_LABELS,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Whose difference is wanted, as precision@5; also of hit_rate, mrr, and, relative "
            "to what is known to be relevant, recall, ndcg.",
            rich_help_panel=_LABELS,
        ),
    ] = None,
    same: Annotated[
        float | None,
        typer.Option(
            help="Versions within so much of each other are the same, as 0.02.",
            rich_help_panel=_LABELS,
        ),
    ] = None,
    look: Annotated[
        bool,
        typer.Option(
            "--look",
            help="Only say where it stands, as --format json does.",
            rich_help_panel=_LABELS,
        ),
    ] = False,
    port: opt.Port = None,
    browser: opt.Browser = True,
    seed: opt.Seed = 0,
    max_failed: opt.MaxFailed = None,
    trust: opt.Trust = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Also write a page, .html, with the lists side by side."),
    ] = None,
    format: opt.TableJsonOrMarkdown = "table",  # noqa: A002
) -> None:
    """Say what two versions return differently; no gold is needed.

    Which lists are the same, what came, went and moved. kragx compare says which version is better,
    where there is gold; without it --workshop has people label what differs. Ends with 5 if one of
    them failed, and else with 1 if a gate fails.
    """
    if out is not None and out.suffix != ".html":
        raise UsageError("--out: {out} must end with .html", out=out)
    if (workshop is None) != (metric is None):
        raise UsageError("--workshop and --metric belong together; one is missing")
    for name, value in (("--same", same), ("--look", look or None)):
        if workshop is None and value is not None:
            raise UsageError("{name} belongs to --workshop", remedy="name its folder", name=name)
    from kragx.app import config as configs, diffing  # takes longer than reading the command line

    options: dict[str, Any] = {
        "questions": questions,
        "k": k or None,
        "by": by,
        "metadata": metadata or (),
        "gates": gate or (),
        "max_failed": max_failed,
    }
    if config is None:
        of_folders: dict[str, Any] = {"retrievers": retriever or (), "trust": trust}
        result = diffing.diff_files(Path(old), Path(new), **of_folders, **options)
    elif retriever:
        raise UsageError("--retriever: belongs to folders; with --config OLD and NEW are names")
    else:
        result = diffing.ask_both(configs.load(config), old, new, **options)
    labelled = None
    # Who failed can neither win, lose nor tie, so nobody is asked for labels.
    if workshop and metric and not any(failure.failed for failure in result.failures):
        labelled = declared("parts", "labelled_difference")(
            result,
            workshop,
            metric,
            margin=same,
            seed=seed,
            look=look or format != "table",
            port=port,
            browser=browser,
        )
    parts = [*result.describe()]
    if labelled:
        cautions = map(warning, result.left_out)
        parts = [*labelled.describe(), *cautions, *gates_parts(result.gates)]
    plain = {"labelled": labelled.to_dict()} if labelled else {}
    show(
        format,
        lambda: parts,
        lambda: {**result.to_dict(), **plain},
        markdown=lambda: as_markdown(parts),
    )
    if out is not None:
        from kragx.report.html_page.page import write_diff_html

        sentences = labelled.describe() if labelled else ()
        notes = [part.text for part in sentences if isinstance(part, Line)]
        write_diff_html(result, out, notes=notes)
        written([out])
    end((f.retriever for f in result.failures if f.failed), failed(result.gates))

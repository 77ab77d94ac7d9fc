"""`kragx gold questions`: questions for a gold set, from templates or a model."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.data.formats.gold import write_gold
from kragx.data.text import read_number
from kragx.errors import DataError, UsageError


def questions(
    corpus: Annotated[
        Path, typer.Option(help="File or folder (id, text, maybe metadata) to make them from.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The questions, JSON Lines; a new file.")
    ],
    origin: Annotated[
        Literal["templates"], typer.Option("--from", help="What makes them.")
    ] = "templates",
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 100,
    templates: Annotated[
        Path | None, typer.Option(help="A YAML file of your own (default: kragx's templates).")
    ] = None,
    language: Annotated[
        Literal["auto", "ko", "en"], typer.Option(help="Of the documents that are asked about.")
    ] = "auto",
    existing: Annotated[
        Path | None,
        typer.Option(help="A gold set or questions that there are: none of them is made again."),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            help="A target share: query_type.general_inquiry=0.6 or difficulty.hard=0.3; repeat.",
        ),
    ] = None,
    most_per_template: Annotated[
        int, typer.Option(min=1, help="The most questions of one template.")
    ] = 3,
    most_leak: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="The most of a question's content words that its source may have."
        ),
    ] = None,
    seed: opt.Seed = 0,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Make questions for a gold set from a corpus; people then say what answers them.

    By type and difficulty towards target shares, each with its sources and its word leak.
    """
    from kragx.data.reading import read_dataset
    from kragx.workshop.questions import make_questions, read_templates

    if out.exists():
        raise UsageError(
            f"--out: {out} exists, and somebody may have changed it",
            remedy="name another file; --existing makes none of its questions again",
        )
    result = make_questions(
        str(corpus),
        None if templates is None else read_templates(templates),
        n,
        language=language,
        existing=() if existing is None else read_dataset(str(existing)),
        targets=_targets(targets or []),
        most_per_template=most_per_template,
        most_leak=most_leak,
        seed=seed,
    )
    show(format, result.describe, result.to_dict)
    if not result.questions:
        raise DataError("no question can be made", path=str(corpus))
    write_gold(result.dataset, out)
    written([out])


def _targets(options: list[str]) -> dict[str, dict[str, float]]:
    """Target shares: those that are named, the usual ones sharing what these leave."""
    from kragx.workshop.questions.making import TARGETS

    named: dict[str, dict[str, float]] = {}
    for option in options:
        name, _, share = option.partition("=")
        by, _, value = name.partition(".")
        number = read_number(share)
        if by not in TARGETS or not value or number is None:
            raise UsageError(
                f"--target {option}: write for example query_type.general_inquiry=0.6, or "
                "difficulty.hard=0.3"
            )
        named.setdefault(by, {})[value] = number
    for by, shares in named.items():
        others = {value: share for value, share in TARGETS[by].items() if value not in shares}
        left = max(0.0, 1 - sum(shares.values())) / (sum(others.values()) or 1)
        shares |= {value: share * left for value, share in others.items() if left}
    return named

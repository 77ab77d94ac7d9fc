"""`kragx gold questions`: questions for a gold set, from templates or a model."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.data.formats.gold import write_gold
from kragx.ground.errors import DataError, UsageError
from kragx.workshop.commands.workshop_folder import check_new


def questions(
    config: Annotated[
        Path | None,
        opt.argument(
            metavar="[CONFIG.yaml]",
            help="Its corpus, target shares and gold set, if there is one, are taken; its judge "
            "writes with --from model.",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(help="File or folder (id, text, maybe metadata) to make them from."),
    ] = None,
    out: opt.NewQuestions = None,
    origin: Annotated[
        Literal["templates", "model"], typer.Option("--from", help="What makes them.")
    ] = "templates",
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 100,
    templates: Annotated[
        Path | None, typer.Option(help="A YAML file of your own (default: kragx's templates).")
    ] = None,
    existing: Annotated[
        Path | None,
        typer.Option(help="A gold set or questions that there are: none of them is made again."),
    ] = None,
    most_per_template: Annotated[
        int | None, typer.Option(min=1, help="The most questions of one template (3).")
    ] = None,
    most_leak: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="The most of a question's content words that its source may have."
        ),
    ] = None,
    seed: opt.Seed = 0,
    unanswerable: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="From a model: the share that nothing answers (.1)."),
    ] = None,
    several: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="From a model: of the others the share of several passages (.2)."
        ),
    ] = None,
    settings: opt.Settings = None,
    dry_run: opt.DryRun = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Make questions for a gold set from a corpus; people then say what answers them.

    By type and difficulty towards target shares, each with its sources and its word leak. From a
    model: written by the config's judge, and dropped where they are good for nothing; interrupted,
    it goes on where it was.
    """
    from kragx.workshop.commands.gold_written import material, write
    from kragx.workshop.questions import QuestionSet, make_questions, read_templates

    of_model = opt.given_options(unanswerable=unanswerable, several=several)
    of_templates = opt.given_options(templates=templates, most_per_template=most_per_template)
    unread = {
        "templates": of_model | opt.given_options(dry_run=dry_run or None),
        "model": of_templates,
    }[origin]
    # An option of the other origin is no harmless extra: somebody thinks that it does something.
    for name in unread:
        option = name.replace("_", "-")
        raise UsageError("--{option}: of no use with --from {origin}", option=option, origin=origin)
    loaded, texts, there, targets = material(
        config, settings or (), corpus, existing, judge=origin == "model"
    )
    if not dry_run:  # which writes nothing
        if out is None:
            raise UsageError("--out: name the file that the questions go to")
        check_new("--out", out)
    common: dict[str, Any] = {
        "existing": there,
        "targets": targets,
        "most_leak": most_leak,
        "seed": seed,
    }
    result: QuestionSet | None
    if origin == "model":
        result = write(loaded, texts, n, dry_run=dry_run, **of_model, **common)
    else:
        question_templates = None if templates is None else read_templates(templates)
        most_of = opt.given_options(most_per_template=most_per_template)
        result = make_questions(texts, question_templates, n, **most_of, **common)
    if result is None:
        return
    show(format, result.describe, result.to_dict)
    assert out is not None  # it was checked
    if not result.questions:
        raise DataError("no question can be made", path=texts)
    write_gold(result.dataset, out)
    written([out])

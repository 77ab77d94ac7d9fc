"""`kragx gold questions`: questions for a gold set, from templates or a model."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.data.formats.gold import write_gold
from kragx.data.text import read_number
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
    language: opt.DocumentLanguage = "auto",
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
        int | None, typer.Option(min=1, help="The most questions of one template (3).")
    ] = None,
    most_leak: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="The most of a question's content words that its source may have."
        ),
    ] = None,
    seed: opt.Seed = 0,
    rubric: Annotated[
        Path | None,
        typer.Option(help="From a model: a rubric of your own that asks for questions (YAML)."),
    ] = None,
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
    tries: Annotated[
        int | None,
        typer.Option(min=1, help="From a model: passages that a question is tried with (3)."),
    ] = None,
    dropped: Annotated[
        Path | None,
        typer.Option(help="From a model: where what filters took out goes, with the reasons."),
    ] = None,
    settings: opt.Settings = None,
    dry_run: opt.DryRun = False,
    budget: opt.Budget = None,
    max_calls: opt.MaxCalls = None,
    submit: opt.Submit = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Make questions for a gold set from a corpus; people then say what answers them.

    By type and difficulty towards target shares, each with its sources and its word leak. From a
    model: written by the config's judge, and dropped where they are good for nothing; interrupted,
    it goes on where it was.
    """
    from kragx.workshop.commands.gold_written import QuestionMaterial
    from kragx.workshop.questions import QuestionSet, make_questions, read_templates
    from kragx.workshop.questions.question import WrittenQuestions

    of_model = opt.given_options(
        rubric=rubric, unanswerable=unanswerable, several=several, tries=tries
    )
    limits = opt.limits(budget, max_calls)
    of_templates = opt.given_options(templates=templates, most_per_template=most_per_template)
    unread = {
        "templates": of_model | limits | opt.given_options(dropped=dropped, dry_run=dry_run or None)
        | opt.given_options(submit=submit or None),
        "model": of_templates,
    }[origin]  # fmt: skip
    # An option of the other origin is no harmless extra: somebody thinks that it does something.
    for name in unread:
        option = name.replace("_", "-").replace("calls", "max-calls").replace("cost", "budget")
        raise UsageError("--{option}: of no use with --from {origin}", option=option, origin=origin)
    asking = QuestionMaterial.of(config, settings or (), corpus, existing, judge=origin == "model")
    if not (dry_run or submit):  # which write nothing
        if out is None:
            raise UsageError("--out: name the file that the questions go to")
        check_new("--out", out)
        check_new("--dropped", dropped)
    common: dict[str, Any] = {
        "language": language,
        "existing": asking.existing,
        "targets": {**asking.targets, **_targets(targets or [])},
        "most_leak": most_leak,
        "seed": seed,
    }
    result: QuestionSet | None
    if origin == "model":
        result = asking.write(n, limits, dry_run=dry_run, submit=submit, **of_model, **common)
    else:
        question_templates = None if templates is None else read_templates(templates)
        most_of = opt.given_options(most_per_template=most_per_template)
        result = make_questions(asking.corpus, question_templates, n, **most_of, **common)
    if result is None:
        return
    show(format, result.describe, result.to_dict)
    assert out is not None  # it was checked
    # What fell is written even where nothing was kept: it says why.
    if dropped is not None and isinstance(result, WrittenQuestions) and result.dropped:
        write_gold(result.dropped_dataset, dropped)
        written([dropped])
    if not result.questions:
        raise DataError("no question can be made", path=str(asking.corpus))
    write_gold(result.dataset, out)
    written([out])


def _targets(options: list[str]) -> dict[str, dict[str, float]]:
    """Target shares: those that are named, the usual ones sharing what these leave."""
    from kragx.workshop.questions.targets import TARGETS

    named: dict[str, dict[str, float]] = {}
    for option in options:
        name, _, share = option.partition("=")
        property_name, _, value = name.partition(".")
        number = read_number(share)
        if property_name not in TARGETS or not value or number is None:
            raise UsageError(
                "--target {option}: write for example query_type.general_inquiry=0.6, or "
                "difficulty.hard=0.3",
                option=option,
            )
        named.setdefault(property_name, {})[value] = number
    for property_name, shares in named.items():
        unnamed = {
            value: share for value, share in TARGETS[property_name].items() if value not in shares
        }
        remaining = max(0.0, 1 - sum(shares.values())) / (sum(unnamed.values()) or 1)
        shares |= {value: share * remaining for value, share in unnamed.items() if remaining}
    return named

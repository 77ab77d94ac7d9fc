"""`kragx gold questions`: questions for a gold set, from templates or a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.data import GoldDataset, read_dataset
from kragx.data.writing import write_gold
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import Line, message
from kragx.workshop.commands.workshop import check_new

if TYPE_CHECKING:
    from kragx.app.config import RunConfig
    from kragx.data.gold_source import GoldSource
    from kragx.workshop.questions import WrittenQuestions

_NO_GOLD_SET = "there is no gold set yet"
_LACKING = {"dataset": {"path": _NO_GOLD_SET}, "retrievers": {"none": {"run": _NO_GOLD_SET}}}
"""What a config need not have before there is a question."""


def _read_config(
    config: Path | None, settings: Sequence[str], *, judge: bool
) -> tuple["RunConfig | None", "GoldSource | None"]:
    """A config whose judge writes, and its dataset; without a judge it is data, which is read."""
    from kragx.app.config import load, load_dataset_config

    if settings and (config is None or not judge):
        raise UsageError("--set: belongs to the config of --from model")
    if config is None:
        return None, None
    if not judge:
        return None, load_dataset_config(config, _LACKING)
    loaded = load(config, settings, lacking=_LACKING)
    return loaded, loaded.dataset


def _write(
    config: "RunConfig | None", corpus: str, n: int, *, dry_run: bool, **options: Any
) -> "WrittenQuestions | None":
    """Have a config's judge write questions; None where that is only counted."""
    from kragx.app.config import filled
    from kragx.app.run_summary import judging_plan
    from kragx.ground import printing
    from kragx.ground.secrets import Secrets
    from kragx.judging import read_judge
    from kragx.judging.reading import adjusted
    from kragx.workshop.questions import write_questions

    secrets = Secrets.of() if config is None else config.secrets
    judge_options = None if config is None else config.judge
    with secrets.guarding():
        judge = read_judge(None if judge_options is None else filled(judge_options))
        judge = adjusted(judge, secrets=secrets, dry_run=dry_run or None)
        result = write_questions(corpus, judge, n, **options)
    if not dry_run:
        return result
    rewriting = message("a question that falls is written anew, and its calls come on top")
    printing.show([*judging_plan(judge.plans), Line(rewriting)])
    return None


def questions(
    config: Annotated[
        Path | None,
        opt.argument(
            metavar="CONFIG.yaml",
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
    """Make questions from a corpus. People say what answers them.

    By type and difficulty towards target shares, each with its sources and its word leak. From a
    model: written by the config's judge, and dropped where they are good for nothing; interrupted,
    it goes on where it was.
    """
    from kragx.workshop.questions import QuestionSet, make_questions, read_templates

    of_model = opt.given_options(
        unanswerable=unanswerable, several=several, dry_run=dry_run or None
    )
    of_templates = opt.given_options(templates=templates, most_per_template=most_per_template)
    # An option of the other origin is no harmless extra: somebody thinks that it does something.
    for name in of_model if origin == "templates" else of_templates:
        option = name.replace("_", "-")
        raise UsageError("--{option}: of no use with --from {origin}", option=option, origin=origin)
    loaded, dataset = _read_config(config, settings or (), judge=origin == "model")
    texts = corpus or (dataset and dataset.corpus)
    if texts is None:
        remedy = message("name it with --corpus, or as dataset.corpus in the config")
        raise UsageError("there is no corpus to make questions from", remedy=remedy)
    # The config's own gold set need not be there yet: questions are made before it.
    there: GoldDataset | tuple[()] = ()
    if existing is not None:
        there = read_dataset(str(existing))
    elif dataset is not None and Path(dataset.path).exists():
        there = read_dataset(dataset.path, **dataset.how)
    if not dry_run:  # which writes nothing
        if out is None:
            raise UsageError("--out: name the file that the questions go to")
        check_new("--out", out)
    targets = (dataset and dataset.targets) or {}
    shares = {name: targets[name] for name in ("difficulty", "query_type") if name in targets}
    common = {"existing": there, "targets": shares, "most_leak": most_leak, "seed": seed}
    result: QuestionSet | None
    if origin == "model":
        result = _write(loaded, str(texts), n, **{"dry_run": False, **common, **of_model})
    else:
        if templates is not None:
            of_templates["templates"] = read_templates(templates)
        options: dict[str, Any] = {**of_templates, **common}
        result = make_questions(str(texts), n=n, **options)
    if result is None:
        return
    show(format, result.describe, result.to_dict)
    assert out is not None  # it was checked
    if not result.questions:
        raise DataError("no question can be made", path=str(texts))
    write_gold(result.dataset, out)
    written([out])

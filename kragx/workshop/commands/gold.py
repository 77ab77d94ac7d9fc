"""Make, check and release a gold set; move it to a new corpus."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.command import Commands, group
from kragx.app.commands.output import show, written
from kragx.data import validation
from kragx.data.formats.jsonl import ending
from kragx.data.gold_diff import diff_files
from kragx.data.writing import write_gold
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import as_markdown
from kragx.workshop.commands.gold_from_logs import from_logs
from kragx.workshop.commands.gold_questions import questions
from kragx.workshop.commands.workshop import check_new, opened


def move(
    gold: Annotated[Path, opt.argument(metavar="GOLD", help="A gold set in any format.")],
    old: Annotated[
        Path, typer.Option("--from", help="The corpus that its ids are of: file or folder.")
    ],
    new: Annotated[Path, typer.Option("--to", help="The corpus of today: file or folder.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The moved gold set, a new file (.jsonl).")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 3 for anything that is unsure or lost.")
    ] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Move a gold set to another corpus, and say where each item is.

    What is left to a person goes to a second file beside it (gold.unsure.jsonl), if anything is.
    Ends with 3 where a question has no relevant gold left whose place is known.
    """
    from kragx.workshop.moving import move, undecided_file

    if out.suffix != ".jsonl":
        raise UsageError(
            "{out} is not called .jsonl, which is what is written", field="--out", out=out
        )
    # Both are checked before two corpora are read and laid side by side, which takes its time.
    for path in (out, undecided_file(out)):
        check_new("--out", path)
    result = move(str(gold), str(old), str(new))
    show(format, result.describe, result.to_dict)
    written(result.write(out))
    if result.bare or (strict and result.open):
        raise typer.Exit(DataError.exit_code)


def release(
    folder: opt.WorkshopFolder,
    note: Annotated[str, typer.Option(help="What this version is for; goes into its notes.")] = "",
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Write what is ready as a gold file that never changes.

    With it come notes for people (.md) and its name, version and hash (.release.json). What is not
    ready is left out and named; where nothing has changed, nothing is written.
    """
    from kragx.workshop.pairs.standing import Copies
    from kragx.workshop.releases.release import release as write

    with opened(folder) as (workshop, state):
        outcome = write(
            workshop,
            state,
            Copies(workshop.documents),
            person=state.owner().uid,
            note=note,
        )
    show(format, outcome.describe, outcome.to_dict)


Form = Literal["csv", "jsonl", "qrels", "quepid", "labelstudio"]


def export(
    folder: opt.WorkshopFolder,
    out: Annotated[Path, typer.Option(show_default=False, help="The file to write.")],
    form: Annotated[
        Form | None,
        typer.Option(help="Default: csv, jsonl or qrels, as --out ends."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(help="What this person judged alone."),
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Write the questions and judgements of a workshop into a file."""
    from kragx.workshop.exchange.exporting import ExportSource, export_file
    from kragx.workshop.names import the_person

    if form is None and ending(out) not in (".csv", ".jsonl", ".qrels"):
        raise UsageError(
            "{out}: the ending is that of no form",
            field="--out",
            remedy="end it in .csv (for spreadsheets), .jsonl or .qrels, or name a --form",
            out=out,
        )
    with opened(folder) as (workshop, state):
        people = state.people.values()
        uid = None if person is None else the_person(person, people, "--person").uid
        source = ExportSource(state, workshop.documents, workshop.settings.scale, uid)
        result = export_file(source, form or ending(out)[1:], out)
    show(format, result.describe, result.to_dict)


def import_(
    folder: opt.WorkshopFolder,
    file: Annotated[
        Path,
        opt.argument(
            metavar="FILE",
            help="As kragx gold export, questions, from-logs or move (.unsure.jsonl) writes it; "
            "any gold set (.jsonl).",
        ),
    ],
    person: Annotated[
        str | None,
        typer.Option(help="Whose the judgements are that name nobody (default: the file's)."),
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Take questions and judgements into a workshop, all or none.

    Rows that were changed become new judgements of the same person; of a gold set the questions
    that are new come. Nothing is ever removed.
    """
    from kragx.workshop.exchange.exporting import ExportSource
    from kragx.workshop.exchange.importing import import_file

    with opened(folder) as (workshop, state):
        source = ExportSource(state, workshop.documents, workshop.settings.scale)
        result = import_file(source, file, person)
    show(format, result.describe, result.to_dict)


def probes(
    corpus: Annotated[
        Path,
        opt.argument(metavar="CORPUS", help="File or folder with the documents (id, text)."),
    ],
    by: Annotated[
        str,
        typer.Option(help="The metadata that says whose a document is, as metadata.tenant."),
    ],
    out: opt.NewQuestions = None,
    n: Annotated[
        int, typer.Option("-n", min=1, help="How many; of a document there is one at most.")
    ] = 400,
    seed: opt.Seed = 0,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Make questions of one tenant about another's documents.

    From headings and noun phrases, blind of any retriever; each forbids the documents that it is
    about (docs/leaks.md). Without --out they are made and counted, and not written.
    """
    from kragx.workshop.questions.probing import make_probes

    check_new("--out", out)
    result = make_probes(str(corpus), by, n, seed=seed)
    show(format, result.describe, result.to_dict)
    if not result.queries:
        raise DataError("no probe can be made", path=str(corpus))
    if out is not None:
        write_gold(result.dataset, out)
        written([out])


def validate(
    file: Annotated[
        str,
        opt.argument(
            metavar="FILE",
            help="A gold set in any format, or a config (.yaml), whose gold set, corpus and "
            "targets are taken.",
        ),
    ],
    corpus: Annotated[
        Path | None,
        typer.Option(help="File or folder (id, text) from which all gold must come."),
    ] = None,
    gold_format: opt.InputFormat = None,
    column: opt.Columns = None,
    roles: opt.Roles = None,
    encoding: opt.Encoding = None,
    strict: Annotated[bool, typer.Option("--strict", help="End with 3 for warnings too.")] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Report every problem of a gold set, and what it holds.

    Errors, which every command refuses, end it with 3.
    """
    options: dict[str, Any] = {}
    if file.endswith((".yaml", ".yml")):
        from kragx.app.config import load_dataset_config  # takes longer than all the rest

        dataset = load_dataset_config(Path(file))
        options = {**dataset.how, "targets": dataset.targets}
        file, corpus = str(dataset.path), corpus or dataset.corpus
    options |= opt.given_options(
        corpus=corpus and str(corpus),
        format=gold_format,
        columns=column and opt.columns(column),
        encoding=encoding,
        role=opt.said(roles, "gold"),
    )
    result = validation.validate(file, **options)
    show(format, result.describe, result.to_dict)
    if result.n_errors or (strict and result.n_warnings):
        raise typer.Exit(DataError.exit_code)


def start(
    folder: Annotated[Path, opt.argument(metavar="FOLDER", help="Where to make it.")],
    corpus: Annotated[Path, typer.Option(help="File or folder with the documents (id, text).")],
    config: Annotated[
        Path | None,
        typer.Option(help="A config of kragx run, whose retrievers suggest documents."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="A gold set in any format, whose grades are taken over.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(help="Questions alone, as kragx gold questions writes them, or a gold set."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Of the gold set (default: the folder's).")
    ] = None,
    language: Annotated[
        Literal["ko", "en"] | None,
        typer.Option(help="Of page and guidelines (default: the corpus's)."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="postgresql://... where a team shares it; '${NAME}' in it is an environment "
            "variable (default: a file in the folder)."
        ),
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="Of that database, which may hold several workshops.")
    ] = None,
) -> None:
    """Make a workshop, where people make and judge a gold set.

    Nothing of a config is run: its retrievers are asked by kragx workshop.
    """
    from kragx.app.environment import load_env
    from kragx.workshop.folder.starting import start as start_workshop

    load_env(folder)  # it may be there already, with the address of a database
    started = start_workshop(
        folder,
        corpus=corpus,
        config=config,
        gold=gold,
        questions=questions,
        name=name,
        language=language,
        database=database,
        schema=schema,
    )
    show("table", started.describe, started.to_dict)


def diff(
    old: Annotated[Path, opt.argument(metavar="OLD", help="A gold set in any format.")],
    new: Annotated[Path, opt.argument(metavar="NEW", help="A later one.")],
    full: Annotated[bool, typer.Option("--full", help="List every question.")] = False,
    format: opt.TableJsonOrMarkdown = "table",  # noqa: A002
) -> None:
    """Say which questions of two gold sets differ, and in what."""
    result = diff_files(old, new)
    show(
        format,
        lambda: result.describe(full=full),
        result.to_dict,
        markdown=lambda: as_markdown(result.describe(full=True)),
    )


gold: Commands = group("gold", __doc__)
for _part in (start, questions, from_logs, probes, release, move, export, import_, validate, diff):
    gold.command(_part.__name__.rstrip("_").replace("_", "-"))(_part)

"""`kragx gold probes`: questions that try to pull what somebody else's documents say."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.data.formats.gold import write_gold
from kragx.ground.errors import DataError
from kragx.workshop.commands.workshop_folder import check_new


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
    """Make questions of one tenant about what another one's documents say.

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

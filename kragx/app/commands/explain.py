"""`kragx explain`: why each document of a query matched or did not."""

from collections.abc import Iterator
from typing import Annotated

import typer

from kragx.app import pipeline
from kragx.app.commands import options as opt
from kragx.app.commands.match_options import MatchSpec
from kragx.app.commands.output import show
from kragx.app.config import match_spec
from kragx.evaluation.explain import explain as explain_query
from kragx.evaluation.explanation import Explanation
from kragx.ground.errors import UsageError
from kragx.ground.printing import Line, Part


def explain(
    results: opt.Results,
    query: Annotated[str, typer.Option("--query", "-q", help="The query's id.")],
    match: MatchSpec = None,
    gold: opt.Gold = None,
    retriever: Annotated[
        str | None, typer.Option(help="Of a folder: only this retriever (default: each).")
    ] = None,
    corpus: opt.Corpus = None,
    column: opt.Columns = None,
    roles: opt.Roles = None,
    trust: opt.Trust = False,
    full: Annotated[bool, typer.Option("--full", help="Whole texts, however long.")] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Show why each document of a query matched or did not."""
    spec = match_spec(match)
    if results.is_dir():
        if gold is not None:
            raise UsageError("--gold: belongs to a results file; a folder has its own")
        explanations = pipeline.explain_folder(
            results, query, match=spec, retriever=retriever, trust=trust
        )
    elif trust:
        raise UsageError("--trust: belongs to a folder; a results file names no code")
    elif retriever is not None:
        raise UsageError("--retriever: belongs to a folder; a results file is of one retriever")
    else:
        explanation = explain_query(
            *opt.rows(str(results), column, roles, gold=gold),
            query_id=query,
            match=spec,
            corpus=corpus,
        )
        explanations = [explanation]
    plain = [explanation.to_dict() for explanation in explanations]
    show(
        format,
        lambda: _parts(explanations, full=full),
        lambda: plain[0] if len(plain) == 1 else {"runs": plain},
    )


def _parts(explanations: list[Explanation], *, full: bool) -> Iterator[Part]:
    for number, explanation in enumerate(explanations):
        if number:
            yield Line("─" * 80)
        yield from explanation.describe(full=full)

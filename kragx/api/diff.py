"""`diff`: what two versions of a retriever return to the same questions; no gold is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.comparison.lists import By, ListDiff, diff_lists
from kragx.data import GoldDataset, Query, Run, names_apart, read_dataset, read_run
from kragx.data.gold_diff import diff_gold
from kragx.data.reading import read_run_rows
from kragx.data.rules import RuleSet
from kragx.evaluation.retrieve import retrieve
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.ground.errors import DataError, UsageError

Side = tuple[GoldDataset | None, Run]
"""What a version returned, with the questions where its source has them."""


def diff(
    old: object,
    new: object,
    *,
    questions: object = None,
    k: int | Sequence[int] | None = None,
    by: By | None = None,
    metadata: Sequence[str] = (),
    gates: Sequence[str] = (),
    max_failed: float | None = None,
) -> ListDiff:
    """Say how much of what two versions of a retriever return is the same; it needs no gold.

    Lists are the same to a depth where the same documents stand there in the same order, by id and
    text; a question that failed is neither the same nor changed, and one that is asked in other
    words under the same id is left out, and named. Scores and times are not compared.
    `compare` says which version is better where there is gold, and `write_diff_html` writes the
    lists side by side.

    Args:
        old: a results file or TREC run, a `Run`, lists of documents as `evaluate` takes them, or
            with `questions` a retriever, which is asked.
        new: the same, of the new version; a retriever given as both is asked twice, and what
            differs is then its own noise.
        questions: with their weights and what to slice by, as `read_dataset` takes them; None for
            those of the files.
        k: the depths to look at; None for 1, 5 and 10, as far as lists go.
        by: ``id`` (and text), ``text``, or ``overlap``, half of the shorter text's word pairs; None
            for the first where the versions have ids and meet in a document, for the last where
            they never do, as after chunking anew: then lists are alike at most (`is_exact`).
        metadata: what metrics or rules read of documents, which must be the same as well; that of
            the questions' rules (``forbidden``) is read anyway.
        gates: such as ``"unchanged@5 >= 0.8"``; also ``jaccard@5`` and ``rbo``.
        max_failed: the share of questions that a version may fail on; None for 0.

    Raises:
        DataError: a source has mistakes; no question has two lists; or neither ids nor texts tell
            documents.
        UsageError: an argument cannot be; or a retriever is to be asked, and nobody says what.

    Examples:
        >>> from kragx import diff
        >>> result = diff([["Seoul", "Busan"], ["1919"]], [["Seoul", "Busan"], ["1945"]])
        >>> result.mean["unchanged@1"], result.counts["came@1"]
        (0.5, 1)
    """
    dataset = None if questions is None else read_dataset(questions)
    sides = [_side(value, dataset, name) for value, name in ((old, "old"), (new, "new"))]
    if isinstance(old, str | Path) and isinstance(new, str | Path) and old != new:
        # Files of one name in two folders, as versions often are, are told apart by their folders.
        names = names_apart([old, new])
        sides = [(rows, replace(run, name=name)) for (rows, run), name in zip(sides, names)]
    rows, later = sides[0][0], sides[1][0]
    if rows and later and not any(query.id in rows for query in later):
        run = read_run(new, rows)  # which joins them by their questions
        sides[1] = None, replace(run, name=sides[1][1].name)
    return diff_sides(
        sides[0],
        sides[1],
        dataset,
        k=k,
        metadata=metadata,
        max_failed=max_failed,
        by=by,
        gates=gates,
    )


def diff_sides(
    old: Side,
    new: Side,
    questions: GoldDataset | None,
    *,
    k: int | Sequence[int] | None,
    metadata: Sequence[str],
    max_failed: float | None,
    **options: Any,
) -> ListDiff:
    """The same of runs; arguments and errors are those of `diff`, and `diff_lists` has the rest."""
    dataset = questions or _questions(old, new)
    sources = (new[0],) if questions is None else (old[0], new[0])
    rules = RuleSet.of(dataset.forbidden).rules if dataset.forbidden else ()
    read = (part.path for rule in rules for part in rule.conditions)
    # One that is asked twice has one name.
    again = " (again)" if new[1].name == old[1].name else ""
    return diff_lists(
        dataset.queries,
        old[1],
        replace(new[1], name=f"{new[1].name}{again}"),
        ks=[k] if isinstance(k, int) else k,
        fields=[*dict.fromkeys([*read, *metadata])],
        max_failed=max_failed or 0.0,
        reworded={name for rows in sources if rows for name in _reworded(dataset, rows)},
        **options,
    )


def _side(value: object, dataset: GoldDataset | None, name: str) -> Side:
    if isinstance(value, Run):
        return None, value
    if not is_retriever(value):
        rows, run = read_run_rows(value, dataset)
        is_named = isinstance(value, str | Path) or run.name != "run"
        return rows, run if is_named else replace(run, name=name)
    if dataset is None:
        raise UsageError(
            "{name}: a retriever is asked, and nobody says what",
            remedy="pass questions=...",
            name=name,
        )
    return None, retrieve(value, dataset)


def _questions(old: Side, new: Side) -> GoldDataset:
    """The questions of both, those of the old version first."""
    queries: dict[str, Query] = {}
    for rows, run in (old, new):
        for query in rows or map(Query, run.results):
            queries.setdefault(query.id, query)
    if not queries:
        raise DataError("neither version was asked a question")
    rules = next((rows.forbidden for rows, _ in (new, old) if rows and rows.forbidden), {})
    return GoldDataset(tuple(queries.values()), forbidden=rules)


def _reworded(queries: GoldDataset, rows: GoldDataset) -> Iterator[str]:
    """The questions that rows ask in other words, or after other turns, as `diff_gold` finds."""
    have_history = all(any(query.history for query in side) for side in (queries, rows))
    read = ("question", "history") if have_history else ("question",)
    for question in diff_gold(queries, rows).of("changed"):
        changes = (change for change in question.changes if change.what in read)
        if any(None not in (change.before, change.after) for change in changes):  # else unknown
            yield question.query_id

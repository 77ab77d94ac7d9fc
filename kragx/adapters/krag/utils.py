"""K-RAG's helpers for notebooks: a question table, several retrievers, one cut-off, one chart."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any

from kragx.adapters.krag.document import KragDocument
from kragx.adapters.krag.evaluators import (
    KRAG_METRICS,
    ROUGE_METHODS,
    AveragingMethod,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
)
from kragx.data import GoldDataset, Retrieved
from kragx.evaluation.retrieve import retrieve
from kragx.evaluation.retriever_adapters import adapted
from kragx.evaluation.retrievers import fuse, fusion_weights
from kragx.ground.errors import DataError, UsageError, check_whole, nearest, needing, shorten
from kragx.matchers import check_threshold

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_ENSEMBLE = "Ensemble"


def evaluate_retrieval_at_K(  # noqa: N802  # K-RAG's name
    df_qa_test: pandas.DataFrame,
    k: int,
    retrievers: Mapping[str, Any],
    ensemble: bool = False,
    rouge_method: str | None = None,
    threshold: float = 0.5,
    ensemble_weights: Sequence[float] | None = None,
    averaging_method: AveragingMethod | str = AveragingMethod.BOTH,
    matching_criteria: MatchingCriteria | str = MatchingCriteria.PARTIAL,
    *,
    profile: str = "kragx",
    progress: bool | None = None,
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Ask retrievers the questions of a table, and evaluate the k best documents of each.

    Args:
        df_qa_test: a row for each question, with any index; the columns are ``question`` and
            ``context`` (the gold texts), and optionally ``source`` and ``doc_id``. The last three
            hold lists, or lists written as text (``"['a', 'b']"``). An empty context is a question
            without gold, which is not scored.
        k: how many documents to ask for and to look at.
        retrievers: by name whatever `retrieve` takes. For the time of the call, a retriever's
            ``k`` or ``search_kwargs["k"]`` (its own, or that of its ``retriever``) is set to k.
        ensemble: also evaluate ``Ensemble``, what `ReciprocalRankFusion` makes of all the lists;
            nothing is asked twice.
        rouge_method: ``rouge1``, ``rouge2`` or ``rougeL``; None to look for the gold texts
            themselves.
        threshold: the least ROUGE score that is a match.
        ensemble_weights: a weight for each retriever, in their order; None for equal ones.
        averaging_method: as for `OfflineRetrievalEvaluators`.
        matching_criteria: as there, though by default any gold text makes a hit.
        profile: as there.
        progress: as for `retrieve`.

    Returns:
        Two tables with a column for each metric (``hit_rate@5``, ``micro_recall@5``, ...). First
        the averages, by retriever in the given order: the evaluators' own, over the questions that
        have gold (so micro averages pool them), with ``n_scored`` and ``n_failed``; a question that
        failed is scored as an empty list. Then the values of each ``question`` and ``retriever``,
        NaN where there are none, and the ``error`` where the retriever raised one.

    Raises:
        UsageError: an argument is wrong.
        DataError: the table lacks a column, or a cell cannot be used.
        MissingExtraError: pandas is not installed.
    """
    with needing("pandas", "evaluate_retrieval_at_K"):
        import pandas
    _check(k, retrievers, ensemble, ensemble_weights)
    make_evaluator = partial(
        _evaluator_of(rouge_method, threshold),
        averaging_method=averaging_method,
        matching_criteria=matching_criteria,
        profile=profile,
    )
    # Refuses what it does not know before anything is asked.
    make_evaluator([["gold"]], [["document"]])
    questions = _questions(df_qa_test)
    golds = [context_to_document(df_qa_test, row) for row in range(len(questions))]
    dataset = GoldDataset.from_documents(golds, queries=questions)

    answers: dict[str, list[Retrieved]] = {}
    for name, retriever in retrievers.items():
        with _cut_at(retriever, k) as cut_retriever:
            run = retrieve(cut_retriever, dataset, name=str(name), progress=progress)
        answers[name] = [
            # Where nobody knows how a retriever is asked for k it may return more.
            replace(answer, documents=answer.documents[:k])
            for answer in (run[query.id] for query in dataset)
        ]
    if ensemble:
        lists = zip(*answers.values(), strict=True)
        answers[_ENSEMBLE] = [_fused(of_query, ensemble_weights, k) for of_query in lists]

    scores = {name: _scores(make_evaluator, golds, of_run, k) for name, of_run in answers.items()}
    means = pandas.DataFrame(
        [mean for mean, _ in scores.values()], index=pandas.Index(list(scores), name="retriever")
    )
    rows = [
        {
            "question": question,
            "retriever": name,
            **{metric: values[row] for metric, values in columns.items()},
            "error": answers[name][row].error,
        }
        for row, question in enumerate(questions)
        for name, (_, columns) in scores.items()
    ]
    return means, pandas.DataFrame(rows)


def visualize_retrieval_at_K(df_mean: pandas.DataFrame, k: int) -> Figure:  # noqa: N802
    """A bar chart of the averages that `evaluate_retrieval_at_K` returns, a panel for each metric.

    Raises:
        UsageError: the table has no row, or no column for this k.
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
    """
    from kragx.report.figures.bars import comparison_figure

    return comparison_figure(df_mean, k)


def context_to_document(df_test: pandas.DataFrame, idx: int) -> list[KragDocument]:
    """The gold documents of the row at position `idx`, with source and doc_id as metadata.

    Cells that hold text are read as Python literals and never run.

    Raises:
        UsageError: there is no such row.
        DataError: the table lacks the column ``context``, or a cell cannot be used.
    """
    if not -len(df_test) <= idx < len(df_test):
        raise UsageError(
            "idx: there is no row {idx!r}; the table has {n_df_test} rows",
            idx=idx,
            n_df_test=len(df_test),
        )
    _check_columns(df_test, "context")
    texts = _cell(df_test, idx, "context")
    for text in texts:
        if not isinstance(text, str):
            raise _bad_cell(idx, "context", text, "is no text", "write each gold text as a string")
    columns = {
        name: _cell(df_test, idx, name) for name in ("source", "doc_id") if name in df_test.columns
    }
    for name, values in columns.items():
        if len(values) not in (0, len(texts)):
            raise _bad_cell(
                idx,
                name,
                values,
                f"has {len(values)} items for {len(texts)} of 'context'",
                "give one for each, or leave the cell empty",
            )
    return [
        KragDocument(text, {name: values[number] for name, values in columns.items() if values})
        for number, text in enumerate(texts)
    ]


def _evaluator_of(
    rouge_method: str | None, threshold: float
) -> Callable[..., OfflineRetrievalEvaluators]:
    """What makes an evaluator of gold and retrieved documents."""
    if rouge_method is None:
        return OfflineRetrievalEvaluators
    if rouge_method not in ROUGE_METHODS:
        raise UsageError(
            "rouge_method: {rouge_method!r} is not a ROUGE method, nor None (which looks for the "
            "texts themselves); {hint}",
            rouge_method=rouge_method,
            hint=nearest(str(rouge_method), ROUGE_METHODS),
        )
    return partial(
        RougeOfflineRetrievalEvaluators,
        match_method=rouge_method,
        threshold=check_threshold(threshold),
    )


def _scores(
    make_evaluator: Callable[..., OfflineRetrievalEvaluators],
    golds: Sequence[Sequence[object]],
    answers: Sequence[Retrieved],
    k: int,
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """The averages of one retriever, and each question's values; NaN where there are none."""
    scored = [row for row, gold in enumerate(golds) if gold]
    # Where no question has gold there is nothing to evaluate, and every column all the same.
    evaluator = make_evaluator(
        [golds[row] for row in scored] or [[]], [answers[row].documents for row in scored] or [[]]
    )
    scores = evaluator.measured(KRAG_METRICS, [k]).scores if scored else [None] * len(KRAG_METRICS)
    means: dict[str, Any] = {}
    columns: dict[str, list[float]] = {}
    for name, of_metric in zip(KRAG_METRICS, scores, strict=True):
        values = dict(zip(scored, [] if of_metric is None else of_metric.values.tolist()))
        for key, mean in evaluator.averages(name, of_metric).items():
            means[f"{key}@{k}"] = nan if mean is None else mean
            columns[f"{key}@{k}"] = [values.get(row, nan) for row in range(len(answers))]
    failures = [answer for answer in answers if answer.error is not None]
    return {**means, "n_scored": len(scored), "n_failed": len(failures)}, columns


def _check(k: object, retrievers: object, ensemble: bool, weights: Sequence[float] | None) -> None:
    check_whole("k", k)
    if not isinstance(retrievers, Mapping) or not retrievers:
        raise UsageError(
            "retrievers: {retrievers} names no retriever; pass a mapping from names to retrievers",
            retrievers=shorten(retrievers),
        )
    for name, retriever in retrievers.items():
        adapted(retriever, f"retrievers[{name!r}]")
    if ensemble and _ENSEMBLE in retrievers:
        raise UsageError(
            "retrievers: the name {ensemble!r} is taken by ensemble=True; use another",
            ensemble=_ENSEMBLE,
        )
    if ensemble:
        fusion_weights(weights, len(retrievers), "ensemble_weights")


@contextmanager
def _cut_at(retriever: Any, k: int) -> Iterator[Any]:
    """The retriever, asked for k documents meanwhile where that is known how; then as before."""
    specs = {spec.id: spec for spec in getattr(retriever, "config_specs", ())}
    if "search_kwargs" in specs:
        options = {**(specs["search_kwargs"].default or {}), "k": k}
        yield retriever.with_config(configurable={"search_kwargs": options})
        return
    with ExitStack() as stack:
        # Not a copy, which would lose what a retriever keeps (an index built at first use), and not
        # setattr, which a frozen model refuses and any pydantic model remembers.
        inner = retriever
        while isinstance(fields := getattr(inner, "__dict__", None), dict):
            kwargs = fields.get("search_kwargs")
            cut: dict[str, Any] = {"k": k} if isinstance(fields.get("k"), int) else {}
            cut |= {"search_kwargs": {**kwargs, "k": k}} if isinstance(kwargs, Mapping) else {}
            stack.callback(fields.update, {name: fields[name] for name in cut})
            fields.update(cut)
            inner = fields.get("retriever")
        yield retriever


def _fused(answers: Sequence[Retrieved], weights: Sequence[float] | None, k: int) -> Retrieved:
    errors = [answer.error for answer in answers if answer.error is not None]
    if errors:
        return Retrieved(error=errors[0])
    fused = fuse([answer.documents for answer in answers], weights)
    return Retrieved(tuple(doc for doc, _ in fused[:k]))


def _questions(df: pandas.DataFrame) -> list[str]:
    _check_columns(df, "question", "context")
    if not len(df):
        raise DataError("df_qa_test: the table has no row; at least one question is needed")
    questions: list[str] = df["question"].tolist()
    for row, question in enumerate(questions):
        if not isinstance(question, str) or not question.strip():
            raise _bad_cell(
                row, "question", question, "is no question", "write one, or drop the row"
            )
    return questions


def _check_columns(df: pandas.DataFrame, *names: str) -> None:
    missing = [name for name in names if name not in df.columns]
    if missing:
        raise DataError(
            "the table has no column {missing!r}; it has {names}: rename one",
            missing=missing[0],
            names=", ".join(map(repr, df.columns)),
        )


def _cell(df: pandas.DataFrame, row: int, column: str) -> list[Any]:
    """The list in a cell, or written there as text; an empty cell is an empty list."""
    import pandas

    value: Any = df[column].iloc[row]
    if isinstance(value, str):
        try:
            # A cell is data from a file: it is read as a literal, never run.
            listed = ast.literal_eval(value.strip() or "[]")
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            listed = None
    elif pandas.api.types.is_scalar(value) and pandas.isna(value):
        listed = []
    else:
        # A numpy array is what a list comes back as from a Parquet file.
        listed = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(listed, (list, tuple)):
        raise _bad_cell(
            row, column, value, "is no list", "write a list such as ['first', 'second'], or []"
        )
    return list(listed)


def _bad_cell(row: int, column: str, value: object, problem: str, remedy: str) -> DataError:
    return DataError(
        "row {row} (by position, from 0), column {column!r}: {value} {why}; {advice}",
        row=row,
        column=column,
        value=shorten(value),
        why=problem,
        advice=remedy,
    )

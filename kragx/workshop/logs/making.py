"""From logs to a gold set's questions: read, masked, folded, drawn by lot."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from kragx.agreement.sample import drawn_in_proportion, from_store
from kragx.comparison.statistics import SEED
from kragx.data import read_run
from kragx.data.lists import Floats
from kragx.ground.errors import DataError, UsageError, check_whole
from kragx.ground.printing import message
from kragx.workshop.logs.folding import Ask, FoldedQuestion, fold, read_asks
from kragx.workshop.logs.logged import GoldFrom, LoggedGold, day
from kragx.workshop.logs.masks import Masker
from kragx.workshop.logs.reading import Logs

RANDOM = 0.5
"""The share of a draw that goes by how often questions were asked alone."""

_DEPTH = 10
_UNSURE = (1.0, 2.0)  # grades of 0-3 from which one step turns the decision


def gold_from_logs(
    paths: Sequence[str | Path] | str | Path,
    masker: Masker,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    keep: Sequence[str] = (),
    by: str | None = None,
    n: int | None = None,
    random_share: float = RANDOM,
    results: Sequence[str | Path] = (),
    store: str | Path | None = None,
    gold_from: GoldFrom | None = None,
    seed: int = SEED,
) -> LoggedGold:
    """The questions that people asked, each once, with how often, and a sample of them by lot.

    Args:
        paths: logs: JSON Lines, tables, traces of OpenTelemetry, exports of Langfuse and LangSmith.
        masker: masks personal data (`read_masks`).
        columns: where fields stand, if not under usual names (`FIELDS`).
        encoding: of CSV; None for UTF-8, else cp949.
        keep: fields that go into the metadata, as rules and slices read them: what differs in one
            is another question.
        by: one of these (or another), by whose values the draw is stratified.
        n: how many questions to draw; None takes all.
        random_share: of the draw, by how often questions were asked alone; with `by`, half of that
            goes to the values alike.
        results: results files of retrievers on these questions: more are drawn where lists differ.
        store: a judgement store: more are drawn where grades are next to the cut.
        gold_from: make gold of ``clicks``, or of the documents behind ``thumbs``; biased.
        seed: the same logs and seed give the same draw.

    Raises:
        DataError: a log cannot be read, or has no question.
        UsageError: an option does not fit.
    """
    if not 0 < random_share <= 1:
        problem = message(
            "{share} is out of range; give a share above 0, so that none is left out",
            share=random_share,
        )
        raise UsageError(problem, field="--random")
    if n is not None:
        check_whole("-n", n)
    if len(results) == 1:
        raise UsageError("lists of one alone cannot differ; name two or more", field="--results")
    # What slices are drawn by must not differ within a question, or it would be of two of them.
    keep = [*dict.fromkeys([*keep, *([by] if by else [])])]
    logs = Logs(
        [paths] if isinstance(paths, (str, Path)) else paths,
        columns or {},
        encoding,
        replace(masker).text,  # it counts apart
    )
    asks, cautions = read_asks(
        logs.questions(), masker, keep, by, holds_rated=gold_from == "thumbs"
    )
    if not asks:
        raise DataError("no question", path=str(logs.paths[0]), remedy="name it with --column")
    questions, n_exact = fold(asks)
    is_of_gold: dict[GoldFrom | None, Callable[[Ask], bool]] = {
        "clicks": lambda ask: bool(ask.clicks),
        "thumbs": lambda ask: ask.thumb > 0 and ask.has_list,
        None: lambda ask: True,
    }
    rows = [row for row in questions if any(map(is_of_gold[gold_from], row.asks))]
    if not rows:
        problem = message("no {gold_from} in the logs", gold_from=gold_from)
        if gold_from == "thumbs":
            problem = message("no ask that was rated up says what was retrieved")
        remedy = message("name the field with --column")
        raise DataError(problem, path=str(logs.paths[0]), field=gold_from or "", remedy=remedy)
    n_asks_of_gold = sum(len(question.asks) for question in rows)
    design: dict[str, Any] = {}
    if n is not None and n < len(rows):
        scores = {
            "complaints": [float(any(a.thumb < 0 for a in row.asks)) for row in questions],
            "disagreement": _disagreement(questions, results),
            "doubt": _doubt(questions, store),
        }
        sizes = _sizes(questions, scores, random_share, by)
        rows = _drawn(rows, dict(zip(questions, sizes.tolist())), n, seed, by)
        towards = [name for name, values in scores.items() if any(values)]
        share = random_share if towards else 1.0
        design = {"n": n, "random": share, "towards": towards, "by": by, "seed": seed}
    times = [ask.time for ask in asks if ask.time is not None]
    return LoggedGold(
        n_asks=len(asks),
        n_exact=n_exact,
        n_questions=len(questions),
        n_drawn=len(rows),
        n_asks_of_gold=None if gold_from is None else n_asks_of_gold,
        first=day(min(times)) if times else None,
        last=day(max(times)) if times else None,
        n_up=sum(ask.thumb > 0 for ask in asks),
        n_down=sum(ask.thumb < 0 for ask in asks),
        masked_in_questions=masker.counts.copy(),
        design=design,
        gold_from=gold_from,
        cautions=cautions,
        logs=logs,
        masker=masker,
        drawn=rows,
        keep=keep,
    )


def _drawn(
    rows: Sequence[FoldedQuestion],
    sizes: Mapping[FoldedQuestion, float],
    n: int,
    seed: int,
    by: str | None,
) -> list[FoldedQuestion]:
    """The questions that the lot falls on; each is told its chance."""
    slices = sorted({question.slice for question in sizes})
    strata = [slices.index(row.slice) for row in rows] if by else None
    drawn, chances = drawn_in_proportion(
        [sizes[row] for row in rows], n, random.Random(seed), strata=strata
    )
    for row, chance in zip(rows, chances):
        row.inclusion = chance
    return [rows[number] for number in drawn]


def _sizes(
    questions: Sequence[FoldedQuestion],
    scores: Mapping[str, Sequence[float]],
    share: float,
    by: str | None,
) -> Floats:
    """In proportion to what questions are drawn: all above 0."""
    asks = np.array([len(question.asks) for question in questions], np.int64)
    even: Floats = asks / asks.sum()
    if by is not None:
        slices = np.unique([question.slice for question in questions], return_inverse=True)[1]
        of_slice = np.bincount(slices, asks)
        # Half by how often they were asked, half so that each slice has the same.
        even = (even + asks / of_slice[slices] / len(of_slice)) / 2
    towards = asks * np.sum([*scores.values()], axis=0)
    if not towards.any():
        return even
    sizes: Floats = share * even + (1 - share) * towards / towards.sum()
    return sizes


def _disagreement(
    questions: Sequence[FoldedQuestion], results: Sequence[str | Path]
) -> list[float]:
    """How much lists differ: 1 - Jaccard of their documents, the mean over pairs."""
    runs = [read_run(path).results for path in results]
    values, n_known = [0.0] * len(questions), 0
    for row, question in enumerate(questions if runs else ()):
        lists = [
            {doc.identity for doc in run[question.id].documents[:_DEPTH]}
            for run in runs
            if question.id in run
        ]
        n_known += len(lists) > 1
        pairs = [1 - len(a & b) / max(len(a | b), 1) for a, b in combinations(lists, 2) if a or b]
        values[row] = sum(pairs) / len(pairs) if pairs else 0.0
    if runs and not n_known:
        raise _unknown("--results", len(values))
    return values


def _unknown(field: str, n: int) -> DataError:
    """The error for what knows no question."""
    problem = message("knows none of the {n} questions of the logs", n=n)
    remedy = message("questions are known by their ids, as --out writes them with the same options")
    return DataError(problem, field=field, remedy=remedy)


def _doubt(questions: Sequence[FoldedQuestion], store: str | Path | None) -> list[float]:
    """The share of a question's grades that one step more, or less, would turn."""
    grades: dict[str, list[float]] = defaultdict(list)
    for pair in from_store(store, asks="relevance") if store is not None else ():
        if pair.grade is not None:
            grades[pair.query_id].append(pair.grade)
    shares = {name: sum(g in _UNSURE for g in given) / len(given) for name, given in grades.items()}
    if store is not None and not any(question.id in shares for question in questions):
        raise _unknown("--store", len(questions))
    return [shares.get(question.id, 0.0) for question in questions]

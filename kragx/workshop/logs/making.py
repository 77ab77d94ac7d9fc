"""From logs to a gold set's questions: read, masked, folded, drawn by lot."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kragx.agreement.sample import drawn_in_proportion, from_store
from kragx.comparison.statistics import SEED
from kragx.data import Doc, Gold, Query, Retrieved, read_run
from kragx.data.turns import Turn
from kragx.evaluation.calls.logged import LoggedQuestion
from kragx.ground.errors import DataError, UsageError, check_whole
from kragx.ground.json_values import plain
from kragx.ground.printing import Line, Part, Result, joined, percent, phrase, warning
from kragx.metrics.match_table import Floats
from kragx.workshop.logs.folding import Ask, FoldedQuestion, fold
from kragx.workshop.logs.gathering import N_TURNS, fields_of, gathered
from kragx.workshop.logs.masks import Masker
from kragx.workshop.logs.reading import Logs

GoldFrom = Literal["clicks", "thumbs"]

RANDOM = 0.5
"""The share of a draw that goes by how often questions were asked alone."""

_DEPTH = 10
_UNSURE = (1.0, 2.0)  # grades of 0-3 from which one step turns the decision


@dataclass(frozen=True, eq=False)
class LoggedGold(Result):
    """The questions that a log comes to.

    Attributes:
        n_asks: how many asks were read.
        n_exact: how many different questions they were, but for case, punctuation and spacing.
        n_questions: how many after near duplicates were folded.
        n_drawn: how many were drawn; all, if no number was named.
        n_asks_of_gold: the asks of the questions that gold could be had for; None where all count.
        first, last: the days of the first and last ask; None where the log has no times.
        n_up, n_down: thumbs.
        n_broken: lines that were left out, as they cannot be read.
        n_silent: traces that say no question.
        masked: by kind, how many finds were masked; those in what was retrieved and answered come
            as questions are read.
        design: how questions were drawn; empty where all were taken.
        gold_from: what gold was made of; None for none.
        cautions: what a reader should know of the logs.
    """

    n_asks: int
    n_exact: int
    n_questions: int
    n_drawn: int
    n_asks_of_gold: int | None
    first: str | None
    last: str | None
    n_up: int
    n_down: int
    n_broken: int
    n_silent: int
    masked: Mapping[str, int]
    design: Mapping[str, Any]
    gold_from: GoldFrom | None
    cautions: Sequence[str]
    _source: _Source = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__ if name[0] != "_"}
        biased = {} if self.gold_from is None else {"biased": str(_BIASED[self.gold_from])}
        unmasked = {"n_unmasked": self.n_unmasked}
        return {**plain(named), **unmasked, "scope": str(self.scope), **biased}

    def questions(self) -> Iterator[tuple[Query, Retrieved | None]]:
        """The questions with what was last retrieved for each, as the logs are read once more."""
        return self._source.questions()

    @property
    def n_unmasked(self) -> int:
        """How many ids, keys and numbers look like what is masked: they stay.

        As far as questions were read.
        """
        return self._source.n_unmasked

    @property
    def scope(self) -> str:
        """What numbers of these questions will be true of."""
        n = self.n_asks if self.n_asks_of_gold is None else self.n_asks_of_gold
        period = (
            phrase("from {first} to {last}", first=self.first, last=self.last)
            if self.first is not None
            else phrase("of unknown days")
        )
        if self.gold_from is None:
            return phrase(
                "numbers will be of {n} asks {period}, as they were logged, each question by its "
                "weight; of nothing that was not logged, or is asked later",
                n=n,
                period=period,
            )
        share = percent(n / max(self.n_asks, 1))
        if self.gold_from == "clicks":
            return phrase(
                "numbers will be of {n} asks {period}, those of questions for which people clicked "
                "a document ({share} of all), and not of the others",
                n=n,
                period=period,
                share=share,
            )
        return phrase(
            "numbers will be of {n} asks {period}, those of questions that people rated up and "
            "whose documents are logged ({share} of all), and not of the others",
            n=n,
            period=period,
            share=share,
        )

    def describe(self) -> Iterator[Part]:
        """What was read, folded, drawn and masked, and what numbers will be true of."""
        yield Line(
            phrase(
                "{n} asks, {n_exact} different questions; {n_questions} once near duplicates are "
                "folded",
                n=self.n_asks,
                n_exact=self.n_exact,
                n_questions=self.n_questions,
            )
        )
        if self.n_up or self.n_down:
            yield Line(phrase("thumbs: {up} up, {down} down", up=self.n_up, down=self.n_down))
        if self.design:
            yield Line(
                phrase(
                    "drawn by lot: {n} questions, {random} of the draw by how often they were "
                    "asked, the rest towards {towards}; each keeps its chance (inclusion)",
                    n=self.n_drawn,
                    random=percent(self.design["random"]),
                    towards=joined(", ", [_TOWARDS[name] for name in self.design["towards"]])
                    or phrase("nothing, as nothing is known of them"),
                )
            )
        finds = sorted(self.masked.items())
        counts = [joined(" ", (_KINDS.get(name, name), str(n))) for name, n in finds]
        yield Line(phrase("masked: {finds}", finds=joined(", ", counts) or phrase("nothing")))
        if self.n_unmasked:
            yield warning(
                phrase(
                    "not masked, as documents and fields are known by them, or they are numbers: "
                    "{n} ids, keys and values that look like personal data",
                    n=self.n_unmasked,
                )
            )
        yield Line(self.scope)
        if self.gold_from is not None:
            yield warning(_BIASED[self.gold_from])
        yield from map(warning, self.cautions)
        if self.n_silent:
            yield Line(phrase("traces without a question, left out: {n}", n=self.n_silent))
        if self.n_broken:
            yield warning(
                phrase(
                    "left out, as they cannot be read: {n} lines, the first {place}",
                    n=self.n_broken,
                    place=str(self._source.logs.broken[0]),
                )
            )


_TOWARDS = {
    "complaints": phrase("complaints"),
    "disagreement": phrase("questions whose lists differ"),
    "doubt": phrase("questions of which the judge is unsure"),
}
_KINDS = {
    "email": phrase("email"),
    "phone": phrase("phone"),
    "resident": phrase("resident"),
    "card": phrase("card"),
    "ssn": phrase("ssn"),
}
_BIASED: Mapping[GoldFrom, str] = {
    "clicks": phrase(
        "gold of clicks is biased: people click what stands high and looks good among what was "
        "shown, so whatever finds other documents is called wrong; have a sample judged by people"
    ),
    "thumbs": phrase(
        "gold of thumbs is biased: few people rate, the angry and the pleased, and they rate the "
        "answer and not each document; have a sample judged by people"
    ),
}


def gold_from_logs(
    paths: Sequence[str | Path] | str | Path,
    masker: Masker,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    skip_broken: bool = False,
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
        skip_broken: leave out what cannot be read, counted.
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
        problem = f"{random_share} is out of range; give a share above 0, so that none is left out"
        raise UsageError(problem, field="--random")
    if n is not None:
        check_whole("-n", n)
    keep = [*dict.fromkeys([*keep, *([by] if by else [])])]
    logs = Logs(
        [paths] if isinstance(paths, (str, Path)) else paths,
        columns or {},
        encoding,
        skip_broken,
        replace(masker).text,  # it counts apart
    )
    asks, cautions = gathered(logs.questions(), masker, keep, by)
    for ask in asks if logs.has_ratings else ():
        ask.thumb = 0
    if not asks:
        raise DataError("no question", path=str(logs.paths[0]), remedy="name it with --column")
    questions, n_exact = fold(asks)
    rows = [question for question in questions if _has_gold(question, gold_from)]
    if not rows:
        raise _no_gold(asks, gold_from, str(logs.paths[0]))
    n_asks_of_gold = sum(len(question.asks) for question in rows)
    design: dict[str, Any] = {}
    if n is not None and n < len(rows):
        scores = {
            "complaints": [float(any(a.thumb < 0 for a in row.asks)) for row in questions],
            "disagreement": _disagreement(questions, results, cautions),
            "doubt": _doubt(questions, store, cautions),
        }
        slices = sorted({question.slice for question in questions})
        strata = [slices.index(row.slice) for row in rows] if by else None
        sizes = dict(zip(questions, _sizes(questions, scores, random_share, by).tolist()))
        drawn, chances = drawn_in_proportion(
            [sizes[row] for row in rows], n, random.Random(seed), strata=strata
        )
        for row, chance in zip(rows, chances):
            row.inclusion = chance
        rows = [rows[number] for number in drawn]
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
        first=_day(min(times)) if times else None,
        last=_day(max(times)) if times else None,
        n_up=sum(ask.thumb > 0 for ask in asks),
        n_down=sum(ask.thumb < 0 for ask in asks),
        n_broken=len(logs.broken),
        n_silent=len(logs.silent),
        masked=masker.counts,
        design=design,
        gold_from=gold_from,
        cautions=[*logs.cautions, *cautions],
        _source=_Source(logs, masker, rows, keep, gold_from),
    )


def _has_gold(question: FoldedQuestion, gold_from: GoldFrom | None) -> bool:
    if gold_from == "clicks":
        return any(ask.clicks for ask in question.asks)
    return gold_from is None or any(ask.thumb > 0 and ask.has_list for ask in question.asks)


def _no_gold(asks: Sequence[Ask], gold_from: GoldFrom | None, path: str) -> DataError:
    problem = phrase("no {gold_from} in the logs", gold_from=gold_from)
    remedy = phrase("name the field with --column")
    if gold_from == "thumbs" and any(ask.thumb > 0 for ask in asks):
        problem = phrase("the asks that were rated up do not say what was retrieved")
        remedy = phrase("name the field with --column retrieved=...")
    elif gold_from == "thumbs" and any(ask.thumb for ask in asks):
        problem = phrase("no thumb in the logs is up")
        remedy = phrase("have a sample judged by people")
    return DataError(problem, path=path, field=gold_from or "", remedy=remedy)


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
        even = (even + asks / of_slice[slices] / len(of_slice)) / 2
    towards = asks * np.sum([*scores.values()], axis=0)
    if not towards.any():
        return even
    sizes: Floats = share * even + (1 - share) * towards / towards.sum()
    return sizes


def _disagreement(
    questions: Sequence[FoldedQuestion], results: Sequence[str | Path], cautions: list[str]
) -> list[float]:
    """How much lists differ: 1 - Jaccard of their documents, the mean over pairs."""
    if len(results) == 1:
        raise UsageError("lists of one alone cannot differ; name two or more", field="--results")
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
    if runs:
        _check_known("--results", n_known, len(values), cautions)
    return values


def _check_known(field: str, n: int, of: int, cautions: list[str]) -> None:
    """Refuse what knows no question, and say how many it knows where these are not all."""
    if n == 0:
        problem = phrase("knows none of the {n} questions of the logs", n=of)
        remedy = phrase(
            "questions are known by their ids, as --out writes them with the same options"
        )
        raise DataError(problem, field=field, remedy=remedy)
    if n < of:
        cautions.append(
            phrase(
                "{option} knows {n} of {of} questions, and says nothing of the others",
                option=field,
                n=n,
                of=of,
            )
        )


def _doubt(
    questions: Sequence[FoldedQuestion], store: str | Path | None, cautions: list[str]
) -> list[float]:
    """The share of a question's grades that one step more, or less, would turn."""
    grades: dict[str, list[float]] = defaultdict(list)
    for pair in from_store(store, asks="relevance") if store is not None else ():
        if pair.grade is not None:
            grades[pair.query_id].append(pair.grade)
    shares = {name: sum(g in _UNSURE for g in given) / len(given) for name, given in grades.items()}
    if store is not None:
        n_known = sum(question.id in shares for question in questions)
        _check_known("--store", n_known, len(questions), cautions)
    return [shares.get(question.id, 0.0) for question in questions]


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()


@dataclass(eq=False)
class _Source:
    """Logs that were read once, and those of their questions that are drawn."""

    logs: Logs
    masker: Masker
    drawn: Sequence[FoldedQuestion]
    keep: Sequence[str]
    gold_from: GoldFrom | None

    def __post_init__(self) -> None:
        self.n_unmasked = 0
        self._counts = self.masker.counts.copy()
        self._lookout = replace(self.masker)  # it counts apart

    def questions(self) -> Iterator[tuple[Query, Retrieved | None]]:
        """The questions, in the order in which each was last asked."""
        self.n_unmasked = 0
        self.masker.counts.clear()  # the texts of answers may be read again
        self.masker.counts.update(self._counts)
        if self.gold_from == "thumbs":
            yield from self._rated()
            return
        last = {question.last.number: question for question in self.drawn}
        for number, logged in enumerate(self.logs.questions()):
            if (question := last.get(number)) is not None:
                clicks = {name: None for ask in question.asks for name in ask.clicks}
                golds = [*map(Gold, clicks)] if self.gold_from else []
                yield self._question(question, logged, golds)

    def _rated(self) -> Iterator[tuple[Query, Retrieved | None]]:
        """The questions with what was rated for them, which their last ask does not say alone."""
        last = {question.last.number: question for question in self.drawn}
        rated = {
            ask.number: (max(0, ask.thumb), question)
            for question in self.drawn
            for ask in question.asks
            if ask.thumb and ask.has_list
        }
        golds: dict[FoldedQuestion, dict[object, Gold]] = defaultdict(dict)
        waiting: dict[FoldedQuestion, LoggedQuestion] = {}
        for number, logged in enumerate(self.logs.questions()):
            for doc in logged.retrieved or () if number in rated else ():
                thumb, question = rated[number]
                item = Gold(doc.id, None if doc.id else self._masked(doc).text, float(thumb))
                if thumb or doc.identity not in golds[question]:
                    golds[question][doc.identity] = item
            if number in last:
                waiting[last[number]] = logged
        for question, logged in waiting.items():
            yield self._question(question, logged, [*golds[question].values()])

    def _question(
        self, question: FoldedQuestion, logged: LoggedQuestion, gold: Sequence[Gold]
    ) -> tuple[Query, Retrieved | None]:
        fields = fields_of(logged.record, self.keep)
        self.n_unmasked += self._unmasked(fields) + sum(self._is_seen(item.id) for item in gold)
        metadata = self.masker.within(fields)
        query_type = metadata.pop("query_type", None)
        if logged.answer is not None:
            metadata["logged_answer"] = self.masker.text(logged.answer)
        if logged.time is not None:
            metadata["last_asked"] = _day(logged.time)
        turns = [Turn(turn.role, self.masker.text(turn.content)) for turn in logged.history]
        earlier: list[Turn] = []
        ask = question.last
        while len(earlier) < N_TURNS and ask.before is not None:
            ask = ask.before
            earlier.append(Turn("user", ask.text))
        query = Query(
            question.id,
            question.text,
            tuple(gold),
            query_type=None if query_type is None else str(query_type),
            metadata=metadata,
            history=(*turns, *earlier[::-1]),
            weight=float(len(question.asks)),
            inclusion=question.inclusion,
        )
        if logged.retrieved is None:
            return query, None
        return query, Retrieved(tuple(map(self._masked, logged.retrieved)))

    def _masked(self, doc: Doc) -> Doc:
        self.n_unmasked += self._is_seen(doc.id) + self._unmasked(doc.metadata)
        text = None if doc.text is None else self.masker.text(doc.text)
        return Doc(doc.id, text, self.masker.within(doc.metadata), doc.score)

    def _unmasked(self, value: Any) -> int:
        """How many keys and whole numbers within a value look like what is masked."""
        if isinstance(value, Mapping):
            return sum(self._is_seen(key) + self._unmasked(inner) for key, inner in value.items())
        if isinstance(value, (list, tuple)):
            return sum(map(self._unmasked, value))
        return isinstance(value, int) and self._is_seen(value)

    def _is_seen(self, value: object) -> bool:
        text = str(value)
        return value is not None and self._lookout.text(text) != text

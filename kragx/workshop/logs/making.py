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
from kragx.metrics.match_table import Floats, Ints
from kragx.workshop.logs.folding import Folded, Wordings, fold
from kragx.workshop.logs.gathering import N_TURNS, Asks, fields_of, gathered
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
    asks = gathered(logs.questions(), masker, keep, by)
    if logs.has_ratings:
        asks = replace(asks, thumbs=np.zeros_like(asks.thumbs))
    if not len(asks):
        raise DataError("no question", path=str(logs.paths[0]), remedy="name it with --column")
    folded, of_ask = _folded(asks)
    source = _Source(logs, masker, asks, folded, of_ask, keep, gold_from)
    rows = np.flatnonzero(source.has_gold)
    if not len(rows):
        raise _no_gold(asks, gold_from, str(logs.paths[0]))
    design: dict[str, Any] = {}
    if n is not None and n < len(rows):
        scores = {
            "complaints": _complaints(of_ask[asks.thumbs < 0], len(folded.keys)),
            "disagreement": _disagreement(folded, results, asks.cautions),
            "doubt": _doubt(folded, store, asks.cautions),
        }
        sizes = _sizes(folded.asks, scores, random_share, source.slices if by else None)[rows]
        strata = source.slices[rows].tolist() if by else None
        chosen, chances = drawn_in_proportion(sizes.tolist(), n, random.Random(seed), strata=strata)
        source.inclusion[rows] = chances
        rows = rows[chosen]
        towards = [name for name, values in scores.items() if values.any()]
        share = random_share if towards else 1.0
        design = {"n": n, "random": share, "towards": towards, "by": by, "seed": seed}
    source.choose(rows)
    known = asks.times[~np.isnan(asks.times)]
    is_all = gold_from is None
    return LoggedGold(
        n_asks=len(asks),
        n_exact=folded.n_exact,
        n_questions=len(folded.keys),
        n_drawn=len(rows),
        n_asks_of_gold=None if is_all else int(folded.asks[source.has_gold].sum()),
        first=_day(known.min()) if len(known) else None,
        last=_day(known.max()) if len(known) else None,
        n_up=int((asks.thumbs > 0).sum()),
        n_down=int((asks.thumbs < 0).sum()),
        n_broken=len(logs.broken),
        n_silent=len(logs.silent),
        masked=masker.counts,
        design=design,
        gold_from=gold_from,
        cautions=[*logs.cautions, *asks.cautions],
        _source=source,
    )


def _no_gold(asks: Asks, gold_from: GoldFrom | None, path: str) -> DataError:
    problem = phrase("no {gold_from} in the logs", gold_from=gold_from)
    remedy = phrase("name the field with --column")
    if gold_from == "thumbs" and (asks.thumbs > 0).any():
        problem = phrase("the asks that were rated up do not say what was retrieved")
        remedy = phrase("name the field with --column retrieved=...")
    elif gold_from == "thumbs" and asks.thumbs.any():
        problem = phrase("no thumb in the logs is up")
        remedy = phrase("have a sample judged by people")
    return DataError(problem, path=path, field=gold_from or "", remedy=remedy)


def _folded(asks: Asks) -> tuple[Folded, Ints]:
    """The questions, and which of them each ask is."""
    rows = np.stack([asks.of_text.astype(np.uint64), asks.around], axis=1)
    _, firsts, forms, counts = np.unique(
        rows, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    of_text, around, masked = asks.of_text, asks.around, asks.around_masked
    distinct = Wordings(of_text[firsts], around[firsts], masked[firsts], counts, asks.values)
    folded = fold(asks.alone, distinct)
    return folded, folded.groups[forms.reshape(-1)]


def query_id(key: int) -> str:
    """The id of a question: the same in every log, and of nothing that is masked."""
    return f"q-{key:016x}"


def _sizes(asks: Ints, scores: Mapping[str, Floats], share: float, slices: Ints | None) -> Floats:
    """In proportion to what questions are drawn: all above 0."""
    even: Floats = asks / asks.sum()
    if slices is not None:
        of_slice = np.bincount(slices, asks)
        even = (even + asks / of_slice[slices] / np.count_nonzero(of_slice)) / 2
    towards = asks * np.sum([*scores.values()], axis=0)
    if not towards.any():
        return even
    sizes: Floats = share * even + (1 - share) * towards / towards.sum()
    return sizes


def _complaints(rows: Ints, n: int) -> Floats:
    """1 where somebody complained."""
    return (np.bincount(rows, minlength=n) > 0).astype(np.float64)


def _disagreement(folded: Folded, results: Sequence[str | Path], cautions: list[str]) -> Floats:
    """How much lists differ: 1 - Jaccard of their documents, the mean over pairs."""
    if len(results) == 1:
        raise UsageError("lists of one alone cannot differ; name two or more", field="--results")
    runs = [read_run(path).results for path in results]
    values, n_known = np.zeros(len(folded.keys)), 0
    for row, key in enumerate(folded.keys.tolist() if runs else ()):
        lists = [
            {doc.identity for doc in run[query_id(key)].documents[:_DEPTH]}
            for run in runs
            if query_id(key) in run
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


def _doubt(folded: Folded, store: str | Path | None, cautions: list[str]) -> Floats:
    """The share of a question's grades that one step more, or less, would turn."""
    grades: dict[str, list[float]] = defaultdict(list)
    for pair in from_store(store, asks="relevance") if store is not None else ():
        if pair.grade is not None:
            grades[pair.query_id].append(pair.grade)
    shares = {name: sum(g in _UNSURE for g in given) / len(given) for name, given in grades.items()}
    known = [shares.get(query_id(key)) for key in folded.keys.tolist()]
    if store is not None:
        _check_known("--store", sum(share is not None for share in known), len(known), cautions)
    return np.array([share or 0.0 for share in known])


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()


@dataclass(eq=False)
class _Source:
    """Logs that were read once, and what of them is a question."""

    logs: Logs
    masker: Masker
    asks: Asks
    folded: Folded
    of_ask: Ints
    keep: Sequence[str]
    gold_from: GoldFrom | None

    def __post_init__(self) -> None:
        n = len(self.folded.keys)
        self.inclusion = np.ones(n)
        self.n_unmasked = 0
        self._counts = self.masker.counts.copy()
        self._lookout = replace(self.masker)  # it counts apart
        self.slices: Ints = np.zeros(n, np.int64)
        self.slices[self.of_ask] = self.asks.slices
        self._clicks: dict[int, dict[str, None]] = defaultdict(dict)
        for ask, ids in self.asks.clicks.items():
            self._clicks[int(self.of_ask[ask])].update(dict.fromkeys(ids))
        self.has_gold = np.ones(n, bool)
        if self.gold_from is not None:
            up = self.of_ask[(self.asks.thumbs > 0) & self.asks.has_list]
            rows = up if self.gold_from == "thumbs" else np.array([*self._clicks], np.int64)
            self.has_gold = np.isin(np.arange(n), rows)

    def choose(self, rows: Ints) -> None:
        """Take these questions."""
        chosen = np.isin(np.arange(len(self.folded.keys)), rows)
        # The last ask that has a list; else the last one.
        order = np.lexsort((np.arange(len(self.asks)), self.asks.times, self.asks.has_list))
        last = np.zeros(len(chosen), np.int64)
        last[self.of_ask[order]] = order
        self._asks = {int(last[row]): int(row) for row in np.flatnonzero(chosen).tolist()}
        rated = np.flatnonzero((self.asks.thumbs != 0) & self.asks.has_list & chosen[self.of_ask])
        self._rated = {*rated.tolist()} if self.gold_from == "thumbs" else set()

    def questions(self) -> Iterator[tuple[Query, Retrieved | None]]:
        """The questions, in the order in which each was last asked."""
        self.n_unmasked = 0
        self.masker.counts.clear()  # the texts of answers may be read again
        self.masker.counts.update(self._counts)
        rated: dict[int, dict[object, Gold]] = defaultdict(dict)
        waiting: dict[int, LoggedQuestion] = {}
        for ask, question in enumerate(self.logs.questions()):
            row = self._asks.get(ask)
            if ask in self._rated:
                thumb = max(0, int(self.asks.thumbs[ask]))
                for doc in question.retrieved or ():
                    item = Gold(doc.id, None if doc.id else self._masked(doc).text, float(thumb))
                    golds = rated[int(self.of_ask[ask])]
                    if thumb or doc.identity not in golds:
                        golds[doc.identity] = item
            if row is not None and self.gold_from == "thumbs":
                waiting[row] = question
            elif row is not None:
                ids = self._clicks.get(row, ()) if self.gold_from else ()
                yield self._question(row, ask, question, [Gold(doc_id) for doc_id in ids])
        asks = {row: ask for ask, row in self._asks.items()}
        for row, question in waiting.items():
            yield self._question(row, asks[row], question, [*rated[row].values()])

    def _question(
        self, row: int, ask: int, question: LoggedQuestion, gold: Sequence[Gold]
    ) -> tuple[Query, Retrieved | None]:
        text = self.asks.texts[int(self.folded.wordings[row])]
        fields = fields_of(question.record, self.keep)
        self.n_unmasked += self._unmasked(fields) + sum(self._is_seen(item.id) for item in gold)
        metadata = self.masker.within(fields)
        query_type = metadata.pop("query_type", None)
        if question.answer is not None:
            metadata["logged_answer"] = self.masker.text(question.answer)
        if not np.isnan(self.asks.times[ask]):
            metadata["last_asked"] = _day(self.asks.times[ask])
        query = Query(
            query_id(int(self.folded.keys[row])),
            text,
            tuple(gold),
            query_type=None if query_type is None else str(query_type),
            metadata=metadata,
            history=self._history(ask, question),
            weight=float(self.folded.asks[row]),
            inclusion=float(self.inclusion[row]),
        )
        if question.retrieved is None:
            return query, None
        return query, Retrieved(tuple(map(self._masked, question.retrieved)))

    def _history(self, ask: int, question: LoggedQuestion) -> tuple[Turn, ...]:
        turns = (Turn(turn.role, self.masker.text(turn.content)) for turn in question.history)
        earlier: list[Turn] = []
        while len(earlier) < N_TURNS and (before := self.asks.before.get(ask)) is not None:
            earlier.append(Turn("user", self.asks.texts[int(self.asks.of_text[before])]))
            ask = before
        return (*turns, *earlier[::-1])

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

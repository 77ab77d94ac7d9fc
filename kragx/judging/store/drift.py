"""Drift of a judge: the same pairs judged again later, and how many grades came out otherwise.

A store never asks the same question of the same judge twice. But models are replaced, prompts and
rubrics edited, repeats asked for: then pairs get another grade under another key, and whoever
compares numbers of before and after should know how many changed for that reason alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any, ClassVar, NamedTuple

from kragx.judging.keys import canonical_json, key_of
from kragx.judging.store.qrels import NO_EXAMPLES, examples_of
from kragx.judging.store.wordings import Wording, names_of, wording_of
from kragx.printing import Line, Part, Result, Table, percent, phrase, signed, visible

CUT = 2
"""The grade from which on a document is relevant, unless a config says otherwise."""

_PAIR = ("asks", "query", "document", "gold", "reference")
"""What of a question is judged, whoever judges."""

_GRADED = ("relevance", "support")


class _Judge(NamedTuple):
    """Who judged, and how it was asked."""

    asks: str
    model: str
    served: str
    wording: Wording
    examples: str
    prompt: str
    repeat: int


@dataclass(frozen=True)
class Drift(Result):
    """The pairs that one judge has graded, graded by a later one.

    Attributes:
        asks: what was asked: ``relevance`` or ``support``.
        earlier, later: the two judges: model, what served it, rubric, examples, repeat.
        earlier_at, later_at: when half of each one's grades had been given, in UTC (ISO 8601).
        n_pairs: pairs that both have graded.
        n_changed: those of them with another grade now.
        n_crossed: those of them that came to be relevant, or no more, at grade 2.
        mean_change: by how much grades went up, on average.
    """

    asks: str
    earlier: str
    later: str
    earlier_at: str
    later_at: str
    n_pairs: int
    n_changed: int
    n_crossed: int
    mean_change: float

    also_plain: ClassVar[tuple[str, ...]] = ("changed_share",)

    @property
    def changed_share(self) -> float:
        """The share of pairs with another grade."""
        return self.n_changed / self.n_pairs

    def describe(self) -> Iterable[Part]:
        """Who against whom, and how many grades changed."""
        yield Line(
            phrase(
                "{later} against {earlier}: {n} of {of} grades changed ({share}), {crossed} across "
                "grade {cut}",
                later=visible(self.later),
                earlier=visible(self.earlier),
                n=self.n_changed,
                of=self.n_pairs,
                share=percent(self.changed_share),
                crossed=self.n_crossed,
                cut=CUT,
            )
        )


def drift(records: Iterable[Mapping[str, Any]]) -> tuple[Drift, ...]:
    """Each judge of a store against the latest earlier one that has graded some of its pairs.

    Args:
        records: as `Store.records` gives them. Grades of people, failures and answers that are
            lists are passed over; of several grades of a pair by one judge the first counts, as in
            results.
    """
    grades: dict[_Judge, dict[str, float]] = {}
    times: dict[_Judge, list[str]] = {}
    for record in records:
        question, grade = record.get("question") or {}, record.get("grade")
        is_judges = record.get("source") in ("judge", "batch")
        if grade is None or question.get("asks") not in _GRADED or not is_judges:
            continue
        own = _judge(record, question)
        pair = key_of(canonical_json([question.get(name) for name in _PAIR]))
        grades.setdefault(own, {}).setdefault(pair, float(grade))
        times.setdefault(own, []).append(str(record["at"]))
    at = {own: median_low(own_times) for own, own_times in times.items()}
    ordered = sorted(grades, key=lambda own: (at[own], own))
    names = _names(ordered)
    drifts = []
    for place, later in enumerate(ordered):
        for earlier in reversed(ordered[:place]):
            shared = grades[later].keys() & grades[earlier].keys()
            if shared:
                pairs = [(grades[earlier][pair], grades[later][pair]) for pair in shared]
                drifts.append(
                    _drift(later.asks, pairs, *((names[o], at[o]) for o in (earlier, later)))
                )
                break
    return tuple(drifts)


def drift_parts(drifts: Iterable[Drift]) -> Iterable[Part]:
    """A table with a row for each."""
    rows = [
        [
            visible(drift.later),
            visible(drift.earlier),
            f"{drift.earlier_at[:10]} → {drift.later_at[:10]}",
            str(drift.n_pairs),
            f"{drift.n_changed} ({percent(drift.changed_share)})",
            str(drift.n_crossed),
            signed(drift.mean_change),
        ]
        for drift in drifts
    ]
    if not rows:
        yield Line(phrase("the judge: no pair was judged again by a later judge"))
        return
    columns = [
        phrase("judge"),
        phrase("against"),
        phrase("when"),
        phrase("pairs"),
        phrase("changed"),
        phrase("across {cut}", cut=CUT),
        phrase("mean change"),
    ]
    note = phrase(
        "the same pairs, judged again later; across: relevant before and no more, or the other way "
        "round"
    )
    yield Table(columns, rows, words=3, note=note)


def _judge(record: Mapping[str, Any], question: Mapping[str, Any]) -> _Judge:
    return _Judge(
        str(question["asks"]),
        str(question.get("client", {}).get("model", "?")),
        " ".join(str(record[name]) for name in ("model", "fingerprint") if record.get(name)),
        wording_of(question),
        examples_of(question),
        str(question.get("prompt", "")),
        int(question.get("repeat") or 0),
    )


def _names(judges: Iterable[_Judge]) -> dict[_Judge, str]:
    """What tells the judges apart; what they all share but for the model is left out."""
    every = list(judges)
    wordings = names_of(own.wording for own in every)
    several = {
        name: len({getattr(own, name) for own in every}) > 1 for name in ("prompt", "repeat")
    }

    def name_of(own: _Judge) -> str:
        served = f" ({own.served})" if own.served not in ("", own.model) else ""
        parts = [
            f"{own.model}{served}",
            wordings[own.wording],
            "" if own.examples == NO_EXAMPLES else f"examples {own.examples}",
            f"prompt {own.prompt}" if several["prompt"] else "",
            f"repeat {own.repeat}" if several["repeat"] else "",
        ]
        return ", ".join(filter(None, parts))

    return {own: name_of(own) for own in every}


def _drift(
    asks: str,
    pairs: list[tuple[float, float]],
    earlier: tuple[str, str],
    later: tuple[str, str],
) -> Drift:
    return Drift(
        asks,
        earlier[0],
        later[0],
        earlier[1],
        later[1],
        len(pairs),
        sum(before != after for before, after in pairs),
        sum((before >= CUT) != (after >= CUT) for before, after in pairs),
        sum(after - before for before, after in pairs) / len(pairs),
    )

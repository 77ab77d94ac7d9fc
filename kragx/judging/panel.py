"""A panel: several judges, or one asked several times, whose votes decide together."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self

from kragx.ground.errors import UsageError
from kragx.ground.json_values import to_jsonable
from kragx.ground.options import check_options
from kragx.ground.printing import message
from kragx.judging.judge import Grader, Judge, Judged
from kragx.judging.judgement_counts import ByName, Pattern, Tally
from kragx.judging.question import Decide, Judgement, Question, essential, n_needed, settled_grade
from kragx.judging.rubric import LISTED, canonical_json

if TYPE_CHECKING:
    from kragx.metrics import Floats

OF_ONE = frozenset(
    {
        *("client", "repeat", "prices", "concurrency", "rpm", "timeout", "attempts", "patience"),
        *("progress", "secrets", "outbox", "clock", "sleep"),
    }
)
"""The options in which the judges of a panel may differ; the others belong to the panel."""


def _judges(judges: Any) -> tuple[Judge, ...]:
    if not isinstance(judges, (list, tuple)) or len(judges) < 2:
        raise UsageError("a list of at least two judges is needed", field="panel")
    for place, judge in enumerate(judges):
        if not isinstance(judge, Judge):
            problem = message("{name} is no Judge", name=type(judge).__name__)
            raise UsageError(problem, field=f"panel[{place}]")
    # Copies: what a panel's judges have used is counted together, and apart from anybody else's.
    return tuple(replace(judge) for judge in judges)


@dataclass(frozen=True, slots=True)
class Verdict(Judgement):
    """What the `votes` of several judges, in their order, came to; these are rows of a store."""

    votes: Pattern = ()

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the greatest vote; not known (NaN) where the grade is not."""
        grades = [] if self.grade is None else _graded(self.votes)
        return (min(grades), max(grades)) if grades else (self.score, self.score)


@dataclass(frozen=True)
class Panel(Grader):
    """Several judges that are asked one after the other; their votes decide together.

    Each vote is a judgement as of one judge: under its own key, stored, priced, resumed. What the
    votes come to (`Verdict`) is reckoned anew each time. Budgets of a run are the panel's.

    Attributes:
        judges: at least two, each another one, or another `repeat`; in the order in which they are
            asked. They share all options but those of `OF_ONE`.
        decide: ``median`` (the lower of two: a match is what more than half call one), ``majority``
            (the most frequent grade, of several the median of these) or ``mean``.
        ask: ``all`` of them, or those after the first ones only where ``needed``: where the votes
            before can still be outvoted.

    Raises:
        UsageError: an option is wrong, or a judge stands twice.
    """

    judges: Any
    decide: Decide = "median"
    ask: Literal["all", "needed"] = "all"

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "judges", _judges(self.judges))
        if self.decide == "mean" and self.ask == "needed":
            remedy = message("use all, or decide: median")
            raise UsageError(message("a mean needs every vote"), field="ask", remedy=remedy)
        judges: Sequence[Judge] = self.judges
        for name in (field.name for field in fields(Judge) if field.name not in OF_ONE):
            if any(getattr(judge, name) != getattr(judges[0], name) for judge in judges):
                problem = message("the judges of a panel share it")
                raise UsageError(problem, field=name, remedy=message("give it once"))
        keys = [canonical_json([essential(j.client.settings), j.repeat]) for j in judges]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                raise UsageError(
                    "{model!r} stands there twice, and would be given its first answer once more",
                    field=f"panel[{place}]",
                    remedy="give it another 'repeat' ({{model: ..., repeat: 1}}), or 'repeats'",
                    model=judges[place].model,
                )
        for judge in judges:
            judge.limits.fellows = tuple(fellow.limits for fellow in judges if fellow is not judge)
        for judge in judges[self._n_everywhere :]:
            judge.plan.at_most = True

    def __getattr__(self, name: str) -> Any:
        """What its judges share is theirs."""
        if name in Grader.__annotations__:
            return getattr(self.judges[0], name)
        raise AttributeError(f"a panel has no {name!r}")

    @property
    def members(self) -> tuple[Judge, ...]:
        """Its judges."""
        return self.judges  # type: ignore[no-any-return]

    @property
    def model(self) -> str:
        """What decides, in a few words."""
        clients = {canonical_json(essential(judge.client.settings)) for judge in self.members}
        if len(clients) == 1:
            return f"{self.decide} of {len(self.judges)} repeats of {self.judges[0].model}"
        return f"{self.decide} of {', '.join(self.names)}"

    @property
    def names(self) -> list[str]:
        """Of the judges: their models, numbered where one stands there several times."""
        models = [judge.model for judge in self.members]
        return [
            model if models.count(model) == 1 else f"{model} #{models[:place].count(model) + 1}"
            for place, model in enumerate(models)
        ]

    @property
    def _n_everywhere(self) -> int:
        """How many judges are asked everything."""
        n = len(self.judges)
        return n if self.ask == "all" else n_needed(n, self.decide)

    def with_options(self, **options: Any) -> Self:
        """The same with these options of each judge; itself where all have them, to share it."""
        judges = tuple(judge.with_options(**options) for judge in self.members)
        same = all(judge is member for judge, member in zip(judges, self.members))
        return self if same else replace(self, judges=judges)

    # -- judging -------------------------------------------------------------------------------

    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Have each question judged by the panel, by one judge after the other.

        Raises:
            JudgingError, DataError: as of `Judge.ajudge`.
        """
        votes: list[list[Judgement | None]] = [[] for _ in questions]
        tally = Tally()
        for place, (name, judge) in enumerate(zip(self.names, self.members)):
            rows = [
                row
                for row, question in enumerate(questions)
                if place < self._n_everywhere or self._is_open(question, votes[row])
            ]
            asked = [questions[row] for row in rows]
            judged = await judge.ajudge(asked) if rows else Judged((), Tally())
            answers = dict(zip(rows, judged.judgements, strict=True))
            for row, of_question in enumerate(votes):
                of_question.append(answers.get(row))
            tally.add(judged.tally.calls())
            tally.judges += ByName({name: judged.tally})
        verdicts = [self._verdict(*entry) for entry in zip(questions, votes, strict=True)]
        tally.count(questions, verdicts)
        distinct = {verdict.key: verdict for verdict in verdicts if isinstance(verdict, Verdict)}
        tally.votes = Counter(verdict.votes for verdict in distinct.values())
        return Judged(tuple(verdicts), tally)

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """As `Judge.stored`: what the votes in the store come to."""
        votes = zip(*(judge.stored(questions) for judge in self.members), strict=True)
        return [
            self._verdict(question, row) if any(vote is not None for vote in row) else None
            for question, row in zip(questions, votes, strict=True)
        ]

    def _is_open(self, question: Question, votes: Sequence[Judgement | None]) -> bool:
        """Whether further votes are needed, and can be asked for yet."""
        answered = [vote for vote in votes if vote is not None]
        if any(vote.source == "human" or vote.failure == "pending" for vote in answered):
            return False
        return self._decided(question, answered)[0] is None

    def _verdict(self, question: Question, votes: Sequence[Judgement | None]) -> Judgement:
        answered = [vote for vote in votes if vote is not None]
        for vote in answered:
            if vote.source == "human":  # people's labels win, and are no votes
                return replace(vote, key=answered[0].key)
        failed = [vote for vote in answered if vote.failure is not None]
        pattern = tuple(
            vote if vote is None else vote.failure if vote.grade is None else int(vote.grade)
            for vote in votes
        )
        grades = _graded(pattern)
        grade, answer = self._decided(question, answered)
        votes_text = ", ".join(
            f"{name} {vote.failure or vote.grade}" if vote else f"{name} not needed"
            for name, vote in zip(self.names, votes)
        )
        verdict = Verdict(answered[0].key, source=answered[0].source, votes=pattern)
        if grade is None:
            if not failed:  # of a store that lacks votes
                return replace(verdict, failure="not_asked", detail=f"undecided ({votes_text})")
            failure = min(failed, key=lambda vote: vote.failure != "pending")
            detail = f"undecided ({votes_text}): {failure.detail or failure.failure}"
            return replace(verdict, failure=failure.failure, detail=detail)
        share = f"{grades.count(int(grade))} of {len(grades)} said {grade:g}"
        if answer:
            share = f"{grade:g} of the top grade"
        elif self.decide == "mean":
            share = f"mean {grade:.2f}"
        name, nearest = min(
            ((name, vote) for name, vote in zip(self.names, votes) if vote and not vote.failure),
            key=lambda entry: abs(entry[1].score - grade),
        )
        why = f" {name}: {nearest.reason}" if nearest.reason else ""
        return replace(verdict, grade=grade, answer=answer, reason=f"{share} ({votes_text}).{why}")

    def _decided(
        self, question: Question, answered: Sequence[Judgement]
    ) -> tuple[float | None, str | None]:
        """The grade that votes come to, None if it is open; of lists that of each thing, too."""
        graded = [vote for vote in answered if vote.grade is not None]
        top, n_open = question.rubric.top, len(self.judges) - len(graded)
        if question.rubric.asks not in LISTED:
            grades = [int(vote.grade or 0) for vote in graded]
            return settled_grade(grades, n_open, self.decide, top), None
        votes = [vote.entries for vote in graded]
        entries = []
        for things in zip(*votes, strict=True):
            grade = settled_grade([int(grade) for grade, _ in things], n_open, self.decide, top)
            if grade is None:
                return None, None
            entries.append((grade, min(things, key=lambda thing: abs(thing[0] - grade))[1]))
        if not votes:
            return None, None
        return sum(grade == top for grade, _ in entries), json.dumps(entries, ensure_ascii=False)

    # -- what results record -------------------------------------------------------------------

    def summary(self, tally: Tally) -> dict[str, Any]:
        """What judging took, for a result, how the judges voted, and how far they agree.

        Whoever is asked only where others differ cannot be said to agree or not.
        """
        names, first = self.names, self.members[0]
        asked_everywhere: Counter[Pattern] = Counter()
        for votes, n in tally.votes.items():
            asked_everywhere[votes[: self._n_everywhere]] += n
        costs = {
            name: judge.summary(tally.judges.get(name, Tally()))
            for name, judge in zip(names, self.members)
        }
        priced = all(judge.price is not None for judge in self.members)
        return {
            **to_jsonable(tally),
            "cost": sum(cost["cost"] for cost in costs.values()) if priced else None,
            "currency": first.currency if priced else None,
            "model": self.model,
            "store": str(self.store),
            "panel": {
                "decide": self.decide,
                "ask": self.ask,
                "judges": [
                    {
                        "name": name,
                        **{entry: cost[entry] for entry in ("n_calls", "n_stored", "cost")},
                    }
                    for name, cost in costs.items()
                ],
                "n_questions": tally.votes.total(),
                "n_disputed": sum(n for row, n in tally.votes.items() if len({*_graded(row)}) > 1),
                "alpha": alpha(asked_everywhere),
                "alpha_of": names[: self._n_everywhere],
            },
        }


def repeated(judge: Judge, n: int, **options: Any) -> Panel:
    """A judge that is asked everything several times: as its repeats from `repeat` on."""
    judges = tuple(replace(judge, repeat=judge.repeat + number) for number in range(n))
    return Panel(judges, **options)


# -- how far judges agree ------------------------------------------------------------------------


def ordinal_alpha(coincidences: Floats) -> Floats:
    """Krippendorff's alpha for ordered labels, from (..., l, l) symmetric coincidences.

    NaN where only one label occurs.

    Source: K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011.
    """
    import numpy as np  # commands that judge nothing do without

    values = coincidences.sum(-1)
    total = values.sum(-1)
    # Labels are as far apart as there are values between them, half of either end counted.
    place = np.cumsum(values, -1) - values / 2
    distance = (place[..., :, None] - place[..., None, :]) ** 2
    observed = (coincidences * distance).sum((-1, -2)) * (total - 1)
    expected = np.einsum("...i,...ij,...j->...", values, distance, values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1 - np.where(expected > 0, observed / expected, np.nan)


def alpha(patterns: Mapping[Pattern, int]) -> float | None:
    """Krippendorff's ordinal alpha among judges; None where nothing could disagree.

    Args:
        patterns: how many questions got each row of votes; what is no grade is a missing value.
    """
    import numpy as np

    graded = [(_graded(votes), n) for votes, n in patterns.items()]
    size = max((grade for grades, _ in graded for grade in grades), default=0) + 1
    coincidences = np.zeros((size, size))
    for grades, n in graded:
        # Of m grades each stands beside m - 1 others, and counts once in all.
        for pair in combinations(grades, 2):
            coincidences[pair] += n / (len(grades) - 1)
    value = float(ordinal_alpha(coincidences + coincidences.T))
    return None if math.isnan(value) else value


def _graded(votes: Pattern) -> list[int]:
    return [vote for vote in votes if isinstance(vote, int)]

"""The shares that kinds of questions should have, and which kind is wanted next."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor
from random import Random
from typing import Any

from kragx.data.gold import Query
from kragx.data.validation import TOLERANCE, target_problems
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import phrase
from kragx.judging.questions import Kind

TARGETS: Mapping[str, Mapping[str, float]] = {
    "query_type": {"general_inquiry": 0.5, "legal_interpretation": 0.25, "similar_case": 0.25},
    "difficulty": {"easy": 0.4, "medium": 0.4, "hard": 0.2},
}
"""The shares that a set should have where nobody says others."""

Shares = Mapping[str, Mapping[str, float]]
"""By query_type and difficulty the share that each value should have."""

Cell = tuple[str, str]
"""A query_type and a difficulty."""


def check_shares(**shares: float | None) -> None:
    """Raise a `UsageError` for what is no share, by its name; None is none that is wrong."""
    for name, share in shares.items():
        if share is not None and not 0 <= share <= 1:
            raise UsageError(f"{share:g} is no share", field=name, remedy="write 0.6 for 60%")


def target_shares(targets: Shares | None) -> dict[str, Mapping[str, float]]:
    """Target shares, `TARGETS` for what they do not name.

    Raises:
        UsageError: they are none, or of something else.
    """
    shares = {**TARGETS, **(targets or {})}
    for problem in target_problems(shares):
        raise UsageError(f"targets.{problem}")
    if unknown := shares.keys() - TARGETS.keys():
        problem = f"unknown key {min(unknown)!r}"
        raise UsageError(problem, field="targets", remedy=nearest("", TARGETS))
    return shares


def kinds_of(existing: Iterable[Query]) -> list[tuple[str | None, str | None]]:
    """The query_type and difficulty of questions that are there; None where one has none."""
    levels = [(query.query_type, query.metadata.get("difficulty")) for query in existing]
    return [(kind or None, None if level is None else str(level)) for kind, level in levels]


def counts_of(kinds: Iterable[Sequence[str | None]]) -> dict[str, Counter[str]]:
    """How many questions have each query_type, and each difficulty."""
    counts = {name: Counter[str]() for name in TARGETS}
    for kind in kinds:
        for name, value in zip(TARGETS, kind):
            if value is not None:
                counts[name][value] += 1
    return counts


def unmet(
    targets: Shares, counts: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[str, str, float, float]]:
    """Yield what is further from its target than validation lets pass: of what, share, target."""
    for name, shares in targets.items():
        whole = sum(counts[name].values())
        for value, target in shares.items():
            count = counts[name].get(value, 0)
            share = count / whole if whole else 0.0
            if abs(share - target) > TOLERANCE and abs(count - target * whole) >= 1:
                yield name, value, share, target


def unmet_notes(targets: Shares, counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A line for each share that is `unmet`."""
    return [
        phrase(
            "{name}: {share:.0%} of the questions, the target is {target:.0%}",
            name=f"{name}.{value}",
            share=share,
            target=target,
        )
        for name, value, share, target in unmet(targets, counts)
    ]


class Quotas:
    """Which kind of question is wanted next of a number of them, of the kinds that can be made.

    The numbers of each type, and of each difficulty, are those of the largest remainders; within
    them every pair of a type and a difficulty comes as near to the product of its shares as it can.
    Kinds of which no more can be made are passed over, and others take their places.
    """

    def __init__(
        self,
        targets: Shares,
        cells: Iterable[Cell],
        existing: Sequence[tuple[str | None, str | None]],
        n: int,
    ) -> None:
        self._open = {*cells}
        by_axis = [sorted({cell[axis] for cell in self._open}) for axis in (0, 1)]
        self.shares: dict[str, dict[str, float]] = {
            name: _shares(targets[name], values) for name, values in zip(TARGETS, by_axis)
        }
        self.counts: dict[str, Counter[str]] = counts_of(existing)
        self._cells = Counter[tuple[str | None, str | None]](existing)
        # What nobody has given a kind counts towards none.
        self._whole = n + sum(None not in kind for kind in existing)
        self._quotas = [
            _largest_remainders(shares, n + counts.total())
            for shares, counts in zip(self.shares.values(), self.counts.values())
        ]

    def next(self) -> Cell | None:
        """The kind that is wanted most; None if no kind is left."""
        return min(self._open, key=self._rank, default=None)

    def _rank(self, cell: Cell) -> tuple[object, ...]:
        remaining = [
            quota.get(value, 0) - counts[value]
            for quota, counts, value in zip(self._quotas, self.counts.values(), cell)
        ]
        target = float(self._whole)
        for shares, value in zip(self.shares.values(), cell):
            target *= shares.get(value, 0.0)
        is_over = [n <= 0 for n in remaining]
        return any(is_over), *is_over, self._cells[cell] - target, cell

    def count(self, cell: Cell) -> None:
        """One more of a kind."""
        self._cells[cell] += 1
        for counts, value in zip(self.counts.values(), cell):
            counts[value] += 1

    def close(self, cell: Cell) -> None:
        """No more of a kind can be made."""
        self._open.discard(cell)


def _shares(targets: Mapping[str, float], values: Sequence[str]) -> dict[str, float]:
    """The target shares; equal ones where these name none of the values that templates have."""
    if values and not any(targets.get(value) for value in values):
        return dict.fromkeys(values, 1 / len(values))
    return dict(targets)


def _largest_remainders(shares: Mapping[str, float], n: int) -> dict[str, int]:
    """Whole numbers near to `n` times each share, which add up to n if the shares do to 1."""
    exact = {value: share * n for value, share in shares.items()}
    # A share times n may come out a little below the whole number that it is.
    quotas = {value: floor(number + 1e-9) for value, number in exact.items()}
    n_left = round(sum(exact.values())) - sum(quotas.values())
    # The largest remainder first, of equal ones by name.
    for value in sorted(exact, key=lambda value: (quotas[value] - exact[value], value))[:n_left]:
        quotas[value] += 1
    return quotas


class Kinds:
    """The kinds of the first, second, ... question, as near to the shares as they can be.

    However many are taken, the first ones are the same: so more questions cost no more than those
    that are new.
    """

    def __init__(
        self,
        shares: Shares,
        existing: Mapping[str, Counter[str]],
        unanswerable: float,
        several: float,
        seed: int,
    ) -> None:
        self._shares: dict[str, Mapping[Any, float]] = {
            **shares,
            "answerable": {True: 1 - unanswerable, False: unanswerable},
            "several": {False: 1 - several, True: several},
        }
        self._counts = {name: Counter[Any](existing.get(name, ())) for name in self._shares}
        # Without chance, kinds with equal periods would always come together.
        self._random = {name: Random(f"{seed} {name}") for name in self._shares}

    def next(self) -> Kind:
        """The next one."""
        answerable = self._value("answerable")
        query_type = self._value("query_type")
        if not answerable:
            return Kind(query_type, answerable=False)
        return Kind(query_type, self._value("difficulty"), several=self._value("several"))

    def _value(self, name: str) -> Any:
        shares, counts, random = self._shares[name], self._counts[name], self._random[name]
        whole = sum(counts.values()) + 1
        lacking = {
            value: share * whole - counts[value] + random.random() / 2
            for value, share in shares.items()
            if share > 0
        }
        value = max(lacking, key=lambda value: lacking[value])
        counts[value] += 1
        return value

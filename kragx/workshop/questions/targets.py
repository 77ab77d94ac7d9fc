"""The shares that kinds of questions should have, and which kind comes next."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kragx.data.gold import Query
from kragx.data.validation import target_problems
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import message

TARGETS: Mapping[str, Mapping[str, float]] = {
    "query_type": {"general_inquiry": 0.5, "legal_interpretation": 0.25, "similar_case": 0.25},
    "difficulty": {"easy": 0.4, "medium": 0.4, "hard": 0.2},
}
"""The shares that a set should have where nobody says others."""

Shares = Mapping[str, Mapping[str, float]]
"""By query_type and difficulty the share that each value should have."""

Cell = tuple[Any, ...]
"""A query_type, a difficulty, and what else questions are told apart by."""


def check_shares(**shares: float | None) -> None:
    """Raise a `UsageError` for what is no share, by its name; None is none that is wrong."""
    for name, share in shares.items():
        if share is not None and not 0 <= share <= 1:
            raise UsageError(
                "{share:g} is no share", field=name, remedy="write 0.6 for 60%", share=share
            )


def target_shares(targets: Shares | None) -> dict[str, Mapping[str, float]]:
    """Target shares, `TARGETS` for what they do not name.

    Raises:
        UsageError: they are none, or of something else.
    """
    shares = {**TARGETS, **(targets or {})}
    for problem in target_problems(shares):
        raise UsageError("targets.{why}", why=problem)
    for name in sorted(shares.keys() - TARGETS.keys()):
        remedy = nearest("", TARGETS)
        raise UsageError(message("unknown key {name!r}", name=name), field="targets", remedy=remedy)
    return shares


def kinds_of(existing: Iterable[Query]) -> list[Cell]:
    """The query_type and difficulty of questions that are there; None where one has none."""
    levels = [(query.query_type, query.metadata.get("difficulty")) for query in existing]
    return [(kind or None, None if level is None else str(level)) for kind, level in levels]


def uses_of(existing: Iterable[Query]) -> Counter[str]:
    """How many questions were made from each document, by its id."""
    lists = (query.metadata.get("sources") for query in existing)
    sources = (entry for entry in lists if isinstance(entry, list | tuple))
    return Counter(str(source) for of_query in sources for source in of_query)


class Kinds:
    """Which kind of question comes next, as near to the shares as whole numbers can be.

    However many are taken, the first ones are the same: so more questions cost no more than those
    that are new. No value ever has more than its share rounded up, but where kinds of which no more
    can be made leave their places to others.

    Args:
        shares: by axis the share that each value should have.
        cells: the kinds that can be made, a value for each axis; None where an axis has none.
        existing: the kinds of questions that are there, likewise.

    Attributes:
        shares: equal ones where those that were given name none of an axis' values.
        counts: by axis how many questions have each value.
    """

    def __init__(
        self,
        shares: Mapping[str, Mapping[Any, float]],
        cells: Iterable[Cell],
        existing: Collection[Cell] = (),
    ) -> None:
        self._open, self._cells = {*cells}, Counter[Cell]()
        self.shares: dict[str, dict[Any, float]] = {}
        self.counts: dict[str, Counter[Any]] = {name: Counter() for name in shares}
        for number, (name, of_axis) in enumerate(shares.items()):
            values = sorted({cell[number] for cell in self._open} - {None})
            is_named = not values or any(map(of_axis.get, values))
            equal = dict.fromkeys(values, 1 / max(1, len(values)))
            self.shares[name] = dict(of_axis) if is_named else equal
        for cell in existing:
            self.count(cell)
        # What has no value on some axis says nothing of how pairs of values are shared out.
        self._cells = Counter(cell for cell in existing if None not in cell)

    def next(self) -> Cell | None:
        """The kind that is wanted most; None if no kind is left."""
        return min(self._open, key=self._rank, default=None)

    def _rank(self, cell: Cell) -> tuple[object, ...]:
        share, lacking = 1.0, list[float]()
        for (name, shares), value in zip(self.shares.items(), cell):
            if value is not None:
                share *= shares.get(value, 0.0)
                whole = self.counts[name].total() + 1
                lacking.append(shares.get(value, 0.0) * whole - self.counts[name][value])
        # First no axis may have too many of a value. Then the pair of values counts, as axes with
        # equal periods would always come together, and each value by itself: by pairs alone one of
        # many could fall behind by more than one.
        is_over = [number < 1e-9 for number in lacking]
        of_cell = share * (self._cells.total() + 1) - self._cells[cell]
        return sum(is_over), -of_cell - sum(lacking) / len(lacking), str(cell)

    def count(self, cell: Cell) -> None:
        """One more of a kind."""
        self._cells[cell] += 1
        for counts, value in zip(self.counts.values(), cell):
            if value is not None:
                counts[value] += 1

    def close(self, cell: Cell) -> None:
        """No more of a kind can be made."""
        self._open.discard(cell)

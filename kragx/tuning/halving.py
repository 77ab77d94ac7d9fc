"""Successive halving that never drops what is not told apart.

All settings are asked some of the questions that choose, those that are left more of them, and so
on. After each round a setting goes only if it is told from the best (`behind_best`), at a level
that all looks share, the last one on all of these questions among them: the chance that the truly
best setting is lost stays below 1 - confidence, however many settings and rounds there are
(Bonferroni over the looks). The questions held out have no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from kragx.comparison.statistics import Rows
from kragx.errors import UsageError, check_whole
from kragx.metrics import Bools, Floats
from kragx.tuning.rules import Rules
from kragx.tuning.tuning import Drop

Values = Mapping[str, Floats | None]
"""By setting (q) the values of the questions so far; None for one that failed."""


@dataclass(frozen=True)
class Halving:
    """When it is looked.

    Attributes:
        start: how many questions the first round has.
        factor: how many times more the next one has; above 1.

    Raises:
        UsageError: one of them is none.

    Examples:
        >>> from kragx import Halving
        >>> Halving(start=20, factor=3)
        Halving(start=20, factor=3)
    """

    start: int = 50
    factor: float = 2.0

    def __post_init__(self) -> None:
        check_whole("halving.start", self.start)
        if isinstance(self.factor, bool) or not 1 < self.factor < inf:
            raise UsageError(f"{self.factor!r} is no number above 1", field="halving.factor")

    def rounds(self, n: int) -> list[int]:
        """How many questions have been asked after each round before the last, which has all n."""
        sizes: list[int] = []
        size = float(self.start)
        while round(size) < n:
            sizes.append(round(size))
            size = max(size * self.factor, size + 1)
        return sizes

    def looks(self, n: int) -> int:
        """How often settings are looked at, the last time on all n questions included."""
        return len(self.rounds(n)) + 1


def halve(
    names: Sequence[str],
    choosing: Rows,
    halving: Halving,
    ask: Callable[[Sequence[str], Rows], Values],
    rules: Rules,
    *,
    spared: Collection[str] = (),
) -> tuple[Drop, ...]:
    """The settings that need not be asked all questions, in the order in which they go.

    Args:
        names: the settings.
        choosing: the questions that choose, in the order in which they are asked.
        halving: when it is looked.
        ask: gives the values of the settings that are left, of the questions so far.
        rules: how settings are held against each other, at the level of a single look.
        spared: settings that are never dropped.

    Returns:
        Who was told from the best. A setting that failed is not dropped for it: it is not known.
    """
    drops: list[Drop] = []
    alive = list(names)
    for size in halving.rounds(len(choosing)):
        if len(alive) < 2:
            break
        values = ask(alive, choosing[:size])
        known = {name: own for name in alive if (own := values[name]) is not None}
        if len(known) < 2:
            continue
        table = np.stack([*known.values()], axis=1)
        whole: Bools = np.asarray(~np.isnan(table).any(axis=1))
        table = table[whole]
        if not len(table):
            continue
        p = rules.behind(table).p
        means = table.mean(axis=0)
        best = int(np.argmax(rules.sign * means))
        for place, name in enumerate(known):
            if p[place] <= rules.alpha and name not in spared:
                behind = abs(float(means[best] - means[place]))
                drops.append(Drop(name, size, [*known][best], behind, float(p[place])))
        gone = {drop.name for drop in drops}
        alive = [name for name in alive if name not in gone]
    return tuple(drops)

"""How the order of retrievers depends on a matcher's setting.

A matcher's setting says what counts as found. A setting under which numbers are higher is not a
better one: only labels say which is right. So nothing here names a best setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kragx.comparison import direction
from kragx.comparison.orders import leads_of, tiers_of
from kragx.comparison.tuning.grid import Setting
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Part,
    Result,
    Table,
    joined,
    listed,
    number,
    phrase,
    visible,
)

_NAMED = 4  # pairs that are named


@dataclass(frozen=True)
class UnderSetting:
    """The retrievers under one setting of a matcher.

    Attributes:
        match: names the setting.
        values: its value on each axis.
        order: the retrievers, the best first, those that are equal together.
        means: of each retriever that can be compared.
        certain: whether the first is told to be better than every other.
    """

    match: str
    values: Mapping[str, Any]
    order: tuple[tuple[str, ...], ...]
    means: Mapping[str, float]
    certain: bool


@dataclass(frozen=True)
class MatcherSettings(Result):
    """The order of retrievers under each setting of one matcher's grid.

    Attributes:
        of: the matcher whose grid it is.
        metric: by which they are ordered.
        settings: in the grid's order.
        swapped: pairs of retrievers of which one is ahead under some setting and the other under
            another.
    """

    of: str
    metric: str
    settings: tuple[UnderSetting, ...]
    swapped: tuple[tuple[str, str], ...]

    also_plain: ClassVar[tuple[str, ...]] = ("sentence",)

    @property
    def sentence(self) -> str:
        """Whether the order depends on the setting."""
        values = {"of": visible(self.of), "n": len(self.settings), "metric": self.metric}
        right = phrase("Higher numbers make no setting the right one; labels do (kragx agree).")
        if len(self.settings[0].means) < 2:
            summary = phrase("{metric} of one retriever under {n} settings of {of}.", **values)
            return joined(" ", (summary, right))
        if not self.swapped:
            same = phrase(
                "The order of retrievers by {metric} is the same under all {n} settings of {of}.",
                **values,
            )
            return joined(" ", (same, right))
        pairs = [
            phrase("{one} and {other}", one=visible(first), other=visible(second))
            for first, second in self.swapped
        ]
        turned = phrase(
            "The order by {metric} depends on the setting of {of}: it changes for {pairs}.",
            pairs=listed(pairs, _NAMED),
            **values,
        )
        return joined(" ", (turned, right))

    def describe(self) -> Iterator[Part]:
        """The sentence, then settings by retriever."""
        yield Line(self.sentence, "bold")
        names = list(dict.fromkeys(name for setting in self.settings for name in setting.means))
        rows = [
            [Cell(setting.match, code=True), *(self._cell(setting, name) for name in names)]
            for setting in self.settings
        ]
        yield Table(
            [phrase("{metric} under", metric=self.metric), *names],
            rows,
            note=phrase("★ first, and told to be better than every other; = first"),
        )

    def _cell(self, setting: UnderSetting, name: str) -> Cell:
        mark = (" ★" if setting.certain else " =") if name in setting.order[0] else ""
        return Cell(number(setting.means.get(name)) + mark)

    def full(self) -> Iterator[Part]:
        """The same under a heading."""
        yield Heading(phrase("Under the settings of {of}", of=self.of))
        yield from self.describe()


def matcher_settings(
    name: str,
    metric: str,
    under: Sequence[tuple[Setting, Mapping[str, float], bool]],
) -> MatcherSettings:
    """How retrievers stand under each setting.

    Args:
        name: of the matcher.
        metric: what the means are of.
        under: for each setting the means of the retrievers that can be compared, and whether the
            first of them is told to be better than every other.
    """
    names = list(dict.fromkeys(name for _, means, _ in under for name in means))
    rows = np.array([[means.get(name, np.nan) for _, means, _ in under] for name in names])
    leads = leads_of(rows.reshape(len(names), len(under)), is_higher=direction(metric) != "lower")
    results = []
    for place, (setting, means, certain) in enumerate(under):
        measured = [row for row, name in enumerate(names) if name in means]
        tiers = tiers_of(
            [names[row] for row in measured], leads[np.ix_(measured, measured)][..., place]
        )
        results.append(
            UnderSetting(setting.name, dict(setting.values), tiers, dict(means), certain)
        )
    leads_anywhere = leads.any(axis=2)  # under some setting
    swapped = tuple(
        (names[first], names[second])
        for first, second in np.argwhere(np.triu(leads_anywhere & leads_anywhere.T)).tolist()
    )
    return MatcherSettings(name, metric, tuple(results), swapped)

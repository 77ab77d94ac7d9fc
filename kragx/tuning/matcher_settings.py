"""How the order of retrievers depends on a matcher's setting.

A matcher's setting says what counts as found. A setting under which numbers are higher is not a
better one: only labels say which is right. So nothing here names a best setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kragx.printing import (
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
from kragx.tuning.grid import Setting

_EQUAL = 1e-12  # means that rounding alone tells apart are equal
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

    also_plain: ClassVar[tuple[str, ...]] = ("sentence", "firsts")

    @property
    def firsts(self) -> tuple[str, ...]:
        """Who is first under some setting."""
        return tuple(
            dict.fromkeys(name for setting in self.settings for name in (setting.order or ((),))[0])
        )

    @property
    def sentence(self) -> str:
        """Whether the order depends on the setting."""
        values = {"of": visible(self.of), "n": len(self.settings), "metric": self.metric}
        right = phrase("Higher numbers make no setting the right one; labels do (kragx agree).")
        if len(self.settings[0].means) < 2:
            one = phrase("{metric} of one retriever under {n} settings of {of}.", **values)
            return joined(" ", (one, right))
        if not self.swapped:
            same = phrase(
                "The order of retrievers by {metric} is the same under all {n} settings of {of}.",
                **values,
            )
            return joined(" ", (same, right))
        pairs = [
            phrase("{one} and {other}", one=visible(one), other=visible(other))
            for one, other in self.swapped
        ]
        values["pairs"] = listed(pairs, _NAMED)
        if set.intersection(*(set((setting.order or ((),))[0]) for setting in self.settings)):
            turned = phrase(
                "The order by {metric} depends on the setting of {of}, the first does not: it "
                "changes for {pairs}.",
                **values,
            )
        else:
            turned = phrase(
                "Who is first by {metric} depends on the setting of {of}: it changes for {pairs}.",
                **values,
            )
        return joined(" ", (turned, right))

    def describe(self) -> Iterator[Part]:
        """The sentence, then settings by retriever."""
        yield Line(self.sentence, "bold")
        names = list(dict.fromkeys(name for own in self.settings for name in own.means))
        rows = [
            [Cell(setting.match, code=True), *(self._cell(setting, name) for name in names)]
            for setting in self.settings
        ]
        yield Table(
            [phrase("{metric} under", metric=self.metric), *names],
            rows,
            note=phrase("★ first, and told to be better than every other; = first"),
        )

    def _cell(self, own: UnderSetting, name: str) -> Cell:
        mark = (" ★" if own.certain else " =") if name in own.order[0] else ""
        return Cell(number(own.means.get(name)) + mark)

    def full(self) -> Iterator[Part]:
        """The same under a heading."""
        yield Heading(phrase("Under the settings of {of}", of=self.of))
        yield from self.describe()


def matcher_settings(
    of: str,
    metric: str,
    sign: float,
    under: Sequence[tuple[Setting, Mapping[str, float], bool]],
) -> MatcherSettings:
    """How retrievers stand under each setting.

    Args:
        of: the matcher.
        metric: what the means are of.
        sign: 1 where higher is better, else -1.
        under: for each setting the means of the retrievers that can be compared, and whether the
            first of them is told to be better than every other.
    """
    results = tuple(
        UnderSetting(setting.name, dict(setting.values), _order(means, sign), dict(means), certain)
        for setting, means, certain in under
    )
    names = list(dict.fromkeys(name for result in results for name in result.means))
    swapped = tuple(
        (one, other)
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if len({_ahead(own.means, one, other) for own in results} - {None, 0}) > 1
    )
    return MatcherSettings(of, metric, results, swapped)


def _ahead(means: Mapping[str, float], one: str, other: str) -> int | None:
    """1 or -1 by which of two has more, 0 where they are equal; None where either has none."""
    if one not in means or other not in means:
        return None
    lead = means[one] - means[other]
    return 0 if abs(lead) <= _EQUAL else 1 if lead > 0 else -1


def _order(means: Mapping[str, float], sign: float) -> tuple[tuple[str, ...], ...]:
    tiers: list[list[str]] = []
    for name in sorted(means, key=lambda name: -sign * means[name]):
        if tiers and abs(means[tiers[-1][0]] - means[name]) <= _EQUAL:
            tiers[-1].append(name)
        else:
            tiers.append([name])
    return tuple(map(tuple, tiers))

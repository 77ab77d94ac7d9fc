"""Two results of a retriever, what it was and what it is: all that lies between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kragx.comparison.columns import joined
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.side_by_side import Kind, settings_that_differ, shared_weights
from kragx.comparison.statistics import TOLERANCE
from kragx.ground.errors import shorten
from kragx.metrics import Floats, known_metric

_SHA256 = 64  # characters


@dataclass(frozen=True)
class Entry:
    """A setting that changed; ``None`` where it was not there."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.name} {_shorten_value(self.before)} → {_shorten_value(self.after)}"


@dataclass(frozen=True)
class RunPair:
    """Two results of a retriever, of which a change and a step of a history are views."""

    before: RetrieverScores
    after: RetrieverScores

    @property
    def breaks(self) -> dict[Kind, str]:
        """Why the numbers do not mean the same, by the kind of reason."""
        return settings_that_differ(self.before.settings, self.after.settings)

    @property
    def changes(self) -> tuple[Entry, ...]:
        """The settings that changed."""
        return tuple(_changes(self.before.settings, self.after.settings))

    @cached_property
    def _shared(self) -> tuple[Sequence[str], Floats | None]:
        pair = self.before, self.after
        query_ids, rows = joined([side.query_ids for side in pair])
        return query_ids, shared_weights(pair, query_ids, rows)

    @property
    def weights(self) -> Floats | None:
        """(q) of the questions that both have; None where all are alike."""
        return self._shared[1]

    def values(self, metric: str, query_ids: Sequence[str]) -> tuple[Floats, Floats]:
        """The values of a metric before and after, of these questions, which both have."""
        before, after = (
            side.table([metric], query_ids)[:, 0] for side in (self.before, self.after)
        )
        return before, after

    def gains(self, metric: str) -> Floats:
        """(q) how much each question that both have changed in a metric."""
        before, after = self.values(metric, self._shared[0])
        return after - before

    def is_bounded(self, metric: str) -> bool:
        """Whether all values lie between 0 and 1: times differ at each query and say nothing."""
        # A metric of the user's own says no range, so its values are looked at.
        known_as = known_metric(metric)
        if known_as is not None and known_as.range[1] is None:
            return False
        values = np.concatenate([side.values[metric] for side in (self.before, self.after)])
        values = values[~np.isnan(values)]
        return bool(values.size and values.min() >= 0 and values.max() <= 1 + TOLERANCE)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings of how the retriever was asked, of the matcher, the gold set and versions."""
    parts = (("run", ""), ("match", "match."), ("dataset", "gold."), ("versions", "versions."))
    for part, prefix in parts:
        old, new = (dict(_flat(side.get(part) or {}, prefix)) for side in (before, after))
        for name in dict.fromkeys((*old, *new)):
            pair = old.get(name), new.get(name)
            # A name is how it is called; what the gold set holds is told by its hash.
            if pair[0] != pair[1] and name not in ("name", "gold.name"):
                yield Entry(name, *pair)


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, entry in value.items():
        if isinstance(entry, Mapping) and entry:
            yield from _flat(entry, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", entry


def _shorten_value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str) and value.isprintable() and " " not in value:
        return value[:12] if len(value) == _SHA256 else value
    return shorten(value)

"""Small evaluations whose every score is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kragx import Evaluation, GoldDataset, Run, evaluate
from kragx.matchers import MatchItem


@dataclass(frozen=True)
class Given:
    """Gives a document the score that its text says, for every gold item: ``"0.4 0.9"``."""

    threshold: float = 0.5

    def scores(
        self, items: Iterable[MatchItem], notes: Counter[str]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the numbers in the texts."""
        for item in items:
            rows = [[float(each) for each in doc.text.split()] for doc in item.docs]
            yield np.array(rows).reshape(len(rows), len(item.targets))


def given(
    *queries: list[str],
    name: str = "run",
    golds: int = 1,
    threshold: float = 0.5,
    metrics: Iterable[str] = ("recall@3",),
) -> Evaluation:
    """An evaluation of queries whose documents say their scores."""
    dataset = GoldDataset.from_documents([[f"g{at}" for at in range(golds)] for _ in queries])
    run = Run.from_documents(list(queries), name=name)
    return evaluate(dataset, run, match=Given(threshold), metrics=list(metrics))

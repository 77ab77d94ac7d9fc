"""How probable relevance is at each of a judge's grades, by people's labels."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kragx.metrics import Bools, Floats, Ints


@dataclass(frozen=True)
class LabelledPairs:
    """Labelled pairs as arrays.

    Attributes:
        grades: the judge's distinct grades, ascending.
        at: (u) the position of each pair's among them.
        label: (u) people's.
        query: (u) the query's number.
        low: the lowest label of the scale.
        n_above: how many labels lie above it.
    """

    grades: Floats
    at: Ints
    label: Ints
    query: Ints
    low: int
    n_above: int

    @classmethod
    def of(cls, grades: Floats, labels: Ints, queries: Ints, low: int, high: int) -> Self:
        """Of (u) grades, labels from `low` to `high`, and queries by number."""
        distinct, at = np.unique(grades, return_inverse=True)
        _, query = np.unique(queries, return_inverse=True)
        return cls(distinct, at, labels, query, low, high - low)

    @property
    def n_queries(self) -> int:
        """How many queries have a labelled pair."""
        return int(self.query.max()) + 1

    def chances(self, part: Bools, grades: Floats) -> Floats:
        """(labels above the lowest, grades) how probable each label or more is, by a part of these.

        Monotone in the grade; of grades without a label on the line between their neighbours.
        """
        n = np.bincount(self.at[part], minlength=len(self.grades))
        seen = n > 0
        return np.array(
            [
                np.interp(grades, self.grades[seen], isotonic(shares[seen], n[seen]))
                for shares in (
                    np.bincount(self.at[part], self.label[part] > self.low + above, len(n))
                    / np.maximum(n, 1)
                    for above in range(self.n_above)
                )
            ]
        )


def isotonic(values: Floats, weights: Floats | Ints) -> Floats:
    """The non-decreasing values that are closest to these, by the weighted sum of squares.

    Source: M. Ayer et al., An empirical distribution function for sampling with incomplete
    information, 1955: neighbours out of order are pooled until there are none.
    """
    blocks: list[tuple[float, float, int]] = []  # value, weight, length
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        block = value, weight, 1
        while blocks and blocks[-1][0] >= block[0]:
            own, mass, length = blocks.pop()
            total = mass + block[1]
            block = (own * mass + block[0] * block[1]) / total, total, length + block[2]
        blocks.append(block)
    return np.repeat([value for value, *_ in blocks], [length for *_, length in blocks])

"""The metrics of profile kragx, slow and obvious, written from their definitions alone.

Nothing here is shared with kragx: one query at a time, loops and plain Python numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log2

from .support import Ranking


@dataclass(frozen=True)
class Wanted:
    """A metric with its options; `k` None is uncut."""

    name: str
    k: int | None = None
    over: str = "k"
    norm: str = "m"
    need: str = "any"
    gain: str = "linear"
    rel: float | None = None


class Reader:
    """What the definitions speak of, for one query: m, n, c_j, relevant and redundant documents."""

    def __init__(self, query: Ranking, threshold: float, rel: float | None) -> None:
        self.gold = [
            column
            for column, grade in enumerate(query.grades)
            if (grade > 0 if rel is None else grade >= rel)
        ]
        self.grades = [query.grades[column] for column in self.gold]
        self.n = len(query.scores)
        self.m = len(self.gold)
        # What each document matches; a repeated document is not relevant again.
        self.matches = [
            set()
            if repeated
            else {at for at, column in enumerate(self.gold) if row[column] >= threshold}
            for row, repeated in zip(query.scores, query.repeated)
        ]
        self.c = [
            min(
                (rank for rank, found in enumerate(self.matches, start=1) if at in found),
                default=inf,
            )
            for at in range(self.m)
        ]

    def depth(self, wanted: Wanted) -> int:
        """How far to look: k, or all ranks that could matter."""
        return max(self.n, self.m) if wanted.k is None else wanted.k

    def found(self, k: float) -> list[float]:
        """The c_j up to k, in order."""
        return sorted(c for c in self.c if c <= k)

    def relevant(self, k: float) -> int:
        """How many documents of the top k match any gold."""
        return sum(1 for rank, found in enumerate(self.matches, start=1) if rank <= k and found)

    def redundant(self, k: float) -> int:
        """How many documents of the top k match only gold found before them."""
        return sum(
            1
            for rank, found in enumerate(self.matches, start=1)
            if rank <= k and found and all(self.c[at] < rank for at in found)
        )


def value(query: Ranking, wanted: Wanted, threshold: float = 0.5) -> float | None:
    """One metric of one query; without gold 0, or None where it is undefined."""
    read = Reader(query, threshold, wanted.rel)
    k = read.depth(wanted)
    found = read.found(k)
    recall = len(found) / read.m if read.m else 0.0
    result: float | None
    match wanted.name:
        case "hit_rate":
            needed = read.m if wanted.need == "all" else 1
            result = 1.0 if found and len(found) >= needed else 0.0
        case "mrr":
            result = 1 / found[0] if found else 0.0
        case "recall":
            result = recall
        case "precision":
            result = precision(read, wanted)
        case "f1":
            p = precision(read, wanted)
            result = 2 * p * recall / (p + recall) if p + recall else 0.0
        case "map":
            below = {"m": read.m, "hits": len(found), "cut": min(read.m, k)}[wanted.norm]
            # Within k ranks at most k golds are credited, else map@k(norm=cut) could exceed 1.
            credited = found[:k] if wanted.norm == "cut" else found
            sums = sum(i / max(c, i) for i, c in enumerate(credited, start=1))
            result = sums / below if below else 0.0
        case "ndcg":
            gains = [2**grade - 1 if wanted.gain == "exp2" else grade for grade in read.grades]
            ideal = dcg(gains, [1] * read.m, k)
            result = dcg(gains, read.c, k) / ideal if ideal else 0.0
        case "redundancy":
            relevant = read.relevant(k)
            result = read.redundant(k) / relevant if relevant else None
        case unknown:
            raise AssertionError(unknown)
    return result


def precision(read: Reader, wanted: Wanted) -> float:
    """Relevant documents in the top k over k, or over min(k, n)."""
    below = read.n if wanted.k is None else wanted.k
    if wanted.over == "retrieved":
        below = min(below, read.n)
    return read.relevant(below) / below if below else 0.0


def dcg(gains: Sequence[float], first: Sequence[float], k: int) -> float:
    """The sum for t = 1..k of T_t * (d_t - d_(t+1)), with d_(k+1) = 0."""
    total = 0.0
    for t in range(1, k + 1):
        found = sorted((gain for gain, c in zip(gains, first) if c <= t), reverse=True)
        d_next = 0.0 if t == k else 1 / log2(2 + t)
        total += sum(found[:t]) * (1 / log2(1 + t) - d_next)
    return total


def under_policy(
    query: Ranking, wanted: Wanted, no_gold: str, threshold: float = 0.5
) -> float | None:
    """`value`, with what `no_gold` says of a query without gold."""
    known = value(query, wanted, threshold)
    if Reader(query, threshold, wanted.rel).m or known is None:
        return known
    match no_gold:
        case "skip":
            return None
        case "zero":
            return 0.0
        case "abstain":
            return 1.0 if query.answered and not query.scores else 0.0
    raise AssertionError(no_gold)


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of what is defined."""
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None


@dataclass(frozen=True)
class Counts:
    """The four counts that a micro average pools."""

    relevant: int
    other: int
    found: int
    missed: int

    n_scored: int

    def micro(self, name: str) -> float | None:
        """Precision, recall or F1 of the counts; none of no query."""
        if not self.n_scored:
            return None
        p = self.relevant / (self.relevant + self.other) if self.relevant + self.other else 0.0
        r = self.found / (self.found + self.missed) if self.found + self.missed else 0.0
        both = 2 * p * r / (p + r) if p + r else 0.0
        return {"precision": p, "recall": r, "f1": both}[name]


def pooled(
    queries: Sequence[Ranking], wanted: Wanted, no_gold: str, threshold: float = 0.5
) -> Counts:
    """The counts over all queries; skipped ones are not in them."""
    relevant = other = found = missed = n_scored = 0
    for query in queries:
        read = Reader(query, threshold, wanted.rel)
        if no_gold == "skip" and not read.m:
            continue
        n_scored += 1
        k = read.depth(wanted)
        relevant += read.relevant(k)
        other += sum(1 for rank in range(1, read.n + 1) if rank <= k) - read.relevant(k)
        found += len(read.found(k))
        missed += read.m - len(read.found(k))
    return Counts(relevant, other, found, missed, n_scored)

"""Pools: the judged documents of all retrievers under comparison, as the gold of each of them.

Without gold, what is relevant is what was judged relevant in the union of what the retrievers
found. Numbers of a pool are relative to it: a document that no retriever found is not missed by
anyone. So they carry the pool's hash, and numbers of different pools are not compared.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.judging.question import Judgement
from kragx.judging.rubric import canonical_json, key_of
from kragx.judging.tally import Tally


@dataclass(frozen=True)
class Pool:
    """Judged documents by query id and text.

    Attributes:
        judgements: for each query id, the judgement of each document text (normalised).
        depth: how many documents of each list were pooled; None for all of them.
        cut: the least grade that binary metrics count as relevant.
        top: the highest grade of the scale.
        votes: whether several judges have decided.
        tally: what judging took.
        hash: of the queries, documents and grades; two pools with the same hash are the same.
    """

    judgements: Mapping[str, Mapping[str, Judgement]]
    depth: int | None
    cut: int
    top: int
    votes: bool = False
    tally: Tally = field(default_factory=Tally, compare=False)
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        content = [
            [
                query_id,
                sorted([key_of(text), judgement.grade] for text, judgement in of_query.items()),
            ]
            for query_id, of_query in sorted(self.judgements.items())
        ]
        object.__setattr__(self, "hash", key_of(canonical_json([content, self.cut]))[:16])

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of the pool, the provenance of its labels included."""
        sources = Counter(
            judgement.source if judgement.failure is None else "missing"
            for of_query in self.judgements.values()
            for judgement in of_query.values()
        )
        return {
            "hash": self.hash,
            "depth": self.depth,
            "rel": self.cut,
            "documents": sources.total(),
            "labels": {
                "human": sources["human"],
                "judge": sources["judge"] + sources["store"],
                "missing": sources["missing"],
            },
        }

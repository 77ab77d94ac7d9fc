"""Filling holes: human labels win, the judge says what people have not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kragx.agreement.labels import Labels, Pair, Scale, read_labels, read_scale
from kragx.agreement.systems import as_gold, deepest, judged_share, lowest_is_zero, named, scored_by
from kragx.data.gold import GoldDataset
from kragx.data.runs import Run
from kragx.errors import UsageError
from kragx.evaluation.evaluation import Evaluation

By = Literal["human", "judge"]


@dataclass(frozen=True)
class Filled:
    """Two label sets as one, and what it changes.

    Attributes:
        grades: the label of each pair.
        sources: who gave it, ``human`` or ``judge``.
        n_overruled: pairs that both have labelled differently; the human label counts.
        n_out_of_scale: labels of either side that are not on the scale, and not used.
        scale: of the labels.
        dataset: the labels as a gold set; each gold item's ``metadata["label"]`` says whose it is.
        human_only, filled: the evaluation of each run by human labels alone, and by both.
        judged: for each run judged@k at the deepest cut, as (human only, filled): the share of
            the top k that has a label, the mean over the queries that found something.
        judged_name: of that share: ``judged@10``.
    """

    grades: Mapping[Pair, float]
    sources: Mapping[Pair, By]
    n_overruled: int
    n_out_of_scale: int
    scale: Scale
    dataset: GoldDataset
    human_only: tuple[Evaluation, ...]
    filled: tuple[Evaluation, ...]
    judged: Mapping[str, tuple[float | None, float | None]]
    judged_name: str

    @property
    def counts(self) -> dict[str, int]:
        """How many labels each side gave."""
        found = Counter(self.sources.values())
        return {"human": found["human"], "judge": found["judge"]}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return lowest_is_zero(self.scale)

    @property
    def n_without_human(self) -> int:
        """How many queries have no human label: by human labels alone they score 0."""
        people = {query for (query, _), side in self.sources.items() if side == "human"}
        return sum(query.id not in people for query in self.dataset)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each label with its provenance."""
        for (query, document), grade in self.grades.items():
            yield {
                "query_id": query,
                "document_id": document,
                "grade": int(grade),
                "source": self.sources[query, document],
            }

    def to_dict(self, *, labels: bool = False) -> dict[str, Any]:
        """Plain values for JSON; with `labels`, each label and whose it is."""
        plain: dict[str, Any] = {
            "systems": {
                alone.name: {
                    "human_only": {**alone.mean},
                    "filled": {**both.mean},
                    self.judged_name: {
                        "human_only": self.judged[alone.name][0],
                        "filled": self.judged[alone.name][1],
                    },
                }
                for alone, both in zip(self.human_only, self.filled, strict=True)
            },
            "n_labels": self.counts,
            "n_overruled": self.n_overruled,
            "n_out_of_scale": self.n_out_of_scale,
            "n_queries": len(self.dataset),
            "n_without_human": self.n_without_human,
            "notes": list(self.notes),
        }
        return {**plain, "labels": list(self.rows())} if labels else plain

    def print(self) -> None:
        """Print human-only and filled means side by side."""
        from kragx.report.agreement import print_filled

        print_filled(self)


def fill(
    human: object,
    judge: object,
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] = ("ndcg@10",),
    scale: object = None,
    asks: str | None = None,
    model: str | None = None,
    rubric: str | None = None,
) -> Filled:
    """Score runs by human labels, and by human labels with the judge's where there are none.

    Both are means over the same queries: those with a label of either kind. A query without a
    relevant label scores 0.

    Args:
        human: labels, as for `read_labels`.
        judge: the same.
        runs: the systems.
        metrics: metric strings.
        scale: None for that of the human labels.
        asks: of a judge's store, as for `agree`.
        model: the same.
        rubric: the same.

    Raises:
        DataError: a source of labels is broken, or no run has a query of theirs.
        UsageError: an argument is wrong.
    """
    if not runs:
        raise UsageError("runs: there is no system to score; name at least one")
    if len({run.name for run in runs}) != len(runs):
        raise UsageError("runs: two have the same name; name each differently")
    theirs = read_labels(human, "human")
    ours = read_labels(judge, "judge", asks=asks, model=model, rubric=rubric)
    chosen = read_scale(scale, theirs)
    both: tuple[tuple[By, Labels], ...] = (("judge", ours), ("human", theirs))
    grades: dict[Pair, float] = {}
    sources: dict[Pair, By] = {}
    strange = 0
    for side, labels in both:  # people last, so that theirs stay
        for pair, grade in labels.grades.items():
            if grade in chosen:
                grades[pair], sources[pair] = grade, side
            else:
                strange += 1
    overruled = sum(
        grade in chosen and ours.grades[pair] in chosen and ours.grades[pair] != grade
        for pair, grade in theirs.grades.items()
        if pair in ours.grades
    )
    queries = list(dict.fromkeys(query for query, _ in (*theirs.grades, *ours.grades)))
    alone = as_gold(theirs, chosen, queries, sources)
    dataset = as_gold(Labels(grades, f"{theirs.name}+{ours.name}"), chosen, queries, sources)
    systems = list(map(named, runs))
    human_only = tuple(scored_by(alone, run, metrics) for run in systems)
    filled = tuple(scored_by(dataset, run, metrics) for run in systems)
    return Filled(
        grades=grades,
        sources=sources,
        n_overruled=overruled,
        n_out_of_scale=strange,
        scale=chosen,
        dataset=dataset,
        human_only=human_only,
        filled=filled,
        judged={
            one.name: (judged_share(one), judged_share(other))
            for one, other in zip(human_only, filled, strict=True)
        },
        judged_name=_judged_name(human_only[0]),
    )


def _judged_name(evaluation: Evaluation) -> str:
    k = deepest(evaluation)
    return "judged" if k is None else f"judged@{k}"

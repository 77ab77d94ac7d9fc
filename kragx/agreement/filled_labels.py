"""Filling holes: human labels win, the judge says what people have not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kragx.agreement import scoring
from kragx.agreement.label_files import Pair, Side
from kragx.agreement.labels import Labels, Scale, other_forms, read_sides
from kragx.data import GoldDataset, Run
from kragx.evaluation.evaluation import Evaluation
from kragx.plain import HIDDEN
from kragx.printing import Line, Part, Result, Table, number, percent, phrase, warning


@dataclass(frozen=True)
class Filled(Result):
    """Two label sets as one, and what it changes.

    Attributes:
        grades: the label of each pair.
        sources: who gave it, ``human`` or ``judge``.
        n_labels: how many each of them gave.
        n_overruled: pairs that both have labelled differently; the human label counts.
        n_queries: how many queries have a label.
        n_without_human: how many have no human one: by human labels alone they score 0.
        n_out_of_scale: labels of either side that are not on the scale, and not used.
        scale: of the labels.
        notes: what a reader must know.
        dataset: the labels as a gold set; each gold item's ``metadata["label"]`` says whose it is.
        human_only, filled: the evaluation of each run by human labels alone, and by both.
    """

    grades: Mapping[Pair, float] = field(metadata=HIDDEN)
    sources: Mapping[Pair, Side] = field(metadata=HIDDEN)
    n_labels: Mapping[Side, int]
    n_overruled: int
    n_queries: int
    n_without_human: int
    n_out_of_scale: int
    scale: Scale
    notes: tuple[str, ...]
    dataset: GoldDataset = field(metadata=HIDDEN)
    human_only: tuple[Evaluation, ...] = field(metadata=HIDDEN)
    filled: tuple[Evaluation, ...] = field(metadata=HIDDEN)

    also_plain: ClassVar[tuple[str, ...]] = ("systems",)

    @property
    def systems(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """For each run, by human labels alone and filled: its means, and how much is labelled.

        The latter is judged@k at the deepest cut: the share of the top k that has a label, the mean
        over the queries that found something.
        """
        k = scoring.deepest(self.human_only[0])
        judged = "judged" if k is None else f"judged@{k}"
        return {
            alone.name: {
                name: {**evaluation.mean, judged: scoring.judged_share(evaluation)}
                for name, evaluation in (("human_only", alone), ("filled", both))
            }
            for alone, both in zip(self.human_only, self.filled, strict=True)
        }

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
        return super().to_dict() | ({"labels": list(self.rows())} if labels else {})

    def describe(self, *, labels: bool = False) -> Iterator[Part]:
        """Human-only and filled means, the share that is labelled and, if wanted, each label."""
        counts = self.n_labels
        yield Line(
            phrase(
                "labels: {n_human} human, {n_judge} by the judge where people have none; overruled "
                "by people: {n_overruled}",
                n_human=counts["human"],
                n_judge=counts["judge"],
                n_overruled=self.n_overruled,
            )
        )
        if labels:
            yield Table(
                (phrase("question"), phrase("document"), phrase("label"), phrase("by")),
                [[str(value) for value in row.values()] for row in self.rows()],
                words=2,
            )
        yield Table(
            (phrase("system"), phrase("metric"), phrase("human only"), phrase("filled")),
            [
                (name, metric, shown(value), shown(means["filled"][metric]))
                for name, means in self.systems.items()
                for metric, value in means["human_only"].items()
                for shown in (percent if metric.startswith("judged") else number,)
            ],
            words=2,
        )
        yield Line(phrase("{n} queries; one without a relevant label scores 0", n=self.n_queries))
        if self.n_without_human:
            yield warning(
                phrase(
                    "{n} of them have no human label at all, and score 0 by human labels only",
                    n=self.n_without_human,
                )
            )
        yield from map(warning, self.notes)


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
    examples: str | None = None,
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
        examples: the same.

    Raises:
        DataError: a source of labels is broken, or no run has a query of theirs.
        UsageError: an argument is wrong.
    """
    runs = scoring.systems(runs)
    people, machine, labels = read_sides(human, judge, scale, asks, model, rubric, examples)
    by_people, by_judge = (
        {pair: grade for pair, grade in side.grades.items() if grade in labels}
        for side in (people, machine)
    )
    grades = by_judge | by_people
    sources: dict[Pair, Side] = {
        **dict.fromkeys(by_judge, "judge"),
        **dict.fromkeys(by_people, "human"),
    }
    queries = list(dict.fromkeys(query for query, _ in (*people.grades, *machine.grades)))
    alone = scoring.as_gold(people, labels, queries, sources)
    dataset = scoring.as_gold(
        Labels(grades, f"{people.name}+{machine.name}"), labels, queries, sources
    )
    n_out_of_scale = len(people) + len(machine) - len(by_people) - len(by_judge)
    return Filled(
        grades=grades,
        sources=sources,
        n_labels={"human": len(by_people), "judge": len(grades) - len(by_people)},
        n_overruled=sum(grade != grades[pair] for pair, grade in by_judge.items()),
        n_queries=len(queries),
        n_without_human=sum(not query.gold for query in alone),
        n_out_of_scale=n_out_of_scale,
        scale=labels,
        notes=(
            *scoring.scale_notes(labels, n_out_of_scale),
            *other_forms(people.grades, machine.grades),
        ),
        dataset=dataset,
        human_only=tuple(scoring.scored_by(alone, run, metrics) for run in runs),
        filled=tuple(scoring.scored_by(dataset, run, metrics) for run in runs),
    )

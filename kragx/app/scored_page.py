"""The page of folders of `kragx score --out`: numbers of all questions, and texts of some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from kragx.app.folder.tables import ScoredFolder
from kragx.comparison import Comparison, RetrieverScores
from kragx.comparison.columns import rows_of, taken
from kragx.comparison.sampling import sampled
from kragx.comparison.statistics import Rows
from kragx.data import GoldDataset, Ids, Query, Retrieved, Run
from kragx.errors import DataError, KragxError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate import evaluate_run
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.part_tables.evaluated import unmatched
from kragx.evaluation.part_tables.looked_up import looked_up
from kragx.metrics import MatchTable, MetricScores, Profile, parse_all, profile_for
from kragx.printing import phrase
from kragx.report.html_page.cells import Sample
from kragx.report.html_page.page import write_html

Say = Callable[[str], None]

_Texts = Mapping[str, tuple[Query, Retrieved | None]]
"""By id the questions of the page, with what was retrieved for them."""


def write_page(
    path: Path, comparison: Comparison, folders: Mapping[str, ScoredFolder], say: Say
) -> None:
    """Write the page of a comparison.

    Args:
        path: the file.
        comparison: of all questions.
        folders: by the retriever's name in it, where its values stand.
        say: is told why there are no texts, where there are none.
    """
    sides = {name: _Side.of(name, folder) for name, folder in folders.items()}
    compared = [sides[name].scores for name in comparison.retrievers]
    first = next(iter(sides.values())).folder
    sample = sampled(comparison, compared, np.cumsum(first.tables.lengths).tolist())
    ids = list(taken(comparison.query_ids, sample.rows))
    parts = {name: part for name, side in sides.items() if (part := side.part(ids)).ids}
    texts: dict[str, _Texts] = {}
    try:
        texts = {name: sides[name].texts(part) for name, part in parts.items()}
        tables = {name: sides[name].matched(parts[name].ids, text) for name, text in texts.items()}
    except KragxError as error:
        say(phrase("questions and documents are shown by their ids alone: {error}", error=error))
        tables = {name: sides[name].unmatched(part.rows) for name, part in parts.items()}
        texts = {}
    means = comparison.overall.means
    write_html(
        [
            sides[name].shown(
                parts[name], table, {own: one.value for own, one in means.get(name, {}).items()}
            )
            for name, table in tables.items()
        ],
        path,
        dataset=next((_gold(parts[name].ids, own) for name, own in texts.items()), None),
        runs={name: sides[name].run(texts_of_side) for name, texts_of_side in texts.items()},
        comparisons=[comparison],
        sample=Sample(sample.n, sample.n_differing, sample.n_differing_held, matched=bool(texts)),
    )


def _gold(ids: Sequence[str], texts: _Texts) -> GoldDataset:
    return GoldDataset(tuple(texts[query_id][0] for query_id in ids))


@dataclass(frozen=True)
class _Part:
    """The questions of the page that a retriever has: one that failed may lack some."""

    ids: Sequence[str]
    rows: Rows


@dataclass(frozen=True)
class _Side:
    """A retriever of the comparison, and the folder of its values."""

    name: str
    folder: ScoredFolder
    scores: RetrieverScores

    @classmethod
    def of(cls, name: str, folder: ScoredFolder) -> _Side:
        (scores,) = folder.results.scores
        return cls(name, folder, scores)

    @property
    def profile(self) -> Profile:
        """What the numbers mean."""
        settings = self.scores.settings
        named = profile_for(str(settings["profile"].get("name", "kragx")), None)
        return replace(named, no_gold=settings["deviations"].get("no_gold", named.no_gold))

    def part(self, ids: Sequence[str]) -> _Part:
        """Those of some questions that it has."""
        rows = rows_of(Ids.of(ids), self.scores.query_ids)
        if rows is None:
            return _Part(ids, np.arange(len(ids)))
        is_known = rows >= 0
        return _Part([query_id for query_id, has in zip(ids, is_known) if has], rows[is_known])

    def texts(self, part: _Part) -> _Texts:
        """The questions with what was retrieved, from the parts that these rows are of.

        Raises:
            DataError: some part is not there any more.
        """
        tables = self.folder.tables
        of_table = np.searchsorted(np.cumsum(tables.lengths), part.rows, side="right")
        numbered = sorted(zip(of_table.tolist(), part.ids))
        wanted: dict[int, Iterable[str]] = {
            number: [query_id for _, query_id in group]
            for number, group in groupby(numbered, lambda pair: pair[0])
        }
        return looked_up(wanted, tables.paths, self.folder.places)

    def run(self, texts: _Texts) -> Run:
        """What was retrieved."""
        answers = {
            query_id: answer for query_id, (_, answer) in texts.items() if answer is not None
        }
        return Run(answers, self.name)

    def matched(self, ids: Sequence[str], texts: _Texts) -> MatchTable:
        """The matches of these questions, found once more; a judge answers from its store alone.

        Raises:
            KragxError: it cannot be matched again.
        """
        asked = self.folder.summary.get("asked", {})
        lost = [name for name, entry in asked.items() if entry is None]
        if lost:
            problem = f"{lost[0]} was given in Python, and is not written there"
            raise DataError(problem, path=str(self.folder.folder))
        spec = {"match": asked["match"]} if "match" in asked else {}
        criteria = Criteria.of(**spec, metrics=["recall"], profile=self.profile.name)
        criteria = replace(criteria, matcher=criteria.matcher.offline())
        run = self.run(texts)
        return evaluate_run(_gold(ids, texts), run, criteria, corpus=asked.get("corpus")).table

    def unmatched(self, rows: Rows) -> MatchTable:
        """A table of these questions without what matched, which nobody knows here."""
        tables = self.folder.tables
        status = tables.column("status").combine_chunks().take(rows).to_pylist()
        return unmatched(
            tables.column("n_retrieved").combine_chunks().to_numpy()[rows],
            np.array([entry == "answered" for entry in status], bool),
            float(self.scores.settings["match"].get("threshold", 1.0)),
        )

    def shown(
        self, part: _Part, table: MatchTable, means: Mapping[str, float | None]
    ) -> Evaluation:
        """The numbers of all questions, with the rows of those that the page holds.

        `means` are those of the questions that are compared; of a retriever that is not, none.
        """
        summary, failures = self.folder.summary, self.scores.failures
        micro = summary.get("micro", {})
        scores = tuple(
            MetricScores(
                spec,
                self.scores.values[str(spec)][part.rows],
                means.get(str(spec), self.scores.means[str(spec)]),
                micro=micro.get(str(spec)),
            )
            for spec in parse_all(list(self.scores.means), self.profile)
        )
        return Evaluation(
            name=self.name,
            scores=scores,
            query_ids=tuple(part.ids),
            counts=summary["counts"],
            settings=self.scores.settings,
            match_name=self.scores.match,
            table=table,
            profile=self.profile,
            failures={
                query_id: failures[query_id] for query_id in part.ids if query_id in failures
            },
        )

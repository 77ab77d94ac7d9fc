"""`Evaluations`: several retrievers on one gold set, and which of them is better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kragx.comparison import Comparison, compare
from kragx.comparison.side_by_side import remarks_on
from kragx.data import NO_CORPUS, Corpus, Run
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.leaks import leak_parts
from kragx.evaluation.presenting import heading, size
from kragx.evaluation.stage_losses import StageLosses, depth_of, has_stages, losses_of
from kragx.ground.errors import UsageError, nearest
from kragx.ground.json_values import HIDDEN, to_jsonable
from kragx.ground.printing import Line, Part, Result, in_language, joined, message, visible, warning
from kragx.report.html_page.cells import Reasons, judged
from kragx.report.html_page.page import write_html
from kragx.report.record import Record, checkout

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Evaluations(Result, Mapping[str, Evaluation]):
    """Several retrievers on one gold set under one matcher: the numbers of each, compared.

    A mapping by the retriever's name.

    Attributes:
        evaluations: by the retriever's name, in the order given; also those that failed.
        comparison: which is better, and how sure that is. Whoever failed on more questions than is
            tolerated stands in `Comparison.not_comparable` and neither wins, loses nor ties.
        runs: what each retriever returned, by its name; empty where that was not kept.
        corpus: has the texts of ids, for the page.
        options: of `kragx.compare`, by which they are compared.
        losses: of each retriever that was asked with `stages` and has some, which of them loses the
            gold.
        criteria: by which they were evaluated; None where that was not kept.
        record: when they were evaluated, and how long it took; None where that was not kept.

    Examples:
        >>> from kragx import evaluate
        >>> gold = [["the answer"], ["1919"]]
        >>> runs = {"one": [["the answer"], ["in 1919"]], "other": [["another text"], ["in 1919"]]}
        >>> results = evaluate(gold, runs, metrics=["mrr@5"])
        >>> {name: evaluation["mrr@5"] for name, evaluation in results.items()}
        {'one': 1.0, 'other': 0.5}
        >>> results.comparison.best
        'one'
    """

    evaluations: Mapping[str, Evaluation]
    comparison: Comparison
    runs: Mapping[str, Run] = field(default_factory=dict, metadata=HIDDEN)
    corpus: Corpus = field(default=NO_CORPUS, metadata=HIDDEN)
    options: Mapping[str, Any] = field(default_factory=dict, metadata=HIDDEN)
    losses: Sequence[StageLosses] = ()
    criteria: Criteria | None = field(default=None, metadata=HIDDEN)
    record: Record | None = field(default=None, metadata=HIDDEN)

    @classmethod
    def of(
        cls,
        evaluations: Iterable[Evaluation],
        *,
        runs: Mapping[str, Run] | None = None,
        corpus: Corpus = NO_CORPUS,
        criteria: Criteria | None = None,
        record: Record | None = None,
        **options: Any,
    ) -> Self:
        """Compare evaluations that have names of their own; arguments as of the class.

        Where stages lose the gold is found out if `criteria` and `runs` are given.

        Raises:
            UsageError: they cannot be compared, or an option is wrong.
        """
        several = list(evaluations)
        # First, as what cannot be compared is refused before lists of stages are matched.
        comparison, runs = compare(several, **options), runs or {}
        by_name = {evaluation.name: evaluation for evaluation in several}
        losses = [
            losses_of(
                result, result.dataset, runs[name], criteria, k=depth_of(result), corpus=corpus
            )
            for name, result in by_name.items()
            if criteria is not None and result.dataset is not None
            if name in runs and has_stages(runs[name])
        ]
        return cls(by_name, comparison, runs, corpus, options, losses, criteria, record)

    def compared(self, **options: Any) -> Self:
        """The same numbers compared in another way; nothing is asked or matched again.

        Args:
            options: those of `kragx.compare`: ``max_failed``, ``baseline``, ``slices`` and others.

        Raises:
            UsageError: an option is wrong.
        """
        options = {**self.options, **options}
        comparison = compare(self.evaluations.values(), **options)
        return replace(self, comparison=comparison, options=options)

    def __getitem__(self, name: str) -> Evaluation:
        """A retriever's own numbers."""
        if name not in self.evaluations:
            hint = nearest(str(name), self.evaluations)
            raise UsageError("no retriever is called {name!r}; {hint}", name=name, hint=hint)
        return self.evaluations[name]

    def __contains__(self, name: object) -> bool:
        return name in self.evaluations

    def get(self, name: str, default: Any = None) -> Any:
        """A retriever's own numbers, or the default where none is called so."""
        return self.evaluations.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    def __eq__(self, other: object) -> bool:
        return self is other  # as evaluations are compared

    def __hash__(self) -> int:
        return id(self)

    @property
    def verdict(self) -> str:
        """Which retriever is best in the first metric and how sure that is, or why none is.

        In the language that results are shown in (KRAGX_LANG).
        """
        return in_language(self.comparison.recommendations[0].said)

    @property
    def table(self) -> dict[str, dict[str, float | None]]:
        """For each retriever its means by canonical metric name; None where it failed."""
        excluded = self.comparison.not_comparable
        return {
            name: dict.fromkeys(evaluation.mean) if name in excluded else dict(evaluation.mean)
            for name, evaluation in self.evaluations.items()
        }

    @property
    def queries(self) -> dict[str, dict[str, float | None]]:
        """Each query's values of the first metric by retriever, those that differ most first.

        None where a retriever failed, or the query has no value, or is not among a retriever's
        questions. Where all are equal the order is that of the gold set.
        """
        name = self.comparison.primary
        results = self.evaluations
        ids = dict.fromkeys(chain.from_iterable(result.query_ids for result in results.values()))
        values = {
            query_id: {
                retriever: None
                if query_id in result.failures
                else result.queries.get(query_id, {}).get(name)
                for retriever, result in results.items()
            }
            for query_id in ids
        }

        def spread(query_id: str) -> float:
            scores = [value for value in values[query_id].values() if value is not None]
            # Below zero, so that the widest come first; equal ones keep the gold set's order.
            return min(scores, default=0.0) - max(scores, default=0.0)

        return {query_id: values[query_id] for query_id in sorted(values, key=spread)}

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row for each query and the columns of each retriever's, by its name.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        frames = {name: result.to_pandas() for name, result in self.evaluations.items()}
        import pandas  # which the frames are made with

        return pandas.concat(frames, axis=1)

    def at_threshold(self, threshold: float) -> Evaluations:
        """The same scores decided at another threshold; nothing is asked or matched again.

        But for what stages returned, where retrievers were asked with them.

        Raises:
            UsageError: it is out of range, or the matcher has none.
        """
        decided = (evaluation.at_threshold(threshold) for evaluation in self.evaluations.values())
        context = {name: getattr(self, name) for name in ("runs", "corpus", "criteria", "record")}
        return self.of(decided, **context, **self.options)

    def report(self, path: str | Path, **options: Any) -> None:
        """Write the HTML page, which opens offline; `options` are those of `kragx.write_html`.

        With what judges said, from their stores, when these were evaluated, and the commit of the
        repository in which the current folder stands. It begins in the language that results are
        shown in (KRAGX_LANG, or ``language="ko"``), else in the browser's.
        """
        first, record = next(iter(self.evaluations.values())), None
        if self.record is not None:
            record = to_jsonable(replace(self.record, git=checkout(Path.cwd(), Path(path))))
        details: dict[str, Any] = {
            "runs": self.runs,
            "comparisons": [self.comparison],
            "corpus": self.corpus.docs,
            "losses": self.losses,
            "record": record,
        }
        if self.criteria is not None:
            details["matchers"] = {first.match_name: self.criteria.matcher}
            details["reasons"] = {first.match_name: self._reasons(first, self.criteria)}
        write_html(self.evaluations, path, **{**details, **options})

    def _reasons(self, first: Evaluation, criteria: Criteria) -> Reasons:
        """What judges said of the matches, and of relevance, which the former's words go before."""
        if first.dataset is None:
            return {}
        matcher, pool = criteria.matcher, first.settings.get("pool")
        judges = [matcher if pool is None else matcher.of_relevance(pool["depth"])]
        if criteria.relevance_by is not None:
            judges.insert(0, criteria.relevance_by)
        runs, profile = self.runs.values(), first.profile
        # The judge of matches stands last: of two words on a pair the later one is kept.
        said = [judged(judge, first.dataset, runs, profile) for judge in judges]
        return dict(chain.from_iterable(reasons.items() for reasons in said))

    def describe(self) -> Iterator[Part]:
        """Who failed, the verdict, the means, what was asked for, and what a reader must know."""
        evaluations, comparison = list(self.evaluations.values()), self.comparison
        verdict, *advice = comparison.recommendations
        first = evaluations[0]
        yield from heading(first.settings, first.match_name, comparison.asks_counts)
        for finding in (*comparison.gold, *comparison.failures):
            yield from finding.describe()
        yield from leak_parts([evaluation.leak_report for evaluation in evaluations])
        yield from verdict.describe()
        # Where some questions are left out, the means are those of the others.
        yield comparison.means_table(evaluations if self.of_all else ())
        if "baseline" in self.options:
            yield from comparison.against_baseline()
        if "slices" in self.options:
            yield from comparison.by_fields()
        yield from (line for hint in advice if hint.supported for line in hint.describe())
        for loss in self.losses:
            yield Line(joined(": ", [visible(loss.retriever), loss.summary]))
        yield from map(warning, comparison.further_cautions)
        yield from remarks_on(evaluations, failures=False)
        n = comparison.n_queries
        yield size(first.counts) if self.of_all else Line(message("{n} queries compared", n=n))

    @property
    def of_all(self) -> bool:
        """Whether all have the same questions, so that none is left out of the comparison."""
        n = self.comparison.n_queries
        return all(len(evaluation.query_ids) == n for evaluation in self.evaluations.values())

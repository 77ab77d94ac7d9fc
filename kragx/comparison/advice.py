"""Retrievers that failed or returned nothing: what is no result can neither win, lose nor tie."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from kragx.comparison.scores import RetrieverScores
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Cell, Line, Result, Table, joined, message, visible, warning


@dataclass(frozen=True)
class Caution(Result):
    """One thing that could turn a verdict.

    Attributes:
        code: ``leaks``, ``siblings``, ``failed``, ``missing_questions``, ``missing_judgements``,
            ``ids_apart`` or ``threshold``.
        text: as people read it, a sentence without its full stop.
        values: the numbers and names in it.
    """

    code: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """As it goes on behind the verdict."""
        return message("Caution: {caution}.", caution=self.text)

    def describe(self) -> Iterator[Line]:
        """Its sentence."""
        yield warning(self.sentence)


@dataclass(frozen=True)
class Recommendation(Result):
    """One sentence or two of advice.

    Attributes:
        kind: ``winner``, ``no_winner``, ``one_retriever``, ``setting``, ``over_all``, ``cost``,
            ``routing``, ``weak_slice``, ``unfound``, ``reranking``.
        text: as people read it.
        supported: whether the data carries it; False for what it does not say.
        values: the numbers and names in it.
        cautions: of the verdict what could turn it.
    """

    kind: str
    text: str
    supported: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[Caution, ...] = ()

    @property
    def said(self) -> str:
        """Its text with its cautions."""
        return joined(" ", [self.text, *(caution.sentence for caution in self.cautions)])

    def describe(self) -> Iterator[Line]:
        """Its text, with ``?`` before what the data does not carry; then its cautions."""
        yield Line(self.text, item="-" if self.supported else "?")
        yield from self.caution_lines()

    def leak_lines(self) -> Iterator[Line]:
        """Who leaks, where nothing else says so above whatever is compared."""
        for caution in self.cautions:
            if caution.code == "leaks":
                yield Line(caution.sentence, "bold red")

    def caution_lines(self) -> Iterator[Line]:
        """The cautions, but that some failed or leak: that stands above whatever is compared."""
        for caution in self.cautions:
            if caution.code not in ("failed", "leaks"):
                yield from caution.describe()


_SLACK = 1e-9  # 0.07 * 100 is more than 7
_QUOTED = 500
"""How many characters of an error are shown."""


@dataclass(frozen=True)
class Failures(Result):
    """On how many questions a retriever failed; or that it returned nothing for any of them.

    Attributes:
        retriever: which.
        n_failed: on how many questions it failed.
        n_queries: of how many.
        first: the first of them, with its reason.
        max_failed: the share that is tolerated.
        query_ids: the questions, as far as they are known.
        nothing: whether it returned nothing for all questions, unlike another retriever.
    """

    retriever: str
    n_failed: int
    n_queries: int
    first: str
    max_failed: float
    query_ids: frozenset[str] = field(default=frozenset(), metadata=HIDDEN)

    nothing: bool = False

    also_plain: ClassVar[tuple[str, ...]] = ("tolerated",)

    @property
    def tolerated(self) -> bool:
        """Whether its failures score as empty lists; else the retriever is not comparable."""
        return not self.nothing and not self.failed

    @property
    def failed(self) -> bool:
        """Whether it failed on more questions than is tolerated, which ends a command with 5."""
        return self.n_failed > self.max_failed * self.n_queries + _SLACK

    @property
    def is_empty(self) -> bool:
        """Whether it returned nothing, and that is what is wrong with it."""
        return self.nothing and not self.failed

    @property
    def text(self) -> str:
        """On how many questions, as it goes on after the retriever's name."""
        return message(
            "returned nothing for any of {of} questions"
            if self.is_empty
            else "failed on {n} of {of} questions",
            n=self.n_failed,
            of=self.n_queries,
        )

    @property
    def count(self) -> str:
        """The same in a cell of a table."""
        return message(
            "returned nothing" if self.is_empty else "{n} of {of}",
            n=self.n_failed,
            of=self.n_queries,
        )

    def describe(self) -> Iterator[Line]:
        """What that means for its numbers, and the first failure."""
        quoted = visible(self.first)
        yield warning(
            message(
                "{retriever} {failed}, so it is not comparable; see whether its store is empty, or "
                "a filter or limit leaves nothing"
                if self.is_empty
                else "{retriever} {failed}, which score as empty lists; the first: {first}"
                if self.tolerated
                else "{retriever} {failed}, so it is not comparable (max_failed is "
                "{max_failed:g}); the first: {first}",
                retriever=self.retriever,
                failed=self.text,
                max_failed=self.max_failed,
                first=quoted if len(quoted) <= _QUOTED else f"{quoted[:_QUOTED]}…",
            )
        )


def failures_of(scores: Sequence[RetrieverScores], max_failed: float) -> tuple[Failures, ...]:
    """The failures of those retrievers that failed at all, or returned nothing, unlike another.

    `max_failed` is the share tolerated.
    """
    # Where nobody returned anything, no retriever stands out: it is the corpus, or the network.
    some = any(not score.nothing and score.n_failed < len(score.query_ids) for score in scores)
    return tuple(
        Failures(
            score.name,
            score.n_failed,
            len(score.query_ids),
            str(score.counts.get("first_failure", "")),
            max_failed,
            frozenset(score.failures),
            score.nothing and some,
        )
        for score in scores
        if score.n_failed or (score.nothing and some)
    )


def failed_names(failures: Iterable[Failures]) -> tuple[str, ...]:
    """The retrievers that are not comparable."""
    return tuple(failure.retriever for failure in failures if not failure.tolerated)


def marked(failures: Iterable[Failures]) -> str:
    """What the mark of those says that are not comparable; empty where there are none."""
    text = message("✗ not comparable, as it failed or returned nothing")
    return text if failed_names(failures) else ""


def with_failures(table: Table, failures: Sequence[Failures], names: Collection[str]) -> Table:
    """A table of means, metrics down and the comparable retrievers `names` across, with failures.

    Whoever is not comparable has a column of dashes behind them, and the first row says why.
    """
    if not failures:
        return table
    if not names:  # micro averages of a failure are none, either
        table = replace(table, columns=table.columns[:1], rows=[row[:1] for row in table.rows])
    counts = {failure.retriever: failure.count for failure in failures}
    failed, end = failed_names(failures), 1 + len(names)  # a single one's micro averages follow
    head: list[str | Cell] = [
        message("failed questions"),
        *(counts.get(name, "0") for name in names),
        *(Cell(joined(" ", [counts[name], "✗"]), "bold red") for name in failed),
        *[""] * (len(table.columns) - end),
    ]
    dashes = ["-"] * len(failed)
    return Table(
        [*table.columns[:end], *failed, *table.columns[end:]],
        [head, *([*row[:end], *dashes, *row[end:]] for row in table.rows)],
        table.words,
        table.narrow and with_failures(table.narrow, failures, names),
        joined("; ", [table.note, marked(failures)]),
    )

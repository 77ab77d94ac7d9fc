"""What is refused, or said, before the first question is asked, lest all be done for nothing."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path

import numpy as np

from kragx.app.config import RunConfig
from kragx.app.result_folder.opened import read_earlier
from kragx.comparison import (
    NEEDS_EARLIER,
    NO_VALUE,
    REMEDY,
    gold_differs,
    gold_versions,
    sliced,
    undecidable,
    undecidable_differences,
)
from kragx.data import GoldDataset, Query
from kragx.data.reading import nothing_to_find
from kragx.data.rules import RuleSet, check_questions
from kragx.evaluation.evaluation import need_gold
from kragx.evaluation.leaks import may_leak
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import joined, message
from kragx.matchers import BaseMatcher
from kragx.metrics import LEFT_OUT
from kragx.metrics.leaks import check_kinds
from kragx.metrics.weights import effective_n, question_weights
from kragx.report.record import Past


def undecidable_with(config: RunConfig, dataset: GoldDataset) -> Iterator[str]:
    """What so few questions cannot decide, whatever retrievers answer; a line for each."""
    specs, statistics = {str(spec): spec for spec in config.specs}, config.comparing
    skips = (config.no_gold or config.resolved_profile.no_gold) in LEFT_OUT
    rules = _rules(config, dataset)
    scored = [
        query
        for query in dataset
        if any(gold.grade > 0 for gold in query.gold)
        or not (skips or (query.answerable is not False and may_leak(query, rules)))
    ]
    unanswerable = np.array([query.answerable is False for query in dataset])
    compared = len(config.asked) > 1 and any(spec.metric.is_mean for spec in config.specs)
    judged = any(spec.metric.from_relevance is not None for spec in config.specs)
    # Judged metrics have values without gold, too; the larger sample is the one that decides.
    n_valued = max(len(scored), int((~unanswerable).sum()) if judged else 0)
    if compared and (problem := undecidable_differences(n_valued, statistics)):
        yield problem
    for gate in config.parsed_gates:
        queries, spec = list(dataset), specs.get(gate.metric)
        if spec is not None and spec.metric.from_matches is not None:
            queries = scored
        elif spec is not None:
            queries = [*compress(queries, spec.metric.concerns(unanswerable))]
        if spec is not None and spec.metric.reads_forbidden:
            queries = [query for query in queries if may_leak(query, rules, spec)]
        # After the metric's own choice: a slice of what has no value would look large enough.
        if gate.field is not None:
            of_value = {value: rows for _, value, rows in sliced(queries, [gate.field])}
            value = None if gate.value == NO_VALUE else gate.value
            queries = [queries[row] for row in of_value.get(value, [])]
        why = undecidable(gate, len(queries), statistics.confidence, _effective(queries))
        if why is not None:
            yield joined(" ", [f"{gate.path}: {gate.condition!r}", why])


def _effective(queries: Sequence[Query]) -> float | None:
    """Kish's n of some questions; None where all weigh alike."""
    asks, inclusion = (
        np.array([(query.weight, query.inclusion) for query in queries]).reshape(-1, 2).T
    )
    weights = question_weights(asks, inclusion)
    return None if weights is None else effective_n(weights, np.ones(len(queries), bool))


def _rules(config: RunConfig, dataset: GoldDataset) -> RuleSet:
    """What forbids documents: the gold set's rules, and the config's in place of those."""
    return RuleSet.of({**dataset.forbidden, **(config.forbidden or {})})


def check_slices(config: RunConfig, dataset: GoldDataset) -> None:
    """Refuse slices that the gold set does not have, before any work.

    Raises:
        UsageError: naming each mistake.
    """
    problems = []
    labels: dict[str, list[str]] = {}
    for name in config.slices or ():
        try:
            # One by one, so that each mistake is named and not the first alone.
            slices = sliced(list(dataset), [name])
            labels[name] = [NO_VALUE if value is None else value for _, value, _ in slices]
        except UsageError as error:
            problems.append(error.text)
    for gate in config.parsed_gates:
        values = labels.get(gate.field or "")
        if values is not None and gate.value not in values:
            problems.append(
                message(
                    "{path}: no query has the value {value!r}; {hint}",
                    path=gate.path,
                    value=gate.value,
                    hint=nearest(gate.value or "", values),
                )
            )
    if problems:
        raise UsageError(joined("\n", problems))


def check_gold(config: RunConfig, dataset: GoldDataset, matchers: Iterable[BaseMatcher]) -> None:
    """Refuse a gold set without any gold where all that is asked for is made of it.

    A judge needs none: what it grades relevant is the gold.

    Raises:
        DataError: no metric could have a value.
        UsageError: nothing is forbidden, and a metric asks what leaks; or a rule asks for what no
            question has.
    """
    specs = config.specs
    rules = _rules(config, dataset)
    check_questions(rules, [query.metadata for query in dataset])
    kinds = {item.why for query in dataset for item in query.forbidden or ()}
    kinds.update(rule.name for rule in rules.rules)
    for spec in specs:
        if spec.metric.reads_forbidden:
            check_kinds(spec, sorted(kinds))
    no_gold = config.no_gold or config.resolved_profile.no_gold
    judged = any(matcher.judges for matcher in matchers)
    if need_gold(specs, no_gold, judged) and not any(query.gold for query in dataset):
        raise nothing_to_find(len(dataset), dataset.name)


def earlier_results(
    config: RunConfig,
    dataset: GoldDataset,
    folder: Path | None,
    *,
    anyway: bool,
    known: Past | None = None,
) -> Past | None:
    """The earlier results, if there are any, before any work.

    Args:
        config: names them.
        dataset: the gold set, of which some question must be one of theirs.
        folder: what this run writes, which must not be theirs.
        anyway: take those of another gold set too.
        known: them, where they were read already.

    Raises:
        UsageError: there are none and a gate needs some; or they are of other retrievers, of
            a gold set without a question in common, or in the folder that this run writes.
        DataError: they cannot be read.
    """
    if config.earlier is None:
        for gate in (gate for gate in config.parsed_gates if gate.than == "earlier"):
            raise UsageError(
                "{place}: {needs_earlier}", place=gate.path, needs_earlier=NEEDS_EARLIER
            )
        return None
    if folder is not None and os.path.realpath(folder) == os.path.realpath(config.earlier):
        raise UsageError(
            "earlier: {earlier} is the folder that this run writes; copy what it holds to "
            "another one first, or give another output",
            earlier=config.earlier,
        )
    source = known or read_earlier(config.earlier)
    earlier = source.results
    if not set(earlier.retrievers) & set(config.asked):
        raise UsageError(
            "{earlier} has no retriever of this config; it has {names}",
            field="earlier",
            earlier=earlier.name,
            names=", ".join(earlier.retrievers),
        )
    # One matcher that can be compared is enough: the others say so where they stand.
    gold = earlier.scores[0].settings["dataset"], dataset.settings
    datasets = earlier.dataset, dataset
    matches = {score.match: score.settings["match"] for score in earlier.scores}.values()
    reasons = dict.fromkeys(
        gold_differs(*gold, gold_versions(*gold, datasets, match)) for match in matches
    )
    if None not in reasons and not anyway:
        raise UsageError(
            message(
                "{earlier} cannot be compared with this config: {why} ({remedy})",
                earlier=earlier.name,
                why=next(iter(reasons)),
                remedy=REMEDY,
            ),
            field="earlier",
        )
    return source

"""`evaluate_run`: from a gold set, what one retriever returned and criteria to an `Evaluation`."""

import platform
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from itertools import chain, repeat

import numpy as np

from kragx import matchers
from kragx.data import (
    Corpus,
    GoldDataset,
    LackingError,
    Run,
    as_corpus,
    every_run,
    read_dataset,
    read_results,
    read_run,
)
from kragx.data.batch import Batch
from kragx.data.forbidden import FORBIDDEN
from kragx.data.reading import gold_of, results_of
from kragx.data.scored import are_scores
from kragx.data.weights import unequal
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import judging_counts
from kragx.evaluation.forbidden import Beyond, ids_met
from kragx.evaluation.inputs import Source, Texts, source_of
from kragx.evaluation.match_source import (
    Matches,
    MatchPlan,
    itself,
    match_stream,
    table_counts,
    vocabulary_of,
    vocabulary_of_runs,
)
from kragx.evaluation.parts import Engine, engine_of, match_in_parts
from kragx.evaluation.pools import check_whole_lists, pooled, within
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.evaluation.runs import counts_of_runs
from kragx.evaluation.searching import seen_in_runs
from kragx.matchers import matching
from kragx.matchers.gold_siblings import GoldSample, compares_gold
from kragx.matchers.items import items_of
from kragx.matchers.matching import match_in_pool
from kragx.metrics import MatchTable
from kragx.metrics.leaks import with_leak
from kragx.metrics.runs import mean_values


def ready(dataset: GoldDataset, criteria: Criteria, corpus: Corpus) -> GoldDataset:
    """The gold set whose questions a retriever may be asked: what is wrong with it is said before.

    Raises:
        DataError: gold has no text, and the matcher compares texts.
    """
    criteria = criteria.fitting(dataset, (), corpus)
    filled = Texts.of(corpus, criteria.matcher, looks=criteria.looks).gold(dataset)
    criteria.siblings(GoldSample.of(filled))
    return filled


def for_all(
    criteria: Criteria, dataset: GoldDataset, runs: Collection[Run], corpus: Corpus
) -> Criteria:
    """Criteria by which a pair scores alike whichever of several runs retrieved it.

    What is forbidden by id is known to be of these documents as soon as one of them meets an id.

    Ids alone are compared as ids. What all of them found is judged in one pool, if there is no
    gold, and the words of all are one vocabulary.
    """
    runs = every_run(runs)
    criteria = replace(criteria.fitting(dataset, runs, corpus), is_open=False)
    if criteria.searching is None:  # else they are compared with others, and have their basis
        criteria = criteria.seeing(seen_in_runs(dataset, runs))
    if criteria.matcher.needs_pool(matchers.MatchItem(query, ()) for query in dataset):
        judge, profile = criteria.matcher, criteria.named
        pool = pooled(dataset, runs, match=judge, profile=profile, corpus=corpus)
        criteria = replace(criteria, matcher=pool)
    texts = Texts.of(corpus, criteria.matcher, looks=criteria.looks)
    if criteria.needs_vocabulary:
        criteria = criteria.knowing(vocabulary_of_runs(dataset, runs, texts.corpus))
    elif dataset.may_forbid and criteria.forbidden_matcher is not None:
        words = vocabulary_of_runs(dataset, runs, texts.corpus).of_forbidden
        criteria = replace(criteria, forbidden_words=words)
    if dataset.may_forbid and as_corpus(corpus).source is None:
        criteria = replace(criteria, ids_met=ids_met(dataset, runs, criteria.id_key))
    return criteria


def prepared(
    criteria: Criteria, source: Source, corpus: Corpus, *, keep: bool = False
) -> tuple[Criteria, MatchPlan]:
    """Criteria that know what they look at of a source, and how it is matched by them.

    That is the words of all texts, as far as anything that they name looks at them, and of somebody
    who searches several times, which list metrics are about.

    Args:
        criteria: by which the source is evaluated.
        source: will pass afterwards.
        corpus: has metadata that documents lack.
        keep: as of `Source.ahead`.
    """
    if criteria.searching is None:
        searches = source.searches_ahead(keep=keep)
        if searches is not None or "searches" in criteria.reads:
            criteria = criteria.seeing(searches)
    forbids, forbidding = criteria.forbids(source), None
    if criteria.needs_vocabulary:
        criteria = criteria.knowing(vocabulary_of(source, keep=keep))
    elif forbids and criteria.forbidden_words is None and criteria.forbidden_matcher is not None:
        words = vocabulary_of(source, keep=keep).of_forbidden
        criteria = replace(criteria, forbidden_words=words)
    if forbids:
        forbidding = criteria.forbidding(source.rules, corpus)
    kept = itself if criteria.looks else None
    matcher, profile, searching = criteria.matcher, criteria.profile, criteria.searching
    return criteria, MatchPlan(matcher, profile, source.texts, kept, forbidding, searching)


def evaluate_run(
    dataset: object,
    run: object,
    criteria: Criteria,
    *,
    corpus: object = None,
    workers: object = None,
    name: str | None = None,
) -> Evaluation:
    """One run evaluated, with its reruns: every other call that evaluates comes here.

    Where every question failed, nothing has a value (`Evaluation.answered` raises then).

    Args:
        dataset: as for `kragx.evaluate`.
        run: what one retriever returned, as for `kragx.evaluate`.
        criteria: by which it is evaluated.
        corpus: as for `kragx.evaluate`.
        workers: as for `kragx.evaluate`.
        name: of the retriever; None for its own.
    """
    corpus = as_corpus(corpus)
    if isinstance(run, Run) and run.reruns:
        return _evaluation_of_reruns(gold_of(dataset), run, criteria, corpus, workers, name)
    dataset, run, criteria = _fitting(gold_of(dataset), results_of(run), criteria, corpus)
    matcher, looks = criteria.matcher, criteria.looks
    # Ids under other keys, and metrics that look, need the documents themselves.
    by_id = matcher.reads == "ids" and matcher == matchers.IdMatcher() and not looks
    texts = Texts.of(corpus, matcher, looks=looks)
    source = source_of(dataset, run, criteria.profile, by_id=by_id, texts=texts)
    source.name = name or source.name
    source.stats.golds = GoldSample() if compares_gold(matcher) else None
    engine = None if workers is None else engine_of(workers, matcher)
    criteria, plan = prepared(criteria, source, corpus, keep=engine is None)
    try:
        if matcher.judges:
            criteria, matches = _judged(source, criteria, plan)
        else:
            matches = match_source(source, plan, engine)
    except LackingError:
        # Of a file with both the whole has to be known, which standard input is not.
        if not criteria.is_open or run is not None or str(dataset) == "-":
            raise
        gold, retrieved = read_results(dataset)
        by_ids = criteria.fitting(gold, [retrieved], corpus)
        if not by_ids.are_ids:
            raise
        return evaluate_run(dataset, run, by_ids, corpus=corpus, workers=workers, name=name)
    if (weights := matches.table.weights) is not None:  # which say nothing where all are alike
        weights = unequal(weights, source.dataset_name)
        matches = matches._replace(table=replace(matches.table, weights=weights))
    return _measured(source, criteria, plan, matches)


def _fitting(
    dataset: object, run: object, criteria: Criteria, corpus: Corpus
) -> tuple[object, object, Criteria]:
    """Both sides, read where that takes it, with criteria that fit them."""
    if not criteria.is_open:
        return dataset, run, criteria
    are_mappings = isinstance(dataset, Mapping) and corpus.source is None
    if are_mappings and are_scores(dataset) and are_scores(run):
        return dataset, run, criteria.of_ids()
    if run is None or is_retriever(run):
        return dataset, run, criteria
    gold = read_dataset(dataset)
    read = read_run(run, gold)
    return gold, read, criteria.fitting(gold, [read], corpus)


def _evaluation_of_reruns(
    dataset: object, run: Run, criteria: Criteria, corpus: Corpus, workers: object, name: str | None
) -> Evaluation:
    """The evaluation of a run with reruns, each by itself by criteria that fit all of them."""
    gold = read_dataset(dataset)
    if criteria.is_open:
        criteria = for_all(criteria, gold, run.every, corpus)
    return evaluation_of_runs(
        [
            evaluate_run(gold, again, criteria, corpus=corpus, workers=workers, name=of_first)
            for again, of_first in zip(run.every, chain([name], repeat(None)))
        ]
    )


def evaluation_of_runs(runs: Sequence[Evaluation]) -> Evaluation:
    """One evaluation of a retriever that was asked the same questions several times.

    Whatever a question got in its runs, it counts once, by its mean over them. It has failed if
    one of its runs has, which is scored as an empty list.

    Args:
        runs: by the same criteria; the first has the retriever's name.
    """
    if len(runs) == 1:
        return runs[0]
    # Lists, matches and settings are the first run's, as reports can show one list a question.
    first = runs[0]
    failures: dict[str, str] = {}
    for query_id, error in chain.from_iterable(run.failures.items() for run in runs):
        failures.setdefault(query_id, error)
    seconds = [run.seconds for run in runs if run.seconds is not None]
    joint = replace(
        first,
        counts=counts_of_runs([run.counts for run in runs], failures),
        settings={**first.settings, "run": {**first.settings["run"], "runs": len(runs)}},
        failures=failures,
        # Times of some runs alone would be those of another retriever than the numbers are of.
        seconds=mean_values(seconds) if len(seconds) == len(runs) else None,
        longest=max(run.longest_list for run in runs),
        runs=tuple(runs),
    )
    return joint.measured(first.specs)


def _measured(source: Source, criteria: Criteria, plan: MatchPlan, matches: Matches) -> Evaluation:
    """The evaluation of a source that has passed, with its numbers."""
    (table, searches), marks, beyond = matches.on_basis, matches.forbidden, None
    # Else nothing is forbidden after all.
    if marks is not None and (marks.beyond.kinds or criteria.reads_forbidden):
        beyond = marks.beyond
    forbidden = None if marks is None or beyond is None else marks.resolved()
    # Now, as an encoder then has read the gold with what was retrieved, in whole batches.
    sums = table_counts(table, forbidden, searches)
    evaluation = unmeasured(source, criteria, plan, table, sums, beyond)
    counts, evidence = evaluation.counts, None
    if criteria.looks:
        concurrency = int(source.run.settings.get("concurrency", 1))
        of_lists = forbidden, searches, matches.searched
        evidence = criteria.gathered(source.stats.kept, table, concurrency, *of_lists)
        counts = {**counts, **evidence.counts(criteria.facts_by)}
    specs = with_leak(criteria.specs) if forbidden and forbidden.kinds else criteria.specs
    return replace(
        evaluation,
        counts=counts,
        evidence=evidence,
        forbidden=forbidden,
        searches=searches,
        dataset=source.gold,
        seconds=np.array(source.stats.seconds, np.float64),
    ).measured(specs)


def unmeasured(
    source: Source,
    criteria: Criteria,
    plan: MatchPlan,
    table: MatchTable,
    sums: Mapping[str, int],
    beyond: Beyond | None,
) -> Evaluation:
    """The evaluation of a source that has passed, whole or in parts, before metrics are computed.

    Args:
        source: what is evaluated.
        criteria: by which it is.
        plan: how it was matched.
        table: its matches.
        sums: of the match table, or of those of all parts (`table_counts`).
        beyond: what all questions together tell of what is forbidden; None where nothing is.

    Raises:
        DataError: no question can match.
    """
    diagnostics = source.stats.diagnostics
    siblings = criteria.siblings(source.stats.golds or GoldSample(), diagnostics)
    criteria.check_lost(diagnostics, sums["n_with_any_gold"])
    counts = source.counts(sums, criteria.profile, table.weights)
    if criteria.matcher.judges:
        counts |= judging_counts(criteria.matcher, diagnostics)
    if beyond is not None:
        counts[FORBIDDEN] = {**counts[FORBIDDEN], "n_unmatchable": beyond.n_lost}
        beyond.warn()
    run = {"name": source.name, **source.run.settings}
    forbidding = None if beyond is None else plan.forbidding
    settings = criteria.settings(source.dataset_settings(), run, forbidding)
    return Evaluation(
        name=source.name,
        scores=(),
        query_ids=tuple(source.stats.query_ids),
        counts=counts | ({} if siblings is None else siblings.at(table.threshold)),
        settings=settings | {"versions": versions()},
        match_name=criteria.label,
        table=table,
        profile=criteria.profile,
        failures=source.stats.failures,
        siblings=siblings,
    )


def match_source(source: Source, plan: MatchPlan, engine: Engine | None) -> Matches:
    """The matches of a whole source, which has passed then.

    Args:
        source: what is evaluated.
        plan: what is done with it.
        engine: does it part by part; None for this process, in one go.

    Raises:
        DataError: as whoever reads it; ids without texts are counted.
        WorkerError: as `Engine.map`.
    """
    if engine is None:
        matches = match_stream(source.read(), source.stats, plan)
    else:
        matches = match_in_parts(source, plan, engine)
    matching.conclude(plan.matcher, source.stats.diagnostics)
    return matches


def _judged(source: Source, criteria: Criteria, plan: MatchPlan) -> tuple[Criteria, Matches]:
    """The matches that a judge decides, of all questions together: pooled, if there is no gold."""
    if criteria.searching is not None:
        check_whole_lists(criteria.matcher)

    def judge(
        batches: Iterable[Batch], matcher: matchers.BaseMatcher, diagnostics: matchers.Diagnostics
    ) -> MatchTable:
        nonlocal criteria
        # All at once: a pool is of all questions, and equal ones are asked about once.
        items = [item for batch in batches for item in items_of(batch)]
        if matcher.pool is None and matcher.needs_pool(items):
            matcher = matcher.pooled([items])
        if matcher.pool is not None:
            criteria = within(criteria, matcher)
            return match_in_pool(items, matcher, diagnostics)
        criteria = replace(criteria, matcher=matcher.against_gold())
        return matching.match(items, criteria.matcher, diagnostics)

    matches = match_stream(source.read(), source.stats, plan, judge)
    return criteria, matches


@cache
def versions() -> Mapping[str, str]:
    """The versions that numbers may depend on."""
    return {
        "kragx": version("kragx"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "platform": sys.platform,
    }

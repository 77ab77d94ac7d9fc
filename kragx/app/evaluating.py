"""From what retrievers returned to evaluations, under each matcher of a config."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kragx.app.config import RunConfig, filled
from kragx.app.config.values import FACTS, RELEVANCE
from kragx.app.run_report import RunReport
from kragx.data import Corpus, GoldDataset, Run, every_run
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run, for_all
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import relevance_depth
from kragx.evaluation.inputs import Texts
from kragx.evaluation.match_source import vocabulary_of_runs
from kragx.evaluation.pools import pooled
from kragx.evaluation.searching import seen_in_runs
from kragx.evaluation.stage_losses import StageLosses, depth_of, has_stages, losses_of
from kragx.ground.caller_warnings import about
from kragx.ground.errors import DataError, UntrustedError, UsageError, inside
from kragx.judging import read_judge
from kragx.judging.reading import adjusted
from kragx.matchers import BaseMatcher, matcher as make_matcher, sources_of

_SAID = {FACTS: "facts_match", RELEVANCE: "relevance_match"}


def matchers_of(
    config: RunConfig, *, trust: bool = True, is_given: bool = False
) -> dict[str, BaseMatcher]:
    """The matchers of a config by name; `FACTS` and `RELEVANCE` too, if a metric reads them.

    Args:
        config: has the specs.
        trust: whether what they name may be run, and asked.
        is_given: whether the user has named the matchers that decide.
    """
    metrics = [spec.metric for spec in config.specs]
    specs = dict(config.named_matchers)
    judges = (
        spec
        for spec in config.named_matchers.values()
        if (spec.get("method") if isinstance(spec, Mapping) else spec) == "llm"
    )
    if config.facts_match is not None and any(metric.reads_facts for metric in metrics):
        specs[FACTS] = config.facts_match
    if any(metric.from_relevance is not None for metric in metrics):
        specs[RELEVANCE] = config.relevance_match or next(judges, "llm")
    read = match_reader(config, trust=trust)
    matchers = {
        name: read(spec, None if is_given and name.strip() else name)
        for name, spec in specs.items()
    }
    if RELEVANCE in matchers:
        matchers[RELEVANCE] = matchers[RELEVANCE].of_relevance(relevance_depth(config.specs))
    return matchers


def match_reader(
    config: RunConfig, *, trust: bool = True
) -> Callable[[object, str | None], BaseMatcher]:
    """Makes matchers of specs, with the profile's options and the config's judge.

    Where nobody trusts the config a spec with a name, which is of it, may need no code and no
    model; one without is the user's own.
    """
    options = dict(config.resolved_profile.match_options)
    if config.judge is not None and trust:
        options["judge"] = adjusted(read_judge(filled(config.judge)), secrets=config.secrets)

    def read(spec: object, name: str | None) -> BaseMatcher:
        for source in sources_of(spec) if name is not None and not trust else ():
            raise UntrustedError(
                "matcher {value}: its scores come from {source}",
                value=_SAID.get(name or "", name),
                source=source,
            )
        return make_matcher(filled(spec), options)

    return read


def bound(
    config: RunConfig, matchers: Mapping[str, BaseMatcher], *, dry_run: bool, outbox: Any
) -> dict[str, BaseMatcher]:
    """The matchers as they judge in this run."""
    if dry_run and config.judge is None and not any(m.judges for m in matchers.values()):
        raise UsageError("dry_run: the config has no 'judge' that this could belong to")
    options: dict[str, Any] = {"dry_run": True} if dry_run else {}
    if outbox is not None:
        options = {"outbox": outbox, "dry_run": True, "progress": False}
    return {name: matcher.judging(**options) for name, matcher in matchers.items()}


def _texts(config: RunConfig, corpus: Corpus, matchers: Mapping[str, BaseMatcher]) -> list[Texts]:
    """The texts that each matcher of a config needs."""
    needs_evidence = any("documents" in spec.reads for spec in config.specs)
    decide = (named for name, named in matchers.items() if name.strip())
    return [Texts.of(corpus, named, looks=needs_evidence) for named in decide]


def with_texts(
    dataset: GoldDataset, config: RunConfig, corpus: Corpus, matchers: Mapping[str, BaseMatcher]
) -> GoldDataset:
    """The gold set with the texts that matchers need."""
    with inside(path=str(config.dataset.path), kind=DataError):
        for texts in _texts(config, corpus, matchers):
            dataset = texts.gold(dataset)
    return dataset


def evaluated(
    config: RunConfig,
    dataset: GoldDataset,
    runs: Mapping[str, Run],
    corpus: Corpus,
    matchers: Mapping[str, BaseMatcher],
    *,
    workers: object = None,
) -> RunReport:
    """Each run evaluated under each matcher of a config."""
    forbidden_words = None
    if any(matcher.needs_vocabulary for matcher in matchers.values()):
        # Of all runs, so that a pair scores alike whoever retrieved it.
        vocabulary = vocabulary_of_runs(dataset, every_run(runs.values()), corpus)
        matchers = {name: matcher.knowing(vocabulary) for name, matcher in matchers.items()}
        forbidden_words = vocabulary.of_forbidden
    deciding = {name: matcher for name, matcher in matchers.items() if name.strip()}
    if any(texts.corpus is corpus for texts in _texts(config, corpus, deciding)):
        # Here, and not in each evaluation: so a folder holds the texts, and needs no corpus.
        runs = {name: corpus.run(run) for name, run in runs.items()}
    relevance = matchers.get(RELEVANCE)
    if relevance is not None:
        if seen_in_runs(dataset, runs.values()) is not None:
            relevance = relevance.of_relevance(None)  # each search has its own first documents
        # The documents of all runs are graded as one pool.
        every = every_run(runs.values())
        options: dict[str, Any] = {"profile": config.resolved_profile, "corpus": corpus}
        relevance = pooled(dataset, every, match=relevance, **options)
    evaluation_of: dict[tuple[str, str], Evaluation] = {}
    scored_by: dict[str, str] = {}
    losses: list[StageLosses] = []
    for name, matcher in deciding.items():
        criteria = Criteria.of(
            match=matcher,
            metrics=config.metrics,
            profile=config.profile,
            no_gold=config.no_gold,
            facts_match=matchers.get(FACTS),
            relevance_match=relevance,
            budget_tokenizer=config.budget_tokenizer,
            forbidden=config.forbidden,
        )
        criteria = replace(criteria, forbidden_words=forbidden_words)
        # One for all retrievers: each distinct text is tokenised, or judged, once.
        criteria = for_all(criteria, dataset, runs.values(), corpus)
        # Another threshold costs no other scoring, but where it is not known what scores depend on,
        # and where what is forbidden by its text is told at the matcher's own threshold.
        is_foreign = matcher.inner or matcher.members or matcher.asks or matcher.judges
        key = name
        if not (is_foreign or matcher.yes_or_no or dataset.may_forbid):
            key = str({**matcher.settings, "threshold": None})
        first = scored_by.setdefault(key, name)
        for run in runs.values():
            if first != name and not has_stages(run):
                at_threshold = evaluation_of[first, run.name].at_threshold(matcher.threshold)
                evaluation_of[name, run.name] = replace(at_threshold, match_name=name)
                continue
            spoken_of = run.name if len(runs) > 1 else ""
            with about(spoken_of), inside(f"retrievers.{run.name}", kind=DataError):
                evaluation = evaluate_run(dataset, run, criteria, corpus=corpus, workers=workers)
            settings = config.secrets.masked(evaluation.settings)
            evaluation = replace(evaluation, match_name=name, settings=settings)
            evaluation_of[name, run.name] = evaluation
            if has_stages(run):
                k = depth_of(evaluation)
                losses.append(losses_of(evaluation, dataset, run, criteria, k=k, corpus=corpus))
    judges = {} if relevance is None else {RELEVANCE: matchers[RELEVANCE]}
    return RunReport(
        config,
        dataset,
        runs,
        tuple(evaluation_of.values()),
        matchers={**deciding, **judges},
        corpus=corpus,
        losses=tuple(losses),
    )

"""`run`: from a config to what it finds out; and the same once more from what a run has left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from kragx.app import config as configs
from kragx.app.config import RunConfig, filled
from kragx.app.config.values import FACTS, RELEVANCE
from kragx.app.folder.opened import Content, opened, read_folder
from kragx.app.folder.scores import RecordedScores, Recording
from kragx.app.preflight import check_gold, check_slices, earlier_results, undecidable_with
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.app.retrieving.grids import check_axes, plan
from kragx.app.retrieving.retrieve_all import Keeping, retrieve_all
from kragx.app.run_report import RunReport
from kragx.comparison import Failures
from kragx.data import Corpus, GoldDataset, Run, as_corpus, every_run, read_dataset
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate import evaluate_run, for_all
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import relevance_depth
from kragx.evaluation.explain import explain, standard_panel
from kragx.evaluation.explanation import Explanation
from kragx.evaluation.inputs import Texts, ids_alone
from kragx.evaluation.parts.workers import Ray, engine_of
from kragx.evaluation.pools import pooled
from kragx.evaluation.searching import seen_in_runs
from kragx.evaluation.stage_losses import StageLosses, depth_of, has_stages, losses_of
from kragx.evaluation.vocabulary import vocabulary_of_runs
from kragx.ground.caller_warnings import about
from kragx.ground.errors import (
    DataError,
    JudgingError,
    RetrieverError,
    UntrustedError,
    UsageError,
    nearest,
)
from kragx.ground.plugins import data_alone
from kragx.ground.printing import Line, phrase, visible
from kragx.judging import Judge, read_judge
from kragx.judging.budget import read_budget
from kragx.judging.reading import adjusted
from kragx.matchers import BaseMatcher, OnMatch, matcher
from kragx.matchers.vocabulary import Vocabulary
from kragx.metrics import parse_all
from kragx.report.record import Clock, checkout

if TYPE_CHECKING:
    from kragx.judging.batches.submitting import Outbox

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def _guarded(
    work: Callable[Concatenate[RunConfig, _Options], _Result],
) -> Callable[Concatenate[RunConfig, _Options], _Result]:
    """Work with a config whose errors do not say its secrets."""

    def guarded(config: RunConfig, /, *args: _Options.args, **options: _Options.kwargs) -> _Result:
        with config.secrets.guarding():
            return work(config, *args, **options)

    update_wrapper(guarded, work)
    return guarded


@_guarded
def run(
    config: RunConfig,
    *,
    progress: bool | None = None,
    judging: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    fresh: bool = False,
    anyway: bool = False,
    say: Callable[[str], object] = str,
    outbox: "Outbox | None" = None,
) -> RunReport:
    """Ask every retriever, match, and compute the metrics.

    Args:
        config: from `kragx.app.config.load`.
        progress: whether to show progress on standard error; None for only on a terminal.
        folder: where answers are kept as they come, so that an interrupted run goes on; None
            keeps none.
        fresh: ask everything, whatever an interrupted run has left.
        judging: options of the judge that win over the config's (``budget``, ``dry_run``, ...);
            the report's config has them, as numbers may depend on them. Of a ``budget`` the limits
            that it names win over those of the same `per`.
        anyway: compare with the config's earlier results even if they cannot be compared.
        say: is told, before anything is asked, what so few questions cannot decide, and before
            a retriever is, what becomes of the answers that an interrupted run has left.
        outbox: gets what judges would ask; they are not asked then.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: the gold set or a results file is bad.
        JudgingError: judgements are missing, or the budget is used up; what was judged is stored.
        RetrieverError: the same, and a retriever failed besides; or one was to stop at a failure.
    """
    clock = Clock()
    if judging and config.judge is not None:
        options = dict(judging)
        if "budget" in options:
            budgets = read_budget(filled(config.judge.get("budget")))
            options["budget"] = budgets.with_limits(options["budget"]).to_dict()
        config = config.model_copy(update={"judge": {**config.judge, **options}})
    corpus = corpus_of(config)
    matchers = _named_matchers(config)
    named = judging or {}
    if named and config.judge is None and not any(matcher.judges for matcher in matchers.values()):
        raise UsageError(f"{', '.join(named)}: the config has no 'judge' that this could belong to")
    # Matchers with a judge of their own ask nothing in a dry run either, and keep to limits; where
    # there is no other judge, all of it is theirs.
    of_all = named.keys() if config.judge is None else {"budget", "dry_run"}
    bound = {name: matcher for name, matcher in named.items() if name in of_all}
    matchers = {name: matcher.judging(**bound) for name, matcher in matchers.items()}
    if outbox is not None:
        collecting = {"outbox": outbox, "dry_run": True, "progress": False}
        matchers = {name: matcher.judging(**collecting) for name, matcher in matchers.items()}
    dataset = load_dataset(config)
    if dataset.version != config.dataset.version:  # the folder keeps what its release said
        named = {"name": dataset.name, "version": dataset.version}
        dataset_config = config.dataset.model_copy(update=named)
        config = config.model_copy(update={"dataset": dataset_config})
    names_none = config.match is None and config.matchers is None
    if names_none and corpus.source is None and ids_alone(dataset, ()):
        say(phrase("matched by id: gold has ids and no text"))
        config = config.model_copy(update={"match": "id"})
        matchers = {name: matchers.get(name, by) for name, by in _named_matchers(config).items()}
    dataset = _with_texts(dataset, config, corpus, matchers)
    # Whatever can be wrong is found before the first question is asked.
    check_slices(config, dataset)
    check_gold(config, dataset, matchers.values())
    undecidable = tuple(undecidable_with(config, dataset))
    for problem in undecidable:
        say(problem)
    check_axes(config.retrievers)
    for line in plan(config.retrievers, len(dataset)):
        say(line)
    earlier = earlier_results(config, dataset, folder, anyway=anyway)
    recording = Recording(
        dataset, config.resolved_profile, _specs(config), matchers, config.secrets
    )
    written = [*config.stores, *([] if folder is None else [folder])]
    path = config.file
    git = None if path is None else checkout(path.parent, *written, config=path.name)
    keeping = None if folder is None else _make_keeping(config, folder, written, fresh, say)
    engine = engine_of(config.sharing)
    with engine.connected() if isinstance(engine, Ray) else nullcontext():
        runs, kept = retrieve_all(config.asked, dataset, progress=progress, keeping=keeping)
        with _failures_first(runs, dataset, config.max_failed):
            report = _evaluated(config, dataset, runs, corpus, matchers, recording, workers=engine)
    records = list(recording.records(runs, report.evaluations))
    # Whoever looks at the report asks no code and no model once more.
    scores = RecordedScores(records, dataset)
    recorded = _named_matchers(config, scores) if records else {}
    return replace(
        report,
        matchers={
            name: recorded[name].knowing(matcher.vocabulary or Vocabulary())
            if name in scores.matchers
            else matcher
            for name, matcher in report.matchers.items()
        },
        records=records,
        told=undecidable,
        earlier=earlier and earlier.results,
        earlier_record=earlier and earlier.record,
        anyway=anyway,
        record=clock.record(config.file, git, kept),
        plans=tuple(
            {id(plan): plan for matcher in matchers.values() for plan in matcher.plans}.values()
        ),
    )


@_guarded
def grid_plan(config: RunConfig) -> list[Line]:
    """What the grids of a config would ask, setting by setting; nothing is asked.

    Raises:
        UsageError: an axis is no argument of its retriever.
        DataError: the gold set cannot be read.
    """
    check_axes(config.retrievers)
    lines = [Line(text) for text in plan(config.retrievers, len(load_dataset(config)))]
    lines += [Line(visible(name), item="-") for name in config.asked]
    return [*lines, Line(phrase("a dry run: nothing was asked"))]


@_guarded
def judges(config: RunConfig) -> list[Judge]:
    """The judges that the matchers of a config have, each once."""
    named = [judge for by in _named_matchers(config).values() for judge in by.graders]
    return [judge for place, judge in enumerate(named) if judge not in named[:place]]


def load_dataset(config: RunConfig) -> GoldDataset:
    """The gold set of a config."""
    dataset = config.dataset
    return read_dataset(
        dataset.path,
        dataset.format,
        dataset.columns,
        encoding=dataset.encoding,
        name=dataset.name,
        version=dataset.version,
    )


def corpus_of(config: RunConfig) -> Corpus:
    """The corpus of a config; none if it names none.

    Raises:
        DataError: there is no such file.
    """
    try:
        return as_corpus(config.dataset.corpus)
    except DataError as error:
        raise error.within("dataset.corpus") from None


def recompute(
    folder: Path,
    *,
    earlier: Path | None = None,
    anyway: bool = False,
    settings: Sequence[str] = (),
    trust: bool = False,
) -> RunReport:
    """Every number of a result folder once more, from what it holds; nothing is retrieved.

    Nothing that it names is run, asked or read elsewhere, unless its author is trusted: matchers
    that need code or a model give the scores that the run has recorded.

    Args:
        folder: that `kragx run` has written.
        earlier: a folder to compare with; None for the one that the config names.
        anyway: as for `run`.
        settings: values that win over the config's, as ``max_failed=0.1``.
        trust: run the code, ask the models and read the files that the config names.

    Raises:
        DataError: the folder lacks a file, or one is broken.
        UntrustedError: a number needs code that may not run.
    """
    with ExitStack() as within:
        within.enter_context(data_alone(trust=trust))
        with opened(folder, trust=trust) as content:
            content_left = content.contents(settings)
            config, record = content_left.config, content.record
            before = content.earlier(config) if earlier is None else None
        within.enter_context(config.secrets.guarding())
        if not trust:
            configs.check_whole(config)
        if earlier is not None:
            config = configs.with_earlier(config, earlier)
        before = earlier_results(config, content_left.dataset, folder, anyway=anyway, known=before)
        matchers = _named_matchers(config, content_left.scores)
        report = _evaluated(
            config,
            content_left.dataset,
            content_left.runs,
            content_left.corpus,
            matchers,
            recorded=content_left.scores,
        )
        return replace(
            report,
            evaluations=content.as_read(report.evaluations, content_left.scores),
            earlier=before and before.results,
            earlier_record=before and before.record,
            anyway=anyway,
            record=record,
        )


def evaluate_folder(
    folder: Path,
    *,
    match: object = None,
    metrics: Sequence[str] | None = None,
    corpus: Path | None = None,
    trust: bool = False,
    workers: object = None,
) -> tuple[Evaluation, ...]:
    """The evaluations of a result folder by other matchers and metrics; nothing is retrieved.

    Args:
        folder: that `kragx run` has written.
        match: a match spec instead of the config's.
        metrics: metric strings instead of the config's.
        corpus: has the texts of ids; None for the config's.
        trust: as for `recompute`; what `match` and `metrics` name may be code all the same.
        workers: as for `kragx.evaluate`.

    Raises:
        UsageError: the spec or a metric is wrong.
        DataError: the folder lacks a file, or one is broken.
        UntrustedError: a number needs code that may not run.
    """
    with _left_in(folder, match, metrics, trust=trust) as content:
        changed: dict[str, Any] = {} if match is None else {"match": match, "matchers": None}
        if metrics:
            changed["metrics"] = list(metrics)
        config = content.config.model_copy(update=changed)
        documents = content.corpus if corpus is None else as_corpus(corpus)
        matchers = _named_matchers(config, content.scores, is_given=match is not None)
        dataset = _with_texts(content.dataset, config, documents, matchers)
        recorded = content.scores if match is None else None
        return _evaluated(
            config, dataset, content.runs, documents, matchers, recorded=recorded, workers=workers
        ).evaluations


def explain_folder(
    folder: Path,
    query_id: str,
    *,
    match: object = None,
    retriever: str | None = None,
    corpus: Path | None = None,
    trust: bool = False,
) -> list[Explanation]:
    """Why each retriever of a result folder did or did not find a query's gold.

    Args:
        folder: that `kragx run` has written.
        query_id: which query.
        match: a match spec instead of the config's; of several `matchers` the first decides, and
            the scores of all of them are shown.
        retriever: only this one.
        corpus: has the texts of ids; None for the config's.
        trust: as for `recompute`; what `match` names may be code all the same.

    Raises:
        UsageError: there is no such query or retriever.
        DataError: the folder lacks a file, or one is broken.
        UntrustedError: a score needs code that may not run.
    """
    with _left_in(folder, match, trust=trust) as content:
        config, runs = content.config, content.runs
        if retriever is not None and retriever not in runs:
            hint = nearest(retriever, runs)
            raise UsageError(
                phrase("{folder} has no {name!r}", folder=folder, name=retriever),
                field="--retriever",
                remedy=hint,
            )
        read = _match_reader(config, content.scores)
        named = {}
        for name, spec in config.named_matchers.items():
            with suppress(*(() if match is None else (UntrustedError,))):  # shown besides
                named[name] = read(spec, name)
        deciding = next(iter(named.values())) if match is None else read(match, None)
        panel = {**(named if len(named) > 1 else {}), **standard_panel(deciding)}
        documents = content.corpus if corpus is None else as_corpus(corpus)
        if any(named.needs_vocabulary for named in (deciding, *panel.values())):
            vocabulary = vocabulary_of_runs(content.dataset, every_run(runs.values()), documents)
            deciding = deciding.knowing(vocabulary)
            panel = {name: named.knowing(vocabulary) for name, named in panel.items()}
        return [
            explain(
                content.dataset,
                run,
                query_id=query_id,
                match=deciding,
                panel=panel,
                profile=config.profile,
                corpus=documents,
            )
            for name, first in runs.items()
            if retriever in (None, name)
            for run in first.every
        ]


@contextmanager
def _left_in(folder: Path, *values: object, trust: bool) -> Iterator[Content]:
    """What a run left in a folder, as `data_alone`; no error says its config's secrets."""
    with data_alone(*values, trust=trust):
        content = read_folder(folder, trust=trust)
        with content.config.secrets.guarding():
            yield content


def _make_keeping(
    config: RunConfig,
    folder: Path,
    written: Sequence[Path],
    fresh: bool,
    say: Callable[[str], object],
) -> Keeping:
    """How the answers of a run are kept."""
    folder_of_config = None if config.file is None else config.file.parent
    # Of the config a retriever's own part counts alone, wherever the file lies.
    files = [] if config.file is None else [config.file]
    return Keeping(folder, Fingerprints(folder_of_config, [*written, *files]), fresh, say)


def _named_matchers(
    config: RunConfig, scores: RecordedScores | None = None, *, is_given: bool = False
) -> dict[str, BaseMatcher]:
    """The matchers of a config by name; those of facts and of relevance, if any, under no word.

    Args:
        config: has the specs.
        scores: stand in for what would be asked; None to ask.
        is_given: whether the user has named the matchers that decide.
    """
    read = _match_reader(config, scores)
    matchers = {
        name: read(spec, None if is_given and name.strip() else name)
        for name, spec in _specs(config).items()
    }
    if RELEVANCE in matchers:
        depth = relevance_depth(parse_all(config.metrics, config.resolved_profile))
        matchers[RELEVANCE] = matchers[RELEVANCE].of_relevance(depth)
    return matchers


def _specs(config: RunConfig) -> dict[str, object]:
    """The match specs of a config by name, with `FACTS` and `RELEVANCE` if a metric reads them."""
    metrics = [spec.metric for spec in parse_all(config.metrics, config.resolved_profile)]
    specs = dict(config.named_matchers)
    if config.facts_match is not None and any(metric.reads_facts for metric in metrics):
        specs[FACTS] = config.facts_match
    if any(metric.from_relevance is not None for metric in metrics):
        judges = (
            spec
            for spec in config.named_matchers.values()
            if (spec.get("method") if isinstance(spec, Mapping) else spec) == "llm"
        )
        specs[RELEVANCE] = config.relevance_match or next(judges, "llm")
    return specs


def _texts(config: RunConfig, corpus: Corpus, matchers: Mapping[str, BaseMatcher]) -> list[Texts]:
    """The texts that each matcher of a config needs."""
    specs = parse_all(config.metrics, config.resolved_profile)
    needs_evidence = any(spec.looks for spec in specs)
    decide = (named for name, named in matchers.items() if name.strip())
    return [Texts.of(corpus, named, looks=needs_evidence) for named in decide]


def _with_texts(
    dataset: GoldDataset, config: RunConfig, corpus: Corpus, matchers: Mapping[str, BaseMatcher]
) -> GoldDataset:
    """The gold set with the texts that matchers need."""
    try:
        for texts in _texts(config, corpus, matchers):
            dataset = texts.gold(dataset)
    except DataError as error:
        raise error.within(path=str(config.dataset.path)) from None
    return dataset


def _evaluated(
    config: RunConfig,
    dataset: GoldDataset,
    runs: Mapping[str, Run],
    corpus: Corpus,
    of_config: Mapping[str, BaseMatcher],
    recording: Recording | None = None,
    *,
    recorded: RecordedScores | None = None,
    workers: object = None,
) -> RunReport:
    """Each run evaluated under each matcher of a config; what was said is recorded.

    Of `recorded` scores what their matchers made of the gold is taken.
    """
    forbidden_words = None
    if any(named.needs_vocabulary for named in of_config.values()):
        # Of all runs, so that a pair scores alike whoever retrieved it.
        vocabulary = vocabulary_of_runs(dataset, every_run(runs.values()), corpus)
        of_config = {name: named.knowing(vocabulary) for name, named in of_config.items()}
        forbidden_words = vocabulary.of_forbidden
    matchers = {name: named for name, named in of_config.items() if name.strip()}
    facts, relevance = of_config.get(FACTS), of_config.get(RELEVANCE)
    if any(texts.corpus is corpus for texts in _texts(config, corpus, matchers)):
        # Here, and not in each evaluation: so a folder holds the texts, and needs no corpus.
        runs = {name: corpus.run(run) for name, run in runs.items()}
    evaluations: list[Evaluation] = []
    evaluation_of: dict[tuple[str, str], Evaluation] = {}
    scored_matchers: dict[str, BaseMatcher] = {}
    losses: list[StageLosses] = []

    def on_match_of(name: str, run: str) -> OnMatch | None:
        return None if recording is None else recording.on_match(name, run)

    if relevance is not None:
        if seen_in_runs(dataset, runs.values()) is not None:
            relevance = relevance.of_relevance(None)  # each search has its own first documents
        relevance = pooled(
            dataset,
            every_run(runs.values()),
            match=relevance,
            profile=config.resolved_profile,
            corpus=corpus,
        )
    for name, named in matchers.items():
        criteria = Criteria.of(
            match=named,
            metrics=config.metrics,
            profile=config.profile,
            no_gold=config.no_gold,
            facts_match=facts,
            relevance_match=relevance,
            budget_tokenizer=config.budget_tokenizer,
            forbidden=config.forbidden,
        )
        criteria = replace(criteria, forbidden_words=forbidden_words)
        # One for all retrievers: each distinct text is tokenised, or judged, once.
        criteria = for_all(criteria, dataset, runs.values(), corpus)
        # What is forbidden by its text is told at the matcher's own threshold.
        scored = None if dataset.may_forbid else _scored_alike(named, scored_matchers)
        scored_matchers[name] = named
        for run in runs.values():
            if scored is not None and not has_stages(run) and on_match_of(name, run.name) is None:
                evaluation_at = evaluation_of[scored, run.name].at_threshold(named.threshold)
                evaluations.append(
                    evaluation_of.setdefault(
                        (name, run.name), replace(evaluation_at, match_name=name)
                    )
                )
                continue
            if recorded is not None:
                criteria = replace(criteria, recorded=recorded.siblings(name, run.name))
            try:
                with about(run.name if len(runs) > 1 else ""):
                    evaluation = evaluate_run(
                        dataset,
                        run,
                        criteria,
                        corpus=corpus,
                        workers=workers,
                        on_match=partial(on_match_of, name),
                        on_relevance=None if relevance is None else partial(on_match_of, RELEVANCE),
                    )
            except DataError as error:
                raise error.within(f"retrievers.{run.name}") from None
            settings = config.secrets.masked(evaluation.settings)
            evaluation = replace(evaluation, match_name=name, settings=settings)
            evaluations.append(evaluation_of.setdefault((name, run.name), evaluation))
            if has_stages(run):
                losses.append(
                    losses_of(
                        evaluations[-1],
                        dataset,
                        run,
                        criteria,
                        k=depth_of(evaluation),
                        corpus=corpus,
                        on_match=partial(on_match_of, name),
                    )
                )
    matchers_of_report = (
        matchers if relevance is None else {**matchers, RELEVANCE: of_config[RELEVANCE]}
    )
    return RunReport(
        config,
        dataset,
        runs,
        tuple(evaluations),
        matchers=matchers_of_report,
        corpus=corpus,
        losses=tuple(losses),
    )


def _scored_alike(named: BaseMatcher, scored_matchers: Mapping[str, BaseMatcher]) -> str | None:
    """The name of a matcher that has given the same scores, and decided at another threshold.

    Of somebody's own matcher, of a model and of combinations that is not known.
    """

    def scoring(matcher: BaseMatcher) -> dict[str, Any] | None:
        if (
            matcher.inner is not None
            or matcher.members
            or matcher.asks
            or matcher.judges
            or matcher.yes_or_no
        ):
            return None
        return {name: value for name, value in matcher.settings.items() if name != "threshold"}

    settings = scoring(named)
    return next(
        (
            name
            for name, matcher in scored_matchers.items()
            if settings and scoring(matcher) == settings
        ),
        None,
    )


@contextmanager
def _failures_first(
    runs: Mapping[str, Run], dataset: GoldDataset, max_failed: float
) -> Iterator[None]:
    """Around what judges: where a retriever failed too, that is what went wrong first."""
    try:
        yield
    except JudgingError as error:
        failures = [
            Failures(name, n_failed, len(dataset), "", max_failed)
            for name, run in runs.items()
            if (n_failed := sum(query_id in dataset for query_id in run.failures))
        ]
        failed = [
            f"{failure.retriever} {failure.text}" for failure in failures if not failure.tolerated
        ]
        if not failed:
            raise
        raise RetrieverError(f"{'; '.join(failed)}; and judging: {error}") from error


def _match_reader(
    config: RunConfig, scores: RecordedScores | None = None
) -> Callable[[object, str | None], BaseMatcher]:
    """Makes matchers of specs, with the profile's options and the config's judge.

    What a folder has recorded under the name of a spec stands in for what would be asked; a spec
    without one is the user's own.
    """
    options = dict(config.resolved_profile.match_options)
    if config.judge is not None and scores is None:
        judge = read_judge(filled(config.judge))
        options["judge"] = adjusted(judge, secrets=config.secrets)

    def read(spec: object, name: str | None) -> BaseMatcher:
        if scores is not None and name is not None:
            return matcher(scores.spec(name, spec), options)
        return matcher(filled(spec), options)

    return read

"""`run`: from a config to what it finds out; and the same once more from what a run has left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from kragx.app import config as configs
from kragx.app.config import RunConfig, filled
from kragx.app.fingerprint import Fingerprints
from kragx.app.opened_folder import opened, read_folder
from kragx.app.preflight import check_slices, earlier_results, undecidable_with
from kragx.app.record import Clock, checkout
from kragx.app.retrieving import Keeping, retrieve_all
from kragx.app.run_report import RunReport
from kragx.comparison import Failures, Results
from kragx.data import NO_CORPUS, Corpus, GoldDataset, Run, as_corpus, read_dataset
from kragx.errors import DataError, JudgingError, RetrieverError, UsageError, nearest
from kragx.evaluation.evaluate import evaluate_run, pooled
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.explain import explain, standard_panel
from kragx.evaluation.explanation import Explanation
from kragx.evaluation.inputs import Texts
from kragx.judging import DEFAULT_STORE, read_judge
from kragx.judging.judge import adjusted
from kragx.matchers import BaseMatcher, MatchItem, matcher
from kragx.metrics import parse_all

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def _guarded(
    work: Callable[Concatenate[RunConfig, _Options], _Result],
) -> Callable[Concatenate[RunConfig, _Options], _Result]:
    """Work with a config whose errors and logs do not say its secrets."""

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
) -> RunReport:
    """Ask every retriever, match, and compute the metrics.

    Args:
        config: from `kragx.app.config.load`.
        progress: whether to show progress on standard error; None for only on a terminal.
        folder: where answers are kept as they come, so that an interrupted run goes on; None
            keeps none.
        fresh: ask everything, whatever an interrupted run has left.
        judging: options of the judge that win over the config's (``budget``, ``dry_run``, ...);
            the report's config has them, as numbers may depend on them.
        anyway: compare with the config's earlier results even if they cannot be compared.
        say: is told, before anything is asked, what so few questions cannot decide, and before
            a retriever is, what becomes of the answers that an interrupted run has left.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: the gold set or a results file is bad.
        JudgingError: judgements are missing, or the budget is used up; what was judged is stored.
        RetrieverError: the same, and a retriever failed besides; or one was to stop at a failure.
    """
    clock = Clock()
    if judging:
        if config.judge is None:
            raise UsageError(
                f"{', '.join(judging)}: the config has no 'judge' that this could belong to"
            )
        config = config.model_copy(update={"judge": {**config.judge, **judging}})
    corpus = corpus_of(config)
    matchers = _named_matchers(config)
    dataset = _with_texts(load_dataset(config), config, corpus, matchers)
    # Whatever can be wrong is found before the first question is asked.
    check_slices(config, dataset)
    for problem in undecidable_with(config, dataset):
        say(problem)
    earlier = earlier_results(config, dataset, folder, anyway=anyway)
    written = [*_written(config, folder)]
    git = None if config.file is None else checkout(config.file, *written)
    keeping = None if folder is None else _keeping(config, folder, written, fresh, say)
    runs, kept = retrieve_all(config.retrievers, dataset, progress=progress, keeping=keeping)
    with _failures_first(runs, dataset, config.max_failed):
        report = _evaluated(config, dataset, runs, corpus, matchers, earlier, anyway=anyway)
    return replace(report, record=clock.record(config.file, git, kept))


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


def corpus_left(config: RunConfig) -> Corpus:
    """The corpus of a folder's config, if it is still there: what was found has its texts."""
    path = config.dataset.corpus
    return NO_CORPUS if path is None or not path.exists() else as_corpus(path)


def recompute(
    folder: Path,
    *,
    earlier: Path | None = None,
    anyway: bool = False,
    settings: Sequence[str] = (),
) -> RunReport:
    """Every number of a result folder once more, from what it holds; nothing is retrieved.

    Args:
        folder: that `kragx run` has written.
        earlier: a folder to compare with; None for the one that the config names.
        anyway: as for `run`.
        settings: values that win over the config's, as ``max_failed=0.1``.

    Raises:
        DataError: the folder lacks a file, or one is broken.
    """
    with opened(folder) as content:
        config, dataset, runs = content.contents(settings)
        record = content.record
    if earlier is not None:
        config = configs.with_earlier(config, earlier)
    before = earlier_results(config, dataset, folder, anyway=anyway)
    corpus, matchers = corpus_left(config), _named_matchers(config)
    report = _evaluated(config, dataset, runs, corpus, matchers, before, anyway=anyway)
    evaluations = content.as_read(report.evaluations)
    return replace(report, evaluations=evaluations, record=record)


def evaluate_folder(
    folder: Path,
    *,
    match: object = None,
    metrics: Sequence[str] | None = None,
    corpus: Path | None = None,
) -> tuple[Evaluation, ...]:
    """The evaluations of a result folder by other matchers and metrics; nothing is retrieved.

    Args:
        folder: that `kragx run` has written.
        match: a match spec instead of the config's.
        metrics: metric strings instead of the config's.
        corpus: has the texts of ids; None for the config's.

    Raises:
        UsageError: the spec or a metric is wrong.
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = read_folder(folder)
    changed: dict[str, Any] = {} if match is None else {"match": match, "matchers": None}
    if metrics:
        changed["metrics"] = list(metrics)
    config = config.model_copy(update=changed)
    known = corpus_left(config) if corpus is None else as_corpus(corpus)
    matchers = _named_matchers(config)
    dataset = _with_texts(dataset, config, known, matchers)
    return _evaluated(config, dataset, runs, known, matchers).evaluations


def explain_folder(
    folder: Path,
    query_id: str,
    *,
    match: object = None,
    retriever: str | None = None,
    corpus: Path | None = None,
) -> list[Explanation]:
    """Why each retriever of a result folder did or did not find a query's gold.

    Args:
        folder: that `kragx run` has written.
        query_id: which query.
        match: a match spec instead of the config's; of several `matchers` the first decides, and
            the scores of all of them are shown.
        retriever: only this one.
        corpus: has the texts of ids; None for the config's.

    Raises:
        UsageError: there is no such query or retriever.
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = read_folder(folder)
    if retriever is not None and retriever not in runs:
        raise UsageError(f"--retriever: {folder} has no {retriever!r}; {nearest(retriever, runs)}")
    read = _match_reader(config)
    named = {name: read(spec) for name, spec in config.named_matchers.items()}
    deciding = next(iter(named.values())) if match is None else read(match)
    panel = {**(named if len(named) > 1 else {}), **standard_panel(deciding)}
    known = corpus_left(config) if corpus is None else as_corpus(corpus)
    return [
        explain(
            dataset,
            run,
            query_id=query_id,
            match=deciding,
            panel=panel,
            profile=config.profile,
            corpus=known,
        )
        for name, run in runs.items()
        if retriever in (None, name)
    ]


def _written(config: RunConfig, folder: Path | None) -> Iterator[Path]:
    """What a run of a config writes: no change of what it was made from."""
    if folder is not None:
        yield folder
    if config.judge is not None:
        yield Path(config.judge.get("store", DEFAULT_STORE))


def _keeping(
    config: RunConfig,
    folder: Path,
    written: Sequence[Path],
    fresh: bool,
    say: Callable[[str], object],
) -> Keeping:
    """How the answers of a run are kept."""
    here = None if config.file is None else config.file.parent
    # Of the config a retriever's own part counts alone, wherever the file lies.
    own = [] if config.file is None else [config.file]
    return Keeping(folder, Fingerprints(here, [*written, *own]), fresh, say)


def _named_matchers(config: RunConfig) -> dict[str, BaseMatcher]:
    """The matchers of a config by name, and the one of facts, if there is one, under no name."""
    read = _match_reader(config)
    named = {name: read(spec) for name, spec in config.named_matchers.items()}
    return named if config.facts_match is None else {**named, "": read(config.facts_match)}


def _texts(config: RunConfig, corpus: Corpus, matchers: Mapping[str, BaseMatcher]) -> list[Texts]:
    """The texts that each matcher of a config needs."""
    specs = parse_all(config.metrics, config.resolved_profile)
    looks = any(spec.needs_evidence for spec in specs)
    return [Texts.of(corpus, named, looks=looks) for name, named in matchers.items() if name]


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
    earlier: Results | None = None,
    *,
    anyway: bool = False,
) -> RunReport:
    """Each run evaluated under each matcher of a config."""
    matchers = {name: named for name, named in of_config.items() if name}
    facts = of_config.get("")
    if any(texts.corpus is corpus for texts in _texts(config, corpus, matchers)):
        # Here, and not in each evaluation: so a folder holds the texts, and needs no corpus.
        runs = {name: corpus.run(run) for name, run in runs.items()}
    evaluations = []
    for name, named in matchers.items():
        # One for all retrievers: each distinct text is tokenised, or judged, once.
        deciding = named
        if named.needs_pool(MatchItem(query, ()) for query in dataset):
            deciding = pooled(
                dataset,
                runs.values(),
                match=named,
                profile=config.resolved_profile,
                corpus=corpus,
            )
        for run in runs.values():
            try:
                evaluation = evaluate_run(
                    dataset,
                    run,
                    match=deciding,
                    metrics=config.metrics,
                    profile=config.profile,
                    no_gold=config.no_gold,
                    facts_match=facts,
                    budget_tokenizer=config.budget_tokenizer,
                    corpus=corpus,
                )
            except DataError as error:
                raise error.within(f"retrievers.{run.name}") from None
            settings = config.secrets.masked(evaluation.settings)
            evaluations.append(replace(evaluation, match_name=name, settings=settings))
    return RunReport(config, dataset, runs, tuple(evaluations), earlier, anyway, matchers)


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
        lost = [f"{own.retriever} {own.text}" for own in failures if not own.tolerated]
        if not lost:
            raise
        raise RetrieverError(f"{'; '.join(lost)}; and judging: {error}") from error


def _match_reader(config: RunConfig) -> Callable[[object], BaseMatcher]:
    """Makes matchers of specs, with the profile's options and the config's judge."""
    options = dict(config.resolved_profile.match_options)
    if config.judge is not None:
        judge = read_judge(filled(config.judge))
        options["judge"] = adjusted(judge, mask=config.secrets.masked)
    return lambda spec: matcher(filled(spec), options)

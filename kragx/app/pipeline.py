"""`run`: from a config to what it finds out; and the same once more from what a run has left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.app import config as configs
from kragx.app.config import RunConfig
from kragx.app.evaluating import (
    bound,
    evaluated,
    match_reader,
    matchers_of,
    with_texts,
)
from kragx.app.preflight import check_gold, check_slices, earlier_results, undecidable_with
from kragx.app.result_folder.opened import Content, opened, read_folder
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.app.retrieving.resuming import Resumption
from kragx.app.retrieving.retrieve_all import check_axes, plan, retrieve_all
from kragx.app.run_report import RunReport
from kragx.comparison import Failures
from kragx.data import Corpus, GoldDataset, Run, as_corpus, every_run
from kragx.evaluation.criteria import ids_alone
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.explain import explain
from kragx.evaluation.explanation import Explanation
from kragx.evaluation.match_source import vocabulary_of_runs
from kragx.evaluation.parts import engine_of
from kragx.ground.errors import (
    ConfigError,
    DataError,
    JudgingError,
    RetrieverError,
    UsageError,
    inside,
)
from kragx.ground.plugins import data_alone
from kragx.ground.printing import Line, message, visible
from kragx.judging import Judge
from kragx.report.record import Clock, checkout


def run(
    config: RunConfig,
    *,
    progress: bool | None = None,
    dry_run: bool = False,
    folder: Path | None = None,
    fresh: bool = False,
    anyway: bool = False,
    say: Callable[[str], object] = str,
    outbox: Any = None,
) -> RunReport:
    """Ask every retriever, match, and compute the metrics.

    Args:
        config: from `kragx.app.config.load`.
        progress: whether to show progress on standard error; None for only on a terminal.
        folder: where answers are kept as they come, so that an interrupted run goes on; None
            keeps none.
        fresh: ask everything, whatever an interrupted run has left.
        dry_run: ask the retrievers, and only count what the judge would be asked.
        anyway: compare with the config's earlier results even if they cannot be compared.
        say: is told, before anything is asked, what so few questions cannot decide, and before
            a retriever is, what becomes of the answers that an interrupted run has left.
        outbox: a `Submission`, which gets what judges would ask; they are not asked then.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: the gold set or a results file is bad.
        JudgingError: judgements are missing, or the budget is used up; what was judged is stored.
        RetrieverError: the same, and a retriever failed besides; or one was to stop at a failure.
    """
    with config.secrets.guarding():
        # First: what reading and checking take is part of the run.
        clock = Clock()
        corpus = corpus_of(config)
        matchers = bound(config, matchers_of(config), dry_run=dry_run, outbox=outbox)
        dataset = config.dataset.read()
        if dataset.version != config.dataset.version:  # the folder keeps what its release said
            source = replace(config.dataset, name=dataset.name, version=dataset.version)
            config = replace(config, dataset=source)
        names_none = config.match is None and config.matchers is None
        if names_none and corpus.source is None and ids_alone(dataset, ()):
            say(message("matched by id: gold has ids and no text"))
            config = replace(config, match="id")
            by_id = matchers_of(config)
            matchers = {name: matchers.get(name, matcher) for name, matcher in by_id.items()}
        dataset = with_texts(dataset, config, corpus, matchers)
        # Whatever can be wrong is found before the first question is asked.
        check_slices(config, dataset)
        check_gold(config, dataset, matchers.values())
        undecidable = tuple(undecidable_with(config, dataset))
        check_axes(config.retrievers)
        for line in (*undecidable, *plan(config.retrievers, len(dataset))):
            say(line)
        earlier = earlier_results(config, dataset, folder, anyway=anyway)
        path, written = config.file, [] if folder is None else [folder]
        git = None if path is None else checkout(path.parent, *written)
        # The folder grows while the run goes on: it is no change of code. And of the config a
        # retriever's own part counts alone, wherever the file lies.
        left_out = [*written, *([] if path is None else [path])]
        fingerprints = Fingerprints(None if path is None else path.parent, left_out)
        keeping = None if folder is None else Resumption(folder, fingerprints, fresh, say)
        engine = engine_of(config.sharing)
        if engine is not None:
            engine.begin()
        with chdir("."):  # a retriever may go elsewhere; what is written then is written here
            runs, kept = retrieve_all(config.asked, dataset, progress=progress, keeping=keeping)
        with _failures_first(runs, dataset, config.max_failed):
            report = evaluated(config, dataset, runs, corpus, matchers, workers=engine)
        plans = (judge.plan for matcher in matchers.values() for judge in matcher.graders)
        return replace(
            report,
            told=undecidable,
            earlier=earlier,
            anyway=anyway,
            record=clock.record(config.file, git, kept),
            plans=tuple({id(plan): plan for plan in plans}.values()),
        )


def grid_plan(config: RunConfig) -> list[Line]:
    """What the grids of a config would ask, setting by setting; nothing is asked.

    Raises:
        UsageError: an axis is no argument of its retriever.
        DataError: the gold set cannot be read.
    """
    with config.secrets.guarding():
        check_axes(config.retrievers)
        lines = [Line(text) for text in plan(config.retrievers, len(config.dataset.read()))]
    lines += [Line(visible(name), item="-") for name in config.asked]
    return [*lines, Line(message("a dry run: nothing was asked"))]


def judges(config: RunConfig) -> list[Judge]:
    """The judges that the matchers of a config have, each once.

    Raises:
        UsageError: there is none.
    """
    with config.secrets.guarding():
        named = [judge for matcher in matchers_of(config).values() for judge in matcher.graders]
    if not named:
        raise UsageError(
            "{file}: nothing is judged here; add 'match: llm' and a 'judge'", file=config.file
        )
    return [judge for place, judge in enumerate(named) if judge not in named[:place]]


def corpus_of(config: RunConfig) -> Corpus:
    """The corpus of a config; none if it names none.

    Raises:
        DataError: there is no such file.
    """
    with inside("dataset.corpus", kind=DataError):
        return as_corpus(config.dataset.corpus)


def recompute(
    folder: Path,
    *,
    earlier: Path | None = None,
    anyway: bool = False,
    max_failed: float | None = None,
    trust: bool = False,
) -> RunReport:
    """Every number of a result folder once more, from what it holds; nothing is retrieved.

    Nothing that it names is run, asked or read elsewhere, unless its author is trusted.

    Args:
        folder: that `kragx run` has written.
        earlier: a folder to compare with; None for the one that the config names.
        anyway: as for `run`.
        max_failed: the share of questions that a retriever may fail on; None for the config's.
        trust: run the code, ask the models and read the files that the config names.

    Raises:
        DataError: the folder lacks a file, or one is broken.
        UntrustedError: a number needs code that may not run.
    """
    with ExitStack() as within:
        within.enter_context(data_alone(trust=trust))
        with opened(folder, trust=trust) as content:
            content_left = content.contents(max_failed)
            config, record = content_left.config, content.record
            before = content.earlier(config) if earlier is None else None
        within.enter_context(config.secrets.guarding())
        # Which `load` leaves out of what it reads as data.
        if not trust and (problems := list(configs.of_whole(config))):
            raise ConfigError("config.yaml", problems)
        if earlier is not None:
            config = replace(config, earlier=earlier.absolute())
        before = earlier_results(config, content_left.dataset, folder, anyway=anyway, known=before)
        matchers = matchers_of(config, trust=trust)
        report = evaluated(
            config, content_left.dataset, content_left.runs, content_left.corpus, matchers
        )
        return replace(
            report,
            evaluations=content.as_read(report.evaluations),
            earlier=before,
            anyway=anyway,
            record=record,
        )


def evaluate_folder(
    folder: Path,
    *,
    match: object = None,
    metrics: Sequence[str] | None = None,
    trust: bool = False,
    workers: object = None,
) -> tuple[Evaluation, ...]:
    """The evaluations of a result folder by other matchers and metrics; nothing is retrieved.

    Args:
        folder: that `kragx run` has written.
        match: a match spec instead of the config's.
        metrics: metric strings instead of the config's.
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
        config = replace(content.config, **changed)
        matchers = matchers_of(config, trust=trust, is_given=match is not None)
        dataset = with_texts(content.dataset, config, content.corpus, matchers)
        report = evaluated(config, dataset, content.runs, content.corpus, matchers, workers=workers)
        return report.evaluations


def explain_folder(
    folder: Path,
    query_id: str,
    *,
    match: object = None,
    retriever: str | None = None,
    trust: bool = False,
) -> list[Explanation]:
    """Why each retriever of a result folder did or did not find a query's gold.

    Args:
        folder: that `kragx run` has written.
        query_id: which query.
        match: a match spec instead of the config's; of several `matchers` the first decides.
        retriever: only this one.
        trust: as for `recompute`; what `match` names may be code all the same.

    Raises:
        UsageError: there is no such query or retriever.
        DataError: the folder lacks a file, or one is broken.
        UntrustedError: a score needs code that may not run.
    """
    with _left_in(folder, match, trust=trust) as content:
        config, runs = content.config, content.runs
        if retriever is not None:
            content.check_named(folder, retriever)
        name, spec = next(iter(config.named_matchers.items()))
        read = match_reader(config, trust=trust)
        deciding = read(spec, name) if match is None else read(match, None)
        # Of all runs, as in the evaluation: a pair must score here what it scored there.
        if deciding.needs_vocabulary:
            every = every_run(runs.values())
            deciding = deciding.knowing(vocabulary_of_runs(content.dataset, every, content.corpus))
        return [
            explain(
                content.dataset,
                run,
                query_id=query_id,
                match=deciding,
                profile=config.profile,
                corpus=content.corpus,
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


@contextmanager
def _failures_first(
    runs: Mapping[str, Run], dataset: GoldDataset, max_failed: float
) -> Iterator[None]:
    """Around what judges: where a retriever failed too, that is what went wrong first."""
    try:
        yield
    except JudgingError as error:
        of_runs = {name: sum(map(dataset.__contains__, run.failures)) for name, run in runs.items()}
        failures = (Failures(name, n, len(dataset), "", max_failed) for name, n in of_runs.items())
        failed = [f"{f.retriever} {f.text}" for f in failures if f.failed]
        if not failed:
            raise
        raise RetrieverError(
            "{names}; and judging: {error}", names="; ".join(failed), error=error
        ) from error

"""From the retrievers of a config to what they return; their answers are kept as they come."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from kragx.app.config import RetrieverConfig, files_of, filled
from kragx.app.config.retrievers import SERVICES
from kragx.app.result_folder.atomic_folder import beside
from kragx.app.retrieving.resuming import PartialAnswers, Resumption, partial_answers
from kragx.comparison.tuning import GRID, size
from kragx.data import GoldDataset, Query, Retrieved, Run, read_run
from kragx.data.formats.jsonl import ending
from kragx.data.formats.parquet import is_located
from kragx.data.formats.tabular import READERS
from kragx.evaluation.retrieve import retrieve
from kragx.evaluation.retriever_adapters import HISTORY, is_retriever, store_name
from kragx.ground import plugins
from kragx.ground.caller_warnings import about, warn
from kragx.ground.entry_points import import_path
from kragx.ground.errors import DataError, KragxError, UsageError, inside
from kragx.ground.printing import message, visible
from kragx.matchers import MatchWarning
from kragx.report.record import Kept


def retrieve_all(
    retrievers: Mapping[str, RetrieverConfig],
    dataset: GoldDataset,
    *,
    progress: bool | None = None,
    keeping: Resumption | None = None,
) -> tuple[dict[str, Run], dict[str, Kept]]:
    """What each retriever returns to each question, asked or read from a file.

    What can be wrong is found before the first question is asked: import paths, arguments, files.

    Args:
        retrievers: by name, as the config has them.
        dataset: the questions.
        progress: whether to show progress on standard error; None for only on a terminal.
        keeping: how answers are kept as they come; None keeps none.

    Returns:
        The runs, and how many of their answers were kept from an interrupted run, where any were.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: a file is bad, or a failure is to end the run.
    """
    # All are made known first: a typing error in the last one is not found after hours.
    makers = all_makers(retrievers)
    for name in makers if keeping is not None else ():
        # As it was imported, before hours of asking in which it may be edited.
        keeping.fingerprints.code(retrievers[name])  # type: ignore[union-attr]
    runs = {
        name: _read(name, config, dataset)
        for name, config in retrievers.items()
        if not config.is_asked
    }
    kept_of: dict[str, Kept] = {}
    files = files_of(retrievers)
    for name, of_retriever in makers.items():
        config = retrievers[name]
        try:
            with ExitStack() as within:
                retriever, options = made(name, config, of_retriever, within)
                options["progress"] = progress
                answers: list[PartialAnswers] = []
                if keeping is not None:
                    parts, folder = keeping.fingerprints.of(config), beside(keeping.folder)
                    for file in files[name]:
                        path = folder / "answers" / f"{file}.jsonl"
                        log = partial_answers(path, parts, dataset, keeping.fresh)
                        answers.append(within.enter_context(log))
                    if (kept := keeping.kept(name, answers, len(dataset))) is not None:
                        kept_of[name] = kept
                run = _asked(retriever, dataset, answers, options)
        except (ImportError, KragxError) as error:
            problem = error if isinstance(error, KragxError) else UsageError(str(error))
            raise problem.within(f"retrievers.{name}") from error
        runs[name] = replace(run, settings=config.settings)
    # In the order of the config, whichever were read from files and whichever asked.
    return {name: runs[name] for name in retrievers}, kept_of


def asker(
    name: str, config: RetrieverConfig
) -> Callable[[GoldDataset, Callable[[Query, Retrieved], None]], Run]:
    """Something that asks one retriever again and again; it is made once, at the first time.

    It is called with the questions, and with what is told each answer as it comes.

    Questions are asked once, without a warm-up: it is of what is found, not of times. It raises
    what `retrieve_all` does.
    """
    # Not before: loading an index takes long, and perhaps nobody ever asks.
    made_once = cache(lambda: made(name, config, all_makers({name: config})[name]))
    read: list[Run] = []

    def ask(dataset: GoldDataset, on_answer: Callable[[Query, Retrieved], None]) -> Run:
        if not config.is_asked:
            read[:] = read or [_read(name, config, dataset)]
            return read[0]
        retriever, options = made_once()
        single = {"progress": False, "warmup": 0, "repeat": 1, "runs": 1, "on_error": "record"}
        return retrieve(retriever, dataset, **options | single, on_answer=[on_answer])

    return ask


_ENDINGS = frozenset({"", ".json", ".jsonl", ".ndjson", ".run", ".txt", *READERS})
"""Of results files; any other may be the name of a class or function, with a dot."""


def _read(name: str, config: RetrieverConfig, dataset: GoldDataset) -> Run:
    """What files say that a retriever returned, each in a run."""
    source = "results" if config.run is None else "run"
    with inside(f"retrievers.{name}.{source}", kind=DataError):
        try:
            runs = [read_run(file, dataset, config.columns) for file in config.files]
        except DataError as error:
            dotted = (Path(file) for file in config.files if not is_located(file))
            if all(path.exists() or ending(path) in _ENDINGS for path in dotted):
                raise
            # A text alone is a file of results where it is no import path.
            remedy = message("a class or function is written module:name")
            raise DataError(error.problem, path=error.path, remedy=remedy) from error
    run = Run.repeated(replace(run, name=name) for run in runs)
    return replace(run, settings=config.settings)


def _asked(
    retriever: Any,
    dataset: GoldDataset,
    answers: Sequence[PartialAnswers],
    options: Mapping[str, Any],
) -> Run:
    """What a retriever answers in each run to what is not answered yet; with what is."""
    known = [of_run.known for of_run in answers]
    keep = [of_run.keep for of_run in answers]
    run = retrieve(retriever, dataset, **options, known=known, on_answer=keep)
    if not answers:
        return run
    return Run.repeated(
        replace(single, results={**single.results, **of_run.as_read})
        for single, of_run in zip(run.every, answers)
    )


Makers = Sequence[Callable[[], Any]]
"""What makes a retriever, then each of its callback handlers."""


def all_makers(retrievers: Mapping[str, RetrieverConfig]) -> dict[str, Makers]:
    """What makes each of the retrievers that are asked; nothing is made yet.

    Raises:
        UsageError: naming each wrong import path, argument or option.
    """
    problems: list[str] = []
    makers: dict[str, Makers] = {}
    for name, config in retrievers.items():
        try:
            makers |= {name: _makers(config)} if config.is_asked else {}
        except UsageError as error:
            problems.append(str(error.within(f"retrievers.{name}")))
    if problems:
        raise UsageError("\n".join(problems))
    return makers


def _makers(config: RetrieverConfig) -> Makers:
    if config.class_ is not None:
        path = import_path("retrievers", config.class_)
        makers = [plugins.maker(path, filled(config.args), takes_one=True, also=[HISTORY])]
        # A callback is an object by import path, or what a class or function makes.
        return [*makers, *(plugins.maker(path, None) for path in config.callbacks or ())]
    # A server or a program, whose options are checked now.
    key = next(key for key in SERVICES if getattr(config, key) is not None)
    make = partial(SERVICES[key], **filled(getattr(config, key)))
    try:
        make()
    except UsageError as error:
        raise error.within("" if error.field == key else key) from None
    return [make]


def made(
    name: str, config: RetrieverConfig, makers: Makers, within: ExitStack | None = None
) -> tuple[Any, dict[str, Any]]:
    """A retriever, and how it is asked; at the end of `within` a program is ended."""
    make_retriever, *make_callbacks = makers
    retriever = make_retriever()
    if not is_retriever(retriever):
        raise UsageError(
            "{factory} made a {kind}, which cannot be asked; "
            "it must be a retriever of LangChain, LlamaIndex or Haystack, or a function",
            factory=config.class_,
            kind=type(retriever).__name__,
        )
    if store := store_name(retriever):
        with about(name):
            made_by = message("the retriever: {made}, with its own number of documents", made=store)
            warn(made_by, MatchWarning)
    if config.command is not None and within is not None:
        within.callback(retriever.close)
    callbacks = [make() for make in make_callbacks]
    options = {"mask": config.secrets.mask, "name": name, "callbacks": callbacks}
    return retriever, {**config.options, **options}


def check_axes(retrievers: Mapping[str, RetrieverConfig]) -> None:
    """Refuse axes that are no arguments, once for each retriever and not for each setting.

    Raises:
        UsageError: naming each mistake.
    """
    first = {
        f"{name}.args (with its {GRID})": next(iter(retriever.settings_of(name).values()))[1]
        for name, retriever in retrievers.items()
        if retriever.axes and retriever.class_ is not None
    }
    all_makers(first)


def plan(retrievers: Mapping[str, RetrieverConfig], n_questions: int) -> Iterator[str]:
    """What the grids will ask, a line for each and one for all retrievers; nothing without one."""
    total = 0
    for label, retriever in retrievers.items():
        options = {"repeat": 1, "warmup": 0, **retriever.options}
        times, warmup = options["repeat"] * (retriever.runs or 1), options["warmup"]
        n_calls = n_questions * times + warmup
        n_calls *= len(retriever.settings_of(label))
        total += n_calls if retriever.is_asked else 0
        if retriever.axes:
            yield message(
                "grid of {retriever}: {settings}: {n:,} asks",
                retriever=visible(label),
                settings=size(retriever.axes),
                n=n_calls,
            )
    if len(retrievers) > 1 and any(retriever.axes for retriever in retrievers.values()):
        yield message(
            "in all {n:,} asks, without retries and without answers that are kept", n=total
        )

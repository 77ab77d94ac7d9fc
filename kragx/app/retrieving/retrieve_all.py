"""From the retrievers of a config to what they return."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kragx import plugins
from kragx.app.config import RetrieverConfig, filled
from kragx.app.record import NAMES, Kept, began
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.app.retrieving.partial_answers import PartialAnswers, partial_answers, partial_path
from kragx.data import GoldDataset, Run, file_names, read_run
from kragx.errors import DataError, KragxError, UsageError
from kragx.evaluation.retrieve import retrieve
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.printing import visible


@dataclass(frozen=True)
class Keeping:
    """How answers are kept as they come, and taken over from an interrupted run.

    Attributes:
        folder: where.
        fingerprints: say what answers depend on.
        fresh: whether none is taken over.
        say: is told, before a retriever is asked, how many are, or why none is.
    """

    folder: Path
    fingerprints: Fingerprints
    fresh: bool = False
    say: Callable[[str], object] = str

    def tell(self, name: str, answers: PartialAnswers) -> None:
        """Say what becomes of the answers that are there."""
        kept, unused = answers.kept, answers.unused
        if kept.n_answers:
            said = f"{kept}; {kept.rest('are', 'is')} (--fresh asks for all){kept.remarks}"
        elif unused is not None:
            more = len(unused.changed) - NAMES
            changed = ", ".join(map(visible, unused.changed[:NAMES]))
            count = "1 answer" if unused.n_answers == 1 else f"{unused.n_answers} answers"
            said = (
                f"not used: {count} of an interrupted run{began(unused.begun)}, as something has "
                f"changed since: {changed}{f' and {more} more' if more > 0 else ''}; "
                "all is asked for now"
            )
        elif answers.n_broken:
            said = "no answers are kept from an interrupted run; all is asked for now"
        else:
            return
        broken = f"; lines that cannot be read, and are passed over: {answers.n_broken}"
        self.say(f"{visible(name)}: {said}{broken if answers.n_broken else ''}")


def retrieve_all(
    retrievers: Mapping[str, RetrieverConfig],
    dataset: GoldDataset,
    *,
    progress: bool | None = None,
    keeping: Keeping | None = None,
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
    problems: list[str] = []
    makers = {
        name: _makers(name, config, problems)
        for name, config in retrievers.items()
        if config.factory is not None
    }
    if problems:
        raise UsageError("\n".join(problems))
    if keeping is not None:
        for name in makers:  # as it was imported, before hours of asking in which it may be edited
            keeping.fingerprints.code(retrievers[name])
    runs = {
        name: _read(name, config) for name, config in retrievers.items() if config.factory is None
    }
    kept: dict[str, Kept] = {}
    for file, (name, config) in zip(file_names(retrievers), retrievers.items()):
        if name in makers:
            try:
                runs[name], of_name = _asked(
                    name, config, makers[name], dataset, progress, keeping, file
                )
            except (ImportError, KragxError) as error:
                known = error if isinstance(error, KragxError) else UsageError(str(error))
                raise known.within(f"retrievers.{name}") from error
            if of_name.n_answers:
                kept[name] = of_name
    return {name: runs[name] for name in retrievers}, kept


def _makers(name: str, config: RetrieverConfig, problems: list[str]) -> list[Callable[[], Any]]:
    """What makes a retriever, then each of its callback handlers; nothing is made yet.

    `problems` gets a line for each wrong import path or argument.
    """
    specs: list[Any] = [config, *(config.callbacks or ())]
    makers = []
    for spec in specs:
        # A callback is an object by import path, or what a class or function makes.
        path, args = (spec, None) if isinstance(spec, str) else (spec.factory, spec.args)
        asked = "question" if spec is config else ""
        try:
            makers.append(plugins.maker(path, filled(args), input_name=asked))
        except UsageError as error:
            problems.append(str(error.within(f"retrievers.{name}")))
    return makers


def _read(name: str, config: RetrieverConfig) -> Run:
    """What a file says that a retriever returned."""
    source = "results" if config.run is None else "run"
    try:
        run = read_run(config.run or config.results)
    except DataError as error:
        raise error.within(f"retrievers.{name}.{source}") from error
    return replace(run, name=name, settings=config.settings)


def asker(name: str, config: RetrieverConfig) -> Callable[[GoldDataset], Run]:
    """Something that asks one retriever again and again; it is made once, at the first time.

    Questions are asked once, without a warm-up: it is of what is found, not of times. It raises
    what `retrieve_all` does.
    """
    made: list[tuple[Any, dict[str, Any]]] = []
    read: list[Run] = []

    def ask(dataset: GoldDataset) -> Run:
        if config.factory is None:
            read[:] = read or [_read(name, config)]
            return read[0]
        if not made:
            problems: list[str] = []
            makers = _makers(name, config, problems)
            if problems:
                raise UsageError("\n".join(problems))
            made.append(_made(name, config, makers))
        retriever, options = made[0]
        once = {"progress": False, "warmup": 0, "repeat": 1, "on_error": "record"}
        return retrieve(retriever, dataset, **options | once)

    return ask


def _made(
    name: str, config: RetrieverConfig, makers: Sequence[Callable[[], Any]]
) -> tuple[Any, dict[str, Any]]:
    """A retriever, and how it is asked."""
    make_retriever, *make_callbacks = makers
    retriever = make_retriever()
    if not is_retriever(retriever):
        raise UsageError(
            f"{config.factory} made a {type(retriever).__name__}, which cannot be asked; "
            "it must be a LangChain retriever or runnable, or a function"
        )
    callbacks = [make() for make in make_callbacks]
    return retriever, config.asking() | {"name": name, "callbacks": callbacks}


def _asked(
    name: str,
    config: RetrieverConfig,
    makers: Sequence[Callable[[], Any]],
    dataset: GoldDataset,
    progress: bool | None,
    keeping: Keeping | None,
    file: str,
) -> tuple[Run, Kept]:
    """What a retriever answers to every question that it has not answered yet, and those it has."""
    retriever, options = _made(name, config, makers)
    options["progress"] = progress
    kept = Kept(0, len(dataset))
    if keeping is None:
        run = retrieve(retriever, dataset, **options)
    else:
        path, fingerprint = partial_path(keeping.folder, file), keeping.fingerprints.of(config)
        with partial_answers(path, fingerprint, dataset, fresh=keeping.fresh) as answers:
            keeping.tell(name, answers)
            kept = answers.kept
            options |= {"known": answers.known, "on_answer": answers.keep}
            run = retrieve(retriever, dataset, **options)
            run = replace(run, results={**run.results, **answers.as_read})
    return replace(run, settings=config.settings), kept

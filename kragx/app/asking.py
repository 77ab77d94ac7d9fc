"""From the retrievers of a config to what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kragx import plugins
from kragx.app.config import RetrieverConfig, filled
from kragx.app.folder import Partial, asked_hash, partial_path
from kragx.data.gold import GoldDataset
from kragx.data.reading import read_run
from kragx.data.runs import Run
from kragx.data.text import file_names
from kragx.errors import DataError, UsageError
from kragx.evaluation.retrieve import retrieve
from kragx.evaluation.retriever_calls import is_retriever


def retrieved(
    retrievers: Mapping[str, RetrieverConfig],
    dataset: GoldDataset,
    *,
    progress: bool | None = None,
    folder: Path | None = None,
) -> dict[str, Run]:
    """What each retriever returns to each question, asked or read from a file.

    What can be wrong is found before the first question is asked: import paths, arguments, files.

    Args:
        retrievers: by name, as the config has them.
        dataset: the questions.
        progress: whether to show progress on standard error; None for only on a terminal.
        folder: where answers are kept as they come; None keeps none.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: a file is bad, or a failure is to end the run.
    """
    makers = _makers(retrievers)
    read = {name: _read(name, each) for name, each in retrievers.items() if each.factory is None}
    return {
        name: read[name]
        if name in read
        else _asked(
            name,
            retriever,
            makers[name],
            dataset,
            progress,
            None if folder is None else partial_path(folder, file),
        )
        for file, (name, retriever) in zip(file_names(retrievers), retrievers.items())
    }


@dataclass(frozen=True)
class _Maker:
    """Makes a retriever and its callback handlers."""

    retriever: Callable[[], Any]
    callbacks: tuple[Callable[[], Any], ...]


def _makers(retrievers: Mapping[str, RetrieverConfig]) -> dict[str, _Maker]:
    """What makes each retriever that is asked; nothing is made yet.

    Raises:
        UsageError: an import path or argument is wrong; all of them are listed.
    """
    found: dict[str, _Maker] = {}
    problems: list[str] = []

    def maker(where: str, path: str, args: Mapping[str, Any] | None) -> Callable[[], Any]:
        try:
            return plugins.maker(path, filled(args))
        except UsageError as error:
            problems.append(f"{where}: {error}")
            return lambda: None

    for name, each in retrievers.items():
        if each.factory is not None:
            where = f"retrievers.{name}"
            found[name] = _Maker(
                maker(where, each.factory, each.args),
                tuple(
                    # An object by import path, or what a class or function makes.
                    maker(where, given, None)
                    if isinstance(given, str)
                    else maker(where, given.factory, given.args)
                    for given in each.callbacks or ()
                ),
            )
    if problems:
        raise UsageError("\n".join(problems))
    return found


def _read(name: str, config: RetrieverConfig) -> Run:
    """What a file says that a retriever returned."""
    source = "results" if config.run is None else "run"
    try:
        found = read_run(config.run or config.results)
    except DataError as error:
        raise DataError(f"retrievers.{name}.{source}: {error}") from error
    return replace(found, name=name, settings=config.settings)


def _asked(
    name: str,
    config: RetrieverConfig,
    maker: _Maker,
    dataset: GoldDataset,
    progress: bool | None,
    partial: Path | None,
) -> Run:
    """What a retriever answers to every question that it has not answered yet."""
    where = f"retrievers.{name}"
    try:
        retriever = maker.retriever()
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if not is_retriever(retriever):
        raise UsageError(
            f"{where}: {config.factory} made a {type(retriever).__name__}, which cannot be asked; "
            "it must be a LangChain retriever or runnable, or a function"
        )
    asking = config.asking()
    try:
        asking["callbacks"] = [make() for make in maker.callbacks]
        if partial is None:
            answered = retrieve(retriever, dataset, name=name, progress=progress, **asking)
        else:
            with Partial(partial, asked_hash(config, dataset)) as kept:
                answered = retrieve(
                    retriever,
                    dataset,
                    name=name,
                    progress=progress,
                    known=kept.known,
                    on_answer=kept.add,
                    **asking,
                )
    except (ImportError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from error
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    return replace(answered, settings=config.settings)

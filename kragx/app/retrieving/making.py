"""From what a config says of a retriever to the retriever, and how it is asked."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from kragx.app.config import RetrieverConfig, filled
from kragx.comparison.tuning import GRID
from kragx.evaluation.retriever_adapters import HISTORY, is_retriever, store_name
from kragx.ground import plugins
from kragx.ground.caller_warnings import about, warn
from kragx.ground.entry_points import import_path
from kragx.ground.errors import UsageError
from kragx.ground.printing import phrase
from kragx.matchers import MatchWarning

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
    if config.factory is None:
        return [_service(config)]
    path = import_path("retrievers", config.factory)
    args = filled(config.args)
    makers = [plugins.maker(path, args, input_name="question", also=[HISTORY])]
    for spec in config.callbacks or ():
        # A callback is an object by import path, or what a class or function makes.
        path, args = (spec, None) if isinstance(spec, str) else (spec.factory, spec.args)
        makers.append(plugins.maker(path, filled(args)))
    return makers


def _service(config: RetrieverConfig) -> Callable[[], Any]:
    """What makes a server or program that can be asked; its options are checked now."""
    from kragx.evaluation.services import CommandRetriever, HttpRetriever

    kind: Any = CommandRetriever if config.http is None else HttpRetriever
    options = config.command if config.http is None else config.http
    assert options is not None  # a config has one of them
    field = "command" if config.http is None else "http"
    make = partial(kind, **filled(options.model_dump(by_alias=True, mode="json", exclude={GRID})))
    try:
        make()
    except UsageError as error:
        raise error.within("" if error.field == field else field) from None
    return make


def made(
    name: str, config: RetrieverConfig, makers: Makers, within: ExitStack | None = None
) -> tuple[Any, dict[str, Any]]:
    """A retriever, and how it is asked; at the end of `within` a program is ended."""
    make_retriever, *make_callbacks = makers
    retriever = make_retriever()
    if not is_retriever(retriever):
        raise UsageError(
            f"{config.factory} made a {type(retriever).__name__}, which cannot be asked; "
            "it must be a retriever of LangChain, LlamaIndex or Haystack, or a function"
        )
    if store := store_name(retriever):
        with about(name):
            made_by = phrase("the retriever: {made}, with its own number of documents", made=store)
            warn(made_by, MatchWarning)
    if config.command is not None and within is not None:
        within.callback(retriever.close)
    callbacks = [make() for make in make_callbacks]
    return retriever, config.asking() | {"name": name, "callbacks": callbacks}

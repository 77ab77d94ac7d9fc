"""From what a config says of a retriever to the retriever, and how it is asked."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from kragx.app.config import RetrieverConfig, filled
from kragx.app.config.retrievers import SERVICES
from kragx.evaluation.retriever_adapters import HISTORY, is_retriever, store_name
from kragx.ground import plugins
from kragx.ground.caller_warnings import about, warn
from kragx.ground.entry_points import import_path
from kragx.ground.errors import UsageError
from kragx.ground.printing import message
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
    makers = [plugins.maker(path, args, takes_one=True, also=[HISTORY])]
    # A callback is an object by import path, or what a class or function makes.
    return [*makers, *(plugins.maker(path, None) for path in config.callbacks or ())]


def _service(config: RetrieverConfig) -> Callable[[], Any]:
    """What makes a server or program that can be asked; its options are checked now."""
    assert config.service is not None  # a config without a class has one
    key, options = config.service
    make = partial(SERVICES[key], **filled(options))
    try:
        make()
    except UsageError as error:
        raise error.within("" if error.field == key else key) from None
    return make


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
            factory=config.factory,
            kind=type(retriever).__name__,
        )
    if store := store_name(retriever):
        with about(name):
            made_by = message("the retriever: {made}, with its own number of documents", made=store)
            warn(made_by, MatchWarning)
    if config.command is not None and within is not None:
        within.callback(retriever.close)
    callbacks = [make() for make in make_callbacks]
    return retriever, config.asking() | {"name": name, "callbacks": callbacks}

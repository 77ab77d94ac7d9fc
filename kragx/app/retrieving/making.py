"""From what a config says of retrievers to these, how they are asked, and what of grids."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from kragx.app.config import RetrieverConfig, filled
from kragx.app.config.retrievers import SERVICES
from kragx.comparison.tuning import GRID, size
from kragx.evaluation.retriever_adapters import HISTORY, is_retriever, store_name
from kragx.ground import plugins
from kragx.ground.caller_warnings import about, warn
from kragx.ground.entry_points import import_path
from kragx.ground.errors import UsageError
from kragx.ground.printing import message, visible
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
        n_calls = n_questions * times + min(warmup, n_questions)
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

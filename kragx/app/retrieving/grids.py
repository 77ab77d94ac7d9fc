"""The grids of a config's retrievers: what is asked of them."""

from collections.abc import Iterator, Mapping

from kragx.app.config import RetrieverConfig
from kragx.app.retrieving.making import all_makers
from kragx.comparison.tuning import GRID, size
from kragx.ground.printing import message, visible


def check_axes(retrievers: Mapping[str, RetrieverConfig]) -> None:
    """Refuse axes that are no arguments, once for each retriever and not for each setting.

    Raises:
        UsageError: naming each mistake.
    """
    first = {
        f"{name}.args (with its {GRID})": next(iter(retriever.settings_of(name).values()))[1]
        for name, retriever in retrievers.items()
        if retriever.axes and retriever.factory is not None
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

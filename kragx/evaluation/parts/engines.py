"""Which engine somebody has named."""

from collections.abc import Mapping
from concurrent.futures import Executor

from kragx.errors import UsageError, inside
from kragx.evaluation.parts.cluster import Ray
from kragx.evaluation.parts.engine import Engine, Here, Pool, Processes
from kragx.matchers import BaseMatcher, MatchWarning
from kragx.plugins import from_options
from kragx.printing import phrase
from kragx.warned import warn


def engine_of(workers: object, matcher: BaseMatcher) -> Engine | None:
    """Who does the work that is shared; None for nobody else.

    Args:
        workers: as for `named_engine`.
        matcher: a judge's questions are not shared, which is said.

    Raises:
        UsageError: it is nothing of the kind.
    """
    engine = named_engine(workers)
    if engine is not None and matcher.judges:
        warn(
            phrase(
                "workers: {matcher!r} asks a judge, so it stays in this process; it waits for a "
                "server and not for the processor (its 'concurrency' says how often at once)",
                matcher=matcher.name,
            ),
            MatchWarning,
        )
        return None
    return engine


def named_engine(workers: object) -> Engine | None:
    """The engine that somebody has named; None for nobody else.

    Args:
        workers: a number of processes, an executor, an `Engine`, or a mapping that says which:
            ``{"ray": {"address": "auto"}}``.

    Raises:
        UsageError: it is nothing of the kind.
    """
    match workers:
        case None | 1 if not isinstance(workers, (bool, float)):
            return None
        case int() if not isinstance(workers, bool) and workers > 1:
            return Processes(workers)
        case Executor():
            return Pool(workers)
        case Here() | Processes() | Pool() | Ray():
            return workers
        case {"ray": None}:
            return Ray()
        case {"ray": Mapping() as options}:
            with inside("engine.ray"):
                return from_options(Ray, options)
    raise UsageError(
        f"{workers!r} is no number of processes, 1 or more, no executor, and no engine",
        field="workers",
    )

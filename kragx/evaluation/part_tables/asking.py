"""Where a judge is asked of parts: from the workers of a cluster, or from this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kragx.evaluation.criteria import Criteria
from kragx.evaluation.parts.cluster import Ray, engine_of, n_processors
from kragx.evaluation.parts.engine import Engine
from kragx.matchers import MatchWarning
from kragx.printing import phrase
from kragx.warned import warn

if TYPE_CHECKING:
    from kragx.judging import Judge


@contextmanager
def sharing(workers: object, criteria: Criteria) -> Iterator[tuple[Engine | None, Criteria]]:
    """Who works on parts by these criteria; connected to a cluster meanwhile, where that is one.

    None stands for this process.

    A judge is asked from the workers of a cluster where all of them see its store, a PostgreSQL
    database whose claims keep two from asking the same. Its limits are shared out: each of n
    workers asks so many at once, and so many a minute, that all of them together keep to them.
    Otherwise it is asked from here, which is said.

    Args:
        workers: as for `engine_of`.
        criteria: whoever judges by them is asked.

    Raises:
        UsageError: `workers` is nothing of the kind, or there is no such cluster.
    """
    engine, judges = engine_of(workers), criteria.judges
    if not judges or engine is None:
        yield engine, criteria
        return
    reason = _reason(judges) if isinstance(engine, Ray) else phrase("no cluster is named")
    if isinstance(engine, Ray) and not reason:
        with engine.connected() as ray:
            n = min(n_processors(ray), *(judge.concurrency for judge in judges))
            yield replace(engine, n=n), criteria.judging(n)
        return
    warn(
        phrase(
            "workers: a judge decides, and is asked from this process, as {reason}; it waits for a "
            "server and not for the processor (its 'concurrency' says how often at once)",
            reason=reason,
        ),
        MatchWarning,
    )
    yield None, criteria


def _reason(judges: Sequence[Judge]) -> str:
    """Why judges are not asked from elsewhere; empty where they can be."""
    for judge in judges:
        if not judge.store.url:
            return phrase(
                "its store {store} is a file, which other machines do not see (a postgresql:// "
                "address is shared)",
                store=judge.store,
            )
        if any(not limit.is_boundless for limit in judge.budget.limits):
            return phrase("its budget is kept to the last call by one process alone")
    return ""

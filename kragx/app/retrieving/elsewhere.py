"""A retriever of a config that is made on each worker of a cluster, and asked there."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from kragx.app.config import RetrieverConfig, variables_in
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.app.retrieving.making import made, makers_of
from kragx.data import GoldDataset, Query
from kragx.errors import UsageError
from kragx.evaluation.parts.cluster import Ray
from kragx.evaluation.parts.engine import NotMadeError
from kragx.evaluation.retrieve import Answered, answering
from kragx.printing import phrase, visible
from kragx.warned import warn


class RetrieverWarning(UserWarning):
    """A retriever is asked from elsewhere than was meant."""


def asked_there(
    within: ExitStack,
    cluster: Ray,
    name: str,
    config: RetrieverConfig,
    dataset: GoldDataset,
    fingerprints: Fingerprints,
) -> Callable[[Query], Answered] | None:
    """What asks a retriever on the workers of a cluster, as long as `within` is open.

    None if some worker cannot make the retriever, or would make another one, which is warned of.

    Raises:
        UsageError: there is no such cluster, or its machines have another kragx or Python.
        WorkerError: a worker dies of making it.
    """
    plain = config.model_dump(mode="json", by_alias=True)
    # What it is warmed up with; at least one, as a gold set has.
    first = dataset.queries[: config.warmup or 1]
    maker = _There(
        name,
        config,
        GoldDataset(tuple(Query(query.id, query.text, history=query.history) for query in first)),
        Path.cwd(),
        fingerprints.unread(),
        {name: os.environ[name] for name in variables_in(plain) if name in os.environ},
        fingerprints.of(config).answers,
    )
    standing: AbstractContextManager[Callable[[Query], Answered]] = cluster.standing(
        maker, config.concurrency, f"retriever {name!r}"
    )
    try:
        return within.enter_context(standing)
    except NotMadeError as error:
        warn(
            phrase(
                "retriever {name} is asked from this process, as a worker of the cluster cannot "
                "have it: {error}",
                name=visible(name),
                error=config.asking()["mask"](str(error)),
            ),
            RetrieverWarning,
        )
        return None


@dataclass(frozen=True)
class _There:
    """Makes the retriever on a worker, once it is sure that it is the same one."""

    name: str
    config: RetrieverConfig
    dataset: GoldDataset
    folder: Path
    fingerprints: Fingerprints
    variables: Mapping[str, str]
    answers: Mapping[str, str]

    def __call__(self) -> Callable[[Query], Answered]:
        """What answers a question.

        Raises:
            UsageError: it cannot be made, or what its answers depend on is not the same here.
        """
        try:
            os.chdir(self.folder)  # where relative paths in its arguments start
        except OSError as error:
            raise UsageError(f"no folder {self.folder}: {error.strerror}") from error
        os.environ.update(self.variables)
        parts = self.fingerprints.of(self.config).answers
        names = {**self.answers, **parts}
        if other := [part for part in names if parts.get(part) != self.answers.get(part)]:
            raise UsageError(f"not the same there: {', '.join(other)}")
        problems: list[str] = []
        makers = makers_of(self.name, self.config, problems)
        if problems:
            raise UsageError("\n".join(problems))
        retriever, options = made(self.name, self.config, makers)
        return answering(retriever, self.dataset, **options)

"""An engine that works part by part in this process, as others do in theirs."""

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from kragx.evaluation.parts import Engine, work_on


@dataclass(frozen=True)
class OneThread(Engine):
    """Whatever is worked on is sent to this process."""

    @contextmanager
    def working(self, function, waiting):
        """Nobody else is needed."""
        yield partial(work_on, function), lambda value: value, 1


ONE_THREAD = OneThread()

"""An engine that works part by part in this process, as others do in theirs."""

from concurrent.futures import Future
from dataclasses import dataclass

from kragx.evaluation.parts.workers import Engine, in_order, sendable, work_on


@dataclass(frozen=True)
class OneThread(Engine):
    """Whatever is worked on is sent to this process."""

    def map(self, function, items):
        """Yield what the function makes of each item."""
        sent = sendable(function)

        def submit(item):
            future = Future()
            future.set_result(work_on(sent, sendable(item)))
            return future

        yield from in_order(submit, items, 1)


ONE_THREAD = OneThread()

"""What a process does that `Processes` has started: it works on what comes on standard input."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from queue import SimpleQueue
from typing import Any

from kragx.evaluation.parts.engine import Outcome, attempt_sent, not_sendable

_MANY_OBJECTS = 20_000  # as of the command: looking through all that came takes time


def serve() -> None:
    """Work until nothing more can come, as whoever has started this has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started this ends it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what code prints is no answer
    questions: SimpleQueue[Any] = SimpleQueue()

    def listen() -> None:
        while True:
            try:
                questions.put(pickle.load(sys.stdin.buffer))
            except EOFError:
                os._exit(0)
            except Exception as error:  # an item that is not understood here
                questions.put(error)

    threading.Thread(target=listen, daemon=True).start()
    gc.freeze()
    gc.set_threshold(_MANY_OBJECTS)
    sent = questions.get()
    while True:
        item = questions.get()
        if isinstance(item, Exception):
            outcome: Outcome[Any] = Outcome(error=not_sendable(item))
        else:
            outcome = attempt_sent(sent, item)
        try:
            answer = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # a result that cannot leave this process
            answer = pickle.dumps(Outcome(error=not_sendable(error)))
        answers.write(answer)
        answers.flush()

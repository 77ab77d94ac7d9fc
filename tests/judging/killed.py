"""What the tests of killed and simultaneous runs start in processes of their own."""

from __future__ import annotations

import os
import signal

from kragx.judging import Judge
from tests.judging.support import ask, openai_client

FAULTS = ("broken", "hangs up")
"""What the server does to a document of this name when it sees it first."""

PROCESS = "x-process"
"""The header that says which process asks."""


def documents(number, every=0):
    """Documents, of which every so-many-th has a fault in its name."""
    for at in range(number):
        fault = FAULTS[at // every % 2] if every and at % every == 0 else ""
        yield f"document {at} {fault} grade-{at % 4}"


def main(calls, base_url, store, number, concurrency=8, every=0):
    """Judge so many documents, of which every so-many-th meets a fault; `calls` is sent how many
    calls that took.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    client = openai_client(base_url, headers={PROCESS: str(os.getpid())})
    judge = Judge(client, store=store, concurrency=concurrency, progress=False)
    judged = judge.judge(list(map(ask, documents(number, every))))
    assert [each.grade for each in judged.judgements] == [at % 4 for at in range(number)]
    calls.send(judged.tally.n_calls)

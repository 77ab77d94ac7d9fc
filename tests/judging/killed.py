"""What the tests of killed and simultaneous runs start in processes of their own.

``python -m tests.judging.killed URL STORE N [CONCURRENCY] [FAULTS]`` judges N documents, of which
every FAULTS-th meets a fault at first, and prints how many calls that took.
"""

from __future__ import annotations

import os
import sys

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


def main(base_url, store, number, concurrency=8, every=0):
    """Judge, and say how many calls it took."""
    client = openai_client(base_url, headers={PROCESS: str(os.getpid())})
    judge = Judge(client, store=store, concurrency=int(concurrency), progress=False)
    judged = judge.judge(list(map(ask, documents(int(number), int(every)))))
    assert [each.grade for each in judged.judgements] == [at % 4 for at in range(int(number))]
    sys.stdout.write(str(judged.tally.n_calls))


if __name__ == "__main__":
    main(*sys.argv[1:])

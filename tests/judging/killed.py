"""What the tests of killed and simultaneous runs start in processes of their own.

``python -m tests.judging.killed URL STORE N`` judges N documents and prints how many calls that
took.
"""

from __future__ import annotations

import sys

from kragx.judging import Judge
from tests.judging.support import ask, openai_client


def main(base_url, store, number):
    """Judge, and say how many calls it took."""
    judge = Judge(openai_client(base_url), store=store, concurrency=8, progress=False)
    questions = [ask(f"document {at} grade-{at % 4}") for at in range(int(number))]
    judged = judge.judge(questions)
    assert [each.grade for each in judged.judgements] == [at % 4 for at in range(int(number))]
    sys.stdout.write(str(judged.tally.n_calls))


if __name__ == "__main__":
    main(*sys.argv[1:])

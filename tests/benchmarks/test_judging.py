"""How much the judge's runner adds to a bare loop over the same client.

    pytest tests/benchmarks/test_judging.py --benchmark-only

The server is the tests' own, in a process of its own, and takes 50 ms for each answer. Bars: 1,000
judgements, 32 at once, in at most 1.15 times the bare loop's time; all of them stored, in under
half a second. Each test prints both times and asserts the bar.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kragx.judging import Judge
from kragx.judging.client import Answer
from kragx.judging.prompt import request_for
from tests.judging.support import ask, openai_client

ROOT = Path(__file__).parents[2]
N, AT_ONCE = 1000, 32


@pytest.fixture(scope="module")
def base_url():
    """A server in another process, so that it takes no time from the client's."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.judging.server", "0", "0.05"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process.stdout.readline().strip()
    process.terminate()
    process.communicate()


def questions():
    """Different ones, with documents of 120 words."""
    words = "word " * 120
    return [ask(f"{words} number {at} grade-{at % 4}") for at in range(N)]


def bare(client):
    """The same requests, 32 at once, and nothing else."""
    requests = [
        request_for(question, f"{at:064x}", 60.0) for at, question in enumerate(questions())
    ]

    async def main():
        todo = iter(requests)

        async def work():
            for request in todo:
                assert isinstance(await client.ask(request), Answer)

        try:
            await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        finally:
            await client.aclose()

    asyncio.run(main())


def seconds(work):
    """How long a piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def test_runner_beside_a_bare_loop(benchmark, base_url, tmp_path):
    """1,000 judgements, 32 at once: at most 1.15 times the bare loop, both the best of 5."""
    client = openai_client(base_url)
    stores = iter(range(100))

    def judged():
        judge = Judge(
            client,
            store=tmp_path / f"{next(stores)}.sqlite",
            concurrency=AT_ONCE,
            progress=False,
        )
        found = judge.judge(questions())
        assert [each.grade for each in found.judgements] == [at % 4 for at in range(N)]

    bare(client)  # loads what is loaded once
    loops = []
    # Turn by turn, so that both see the same machine.
    benchmark.pedantic(
        judged,
        setup=lambda: loops.append(seconds(lambda: bare(client))),
        rounds=5,
        warmup_rounds=0,
    )
    ratio = benchmark.stats.stats.min / min(loops)
    benchmark.extra_info.update(bare=min(loops), ratio=ratio)
    print(f"\nbare {min(loops):.2f} s, judge {benchmark.stats.stats.min:.2f} s: {ratio:.3f}")
    assert ratio <= 1.15


def test_all_stored(benchmark, base_url, tmp_path):
    """1,000 judgements that are all stored take under half a second."""
    client = openai_client(base_url)
    judge = Judge(client, store=tmp_path / "j.sqlite", concurrency=AT_ONCE, progress=False)
    judge.judge(questions())
    found = benchmark.pedantic(lambda: judge.judge(questions()), rounds=5, warmup_rounds=0)
    assert found.tally.n_calls == 0
    print(f"\nall stored: {benchmark.stats.stats.max:.3f} s at most")
    assert benchmark.stats.stats.max < 0.5

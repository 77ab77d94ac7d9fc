"""Short ways to say what most judging tests need."""

from __future__ import annotations

import asyncio

from kragx.judging import Judge, OpenAIClient, Question
from kragx.judging.rubric import RUBRICS

ENDPOINT = "test server"  # the same key wherever the server listens


class FakeTime:
    """A clock that only sleeping moves; `slept` is how long each sleep was."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def clock(self):
        """The time."""
        return self.now

    async def sleep(self, seconds):
        """Pass the time at once; whoever else waits gets a turn."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def ask(document, gold="gold text", **fields):
    """A question of support."""
    return Question(RUBRICS["support-en-1"], document, gold=gold, **fields)


def openai_client(base_url, **options):
    """The official client, pointed at `base_url`."""
    given = {"model": "local-judge", "base_url": base_url, "endpoint": ENDPOINT, **options}
    return OpenAIClient(**given)


def judge_of(client, store, **options):
    """A judge that does not really wait between attempts."""
    time = FakeTime()
    given = {"clock": time.clock, "sleep": time.sleep, "progress": False, **options}
    return Judge(client, store=store, **given)

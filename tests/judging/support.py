"""Short ways to say what most judging tests need."""

from __future__ import annotations

import asyncio

from kragx.judging import Judge, OpenAIClient, Question
from kragx.judging.rubric import SUPPORT_EN

ENDPOINT = "test server"  # the same key wherever the server listens


async def no_sleep(seconds):
    """Time passes at once; what else waits gets its turn."""
    await asyncio.sleep(0)


def ask(document, gold="gold text", **fields):
    """A question of support."""
    return Question(SUPPORT_EN, document, gold=gold, **fields)


def openai_client(base_url, **options):
    """The official client, pointed at `base_url`."""
    given = {"model": "local-judge", "base_url": base_url, "endpoint": ENDPOINT, **options}
    return OpenAIClient(**given)


def judge_of(client, store, **options):
    """A judge that does not really wait between attempts."""
    return Judge(client, store=store, **{"sleep": no_sleep, "progress": False, **options})

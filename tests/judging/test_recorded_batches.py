"""Recorded conversations about batches, replayed without a server. See tests/README.md."""

from __future__ import annotations

import itertools
import os
import uuid
from contextlib import contextmanager
from dataclasses import replace

import pytest

from kragx.adapters import batches as provider_batches
from kragx.adapters.batches import Submission, look_after
from kragx.errors import JudgingError
from kragx.ground.secrets import Secrets
from kragx.judging import Judge, Store
from tests.judging.batch_server import batches
from tests.judging.conftest import RECORD
from tests.judging.recording import HOST, cassette
from tests.judging.support import ask, openai_client

WORDS = ("grade-2", "grade-0", "refuses", "prose", "busy grade-1", "truncates")


@pytest.fixture
def tape(tmp_path, monkeypatch):
    """What plays a cassette; it gives an address, and the server where one is recorded."""
    numbers = itertools.count(1)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=next(numbers)))

    @contextmanager
    def play(name):
        if os.environ.get(RECORD) == "local":
            with batches(tmp_path / "server") as server, cassette(name, record=True):
                yield server.base_url, server
        else:
            with cassette(name, record=False):
                yield HOST, None

    return play


def submission(judge, questions):
    """What a judge would ask, to be submitted."""
    outbox = Submission([], Secrets.of())
    replace(judge, outbox=outbox, dry_run=True).judge(questions)
    return outbox


def submit(judge, words):
    """Submit what a judge would ask about documents of these words."""
    submission(judge, [ask(f"{word}, document {n}") for n, word in enumerate(words)]).send()


def looked(judge, **options):
    """What is known of a judge's batches."""
    return look_after([judge], Secrets.of(), **options)


@pytest.mark.integration
def test_a_batch(tape, store):
    """Submitted, looked at, collected: every answer is what it would be if it were asked live."""
    with tape("batch") as (base_url, server):
        judge = Judge(openai_client(base_url), store=store)
        submit(judge, WORDS)
        (pending,) = looked(judge)
        assert (pending.status, pending.n_questions) == ("validating", 6)
        if server:
            server.run(pending.batch.id)
        (collected,) = looked(judge, collect=True)
    kinds = {"refusal": 1, "invalid_json": 1, "rate_limit": 1, "length": 1}
    assert collected.tally.failures == kinds
    with Store(store) as opened:
        rows = {row["question"]["document"].split(",")[0]: row for row in opened.records()}
    assert [rows[word].get("grade") for word in WORDS] == [2, 0, None, None, None, None]
    assert rows["grade-2"]["reason"] == "as the document says"
    assert rows["grade-2"]["model"] == "local-judge-2025-01-01"
    assert collected.tally.completion_tokens == 5 * 20  # a 429 takes none


@pytest.mark.integration
def test_an_answer_that_never_came(tape, store, capsys):
    """A batch whose making was not answered is found in the list, by its mark, and made once."""
    with tape("batch-orphan") as (base_url, server):
        judge = Judge(openai_client(base_url), store=store)
        if server:
            server.faults.append("create lost")
        with pytest.raises(JudgingError, match="making a batch failed"):
            submit(judge, WORDS[:2])
        (batch,) = (entry.batch for entry in looked(judge))
        assert batch.state == "submitted"
        submission(judge, [ask("grade-2, document 0")]).send()
        assert ": 0 questions submitted" in capsys.readouterr().out
        if server:
            server.run(batch.id)
        assert not any(entry.batch.is_open for entry in looked(judge, collect=True))
    with Store(store) as opened:
        assert [row["grade"] for row in opened.records()] == [2, 0]


def test_a_limit_of_bytes(tape, store, monkeypatch):
    """Questions that do not go into one file are left to the next submit."""
    monkeypatch.setattr(provider_batches, "MOST_BYTES", 6000)
    with tape("batch-bytes") as (base_url, _):
        judge = Judge(openai_client(base_url), store=store)
        questions = [ask(f"grade-1 {'x' * 500} {n}") for n in range(4)]
        for _ in range(2):
            submission(judge, questions).send()
    with Store(store) as opened:
        sizes = [len(opened.batches.keys(batch)) for batch in opened.batches.batches()]
    assert sizes == [2, 2]

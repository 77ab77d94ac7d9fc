"""A store that takes no more: nothing that was paid for is lost, and nothing more is asked."""

from __future__ import annotations

import asyncio
import re
import tempfile

import pytest

from kragx.data.formats.jsonl import read_records
from kragx.errors import JudgingError
from kragx.judging import Store
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.store import exported
from tests.judging.support import ask, judge_of

N_QUESTIONS = 300
QUESTIONS = [ask(f"text {n}", query_id=f"q{n}", document_id=f"d{n}") for n in range(N_QUESTIONS)]


class Slow(ScriptedClient):
    """Answers after a moment, so that answers and commits take turns."""

    async def ask(self, request):
        """The next answer."""
        await asyncio.sleep(0.005)
        return await super().ask(request)


@pytest.fixture
def full(monkeypatch, tmp_path):
    """From when the questions are noted, the store has room for a few answers."""
    plain = Store.note

    def note(self, *args):
        plain(self, *args)
        db = self._database._connection.connection.driver_connection
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 2}")

    monkeypatch.setattr(Store, "note", note)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    monkeypatch.setattr(Store, "note", plain)


@pytest.mark.integration
def test_answers_that_the_store_does_not_take(store, full, monkeypatch):
    """They are in a file; imported once there is room, the next run asks for the others alone."""
    client = Slow(lambda request: 2)
    with pytest.raises(JudgingError, match="database or disk is full") as raised:
        judge_of(client, store, concurrency=4).judge(QUESTIONS)
    n_paid = len(client.requests)
    assert 0 < n_paid < N_QUESTIONS  # what cannot be kept is not asked for
    n_kept, file = re.search(
        r"(\d+) answers that it did not take are in (\S+) ", str(raised.value)
    ).groups()
    monkeypatch.undo()
    records = [record for _, record in read_records(file)]
    assert len(records) == int(n_kept)
    assert all(pair[0][1:] == pair[1][1:] for record in records for pair in record["pairs"])
    with Store(store) as opened:
        n_stored = len(list(opened.records()))
        assert opened.add_records(exported(records)) == (int(n_kept), 0)
    assert n_stored + int(n_kept) == n_paid
    again = judge_of(ScriptedClient(lambda request: 2), store).judge(QUESTIONS)
    assert again.tally.n_calls == N_QUESTIONS - n_paid
    assert [judgement.grade for judgement in again.judgements] == [2] * N_QUESTIONS


def test_no_room_anywhere(store, full, monkeypatch):
    """Where no other file can be written either, it is said how many answers are lost."""

    def no_room(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", no_room)
    with pytest.raises(JudgingError, match=r"\d+ answers are lost, as no other file could"):
        judge_of(Slow(lambda request: 2), store, concurrency=4).judge(QUESTIONS)

"""Whatever a server does, a judgement fails or has its grade, and nothing else is lost."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kragx.errors import JudgingError
from kragx.judging import JudgeWarning, Store
from tests.judging.faults import FAULTS, GRADE, STOPPING, TIMEOUT, faulty
from tests.judging.support import ask, judge_of, openai_client

CLIENTS = {"openai": lambda server: openai_client(server.base_url)}
MATRIX = [(client, name) for client in CLIENTS for name in FAULTS[client]]


def documents(client):
    """A document for each fault, and a good one beside it."""
    return [text for name in FAULTS[client] for text in (f"fault {name} grade-2", good(name))]


def good(name):
    """The document that stands beside one with a fault."""
    return f"beside {name} grade-3"


@cache
def outcome(client):
    """What two runs gave, or what ended them."""
    try:
        return runs(client)
    except Exception as error:
        return error


def runs(client):
    """All faults at once, then again when the server is well; what was stored, and sent elsewhere.

    Of each run: the judgements by document, the tally, and how often each document was asked for.
    """
    texts = documents(client)
    questions = [ask(text) for text in texts]
    both = []
    with TemporaryDirectory() as folder, faulty() as server:
        store = Path(folder) / "judgements.sqlite"
        for server.well in (False, True):
            server.asked.clear()
            options = {"timeout": TIMEOUT, "attempts": 2, "concurrency": 16, "ask_again": "all"}
            judge = judge_of(CLIENTS[client](server), store, **options)
            with pytest.warns(JudgeWarning):  # some of the faults are other models' names
                judged = judge.judge(questions)
            judgements = dict(zip(texts, judged.judgements, strict=True))
            both.append((judgements, judged.tally, dict(server.asked)))
        with Store(store) as opened:
            rows = list(opened.records())
        return *both, rows, dict(server.elsewhere.asked), server.megabytes


@pytest.mark.parametrize(("client", "name"), MATRIX)
def test_fault(client, name):
    """A fault is a failed judgement of its kind, never a 0; an odd but good answer its grade."""
    (judgements, *_), *_ = outcome(client)
    judgement = judgements[f"fault {name} grade-2"]
    expected, _ = FAULTS[client][name]
    kinds = expected if isinstance(expected, tuple) else (expected,)
    assert judgement.failure in kinds, judgement.detail
    assert judgement.grade == (2 if expected is GRADE else None)
    if expected is not GRADE:
        assert 0 < len(judgement.detail) < 3_000


@pytest.mark.parametrize("client", CLIENTS)
def test_neighbours(client):
    """What stands beside a fault has its grade in the same run, and every grade is stored."""
    (judgements, *_), _, rows, *_ = outcome(client)
    assert all(judgements[good(name)].grade == 3 for name in FAULTS[client])
    assert {row["grade"] for row in rows if "grade" in row} == {2, 3}
    grades = {row["key"] for row in rows if "grade" in row}
    assert grades == {judgement.key for judgement in judgements.values()}


@pytest.mark.parametrize("client", CLIENTS)
def test_recovered(client):
    """When the server is well again, a run completes and asks once for what failed, only that."""
    (before, *_), (after, tally, asked), *_ = outcome(client)
    failed = [document for document, judgement in before.items() if judgement.failure]
    assert len(failed) > 100
    assert asked == dict.fromkeys(failed, 1)
    assert {after[document].grade for document in failed} == {2}
    assert (tally.n_missing, tally.n_calls) == (0, len(failed))


@pytest.mark.parametrize("client", CLIENTS)
def test_usage(client):
    """Tokens are those of the server where it sends counts, else estimates, whatever it sends."""
    (_, tally, _), _, rows, *_ = outcome(client)
    kinds = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    counted = [row for row in rows if "counting" not in row]
    assert {row[kind] for row in counted for kind in kinds if kind in row} <= {20, 100}
    assert all(type(row[kind]) is int for row in rows for kind in kinds if kind in row)
    assert 0 < tally.prompt_tokens < 2_000 * tally.n_calls
    assert tally.cached_tokens == 0
    assert 0 < tally.n_calls_estimated < tally.n_calls


@pytest.mark.parametrize("client", CLIENTS)
def test_redirects(client):
    """No redirect is followed: neither texts nor key reach another host, or path."""
    (_, _, asked), *_, elsewhere, _ = outcome(client)
    assert "GET" not in asked
    assert elsewhere == {}


def test_a_large_body():
    """Of a body of 200 MB little more is read than the 4 MiB that are allowed."""
    *_, megabytes = outcome("openai")
    assert 2 * 4 <= megabytes < 2 * 20  # two attempts, and what sockets hold


@pytest.mark.parametrize("name", STOPPING)
def test_stopping(name, store):
    """What would fail for every other question ends the run, in the provider's words."""
    with faulty() as server:
        judge = judge_of(openai_client(server.base_url), store, timeout=TIMEOUT, concurrency=1)
        questions = [ask("before grade-3"), ask(f"fault {name} grade-2"), ask("after grade-3")]
        with pytest.raises(JudgingError, match=name[:3]) as caught:
            judge.judge(questions)
        assert caught.value.exit_code == 4
        assert list(server.asked.values()) == [1, 1]
        server.well = True
        judged = judge.judge(questions)
    assert [judgement.grade for judgement in judged.judgements] == [3, 2, 3]
    assert judged.tally.n_calls == 2


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1", "https://{}/v1"]
)
def test_no_connection(address, store):
    """Nothing listens, no such host, no TLS there: a failed judgement, or an end that says it."""
    with faulty() as server:
        address = address.format(server.address.removeprefix("http://"))
        judge = judge_of(openai_client(address), store, timeout=TIMEOUT, attempts=2)
        try:
            (judgement,) = judge.judge([ask("grade-3")]).judgements
        except JudgingError:
            return
    assert (judgement.grade, judgement.failure) == (None, "connection")

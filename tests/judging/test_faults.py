"""Whatever a server does, a judgement fails or has its grade, and nothing else is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kragx.errors import JudgingError
from kragx.judging import RUBRICS, LangChainClient, Question, Store
from kragx.judging.judgement_counts import Tally
from kragx.judging.question import SETTLED
from tests.judging.faults import (
    CONTENTS,
    FAULTS,
    GRADE,
    HEADERS,
    OPENAI_FORMS,
    STATUSES,
    STOPPING,
    TIMEOUT,
    faulty,
)
from tests.judging.support import ENDPOINT, ask, judge_of, openai_client
from tests.thoroughness import THOROUGH, all_cases, some

# Of other models' names; of each client in a thread of its own.


def chat_of(package, kind, **options):
    """A client of a real chat model of LangChain's, which speaks to a server."""
    module = pytest.importorskip(package)
    chat = getattr(module, kind)(model="local-judge", **options)
    return LangChainClient(chat, endpoint=ENDPOINT)


# By name: the protocol, and the client for a server.
CLIENTS = {
    "openai": ("openai", lambda server: openai_client(server.base_url)),
    "openai, all faults": ("openai", lambda server: openai_client(server.base_url)),
    "ChatOpenAI": (
        "openai",
        lambda server: chat_of(
            "langchain_openai", "ChatOpenAI", base_url=server.base_url, api_key="none"
        ),
    ),
    "ChatAnthropic": (
        "anthropic",
        lambda server: chat_of(
            "langchain_anthropic", "ChatAnthropic", base_url=server.address, api_key="none"
        ),
    ),
    "ChatOllama": (
        "ollama",
        lambda server: chat_of("langchain_ollama", "ChatOllama", base_url=server.address),
    ),
}


def faults_of(client):
    """All faults of its protocol.

    They take their time: but for one client a third of the statuses, headers and contents is tried
    where the run is not thorough.
    """
    protocol, _ = CLIENTS[client]
    if (THOROUGH and client != "openai") or client == "openai, all faults":
        return FAULTS[protocol]
    usual = [*STATUSES, *HEADERS, *CONTENTS]
    left_out = {name for number, name in enumerate(usual) if number % 3 != 0}
    return {name: fault for name, fault in FAULTS[protocol].items() if name not in left_out}


FAULTS_OF = {client: faults_of(client) for client in CLIENTS}
HANGING = ("half-the-body-hangs", "hangs", "hangs-after-a-status", "drips")
OF_LISTS = [*FAULTS["openai"]][:: 1 if THOROUGH else 5]
"""The faults that questions with a list for an answer meet: some of each kind by default."""
MATRIX = [(client, name) for client in CLIENTS for name in FAULTS_OF[client]]
each_client = pytest.mark.parametrize("client", CLIENTS)


def documents(client):
    """A document for each fault, and good ones in between."""
    texts = [(f"fault {name} grade-2", good(name)) for name in FAULTS_OF[client]]
    step = 1 if client.startswith("openai") else 4
    return [text for number, pair in enumerate(texts) for text in pair[: 1 + (number % step == 0)]]


def good(name):
    """The document that stands beside one with a fault."""
    return f"beside {name} grade-3"


@cache
def outcomes(*clients):
    """The runs of clients, at the same time: they wait for what hangs, most of it."""
    with ThreadPoolExecutor(len(clients)) as pool:
        return {client: pool.submit(runs, client) for client in clients}


def outcome(client):
    """What two runs of a client gave.

    Raises:
        BaseException: what ended them.
    """
    usual, *others = CLIENTS
    return outcomes(*([usual] if client == usual else others))[client].result()


def runs(client):
    """All faults at once, then again when the server is well; what was stored, and sent elsewhere.

    Of each run: the judgements by document, the tally, and how often each document was asked for.
    """
    texts = documents(client)
    both = []
    with TemporaryDirectory() as folder, faulty() as server:
        store = Path(folder) / "judgements.sqlite"
        for server.well in (False, True):
            server.asked.clear()
            options = {"timeout": TIMEOUT, "attempts": 2, "concurrency": 16}
            judge = judge_of(CLIENTS[client][1](server), store, **options)
            both.append((*judged(judge, texts), dict(server.asked)))
        with Store(store) as opened:
            rows = list(opened.records())
        return *both, rows, dict(server.elsewhere.asked), server.megabytes


def judged(judge, texts):
    """The judgements by document, and the tally.

    What hangs comes first and by itself, behind a good one, as the first is asked alone. Beside
    refusals, which lower how many are asked at once, it would be waited for one by one.
    """
    judgements, tally = {}, Tally()
    hanging = sorted(text for text in texts if text.split()[1] in HANGING)
    for part in (hanging, [text for text in texts if text not in hanging]):
        found = judge.judge([ask(text) for text in part])
        judgements |= dict(zip(part, found.judgements, strict=True))
        tally.add(found.tally)
    return judgements, tally


@pytest.mark.integration
@all_cases(("client", "name"), MATRIX)
def test_fault(client, name):
    """A fault is a failed judgement of its kind, never a 0; an odd but good answer its grade."""
    (judgements, *_), *_ = outcome(client)
    judgement = judgements[f"fault {name} grade-2"]
    expected, _ = FAULTS_OF[client][name]
    kinds = expected if isinstance(expected, tuple) else (expected,)
    assert judgement.failure in kinds, judgement.detail
    assert judgement.grade == (2 if judgement.failure is GRADE else None)
    if judgement.failure:
        assert 0 < len(judgement.detail) < 3_000


@pytest.mark.integration
@each_client
def test_neighbours(client):
    """What stands beside a fault has its grade in the same run, and every grade is stored."""
    (judgements, *_), _, rows, *_ = outcome(client)
    beside = [one for text, one in judgements.items() if text.startswith("beside")]
    assert len(beside) > 30
    assert {judgement.grade for judgement in beside} == {3}
    assert {row["grade"] for row in rows if "grade" in row} == {2, 3}
    grades = {row["key"] for row in rows if "grade" in row}
    settled = {one.key for one in judgements.values() if one.failure in SETTLED}
    assert grades == {judgement.key for judgement in judgements.values()} - settled


@pytest.mark.integration
@each_client
def test_recovered(client):
    """When the server is well again, a run asks once for what failed, but for what is settled."""
    (before, *_), (after, tally, asked), *_ = outcome(client)
    failed = {document: one.failure for document, one in before.items() if one.failure}
    settled = {document for document, kind in failed.items() if kind in SETTLED}
    passing = failed.keys() - settled
    assert len(passing) > 60
    assert asked == dict.fromkeys(passing, 1)
    assert {after[document].grade for document in passing} == {2}
    assert {document: after[document].failure for document in settled} == {
        document: failed[document] for document in settled
    }
    assert (tally.n_missing, tally.n_calls) == (len(settled), len(passing))


@cache
def listed_outcomes():
    """Of all kinds of questions that are answered with a list what two runs gave."""
    texts = [text for name in OF_LISTS for text in (f"fault {name} grade-2", good(name))]
    more = {
        "nuggets": {"query": "Which?", "most": 3},
        "holds": {"facts": ("as it says",)},
        "questions": {"kind": "any"},
    }
    with TemporaryDirectory() as folder, faulty() as server:
        options = {"timeout": TIMEOUT, "attempts": 2, "concurrency": 32}
        judge = judge_of(openai_client(server.base_url), Path(folder) / "j.sqlite", **options)
        questions = {
            (asks, text): Question(RUBRICS[f"{asks}-en-1"], text, **fields)
            for asks, fields in more.items()
            for text in texts
        }
        both = []
        for server.well in (False, True):
            judged = judge.judge([*questions.values()])
            both.append(dict(zip(questions, judged.judgements, strict=True)))
        with Store(judge.store) as opened:
            return *both, list(opened.records())


@pytest.mark.integration
@pytest.mark.parametrize("asks", ["nuggets", "holds", "questions"])
@all_cases("name", OF_LISTS)
def test_fault_of_a_list(asks, name):
    """A fault fails a question about several things as any other; what is good is a whole list."""
    before, *_ = listed_outcomes()
    judgement = before[asks, f"fault {name} grade-2"]
    expected, _ = FAULTS["openai"][name]
    kinds = expected if isinstance(expected, tuple) else (expected,)
    if {GRADE, "out_of_range"} & {*kinds} and (name in CONTENTS or name in OPENAI_FORMS):
        kinds = (*kinds, "invalid_json")  # an answer with a grade is no list
    assert judgement.failure in kinds, judgement.detail
    assert len(judgement.entries) == (judgement.failure is GRADE)


@pytest.mark.integration
def test_recovered_lists():
    """What stands beside a fault is whole in the same run; the next one asks for what failed."""
    before, after, rows = listed_outcomes()
    beside = [one for (_, text), one in before.items() if text.startswith("beside")]
    assert {judgement.grade for judgement in beside} == {1}
    settled = {place for place, one in before.items() if one.failure in SETTLED}
    assert {place for place, one in after.items() if one.failure} == settled
    assert all(len(one.entries) == 1 for one in after.values() if one.failure is None)
    assert all(("answer" in row) == ("grade" in row) for row in rows)


@pytest.mark.integration
@each_client
def test_usage(client):
    """Tokens are those of the server where it sends counts, else estimates, whatever it sends."""
    (_, tally, _), _, rows, *_ = outcome(client)
    kinds = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    counted = [row for row in rows if "counting" not in row]
    assert {20, 100} <= {row[kind] for row in counted for kind in kinds if kind in row}
    counts = [row[kind] for row in rows for kind in kinds if kind in row]
    assert all(type(count) is int and 0 <= count < 10**6 for count in counts)
    assert 0 < tally.prompt_tokens < 10_000 * tally.n_calls
    assert tally.cached_tokens == 0
    assert 0 < tally.n_calls_estimated < tally.n_calls


@pytest.mark.integration
@each_client
def test_redirects(client):
    """No redirect is followed: neither texts nor key reach another host, or path."""
    (_, _, asked), *_, elsewhere, _ = outcome(client)
    assert "GET" not in asked
    assert elsewhere == {}


@pytest.mark.integration
def test_a_large_body():
    """Of a body of 200 MB little more is read than the 4 MiB that are allowed."""
    *_, megabytes = outcome("openai")
    assert 2 * 4 <= megabytes < 2 * 20  # two attempts, and what sockets hold


def test_bytes_left_after_an_answer(store):
    """They are nobody's answer: that connection is not used again, and any other one is."""
    texts = [f"first {n} grade-2" for n in range(3)]
    texts += ["fault answers-twice grade-2", *(f"then {n} grade-3" for n in range(3))]
    with faulty() as server:
        judge = judge_of(openai_client(server.base_url), store, timeout=TIMEOUT, concurrency=1)
        judgements = judge.judge([ask(text) for text in texts]).judgements
        assert [judgement.grade for judgement in judgements] == [2, 2, 2, 2, 3, 3, 3]
        assert server.n_connections == 2


@pytest.mark.parametrize("name", some(STOPPING, 6))
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


@pytest.mark.integration
@each_client
def test_nothing_listens(client, store):
    """The error says where nothing listens, also where the model's settings hold no address."""

    class Nobody:
        address = "http://127.0.0.1:9"
        base_url = "http://127.0.0.1:9/v1"

    judge = judge_of(CLIENTS[client][1](Nobody()), store)
    with pytest.raises(JudgingError, match=r"\(http://127\.0\.0\.1:9\)\. No server answers there"):
        judge.judge([ask("one"), ask("two")])


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

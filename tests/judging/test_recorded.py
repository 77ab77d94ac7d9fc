"""Recorded conversations of both clients, replayed without a server. See tests/README.md."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re

import pytest
import yaml
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.request import Request

from kragx.judging import LangChainClient, Question, Store
from kragx.judging.rubric import RUBRICS
from tests.judging.recording import (
    CASSETTES,
    HOST,
    KEPT_REQUEST,
    KEPT_RESPONSE,
    cassette,
    scrub_request,
    scrub_response,
)
from tests.judging.support import ENDPOINT, FakeTime, ask, judge_of, openai_client
from tests.thoroughness import some

CLIENTS = ("openai", "langchain")
TIMEOUT = 0.5 if os.environ.get("KRAGX_RECORD") else 30.0  # replayed, nobody has to wait


def client_of(kind, base_url):
    """One of the two clients, with keys that do not depend on the address."""
    if kind == "openai":
        return openai_client(base_url, answer_format="json_schema")
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(model="local-judge", base_url=base_url, api_key="none", timeout=TIMEOUT)
    return LangChainClient(chat, endpoint=ENDPOINT)


def attempts(store):
    """Every stored attempt, oldest first."""
    with Store(store) as opened:
        return list(opened.records())


# -- plain judging, by a small language model --------------------------------------------------

PAIRS = [
    Question(RUBRICS[f"support-{language}-1"], document, gold=gold)
    for language, gold, documents in (
        (
            "en",
            "Opened software can be returned within 14 days.",
            (
                "Returns. Software may be sent back for two weeks, opened or not.",
                "We open at nine.",
            ),
        ),
        (
            "ko",
            "물건을 받은 날부터 7일 안에 청약을 철회할 수 있다.",
            ("청약 철회: 받은 지 이레 안에 할 수 있다.", "이 산은 높이가 1,950미터이다."),
        ),
    )
    for document in documents
]


def small(base_url):
    """The client as the cassette of the small model has it."""
    return openai_client(base_url, model="smollm2-135m", max_output_tokens=96)


def answers():
    """What the small model said to each document, as the cassette has it."""
    tape = yaml.safe_load((CASSETTES / "openai-grade.yaml").read_text(encoding="utf-8"))
    said = {}
    for each in tape["interactions"]:
        (document,) = (
            pair.document for pair in PAIRS if pair.document in _asked(each["request"]["body"])
        )
        said[document] = json.loads(each["response"]["body"]["string"])
    return said


def _asked(body):
    return json.loads(body)["messages"][-1]["content"]


def assert_as_said(judged):
    """Each judgement is what the model said about its document: a grade, or why there is none."""
    said = answers()
    for pair, judgement in zip(PAIRS, judged.judgements, strict=True):
        choice = said[pair.document]["choices"][0]
        if choice["finish_reason"] == "length":
            assert (judgement.grade, judgement.failure) == (None, "length")
        else:
            told = json.loads(choice["message"]["content"])
            assert (judgement.grade, judgement.reason) == (told["grade"], told["reason"])
        assert judgement.completion_tokens == said[pair.document]["usage"]["completion_tokens"]
        assert judgement.model == "smollm2-135m"
        assert judgement.seconds >= 0


def test_plain_judging(tape, store):
    """Grades, reasons and usage are those that the model gave, in its order, and are stored."""
    with tape("openai-grade", of_model=True) as base_url:
        judged = judge_of(small(base_url), store, timeout=300, concurrency=2).judge(PAIRS)
    assert_as_said(judged)
    assert [each.get("grade") for each in judged_of(store)] == [
        judgement.grade for judgement in judged.judgements
    ]


def judged_of(store):
    """What is stored, in the order of the questions."""
    order = [pair.document for pair in PAIRS]
    return sorted(attempts(store), key=lambda each: order.index(each["question"]["document"]))


@pytest.mark.integration
def test_grade(tape, store):
    """A LangChain model's grade comes back with its reason, what served it and what it used."""
    with tape("langchain-grade") as base_url:
        judge = judge_of(client_of("langchain", base_url), store)
        judged = judge.judge([ask("grade-2"), ask("grade-0"), ask("grade-3")])
    assert [each.grade for each in judged.judgements] == [2, 0, 3]
    assert judged.judgements[0].reason == "as the document says"
    first = attempts(store)[0]
    assert first["model"] == "local-judge-2025-01-01"
    assert first["fingerprint"] == "fp_local"
    assert first["completion_tokens"] == 20
    assert first["prompt_tokens"] > 100


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("document", "kind"),
    some(
        [
            ("refuses", "refusal"),
            ("truncates", "length"),
            ("filtered", "content_filter"),
            ("prose", "invalid_json"),
            ("grade-7", "out_of_range"),
        ],
        5,
    ),
)
def test_failure(client, document, kind, tape, store):
    """A failure of the answer is missing, of its own kind, not asked twice, its usage kept."""
    with tape(f"{client}-{kind.replace('_', '-')}") as base_url:
        judge = judge_of(client_of(client, base_url), store)
        judgement = judge.judge([ask(document)]).judgements[0]
    assert (judgement.grade, judgement.failure) == (None, kind)
    (attempt,) = attempts(store)
    assert attempt["completion_tokens"] == 20
    assert attempt["detail"]
    if kind in ("length", "invalid_json", "out_of_range"):
        assert attempt["raw"]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("document", "kind"),
    some(
        [
            ("busy grade-3", "rate_limit"),
            ("broken grade-3", "api_error"),
            ("hangs up grade-3", "connection"),
            ("slow grade-3", "timeout"),
        ],
        4,
    ),
)
def test_another_attempt(client, document, kind, tape, store):
    """A passing fault is an attempt of its own, but for a 429, which is none; a grade follows."""
    with tape(f"{client}-{kind.replace('_', '-')}") as base_url:
        # The chat model's own timeout is the shorter: what kragx breaks off no cassette can keep.
        timeout = TIMEOUT if client == "openai" else 30.0
        judge = judge_of(client_of(client, base_url), store, timeout=timeout)
        judged = judge.judge([ask(document)])
    assert judged.judgements[0].grade == 3
    is_refused = kind == "rate_limit"
    assert (judged.tally.n_retries, judged.tally.n_refused) == (not is_refused, is_refused)
    failures = [each.get("failure") for each in attempts(store)]
    assert failures == [None] if is_refused else [kind, None]
    assert judged.tally.n_calls == len(failures)


def test_retry_after_is_honoured(tape, store):
    """After a 429 the wait is what Retry-After says, measured on an injected clock."""
    time = FakeTime()
    with tape("openai-rate-limit") as base_url:
        client = openai_client(base_url)
        judge_of(client, store, timeout=TIMEOUT, sleep=time.sleep, clock=time.clock).judge(
            [ask("busy grade-3")]
        )
    assert len(time.slept) == 1
    assert 2.0 <= time.slept[0] <= 3.0


QUESTIONS = [ask(f"document {number}, grade-{number % 4}") for number in range(64)]


@pytest.mark.integration
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "seed", [None, *(pytest.param(n, marks=pytest.mark.integration) for n in (1, 2, 3))]
)
def test_32_at_once(client, seed, tape, store):
    """64 questions, 32 at once, replay to the right grades in whatever order they are asked."""
    questions = list(QUESTIONS)
    if seed is not None:
        random.Random(seed).shuffle(questions)
    with tape(f"{client}-many") as base_url:
        judge = judge_of(client_of(client, base_url), store, concurrency=32)
        judged = judge.judge(questions)
    expected = [int(each.document[-1]) for each in questions]
    assert [each.grade for each in judged.judgements] == expected


@pytest.mark.integration
def test_grades_would_be_wrong_without_the_body(store):
    """Matched on method and path alone, the same cassette replays wrong grades: the body counts."""
    with cassette("openai-many", match_on=("method", "path")):
        judge = judge_of(openai_client(HOST), store, concurrency=32)
        judged = judge.judge(list(reversed(QUESTIONS)))
    expected = [int(each.document[-1]) for each in reversed(QUESTIONS)]
    assert [each.grade for each in judged.judgements] != expected


def test_async(tape, store):
    """`ajudge` gives the same in asynchronous code."""
    with tape("openai-grade", of_model=True) as base_url:
        judge = judge_of(small(base_url), store, timeout=300, concurrency=2)
        assert_as_said(asyncio.run(judge.ajudge(PAIRS)))


def test_sync_inside_a_running_loop(tape, store):
    """`judge` works where an event loop is running, as in a notebook, without patching it."""

    async def cell(base_url):
        return judge_of(small(base_url), store, timeout=300, concurrency=2).judge(PAIRS)

    with tape("openai-grade", of_model=True) as base_url:
        assert_as_said(asyncio.run(cell(base_url)))


@pytest.mark.parametrize("client", CLIENTS)
def test_unrecorded_request_fails(client, store):
    """A request that no cassette has is an error of the test, never a failed judgement."""
    with cassette(f"{client}-grade"):
        judge = judge_of(client_of(client, HOST), store)
        with pytest.raises(CannotOverwriteExistingCassetteException):
            judge.judge([ask("never recorded")])
    assert attempts(store) == []


@pytest.mark.integration
def test_cassettes_hold_no_secrets():
    """Only the listed headers are kept, no host, cookie, key or organisation."""
    files = sorted(CASSETTES.glob("*.yaml"))
    assert len(files) >= 20
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"sk-\w{8,}|bearer|cookie|organi[sz]ation|127\.0\.0\.1", text, re.I)
        for each in yaml.safe_load(text)["interactions"]:
            assert {name.lower() for name in each["request"]["headers"]} <= set(KEPT_REQUEST)
            assert {name.lower() for name in each["response"]["headers"]} <= set(KEPT_RESPONSE)
            assert each["request"]["uri"].startswith(HOST)


def test_what_is_recorded_is_scrubbed(monkeypatch):
    """By an allow-list of headers; a key of the environment that is said again is masked."""
    key = "any-Key/9982-of-somebody"
    monkeypatch.setenv("SOME_API_KEY", key)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "X-Team": key}
    address = f"http://me:{key}@host:1/v1/chat/completions?key={key}"
    sent = scrub_request(Request("POST", address, f'{{"user": "{key}"}}'.encode(), headers))
    assert sent.headers == {"Content-Type": "application/json"}
    assert (sent.uri, sent.body) == (f"{HOST}/chat/completions", b'{"user": "${SOME_API_KEY}"}')
    said = {"Set-Cookie": [key], "retry-after": [key], "content-type": ["text/plain"]}
    kept = scrub_response({"headers": said, "body": {"string": f"no {key}".encode()}})
    assert kept["headers"] == {"retry-after": ["${SOME_API_KEY}"], "content-type": ["text/plain"]}
    assert kept["body"]["string"] == b"no ${SOME_API_KEY}"


def test_what_is_sent():
    """A strict schema with the reason first, temperature 0, and a limit; no grade in prose."""
    text = (CASSETTES / "openai-grade.yaml").read_text(encoding="utf-8")
    body = json.loads(yaml.safe_load(text)["interactions"][0]["request"]["body"])
    form = body["response_format"]["json_schema"]
    assert form["strict"] is True
    assert list(form["schema"]["properties"]) == ["reason", "grade"]
    assert form["schema"]["properties"]["grade"]["enum"] == [0, 1, 2, 3]
    assert form["schema"]["additionalProperties"] is False
    assert body["temperature"] == 0
    assert body["max_completion_tokens"] == 96

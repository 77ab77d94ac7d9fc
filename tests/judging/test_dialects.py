"""Servers that do not take a request as it is first made: what is asked then, and what is said."""

from __future__ import annotations

import json

import pytest

from kragx.errors import JudgingError, UsageError
from kragx.judging import Answer, OpenAIClient, Question, Store
from kragx.judging.clients.dialect import Dialect, Speaker
from kragx.judging.reading import read_judge
from kragx.judging.rubric import RUBRICS
from tests.judging import providers
from tests.judging.providers import Provider
from tests.judging.support import ENDPOINT, ask, judge_of
from tests.thoroughness import all_cases, some

REASONS = Provider(refuses=(providers.no_temperature, providers.no_max_tokens))
OLD = Provider(refuses=(providers.strict_fields,))
OBJECTS = Provider(refuses=(providers.no_schema,))
TOOLS = Provider(refuses=(providers.no_format,))
IGNORES = Provider(ignores=("json_schema",))
IGNORES_BOTH = Provider(ignores=("json_schema", "json_object"))
NOTHING_NEW = Provider(
    refuses=(providers.no_temperature, providers.no_schema, providers.old_limit),
    ignores=("json_object",),
)
QUESTIONS = [ask(f"document {number}, grade-{number % 4}") for number in range(12)]


def client_of(server, **options):
    """The client, pointed at a provider."""
    return OpenAIClient("m", base_url=f"{server.root}/v1", endpoint=ENDPOINT, **options)


def grades(judged):
    """What became of each question."""
    return [judgement.grade for judgement in judged.judgements]


@pytest.mark.parametrize("concurrency", [1, 12])
@pytest.mark.parametrize(
    ("provider", "dialect", "refused"),
    some(
        [
            (Provider(), None, 0),
            (REASONS, "no temperature", 1),
            (OLD, "max_tokens", 1),
            (OBJECTS, "json_object", 1),
            (TOOLS, "tool", 2),
            (NOTHING_NEW, "tool, max_tokens, no temperature", 3),
        ],
        3,
    ),
)
def test_what_a_server_refuses(provider, dialect, refused, concurrency, store):
    """It is asked otherwise at once, in one attempt, and every grade tells how."""
    with providers.serving(provider) as server:
        judge = judge_of(client_of(server), store, attempts=3, concurrency=concurrency)
        judged = judge.judge(QUESTIONS)
        assert grades(judged) == [number % 4 for number in range(12)]
        assert {judgement.dialect for judgement in judged.judgements} == {dialect}
        if concurrency == 1:
            assert server.refused == refused
        assert judge.judge(QUESTIONS).tally.n_calls == 0


@pytest.mark.parametrize(
    ("provider", "dialect", "calls"),
    [(IGNORES, "json_object", 13), (IGNORES_BOTH, "tool", 14)],
)
def test_what_a_server_ignores(provider, dialect, calls, store):
    """Prose in the place of the first answers is a failed attempt, and another format is tried."""
    with providers.serving(provider) as server:
        judged = judge_of(client_of(server), store, concurrency=1).judge(QUESTIONS)
    assert grades(judged) == [number % 4 for number in range(12)]
    assert {judgement.dialect for judgement in judged.judgements} == {dialect}
    assert judged.tally.n_calls == len(server.requests) == calls
    with Store(store) as opened:
        failed = [record for record in opened.records() if "failure" in record]
    assert [record["failure"] for record in failed] == ["invalid_json"] * (calls - 12)
    assert failed[0]["raw"] == "This document deserves a high grade."
    assert "json_object from here on" in failed[0]["detail"]


def test_attempts_tell_the_dialect(store):
    """Each row says how its server had to be asked."""
    with providers.serving(OBJECTS) as server:
        judge_of(client_of(server), store).judge(QUESTIONS)
    with Store(store) as opened:
        assert "json_object" in {record.get("dialect") for record in opened.records()}


@pytest.mark.parametrize(
    ("provider", "options"),
    [
        (REASONS, {"temperature": 0}),
        (OLD, {"limit_name": "max_completion_tokens"}),
        (OBJECTS, {"answer_format": "json_schema"}),
        (Provider(refuses=(providers.no_format, providers.no_tools)), {}),
    ],
)
def test_what_was_named_is_kept(provider, options, store):
    """What a user has fixed is never changed; a few calls say that the server refuses it."""
    with providers.serving(provider) as server:
        judge = judge_of(client_of(server, **options), store, concurrency=1)
        with pytest.raises(JudgingError, match="calls, the first ones, in a row failed"):
            judge.judge(QUESTIONS * 3)
    assert server.requests == []
    assert server.refused <= 7


def test_nothing_forces_the_model(store):
    """Where every format is ignored answers are failed judgements, in the end asked for once."""
    provider = Provider(ignores=("json_schema", "json_object", "tool"))
    with providers.serving(provider) as server:
        judged = judge_of(client_of(server), store, concurrency=1).judge(QUESTIONS)
    assert {judgement.failure for judgement in judged.judgements} == {"invalid_json"}
    assert len(server.requests) == len(QUESTIONS) + 2
    assert server.requests[-1]["response_format"] == {"type": "json_object"}


def test_a_later_refusal_changes_nothing():
    """Once a good answer has come, a complaint is about that question."""
    speaker = Speaker({})
    speaker.heard(Answer('{"reason": "", "grade": 1}'), speaker.dialect, ["reason", "grade"])
    assert not speaker.learns(400, "json_schema is not supported", speaker.dialect)
    assert speaker.dialect == Dialect()


@all_cases(
    ("status", "text"),
    [
        (
            400,
            "This model's maximum context length is 8192 tokens, and 'max_completion_tokens' is "
            "too large: 2048",
        ),
        (401, "Incorrect API key; json_schema is not supported"),
        (429, "too many requests: response_format unavailable"),
        (404, "The model 'm' does not exist"),
        (500, "something broke"),
        (400, "Failed to generate JSON. Please adjust your prompt."),
    ],
)
def test_other_errors_teach_nothing(status, text):
    """An error about something else is a failure like any other."""
    speaker = Speaker({})
    assert not speaker.learns(status, text, speaker.dialect)
    assert speaker.dialect == Dialect()


@all_cases(
    ("status", "text", "dialect"),
    [
        (422, "Failed to deserialize the JSON body into the target type: response_format: "
              "response_format.type `json_schema` is unavailable now", "json_object"),
        (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with "
              "this model.", "json_object"),
        (400, "This model does not support response format `json_schema`.", "json_object"),
        (400, '"response_format" type must be one of "text" and "json_object"', "json_object"),
        (400, "Unrecognized request argument supplied: max_completion_tokens", "max_tokens"),
        (400, "invalid temperature: only 1 is allowed for this model", "no temperature"),
        (400, "`temperature` is deprecated for this model.", "no temperature"),
        (400, "Unsupported parameter: 'temperature' is not supported with this model.",
         "no temperature"),
    ],
)  # fmt: skip
def test_words_of_servers(status, text, dialect):
    """What real servers say, as their users have reported it."""
    speaker = Speaker({})
    assert speaker.learns(status, text, speaker.dialect)
    assert str(speaker.dialect) == dialect


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("asks", ["support", "relevance"])
def test_what_json_objects_need(asks, language, store):
    """The word JSON and the whole shape of the answer stand in the prompt."""
    rubric = RUBRICS[f"{asks}-{language}-1"]
    question = Question(rubric, "grade-1", gold="gold", query="query")
    with providers.serving(OBJECTS) as server:
        judge_of(client_of(server), store).judge([question])
    system = server.requests[0]["messages"][0]["content"]
    assert "JSON" in system
    shape = json.loads(system.rsplit("JSON schema: ", 1)[1])
    assert shape["required"] == ["reason", "grade"]
    assert shape["properties"]["grade"]["enum"] == [0, 1, 2, 3]


@all_cases(
    ("options", "said"),
    [
        ({"answer_format": "json"}, "judge.answer_format: unknown value 'json'; "),
        ({"limit_name": "num_predict"}, "judge.limit_name: unknown value 'num_predict'"),
        (
            {"temperature": "off"},
            "judge.temperature: 'off' is not a number of at least 0, nor 'non",
        ),
        ({"temperature": -1}, "judge.temperature: -1 is not a number"),
        ({"temperature": True}, "judge.temperature: True is not a number"),
        ({"base_url": "localhost:8000/v1"}, "judge.base_url: 'localhost:8000/v1' is no address"),
        ({"base_url": 8000}, "judge.base_url: 8000 is no address"),
        ({"headers": ["X-Title"]}, "judge.headers: a mapping of names is expected, not list"),
        ({"headers": {"X-Title": "제목"}}, "judge.headers.X-Title: no text of printable ASCII"),
        ({"headers": {"X-Title": 1}}, "judge.headers.X-Title: no text of printable ASCII"),
        ({"headers": {"X Title": "a"}}, "judge.headers: 'X Title' is no name of a header"),
        ({"seed": "x"}, "judge.seed: 'x' is not a whole number"),
        ({"max_output_tokens": 0}, "judge.max_output_tokens: 0 is not a whole number"),
        ({"extra_body": "x"}, "judge.extra_body: a mapping of names is expected, not str"),
        ({"model": ""}, "judge.model: '' names no model; name the model that judges"),
    ],
)
def test_wrong_options(options, said):
    """Each is refused with its field, its value and what to write; a header is never quoted."""
    with pytest.raises(UsageError) as caught:
        read_judge({"model": "m"} | options)
    assert str(caught.value).startswith("judge.")
    assert said in str(caught.value)


def test_a_named_key_that_is_not_set(store, monkeypatch):
    """A variable that a user has named is needed, wherever the server is."""
    monkeypatch.delenv("GATEWAY_KEY", raising=False)
    client = OpenAIClient("m", base_url="http://127.0.0.1:1/v1", api_key_env="GATEWAY_KEY")
    with pytest.raises(UsageError, match="set the environment variable GATEWAY_KEY; or, if"):
        judge_of(client, store).judge([ask("grade-1")])

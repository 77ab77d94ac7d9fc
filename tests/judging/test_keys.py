"""What a judgement is kept by: nothing that gives other answers shares a key."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult
from pydantic import SecretStr

from kragx import UsageError
from kragx.app.config import filled, load
from kragx.judging import Judge, LangChainClient, OpenAIClient, Question, read_judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.queue import PendingQuestions
from kragx.judging.rubric import RUBRICS
from tests.thoroughness import all_cases


class Chat(BaseChatModel):
    """A chat model with some of what integrations take, in fields and in others."""

    model: str = "local-judge"
    base_url: str = "http://a"
    temperature: float | None = None
    max_tokens: int | None = None
    num_ctx: int | None = None
    azure_deployment: str | None = None
    model_kwargs: dict[str, Any] | None = None
    reasoning: bool | None = None
    api_key: SecretStr = SecretStr("")
    max_retries: int = 2

    @property
    def _llm_type(self) -> str:
        return "test"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        """It is never asked."""
        raise NotImplementedError


class Loose:
    """A chat model that says nothing but its name."""

    def __init__(self, model: str, **args: Any) -> None:
        self.model = model

    def with_structured_output(self, *args: Any, **options: Any) -> None:
        """It is never asked."""


def key(client: object) -> str:
    """The key of one question to this judge."""
    question = Question(RUBRICS["support-en-1"], "a document", gold="a gold text")
    return PendingQuestions(read_judge(client), [question]).keys[0]


def test_what_stands_for_a_client():
    """A judge is made of its model's name; what is no client is an error."""
    assert Judge("gpt-4.1-mini") == Judge(OpenAIClient("gpt-4.1-mini"))
    with pytest.raises(UsageError, match=r"judge\.client: int is no client; pass a model's name"):
        Judge(5)
    with pytest.raises(
        UsageError, match=r"^judge\.client\.settings: part of every key, and no plain"
    ):
        Judge(ScriptedClient([], model=object()))
    with pytest.raises(UsageError, match=r"^judge\.model: '' names no model"):
        Judge("")


def named(kind: str, **args: Any) -> str:
    """The key under a judge of a config."""
    return key(filled({"client": f"tests.judging.test_keys:{kind}", "args": args}))


@all_cases(
    ("name", "value", "other"),
    [
        ("temperature", 0.0, 0.7),
        ("num_ctx", 2048, 4096),
        ("azure_deployment", "east", "west"),
        ("base_url", "http://b", "http://c"),
        ("model_kwargs", {"top_k": 1}, {"top_k": 2}),
        ("reasoning", True, False),
        ("model", "m", "n"),
    ],
)
def test_every_argument_makes_another_key(name: str, value: Any, other: Any):
    """In a config and in Python: another value, and none, are three keys."""
    options: list[dict[str, Any]] = [{name: value}, {name: other}, {}]
    assert len({named("Chat", **args) for args in options}) == 3
    assert len({key(LangChainClient(Chat(**args))) for args in options}) == 3


@all_cases(
    ("name", "value", "other"),
    [
        ("token_limit", 1, 2),
        ("keyword", "a", "b"),
        ("deployment", "east", "west"),
        ("api_base", "http://a", "http://b"),
        ("thinking", {"budget_tokens": 1}, {"budget_tokens": 2}),
        ("system", "You are strict.", "You are kind."),
        ("api_key", "in so many letters", "another"),
    ],
)
def test_arguments_of_which_the_model_says_nothing(name: str, value: Any, other: Any):
    """What a config gives counts, whatever the model tells of itself."""
    assert (
        len({named("Loose", model="m", **args) for args in ({name: value}, {name: other}, {})}) == 3
    )


@all_cases(
    ("name", "value"),
    [
        ("max_tokens", 100),
        ("num_predict", 100),
        ("max_output_tokens", 100),
        ("timeout", 5),
        ("request_timeout", 5),
        ("model_kwargs", {"max_completion_tokens": 100}),
        ("generation_config", {"max_output_tokens": 100}),
    ],
)
def test_what_only_bounds_an_answer(name: str, value: Any):
    """A limit of a chat model is no part of the key, and is known all the same."""
    assert named("Loose", model="m", **{name: value}) == named("Loose", model="m")
    if name in Chat.model_fields:
        assert key(LangChainClient(Chat(**{name: value}))) == key(LangChainClient(Chat()))
    client = {"client": "tests.judging.test_keys:Loose", "args": {"model": "m", name: value}}
    numbers = {"max_tokens", "num_predict", "max_output_tokens"}
    assert read_judge(filled(client)).output_limit == (100 if name in numbers else None)


def test_what_only_bounds_an_answer_of_openai():
    """Nor are limits of the openai client; of several the highest is what an answer may have."""
    limits: list[dict[str, Any]] = [
        {"max_output_tokens": 100},
        {"max_output_tokens": 100, "timeout": 5, "extra_body": {"max_tokens": 50}},
        {"extra_body": {"max_tokens": 5000}},
        {},
    ]
    judges = [read_judge({"model": "m", **limit}) for limit in limits]
    assert len({key(judge) for judge in judges}) == 1
    assert [judge.output_limit for judge in judges] == [100, 100, 5000, 2048]


def test_secrets_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    """A new key in `${NAME}` asks nothing anew; what else a variable holds does."""
    keys = []
    for secret, deployment in (("1", "east"), ("2", "east"), ("2", "west")):
        monkeypatch.setenv("SECRET", secret)
        monkeypatch.setenv("DEPLOYMENT", deployment)
        keys.append(named("Loose", model="m", api_key="${SECRET}", deployment="${DEPLOYMENT}"))
    assert keys[0] == keys[1] != keys[2]


@all_cases(
    ("name", "value", "other"),
    [
        ("model", "m", "n"),
        ("base_url", "http://a", "http://b"),
        ("endpoint", "east", "west"),
        ("temperature", 0.2, 0.7),
        ("seed", 1, 2),
        ("reasoning_effort", "low", "high"),
        ("extra_body", {"top_k": 1}, {"top_k": 2}),
        (
            "extra_body",
            {"reasoning": {"max_tokens": 1}},  # how long to think is another matter
            {"reasoning": {"max_tokens": 2}},
        ),
        ("repeat", 1, 2),
    ],
)
def test_options_of_openai(name: str, value: Any, other: Any):
    """Whatever is sent to another end, or otherwise, is another key; none of it is a third one."""
    model = {} if name == "model" else {"model": "m0"}
    options = [{name: value}, {name: other}, {"model": "l"} if name == "model" else {}]
    assert len({key(model | given) for given in options}) == 3


def test_a_secret_in_the_body_is_sent_and_not_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """`${NAME}` in `extra_body` stays a name in the config, and no store holds the value."""
    monkeypatch.setenv("SECRET", "hush")
    judge = "judge: {model: m, extra_body: {x_token: '${SECRET}'}}"
    text = f"dataset: gold.jsonl\nretrievers: {{a: a.jsonl}}\n{judge}"
    (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
    config = load(tmp_path / "run.yaml")
    assert config.judge == {"model": "m", "extra_body": {"x_token": "${SECRET}"}}
    client = read_judge(filled(config.judge)).client
    assert "hush" not in str(client.settings)
    assert client.extra_body == {"x_token": "hush"}


def test_no_text_of_an_argument_is_stored():
    """The settings that stand in stores and exports hold numbers, and hashes of texts."""
    args = {"model": "m", "api_key": "hush-hush", "system": "strict", "num_ctx": 5}
    judge = read_judge({"client": "tests.judging.test_keys:Loose", "args": args})
    settings = str(judge.client.settings)
    assert "hush" not in settings
    assert "strict" not in settings
    assert "'num_ctx': 5" in settings


def test_judgements_of_an_earlier_version_are_served(monkeypatch: pytest.MonkeyPatch):
    """Where all that was given stood in the key before, the key is the same."""
    monkeypatch.setenv("SECRET", "1")
    args = {"model": "m", "base_url": "http://b", "temperature": 0, "max_tokens": 9}
    more = {"api_key": "${SECRET}", "max_retries": 0}
    judge = read_judge(filled({"client": "tests.judging.test_keys:Chat", "args": args | more}))
    before = {
        "provider": "langchain:tests.judging.test_keys.Chat",
        "base_url": "http://b",
        "model": "m",
        "temperature": 0.0,
        "max_tokens": 9,
    }
    assert judge.client.settings == before
    assert LangChainClient(Chat(**args, max_retries=0)).settings == before

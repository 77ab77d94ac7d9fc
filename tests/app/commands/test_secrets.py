"""Secrets of the environment and of configs stand in nothing that kragx writes or prints."""

from __future__ import annotations

import json
import unicodedata
import warnings
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx.ground.plugins import named_secret
from kragx.ground.secrets import Secrets, secrets_in
from tests.thoroughness import all_cases

KEY, URL_PASSWORD, WRITTEN = "kq-Sup3rS3cret/xyz!", "pw0rd99", "sk-literal1234567890ab"
LEAKS = ("Sup3r", URL_PASSWORD, "literal123")
MODULE = """
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from langchain_core.documents import Document

from kragx.judging import Failure
from kragx.matchers import BaseMatcher


class Asked:
    def __init__(self, api_key, url="", port="", broken=False):
        self.key, self.url, self.port = api_key, url, port
        if broken:
            raise ValueError(f"refused: {api_key}")

    def __call__(self, question):
        if question.endswith("1"):
            try:
                raise ConnectionError(f"{self.url}: {self.key!r}")
            except ConnectionError as error:
                raise RuntimeError(f"{self.url} {self.key} on {self.port}") from error
        if question.endswith("2"):
            return self.key  # no list of documents
        return [Document(page_content="one two three four", id="a")]


@dataclass(frozen=True)
class Own(BaseMatcher):
    api_key: str
    threshold: float = 0.5
    name = "own"

    def scores(self, items, notes):
        for item in items:
            if Path("broken").exists():
                raise ValueError(f"refused: {self.api_key}")
            yield np.ones(item.shape)


class Client:
    def __init__(self, token):
        if Path("broken").exists():
            raise ValueError(f"refused: {token}")
        self.token = token
        self.settings = {"provider": "own", "base_url": f"http://me:{token}@h", "model": "m"}

    async def ask(self, request):
        return Failure("api_error", f"no such token: {self.token}")
"""


@pytest.fixture
def config(here, module, monkeypatch):
    """A config with secrets in variables, in a .env file and in so many letters."""
    module("hot", MODULE)
    monkeypatch.setenv("MINE", KEY)
    monkeypatch.setenv("PORT", "8080")
    monkeypatch.setenv("ES_URL", f"https://elastic:{URL_PASSWORD}@localhost:1")
    gold = {"gold": [{"id": "a", "text": "one two three four"}]}
    lines = [json.dumps({"query_id": f"q{n}", "query": f"what {n}", **gold}) for n in range(4)]
    (here / "gold.jsonl").write_text("\n".join(lines))
    of_env = {"api_key": "${MINE}", "url": "${ES_URL}", "port": "${PORT}"}
    config = {
        "dataset": "gold.jsonl",
        "retrievers": {
            "a": {"class": "hot:Asked", "args": of_env},
            "b": {"class": "hot:Asked", "args": {"api_key": WRITTEN, "port": 512}},
        },
        "matchers": {"own": {"method": "hot:Own", "args": {"api_key": "${MINE}"}}, "id": "id"},
        "metrics": ["mrr@5"],
        "max_failed": 0.5,
        "output": "out",
    }
    (here / "config.yaml").write_text(json.dumps(config))
    return here / "config.yaml"


def leaks(text):
    """Which secrets a text holds, in whatever form."""
    return [leak for leak in LEAKS if leak in text]


def test_a_run_and_its_folder(config, kragx):
    """Failures and every file have the variable's name; numbers stay numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = kragx("run", "config.yaml", "--full")
    assert done.code == 0, done.err
    assert "retrievers.b.args.api_key: a secret in so many letters; write ${NAME}" in done.err
    files = [path for path in config.parent.joinpath("out").rglob("*") if path.is_file()]
    texts = {path.name: path.read_bytes().decode(errors="replace") for path in files}
    assert {"a.jsonl", "queries.csv", "report.json", "report.html", "config.yaml"} <= {*texts}
    texts |= {"out": done.out, "err": done.err}
    assert {name: leaks(text) for name, text in texts.items() if leaks(text)} == {}
    failure = "https://elastic:${ES_URL}@localhost:1 ${MINE} on 8080"
    assert failure in texts["a.jsonl"]
    assert failure in texts["queries.csv"]
    assert "api_key: '***', port: 512" in texts["config.yaml"]
    again = kragx("report", "out", "--trust", "--format", "json")
    assert again.code == 0, again.err
    assert leaks(again.out + again.err) == []


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (["retrievers.a.args.broken=true"], 2),
        (["retrievers.a.on_error=stop"], 5),
        (["retrievers.a.concurrency=${MINE}"], 2),
        (["matchers=null", "match={method: llm, mode: support}"], 4),
    ],
)
def test_errors(config, kragx, settings, code):
    """Whatever ends a run says no secret, and neither does a judge's store."""
    judge = "judge={client: 'hot:Client', args: {token: '${MINE}'}, store: store.sqlite}"
    sets = [part for setting in (*settings, judge) for part in ("--set", setting)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = kragx("run", "config.yaml", *sets)
    assert done.code == code, done.err
    assert "${MINE}" in done.err or code == 4
    assert leaks(done.out + done.err) == []
    if code == 4:
        kragx("judge", "store", "export", "all.jsonl", "--store", "store.sqlite")
        exported = config.with_name("all.jsonl").read_text()
        assert "no such token: ${MINE}" in exported
        assert '"http://h"' in exported
        assert leaks(exported) == []


def test_a_mistake_of_kragx(config, kragx, monkeypatch):
    """A traceback, too, is kept without the secrets of the environment."""
    monkeypatch.setenv("MY_TOKEN", "abcdefgh-12345")

    def broken(*_, **__):
        raise AssertionError("at abcdefgh-12345")

    monkeypatch.setattr("kragx.app.commands.run.configs.load", broken)
    done = kragx("run", "config.yaml")
    assert "at ${MY_TOKEN}" in done.err
    kept = done.err.rpartition(" ")[2].strip()
    assert "abcdefgh" not in Path(kept).read_text(encoding="utf-8")


def test_what_is_a_secret(monkeypatch):
    """By the name of variable or field, as the password of a URL, or by its look; no other."""
    for name, value in {
        "OPENAI_API_KEY": "any-value-1",
        "HF_TOKEN": "sh0rt",
        "LOCAL_API_KEY": "local",
        "STUDIO_API_KEY": "lm-studio",
        "PG_PASSWORD": "2024",
        "ONE_KEY": "1",
        "K": "5",
        "FLAG_TOKEN": "true",
        "PORT": "8080",
        "MODEL": "text-embedding-3-large",
        "INDEX": "products-2026-01-31",
        "PWD": "/home/me",
        "OF_ENV": "value-of-env",
    }.items():
        monkeypatch.setenv(name, value)
    args = {
        "k": "${K}",
        "port": "${PORT}",
        "model": "${MODEL}",
        "index": "${INDEX}",
        "max_tokens": 512,
        "eos_token": "<eos_1234567>",
        "text_key": "page_content_1",
        "api_key": "not-needed",
        "url": "postgres://me:passw0rd@db/x",
        "basic_auth": ["elastic", "changeme"],
        "headers": {"X-Api-Key": "abc12345"},
        "clientSecret": "abc",
        "api_key_env": "OF_ENV",
    }
    secrets = Secrets.of({"retrievers": {"a": {"args": args}}})
    shown = {value: secrets.mask(value) for value in ("any-value-1", "sh0rt", "value-of-env")}
    assert shown == {
        "any-value-1": "${OPENAI_API_KEY}",
        "sh0rt": "${HF_TOKEN}",
        "value-of-env": "${OF_ENV}",
    }
    assert secrets.masked(args) == {
        **args,
        "url": "postgres://me:***@db/x",
        "basic_auth": ["elastic", "***"],
        "headers": {"X-Api-Key": "***"},
        "clientSecret": "***",
    }
    paths = ("url", "basic_auth[1]", "headers.X-Api-Key", "clientSecret")
    assert secrets.literal == tuple(f"retrievers.a.args.{path}" for path in paths)
    asked = "GET https://ann:x1@h/v1?model=m&key=abc, (https://h?api-version=2024), http://h/@ann"
    shown = asked.replace("x1", "***").replace("abc", "***")
    assert secrets.mask(asked) == Secrets().mask(asked) == shown
    # What servers without keys are given, and years, hide nothing and stand in many texts.
    kept = "no answer on port 8080 within 1 s; true, sh0rter, lm-studio, /home/me, 2024"
    assert secrets.mask(kept) == kept


@pytest.mark.integration
def test_errors_of_a_trusted_folder_and_of_a_probe(config, kragx):
    """What asks again with the config's variables masks them in errors as a run does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert kragx("run", "config.yaml").code == 0
    judge = {"client": "hot:Client", "args": {"token": "${MINE}"}}
    raw = {**json.loads(config.read_text()), "judge": judge}
    config.write_text(json.dumps(raw))
    (config.parent / "broken").touch()
    for command in (
        ("report", "out", "--trust"),
        ("threshold", "sweep", "out", "--trust"),
        ("explain", "out", "-q", "q0", "--trust"),
        ("judge", "probe", "config.yaml"),
    ):
        done = kragx(*command)
        assert "refused: ${MINE}" in done.err, command
        assert not leaks(done.out + done.err), command


@all_cases(
    ("name", "secret", "surely"),
    [
        ("OPENAI_API_KEY", True, False),
        ("PINECONE_KEY", True, False),
        ("X-Api-Key", True, False),
        ("clientSecret", True, True),
        ("ES_PASSWORD", True, True),
        ("accesskey", True, False),
        ("max_tokens", False, False),
        ("pad_token", False, False),
        ("mask_token", False, False),
        ("gold_id_key", False, False),
        ("text_key", False, False),
        ("PGPASSWORD", True, True),
        ("DBPASSWORD", True, True),
        ("sshPass", True, True),
        ("SSHPASS", True, True),
        ("DBPWD", True, True),
        ("SMTPPASSWD", True, True),
        ("CLIENTSECRET", True, True),
        ("APITOKEN", True, False),
        ("AUTHTOKEN", True, False),
        ("AccountKey", True, False),
        ("STORAGEKEY", True, False),
        ("padtoken", False, False),
        ("textkey", False, False),
        ("bypass", False, False),
        ("hockey", False, False),
        ("passenger", False, False),
        ("monkey", False, False),
        ("author", False, False),
    ],
)
def test_names(name, secret, surely):
    """One rule says which names are those of secrets, for masks, stored keys and settings."""
    assert (named_secret(name), named_secret(name, surely=True)) == (secret, surely)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:{}@db/x",
        "host=db user=me password={} dbname=x",
        "host=db user=me password='{}' dbname=x",
        "Server=db;Database=x;User Id=me;Password={};Encrypt=yes",
        "Driver={{ODBC 18}};Server=db;UID=me;PWD={{{}}}",
        "jdbc:postgresql://db/x?user=me&password={}&ssl=true",
        "DefaultEndpointsProtocol=https;AccountName=me;AccountKey={};EndpointSuffix=net",
        "Endpoint=sb://x/;SharedAccessKeyName=me;SharedAccessKey={}",
        "cache.example.net:6380,abortConnect=False,password={},ssl=True",
    ],
)
def test_connection_strings(text, monkeypatch):
    """The password in one is masked: of the environment, of a config, of a client, of both."""
    secret = "pa55-of-db-x7"
    said = f"no login for me with {secret} at db"
    monkeypatch.setenv("STORE", text.format(secret))
    assert Secrets.of().mask(said) == "no login for me with ${STORE} at db"
    monkeypatch.delenv("STORE")
    literal = Secrets.of({"args": {"conninfo": text.format(secret)}})
    assert literal.mask(said) == "no login for me with *** at db"
    assert secret not in str(literal.masked({"conninfo": text.format(secret)}))
    assert literal.literal == ("args.conninfo",)
    called_so = Secrets.of({"args": {"dsn": text.format(secret)}})
    assert called_so.mask(said) == "no login for me with *** at db"
    monkeypatch.setenv("PART", secret)
    both = Secrets.of({"args": {"conninfo": text.format("${PART}")}})
    assert both.mask(said) == "no login for me with ${PART} at db"
    assert not both.literal
    assert secret in {*secrets_in({"conninfo": text.format(secret)})}


LETTERS = st.sampled_from(
    "aZß0٣²½Ⅷ \"'`\\/$%^&*()[]{}<>|~+-=.,:;?!#@_“、·€가ᄀ한漢ÅA\u030aﬁİſ𝕊👩🏽"
) | st.integers(0x21, 0x2FFFF).map(chr).filter(lambda one: unicodedata.category(one)[0] in "LNPS")
"""Letters, numbers, punctuation and symbols; `st.characters` would make a table of all first."""


@given(st.text(LETTERS, min_size=9))
def test_any_value(secret):
    """Whatever it is made of, the secret, no word, is not there."""
    assert Secrets({f"7{secret}": "<>"}).mask(f"x 7{secret} y") == "x <> y"


def _fails():
    try:
        raise KeyError("secret-value")
    except KeyError as error:
        raise ValueError("secret-value") from error


def test_nothing_stays_behind():
    """Errors are masked with those behind them."""
    guarded = Secrets({"secret-value": "(masked)"}).guarding()(_fails)
    with pytest.raises(ValueError, match="masked") as raised:
        guarded()
    assert raised.value.__cause__ is not None
    assert raised.value.__cause__.args == ("(masked)",)

"""Keys and passwords that a server says again stand in nothing that judging keeps or says."""

from __future__ import annotations

import base64
import copy
import json
import logging
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from kragx.app.config import filled
from kragx.judging import Judge, LangChainClient, OpenAIClient
from kragx.judging.clients.scripted import ScriptedClient
from tests.judging.server import running
from tests.judging.support import ask
from tests.thoroughness import some

KEY = "xq-Team7/Ab+Cd-9431-ZebraQuote-77aa"
PASSWORD = "p@ss/W0rd-8812"
TOKEN = "t0ken-of-the-body-5512"
HEADER = "hdr-5561-value-of-header"

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "in a header": lambda key: f"Authorization: Bearer {key}",
    "repr": repr,
}


class Echo(BaseHTTPRequestHandler):
    """Says the secrets of each request again: in an error, or in every text of an answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer as a word of the document says, with the secret in the form that it names."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(self.headers["authorization"])
        text = str(body["messages"][-1]["content"])
        form = next((form for name, form in FORMS.items() if f"«{name}»" in text), str)
        said = self.headers["authorization"].removeprefix("Bearer ")
        if said.startswith("Basic "):
            said = base64.b64decode(said.removeprefix("Basic ")).decode().partition(":")[2]
        said = f"{form(said)} and {form(self.headers.get('x-gateway', ''))}"
        if "fails" in text:
            self.reply(400, {"error": {"message": f"no: {said}", "code": said, "type": said}})
            return
        content = json.dumps({"reason": f"it says {said}", "grade": 3})
        message = {"role": "assistant", "content": content}
        if "refuses" in text:
            message = {"role": "assistant", "content": None, "refusal": f"not with {said}"}
        if "prose" in text:
            message["content"] = f"I say {said}"
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "choices": [choice]}
        self.reply(200, {**answer, "model": f"m {said}", "system_fingerprint": f"fp {said}"})

    def reply(self, status: int, body: object) -> None:
        """Send it."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def echoing() -> Iterator[ThreadingHTTPServer]:
    """The server, running; `seen` are the headers Authorization that came."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.seen = []
    with running(server):
        yield server


def leaks(text: str, secret: str) -> list[str]:
    """The forms in which a text holds a secret: as it is, escaped."""
    forms = (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1])
    return [form for form in forms if form in text]


def stored(store: Path) -> str:
    """Every text of a store, and its bytes."""
    with closing(sqlite3.connect(store)) as db:
        rows = [repr(row) for row in db.iterdump()]
    files = [
        path.read_bytes().decode(errors="replace") for path in store.parent.glob(store.name + "*")
    ]
    return "\n".join([*rows, *files])


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:.*was served by different")
@pytest.mark.parametrize("login", [False, True])
def test_in_python(store, monkeypatch, caplog, login):
    """In a notebook no config names the key: what the client sends is masked all the same."""
    secret = PASSWORD if login else KEY
    monkeypatch.setenv("TEAM_VARIABLE", KEY)
    caplog.set_level(logging.DEBUG)
    with echoing() as server:
        host = f"127.0.0.1:{server.server_address[1]}"
        user = f"team:{quote(PASSWORD, safe='')}@" if login else ""
        client = OpenAIClient(
            "m",
            base_url=f"http://{user}{host}/v1",
            api_key_env="TEAM_VARIABLE",
            endpoint=f"http://{user}h",
        )
        judge = Judge(client, store=store, progress=False)
        questions = [
            ask(f"«{form}» {kind}") for form in FORMS for kind in ("", "fails", "refuses", "prose")
        ]
        judged = judge.judge(questions)
    assert {judgement.failure for judgement in judged.judgements} == {
        None,
        "api_error",
        "refusal",
        "invalid_json",
    }
    assert [one.grade for one in judged.judgements[::4]] == [3] * len(FORMS)
    sent = set(server.seen)
    basic = base64.b64encode(f"team:{PASSWORD}".encode()).decode()
    assert sent == ({f"Basic {basic}"} if login else {f"Bearer {KEY}"})
    logs = "\n".join(record.getMessage() for record in caplog.records)
    for text in (stored(store), repr(judge), repr(judged), repr(client.settings), logs):
        shown = {leak: text[text.lower().find(leak) - 60 :][:200] for leak in leaks(text, secret)}
        assert not shown
    assert "***" in judged.judgements[0].reason


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:.*was served by different")
def test_of_a_chat_model(store):
    """A key and a header that LangChain's model holds, and nobody else knows, are masked too."""
    openai = pytest.importorskip("langchain_openai")
    with echoing() as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        headers = {"X-Team": HEADER, "X-Title": "kragx"}
        chat = openai.ChatOpenAI(
            model="m", api_key=KEY, base_url=url, default_headers=headers, max_retries=0
        )
        client = LangChainClient(chat, options={"method": "json_schema"}, endpoint="test server")
        judge = Judge(client, store=store, progress=False)
        kinds = ("", "fails", "refuses")
        judged = judge.judge([ask(f"«{form}» {kind}") for form in FORMS for kind in kinds])
    assert {*client.secrets} >= {KEY, HEADER}
    assert [one.grade for one in judged.judgements[::3]] == [3] * len(FORMS)
    for text in (stored(store), repr(judge), repr(judged), repr(client.settings)):
        assert not leaks(text, KEY)
        assert not leaks(text, HEADER)


def test_clients_keep_the_login_and_hide_it(monkeypatch):
    """A URL's user and password are sent, through copies too, and shown by nothing."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("X_BODY", TOKEN)
    body = {"x_token": filled("${X_BODY}")}
    url = f"http://team:{quote(PASSWORD, safe='')}@h/v1"
    client = OpenAIClient("m", base_url=url, extra_body=body)
    copies = [client, replace(client, seed=1), copy.deepcopy(client)]
    copies.append(pickle.loads(pickle.dumps(client)))
    basic = base64.b64encode(f"team:{PASSWORD}".encode()).decode()
    for one in copies:
        assert one.base_url == "http://h/v1"
        assert one.base_url.basic == f"Basic {basic}"
        assert {PASSWORD, TOKEN} <= {*one.secrets}
        for text in (repr(one), str(one.settings), repr(Judge(one)), repr(one.extra_body)):
            assert not leaks(text, PASSWORD)
            assert not leaks(text, TOKEN)


@pytest.mark.parametrize(
    "key", some(["1", "a", "none", "local", "ollama", "lm-studio", "2024", "EMPTY"], 4)
)
def test_a_key_that_is_none_masks_nothing(store, monkeypatch, key):
    """What servers without keys are given stays where texts have it, and in keys of judgements."""
    grades = []
    for value in (key, "another"):
        monkeypatch.setenv("OPENAI_API_KEY", value)
        said = f"1 a none local ollama lm-studio 2024 EMPTY: {key}"
        answer = json.dumps({"reason": said, "grade": 3})
        client = ScriptedClient([answer], model=f"m-{key}")
        grades += Judge(client, store=store, progress=False).judge([ask("a document")]).judgements
    assert [one.reason for one in grades] == [said, said]
    assert [one.source for one in grades] == ["judge", "store"]

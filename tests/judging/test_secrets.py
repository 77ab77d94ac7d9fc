"""Keys and passwords that a server says again stand in nothing that judging keeps or says."""

from __future__ import annotations

import base64
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from kragx.judging import Judge, OpenAIClient
from tests.judging.support import ask

KEY = "xq-Team7/Ab+Cd-9431-Zebra\"Q'uote-77aa"
PASSWORD = "p@ss/W0rd-8812"
HEADER = "hdr-5561-value-of-header"

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "in a header": lambda key: f"Authorization: Bearer {key}",
    "upper case": str.upper,
    "quoted": lambda key: quote(key, safe=""),
    "repr": repr,
    "escaped": lambda key: json.dumps(json.dumps(key)),
    "base64": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "in halves": lambda key: f"{key[:16]} and then {key[16:]}",
    "spaced": " ".join,
    "in lines": lambda key: "\n".join(key[at : at + 5] for at in range(0, len(key), 5)),
    "cut off": lambda key: f"{key[:12]}... is no key",
    "starred": lambda key: f"{key[:10]}********{key[-4:]} is no key",
    "hex": lambda key: key.encode().hex(),
}


class Echo(BaseHTTPRequestHandler):
    """Says the secrets of each request again: in an error, or in every text of an answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer as a word of the document says, with the secret in the form that it names."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(self.headers["authorization"])
        text = str(body["messages"][-1]["content"])
        form = next(form for name, form in FORMS.items() if f"«{name}»" in text)
        said = self.headers["authorization"].removeprefix("Bearer ")
        if said.startswith("Basic "):
            said = base64.b64decode(said.removeprefix("Basic ")).decode().partition(":")[2]
        said = form(said)
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
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def leaks(text: str, secret: str) -> list[str]:
    """Pieces of a secret in a text, in whatever case and with whatever between its letters."""
    squeezed = "".join(filter(str.isalnum, text.lower()))
    whole = "".join(filter(str.isalnum, secret.lower()))
    pieces = {whole[at : at + 10] for at in range(len(whole) - 9)}
    codes = {base64.b64encode(secret[at : at + 12].encode()).decode() for at in range(3)}
    codes |= {secret.encode().hex()[2:-2], quote(secret, safe="")}
    return [piece for piece in pieces if piece in squeezed] + [
        code for code in codes if code in text
    ]


def stored(store: Path) -> str:
    """Every text of a store, and its bytes."""
    with sqlite3.connect(store) as db:
        rows = [repr(row) for row in db.iterdump()]
    files = [
        path.read_bytes().decode(errors="replace") for path in store.parent.glob(store.name + "*")
    ]
    return "\n".join([*rows, *files])


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

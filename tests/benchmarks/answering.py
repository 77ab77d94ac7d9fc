"""What an answer of the workshop's page costs: 20 people ask for a pair and judge it, at once.

Applications are called as a server calls them, without sockets.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from kragx.workshop.desk import Desk
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.services import judging, people
from kragx.workshop.state.records import new_uid
from kragx.workshop.state.state import State
from kragx.workshop.web.server import application
from tests.workshop.load import made

PEOPLE = 20
JUDGEMENTS = 400


async def _asked(app: ASGIApp, token: str, path: str, body: object = None) -> Any:
    """The answer to a request."""
    headers = {"host": "127.0.0.1", "x-kragx-token": token, "content-type": "application/json"}
    scope = {
        "type": "http",
        "method": "GET" if body is None else "POST",
        "path": path,
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
    }
    sent: list[Message] = []
    request = {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}

    async def receive() -> Message:
        return request

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == 200, sent
    return json.loads(b"".join(message.get("body", b"") for message in sent))


async def _judged(app: ASGIApp, tokens: Sequence[str]) -> None:
    left = iter(range(JUDGEMENTS))

    async def person(token: str) -> None:
        for number in left:
            pair = (await _asked(app, token, "/api/next"))["pair"]
            judgement = {"uid": new_uid(), "question": pair["question"]["uid"], "grade": number % 4}
            judgement["document"] = pair["document"]["id"]
            await _asked(app, token, "/api/judgements", judgement)

    await asyncio.gather(*map(person, tokens))


def _measured(app: ASGIApp, tokens: Sequence[str]) -> dict[str, float]:
    start = process_time()
    asyncio.run(_judged(app, tokens))
    return {"seconds": (process_time() - start) / (2 * JUDGEMENTS)}


def answered(chunks: str) -> dict[str, float]:
    """Processor seconds of an answer of a workshop over a corpus of so many chunks.

    Without underlining, which finds the words of each text once and keeps them.
    """
    with tempfile.TemporaryDirectory() as folder:
        shop = made(Path(folder), int(chunks))
        workshop = Workshop.open(shop)
        with workshop.store() as store:
            desk = Desk(workshop, State(store))
            tokens = [
                people.link_token(desk, people.annotator(desk, f"person{n}")) for n in range(PEOPLE)
            ]
            with patch.object(judging, "_underlined", lambda view: view):
                return _measured(application(desk), tokens)


def bare(_: str) -> dict[str, float]:
    """The same of the least server: it says one pair always, and commits what is judged."""
    pair = {"question": {"uid": "q", "text": "?" * 30}, "document": {"id": "d", "text": "x" * 300}}

    def answer(work: Callable[[Request], Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def endpoint(request: Request) -> JSONResponse:
            await work(request)
            return JSONResponse({"pair": pair})

        return endpoint

    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(f"{folder}/judged.sqlite", check_same_thread=False)
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE judged (row TEXT)")

        lock = threading.Lock()

        def commit(row: bytes) -> None:
            with lock, db:
                db.execute("INSERT INTO judged VALUES (?)", (json.dumps(json.loads(row)),))

        async def next_pair(_: Request) -> None:
            await run_in_threadpool(str)

        async def judge(request: Request) -> None:
            await run_in_threadpool(commit, await request.body())

        routes = [
            Route("/api/next", answer(next_pair)),
            Route("/api/judgements", answer(judge), methods=["POST"]),
        ]
        seconds = _measured(Starlette(routes=routes), ["x"] * PEOPLE)
        db.close()
    return seconds

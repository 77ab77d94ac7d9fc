"""A workshop to try things on, and its server."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.workshop import services
from kragx.workshop.desk import Desk
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.folder.starting import start
from kragx.workshop.state.records import new_uid
from kragx.workshop.state.state import State

CORPUS = {
    "refund": "환불은 물건을 받은 날부터 7일 안에 신청합니다.",
    "delivery": "배송은 주문한 날부터 이틀이 걸립니다.",
    "warranty": "The warranty covers two years.",
}
_SOURCES = {"sources": ["warranty"]}
GOLD = (
    {
        "query_id": "q1",
        "query": "환불은 며칠 안에 하나요?",
        "gold": [{"id": "refund", "grade": 2}],
        "metadata": _SOURCES,
    },
    {
        "query_id": "q2",
        "query": "배송은 얼마나 걸리나요?",
        "gold": [{"id": "delivery", "grade": 1}],
        "metadata": _SOURCES,
    },
)


def written(path: Path, records: Any) -> Path:
    """A file of JSON Lines."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return path


def started(folder: Path, **options: Any) -> Path:
    """The folder of a workshop of three documents and two questions with a graded one each."""
    folder.mkdir(exist_ok=True)
    corpus = ({"id": key, "text": text} for key, text in CORPUS.items())
    files = {
        "corpus": written(folder / "corpus.jsonl", corpus),
        "gold": written(folder / "gold.jsonl", GOLD),
    }
    start(folder / "shop", **{**files, **options})
    return folder / "shop"


@contextmanager
def opened(folder: Path) -> Iterator[Desk]:
    """The desk of a workshop."""
    workshop = Workshop.open(folder)
    with workshop.store() as store:
        yield Desk(workshop, State(store))


@dataclass
class Served:
    """A server that runs, and how to ask it.

    Attributes:
        desk: what it answers from.
        port: where it listens.
        token: of the owner's link.
        visitors: what is left before the server stops, so that no page asks one that is gone.
    """

    desk: Desk
    port: int
    token: str
    visitors: ExitStack

    def annotator(self, name: str) -> str:
        """The token of an annotator."""
        return services.people.link_token(self.desk, services.people.annotator(self.desk, name))

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Status and JSON of an answer; as the owner, unless another token is given."""
        status, _, answer = self.raw(method, path, body, token=token, headers=headers)
        return status, json.loads(answer) if answer else None

    def raw(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body of an answer."""
        sent = {"X-Kragx-Token": self.token if token is None else token}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, {**sent, **(headers or {})})  # type: ignore[arg-type]
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[Served]:
    """The server of a workshop, in a thread."""
    from kragx.workshop.web.server import application, listening, server

    with opened(folder) as desk, listening("127.0.0.1", None) as socket:
        running = server(application(desk, **options))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [socket]})
        thread.start()
        try:
            with ExitStack() as visitors:
                yield Served(
                    desk,
                    socket.getsockname()[1],
                    services.people.link_token(desk, desk.state.owner()),
                    visitors,
                )
        finally:
            running.should_exit = True
            thread.join()


def grade(question: str, document: str, number: int, **fields: Any) -> dict[str, Any]:
    """What the page sends for a grade."""
    uid = {"uid": new_uid(), "question": question, "document": document}
    return {**uid, "kind": "grade", "grade": number, **fields}

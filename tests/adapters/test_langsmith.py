"""LangSmith's datasets and experiments, against a small server that speaks its protocol."""

from __future__ import annotations

import json
import re
import threading
import uuid
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from kragx import DataError, Retrieved, Run, UsageError, evaluate
from kragx.adapters.langsmith import log, read_examples
from kragx.data import Doc

NOW = "2026-01-31T09:00:00+00:00"
DATASET = str(uuid.UUID(int=7))


class Server(ThreadingHTTPServer):
    """Keeps what is sent, and has one dataset."""

    daemon_threads = True

    def __init__(self, examples):
        super().__init__(("127.0.0.1", 0), Handler)
        self.examples = examples
        self.projects: dict[str, dict] = {}
        self.runs: dict[str, dict] = {}
        self.feedback: list[dict] = []
        self.unknown: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """The paths that the client asks for datasets, examples, projects, runs and feedback."""

    server: Server

    def log_message(self, *_):
        """Nothing is printed."""

    def do_GET(self):
        """Answer what is read."""
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        if url.path == "/info":
            sizes = {"size_limit": 100, "size_limit_bytes": 1_000_000}
            threads = {"scale_up_nthreads_limit": 2, "scale_up_qsize_trigger": 1000}
            ingest = {"use_multipart_endpoint": True, **sizes, **threads}
            self.answer({"version": "1", "batch_ingest_config": ingest})
        elif url.path == "/datasets":
            own = {"id": DATASET, "name": "faq", "created_at": NOW, "data_type": "kv"}
            self.answer([own] if asked.get("name") == ["faq"] else [])
        elif url.path == "/sessions":  # any one tells whose account it is
            self.answer(list(self.server.projects.values()))
        elif url.path == "/examples":
            start = int(asked.get("offset", ["0"])[0])
            self.answer(self.server.examples[start : start + int(asked.get("limit", ["100"])[0])])
        else:
            self.refuse()

    def do_POST(self):
        """Take what is sent."""
        body = self.body()
        path = urlsplit(self.path).path
        if path == "/sessions":
            own = {**json.loads(body), "id": str(uuid.uuid4()), "start_time": NOW}
            own |= {"tenant_id": str(uuid.UUID(int=1))}
            self.server.projects[own["name"]] = own
            self.answer(own)
        elif path == "/runs/multipart":
            self.parts(body)
            self.answer({})
        elif path == "/feedback":
            own = json.loads(body)
            self.server.feedback.append(own)
            self.answer(own)
        else:
            self.refuse()

    def do_PATCH(self):
        """An experiment that ends."""
        self.body()
        if re.fullmatch(r"/sessions/[\w-]+", self.path):
            self.answer(next(iter(self.server.projects.values())))
        else:
            self.refuse()

    def body(self) -> bytes:
        """What was sent."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return data

    def parts(self, body: bytes) -> None:
        """Runs and feedback come in parts: ``post.ID``, ``post.ID.inputs``, ``feedback.ID``."""
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
            name = part.get_param("name", header="content-disposition")
            value = json.loads(part.get_payload(decode=True))
            kind, run_id, *field = name.split(".")
            if kind == "feedback":
                self.server.feedback.append(value)
            elif field:
                self.server.runs.setdefault(run_id, {})[field[0]] = value
            else:
                self.server.runs.setdefault(run_id, {}).update(value)

    def answer(self, value) -> None:
        """Send JSON."""
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self) -> None:
        """A path that no test expects."""
        self.server.unknown.append(self.path)
        self.send_error(404)


def example(number: int, inputs: dict, outputs: dict) -> dict:
    """An example as the server has it."""
    return {
        "id": str(uuid.UUID(int=number)),
        "dataset_id": DATASET,
        "created_at": NOW,
        "inputs": inputs,
        "outputs": outputs,
        "metadata": {"topic": "cards"},
    }


@pytest.fixture
def served(monkeypatch):
    """A server with examples, and a client of it."""
    from langsmith import Client

    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    started = []

    def start(*examples):
        server = Server(list(examples))
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        started.append((server, thread))
        address = f"http://127.0.0.1:{server.server_address[1]}"
        client = Client(api_url=address, api_key="key-of-a-test", workspace_id=None)
        started[-1] += (client,)
        return server, client

    yield start
    for server, thread, client in started:
        client.cleanup()
        server.shutdown()
        server.server_close()
        thread.join()


EXAMPLES = (
    example(1, {"question": "만료되나요?"}, {"documents": ["Gift cards never expire."]}),
    example(2, {"question": "refund?"}, {"documents": [{"page_content": "In 14 days."}], "a": "x"}),
    example(3, {"question": "shops?"}, {"documents": ["Shops open at nine."]}),
)
IDS = [own["id"] for own in EXAMPLES]


@pytest.mark.integration
def test_there_and_back(served):
    """Examples are gold; each question becomes a run with its documents and its values."""
    server, client = served(*EXAMPLES)
    gold = read_examples("faq", reference="a", client=client)
    assert [query.id for query in gold] == IDS
    assert [query.text for query in gold] == ["만료되나요?", "refund?", "shops?"]
    assert gold[IDS[1]].gold[0].text == "In 14 days."
    assert (gold[IDS[1]].reference, gold[IDS[1]].metadata) == ("x", {"topic": "cards"})
    run = Run(
        {
            IDS[0]: Retrieved(
                (Doc(text="x"), Doc("d", "Gift cards never expire.", score=0.5)), 0.25
            ),
            IDS[1]: Retrieved(error="Timeout: too slow"),
        },
        name="bm25",
    )
    result = evaluate(gold, run, match="exact", metrics=["mrr@5"])
    assert log(result, run, dataset="faq", experiment="mine", client=client) == "mine"
    assert server.unknown == []
    project = server.projects["mine"]
    assert project["reference_dataset_id"] == DATASET
    by_example = {own["reference_example_id"]: own for own in server.runs.values()}
    assert set(by_example) == set(IDS)
    first, failed, missing = (by_example[name] for name in IDS)
    assert (first["run_type"], first["name"]) == ("retriever", "bm25")
    assert first["inputs"] == {"query": "만료되나요?"}
    assert [own["page_content"] for own in first["outputs"]["documents"]] == [
        "x",
        "Gift cards never expire.",
    ]
    assert (failed["error"], missing["error"]) == ("Timeout: too slow", "missing")
    scores = {own["run_id"]: (own["key"], own["score"]) for own in server.feedback}
    assert {
        by_example[name]["id"]: ("mrr@5", value) for name, value in zip(IDS, (0.5, 0.0, 0.0))
    } == (scores)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        ({"a": "x", "b": "y"}, {"documents": ["g"]}, "no question among its inputs (a, b); name"),
        ({"question": 3}, {"documents": ["g"]}, "no question among its inputs (question)"),
        ({"question": "x"}, {"answer": "g"}, "no gold among its outputs (answer); name its key"),
        ({"question": "x"}, {}, "no gold among its outputs (none)"),
        ({"question": "x"}, {"documents": [3]}, "example 00000000-0000-0000-0000-000000000001"),
    ],
)
def test_broken_examples(served, inputs, outputs, said):
    """What is no question or no gold is an error with the example and the remedy."""
    _, client = served(example(1, inputs, outputs))
    with pytest.raises(DataError) as raised:
        read_examples("faq", client=client)
    assert said in str(raised.value)


@pytest.mark.integration
def test_other_keys(served):
    """Keys can be named, and a single input is the question."""
    _, client = served(example(1, {"text": "why?"}, {"answer": "because"}))
    (query,) = read_examples("faq", gold="answer", client=client)
    assert (query.text, query.gold[0].text) == ("why?", "because")
    _, empty = served()
    with pytest.raises(DataError, match="has no examples"):
        read_examples("faq", client=empty)


def test_another_gold_set():
    """A gold set from elsewhere has no examples that an experiment could name."""
    run = {"q1": ["a"]}
    result = evaluate({"q1": ["a"]}, run, match="exact")
    with pytest.raises(UsageError, match=r"is no example of LangSmith|has no gold set"):
        log(result, Run.from_documents(run), dataset="faq", client=object())

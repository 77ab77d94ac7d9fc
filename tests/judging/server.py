"""A local HTTP server that speaks the chat completions protocol, faults included.

What it answers is decided by words in the document that is judged, so that a recorded conversation
can be made again at any time:

* ``grade-N``: grade N (also one that is not on the scale)
* ``refuses``, ``truncates``, ``filtered``, ``prose``: the failures of those names
* ``busy``: 429 with Retry-After the first time, then a grade
* ``conflict``: 409 the first time, then a grade
* ``broken``: 500 the first time, then a grade
* ``hangs up``: the connection is closed without an answer the first time
* ``slow``: the answer takes longer than the client waits, the first time
* ``forbidden``: 401
* ``unknown``: 404, the model is not there
* none of these: grade 3 if the document holds the gold text, else 0

Asked for facts it takes the document's sentences, those with "also" as okay; asked which facts a
context holds, it looks for their words: all of them, some, or none.

    python -m tests.judging.server 8000        # and, if wanted, the seconds an answer takes

It is not a model, and its grades mean nothing.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "local-judge"
SLOW = 1.5  # seconds
GOLD, FACTS, DOCUMENT = (
    re.compile(f"<<<{name} .*?>>>\n(.*?)\n<<<end", re.S) for name in ("gold", "facts", "document")
)


def listed(*texts):
    """The answer to a question about several things; None to any other."""
    asked = "\n".join(texts)
    document = DOCUMENT.search(asked)
    document = document[1] if document else ""
    if facts := FACTS.search(asked):
        pairs = [line.split(". ", 1) for line in facts[1].split("\n")]
        things = [
            {"number": int(number), "reason": f"look for {fact}", "grade": held(fact, document)}
            for number, fact in pairs
        ]
    elif "Importance of a fact:" in asked:
        sentences = [part.strip() for part in document.split(".") if part.strip()]
        things = [{"fact": part, "grade": int("also" not in part)} for part in sentences]
    else:
        return None
    return json.dumps({"facts": things})


def held(fact, document):
    """2 if all words of a fact stand in a document, 1 if some of them do."""
    words = [word in document.split() for word in fact.split()]
    return 2 * all(words) or int(any(words))


class Server(ThreadingHTTPServer):
    """The server; `requests` are the bodies it got, `delay` the seconds an answer takes."""

    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, port=0, delay=0.0, every=None, handler=None):
        super().__init__(("127.0.0.1", port), handler or Handler)
        self.delay = delay
        self.every = every
        self.requests = []
        self.seen = Counter()
        self.lock = threading.Lock()
        self.fingerprint = "fp_local"

    @property
    def base_url(self):
        """What a client is told."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request, client_address):
        """A client that went away is no news."""


@contextmanager
def running(server):
    """Within, a server serves, in a thread."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serving(port=0, delay=0.0, every=None, handler=None):
    """A running server; `every=10` refuses every tenth request."""
    return running(Server(port, delay, every, handler))


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        """Answer a chat completion."""
        body = self.body()
        text = "\n".join(str(message["content"]) for message in body["messages"])
        document = text.rsplit("<<<document", 1)[-1]
        with self.server.lock:
            self.server.requests.append(body)
            number = len(self.server.requests)
            self.server.seen[document] += 1
            first = self.server.seen[document] == 1
        if self.server.delay:
            time.sleep(self.server.delay)
        if first and "hangs up" in document:
            self.close_connection = True
            return
        if first and "slow" in document:
            time.sleep(SLOW)
        if "forbidden" in document:
            self.error(401, "invalid_api_key", "no such key")
        elif "unknown" in document:
            self.error(404, "not_found_error", f"model '{body['model']}' not found")
        elif first and "busy" in document:
            self.error(429, "rate_limit_exceeded", "slow down", {"retry-after": "2"})
        elif first and "conflict" in document:
            self.error(409, "aborted", "in use")
        elif first and "broken" in document:
            self.error(500, "server_error", "something broke")
        elif self.server.every and number % self.server.every == 0:
            self.say(body, None, refusal="I would rather not.")
        else:
            self.completion(body, document)

    def body(self):
        """What was asked."""
        return json.loads(self.rfile.read(int(self.headers["content-length"])))

    def completion(self, body, document):
        """An answer with status 200."""
        grade = re.search(r"grade-(-?\d+)", document)
        gold = GOLD.search(str(body["messages"][-1]["content"]))
        held = bool(gold) and gold[1] in document
        answer = listed(*(str(message["content"]) for message in body["messages"])) or json.dumps(
            {"reason": "as the document says", "grade": int(grade[1]) if grade else 3 * held}
        )
        if "refuses" in document:
            self.say(body, None, refusal="I cannot help with that.")
        elif "truncates" in document:
            self.say(body, answer[:12], finish="length")
        elif "filtered" in document:
            self.say(body, None, finish="content_filter")
        elif "prose" in document:
            self.say(body, "I would say that this is a 3 out of 3.")
        else:
            self.say(body, answer)

    def say(self, body, content, refusal=None, finish="stop"):
        """A completion in the protocol's form, as a tool call if tools were offered."""
        message = {"role": "assistant", "content": content, "refusal": refusal}
        if body.get("tools") and content is not None and finish == "stop":
            name = body["tools"][0]["function"]["name"]
            call = {"name": name, "arguments": content}
            message["content"] = None
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
            finish = "tool_calls"
        sent = sum(len(str(each["content"])) for each in body["messages"]) // 4
        self.reply(
            200,
            {
                "id": "chatcmpl-local",
                "object": "chat.completion",
                "created": 1700000000,
                "model": f"{body['model']}-2025-01-01",
                "system_fingerprint": self.server.fingerprint,
                "choices": [
                    {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
                ],
                "usage": {
                    "prompt_tokens": sent,
                    "completion_tokens": 20,
                    "total_tokens": sent + 20,
                },
            },
        )

    def error(self, status, code, message, headers=()):
        """An error in the protocol's form."""
        error = {"message": message, "type": "error", "param": None, "code": code}
        self.reply(status, {"error": error}, headers)

    def reply(self, status, body, headers=()):
        """Send it, with a cookie and an organisation as real services do."""
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.send_header("set-cookie", "session=a-cookie-that-must-not-be-kept")
        self.send_header("openai-organization", "an-organisation-that-must-not-be-kept")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Say nothing."""


if __name__ == "__main__":
    port, delay = (*sys.argv[1:], *("8000", "0")[len(sys.argv) - 1 :])
    with serving(int(port), float(delay)) as running:
        sys.stdout.write(f"{running.base_url}\n")
        sys.stdout.flush()
        threading.Event().wait()

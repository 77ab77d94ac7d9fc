"""A stand-in for an LLM judge: a local HTTP server that speaks the chat completions protocol.

    python examples/judge_server.py 8000        # then: base_url http://127.0.0.1:8000/v1

It is not a language model. It grades by the share of the gold text's (or the query's) pairs of
characters that the document holds, and declines a few documents, as models do. It serves to try
out judging, its store, costs and bounds without a network; its grades mean nothing.
configs/judge.yaml uses it through `local_client`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kragx.judging import OpenAIClient

FENCED = re.compile(r"<<<(\w+) (\w+)>>>\n(.*?)\n<<<end \2>>>", re.DOTALL)
DECLINES = 53  # one document in so many


def local_client(model: str = "local-stand-in") -> OpenAIClient:
    """Start a server in this process on any free port, and point the `openai` client at it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base_url = f"http://127.0.0.1:{server.server_port}/v1"
    # The port changes with every run; the name keeps the stored judgements valid.
    return OpenAIClient(model, base_url=base_url, endpoint="examples/judge_server.py")


def grade(texts: dict[str, str]) -> int:
    """0 to 3, by the share of the gold text or query that stands in the document."""
    wanted = pairs(texts.get("gold") or texts["query"])
    share = len(wanted & pairs(texts["document"])) / max(1, len(wanted))
    return sum(share >= limit for limit in (0.25, 0.5, 0.8))


def pairs(text: str) -> set[str]:
    """The pairs of neighbouring characters within words."""
    return {word[at : at + 2] for word in text.lower().split() for at in range(len(word) - 1)}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = body["messages"][-1]["content"]
        texts = {name: text for name, _, text in FENCED.findall(said)}
        answer = json.dumps({"reason": "shared pairs of characters", "grade": grade(texts)})
        declines = zlib.crc32(texts["document"].encode()) % DECLINES == 0
        message = {
            "role": "assistant",
            "content": None if declines else answer,
            "refusal": "I would rather not." if declines else None,
        }
        data = json.dumps(
            {
                "id": "chatcmpl-local",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "system_fingerprint": "fp_1",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": len(said) // 2,
                    "completion_tokens": len(answer) // 4,
                    "total_tokens": 0,
                },
            }
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    print(f"http://127.0.0.1:{port}/v1")
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()

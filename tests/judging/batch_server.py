"""The local server with OpenAI's files and batches besides.

Files and batches are kept in a folder, so that a server that is killed finds them again. A batch
stands still until somebody calls `Batches.run`, unless `quick` is set: then it is done when it is
looked at for the first time. Answers are those of `tests.judging.server`, by words in the document.
`faults` are names of what goes wrong once, at the next request that can:

* ``upload lost``, ``create lost``: it is done, and the connection closed without an answer
* ``upload 500``, ``create 500``: it is not done
* ``create 400``: it is refused
* ``half``: half of a file comes; ``cut``: the same, and its length says that this is all

    python -m tests.judging.batch_server PORT FOLDER
"""

from __future__ import annotations

import json
import random
import re
import sys
import threading
import time
from pathlib import Path

from tests.judging.server import Handler, Server, running

NOT_RUN = {"expired": "batch_expired", "cancelled": "batch_cancelled"}


class Batches(Server):
    """The server; `n_batches` counts those that were ever made."""

    def __init__(self, folder, port=0, quick=False):
        super().__init__(port)
        self.RequestHandlerClass = BatchHandler
        self.folder, self.quick = Path(folder), quick
        self.folder.mkdir(parents=True, exist_ok=True)
        self.faults = []
        self.log = []
        self.page = 100

    # -- what there is -------------------------------------------------------------------------

    def read(self, name):
        """A batch or a file's description; None if there is none."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def write(self, value):
        """Keep it."""
        path = self.folder / f"{value['id']}.json"
        path.with_suffix(".tmp").write_text(json.dumps(value))
        path.with_suffix(".tmp").replace(path)
        return value

    def all(self, kind):
        """All batches, or files, newest first."""
        values = [json.loads(path.read_text()) for path in self.folder.glob(f"{kind}*.json")]
        return sorted(values, key=lambda value: (value["created_at"], value["id"]), reverse=True)

    @property
    def n_batches(self):
        """How many batches there are."""
        return len(self.all("batch"))

    def new_file(self, name, content, purpose):
        """A file with its description."""
        number = len(list(self.folder.glob("file*.json"))) + 1
        file = {
            "id": f"file-{number:04d}",
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": name,
            "purpose": purpose,
            "status": "processed",
        }
        (self.folder / f"{file['id']}.bin").write_bytes(content)
        return self.write(file)

    def content(self, name):
        """What a file holds."""
        return (self.folder / f"{name}.bin").read_bytes()

    def asked(self):
        """The custom ids of all batches, in order of their lines."""
        return [
            json.loads(line)["custom_id"]
            for batch in reversed(self.all("batch"))
            for line in self.content(batch["input_file_id"]).splitlines()
        ]

    # -- running -------------------------------------------------------------------------------

    def run(self, batch, status="completed", share=1.0, change=lambda lines: lines):
        """Answer a share of a batch's requests, in another order, and end it.

        `change` gets the lines of the file of answers and gives others.
        """
        batch = self.read(batch) if isinstance(batch, str) else batch
        requests = [json.loads(line) for line in self.content(batch["input_file_id"]).splitlines()]
        random.Random(7).shuffle(requests)
        n_run = round(share * len(requests))
        lines = [self.line(request) for request in requests[:n_run]]
        good = [line for line in lines if line["response"]["status_code"] == 200]
        bad = [line for line in lines if line["response"]["status_code"] != 200]
        late = [
            {
                "id": "batch_req_late",
                "custom_id": request["custom_id"],
                "response": None,
                "error": {"code": NOT_RUN[status], "message": "not run in time"},
            }
            for request in requests[n_run:]
        ]
        counts = {"total": len(requests), "completed": len(good), "failed": len(bad) + len(late)}
        batch |= {"status": status, "request_counts": counts}
        for name, entries in (("output", good), ("error", bad + late)):
            texts = [json.dumps(entry, ensure_ascii=False) for entry in entries]
            texts = change(texts) if name == "output" else texts
            if texts:
                content = "".join(f"{text}\n" for text in texts).encode()
                file = self.new_file(f"{batch['id']}_{name}.jsonl", content, "batch_output")
                batch[f"{name}_file_id"] = file["id"]
        return self.write(batch)

    def line(self, request):
        """The line that answers a request."""
        said = _Said.__new__(_Said)
        said.server = self
        body = request["body"]
        document = str(body["messages"][-1]["content"]).rsplit("<<<document", 1)[-1]
        if "busy" in document:
            said.error(429, "rate_limit_exceeded", "slow down")
        elif "broken" in document:
            said.error(500, "server_error", "something broke")
        else:
            said.completion(body, document)
        status, answer = said.said
        return {
            "id": f"batch_req_{request['custom_id'][:8]}",
            "custom_id": request["custom_id"],
            "response": {"status_code": status, "request_id": "req", "body": answer},
            "error": None,
        }

    def take_fault(self, *names):
        """The first fault of these names that is still to happen; it happens once."""
        with self.lock:
            for name in self.faults:
                if name in names:
                    self.faults.remove(name)
                    return name
        return None


class _Said(Handler):
    """An answer that is kept instead of sent."""

    def reply(self, status, body, headers=()):
        """Keep it."""
        self.said = status, body


class BatchHandler(Handler):
    """One connection."""

    def do_POST(self):  # noqa: N802
        """Make a file or a batch, or end one; else answer a chat completion."""
        if self.path.endswith("/chat/completions"):
            super().do_POST()
            return
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.log.append(f"POST {self.path}")
        what = "upload" if self.path.endswith("/files") else "create"
        fault = self.server.take_fault(*(f"{what} {how}" for how in ("lost", "500", "400")))
        if fault and fault.endswith("500"):
            self.error(500, "server_error", "something broke")
            return
        if fault and fault.endswith("400"):
            self.error(400, "invalid_request_error", "no batches for this model")
            return
        if self.path.endswith("/cancel"):
            batch = self.server.read(self.path.split("/")[-2])
            made = self.server.write(batch | {"status": "cancelling"})
        else:
            made = self.upload(body) if what == "upload" else self.create(json.loads(body))
        if fault:
            self.close_connection = True
            return
        self.reply(200, made)

    def upload(self, body):
        """A file of a form."""
        boundary = self.headers["content-type"].split("boundary=")[1].encode()
        parts = {
            re.search(rb'name="(\w+)"', head)[1].decode(): (head, content.removesuffix(b"\r\n"))
            for head, _, content in (
                part.partition(b"\r\n\r\n") for part in body.split(b"--" + boundary)[1:-1]
            )
        }
        head, content = parts["file"]
        assert parts["purpose"][1] == b"batch"
        name = re.search(rb'filename="([^"]+)"', head)[1].decode()
        return self.server.new_file(name, content, "batch")

    def create(self, wanted):
        """A batch of a file."""
        assert wanted["endpoint"] == "/v1/chat/completions"
        assert wanted["completion_window"] == "24h"
        number = self.server.n_batches + 1
        lines = self.server.content(wanted["input_file_id"]).splitlines()
        return self.server.write(
            {
                "id": f"batch_{number:04d}",
                "object": "batch",
                "endpoint": wanted["endpoint"],
                "errors": None,
                "input_file_id": wanted["input_file_id"],
                "completion_window": "24h",
                "status": "validating",
                "output_file_id": None,
                "error_file_id": None,
                "created_at": int(time.time()),
                "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
                "metadata": wanted.get("metadata"),
            }
        )

    def do_GET(self):  # noqa: N802
        """Say what there is."""
        path, _, query = self.path.partition("?")
        self.server.log.append(f"GET {path}")
        *_, kind, name = path.split("/")
        if name == "content":
            self.send_file(kind)
        elif name == "batches":
            batches = self.server.all("batch")
            after = re.search(r"after=(\w+)", query)
            names = [batch["id"] for batch in batches]
            start = names.index(after[1]) + 1 if after else 0
            page = batches[start : start + self.server.page]
            more = start + len(page) < len(batches)
            self.reply(200, {"object": "list", "data": page, "has_more": more})
        else:
            value = self.server.read(name)
            if value is None:
                self.error(404, "not_found", f"no {kind} {name}")
                return
            if self.server.quick and value.get("status") == "validating":
                value = self.server.run(value)
            self.reply(200, value)

    def send_file(self, name):
        """What a file holds, or the half of it."""
        if self.server.read(name) is None:
            self.error(404, "not_found", f"No such File object: {name}")
            return
        content = self.server.content(name)
        fault = self.server.take_fault("half", "cut")
        sent = content[: len(content) // 2] if fault else content
        self.send_response(200)
        self.send_header("content-type", "application/octet-stream")
        self.send_header("content-length", str(len(sent if fault == "cut" else content)))
        self.end_headers()
        self.wfile.write(sent)
        if fault:
            self.close_connection = True

    def do_DELETE(self):  # noqa: N802
        """Remove a file."""
        name = self.path.rsplit("/", 1)[-1]
        self.server.log.append(f"DELETE {self.path}")
        (self.server.folder / f"{name}.json").unlink(missing_ok=True)
        self.reply(200, {"id": name, "object": "file", "deleted": True})


def batches(folder, port=0, quick=False):
    """A running server."""
    return running(Batches(folder, port, quick))


if __name__ == "__main__":
    with batches(sys.argv[2], int(sys.argv[1]), quick=True) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        threading.Event().wait()

"""Many people at once, and a server that is killed among them; prints how long it answers.

python -m tests.workshop.load --chunks 50000 --judgements 2000 --people 20 [--pause 2]
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kragx.workshop.folder.starting import start
from kragx.workshop.state.records import Judgement, new_uid
from kragx.workshop.state.store import RecordStore
from tests.workshop.serving import written

_WORDS = (
    *("환불", "배송", "보증", "수리", "교환", "계약", "철회", "기간", "비용"),
    *("소비자", "판매자", "서면", "보험", "여행", "항공"),
)


@dataclass
class Outcome:
    """What people were told, and what is stored.

    Attributes:
        acknowledged: uids of judgements that were answered with 200.
        sent: uids of all that were sent.
        stored: how often each uid is stored.
        seconds: by kind of request how long each answer took.
        killed: whether the server was killed meanwhile.
    """

    acknowledged: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    stored: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"next": [], "judgements": []})
    killed: bool = False


def made(folder: Path, chunks: int, questions: int = 120, pairs: int = 40, **options) -> Path:
    """A workshop with so many chunks, and so many pairs suggested for each question."""
    rng = random.Random(0)

    def text(number):
        return f"{number}. " + " ".join(rng.choices(_WORDS, k=60)) + f" {number * 7919}"

    corpus = written(
        folder / "corpus.jsonl", ({"id": f"c{n}", "text": text(n)} for n in range(chunks))
    )
    records = [
        {
            "query_id": f"q{n}",
            "query": f"{rng.choice(_WORDS)} {n}번은 어떻게 하나요?",
            "gold": [],
            "metadata": {"sources": [f"c{rng.randrange(chunks)}" for _ in range(pairs)]},
        }
        for n in range(questions)
    ]
    start(
        folder / "shop",
        corpus=corpus,
        questions=written(folder / "questions.jsonl", records),
        **options,
    )
    return folder / "shop"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _served(shop: Path, port: int, names: list[str]) -> tuple[subprocess.Popen[str], list[str]]:
    """A server of its own process, and the tokens of these people."""
    command = [sys.executable, "-m", "kragx", "workshop", str(shop), "--no-browser"]
    command += ["--port", str(port), *(part for name in names for part in ("--annotator", name))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    links = {}
    for line in process.stdout or ():
        if match := re.fullmatch(r"(\w+): http://\S+#(\S+)\n", line):
            links[match[1]] = match[2]
        if line.startswith("Ctrl-C"):
            break
    return process, [links[name] for name in names]


def ask(outcome, connection, kind, method, path, token, body=None):
    """The answer to a request; how long it took is noted."""
    started = time.perf_counter()
    headers = {"X-Kragx-Token": token, "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    value = json.loads(answer.read())
    outcome.seconds[kind].append(time.perf_counter() - started)
    assert answer.status == 200, value
    return value


def load(
    shop: Path, *, judgements: int, people: int, kill: bool = True, pause: float = 0
) -> Outcome:
    """Let people judge at once; half-way the server is killed and restarted.

    Each asks for a pair, judges it, and sends the same again until it is acknowledged.

    Args:
        shop: the folder.
        judgements: how many in all.
        people: how many people.
        kill: whether the server is killed.
        pause: the most seconds for which each reads a pair; with 0 they are as fast as they can be.
    """
    port, names = _free_port(), [f"person{number}" for number in range(people)]
    process, tokens = _served(shop, port, names)
    outcome, lock = Outcome(), threading.Lock()
    left = iter(range(judgements))

    def again(work):
        """What work gives, once there is a server that answers."""
        while True:
            try:
                return work()
            except (OSError, http.client.HTTPException):  # killed: the page tries again, too
                time.sleep(0.2)

    def judge(token):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def once(*request):
            try:
                return ask(outcome, connection, *request)
            except BaseException:
                connection.close()
                raise

        while True:
            with lock:
                number = next(left, None)
            if number is None:
                connection.close()
                return
            pair = again(lambda: once("next", "GET", "/api/next", token))["pair"]
            assert pair is not None, "made with too few pairs"
            body = {
                "uid": new_uid(),
                "question": pair["question"]["uid"],
                "document": pair["document"]["id"],
                "grade": number % 4,
            }
            outcome.sent.add(body["uid"])
            time.sleep(random.uniform(0, pause))
            request = ("judgements", "POST", "/api/judgements", token, body)
            again(lambda request=request: once(*request))
            outcome.acknowledged.add(body["uid"])

    threads = [threading.Thread(target=judge, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    while kill and len(outcome.acknowledged) < judgements // 2:
        time.sleep(0.01)
    if kill:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        outcome.killed = True
        process, _ = _served(shop, port, names)
    for thread in threads:
        thread.join()
    process.terminate()
    process.communicate()
    return outcome


def main() -> None:
    """Print what was stored, and how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("chunks", 50_000), ("judgements", 2000), ("people", 20)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--pause", type=float, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shop = made(Path(folder), options.chunks)
        sizes = {"judgements": options.judgements, "people": options.people}
        outcome = load(shop, **sizes, pause=options.pause)
        print(summary(shop, outcome))


def summary(shop: Path, outcome: Outcome) -> str:
    """What was stored, read from the file itself, and how long answers took."""
    with RecordStore(shop / "workshop.sqlite") as store:
        rows = [row for row in store.after({}) if isinstance(row, Judgement)]
    outcome.stored.update(row.uid for row in rows)
    lines = [
        f"acknowledged {len(outcome.acknowledged)}, of these stored "
        f"{len(outcome.acknowledged & outcome.stored.keys())}, twice "
        f"{sum(count > 1 for count in outcome.stored.values())}"
    ]
    for kind, seconds in outcome.seconds.items():
        own = sorted(seconds)
        lines.append(
            f"{kind}: median {statistics.median(own) * 1000:.0f} ms, 95 % within "
            f"{own[int(0.95 * len(own))] * 1000:.0f} ms, {len(own)} answers"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()

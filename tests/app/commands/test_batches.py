"""`kragx judge submit`, `status` and `collect`, and what a run says of what is pending."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from openai.resources.batches import AsyncBatches
from openai.resources.files import AsyncFiles

from kragx.adapters import batches as provider_batches
from kragx.judging import Store
from tests.judging.batch_server import BatchHandler, batches

ROOT = Path(__file__).parents[3]
STORE = Path(".kragx/judgements.sqlite")
N = 24
CONFIG = """
dataset: gold.jsonl
retrievers:
  one: {results: one.jsonl}
  two: {results: two.jsonl}
match: llm
metrics: [recall@3]
"""


@pytest.fixture
def server(here, monkeypatch):
    """The local server with batches."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    with batches(here / "server") as running:
        yield running


@pytest.fixture
def config(server, here):
    """Write a config whose two retrievers find 24 pairs in all; further lines may follow."""

    def write(text=CONFIG, document="document", judge="", **changes):
        for name, ranks in (("one", range(3)), ("two", range(1, 4))):
            lines = [
                {
                    "query_id": f"q{query}",
                    "query": f"question {query}",
                    "gold": [{"text": f"gold {query}"}],
                    "retrieved": [
                        {"text": f"{document} {query}-{rank} grade-{(query + rank) % 4}"}
                        for rank in ranks
                    ],
                }
                for query in range(6)
            ]
            text_of = "".join(f"{json.dumps(line)}\n" for line in lines)
            Path(f"{name}.jsonl").write_text(text_of)
            for line in lines:
                line.pop("retrieved")
            Path("gold.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        own = f'judge: {{model: local-judge, base_url: "{server.base_url}"{judge}}}\n'
        Path("kragx.yaml").write_text(text + own)
        return "kragx.yaml"

    return write


def rows():
    """Every stored attempt."""
    with Store(STORE) as store:
        return list(store.records())


def once(server):
    """Every question was asked, and none twice."""
    counts = Counter(server.asked())
    return len(counts) == N and set(counts.values()) == {1}


def right(server):
    """All grades are there, as the documents say, and nothing was asked live."""
    attempts = rows()
    grades = {row["question"]["document"]: row["grade"] for row in attempts if "grade" in row}
    assert len(grades) == N
    assert all(text.endswith(f"grade-{grade}") for text, grade in grades.items())
    return not server.requests and once(server)


@pytest.mark.integration
def test_submit_collect_run(kragx, config, server):
    """Submitted once, collected once; a run before that says what to do, one after it asks none."""
    path = config(judge=", prices: {local-judge: {input: 1, output: 2, batch: 0.5}}")
    first = kragx("judge", "submit", path)
    assert first.code == 0
    assert "local-judge: 24 questions submitted" in first.out
    again = kragx("judge", "submit", path)
    assert ": 0 questions submitted" in again.out
    early = kragx("run", path)
    assert early.code == 4
    assert "18 are in batches that were submitted" in early.err
    assert "kragx judge collect" in early.err
    assert "judge.ask_pending=true" in early.err
    assert "in all 0 calls to " in kragx("run", path, "--dry-run").out
    waiting = kragx("judge", "collect", path)
    assert waiting.code == 4
    assert "24 questions are pending" in waiting.out
    server.run("batch_0001")
    status = kragx("judge", "status", path)
    assert status.code == 0
    assert "completed, 24 of 24 answered" in status.out
    assert not rows()
    done = kragx("judge", "collect", path)
    assert done.code == 0
    assert "24 grades" in done.out
    tokens = [(row["prompt_tokens"], row["completion_tokens"]) for row in rows()]
    sent, got = (sum(counts) for counts in zip(*tokens, strict=True))
    assert f"24 grades, {sent} + {got} tokens" in done.out
    run = kragx("run", path)
    assert run.code == 0
    assert "from the store: 18 of 18" in run.out
    assert right(server)


def test_nothing_there(kragx, config):
    """Nothing is pending before a submit, and a config that judges nothing is an error."""
    path = config()
    for name in ("status", "collect"):
        done = kragx("judge", name, path)
        assert "nothing is pending" in done.out
        assert done.code == 0
    Path("kragx.yaml").write_text("dataset: gold.jsonl\nretrievers: {one: {results: gold.jsonl}}")
    for name in ("submit", "status", "collect"):
        refused = kragx("judge", name, "kragx.yaml")
        assert refused.code == 2
        assert "kragx.yaml: nothing is judged here" in refused.err


@pytest.mark.integration
def test_the_same_grade(kragx, config, server):
    """A grade from a batch has the key, question, model and tokens of one that was asked live."""
    path = config()
    kragx("judge", "submit", path)
    server.run("batch_0001")
    kragx("judge", "collect", path)
    kragx("run", path, "--set", "judge.store=live.sqlite")
    with Store("live.sqlite") as store:
        live = {row["key"]: row for row in store.records()}
    batched = {row["key"]: row for row in rows()}
    own = ("uid", "at", "seconds", "source")
    assert live.keys() == batched.keys()
    for key, row in live.items():
        assert {k: v for k, v in row.items() if k not in own} == {
            k: v for k, v in batched[key].items() if k not in own
        }
    assert {row["source"] for row in batched.values()} == {"batch"}


@pytest.mark.integration
def test_several_batches(kragx, config, server, monkeypatch):
    """What does not go into one batch is left to the next submit; each is looked after."""
    monkeypatch.setattr(provider_batches, "MOST_REQUESTS", 10)
    path = config()
    for n in (14, 4):
        assert f"{n} questions left out" in kragx("judge", "submit", path).out
    assert "left out" not in kragx("judge", "submit", path).out
    assert [len(server.content(f"file-000{n}").splitlines()) for n in (1, 2, 3)] == [10, 10, 4]
    for n in (1, 2, 3):
        server.run(f"batch_000{n}")
    assert kragx("judge", "status", path).out.count("completed") == 3
    assert kragx("judge", "collect", path).code == 0
    assert right(server)
    assert kragx("judge", "status", path).out.count("collected") == 3


def test_a_store_names_no_server_to_send_a_key_to(kragx, config, server, monkeypatch):
    """A store may be somebody else's: a key goes where the user says, and nowhere else."""
    path = config()
    kragx("judge", "submit", path)
    monkeypatch.setattr(AsyncBatches, "retrieve", lambda *_: pytest.fail("asked"))
    for command in ("status", "collect"):
        done = kragx("judge", command, path, "--set", "judge.base_url=http://127.0.0.1:9/v1")
        assert "it is not known how to reach" in done.out + done.err
        assert "name the config" in done.out + done.err


@pytest.mark.integration
def test_lines_of_all_kinds(kragx, config, server):
    """Any order, twice, unknown, broken, 429 and 500 within: each is what it is, and is said."""
    path = config(document="doc")
    texts = Path("one.jsonl").read_text()
    for rank, word in enumerate(("busy", "broken", "refuses")):
        texts = texts.replace(f"doc {rank}-{rank} grade", f"{word} {rank}-{rank} grade")
    Path("one.jsonl").write_text(texts)
    kragx("judge", "submit", path)

    def change(lines):
        strange = json.dumps({**json.loads(lines[0]), "custom_id": "nobody's"})
        odd = [json.dumps(odd) for odd in ([], None, {"custom_id": 3}, {"response": {}})]
        failed = json.loads(lines[1])
        failed |= {"response": None, "error": {"code": "server_error", "message": "later good"}}
        return [json.dumps(failed), lines[0], *odd, "", "{", strange, *lines]

    server.run("batch_0001", change=change)
    done = kragx("judge", "collect", path)
    assert done.code == 0
    assert all(f"1 {kind}: " in done.out for kind in ("refusal", "rate_limit", "api_error"))
    words = " ".join(done.out.split())
    assert "1 api_error: see what the server says; another run asks again; such as" in words
    assert "something broke" in words
    n_asked = len(server.asked())
    by_kind = Counter(row.get("failure") for row in rows())
    assert by_kind == {None: n_asked - 3, "api_error": 1, "rate_limit": 1, "refusal": 1}
    # What may succeed another time is submitted again; what the model refused is not.
    assert "2 questions submitted" in kragx("judge", "submit", path).out


@pytest.mark.integration
@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_partial_results(kragx, config, server, status):
    """Of a batch that ended early the answers count, and the rest is submitted again."""
    path = config()
    kragx("judge", "submit", path)
    server.run("batch_0001", status, share=0.5)
    done = kragx("judge", "collect", path)
    assert done.code == 0
    assert "12 grades" in done.out
    assert "no answer came for: 12" in done.out
    assert len(rows()) == 12
    assert "12 questions submitted" in kragx("judge", "submit", path).out
    server.run("batch_0002")
    assert kragx("judge", "collect", path).code == 0
    grades = {row["question"]["document"]: row["grade"] for row in rows()}
    assert len(rows()) == len(grades) == N


@pytest.mark.integration
def test_failed_batch(kragx, config, server):
    """A batch that was refused after all says why, and its questions are free again."""
    path = config()
    kragx("judge", "submit", path)
    batch = server.read("batch_0001")
    error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": 3}
    server.write(batch | {"status": "failed", "errors": {"object": "list", "data": [error]}})
    done = kragx("judge", "collect", path)
    assert "token_limit_exceeded: Enqueued token limit reached" in done.out
    assert "24 questions submitted" in kragx("judge", "submit", path).out


@pytest.mark.integration
@pytest.mark.parametrize("status", ["validating", "in_progress", "finalizing", "cancelling", "new"])
def test_not_there_yet(kragx, config, server, status):
    """Whatever a provider calls it: what has not ended stays pending."""
    path = config()
    kragx("judge", "submit", path)
    server.write(server.read("batch_0001") | {"status": status})
    done = kragx("judge", "collect", path)
    assert done.code == 4
    assert f"{status}, 0 of 24 answered" in done.out
    assert ": 0 questions submitted" in (kragx("judge", "submit", path).out)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fault", "code"),
    [("upload lost", 0), ("upload 500", 0), ("create lost", 4), ("create 500", 4)],
)
def test_connection_lost(kragx, config, server, fault, code, monkeypatch):
    """Whatever of a submit gets lost on the way, nothing is asked twice, and nothing forgotten."""
    monkeypatch.setattr(provider_batches, "_SOON", 0.0)
    path = config()
    server.faults.append(fault)
    assert kragx("judge", "submit", path).code == code
    assert kragx("judge", "submit", path).code == 0
    assert server.n_batches == 1
    server.run("batch_0001")
    assert kragx("judge", "collect", path).code == 0
    assert right(server)


@pytest.mark.integration
def test_not_listed_yet(kragx, config, server):
    """A batch that may have been made is waited for a minute, lest it be made twice."""
    path = config()
    server.faults.append("create 500")
    assert "making a batch failed" in kragx("judge", "submit", path).err
    second = kragx("judge", "submit", path)
    assert ": 0 questions submitted" in second.out
    assert "being made, or interrupted" in kragx("judge", "status", path).out
    assert server.n_batches == 0


@pytest.mark.integration
def test_refused(kragx, config, server):
    """What the provider refuses is said in its words, and can be submitted again."""
    path = config()
    server.faults.append("create 400")
    refused = kragx("judge", "submit", path)
    assert refused.code == 4
    assert "no batches for this model" in refused.err
    assert "24 questions submitted" in kragx("judge", "submit", path).out


@pytest.mark.integration
def test_half_a_download(kragx, config, server):
    """A body that breaks off is asked for again; half a file stays pending till another time."""
    path = config()
    kragx("judge", "submit", path)
    server.run("batch_0001")
    server.faults += ["half", "cut"]
    half = kragx("judge", "collect", path)
    assert half.code == 4
    assert "lines came" in half.out
    assert not rows()
    assert kragx("judge", "collect", path).code == 0
    assert right(server)


@pytest.mark.integration
def test_a_batch_that_never_becomes_whole(kragx, config, server):
    """What is wrong is said with the way out, which leaves nothing pending."""
    path = config()
    kragx("judge", "submit", path)
    server.run("batch_0001", change=lambda lines: lines[1:])
    for _ in range(2):
        stuck = kragx("judge", "collect", path)
        assert stuck.code == 4
        words = " ".join(stuck.out.split())
        assert "it has fewer lines than it says: 23 of 24 lines came" in words
        assert "kragx run CONFIG.yaml --set judge.ask_pending=true" in words
    assert kragx("run", path, "--set", "judge.ask_pending=true").code == 0
    # One pair is beyond what the run looks at.
    assert (
        kragx("run", path, "--set", "judge.ask_pending=true", "--set", "metrics=[recall@4]").code
        == 0
    )
    out = kragx("judge", "collect", path)
    assert "no answer came for: 1" in " ".join(out.out.split())
    assert out.code == 0


@pytest.mark.integration
def test_file_gone(kragx, config, server):
    """Answers that the provider no longer has are said to be lost, and can be asked again."""
    path = config()
    kragx("judge", "submit", path)
    batch = server.run("batch_0001")
    (server.folder / f"{batch['output_file_id']}.json").unlink()
    done = kragx("judge", "collect", path)
    assert "No such File object" in done.out
    assert "no answer came for: 24" in done.out
    assert "24 questions submitted" in kragx("judge", "submit", path).out


@pytest.mark.integration
def test_batch_gone(kragx, config, server):
    """A batch that the key does not see stays pending: it may be another account's."""
    path = config()
    kragx("judge", "submit", path)
    (server.folder / "batch_0001.json").unlink()
    done = kragx("judge", "collect", path)
    assert done.code == 4
    assert "is it the same account?" in done.out
    assert "24 questions are pending" in done.out
    asked = kragx("run", path, "--set", "judge.ask_pending=true")
    assert asked.code == 0
    assert len(server.requests) == N


@pytest.mark.integration
def test_no_server(kragx, config, server, here):
    """Where nothing listens, status says what was last known, and why no more."""
    path = config()
    kragx("judge", "submit", path)
    status = kragx("judge", "status", path, "--set", "judge.base_url=http://127.0.0.1:9/v1")
    assert "it is not known how to reach" in status.out
    assert status.code == 0
    config_text = Path(path).read_text().replace(server.base_url, "http://127.0.0.1:9/v1")
    Path("elsewhere.yaml").write_text(config_text)
    failed = kragx("judge", "submit", "elsewhere.yaml", "--set", "judge.store=other.sqlite")
    assert failed.code == 4
    assert "uploading a file failed: ConnectError" in failed.err


@pytest.mark.integration
def test_odd_servers(kragx, config, server, monkeypatch):
    """A server without batches, or one that says something else, is one line, not a crash."""
    path = config()
    monkeypatch.setattr(server, "new_file", lambda *_: {"object": "nothing"})
    odd = kragx("judge", "submit", path)
    assert odd.code == 4
    assert "an answer that kragx cannot read" in odd.err
    monkeypatch.setattr(server, "new_file", lambda *_: ["a", "list"])
    assert "an answer that kragx cannot read" in kragx("judge", "submit", path).err
    assert server.n_batches == 0


@pytest.mark.integration
def test_an_odd_charset(kragx, config, server, monkeypatch):
    """Whatever codec a server names, its words are read."""
    send = BatchHandler.send_header

    def sent(self, name, value):
        send(self, name, f"{value}; charset=hex" if name == "content-type" else value)

    monkeypatch.setattr(BatchHandler, "send_header", sent)
    path = config()
    server.faults.append("create 400")
    refused = kragx("judge", "submit", path)
    assert refused.code == 4
    assert "no batches for this model" in refused.err
    assert kragx("judge", "submit", path).code == 0


@pytest.mark.integration
def test_found_among_many(kragx, config, server, monkeypatch):
    """An orphan is found again on a later page of a long list."""
    monkeypatch.setattr(provider_batches, "_SOON", 0.0)
    server.page = 2
    path = config()
    server.faults.append("create lost")
    kragx("judge", "submit", path)
    ours = server.read("batch_0001")
    for n in range(2, 8):
        server.write(ours | {"id": f"batch_000{n}", "metadata": None})
    assert ": 0 questions submitted" in (kragx("judge", "submit", path).out)
    assert "batch_0001: 24 questions" in kragx("judge", "status", path).out


@pytest.mark.integration
def test_another_submit_at_once(kragx, config, server, monkeypatch):
    """Of two submits at a time one gives way: no question is in two batches."""
    path = config()
    upload = AsyncFiles.create
    codes = []

    async def late(self, **options):
        monkeypatch.setattr(AsyncFiles, "create", upload)
        command = [sys.executable, "-m", "kragx", "judge", "submit", path]
        codes.append(subprocess.run(command, env=environment(), check=False).returncode)
        return await upload(self, **options)

    monkeypatch.setattr(AsyncFiles, "create", late)
    slow = kragx("judge", "submit", path)
    assert codes == [0]
    assert slow.code == 0
    assert ": 0 questions submitted" in slow.out
    assert server.n_batches == 1
    server.run("batch_0001")
    assert kragx("judge", "collect", path).code == 0
    assert right(server)


@pytest.mark.integration
def test_budgets(kragx, config, server):
    """Only what fits at most is submitted; in money at the price of batches, if it is known."""
    path = config()
    calls = kragx("judge", "submit", path, "--set", "judge.budget={calls: 5}")
    assert "5 questions submitted" in calls.out
    assert "19 questions left out" in calls.out
    assert len(server.asked()) == 5
    config(judge=", prices: {local-judge: {input: 1, output: 1000}}")
    unknown = kragx("judge", "submit", path, "--set", "judge.budget=10")
    assert unknown.code == 2
    assert "judge.prices.local-judge.batch" in unknown.err
    # At most 2048 tokens each for 1000 a million, and half of that: 1.024 and a little.
    config(judge=", prices: {local-judge: {input: 1, output: 1000, batch: 0.5}}")
    assert "9 questions submitted" in kragx("judge", "submit", path, "--set", "judge.budget=10").out
    half = kragx("judge", "submit", path, "--set", "judge.prices.local-judge.batch=50")
    assert half.code == 2
    assert "judge.prices.local-judge.batch" in half.err


CASCADE = CONFIG.replace(
    "match: llm",
    """match:
  cascade:
    - {method: text, accept: 1}
    - {method: llm, accept: 3, reject: 1}
    - {method: llm, judge: {model: second-judge, base_url: "URL", store: second.sqlite}}""",
)


@pytest.mark.integration
def test_cascade(kragx, config, server):
    """A judge is asked what the cheaper matchers leave open, a second one after the first."""
    path = config(CASCADE.replace("URL", server.base_url))
    texts = Path("one.jsonl").read_text().replace("document 0-0", "document with gold 0")
    Path("one.jsonl").write_text(texts)
    first = kragx("judge", "submit", path)
    assert "local-judge: 23 questions submitted" in first.out
    assert "second-judge" not in first.out  # which is asked after the first has answered
    server.run("batch_0001")
    assert kragx("judge", "collect", path).code == 0
    second = kragx("judge", "submit", path)
    assert "local-judge: 0 questions submitted" in second.out
    open_ = sum(row["grade"] in (1, 2) for row in rows())
    assert f"second-judge: {open_} questions submitted" in second.out
    early = kragx("run", path)
    assert early.code == 4
    assert not server.requests
    server.run("batch_0002")
    assert kragx("judge", "collect", path).code == 0
    assert kragx("run", path).code == 0
    assert not server.requests


@pytest.mark.integration
def test_pool(kragx, config, server):
    """Without gold, relevance of the union of what was retrieved is submitted."""
    path = config()
    for name in ("gold", "one", "two"):
        lines = [json.loads(line) for line in Path(f"{name}.jsonl").read_text().splitlines()]
        for line in lines:
            line["gold"] = []
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert "24 questions submitted" in kragx("judge", "submit", path).out
    server.run("batch_0001")
    assert kragx("judge", "collect", path).code == 0
    assert kragx("run", path).code == 0
    assert right(server)


def test_langchain(kragx, config, server):
    """A LangChain model is refused before a retriever is asked, with the remedy."""
    path = config()
    text = Path(path).read_text().split("judge:")[0]
    args = "{model: m, api_key: k, base_url: 'http://127.0.0.1:9/v1'}"
    chat = f"judge: {{client: 'langchain_openai:ChatOpenAI', args: {args}}}"
    Path(path).write_text(text + chat)
    refused = kragx("judge", "submit", path)
    assert refused.code == 2
    assert "cannot be asked in batches" in refused.err
    assert "kragx run" in refused.err


RETRIEVER = """
def find(question):
    with open("asked.txt", "a") as file:
        file.write(question + "\\n")
    return [{"text": f"document of {question} grade-2"}]
"""


@pytest.mark.integration
def test_retrievers_are_asked_once(kragx, config, server, module, here):
    """What retrievers answered when it was submitted is what the run judges."""
    module("finding", RETRIEVER)
    path = config(CONFIG + "output: out\n")
    text = Path(path).read_text()
    for name in ("one", "two"):
        text = text.replace(
            f"{name}: {{results: {name}.jsonl}}", f"{name}: {{class: 'finding:find'}}"
        )
    Path(path).write_text(text)
    assert "6 questions submitted" in kragx("judge", "submit", path).out
    assert len(Path("asked.txt").read_text().splitlines()) == 12
    server.run("batch_0001")
    assert kragx("judge", "collect", path).code == 0
    run = kragx("run", path)
    assert run.code == 0
    assert len(Path("asked.txt").read_text().splitlines()) == 12
    assert not server.requests


# -- killed ------------------------------------------------------------------------------------


def environment():
    """Of a process that finds these tests."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path.cwd())])}


def killed(where, *command):
    """Run a command that is killed there."""
    arguments = [sys.executable, "-m", "tests.judging.dying_batches", where, *command]
    done = subprocess.run(arguments, env=environment(), capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


no_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")


@pytest.mark.integration
@no_kill
@pytest.mark.parametrize(
    "where",
    [
        "before Register.plan 1",
        "after AsyncFiles.create 1",
        "after Register.plan 1",
        "after AsyncBatches.create 1",
        "after Register.move 1",
    ],
)
def test_killed_submit(kragx, config, server, where, monkeypatch):
    """Killed at any step, a submit is finished by the next: nothing is twice."""
    monkeypatch.setattr(provider_batches, "_SOON", 0.0)
    path = config()
    killed(where, "judge", "submit", path)
    assert kragx("judge", "submit", path).code == 0
    assert once(server)
    for batch in server.all("batch"):
        server.run(batch)
    assert kragx("judge", "collect", path).code == 0
    assert right(server)


@pytest.mark.integration
@no_kill
@pytest.mark.parametrize(
    "where",
    [
        "after AsyncBatches.retrieve 1",
        "after AsyncFiles.content 1",
        "after Store.add 1",
        "before Register.move 1",
        "after Register.move 1",
    ],
)
def test_killed_collect(kragx, config, server, where):
    """Killed at any step of a collect: the next stores all, and no row twice."""
    path = config()
    kragx("judge", "submit", path)
    server.run("batch_0001")
    killed(where, "judge", "collect", path)
    assert kragx("judge", "collect", path).code == 0
    assert len(rows()) == N
    assert right(server)


@pytest.mark.integration
@no_kill
def test_killed_server(kragx, config, server, tmp_path):
    """A server that is killed and comes back has the batch yet, and so has the store."""
    path = config()
    kragx("judge", "submit", path)
    server.server_close()
    assert kragx("judge", "collect", path).code == 4
    text = Path(path).read_text()
    with batches(server.folder, quick=True) as back:
        Path(path).write_text(text.replace(server.base_url, back.base_url))
        moved = kragx("judge", "collect", path)
        assert moved.code == 4  # at its former address nothing answers
    with batches(server.folder, port=server.server_address[1], quick=True):
        Path(path).write_text(text)
        assert kragx("judge", "collect", path).code == 0
    assert right(server)


def test_states(kragx, config, server, monkeypatch):
    """How far a batch is is said before and after each step of a submit."""
    states = []

    def looked(method):
        async def called(*args, **options):
            with Store(STORE) as store:
                states.extend(batch.state for batch in store.batches.batches())
            return await method(*args, **options)

        return called

    for owner in (AsyncFiles, AsyncBatches):
        monkeypatch.setattr(owner, "create", looked(owner.create))
    kragx("judge", "submit", config())
    with Store(STORE) as store:
        assert [*states, store.batches.batches()[0].state] == ["planned", "submitted"]


@pytest.mark.integration
def test_a_panel(config, kragx, server):
    """A batch for each judge; the third one's, where two differ, when theirs are collected."""
    path = config()
    judges = [f'{{model: {name}, base_url: "{server.base_url}"}}' for name in "abc"]
    text = CONFIG + f"judge: {{panel: [{', '.join(judges)}], ask: needed}}\n"
    Path(path).write_text(text)
    capped = ("--set", "judge.budget={calls: 30}", "--set", "judge.store=capped.sqlite")
    capped_out = kragx("judge", "submit", path, *capped).out
    assert "a: 24 questions submitted" in capped_out
    assert "b: 6 questions submitted" in capped_out  # one budget for all of them
    first = kragx("judge", "submit", path).out
    assert "a: 24 questions submitted" in first
    assert "b: 24 questions submitted" in first
    assert server.n_batches == 4

    def stricter(lines):
        """It says 1 where the other one says 2."""
        return [line.replace('\\"grade\\": 2', '\\"grade\\": 1') for line in lines]

    server.run("batch_0003")
    server.run("batch_0004", change=stricter)
    early = kragx("run", path)
    assert early.code == 4
    assert "kragx judge collect" in early.err
    assert kragx("judge", "collect", path).code == 0
    last = kragx("judge", "submit", path).out
    assert "c: 6 questions submitted" in last
    server.run("batch_0005")
    assert kragx("judge", "collect", path).code == 0
    run = kragx("run", path)
    assert run.code == 0
    assert "alpha (ordinal) among a and b" in run.out
    assert not server.requests

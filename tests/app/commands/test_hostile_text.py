"""No text from data steers a terminal, whichever command prints it, and wherever it stands."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

# What renames, clears or turns a terminal; colours are rich's own.
STEERS = "\x1b]0;x\x07\x1b[2J\x9b2J\u202ed\u2066\x7f\u061c"
OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
OWN = re.compile(r"\x1b\[[\d;]*m|\x1b\[2J\x1b\[H")
NAME = f"{STEERS}[red]a"  # a file may be called so as well
TEXT = f"{STEERS}\r\n\tone two three [link=http://x]four[/link]"

RECORDS = [
    {
        "query_id": f"{NAME}{number}",
        "query": f"{TEXT} {number}",
        "query_type": f"{NAME}type{number % 2}",
        "gold": [{"id": f"{NAME}g{number}", "text": f"{TEXT} five {number}", "grade": 2}],
        "retrieved": [
            {"id": f"{NAME}g{number}", "text": f"{TEXT} five {number}", "metadata": {NAME: NAME}},
            {"id": f"{NAME}h{number}", "text": f"other {TEXT}"},
        ],
    }
    for number in range(6)
]
FAILED = {**RECORDS[0], "query_id": f"{NAME}failed", "retrieved": None, "error": TEXT}
MODULE = f"""
import warnings
from langchain_core.documents import Document
from kragx.judging import Answer, Failure, Usage

def fails(question):
    warnings.warn({TEXT!r})
    if question.endswith(("1", "2")):
        raise ValueError({TEXT!r})
    return [Document(page_content=question, id=question)]

def broken():
    raise ValueError({TEXT!r})

class Client:
    settings = {{"provider": {NAME!r}, "base_url": {NAME!r}, "model": {NAME!r}}}

    async def ask(self, request):
        text = request.messages[-1][1]
        about = {{"model": {NAME!r} + text[-60], "fingerprint": {NAME!r}}}
        if "five 5" in text:
            return Failure("api_error", {TEXT!r}, {TEXT!r}, **about)
        if "five 4" in text:
            return Failure("refusal", {TEXT!r}, {TEXT!r}, **about)
        return Answer({json.dumps({"reason": TEXT, "grade": 2})!r}, Usage(1, 1), **about)
"""


@pytest.fixture
def folder(here: Path, module: Callable[[str, str], None], kragx) -> Path:
    """Every file that a command reads, hostile wherever it holds a text; two runs, `a` and `b`."""
    module("hostile", MODULE)
    lines = [json.dumps(record) + "\n" for record in (*RECORDS, FAILED)]
    (here / f"{NAME}.jsonl").write_text("".join(lines))
    (here / "good.jsonl").write_text("".join(lines[:-1]))
    gold = [
        {name: value for name, value in record.items() if name != "retrieved"} for record in RECORDS
    ]
    (here / "gold.jsonl").write_text("".join(json.dumps(record) + "\n" for record in gold))
    qrels = [
        f"{record['query_id']} 0 {document['id']} {number % 3}\n"
        for number, record in enumerate(RECORDS)
        for document in record["retrieved"]
    ]
    (here / "human.qrels").write_text("".join(qrels))
    run = [
        f"{record['query_id']} Q0 {document['id']} 1 {1 / rank} {NAME}\n"
        for record in RECORDS
        for rank, document in enumerate(record["retrieved"], start=1)
    ]
    (here / "one.run").write_text("".join(run))
    config = {
        "dataset": {"path": "gold.jsonl", "name": NAME, "version": NAME},
        "retrievers": {
            f"{NAME}fails": {"class": "hostile:fails"},
            f"{NAME}file": {"results": "good.jsonl"},
            f"{NAME}other": {"results": "good.jsonl"},
        },
        "matchers": {f"{NAME}id": "id", f"{NAME}judge": {"method": "llm", "mode": "support"}},
        "judge": {"client": "hostile:Client", "store": "store.sqlite", "max_missing": 0.9},
        "metrics": ["mrr@10", "recall@1"],
        "slices": ["query_type"],
        "max_failed": 0.5,
        "gates": {"mrr@10": ">= 0.9", "recall@1": ">= 1.1"},
        "statistics": {"resamples": 100},
        "html": False,
        "output": "a",
    }
    (here / "config.yaml").write_text(json.dumps(config))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = kragx("run", "config.yaml")
    assert done.code == 1, done.err
    assert not any(map(OBEYED.search, map(str, (here / "a").rglob("*"))))
    shutil.copytree(here / "a", here / "b")
    return here


COMMANDS = """
run config.yaml -o c --full
run config.yaml --dry-run
run config.yaml -o c --summary summary.md
run {name}.yaml
run config.yaml --set {name}=1
run config.yaml --set retrievers.{name}fails.class=hostile:broken
run config.yaml --set match={quoted} --set matchers=null
run config.yaml --set metrics={quoted}
run config.yaml --set baseline={quoted}
run config.yaml --set dataset.path={quoted}
run config.yaml --set max_failed={quoted}
run config.yaml --set judge.client={quoted}
run config.yaml --set judge.max_missing=0
run config.yaml --set judge.max_missing=0 --set judge.repeat=1
run config.yaml --set gates={{mrr@10:{quoted}}}
{name}
score {name}
score {name}.jsonl
score {name}.jsonl --per-query
score {name}.jsonl --per-query --format csv
score {name}.jsonl --per-query --format json
score good.jsonl --match {name}
score good.jsonl --metric {name}
score good.jsonl --{name}
score --qrels human.qrels --run one.run
report a
report a --full
report a --format json
report a --format csv
report a --format markdown
report a --format html --out {name}.html
report {name}
compare a b
compare a b --format json
compare a b --format markdown
compare a --retriever {name}file --retriever {name}other
compare a b --gate {name}
explain a -q {name}1
explain a -q {name}1 --full
explain a -q {name}1 --format json
explain a -q {name}
explain {name}.jsonl -q {name}1
match {name}.jsonl
match {name}.jsonl --no-texts
agree human.qrels human.qrels --runs one.run
agree human.qrels {name}
gold validate gold.jsonl
gold validate gold.jsonl --format json
gold validate {name}.jsonl
gold validate {name}
threshold sweep good.jsonl
threshold sweep good.jsonl --format csv
threshold sweep {name}
threshold calibrate good.jsonl --labels human.qrels
judge corrected human.qrels human.qrels --runs one.run --metric mrr@10 --least 3
judge probe config.yaml --passages 2
judge store stats --store store.sqlite
judge store stats --store store.sqlite --format json
judge store stats --store {name}
judge submit config.yaml
judge status config.yaml
judge collect config.yaml
judge store export {name}.jsonl --store store.sqlite
judge store import human.qrels --store {name}.sqlite
init {name}
metrics
metrics --format csv
schema
"""


@pytest.mark.integration
@pytest.mark.parametrize("terminal", [False, True])
def test_every_command(folder, kragx, terminal):
    """Nothing that a terminal obeys is printed, but colours."""
    steered = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for command in filter(None, COMMANDS.splitlines()):
            args = [word.format(name=NAME, quoted=json.dumps(NAME)) for word in command.split()]
            done = kragx(*args, stdin="1q", terminal=terminal)
            assert done.code in range(6), (command, done.err)
            shown = OWN.sub("", done.out) + done.err
            if match := OBEYED.search(shown):
                steered.append((command, shown[max(0, match.start() - 40) :][:80]))
    assert not steered

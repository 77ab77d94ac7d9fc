"""What people asked, from exports of Langfuse and LangSmith and traces of OpenTelemetry."""

from __future__ import annotations

import csv
import json

import pytest

from kragx.errors import DataError
from kragx.workshop.logs.reading import Logs

DOCS = [{"page_content": "Here", "metadata": {"id": "d1"}, "type": "Document"}]


def _asked(*paths, **options):
    return [*Logs(paths, **options).questions()]


def _lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


TRACE = {
    "id": "t1",
    "timestamp": "2026-01-31T09:30:00.000Z",
    "name": "rag",
    "userId": "u1",
    "sessionId": "s1",
    "input": {"question": "Where?"},
    "output": {"answer": "Here."},
    "user-feedback": [0],
}
OBSERVATIONS = (
    {"id": "o1", "trace_id": "t1", "type": "SPAN", "parent_observation_id": None,
     "start_time": "2026-01-31 09:30:00.100000", "input": "rewritten", "output": None},
    {"id": "o2", "trace_id": "t1", "type": "RETRIEVER", "parent_observation_id": "o1",
     "start_time": "2026-01-31 09:30:00.200000", "input": "where", "output": json.dumps(DOCS)},
)  # fmt: skip


def test_langfuse_table(tmp_path):
    """The page's export, as JSON Lines, JSON and CSV: question, time, session, answer, thumbs."""
    whole = tmp_path / "t.json"
    whole.write_text(json.dumps([TRACE]))
    table = tmp_path / "t.csv"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, TRACE)
        writer.writeheader()
        writer.writerow({k: v if isinstance(v, str) else json.dumps(v) for k, v in TRACE.items()})
    for path in (_lines(tmp_path / "t.jsonl", TRACE), whole, table):
        (question,) = _asked(path)
        assert (question.text, question.time, question.session) == ("Where?", 1769851800, "s1")
        assert (question.answer, question.thumbs, question.retrieved) == ("Here.", 0, None)
    (named,) = _asked(whole, columns={"question": "name", "thumbs": "quality"})
    assert (named.text, named.thumbs) == ("rag", None)  # the score of that name alone
    with pytest.raises(DataError, match=r"t\.json:1: question: no line has 'metadata\.ask'"):
        _asked(whole, columns={"question": "metadata.ask"})


def test_langfuse_storage(tmp_path):
    """Traces, observations and scores in files of their own are one question, once."""
    score = {"id": "c", "trace_id": "t1", "observation_id": None, "name": "thumbs", "value": -1,
             "data_type": "NUMERIC"}  # fmt: skip
    files = (
        _lines(tmp_path / "scores.jsonl", score),
        _lines(tmp_path / "observations.jsonl", *OBSERVATIONS),
        _lines(tmp_path / "traces.jsonl", {k: v for k, v in TRACE.items() if k != "user-feedback"}),
    )
    (question,) = _asked(*files)
    assert (question.text, question.thumbs, question.session) == ("Where?", -1, "s1")
    assert [(doc.text, doc.metadata["id"]) for doc in question.retrieved] == [("Here", "d1")]


def test_langfuse_alone(tmp_path):
    """Observations without traces: the outermost that says a question; a trace with all of it."""
    (question,) = _asked(_lines(tmp_path / "o.jsonl", *OBSERVATIONS))
    assert (question.text, len(question.retrieved)) == ("rewritten", 1)
    whole = tmp_path / "t.json"
    whole.write_text(json.dumps({"trace": TRACE, "observations": OBSERVATIONS}, indent=1))
    (question,) = _asked(whole)
    assert (question.text, len(question.retrieved)) == ("Where?", 1)


def _run(run_id, kind, parent=None, **fields):
    return {
        "id": run_id,
        "trace_id": "r1",
        "run_type": kind,
        "parent_run_id": parent,
        "start_time": f"2026-01-31T09:30:0{run_id[-1]}.000000",
        "session_id": "project",
        **fields,
    }


RUNS = (
    _run("r1", "chain", inputs={"input": "Where?"}, outputs={"output": "Here."},
         extra={"metadata": {"thread_id": "th1"}},
         feedback_stats={"user_score": {"n": 2, "avg": 0.5}, "ragas": {"n": 1, "avg": 0.1}}),
    _run("r2", "retriever", "r1", inputs={"query": "where"}, outputs={"documents": DOCS}),
    _run("r3", "llm", "r1", inputs={"messages": [[{"lc": 1, "type": "constructor",
         "id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": "hidden"}}]]},
         outputs={}),
)  # fmt: skip


@pytest.mark.parametrize("form", ["jsonl", "run_id", "runs", "texts", "parquet"])
def test_langsmith(tmp_path, form):
    """Runs a line, as the API gives them, with `run_id` for `id`, as LangSmith's own script writes
    them, and with texts of JSON, as bulk exports are Parquet.
    """
    path = tmp_path / "runs.json"
    if form == "runs":
        path.write_text(json.dumps({"runs": RUNS}))
    else:
        is_text = form in ("texts", "parquet")
        rows = [
            {k: json.dumps(v) if is_text and isinstance(v, dict) else v for k, v in run.items()}
            for run in RUNS
        ]
        if form == "run_id":
            rows = [{"run_id" if k == "id" else k: v for k, v in row.items()} for row in rows]
            rows[0] |= {"extra": None, "custom_metadata": rows[0]["extra"]["metadata"]}
        path = _lines(tmp_path / "runs.jsonl", *rows)
    if form == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        path = tmp_path / "runs.parquet"
        parquet.write_table(pa.Table.from_pylist(rows), path)
    (question,) = _asked(path)
    assert (question.text, question.answer, question.session) == ("Where?", "Here.", "th1")
    assert (question.time, question.thumbs) == (1769851801, 1)
    assert [doc.text for doc in question.retrieved] == ["Here"]


@pytest.mark.parametrize("record", [{**TRACE, "scores": 5}, {**RUNS[0], "parent_run_ids": 5}])
def test_fields_that_hold_something_else(tmp_path, record):
    """What is no list says nothing, and the question is read."""
    (question,) = _asked(_lines(tmp_path / "t.jsonl", record))
    assert question.text == "Where?"


def test_silent(tmp_path):
    """A trace that says no question is none."""
    logs = Logs([_lines(tmp_path / "t.jsonl", TRACE, {**TRACE, "id": "t2", "input": None})])
    assert [question.text for question in logs.questions()] == ["Where?"]


def test_langsmith_feedback(tmp_path):
    """Feedback in a file of its own finds its run."""
    runs = _lines(tmp_path / "runs.jsonl", {**RUNS[0], "feedback_stats": None})
    said = _lines(tmp_path / "said.jsonl", {"run_id": "r1", "key": "user_score", "score": 0.0})
    (question,) = _asked(runs, said)
    assert question.thumbs == 0


def _span(name, span_id, parent, start, **attributes):
    return {
        "traceId": "a" * 32,
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(1769851800_000000000 + start),
        "endTimeUnixNano": str(1769851801_000000000 + start),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }


def _otlp(*spans):
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


TURN = (
    _span("chain", "1" * 16, "", 0, **{
        "openinference.span.kind": "CHAIN", "input.value": "Where?", "output.value": "Here.",
        "session.id": "s1"}),
    _span("search", "2" * 16, "1" * 16, 1, **{
        "openinference.span.kind": "RETRIEVER", "input.value": "where",
        "retrieval.documents.0.document.id": "d1", "retrieval.documents.0.document.content": "A",
        "retrieval.documents.1.document.id": "d2", "retrieval.documents.1.document.content": "B"}),
    _span("rerank", "3" * 16, "1" * 16, 2, **{
        "openinference.span.kind": "RERANKER", "reranker.input_documents.0.document.content": "A",
        "reranker.output_documents.0.document.id": "d2",
        "reranker.output_documents.0.document.content": "B"}),
)  # fmt: skip


def test_opentelemetry(tmp_path):
    """A question is its outermost span's; a reranker's list takes the place of the retriever's."""
    (question,) = _asked(_lines(tmp_path / "t.jsonl", _otlp(*TURN)))
    assert (question.text, question.answer, question.session) == ("Where?", "Here.", "s1")
    assert (question.time, [doc.id for doc in question.retrieved]) == (1769851800, ["d2"])
    (question,) = _asked(_lines(tmp_path / "t.jsonl", _otlp(*TURN[:2])))
    assert [doc.id for doc in question.retrieved] == ["d1", "d2"]


def test_opentelemetry_messages(tmp_path):
    """By the convention of generative AI the question and the answer are parts of messages; what an
    agent looks for is no question of its user.
    """
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Where?"}]}]
    answered = [{"role": "assistant", "parts": [{"type": "text", "content": "Here."}]}]
    agent = _span("invoke_agent a", "1" * 16, "", 0, **{
        "gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(answered), "gen_ai.conversation.id": "c1",
    })  # fmt: skip
    search = _span("retrieval d", "2" * 16, "1" * 16, 1, **{
        "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "place of it",
        "gen_ai.retrieval.documents": json.dumps([{"id": "d1", "score": 0.5}])})  # fmt: skip
    (question,) = _asked(_lines(tmp_path / "t.jsonl", _otlp(agent, search)))
    assert (question.text, question.answer, question.session) == ("Where?", "Here.", "c1")
    assert [doc.id for doc in question.retrieved] == ["d1"]


def test_asked_once(tmp_path):
    """A retriever and a model that stand in nothing that says the question are one ask of it."""
    said = json.dumps([{"role": "user", "content": "Context: A. Question: where?"}])
    model = _span("chat", "4" * 16, "", 3, **{
        "openinference.span.kind": "LLM", "input.value": said})  # fmt: skip
    (question,) = _asked(_lines(tmp_path / "t.jsonl", _otlp(TURN[1], model)))
    assert (question.text, [doc.id for doc in question.retrieved]) == ("where", ["d1", "d2"])
    (question,) = _asked(_lines(tmp_path / "t.jsonl", _otlp(model)))
    assert question.text == "Context: A. Question: where?"


def test_opentelemetry_broken(tmp_path):
    """A request that was half written is named by its line."""
    path = _lines(tmp_path / "t.jsonl", _otlp(*TURN))
    path.write_text(path.read_text() + json.dumps(_otlp(*TURN))[:60])
    with pytest.raises(DataError, match=r"t\.jsonl:2: not JSON"):
        _asked(path)

"""Traces become runs."""

from __future__ import annotations

import gzip
import json

import pytest

from kragx import DataError, GoldDataset, UsageError, evaluate
from kragx.adapters.opentelemetry import read_traces
from kragx.data.problems import DataWarning

GOLD = GoldDataset.from_documents(
    [["gold one"], ["gold two"]], queries=["첫 질문은?", "second  question"]
)


def attribute(key, value):
    """An attribute as OTLP's JSON has it; whole numbers are texts there."""
    kind = {str: "stringValue", int: "intValue", float: "doubleValue"}[type(value)]
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(question, texts=(), *, name="bm25", start=1_000_000_000, kind="RETRIEVER", **more):
    """A span as OpenInference writes it."""
    attributes = [
        attribute("openinference.span.kind", kind),
        attribute("input.value", question),
        *(
            attribute(f"retrieval.documents.{rank}.document.{field}", value)
            for rank, text in enumerate(texts)
            for field, value in {
                "content": text,
                "id": rank,
                "score": 1.0 / (rank + 1),
                "metadata": '{"page": 3}',
            }.items()
        ),
    ]
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 250_000_000)}
    return {
        "name": name,
        "traceId": f"trace of {start}",
        "spanId": f"{name} {question}",
        **times,
        "attributes": attributes,
        **more,
    }


@pytest.fixture
def traces(tmp_path):
    """Write spans to a file, a request a line."""

    def write(*lines, name="traces.jsonl"):
        requests = [{"resourceSpans": [{"scopeSpans": [{"spans": own}]}]} for own in lines]
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(own) for own in requests))
        return path

    return write


def test_by_hand(traces):
    """A run for each name, with texts, ids, scores, metadata and times; no other spans."""
    path = traces(
        [span("첫 질문은?", ["x", "gold one"]), span("a", kind="LLM")],
        [span("second question", ["gold two"], name="dense"), span("second question", [])],
    )
    runs = read_traces(path, GOLD)
    assert list(runs) == ["bm25", "dense"]
    first = runs["bm25"]["q1"]
    assert [(doc.id, doc.text, doc.score) for doc in first.documents] == [
        ("0", "x", 1.0),
        ("1", "gold one", 0.5),
    ]
    assert dict(first.documents[0].metadata) == {"page": 3}
    assert first.seconds == pytest.approx(0.25)
    assert runs["bm25"]["q2"].documents == ()
    assert evaluate(GOLD, runs["bm25"], match="exact", metrics=["mrr@5"])["mrr@5"] == 0.25
    assert evaluate(GOLD, runs["dense"], match="exact", metrics=["mrr@5"]).counts["n_missing"] == 1


@pytest.mark.parametrize("form", ["whole", "gz"])
def test_files(traces, form):
    """One request over several lines, and packed, give the same."""
    path = traces([span("second question", ["gold two"])])
    text = json.dumps(json.loads(path.read_text()), indent=2)
    if form == "gz":
        path = path.with_suffix(".jsonl.gz")
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    assert read_traces(path, GOLD)["bm25"]["q2"].documents[0].text == "gold two"


def test_generative_ai(traces):
    """The semantic conventions of generative AI, and a question in JSON."""
    documents = [{"id": "d1", "content": "gold two", "score": 0.5}]
    own = span("ignored")
    own["attributes"] = [
        attribute("gen_ai.operation.name", "retrieval"),
        attribute("gen_ai.retrieval.query.text", "second question"),
        attribute("gen_ai.retrieval.documents", json.dumps(documents)),
    ]
    other = span('{"query": "첫 질문은?"}', ["gold one"])
    other["attributes"].append(attribute("input.mime_type", "application/json"))
    run = read_traces(traces([own], [other | {"name": "bm25"}]), GOLD)["bm25"]
    assert [run[name].documents[0].text for name in ("q1", "q2")] == ["gold one", "gold two"]


def test_failed_and_again(traces):
    """An error is a failure; of several answers the last by its start counts, and it is said."""
    failed = span("첫 질문은?", start=5, status={"code": 2, "message": "Timeout: too slow"})
    late = span("second question", ["gold two"], start=9)
    path = traces([late, span("second question", ["old"], start=3), failed], [span("other?")])
    with pytest.warns(
        DataWarning, match=r"1 spans are of other questions, as 'other\?'; 1 quest"
    ) as said:
        run = read_traces(path, GOLD)["bm25"]
    assert said[0].filename == __file__
    assert run.failures == {"q1": "Timeout: too slow"}
    assert run["q2"].documents[0].text == "gold two"


LATER = 1_000_000_000
"""So far apart that searches of a quarter of a second do not overlap."""


def search(question, texts=(), **more):
    """A search of one agent, its documents called by their texts."""
    made = span(question, texts, **{"traceId": "one", "parentSpanId": "agent", **more})
    for own in made["attributes"]:
        if own["key"].endswith("document.id"):
            rank = int(own["value"]["stringValue" if "stringValue" in own["value"] else "intValue"])
            own["value"] = {"stringValue": texts[rank]}
    return made


def test_several_searches(traces):
    """What one retriever was asked for one question are its searches, whatever the words."""
    path = traces(
        [
            search("and the other part?", ["gold one", "y"], start=30 * LATER),
            search("첫 질문은?", ["x", "gold one"], start=10 * LATER),
            search("reworded", ["x", "z"], start=20 * LATER),
            search("gone", start=25 * LATER, status={"code": 2, "message": "no index"}),
        ],
        [span("second question", ["gold two"], start=40 * LATER)],
    )
    run = read_traces(path, GOLD)["bm25"]
    several = run["q1"]
    assert [(made.step, made.query, made.error) for made in several.searches] == [
        (1, "첫 질문은?", None),
        (2, "reworded", None),
        (3, "gone", "no index"),
        (4, "and the other part?", None),
    ]
    assert [[doc.text for doc in made.documents] for made in several.searches] == [
        ["x", "gold one"],
        ["x", "z"],
        [],
        ["gold one", "y"],
    ]
    assert [doc.score for doc in several.documents] == [1.0, 0.5]
    assert not several.has_list
    assert several.seconds == pytest.approx(4 * 0.25)
    assert several.error is None
    assert run["q2"].has_list
    assert not run["q2"].searches
    assert run.settings["questions_of_several_searches"] == 1


def test_searches_of_the_span_around(traces):
    """Searches in other words alone belong to the question of the agent around them."""
    about = [attribute("input.value", "첫 질문은?")]
    agent = {"name": "agent", "traceId": "one", "spanId": "agent", "attributes": about}
    chain = {"name": "chain", "traceId": "one", "spanId": "chain", "parentSpanId": "agent"}
    other = {"name": "x", "traceId": "one", "spanId": "other", "parentSpanId": "other"}
    path = traces(
        [
            search("in other words", ["x"], start=10 * LATER, parentSpanId="chain"),
            search("in others still", ["gold one"], start=20 * LATER),
            search("second question", ["gold two"], start=30),
            search("of nothing", ["y"], start=40, parentSpanId="other"),
        ],
        [agent, chain, other],
    )
    with pytest.warns(DataWarning, match="1 spans are of other questions, as 'of nothing'"):
        run = read_traces(path, GOLD)["bm25"]
    assert [made.query for made in run["q1"].searches] == ["in other words", "in others still"]
    assert [doc.text for doc in run["q2"].documents] == ["gold two"]


def test_searches_by_id(traces):
    """The id that the span around says is that of all searches in it; all failed is a failure."""
    about = [attribute("app.query", "q2")]
    agent = {"name": "agent", "traceId": "one", "spanId": "agent", "attributes": about}
    failed = {"status": {"code": 2, "message": "no index"}}
    searches = [search(str(n), ["a"], start=n) for n in range(3)]
    run = read_traces(traces([agent, *searches]), GOLD, query_id="app.query")["bm25"]
    assert len(run["q2"].searches) == 3
    searches = [own | failed for own in searches]
    run = read_traces(traces([agent, *searches]), GOLD, query_id="app.query")["bm25"]
    assert run.failures == {"q2": "no index"}


def test_ids(traces):
    """Where texts repeat, an attribute with the query's id tells the questions."""
    gold = GoldDataset.from_documents([["a"], ["b"]], queries=["same", "same"])
    own = span("same", ["b"])
    own["attributes"].append(attribute("app.query", "q2"))
    path = traces([own])
    with pytest.raises(UsageError, match=r"'q1' and 'q2' have the same text; name the attribute"):
        read_traces(path, gold)
    assert list(read_traces(path, gold, query_id="app.query")["bm25"]) == ["q2"]


LOST = span("second question", ["gold two"], droppedAttributesCount=3)
HOLE = span("second question", ["a", "b", "c"])
HOLE["attributes"] = [own for own in HOLE["attributes"] if "documents.1." not in own["key"]]


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ([span("a", kind="LLM")], "no span of a retriever; spans need openinference.span.kind"),
        ([span("unknown")], "none of its 1 retriever spans is of a question of the gold set"),
        ([LOST], "lost 3 attributes, documents perhaps; trace with OTEL_SPAN_ATTRIBUTE_COUNT_LIM"),
        ([HOLE], "traces.jsonl:1: span 'bm25' lacks document 1 of 3"),
        ([span("")], "span 'bm25' does not say the question"),
        ([{"name": "x", "attributes": [3]}], "not a span as OTLP has it"),
        ([{**span("a"), "endTimeUnixNano": "9" * 400}], "not a span as OTLP has it: OverflowError"),
    ],
)
def test_broken(traces, spans, said):
    """What is not all there is an error with the line, never a shorter list."""
    with pytest.raises(DataError) as raised:
        read_traces(traces(spans), GOLD)
    assert said in str(raised.value)


@pytest.mark.parametrize("text", ["", "[1]", "{}", "no json", '{"resourceSpans": 3}'])
def test_no_traces(tmp_path, text):
    """A file of something else is an error that names it."""
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"other\.json"):
        read_traces(path, GOLD)


@pytest.mark.integration
def test_a_langchain_retriever_that_was_traced(tmp_path):
    """Peer: OpenInference's instrumentation of LangChain, encoded by OpenTelemetry's exporter."""
    langchain = pytest.importorskip("openinference.instrumentation.langchain")
    encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    from google.protobuf.json_format import MessageToDict
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    class Traced(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            if "second" in query:
                raise RuntimeError("no index")
            return [Document("x"), Document("gold one", metadata={"page": 3})]

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = langchain.LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        retriever = Traced()
        retriever.invoke("첫 질문은?")
        with pytest.raises(RuntimeError):
            retriever.invoke("second question")
    finally:
        instrumentor.uninstrument()
    request = encoder.encode_spans(exporter.get_finished_spans())
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(MessageToDict(request)))
    run = read_traces(path, GOLD)["Traced"]
    assert [doc.text for doc in run["q1"].documents] == ["x", "gold one"]
    assert dict(run["q1"].documents[1].metadata) == {"page": 3}
    assert "no index" in run.failures["q2"]


def test_an_attribute_without_a_name(traces):
    """An attribute whose key is no text is one that nobody asks for."""
    named = span("첫 질문은?", ["gold one"])
    named["attributes"].append({"key": None, "value": {"intValue": "1"}})
    assert read_traces(traces([named]), GOLD)["bm25"]["q1"].documents[0].text == "gold one"

"""What is heard of the scripted agent, and its numbers, by each way; in an environment with all.

python -m tests.evaluation.calls FOLDER
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kragx import Run, aretrieve, evaluate, retrieve
from kragx.adapters.mcp import read_mcp
from kragx.adapters.messages import read_messages
from kragx.adapters.opentelemetry import read_traces

from .agents import GOLD, METRICS, SCRIPT, anthropic, by_hand, by_hand_in_tasks, graph, mcp

warnings.simplefilter("ignore")


def traced(folder: Path) -> Run:
    """By OpenInference's instrumentation, encoded by OpenTelemetry's exporter."""
    from google.protobuf.json_format import MessageToDict
    from openinference.instrumentation.langchain import LangChainInstrumentor
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        for question in SCRIPT:
            graph().invoke({"messages": question})
    finally:
        instrumentor.uninstrument()
    path = folder / "traces.json"
    spans = exporter.get_finished_spans()
    path.write_text(json.dumps(MessageToDict(encode_spans(spans))))
    (run,) = read_traces(path, GOLD).values()
    backwards = folder / "backwards.json"
    backwards.write_text(json.dumps(MessageToDict(encode_spans(spans[::-1]))))
    assert heard(read_traces(backwards, GOLD)["LangGraph"]) == heard(run)
    return run


def chats() -> Run:
    """By the messages that LangGraph's agent gives."""
    return read_messages(
        [graph().invoke({"messages": question})["messages"] for question in SCRIPT], GOLD
    )


def real_mcp(question: str) -> Iterator[Any]:
    """The messages as the package of MCP has them."""
    import mcp_types as types

    for message in mcp(question):
        if "method" in message:
            params = types.CallToolRequestParams.model_validate(message["params"])
            fields = message | {"params": params.model_dump(by_alias=True)}
            yield types.JSONRPCRequest.model_validate(fields)
        else:
            result = types.CallToolResult.model_validate(message["result"])
            fields = message | {"result": result.model_dump(by_alias=True)}
            yield types.JSONRPCResponse.model_validate(fields)


def real_anthropic(question: str) -> Iterator[Any]:
    """The messages with those of the assistant as the client of Anthropic gives them."""
    from anthropic.types import Message, TextBlock, Usage

    usage = Usage(input_tokens=1, output_tokens=1)
    for message in anthropic(question):
        if message["role"] == "user":
            yield message
            continue
        content = message["content"]
        blocks = content if isinstance(content, list) else [TextBlock(type="text", text=content)]
        fields = {"id": "msg", "type": "message", "model": "claude", "usage": usage}
        yield Message.model_validate({**message, **fields, "content": blocks})


def heard(run: Run) -> dict[str, Any]:
    """Each question's searches: step, tool, words, whether it failed, documents, stages."""
    return {
        query_id: [
            (
                search.step,
                search.tool,
                search.query,
                search.error is not None,
                search.documents and [doc.id for doc in search.documents],
                [[doc.id for doc in stage.documents] for stage in search.stages],
            )
            for search in answer.searches
        ]
        for query_id, answer in run.results.items()
    }


def main(folder: Path) -> None:
    """Print all of it."""
    asking = {"input": {"messages": "query"}, "progress": False}
    runs = {
        "graph": retrieve(graph(), GOLD, **asking),
        "graph at once": retrieve(graph(), GOLD, concurrency=4, **asking),
        "graph awaited": asyncio.run(aretrieve(graph(), GOLD, **asking)),
        "traces": traced(folder),
        "by hand": retrieve(by_hand, GOLD, concurrency=4, progress=False),
        "by hand awaited": asyncio.run(aretrieve(by_hand_in_tasks, GOLD, progress=False)),
        "messages": chats(),
        "anthropic": read_messages([[*real_anthropic(text)] for text in SCRIPT], GOLD),
        "mcp": read_mcp({f"q{i}": real_mcp(q) for i, q in enumerate(SCRIPT, start=1)}, GOLD),
    }
    report = {}
    for name, run in runs.items():
        result = evaluate(GOLD, run, match="id", metrics=[*METRICS])
        values = {query: dict(of_query) for query, of_query in result.queries.items()}
        report[name] = {
            "searches": heard(run),
            "failures": dict(run.failures),
            "mean": dict(result.mean),
            "queries": values,
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

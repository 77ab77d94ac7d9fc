"""OpenTelemetry: what retrievers and agents found in production, from traces to runs.

Read are files of OTLP as JSON, as a collector's file exporter writes them (a request a line, or
one whole; also .gz), by two conventions: OpenInference (``openinference.span.kind: RETRIEVER``,
``retrieval.documents.{i}.document.content``, ``.id``, ``.score``, ``.metadata``; ``TOOL``,
``RERANKER``, ``LLM``) and the semantic conventions of generative AI (``gen_ai.operation.name:
retrieval``, ``gen_ai.retrieval.documents``; ``execute_tool``). No package of OpenTelemetry is
needed.
"""

from kragx.adapters.opentelemetry.reading import read_traces

__all__ = ["read_traces"]

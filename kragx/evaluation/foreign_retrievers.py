"""Retrievers of LlamaIndex and Haystack, told by their shapes and asked as LangChain's are."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kragx.errors import DataError, UsageError

_QUESTION = ("query", "question", "text")
"""What an input of a pipeline is called that takes any type, and is meant for the question."""


@dataclass(frozen=True)
class Asked:
    """A retriever of another library, with the method that LangChain's have."""

    invoke: Callable[[str], Any]


@dataclass(frozen=True)
class AsyncAsked(Asked):
    """The same of one that can be awaited as well."""

    ainvoke: Callable[[str], Any]


def is_foreign(value: object) -> bool:
    """Whether it is a retriever of LlamaIndex, or a component or pipeline of Haystack."""
    is_haystack = hasattr(value, "run") and (_is_pipeline(value) or _is_component(value))
    return not inspect.isclass(value) and (hasattr(value, "retrieve") or is_haystack)


def adapted(retriever: Any) -> Any:
    """What is asked in the place of a retriever: itself, where it is none of another library.

    Raises:
        UsageError: which of its inputs takes the question cannot be told.
    """
    is_known = hasattr(retriever, "invoke") or hasattr(retriever, "ainvoke") or callable(retriever)
    if is_known or not is_foreign(retriever):
        return retriever
    if hasattr(retriever, "retrieve"):
        if hasattr(retriever, "aretrieve"):
            return AsyncAsked(retriever.retrieve, retriever.aretrieve)
        return Asked(retriever.retrieve)
    return Asked(_pipeline(retriever) if _is_pipeline(retriever) else _component(retriever))


def _is_pipeline(value: object) -> bool:
    return hasattr(value, "inputs") and hasattr(value, "outputs")


def _is_component(value: object) -> bool:
    return hasattr(value, "__haystack_input__") or _takes_query(value)


def _takes_query(value: Any) -> bool:
    try:
        return "query" in inspect.signature(value.run).parameters
    except (TypeError, ValueError):
        return False


def _component(component: Any) -> Callable[[str], Any]:
    if not _takes_query(component):
        names = ", ".join(inspect.signature(component.run).parameters)
        raise UsageError(
            f"{type(component).__name__}.run takes {names}, and no query",
            field="retriever",
            remedy="put it into a Pipeline behind an embedder of texts, and pass that",
        )
    return lambda question: component.run(query=question)


def _pipeline(pipeline: Any) -> Callable[[str], Any]:
    """Asks a pipeline: each input that must be given and takes a text gets the question."""
    places: dict[str, list[str]] = {}
    others: list[str] = []
    for component, inputs in pipeline.inputs().items():
        for name, told in inputs.items():
            if told.get("is_mandatory"):
                kind = told.get("type")
                if kind is str or (kind is Any and name in _QUESTION):
                    places.setdefault(component, []).append(name)
                else:
                    others.append(f"{component}.{name}")
    if others or not places:
        needs = f"needs {', '.join(others)}" if others else "has no input that must be a text"
        raise UsageError(
            f"the pipeline {needs}, so where the question goes cannot be told",
            field="retriever",
            remedy="pass a function: lambda question: pipeline.run({...: {...: question}})",
        )

    def ask(question: str) -> Any:
        data = {component: dict.fromkeys(names, question) for component, names in places.items()}
        return _documents(pipeline.run(data))

    return ask


def _documents(answer: Any) -> Any:
    """What a pipeline has found: the documents of the one component that gives some."""
    if not isinstance(answer, Mapping):
        return answer
    of_components = {
        name: output["documents"]
        for name, output in answer.items()
        if isinstance(output, Mapping) and "documents" in output
    }
    if len(of_components) == 1:
        return next(iter(of_components.values()))
    which = f"{', '.join(of_components)} all do" if of_components else "none does"
    raise DataError(
        f"one component of the pipeline must give documents, and {which}"
        + ("" if of_components else f" (there are {', '.join(map(str, answer))})"),
        remedy="pass a function that picks them: lambda question: pipeline.run(...)[...]",
    )

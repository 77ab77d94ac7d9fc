"""A package as somebody else would write it: one of each thing that can be added to kragx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from kragx import Doc, Gold, Query, Retrieved
from kragx.data.formats.format import Fields, Format, Read
from kragx.testing import ScriptedClient


@dataclass
class StartsWith:
    """Documents that begin with so much of the gold text are matches."""

    threshold: float = 0.5

    def scores(self, items: Iterable[Any], notes: Mapping[str, int]) -> Iterator[list[list[float]]]:
        """The share of each gold text with which each document begins."""
        for item in items:
            yield [
                [float(doc.text.startswith(target.text[:4])) for target in item.targets]
                for doc in item.docs
            ]


def first_grade(relevances: list[float], grades: list[float]) -> float:
    """The grade of what stands first."""
    return relevances[0] if relevances else 0.0


def _read(fields: Fields) -> Read:
    record = fields.record
    docs = tuple(Doc(text=text) for text in record["toy_found"])
    yield Query(record["toy_id"], gold=(Gold(text=record["toy_gold"]),)), Retrieved(docs)


TOY = Format(
    "toy_lines",
    {"toy_id": "text", "toy_gold": "text", "toy_found": "texts"},
    ("toy_gold",),
    _read,
    "toy_id",
)


def always_relevant() -> ScriptedClient:
    """A judge that gives everything the same grade."""
    return ScriptedClient(lambda request: 3)


def island(question: str) -> list[Document]:
    """Finds the same for every question."""
    return [Document("섬에는 등대가 있다")]


def greet() -> None:
    """Say hello."""
    print("hello from a package")

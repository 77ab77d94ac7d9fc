"""The page for who comes from ragas: the values of its rows, and names that lead somewhere.

Those of the real ragas are tried where it is installed, in tests/data/forms.
"""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from kragx import evaluate
from kragx.errors import UsageError
from kragx.metrics import METRICS

from .support import Document

PAGE, TWIN = Document("docs/ragas.md"), Document("docs/ragas.ko.md")


def rows() -> list[dict[str, Any]]:
    """The rows that the page writes down."""
    names: dict[str, Any] = {}
    code = next(block.text for block in PAGE.blocks if block.language == "pycon")
    for example in doctest.DocTestParser().get_examples(code):
        if example.source.startswith("rows ="):
            exec(example.source, names)
    return names["rows"]  # type: ignore[no-any-return]


def table(document: Document) -> list[tuple[str, list[float], str, list[float]]]:
    """Each row of the page's table: what it is called in either, with its values."""
    lines = [line for line in document.prose.splitlines() if line.startswith("|")]
    start = next(n for n, line in enumerate(lines) if "IDBasedContextPrecision" in line)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]]
    return [
        (
            name,
            [*map(float, theirs.split(", "))] if theirs else [],
            metric,
            [*map(float, ours.split(", "))],
        )
        for name, theirs, metric, ours in (row for row in cells if len(row) == 4)
    ]


@pytest.mark.parametrize("document", [PAGE, TWIN], ids=["en", "ko"])
def test_the_values_of_kragx_are_the_pages(document: Document) -> None:
    """Each row's third cell names a metric, and maybe the match; its fourth the values by query."""
    for _, _, named, shown in table(document):
        metric = named.split("`")[1]
        match = "id" if "`id`" in named else "overlap"
        result = evaluate(rows(), match=match, metrics=[metric])
        assert [query[metric] for query in result.queries.values()] == shown, named
    assert len(table(document)) == 7


def test_where_the_values_of_ragas_come_from() -> None:
    """Its average precision divides by the hits, and a model's values are what is true."""
    by_name = {
        name.split("`")[1] if name else "": (theirs, ours) for name, theirs, _, ours in table(PAGE)
    }
    for name in ("context_precision", "context_recall", "IDBasedContextRecall"):
        assert by_name[name][0] == by_name[name][1]


NAMES = {
    "map(norm=hits)": "context_precision ContextPrecision NonLLMContextPrecisionWithReference "
    "llm_context_precision_without_reference context_utilization",
    "'recall'": "context_recall LLMContextRecall NonLLMContextRecall non_llm_context_recall "
    "IDBasedContextRecall ContextEntityRecall",
    "'precision', with match: id": "IDBasedContextPrecision id_based_context_precision",
    "judges answers": "faithfulness answer_relevancy ResponseRelevancy answer_correctness "
    "SemanticSimilarity factual_correctness noise_sensitivity",
}


@pytest.mark.parametrize("remedy", NAMES)
def test_a_name_of_ragas_is_answered_with_what_to_write(remedy: str) -> None:
    """Names and classes, also with a cut-off, lead to kragx's metric, or to who judges answers."""
    for name in NAMES[remedy].split():
        for metric in (name, f"{name}@5"):
            with pytest.raises(UsageError) as caught:
                evaluate(rows(), metrics=[metric])
            assert remedy in str(caught.value), str(caught.value)
    for written in remedy.split("'")[1:2]:
        assert written in METRICS


def test_an_object_of_ragas_is_answered_likewise() -> None:
    """A metric that is given as ragas' object says what to write, by its class."""
    metric = type("NonLLMContextRecall", (), {})()
    with pytest.raises(UsageError, match="for ragas' metric write 'recall'"):
        evaluate(rows(), metrics=[metric])

"""The grades of a judgement store by query and document, and as TREC qrels."""

from collections.abc import Mapping
from typing import Any

from kragx.errors import DataError, UsageError, nearest
from kragx.judging.store.store import Store

NO_EXAMPLES = "none"
"""What names the grades that were given without examples."""


def qrels(
    store: Store,
    *,
    asks: str = "relevance",
    model: str | None = None,
    rubric: str | None = None,
    examples: str | None = None,
) -> list[str]:
    """Lines of TREC qrels, ``query_id 0 document_id grade``, sorted.

    A document without an id is named ``text-`` and the start of its text's SHA-256.

    Args:
        store: an opened store.
        asks: ``relevance``; or ``support``, where a document's grade is its best over the query's
            gold texts.
        model: only its grades.
        rubric: only grades by the rubric of this id.
        examples: only grades with the examples of this name, or `NO_EXAMPLES`.

    Raises:
        UsageError: several models, rubrics or examples graded and none is named; or an id has
            white space.
        DataError: there is nothing to write.
    """
    best = grades(store, asks=asks, model=model, rubric=rubric, examples=examples)
    if asks == "relevance":
        labels = store.labels(sorted({query_id for query_id, _ in best}))
        best.update({pair: grade for pair, grade in labels.items() if pair in best})
    for name in (name for pair in best for name in pair):
        if not name or name.split() != [name]:
            raise UsageError(f"the id {name!r} cannot stand in qrels: it has white space")
    return [f"{query} 0 {document} {grade}\n" for (query, document), grade in sorted(best.items())]


def grades(
    store: Store,
    *,
    asks: str = "relevance",
    model: str | None = None,
    rubric: str | None = None,
    examples: str | None = None,
    human: bool = True,
) -> dict[tuple[str, str], int]:
    """The judge's grade of each (query id, document id); what failed has none.

    Args:
        store: an opened store.
        asks: as for `qrels`.
        model: the same.
        rubric: the same.
        examples: the same.
        human: whether a person's grade of the very question takes the place of the judge's.

    Raises:
        UsageError: as `qrels`.
        DataError: there is no grade.
    """
    records = one_judge(store, asks, model, rubric, examples)
    if not records:
        raise DataError(f"{store.address}: no grade of {asks} fits; see: kragx judge store stats")
    best: dict[tuple[str, str], int] = {}
    for key, attempt in store.settled(list(records), human=human).items():
        if attempt.grade is None:
            continue
        for query_id, document_id in records[key]["pairs"]:
            pair = (query_id, document_id)
            best[pair] = max(best.get(pair, 0), int(attempt.grade))
    return best


def examples_of(question: Mapping[str, Any]) -> str:
    """The name of the examples that a stored question came with."""
    return str((question.get("examples") or {}).get("name", NO_EXAMPLES))


def one_judge(
    store: Store,
    asks: str,
    model: str | None,
    rubric: str | None,
    examples: str | None = None,
) -> dict[str, Mapping[str, Any]]:
    """The graded records of one kind of question, by key; none of what a probe asked.

    Raises:
        UsageError: several models, rubrics or examples graded and none is named.
    """
    if asks not in ("relevance", "support"):
        raise UsageError(f"--asks: {asks!r}; {nearest(asks, ('relevance', 'support'))}")
    records: dict[str, Mapping[str, Any]] = {
        record["key"]: record
        for record in store.records()
        if (question := record["question"])
        and question["asks"] == asks
        and "grade" in record
        and record["pairs"]  # a probe asks of documents that were not retrieved
        and model in (None, question["client"].get("model"))
        and rubric in (None, question["rubric"]["id"])
        and examples in (None, examples_of(question))
    }
    questions = [record["question"] for record in records.values()]
    models = {str(question["client"].get("model")) for question in questions}
    # Both languages of a built-in rubric are one; grades of others cannot be mixed.
    rubrics = {question["rubric"]["id"].replace("-ko-", "-en-") for question in questions}
    shown = set(map(examples_of, questions))
    for option, names in (("model", models), ("rubric", rubrics), ("examples", shown)):
        if len(names) > 1:
            raise UsageError(
                f"--{option}: the store holds grades by several ({', '.join(sorted(names))}), "
                "which are not one set of labels; name one"
            )
    return records

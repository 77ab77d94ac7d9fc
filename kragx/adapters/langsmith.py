"""LangSmith: its datasets become gold sets, and evaluations its experiments.

Both speak through ``langsmith.Client``, which knows address and key from the environment
(``LANGSMITH_ENDPOINT``, ``LANGSMITH_API_KEY``) or from whoever made it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kragx.data import GoldDataset, Run
from kragx.data.objects import examples_gold
from kragx.errors import DataError, UsageError
from kragx.evaluation.evaluation import Evaluation
from kragx.plain import plain

if TYPE_CHECKING:
    from langsmith import Client

__all__ = ["log", "read_examples"]

_MOST = 20_000
"""Characters of a document that an experiment shows."""


def read_examples(
    dataset: str,
    *,
    question: str | None = None,
    gold: str | None = None,
    reference: str | None = None,
    client: Client | None = None,
) -> GoldDataset:
    """A dataset of LangSmith as a gold set; a query's id is its example's.

    Args:
        dataset: its name.
        question: the key of the inputs that has the question; None for ``question``, ``query`` or
            ``input``, or the only one there is.
        gold: the key of the outputs that has the gold: a text, a document, or a list of them; None
            for ``documents``, ``contexts``, ``context``, ``gold``, ``passages`` or
            ``source_documents``. An answer is no gold unless it is named.
        reference: the key of the outputs that has the answer, if there is one.
        client: None for ``langsmith.Client()``.

    Raises:
        DataError: an example lacks a question or the gold, or the dataset is empty.
    """
    examples = [*_client(client).list_examples(dataset_name=dataset)]
    if not examples:
        raise DataError(f"dataset {dataset!r} has no examples")
    return examples_gold(examples, dataset, question=question, gold=gold, reference=reference)


def log(
    evaluation: Evaluation,
    run: Run,
    *,
    dataset: str,
    experiment: str | None = None,
    client: Client | None = None,
) -> str:
    """An evaluation as an experiment on the dataset that its gold set was read from.

    A run of type ``retriever`` for each question, with the documents as outputs (what is missing
    has none, what failed its error), and a feedback for each metric that has a value for it.

    Args:
        evaluation: whose queries are the dataset's examples (`read_examples`).
        run: what was retrieved.
        dataset: its name.
        experiment: its name; None for the retriever's with the time.
        client: None for ``langsmith.Client()``.

    Returns:
        The experiment's name.

    Raises:
        UsageError: the queries are not the examples of a dataset of LangSmith, or the evaluation
            has no gold set with their texts.
    """
    gold = evaluation.dataset
    if gold is None:
        raise UsageError(
            "the evaluation has no gold set, and so no questions",
            remedy="evaluate with the one that read_examples gives",
        )
    strange = [query_id for query_id in evaluation.query_ids if not _is_uuid(query_id)]
    if strange:
        raise UsageError(
            f"query {strange[0]!r} is no example of LangSmith, whose ids are UUIDs",
            remedy="evaluate with the gold set that read_examples gives",
        )
    langsmith = _client(client)
    started = datetime.now(UTC)
    name = experiment or f"{evaluation.name}-{started:%Y%m%d-%H%M%S}"
    project = langsmith.create_project(
        name,
        reference_dataset_id=langsmith.read_dataset(dataset_name=dataset).id,
        metadata={"kragx": plain(evaluation.settings), "mean": plain(evaluation.mean)},
    )
    feedback: list[tuple[uuid.UUID, Mapping[str, float | None]]] = []
    for query_id, of_query in evaluation.queries.items():
        retrieved = run.results.get(query_id)
        run_id = uuid.uuid4()
        seconds = None if retrieved is None else retrieved.seconds
        langsmith.create_run(
            name=evaluation.name,
            id=run_id,
            run_type="retriever",
            # With these the client sends runs in batches, and not one by one.
            trace_id=run_id,
            dotted_order=f"{started:%Y%m%dT%H%M%S%f}Z{run_id}",
            project_name=name,
            inputs={"query": gold[query_id].text},
            outputs=None if retrieved is None else {"documents": _documents(retrieved.documents)},
            error="missing" if retrieved is None else retrieved.error,
            start_time=started,
            end_time=started + timedelta(seconds=seconds or 0),
            reference_example_id=uuid.UUID(query_id),
        )
        feedback.append((run_id, of_query))
    langsmith.flush()  # feedback names runs that the server must know
    for run_id, values in feedback:
        for metric, value in values.items():
            if value is not None:
                langsmith.create_feedback(
                    run_id, key=metric, score=value, trace_id=run_id, session_id=project.id
                )
    langsmith.flush()
    langsmith.update_project(project.id, end_time=datetime.now(UTC))
    return name


def _client(client: Client | None) -> Client:
    if client is not None:
        return client
    from langsmith import Client as Made

    return Made()


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _documents(documents: Sequence[Any]) -> list[dict[str, Any]]:
    """Documents as LangSmith shows those of a retriever."""
    return [
        {
            "page_content": (doc.text or "")[:_MOST],
            "type": "Document",
            "metadata": {**plain(doc.metadata), "id": doc.id, "score": doc.score},
        }
        for doc in documents
    ]

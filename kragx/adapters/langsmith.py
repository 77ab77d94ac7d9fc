"""LangSmith: its datasets become gold sets, evaluations its experiments, exported runs questions.

The first two speak through ``langsmith.Client``, which knows address and key from the environment
(``LANGSMITH_ENDPOINT``, ``LANGSMITH_API_KEY``) or from whoever made it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kragx.data import GoldDataset, Run
from kragx.data.objects import examples_gold
from kragx.evaluation.calls.logs import LoggedSpan, Place, is_thumb
from kragx.evaluation.calls.messages import as_json
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import DataError, UsageError
from kragx.ground.json_values import to_jsonable

if TYPE_CHECKING:
    from langsmith import Client

__all__ = ["log", "read_examples"]

COLUMNS = {"question": "inputs", "answer": "outputs"}
"""What a user may say to stand elsewhere in exported runs, and where it stands."""

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
        raise DataError("dataset {dataset!r} has no examples", dataset=dataset)
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
    # Before the project is made, so that a refusal leaves no empty experiment behind.
    for query_id in evaluation.query_ids:
        try:
            uuid.UUID(query_id)
        except ValueError:
            raise UsageError(
                "query {strange!r} is no example of LangSmith, whose ids are UUIDs",
                remedy="evaluate with the gold set that read_examples gives",
                strange=query_id,
            ) from None
    langsmith = _client(client)
    started = datetime.now(UTC)
    name = experiment or f"{evaluation.name}-{started:%Y%m%d-%H%M%S}"
    project = langsmith.create_project(
        name,
        reference_dataset_id=langsmith.read_dataset(dataset_name=dataset).id,
        metadata={"kragx": to_jsonable(evaluation.settings), "mean": to_jsonable(evaluation.mean)},
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


def _documents(documents: Sequence[Any]) -> list[dict[str, Any]]:
    """Documents as LangSmith shows those of a retriever."""
    return [
        {
            "page_content": (doc.text or "")[:_MOST],
            "type": "Document",
            "metadata": {**to_jsonable(doc.metadata), "id": doc.id, "score": doc.score},
        }
        for doc in documents
    ]


def is_export(record: Mapping[str, Any]) -> bool:
    """Whether a record is a run of LangSmith's, or what somebody said of one."""
    return {"run_type", "inputs"} <= record.keys() or _is_feedback(record)


def spans_of(record: Mapping[str, Any]) -> Iterator[LoggedSpan]:
    """The span that a run is.

    Source: https://docs.langchain.com/langsmith/run-data-format
    """
    if _is_feedback(record):
        return
    run, kind = _id_of(record), record.get("run_type")
    # The bulk export names all runs around one, from the outermost on: the last is its parent.
    above = as_json(record.get("parent_run_ids"))
    above = above if above and isinstance(above, list) else [None]
    yield LoggedSpan(
        record,
        (str(record.get("trace_id") or run), run),
        record.get("parent_run_id") or above[-1],
        kind=str(kind),
        time=record.get("start_time"),
        # These get an answer, or a text to embed, which as a question would be one too many.
        given=None if kind in ("parser", "embedding") else record.get("inputs"),
        gave=record.get("outputs"),
        session=_thread(record),
    )


def thumbs_of(record: Mapping[str, Any], name: str | None) -> Iterator[tuple[Place, object]]:
    """What people said of a run; of several the mean, down below a half.

    Args:
        record: a run with its ``feedback_stats``, or a feedback of its own (which knows its trace
            where it says ``trace_id``).
        name: the key of the feedback; None for the usual names of thumbs.
    """
    run = _id_of(record)
    stats = as_json(record.get("feedback_stats"))
    if _is_feedback(record):
        score = record.get("score")
        stats = {record["key"]: {"avg": record.get("value") if score is None else score}}
    for key, value in stats.items() if isinstance(stats, Mapping) else ():
        mean = value.get("avg") if isinstance(value, Mapping) else None
        # Between 0 and 1 people disagreed; whether a plain 0 is down the whole log tells.
        if isinstance(mean, float) and 0 < mean < 1:
            mean = 1 if mean >= 0.5 else -1
        if is_thumb(key, name):
            yield (str(record.get("trace_id") or run), run), mean


def _id_of(record: Mapping[str, Any]) -> str:
    """The id of a run, or of the one that was rated; LangSmith's own scripts export `run_id`."""
    return str(record.get("run_id") or record.get("id"))


def _is_feedback(record: Mapping[str, Any]) -> bool:
    return {"run_id", "key", "score"} <= record.keys()


def _thread(record: Mapping[str, Any]) -> object:
    """The conversation of a run; its `session_id` is the project's."""
    extra = as_json(record.get("extra"))
    custom = record.get("custom_metadata")  # as LangSmith's own scripts call it
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else custom
    names = ("thread_id", "session_id", "conversation_id")
    values = (metadata.get(name) for name in names) if isinstance(metadata, Mapping) else ()
    return next((value for value in values if value), None) or record.get("thread_id")

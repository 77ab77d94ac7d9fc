"""Plain tables, and the evaluation sets of others: AutoRAG, ragas, LlamaIndex, science QA.

A plain table has a question and the passage that answers it in each row.

AutoRAG's questions are ``{"qid", "query", "retrieval_gt", "generation_gt"}``; `retrieval_gt` is a
list of ids, or of lists of ids of which any one serves. Beside them its ``best_*.parquet`` have
what was retrieved: ``{"retrieved_contents", "retrieved_ids", "retrieve_scores"}``.

ragas' rows are ``{"user_input", "reference_contexts", "retrieved_contexts", "reference", ...}``,
before ``{"question", "ground_truth_contexts", "contexts", "ground_truth", ...}``; DeepEval's are
``{"input", "context", "retrieval_context", "expected_output", ...}``, whose `context` is the gold.

LlamaIndex's sets are one JSON object ``{"queries", "corpus", "relevant_docs"}``, which
`EmbeddingQAFinetuneDataset.save_json` writes: the questions by id, the texts by id, and for each
question the ids of the texts that answer it; ``"answerable": {id: false}`` may stand beside them.

A submission to the competition is JSON Lines, whatever its ending, with ``eval_id`` and ``topk``
(ids) a line; the gold is JSON Lines of ``{"eval_id", "refs": [ids]}``, or one JSON object
``{eval_id: [ids]}``. A query without refs should be answered with an empty list, and is read as
not answerable.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count, starmap, zip_longest
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc, present
from kragx.data.formats.format import STANDS_FOR, Fields, Format, Read
from kragx.data.formats.jsonl import file_name, read_records
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.problems import Problems
from kragx.data.runs import Retrieved, Run
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import message


def _passages(fields: Fields) -> Read:
    """Its query; what else the row holds goes to the metadata."""
    # Its name in kragx's other formats is no mistake.
    question = "query" if "query" in fields.record else "question"
    yield (
        Query(
            id=fields.id_or_number(),
            text=fields.text(question, is_required=True),
            gold=tuple(Gold(text=text) for text in fields.texts("answer_passage") if text.strip()),
            answerable=fields.flag("answerable"),
            reference=fields.text("reference"),
            metadata=fields.metadata(**fields.rest()),
        ),
        None,
    )


PASSAGES = Format(
    "passages",
    fields={
        "question": "text",
        "query": "text",
        "answer_passage": "passages",
        "query_id": "word",
        "answerable": "flag",
        "reference": "text",
        "metadata": "json",
    },
    marks=("answer_passage",),
    read=_passages,
)
"""A row a question, its answer's passage in a cell as it is, line breaks and all."""


_NO_GOLD = message("missing; write [] where a question has no gold")
_ONE_MODULE = message(
    "missing, as in the files of AutoRAG's modules; best_*.parquet beside them has it"
)


def _autorag(fields: Fields) -> Read:
    """Its query; what else it holds goes to the metadata."""
    answers = fields.texts("generation_gt")
    if "qid" in fields.record:
        query_id = fields.id("qid")
    else:
        query_id = ""
        fields.report("qid", _ONE_MODULE)
    if fields.record.keys().isdisjoint(("retrieval_gt", "retrieved_ids")):
        fields.report("retrieval_gt", _NO_GOLD)
    query = Query(
        id=query_id,
        text=fields.text("query", is_required=True),
        gold=any_of(fields.id_groups("retrieval_gt").values()),
        answerable=fields.flag("answerable"),
        reference=answers[0] if answers else None,
        metadata=fields.metadata(**fields.rest(), other_references=answers[1:]),
        **fields.stands_for(),
    )
    lists = {
        "id": fields.ids("retrieved_ids"),
        "text": fields.texts("retrieved_contents"),
        "score": fields.record.get("retrieve_scores") or (),
    }
    documents = [present(**dict(zip(lists, row))) for row in zip_longest(*lists.values())]
    answer = replace(fields, record={"retrieved": documents}).retrieved()
    yield query, answer if "retrieved_ids" in fields.record else None


AUTORAG = Format(
    "autorag",
    fields={
        "qid": "word",
        "query": "text",
        "retrieval_gt": "gold ids",
        "generation_gt": "texts",
        "retrieved_ids": "ids",
        "retrieved_contents": "texts",
        "retrieve_scores": "json",
        "answerable": "flag",
        "metadata": "json",
        **STANDS_FOR,
    },
    marks=("retrieval_gt", "retrieve_scores", "qid"),
    read=_autorag,
    key="qid",
)
"""The format of AutoRAG's ``qa.parquet``."""


def any_of(groups: Iterable[Sequence[str]]) -> tuple[Gold, ...]:
    """A gold item for each group of ids, of which any one serves."""
    return tuple(Gold(first, alternatives=tuple(map(Doc, rest))) for first, *rest in groups)


_RAGAS = ("user_input", "reference_contexts", "retrieved_contexts", "reference", "response")
_OLD = ("question", "ground_truth_contexts", "contexts", "ground_truth", "answer")
"""What ragas' fields were called before."""

_DEEPEVAL = ("input", "context", "retrieval_context", "expected_output", "actual_output")


def _is_of_samples(names: set[str], record: Mapping[str, Any]) -> bool:
    """Whether a record has these fields, and none that says that it is of another format."""
    # Their names are everybody's words: a field that one format alone has says more.
    others = {"answer_passage", "retrieval_gt", "gold", "retrieved", "relevant_chunk_ids"}
    return names <= record.keys() and record.keys().isdisjoint(others)


def _sample(fields: Fields, names: Sequence[str]) -> Read:
    """Its query, and what was retrieved for it; what else it holds goes to the metadata.

    Five of its fields have these names.
    """
    question, gold, retrieved, reference, response = names
    # ragas has conversations of several turns under the same name.
    if isinstance(fields.record.get(question), list):
        fields.report(question, message("a conversation; kragx evaluates single questions"))
        return
    golds = _contexts(fields, gold, "reference_context_ids")
    if not golds and fields.record.keys().isdisjoint((gold, "reference_context_ids")):
        fields.report(gold, message("missing; they are the gold"), "warning")
    query = Query(
        id=fields.id_or_number(),
        text=fields.text(question, is_required=True),
        gold=tuple(starmap(Gold, golds)),
        answerable=fields.flag("answerable"),
        reference=fields.text(reference),
        metadata=fields.metadata(**fields.rest(), response=fields.text(response)),
        **fields.stands_for(),
    )
    docs = tuple(starmap(Doc, _contexts(fields, retrieved, "retrieved_context_ids")))
    lists = (fields.record.get(name) for name in (retrieved, "retrieved_context_ids"))
    yield query, None if all(entries is None for entries in lists) else Retrieved(docs)


def _contexts(fields: Fields, texts: str, ids: str) -> list[tuple[str | None, str | None]]:
    """Id and text of each context; reported where there are not as many ids as texts."""
    of_texts, of_ids = fields.texts(texts), fields.ids(ids)
    if of_texts and of_ids and len(of_texts) != len(of_ids):
        problem = message(
            "{n_ids} ids for {n_texts} contexts; give one for each",
            n_ids=len(of_ids),
            n_texts=len(of_texts),
        )
        fields.report(ids, problem)
    # Ids without texts are documents as well as texts without ids.
    return [*zip_longest(of_ids, of_texts)]


RAGAS = Format(
    "ragas",
    fields={
        "user_input": "text",
        "reference_contexts": "gold texts",
        "reference_context_ids": "gold ids",
        "retrieved_contexts": "texts",
        "retrieved_context_ids": "ids",
        "reference": "text",
        "response": "text",
        "answerable": "flag",
        "query_id": "word",
        "metadata": "json",
        **STANDS_FOR,
        "question": "text",
        "ground_truth_contexts": "gold texts",
        "contexts": "texts",
        "ground_truth": "text",
        "answer": "text",
    },
    marks=("user_input", "reference_contexts", "ground_truth_contexts"),
    read=lambda fields: _sample(fields, _RAGAS if "user_input" in fields.record else _OLD),
    looks=partial(_is_of_samples, {"question", "contexts"}),
    common=("contexts", "answer", "ground_truth"),
)
"""The format of ragas' evaluation datasets, of single turns."""

DEEPEVAL = Format(
    "deepeval",
    fields={
        "input": "text",
        "context": "gold texts",
        "retrieval_context": "texts",
        "expected_output": "text",
        "actual_output": "text",
        "query_id": "word",
        "metadata": "json",
        **STANDS_FOR,
    },
    marks=("retrieval_context",),
    read=lambda fields: _sample(fields, _DEEPEVAL),
    looks=partial(_is_of_samples, {"input", "context"}),
    common=("input", "context", "expected_output", "actual_output"),
)
"""The format of DeepEval's test cases and goldens."""


def _llamaindex(fields: Fields) -> Read:
    """Its queries; gold has the id and, where the corpus holds it, the text."""
    parts: dict[str, Mapping[str, Any]] = {}
    for name in fields.format.fields:
        parts[name] = fields.record.get(name, {})
        if not isinstance(parts[name], Mapping):
            kind, value = message("an object by id"), shorten(parts[name])
            fields.report(name, message("must be {kind}, not {value}", kind=kind, value=value))
            parts[name] = {}
    questions, corpus = parts["queries"], parts["corpus"]
    for name in ("relevant_docs", "answerable"):
        for query_id in parts[name].keys() - questions.keys():
            fields.report(f"{name}.{query_id}", message("no question has this id"))
    for query_id in questions:
        # What stands under this id in each part is read as a field of a record.
        record = {f"{name}.{query_id}": part.get(query_id) for name, part in parts.items()}
        of_query = replace(fields, record={fields.format.key: query_id, **record})
        ids = of_query.ids(f"relevant_docs.{query_id}")
        for doc_id in ids if corpus else ():
            if doc_id not in corpus:
                problem = message("id {doc_id!r} is not in the corpus", doc_id=doc_id)
                of_query.report(f"relevant_docs.{query_id}", problem)
        texts = (corpus.get(doc_id) for doc_id in ids)
        golds = tuple(
            Gold(doc_id, fields.repair.text(entry) if isinstance(entry, str) else None)
            for doc_id, entry in zip(ids, texts)
        )
        text = of_query.text(f"queries.{query_id}", is_required=True)
        flag = of_query.flag(f"answerable.{query_id}")
        yield Query(str(query_id), text, golds, answerable=flag), None


LLAMAINDEX = Format(
    "llamaindex",
    fields=dict.fromkeys(("queries", "corpus", "relevant_docs", "answerable"), "json"),
    marks=("relevant_docs",),
    read=_llamaindex,
)
"""The format of `EmbeddingQAFinetuneDataset`: all queries in one record."""


def _is_by_id(record: Mapping[str, Any]) -> bool:
    """Whether a record is lists of ids by eval_id."""
    lists = [refs if isinstance(refs, list) else [None] for refs in record.values()]
    are_ids = all(isinstance(ref, (str, int, list)) for ref in chain.from_iterable(lists))
    return bool(record) and "query_id" not in record and are_ids


def _science_qa(fields: Fields) -> Read:
    """Its query; of lists by eval_id all of them."""
    if "eval_id" in fields.record or "refs" in fields.record:
        fields.only()
        if "refs" not in fields.record:
            fields.report("refs", _NO_GOLD)
        yield _science_query(fields, fields.id("eval_id"), "refs"), None
        return
    for eval_id in fields.record:
        yield _science_query(fields, eval_id, eval_id), None


def _science_query(fields: Fields, query_id: str, name: str) -> Query:
    golds = any_of(dict.fromkeys(fields.id_groups(name).values()))
    # The competition's way to say that nothing should be found.
    answerable = False if fields.record.get(name) == [] else None
    return Query(query_id, fields.text("query"), golds, answerable=answerable)


SCIENCE_QA = Format(
    "science-qa",
    fields={"eval_id": "word", "refs": "gold ids", "msg": "json", "query": "text"},
    marks=("eval_id",),
    read=_science_qa,
    key="eval_id",
    looks=_is_by_id,
)
"""The format of the competition's gold."""


def read_submission(path: str | Path, gold: GoldDataset) -> tuple[GoldDataset, Run, list[str]]:
    """Read a submission as the competition scores it: by its rows.

    Returns:
        A gold set with one query for each row (a second row of an eval_id gets the id
        ``<eval_id>#2``), what the rows retrieved, and the eval_ids of `gold` that have no row.

    Raises:
        DataError: a broken line or value, a row whose eval_id has no gold, or an empty file.
    """
    problems = Problems(str(path), strict=True)
    eval_ids: set[str] = set()
    queries: list[Query] = []
    results: dict[str, Retrieved] = {}
    for line, record in read_records(path, problems):
        fields = Fields(record, SCIENCE_QA, problems, line)
        eval_id = fields.id("eval_id")
        if eval_id not in gold:
            problem = message(
                "eval_id {eval_id!r} is not in the gold set {name!r}",
                eval_id=eval_id,
                name=gold.name,
            )
            problems.add(line, None, problem)
        if "topk" not in record:
            fields.report("topk", message("missing; write [] where nothing is retrieved"))
        eval_ids.add(eval_id)
        # The competition counts a row that repeats a question once more, and ids are unique.
        ids = chain([eval_id], (f"{eval_id}#{number}" for number in count(2)))
        row_id = next(new for new in ids if new not in results)
        queries.append(replace(gold[eval_id], id=row_id))
        results[row_id] = Retrieved(tuple(map(Doc, fields.ids("topk"))))
    if not queries:
        raise DataError(
            "{place}: the file holds no row; one JSON object a line is expected", place=path
        )
    dataset = GoldDataset(tuple(queries), gold.name, problems.repair.surrogates)
    left_out = [query.id for query in gold if query.id not in eval_ids]
    return dataset, Run(results, name=file_name(path)), left_out

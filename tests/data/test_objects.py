"""Objects of other tools by hand: the shapes of tests/data/forms, without their packages."""

from __future__ import annotations

import json
from collections import namedtuple
from types import SimpleNamespace as Object
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from kragx import (
    DataError,
    GoldDataset,
    UsageError,
    evaluate,
    read_dataset,
    retrieve,
)
from kragx.data import read_run
from tests.app.commands.conftest import here, kragx, module
from tests.thoroughness import all_cases

__all__ = ["here", "kragx", "module"]

Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")

QUESTIONS = ["Where is the port?", "When does it open?"]
GOLD = GoldDataset.from_documents([["In Busan."], ["At nine."]], queries=QUESTIONS)


def listed(run: Any) -> dict[str, list[tuple[Any, ...]]]:
    """What a run has of each question."""
    return {
        name: [(doc.id, doc.text, doc.score, dict(doc.metadata)) for doc in answer.documents]
        for name, answer in run.results.items()
    }


# -- grades and scores by id ----------------------------------------------------------------------


class Ranx:
    """As ranx holds qrels, or a run."""

    def __init__(
        self, side: str, numbers: dict[str, dict[str, float]], name: str | None = None
    ) -> None:
        self.side, self.name = side, name
        setattr(self, side, numbers)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The numbers."""
        return getattr(self, self.side)

    def get_doc_ids_and_scores(self) -> None:
        """As arrays."""


GRADES = {"q1": {"a": 1, "b": 2}, "q2": {"c": 0, "d": 1}}
SCORES = {"q1": {"b": 0.5, "a": 0.5, "x": 2.0}}


def rows(numbers: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """The numbers one by one."""
    return [(query, doc, number) for query, own in numbers.items() for doc, number in own.items()]


def ir_forms() -> dict[str, tuple[Any, Any]]:
    """Gold and results in every form that has no package to test it by default."""
    pandas = pytest.importorskip("pandas")
    qrels = [Qrel(*row, "0") for row in rows(GRADES)]
    docs = [ScoredDoc(*row) for row in rows(SCORES)]
    terrier = pandas.DataFrame(rows(SCORES), columns=["qid", "docno", "score"])
    terrier["rank"] = [0, 1, 2]  # by which nothing is ranked
    return {
        "ranx": (Ranx("qrels", GRADES), Ranx("run", SCORES)),
        "tuples": (qrels, docs),
        "iterators": (iter(qrels), iter(docs)),
        "frames": (pandas.DataFrame(qrels), pandas.DataFrame(docs)),
        "PyTerrier": (
            pandas.DataFrame(rows(GRADES), columns=["qid", "docno", "label"]),
            terrier,
        ),
    }


def test_grades_and_scores_by_id() -> None:
    """Read as the same qrels and run, ranked as TREC's, compared by id, which the result says."""
    for name, (gold, results) in ir_forms().items():
        result = evaluate(gold, results, metrics=["ndcg@3", "mrr@3"])
        assert result.queries["q1"]["mrr@3"] == 0.5, name  # x, then b and a, of one score
        assert result.queries == evaluate(GRADES, SCORES, metrics=["ndcg@3", "mrr@3"]).queries
        assert (result.counts["n_missing"], result.settings["match_from"]) == (1, "ids alone")
    forms = ir_forms()
    runs = {name: results for name, (_, results) in forms.items()}
    assert {*evaluate(GRADES, runs, metrics=["mrr@3"]).table} == {*forms}


def test_a_run_has_its_name() -> None:
    """A result is called as ranx's run is, unless a name is given; without both it is a run."""
    for run, name in (("bm25", None), ("bm25", "other"), (None, None)):
        result = evaluate(GRADES, Ranx("run", SCORES, run), name=name)
        assert result.name == (name or run or "run")


@given(
    st.dictionaries(
        st.text("ab1é가", min_size=1, max_size=3), st.sampled_from([0.0, 0.5, 2.0]), min_size=1
    )
)
def test_ties_stand_as_in_a_file(scores: dict[str, float]) -> None:
    """Mappings and tuples are ranked as a TREC run is: by score, ties by id descending."""
    expected = sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)
    tuples = [ScoredDoc("q", *entry) for entry in scores.items()]
    for run in (Ranx("run", {"q": scores}), tuples, {"q": scores}):
        assert [doc_id for doc_id, *_ in listed(read_run(run))["q"]] == expected


def test_what_is_on_the_wrong_side() -> None:
    """A run as gold, qrels as results, and a document with two scores are errors in one line."""
    with pytest.raises(UsageError, match="ScoredDocs of ir_measures hold results; pass them sec"):
        read_dataset([ScoredDoc("q", "a", 1.0)])
    with pytest.raises(UsageError, match="results: Qrels of ranx hold gold; pass them first"):
        evaluate(GRADES, Ranx("qrels", GRADES))
    with pytest.raises(DataError, match=r"document 'a' stands twice, with 2\.0 and 1\.0; keep"):
        read_run([ScoredDoc("q", "a", 1.0), ScoredDoc("q", "a", 2.0)])


def test_swapped_mappings() -> None:
    """Scores as the gold set, with grades as the run, are an error; grades may be fractions."""
    qrels = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}
    run = {"q1": {"a": 12.5, "d": 3.25}, "q2": {"c": 2.0}}
    with pytest.raises(DataError, match="pass the gold set first, then the run"):
        evaluate(run, qrels)
    assert evaluate({"q1": {"a": 0.5}}, run, metrics=["mrr@3"])["mrr@3"] == 1.0


@pytest.mark.parametrize("number", [None, float("nan"), "0,5"])
def test_what_is_no_number(number: object) -> None:
    """A score that is no number is an error with its question and document."""
    with pytest.raises(DataError, match=r"query 'q': .* of document 'a' is no number"):
        evaluate(GRADES, [ScoredDoc("q", "a", number)])


# -- which match is meant -------------------------------------------------------------------------

TEXT = {"id": "a", "text": "In Busan."}


@all_cases(
    ("gold", "results", "match"),
    [
        ({"a": 1}, [{"id": "a"}], "id"),
        ({"a": 1}, [TEXT], "id"),
        ([TEXT], [{"id": "a"}], "id"),
        ([TEXT], [], "overlap"),
        ([TEXT], [TEXT], "overlap"),
        ({"a": 1}, ["In Busan."], None),
        ([TEXT], [TEXT, {"id": "b"}], None),
        (["In Busan."], [{"id": "a"}], None),
    ],
)
def test_ids_alone_are_compared_as_ids(gold: Any, results: Any, match: str | None) -> None:
    """Where one side has no text and both have ids; else texts are compared, and may be missing.

    So it is of a run, of runs by name, of a retriever, and of rows with both.
    """
    asked = [{"query_id": "q1", "query": "?", "gold": as_items(gold)}]
    calls = [
        lambda: evaluate({"q1": gold}, {"q1": results}),
        lambda: evaluate({"q1": gold}, {"own": {"q1": results}})["own"],
        lambda: evaluate(asked, lambda question: results),
        lambda: evaluate([{**asked[0], "retrieved": as_items(results)}]),
    ]
    for call in calls:
        if match is None:
            with pytest.raises(DataError, match="no text"):
                call()
        else:
            assert call().settings["match"]["method"] == match
    assert evaluate({"q1": [TEXT]}, {"q1": [TEXT]}, match="id").settings.get("match_from") is None


def as_items(values: Any) -> list[Any]:
    """Gold or documents as rows hold them."""
    if isinstance(values, dict):
        return [{"id": key, "grade": grade} for key, grade in values.items()]
    return [{"text": value} if isinstance(value, str) else value for value in values]


# -- samples --------------------------------------------------------------------------------------


def ragas(*found: list[str] | None, old: bool = False) -> list[dict[str, Any]]:
    """Rows of ragas, whose questions stand in another order than those of the gold set."""
    names = ("question", "ground_truth_contexts", "contexts") if old else (
        "user_input", "reference_contexts", "retrieved_contexts",
    )  # fmt: skip
    golds = [["At nine."], ["In Busan."]]
    return [dict(zip(names, row)) for row in zip(QUESTIONS[::-1], golds, found)]


def deepeval(row: dict[str, Any]) -> dict[str, Any]:
    """A row as DeepEval has it."""
    names = ("input", "context", "retrieval_context")
    return {**dict(zip(names, row.values())), "expected_output": None}


def test_samples_are_gold_and_results(tmp_path: Any) -> None:
    """Of ragas and DeepEval, as objects, rows and JSON; beside other gold they join by words."""
    pandas = pytest.importorskip("pandas")
    found = (["It is in Busan.", "At nine."], [])
    own, old = ragas(*found), ragas(*found, old=True)
    cases = [*map(deepeval, own)]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    samples = [Object(**row) for row in own]
    forms = {
        "samples": samples,
        "dataset": Object(samples=samples),
        "testset": Object(samples=[Object(eval_sample=sample) for sample in samples]),
        "rows": own,
        "old rows": old,
        "old frame": pandas.DataFrame(old),
        "cases": Object(test_cases=[], goldens=[Object(**case) for case in cases]),
        "cases as rows": cases,
        "JSON": tmp_path / "cases.json",
    }
    for name, form in forms.items():
        alone = evaluate(form, match="exact", metrics=["mrr@2"])
        assert [*alone.queries.values()] == [{"mrr@2": 0.5}, {"mrr@2": 0.0}], name
        assert alone.counts["n_empty"] == 1
        joined = evaluate(GOLD, form, match="exact", metrics=["mrr@2"])
        assert joined.queries == {"q1": {"mrr@2": 0.0}, "q2": {"mrr@2": 0.5}}, name
    both = evaluate(GOLD, {"a": samples, "b": own}, match="exact", metrics=["mrr@2"])
    assert both.table["a"] == both.table["b"] == {"mrr@2": 0.25}
    missing = evaluate(ragas(["At nine."], None), match="exact", metrics=["mrr@2"])
    assert missing.counts["n_missing"] == 1


def test_examples_of_langsmith() -> None:
    """Their outputs are gold, under the usual keys."""
    ids = [UUID(int=number) for number in (1, 2)]
    examples = [
        Object(
            id=own,
            dataset_id=ids[0],
            inputs={"question": text},
            outputs={"documents": [answer]},
            metadata=None,
        )
        for own, text, answer in zip(ids, QUESTIONS, ["In Busan.", {"text": "At nine."}])
    ]
    dataset = read_dataset(examples)
    assert [(query.id, query.text, query.gold[0].text) for query in dataset] == [
        (str(ids[0]), QUESTIONS[0], "In Busan."),
        (str(ids[1]), QUESTIONS[1], "At nine."),
    ]


# -- answers of databases -------------------------------------------------------------------------

T = "In Busan."
WEAVIATE = Object(
    uuid=UUID(int=7), properties={"body": T, "page": 3}, metadata=Object(score=None, distance=0.25)
)
HIT = {"_index": "i", "_id": "a", "_score": 1.5, "_source": {"content": T, "page": 3}}
ANSWERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Chroma": (
        {"ids": [["a"]], "documents": [[T]], "metadatas": [[{"page": 3}]], "distances": [[0.5]]},
        ("a", T, None, {"page": 3, "distance": 0.5}),
    ),
    "Chroma's ids alone": (
        {"ids": [["a"]], "documents": None, "metadatas": None, "distances": [[0.5]]},
        ("a", None, None, {"distance": 0.5}),
    ),
    "Qdrant": (
        Object(points=[Object(id=7, score=0.5, payload={"text": T, "page": 3})]),
        ("7", T, 0.5, {"page": 3}),
    ),
    "Qdrant by LangChain": (
        [Object(id="a", score=0.5, payload={"page_content": T, "metadata": {"page": 3}})],
        ("a", T, 0.5, {"page": 3}),
    ),
    "Qdrant without payload": (
        [Object(id="a", score=0.5, payload=None)],
        ("a", None, 0.5, {}),
    ),
    "Weaviate": (
        Object(objects=[WEAVIATE]),
        (str(UUID(int=7)), T, None, {"page": 3, "distance": 0.25}),
    ),
    "Elasticsearch": (Object(body={"hits": {"hits": [HIT]}}), ("a", T, 1.5, {"page": 3})),
    "OpenSearch": ({"took": 1, "hits": {"hits": [HIT]}}, ("a", T, 1.5, {"page": 3})),
    "hits": ([HIT], ("a", T, 1.5, {"page": 3})),
    "Pinecone": (
        Object(matches=[Object(id="a", score=0.5, values=[], metadata={"text": T, "page": 3})]),
        ("a", T, 0.5, {"page": 3}),
    ),
    "Pinecone's records": (
        Object(result=Object(hits=[Object(id="a", score=0.5, fields={"chunk_text": T})])),
        ("a", T, 0.5, {}),
    ),
    "LlamaIndex": (
        Object(
            source_nodes=[
                Object(
                    node=Object(node_id="a", get_content=lambda: T, metadata={"page": 3}), score=0.5
                )
            ]
        ),
        ("a", T, 0.5, {"page": 3}),
    ),
    "content": ([{"id": "a", "content": T, "score": 0.5}], ("a", T, 0.5, {})),
    "scores": ({"a": 0.5}, ("a", None, 0.5, {})),
}


@all_cases("name", ANSWERS)
def test_an_answer(name: str) -> None:
    """From a function, by query id, in a list and under a name it is the same document."""
    answer, document = ANSWERS[name]
    assert listed(retrieve(lambda question: answer, GOLD, progress=False))["q1"] == [document]
    assert listed(read_run({"q1": answer, "q2": []})) == {"q1": [document], "q2": []}
    assert listed(read_run([answer, []], GOLD)) == {"q1": [document], "q2": []}


def test_an_answer_of_chroma_to_all_questions() -> None:
    """It is what was retrieved, in the order of the questions; the order is by distance, and said.

    As the answer to one question it is none.
    """
    lists = [["a", "b"], ["c"]]
    texts = [["In Busan.", "At ten."], ["At nine."]]
    answer = {"ids": lists, "documents": texts, "distances": [[0.1, 0.9], [0.2]]}
    result = evaluate(GOLD, answer, match="exact", metrics=["mrr@2"], profile="kragx")
    assert (result["mrr@2"], result.counts["n_by_distance"]) == (1.0, 2)
    assert "lists by distance, the nearest first: 2" in result.to_text()
    named = evaluate(GOLD, {"old": answer, "new": answer}, match="exact", metrics=["mrr@2"])
    assert named.table["old"] == {"mrr@2": 1.0}
    run = retrieve(lambda question: answer, GOLD, progress=False)
    assert "an answer to 2 questions" in (run["q1"].error or "")


# -- what is asked --------------------------------------------------------------------------------


class Store:
    """A vector store."""

    def as_retriever(self) -> Any:
        """Its retriever."""
        return Object(invoke=lambda question, **options: ["In Busan."])


class Searching:
    """An index with `search`, as many people have one."""

    def search(self, query: str, k: int = 3) -> list[dict[str, str]]:
        """What is found."""
        return [{"content": "In Busan."}][:k]


class Collection:
    """As a collection of Chroma: a text is no first argument."""

    def query(self, query_embeddings: Any = None, query_texts: Any = None) -> dict[str, Any]:
        """The answer to texts."""
        assert query_embeddings is None
        n = len(query_texts)
        return {"ids": [["a"]] * n, "documents": [["In Busan."]] * n, "distances": [[0.1]] * n}


def test_what_is_asked() -> None:
    """A store's retriever is made, and said; `search` and `query` are asked the question alone."""
    for own in (Store(), Searching(), Collection()):
        assert evaluate(GOLD, own, match="exact", metrics=["hit_rate@1"])["hit_rate@1"] == 0.5
    made = evaluate(GOLD, Store(), match="exact", metrics=["hit_rate@1"])
    assert made.settings["run"]["retriever"] == "Store.as_retriever()"
    assert "the retriever: Store.as_retriever()" in made.to_text()


class Client:
    """A client, which needs to be told where to search."""

    def search(self, *, index: str | None = None) -> None:
        """Something else than a question."""

    def retrieve(self, collection: str, ids: list[str]) -> None:
        """More than a question."""


def test_what_needs_more_than_a_question() -> None:
    """It is refused in one line, with what to pass; so is a store without a retriever."""
    with pytest.raises(UsageError, match=r"pass a function: lambda question: client\.retrieve"):
        evaluate(GOLD, Client())
    with pytest.raises(UsageError, match="cannot be asked; pass a retriever of LangChain"):
        evaluate(GOLD, Object(write_documents=print))


# -- hits of an own class -------------------------------------------------------------------------


def nested(question: str) -> Any:
    """Hits within an answer."""
    hit = Object(content="In Busan.", doc={"id": 7}, score=0.5, more={"page": 3})
    return {"hits": [hit], "took": 1}


PATHS = {"documents": "$.hits", "text": "content", "id": "doc.id", "score": "score"}


def test_paths_into_hits() -> None:
    """As of HTTP retrievers, through keys and attributes; the result records them."""
    options = {**PATHS, "metadata": {"page": "more.page"}}
    run = retrieve(nested, GOLD, progress=False, **options)
    assert listed(run)["q1"] == [("7", "In Busan.", 0.5, {"page": 3})]
    result = evaluate(GOLD, nested, match="exact", metrics=["mrr@1"], **PATHS)
    assert (result["mrr@1"], result.settings["run"]["answer"]) == (0.5, PATHS)
    wrong = retrieve(nested, GOLD, progress=False, **{**PATHS, "text": "body"})
    assert "no field 'body' in document 1" in (wrong["q1"].error or "")
    with pytest.raises(UsageError, match=r"text: .*is no path"):
        retrieve(nested, GOLD, **{**PATHS, "text": "a b"})
    with pytest.raises(UsageError, match="score: 'score' is read only where text or id say"):
        retrieve(nested, GOLD, score="score")
    with pytest.raises(UsageError, match="text: 'content' says how a retriever is asked"):
        evaluate(GOLD, [["In Busan."], []], text="content")


def test_paths_in_a_config(here: Any, kragx: Any, module: Any) -> None:
    """A class or function has them beside it; of a server they belong under http."""
    gold = {"query_id": "q1", "query": "Where?", "gold": [{"text": "In Busan."}]}
    (here / "gold.jsonl").write_text(json.dumps(gold))
    (here / "own_hits.py").write_text(
        "def search(question):\n    return {'hits': [{'content': 'In Busan.', 'doc': {'id': 7}}]}\n"
        "class Store:\n    def as_retriever(self): return search\n"
    )
    config = {
        "dataset": "gold.jsonl",
        "metrics": ["mrr@1"],
        "retrievers": {
            "own": {"class": "own_hits:search", "documents": "$.hits", "text": "content"}
        },
    }
    (here / "kragx.yaml").write_text(json.dumps(config))
    done = kragx("run", "kragx.yaml")
    assert (done.code, "1.0000" in done.out) == (0, True), done.err
    config["retrievers"]["own"]["class"] = "own_hits:Store"
    (here / "kragx.yaml").write_text(json.dumps(config))
    done = kragx("run", "kragx.yaml")
    assert "own: the retriever: Store.as_retriever(), with its own number of" in done.err
    config["retrievers"] = {"own": {"http": {"url": "http://x/?q={query}"}, "text": "content"}}
    (here / "kragx.yaml").write_text(json.dumps(config))
    done = kragx("run", "kragx.yaml")
    assert (done.code, "'text' belongs to 'class'" in done.err) == (2, True)


def samples(questions, lists):
    """Rows of ragas without ids."""
    return [
        {"user_input": question, "retrieved_contexts": docs, "reference_contexts": [f"gold {n}"]}
        for n, (question, docs) in enumerate(zip(questions, lists))
    ]


QUESTIONS = ["Where is Busan?", "Who wrote it?", "When does it open?"]
GOLD_ROWS = samples(QUESTIONS, [["noise"], ["noise"], ["noise"]])


def test_rows_without_ids_join_by_their_questions():
    """In whatever order they stand; a question that the gold set lacks joins nothing."""
    found = [["gold 0"], ["gold 1"], ["noise"]]
    rows = samples(QUESTIONS, found)
    for order in (rows, rows[::-1], [rows[1], rows[2], rows[0]]):
        assert evaluate(GOLD_ROWS, order, metrics=["mrr@1"])["mrr@1"] == pytest.approx(2 / 3)
    asked_otherwise = samples(["Where is Busan, please?", *QUESTIONS[1:]], found)
    for order in (asked_otherwise, asked_otherwise[::-1]):
        result = evaluate(GOLD_ROWS, order, metrics=["mrr@1"])
        assert (result.counts["n_missing"], result.counts["n_extra"]) == (1, 1)
        assert result["mrr@1"] == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="none of its 3 query ids is in the gold set"):
        evaluate(GOLD_ROWS, samples(["One?", "Two?", "Three?"], found))
    with pytest.raises(DataError, match=r"ask 'Where is Busan.' 2 times"):
        evaluate(GOLD_ROWS, samples([QUESTIONS[0], QUESTIONS[1], QUESTIONS[0]], found))

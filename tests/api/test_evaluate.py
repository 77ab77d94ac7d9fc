"""`evaluate` of several retrievers: what is asked, what comes back, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import inspect
import re
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from kragx import (
    DataError,
    Evaluation,
    Evaluations,
    GoldDataset,
    RetrieverError,
    Run,
    UsageError,
    aevaluate,
    compare,
    evaluate,
    retrieve,
    write_results,
)
from kragx.api.evaluate import EvaluateOptions
from kragx.judging import Judge
from kragx.matchers import MatchWarning
from kragx.testing import ScriptedClient

N = 24
DATASET = GoldDataset.from_documents(
    [[f"정답 문단 {i} 번"] for i in range(N)], queries=[f"질문 {i}" for i in range(N)]
)
OPTIONS = {"match": "exact", "metrics": ["mrr@5", "recall@5"]}


def answer(question: str, rank: int) -> list[Document]:
    """A list whose document at `rank` is the question's gold."""
    texts = [f"other {i}" for i in range(4)]
    texts.insert(rank - 1, f"정답 문단 {question.rsplit(maxsplit=1)[-1]} 번")
    return [Document(text) for text in texts]


def good(question: str) -> list[Document]:
    """Finds every gold at once."""
    return answer(question, 1)


def fair(question: str) -> list[Document]:
    """Finds it second, but for every fourth question."""
    return answer(question, 1 if question.endswith(("0", "4", "8")) else 2)


async def slow(question: str) -> list[Document]:
    """Finds it third, and has to be awaited."""
    return answer(question, 3)


def broken(question: str) -> list[Document]:
    """Answers one question."""
    if question != "질문 0":
        raise ConnectionError("refused")
    return answer(question, 1)


def dead(question: str) -> list[Document]:
    """Answers none."""
    raise ConnectionError("refused")


def awaited(*args: object, **options: object) -> object:
    """`aevaluate` in a loop of its own."""
    return asyncio.run(aevaluate(*args, **options))


every_way = pytest.mark.parametrize("evaluated", [evaluate, awaited])


@every_way
def test_several_retrievers_are_compared(evaluated) -> None:
    """Functions, runnables, runs and paths: each has its own numbers, and the best is named."""
    sources = {"fair": fair, "good": RunnableLambda(good), "slow": slow}
    result = evaluated(DATASET, sources, **OPTIONS)
    assert isinstance(result, Evaluations)
    assert list(result) == ["fair", "good", "slow"]
    for name, source in sources.items():
        alone = evaluate(DATASET, source, **OPTIONS)
        assert result[name].queries == alone.queries
        assert result[name].name == name
    assert result.verdict.startswith("Use good: in mrr@5 it is better than every other retriever")
    assert result.table["slow"]["mrr@5"] == pytest.approx(1 / 3)
    by_hand = compare({name: evaluate(DATASET, own, **OPTIONS) for name, own in sources.items()})
    assert result.comparison.to_dict() == by_hand.to_dict()


def test_frames_stand_side_by_side() -> None:
    """Each question's values of every metric, by retriever, as a frame has those of one."""
    result = evaluate(DATASET, {"fair": fair, "good": good}, **OPTIONS)
    frame = result.to_pandas()
    for name, evaluation in result.items():
        assert frame[name].equals(evaluation.to_pandas())


def test_what_is_asked_for_is_shown() -> None:
    """Compared within slices or with a baseline, the text has their tables, as it has not else."""
    result = evaluate(DATASET, {"fair": fair, "good": good}, **OPTIONS)
    assert "Compared with" not in result.to_text()
    assert "Compared with good" in result.compared(baseline="good").to_text()
    dataset = replace(
        DATASET, queries=tuple(replace(query, query_type="why") for query in DATASET.queries)
    )
    result = evaluate(dataset, {"fair": fair, "good": good}, **OPTIONS)
    assert "By query_type" not in result.to_text()
    assert f"why (n = {N})" in result.compared(slices="query_type").to_text()


@every_way
def test_each_question_is_asked_once(evaluated) -> None:
    """Whatever is done with the result, no retriever is asked a question twice."""
    asked: Counter[str] = Counter()

    def counting(question: str) -> list[Document]:
        asked[question] += 1
        return good(question)

    result = evaluated(DATASET, {"one": counting, "other": fair}, match="overlap")
    result.at_threshold(0.9), result.queries, str(result), result.to_dict()
    assert list(asked.values()) == [1] * N


def test_runs_and_paths(tmp_path) -> None:
    """A Run and a path stand beside a retriever, under the names that the mapping gives them."""
    write_results(DATASET, retrieve(fair, DATASET), tmp_path / "old.jsonl")
    sources = {"now": good, "run": retrieve(slow, DATASET), "file": tmp_path / "old.jsonl"}
    result = evaluate(DATASET, sources, **OPTIONS)
    assert [own.name for own in result.evaluations.values()] == ["now", "run", "file"]
    assert result["file"].queries == evaluate(DATASET, fair, **OPTIONS).queries
    assert result["run"]["mrr@5"] == pytest.approx(1 / 3)


@every_way
def test_who_crashes_makes_nobody_the_winner(evaluated) -> None:
    """A retriever that failed is not comparable, and the other has not won against it."""
    result = evaluated(DATASET, {"broken": broken, "slow": slow}, **OPTIONS)
    assert result.comparison.not_comparable == ("broken",)
    assert result.verdict == "Only slow can be compared, as broken failed."
    assert result.table["broken"] == {"mrr@5": None, "recall@5": None}
    assert "broken failed on 23 of 24 questions, so it is not comparable" in str(result)
    assert result.queries["q2"] == {"broken": None, "slow": pytest.approx(1 / 3)}
    three = evaluated(DATASET, {"dead": dead, "good": good, "slow": slow}, **OPTIONS)
    assert "every other retriever that can be compared" in three.verdict


@every_way
def test_all_failed(evaluated) -> None:
    """Where nobody answers anything there is no result, and each first failure is quoted."""
    with pytest.raises(RetrieverError, match=r"one: query 'q1': Conn.* other: query 'q1': Conn"):
        evaluated(DATASET, {"one": dead, "other": dead}, **OPTIONS)


def test_no_evaluation_vanishes_behind_another_of_its_name() -> None:
    """Two of one name are an error, and not the later one alone."""
    twice = [evaluate([["a b"]], [["a b"]], name="one", metrics=["mrr"]) for _ in range(2)]
    with pytest.raises(UsageError, match="two are called 'one'"):
        Evaluations.of(twice)


def test_queries_that_differ_come_first() -> None:
    """Each query's values by retriever; the widest spread first, equal ones in gold order."""
    result = evaluate(DATASET, {"good": good, "fair": fair}, **OPTIONS)
    spreads = [max(row.values()) - min(row.values()) for row in result.queries.values()]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[0] == 0.5
    equal = [name for name, row in result.queries.items() if row["good"] == row["fair"]]
    assert equal == [f"q{i + 1}" for i in range(N) if str(i).endswith(("0", "4", "8"))]


@pytest.mark.filterwarnings("ignore:gold of one template")
def test_at_threshold() -> None:
    """Another threshold gives what evaluating at it gives, verdict included."""
    sources = {"good": good, "fair": fair}
    match = {"method": "rouge1", "measure": "recall"}
    strict = evaluate(DATASET, sources, match={**match, "threshold": 1.0}, metrics=["mrr@5"])
    loose = evaluate(DATASET, sources, match={**match, "threshold": 0.3}, metrics=["mrr@5"])
    assert loose.at_threshold(1.0).table == strict.table
    assert loose.at_threshold(1.0).verdict == strict.verdict


def test_the_page(tmp_path) -> None:
    """`report` writes the page with texts, without being told the runs."""
    evaluate(DATASET, {"good": good, "fair": fair}, **OPTIONS).report(tmp_path / "out.html")
    assert (tmp_path / "out.html").stat().st_size > 10_000


def page_texts(path: Path) -> str:
    """All that the page holds."""
    blocks = re.findall(r">([\w+/=]{100,})<", path.read_text(encoding="utf-8"))
    return "".join(zlib.decompress(base64.b64decode(block)).decode() for block in blocks)


@pytest.mark.parametrize("golds", [["정답"], []], ids=["gold", "pool"])
def test_the_page_says_what_a_judge_said(tmp_path, golds) -> None:
    """`report` has the judge's reasons, from its store: nobody is asked again."""
    client = ScriptedClient(lambda request: '{"reason": "날짜가 같다", "grade": 3}')
    judge = Judge(client, store=tmp_path / "store.sqlite", progress=False)
    dataset = GoldDataset.from_documents([golds], queries=["질문 0"])
    match = {"method": "llm", "judge": judge}
    result = evaluate(dataset, {"good": good, "fair": fair}, match=match, metrics=["recall@5"])
    n_asked = len(client.requests)
    result.report(tmp_path / "out.html")
    assert "날짜가 같다" in page_texts(tmp_path / "out.html")
    assert len(client.requests) == n_asked > 0


def test_judged_without_gold_in_one_pool(tmp_path) -> None:
    """Without gold the judge's relevance is gold for all: they share a pool, or none could win."""
    client = ScriptedClient(lambda request: 3)
    judge = Judge(client, store=tmp_path / "store.sqlite", progress=False)
    dataset = GoldDataset.from_documents([[], []], queries=["무엇?", "누구?"])
    match = {"method": "llm", "judge": judge}
    result = evaluate(dataset, {"good": good, "fair": fair}, match=match, metrics=["recall@5"])
    pools = [own.settings["pool"]["hash"] for own in result.evaluations.values()]
    assert pools[0] == pools[1]


def test_a_mapping_by_query_id_is_none() -> None:
    """A mapping by query id to lists, or to scores by id, is one run, as ever."""
    lists = {query.id: good(query.text or "") for query in DATASET}
    assert isinstance(evaluate(DATASET, lists, **OPTIONS), Evaluation)
    scores = evaluate({"q": {"a": 1}}, {"q": {"a": 0.5}}, match="id", metrics=["mrr"])
    assert scores["mrr"] == 1.0


@every_way
def test_lists_by_query_are_compared(evaluated) -> None:
    """A retriever's lists, as K-RAG takes them, are its run in the order of the gold set."""
    lists = [good(query.text or "") for query in DATASET]
    lists[3] = []
    run = dict(zip((query.id for query in DATASET), lists))
    result = evaluated(DATASET, {"now": lists, "new": fair}, **OPTIONS)
    same = evaluated(DATASET, {"now": Run.from_documents(run), "new": fair}, **OPTIONS)
    assert result.table == same.table
    assert result.table["now"]["recall@5"] == 23 / 24


@every_way
def test_mappings_by_query_id_are_compared(evaluated) -> None:
    """Each is a retriever's run by its own ids; under the gold set's ids answers are one run."""
    gold = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    runs = {"bm25": {"q1": {"d1": 0.5}, "q2": {}}, "e5": {"q1": {"d9": 2.0, "d1": 1.0}}}
    result = evaluated(gold, runs, metrics=["mrr@5"])
    assert result.table == {"bm25": {"mrr@5": 0.5}, "e5": {"mrr@5": 0.25}}
    assert [result[name].counts["n_missing"] for name in runs] == [0, 1]
    chains = {"q1": {"context": [{"id": "d1"}]}, "q2": {"context": [], "other": []}}
    assert evaluated(gold, chains, metrics=["mrr@5"])["mrr@5"] == 0.5


@every_way
def test_lists_that_are_too_few(evaluated) -> None:
    """Lists that are not one for each query are an error that names the retriever and counts."""
    lists = [good(query.text or "") for query in DATASET]
    message = r"run\.old: .*23 lists of retrieved documents for 24 queries; pass one for each"
    with pytest.raises(UsageError, match=message):
        evaluated(DATASET, {"now": lists, "old": lists[1:]}, **OPTIONS)


@every_way
@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            {"all": [["a"], []], "q1": ["a"]},
            "'all' is a retriever, or all that one returned, and 'q1' is neither",
        ),
        ({}, "run: an empty mapping; pass retrievers by name"),
        ({"bm25": good, "q1": ["a"]}, "run: 'bm25' is a retriever, .* and 'q1' is neither"),
        ({"q1": ["a"], "old": "old.jsonl"}, "'old' is a retriever, .* and 'q1' is neither"),
        ({"mine": Run({}), "q1": None}, "'mine' is a retriever, .* and 'q1' is neither"),
    ],
)
def test_what_is_no_comparison(evaluated, run: dict[str, object], message: str) -> None:
    """An empty mapping, or one that mixes, is an error that says what to pass."""
    with pytest.raises(UsageError, match=message):
        evaluated(DATASET, run, **OPTIONS)


@every_way
def test_a_wrong_file_is_found_before_anything_is_asked(evaluated, tmp_path) -> None:
    """A path that does not exist is an error with its name, and so is a wrong metric."""
    asked = []

    def noted(question: str) -> list[Document]:
        asked.append(question)
        return good(question)

    with pytest.raises(DataError, match=r"^run\.old: .*no\.jsonl: cannot be read"):
        evaluated(DATASET, {"new": noted, "old": tmp_path / "no.jsonl"}, **OPTIONS)
    with pytest.raises(UsageError, match="ndgc"):
        evaluated(DATASET, {"new": noted, "other": good}, match="exact", metrics=["ndgc@5"])
    assert asked == []
    with pytest.raises(UsageError, match="name: 'x' names one retriever, and several are given"):
        evaluated(DATASET, {"new": noted, "old": good}, name="x")


@pytest.mark.integration
@every_way
def test_how_a_retriever_is_asked(evaluated) -> None:
    """`retries`, `timeout` and `name` reach the retriever, of one and of several."""
    asked: Counter[str] = Counter()

    def twice(question: str) -> list[Document]:
        asked[question] += 1
        if asked[question] == 1:
            raise ConnectionError("refused")
        return good(question)

    few = replace(DATASET, queries=DATASET.queries[:2])
    one = evaluated(few, twice, name="mine", retries=1, concurrency=2, timeout=30, **OPTIONS)
    assert (one.name, one.counts["n_failed"], one["mrr@5"]) == ("mine", 0, 1.0)
    asked.clear()
    both = evaluated(few, {"a": twice, "b": good}, retries=1, concurrency=2, **OPTIONS)
    assert both.comparison.not_comparable == ()

    async def never(question: str) -> list[Document]:
        await asyncio.sleep(60)
        return []

    with pytest.raises(RetrieverError, match="TimeoutError: no answer within"):
        evaluated(few, never, timeout=0.01, concurrency=2, **OPTIONS)


@every_way
@pytest.mark.parametrize("option", [{"timeout": 3.0}, {"retries": 1}, {"concurrency": 4}])
def test_how_to_ask_belongs_to_a_retriever(evaluated, option: dict[str, object]) -> None:
    """Where nothing is asked, saying how is an error and not passed over."""
    run = retrieve(good, DATASET)
    for given in (run, {"a": run, "b": run}):
        with pytest.raises(UsageError, match=f"^{next(iter(option))}: .* none is given"):
            evaluated(DATASET, given, **option, **OPTIONS)


def test_a_name_for_what_was_retrieved() -> None:
    """`name` names lists and runs too."""
    assert (
        evaluate(DATASET, [good(str(i)) for i in range(N)], name="mine", **OPTIONS).name == "mine"
    )


def test_in_a_running_loop() -> None:
    """Inside a running event loop, as in a notebook, asynchronous retrievers can be asked too."""

    async def cell() -> Evaluations:
        return evaluate(DATASET, {"slow": slow, "good": good}, **OPTIONS)

    assert asyncio.run(cell())["slow"]["mrr@5"] == pytest.approx(1 / 3)


def test_a_cancelled_evaluation_asks_nothing_more() -> None:
    """Cancelling `aevaluate` cancels what is asked, and begins no other retriever."""
    begun, cancelled = [], []

    async def hanging(question: str) -> list[Document]:
        begun.append(question)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(question)
            raise
        return []

    async def impatient() -> None:
        task = asyncio.create_task(aevaluate(DATASET, {"a": hanging, "b": fair}, concurrency=2))
        while len(begun) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(impatient())
    assert len(begun) == len(cancelled) == 2


def test_the_options_that_types_know() -> None:
    """What type checkers take are the options that there are, and help shows them."""
    for call in (evaluate, aevaluate):
        options = {
            name: own.default
            for name, own in inspect.signature(call).parameters.items()
            if own.kind is own.KEYWORD_ONLY
        }
        assert options.keys() == EvaluateOptions.__annotations__.keys()
        given = {name: value for name, value in options.items() if value is not None}
        assert given == {"retries": 0, "concurrency": 1, "runs": 1, "stages": False}
    assert inspect.iscoroutinefunction(aevaluate)


@pytest.mark.parametrize("ask", [evaluate, awaited])
def test_stages_say_where_each_chain_loses_the_gold(ask, tmp_path):
    """In `losses`, in what is printed, and on the page; whoever has no stages is not named."""
    first = RunnableLambda(lambda question: answer(question, 3), name="search")
    cut = first | RunnableLambda(lambda found: found[:2], name="cut")
    result = ask(DATASET, {"chain": cut, "plain": good}, stages=True, **OPTIONS)
    (losses,) = result.losses
    assert (losses.retriever, losses.n_gold, losses.n_found) == ("chain", N, 0)
    assert [item.reason for item in losses.items] == ["cut"] * N
    said = f"chain: 0 of {N} gold items within 5; lost: {N} cut (cut)"
    assert said in result.to_text()
    assert result.compared(baseline="plain").losses == result.losses
    result.report(tmp_path / "out.html")
    assert "search" in (tmp_path / "out.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:gold of one template")
def test_stages_at_another_threshold():
    """What stages lose is what they lose at that threshold, as if it had been named at first."""
    first = RunnableLambda(lambda question: answer(question, 1), name="search")
    cut = first | RunnableLambda(lambda found: found[1:], name="cut")
    # A gold text and its paragraph share three of four words, or all.
    golds = [[f"정답 문단 {i} 번 {'끝' * (i % 2)}".strip()] for i in range(N)]
    queries = [f"질문 {i}" for i in range(N)]
    dataset = GoldDataset.from_documents(golds, queries=queries)
    strict, loose = (
        evaluate(
            dataset,
            {"chain": cut, "plain": good},
            match={"method": "rouge1", "threshold": threshold},
            metrics=["mrr@5"],
            stages=True,
        )
        for threshold in (0.95, 0.5)
    )
    (decided,), (named,) = loose.at_threshold(0.95).losses, strict.losses
    assert [stage.means["recall"] for stage in named.stages] == [0.5, 0]
    for part in ("items", "summary"):
        assert getattr(decided, part) == getattr(named, part)
    assert loose.losses[0].summary != named.summary


def test_warnings_name_the_retriever_and_the_callers_line():
    """What is wrong with one retriever's texts is said of it, at the line that called kragx."""
    gold = [["정답 문단 하나"], ["정답 문단 둘"]]
    runs = {"one": [["..."], ["정답 문단 둘"]], "other": [["정답 문단 하나"], ["!?"]]}
    with pytest.warns(MatchWarning) as caught:
        evaluate(gold, runs, metrics=["mrr@5"])
    said = "retrieved texts that can match nothing by 'overlap' in 1 question, for example"
    assert [str(own.message) for own in caught] == [
        f"one: {said} '...' in 'q1'",
        f"other: {said} '!?' in 'q2'",
    ]
    assert {own.filename for own in caught} == {__file__}


def test_metrics_stand_third_as_in_ranx():
    """``evaluate(qrels, run, metrics)``, as ranx has it, is ``metrics=``, of one and of several."""
    gold, found = {"q1": {"d1": 1}}, {"q1": {"d2": 0.9, "d1": 0.5}}
    assert evaluate(gold, found, "mrr@5").mean == {"mrr@5": 0.5}
    table = evaluate(gold, {"bm25": found}, ["mrr@5", "hits@5"]).table
    assert table == {"bm25": {"mrr@5": 0.5, "hits@5": 1.0}}


def test_an_unknown_option_is_an_error_that_names_the_one_that_is_meant():
    """Before anything is asked."""
    asked: list[str] = []
    with pytest.raises(UsageError, match=r"unknown argument 'timeot'.*'timeout'"):
        evaluate(DATASET, {"one": asked.append}, timeot=3)
    assert not asked


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ({"k": 5}, "metrics=['ndcg@5']"),
        ({"ks": [1, 3]}, "metrics=['ndcg@5']"),
        ({"match_method": "rouge2"}, "match='rouge2'"),
        ({"threshold": 0.3}, "match={'method': 'overlap', 'threshold': 0.5}"),
        ({"tokenizer": "kiwi"}, "match={'method': 'overlap', 'threshold': 0.5}"),
        ({"matchers": ["exact", "overlap"]}, "match='overlap'"),
        ({"llm": "gpt-4.1"}, "write match={'method': 'llm', 'judge': 'gpt-4.1-mini'}"),
        ({"queries": ["When?"]}, "GoldDataset.from_documents(gold, queries)"),
        ({"match": {"rouge2": 0.5}}, "write {'method': 'rouge2', ...}, with its options"),
        ({"match": ["exact", "overlap"]}, "{'any': [...]}, or {'all': [...]}"),
        ({"match": Judge(ScriptedClient([3]))}, "{'method': 'llm', 'judge': judge}"),
        ({"match": {"method": "embedding", "embeddings": "openai"}}, "match.embeddings: 'openai'"),
        ({"match": "embedding"}, "match.embeddings: none are named; name a class"),
        ({"metrics": "retrieval_f1"}, "perhaps you meant 'f1(over=retrieved)'"),
        ({"metrics": "mrr@5, ndcg@5"}, "several metrics are a list: [ndcg@10, mrr@10]"),
        ({"metrics": "hit@3"}, "perhaps you meant 'hit_rate@5'"),
    ],
)
def test_an_option_that_is_said_elsewhere(option, remedy):
    """What other tools take as an option of its own is an error that shows where it stands here."""
    with pytest.raises(UsageError, match=re.escape(remedy)):
        evaluate([["Seoul"]], [["Seoul"]], **option)


def test_retrievers_in_a_list():
    """They have no names to tell them apart by, nor has what they returned; the error says so."""
    run, frame = Run.from_documents([["a"]]), pd.DataFrame({"query_id": ["q1"]})
    for several in ([good, slow], [run, run], [{"q1": {"d1": 0.5}}] * 2, [frame, frame]):
        with pytest.raises(UsageError, match=r"run: 2 retrievers in a list; .* by name: {'bm25'"):
            evaluate(DATASET, several)


def asking_nothing(question):
    """Is not to be asked."""
    raise AssertionError("asked though nothing can have a value")


@pytest.mark.parametrize("run", [[["a"], ["b"]], {"x": [["a"], ["b"]]}, asking_nothing])
def test_no_gold_at_all(run):
    """Where no question has gold and no metric a value, an error says so, before anybody is asked.

    Of ragas' rows, too, whose columns without contexts of reference are read as what was retrieved.
    """
    said = r"none of the 2 questions has gold, so no metric has a value; .*'reference_contexts'"
    dataset = GoldDataset.from_documents([[], []], queries=["Which?", "When?"])
    with pytest.raises(DataError, match=said):
        evaluate(dataset, run, metrics=["mrr@5"])
    rows = [{"question": q, "contexts": ["a"], "answer": "b"} for q in "cd"]
    with pytest.raises(DataError, match=said):
        evaluate(rows, metrics=["mrr@5"])
    assert evaluate(rows, metrics=["mrr@5", "judged@5"]).mean == {"mrr@5": None, "judged@5": 0.0}


@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
def test_documents_that_hold_ids_alone():
    """An empty text, and a string where ids are compared, are told with what would work."""
    docs = [[Document(page_content="", metadata={"id": "d1"})]]
    with pytest.raises(DataError, match="its text is empty; give it one, or compare ids"):
        evaluate(docs, docs)
    assert evaluate(docs, docs, match="id", metrics=["mrr@5"])["mrr@5"] == 1.0
    with pytest.raises(DataError, match=r"in Python a string is a text"):
        evaluate([["d1"]], [["d1"]], match="id")


def test_the_names_of_metrics():
    """An evaluation is asked for a metric, whether it has one, and which it has."""
    evaluation = evaluate([["Seoul"]], [["Seoul"]], metrics=["mrr@5", "recall@5"])
    assert [*evaluation] == ["mrr@5", "recall@5"]
    assert "mrr@5" in evaluation
    assert "ndcg@5" not in evaluation
    with pytest.raises(UsageError, match="metric 5: a string"):
        evaluate([["Seoul"]], [["Seoul"]], metrics=5)


def test_ids_in_metadata_of_documents_with_texts():
    """Gold of ids meets the ids that documents keep in their metadata, if no match is named."""
    found = [Document("the same", metadata={"id": doc_id}) for doc_id in "ab"]
    result = evaluate({"q1": {"b": 1}}, {"q1": found}, metrics=["mrr@5"])
    assert (result.match_name, result["mrr@5"]) == ("id", 0.5)

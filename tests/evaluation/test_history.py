"""Questions of conversations: their history in files, in retrievers, in slices."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from kragx import DataError, Gold, GoldDataset, Query, UsageError, aretrieve, read_dataset, retrieve
from kragx.app import config, pipeline
from kragx.comparison.slices import fields_worth_slicing, sliced
from kragx.data import Turn
from kragx.data.writing import write_gold
from kragx.evaluation.retrieve import HistoryWarning
from tests.thoroughness import all_cases

SAID = [
    {"role": "user", "content": "환불은 며칠 안에 되나요?"},
    {"role": "assistant", "content": "7일 안에 됩니다."},
]
TURNS = (Turn("user", SAID[0]["content"]), Turn("assistant", SAID[1]["content"]))
DATASET = GoldDataset(
    (Query("q1", "환불은 며칠 안에 되나요?"), Query("q2", "그럼 교환은요?", history=TURNS))
)


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "csv"])
def test_in_files(ending: str, tmp_path: Path) -> None:
    """A history is read from every kind of file as from JSON Lines."""
    path = tmp_path / f"gold.{ending}"
    records = [
        {"query_id": "q1", "query": DATASET["q1"].text, "gold": []},
        {"query_id": "q2", "query": DATASET["q2"].text, "gold": [], "history": SAID},
    ]
    if ending == "csv":
        said = json.dumps(SAID, ensure_ascii=False).replace('"', '""')
        rows = [f"q1,{DATASET['q1'].text},[],", f'q2,{DATASET["q2"].text},[],"{said}"']
        path.write_text("\n".join(["query_id,query,gold,history", *rows]), encoding="utf-8")
    elif ending == "json":
        path.write_text(json.dumps(records), encoding="utf-8")
    else:
        write_gold(DATASET, path)
    assert read_dataset(str(path)).queries == DATASET.queries


def test_short_forms(tmp_path: Path) -> None:
    """LangChain's own words for roles mean the same."""
    said = [
        {"role": "human", "content": "first?"},
        {"role": "ai", "content": "yes"},
        {"role": "human", "content": "second?"},
    ]
    record = {"query_id": "q1", "query": "and?", "gold": [], "history": said}
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")
    (query,) = read_dataset(str(path))
    assert query.history == (
        Turn("user", "first?"),
        Turn("assistant", "yes"),
        Turn("user", "second?"),
    )
    assert query.turn == 3


WRONG = [
    ("text", r"history: must be a list of earlier turns"),
    ([{"role": "user"}], r"history\[0\].content: a text must be a string, not NoneType"),
    ([{"role": " ", "content": "x"}], r"history\[0\].role: must say who spoke"),
    ([{"role": "user", "content": "x", "at": 1}], r"history\[0\].at: unknown field"),
    ([{"role": "user", "content": " "}], r"history\[0\].content: nothing was said"),
    ([["human", "x"]], r"history\[0\]: must have role and content"),
]


@pytest.mark.parametrize(("history", "message"), WRONG)
def test_mistakes(history: object, message: str, tmp_path: Path) -> None:
    """A wrong turn is an error with file, line and field."""
    path = tmp_path / "gold.jsonl"
    record = {"query_id": "q1", "query": "?", "gold": [], "history": history}
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(DataError, match=rf"gold.jsonl:1: .*{message}"):
        read_dataset(str(path))


def test_hash() -> None:
    """What was said before is part of the content; without it the hash is as it always was."""
    bare = GoldDataset((DATASET["q1"], Query("q2", DATASET["q2"].text)))
    assert bare.content_hash != DATASET.content_hash
    known = "bf516e71"  # as it was before questions could have one
    assert GoldDataset((Query("q1", "?"),)).content_hash.startswith(known)


def test_slices() -> None:
    """Turns are slices, offered where there are several; one counted by the user wins."""
    many = GoldDataset(tuple(Query(f"q{n}", "?", history=TURNS * (n % 2)) for n in range(8)))
    assert "turn" in fields_worth_slicing(many)
    assert [(value, len(rows)) for _, value, rows in sliced(many.queries, ["turn"])] == [
        ("1", 4),
        ("2", 4),
    ]
    own = [Query("q1", "?", metadata={"turn": "late"}, history=TURNS)]
    assert [value for _, value, _ in sliced(own, ["turn"])] == ["late"]
    assert "turn" not in fields_worth_slicing(GoldDataset.from_documents([["a"]] * 8))


def hears(question: str, history: list[dict[str, str]]) -> list[str]:
    """A function that takes both."""
    return [f"{len(history)} before {question}"]


async def hears_later(question: str, *, history: list[dict[str, str]]) -> list[str]:
    """The same, asynchronously."""
    return hears(question, history)


FIELDS = {"input": "query", "chat_history": "history"}
CHAIN = RunnableLambda(
    lambda said: [Document(f"{len(said['chat_history'])} before {said['input']}")]
)


@all_cases(
    ("retriever", "asking"),
    [(hears, {}), (hears, {"timeout": 5}), (hears_later, {}), (CHAIN, {"input": FIELDS})],
)
@all_cases("is_async", [False, True])
def test_retrievers_get_it(retriever: Any, asking: dict[str, Any], is_async: bool) -> None:
    """A function by its parameter, a runnable by the fields of its mapping."""
    if is_async:
        run = asyncio.run(aretrieve(retriever, DATASET, **asking))
    else:
        run = retrieve(retriever, DATASET, **asking)
    texts = [run[name].documents[0].text for name in ("q1", "q2")]
    assert texts == [f"0 before {DATASET['q1'].text}", f"2 before {DATASET['q2'].text}"]


def test_who_does_not_hear_it_is_named() -> None:
    """A retriever that gets the question alone is warned of, once; without histories nothing is."""
    with pytest.warns(HistoryWarning, match="deaf is asked without the history that 1 of 2"):
        retrieve(lambda question: [], DATASET, name="deaf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retrieve(lambda question: [], GoldDataset((DATASET["q1"],)))


def test_wrong_inputs() -> None:
    """A field that gets what there is not, and a mapping for a function, are errors."""
    with pytest.raises(UsageError, match=r"input.x: unknown value 'histroy'; perhaps .*'history'"):
        retrieve(CHAIN, DATASET, input={"x": "histroy"})
    with pytest.raises(UsageError, match=r"input: a mapping as .* is expected \('query'\)"):
        retrieve(CHAIN, DATASET, input="query")
    with pytest.raises(UsageError, match="input: hears is a function"):
        retrieve(hears, DATASET, input=FIELDS)


def test_in_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By import path a function with a history is the retriever itself, and a chain has fields."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    code = (
        "from langchain_core.runnables import RunnableLambda\n"
        "def hears(question, history): return [f'{len(history)} before']\n"
        "chain = RunnableLambda(lambda said: [f\"{len(said['h'])} before\"])\n"
    )
    Path("talking.py").write_text(code, encoding="utf-8")
    gold = [
        Query(own.id, own.text, (Gold(text="2 before"),), history=own.history) for own in DATASET
    ]
    write_gold(GoldDataset(tuple(gold)), "gold.jsonl")
    text = (
        "dataset: gold.jsonl\nmatch: exact\nmetrics: [recall@1]\nretrievers:\n"
        "  function: talking:hears\n"
        "  chain: {class: 'talking:chain', input: {q: query, h: history}}\n"
    )
    Path("kragx.yaml").write_text(text, encoding="utf-8")
    report = pipeline.run(config.load(Path("kragx.yaml")), progress=False)
    assert [own["recall@1"] for own in report.evaluations] == [0.5, 0.5]


@pytest.mark.integration
def test_history_aware_retriever() -> None:
    """LangChain's own way: with a history a model writes a question that stands by itself."""
    pytest.importorskip("langchain_classic")
    from langchain_classic.chains import create_history_aware_retriever
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder

    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("chat_history"), ("user", "{input}")]
    )
    model = FakeListChatModel(responses=["교환은 며칠 안에 되나요?"])
    chain = create_history_aware_retriever(model, RunnableLambda(lambda q: [Document(q)]), prompt)
    run = retrieve(chain, DATASET, input=FIELDS)
    assert run["q1"].documents[0].text == DATASET["q1"].text
    assert run["q2"].documents[0].text == "교환은 며칠 안에 되나요?"

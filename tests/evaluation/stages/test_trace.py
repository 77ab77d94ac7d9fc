"""What is heard of a LangChain chain."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

from kragx import aretrieve, retrieve
from kragx.evaluation.calls.call import CUT_SHORT

from .chains import Broken, Fixed, inputs, letters, of, questions


def only(retriever: Any, **asking: Any) -> Any:
    """The answer to a single question."""
    return retrieve(retriever, questions(1), stages=True, **asking)["q0"]


def test_a_sequence() -> None:
    """Search, rerank and cut follow each other; what merely calls them is no stage."""
    rerank = RunnableLambda(lambda docs: list(reversed(docs)), name="rerank")
    cut = RunnableLambda(lambda docs: docs[:2], name="cut")
    answer = only(Fixed(letters="abc", name="bm25") | rerank | cut)
    assert letters(answer) == {"bm25": "abc", "rerank": "cba", "cut": "cb"}
    assert inputs(answer) == {"bm25": (), "rerank": ("bm25",), "cut": ("rerank",)}
    assert [doc.id for doc in answer.documents] == ["c", "b"]
    assert all(stage.seconds >= 0 for stage in answer.stages)


def test_parallel_branches_are_called_as_the_user_calls_them() -> None:
    """A step under a key has the key's name, steps of a chain under it stand below the key."""
    cut = RunnableLambda(lambda docs: docs[:1], name="cut")
    fuse = RunnableLambda(lambda lists: lists["bm25"] + lists["dense"], name="fuse")
    chain = RunnableParallel(bm25=Fixed(letters="ab"), dense=Fixed(letters="cd") | cut) | fuse
    answer = only(chain)
    assert letters(answer) == {"bm25": "ab", "dense/Fixed": "cd", "dense/cut": "c", "fuse": "abc"}
    assert set(inputs(answer)["fuse"]) == {"bm25", "dense/cut"}
    assert inputs(answer)["dense/cut"] == ("dense/Fixed",)


def test_a_chain_that_answers_with_a_mapping() -> None:
    """The steps behind ``{"context": [...]}`` are stages; the mapping itself is none."""
    chain = RunnablePassthrough.assign(context=lambda x: Fixed(letters="ab").invoke(x["q"]))
    answer = only(RunnableLambda(lambda question: {"q": question}) | chain)
    assert [doc.id for doc in answer.documents] == ["a", "b"]
    assert letters(answer) == {"context/Fixed": "ab", "context": "ab"}


def test_names_repeat() -> None:
    """The second of a name is numbered, in the order in which they began."""
    one, two = Fixed(letters="a"), Fixed(letters="b")
    answer = only(lambda question: one.invoke(question) + two.invoke(question))
    assert letters(answer) == {"Fixed": "a", "Fixed 2": "b"}


def test_what_a_reranker_does_to_documents_is_not_what_was_found() -> None:
    """A step that changes the documents it was given does not change the stage before."""

    def score(docs: list[Document]) -> list[Document]:
        for doc in docs:
            doc.metadata["relevance_score"] = 0.5
        docs.reverse()
        return docs

    own = [doc.model_copy(deep=True) for doc in of("ab")]
    answer = only(RunnableLambda(lambda q: own, name="search") | RunnableLambda(score))
    search, scored = answer.stages
    assert [(doc.id, "relevance_score" in doc.metadata) for doc in search.documents] == [
        ("a", False),
        ("b", False),
    ]
    assert [doc.id for doc in scored.documents] == ["b", "a"]


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("is_async", [False, True])
def test_questions_do_not_mix(timeout: float | None, is_async: bool) -> None:
    """Of questions that are asked at once, in threads or tasks, each has its own stages."""
    n = 6
    all_there = threading.Barrier(n)
    own = {f"question {i}": "abcdefgh"[i] for i in range(n)}

    def wait(docs: list[Document]) -> list[Document]:
        all_there.wait(60)
        return docs

    async def await_(docs: list[Document]) -> list[Document]:
        await asyncio.sleep(0.01)
        return docs

    step = RunnableLambda(await_ if is_async else wait, name="wait")
    chain = Fixed(letters="", own=own) | step
    if is_async:
        run = asyncio.run(aretrieve(chain, questions(n), stages=True, concurrency=n))
    else:
        run = retrieve(chain, questions(n), stages=True, concurrency=n, timeout=timeout)
    for i in range(n):
        letter = "abcdefgh"[i]
        assert letters(run[f"q{i}"]) == {"Fixed": letter, "wait": letter}
        assert inputs(run[f"q{i}"])["wait"] == ("Fixed",)


def test_a_stage_that_raises() -> None:
    """It is kept as failed, with its reason as everybody may read it; those before are whole."""

    def rerank(docs: list[Document]) -> list[Document]:
        raise ValueError("key secret-1 is wrong")

    chain = Fixed(letters="ab") | RunnableLambda(rerank)
    answer = only(chain, mask=lambda text: text.replace("secret-1", "***"))
    assert answer.error == "ValueError: key *** is wrong"
    assert [(stage.name, stage.error) for stage in answer.stages] == [
        ("Fixed", None),
        ("rerank", "ValueError: key *** is wrong"),
    ]
    assert answer.stages[1].inputs == ("Fixed",)


def test_a_member_that_fails_beside_others() -> None:
    """Where a chain goes on without a member, the answer is whole and the member failed."""

    def search(question: str) -> list[Document]:
        try:
            Broken().invoke(question)
        except ConnectionError:
            return Fixed(letters="ab").invoke(question)
        return []

    answer = only(search)
    assert answer.error is None
    assert [(own.name, own.error) for own in answer.stages] == [
        ("Broken", "ConnectionError: no index"),
        ("Fixed", None),
    ]


@pytest.mark.integration
def test_a_stage_cut_short() -> None:
    """What was still at work when the time was over did not end; what came before is whole."""
    never = threading.Event()
    slow = RunnableLambda(lambda docs: never.wait(60) or docs, name="slow")
    answer = only(Fixed(letters="ab") | slow, timeout=2)
    never.set()
    assert answer.error.startswith("TimeoutError")
    assert [(own.name, own.error, own.seconds is None) for own in answer.stages] == [
        ("Fixed", None, False),
        ("slow", CUT_SHORT, True),
    ]


def test_what_has_no_steps() -> None:
    """A function without LangChain has no stages, and nothing is heard that nobody asked for."""
    assert only(lambda question: ["text"]).stages == ()
    assert retrieve(Fixed(letters="a"), questions(1))["q0"].stages == ()


class Careless(Fixed):
    """Asks another retriever without handing its callbacks on."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        inner = Fixed(letters=self.letters + "c", name="inner")
        return inner.invoke(query)[:2]


def test_callbacks_that_are_not_handed_on() -> None:
    """A retriever within another belongs to it, though it does not say so; not one after it."""
    answer = only(lambda question: Careless(letters="ab").invoke(question))
    assert inputs(answer) == {"inner": (), "Careless": ("inner",)}
    chain = Careless(letters="ab") | RunnableLambda(lambda docs: docs[:1], name="cut")
    assert inputs(only(chain)) == {"inner": (), "Careless": ("inner",), "cut": ("Careless",)}
    two = RunnableParallel(a=Careless(letters="a"), b=Careless(letters="b")) | (
        lambda lists: lists["a"] + lists["b"]
    )
    found = inputs(only(two))
    assert (found["a"], found["b"]) == (("a/inner",), ("b/inner",))


def test_repeats_and_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stages are those of the attempt whose answer counts."""
    monkeypatch.setattr("kragx.evaluation.retrieve.FIRST_PAUSE", 0)
    tries = iter(range(9))

    def sometimes(question: str) -> list[Document]:
        docs = Fixed(letters="ab").invoke(question)
        if next(tries) == 0:
            raise TimeoutError
        return docs

    before = time.perf_counter()
    answer = only(sometimes, retries=1, repeat=2)
    assert letters(answer) == {"Fixed": "ab"}
    assert answer.error is None
    assert answer.seconds <= time.perf_counter() - before

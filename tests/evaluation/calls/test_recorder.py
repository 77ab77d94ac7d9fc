"""Searches that are recorded in any code."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import kragx
from kragx import GoldDataset, UsageError, aretrieve, evaluate, retrieve
from kragx.data.searches import Search
from kragx.evaluation.calls.call import Call
from kragx.evaluation.calls.recorder import LOST, SearchWarning


@kragx.searched
def handbook(query: str) -> list[dict[str, str]]:
    """Documents called as the words."""
    return [{"id": word} for word in query.split()]


@kragx.searched(tool="web", tokens=len)
async def web(question: str, most: int = 3) -> list[str]:
    """Texts."""
    await asyncio.sleep(0.01)
    return question.split()[:most]


@kragx.searched
def sql(query: str) -> int:
    """A number, which is no document."""
    return len(query)


def brief(searches: Any) -> list[tuple[Any, ...]]:
    """Step, tool, words and documents of each search."""
    return [
        (
            search.step,
            search.tool,
            search.query,
            search.documents and "".join(doc.id or doc.text or "" for doc in search.documents),
        )
        for search in searches
    ]


def test_by_hand() -> None:
    """One after the other they are steps; without documents one is unmeasured; times are known."""
    with kragx.record_searches() as searches:
        assert handbook("a b") == [{"id": "a"}, {"id": "b"}]
        assert sql("how many") == 8
        assert asyncio.run(web("c d", most=1)) == ["c"]
    assert brief(searches) == [
        (1, "handbook", "a b", "ab"),
        (2, "sql", "how many", None),
        (3, "web", "c d", "c"),
    ]
    assert [search.tokens for search in searches] == [None, None, 1]
    assert all(search.seconds >= 0 for search in searches)
    assert [search.is_measured for search in searches] == [True, False, True]
    assert (len(searches), searches[1].tool) == (3, "sql")
    handbook("later")
    assert len(searches) == 3


def test_nobody_records() -> None:
    """A function that is searched is what it was, with its name and signature."""
    assert handbook("a") == [{"id": "a"}]
    assert (handbook.__name__, handbook.__doc__) == ("handbook", "Documents called as the words.")
    assert asyncio.iscoroutinefunction(web)


def test_side_by_side() -> None:
    """Tasks and threads that overlap are one step, whichever began or ended first."""
    there = threading.Barrier(3)

    @kragx.searched
    def waits(query: str) -> list[str]:
        there.wait(60)
        return [query]

    def in_threads(words: str) -> list[tuple[Any, ...]]:
        with kragx.record_searches() as searches, ThreadPoolExecutor(3) as pool:
            for word in words:
                pool.submit(contextvars.copy_context().run, waits, word)
        return brief(searches)

    expected = [(1, "waits", word, word) for word in "abc"]
    assert in_threads("abc") == in_threads("cab") == in_threads("bca") == expected

    async def in_tasks(*words: str) -> list[tuple[Any, ...]]:
        with kragx.record_searches() as searches:
            await asyncio.gather(*map(web, words))
            await web("z")
        return brief(searches)

    tasks = [(1, "web", "a", "a"), (1, "web", "b", "b"), (2, "web", "z", "z")]
    assert asyncio.run(in_tasks("b", "a")) == asyncio.run(in_tasks("a", "b")) == tasks


def test_said_to_be_side_by_side() -> None:
    """Searches so short that they do not overlap are one step where that is said."""
    with kragx.record_searches() as searches:
        with searches.side_by_side():
            handbook("b")
            handbook("a")
        with searches.side_by_side():
            handbook("c")
        handbook("d")
    assert brief(searches) == [
        (1, "handbook", "a", "a"),
        (1, "handbook", "b", "b"),
        (2, "handbook", "c", "c"),
        (3, "handbook", "d", "d"),
    ]


def test_within_a_search() -> None:
    """What a search calls is its stages, in threads of its own as well; they are no searches."""

    @kragx.searched
    def hybrid(query: str) -> list[dict[str, str]]:
        with ThreadPoolExecutor(1) as pool:
            docs = pool.submit(contextvars.copy_context().run, handbook, query).result()
        asyncio.run(web("x"))
        return docs[:1]

    with kragx.record_searches() as searches:
        hybrid("a b")
    (search,) = searches
    assert brief(searches) == [(1, "hybrid", "a b", "a")]
    assert [(stage.name, len(stage.documents)) for stage in search.stages] == [
        ("handbook", 2),
        ("web", 1),
    ]
    assert search.tokens == 1


def test_text_of_what_was_found_within() -> None:
    """A search that hands on words alone found what its last stages found, by turns."""

    @kragx.searched
    def told(query: str) -> str:
        return ", ".join(str(docs) for docs in (handbook("c a"), handbook("b a")))

    with kragx.record_searches() as searches:
        told("q")
    assert brief(searches) == [(1, "told", "q", "bca")]


def test_failed_and_again() -> None:
    """A search that fails is one; asked again in the same words at once it is the same step."""
    failures = iter([ConnectionError("down"), ConnectionError("down"), None, KeyError("k"), None])

    @kragx.searched
    def shaky(query: str) -> list[str]:
        if (error := next(failures)) is not None:
            raise error
        return [query]

    with kragx.record_searches() as searches:
        for words in ("a", "a", "a", "a", "b"):
            try:
                shaky(words)
            except (ConnectionError, KeyError):
                continue
    assert [(search.step, search.query, search.error) for search in searches] == [
        (1, "a", "ConnectionError: down"),
        (1, "a", "ConnectionError: down"),
        (1, "a", None),
        (2, "a", "KeyError: 'k'"),
        (3, "b", None),
    ]


def test_a_thread_that_knows_nothing() -> None:
    """It is heard while one recording is under way; of several nobody knows, and that is said."""

    def ask() -> None:
        thread = threading.Thread(target=handbook, args=("a",))
        thread.start()
        thread.join()

    with kragx.record_searches() as searches:
        ask()
    assert brief(searches) == [(1, "handbook", "a", "a")]
    with kragx.record_searches() as outer, kragx.record_searches() as inner:
        ask()
    assert brief(outer) == brief(inner) == [(1, "handbook", "a", "a")]

    def beside() -> None:
        with kragx.record_searches():
            ask()

    def both() -> None:
        with kragx.record_searches() as searches:
            thread = threading.Thread(target=beside)
            thread.start()
            thread.join()
        assert not searches

    with pytest.warns(SearchWarning, match="not all searches are recorded") as said:
        both()
    assert len(said) == 2


def test_what_was_read() -> None:
    """Documents or ids that were read stand with the last search."""
    with kragx.record_searches() as searches:
        docs = handbook("a b")
        handbook("c")
        searches.read([docs[1], "c"])
    assert [search.read for search in searches] == [None, ("b", "c")]
    with pytest.raises(kragx.DataError, match="what was read is told by its id"):
        searches.read([{"text": "x"}])
    with pytest.raises(kragx.DataError, match="'prices' is no list; put it into one"):
        searches.read("prices")


def test_what_is_recorded_is_an_answer() -> None:
    """It is evaluated as `Searches` are, also without one, or with what was handed on."""
    gold = questions(1)
    with kragx.record_searches() as searches:
        handbook("x g0")
        assert isinstance(searches, kragx.Searches)
    for answers in ({"q1": searches}, [searches], lambda question: searches):
        result = evaluate(gold, answers, match="id", metrics=["mrr@5", "evidence_recall"])
        assert [*result.mean.values()] == [0.5, 1]
    searches.hand_on([{"id": "g0"}])
    result = evaluate(gold, {"q1": searches}, match="id", metrics=["mrr@5", "mrr@5(of=first)"])
    assert [*result.mean.values()] == [1, 0.5]
    with kragx.record_searches() as searches:
        pass
    run = retrieve(lambda question: searches, gold)
    assert (run["q1"].searches, run["q1"].documents, run["q1"].error) == ((), (), None)


def test_wrong_use() -> None:
    """What yields, and a parameter that is not there, are errors when the function is made."""

    def yields(query: str) -> Any:
        yield query

    with pytest.raises(UsageError, match="yields yields its documents; have it return a list"):
        kragx.searched(yields)
    with pytest.raises(UsageError, match="sql has no parameter 'words'"):
        kragx.searched(query="words")(sql)


class Index:
    """A method is searched as a function is, and an option takes the documents."""

    @kragx.searched(documents=lambda answer: answer["rows"])
    def look_up(self, words: str, most: int = 3) -> dict[str, Any]:
        """Rows under a name."""
        return {"rows": [{"text": words}], "total": most}


def test_a_method() -> None:
    """Its words are the only text that is passed."""
    with kragx.record_searches() as searches:
        Index().look_up("some words", most=2)
    assert brief(searches) == [(1, "look_up", "some words", "some words")]


def questions(n: int) -> GoldDataset:
    """Questions q1 to qn, whose gold is named as they are."""
    return GoldDataset.from_documents(
        [[{"id": f"g{i}"}] for i in range(n)], queries=[f"g{i}" for i in range(n)]
    )


def agent(question: str) -> str:
    """Searches in other words first, fails once, and answers in words."""
    handbook(f"not {question}")
    handbook(question)
    return f"The answer is {question}."


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("timeout", [None, 60])
def test_a_function_that_is_asked(concurrency: int, timeout: float | None) -> None:
    """What it searched is its answer, for each question apart."""
    there = threading.Barrier(concurrency)

    def slow(question: str) -> str:
        there.wait(60)
        return agent(question)

    run = retrieve(slow, questions(8), concurrency=concurrency, timeout=timeout)
    assert not run.failures
    for i, answer in enumerate(run.results.values()):
        assert brief(answer.searches) == [
            (1, "handbook", f"not g{i}", f"notg{i}"),
            (2, "handbook", f"g{i}", f"g{i}"),
        ]
        assert not answer.has_list
        assert [doc.id for doc in answer.documents] == ["not", f"g{i}"]


def test_a_coroutine_that_is_asked() -> None:
    """Questions that are asked at once do not mix."""

    async def asks(question: str) -> list[str]:
        first, _ = await asyncio.gather(web(question), web(f"{question} x"))
        return first

    run = asyncio.run(aretrieve(asks, questions(8), concurrency=8))
    for i, answer in enumerate(run.results.values()):
        expected = [(1, "web", f"g{i}", f"g{i}"), (1, "web", f"g{i} x", f"g{i}x")]
        assert brief(answer.searches) == expected
        assert answer.has_list
        assert [doc.text for doc in answer.documents] == [f"g{i}"]


def test_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches are those of the attempt whose answer counts; those of a failure stay."""
    monkeypatch.setattr("kragx.evaluation.retrieve.FIRST_PAUSE", 0)
    tries = iter(range(9))

    def limited(question: str) -> str:
        handbook(f"try {(number := next(tries))}")
        if number != 1:
            raise RuntimeError("limit of 2 searches")
        return "done"

    run = retrieve(limited, questions(2), retries=1)
    assert brief(run["q1"].searches) == [(1, "handbook", "try 1", "try1")]
    assert run.failures == {"q2": "RuntimeError: limit of 2 searches"}
    assert brief(run["q2"].searches) == [(1, "handbook", "try 3", "try3")]


def test_who_does_not_search() -> None:
    """Who answers one question without a search found nothing for it, and did not fail."""
    run = retrieve(lambda text: agent(text) if text != "g1" else "I know.", questions(3))
    assert not run.failures
    assert [len(answer.searches) for answer in run.results.values()] == [2, 0, 2]
    assert run["q2"].documents == ()
    run = retrieve(lambda text: "I know.", questions(1))
    assert run["q1"].error.startswith("DataError: the retriever returned str 'I know.'")
    broken = retrieve(lambda text: [agent(text), 3.5], questions(1))
    assert "3.5" in broken.failures["q1"]


def test_threads_of_several_questions() -> None:
    """A question fails whose searches may have gone to another one."""

    def ask(question: str) -> str:
        there.wait(60)
        thread = threading.Thread(target=handbook, args=(question,))
        thread.start()
        thread.join()
        there.wait(60)
        return "done"

    there = threading.Barrier(2)
    run = retrieve(ask, questions(2), concurrency=2)
    assert set(run.failures.values()) == {f"DataError: {LOST}"}
    there = threading.Barrier(1)
    assert [len(answer.searches) for answer in retrieve(ask, questions(2)).results.values()] == [
        1,
        1,
    ]


@pytest.mark.integration
def test_what_lasts_beyond_its_time() -> None:
    """A search of a question that was given up is none of the next, if that must fail for it."""
    is_over, is_late = threading.Event(), threading.Event()

    def ask(question: str) -> str:
        if question == "g0":
            assert is_over.wait(60)
            handbook("of the first")
            thread = threading.Thread(target=handbook, args=("of the first",))
            thread.start()
            thread.join()
            is_late.set()
            return "late"
        handbook("of the second")
        is_over.set()
        assert is_late.wait(60)
        return "done"

    run = retrieve(ask, questions(2), timeout=2)
    assert run["q1"].error == "TimeoutError: no answer within 2 s"
    assert run["q2"].error == f"DataError: {LOST}"
    assert brief(run["q2"].searches) == [(1, "handbook", "of the second", "ofthesecond")]


def test_stages_of_chains_are_no_searches() -> None:
    """A chain of LangChain's that answers with documents is a retriever, and has none."""
    from tests.evaluation.stages.chains import Fixed

    run = retrieve(Fixed(letters="ab"), questions(1))
    assert run["q1"].searches == ()
    run = retrieve(lambda text: str(Fixed(letters="ab").invoke(text)), questions(1))
    assert brief(run["q1"].searches) == [(1, "Fixed", "g0", "ab")]
    assert isinstance(run["q1"].searches[0], Search)


class Worker:
    """Answers in a task that the first question starts."""

    def __init__(self) -> None:
        self.questions: asyncio.Queue[Any] | None = None

    async def __call__(self, question: str) -> str:
        """Have the task search."""
        if self.questions is None:
            self.questions = asyncio.Queue()
            self.task = asyncio.create_task(self.work(self.questions))
        done = asyncio.get_running_loop().create_future()
        self.questions.put_nowait((question, done))
        return str(await done)

    async def work(self, questions: asyncio.Queue[Any]) -> None:
        """Search for each."""
        while True:
            question, done = await questions.get()
            done.set_result(handbook(question))


def test_a_task_that_serves_several_questions() -> None:
    """Its searches are of the question that is asked, also where it began with one before."""
    run = retrieve(Worker(), questions(3))
    assert [brief(answer.searches) for answer in run.results.values()] == [
        [(1, "handbook", f"g{i}", f"g{i}")] for i in range(3)
    ]


class Unprintable:
    """Says nothing of itself."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_arguments_that_json_cannot_say() -> None:
    """The function works as it does unrecorded; the words are what can be said of them."""

    @kragx.searched
    def filtered(filters: Any) -> list[str]:
        return ["a"]

    with kragx.record_searches() as searches:
        assert filtered({1: "a", "b": 2}) == ["a"]
        assert filtered({"deep": [Unprintable()]}) == ["a"]
    assert brief(searches) == [
        (1, "filtered", "{'filters': {1: 'a', 'b': 2}}", "a"),
        (2, "filtered", None, "a"),
    ]


@pytest.mark.parametrize("count", [-3, "7"])
def test_what_is_no_number_of_tokens(count: Any) -> None:
    """It is unknown, with a warning that names the function."""
    counted = kragx.searched(tool="web", tokens=lambda docs: count)(lambda query: [query])
    with kragx.record_searches() as searches, pytest.warns(SearchWarning, match="web: tokens of"):
        assert counted("a") == ["a"]
    assert (searches[0].tokens, searches[0].is_measured) == (None, True)


def test_an_option_that_fails() -> None:
    """The function does not, and its search is unmeasured."""
    rows = kragx.searched(tool="web", documents=lambda rows: rows["x"])(lambda query: {"y": []})
    assert rows("a") == {"y": []}
    with (
        kragx.record_searches() as searches,
        pytest.warns(SearchWarning, match="web: documents of what it returned .* KeyError: 'x'"),
    ):
        assert rows("a") == {"y": []}
    assert (searches[0].documents, searches[0].error) == (None, None)


def test_copies_of_a_recording() -> None:
    """They are the searches so far, which evaluate as the recording does."""
    with kragx.record_searches() as searches:
        handbook("x g0")
        searches.hand_on([{"id": "g0"}])
        copies = [
            copy.copy(searches),
            copy.deepcopy(searches),
            pickle.loads(pickle.dumps(searches)),
        ]
        expected = kragx.Searches(searches.searches, searches.retrieved)
        handbook("later")
    assert copies == [expected] * 3
    assert evaluate(questions(1), {"q1": copies[2]}, match="id", metrics=["mrr@5"])["mrr@5"] == 1


def test_tokens_within_tokens() -> None:
    """What a call cost has what the calls within it did; side by side they add up."""
    leg = kragx.searched(tool="leg", tokens=lambda docs: 4)(lambda query: [query])
    middle = kragx.searched(tool="middle", tokens=lambda docs: 10)(leg)

    @kragx.searched
    def outer(query: str) -> list[str]:
        return [*middle(query), *leg(query)]

    with kragx.record_searches() as searches:
        outer("x")
        middle("y")
    assert [search.tokens for search in searches] == [10 + 4, 10]


class Awaited:
    """Is awaited as an object, and its static method as well."""

    async def __call__(self, query: str) -> list[str]:
        """Find the words."""
        return [query]

    @kragx.searched
    @staticmethod
    async def still(query: str) -> list[str]:
        """Find the words."""
        return [query]


def test_what_is_awaited() -> None:
    """What an object or a static method that is awaited finds is known."""

    async def ask() -> None:
        assert await kragx.searched(Awaited())("a") == ["a"]
        assert await Awaited.still("b") == ["b"]

    with kragx.record_searches() as searches:
        asyncio.run(ask())
    assert brief(searches) == [(1, "Awaited", "a", "a"), (2, "still", "b", "b")]


def test_many_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call is looked at a few times, however many there are, and once all have ended once."""
    looks = 0
    around = Call.around.fget

    def counted(call: Call) -> Any:
        nonlocal looks
        looks += 1
        return around(call)

    with kragx.record_searches() as searches:
        for i in range(300):
            handbook(f"a{i}")
    monkeypatch.setattr(Call, "around", property(counted))
    assert len(searches) == len([*searches]) == 300
    assert searches[299].query == "a299"
    assert looks < 300 * 10

"""Retrievers that are servers, asked over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading

import pytest

from kragx import DataError, GoldDataset, RetrieverError, UsageError, aretrieve, evaluate, retrieve
from kragx.data import Query, SurrogateRepair
from kragx.data.gold import as_turns
from kragx.evaluation.remote_retrievers import http
from kragx.evaluation.retrieve import HistoryWarning
from kragx.retrievers import HttpRetriever, ReciprocalRankFusion
from tests.local_server import Reply, serving
from tests.thoroughness import all_cases, some

HITS = {
    "took": 2,
    "hits": {
        "total": 2,
        "hits": [
            {"_id": 7, "_score": 1.5, "_source": {"body": "서울은 수도다", "meta": {"page": 3}}},
            {"_id": "b", "_score": 0.5, "_source": {"body": "부산은 항구다", "meta": {}}},
        ],
    },
}
PATHS = {"documents": "$.hits.hits[*]", "text": "_source.body", "id": "_id"}
BODY = {"query": {"match": {"body": "{query}"}}, "size": 10}


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """The least seconds of each pause before another attempt, none of which is waited for."""
    asked = []
    monkeypatch.setattr(http, "wait_before", lambda number, least: asked.append(least) or 0.0)
    return asked


def asked(server, **options):
    """A server's documents for a question."""
    return HttpRetriever(f"{server.url}/docs/_search", **{"json": BODY} | options).invoke("수도는?")


def test_documents():
    """Text, id, score and metadata stand where the paths say, in the order of the list."""
    with serving(HITS) as server:
        found = asked(server, **PATHS, score="_score", metadata="_source.meta")
    assert [(doc.id, doc.text, doc.score, doc.metadata) for doc in found] == [
        ("7", "서울은 수도다", 1.5, {"page": 3}),
        ("b", "부산은 항구다", 0.5, {}),
    ]


def test_single_fields_as_metadata():
    """Metadata may be picked field by field."""
    with serving(HITS) as server:
        found = asked(server, **PATHS, metadata={"all": "_source.meta", "score": "_score"})
    assert found[1].metadata == {"all": {}, "score": 0.5}


@pytest.mark.parametrize(
    "answer",
    [["a", "b"], [{"text": "a"}, {"text": "b", "id": "7", "score": 1, "metadata": {"x": 1}}]],
)
def test_a_plain_list_needs_no_path(answer):
    """Texts, and documents in kragx's own fields, are understood as they are."""
    with serving(answer) as server:
        assert [doc.text for doc in asked(server)] == ["a", "b"]


@pytest.mark.parametrize("paths", [{}, {"text": "text"}], ids=["as they are", "by paths"])
def test_half_an_emoji_is_replaced_and_counted(paths):
    """A lone surrogate in an answer becomes U+FFFD, and the result says so."""
    gold = GoldDataset.from_documents([["가 나"]], queries=["수도는?"])
    with serving([{"text": "가 나 \ud83d"}, {"text": "다"}]) as server:
        run = retrieve(HttpRetriever(server.url, json=BODY, **paths), gold)
    assert run["q1"].documents[0].text == "가 나 \ufffd"
    assert run.n_replaced_surrogates == 1
    result = evaluate(gold, run, match="text", metrics=["mrr@5"])
    assert "lone surrogates in texts: 1 (replaced by U+FFFD)" in str(result)


def test_what_is_sent():
    """The question stands in texts, wherever `{query}` does; other braces are as they were."""
    body = {"q": "say {query}, {twice}: {query}", "{query}": ["{query}", 1, None], "k": "{k}"}
    with serving([]) as server:
        asked(server, json=body, headers={"X-Key": "k1"})
        HttpRetriever(f"{server.url}/{{query}}?a=1", params={"q": "{query}", "k": 3}).invoke(
            "a/b 가"
        )
    post, get = server.requests
    assert (post.method, post.path, post.headers["X-Key"]) == ("POST", "/docs/_search", "k1")
    question = "수도는?"
    assert post.json == {
        "q": f"say {question}, {{twice}}: {question}",
        "{query}": [question, 1, None],
        "k": "{k}",
    }
    assert (get.method, get.path) == ("GET", "/a%2Fb%20%EA%B0%80")
    assert get.params == {"a": ["1"], "q": ["a/b 가"], "k": ["3"]}


def test_no_hits_is_an_answer():
    """An empty list is what was found: nothing, and no failure."""
    with serving({"hits": {"hits": []}}) as server:
        assert asked(server, **PATHS) == []


ODD = {
    "a page": (Reply("<html><h1>Welcome</h1>", headers={"content-type": "text/html"}),
               DataError, r"200 with no JSON \(text/html\); the answer is <html><h1>Welcome"),
    "an error": (Reply({"error": {"reason": "no such index"}}),
                 DataError, "200, but: no field 'hits' in the answer.*'error'.*no such index"),
    "null hits": (Reply({"hits": {"hits": None}}), DataError, "no list in hits.hits.* null"),
    "null text": (Reply({"hits": {"hits": [{"_id": 1, "_source": {"body": None}}]}}),
                  DataError, "'_source.body' of document 1 is null, and is to be its text"),
    "a number as text": (Reply({"hits": {"hits": [{"_id": 1, "_source": {"body": 5}}]}}),
                         DataError, "rank 1: .*must be a string, not int"),
    "an object as id": (Reply({"hits": {"hits": [{"_id": {}, "_source": {"body": "a"}}]}}),
                        DataError, "an id must be a string or a whole number, not dict"),
    "cut JSON": (Reply('{"hits": {"hits": [{"_id"'), DataError, "with no JSON.*hits"),
    "nothing": (Reply(b""), DataError, "with no JSON.*the answer is empty"),
    "deep": (Reply("[" * 100_000), DataError, "200, but: nested too deeply"),
    "a key twice": (Reply('{"hits": {"hits": []}, "hits": {"hits": []}}'),
                    DataError, "200, but: the key 'hits' stands twice in one object"),
    "a number too large": (Reply('{"hits": {"hits": []}, "took": -1e999}'),
                           DataError, "200, but: -1e999 is too large a number; the answer is"),
    "a number that is none": (Reply('{"hits": {"hits": []}, "took": NaN}'),
                              DataError, "200, but: NaN is no number of JSON's"),
    "latin-1": (Reply('{"a": "é"}'.encode("latin-1")), DataError, "not UTF-8"),
    "forbidden": (Reply({"message": "no"}, 403), RetrieverError, '403 Forbidden.*"message": "no"'),
    "broken zip": (Reply(b"no zip", headers={"content-encoding": "gzip"}),
                   DataError, "cannot be unpacked"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "kind", "problem"), some(ODD.values(), 4), ids=ODD)
def test_odd_answers(reply, kind, problem):
    """What is no list of documents is an error with what was asked and what the answer is."""
    with serving(reply) as server, pytest.raises(kind, match=problem) as caught:
        asked(server, **PATHS)
    assert f"POST {server.url}/docs/_search" in str(caught.value)
    assert len(server.requests) == 1


def test_where_the_list_may_be():
    """Without a path to the documents the error names the list that is there."""
    with serving({"took": 1, "items": []}, [{"title": "a"}]) as server:
        with pytest.raises(DataError, match=r"say where it is, as documents: \$\.items"):
            asked(server)
        with pytest.raises(DataError, match=r"title: unknown field; say where its text and id are"):
            asked(server)


def test_too_large(monkeypatch):
    """An answer above the bound is refused, packed and unpacked, before all of it is read."""
    packed = gzip.compress(json.dumps(["a" * 5000]).encode())
    for reply in (["a" * 5000], Reply(packed, headers={"content-encoding": "gzip"})):
        with serving(reply) as server:
            monkeypatch.setattr(http, "MOST_BYTES", 1000)
            with pytest.raises(DataError, match=r"more than|unpacks to too much"):
                asked(server)
            monkeypatch.setattr(http, "MOST_BYTES", 10_000)
            assert len(asked(server)) == 1


def test_slow_drip():
    """The time is that of the whole answer: a byte now and then does not stretch it."""
    late = pytest.raises(RetrieverError, match=r"no whole answer within 0\.1 s")
    with serving(Reply("x" * 1000, drip=0.02)) as server, late:
        asked(server, timeout=0.1)


def test_retries(pauses):
    """429, 5xx and broken connections are asked again, after the time that the server says."""
    refusals = [
        Reply("busy", 429, {"retry-after": "7"}),
        Reply("down", 503),
        Reply(cut=True),
    ]
    with serving(*refusals, ["a"]) as server:
        assert [doc.text for doc in asked(server)] == ["a"]
        assert len(server.requests) == 4
    assert pauses == [7.0, 0.0, 0.0]


def test_when_retries_are_used_up(pauses):
    """The last refusal is the failure; a pause beyond a minute is not waited for at all."""
    with serving(Reply("down", 500)) as server:
        with pytest.raises(RetrieverError, match=r"answered 500 Internal.*; the answer is down"):
            asked(server, retries=2)
        assert len(server.requests) == 3
    with serving(Reply("busy", 429, {"retry-after": "3600"})) as server:
        with pytest.raises(RetrieverError, match=r"429 Too Many.*to come back in 3600 s"):
            asked(server)
        assert len(server.requests) == 1


def test_a_server_that_is_down_costs_its_retries_once():
    """After a question that used them up the next is asked once, until the server is well."""
    down, well = Reply("down", 503), Reply(["a"])
    with serving(down, down, down, down, well, down, down, well) as server:
        retriever = HttpRetriever(server.url, json="{query}", retries=2)
        for expected in (3, 4):
            with pytest.raises(RetrieverError, match="503"):
                retriever.invoke("a")
            assert len(server.requests) == expected
        for expected in (5, 8):
            assert retriever.invoke("a")
            assert len(server.requests) == expected


def test_results_record_what_was_asked():
    """A result says how the server was asked, and holds no key."""
    key = "tok-5f2a9c1e7d"
    with serving(["a"]) as server:
        retriever = HttpRetriever(
            server.url, json={"q": "{query}"}, headers={"X-Api-Key": key}, params={"api_key": key}
        )
        gold = GoldDataset.from_documents([["a"]], queries=["why"])
        settings = evaluate(gold, retriever).settings["run"]
    assert settings["http"]["json"] == {"q": "{query}"}
    assert key not in json.dumps(settings)
    assert set(settings["http"]) == {"url", "json", "headers", "params"}


def test_no_server():
    """A server that is not there is a failure that names the address."""
    with serving([]) as server:
        address = server.url
    with pytest.raises(RetrieverError, match=f"POST {address}/x: no connection: ConnectError"):
        HttpRetriever(f"{address}/x", json="{query}", retries=0).invoke("a")


def test_redirects_are_not_followed():
    """Another host never sees the key: a redirect is a failure that says where it leads."""
    with serving([]) as other:
        there = f"{other.url}/elsewhere"
        refused = pytest.raises(RetrieverError, match=f"307 Temporary Redirect, to {there}")
        with serving(Reply("", 307, {"location": there})) as server, refused:
            asked(server, headers={"Authorization": "Bearer tok-5f2a9c1e7d"})
    assert other.requests == []


def test_secrets_are_not_told():
    """A server that says the key back gives it to no error, and no repr has it."""
    key = "tok-5f2a9c1e7d"
    with serving(lambda request: {"you": request.headers["Authorization"]}) as server:
        url = server.url.replace("//", "//ann:pass-77x1@") + "/q?key=" + key
        retriever = HttpRetriever(
            url, json=BODY, headers={"Authorization": f"Bearer {key}"}, documents="$.hits"
        )
        with pytest.raises(DataError) as caught:
            retriever.invoke("a")
    assert "no field 'hits'" in str(caught.value)
    for text in (str(caught.value), repr(caught.value), repr(retriever)):
        assert key not in text
        assert "pass-77x1" not in text


@all_cases(
    ("options", "problem"),
    [
        ({"url": "search.local"}, "url: 'search.local' is no address; it begins with http"),
        ({"json": {"q": "query"}}, "stands nowhere in url, params and json"),
        ({"json": {"q": {"query": None}}}, r'write it in quotes, as json: {query: "{query}"}'),
        ({"text": "a..b"}, r"text: 'a..b' is no path"),
        ({"metadata": {"a": "b["}}, "metadata: 'b\\['"),
        ({"timeout": 0}, "timeout: 0 is not a number of seconds above 0"),
        ({"retries": -1}, "retries: -1 is not a whole number of at least 0"),
        ({"method": "DELETE"}, "method: unknown value 'DELETE'"),
        ({"method": "GET"}, "json: GET sends no body; use params, or POST"),
        ({"headers": ["a"]}, "headers: a mapping as {name: value} is expected"),
    ],
)
def test_wrong_options(options, problem):
    """An option that is wrong is an error with its name, before anything is sent."""
    with pytest.raises(UsageError, match=problem):
        HttpRetriever(**{"url": "https://search.local/q", "json": BODY} | options)


def test_failures_are_the_questions_own():
    """In an evaluation one odd answer fails its question, and the others are scored."""
    gold = GoldDataset.from_documents([["a"], ["b"]], queries=["first", "second"])

    def answer(request):
        return ["a"] if request.json == "first" else {"error": "shard lost"}

    with serving(answer) as server:
        result = evaluate(gold, HttpRetriever(server.url, json="{query}"), metrics=["hit_rate@1"])
    assert result.counts["n_failed"] == 1
    assert "shard lost" in result.counts["first_failure"]
    assert result["hit_rate@1"] == 0.5


def test_several_at_once():
    """With concurrency requests overlap, from threads and from an event loop alike."""
    questions = [f"q{number}" for number in range(4)]
    gold = GoldDataset.from_documents([[text] for text in questions], queries=questions)
    together = threading.Barrier(4, timeout=60)

    def answer(request):
        together.wait()
        return [request.json]

    with serving(answer) as server:
        retriever = HttpRetriever(server.url, json="{query}", retries=0)
        runs = [
            retrieve(retriever, gold, concurrency=4),
            asyncio.run(aretrieve(retriever, gold, concurrency=4)),
        ]
    for run in runs:
        assert [run[query.id].documents[0].text for query in gold] == questions


def test_within_a_fusion():
    """It is asked as any retriever is, in a fusion of several too."""
    with serving(["a", "b"]) as one, serving(["b"]) as other:
        servers = [HttpRetriever(own.url, params={"q": "{query}"}) for own in (one, other)]
        fused = ReciprocalRankFusion(retrievers=servers).invoke("x")
    assert [doc.page_content for doc in fused] == ["b", "a"]


TURNS = [{"role": "user", "content": "{query}?"}, {"role": "assistant", "content": "yes"}]


def test_what_was_said_before():
    """A text `{history}` is the list of turns, as they are; without one the history is unheard."""
    gold = GoldDataset((Query("q1", "and then", history=as_turns(TURNS, SurrogateRepair())),))
    with serving([]) as server:
        body = {"q": "{query}", "chat": "{history}", "other": "a {history}"}
        retrieve(HttpRetriever(server.url, json=body), gold)
        deaf = HttpRetriever(server.url, json={"q": "{query}"})
        with pytest.warns(HistoryWarning, match="asked without the history"):
            retrieve(deaf, gold)
    assert server.requests[0].json == {"q": "and then", "chat": TURNS, "other": "a {history}"}

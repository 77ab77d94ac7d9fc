"""Each metric of documents and times on an example by hand, with its undefined cases."""

from __future__ import annotations

from math import log2

import pytest

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, UsageError, evaluate
from kragx.errors import DataError


def measured(*metrics, docs=(), gold=("<A>",), seconds=None, settings=None, match="text", **query):
    """The value of each metric for one question."""
    golds = tuple(Gold(text=text) for text in gold)
    dataset = GoldDataset((Query("q", "?", gold=golds, **query),))
    run = Run({"q": Retrieved(tuple(docs), seconds)}, settings=settings or {})
    return evaluate(dataset, run, match=match, metrics=metrics)


def test_doc_type_coverage():
    """Retrieved among expected: one of two at 1, both at 3; other types change nothing."""
    docs = [Doc(text=t, metadata={"doc_type": t}) for t in ("statute", "blog", "case")]
    result = measured(
        "doc_type_coverage@1",
        "doc_type_coverage@3",
        docs=docs,
        expected_doc_types=("case", "statute"),
    )
    assert result.mean == {"doc_type_coverage@1": 0.5, "doc_type_coverage@3": 1.0}


def test_doc_type_coverage_of_an_empty_list_and_without_expectation():
    """An empty list covers nothing; a question that expects nothing has no value."""
    assert measured("doc_type_coverage", expected_doc_types=("case",))["doc_type_coverage"] == 0
    assert measured("doc_type_coverage", docs=[Doc(text="x")])["doc_type_coverage"] is None


def test_doc_type_by_path():
    """`key` may be a path into nested metadata, and the canonical name shows it."""
    docs = [Doc(text="x", metadata={"file": {"kind": "case"}})]
    result = measured("doc_type_coverage(key=file.kind)", docs=docs, expected_doc_types=("case",))
    assert result.mean == {"doc_type_coverage(key=file.kind)": 1.0}


@pytest.mark.parametrize(
    ("sources", "bits"),
    [("aabb", 1.0), ("abcd", 2.0), ("aaaa", 0.0), ("aaab", 2 - 0.75 * log2(3))],
)
def test_source_diversity(sources, bits):
    """Shannon's entropy in bits, beside its maximum log2(n)."""
    docs = [Doc(id=str(at), text="x", metadata={"source": s}) for at, s in enumerate(sources)]
    result = measured("source_diversity@10", docs=docs)
    assert result["source_diversity@10"] == pytest.approx(bits)
    assert str(result["source_diversity@10"]) != "-0.0"
    assert result.maximum == {"source_diversity@10": 2.0}
    assert result.to_dict()["maximum"] == {"source_diversity@10": 2.0}


def test_source_diversity_without_the_key():
    """Where no document has the key there is no value, not 0."""
    result = measured("source_diversity", docs=[Doc(text="x")])
    assert result["source_diversity"] is None
    assert result.maximum == {}


def test_seconds_and_throughput():
    """Mean and percentiles of 1, 2, 3, 4 seconds; what failed or was not timed is left out."""
    dataset = GoldDataset(tuple(Query(f"q{n}", "?", (Gold(text="x"),)) for n in range(6)))
    found = {f"q{n}": Retrieved((), float(n + 1)) for n in range(4)}
    found["q4"] = Retrieved(seconds=0.0, error="ValueError: no index")
    found["q5"] = Retrieved(())
    names = ("mean", "p50", "p95", "p99")
    metrics = [*(f"seconds_{name}" for name in names), "throughput"]
    result = evaluate(
        dataset, Run(found, settings={"concurrency": 2}), match="text", metrics=metrics
    )
    assert [result[f"seconds_{name}"] for name in names] == pytest.approx([2.5, 2.5, 3.85, 3.97])
    assert result["throughput"] == pytest.approx(2 * 4 / 10)
    assert result.counts["metrics"]["seconds_mean"] == {"n_scored": 4}
    assert result.queries["q4"]["seconds_mean"] is None


@pytest.mark.parametrize("error", ["TimeoutError: late", "ReadTimeout: ", "APITimeoutError: slow"])
def test_timeouts_take_time(error):
    """The wait for an answer that never came counts as time, though not as an answer."""
    dataset = GoldDataset(tuple(Query(f"q{n}", "?", (Gold(text="x"),)) for n in range(4)))
    answers = {f"q{n}": Retrieved((), 1.0) for n in range(3)}
    answers["q3"] = Retrieved(seconds=5.0, error=error)
    result = evaluate(
        dataset, Run(answers), match="text", metrics=["seconds_mean", "seconds_p99", "throughput"]
    )
    assert result["seconds_mean"] == 2
    assert result["seconds_p99"] == pytest.approx(1 + 0.97 * 4)
    assert result["throughput"] == pytest.approx(3 / 8)


def test_no_time_at_all():
    """A run without times has no numbers of time."""
    result = measured("seconds_mean", "seconds_p99", "throughput", docs=[Doc(text="x")])
    assert set(result.mean.values()) == {None}


def test_context_relevance():
    """Of the documents that expansion added: one of two holds gold; the original is not asked."""
    docs = [
        Doc(text="<A>"),
        Doc(text="before", metadata={"expanded": True}),
        Doc(text="<B> after", metadata={"expanded": True}),
        Doc(text="none", metadata={"expanded": False}),
    ]
    result = measured("context_relevance", "context_relevance@2", docs=docs, gold=("<A>", "<B>"))
    assert result.mean == {"context_relevance": 0.5, "context_relevance@2": 0.0}
    assert measured("context_relevance", docs=docs[:1])["context_relevance"] is None
    assert measured("context_relevance", docs=docs, gold=())["context_relevance"] is None


def test_context_relevance_of_a_repeated_document():
    """A document that stood before is not relevant again."""
    docs = [Doc(text="<A>"), Doc(text="<A>", metadata={"expanded": True})]
    assert measured("context_relevance", docs=docs)["context_relevance"] == 0


def test_context_completeness():
    """Facts in the top k, each counted once, in whatever document it stands."""
    facts = {"facts": ["within 14 days", "the shop pays", "not on islands"]}
    docs = [Doc(text="returns within 14 days"), Doc(text="the shop pays, within 14 days")]
    result = measured("context_completeness@1", "context_completeness@2", docs=docs, metadata=facts)
    assert list(result.mean.values()) == pytest.approx([1 / 3, 2 / 3])
    assert measured("context_completeness", metadata=facts)["context_completeness"] == 0
    assert measured("context_completeness", docs=docs)["context_completeness"] is None


def test_facts_have_a_matcher_of_their_own():
    """Gold is matched by id and facts by text; facts by id are refused with the remedy."""
    dataset = GoldDataset((Query("q", "?", (Gold(id="d"),), metadata={"facts": ["two days"]}),))
    run = Run({"q": Retrieved((Doc(id="d", text="Delivery takes two days."),))})
    metrics = ["recall@1", "context_completeness@1"]
    result = evaluate(dataset, run, match="id", facts_match="text", metrics=metrics)
    assert result.mean == {"recall@1": 1.0, "context_completeness@1": 1.0}
    assert result.settings["facts_match"]["method"] == "text"
    with pytest.raises(UsageError, match="facts_match: text"):
        evaluate(dataset, run, match="id", metrics=metrics)


@pytest.mark.parametrize("facts", ["a text", [1], [""], {"a": 1}])
def test_facts_that_are_none(facts):
    """Facts of another shape are bad data, named with query and field."""
    with pytest.raises(DataError, match=r"query 'q': metadata\.facts"):
        measured("context_completeness", docs=[Doc(text="x")], metadata={"facts": facts})


def test_facts_at_another_threshold():
    """Facts without a matcher of their own are decided with the gold; others keep theirs."""
    gold = GoldDataset(
        (Query("q", "?", (Gold(text="a b c d"),), metadata={"facts": ["a b x y", "a b c x"]}),)
    )
    run = Run({"q": Retrieved((Doc("1", "a b c d"), Doc("2", "a b x y")))})
    metrics = ["context_completeness@1", "context_completeness@2"]
    match = {"method": "rouge1", "measure": "recall", "threshold": 0.9}
    result = evaluate(gold, run, match=match, metrics=metrics)
    assert list(result.mean.values()) == [0.0, 0.5]
    looser = result.at_threshold(0.7)
    assert list(looser.mean.values()) == [0.5, 1.0]
    assert list(looser.mean.values()) == list(
        evaluate(gold, run, match={**match, "threshold": 0.7}, metrics=metrics).mean.values()
    )
    assert looser.settings["facts_match"]["threshold"] == 0.7
    own = evaluate(gold, run, match=match, facts_match="text", metrics=metrics)
    assert own.at_threshold(0.7).mean == own.mean


def test_judged():
    """Gold of any grade makes a document judged; an empty list has no value."""
    dataset = GoldDataset((Query("q", "?", (Gold(id="a"), Gold(id="b", grade=0))),))
    run = Run({"q": Retrieved((Doc(id="b"), Doc(id="x"), Doc(id="a")))})
    result = evaluate(dataset, run, match="id", metrics=["judged@1", "judged@2", "judged@9"])
    assert list(result.mean.values()) == pytest.approx([1.0, 0.5, 2 / 3])
    assert measured("judged@5")["judged@5"] is None


@pytest.mark.parametrize("match", ["overlap", "span", "phrase"])
def test_short_facts_are_phrases(match):
    """A fact of a few words stands in a document or does not, whichever matcher compares texts."""
    facts = ["3월 15일", "서울 시청", "15일 회의"]
    dataset = GoldDataset(
        (Query("q", gold=(Gold(text="회의 날짜와 장소"),), metadata={"facts": facts}),)
    )
    run = Run(
        {"q": Retrieved((Doc(text="회의는 3월 15일에 열린다"), Doc(text="서울 시청에서 열린다")))}
    )
    names = ["context_completeness@1", "context_completeness@2"]
    result = evaluate(dataset, run, match=match, metrics=names)
    assert list(result.mean.values()) == pytest.approx([1 / 3, 2 / 3])

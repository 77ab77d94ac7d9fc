"""Questions that nothing answers: abstention, and no other number that they may change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import (
    DataError,
    Doc,
    Gold,
    GoldDataset,
    Query,
    Retrieved,
    Run,
    UsageError,
    evaluate,
    pooled,
)
from kragx.judging import Judge
from kragx.metrics import METRICS
from kragx.testing import ScriptedClient
from tests.thoroughness import examples

BOTH = ["abstention", "false_abstention"]


def question(name: str, *, answerable: bool | None) -> Query:
    """One with gold, or one that nothing answers."""
    gold = () if answerable is False else (Gold(text="the ferry leaves at nine"),)
    return Query(name, "when?", gold, None, ("timetable",), answerable)


def evaluated(*answers: tuple[bool | None, Retrieved | None], metrics=BOTH, **options):
    """An evaluation of questions, answerable or not, with what was retrieved for each."""
    queries = [question(f"q{at}", answerable=own) for at, (own, _) in enumerate(answers)]
    run = Run({f"q{at}": own for at, (_, own) in enumerate(answers) if own is not None})
    return evaluate(GoldDataset(tuple(queries)), run, match="text", metrics=metrics, **options)


def found(*scores: float | None, text: str = "a text") -> Retrieved:
    """Documents with these scores."""
    return Retrieved(tuple(Doc(f"d{at}", text, {}, own) for at, own in enumerate(scores)))


NOTHING, FAILED = Retrieved(()), Retrieved((), error="timeout")


def test_by_hand():
    """An empty list is an abstention; documents, a failure and no answer at all are none."""
    unanswerable = [(False, own) for own in (NOTHING, found(0.9, 0.8), FAILED, None)]
    result = evaluated(*unanswerable, (None, found(0.9)), (True, NOTHING))
    assert result.mean == {"abstention": 0.25, "false_abstention": 0.5}
    assert result.queries["q0"] == {"abstention": 1.0, "false_abstention": None}
    assert result.queries["q4"] == {"abstention": None, "false_abstention": 0.0}


def test_a_failure_is_the_worse_of_both():
    """No abstention where nothing answers, and nothing retrieved where something would."""
    result = evaluated((False, FAILED), (True, FAILED), (True, found(1.0)))
    assert result.mean == {"abstention": 0.0, "false_abstention": 0.5}


def test_what_was_retrieved_none_the_less_is_said():
    """Counts and one line tell how many questions, empty lists and documents there are."""
    result = evaluated((False, NOTHING), (False, found(0.9, 0.8)), (False, None), (None, found(1)))
    counts = {"n_queries": 3, "n_empty": 1, "n_unanswered": 1, "n_documents": 2}
    assert result.counts["unanswerable"] == counts
    assert (
        "unanswerable questions: 3 (left out); nothing retrieved for 1, no answer for 1, 2 "
        "documents for 1" in result.remarks
    )
    assert not any("no value" in own or "answered with an" in own for own in result.remarks)
    assert "unanswerable" not in evaluated((None, NOTHING)).counts


@pytest.mark.parametrize("written", ["abstention@5", "abstention(score=0.5)"])
def test_wrongly_written(written):
    """Abstention is of whole answers, and has no options."""
    with pytest.raises(UsageError, match="abstention"):
        evaluated((False, NOTHING), metrics=[written])


ANSWERS = st.tuples(
    st.sampled_from([None, True, False]),
    st.none()
    | st.just(FAILED)
    | st.lists(st.floats(-2, 2), max_size=3).map(lambda own: found(*sorted(own, reverse=True))),
)


def slowly(answers) -> tuple[list[bool], list[bool]]:
    """For each unanswerable and each other question whether nothing was retrieved, by a loop."""
    abstained, lost = [], []
    for answerable, answer in answers:
        answered = answer is not None and answer.error is None
        docs = answer.documents if answered else ()
        if answerable is False:
            abstained.append(answered and not docs)
        else:
            lost.append(not docs)
    return abstained, lost


@given(st.lists(ANSWERS, min_size=1, max_size=6))
@examples(100)
def test_as_the_slow_reference(answers):
    """Both metrics equal a loop over questions and documents."""
    answers = [(True, found(9, 1)), *answers]  # one that is answered
    result = evaluated(*answers, metrics=BOTH)
    abstained, lost = slowly(answers)
    for name, own in zip(result.mean, (abstained, lost)):
        assert result.mean[name] == (pytest.approx(np.mean(own)) if own else None)


def every_metric() -> list[str]:
    """All but those of times, which are of every question, of this file, and of a judge."""
    others = [own for own in METRICS.values() if own.of != "all" and own.name not in BOTH]
    asked = [own for own in others if not own.reads_facts and own.from_relevance is None]
    return [f"{own.name}@3" if own.cuts else own.name for own in asked]


DOCS = [
    Doc("a", "the ferry leaves at nine daily", {"source": "s1", "doc_type": "timetable"}),
    Doc("b", "tickets", {"source": "s2", "doc_type": "law", "expanded": True}),
    Doc("c", "pets pay half", {"source": "s3", "doc_type": "timetable", "expanded": True}),
]


@pytest.mark.integration
@given(st.lists(st.lists(st.sampled_from(DOCS), max_size=3, unique_by=id), min_size=1, max_size=4))
@examples(60)
def test_no_other_metric_notices(lists):
    """Whatever is retrieved where nothing answers, every other number is what it is without."""
    with_gold = {"q": Retrieved(tuple(DOCS[1:] + DOCS[:1])), "r": Retrieved(())}
    usual = tuple(question(name, answerable=None) for name in with_gold)
    more = tuple(question(f"u{at}", answerable=False) for at in range(len(lists)))
    found_too = {f"u{at}": Retrieved(tuple(docs)) for at, docs in enumerate(lists)}
    for policy in ("skip", "error"):
        both = [
            evaluate(
                GoldDataset(queries), Run(run), match="text", metrics=every_metric(), no_gold=policy
            )
            for queries, run in (
                (usual, with_gold),
                (usual + more, with_gold | found_too),
            )
        ]
        alone, among = both
        assert among.mean == alone.mean
        assert among.micro == alone.micro
        assert among.maximum == alone.maximum
        assert among.counts["judged_share"] == alone.counts["judged_share"]


@pytest.mark.parametrize(("policy", "value"), [("zero", 0.5), ("abstain", 1.0)])
def test_policies_that_score_them_say_so(policy, value):
    """Where the rule for queries without gold gives them a value, the line about them tells it."""
    answers = [(None, found(1.0, text="the ferry leaves at nine")), (False, NOTHING)]
    result = evaluated(*answers, metrics=["recall@3"], no_gold=policy)
    assert result["recall@3"] == value
    (line,) = [remark for remark in result.remarks if remark.startswith("unanswerable")]
    assert {"zero": "scored 0", "abstain": "1 for an empty list"}[policy] in line


def test_only_forgotten_gold_is_an_error():
    """`no_gold: error` refuses what has no gold by mistake, not what is marked."""
    with pytest.raises(DataError, match=r"'q2': ndcg: 1 query has no gold.*answerable: false"):
        evaluate([["a"], []], [["a"], []], match="exact", no_gold="error")
    dataset = GoldDataset.from_documents([["a"], []], unanswerable=["q2"])
    result = evaluate(dataset, [["a"], ["x"]], match="exact", metrics=["mrr@3"], no_gold="error")
    assert result.mean == {"mrr@3": 1.0}


def test_marked_in_python():
    """Ids that do not exist, or that have gold, are refused."""
    for ids in (["q9"], ["q1"]):
        with pytest.raises(UsageError, match="unanswerable"):
            GoldDataset.from_documents([["a"], []], unanswerable=ids)


class TestPools:
    """A judge of relevance is not asked about them: whoever marked them has judged."""

    @pytest.fixture
    def client(self) -> ScriptedClient:
        """Finds everything relevant."""
        return ScriptedClient(lambda request: 3)

    @pytest.fixture
    def match(self, client, tmp_path):
        """Relevance, by that judge."""
        judge = Judge(client, store=tmp_path / "judgements.sqlite", progress=False)
        return {"method": "llm", "mode": "relevance", "judge": judge}

    def test_nothing_is_paid_for_and_nothing_scored(self, client, match):
        """One document of an answerable question is asked about; the pool is the same as alone."""
        dataset = GoldDataset((question("q", answerable=None), question("u", answerable=False)))
        metrics = ["precision@1", "recall@1", "abstention"]
        run = Run({"q": found(0.9, text="one"), "u": found(0.9, text="other")})
        result = evaluate(dataset, run, match=match, metrics=metrics)
        assert len(client.requests) == 1
        assert list(result.mean.values()) == [1.0, 1.0, 0.0]
        assert result.counts["unanswerable"]["n_documents"] == 1
        alone = evaluate(GoldDataset(dataset.queries[:1]), run, match=match, metrics=metrics[:2])
        assert alone.settings["pool"]["hash"] == result.settings["pool"]["hash"]

    def test_a_pool_of_several_runs(self, match):
        """Each run is scored in it."""
        dataset = GoldDataset((question("q", answerable=None), question("u", answerable=False)))
        runs = [
            Run({"q": found(0.9, text="one"), "u": NOTHING}, name="abstains"),
            Run({"q": found(0.9, text="two"), "u": found(0.2, text="x")}, name="never"),
        ]
        both = pooled(dataset, runs, match=match)
        values = [
            evaluate(dataset, run, match=both, metrics=["abstention", "recall@1"]) for run in runs
        ]
        assert [list(own.mean.values()) for own in values] == [[1.0, 0.5], [0.0, 0.5]]

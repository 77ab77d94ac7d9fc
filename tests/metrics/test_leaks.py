"""The metrics of what must not be found: `leak`, `leaked`, `stale_first`, and probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import UsageError
from kragx.metrics import MetricScores, compute, parse_all, profile
from kragx.metrics.evidence import ForbiddenMarks
from kragx.metrics.leaks import with_leak
from kragx.metrics.scores import counted, intervals_of
from tests.metrics.support import Ranking, quick, table

KINDS = ("tenant", "version")


@dataclass(frozen=True)
class Marked:
    """One question: of each document its mark in each kind, and whether an old version stands.

    `gold` says which of its documents has its gold; None of a question without gold.
    """

    marks: Sequence[tuple[int, int]] = ()
    could: tuple[bool, bool] = (True, False)
    open: tuple[bool, bool] = (False, False)
    stale: Sequence[int] = ()
    versions: bool = False
    stale_open: bool = False
    gold: int | None = 0
    answered: bool = True
    unanswerable: bool = False
    n: int = field(default=0)


def evidence(*questions: Marked, kinds=KINDS):
    """What metrics look at: matches, and marks."""
    rows = [
        Ranking(
            tuple((float(at == own.gold),) if own.gold is not None else () for at in range(n)),
            (1.0,) if own.gold is not None else (),
            answered=own.answered,
        )
        for own in questions
        for n in [len(own.marks) or len(own.stale)]
    ]
    matches = replace(
        table(*rows), unanswerable=np.array([own.unanswerable for own in questions], bool)
    )
    n_docs = matches.n_docs.tolist()
    marks = ForbiddenMarks(
        kinds=kinds,
        mark=np.array(
            [
                (*mark, stale)
                for own, n in zip(questions, n_docs)
                for mark, stale in zip(own.marks or [(0, 0)] * n, own.stale or [0] * n)
            ],
            np.int8,
        ).reshape(-1, len(KINDS) + 1),
        could=np.array([(*own.could, own.versions) for own in questions], bool),
        open=np.array([(*own.open, own.stale_open) for own in questions], bool),
    )
    return SimpleNamespace(table=matches, forbidden=marks, lists=(), relevance=None, searches=None)


def scores(metrics: object, *questions: Marked, no_gold: str = "skip", **options) -> dict:
    """The scores of metrics by their names."""
    of = evidence(*questions, **options)
    rules = replace(profile("kragx"), no_gold=no_gold)
    computed = compute(of.table, parse_all(metrics), rules, of)
    return {str(score.spec): score for score in computed}


def values(metric: str, *questions: Marked, **options) -> list[float | None]:
    """The values of one metric."""
    (score,) = scores([metric], *questions, **options).values()
    return [None if np.isnan(value) else value for value in score.values.tolist()]


CLEAN = Marked([(0, 0), (0, 0)])
AT_2 = Marked([(0, 0), (1, 0), (0, 0), (1, 0)])


def test_by_hand():
    """A forbidden document at ranks 2 and 4: none within 1, one of 3, two of 4, two of 10."""
    assert [values(f"leak@{k}", AT_2) for k in (1, 2, 10)] == [[0.0], [1.0], [1.0]]
    assert values("leak", AT_2) == [1.0]
    shares = [values(f"leaked@{k}", AT_2)[0] for k in (1, 2, 3, 10)]
    assert shares == pytest.approx([0, 1 / 2, 1 / 3, 2 / 4])
    assert values("leaked", AT_2) == [0.5]
    old_first = Marked(stale=[0, 1, 0], versions=True)
    assert [values(f"stale_first@{k}", old_first)[0] for k in (1, 2)] == [0.0, 1.0]


def test_questions_that_could_not_leak_have_no_value():
    """They are in no mean, and how many could is counted; of a kind those of that kind."""
    neither, version = replace(AT_2, could=(False, False)), Marked([(0, 1)], could=(False, True))
    questions = (AT_2, CLEAN, replace(neither, marks=[(0, 0)]), version)
    assert values("leak@2", *questions) == [1.0, 0.0, None, 1.0]
    assert values("leak@2(kind=tenant)", *questions) == [1.0, 0.0, None, None]
    assert values("leak@2(kind=version)", *questions) == [None, None, None, 1.0]
    assert values("stale_first@2", *questions) == [None] * 4
    (score,) = scores(["leak@2"], *questions).values()
    assert score.mean == pytest.approx(2 / 3)
    none_open = dict.fromkeys(("n_open", "n_unanswered", "n_lost", "n_lacking"), 0)
    assert score.counts == {"n_could": 3, "n_leaked": 2, **none_open, "n_empty": 0, "n_short": 1}


def test_what_is_not_known_is_never_clean():
    """It has no value, and there is no mean: it is between no leak there, and nothing else."""
    unknown, is_open = Marked([(0, 0), (-1, 0)]), Marked([(0, 0)], open=(True, False))
    failed = Marked(answered=False, open=(True, False))
    questions = (AT_2, CLEAN, unknown, is_open, failed, replace(unknown, marks=[(1, 0), (-1, 0)]))
    assert values("leak@2", *questions) == [1.0, 0.0, None, None, None, 1.0]
    assert values("leak@1", *questions)[2] == 0.0  # what is not known stands below
    (leak,) = scores(["leak@2"], *questions).values()
    assert (leak.mean, leak.bounds) == (None, pytest.approx((2 / 6, 5 / 6)))
    assert leak.counts["n_open"] == 3
    # Why: the question failed, an item can match nothing, a document is not known.
    assert [leak.counts[name] for name in ("n_unanswered", "n_lost", "n_lacking")] == [1, 1, 1]
    (leaked,) = scores(["leaked@2"], unknown, is_open, CLEAN).values()
    assert (leaked.mean, leaked.bounds) == (None, pytest.approx((0, (1 / 2 + 1) / 3)))
    stale = Marked(stale=[0, -1], versions=True)
    assert (
        values("stale_first@2", stale, replace(stale, stale=[0, 0], stale_open=True)) == [None] * 2
    )
    # Nor is it for what the question lacks itself, if it could leak in another way.
    assert values("leak@2", Marked([(0, -1)])) == [None]


def test_an_empty_list_is_clean():
    """It is answered, and counted; so is a list that ends before k."""
    empty = Marked(open=(True, False))
    (score,) = scores(["leak@3"], empty, CLEAN, Marked([(0, 0)] * 3)).values()
    assert score.values.tolist() == [0.0] * 3
    assert (score.counts["n_empty"], score.counts["n_short"]) == (1, 1)


def test_what_is_wrong_with_it():
    """Nothing forbidden, and a kind that nothing has, are errors that say what to do."""
    of = evidence(CLEAN)
    of.forbidden = None
    with pytest.raises(UsageError, match=r"metric leak@3: nothing is forbidden.*\"forbidden\""):
        compute(of.table, parse_all(["leak@3"]), evidence=of)
    with pytest.raises(UsageError, match=r"metric leaked@3: nothing is forbidden"):
        scores(["leaked@3"], CLEAN, kinds=())
    with pytest.raises(UsageError, match=r"nothing is forbidden as 'tennant'.*'tenant'"):
        scores(["leak@3(kind=tennant)"], CLEAN)


@pytest.mark.parametrize("no_gold", ["skip", "zero", "error", "abstain"])
def test_probes_are_of_no_other_metric(no_gold):
    """One that could leak, without gold, has no other value, whatever `no_gold` is."""
    probe, gold = replace(AT_2, gold=None), replace(CLEAN, gold=1)
    both = scores(["recall@2", "precision@2", "judged@2", "leak@2"], gold, probe, no_gold=no_gold)
    alone = scores(["recall@2", "precision@2", "judged@2"], gold, no_gold=no_gold)
    for name, score in alone.items():
        assert both[name].mean == score.mean
        assert (both[name].pooled, both[name].micro) == (score.pooled, score.micro)
        assert np.isnan(both[name].values[1])
    assert not both["recall@2"].no_gold.any()
    assert both["leak@2"].values.tolist() == [0.0, 1.0]


def test_an_unanswerable_question_is_no_probe():
    """Whoever says that nothing answers it means abstention, though it may leak as well."""
    question = replace(AT_2, gold=None, unanswerable=True)
    assert scores(["recall@2"], question, no_gold="zero")["recall@2"].mean == 0.0
    assert values("leak@2", question) == [1.0]


MARKS = st.sampled_from((-1, 0, 0, 1))
QUESTIONS = st.builds(
    Marked,
    marks=st.lists(st.tuples(MARKS, MARKS), max_size=5),
    could=st.tuples(st.booleans(), st.booleans()),
    open=st.tuples(st.booleans(), st.booleans()),
    gold=st.none(),
    answered=st.just(True),
)


def slow(question: Marked, k: int, kinds: Sequence[int]) -> tuple[float | None, float | None]:
    """leak@k and leaked@k of one question: every way in which what is not known may be."""
    kinds = [kind for kind in kinds if question.could[kind]]
    if not kinds:
        return None, None
    top = question.marks[:k]
    if any(question.open[kind] for kind in kinds) and top:
        certain = any(doc[kind] == 1 for doc in top for kind in kinds)
        every = all(any(doc[kind] == 1 for kind in kinds) for doc in top)
        return (1.0 if certain else None), (1.0 if every else None)
    leaks, shares = set(), set()
    for filled in (0, 1):
        bad = [any((filled if doc[kind] < 0 else doc[kind]) for kind in kinds) for doc in top]
        leaks.add(float(any(bad)))
        shares.add(sum(bad) / max(len(bad), 1))
    return tuple(one.pop() if len(one) == 1 else None for one in (leaks, shares))


@quick
@given(st.lists(QUESTIONS, min_size=1, max_size=4), st.integers(1, 6))
def test_the_same_as_the_slow_way(questions, k):
    """Values agree with a reference that looks at one document after the other."""
    # A list of nothing forbidden in a kind in which a question could not leak has no mark there.
    questions = [
        replace(own, marks=[tuple(m * c for m, c in zip(doc, own.could)) for doc in own.marks])
        for own in questions
    ]
    for option, kinds in (("", (0, 1)), ("(kind=tenant)", (0,)), ("(kind=version)", (1,))):
        expected = [slow(own, k, kinds) for own in questions]
        assert values(f"leak@{k}{option}", *questions) == [leak for leak, _ in expected]
        assert values(f"leaked@{k}{option}", *questions) == pytest.approx(
            [leaked for _, leaked in expected]
        )


@quick
@given(st.lists(QUESTIONS, min_size=1, max_size=5), st.sampled_from((1, 5, 10)))
def test_a_peer_that_looks_for_what_is_forbidden(questions, k):
    """Where all is known leak@k is trec_eval's success@k of what is forbidden."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    known = [
        replace(
            own,
            marks=[tuple(max(mark, 0) for mark in doc) for doc in own.marks],
            could=(True, True),
            open=(False, False),
        )
        for own in questions
        if any(max(doc) > 0 for doc in own.marks)  # what has no qrels trec_eval leaves out
    ]
    if not known:
        return
    ids = [f"q{at}" for at in range(len(known))]
    qrels = {
        name: {f"d{rank}": int(max(doc)) for rank, doc in enumerate(own.marks)}
        for name, own in zip(ids, known)
    }
    run = {
        name: {f"d{rank}": float(-rank) for rank in range(len(own.marks))}
        for name, own in zip(ids, known)
    }
    peer = pytrec_eval.RelevanceEvaluator(qrels, {"success.1,5,10"}).evaluate(run)
    assert values(f"leak@{k}", *known) == [peer[name][f"success_{k}"] for name in ids]


def test_it_is_asked_for_where_nobody_has():
    """With the deepest cut of the others, and not twice."""
    named = [with_leak(parse_all(metrics)) for metrics in (["ndcg@10", "recall@3"], ["mrr"])]
    assert [str(specs[-1]) for specs in named] == ["leak@10", "leak"]
    for metrics in (["leak@3"], ["leak@3(kind=tenant)", "leak@5"]):
        specs = parse_all(metrics)
        assert with_leak(specs) == specs


def of_zeros(n: int, n_open: int = 0) -> MetricScores:
    """leak@10 of questions of which none has leaked, and some are not known."""
    clean, unknown = Marked([(0, 0)]), Marked([(-1, 0)])
    return scores(["leak@10"], *[clean] * n, *[unknown] * n_open)["leak@10"]


def test_none_of_so_many():
    """0 of 300 is at most 1.222 %, 0 of 368 less than one; what is not known counts above."""
    assert intervals_of([of_zeros(300)])["leak@10"] == pytest.approx((0, 0.012221), abs=1e-6)
    assert (
        intervals_of([of_zeros(368)])["leak@10"][1]
        < 0.01
        < intervals_of([of_zeros(367)])["leak@10"][1]
    )
    low, high = intervals_of([of_zeros(20, 1)])["leak@10"]
    assert (low, high) == pytest.approx((0, 0.2381599), abs=1e-6)  # scipy: beta.ppf(.975, 2, 20)
    assert intervals_of([of_zeros(0, 2)])["leak@10"] == (0, 1)


@quick
@given(st.lists(QUESTIONS, min_size=3, max_size=30))
def test_the_limit_of_the_share_is_no_higher(questions):
    """leaked@k is at most leak@k for each question, and so is its upper limit."""
    of = scores(["leak@3", "leaked@3"], *questions)
    intervals = intervals_of(list(of.values()))
    if intervals["leaked@3"] and intervals["leak@3"]:
        assert intervals["leaked@3"][1] <= intervals["leak@3"][1]
        assert intervals["leaked@3"][0] >= 0


def test_counts_of_a_metric_stand_beside_its_number():
    """How many could leak, are not known, and were answered with nothing."""
    (score,) = scores(["leak@2"], AT_2, Marked(), Marked([(-1, 0)])).values()
    of_metric = counted({"n_scored": 3, "n_no_gold": 0}, [score])["metrics"]["leak@2"]
    assert of_metric == {
        "n_scored": 2,
        "n_could": 3,
        "n_leaked": 1,
        "n_open": 1,
        "n_unanswered": 0,
        "n_lost": 0,
        "n_lacking": 1,
        "n_empty": 1,
        "n_short": 1,
    }

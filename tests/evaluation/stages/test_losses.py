"""Where the gold was lost: by hand, and against the definitions on chains drawn at random."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, strategies as st

from kragx import Doc, GoldDataset, Run, UsageError, evaluate
from kragx.data import Retrieved, Stage
from kragx.evaluation.stage_losses import ANSWER, stage_losses
from kragx.judging import Judge
from kragx.metrics import profile
from kragx.testing import ScriptedClient
from tests.thoroughness import examples

K = 2


def docs(letters: str) -> tuple[Doc, ...]:
    """A document for each letter."""
    return tuple(map(Doc, letters))


def chain(answer: str, error: str | None = None, /, **stages: str | tuple[str, ...]) -> Retrieved:
    """An answer; of each stage what it returned, or its inputs and then what it returned."""
    own = [
        Stage(name, (), docs(value), 0.25)
        if isinstance(value, str)
        else Stage(name, tuple(value[:-1]), docs(value[-1]), 0.5)
        for name, value in stages.items()
    ]
    return Retrieved(docs(answer), 1.0, error, tuple(own))


def losses_of(gold: dict[str, str], answers: dict[str, Retrieved], k: int = K) -> object:
    """What is lost of gold items that are letters."""
    dataset = GoldDataset.from_documents({q: [{"id": i} for i in own] for q, own in gold.items()})
    return stage_losses(dataset, Run(answers, name="hybrid"), match="id", k=k)


HYBRID = {
    # a is found, b dropped by the fusion, c ranked down by the reranker and d by the fusion (what
    # the limit then took away was lost before), e never there
    "q1": chain(
        "af",
        bm25="acb",
        dense="cdf",
        fuse=("bm25", "dense", "cadf"),
        rerank=("fuse", "afcd"),
        top=("rerank", "af"),
    ),
}


def test_by_hand() -> None:
    """One item for each reason, attributed to the stage that did it."""
    found = losses_of({"q1": "abcde"}, HYBRID)
    assert [(item.gold, item.reason, item.stage) for item in found.items] == [
        (1, "fused_away", "fuse"),
        (2, "low", "rerank"),
        (3, "low", "fuse"),
        (4, "never_retrieved", None),
    ]
    assert (found.n_gold, found.n_found) == (5, 1)


def test_filters_and_limits() -> None:
    """A filter cuts at any depth; a limit what was within k: else it was lost by the ranking."""
    for kept, reason, stage in (("bd", "cut", "keep"), ("ab", "low", "bm25")):
        found = losses_of({"q1": "c"}, {"q1": chain(kept, bm25="abcd", keep=("bm25", kept))})
        assert [(item.reason, item.stage) for item in found.items] == [(reason, stage)]
    limit = chain("a", bm25="abcd", keep=("bm25", "a"))
    (item,) = losses_of({"q1": "b"}, {"q1": limit}).items
    assert (item.reason, item.stage) == ("cut", "keep")


def test_ranked_down() -> None:
    """Within k before the reranker and deeper behind it; deeper from the start is another thing."""
    answer = chain("fxac", bm25="acfx", rerank=("bm25", "fxac"))
    found = losses_of({"q1": "acf"}, {"q1": answer})
    assert [(item.gold, item.reason, item.stage) for item in found.items] == [
        (0, "low", "rerank"),
        (1, "low", "rerank"),
    ]
    low = losses_of({"q1": "x"}, {"q1": chain("abcx", bm25="abx", rerank=("bm25", "abcx"))})
    assert [(item.reason, item.stage) for item in low.items] == [("low", "bm25")]


def test_recall_behind_each_stage() -> None:
    """At any rank, and within k: what a reranker lifts shows, and what never reached it."""
    answer = chain("ca", bm25="xyac", rerank=("bm25", "ca"))
    found = losses_of({"q1": "aceg"}, {"q1": answer})
    bm25, rerank = found.stages
    assert bm25.means == {"recall": 0.5, "recall@2": 0.0, "ndcg@2": 0.0}
    assert rerank.means == {"recall": 0.5, "recall@2": 0.5, "ndcg@2": pytest.approx(1.0)}
    assert found.summary == "2 of 4 gold items within 2; lost: 2 never retrieved"


def test_failed_questions_and_stages() -> None:
    """A question that failed loses its gold to the stage that did; others are as they were."""
    broken = Stage("rerank", ("bm25",), (), None, "ValueError: no model")
    answers = {
        "q1": Retrieved((), 1.0, "ValueError: no model", (Stage("bm25", (), docs("a")), broken)),
        "q2": chain("a", bm25="a", rerank=("bm25", "a")),
    }
    found = losses_of({"q1": "a", "q2": "a"}, answers)
    assert [(item.query_id, item.reason, item.stage) for item in found.items] == [
        ("q1", "failed", "rerank")
    ]
    assert [(own.name, own.n_failed, own.milliseconds) for own in found.stages] == [
        ("bm25", 0, 250.0),
        ("rerank", 1, 500.0),
    ]
    assert any("rerank failed on 1 of 2 questions" in remark for remark in found.remarks)


def test_a_stage_called_as_the_answer_is() -> None:
    """It is a stage like any other, and what is made of it the answer."""
    for name in ("rerank", ANSWER):
        answer = chain("x", bm25="ax", **{name: ("bm25", "ax")}, top=(name, "x"))
        found = losses_of({"q1": "a"}, {"q1": replace(answer, documents=docs("xy"))})
        shown = "answer (stage)" if name == ANSWER else name
        assert [(own.name, own.inputs, own.means["recall"]) for own in found.stages] == [
            ("bm25", (), 1.0),
            (shown, ("bm25",), 1.0),
            ("top", (shown,), 0.0),
            (ANSWER, ("top",), 0.0),
        ]
        assert [(item.reason, item.stage) for item in found.items] == [("cut", "top")]


def test_means_where_no_item_is_as_relevant_as_asked() -> None:
    """They are None where the profile's `rel` leaves a question without gold, never NaN."""
    gold = GoldDataset.from_documents({"q1": [{"id": "a"}]})
    run = Run({"q1": chain("x", bm25="ax")})
    asked = replace(profile("kragx"), rel=2.0)
    found = stage_losses(gold, run, match="id", k=K, profile=asked)
    assert [own.means["recall@2(rel=2)"] for own in found.stages] == [None, None]


def test_what_is_unsure_is_said() -> None:
    """A stage seen on some questions, questions without stages, documents without text."""
    answers = {
        "q1": chain("a", bm25="a", rerank=("bm25", "a")),
        "q2": chain("a", bm25="a"),
        "q3": Retrieved(docs("a")),
    }
    found = losses_of(dict.fromkeys(answers, "a"), answers)
    assert any("rerank was seen on 1 of 2 questions" in remark for remark in found.remarks)
    assert any("questions without stages, left out: 1" in remark for remark in found.remarks)
    dataset = GoldDataset.from_documents({"q1": ["red cars"]})
    stages = (Stage("bm25", (), docs("a")), Stage("load", ("bm25",), (Doc(text="red cars"),)))
    run = Run({"q1": Retrieved((Doc(text="red cars"),), stages=stages)})
    textless = stage_losses(dataset, run, match="exact", k=1)
    assert textless.stages == ()
    assert any("stage bm25: " in remark for remark in textless.remarks)


def test_nothing_to_say() -> None:
    """A run without stages is an error with the remedy, and so is a k that is none."""
    gold = GoldDataset.from_documents({"q1": [{"id": "a"}]})
    with pytest.raises(UsageError, match="stages=True"):
        stage_losses(gold, Run({"q1": Retrieved(docs("a"))}), match="id")
    with pytest.raises(UsageError, match="stages=True"):
        stage_losses(gold, [docs("a")], match="id")
    with pytest.raises(UsageError, match="k: must be a whole number"):
        stage_losses(gold, Run(HYBRID), match="id", k=0)


def test_a_pair_scores_alike_alone_and_beside_others() -> None:
    """What words are known is of all answers: a number that stands in two is no misread one."""

    def limit(name: str, euros: int) -> str:
        return f"The customer {name} may withdraw at most {euros} euros a day from any machine."

    gold = GoldDataset.from_documents([[limit("Kim", 100)], [limit("Lee", 300)]])
    found = (Doc(text=limit("Kim", 150)),)
    fused = (Doc(text=limit("Lee", 150)), *found, Doc(text="Nobody else has 150 words."))
    stages = Stage("bm25", documents=found), Stage("fuse", inputs=("bm25",), documents=fused)
    answers = {
        "q1": Retrieved(fused, stages=stages),
        "q2": Retrieved((Doc(text=limit("Lee", 300)),)),
    }
    run = Run(answers, name="chain")
    (beside,) = evaluate(gold, {"chain": run}).losses
    alone = stage_losses(gold, run, k=beside.k)
    assert [stage.means for stage in alone.stages] == [stage.means for stage in beside.stages]
    assert alone.stages[0].means["recall"] == 0.0


def test_a_judge_is_not_asked() -> None:
    """Stages cost no call of a model: what could be said instead is told."""
    gold = GoldDataset.from_documents({"q1": ["a"]}, queries=["?"])
    judge = Judge(ScriptedClient([]), store=":memory:")
    found = stage_losses(gold, Run(HYBRID), match={"method": "llm", "judge": judge})
    assert found.stages == ()
    assert "texts: overlap" in str(found)


@st.composite
def chains(draw: st.DrawFn) -> Retrieved:
    """A chain of up to five stages over six documents, each fed by any that stand before it."""
    lists = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5).map("".join)
    stages: list[Stage] = []
    for number in range(draw(st.integers(1, 5))):
        names = [stage.name for stage in stages]
        given_to = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
        stages.append(Stage(f"s{number}", tuple(given_to), docs(draw(lists))))
    is_last = draw(st.booleans())
    answer = stages[-1].documents if is_last else docs(draw(lists))
    return Retrieved(answer, stages=tuple(stages))


@pytest.mark.integration
@examples(300)
@given(st.lists(chains(), min_size=1, max_size=3), st.integers(1, 3))
def test_as_defined(answers: list[Retrieved], k: int) -> None:
    """Every lost item is lost as its reason says, and all counts are those of a plain count."""
    by_id = {f"q{i}": answer for i, answer in enumerate(answers)}
    if not any(len(own.stages) > 1 or own.stages[0].documents != own.documents for own in answers):
        return
    found = losses_of(dict.fromkeys(by_id, "abf"), by_id, k)

    def rank(query_id: str, name: str, item: int) -> int | None:
        own = by_id[query_id]
        lists = {stage.name: stage.documents for stage in own.stages} | {ANSWER: own.documents}
        ids = [doc.id for doc in lists[name]]
        return ids.index("abf"[item]) + 1 if "abf"[item] in ids else None

    def sources(query_id: str, name: str) -> list[str]:
        stages = {stage.name: list(stage.inputs) for stage in by_id[query_id].stages}
        used = {one for inputs in stages.values() for one in inputs}
        return stages.get(name, [one for one in stages if one not in used])

    lost = {(item.query_id, item.gold): item for item in found.items}
    pairs = [(query_id, item) for query_id in by_id for item in range(3)]
    assert found.n_gold == len(pairs)
    assert found.n_found == len(pairs) - len(lost)
    for query_id, number in pairs:
        final = rank(query_id, ANSWER, number)
        assert ((query_id, number) in lost) == (final is None or final > k)
    for (query_id, number), item in lost.items():
        names = [*(stage.name for stage in by_id[query_id].stages), ANSWER]
        having = [name for name in names if rank(query_id, name, number) is not None]
        assert (item.reason == "never_retrieved") == (not having)
        if item.stage is None:
            continue
        own = rank(query_id, item.stage, number)
        inputs = sources(query_id, item.stage)
        ranks = [rank(query_id, one, number) for one in inputs]
        before = min((one for one in ranks if one is not None), default=None)
        match item.reason:
            case "cut" | "fused_away":
                assert own is None
                assert before is not None
                assert (item.reason == "fused_away") == (len(inputs) > 1)
            case "low":
                assert own is not None
                assert own > k
                assert before is None or before <= k
    for stage in found.stages:
        mine = [
            (query_id, number)
            for query_id, number in pairs
            if stage.name == ANSWER or stage.name in {own.name for own in by_id[query_id].stages}
        ]
        ranks = [rank(query_id, stage.name, number) or inf for query_id, number in mine]
        for name, deep in (("recall", sys.maxsize), (f"recall@{k}", k)):
            recall = sum(own <= deep for own in ranks) / len(mine)
            assert stage.means[name] == pytest.approx(recall)

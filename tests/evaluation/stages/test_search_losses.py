"""Where the gold of searches was lost: by hand, and against the definitions on drawn searches."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st

from kragx import Doc, GoldDataset, Run, Search, evaluate
from kragx.data import Retrieved, Stage
from kragx.evaluation.stage_losses import StageLosses, losses_parts, stage_losses
from kragx.ground.printing import as_markdown, speaking
from kragx.judging import Judge
from kragx.metrics import KRAGX
from kragx.testing import ScriptedClient
from tests.thoroughness import examples


def docs(letters: str) -> tuple[Doc, ...]:
    """A document for each letter."""
    return tuple(map(Doc, letters))


def search(
    letters: str | None, *, tool: str = "web", before: str = "", read: str | None = None, **more
) -> Search:
    """What came; with `before` it was cut from that by a reranker; `read` is what was read."""
    stages = (
        (
            Stage("bm25", (), docs(before), 0.1),
            Stage("rerank", ("bm25",), docs(letters or ""), 0.1),
        )
        if before
        else ()
    )
    documents = None if letters is None else docs(letters)
    reads = None if read is None else tuple(read)
    return Search("words", documents, tool=tool, stages=stages, read=reads, **more)


def losses_of(gold: dict[str, str], answers: dict[str, Retrieved]) -> StageLosses:
    """What is lost of gold items that are letters."""
    dataset = GoldDataset.from_documents({q: [{"id": i} for i in own] for q, own in gold.items()})
    return stage_losses(dataset, Run(answers, name="agent"), match="id")


def asked(*searches: Search, **more) -> Retrieved:
    """An agent that hands nothing on."""
    return Retrieved(searches=searches, has_list=False, **more)


TWO_TOOLS = asked(
    search("ax", tool="handbook", before="axc", read="a"), search("bd", seconds=2.0), search(None)
)


def test_by_hand() -> None:
    """Read, cut by a stage within a search, retrieved and not read, and never retrieved."""
    losses = losses_of({"q1": "abce"}, {"q1": TWO_TOOLS})
    assert [(item.gold, item.reason, item.stage) for item in losses.items] == [
        (1, "unread", None),
        (2, "cut", "handbook > rerank"),
        (3, "never_retrieved", None),
    ]
    assert (losses.k, losses.n_gold, losses.n_found) == (None, 4, 1)
    assert [(own.name, own.inputs, own.means["recall"]) for own in losses.stages] == [
        ("handbook > bm25", (), 0.5),
        ("handbook > rerank", ("handbook > bm25",), 0.25),
        ("handbook", ("handbook > rerank",), 0.25),
        ("web", (), 0.25),
        ("all searches", ("handbook", "web"), 0.5),
        ("answer", ("all searches",), 0.25),
    ]
    assert losses.summary == (
        "1 of 4 gold items reached the answer; lost: 1 retrieved, not read, "
        "1 cut (handbook > rerank), 1 never retrieved"
    )


def test_what_is_printed() -> None:
    """No depth; in Korean too."""
    losses = losses_of({"q1": "abce"}, {"q1": TWO_TOOLS})
    printed = as_markdown([*losses_parts([losses, losses])])
    assert "None" not in printed
    with speaking("ko"):
        assert "정답 항목 4개 중 1개가 답에 쓰임" in as_markdown([*losses_parts([losses])])


def test_where_nobody_says_what_was_read() -> None:
    """What was handed on was read; without that all that came was, and that is said."""
    handed = Retrieved(docs("a"), searches=(search("ab"),))
    losses = losses_of({"q1": "ab"}, {"q1": handed})
    assert [(item.gold, item.reason) for item in losses.items] == [(1, "unread")]
    losses = losses_of({"q1": "abc"}, {"q1": asked(search("ab"))})
    assert [(item.gold, item.reason) for item in losses.items] == [(2, "never_retrieved")]
    assert any("nobody says what was read: 1" in remark for remark in losses.remarks)
    assert as_markdown([*losses.describe()]).count("nobody says what was read") == 1
    with speaking("ko"):
        assert as_markdown([*losses.describe()]).count("무엇을 읽었는지 모르는 질문") == 1


def test_failed_and_unmeasured_questions() -> None:
    """Who failed lost all gold, whatever searches brought; without documents nothing is known."""
    answers = {
        "q1": asked(search("a"), error="limit of 20 steps"),
        "q2": asked(search(None)),
        "q3": Retrieved(docs("x")),
        "q4": Retrieved(has_list=False),
    }
    losses = losses_of(dict.fromkeys(answers, "a"), answers)
    assert [(item.query_id, item.reason) for item in losses.items] == [
        ("q1", "failed"),
        ("q3", "never_retrieved"),
        ("q4", "never_retrieved"),
    ]
    assert any("left out: 1" in remark for remark in losses.remarks)


def test_questions_that_the_results_lack() -> None:
    """They have lost their gold, as in recall; a profile that leaves them out does so here, too."""
    answers = {"q1": asked(search("a", read="a")), "q2": asked(search("a", read="a"))}
    gold = dict.fromkeys(("q1", "q2", "q3"), "a")
    losses = losses_of(gold, answers)
    assert losses.summary == "2 of 3 gold items reached the answer; lost: 1 failed questions"
    assert [item.reason for item in losses.items] == ["failed"]
    assert (losses.n_questions, losses.items[0].query_id) == (3, "q3")
    assert losses.stages[-1].means == {"recall": 2 / 3}
    with speaking("ko"):
        assert "실패한 질문" in as_markdown([*losses.describe()])
    dataset = GoldDataset.from_documents({q: [{"id": i} for i in own] for q, own in gold.items()})
    profile = replace(KRAGX, missing="left_out")
    losses = stage_losses(dataset, Run(answers, name="agent"), match="id", profile=profile)
    assert (losses.n_gold, losses.items) == (2, ())


def test_a_judge_is_not_asked_about_stages(tmp_path) -> None:
    """What searches gave is judged; what stages within them returned is passed over, and said."""
    dataset = GoldDataset.from_documents({"q1": ["a"]}, queries=["?"])
    given = Search("?", (Doc(text="an A"),), stages=(Stage("bm25", (), (Doc(text="b"),)),), read=())
    client = ScriptedClient([3])
    judge = Judge(client, store=tmp_path / "judge.sqlite")
    run = Run({"q1": asked(given)}, name="agent")
    (losses,) = evaluate(dataset, {"agent": run}, match={"method": "llm", "judge": judge}).losses
    assert [(item.reason, item.stage) for item in losses.items] == [("unread", None)]
    assert [(own.name, own.inputs) for own in losses.stages] == [
        ("search", ()),
        ("answer", ("search",)),
    ]
    assert len(client.requests) == 1
    assert any("texts: overlap" in remark for remark in losses.remarks)


def test_results_say_it() -> None:
    """`evaluate` of several runs finds out where the gold of those with searches is lost."""
    gold = GoldDataset.from_documents({"q1": [{"id": "a"}]})
    runs = {"agent": Run({"q1": asked(search("a", read=""))}, name="agent")}
    results = evaluate(gold, {**runs, "once": Run({"q1": Retrieved(docs("a"))}, name="once")})
    (losses,) = results.losses
    assert (losses.retriever, [item.reason for item in losses.items]) == ("agent", ["unread"])


LETTERS = st.text("abcdx", max_size=4).map(lambda text: "".join(dict.fromkeys(text)))


@st.composite
def answers(draw: st.DrawFn) -> Retrieved:
    """An agent with some searches by two tools, each with a reranker or without."""
    searches = []
    for _ in range(draw(st.integers(1, 4))):
        before = draw(LETTERS)
        came = (
            draw(st.none() | LETTERS.map(lambda text: text))
            if not before
            else draw(st.sets(st.sampled_from(before)).map("".join))
        )
        read = draw(st.none() | st.sets(st.sampled_from("abcdx")).map("".join))
        tool = draw(st.sampled_from(["web", "handbook", "answer"]))
        searches.append(search(came, tool=tool, before=before, read=read))
    error = draw(st.sampled_from([None, None, None, "down"]))
    if draw(st.booleans()):
        return Retrieved(docs(draw(LETTERS)), searches=tuple(searches), error=error)
    return asked(*searches, error=error)


def reason_of(letter: str, answer: Retrieved) -> str | None:
    """What became of a gold item, by the words of the reasons; None for what was read."""
    if answer.error is not None:
        return "failed"
    came = {doc.id for own in answer.searches for doc in own.documents or ()}
    reads = [own.read for own in answer.searches if own.read is not None]
    if reads:
        end = {getattr(doc, "id", doc) for read in reads for doc in read}
        # an id that no search returned matches nothing
        end &= came | {doc.id for doc in answer.documents}
    else:
        end = {doc.id for doc in answer.documents} if answer.has_list else came
    if letter in end:
        return None
    if letter in came:
        return "unread"
    within = {doc.id for own in answer.searches for stage in own.stages for doc in stage.documents}
    return "cut" if letter in within else "never_retrieved"


@given(st.lists(answers(), min_size=1, max_size=3))
@examples(60)
def test_the_definitions(drawn: list[Retrieved]) -> None:
    """Each gold item is lost for the reason that the words say, and each is counted once."""
    named = {f"q{number}": answer for number, answer in enumerate(drawn)}
    losses = losses_of(dict.fromkeys(named, "abcd"), named)
    known = {
        name: answer
        for name, answer in named.items()
        if answer.error is not None or any(own.documents is not None for own in answer.searches)
    }
    if not losses.stages:
        return
    told = {(item.query_id, item.gold): item.reason for item in losses.items}
    for name, answer in known.items():
        for gold, letter in enumerate("abcd"):
            assert told.get((name, gold)) == reason_of(letter, answer), (letter, answer)
    assert losses.n_gold == 4 * len(known)
    assert losses.n_found + len(losses.items) == losses.n_gold

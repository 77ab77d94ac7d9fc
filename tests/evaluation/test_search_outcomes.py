"""What became of questions with searches, and what each step found: by hand, and as defined."""

from __future__ import annotations

from hypothesis import given, strategies as st

from kragx import Doc, GoldDataset, Retrieved, Run, Search, evaluate
from kragx.evaluation.curves import step_curves
from kragx.evaluation.search_lists import search_outcomes
from tests.thoroughness import examples


def asked(*lists: str | None, read: str | None = None) -> Retrieved:
    """An agent that searched so often; a document is a letter."""
    searches = [
        Search(str(number), None if letters is None else tuple(map(Doc, letters)))
        for number, letters in enumerate(lists)
    ]
    if read is not None:
        searches[-1] = Search("last", searches[-1].documents, read=tuple(read))
    return Retrieved(searches=tuple(searches), has_list=False)


def evaluated(answers: dict[str, Retrieved], gold: str = "ab"):
    """Their evaluation, with gold items that are letters."""
    dataset = GoldDataset.from_documents({name: [{"id": i} for i in gold] for name in answers})
    return evaluate(dataset, Run(answers, name="agent"), match="id", metrics=["recall@5"])


ANSWERS = {
    "rescued": asked("x", "a", read="a"),
    "in vain": asked("x", "y", "z"),
    "wasted": asked("ab", "x", "y"),
    "unread": asked("ab", read="b"),
    "nothing read": asked("a", read=""),
    "not known": asked("a", "b"),
    "unmeasured": asked(None, None),
    "failed": Retrieved(searches=asked("x", "a").searches, error="limit"),
    "list alone": Retrieved((Doc("a"),)),
    "no search": Retrieved(has_list=False),
}


def test_by_hand() -> None:
    """A question is in each that it belongs to; what nobody knows is in none."""
    evaluation = evaluated(ANSWERS)
    names = list(evaluation.query_ids)
    outcomes = search_outcomes(evaluation)

    def of(rows: list[int]) -> list[str]:
        return [names[row] for row in rows]

    assert of(outcomes["rescued"]) == ["rescued"]
    assert of(outcomes["in_vain"]) == ["in vain", "failed", "no search"]
    waste = evaluation.with_metrics(["waste"])
    assert waste.counts["metrics"]["waste"]["n_in_vain"] == len(outcomes["in_vain"])
    assert of(outcomes["wasted"]) == ["wasted"]
    assert of(outcomes["unread"]) == ["unread", "nothing read"]


def test_the_figure() -> None:
    """The issue's two questions: half of the gold at one step, three quarters at three."""
    answers = {"one": asked("x", "y", "a"), "other": asked("c")}
    dataset = GoldDataset.from_documents(
        {"one": [{"id": "a"}, {"id": "b"}], "other": [{"id": "c"}]}
    )
    agent = evaluate(dataset, Run(answers, name="agent"), match="id", metrics=["ndcg@10"])
    once = {name: Retrieved(answer.documents) for name, answer in answers.items()}
    other = evaluate(
        dataset, Run(once, name="once"), match="id", metrics=["ndcg@10", "evidence_recall"]
    )
    curve, flat = step_curves([agent, other])
    assert (curve.steps, curve.values) == ((1, 2, 3), (0.5, 0.5, 0.75))
    assert flat.values == (0.5, None, None)


def test_without_searches() -> None:
    """There is nothing to say."""
    evaluation = evaluated({"list alone": ANSWERS["list alone"]})
    assert search_outcomes(evaluation) == {}
    assert step_curves([evaluation]) == [None]


LETTERS = st.text("abxy", max_size=3).map(lambda text: "".join(dict.fromkeys(text)))


@given(
    st.lists(
        st.tuples(st.lists(LETTERS, min_size=1, max_size=4), st.none() | LETTERS),
        min_size=1,
        max_size=4,
    )
)
@examples(40)
def test_the_definitions(drawn: list[tuple[list[str], str | None]]) -> None:
    """As the words say, question by question."""
    expected = {
        "rescued": [
            row
            for row, (lists, _) in enumerate(drawn)
            if not {*lists[0]} & {*"ab"} and {*"".join(lists)} & {*"ab"}
        ],
        "in_vain": [row for row, (lists, _) in enumerate(drawn) if not {*"".join(lists)} & {*"ab"}],
        "wasted": [row for row, (lists, _) in enumerate(drawn) if _is_wasted(lists)],
        "unread": [
            row
            for row, (lists, read) in enumerate(drawn)
            if read is not None and ({*"".join(lists)} - {*read}) & {*"ab"}
        ],
    }
    answers = {f"q{row}": asked(*lists, read=read) for row, (lists, read) in enumerate(drawn)}
    assert search_outcomes(evaluated(answers)) == expected


def _is_wasted(lists: list[str]) -> bool:
    """Whether a step follows the last that brought something new."""
    found: set[str] = set()
    last = None
    for step, letters in enumerate(lists):
        if new := ({*letters} & {*"ab"}) - found:
            found |= new
            last = step
    return last is not None and last < len(lists) - 1

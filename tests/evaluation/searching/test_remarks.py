"""What is said below the numbers of searches: of which questions there is none, and why."""

from __future__ import annotations

from kragx import Doc, Evaluation, GoldDataset, Run, Search, evaluate
from kragx.data import Retrieved

METRICS = [
    "evidence_recall",
    "first_search",
    "rescue",
    "waste",
    "repeated",
    "tokens_to_evidence",
    "tokens_per_gold",
    "seconds_per_gold",
    "searches_per_gold",
]


def measured(*answers: Retrieved, n_without_gold: int = 0) -> Evaluation:
    """An agent's answers, of which all but the last few have `a` for gold."""
    n_gold = len(answers) - n_without_gold
    gold = GoldDataset.from_documents([[{"id": "a"}]] * n_gold + [[]] * n_without_gold)
    results = {query.id: answer for query, answer in zip(gold, answers)}
    return evaluate(gold, Run(results, name="agent"), match="id", metrics=METRICS)


def answer(*costs: tuple[int | None, float | None]) -> Retrieved:
    """A search for each of some tokens and seconds, of which the last brings the gold."""
    letters = [*"xyz"[: len(costs) - 1], "a"]
    searches = (
        Search("words", (Doc(letter),), tokens=tokens, seconds=seconds)
        for letter, (tokens, seconds) in zip(letters, costs)
    )
    return Retrieved(searches=tuple(searches), has_list=False)


KNOWN = answer((5, 0.1), (5, 0.1))


def test_no_gold_is_said_once() -> None:
    """That a question has no gold says why no metric of what searches find has a value of it."""
    remarks = measured(KNOWN, KNOWN, KNOWN, n_without_gold=1).further_remarks
    assert sum("queries without gold: 1" in remark for remark in remarks) == 1
    assert not any("no value for" in remark for remark in remarks)
    remarks = measured(answer((5, 0.1)), KNOWN, KNOWN, n_without_gold=1).further_remarks
    assert [remark for remark in remarks if "no value for" in remark] == [
        "rescue: no value for 1 of 2 queries",
        "repeated: no value for 1 of 3 queries",
    ]

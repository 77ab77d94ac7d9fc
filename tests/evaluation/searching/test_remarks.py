"""What is said below the numbers of searches: of which questions there is none, and why."""

from __future__ import annotations

from kragx import Doc, Evaluation, Gold, GoldDataset, Query, Run, Search, evaluate
from kragx.data import Retrieved
from kragx.ground.printing import as_markdown, speaking

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


def test_the_median_step_is_that_of_asks() -> None:
    """A question that stands for many asks counts as often in the median as it does in the mean."""
    first, second = answer((1, 1.0)), answer((1, 1.0), (1, 1.0))
    answers = {"q1": first, "q2": first, "q3": second}
    for weights, cell in (
        ((1, 1, 1), "0.8333 (median: step 1)"),
        ((1, 1, 8), "0.6000 (median: step 2)"),
    ):
        gold = GoldDataset(
            tuple(Query(name, gold=(Gold("a"),), weight=w) for name, w in zip(answers, weights))
        )
        evaluation = evaluate(gold, Run(answers), match="id", metrics=["first_search"])
        assert evaluation.mean_cell("first_search") == cell


def test_why_a_cost_has_no_value() -> None:
    """Searches that do not say their tokens, or seconds, are counted, with the remedy."""
    evaluation = measured(answer((5, None), (None, None)), KNOWN)
    assert evaluation.mean["tokens_per_gold"] == 10
    tokens = "searches that say no tokens: 1; give each search its tokens: @searched(tokens=...)"
    seconds = "searches that say no seconds: 2; give each search its seconds: Search(seconds=...)"
    assert [remark for remark in evaluation.further_remarks if "no value for" in remark] == [
        f"tokens_to_evidence: no value for 1 of 2 queries; {tokens}",
        f"tokens_per_gold: no value for 1 of 2 queries; {tokens}",
        f"seconds_per_gold: no value for 1 of 2 queries; {seconds}",
    ]
    evaluation = measured(answer((5, None), (5, None)))
    assert evaluation.mean["seconds_per_gold"] is None
    assert f"seconds_per_gold: no value for 1 of 1 queries; {seconds}" in str(evaluation)
    failed = Retrieved(has_list=False, error="limit")
    line = "searches_per_gold: no value for 1 of 2 queries; failed before any search, or missing: 1"
    assert line in measured(KNOWN, failed).further_remarks
    gold = GoldDataset.from_documents([[{"id": "a"}]] * 2)
    evaluation = evaluate(gold, Run({"q1": KNOWN}), match="id", metrics=["searches_per_gold"])
    assert line in evaluation.further_remarks
    with speaking("ko"):
        text = as_markdown([*measured(answer((5, None), (5, None))).describe()])
        assert "걸린 시간이 없는 검색: 2번" in text


def test_why_a_cost_says_nobody_is_best() -> None:
    """The verdict says where to look: it is not for want of gold alone."""
    gold = GoldDataset.from_documents([[{"id": "a"}]] * 2)
    runs = {
        name: Run({"q1": own, "q2": own}, name=name)
        for name, own in (("full", KNOWN), ("silent", answer((5, None), (None, None))))
    }
    result = evaluate(gold, runs, match="id", metrics=["tokens_per_gold"])
    assert "whether searches say what they cost" in result.verdict


def test_who_hands_on_nothing_abstains() -> None:
    """Or, where nobody knows what was handed on, whose searches all bring nothing."""
    found, nothing = Search("y", (Doc("a"),)), Search("x", ())
    answers = {
        "later": Retrieved(searches=(nothing, found), has_list=False),
        "never": Retrieved(searches=(nothing, nothing), has_list=False),
        "handed on": Retrieved((Doc("a"),), searches=(nothing,)),
        "held back": Retrieved((), searches=(found,)),
    }
    gold = [Gold(id="a")]
    queries = [
        Query(f"{name}, {answerable}", gold=tuple(gold * answerable), answerable=answerable)
        for name in answers
        for answerable in (True, False)
    ]
    run = Run({query.id: answers[query.id.split(",")[0]] for query in queries})
    metrics = ["abstention", "false_abstention", "recall(of=last)", "evidence_recall"]
    result = evaluate(
        GoldDataset(tuple(queries)), run, match="id", metrics=metrics, no_gold="abstain"
    )
    nothing_came = {name: float(name in ("never", "held back")) for name in answers}
    for name, value in nothing_came.items():
        values = result.queries[f"{name}, False"]
        assert {**values, "false_abstention": value} == dict.fromkeys(metrics, value)
        assert result.queries[f"{name}, True"]["false_abstention"] == value
    assert result.counts["n_empty"] == 4
    about = {"n_queries": 4, "n_empty": 2, "n_unanswered": 0, "n_documents": 2}
    assert result.counts["unanswerable"] == about
    assert "nothing retrieved for 2, 2 documents for 2" in str(result)


def test_never_is_said_in_korean() -> None:
    """In tables too, where a number has more beside it."""
    in_vain = Retrieved(searches=(Search("x", (Doc("x"),), tokens=3, seconds=1.0),), has_list=False)
    evaluation = measured(in_vain, in_vain, KNOWN)
    n_never = as_markdown([*evaluation.describe()]).count("never")
    with speaking("ko"):
        text = as_markdown([*evaluation.describe()])
    assert n_never == text.count("끝내 못 찾음") >= 2  # the tokens, and the step of the median
    assert "never" not in text

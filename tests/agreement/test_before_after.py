"""Agreement before and after a judge was shown examples, on the held-out half alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kragx import DataError, UsageError
from kragx.agreement import agree
from kragx.agreement.coefficients import statistics
from kragx.agreement.label_agreement import measured
from kragx.agreement.labels import read_labels
from kragx.judging import Judge, Question
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.examples import Example, Examples, is_held_out
from kragx.judging.rubric import RUBRICS

KAPPA = "kappa_quadratic"
QUERIES = [f"q{number}" for number in range(48)]
HUMAN = {
    query: {f"{query}-{d}": (row + d) % 4 for d in range(3)} for row, query in enumerate(QUERIES)
}
HELD_OUT = {query: HUMAN[query] for query in QUERIES if is_held_out(query)}
LABELS = [
    Example(f"text of {document}", grade, query=f"about {query}", query_id=query)
    for query, of_query in HUMAN.items()
    for document, grade in of_query.items()
]


def first_guess(query, document):
    """What the judge says without examples: one too little, but for some."""
    grade = HUMAN[query][document]
    return max(0, grade - 1) if int(query[1:]) % 3 else grade


def second_guess(query, document):
    """What it says with examples: right, but for some."""
    grade = HUMAN[query][document]
    return grade if int(query[1:]) % 5 else max(0, grade - 1)


def by(guess):
    """A judge's labels."""
    return {
        query: {document: guess(query, document) for document in HUMAN[query]} for query in HUMAN
    }


def judged(store, pairs=tuple(HUMAN), **options):
    """Ask a judge for all pairs, with or without examples."""

    def reply(request):
        text = request.messages[1][1]
        guess = second_guess if "Example 1" in text else first_guess
        (document,) = re.findall(r"text of (\S+)", text.partition("Now what")[2] or text)
        return guess(document.partition("-")[0], document)

    questions = [
        Question(
            RUBRICS["relevance-en-1"],
            f"text of {document}",
            query=f"about {query}",
            query_id=query,
            document_id=document,
        )
        for query in pairs
        for document in HUMAN[query]
    ]
    client = ScriptedClient(reply)
    Judge(client, store=store, progress=False, **options).judge(questions)


@pytest.mark.integration
def test_a_store_with_and_without_examples(store):
    """Only the held-out half counts; before and after are what each set of grades gives alone."""
    judged(store)
    whole = agree(HUMAN, store, scale="0-3")
    assert whole.pairs == 144
    assert whole.change is None
    assert whole.settings["held_out"] is False

    chosen = Examples(LABELS)
    judged(store, examples=chosen)
    result = agree(HUMAN, store, scale="0-3")
    assert result.pairs == 3 * len(HELD_OUT) < 144
    assert result.settings["examples"] == chosen.name
    after = agree(HELD_OUT, by(second_guess), scale="0-3")
    before = agree(HELD_OUT, by(first_guess), scale="0-3")
    assert result.values == after.values
    assert result.intervals == after.intervals
    change = result.change
    assert change.values == before.values
    assert change.differences[KAPPA] == after[KAPPA] - before[KAPPA]
    low, high = change.intervals[KAPPA]
    assert low < change.differences[KAPPA] < high
    text = str(result)
    assert f"with examples {chosen.name} against labels" in text
    assert "held-out queries" in text
    assert agree(HUMAN, store, scale="0-3", examples="none").pairs == 144


@pytest.mark.integration
def test_what_has_no_grade_before_is_not_compared_and_said(store):
    """Of a run that was broken off before: the pairs that have both count, the rest is counted."""
    judged(store, pairs=QUERIES[:24])
    judged(store, examples=Examples(LABELS))
    result = agree(HUMAN, store, scale="0-3")
    of_both = [query for query in QUERIES[:24] if query in HELD_OUT]
    assert result.pairs == 3 * len(of_both)
    assert result.change.n_without == 3 * (len(HELD_OUT) - len(of_both))
    assert f"has no label of them: {result.change.n_without} pairs" in str(result)


@pytest.mark.integration
def test_without_grades_before(store):
    """There is no change, and what to do is said."""
    judged(store, examples=Examples(LABELS))
    result = agree(HUMAN, store, scale="0-3")
    assert result.change is None
    assert result.pairs == 3 * len(HELD_OUT)
    assert "a run without judge.examples puts it there" in str(result)
    seen = {query: labels for query, labels in HUMAN.items() if query not in HELD_OUT}
    with pytest.raises(DataError, match="no pair of the held-out half"):
        agree(seen, store)


@pytest.mark.integration
def test_several_sets_of_examples_must_be_named(store):
    """Grades with four and with two examples are not one set of labels; each is compared with
    those without any.
    """
    judged(store)
    four, two = Examples(LABELS), Examples(LABELS, n=2)
    for chosen in (four, two):
        judged(store, examples=chosen)
    names = ", ".join(sorted(["none", four.name, two.name]))
    with pytest.raises(UsageError, match=rf"--examples: .* several \({names}\)"):
        agree(HUMAN, store)
    assert agree(HUMAN, store, examples=two.name).change is not None
    plain = agree(HUMAN, store, examples="none", scale="0-3")
    assert plain.values == agree(HUMAN, by(first_guess), scale="0-3").values
    assert plain.change is None


@pytest.mark.integration
def test_any_two_sets_of_labels(kragx, qrels):
    """`--before` compares any labels of the same pairs."""
    human, before, after = (
        qrels(name, labels)
        for name, labels in (
            ("human.qrels", HUMAN),
            ("before.qrels", by(first_guess)),
            ("after.qrels", by(second_guess)),
        )
    )
    outcome = kragx("agree", human, after, "--before", before, "--format", "json").json()
    assert outcome["pairs"] == 144
    change = outcome["change"]
    assert change["judge"] == "before"
    difference = outcome["values"]["accuracy"] - change["values"]["accuracy"]
    assert change["differences"]["accuracy"] == pytest.approx(difference)
    other = qrels("other.qrels", {"x": {"y": 1}})
    with pytest.raises(DataError, match="no pair that is compared has a label in other"):
        agree(human, after, before=other)


@pytest.mark.integration
def test_other_readers_of_the_store_name_the_examples(kragx, qrels, store, tmp_path):
    """Exports and labels of a store with both kinds ask which; each kind is what it was."""
    judged(store)
    chosen = Examples(LABELS)
    judged(store, examples=chosen)
    out = tmp_path / "out.qrels"
    refused = kragx("judge", "store", "export", out, "--store", store)
    assert refused.code == 2
    assert f"--examples: the store holds grades by several ({chosen.name}, none)" in " ".join(
        refused.err.split()
    )
    for name, guess in (("none", first_guess), (chosen.name, second_guess)):
        kragx("judge", "store", "export", out, "--store", store, "--examples", name)
        assert read_labels(out).queries == {q: dict(d) for q, d in sorted(by(guess).items())}
    human = qrels("human.qrels", HUMAN)
    # `kragx agree` takes the judge with the examples, by the half that never serves as one.
    shown = kragx("agree", human, store)
    assert (shown.code, "of 20 held-out queries" in shown.out) == (0, True)
    assert shown.out == kragx("agree", human, store, "--examples", chosen.name).out
    stats = kragx("judge", "store", "stats", "--store", store, "--format", "json").json()
    rubrics = {group["rubric"] for group in stats}
    assert rubrics == {"relevance-en-1", f"relevance-en-1 with examples {chosen.name}"}


@pytest.mark.integration
@pytest.mark.parametrize("better", [False, True])
def test_simulated_differences(better):
    """Of 2,000 simulated data sets of 30 queries, 93-97 % of the intervals hold the true change of
    quadratic kappa, which is none where both judges are as good as each other.
    """
    rng = np.random.default_rng(3)

    def simulated(count, queries):
        latent = rng.normal(0, 1, (count, queries, 8)) + rng.normal(0, 0.7, (count, queries, 1))
        guesses = [
            0.8 * latent + spread * rng.normal(0, 1, latent.shape)
            for spread in (0.8, 0.5 if better else 0.8)
        ]
        people, *judges = (np.searchsorted((0.2, 0.9, 1.6), part) for part in (latent, *guesses))
        cells = np.arange(16)
        confusions = [
            (4 * people[..., None] + judge[..., None] == cells).sum(-2) for judge in judges
        ]
        return [part.reshape(count, queries, 4, 4).astype(float) for part in confusions]

    totals = sum(np.stack([part.sum((0, 1)) for part in simulated(20, 1000)]) for _ in range(20))
    kappas = statistics(totals, range(4))[KAPPA]
    difference = float(kappas[1] - kappas[0])
    assert (difference > 0.05) is better
    held = 0
    for before, after in zip(*simulated(2000, 30)):
        counts = np.stack([before, after], axis=1)
        low, high = measured(counts, range(4), 500, change=True)[1][KAPPA]
        held += low <= difference <= high
    assert 0.93 <= held / 2000 <= 0.97

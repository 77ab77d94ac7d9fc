"""Which questions are drawn, in which order, and what is known of the difference as labels come."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kragx import DataError, Doc, Gold, GoldDataset, evaluate
from kragx.agreement.change.draw import LabelledMetric, draw_lot
from kragx.agreement.change.estimate import Ledger
from tests.comparison.lists.test_lists import questions, side_by_side

PRECISION = LabelledMetric("precision", 2)


def asked(n, **fields):
    """Questions with a text, and maybe weights."""
    return [replace(query, text=f"question {query.id}") for query in questions(n, **fields)]


def drawn(old, new, metric=PRECISION, *, queries=None, seed=0, **options):
    """The lot of lists of letters, and its documents."""
    diff = side_by_side(old, new, queries=queries or asked(len(old)), **options)
    return draw_lot(diff, metric, seed=seed)


def known(lot, relevant, n=None, margin=None):
    """What is known once the first n questions of a lot are labelled."""
    ledger = Ledger(lot)
    for place, question in list(enumerate(lot.questions))[:n]:
        ledger.take(place, {doc: doc in relevant for doc in question.old + question.new})
    return ledger.difference(margin)


def test_by_hand():
    """Of [ab ab ab ab] and [ab ba ac xy] two need labels: half and all of precision@2 may change.

    A question that is asked three times weighs three times as much.
    """
    lot, documents = drawn(
        ["ab", "ab", "ab", "ab"],
        ["ab", "ba", "ac", "xy"],
        queries=asked(4, weight=[1.0, 1.0, 3.0, 1.0]),
    )
    most = {question.query_id: question.most for question in lot.questions}
    assert most == {"q2": 1.5, "q3": 1.0}
    chances = [question.chance for question in lot.questions]
    assert chances == pytest.approx([lot.questions[0].most / 2.5, 1.0])
    assert (lot.n_questions, lot.asks) == (4, 6.0)
    assert sorted(documents) == list("abcxy")
    change = known(lot, "bcx")
    assert change.difference == change.low == change.high == pytest.approx(0.0)
    assert (change.verdict, change.counts["n_labels"]) == ("same", 7)
    assert known(lot, "c").low == pytest.approx(3 * 0.5 / 6)
    assert "known exactly" in known(lot, "c").text


def test_no_more_are_wanted_than_are_left():
    """Of eight questions with six labelled at most two more can be needed."""
    lot, _ = drawn(["ab"] * 8, ["ac"] * 8)
    ledger = Ledger(lot)
    for place in range(6):
        ledger.take(place, {"b": place % 2 == 0, "c": place % 2 == 1})
    assert max(ledger.difference().more) <= 2


@pytest.mark.parametrize("n", [200, pytest.param(2000, marks=pytest.mark.integration)])
def test_chances_are_proportional_to_what_could_change(n):
    """Of many draws each question comes first as often as its share of what could change."""
    queries = asked(3, weight=[1.0, 2.0, 2.0])
    diff = side_by_side(["ab", "ab", "ab"], ["ac", "ac", "xy"], queries=queries)
    first = Counter(draw_lot(diff, PRECISION, seed=s)[0].questions[0].query_id for s in range(n))
    for name, chance in {"q0": 1 / 7, "q1": 2 / 7, "q2": 4 / 7}.items():
        assert first[name] / n == pytest.approx(chance, abs=4 * (chance * (1 - chance) / n) ** 0.5)


def test_what_no_label_can_change_is_not_drawn():
    """Failed and unasked questions are left out, equal lists and those of weight 0 are known."""
    queries = asked(4, weight=[1.0, 1.0, 0.0, 2.0])
    lot, _ = drawn(["ab", None, "ab", "ab"], ["ab", "ab", "cd", "ab"], queries=queries)
    assert lot.questions == ()
    assert (lot.n_questions, lot.n_left_out, lot.asks) == (3, 1, 3.0)
    change = Ledger(lot).difference()
    assert (change.difference, change.low, change.high, change.verdict) == (0, 0, 0, "same")
    assert "no label can change" in change.text


@pytest.mark.parametrize("name", ["precision", "hit_rate", "mrr"])
def test_all_labels_give_the_difference_of_the_metric(name):
    """Of weighted questions it is what `evaluate` says of both lists with those labels as gold."""
    rng = np.random.default_rng(2)
    old, new = ([list(rng.permutation(list("abcdef"))[:3]) for _ in range(12)] for _ in range(2))
    queries = asked(12, weight=[float(w) for w in rng.integers(1, 5, 12)])
    sides = [["".join(docs) for docs in lists] for lists in (old, new)]
    lot, _ = drawn(*sides, LabelledMetric(name, 3), queries=queries)
    gold = GoldDataset(tuple(replace(q, gold=(Gold("a"), Gold("e"), Gold("z"))) for q in queries))
    means = [
        evaluate(
            gold, [[Doc(d) for d in docs] for docs in lists], match="id", metrics=[f"{name}@3"]
        ).mean[f"{name}@3"]
        for lists in (old, new)
    ]
    change = known(lot, "aez")
    assert change.difference == pytest.approx(means[1] - means[0])
    assert change.low == change.high == change.difference


def test_names_tell_no_side():
    """An id of two texts is two documents, neither of which has the plain id; chunkings have none.

    Metadata stay away but for a title.
    """
    old = [(Doc("a", "one", {"title": "T", "version": "old"}), Doc("b", "two"))]
    new = [(Doc("a", "another"), Doc("b", "two"))]
    lot, documents = drawn(old, new)
    (question,) = lot.questions
    assert "a" not in documents
    assert {question.old[1], question.new[1]} == {"b"}
    assert [doc.metadata for doc in documents.values() if doc.text == "one"] == [{"title": "T"}]


def test_chunkings_are_never_called_the_same():
    """Equal texts of other ids need labels as well, under names that tell no chunking."""
    chunks = [(Doc("v1:0", "one and the same"),)], [(Doc("v2:0", "one and the same"),)]
    lot, documents = drawn(*chunks)
    (question,) = lot.questions
    assert question.old != question.new
    assert all(name.startswith("text-") for name in documents)


def test_a_tie_is_no_difference_by_rounding():
    """Weights 1, 1 and 3 whose differences make 0, and 0.1 + 0.2 - 0.3: the same, and 0 exactly."""
    queries = asked(3, weight=[1.0, 2.0, 3.0])
    lists = ["abcde"] * 3, ["abcdx", "abcdx", "abcdx"]
    lot, _ = drawn(*lists, LabelledMetric("precision", 10), queries=queries)
    ledger = Ledger(lot)
    for place, question in enumerate(lot.questions):
        loses = question.query_id == "q2"
        ledger.take(place, {"e": loses, "x": not loses})
    change = ledger.difference()
    assert (change.low, change.high, change.difference, change.verdict) == (0, 0, 0, "same")


def test_what_cannot_be_read_is_said():
    """A document without a text, and a question without words, where they are needed."""
    with pytest.raises(DataError, match=r"'a.*has no text to read"):
        drawn([(Doc("a"), Doc("b"))], [(Doc("b"), Doc("c"))])
    with pytest.raises(DataError, match="the question 'q0' has no text"):
        drawn(["ab"], ["ac"], queries=questions(1))


def test_equal_lots_have_equal_records(tmp_path):
    """The same lists, weights, metric and seed draw the same order; any other says what differs."""
    lists = ["ab", "ab", "ab"], ["ac", "xy", "ay"]
    lot, _ = drawn(*lists)
    assert lot.record == drawn(*lists)[0].record
    for other in (
        drawn(*lists, queries=asked(3, weight=[1.0, 2.0, 1.0])),
        drawn(*lists, seed=3),
        drawn(*lists, LabelledMetric("mrr", 2)),
        drawn(lists[0], ["ac", "xy", "az"]),
    ):
        assert other[0].record != lot.record
    reworded = [replace(query, text="another") for query in asked(3)]
    assert drawn(*lists, queries=reworded)[0].record != lot.record
    edited = [
        [(Doc(x, f"edited {x}") if x in "ac" else Doc(x, x)) for x in of] for of in ("ab", "ac")
    ]
    plain = [[Doc(x, x) for x in of] for of in ("ab", "ac")]
    assert drawn([edited[0]], [edited[1]])[0].record != drawn([plain[0]], [plain[1]])[0].record
    lot.write(tmp_path / "lot.jsonl")
    assert len((tmp_path / "lot.jsonl").read_text().splitlines()) == 1 + 3


def many(n=400, share=0.0):
    """A lot of so many questions with one document exchanged each, of which some got better."""
    lot, _ = drawn(["ab"] * n, ["ac"] * n)
    better = {question.query_id for question in lot.questions[: round(share * n)]}
    return lot, better


def test_it_is_decided_and_says_how_many_more_would_do():
    """Four questions say nothing; all for the better say it within 20, and before that how many."""
    lot, _ = many()
    assert known(lot, "c", 4).more is None
    few = known(lot, "c", 5)
    assert few.verdict == "open"
    low, high = few.more
    assert 1 <= low <= high <= 30
    enough = known(lot, "c", 5 + high)
    assert (enough.verdict, enough.is_over) == ("better", True)
    assert 0 < enough.low < enough.difference == pytest.approx(0.5)
    assert known(lot, "b", 5 + high).verdict == "worse"


def test_ties_are_the_same_within_a_margin_and_hopeless_without():
    """Lists that differ and tie: the same within .2 long before all is labelled; else hopeless."""
    lot, _ = many()
    assert known(lot, "", 60, margin=0.2).verdict == "same"
    assert known(lot, "", 10, margin=0.2).verdict == "open"
    assert known(lot, "", 30).verdict in ("open", "hopeless")
    assert known(many(1_500)[0], "", 30).verdict == "hopeless"
    assert known(lot, "", 399).verdict == "open"
    assert known(lot, "").verdict == "same"


def test_who_is_put_off_counts_at_their_worst():
    """Without the first question's labels the interval is wider than with any, yet decided."""
    lot, _ = many()
    ledger = Ledger(lot)
    for place in range(1, 40):
        ledger.take(place, {"b": False, "c": True})
    without = ledger.difference(n_put_off=1)
    ledger.take(0, {"b": False, "c": False})
    assert 0 < without.low <= ledger.difference().low
    assert without.counts["n_put_off"] == 1
    assert any("worst on either side" in str(part.text) for part in without.describe())


def test_the_estimate_takes_the_middle_of_who_was_put_off():
    """By hand: two lists that gain a document; 1/4 and then .5, of which draws say .5 and .75."""
    lot, _ = drawn(["a", "a"], ["ac", "ac"])
    ledger = Ledger(lot)
    ledger.take(1, {"c": True})
    change = ledger.difference()
    assert (change.low, change.high) == pytest.approx((0.25, 0.5))
    assert change.difference == pytest.approx(0.625 / 2)


def test_what_can_only_lose_is_not_the_same():
    """No more than 0 and maybe far less is not within a margin, on neither side."""
    for lists, ends in ((("ac", "a"), (-0.5, 0.0)), (("a", "ac"), (0.0, 0.5))):
        change = Ledger(drawn([lists[0]], [lists[1]])[0]).difference(0.1)
        assert (change.low, change.high, change.verdict) == (*ends, "open")


def test_who_returned_nothing_is_not_labelled():
    """A version without a document asks for no label: it is said that it returned nothing."""
    with pytest.raises(DataError, match="new returned nothing for any question"):
        drawn(["ab", "ab"], ["", ""])


def test_what_is_left_aside_is_said():
    """Questions that were drawn from more, and those without two lists, are warned of."""
    queries = asked(3, inclusion=[1.0, 0.5, 0.5])
    lot, _ = drawn(["ab", "ab", None], ["ac", "ac", "ac"], queries=queries)
    texts = [str(part.text) for part in known(lot, "c").describe()]
    assert any("drawn from more" in text for text in texts)
    assert any("do not have two lists: 1, 40.0% of all" in text for text in texts)
    assert "over 2 of 3 questions" in texts[0]
    assert known(lot, "c").to_dict()["is_sample"] is True

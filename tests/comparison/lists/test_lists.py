"""Two runs side by side: which lists are the same, and what came, went and moved."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, Doc, Gold, Query, Retrieved, Run, UsageError, evaluate
from kragx.comparison.lists import diff_lists

NAMES = "abcdefgh"


def docs(names, text="the text of {}", **metadata):
    """A document for each letter."""
    return tuple(Doc(name, text.format(name), metadata) for name in names)


def run(*lists, name="new"):
    """A run of q0, q1, ...; None is a failure."""
    answers = (Retrieved(error="E: no") if x is None else Retrieved(tuple(x)) for x in lists)
    return Run({f"q{row}": answer for row, answer in enumerate(answers)}, name=name)


def questions(n, **weights):
    """As many questions, with a weight each where there are any."""
    return [Query(f"q{row}", **{k: v[row] for k, v in weights.items()}) for row in range(n)]


def side_by_side(old, new, **options):
    """Lists of letters, or of documents, side by side."""
    old, new = (
        [docs(letters) if isinstance(letters, str) else letters for letters in lists]
        for lists in (old, new)
    )
    pair = run(*old, name="old"), run(*new)
    return diff_lists(options.pop("queries", questions(len(old))), *pair, **options)


def test_by_hand():
    """One list of four is the same to depth 5, one in another order, one has a new document."""
    diff = side_by_side(["abcde", "abcde", "abc", "ab"], ["abcde", "abdce", "xab", None])
    assert diff.ks == (1, 5)
    assert diff.mean["unchanged@1"] == pytest.approx(2 / 3)
    assert diff.mean["unchanged@5"] == pytest.approx(1 / 3)
    assert diff.mean["jaccard@5"] == pytest.approx((1 + 1 + 2 / 4) / 3)
    assert diff.mean["rbo"] == pytest.approx((1 + 0.973 + 0.585) / 3, abs=1e-3)
    counts = {name: diff.counts[f"{name}@5"] for name in ("documents", "came", "went", "moved")}
    assert counts == {"documents": 13, "came": 1, "went": 1, "moved": 4}
    assert diff.counts["n_compared"] == 3
    assert [question.query.id for question in diff.most_changed] == ["q2", "q1"]


def test_jaccard_knows_no_order():
    """As sets a list in another order is the same, also one that repeats a document."""
    diff = side_by_side(["abc", "aab", "ab"], ["cab", "abb", "ac"])
    assert diff.mean["unchanged@5"] == 0.0
    assert diff.mean["jaccard@5"] == pytest.approx((1 + 1 + 1 / 3) / 3)


def test_failed_is_neither_the_same_nor_changed():
    """A question that failed, or was not asked, on one side is counted and has no value."""
    old, new = run(docs("a"), None, docs("b"), name="old"), run(docs("a"), docs("a"))
    diff = diff_lists(questions(3), old, new)
    assert [question.is_equal(1) for question in diff.questions] == [True, None, None]
    assert diff.mean["unchanged@1"] == 1.0
    assert diff.counts["n_failed_old"] == diff.counts["n_missing_new"] == 1
    assert [(failure.retriever, failure.failed) for failure in diff.failures] == [("old", True)]
    assert "neither the same nor changed" in str(diff)


def test_of_several_runs_the_first_counts():
    """A version that was asked three times is looked at as it answered first, and that is said."""
    once = run(docs("a"), name="old")
    several = Run.repeated([run(docs("a")), run(None), run(docs("b"))])
    diff = diff_lists(questions(1), once, several)
    assert (diff.mean["unchanged@1"], diff.counts["n_runs_new"], diff.failures) == (1.0, 3, ())
    assert "new: asked 3 times; shown is the first" in str(diff)


def test_same_id_and_another_text():
    """An id that stands for another text is another document, and that is said."""
    new = [docs("ab"), (*docs("c"), *docs("d", "edited {}"))]
    diff = side_by_side(["ab", "cd"], new)
    assert [question.is_equal() for question in diff.questions] == [True, False]
    assert (diff.identity.by, diff.identity.n_shared, diff.identity.n_edited) == ("id", 4, 1)
    assert "1 of the 4 ids that both have stands for another text in new" in str(diff)


def test_metadata_that_a_rule_reads():
    """Another tenant is another document where somebody reads it, and else is not."""
    old, new = [docs("a", tenant="x")], [docs("a", tenant="y")]
    assert side_by_side(old, new).mean["unchanged@1"] == 1.0
    assert side_by_side(old, new, fields=["metadata.tenant"]).mean["unchanged@1"] == 0.0


def test_without_ids_texts_tell():
    """Documents that are texts and nothing else are the same by their text, exactly."""
    old, new = [[Doc(text="one"), Doc(text="two")]], [[Doc(text="one"), Doc(text="two ")]]
    diff = side_by_side(old, new)
    assert (diff.identity.by, diff.is_exact) == ("text", True)
    assert (diff.mean["unchanged@1"], diff.questions[0].is_equal()) == (1.0, False)


CHUNKS = [
    "Gift cards do not expire, and can be used in every shop of the chain",
    "Opened software can be returned within fourteen days with its receipt",
]


def test_across_chunkings():
    """Without a shared id the same text, else half of one, makes chunks alike, never equal."""
    old = [tuple(Doc(f"a{n}", text) for n, text in enumerate(CHUNKS))]
    longer = f"{CHUNKS[1]} and by whoever bought it in another country"
    new = [(Doc("b7", CHUNKS[0]), Doc("b8", longer), Doc("b9", "Parcels arrive in a week"))]
    diff = side_by_side(old, new)
    assert (diff.identity.by, diff.is_exact) == ("overlap", False)
    assert diff.questions[0].numbers == ((0, 1), (0, 1, 4))
    assert diff.questions[0].is_equal(2)
    assert diff.questions[0].is_equal() is False
    assert "lists that are alike" in str(diff)
    assert "nothing differs" not in str(side_by_side(old, [new[0][:2]]))


def test_a_document_without_a_text_is_like_no_other():
    """Where others have texts it neither stops the comparison nor meets anything."""
    old, new = [(Doc("a0", CHUNKS[0]), Doc("a1"))], [(Doc("b0"), Doc("b1", CHUNKS[0]))]
    assert side_by_side(old, new).questions[0].counts(2) == (1, 1, 1)


def test_by_text_without_texts():
    """By text a document that has none is told by its id, and never the same as another."""
    text = Doc("x", "some words")
    old, new = [(Doc("a"), Doc("c")), (text,)], [(Doc("b"), Doc("c")), (text,)]
    diff = side_by_side(old, new, by="text")
    assert [question.numbers for question in diff.questions] == [((0, 1), (2, 1)), ((0,), (0,))]
    # Beside ids alone a document without one is told by nothing, as the texts are not compared.
    bare = side_by_side([(Doc("a"),)], [(Doc("a"), Doc(text="b"), Doc(text="c"))])
    assert bare.questions[0].numbers == ((0,), (0, 1, 2))


def test_a_version_of_empty_lists():
    """It says nothing of ids and texts: the other's documents are told, and all of them went."""
    for names, by in ((["ab"], "id"), ([(Doc(text="t"), Doc(text="u"))], "text")):
        for diff in (side_by_side(names, [()]), side_by_side(names, [()], by=by)):
            assert (diff.identity.by, diff.is_exact, diff.identity.n_shared) == (by, True, 0)
            assert (diff.counts["went@1"], diff.mean["unchanged@1"]) == (1, 0.0)
            assert "alike" not in str(diff)
    with pytest.raises(UsageError, match="by: id compares ids, which a version lacks"):
        side_by_side([(Doc(text="t"),)], [()], by="id")


def test_few_ids_and_many_texts():
    """Where more texts meet under other ids than ids do, the way to compare texts is named."""
    old = [docs("a"), *((Doc(f"old{n}", f"words {n}"),) for n in range(3))]
    new = [docs("a"), *((Doc(f"new{n}", f"words {n}"),) for n in range(3))]
    diff = side_by_side(old, new)
    assert (diff.identity.by, diff.identity.n_renamed, diff.mean["unchanged@1"]) == ("id", 3, 0.25)
    assert "and are not the same: 3; by their texts '--by text' compares" in str(diff)
    assert side_by_side(old, new, by="text").mean["unchanged@1"] == 1.0
    assert "--by text" not in str(side_by_side([docs("abc"), *old[1:]], [docs("abc"), *new[1:]]))


def test_siblings_of_a_template():
    """Passages of one template are told by what they differ in: a number, though ids never meet."""
    text = "The fee for a parcel of {} kilograms to another country is {} euros with insurance"
    sizes = (2, 5, 10, 20)
    old, new = (
        [tuple(Doc(f"{side}{n}", text.format(n, 3 * n)) for n in chosen)]
        for side, chosen in (("a", sizes[:3]), ("b", (10, 2, 20)))
    )
    diff = side_by_side(old, new)
    assert diff.identity.by == "overlap"
    assert diff.questions[0].counts(3) == (1, 1, 2)


def test_a_chunk_is_taken_for_one_alone():
    """Of two chunks within a longer one the closer one is it, and the other went."""
    longer = Doc("b", " ".join(CHUNKS))
    diff = side_by_side([tuple(Doc(f"a{n}", t) for n, t in enumerate(CHUNKS))], [(longer,)])
    assert diff.questions[0].counts(5) == (0, 1, 0)


def test_one_has_no_texts():
    """A TREC run beside texts is told by ids, and nobody knows that texts are the same."""
    diff = side_by_side(["ab"], [(Doc("a"), Doc("b"))])
    assert (diff.mean["unchanged@5"], diff.is_exact, diff.identity.reads_texts) == (1, False, False)
    ids = side_by_side([(Doc("a"),)], [(Doc("a"),)])
    assert (ids.mean["unchanged@1"], ids.is_exact) == (1.0, True)


def test_nothing_tells_documents():
    """Ids alone beside texts alone is an error that says what to do."""
    with pytest.raises(DataError, match="neither ids nor texts in common"):
        side_by_side([(Doc("a"),)], [(Doc(text="b"),)])
    with pytest.raises(UsageError, match="by: text compares texts, which a version lacks"):
        side_by_side([(Doc("a"),)], [(Doc("a"),)], by="text")
    with pytest.raises(UsageError, match="by: 'txt' is unknown; perhaps you meant 'text'"):
        side_by_side(["a"], ["a"], by="txt")
    with pytest.raises(DataError, match="no question has a list of old and of new"):
        side_by_side([None], ["a"])


def test_weights():
    """Shares are of asks over the chance of having been drawn; counts are of questions."""
    queries = questions(3, weight=(1.0, 6.0, 2.0), inclusion=(1.0, 1.0, 0.5))
    diff = side_by_side(["a", "b", "c"], ["a", "x", "c"], queries=queries)
    assert diff.mean["unchanged@1"] == pytest.approx(5 / 11)
    assert (diff.counts["n_asks"], diff.counts["came@1"]) == (11, 1)
    assert diff.is_weighted


LISTS = st.lists(st.sampled_from(NAMES), max_size=7).map("".join)


@given(st.lists(st.tuples(LISTS, LISTS), min_size=1, max_size=4), st.integers(1, 8))
def test_moves(pairs, k):
    """Came, went and moved are those that a comparison of ranks by hand finds, repeats apart."""
    diff = side_by_side(*zip(*pairs), ks=[k], by="id" if all(map(any, zip(*pairs))) else None)

    def ranks(letters):
        named = [(letter, letters[:at].count(letter)) for at, letter in enumerate(letters)]
        return {item: rank for rank, item in enumerate(named, 1)}

    for (old, new), question in zip(pairs, diff.questions):
        before, after = ranks(old), ranks(new)
        top = [{item for item, rank in side.items() if rank <= k} for side in (before, after)]
        moved = sum(before[item] != after[item] for item in top[0] & top[1])
        assert question.counts(k) == (len(top[1] - top[0]), len(top[0] - top[1]), moved)
        assert question.is_equal(k) == (old[:k] == new[:k])


@given(st.lists(st.tuples(LISTS, LISTS), min_size=1, max_size=5), st.integers(1, 5))
def test_equal_lists_have_equal_values(pairs, k):
    """What is the same to depth k has the same value of every metric at k: it needs no label."""
    diff = side_by_side(*zip(*pairs), by="id")
    gold = {f"q{row}": [Gold(letter) for letter in "ace"] for row in range(len(pairs))}
    metrics = [f"{name}@{k}" for name in ("precision", "hit_rate", "mrr", "map", "ndcg", "recall")]
    tables = [
        evaluate(
            gold,
            {f"q{row}": docs(pair[side]) for row, pair in enumerate(pairs)},
            match="id",
            metrics=metrics,
        ).queries
        for side in (0, 1)
    ]
    for question in diff.questions:
        if question.is_equal(k):
            assert tables[0][question.query.id] == tables[1][question.query.id]


def test_depths():
    """1, 5 and 10 as far as lists go; a depth below 1 is none."""
    assert side_by_side(["abcdef"], ["a"]).ks == (1, 5, 10)
    assert side_by_side(["a"], ["a"]).ks == (1,)
    assert side_by_side(["a"], ["a"], ks=[7, 3]).ks == (3, 7)
    with pytest.raises(UsageError, match="k: 0 is no depth"):
        side_by_side(["a"], ["a"], ks=[0])


def test_another_unicode_form_is_the_same_text() -> None:
    """Korean that one version has decomposed (NFD), as names of files may be, is not edited."""
    text = "서울은 수도다"
    old, new = (Doc("a", text),), (Doc("a", unicodedata.normalize("NFD", text)),)
    result = side_by_side([old], [new], ks=[1])
    assert result.identity.n_edited == 0
    assert result.mean["unchanged@1"] == 1.0


def test_a_version_that_returned_nothing_is_said() -> None:
    """Empty lists everywhere are no other chunking: their version is named."""
    assert "new returned nothing for any question" in side_by_side(["a"], [()]).to_text()

"""The embedding matcher: cosines of real, deterministic embeddings, batched and remembered."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from sklearn.metrics.pairwise import cosine_similarity

from examples.ngram_embeddings import NgramEmbeddings
from kragx import DataError, UsageError, evaluate, matcher
from kragx.app.config import filled
from kragx.matchers import Diagnostics, EmbeddingMatcher, MatchWarning
from kragx.matchers.matching import conclude
from tests.thoroughness import all_cases, examples

from .support import decided, item, scored

PATH = "examples.ngram_embeddings:NgramEmbeddings"
TEXTS = [
    "환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다.",
    "환불은 반품을 확인하고 3일 안에 됩니다.",
    "Replace the water filter every six months.",
    "The filter is to be replaced every six months.",
    "🙂🙂🙂",
]


class Counting(NgramEmbeddings):
    """Embeddings that remember every batch they were asked for."""

    model = "ngrams"

    def __init__(self, fail_at: int | None = None) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self.fail_at = fail_at

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As they are, but for the batch that fails."""
        if len(self.batches) == self.fail_at:
            raise ConnectionError("the model went away")
        self.batches.append(list(texts))
        return super().embed_documents(texts)

    @property
    def asked(self) -> Counter[str]:
        """How often each text was embedded."""
        return Counter(text for batch in self.batches for text in batch)


class Answering(Embeddings):
    """Embeddings that answer what a function says."""

    def __init__(self, answer: Callable[[list[str]], Any]) -> None:
        self.answer = answer

    def embed_documents(self, texts: list[str]) -> Any:
        """The answer."""
        return self.answer(texts)

    def embed_query(self, text: str) -> Any:
        """Never asked."""
        raise AssertionError


def by_hand(vectors: dict[str, list[float]]) -> Answering:
    """Embeddings with these vectors."""
    return Answering(lambda texts: [vectors[text] for text in texts])


def test_a_score_is_the_cosine():
    """Worked by hand: (3, 4) and (4, 3) have cosine 24/25, at right angles 0, opposite 0 not -1."""
    given_ = by_hand({"a": [3, 4], "b": [4, 3], "c": [-4, 3], "d": [-3, -4]})
    found = scored(EmbeddingMatcher(given_, 0.5), ["b", "c", "d"], ["a"])
    assert found[:, 0] == pytest.approx([0.96, 0, 0], abs=1e-15)
    assert decided(EmbeddingMatcher(given_, 0.96), ["b", "c"], ["a"]) == [[True], [False]]


@pytest.mark.parametrize(
    "embeddings",
    [NgramEmbeddings(), NgramEmbeddings(n=3, dimensions=64), DeterministicFakeEmbedding(size=32)],
    ids=["bigrams", "trigrams", "langchain"],
)
def test_scores_are_those_of_scikit_learn(embeddings: Embeddings):
    """Every pair has scikit-learn's cosine, negatives cut to 0."""
    docs, golds = TEXTS, [*TEXTS[::-1], "something else"]
    expected = cosine_similarity(
        embeddings.embed_documents(docs), embeddings.embed_documents(golds)
    )
    found = scored(EmbeddingMatcher(embeddings, 0.5), docs, golds)
    assert found == pytest.approx(np.maximum(expected, 0), abs=1e-12)
    assert found.min() >= 0
    assert found.max() <= 1


def test_a_score_is_the_same_wherever_it_is_asked_for():
    """To the last bit: it depends on no other text, nor on their order (a threshold may be it)."""
    texts = [f"text {number}" for number in range(40)]
    chosen = EmbeddingMatcher(DeterministicFakeEmbedding(size=301), 0.5)
    together = scored(chosen, texts, texts[:7])
    assert (scored(chosen, texts[::-1], texts[6::-1])[::-1, ::-1] == together).all()
    alone = [[scored(chosen, [doc], [gold])[0, 0] for gold in texts[:7]] for doc in texts]
    assert (np.array(alone) == together).all()


@examples(60)
@given(st.lists(st.text(min_size=2, max_size=12), min_size=1, max_size=6, unique=True))
def test_equal_texts_score_exactly_one(texts: list[str]):
    """Rounding never keeps a text from matching itself at a threshold of 1."""
    chosen = EmbeddingMatcher(DeterministicFakeEmbedding(size=7), 1.0, normalised=False)
    assert (np.diag(scored(chosen, texts, texts)) == 1.0).all()


@examples(60)
@given(
    st.lists(
        st.lists(st.floats(-1e150, 1e150, allow_nan=False), min_size=3, max_size=3),
        min_size=2,
        max_size=5,
    )
)
def test_scores_are_numbers_from_0_to_1_whatever_the_vectors(vectors: list[list[float]]):
    """Against a slow reference in whole fractions of floats: huge, tiny and zero vectors too."""
    names = [f"text {at}" for at in range(len(vectors))]
    chosen = EmbeddingMatcher(by_hand(dict(zip(names, vectors))), 0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        found = scored(chosen, names[1:], names[:1])
    for row, vector in enumerate(vectors[1:]):
        expected = reference(vector, vectors[0])
        assert found[row, 0] == pytest.approx(expected, abs=1e-9)
        assert 0 <= found[row, 0] <= 1


def reference(one: list[float], other: list[float]) -> float:
    """The cosine, in fractions until the last step."""
    from fractions import Fraction

    left, right = [Fraction(each) for each in one], [Fraction(each) for each in other]
    dot = sum(a * b for a, b in zip(left, right))
    square = sum(a * a for a in left) * sum(b * b for b in right)
    if not square or dot <= 0:
        return 0.0
    return math.sqrt(dot * dot / square)


def test_texts_are_normalised_first():
    """NFD, as macOS writes Korean, and other white space give the same vector; raw is an option."""
    text = TEXTS[0]
    other = unicodedata.normalize("NFD", text).replace(" ", "\n ")
    strict = by_hand({text: [1, 0], other: [0, 1]})
    assert decided(EmbeddingMatcher(strict, 1.0), [other], [text]) == [[True]]
    raw = EmbeddingMatcher(strict, 1.0, normalised=False)
    assert decided(raw, [other], [text]) == [[False]]


def test_each_distinct_text_is_embedded_once_in_batches():
    """Over queries, runs and evaluations; no batch is larger than 64 texts."""
    embeddings = Counting()
    chosen = EmbeddingMatcher(embeddings, 0.5)
    golds, docs = [[text] for text in TEXTS], [TEXTS for _ in TEXTS]
    evaluate(golds, docs, match=chosen)
    evaluate(golds, [each[::-1] for each in docs], match=chosen)
    assert set(embeddings.asked) == set(TEXTS)
    assert set(embeddings.asked.values()) == {1}
    scored(chosen, [f"text number {at}" for at in range(100)], TEXTS)
    assert [len(batch) for batch in embeddings.batches] == [5, 64, 36]


class Logged(NgramEmbeddings):
    """Embeddings that remember in their class what they were asked for."""

    asked: ClassVar[list[str]] = []
    fails: ClassVar[bool] = False

    def __init__(self, n: int = 2, api_key: str = "") -> None:
        super().__init__(n)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As they are, unless the model is gone."""
        if self.fails and self.asked:
            raise ConnectionError("the model went away")
        self.asked.extend(texts)
        return super().embed_documents(texts)


def kept(cache: Path, **args: Any) -> Any:
    """A matcher whose vectors a file keeps, and nobody was asked for so far."""
    Logged.asked.clear()
    spec = {"method": "embedding", "embeddings": "tests.matchers.test_embedding:Logged"}
    return matcher(filled({**spec, "threshold": 0.5, "cache": str(cache), "args": args}))


def test_a_file_keeps_vectors_for_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A second run asks nothing, and gets the same scores to the last bit.

    Other arguments ask anew, but for a secret of the environment.
    """
    cache = tmp_path / "new" / "vectors.sqlite"
    monkeypatch.setenv("KEY", "hush-1")
    before = scored(kept(cache, n=3, api_key="${KEY}"), TEXTS, TEXTS)
    assert sorted(Logged.asked) == sorted(TEXTS)
    monkeypatch.setenv("KEY", "hush-2")
    after = scored(kept(cache, n=3, api_key="${KEY}"), TEXTS, TEXTS)
    assert not Logged.asked
    assert (before == after).all()
    scored(kept(cache, n=2), TEXTS, TEXTS)
    assert sorted(Logged.asked) == sorted(TEXTS)
    assert b"hush" not in cache.read_bytes()


def test_a_failure_keeps_what_was_embedded_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The model goes away in the second batch; the next run asks for what is left alone."""
    cache = tmp_path / "vectors.sqlite"
    texts = [f"text number {at}" for at in range(100)]
    monkeypatch.setattr(Logged, "fails", True)
    with pytest.raises(DataError, match="ConnectionError: the model went away"):
        scored(kept(cache), texts, texts[:1])
    first = {*Logged.asked}
    monkeypatch.setattr(Logged, "fails", False)
    scored(kept(cache), texts, texts[:1])
    assert (len(first), {*Logged.asked}) == (64, {*texts} - first)


def test_a_cache_that_is_something_else_is_refused(tmp_path: Path):
    """A file of another kind is an error, and is not written to."""
    path = tmp_path / "other.sqlite"
    path.write_bytes(b"no database at all, but text")
    with pytest.raises(DataError, match=r"match.cache: .*other.sqlite"):
        scored(kept(path), ["a b"], ["c d"])
    assert path.read_bytes() == b"no database at all, but text"


def test_secrets_are_not_recorded():
    """A key among the arguments is left out of results; other arguments stand there."""
    spec = {"method": "embedding", "embeddings": "tests.matchers.test_embedding:Keyed"}
    made = matcher({**spec, "args": {"api_key": "hush-hush", "n": 3}, "threshold": 0.7})
    found = made.settings
    assert found == {
        "method": "embedding",
        "embeddings": "tests.matchers.test_embedding:Keyed",
        "args": {"n": 3},
        "threshold": 0.7,
    }
    assert "hush" not in str(found)


class Keyed(NgramEmbeddings):
    """Embeddings that want a key."""

    def __init__(self, api_key: str, n: int = 2) -> None:
        assert type(api_key) is str
        super().__init__(n)


def test_results_show_variables_by_their_names(monkeypatch: pytest.MonkeyPatch):
    """What came of a variable stands in a result as it was written, secret or not."""
    monkeypatch.setenv("KEY", "hush")
    args = {"api_key": "${KEY}", "n": 2}
    spec = {"method": "embedding", "threshold": 0.5, "args": args}
    made = matcher(filled({**spec, "embeddings": "tests.matchers.test_embedding:Keyed"}))
    assert made.settings["args"] == args
    assert decided(made, ["a b"], ["a b"])


@all_cases(
    ("answer", "message"),
    [
        (lambda texts: [[1.0]] * (len(texts) - 1), r"2 texts gave an array of shape \(1, 1\)"),
        (lambda texts: [1.0 for _ in texts], r"shape \(2,\); a vector of"),
        (lambda texts: [[] for _ in texts], r"shape \(2, 0\)"),
        (lambda texts: [[1.0], [1.0, 2.0]], "embedding 2 texts failed: ValueError"),
        (lambda texts: [["x"] for _ in texts], "embedding 2 texts failed: ValueError"),
        (lambda texts: None, r"shape \(\)|embedding 2 texts failed"),
        (lambda texts: [[float("nan")] for _ in texts], "finite numbers"),
        (lambda texts: [[math.inf] for _ in texts], "finite numbers"),
    ],
)
def test_what_is_no_vector_for_each_text_is_an_error(answer: Any, message: str):
    """Too few, none, ragged, no numbers, NaN: a DataError that says what came."""
    with pytest.raises(DataError, match=message):
        scored(EmbeddingMatcher(Answering(answer), 0.5), ["one"], ["two"])


def test_vectors_of_another_length_than_before_are_an_error():
    """A model that changes its mind between two calls is caught."""
    lengths = iter([2, 3])
    changing = EmbeddingMatcher(Answering(lambda texts: [[1.0] * next(lengths)] * len(texts)), 0.5)
    scored(changing, ["one"], ["two"])
    with pytest.raises(DataError, match=r"shape \(2, 3\); a vector of 2 finite numbers"):
        scored(changing, ["three"], ["four"])


def test_a_zero_vector_matches_nothing_and_is_said():
    """No NaN, a score of 0 even with itself, a count and a warning."""
    diagnostics = Diagnostics()
    chosen = EmbeddingMatcher(NgramEmbeddings(), 0.1)
    (found,) = chosen.scores([item(["가", "가나"], ["가", "가나"])], diagnostics)
    with (
        pytest.warns(MatchWarning, match="gold that can match nothing by 'embedding' in 1 quest"),
        pytest.warns(MatchWarning, match="retrieved texts that can match nothing"),
    ):
        conclude(chosen, diagnostics)
    assert np.asarray(found).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert (
        diagnostics["n_queries_gold_unmatchable"] == diagnostics["n_queries_docs_unmatchable"] == 1
    )


def test_an_empty_text_matches_nothing_and_is_not_embedded():
    """Models give it a vector all the same, near to much, or refuse it; chunks may be empty."""
    given: list[str] = []

    class Constant(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            given.extend(texts)
            return [[1.0, 0.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            raise NotImplementedError

    diagnostics = Diagnostics()
    chosen = EmbeddingMatcher(Constant(), 0.1)
    (found,) = chosen.scores([item(["", "가", " \n"], ["", "나"])], diagnostics)
    assert np.asarray(found).tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert given == ["가", "나"]
    with (
        pytest.warns(MatchWarning, match="its text is empty; give it one"),
        pytest.warns(MatchWarning, match="retrieved texts that can match nothing"),
    ):
        conclude(chosen, diagnostics)
    assert diagnostics["n_queries_docs_unmatchable"] == 1
    nothing = list(EmbeddingMatcher(Constant(), 0.1).scores([item([""], [""])], Diagnostics()))
    assert np.asarray(nothing).tolist() == [[[0.0]]]


def test_an_import_path_is_made_when_it_is_needed(monkeypatch: pytest.MonkeyPatch):
    """Checking a config does not load a model; the first match does, once."""
    made = []
    monkeypatch.setattr(
        "examples.ngram_embeddings.NgramEmbeddings.__init__",
        lambda self, n=2, dimensions=64: (
            made.append(n),
            self.__dict__.update(n=n, dimensions=dimensions),
        )[0],
    )
    chosen = matcher(
        {"method": "embedding", "embeddings": PATH, "args": {"n": 3}, "threshold": 0.5}
    )
    assert not made
    scored(chosen, TEXTS, TEXTS)
    scored(chosen, TEXTS, TEXTS)
    assert made == [3]


@all_cases(
    ("options", "message"),
    [
        ({"threshold": 0.5}, "match.embeddings: none are named"),
        ({"embeddings": PATH}, "match.threshold: 'embedding' has no default"),
        ({"embeddings": PATH, "threshold": 0}, "match.threshold: 0 is out of range"),
        ({"embeddings": PATH, "threshold": 1.5}, "match.threshold: 1.5 is out of range"),
        ({"embeddings": "nowhere_at_all:X", "threshold": 0.5}, "cannot import 'nowhere_at_all'"),
        ({"embeddings": PATH, "threshold": 0.5, "args": {"m": 2}}, "perhaps you meant|valid: n"),
        ({"embeddings": PATH, "threshold": 0.5, "args": [2]}, "match.args: a mapping"),
        ({"embeddings": "ngrams", "threshold": 0.5}, "'ngrams' is not an import path"),
        ({"embeddings": NgramEmbeddings(), "threshold": 0.5, "args": {}}, "belongs to an import"),
        ({"embeddings": 5, "threshold": 0.5}, "5 has no 'embed_documents'"),
        ({"embeddings": NgramEmbeddings, "threshold": 0.5}, "has no 'embed_documents'"),
        ({"embeddings": PATH, "threshold": 0.5, "cache": 5}, "match.cache: a path"),
        ({"embeddings": NgramEmbeddings(), "threshold": 0.5, "cache": "x"}, "match.cache: belongs"),
        ({"embeddings": PATH, "threshold": 0.5, "embed_as": "docs"}, "match.embed_as: unknown"),
        ({"embeddings": PATH, "threshold": 0.5, "normalised": 1}, "match.normalised"),
        ({"embeddings": PATH, "threshold": 0.5, "treshold": 1}, "perhaps you meant 'threshold'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(options: dict[str, Any], message: str):
    """Each names the option, the value and the remedy."""
    with pytest.raises(UsageError, match=message):
        matcher({"method": "embedding", **options})


def test_a_path_that_makes_no_embeddings_is_an_error():
    """What an import path makes is looked at when it is made."""
    chosen = EmbeddingMatcher("collections:Counter", 0.5)
    with pytest.raises(UsageError, match="made a Counter, which has no 'embed_documents'"):
        scored(chosen, ["a"], ["b"])


def test_texts_without_a_text_are_named():
    """A document or gold item without text is the same error as for every matcher of texts."""
    chosen = EmbeddingMatcher(PATH, 0.5)
    with pytest.raises(DataError, match=r"no text: 'd1' .*rank 1.*'embedding' compares texts"):
        evaluate([["gold"]], [[{"id": "d1"}]], match=chosen)


def test_alternatives_and_empty_lists():
    """The best of a gold item's alternatives counts; nothing retrieved is no error."""
    gold = {"id": "g", "alternatives": [{"text": TEXTS[2]}, {"text": TEXTS[0]}]}
    chosen = EmbeddingMatcher(PATH, 0.99)
    result = evaluate([[gold], [TEXTS[1]]], [[TEXTS[0]], []], match=chosen, metrics=["mrr@5"])
    assert [each["mrr@5"] for each in result.queries.values()] == [1.0, 0.0]

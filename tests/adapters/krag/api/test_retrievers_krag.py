"""K-RAG's BM25 retriever with scores, and the fusion of several retrievers' lists."""

from __future__ import annotations

import asyncio
import copy
import re
import sys
from math import fsum
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import ValidationError

from kragx.data.tokenizers import KiwiTokenizer
from kragx.document import KragDocument
from kragx.ground.errors import DataError, MissingExtraError, UsageError, installing
from kragx.retrievers import (
    BM25Retriever,
    KiWiBM25RetrieverWithScore,
    ReciprocalRankFusion,
    fuse,
)
from tests.thoroughness import all_cases

TEXTS = [
    "환불 신청 은 사흘 안에 한다",
    "수리 신청 은 이레 걸린다",
    "배송 은 이틀 걸린다",
    "환불 환불 환불",
    "매장 위치 안내",
]


def documents(texts: list[str] | None = None) -> list[Document]:
    """Documents with an id and metadata of their own."""
    return [
        Document(id=f"d{at}", page_content=text, metadata={"n": at})
        for at, text in enumerate(TEXTS if texts is None else texts)
    ]


def numbers(found: list[Any]) -> list[int]:
    """The numbers of the documents found."""
    return [document.metadata["n"] for document in found]


class TestKiwiBM25:
    """KiWiBM25RetrieverWithScore."""

    def test_best_first_with_scores(self) -> None:
        """What comes back are KragDocuments, best first, each with a plain float above 0."""
        found = KiWiBM25RetrieverWithScore(documents()).invoke("환불 신청")
        assert set(numbers(found)) == {0, 1, 3}
        # As long as document 1, which has one of the two words.
        assert numbers(found).index(0) < numbers(found).index(1)
        assert all(type(document) is KragDocument for document in found)
        scores = [document.metadata["bm25_score"] for document in found]
        assert all(type(score) is float for score in scores)
        assert scores == sorted(scores, reverse=True)
        assert min(scores) > 0
        assert [document.id for document in found] == [f"d{n}" for n in numbers(found)]

    def test_inputs_are_unchanged(self) -> None:
        """The documents given get no score, and changing a result changes none of them."""
        given = documents()
        before = copy.deepcopy(given)
        for document in KiWiBM25RetrieverWithScore(given).invoke("환불"):
            document.metadata["mine"] = 1
        assert given == before

    @all_cases(("k", "n"), [(None, 4), (1, 1), (3, 3), (0, 0), (50, 6)])
    def test_k(self, k: int | None, n: int) -> None:
        """K bounds the list, 4 if it is None; ties keep the order of the documents."""
        found = KiWiBM25RetrieverWithScore(documents(["같은 글"] * 6), k=k).invoke("같은")
        assert numbers(found) == list(range(n))

    def test_many_ties(self) -> None:
        """Ties keep the order of the documents also where there are many."""
        retriever = KiWiBM25RetrieverWithScore(documents(["같은 글", "다른 말"] * 50), k=100)
        assert numbers(retriever.invoke("같은")) == list(range(0, 100, 2))

    def test_k_may_be_changed(self) -> None:
        """K is read at each question, as in K-RAG."""
        retriever = KiWiBM25RetrieverWithScore(documents(["같은 글"] * 6), None, 2)
        retriever.k = 5
        assert len(retriever.invoke("같은")) == 5

    def test_threshold_is_strict(self) -> None:
        """Only scores above the threshold come back, not those equal to it."""
        all_found = KiWiBM25RetrieverWithScore(documents()).invoke("환불 신청")
        scores = [document.metadata["bm25_score"] for document in all_found]
        assert len(set(scores)) > 1
        strict = KiWiBM25RetrieverWithScore(documents(), threshold=min(scores))
        expected = [score for score in scores if score > min(scores)]
        found = strict.invoke("환불 신청")
        assert [document.metadata["bm25_score"] for document in found] == expected

    def test_threshold_below_0(self) -> None:
        """A document that shares nothing scores 0, which a threshold below 0 lets through."""
        found = KiWiBM25RetrieverWithScore(documents(), k=9, threshold=-0.5).invoke("배송")
        assert numbers(found) == [2, 0, 1, 3, 4]
        assert [document.metadata["bm25_score"] for document in found][1:] == [0.0] * 4

    @pytest.mark.parametrize("question", ["", "자동차", "!!", "환불을"])
    def test_nothing_shared(self, question: str) -> None:
        """Without a tokenizer words are what stands between white space; none shared, none found.

        "환불을" is not "환불".
        """
        assert KiWiBM25RetrieverWithScore(documents()).invoke(question) == []

    @pytest.mark.parametrize("texts", [[""], ["  ", "\n"]])
    def test_documents_without_words(self, texts: list[str]) -> None:
        """Documents that hold no word find nothing, without a warning."""
        assert KiWiBM25RetrieverWithScore(documents(texts)).invoke("무엇") == []

    @pytest.mark.integration
    def test_kiwi(self) -> None:
        """With Kiwi the particle comes off, so that "환불을" finds "환불"."""
        retriever = KiWiBM25RetrieverWithScore(documents(), KiwiTokenizer())
        assert set(numbers(retriever.invoke("환불을"))) >= {0, 3}
        assert 4 not in numbers(retriever.invoke("환불을"))

    def test_anything_that_tokenizes(self) -> None:
        """A tokenizer's `tokenize` gives forms, which are counted as they are."""

        class Letters:
            def tokenize(self, text: str) -> list[Any]:
                return [type("Token", (), {"form": letter})() for letter in text]

        texts = ["xyz", "abc"]
        assert numbers(KiWiBM25RetrieverWithScore(documents(texts), Letters()).invoke("c")) == [1]
        assert numbers(KiWiBM25RetrieverWithScore(documents(texts), Letters()).invoke("C")) == []

    def test_a_tokenizer_of_kragx(self) -> None:
        """A name of `kragx.data.tokenizers` serves as well."""
        retriever = KiWiBM25RetrieverWithScore(documents(), "char")
        assert set(numbers(retriever.invoke("환불을"))) == {0, 3}

    def test_same_index_as_bm25retriever(self) -> None:
        """Scores and order are BM25Retriever's with the same tokenizer."""
        mine = KiWiBM25RetrieverWithScore(documents(), "char", k=10).invoke("환불 신청은")
        other = BM25Retriever(documents=documents(), tokenizer="char").invoke("환불 신청은")
        assert numbers(mine) == numbers(other)
        assert [each.metadata["bm25_score"] for each in mine] == [
            each.metadata["score"] for each in other
        ]

    def test_runnable(self) -> None:
        """It is a runnable: config, batch, ainvoke and chains work and agree with invoke."""
        retriever = KiWiBM25RetrieverWithScore(documents())
        assert isinstance(retriever, Runnable)
        expected = retriever.invoke(query="환불")
        assert expected
        assert retriever.invoke("환불", {"tags": ["t"]}) == expected
        assert retriever.batch(["환불", "없는말"]) == [expected, []]
        assert asyncio.run(retriever.ainvoke("환불")) == expected
        chain = RunnableLambda(str.strip) | retriever | RunnableLambda(len)
        assert chain.invoke("  환불 ") == len(expected)

    def test_callbacks(self) -> None:
        """A callback in the config hears of the question."""
        heard = []

        class Listener(BaseCallbackHandler):
            def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
                heard.append(inputs)

        KiWiBM25RetrieverWithScore(documents()).invoke("환불", {"callbacks": [Listener()]})
        assert heard == ["환불"]

    @pytest.mark.parametrize(
        ("given", "message"),
        [([], "documents: there are none"), ([Document("a"), 7], r"documents\[1\]: 7 has no")],
    )
    def test_bad_documents(self, given: list[Any], message: str) -> None:
        """No documents, or something that is none, are refused with place and remedy."""
        with pytest.raises(DataError, match=message):
            KiWiBM25RetrieverWithScore(given)

    @pytest.mark.parametrize("k", [-1, 2.0, "3", True])
    def test_bad_k(self, k: Any) -> None:
        """A k that is no whole number of at least 0 is refused, and named."""
        with pytest.raises(UsageError, match=f"k: {k!r}"):
            KiWiBM25RetrieverWithScore(documents(), k=k)

    def test_missing_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without bm25s the error says what to install."""
        monkeypatch.setitem(sys.modules, "bm25s", None)
        with pytest.raises(MissingExtraError, match=rf"KiWiBM25.*{re.escape(installing('bm25'))}"):
            KiWiBM25RetrieverWithScore(documents())


def listing(*keys: str, with_ids: bool = True) -> RunnableLambda[str, list[Document]]:
    """A runnable that always returns these documents."""
    return RunnableLambda(
        lambda _: [
            Document(id=key if with_ids else None, page_content=f"text {key}") for key in keys
        ]
    )


def keys(found: list[Document]) -> list[str]:
    """The last letter of each document's text."""
    return [document.page_content[-1] for document in found]


class TestFusion:
    """ReciprocalRankFusion."""

    def test_by_hand(self) -> None:
        """A document's score is the sum of 1 / (60 + rank) over the lists that have it."""
        found = ReciprocalRankFusion(retrievers=[listing(*"abc"), listing(*"cd")]).invoke("q")
        scores = {
            "c": 1 / 63 + 1 / 61,
            "a": 1 / 61,
            "b": 1 / 62,
            "d": 1 / 62,
        }
        assert keys(found) == list("cabd")
        assert [document.metadata["score"] for document in found] == pytest.approx(
            [scores[key] for key in "cabd"], abs=1e-15
        )

    def test_weights_and_c(self) -> None:
        """Weights multiply each list's shares, and c is what is added to a rank."""
        fused = ReciprocalRankFusion(
            retrievers=[listing(*"ab"), listing(*"ba")], weights=[0.2, 0.8], c=1
        )
        found = fused.invoke("q")
        assert keys(found) == ["b", "a"]
        assert found[0].metadata["score"] == pytest.approx(0.2 / 3 + 0.8 / 2)
        assert found[1].metadata["score"] == pytest.approx(0.2 / 2 + 0.8 / 3)

    def test_k(self) -> None:
        """K cuts the merged list; None keeps all."""
        lists = [listing(*"abc"), listing(*"cd")]
        assert keys(ReciprocalRankFusion(retrievers=lists, k=2).invoke("q")) == list("ca")
        assert len(ReciprocalRankFusion(retrievers=lists).invoke("q")) == 4

    def test_ties_by_first_appearance(self) -> None:
        """Equal scores keep the order of first appearance, list by list."""
        three = [listing(*order) for order in ("abc", "bca", "cab")]
        found = ReciprocalRankFusion(retrievers=three).invoke("q")
        assert keys(found) == list("abc")
        assert len({document.metadata["score"] for document in found}) == 1
        shares = [1 / 61, 1 / 62, 1 / 63]
        assert found[0].metadata["score"] == fsum(shares)

    def test_ties_are_exact(self) -> None:
        """The same ranks in another order are the same score, which adding in turn would miss."""
        lists = []
        for at, places in enumerate([(1, 7), (2, 1), (7, 2)]):
            names = [f"filler {at} {rank}" for rank in range(1, 8)]
            for place, key in zip(places, "xy", strict=True):
                names[place - 1] = key
            lists.append(listing(*names))
        found = ReciprocalRankFusion(retrievers=lists).invoke("q")
        assert keys(found)[:2] == ["x", "y"]
        assert found[0].metadata["score"] == found[1].metadata["score"]

    def test_joined_by_text(self) -> None:
        """Without ids documents are joined by their text."""
        lists = [listing(*"ab", with_ids=False), listing(*"bc", with_ids=False)]
        assert keys(ReciprocalRankFusion(retrievers=lists).invoke("q")) == list("bac")

    @pytest.mark.parametrize("first_has_ids", [True, False])
    def test_joined_with_and_without_ids(self, first_has_ids: bool) -> None:
        """A document without id is the one with its text, whichever list comes first."""
        lists = [
            listing(*"ab", with_ids=first_has_ids),
            listing(*"bc", with_ids=not first_has_ids),
        ]
        assert keys(ReciprocalRankFusion(retrievers=lists).invoke("q")) == list("bac")

    def test_ids_decide(self) -> None:
        """Different ids are different documents, though their texts are the same."""
        same = [[Document(id=key, page_content="same")] for key in ("x", "y")]
        lists = [RunnableLambda(lambda _, found=found: found) for found in same]
        found = ReciprocalRankFusion(retrievers=lists).invoke("q")
        assert [document.id for document in found] == ["x", "y"]

    def test_repeats_count_once(self) -> None:
        """A document that stands twice in a list has its best rank only."""
        found = ReciprocalRankFusion(retrievers=[listing(*"aab")]).invoke("q")
        assert [document.metadata["score"] for document in found] == [1 / 61, 1 / 63]

    def test_functions_and_metadata(self) -> None:
        """A function is asked too, and its documents are left as they were."""
        given = [Document(page_content="one", metadata={"n": 1})]
        found = ReciprocalRankFusion(retrievers=[lambda _: given]).invoke("q")
        assert found[0].metadata == {"n": 1, "score": 1 / 61}
        assert given[0].metadata == {"n": 1}

    def test_async_and_batch(self) -> None:
        """Ainvoke and batch agree with invoke."""
        fused = ReciprocalRankFusion(retrievers=[listing(*"abc"), listing(*"cd")])
        expected = fused.invoke("q")
        assert asyncio.run(fused.ainvoke("q")) == expected
        assert fused.batch(["q", "r"]) == [expected, expected]

    def test_callbacks(self) -> None:
        """A callback in the config hears of the fusion and of each retriever asked for it."""
        heard = []

        class Listener(BaseCallbackHandler):
            def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
                heard.append(query)

        inner = [BM25Retriever(documents=documents()) for _ in range(2)]
        fused = ReciprocalRankFusion(retrievers=inner)
        fused.invoke("환불", {"callbacks": [Listener()]})
        assert heard == ["환불"] * 3

    def test_an_error_is_not_hidden(self) -> None:
        """An error of one retriever is the fusion's."""

        def broken(question: str) -> list[Document]:
            raise RuntimeError(f"no answer to {question}")

        with pytest.raises(RuntimeError, match="no answer to q"):
            ReciprocalRankFusion(retrievers=[listing("a"), broken]).invoke("q")

    @all_cases(
        ("options", "message"),
        [
            ({"retrievers": []}, "retrievers: there are none"),
            ({"retrievers": ["name"]}, r"retrievers\[0\]: str cannot be asked"),
            ({"weights": [1.0]}, "1 weights for 2 retrievers"),
            ({"weights": [1.0, -0.5]}, "at least 0"),
            ({"weights": [0.0, 0.0]}, "one of them above"),
            ({"weights": [1.0, float("nan")]}, "finite"),
            ({"c": -1}, "c: -1"),
            ({"c": float("inf")}, "c: inf"),
            ({"k": 0}, "k"),
        ],
    )
    def test_bad_arguments(self, options: dict[str, Any], message: str) -> None:
        """Arguments that do not fit are refused, and named."""
        with pytest.raises(ValidationError, match=message):
            ReciprocalRankFusion(**{"retrievers": [listing("a"), listing("b")], **options})

    def test_async_functions_are_refused(self) -> None:
        """A coroutine function cannot be asked here and is refused before it is."""

        async def later(question: str) -> list[Document]:
            return []

        with pytest.raises(ValidationError, match="synchronous function"):
            ReciprocalRankFusion(retrievers=[later])

    def test_weights_of_fuse(self) -> None:
        """`fuse` refuses weights that do not fit with an error of kragx."""
        with pytest.raises(UsageError, match="weights: 2 weights for 1 retrievers"):
            fuse([[]], [1, 2])

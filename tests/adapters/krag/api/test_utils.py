"""K-RAG's helpers for notebooks: several retrievers over a table of questions."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField
from langchain_core.vectorstores import InMemoryVectorStore
from matplotlib.figure import Figure
from pydantic import ConfigDict

from kragx.adapters.krag.evaluators import (
    AveragingMethod,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
)
from kragx.adapters.krag.utils import (
    context_to_document,
    evaluate_retrieval_at_K,
    visualize_retrieval_at_K,
)
from kragx.document import KragDocument
from kragx.ground.errors import DataError, MissingExtraError, UsageError, installing
from kragx.retrievers import (
    BM25Retriever,
    KiWiBM25RetrieverWithScore,
    ReciprocalRankFusion,
)
from tests.thoroughness import all_cases

QUESTIONS = ["교환 기한은?", "수리 기간은?", "없는 것은?"]
GOLDS = [["사흘 안에 교환", "영수증 지참"], ["이레 뒤에 수리"], []]
ANSWERS = {
    "교환 기한은?": ["제품은 사흘 안에 교환 합니다", "매장 안내", "영수증 지참 필수"],
    "수리 기간은?": ["주차 안내", "보통 이레 뒤에 수리 완료"],
    "없는 것은?": ["아무 글"],
}
METRICS = [
    "hit_rate", "mrr", "micro_recall", "macro_recall", "micro_precision", "macro_precision",
    "micro_f1", "macro_f1", "map", "ndcg",
]  # fmt: skip


def table(**columns: list[Any]) -> pd.DataFrame:
    """A table of the questions with their contexts, written as text."""
    return pd.DataFrame(
        {"question": QUESTIONS, "context": [repr(texts) for texts in GOLDS], **columns}
    )


def good(question: str) -> list[str]:
    """A retriever that knows the answers."""
    return ANSWERS[question]


def poor(question: str) -> list[str]:
    """A retriever that finds nothing of use."""
    return ["아무 상관 없는 글"] * 4


def broken(question: str) -> list[str]:
    """A retriever that fails at one question."""
    if "수리" in question:
        raise ConnectionError("no connection")
    return ANSWERS[question]


def evaluated(retrievers: Any = None, k: int = 3, **options: Any) -> Any:
    """Both results for the usual table."""
    df = options.pop("df", table())
    return evaluate_retrieval_at_K(df, k, retrievers or {"good": good, "poor": poor}, **options)


def one(output: pd.DataFrame, question: int, retriever: str) -> pd.Series:
    """The row of a question and a retriever."""
    rows = output[(output["question"] == QUESTIONS[question]) & (output["retriever"] == retriever)]
    assert len(rows) == 1
    return rows.iloc[0]


class TestResults:
    """What the two tables hold."""

    def test_columns(self) -> None:
        """Columns have K-RAG's names and order; a row stands for each question and retriever."""
        means, output = evaluated(k=5)
        metrics = [f"{name}@5" for name in METRICS]
        assert list(output.columns) == ["question", "retriever", *metrics, "error"]
        assert list(means.columns) == [*metrics, "n_scored", "n_failed"]
        assert list(means.index) == ["good", "poor"]
        assert means.index.name == "retriever"
        assert list(output["question"]) == [each for each in QUESTIONS for _ in range(2)]
        assert list(output["retriever"]) == ["good", "poor"] * 3
        assert all(output[name].dtype == means[name].dtype == float for name in metrics)

    def test_values_by_hand(self) -> None:
        """A question's values are those of its own list, its micro and macro values the same."""
        _, output = evaluated()
        first = one(output, 0, "good")
        assert first["hit_rate@3"] == 1
        assert first["mrr@3"] == 1
        assert first["micro_recall@3"] == first["macro_recall@3"] == 1
        assert first["micro_precision@3"] == first["macro_precision@3"] == pytest.approx(2 / 3)
        assert first["micro_f1@3"] == first["macro_f1@3"] == pytest.approx(4 / 5)
        assert first["map@3"] == pytest.approx((1 + 2 / 3) / 2)
        second = one(output, 1, "good")
        assert second["mrr@3"] == second["map@3"] == 0.5
        assert second["ndcg@3"] == pytest.approx(1 / np.log2(3))

    def test_means_by_hand(self) -> None:
        """Macro averages are means over questions, micro averages pool their documents."""
        means, _ = evaluated()
        good_means = means.loc["good"]
        assert good_means["mrr@3"] == pytest.approx((1 + 1 / 2) / 2)
        assert good_means["macro_precision@3"] == pytest.approx((2 / 3 + 1 / 2) / 2)
        assert good_means["micro_precision@3"] == pytest.approx(3 / 5)
        assert good_means["micro_f1@3"] == pytest.approx(2 * (3 / 5) / (3 / 5 + 1))

    @pytest.mark.parametrize(
        ("profile", "rouge_method"),
        [
            ("kragx", None),
            ("kragx", "rouge1"),
            ("kragx", "rougeL"),
            ("krag", None),
            # Kiwi's model takes seconds to load.
            pytest.param("krag", "rouge1", marks=pytest.mark.integration),
            pytest.param("krag", "rougeL", marks=pytest.mark.integration),
        ],
    )
    def test_the_evaluators_values(self, profile: str, rouge_method: str | None) -> None:
        """The averages are those of the evaluators over the questions that have gold."""
        means, _ = evaluated(
            {"good": good}, 2, rouge_method=rouge_method, threshold=0.4, profile=profile
        )
        golds, docs = GOLDS[:2], [ANSWERS[each][:2] for each in QUESTIONS[:2]]
        options: dict[str, Any] = {"matching_criteria": "partial", "profile": profile}
        evaluator = (
            OfflineRetrievalEvaluators(golds, docs, **options)
            if rouge_method is None
            else RougeOfflineRetrievalEvaluators(
                golds, docs, rouge_method, threshold=0.4, **options
            )
        )
        expected = {
            f"{name}@2": value
            for of in evaluator.evaluate_all(2).values()
            for name, value in of.items()
        }
        assert len(expected) == 10
        assert means.loc["good"][list(expected)].to_dict() == pytest.approx(expected)
        assert 0 < means.loc["good", "mrr@2"] < 1

    @pytest.mark.parametrize("profile", ["kragx", "krag"])
    def test_f1_is_always_there(self, profile: str) -> None:
        """Where nothing is found F1 is 0, per question and on average, and no gap."""
        means, output = evaluated({"poor": poor}, profile=profile)
        for name in ("micro_f1@3", "macro_f1@3"):
            assert means.loc["poor", name] == 0
            assert one(output, 0, "poor")[name] == 0

    def test_threshold_and_method(self) -> None:
        """A ROUGE threshold decides what matches."""
        scores = [
            evaluated({"good": good}, rouge_method="rouge1", threshold=threshold)[0].loc[
                "good", "macro_recall@3"
            ]
            for threshold in (0.3, 0.95)
        ]
        assert scores[0] > scores[1] == 0

    @pytest.mark.parametrize("criteria", [MatchingCriteria.ALL, "all"])
    def test_matching_criteria(self, criteria: Any) -> None:
        """A hit needs any gold text by default, and all of them if that is asked for."""
        default, _ = evaluated({"good": good}, 1)
        strict, _ = evaluated({"good": good}, 1, matching_criteria=criteria)
        assert default.loc["good", "hit_rate@1"] == 0.5
        assert strict.loc["good", "hit_rate@1"] == 0

    @pytest.mark.parametrize(
        ("method", "left_out"),
        [(AveragingMethod.MICRO, "macro"), (AveragingMethod.MACRO, "micro"), ("micro", "macro")],
    )
    def test_averaging_method(self, method: Any, left_out: str) -> None:
        """Only the averages asked for have columns, in both tables."""
        full = evaluated()
        some = evaluated(averaging_method=method)
        for whole, part in zip(full, some, strict=True):
            kept = [name for name in whole.columns if not name.startswith(left_out)]
            assert len(kept) == len(whole.columns) - 3
            pd.testing.assert_frame_equal(part, whole[kept])

    def test_no_gold(self) -> None:
        """A question with an empty context keeps its row, without values, and is in no mean."""
        means, output = evaluated()
        assert one(output, 2, "good")[[f"{name}@3" for name in METRICS]].isna().all()
        assert pd.isna(one(output, 2, "good")["error"])
        assert list(means["n_scored"]) == [2, 2]
        assert list(means["n_failed"]) == [0, 0]
        without, _ = evaluated(df=table().iloc[:2])
        pd.testing.assert_frame_equal(means, without)

    def test_a_retriever_that_raises(self) -> None:
        """A failure keeps its row with the error, is scored as an empty list, and is counted."""
        means, output = evaluated({"broken": broken, "good": good})
        row = one(output, 1, "broken")
        assert row["error"] == "ConnectionError: no connection"
        assert (row[[f"{name}@3" for name in METRICS]] == 0).all()
        assert output["error"].notna().sum() == 1
        assert list(means["n_failed"]) == [1, 0]
        assert list(means["n_scored"]) == [2, 2]
        assert means.loc["broken", "mrr@3"] == 0.5

    def test_nothing_answered(self) -> None:
        """A retriever that always fails has rows, and averages of 0."""

        def dead(question: str) -> list[str]:
            raise RuntimeError("dead")

        means, output = evaluated({"dead": dead, "good": good})
        assert (means.loc["dead"].drop(["n_scored", "n_failed"]) == 0).all()
        assert means.loc["dead", "n_failed"] == 3
        assert (output["error"] == "RuntimeError: dead").sum() == 3
        assert means["mrr@3"].dtype == float

    @pytest.mark.parametrize("index", [[10, 20, 30], [2, 0, 1], ["a", "b", "c"], [5, 5, 5]])
    def test_any_index(self, index: list[Any]) -> None:
        """The table's index does not matter, nor that labels repeat or are a permutation."""
        df = table()
        df.index = pd.Index(index)
        for mine, usual in zip(evaluated(df=df), evaluated(), strict=True):
            pd.testing.assert_frame_equal(mine, usual)

    def test_the_same_question_twice(self) -> None:
        """Two rows with the same question and different gold are two questions."""
        df = table()
        df["question"] = [QUESTIONS[1]] * 3
        _, output = evaluated({"good": good}, df=df)
        assert output["mrr@3"].tolist()[:2] == [0, 0.5]

    def test_table_is_unchanged(self) -> None:
        """The table given is as it was."""
        df = table(source=[["a", "b"], ["c"], []])
        before = copy.deepcopy(df)
        evaluated(df=df)
        pd.testing.assert_frame_equal(df, before)

    def test_lists_are_cut(self) -> None:
        """A retriever that returns more than k is cut to k."""
        full, _ = evaluated({"good": good}, 1)
        cut, _ = evaluated({"good": lambda question: good(question)[:1]}, 1)
        pd.testing.assert_frame_equal(full, cut)

    def test_an_asynchronous_retriever(self) -> None:
        """A coroutine function is asked as well."""

        async def later(question: str) -> list[str]:
            return good(question)

        means, _ = evaluated({"later": later, "good": good})
        assert means.loc["later"].to_dict() == means.loc["good"].to_dict()

    def test_progress(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Nothing is printed unless progress is asked for, which goes to stderr."""
        evaluated(progress=False)
        assert capsys.readouterr() == ("", "")
        evaluated(progress=True)
        assert capsys.readouterr().out == ""


class Counting(BaseRetriever):
    """A frozen retriever that has k and writes down with which k it was asked."""

    model_config = ConfigDict(frozen=True)
    asked: list[int]
    k: int = 9

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.asked.append(self.k)
        if "수리" in query:
            raise ValueError("an error does not keep k changed")
        return [Document(page_content=text) for text in ANSWERS[query]]


def vectors(**search_kwargs: Any) -> Any:
    """A vector store's retriever over some texts."""
    texts = [text for answers in ANSWERS.values() for text in answers]
    store = InMemoryVectorStore.from_texts(texts, DeterministicFakeEmbedding(size=4))
    return store.as_retriever(search_kwargs=search_kwargs)


class TestK:
    """How retrievers learn k, and that they forget it again."""

    def test_k_for_the_time_of_the_call(self) -> None:
        """A retriever's k is set while it is asked, and restored even if it raises."""
        retriever = Counting(asked=[])
        before = retriever.model_fields_set.copy()
        evaluated({"counting": retriever}, 4)
        assert retriever.asked == [4, 4, 4]
        assert retriever.k == 9
        assert retriever.model_fields_set == before

    @pytest.mark.parametrize("k", [1, 5])
    def test_search_kwargs(self, k: int) -> None:
        """A vector store's retriever is asked by its search_kwargs, which end as they were."""
        seen = []
        retriever = vectors(k=2)
        given = retriever.search_kwargs
        store = type(retriever.vectorstore)
        search = store.similarity_search

        def spy(self: Any, query: str, **options: Any) -> list[Document]:
            seen.append(options)
            return search(self, query, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "similarity_search", spy)
            evaluated({"vectors": retriever}, k)
        assert seen == [{"k": k}] * 3
        assert retriever.search_kwargs is given
        assert given == {"k": 2}

    def test_inside_another(self) -> None:
        """K reaches the retriever inside of one that rewrites questions."""
        inner = Counting(asked=[])

        class Rewriting(BaseRetriever):
            retriever: Any

            def _get_relevant_documents(
                self, query: str, *, run_manager: CallbackManagerForRetrieverRun
            ) -> list[Document]:
                return self.retriever.invoke(query)

        evaluated({"rewriting": Rewriting(retriever=inner)}, 2)
        assert inner.asked == [2, 2, 2]
        assert inner.k == 9

    def test_configurable_search_kwargs(self) -> None:
        """Configurable search_kwargs are configured, their other options kept."""
        retriever = vectors(k=1)
        field = ConfigurableField(id="search_kwargs")
        means, _ = evaluated({"configured": retriever.configurable_fields(search_kwargs=field)}, 6)
        plain, _ = evaluated({"configured": retriever}, 6)
        pd.testing.assert_frame_equal(means, plain)
        assert means.loc["configured", "macro_recall@6"] == 1
        assert retriever.search_kwargs == {"k": 1}

    def test_kragx_retrievers(self) -> None:
        """The retrievers of kragx return k documents, and keep their own k."""
        documents = [Document(page_content=f"같은 글 {number}") for number in range(6)]
        ours: dict[str, Any] = {
            "krag": KiWiBM25RetrieverWithScore(documents, k=1),
            "bm25": BM25Retriever(documents=documents, k=1),
        }
        df = pd.DataFrame({"question": ["같은 글"], "context": [["글 0"]]})
        means, _ = evaluated(ours, 5, df=df)
        # One of the documents returned matches, so this tells how many there were.
        assert list(means["micro_precision@5"]) == [1 / 5, 1 / 5]
        assert [each.k for each in ours.values()] == [1, 1]


class TestEnsemble:
    """The fusion of all retrievers."""

    def test_is_reciprocal_rank_fusion(self) -> None:
        """Ensemble has the values of ReciprocalRankFusion over the same retrievers."""

        def other(question: str) -> list[str]:
            return ANSWERS[question][::-1]

        mine = {"other": other, "poor": poor, "good": good}
        weights = [0.5, 0.2, 0.3]
        means, output = evaluated(mine, ensemble=True, ensemble_weights=weights)
        fusion = ReciprocalRankFusion(retrievers=list(mine.values()), weights=weights)
        expected, rows = evaluated({"Ensemble": fusion})
        assert list(means.index) == [*mine, "Ensemble"]
        assert means.loc["Ensemble"].to_dict() == expected.loc["Ensemble"].to_dict()
        found = output[output["retriever"] == "Ensemble"].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, rows)
        single = [means.loc[name].to_dict() for name in mine]
        assert expected.loc["Ensemble"].to_dict() not in single

    def test_weights_matter(self) -> None:
        """All weight on one retriever puts its documents first."""
        values = [
            evaluated(ensemble=True, ensemble_weights=weights)[0].loc["Ensemble", "mrr@3"]
            for weights in ([1, 0.01], [0.01, 1])
        ]
        assert values[0] == pytest.approx(0.75)
        assert values[1] < values[0]

    def test_nothing_is_asked_twice(self) -> None:
        """The ensemble is made of the answers that the retrievers gave anyway."""
        asked: list[str] = []

        def once(question: str) -> list[str]:
            asked.append(question)
            return good(question)

        evaluated({"once": once, "poor": poor}, ensemble=True)
        assert asked == QUESTIONS

    def test_cut_lists_are_merged(self) -> None:
        """What a retriever returns beyond k has no part in the ensemble."""
        lists = [["첫째", "사흘 안에 교환"], ["둘째", "사흘 안에 교환"]]
        mine = {str(at): (lambda _, found=found: found) for at, found in enumerate(lists)}
        means, _ = evaluated(mine, 1, ensemble=True)
        assert means.loc["Ensemble", "mrr@1"] == 0
        # Uncut, the second rank in both lists would beat the first rank in one.
        assert evaluated(mine, 2, ensemble=True)[0].loc["Ensemble", "mrr@2"] > 0

    def test_a_failure_is_the_ensembles(self) -> None:
        """Where one retriever fails, so does the ensemble, with the same error."""
        means, output = evaluated({"good": good, "broken": broken}, ensemble=True)
        assert one(output, 1, "Ensemble")["error"] == "ConnectionError: no connection"
        assert means.loc["Ensemble", "n_failed"] == 1
        assert means.loc["Ensemble", "mrr@3"] == 0.5


CELLS: list[Callable[[list[Any]], Any]] = [repr, list, tuple, np.array, lambda x: f"  {x!r}\n"]


class TestCells:
    """What a cell may hold, and that nothing in it is run."""

    @all_cases("cell", CELLS)
    def test_lists(self, cell: Callable[[list[Any]], Any]) -> None:
        """A cell holds a list, a tuple, an array, or one of the first two as text."""
        df = pd.DataFrame(
            {
                "context": [cell(["첫 글", "둘째 '글'"])],
                "source": [cell(["a.pdf", "b.pdf"])],
                "doc_id": [cell([1, 2])],
            }
        )
        assert context_to_document(df, 0) == [
            KragDocument("첫 글", {"source": "a.pdf", "doc_id": 1}),
            KragDocument("둘째 '글'", {"source": "b.pdf", "doc_id": 2}),
        ]

    def test_by_position(self) -> None:
        """Rows are counted by position, also from the end, whatever the index says."""
        df = pd.DataFrame({"context": [["a"], ["b"]]}, index=[1, 0])
        assert context_to_document(df, 0) == [KragDocument("a")]
        assert context_to_document(df, -1) == [KragDocument("b")]

    @pytest.mark.parametrize("idx", [2, -3])
    def test_no_such_row(self, idx: int) -> None:
        """A position beyond the table is refused, with the size of the table."""
        df = pd.DataFrame({"context": [["a"], ["b"]]})
        with pytest.raises(UsageError, match=f"idx: there is no row {idx}; .*2 rows"):
            context_to_document(df, idx)

    @all_cases("empty", [None, float("nan"), pd.NA, "", " ", "[]", "()", []])
    def test_empty(self, empty: Any) -> None:
        """An empty cell, however empty, holds no document; empty sources are left out."""
        df = pd.DataFrame(
            {"context": pd.Series([empty, ["a"]], dtype=object), "source": [empty] * 2}
        )
        assert context_to_document(df, 0) == []
        assert context_to_document(df, 1) == [KragDocument("a")]

    @pytest.mark.parametrize("column", ["context", "source", "doc_id"])
    def test_nothing_is_run(self, column: str, tmp_path: Path) -> None:
        """Python code in a cell is refused and not run."""
        trace = tmp_path / "trace"
        for code in (
            "__import__('os').system('true')",
            f"open({str(trace)!r}, 'w').close()",
            f"[open({str(trace)!r}, 'w')]",
            "[x for x in 'ab']",
        ):
            df = table(source=[["a", "b"], ["c"], []], doc_id=[[1, 2], [3], []]).astype(object)
            df.at[1, column] = code
            with pytest.raises(DataError, match=f"row 1 .*'{column}'.*is no list; write a list"):
                evaluated(df=df)
        assert not trace.exists()

    @all_cases(
        "value",
        ["사흘 안에 교환", "{'a': 1}", "'text'", "{'a', 'b'}", "[1, ", 7, 1.5, True, {"a": 1}],
    )
    def test_no_list(self, value: Any) -> None:
        """Anything but a list is refused; row, column, value and remedy are named."""
        df = pd.DataFrame({"context": pd.Series([["a"], ["b"], value], dtype=object)})
        with pytest.raises(DataError) as caught:
            context_to_document(df, 2)
        for part in ("row 2", "'context'", repr(value), "write a list such as"):
            assert part in str(caught.value)

    def test_deep_nesting(self) -> None:
        """A text too deep for the parser is refused like any other."""
        df = pd.DataFrame({"context": ["[" * 100_000]})
        with pytest.raises(DataError, match="is no list"):
            context_to_document(df, 0)

    @pytest.mark.parametrize("texts", ["[1]", [None], "['a', ['b']]"])
    def test_no_text(self, texts: Any) -> None:
        """A gold text that is no string is refused."""
        df = pd.DataFrame({"context": [texts]})
        with pytest.raises(DataError, match=r"row 0.*'context'.*is no text; write each"):
            context_to_document(df, 0)

    @pytest.mark.parametrize("column", ["source", "doc_id"])
    def test_lengths(self, column: str) -> None:
        """A list of another length would lose gold texts, and is refused."""
        df = table(**{column: [["one"], ["c"], []]})
        with pytest.raises(DataError, match=f"row 0.*'{column}'.*1 items for 2 of 'context'"):
            evaluated(df=df)


class TestArguments:
    """Wrong arguments are refused before anything is asked."""

    @all_cases(
        ("options", "message"),
        [
            ({"k": 0}, "k: 0 is not a whole number"),
            ({"k": True}, "k: True"),
            ({"k": 2.5}, "k: 2.5"),
            ({"retrievers": [good]}, "retrievers: .*pass a mapping"),
            ({"retrievers": {"a": 7}}, r"retrievers\['a'\]: int cannot be asked"),
            ({"retrievers": {"Ensemble": good}, "ensemble": True}, "'Ensemble' is taken"),
            ({"ensemble": True, "ensemble_weights": [1]}, "ensemble_weights: 1 weights for 2"),
            ({"rouge_method": "rouge"}, "rouge_method: 'rouge' .*perhaps you meant"),
            ({"rouge_method": "text"}, "rouge_method: 'text'.*None"),
            ({"rouge_method": "rouge1", "threshold": 0}, "threshold: 0"),
            ({"averaging_method": "mean"}, "averaging_method: unknown value 'mean'"),
            ({"matching_criteria": "some"}, "matching_criteria: unknown value 'some'"),
            ({"profile": "trec"}, "profile: unknown value 'trec'"),
        ],
    )
    def test_wrong(self, options: dict[str, Any], message: str) -> None:
        """The error is a UsageError that names argument and value, and no retriever was asked."""
        asked: list[str] = []

        def spy(question: str) -> list[str]:
            asked.append(question)
            return []

        with pytest.raises(UsageError, match=message):
            evaluated(**{"retrievers": {"spy": spy, "good": good}, **options})
        assert asked == []

    def test_no_retriever(self) -> None:
        """An empty mapping of retrievers is refused."""
        with pytest.raises(UsageError, match=r"retrievers: \{\} names no retriever"):
            evaluate_retrieval_at_K(table(), 3, {})

    @pytest.mark.parametrize("column", ["question", "context"])
    def test_missing_column(self, column: str) -> None:
        """A table without a needed column is refused, and the columns that it has are named."""
        df = table().rename(columns={column: "text"})
        with pytest.raises(DataError, match=f"no column '{column}'; it has .*'text'"):
            evaluated(df=df)

    def test_no_row(self) -> None:
        """A table without rows is refused."""
        with pytest.raises(DataError, match="no row"):
            evaluated(df=table().iloc[:0])

    @all_cases("question", [None, "", "  ", 7, float("nan")])
    def test_bad_question(self, question: Any) -> None:
        """A row without a question is refused."""
        df = table().astype(object)
        df.at[1, "question"] = question
        with pytest.raises(DataError, match=r"row 1 .*'question'.*is no question"):
            evaluated(df=df)

    def test_no_pandas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without pandas the error says what to install."""
        df = table()
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(MissingExtraError, match=re.escape(installing("pandas"))):
            evaluate_retrieval_at_K(df, 3, {"good": good})


@pytest.mark.integration
def test_visualize() -> None:
    """The averages can be drawn: a panel for each metric, none for the counts."""
    means, _ = evaluated(k=2)
    figure = visualize_retrieval_at_K(means, 2)
    assert isinstance(figure, Figure)
    assert [axes.get_title(loc="left") for axes in figure.axes] == METRICS
    with pytest.raises(UsageError, match="k = 2"):
        visualize_retrieval_at_K(means, 3)

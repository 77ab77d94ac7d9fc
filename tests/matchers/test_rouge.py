"""ROUGE scores: by hand, against rouge-score to the last bit, and against a slow reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rouge_score.rouge_scorer import RougeScorer

from kragx.data.tokenizers import tokenizer
from kragx.matchers import RougeMatcher
from tests.thoroughness import all_cases, examples, some

from .support import scored

METHODS = ("rouge1", "rouge2", "rougeL")
MEASURES = ("fmeasure", "precision", "recall")

ENGLISH = (
    "The ferry leaves Mokpo at nine and reaches Jeju before two in the afternoon.",
    "Ferries are leaving Mokpo daily; the crossing to Jeju takes about five hours.",
    "In 2019 the island's oldest lighthouse, built of basalt, was repaired twice.",
    "Basalt walls, basalt roofs, basalt everywhere: the island is built of basalt.",
    "No ferry sails on stormy days.",
)
KOREAN = (
    "목포에서 아침 아홉 시에 떠난 배는 오후 두 시 전에 제주에 닿는다.",
    "제주로 가는 배는 매일 목포에서 떠나며 다섯 시간쯤 걸린다.",
    "섬에서 가장 오래된 등대는 현무암으로 지었고 2019년에 두 번 고쳤다.",
    "현무암 담, 현무암 지붕: 섬은 온통 현무암이다.",
    "폭풍이 부는 날에는 배가 뜨지 않는다.",
)

words = st.lists(st.sampled_from(["배", "섬", "a", "b", "c"]), max_size=12)
texts = words.map(" ".join)


class Shared:
    """kragx's tokenizer in the shape that rouge-score asks for."""

    def __init__(self, name: str) -> None:
        self.chosen = tokenizer(name)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text."""
        (tokens,) = self.chosen.tokens([text])
        return tokens


def peer(scorer: RougeScorer, method: str, measure: str, docs: Sequence[str], golds: Sequence[str]):
    """What rouge-score says: the gold text is the target, the document the prediction."""
    return [[getattr(scorer.score(gold, doc)[method], measure) for gold in golds] for doc in docs]


@pytest.mark.parametrize("measure", some(MEASURES, 3))
@pytest.mark.parametrize("method", METHODS)
@given(docs=st.lists(texts, min_size=1, max_size=4), golds=st.lists(texts, min_size=1, max_size=3))
@examples(60)
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
def test_random_tokens_score_as_in_rouge_score(
    method: str, measure: str, docs: list[str], golds: list[str]
) -> None:
    """For the same tokens a score is the same float as rouge-score's, empty texts included."""
    chosen = RougeMatcher(method=method, measure=measure, tokenizer="whitespace")
    scorer = RougeScorer([method], tokenizer=Shared("whitespace"))
    assert scored(chosen, docs, golds).tolist() == peer(scorer, method, measure, docs, golds)


@all_cases("stemmer", [False, True])
@all_cases("measure", MEASURES)
@all_cases("method", METHODS)
def test_english_scores_as_in_stock_rouge_score(method: str, measure: str, stemmer: bool) -> None:
    """The tokenizer `rouge` makes kragx equal to rouge-score as it is installed, stemmed or not."""
    chosen = RougeMatcher(
        method=method, measure=measure, tokenizer={"name": "rouge", "stemmer": stemmer}
    )
    scorer = RougeScorer([method], use_stemmer=stemmer)
    expected = peer(scorer, method, measure, ENGLISH, ENGLISH)
    assert scored(chosen, ENGLISH, ENGLISH).tolist() == expected
    assert 0 < np.mean(expected) < 1


def test_the_stemmer_changes_scores() -> None:
    """With the stemmer `leaves` and `leaving` share a token, without it they do not."""
    plain, stemmed = (
        scored(
            RougeMatcher("rouge1", tokenizer={"name": "rouge", "stemmer": stemmer}),
            ["ferries leaving"],
            ["ferry leaves"],
        ).item()
        for stemmer in (False, True)
    )
    assert (plain, stemmed) == (0.0, 1.0)


@all_cases("name", ["unicode", "char"])
@all_cases("measure", MEASURES)
@all_cases("method", METHODS)
def test_korean_scores_as_in_rouge_score_with_the_same_tokenizer(
    method: str, measure: str, name: str
) -> None:
    """Korean scores equal those of rouge-score when it is given kragx's tokenizer."""
    chosen = RougeMatcher(method=method, measure=measure, tokenizer=name)
    expected = peer(RougeScorer([method], tokenizer=Shared(name)), method, measure, KOREAN, KOREAN)
    assert scored(chosen, KOREAN, KOREAN).tolist() == expected
    assert 0 < np.mean(expected) < 1


# Of the gold text `the cat sat on the mat` (6 tokens, 5 pairs) the document `on the mat the red cat
# lay` (7 tokens, 6 pairs) holds: the, the, cat, on, mat; "on the", "the mat"; in order: on the mat.
@pytest.mark.parametrize(
    ("method", "precision", "recall", "fmeasure", "overlap"),
    [
        ("rouge1", 5 / 7, 5 / 6, 10 / 13, 5 / 6),
        ("rouge2", 2 / 6, 2 / 5, 4 / 11, 2 / 5),
        ("rougeL", 3 / 7, 3 / 6, 6 / 13, 3 / 6),
    ],
)
def test_an_example_by_hand(
    method: str, precision: float, recall: float, fmeasure: float, overlap: float
) -> None:
    """Each method and measure gives what counting by hand gives; repeats are clipped."""
    for measure, expected in (
        ("precision", precision),
        ("recall", recall),
        ("fmeasure", fmeasure),
        ("overlap", overlap),
    ):
        score = scored(
            RougeMatcher(method=method, measure=measure),
            ["on the mat the red cat lay"],
            ["The cat sat on the mat."],
        )
        assert score.item() == pytest.approx(expected, abs=1e-15)


def test_a_korean_example_by_hand() -> None:
    """Of the bigrams 대한 한민 민국 and 한국 민국 one is shared: P 1/2, R 1/3, F 2/5."""
    for measure, expected in (("precision", 1 / 2), ("recall", 1 / 3), ("fmeasure", 2 / 5)):
        chosen = RougeMatcher("rouge1", measure, tokenizer="char")
        assert scored(chosen, ["한국 민국"], ["대한민국"]).item() == pytest.approx(expected)


@pytest.mark.parametrize("method", METHODS)
def test_precision_is_of_the_document_and_recall_of_the_gold_text(method: str) -> None:
    """A gold text of four words in a document of eight has recall 1, and precision below 1."""
    gold, doc = "밤 바다 위의 등대", "우리가 본 밤 바다 위의 등대 불빛 하나"
    recall = scored(RougeMatcher(method, "recall"), [doc], [gold]).item()
    precision = scored(RougeMatcher(method, "precision"), [doc], [gold]).item()
    assert recall == 1.0
    assert precision == (3 / 7 if method == "rouge2" else 4 / 8)


@pytest.mark.parametrize("method", METHODS)
@given(doc=texts, gold=texts)
@examples(60)
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
def test_overlap_is_the_larger_of_precision_and_recall(method: str, doc: str, gold: str) -> None:
    """`overlap` is max(precision, recall), whichever of the two texts is the longer."""
    score = {
        measure: scored(RougeMatcher(method, measure), [doc], [gold]).item()
        for measure in ("overlap", "precision", "recall")
    }
    assert score["overlap"] == max(score["precision"], score["recall"])


def shared_grams(doc: Sequence[str], gold: Sequence[str], n: int) -> tuple[int, int, int]:
    """How many n-grams two texts share, and how many each has."""
    grams = [Counter(zip(*(tokens[i:] for i in range(n)))) for tokens in (doc, gold)]
    return (grams[0] & grams[1]).total(), grams[0].total(), grams[1].total()


def common_subsequence(doc: Sequence[str], gold: Sequence[str]) -> tuple[int, int, int]:
    """The length of the longest common subsequence, by the classic table, and both lengths."""
    table = [[0] * (len(gold) + 1) for _ in range(len(doc) + 1)]
    for i, left in enumerate(doc):
        for j, right in enumerate(gold):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1], len(doc), len(gold)


def slow(method: str, doc: str, gold: str) -> tuple[float, float]:
    """Precision and recall, counted the slow way."""
    tokens = doc.split(), gold.split()
    if method == "rougeL":
        common, in_doc, in_gold = common_subsequence(*tokens)
    else:
        common, in_doc, in_gold = shared_grams(*tokens, n=int(method[-1]))
    return (common / in_doc if in_doc else 0.0), (common / in_gold if in_gold else 0.0)


@pytest.mark.parametrize("method", METHODS)
@given(docs=st.lists(texts, max_size=8), golds=st.lists(texts, max_size=6))
@examples(80)
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
def test_many_documents_by_many_golds_score_as_one_by_one(
    method: str, docs: list[str], golds: list[str]
) -> None:
    """Scoring n x m pairs at once gives the slow count of each pair, with empty and equal texts."""
    precision = scored(RougeMatcher(method, "precision", tokenizer="whitespace"), docs, golds)
    recall = scored(RougeMatcher(method, "recall", tokenizer="whitespace"), docs, golds)
    assert precision.shape == recall.shape == (len(docs), len(golds))
    for row, doc in enumerate(docs):
        for column, gold in enumerate(golds):
            assert (precision[row, column], recall[row, column]) == slow(method, doc, gold)

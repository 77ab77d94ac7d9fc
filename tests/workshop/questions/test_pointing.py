"""Questions that point at a passage are known as such, and others are not."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from kragx import read_dataset
from kragx.workshop.questions.question import pointing
from tests.thoroughness import all_cases

DATA = Path(__file__).parents[3] / "examples" / "data"


@all_cases(
    "question",
    [
        "이 글은 무엇에 관한 것인가요?",
        "이 문서는 무엇에 관한 것인가",
        "위 조항에 따르면 며칠 안에 신청해야 하나요?",
        "다음 사례에서 소비자는 얼마를 돌려받았나요?",
        "본문에서 말하는 예외는 무엇입니까?",
        "문서에 따르면 배송은 며칠 걸리나요?",
        "이 사례에서 법원은 어떻게 판단했나요?",
        "글의 주제는 무엇인가요?",
        "위의 규정을 어기면 어떻게 되나요?",
        "What is this document about?",
        "According to the passage, when are refunds paid?",
        "Which of the above rules covers gift cards?",
        "What does the text say about deposits?",
        "What is the exception mentioned above?",
        "Who signs, according to the author?",
    ],
)
def test_pointing(question):
    """In either language, whatever the Unicode form."""
    assert pointing(question)
    assert pointing(unicodedata.normalize("NFD", question).replace(" ", " \n"))


@all_cases(
    "question",
    [
        "이 경우에는 누가 배송비를 내나요?",
        "어제 산 신발 밑창이 떨어졌는데 이런 사례에서 환불을 받은 사람이 있나요?",
        "택배 기사가 상자를 던졌는데 그 기사에게 책임을 물을 수 있나요?",
        "인터넷에서 본 사례처럼 전액 환불이 되나요?",
        "글씨가 지워진 영수증도 되나요?",
        "다음 달 요금은 언제 빠져나가나요?",
        "전자문서로 받은 계약서도 효력이 있나요?",
        "판매자가 규정을 바꿨는데 그 규정은 언제부터 적용되나요?",
        "아래층 누수로 젖은 가전은 보증이 되나요?",
        "환불 규정에서 위약금은 얼마인가요?",
        "What holds in this case?",
        "Is a text message enough to cancel?",
        "Which document do I need for a refund?",
        "May I return the table that came scratched?",
        "Does the warranty cover the section below the waterline?",
        "",
    ],
)
def test_not_pointing(question):
    """What points at what the question itself has told, and words that merely look alike."""
    assert pointing(question) is None


@pytest.mark.parametrize("path", sorted(DATA.glob("consumer_*/goldset.jsonl")), ids=str)
def test_questions_of_people(path):
    """None of the repository's own questions is taken for one that points."""
    assert [query.text for query in read_dataset(str(path)) if pointing(query.text)] == []

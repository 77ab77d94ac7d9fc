"""The search of a workshop, and which documents are copies."""

from contextlib import ExitStack

import pytest

from kragx.data import Doc
from kragx.workshop import services
from kragx.workshop.folder.starting import start
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.state.records import Judgement
from tests.thoroughness import all_cases
from tests.workshop.serving import opened

WORDS = "산 물건은 받은 날부터 칠 일 안에 이유 없이 돌려보낼 수 있고 값은 삼 일 안에 돌려받는다"
LONG = f"{WORDS} {WORDS.replace('산', '빌린')} 다만 뜯은 물건은 그러하지 아니하다"


def corpus(*texts: str) -> dict[str, Doc]:
    """Documents a, b, c ... with these texts."""
    return {name: Doc(name, text) for name, text in zip("abcdefgh", texts)}


@pytest.fixture
def search_of(tmp_path):
    """Gives the search of a workshop over documents, and its desk."""
    with ExitStack() as stack:

        def search(*texts: str):
            folder = tmp_path / f"shop{len(list(tmp_path.iterdir()))}"
            start(folder, corpus=corpus(*texts))
            desk = stack.enter_context(opened(folder))
            return desk.search, desk

        yield search


def test_search_by_hand(search_of):
    """Who shares most comes first, equals keep their order, and nothing is found by nothing."""
    docs = "환불은 7일 안에", "배송은 3일 안에", "refund policy", "환불", "제주 배송은 3일"
    search, _ = search_of(*docs)
    assert search("환불 기간")[:2] == ["d", "a"]
    assert search("배송은 며칠") == ["b", "e"]
    assert search("REFUND") == ["c"]
    assert [search(words) for words in ("", "  ", "?!", "zzzz")] == [[]] * 4
    assert len(search("환불 배송", k=1)) == 1
    assert search_of("...", "")[0]("환불") == []


def test_search_shows_one_of_copies(search_of):
    """A copy is found as the document that stands for it, with what was said of any of them."""
    search, desk = search_of("환불은 7일", "환불은 7일!", "배송은 3일")
    assert search("환불") == ["a"]
    owner = desk.state.owner()
    question = services.questions.put(desk, owner, text="며칠인가요?")["question"]["uid"]
    desk.state.add([Judgement(question=question, document="b", person=owner.uid, grade=2)])
    (passage,) = services.passages.search(desk, owner, q="환불", question=question)["documents"]
    assert (passage["id"], passage["mine"]["grade"]) == ("a", 2)


@all_cases(
    ("one", "other", "are"),
    [
        (WORDS, f"  {WORDS.replace(' ', chr(10))}.", True),
        ("Gift cards do NOT expire", "gift cards do not expire!", True),
        (LONG, LONG + " 끝", False),
        (LONG, "제1장 " + LONG, False),
        (LONG, LONG.replace("칠 일", "십 일"), False),
        (LONG, LONG.replace("수 있고", "수 없고"), False),
        (LONG, LONG.replace("아니하다", "하다"), False),
        (LONG, LONG.replace("이유 없이", "별다른 이유 없이"), False),
        ("", " ", False),
        ("3.5%", "3.4%", False),
        ("기온이 -5도일 때", "기온이 5도일 때", False),
        ("제주 배송 ○", "제주 배송 ×", False),
        ("A fee of $5", "A fee of 5%", False),
        ("1,000원을 냅니다.", "1000원을 냅니다", True),
    ],
)
def test_copies_by_hand(one, other, are):
    """The same words and signs are a copy; another, a new or a missing one within is not."""
    copies = Copies(corpus(one, other))
    assert (copies.first("a") == copies.first("b")) is are
    assert set(copies.all("a")) == ({"a", "b"} if are else {"a"})


def test_the_first_stands_for_all():
    """It is shown; the others follow in the corpus's order."""
    copies = Copies(corpus(LONG, "다른 글", LONG + "!", LONG + "?"))
    assert copies.all("c") == ("a", "c", "d")
    assert copies.all("b") == ("b",)


def test_a_template_of_thousands_stays_apart():
    """Texts of one template that differ in a number are never copies, however many there are."""
    docs = {str(n): Doc(str(n), f"{LONG} 고유 번호 {n} {LONG}") for n in range(3000)}
    copies = Copies(docs)
    assert all(copies.all(name) == (name,) for name in docs)

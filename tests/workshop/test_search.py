"""The search of a workshop, and which documents are copies."""

import pytest
from hypothesis import given, strategies as st

from kragx.data import Doc
from kragx.data.tokenizers import CharTokenizer, UnicodeTokenizer
from kragx.workshop.pairs.duplicates import SHARE, Copies
from kragx.workshop.pairs.kept import place
from kragx.workshop.search import Search
from tests.thoroughness import examples

WORDS = "산 물건은 받은 날부터 칠 일 안에 이유 없이 돌려보낼 수 있고 값은 삼 일 안에 돌려받는다"
LONG = f"{WORDS} {WORDS.replace('산', '빌린')} 다만 뜯은 물건은 그러하지 아니하다"


def corpus(*texts: str) -> dict[str, Doc]:
    """Documents a, b, c ... with these texts."""
    return {name: Doc(name, text) for name, text in zip("abcdefgh", texts)}


def test_search_by_hand():
    """Who shares most comes first, equals keep their order, and nothing is found by nothing."""
    docs = corpus("환불은 7일 안에", "배송은 3일", "refund policy", "환불", "배송은 3일")
    search = Search(docs)
    assert search.best("환불 기간")[:2] == ["d", "a"]
    assert search.best("배송은 며칠") == ["b", "e"]
    assert search.best("REFUND") == ["c"]
    assert [search.best(words) for words in ("", "  ", "?!", "zzzz")] == [[]] * 4
    assert len(search.best("환불 배송", k=1)) == 1
    assert Search(corpus("...", "")).best("환불") == []


def test_search_shows_one_of_copies():
    """A copy is found as the document that stands for it."""
    docs = corpus("환불은 7일", "환불은 7일!", "배송은 3일")
    assert Search(docs, Copies(docs).first).best("환불") == ["a"]


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        (WORDS, f"  {WORDS.replace(' ', chr(10))}.", True),
        ("Gift cards do NOT expire", "gift cards do not expire!", True),
        (LONG, LONG + " 끝", True),
        (LONG, "제1장 " + LONG, True),
        (WORDS, WORDS + " 끝", False),  # more than a twentieth of it
        (LONG, LONG.replace("칠 일", "십 일"), False),
        (LONG, LONG.replace("수 있고", "수 없고"), False),
        (LONG, LONG.replace("아니하다", "하다"), False),
        (LONG, LONG.replace("이유 없이", "별다른 이유 없이"), False),
        ("", " ", False),
        ("3.5%", "3.4%", False),
    ],
)
def test_copies_by_hand(one, other, are):
    """The same words are a copy; another, a new or a missing one within is not."""
    copies = Copies(corpus(one, other))
    assert (copies.first("a") == copies.first("b")) is are
    assert set(copies.all("a")) == ({"a", "b"} if are else {"a"})


def test_the_longest_stands_for_all():
    """What has all the words is shown; the others follow in the corpus's order."""
    copies = Copies(corpus(LONG, LONG + " 끝", LONG + "!", "다른 글"))
    assert copies.all("c") == ("b", "a", "c")
    assert copies.all("d") == ("d",)


def test_a_template_of_thousands_stays_apart():
    """Texts of one template that differ in a number are never copies, however many there are."""
    docs = {str(n): Doc(str(n), f"{LONG} 고유 번호 {n} {LONG}") for n in range(3000)}
    copies = Copies(docs)
    assert all(copies.all(name) == (name,) for name in docs)


@pytest.mark.integration
@given(st.lists(st.lists(st.sampled_from("가나다"), min_size=12, max_size=60), max_size=6))
@examples(200)
def test_copies_against_a_slow_reference(texts):
    """Two are copies only by the rule, and whoever stands alone is in no longer one that does."""
    docs = {str(n): Doc(str(n), " ".join(words)) for n, words in enumerate(texts)}
    copies = Copies(docs)

    def inside(short: str, long: str) -> bool:
        one, other = docs[short].text.split(), docs[long].text.split()
        places = range(len(other) - len(one) + 1)
        return len(one) >= SHARE * len(other) and any(
            other[at : at + len(one)] == one for at in places
        )

    firsts = {copies.first(name) for name in docs}
    for name in docs:
        assert inside(name, copies.first(name))
        assert name not in firsts or not any(
            inside(name, other) for other in firsts if other != name
        )


def test_what_is_kept_is_not_made_again(tmp_path, monkeypatch):
    """A second start reads copies and index; another corpus has its own, and the old one goes."""
    docs = corpus("환불은 7일", "환불은 7일!", "배송은 3일")
    index = place(tmp_path, docs)
    copies = Copies(docs, index)
    first = Search(docs, copies.first, index).best("환불")
    with monkeypatch.context() as patch:
        patch.setattr(CharTokenizer, "tokens", lambda _, texts: iter([["환불"]] * len(texts)))
        patch.setattr(UnicodeTokenizer, "tokens", lambda *_: pytest.fail("read again"))
        again = Copies(docs, place(tmp_path, docs))
        assert again.all("b") == copies.all("b") == ("a", "b")
        assert Search(docs, again.first, index).best("환불") == first == ["a"]
    other = place(tmp_path, corpus("환불은 7일", "환불은 7일!", "배송은 3"))
    assert other != index
    assert Copies(corpus("가"), other).all("a") == ("a",)
    assert [path.name for path in (tmp_path / "index").iterdir()] == [other.name]


def test_what_is_kept_may_be_broken_or_forbidden(tmp_path):
    """Files that are cut, of something else, or cannot be written: all is made anew."""
    docs = corpus("환불은 7일", "환불은 7일!", "배송은 3일")
    index = place(tmp_path, docs)
    Search(docs, Copies(docs, index).first, index)
    for file in (index / "copies.json", *(index / "bm25").iterdir()):
        whole = file.read_bytes()
        for part in (b"", whole[: len(whole) // 2], b"[1]"):
            file.write_bytes(part)
            copies = Copies(docs, index)
            assert copies.all("a") == ("a", "b")
            assert Search(docs, copies.first, index).best("배송") == ["c"]
            assert file.read_bytes() == whole
    (tmp_path / "file").write_text("no folder")
    nowhere = place(tmp_path / "file", docs)
    assert Search(docs, Copies(docs, nowhere).first, nowhere).best("배송") == ["c"]


def test_a_place_is_of_ids_and_texts(tmp_path):
    """Where one text ends and the next begins is part of it."""
    corpora = [{"a": "b", "c": "d"}, {"ab": "", "c": "d"}, {"a": "bc", "": "d"}, {"a": "b"}]
    texts = [{name: Doc(name, text) for name, text in one.items()} for one in corpora]
    assert len({place(tmp_path, docs) for docs in texts}) == 4

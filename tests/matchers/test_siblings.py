"""Texts made from one template: siblings are told apart, misreadings are forgiven."""

from __future__ import annotations

import random
import runpy
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import rapidfuzz.fuzz
from hypothesis import given, strategies as st

from kragx import compare, evaluate, explain, match_pairs, matcher
from kragx.matchers import MatchWarning
from kragx.matchers.vocabulary import Gathering, Vocabulary
from tests.matchers.support import scored
from tests.thoroughness import all_cases, examples, some

TOGETHER = {"method": "overlap", "siblings": "together"}
FOLDER = Path(__file__).parents[2] / "examples"
WORDS = st.lists(st.sampled_from([f"w{number}" for number in range(40)]), min_size=6, max_size=40)

TERMS = (
    "Goods of {name} can be sent back within {days} days of their delivery free of charge, and the "
    "price is paid back within a week at any of its shops"
)
TERMS_KO = (
    "{name} 매장에서 산 상품은 받은 날부터 {days}일 안에 어느 지점에서나 반품할 수 있고 "
    "배송비는 회사가 부담하며 환불은 한 주 안에 결제한 수단으로 이루어집니다"
)
GOLD = TERMS.format(name="Blue Mart", days=14)
OTHER = TERMS.format(name="Red Star Mart", days=30)


@pytest.fixture(scope="module")
def corpora() -> dict[str, Any]:
    """The names of examples/template_corpora.py."""
    return runpy.run_path(str(FOLDER / "template_corpora.py"), run_name="example")


@pytest.fixture(scope="module")
def broken() -> dict[str, Any]:
    """The names of examples/broken_texts.py."""
    return runpy.run_path(str(FOLDER / "broken_texts.py"), run_name="example")


def known(golds: list[str], docs: list[str]) -> Vocabulary:
    """The words of some texts."""
    gathering = Gathering()
    gathering.add_golds(golds)
    gathering.add_docs(docs)
    return gathering.vocabulary


@all_cases(
    ("doc", "score"),
    [
        (GOLD, 1.0),
        (f"Our terms follow here in full. {GOLD}. Food is not taken back.", 1.0),
        (GOLD.replace("14", "30"), 0.0),  # another question's number
        (GOLD.replace("Blue", "Red Star"), 0.0),  # another question's name
        (GOLD.replace("14", "77"), 0.0),  # nobody else's, but no figure that is misread
        (GOLD.replace("14", "1"), 28 / 30),  # one is lost
        (GOLD.replace("14", "l4"), 28 / 30),
        (GOLD.replace("Blue", "Blve"), 28 / 30),
        (GOLD.replace("delivery", "de livery"), 28 / 30),
        (GOLD.replace("free", "and"), 28 / 30),  # a word that tells nothing
        (GOLD.replace(" free", ", seals unbroken, free"), 29 / 30),  # more words
        (f"oods {GOLD.split(' ', 1)[1]}", 29 / 30),  # a chunk's end cut the first word
        (f"Returns and refunds\n{GOLD.split(' ', 3)[3]}", 27 / 30),  # another heading
    ],
)
def test_by_hand(doc: str, score: float) -> None:
    """Known words between the same words make it no match; what nobody has is a misreading."""
    others = ["Returns", "Returns and refunds", GOLD, *(f"and so on and on {n}" for n in range(9))]
    own = matcher("overlap").knowing(known([GOLD, OTHER], others))
    assert scored(own, [doc], [GOLD])[0, 0] == pytest.approx(score)


@pytest.mark.parametrize(
    ("number", "misread", "is_found"),
    [("4,096", "4.096", True), ("4,096", "4.09", True), ("4,096", "4.196", False)],
)
def test_a_comma_read_as_a_point(number: str, misread: str, is_found: bool) -> None:
    """What parts the thousands is misread as easily as a figure."""
    gold = GOLD.replace("14", number)
    own = matcher("overlap").knowing(known([gold, OTHER], [gold]))
    score = scored(own, [gold.replace(number, misread)], [gold])[0, 0]
    assert (score > 0.8) == is_found


def test_who_knows_a_word() -> None:
    """The gold of another question, or two documents; not one document, and not the gold itself."""
    doc = GOLD.replace("Blue", "Green")

    def score(golds: list[str], docs: list[str]) -> float:
        return float(scored(matcher("overlap").knowing(known(golds, docs)), [doc], [GOLD])[0, 0])

    assert score([GOLD], [doc]) > 0.9
    assert score([GOLD], [doc, "The Green Mart is open"]) == 0.0
    assert score([GOLD, "The Green Mart is open"], [doc]) == 0.0
    assert scored(matcher("overlap"), [doc], [GOLD])[0, 0] > 0.9  # nobody has said the words


def test_a_misreading_in_two_chunks_that_overlap_is_one() -> None:
    """Beside the same words in both it is one place; beside others it is a word that they know."""
    doc = GOLD.replace("Blue", "Ashe")
    before = "Read this first. " + doc[:60]  # the next chunk begins within this one

    def score(*docs: str) -> float:
        return float(
            scored(matcher("overlap").knowing(known([GOLD], [*docs])), [doc], [GOLD])[0, 0]
        )

    assert score(doc, before) > 0.9
    assert score(doc, before, doc[3:]) > 0.9
    assert score(doc, before, "the Ashe Mart") == 0.0
    assert score(doc, before, "of Ashe and others") == 0.0
    characters = (
        "第三条规定分公司的员工每年享有{}带薪休假没有用完的假期可以转到第二年三月底以前使用"
    )
    vocabulary = known(
        [characters], [characters.format("山西"), characters.format("山西") + "过期作废"]
    )
    assert not vocabulary.is_in_docs("山西")
    assert vocabulary.is_in_docs("的员") is False
    more = known([characters], [characters.format("山西"), "在山西省"])
    assert more.is_in_docs("山西")


def test_korean() -> None:
    """Names and numbers in one word with their particles; NFD is the same text."""
    golds = [TERMS_KO.format(name=name, days=days) for name, days in (("한빛", 14), ("미래", 30))]
    docs = [
        unicodedata.normalize("NFD", golds[0]),
        golds[0].replace("14", "30"),
        golds[0].replace("한빛", "미래"),
        golds[0].replace("한빛", "한빗"),
        golds[0].replace(" 안에 ", "안에"),
    ]
    for match in ("overlap", "span"):
        (first, _) = match_pairs([[gold] for gold in golds], [docs, golds[1:]], match=match)
        assert [row[0] for row in first["matched"]] == [True, False, False, True, True], match


def test_chinese() -> None:
    """Where words are not written apart two characters are a word: 北京 is not 上海."""
    text = "{}分公司的员工每年享有{}天带薪休假没有用完的假期可以转到第二年三月底以前使用过期作废"
    golds = [text.format("北京", 15), text.format("上海", 20)]
    docs = [golds[0], golds[1], golds[0].replace("15", "20"), golds[0].replace("北京", "上海")]
    first, _ = match_pairs([[gold] for gold in golds], [docs, golds[1:]])
    assert [row[0] for row in first["matched"]] == [True, False, False, False]


@examples(100)
@given(WORDS, WORDS, st.data())
def test_a_chunk_of_the_same_text_scores_as_much_as_it_shares(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    """Cut from one text of distinct words the score is that without the rule; never above it."""
    text = [f"{word}x{place}" for place, word in enumerate([*before, *after])]
    a = data.draw(st.integers(0, len(text) - 6))
    b = data.draw(st.integers(0, len(text) - 6))
    gold, doc = " ".join(text[a : a + 12]), " ".join(text[b : b + 9])
    loose = " ".join(before), " ".join(after)
    own = matcher("overlap").knowing(known([gold, *loose], [doc, *loose]))
    together = matcher(TOGETHER)
    assert scored(own, [doc], [gold]) == pytest.approx(scored(together, [doc], [gold]))
    assert scored(own, [loose[0]], [loose[1]]) <= scored(together, [loose[0]], [loose[1]]) + 1e-12


def test_no_company_and_no_order() -> None:
    """With the same words known a pair's score is the same alone and among others."""
    docs = [GOLD, GOLD.replace("14", "30"), "something else about cars and trains", GOLD * 100]
    golds = [GOLD, OTHER, GOLD.replace("delivery", "order")]
    own = matcher("overlap").knowing(known(golds, docs))
    together = scored(own, docs, golds)
    backwards = scored(own, docs[::-1], golds[::-1])
    assert (backwards[::-1, ::-1] == together).all()
    for row, doc in enumerate(docs):
        for column, gold in enumerate(golds):
            assert scored(own, [doc], [gold])[0, 0] == together[row, column]


@pytest.mark.parametrize("match", ["overlap", "span"])
def test_explain_names_the_word(match: str) -> None:
    """Nearly equal texts with the score 0 are no riddle; of others nothing is said."""
    lists = [[OTHER, GOLD, "a blue sky over red roofs and not a word of what was asked"], [GOLD]]
    explanation = explain([[GOLD], [OTHER]], lists, query_id="q1", match=match)
    said = [pair.reason.text for pair in explanation.pairs]
    of = "another text of one template: 'red' where the gold text has 'blue'"
    assert said == [of, None, None]


def test_workers_know_the_same_words(tmp_path: Path) -> None:
    """Parts, processes and retrievers side by side give the values of one evaluation."""
    golds = [[TERMS.format(name=f"Mart{n}", days=n)] for n in range(10, 40)]
    lists = [[golds[(n + 1) % 30][0], *golds[n]] for n in range(30)]
    whole = evaluate(golds, lists, metrics=["mrr@5"])
    assert whole["mrr@5"] == 0.5
    assert evaluate(golds, lists, metrics=["mrr@5"], workers=2)["mrr@5"] == 0.5
    both = evaluate(golds, {"one": lists, "other": lists[::1]}, metrics=["mrr@5"])
    assert both["one"]["mrr@5"] == both["other"]["mrr@5"] == 0.5


def test_many_and_repeated() -> None:
    """The same text a hundred times, and one of ten thousand words, are read in no time."""
    long = " ".join(f"{word} {number % 7}" for number in range(400) for word in GOLD.split())
    docs = [*[GOLD] * 100, long, GOLD * 500]
    own = matcher("overlap").knowing(known([GOLD, long], docs))
    scores = scored(own, docs, [GOLD, long])
    assert (scores[:100, 0] == 1).all()
    assert scores[100, 1] == 1


@pytest.mark.parametrize(
    "kind", some(["policies, Korean", "policies, English", "products, English"], 3)
)
def test_templates_are_told_apart(corpora: dict[str, Any], kind: str) -> None:
    """F1 above .9 without an option, and no warning."""
    made = corpora["retrieval"](kind, 600, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = list(corpora["decided"](made, "overlap"))
    assert f1(corpora, said, made.truth) > 0.9


def f1(corpora: dict[str, Any], said: list[list[bool]], truth: list[list[bool]]) -> float:
    """Of all pairs."""
    pairs = [pair for a, t in zip(said, truth) for pair in zip(a, t)]
    return float(corpora["agreement"](pairs)[2])


@pytest.mark.integration
def test_every_corpus_and_size(corpora: dict[str, Any]) -> None:
    """F1 of at least .85 in each corpus at each size, and MRR within .05 of the truth."""
    for kind in corpora["CORPORA"]:
        for size in corpora["SIZES"]:
            made = corpora["retrieval"](kind, *size)
            said = list(corpora["decided"](made, "overlap"))
            assert f1(corpora, said, made.truth) >= 0.85, (kind, size)
            assert corpora["mrr"](said) == pytest.approx(corpora["mrr"](made.truth), abs=0.05)


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    ("case", "most"),
    [
        ("ocr 3 %", 0.015),
        ("ocr 10 %", 0.04),
        ("10 % of spaces lost", 0.015),
        ("30 % of spaces lost", 0.015),
        ("as it is", 0.015),
    ],
)
def test_noise_costs_little(broken: dict[str, Any], language: str, case: str, most: float) -> None:
    """F1 is at most so much below that of siblings together, which nothing rules out.

    That is the mean of five draws: in one of ten a word of three letters that is misread alike in
    several places is taken for another word, and costs .01 more.
    """
    text = broken["prose"](language)
    losses = []
    for seed in range(5):
        golds, docs, truth = broken["pairs"](text, case, seed, 300, both=False)
        right = [yes for of_query in truth for yes in of_query]
        apart, together = (
            broken["f1"]([row[0] for pair in pairs for row in pair["matched"]], right)[2]
            for pairs in (match_pairs(golds, docs, match=match) for match in ("overlap", TOGETHER))
        )
        losses.append(together - apart)
    assert fmean(losses) <= most, losses


HEADINGS = {
    "en": ("What this part is about", "Details of the same", "More on it", "Notes and limits"),
    "ko": ("이 부분의 내용", "같은 것의 세부 사항", "더 알아보기", "참고와 제한 사항"),
}


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
@pytest.mark.parametrize("size", [128, 200, 500, 900, 1600])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_other_chunks_and_headings_cost_little(
    broken: dict[str, Any], language: str, size: int
) -> None:
    """F1 of chunks of any size, under a heading that the gold words otherwise, or under none."""
    own, other = HEADINGS[language][::2], HEADINGS[language][1::2]
    draw = random.Random(f"{language} {size}")
    made = broken["pairs"](broken["prose"](language), "as it is", size, 200, both=False, chunk=size)
    golds, docs, truth = made
    right = [yes for of_query in truth for yes in of_query]
    headed = [[f"{draw.choice(own)}\n{text}" for text in texts] for texts in golds]
    chunks = [[f"{draw.choice(other)}\n{text}" for text in texts] for texts in docs]
    for gold, found in ((golds, docs), (golds, chunks), (headed, chunks)):
        apart, together = (
            broken["f1"]([row[0] for pair in pairs for row in pair["matched"]], right)[2]
            for pairs in (match_pairs(gold, found, match=match) for match in ("overlap", TOGETHER))
        )
        assert apart >= together - 0.015, (apart, together)


GIVEN = ("Dana", "Robin", "Alex", "Maria", "Peter", "Ines", "Otto", "Lena", "Hugo", "Vera")
FAMILY = tuple(f"{a}{b}" for a in (*GIVEN, "Wea", "Oka", "Lin") for b in ("son", "berg", "fold"))
NAMES = {
    "en": [f"{one} {other}" for one in GIVEN for other in FAMILY],
    "ko": [a + b + c for a in "김이박최정강조윤" for b in "민서지하도예" for c in "수연훈은윤준진"],
    "code": [f"{a}{b}{c}" for a in ("user", "part", "bill") for b in FAMILY for c in "xyz"],
}
TEMPLATES = {
    "en": "{name} is responsible for returns of goods worth more than {number} dollars and answers "
    "every request that arrives on a working day within the same week.",
    "ko": "{name} 담당자는 {number}원을 넘는 상품의 반품을 맡으며 평일에 들어온 요청에는 모두 "
    "같은 주 안에 답변하고 처리 결과를 고객에게 전화로 알려 드립니다.",
    "code": "def read_{name}(db, key):\n    row = db.execute('SELECT id, title FROM {name} "
    "WHERE id = ?', (key,))\n    return row.fetchone() or default({number})\n",
}


def slots(language: str, slot: str, n: int) -> list[str]:
    """Texts of one template that differ in one place: in a digit, or in who it speaks of."""
    names, template = NAMES[language], TEMPLATES[language]
    names = random.Random(f"{language} {slot} {n}").sample(names, len(names))
    if slot == "digit":
        return [template.format(name=names[0], number=1001 + at) for at in range(n)]
    return [template.format(name=name, number=1001) for name in names[:n]]


@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")  # of names one letter apart
@pytest.mark.parametrize("n", [10, pytest.param(300, marks=pytest.mark.integration)])
@pytest.mark.parametrize("slot", ["digit", "name"])
@pytest.mark.parametrize("language", ["en", "ko", "code"])
@pytest.mark.parametrize("match", ["overlap", "span"])
def test_verdicts_on_siblings(match: str, language: str, slot: str, n: int) -> None:
    """Who returns siblings alone has next to nothing, and who returns the gold is better."""
    golds = slots(language, slot, n)
    assert len(golds) == n
    wrong = [[golds[(at + step) % n] for step in (1, 2, 3)] for at in range(n)]
    right = [[lists[0], golds[at], lists[1]] for at, lists in enumerate(wrong)]
    result = evaluate(
        [[gold] for gold in golds],
        {"wrong": wrong, "right": right},
        match=match,
        metrics=["mrr@10"],
    )
    assert result["wrong"]["mrr@10"] <= 0.05
    assert result["right"]["mrr@10"] == pytest.approx(0.5, abs=0.05)


def test_templates_misread() -> None:
    """Where what tells siblings apart cannot be read, the evaluation says so."""
    draw = random.Random(3)
    golds = [TERMS.format(name=f"Mart{n}", days=n) for n in range(10, 60)]
    scribble: Callable[[], str] = lambda: "".join(draw.choices("xqzjkv", k=6))  # noqa: E731
    lists = [
        [golds[(at + 1) % 50], gold.replace(f"Mart{at + 10}", scribble())]
        for at, gold in enumerate(golds)
    ]
    with pytest.warns(MatchWarning, match="texts of one template, and words .*: in 50 of 50"):
        evaluate([[gold] for gold in golds], lists)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clean = evaluate([[gold] for gold in golds], [[gold] for gold in golds])
    assert clean["mrr@10"] == 1.0
    assert compare([clean]) is not None


def test_a_number_with_a_unit_and_particles_is_a_number() -> None:
    """10kg까지의 is another number than 5kg까지의, however many texts have the latter."""
    policy = "배송을 받은 고객이 상품을 돌려보내면 회사는 최대 {}까지의 택배비를 함께 부담합니다"
    others = [
        f"{name} 창고는 무게가 5kg까지의 짐을 받는다" for name in ("강남", "서초", "마포", "종로")
    ]
    golds = [[text] for text in (policy.format("5kg"), policy.format("10kg"), *others)]
    small, large, *_ = match_pairs(golds, [golds[1] + golds[0]] * 2 + [[]] * len(others))
    assert small["matched"] == [[False], [True]]
    assert large["matched"] == [[True], [False]]


def test_what_stands_between_the_same_words_may_be_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapters, and a picture in letters, are not laid word by word beside all of the others."""
    asked: list[int] = []
    ratio = rapidfuzz.fuzz.partial_ratio

    def counting(word: str, letters: str) -> float:
        asked.append(len(word))
        return ratio(word, letters)

    monkeypatch.setattr(rapidfuzz.fuzz, "partial_ratio", counting)
    draw = random.Random(1)

    def text(n: int) -> list[str]:
        return ["".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(n)]

    def with_chapter(chapter: list[str]) -> str:
        return " ".join([*head, *chapter, *tail])

    head, tail = text(400), text(400)
    for chapters in ([text(600), text(600)], [["".join(text(400))], ["".join(text(400))]]):
        gold, doc = map(with_chapter, chapters)
        asked.clear()
        (pair, _) = match_pairs([[gold], [" ".join(text(30))]], [[doc], []])
        assert pair["matched"] == [[True]]
        assert 0 < len(asked) <= 300
        assert max(asked) <= 100

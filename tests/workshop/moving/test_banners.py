"""Text that stands in many places: banners, footers, templates; and that each item moves alone."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from examples.template_corpora import policy_en, policy_ko
from kragx.data import Doc
from kragx.workshop.moving import move
from tests.thoroughness import THOROUGH, examples

from .truth import CUTS, Corpus, edited, texts, truths

BANNERS = {
    "consumer_ko": [
        "대외비",
        "본 문서는 내부 검토용입니다. 외부에 알리지 마십시오.",
        "이 자료는 상담을 돕기 위해 만든 것으로 법적 효력이 없으며 무단으로 옮겨 실을 수 없습니다.",
        "이 자료는 상담을 돕기 위해 만든 것으로 법적 효력이 없습니다. 내용이 바뀌면 누리집에 "
        "먼저 알리며, 궁금한 점은 대표 전화로 물어보시기 바랍니다. 상담 시간은 평일 아침 아홉 "
        "시부터 저녁 여섯 시까지이고 점심시간에는 쉽니다. 주말과 공휴일에는 글을 남기시면 다음 "
        "날 답해 드립니다.",
    ],
    "shop_en": [
        "Confidential",
        "Internal draft, do not distribute.",
        "This page is for general information and may not be copied without written permission.",
        "This page is for general information and may not be copied. Prices and dates may change "
        "at any time, and the latest version always stands on our site. Call the service desk on "
        "working days from nine to six, or leave a message at weekends and we will answer soon.",
    ],
}
"""From a word to more letters than what is looked at around a text."""

WHERE = {"both": (True, True), "begin": (True, False), "end": (False, True)}


def with_banner(text: str, banner: str, where: str) -> str:
    """A document that begins or ends with a banner."""
    begins, ends = WHERE[where]
    return "\n\n".join([banner] * begins + [text] + [banner] * ends)


def of_banners(language, banner, where, *, offsets, rng):
    """What becomes of every chunk of documents with a banner, 5 % of all words edited."""
    wholes = [with_banner(text, banner, where) for text in rng.sample(texts(language), 12)]
    changed = [edited(text, 0.05, rng) for text in wholes]
    before, after = rng.sample(sorted(CUTS), 2)
    old = Corpus.cut(wholes, CUTS[before], offsets=offsets)
    new = Corpus.cut([text.text for text in changed], CUTS[after], offsets=offsets, name="n")
    result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
    home = {doc.id: span[0] for doc, span in zip(new.docs, new.spans)}
    counts = Counter()
    truth = truths(old, new, wholes, changed)
    for item, true, doc, (number, *_) in zip(result.items, truth, old.docs, old.spans):
        ids = [name for place in item.places for name in (place.id, *place.alternatives)]
        if item.verdict in ("unsure", "lost"):
            counts["open"] += 1
            counts["open, with a text of its own"] += (doc.text or "").strip() not in banner
        elif any(home[name] != number for name in ids):
            counts["elsewhere"] += 1
        else:
            counts["right" if true.right(item) else "other"] += 1
    return counts


@pytest.mark.integration
@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("language", BANNERS)
def test_no_chunk_of_another_document(language, where, offsets):
    """No gold, with `source` or without, gets a chunk of a document whose banner is beside it.

    Nearly all that has more than a piece of the banner is found.
    """
    counts = Counter()
    for seed in range(10 if THOROUGH else 2):
        for banner in BANNERS[language]:
            rng = random.Random(f"{seed} {banner} {where}")
            counts += of_banners(language, banner, where, offsets=offsets, rng=rng)
    assert counts["elsewhere"] == 0, counts
    n = counts["open, with a text of its own"] + counts["right"] + counts["other"]
    assert counts["right"] >= 0.95 * n, counts


def test_what_was_put_in_before_an_edited_beginning():
    """Of letters between two documents, some edited and some put in, nobody knows whose they are.

    "수리를" was put behind the first document, and the gold text's first words are others.
    """
    first = "사진이 모두 지워졌을 때에는 수리 전에 직접 복사본을 만들어 두는 것이 가장 확실합니다."
    last = "외부에 알리지 마십시오. 할부로 산 물건은 칠 일 안에 무를 수 있습니다."
    old = [Doc("a", first), Doc("b", "본 문서는 내부 검토용입니다."), Doc("c", last)]
    new = [Doc("x", f"{first} 수리를"), Doc("y", f"본 취급해 내부 검토용입니다. {last}")]
    (item,) = move([[{"id": "b"}]], old, new).items
    assert (item.verdict, [place.id for place in item.places]) == ("unsure", ["y"])


FOOTER = (
    "Prices and dates may change at any time, and the latest version always stands on our site. "
    "Call the desk on working days from nine to six, or leave a message at weekends and wait."
)
DISHES = ("soup", "bread", "cheese", "olives", "grapes", "onions", "pepper", "garlic", "salmon")


def dishes(n: int) -> list[str]:
    """Documents with a sentence of their own before a footer that all of them have."""
    rng = random.Random(n)
    return [
        f"On day {number} the kitchen serves {', '.join(rng.sample(DISHES, 6))} to all who come "
        f"and are hungry. {FOOTER}"
        for number in range(n)
    ]


@pytest.mark.integration
@pytest.mark.parametrize("n", [3, 300])
def test_a_banner_of_many_items(n):
    """However many items share a banner, each is found with it, not a word of it edited."""
    wholes = dishes(n)
    old = Corpus.cut(wholes, CUTS["1200"], offsets=True)
    new = Corpus.cut(wholes, CUTS["150"], offsets=True, name="n")
    result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
    assert {(item.verdict, item.edited) for item in result.items} == {("split", 0.0)}


@pytest.mark.integration
@given(
    st.integers(0, 10**6),
    st.sampled_from(["consumer_ko", "shop_en", "policy_ko", "policy_en", "dishes"]),
    st.sampled_from(sorted(CUTS)),
    st.sampled_from(sorted(CUTS)),
    st.sampled_from(sorted(WHERE)),
    st.booleans(),
)
@examples(60)
def test_each_item_moves_alone(seed, kind, before, after, where, offsets):
    """What becomes of an item is the same to the last bit, whichever other items the set has."""
    rng = random.Random(seed)
    if kind == "dishes":
        wholes = dishes(rng.randint(3, 40))
    else:
        wholes = (
            rng.sample(texts(kind), 6)
            if kind in BANNERS
            else [(policy_ko if kind == "policy_ko" else policy_en)(rng) for _ in range(20)]
        )
        banner = rng.choice(BANNERS["consumer_ko" if kind.endswith("ko") else "shop_en"])
        wholes = [with_banner(text, banner, where) for text in wholes]
    changed = [edited(text, rng.choice((0, 0.05)), rng).text for text in wholes]
    rng.shuffle(changed)
    old = Corpus.cut(wholes, CUTS[before], offsets=offsets).docs
    new = Corpus.cut(changed, CUTS[after], offsets=offsets, name="n").docs
    gold = {str(doc.id): [{"id": doc.id}] for doc in old}
    whole = move(gold, old, new)
    for query in rng.sample([*gold], min(len(gold), 5)):
        alone = move({query: gold[query]}, old, new)
        assert [item for item in whole.items if item.query == query] == [*alone.items]
        assert whole.dataset[query] == alone.dataset[query]


@pytest.mark.integration
def test_a_footer_that_is_gone_is_not_the_next_ones():
    """Where the footer of one document was taken out, that of the next one is no part of it."""
    bodies = [
        "Bicycles travel free of charge, but must be registered one day before at the office.",
        "Dogs are welcome on the upper deck if they are kept on a short lead at all times.",
    ]
    old = [Doc(f"c{number}", f"{text} {FOOTER}") for number, text in enumerate(bodies)]
    new = [Doc("n0", bodies[0]), Doc("n1", f"{bodies[1]} {FOOTER}")]
    result = move({"q": [{"id": "c0"}]}, old, new)
    assert all(place.id == "n0" for place in result.items[0].places) or (
        result.items[0].verdict in ("unsure", "lost")
    )

"""What holds of coverage, density and iou for any texts."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import evaluate
from tests.thoroughness import examples

# Few words, so that runs, repetitions and accidents abound; Hangul in both normal forms differs.
WORDS = ("가나", "다라마", "환불은", "a", "the", "of", "14", "가나다라마바사", "x", "été")
bridges = st.sampled_from([0, 2])
NAMES = ("coverage", "density", "iou")


@st.composite
def cases(draw):
    """Gold texts, and documents that hold stretches of them between other words."""
    words = st.lists(st.sampled_from(WORDS), max_size=12)
    gold = draw(
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30), min_size=1, max_size=3)
    )
    docs = []
    for _ in range(draw(st.integers(0, 5))):
        of = draw(st.sampled_from(gold))
        begin, end = sorted(draw(st.tuples(*[st.integers(0, len(of))] * 2)))
        docs.append(" ".join([*draw(words), *of[begin:end], *draw(words)]))
    return [" ".join(each) for each in gold], docs


def repeats(chunks):
    """Whether a chunk stands twice; a repeated document counts once, as the same document."""
    return len({tuple(chunk.split()) for chunk in chunks}) < len(chunks)


def measured(gold, docs, *metrics):
    """The value of each metric for one query."""
    found = evaluate([gold], [docs], match="text", metrics=list(metrics)).mean
    return list(found.values())


@examples(60)
@given(cases(), bridges)
def test_monotone_in_k_and_bounded(case, bridge):
    """More documents never cover less, and every value lies in [0, 1]."""
    gold, docs = case
    ks = range(1, len(docs) + 2)
    option = f"(bridge={bridge})"
    values = measured(gold, docs, *(f"{name}@{k}{option}" for name in NAMES for k in ks))
    assert values[: len(ks)] == sorted(values[: len(ks)])
    assert all(0 <= value <= 1 for value in values)


@pytest.mark.integration
@examples(60)
@given(cases())
def test_the_top_k_alone_decide(case):
    """What stands below rank k changes nothing at k; nothing is bridged here."""
    gold, docs = case
    for k in range(1, len(docs) + 1):
        names = [f"{name}@{k}" for name in NAMES]
        assert measured(gold, docs, *names) == measured(gold, docs[:k], *names)


@examples(60)
@given(cases(), st.data(), bridges)
def test_a_chunk_cut_in_two(case, data, bridge):
    """A chunk that is cut at a token's end into consecutive ranks covers what it covered."""
    gold, docs = case
    docs = [f"{rank} {text}" for rank, text in enumerate(docs)]  # no repeated document
    rank = data.draw(st.integers(0, max(0, len(docs) - 1)))
    if not docs:
        return
    cut = data.draw(st.sampled_from([m.end() for m in re.finditer(r"\w+", docs[rank])]))
    split = [*docs[:rank], docs[rank][:cut], docs[rank][cut:], *docs[rank + 1 :]]
    if repeats(split):
        return
    option = f"(bridge={bridge})"
    cuts = [(k, k if k <= rank else k + 1) for k in range(1, len(docs) + 1)]
    before, after = (
        measured(
            gold,
            chunks,
            *(f"{name}@{cut[at]}{option}" for cut in cuts for name in NAMES),
        )
        for at, chunks in enumerate((docs, split))
    )
    assert after == pytest.approx(before, abs=0.01)


@examples(60)
@given(cases(), st.integers(1, 60), st.data())
def test_a_budget_does_not_see_chunks(case, n, data):
    """With a budget of tokens it makes no difference how one text was cut into chunks."""
    gold, docs = case
    text = " ".join(docs)
    ends = [m.end() for m in re.finditer(r"\w+", text)][:-1]
    at = sorted(data.draw(st.sets(st.sampled_from(ends), max_size=4))) if ends else []
    chunks = [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]
    if repeats(chunks):
        return
    names = [f"{name}@{n}tokens" for name in NAMES]
    assert measured(gold, [text], *names) == measured(gold, chunks, *names)


WRAPPERS = (
    "<Document>{}</Document>",
    '<document id="3"><source>a.pdf</source><page>2</page>\n{}\n</document>',
    "<document><source>a.pdf</source><content>{}</content></document>",
    "[Document 3]\n{}",
    "문서 3:\n출처: 약관.pdf\n{}",
    "page_label: 3\nfile_path: data/a.pdf\n\n{}",
)


@examples(60)
@given(
    cases(),
    st.lists(st.sampled_from(WRAPPERS), min_size=5, max_size=5),
    st.sampled_from(["NFC", "NFD"]),
)
def test_wrappers_and_normal_forms_change_nothing(case, wrappers, form):
    """Neither what a pipeline puts around a text nor its normal form, case or line ends matter."""
    gold, docs = case
    names = [f"{name}@{cut}" for name in NAMES for cut in (1, 3, "9tokens")]
    # Repeated documents are those of equal text; wrapped differently they would not be.
    docs = list(dict.fromkeys(docs))
    changed = [
        wrapper.format(unicodedata.normalize(form, text.upper()).replace(" ", "\\n"))
        for wrapper, text in zip(wrappers, docs, strict=False)
    ]
    plain = measured(gold, docs, *names)
    assert measured(gold, changed, *names) == plain
    wrapped = [wrappers[0].format(unicodedata.normalize(form, text)) for text in gold]
    assert measured(wrapped, docs, *names) == plain


def slow_phrase(gold, stream):
    """The same for a short gold text: to the end of the first place where it stands."""
    last = f"{gold[-1]}([가-힣].*)?"
    for place in range(len(stream) - len(gold) + 1):
        *before, end = stream[place : place + len(gold)]
        if before == gold[:-1] and re.fullmatch(last, end):
            return [place + len(gold)] * len(gold)
    return [None] * len(gold)


def slow_first(gold, stream, run=8, edge=6, syllables=7):
    """For each gold token how many tokens have to be read until it is covered; None for never."""
    first = [None] * len(gold)
    for a in range(len(gold)):
        for p in range(len(stream)):
            if gold[a] != stream[p] or (a and p and gold[a - 1] == stream[p - 1]):
                continue
            length = 0
            while (
                a + length < len(gold)
                and p + length < len(stream)
                and gold[a + length] == stream[p + length]
            ):
                length += 1
            begin, place, equal = a, p, length
            end = begin + length
            # A part of a word is found beside six equal tokens, or to complete a gold text.
            long = equal >= edge or (equal > 1 and begin <= 1 and end >= len(gold) - 1)
            if long and a == 1 and p and stream[p - 1].endswith(gold[0]):
                begin, place, length = 0, p - 1, length + 1
            after = place + length
            if (
                long
                and end == len(gold) - 1
                and after < len(stream)
                and stream[after].startswith(gold[-1])
            ):
                length, end = length + 1, end + 1

            def least(tokens):
                held = 0
                for n, token in enumerate(tokens[:edge], 1):
                    held += sum(letter >= "\u1100" for letter in token)
                    if n > 1 and n < edge and held >= syllables:
                        return n
                return min(edge, len(tokens))

            needs = []
            if length >= min(run, len(gold)):
                needs.append(min(run, len(gold)))
            if begin == 0 and length >= least(gold):
                needs.append(least(gold))
            if not needs and end == len(gold) and length >= least(gold[::-1]):
                needs.append(length)
            if not needs:
                continue
            for at in range(length):
                known = place + max(at, min(needs) - 1) + 1
                if first[begin + at] is None or known < first[begin + at]:
                    first[begin + at] = known
    return first


@pytest.mark.integration
@examples(200)
@given(cases())
def test_as_the_slow_reference(case):
    """Coverage equals that of runs found one by one, token by token."""
    gold, docs = case
    docs = list(dict.fromkeys(docs)) or [""]
    stream = [token.lower() for text in docs for token in text.split()]
    golds = [each.lower().split() for each in gold]
    firsts = [(slow_phrase if len(each) <= 5 else slow_first)(each, stream) for each in golds]
    found = measured(
        gold, docs, *(f"coverage@{k + 1}(tokenizer=unicode)" for k in range(len(docs)))
    )
    read = 0
    for value, text in zip(found, docs, strict=True):
        read += len(text.split())
        shares = [
            sum(place is not None and place <= read for place in first) / len(first)
            for first in firsts
        ]
        assert value == pytest.approx(np.mean(shares))


SOURCE = "반품은 14일 안에. Returns are free; the shop pays. Unused, in its box, or not at all."
places = st.tuples(*[st.integers(0, len(SOURCE))] * 2).map(sorted).filter(lambda p: p[0] < p[1])


@examples(60)
@given(st.lists(places, min_size=1, max_size=2), st.lists(places, min_size=1, max_size=4))
def test_offsets_as_sets_of_characters(gold, docs):
    """With offsets a gold word is covered if the set of retrieved characters holds it."""

    def placed(begin, end):
        text = SOURCE[begin:end]
        return {"text": text, "metadata": {"source": "s", "start_index": begin}}

    gold = [each for each in gold if re.search(r"\w", SOURCE[slice(*each)])]
    if not gold:
        return
    (value,) = evaluate(
        [[placed(*each) for each in gold]],
        [[placed(*each) for each in docs]],
        match="text",
        metrics=["coverage"],
    ).mean.values()
    held = {at for begin, end in docs for at in range(begin, end)}
    shares = []
    for begin, end in gold:
        words = [m.span() for m in re.finditer(r"[^\W_]+", SOURCE[begin:end])]
        shares.append(np.mean([held >= set(range(begin + a, begin + b)) for a, b in words]))
    assert value == pytest.approx(np.mean(shares))


@examples(60)
@given(st.lists(st.integers(1, 4), max_size=6), st.integers(1, 12), st.data())
def test_a_budget_of_a_metric_is_a_shorter_list(lengths, n, data):
    """Every metric at a budget is the metric, uncut, of the documents that fit whole."""
    docs = [" ".join([f"w{at}"] * length) for at, length in enumerate(lengths)]
    gold = data.draw(st.lists(st.sampled_from([*docs, "no"]), min_size=1, max_size=3, unique=True))
    fitting = [text for at, text in enumerate(docs) if sum(lengths[: at + 1]) <= n]
    names = ("hit_rate", "mrr", "precision", "recall", "f1", "map", "ndcg", "redundancy")
    cut = evaluate([gold], [docs], match="exact", metrics=[f"{name}@{n}tokens" for name in names])
    short = evaluate([gold], [fitting], match="exact", metrics=names)
    assert list(cut.mean.values()) == list(short.mean.values())
    assert list(cut.micro.values()) == list(short.micro.values())

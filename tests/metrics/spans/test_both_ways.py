"""By texts and by offsets the same is measured."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kragx import evaluate
from tests.thoroughness import examples

SIZE, STEP = 60, 10  # words; every overlap of two windows is 0 or at least 10 of them
SOURCE = [f"word{at}" for at in range(SIZE)]
windows = st.tuples(*[st.integers(0, SIZE // STEP)] * 2).map(sorted).filter(lambda p: p[0] < p[1])
KS = (1, 2, 3, 4)
CUTS = (*map(str, KS), "10tokens", "30tokens")


def part(window, name="a"):
    """Some words of the source with their place."""
    begin, end = (each * STEP for each in window)
    start = sum(len(word) + 1 for word in SOURCE[:begin])
    text = " ".join(SOURCE[begin:end])
    return {"text": text, "metadata": {"source": name, "start_index": start}}


@examples(60)
@given(
    st.lists(st.lists(windows, min_size=1, max_size=2), min_size=1, max_size=3),
    st.lists(windows, max_size=4),
)
def test_texts_and_offsets_agree(gold, docs):
    """Where every run is long enough, coverage, density and iou are the same either way."""
    golds = [
        {**part(first), "alternatives": [part(other) for other in others]}
        for first, *others in gold
    ]
    names = [f"{name}@{cut}" for name in ("coverage", "density", "iou") for cut in CUTS]
    exact, texts = (
        list(
            evaluate(
                [golds],
                [[part(each) for each in docs]],
                match="text",
                metrics=[f"{name}(offsets={way})" for name in names],
            ).mean.values()
        )
        for way in ("auto", "off")
    )
    assert texts == pytest.approx(exact)
    if all(len(each) == 1 for each in gold):
        held = [counts([each[0] for each in gold], docs[:k]) for k in KS]
        covered = [len(got & want) for got, want in held]
        assert exact[len(CUTS) : len(CUTS) + len(KS)] == pytest.approx(
            [each / max(len(got), 1) for each, (got, _) in zip(covered, held, strict=True)]
        )
        assert exact[2 * len(CUTS) : 2 * len(CUTS) + len(KS)] == pytest.approx(
            [each / len(got | want) for each, (got, want) in zip(covered, held, strict=True)]
        )


def counts(gold, docs):
    """The words that some windows hold together: retrieved, gold."""
    return tuple(
        {at for begin, end in each for at in range(begin * STEP, end * STEP)}
        for each in (docs, gold)
    )

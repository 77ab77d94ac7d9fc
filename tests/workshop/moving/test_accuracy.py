"""How often gold is found where its places say it is, over all ways to cut."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations

import pytest

from examples.template_corpora import policy_en, policy_ko
from kragx.workshop.moving import move

from .truth import CUTS, Corpus, edited, texts, truths


def measured(wholes, share):
    """Right verdicts and false ones of every cut against every other one."""
    counts = Counter()
    for number, (before, after) in enumerate(permutations(CUTS, 2)):
        rng = random.Random(number)
        changed = [edited(text, share, rng) for text in wholes]
        old = Corpus.cut(wholes, CUTS[before])
        new = Corpus.cut([text.text for text in changed], CUTS[after])
        result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
        for item, truth in zip(result.items, truths(old, new, wholes, changed)):
            if len(truth.letters) < 8:
                continue  # "Q." alone
            kind = truth.verdict
            counts[kind] += 1
            counts[kind, "right"] += truth.right(item)
            whole = item.verdict in ("same", "moved", "merged")
            own = truth.chunks.get(item.places[0].id, set()) if whole else truth.letters
            counts[kind, item.verdict] += 1
            counts["elsewhere"] += not own
            counts["false"] += len(own) < 0.9 * len(truth.letters)
    return counts


@pytest.mark.integration
@pytest.mark.parametrize("share", [0, 0.05])
@pytest.mark.parametrize("language", ["consumer_ko", "shop_en"])
def test_bars(language, share):
    """Unedited at least .99 of moved and merged and .98 of split; edited most; hardly any false."""
    counts = measured(texts(language), share)
    bars = (0.9, 0.88, 0.8) if share else (0.99, 0.99, 0.98)
    for kind, bar in zip(("moved", "merged", "split"), bars):
        assert counts[kind, "right"] >= bar * counts[kind], counts
    assert counts["elsewhere"] == 0
    assert counts["false"] <= 0.001 * (counts["moved"] + counts["merged"] + counts["split"])


@pytest.mark.integration
@pytest.mark.parametrize("policy", [policy_ko, policy_en])
def test_templates(policy):
    """Texts of one template, of which half are gone: none of those moves to another's place."""
    rng = random.Random(7)
    wholes = [policy(rng) for _ in range(40)]
    old = Corpus.cut(wholes, CUTS["300"])
    left = [number for number in range(40) if number % 2]
    new = Corpus.cut([edited(wholes[n], 0.05, rng).text for n in left], CUTS["500/100"])
    result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
    home = {doc.id: left[span[0]] for doc, span in zip(new.docs, new.spans)}
    counts = Counter()
    for item, (number, *_) in zip(result.items, old.spans):
        if item.verdict in ("same", "moved", "merged", "split"):
            counts["right" if home[item.places[0].id] == number else "wrong"] += 1
        else:
            counts["open", number in left] += 1
    assert counts["wrong"] == 0, counts
    assert counts["right"] >= 0.5 * (counts["right"] + counts["open", True]), counts

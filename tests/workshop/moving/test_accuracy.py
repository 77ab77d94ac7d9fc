"""How often gold is found where its places say it is, over all ways to cut."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations

import pytest

from examples.template_corpora import policy_en, policy_ko
from kragx.workshop.moving import move
from tests.thoroughness import THOROUGH

from .truth import CUTS, Corpus, edited, texts, truths


def measured(documents, share, one_in):
    """Right verdicts and false ones of every cut against every other one.

    Each pair of cuts is tried with one in so many documents, the next pair with the next ones.
    """
    counts = Counter()
    for number, (before, after) in enumerate(permutations(CUTS, 2)):
        rng = random.Random(number)
        wholes = documents[number % one_in :: one_in]
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
    """At least .99 of moved, .97 of merged and split are right, edited or not; none is false.

    Where the run is not thorough a pair of cuts has a quarter of the documents, and all pairs all.
    """
    counts = measured(texts(language), share, 1 if THOROUGH else 4)
    for kind, bar in (("moved", 0.99), ("merged", 0.97), ("split", 0.97)):
        assert counts[kind, "right"] >= bar * counts[kind], counts
    assert counts["elsewhere"] == counts["false"] == 0, counts


def of_templates(policy, rng, before, after, share):
    """What becomes of texts of one template, of which half are gone.

    A chunk of equal text under an equal id is the same one to whoever reads it, whatever document
    it is of: it counts as neither right nor wrong. Nor does one that says, word for word, what
    stands in the text and nothing else, as where an edit puts the very number of the text that is
    gone into the sentence of another document.
    """
    wholes = [policy(rng) for _ in range(40)]
    left = [number for number in range(40) if number % 2]
    old = Corpus.cut(wholes, CUTS[before])
    new = Corpus.cut([edited(wholes[n], share, rng).text for n in left], CUTS[after])
    result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
    home = {doc.id: left[span[0]] for doc, span in zip(new.docs, new.spans)}
    texts_now = {doc.id: doc.text for doc in new.docs}
    counts = Counter()
    for item, doc, (number, *_) in zip(result.items, old.docs, old.spans):
        if item.verdict in ("unsure", "lost"):
            counts["open", number in left] += 1
        elif texts_now.get(doc.id) == doc.text:
            assert (item.verdict, item.places[0].id) == ("same", doc.id)
        elif home[item.places[0].id] == number:
            counts["right"] += 1
        else:
            says_the_same = all(texts_now[place.id] in doc.text for place in item.places)
            counts["alike" if says_the_same else "wrong"] += 1
    return counts


@pytest.mark.integration
@pytest.mark.parametrize("policy", [policy_ko, policy_en])
def test_templates(policy):
    """No text that is gone moves to another one's place; half of those that are left are found."""
    counts = of_templates(policy, random.Random(7), "300", "500/100", 0.05)
    assert counts["wrong"] == 0, counts
    assert counts["right"] >= 0.5 * (counts["right"] + counts["open", True]), counts


@pytest.mark.skipif(not THOROUGH, reason="KRAGX_THOROUGH=1 tries it")
@pytest.mark.integration
@pytest.mark.parametrize("policy", [policy_ko, policy_en])
def test_many_templates(policy):
    """Nor over six corpora, between any cuts, with 0, 5 or 10 % of the words edited.

    Where they are cut into sentences most of them stand in other documents as well.
    """
    counts = Counter()
    for seed in range(6):
        rng = random.Random(seed)
        share, before, after = rng.choice((0, 0.05, 0.1)), *rng.choices([*CUTS], k=2)
        counts += of_templates(policy, rng, before, after, share)
    assert counts["wrong"] == 0, counts
    assert counts["right"] >= 0.3 * (counts["right"] + counts["open", True]), counts
